"""The launch buffer: what is packed comes back as the kernel will see it."""

import struct

import pytest

from flambeau import dtypes
from flambeau.kernel import Kernel, Pointers, Scalar


def kernel(count):
    params = (Pointers("arrays", count, dtypes.float32, "rw"), Scalar("left", "int64"))
    return Kernel("k", "", params, lambda arrays, left: None)


@pytest.mark.parametrize("given", [[], [(256, 7)], [(256, 7), (512, 1), (1024, 3)]])
def test_a_list_may_be_shorter_than_its_room(given):
    packed = kernel(3).pack([given, 5])
    absent = [(0, 0)] * (3 - len(given))
    assert struct.unpack("@6Qq", packed) == (*[word for pair in [*given, *absent] for word in pair], 5)
    arrays, left = kernel(3).bind(packed)
    assert [(each.address, each.shape, each.nbytes, each.mode) for each in arrays] == [
        (address, (numel,), 4 * numel, "rw") for address, numel in given
    ]
    assert left == 5


def test_a_list_may_not_be_longer_than_its_room():
    with pytest.raises(struct.error):
        kernel(1).pack([[(256, 1), (512, 1)], 5])
