"""torch.Size: the items that it takes, and what it refuses."""

import copy
import pickle

import numpy as np
import pytest

import flambeau as torch
from flambeau.errors import ArgumentTypeError

ENDLESS: list = []
ENDLESS.append(ENDLESS)


@pytest.mark.parametrize(
    "sizes",
    [(2, 3), [2, 3], {2: "a", 3: "b"}, np.array([2, 3]), [np.int64(2), np.array(3)], iter((2, 3))],
    ids=["tuple", "list", "keys", "array", "NumPy", "iterator"],
)
def test_items_become_ints(sizes):
    size = torch.Size(sizes)
    assert size == (2, 3) and repr(size) == "torch.Size([2, 3])"
    assert set(map(type, size)) == {int}


def test_flags_and_integer_tensors_become_ints():
    size = torch.Size([True, torch.tensor(4), *torch.tensor([5])])
    assert repr(size) == "torch.Size([1, 4, 5])"
    assert set(map(type, size)) == {int}


@pytest.mark.parametrize(
    ("sizes", "shown"),
    [
        ([1, [2]], "item 1 is [2]"), ([1.0], "item 0 is 1.0"), ([np.float32(2)], "item 0 is np.float32(2.0)"),
        ("ab", "item 0 is 'a'"), ([None], "item 0 is None"), ([np.array([1])], "item 0 is array([1])"),
        ([torch.tensor(1.0)], "item 0 is float32[] on cpu"), (3, "got 3"), (None, "got None"),
        (ENDLESS, "item 0 is [[...]]"),
    ],
)  # fmt: skip
def test_what_is_no_int_is_refused(sizes, shown):
    with pytest.raises(ArgumentTypeError) as caught:
        torch.Size(sizes)
    assert caught.value.operator == "Size" and shown in caught.value.fact
    assert caught.value.hint == "as in torch.Size([2, 3])"


def test_sums_products_and_slices_are_sizes_and_refuse_other_items():
    size = torch.Size([2, 3])
    for found, expected in (
        (size + (4,), (2, 3, 4)), ((1,) + size, (1, 2, 3)), (size * 2, (2, 3, 2, 3)), (size[1:], (3,)),
        (copy.deepcopy(size), (2, 3)), (pickle.loads(pickle.dumps(size)), (2, 3)), (torch.Size(), ()),
    ):  # fmt: skip
        assert type(found) is torch.Size and found == expected
    with pytest.raises(ArgumentTypeError, match="item 2 is 0.5"):
        size + (0.5,)
