"""Batches of samples."""

from collections import OrderedDict, namedtuple

import numpy as np
import pytest

import flambeau as torch
from flambeau.data import default_collate, default_convert
from flambeau.errors import ArgumentTypeError, ShapeError

Pair = namedtuple("Pair", "x y")


def test_leaves_become_tensors():
    assert default_collate([torch.tensor([1.0]), torch.tensor([2.0])]).tolist() == [[1.0], [2.0]]
    arrays = default_collate([np.ones(2, np.float32), np.zeros(2, np.float32)])
    assert (arrays.tolist(), arrays.dtype) == ([[1.0, 1.0], [0.0, 0.0]], torch.float32)
    for batch, dtype in (([1, 2], torch.int64), ([1.0, 2.0], torch.float64), ([True, False], torch.bool)):
        found = default_collate(batch)
        assert (found.tolist(), found.dtype) == (batch, dtype)
    assert default_collate([np.int16(3)]).dtype is torch.int16
    assert default_collate(["a", "b"]) == ["a", "b"]
    assert default_collate([b"a"]) == [b"a"]


def test_containers_are_taken_part_by_part():
    found = default_collate([{"x": 1, "y": ("a", 2.0)}, {"x": 3, "y": ("b", 4.0)}])
    assert found["x"].tolist() == [1, 3]
    assert found["y"][0] == ("a", "b")
    assert found["y"][1].tolist() == [2.0, 4.0]
    assert type(default_collate([OrderedDict(a=1)])) is OrderedDict
    pair = default_collate([Pair(1, 2), Pair(3, 4)])
    assert (type(pair), pair.x.tolist(), pair.y.tolist()) == (Pair, [1, 3], [2, 4])


def test_what_cannot_be_collated():
    with pytest.raises(ArgumentTypeError, match="found object"):
        default_collate([object()])
    with pytest.raises(ArgumentTypeError, match="found <U1"):
        default_collate([np.array(["a"])])
    with pytest.raises(ShapeError, match=r"of equal size, their lengths are \[1, 2\]"):
        default_collate([[1], [1, 2]])


def test_single_samples_keep_their_shape():
    found = default_convert({"x": np.ones(2), "y": [np.float32(1.5), "text"], "z": Pair(1, 2)})
    assert found["x"].tolist() == [1.0, 1.0]
    assert (found["y"][0].item(), found["y"][1], found["z"]) == (1.5, "text", Pair(1, 2))
