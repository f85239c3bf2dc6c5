"""Writes in place, to whole tensors and through views: gradients, saved values and errors."""

import json
import math
from pathlib import Path

import pytest

import flambeau as torch
from flambeau.errors import AutogradError, DtypeError, ShapeError
from flambeau.ops.operator import REGISTRY
from flambeau.testing import machine, samples
from tests.oracle import inplace_cases

CASES = json.loads((Path(__file__).parent.parent / "oracle" / "inplace_cases.json").read_text())
NAMES = [f"{write} of {place}" for write, place, _ in CASES]


def leaf(*values: float) -> torch.Tensor:
    return torch.tensor(list(values), requires_grad=True)


@pytest.mark.parametrize(("write", "place", "expected"), CASES, ids=NAMES)
def test_writes_in_place_differentiate_as_pytorchs_do(write, place, expected):
    found = inplace_cases.run(torch, write, place)
    if expected == "version" or found == "version":
        assert found == expected
        return
    assert len(found) == len(expected)
    for have, want in zip(found, expected):
        assert have == pytest.approx(want, rel=1e-7, abs=1e-9)


@pytest.mark.parametrize(
    ("write", "copies"),
    [
        (lambda y, w: y.sin_(), 1),
        (lambda y, w: y.mul_(w), 1),  # the gradient of w needs y
        (lambda y, w: y.mul_(w.detach()), 0),
        (lambda y, w: y.exp_(), 0),
        (lambda y, w: y.add_(w), 0),
        (lambda y, w: y.detach().sin_(), 0),
    ],
)
def test_the_overwritten_values_are_kept_only_where_the_derivative_needs_them(write, copies):
    with machine(devices=1) as made:
        allocator = made.devices[0].allocator
        y = leaf(*[0.5] * 1024).cuda() * 1
        w = leaf(*[0.5] * 1024).cuda()
        before = allocator.allocated_bytes
        written = write(y, w)
        assert allocator.allocated_bytes - before == copies * y.nbytes
        del written


def test_a_write_under_no_grad_keeps_nothing_and_stays_out_of_the_graph():
    x = leaf(1.0, 2.0)
    y = x * 2
    node, part = y.grad_fn, y[0]
    with torch.no_grad():
        y.sin_()
        part.zero_()
    assert y.grad_fn is node
    y.sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]


def test_a_view_of_a_plain_tensor_joins_the_graph_that_its_base_joined():
    x = leaf(1.0, 2.0, 3.0)
    base = torch.zeros(3)
    first, last = base[:2], base[1:]
    first.copy_(x[:2])
    (last * last).sum().backward()
    assert x.grad.tolist() == [0.0, 4.0, 0.0]


def test_a_view_made_under_no_grad_is_not_written_with_gradients():
    y = leaf(1.0, 2.0) * 2
    with torch.no_grad():
        part = y[0]
    with pytest.raises(AutogradError, match="mul_: a view that was created in no_grad mode.*\nhint"):
        part.mul_(3)
    assert y.tolist() == [2.0, 4.0]
    with torch.no_grad():
        part.mul_(3)
    assert y.tolist() == [6.0, 4.0]


def test_a_view_of_a_base_that_is_not_contiguous_is_written():
    base = torch.tensor([[1.0, 2.0], [3.0, 4.0]]).t().detach()
    w = leaf(5.0, 6.0)
    base[0].mul_(w)
    (base * base).sum().backward()
    assert base.tolist() == [[5.0, 18.0], [2.0, 4.0]] and w.grad.tolist() == [10.0, 108.0]


def test_a_leaf_that_is_not_contiguous_is_written_through_a_view_under_no_grad():
    leaf = torch.tensor([[1.0, 2.0], [3.0, 4.0]]).t().detach().requires_grad_()
    with torch.no_grad():
        leaf[0].zero_()
    assert leaf.tolist() == [[0.0, 0.0], [2.0, 4.0]]


def test_a_view_of_a_base_whose_elements_overlap_is_refused_before_the_write():
    base = torch.ones(1, 2).expand(3, 2).detach()
    with pytest.raises(AutogradError, match=r"mul_: writing a view of float32\[3, 2\].*overlap"):
        base[0].mul_(leaf(2.0, 3.0))
    assert base.tolist() == [[1.0, 1.0]] * 3


def test_a_write_without_a_derivative_is_refused_before_the_write():
    y = leaf(5.0, 7.0) * 1
    with pytest.raises(AutogradError, match="floor_divide_: the derivative is not implemented"):
        y.floor_divide_(2)
    assert y.tolist() == [5.0, 7.0]


class Flat(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.view(-1)

    @staticmethod
    def backward(ctx, grad):
        return grad.view(1, 2) * 10


def test_a_view_that_a_function_returned_is_not_written():
    y = (leaf(1.0, 2.0) * 1).view(1, 2)
    with pytest.raises(AutogradError, match="mul_: a view that was returned by the forward of a custom Function"):
        Flat.apply(y).mul_(2)
    flat = Flat.apply(y)
    y.mul_(2)
    with pytest.raises(AutogradError, match="sum: a view that was returned by .* is used"):
        flat.sum()


def test_second_derivatives_go_through_chains_of_views():
    x = leaf(0.5, 0.25, 1.5, 2.0)
    y = x * 1
    table = y.view(2, 2)
    table[0].pow_(3)
    table.t()[1].exp_()
    (first,) = torch.autograd.grad((table * y.view(2, 2)).sum(), [x], create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), [x])
    a, b, c, d = x.tolist()
    power = math.exp(2 * b**3)  # the second value is exp(b ** 3), squared by the loss
    assert first.tolist() == pytest.approx([6 * a**5, 6 * b**2 * power, 2 * c, 2 * math.exp(2 * d)])
    assert second.tolist() == pytest.approx([30 * a**4, (12 * b + 36 * b**4) * power, 2.0, 4 * math.exp(2 * d)])


def test_ten_thousand_writes_through_views_need_no_recursion():
    x = leaf(1.0, 1.0)
    y = x * 1
    for _ in range(10_000):
        y[0].neg_()
    y.sum().backward()
    assert x.grad.tolist() == [1.0, 1.0]
    del y


@pytest.mark.parametrize("name", ["eq", "ne", "lt", "le", "gt", "ge"])
def test_a_comparison_written_in_place_stops_the_gradient(name):
    x, other = leaf(1.0, 2.0), leaf(1.0, 3.0)
    y = x * 1
    assert getattr(y, f"{name}_")(other) is y and y.requires_grad
    assert y.tolist() == getattr(torch, name)(x, other).tolist()
    y.sum().backward()
    assert x.grad.tolist() == other.grad.tolist() == [0.0, 0.0]


def test_views_of_what_has_no_elements_are_written_whatever_the_strides():
    x = torch.ones(6, dtype=torch.float64, requires_grad=True)
    y = (x * 1).as_strided((0, 2, 2), (1, 0, 0))
    y[:, 0].mul_(2)
    y.sum().backward()
    assert x.grad.tolist() == [0.0] * 6


def test_one_of_several_views_is_refused_after_a_write_to_a_base_that_left_the_graph():
    x = leaf(1.0, 2.0)
    part, whole = x.split(1)[0], x[:]
    x.detach_().mul_(3)
    with pytest.raises(AutogradError, match="returns multiple views"):
        part.sum()
    assert whole.sum().requires_grad and part.detach().tolist() == [3.0]


# composites, whose nodes may need the values that their result overwrites


def _made(value, needs):
    def make(numbers, array):
        return torch.tensor(numbers, requires_grad=needs and array.grad and numbers.dtype.kind == "f")

    return samples.made(value, torch.float64, make)


COMPOSITES = [name for name, each in REGISTRY.items() if each.kind == "composite" and each.inplace and each.samples]


@pytest.mark.parametrize("name", COMPOSITES)
def test_composites_in_place_have_the_gradients_of_their_other_form(name):
    for sample in REGISTRY[name].samples():
        found = []
        for called in (name, f"{name}_"):
            args = _made(sample.args, True)
            kwargs = {key: _made(value, True) for key, value in sample.kwargs.items()}
            try:
                result = getattr(args[0] * 1, called)(*args[1:], **kwargs)
            except (ShapeError, DtypeError):  # of a result that does not fit the tensor
                assert called.endswith("_")
                break
            if not result.requires_grad:
                break
            (result * torch.arange(1.0, result.numel() + 1).reshape(result.shape)).sum().backward()
            found.append([value.grad.tolist() for value in args if getattr(value, "grad", None) is not None])
        else:
            assert str(found[0]) == str(found[1])


@pytest.mark.parametrize("virtual", [False, True])
def test_values_saved_before_a_composite_is_written_in_place_stay_an_error(virtual):
    with machine(1):
        x = torch.tensor([1.0, 2.0, 3.0], device="cuda" if virtual else "cpu", requires_grad=True)
        y = x * 1
        square = y * y
        y[:2].cumprod_(0)
        y.sum().backward(retain_graph=True)
        assert x.grad.tolist() == [3.0, 1.0, 1.0]
        with pytest.raises(AutogradError, match=r"mul: .* modified by an inplace operation: float32\[3\]"):
            square.sum().backward()
