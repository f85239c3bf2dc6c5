"""Layouts that reach beyond their storage are found before a tensor is made."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import flambeau as torch
from flambeau.errors import ArgumentError
from flambeau.tensor import rebuilding


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 4), st.integers(0, 5)), max_size=3), st.integers(0, 6), st.integers(0, 40),
    st.sampled_from([1, 2, 8]),
)  # fmt: skip
def test_a_layout_fits_if_every_element_lies_in_the_storage(dims, offset, nbytes, itemsize):
    shape, strides = tuple(size for size, _ in dims), tuple(step for _, step in dims)
    indexes = product(*map(range, shape))
    ends = [(offset + int(np.dot(index, strides)) + 1) * itemsize for index in indexes]
    fault = rebuilding.layout_fault(shape, strides, offset, itemsize, nbytes)
    assert (fault is None) == (max(ends, default=0) <= nbytes)


@pytest.mark.parametrize(
    ("shape", "strides", "offset"),
    [
        ((-1,), (1,), 0), ((1,), (-1,), 0), ((1,), (1,), -1), ((1,), (), 0), ((1.0,), (1,), 0), ((True,), (1,), 0),
        (3, (1,), 0), ((1,), None, 0), ((1,), (1,), None), ((2**60,), (0,), 0), ((2**40, 2**40), (0, 0), 0),
        ((0, 2**40, 2**40), (1, 1, 1), 0), ((1,), (2**58,), 0), ((1,) * 65, (1,) * 65, 0), ((0,), (1,), 2**58),
        ((10**4000,), (1,), 0),
    ],
)  # fmt: skip
def test_layouts_of_other_kinds_are_refused_by_the_name_of_the_operation(shape, strides, offset):
    storage = torch.arange(4.0).storage
    with pytest.raises(ArgumentError, match=r"^receive: float32.* does not fit in 16 bytes") as caught:
        rebuilding.over(storage, torch.float32, shape, strides, offset, "receive")
    assert caught.value.hint and len(str(caught.value)) < 6000


def test_tensors_are_taken_apart_and_put_together(gpus):
    x = torch.arange(6.0, device="cuda:1").view(2, 3).t()
    storage = x.storage
    assert rebuilding.location(storage) == "cuda:1" and rebuilding.location(torch.ones(1).storage) == "cpu"
    assert rebuilding.host_bytes(storage).view(np.float32).tolist() == [0, 1, 2, 3, 4, 5]
    assert rebuilding.flat(storage).shape == (24,) and str(rebuilding.flat(storage).device) == "cuda:1"
    made = rebuilding.over(storage, torch.float32, (3, 2), (1, 3), 0, "test")
    assert made.tolist() == x.tolist() and made.storage is storage
