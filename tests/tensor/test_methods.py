"""Methods that call a Python function for every element, and queries, compared with NumPy."""

import numpy as np
import pytest

import flambeau as torch
from flambeau.errors import (
    ArgumentError,
    ArgumentTypeError,
    AutogradError,
    DtypeError,
    FlambeauError,
    IndexRangeError,
    NotSupportedError,
    ValueRangeError,
)
from flambeau.tensor import methods


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


VALUES = [0.0, 1.0, 1.0 + 1e-6, 1.1, float("inf"), -float("inf"), float("nan")]


@pytest.mark.parametrize("equal_nan", [False, True])
def test_isclose_is_numpys(equal_nan):
    a, b = np.meshgrid(VALUES, VALUES)
    found = torch.isclose(torch.tensor(a), torch.tensor(b), equal_nan=equal_nan)
    assert np.array_equal(found.numpy(), np.isclose(a, b, equal_nan=equal_nan))


def test_allclose_and_equal():
    x = torch.tensor([1, 2])
    assert torch.equal(x, x.clone()) and not torch.equal(x, x[:1]) and not x.equal(x + 1)
    assert x.allclose(x) and not torch.allclose(x, x + 1) and torch.allclose(x, x + 1, atol=1)
    with pytest.raises(DtypeError, match="int64 did not match float32"):
        torch.allclose(x, x.float())
    with pytest.raises(ArgumentError, match="atol=-1"):
        torch.allclose(x, x, atol=-1)


def test_facts():
    x = torch.zeros(2, 3)
    assert torch.is_tensor(x) and not torch.is_tensor([1])
    assert torch.numel(x) == 6 and torch.is_floating_point(x)


def test_flags_of_kinds_that_do_not_exist(gpus):
    x = torch.ones(2, device="cuda")
    assert [kind for kind in methods.KINDS if getattr(x, f"is_{kind}") is not False] == []
    assert x.cpu().is_cpu and not x.is_cpu and x.name is None
    assert not (x.is_complex() or x.is_conj() or x.is_neg() or x.is_distributed()) and x.is_signed()
    assert not torch.is_signed(torch.tensor([1], dtype=torch.uint8))


def test_a_value_that_is_not_zero():
    assert torch.is_nonzero(torch.tensor([[2]])) and not torch.tensor(0.0).is_nonzero()
    for call in (torch.is_nonzero, torch.Tensor.is_nonzero):
        with pytest.raises(ValueRangeError, match=r"^is_nonzero: .*more than one value.*float32\[2\]"):
            call(torch.ones(2))
        with pytest.raises(NotSupportedError, match="^is_nonzero: "):
            call(torch.ones((), device="meta"))


def test_the_same_part_of_the_same_memory():
    x = torch.arange(6).reshape(2, 3)
    assert x.is_set_to(x.view(2, 3)) and not x.is_set_to(x.t()) and not x[0].is_set_to(x[1])
    assert x.is_same_size(x.clone()) and not torch.is_same_size(x, x.t()) and torch.get_device(x) == -1


def test_functions_raise_under_their_own_names():
    x, image = torch.ones(2, requires_grad=True), torch.ones(1, 1, 2, 2)
    for call, name in (
        (lambda: torch.fill(x.detach(), "a"), "fill"),
        (lambda: torch.dropout_(x, 0.5, True), "dropout_"),
        (lambda: torch.grid_sampler(image, torch.ones(2, 1, 1, 2), 0, 0, True), "grid_sampler"),
        (lambda: torch.affine_grid_generator(torch.ones(2, 2), (1, 1, 1, 2), True), "affine_grid_generator"),
    ):
        with pytest.raises(FlambeauError, match=f"^{name}: "):
            call()


def test_the_size_of_a_dimension_that_there_is_not():
    for x, dim in ((torch.ones(2), 1), (torch.tensor(1.0), 0), (torch.tensor(1.0), -1)):
        for name in ("size", "stride"):
            with pytest.raises(IndexRangeError, match=f"{name}: Dimension .*{dim}"):
                getattr(x, name)(dim)


def test_the_order_of_dimensions():
    x = torch.zeros(2, 3, 4, 5)
    assert x.dim_order() == (0, 1, 2, 3) and x.permute(2, 0, 3, 1).dim_order() == (1, 3, 0, 2)
    last = x.contiguous(memory_format=torch.channels_last)
    assert last.dim_order(ambiguity_check=True) == (0, 2, 3, 1)
    both = [torch.contiguous_format, torch.channels_last]
    assert last.dim_order(ambiguity_check=both) == (0, 2, 3, 1)
    for tensor, check in ((torch.zeros(1, 3, 1, 1), both), (torch.zeros(2, 1, 3), True)):
        with pytest.raises(RuntimeError, match="dim_order: .*unique"):
            tensor.dim_order(ambiguity_check=check)
