"""User-defined Functions: contexts, views, writes in place, second derivatives."""

import weakref

import pytest

import flambeau as torch
from flambeau.autograd import Function, graph
from flambeau.autograd.function import once_differentiable
from flambeau.errors import ArgumentTypeError, AutogradError
from flambeau.testing import gradcheck, gradgradcheck


def leaf(*values):
    return torch.tensor(values or [1.0, 2.0, 3.0], requires_grad=True)


def function(forward, backward=lambda ctx, *grads: grads[0] if len(grads) == 1 else grads):
    return type("Made", (Function,), {"forward": staticmethod(forward), "backward": staticmethod(backward)})


class Product(Function):
    @staticmethod
    def forward(x, y, scale=2.0):
        return x * y * scale, x + 1

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, y, scale = inputs
        assert isinstance(output, tuple) and len(output) == 2
        ctx.save_for_backward(x, y)
        ctx.scale = scale
        ctx.set_materialize_grads(False)

    @staticmethod
    def backward(ctx, grad, other):
        x, y = ctx.saved_tensors
        Product.seen = ctx.needs_input_grad, other
        if grad is None:
            return None, None, None
        return grad * y * ctx.scale, grad * x * ctx.scale if ctx.needs_input_grad[1] else None, None


def test_a_forward_without_ctx_is_set_up_afterwards():
    x = leaf()
    product, more = Product.apply(x, torch.tensor([4.0, 5.0, 6.0]))
    assert product.grad_fn is more.grad_fn and (product.output_nr, more.output_nr) == (0, 1)
    product.sum().backward()
    assert x.grad.tolist() == [8.0, 10.0, 12.0] and Product.seen == ((True, False, False), None)
    assert Product.apply(torch.ones(1), y=torch.ones(1), scale=3.0)[0].tolist() == [3.0]
    inputs = [torch.tensor([0.5, 2.0], dtype=torch.float64, requires_grad=True) for _ in range(2)]
    assert gradcheck(lambda x, y: Product.apply(x, y)[0], inputs)
    assert gradgradcheck(lambda x, y: Product.apply(x, y)[0], inputs)


def test_keywords_become_arguments_by_position():
    def forward(ctx, x, scale=2.0, y=1.0):
        ctx.scale = scale, y
        ctx.needs = ctx.needs_input_grad
        return x * scale * y

    x, y = leaf(), leaf(4.0, 5.0, 6.0)
    made = function(forward, lambda ctx, grad: (grad * 5, None, None)[: len(ctx.needs)])
    assert made.apply(x=x).tolist() == [2.0, 4.0, 6.0] and made.apply(x, scale=3.0).tolist() == [3.0, 6.0, 9.0]
    assert made.apply(x, y=y).tolist() == [8.0, 20.0, 36.0]
    made.apply(scale=3.0, x=x).sum().backward()
    assert x.grad.tolist() == [5.0, 5.0, 5.0]
    assert made.apply(x, scale=3.0).grad_fn.needs == (True, False)  # no defaults
    for args, named, what in (((), {"y": y}, "'x'"), ((x,), {"x": x}, "'x'"), ((x,), {"z": 1}, "'z'")):
        with pytest.raises(ArgumentTypeError, match=rf"Made: forward\(\) .*{what}") as caught:
            made.apply(*args, **named)
        assert "hint: " in str(caught.value)
    with pytest.raises(ArgumentTypeError, match="Made: apply.. .*, and k of forward can only be keywords"):
        function(lambda ctx, x, *, k=1: x).apply(x, k=2)


class Tagged(torch.Tensor):
    """A subclass without additions."""


def test_saved_inputs_are_the_tensors_themselves():
    weight, mask = torch.nn.Parameter(torch.ones(2)), torch.ones(2).as_subclass(Tagged)
    weight.main_grad = torch.zeros(2)
    hidden = weight * 2
    hidden.note = "kept"

    def forward(ctx, *tensors):
        inner = tensors[0] * 1
        ctx.save_for_backward(*tensors, inner)
        return tensors[0] * 1

    seen = []
    made = function(forward, lambda ctx, grad: (seen.extend(ctx.saved_tensors), None, None))
    result = made.apply(weight, mask, hidden)
    result.sum().backward()
    assert seen[0] is weight and seen[1] is mask and seen[2] is hidden and type(seen[3]) is torch.Tensor
    result = made.apply(weight, mask, hidden)
    assert result.grad_fn.saved_tensors[0] is weight is (weight * weight).grad_fn._saved_self
    weight.data = torch.zeros(2)
    again = result.grad_fn.saved_tensors[0]
    assert again is not weight and again.tolist() == [1.0, 1.0] and again.requires_grad


def test_a_saved_input_is_freed_with_the_graph():
    x = torch.ones(2, requires_grad=True)
    hidden = (x * 2).as_subclass(Tagged)
    gone = weakref.ref(hidden)

    def forward(ctx, x):
        ctx.save_for_backward(x, x[:1])
        return x * 1

    result = function(forward).apply(hidden)
    del hidden
    assert gone() is not None
    result.sum().backward()
    assert gone() is None
    hidden = (x * 2).as_subclass(Tagged)
    gone = weakref.ref(hidden)
    with graph.saved_tensors_hooks(lambda tensor: tensor.tolist(), torch.tensor):
        result = function(forward).apply(hidden)
    del hidden
    assert gone() is None and result.grad_fn.saved_tensors[0].tolist() == [2.0, 2.0]


def test_the_node_of_a_function_is_named_after_it_and_has_what_ctx_has():
    def forward(ctx, x):
        ctx.note = 5
        assert ctx.saved_tensors == ()
        ctx.save_for_backward(x, None)
        return x * 2

    y = function(forward).apply(leaf())
    node = y.grad_fn
    assert type(node).__name__ == node.name() == "MadeBackward" and node is y.grad_fn
    assert (node.note, node.needs_input_grad) == (5, (True,))
    node.note = 6
    assert node.note == 6 and not hasattr(node, "nothing")
    saved, nothing = node.saved_tensors
    assert saved.tolist() == [1.0, 2.0, 3.0] and saved.requires_grad and nothing is None
    y.sum().backward()
    for read in (lambda: node.saved_tensors, lambda: node._raw_saved_tensors):
        with pytest.raises(AutogradError, match="MadeBackward: .*freed.*\nhint: Specify retain_graph=True"):
            read()


def test_reading_saved_tensors_twice_needs_the_graph():
    def backward(ctx, grad):
        assert ctx.saved_tensors
        return grad

    y = function(lambda ctx, x: (ctx.save_for_backward(x), x * 2)[1], backward).apply(leaf()).sum()
    y.backward()
    with pytest.raises(AutogradError, match="second time"):
        y.backward()


# views


AS_IS = function(lambda ctx, x: x)
FIRST = function(lambda ctx, x: x[:2], lambda ctx, grad: torch.cat([grad, torch.zeros(1)]))
BOTH = function(lambda ctx, x: (x[:2], x[1:]))


@pytest.mark.parametrize(
    ("made", "what"),
    [
        (lambda y: AS_IS.apply(y), "returned by the forward of a custom Function"),
        (lambda y: FIRST.apply(y), "returned by the forward of a custom Function"),
        (lambda y: FIRST.apply(y)[0], "returned by the forward of a custom Function"),
        (lambda y: BOTH.apply(y)[1], "the output of a function that returns multiple views"),
    ],
)
def test_a_view_that_forward_returned_is_not_written_in_a_graph(made, what):
    y = leaf() * 2
    view = made(y)
    assert view._is_view() and view._base is y
    with pytest.raises(AutogradError, match=f"mul_: a view that is {what}|mul_: a view that was {what}"):
        view.mul_(2)
    y.mul_(2)
    with pytest.raises(AutogradError, match=f"{what} is used, and its base"):
        view.sum()


def test_an_input_that_is_returned_as_it_is_becomes_a_view():
    y = leaf() * 2
    same = AS_IS.apply(y)
    assert same is not y and same._base is y and same.grad_fn.name() == "MadeBackward"
    plain = torch.ones(3)
    FIRST.apply(plain).mul_(2)
    assert plain.tolist() == [2.0, 2.0, 1.0]
    first, second = function(lambda ctx, x: (x, x), lambda ctx, a, b: a + b).apply(y)
    assert first is not second and (first.output_nr, second.output_nr) == (0, 1)


# writes in place


DOUBLE = function(lambda ctx, x: (ctx.mark_dirty(x), x.mul_(2))[1], lambda ctx, grad: grad * 2)
SQUARE = function(
    lambda ctx, x: (ctx.mark_dirty(x), ctx.save_for_backward(x.clone()), x.mul_(x))[2],
    lambda ctx, grad: grad * ctx.saved_tensors[0] * 2,
)
EXP = function(
    lambda ctx, x: (ctx.mark_dirty(x), ctx.save_for_backward(x), x.exp_())[2],
    lambda ctx, grad: grad * ctx.saved_tensors[0],
)


def test_forward_may_write_its_input():
    x = leaf()
    y = x * 1
    y.retain_grad()
    assert DOUBLE.apply(y) is y and y.grad_fn.name() == "MadeBackward"
    y.sum().backward()
    assert (x.grad.tolist(), y.grad.tolist()) == ([2.0] * 3, [1.0] * 3)
    for written in (leaf(), leaf()[:2]):
        with pytest.raises(AutogradError, match="Made: a (view of a )?leaf Variable that requires grad"):
            DOUBLE.apply(written)
    plain = torch.ones(3)
    assert DOUBLE.apply(plain[:2])._base is plain and plain.tolist() == [2.0, 2.0, 1.0]


@pytest.mark.parametrize("made", [DOUBLE, SQUARE, EXP])
def test_forward_may_write_a_view(made):
    def through_a_view(x):
        base = x * 1
        view = base.view(2, 2).t()[0]
        assert made.apply(view) is view
        return base * base, view

    def plain(x):
        first, second = x[::2], x[1::2]
        changed = {DOUBLE: lambda t: t * 2, SQUARE: lambda t: t * t, EXP: torch.exp}[made](first)
        return torch.stack([changed**2, second**2], 1).reshape(4), changed

    values = torch.tensor([0.5, 1.0, 1.5, 2.0], dtype=torch.float64)
    found = []
    for run in (through_a_view, plain):
        x = values.clone().requires_grad_()
        squares, part = run(x)
        total = squares.sum() + (part * 3).sum()
        (first,) = torch.autograd.grad(total, x, create_graph=made is not SQUARE)
        (second,) = torch.autograd.grad(first.sum(), x) if made is not SQUARE else [first]
        found.append(torch.cat([squares, part, first, second]).tolist())
    assert found[0] == pytest.approx(found[1])


def test_a_view_that_is_an_operand_but_not_the_first_is_written_too():
    made = function(
        lambda ctx, scale, x: (ctx.mark_dirty(x), ctx.save_for_backward(scale), x.mul_(scale))[2],
        lambda ctx, grad: (None, grad * ctx.saved_tensors[0]),
    )
    x = leaf()
    y = x * 1
    made.apply(torch.tensor(5.0), y[1:])
    y.sum().backward()
    assert x.grad.tolist() == [1.0, 5.0, 5.0]


def test_a_written_view_is_returned_alone():
    made = function(lambda ctx, x: (ctx.mark_dirty(x), x.mul_(2), x * 3)[1:])
    with pytest.raises(AutogradError, match=r"Made: forward wrote a view in place, float32\[2\] .* returned 2"):
        made.apply((leaf() * 1)[:2])
    lost = function(lambda ctx, x: (ctx.mark_dirty(x), x * 2)[1])
    for value in (leaf() * 1, torch.ones(2)):
        with pytest.raises(AutogradError, match=r"Made: .*mark_dirty.*float32.* is not returned"):
            lost.apply(value)


# gradients


def test_results_without_gradients_get_zeros_or_none():
    seen = []

    def run(materialize):
        def forward(ctx, x):
            ctx.set_materialize_grads(materialize)
            first, second, third = x * 2, x * 3, x.long()
            ctx.mark_non_differentiable(second)
            return first, second, third, 7

        def backward(ctx, *grads):
            seen.append([None if each is None else each.tolist() for each in grads])
            return grads[0]

        x = leaf()
        first, second, third, number = function(forward, backward).apply(x)
        assert (second.requires_grad, third.requires_grad, second.grad_fn, number) == (False, False, None, 7)
        first.sum().backward()

    run(True)
    run(False)
    assert seen == [[[1.0] * 3, [0.0] * 3, [0] * 3, None], [[1.0] * 3, None, None, None]]


def test_a_gradient_for_what_is_no_tensor_is_refused():
    for gradient in (5, torch.ones(2)):
        made = function(lambda ctx, x, n: x * n, lambda ctx, grad, gradient=gradient: (grad, gradient))
        with pytest.raises(AutogradError, match="MadeBackward: returned a gradient different than None at position 2"):
            made.apply(leaf(), 2).sum().backward()
    made = function(lambda ctx, x: x * 2, lambda ctx, grad: (grad, None, None))
    x = leaf()
    made.apply(x).sum().backward()
    assert x.grad.tolist() == [1.0] * 3


def test_a_function_that_can_be_differentiated_once():
    class Once(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        @once_differentiable
        def backward(ctx, grad):
            assert not torch.is_grad_enabled()
            return grad * 2 * ctx.saved_tensors[0]

    x = leaf()
    Once.apply(x).sum().backward()
    assert x.grad.tolist() == [2.0, 4.0, 6.0]
    weight = leaf(1.0, 1.0, 1.0)
    (first,) = torch.autograd.grad((Once.apply(x) * weight).sum(), x, create_graph=True)
    assert first.requires_grad
    with pytest.raises(AutogradError, match="differentiate twice a function .*@once_differentiable"):
        first.sum().backward()


def test_saved_tensors_may_be_readable_once():
    class Square(Function):
        clear_saved_tensors_on_access = True

        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x.clone())
            return x * x

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            with pytest.raises(AutogradError, match=r"SquareBackward: .*accessed once"):
                _ = ctx.saved_tensors
            alive = weakref.ref(x)
            result = 2 * x * grad
            del x
            assert alive() is None
            return result

    x = leaf(3.0)
    out = Square.apply(x).sum()
    with torch.no_grad():
        out.backward(retain_graph=True)
    assert x.grad.tolist() == [6.0]
    with pytest.raises(AutogradError, match="accessed once"):
        out.backward()


def test_materialize_grads_is_a_bool():
    wrong = function(lambda ctx, x: ctx.set_materialize_grads(None))
    with pytest.raises(ArgumentTypeError, match=r"set_materialize_grads: .*None"):
        wrong.apply(leaf())
