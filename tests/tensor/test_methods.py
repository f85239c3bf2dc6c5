"""Methods that call a Python function for every element."""

import pytest

import flambeau as torch
from flambeau.errors import ArgumentTypeError, AutogradError


def test_every_element_is_replaced():
    x = torch.arange(6.0).reshape(2, 3).t()
    assert x.apply_(lambda value: value + 1) is x and x.tolist() == [[1, 4], [2, 5], [3, 6]] and x.stride() == (1, 3)
    x.map_(other=torch.tensor([10.0, 20.0]), callable=lambda own, other: own + other)
    assert x.tolist() == [[11, 24], [12, 25], [13, 26]]
    one = torch.ones(2)
    assert one.map2_(one, torch.tensor([5.0, 6.0]), lambda own, x, y: own + x * y).tolist() == [6, 7]
    assert torch.tensor([1, 2]).apply_(lambda value: value + 0.5).tolist() == [1, 2]


def test_wrong_tensors_and_functions(gpus):
    x = torch.ones(2)
    with pytest.raises(ArgumentTypeError, match=r"apply_: .*float32\[2\] on cuda:0"):
        x.cuda().apply_(abs)
    with pytest.raises(ArgumentTypeError, match="map_: .*float32.*int64"):
        x.map_(torch.tensor([1, 2]), max)
    with pytest.raises(ArgumentTypeError, match="apply_: callable.*3"):
        x.apply_(3)
    with pytest.raises(AutogradError, match="apply_: .*requires grad"):
        x.requires_grad_().apply_(abs)
