"""Writes in place in the gradient graph, to whole tensors and through views: gradients, saved values and refusals."""

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
    return torch.tensor(values or [1.0, 2.0, 3.0], requires_grad=True)


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


SEVERAL = {
    "chunk": lambda t: t.chunk(2)[0],
    "split": lambda t: t.split(2)[0],
    "split by sizes": lambda t: t.split([1, 2])[1],
    "unbind": lambda t: t.unbind()[1],
    "a view of one": lambda t: t.chunk(2)[0][:1],
}


@pytest.mark.parametrize("name", SEVERAL)
def test_one_of_several_views_is_not_written_in_a_graph(name):
    y = leaf() * 2
    part = SEVERAL[name](y)
    with pytest.raises(AutogradError, match="mul_: a view .* a function that returns multiple views"):
        part.mul_(2)
    assert y.tolist() == [2.0, 4.0, 6.0]
    y.mul_(2)
    with pytest.raises(AutogradError, match="a function that returns multiple views is used, and its base"):
        part.grad_fn  # noqa: B018
    assert "grad_fn=<Invalid>" in repr(part)


@pytest.mark.parametrize("name", SEVERAL)
def test_one_of_several_views_of_a_plain_tensor_is_written(name):
    plain = torch.ones(3)
    SEVERAL[name](plain).mul_(2)
    assert plain.sum().item() > 3
    with pytest.raises(AutogradError, match="mul_: a view"):
        SEVERAL[name](plain).mul_(leaf(4.0))


def test_a_view_of_a_view_made_under_no_grad_is_not_written():
    y = leaf() * 2
    with torch.no_grad():
        part = y[:2]
    assert part.requires_grad and part.is_leaf and part.grad_fn is None
    again = part.view_as(part)
    with pytest.raises(AutogradError, match="mul_: a view that was created in no_grad mode"):
        again.mul_(2)
    y.mul_(2)
    for use in (lambda: part * 2, lambda: part.grad_fn):
        with pytest.raises(AutogradError, match="a view that was created in no_grad mode is used, and its base"):
            use()


def test_a_view_made_in_inference_mode_is_not_written_outside():
    y = leaf() * 2
    with torch.inference_mode():
        part = y[:2]
    with pytest.raises(AutogradError, match="add_: a view that was created in inference mode"):
        part.add_(1)
    with torch.inference_mode():
        part.add_(1)
    assert y.tolist() == [3.0, 5.0, 6.0]


def test_a_view_is_not_detached_in_place():
    for base in (leaf() * 2, torch.ones(3)):
        part = base[0]
        with pytest.raises(AutogradError, match=r"detach_: .*float32\[\] on cpu of float32\[3\]"):
            part.detach_()
        assert part.requires_grad == base.requires_grad
    y = leaf() * 2
    assert y.detach_() is y and y.is_leaf and not y.requires_grad


def test_views_say_what_they_are_views_of():
    y = torch.ones(4)
    part = y[1:][1:]
    assert part._is_view() and part._base is y and not y._is_view() and y._base is None


# gradients that are retained


def test_retained_gradients_of_several_passes_add_up():
    x = leaf(1.0)
    h = x * 3
    h.retain_grad()
    out = (h * h).sum()
    out.backward(retain_graph=True)
    first = h.grad
    out.backward()
    assert h.grad.tolist() == [12.0] and first.tolist() == [6.0] and h.retains_grad and not x.retains_grad


def test_a_retained_gradient_is_not_the_memory_that_was_given():
    y = leaf() * 1
    y.retain_grad()
    given = torch.ones(3)
    y.backward(given)
    y.grad.zero_()
    assert given.tolist() == [1.0] * 3


def test_a_retained_gradient_is_that_of_the_value_after_writes_in_place():
    x = leaf()
    a = x * 1
    a.retain_grad()
    a.mul_(2)
    a.sum().backward()
    assert (a.grad.tolist(), x.grad.tolist()) == ([1.0] * 3, [2.0] * 3)
    base = leaf().clone()
    view = base.view_as(base)
    view.retain_grad()
    base.mul_(2)
    view.sum().backward()
    assert view.grad.tolist() == [1.0] * 3


def test_a_base_that_is_written_through_a_view_retains_the_new_gradient():
    y = leaf() * 1
    y.retain_grad()
    part = y[:2]
    part.retain_grad()
    part.mul_(3)
    (y * y).sum().backward()
    assert (y.grad.tolist(), part.grad) == ([6.0, 12.0, 6.0], None)
    y = leaf() * 1
    part = y[:2]
    part.retain_grad()
    part.mul_(3)
    (part * part).sum().backward()
    assert part.grad.tolist() == [6.0, 12.0]


def test_a_hook_sees_the_gradient_of_the_value_that_it_was_registered_on():
    seen = []
    x = leaf()
    y = x * 2
    y.register_hook(lambda grad: seen.append(("before", grad.tolist())))
    y.mul_(3)
    y.register_hook(lambda grad: seen.append(("after", grad.tolist())))
    y.sum().backward()
    assert seen == [("after", [1.0] * 3), ("before", [3.0] * 3)]


def test_results_that_are_made_of_temporaries_are_no_views_and_views_of_operands_are():
    x = torch.tensor([[3.0, 1.0], [2.0, 4.0]], requires_grad=True)
    for made in (x.sort(0)[0], x.topk(1, 0)[0], x.roll(1, 0)):
        assert not made._is_view()
        made.mul_(5)
    y = x.sort(0)[0]
    y.mul_(5)
    y.sum().backward()
    assert x.grad.tolist() == [[5.0, 5.0], [5.0, 5.0]]
    assert y.detach_() is y
    base = torch.ones(2, 3)
    for view in (base.reshape(6), base.T, base[0].reshape(3, 1), base.flatten(), base.t()):
        assert view._base is base


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_a_view_whose_base_was_written_takes_no_hook(mode):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    with mode():
        view = x[None]
    view.requires_grad_()
    handle = view.register_hook(lambda grad: grad)
    handle.remove()
    with torch.no_grad():
        x.mul_(2)
    for register in (view.register_hook, lambda hook: torch.autograd.graph.register_multi_grad_hook([view, x], hook)):
        with pytest.raises(AutogradError, match="another view of its base has been modified inplace"):
            register(lambda grad: grad)


def test_a_saved_tensor_that_is_detached_in_place_keeps_its_graph():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * 2
    square = y * y
    y.detach_()
    (first,) = torch.autograd.grad(square.sum(), x, create_graph=True)
    assert first.tolist() == [8.0, 16.0] and not y.requires_grad
    (second,) = torch.autograd.grad(first.sum(), x)
    assert second.tolist() == [8.0, 8.0]


def test_a_written_view_that_requires_gradients_of_a_plain_base_is_refused():
    base = torch.ones(3)
    view = base[:2].requires_grad_()
    for target in (view, view.view(2)):
        with pytest.raises(AutogradError, match="mul_: a .*leaf Variable that requires grad"):
            target.mul_(2)
    assert base.tolist() == [1.0] * 3


def test_views_made_under_no_grad_take_hooks_and_may_be_inputs_without_a_gradient():
    x = leaf()
    with torch.no_grad():
        view = x[:2]
    seen = []
    view.register_hook(seen.append)
    (view * 2).sum().backward()
    (x.sum() + view.sum()).backward(inputs=[view])
    assert seen == [] and x.grad is None and view.grad is None
    assert torch.autograd.grad(x.sum(), [view], allow_unused=True) == (None,)


def test_a_leaf_that_no_longer_requires_gradients_gets_none():
    x = leaf()
    y = (x * 2).sum()
    x.requires_grad_(False)
    y.backward()
    assert x.grad is None


def test_integer_results_are_not_part_of_the_graph():
    x = leaf(3.0, 1.0, 2.0)
    (first,) = torch.autograd.grad(x.sort()[0].sum(), x, create_graph=True)
    assert not first.requires_grad


def test_a_view_of_a_base_that_has_left_the_graph_ends_it_once_the_base_is_written():
    for is_written in (False, True):
        seen = []
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        x.register_hook(seen.append)
        view = x.expand_as(x)
        x.requires_grad_(False)
        if is_written:
            x.view(-1)[0].sin_()
        (view * 2).sum().backward()
        assert [each.tolist() for each in seen] == ([] if is_written else [[2.0, 2.0]])
        assert view.requires_grad and x.grad is None
