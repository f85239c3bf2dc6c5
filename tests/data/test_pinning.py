"""Which parts of a batch are pinned (1.9.11)."""

from collections import OrderedDict, UserList, namedtuple
from types import MappingProxyType

import pytest

import flambeau as torch
from flambeau.data.pinning import pin_memory

Pair = namedtuple("Pair", "x y")
pytestmark = pytest.mark.devices(1)


def one():
    return torch.ones(2)


class Own:
    def pin_memory(self):
        return "pinned by itself"


class OwnDict(dict):
    def pin_memory(self):
        return "a dict pinned by itself"


class Triple(tuple):
    pass


class Odd(tuple):
    def __new__(cls, a, b):
        return super().__new__(cls, (a, b))


def test_tensors_and_objects_that_pin_themselves(gpus):
    x = one()
    found = pin_memory(x)
    assert (found.is_pinned(), found.tolist(), x.is_pinned()) == (True, [1.0, 1.0], False)
    assert pin_memory(found) is found
    assert pin_memory(Own()) == "pinned by itself"
    assert pin_memory(OwnDict(x=1)) == "a dict pinned by itself"


def test_containers_keep_their_type(gpus):
    for value in ([one()], (one(),), Triple([one()]), {"a": one()}, OrderedDict(a=one()), UserList([one()])):
        found = pin_memory(value)
        assert type(found) is type(value)
        assert found is not value
        (inner,) = found.values() if hasattr(found, "values") else found
        assert inner.is_pinned()
    pair = pin_memory(Pair(one(), [one()]))
    assert (type(pair), pair.x.is_pinned(), pair.y[0].is_pinned()) == (Pair, True, True)


def test_a_mapping_that_cannot_be_made_anew_becomes_a_dict(gpus):
    found = pin_memory(MappingProxyType({"a": one()}))
    assert found["a"].is_pinned()


def test_everything_else_stays(gpus):
    other = object()
    for value in ("text", b"bytes", 3, None, other):
        assert pin_memory(value) is value
    assert pin_memory(range(2)) == [0, 1]
