"""Wrong calls of backward, grad, modes, hooks and Functions."""

import pytest

import flambeau as torch
from flambeau.autograd import Function, backward, grad, graph
from tests.wrong import cases, refused


def leaf(*values):
    return torch.tensor(values or [1.0, 2.0], requires_grad=True)


class Product(Function):
    """A Function whose backward returns a given value."""

    answer = None

    @staticmethod
    def forward(ctx, x, y):
        return x * y

    @classmethod
    def backward(cls, ctx, grad):
        return cls.answer


def answering(value):
    made = type("Wrong", (Product,), {"answer": value})
    return lambda: made.apply(leaf(), leaf()).sum().backward()


def forward_that(does, name="Odd"):
    """A Function whose forward calls `does` with its context and input."""
    made = type(name, (Function,), {"forward": staticmethod(does), "backward": staticmethod(lambda ctx, grad: grad)})
    return lambda: made.apply(leaf())


def hooked(value):
    def run():
        x = leaf()
        x.register_hook(lambda grad: value)
        (x * 2).sum().backward()

    return run


def twice():
    x = leaf()
    y = (x * x).sum()
    y.backward()
    y.backward()


@cases(
    (lambda: backward(3), TypeError, "backward", "3"),
    (lambda: backward([3]), TypeError, "backward", "3"),
    (lambda: backward(torch.ones(1)), RuntimeError, "backward", "float32[1] on cpu"),
    (lambda: leaf().backward(), RuntimeError, "backward", "float32[2] on cpu"),
    (lambda: leaf().backward("x"), TypeError, "backward", "'x'"),
    (lambda: leaf().backward(torch.ones(3)), RuntimeError, "backward", "[3]", "[2]"),
    (lambda: backward([leaf().sum()], [None, None]), RuntimeError, "backward", "1", "2"),
    (lambda: leaf().sum().backward(inputs=[]), RuntimeError, "backward", "[]"),
    (lambda: leaf().sum().backward(inputs=["x"]), RuntimeError, "backward", "'x'"),
    (lambda: leaf().sum().backward(inputs=3), TypeError, "backward", "3"),
    (lambda: leaf().sum().backward(retain_graph="x"), TypeError, "backward", "'x'"),
    (lambda: leaf().sum().backward(create_graph="x"), TypeError, "backward", "'x'"),
    (twice, RuntimeError, "MulBackward0"),
    (lambda: grad(3, leaf()), TypeError, "grad", "3"),
    (lambda: grad(leaf().sum(), []), RuntimeError, "grad", "[]"),
    (lambda: grad(leaf().sum(), [torch.ones(1)]), RuntimeError, "grad", "float32[1] on cpu"),
    (lambda: grad(leaf().sum(), [leaf()]), RuntimeError, "grad", "0", "float32[2] on cpu"),
    (lambda: grad(leaf().sum(), [leaf()], allow_unused="x"), TypeError, "grad", "'x'"),
    (lambda: grad(leaf(), [leaf()]), RuntimeError, "grad", "float32[2] on cpu"),
    (hooked("x"), TypeError, "register_hook", "'x'", "float32[2] on cpu"),
    (hooked(torch.ones(3)), RuntimeError, "register_hook", "float32[3] on cpu", "float32[2] on cpu"),
    (hooked(torch.ones(2).double()), RuntimeError, "register_hook", "float64[2] on cpu", "float32[2] on cpu"),
    (answering((torch.ones(2),)), RuntimeError, "WrongBackward", "2", "1"),
    (answering((torch.ones(2),) * 3), RuntimeError, "WrongBackward", "2", "3"),
    (answering(("x", None)), RuntimeError, "WrongBackward", "'x'", "0"),
    (answering((None, torch.ones(7))), RuntimeError, "WrongBackward", "float32[7] on cpu", "[2]"),
    (lambda: type("Bare", (Function,), {}).apply(leaf()), NotImplementedError, "Bare"),
    (
        lambda: (
            type("Half", (Function,), {"forward": staticmethod(lambda ctx, x: x * 2)}).apply(leaf()).sum().backward()
        ),
        NotImplementedError,
        "Half",
    ),
    (forward_that(lambda ctx, x: ctx.save_for_backward("s")), TypeError, "save_for_backward", "'s'"),
    (forward_that(lambda ctx, x: ctx.mark_dirty("s")), RuntimeError, "mark_dirty", "'s'"),
    (forward_that(lambda ctx, x: ctx.mark_non_differentiable(3)), RuntimeError, "mark_non_differentiable", "3"),
    (forward_that(lambda ctx, x: (ctx.mark_dirty(x), x * 2)[1]), RuntimeError, "Odd", "float32[2] on cpu"),
    (lambda: torch.no_grad("x"), TypeError, "no_grad", "'x'"),
    (lambda: torch.enable_grad()(3), TypeError, "enable_grad", "3"),
    (lambda: torch.set_grad_enabled(None), TypeError, "set_grad_enabled", "None"),
    (lambda: torch.inference_mode(3), TypeError, "inference_mode", "3"),
    (
        lambda: graph.set_warn_on_accumulate_grad_stream_mismatch("x"),
        RuntimeError,
        "set_warn_on_accumulate_grad_stream_mismatch",
        "'x'",
    ),
    (lambda: leaf().add_(1), RuntimeError, "add_", "float32[2] on cpu"),
)
def test_wrong_calls(case):
    refused(*case)


def test_nothing_has_changed_after_a_refusal():
    x = leaf()
    y = (x * x).sum()
    for wrong in ({"gradient": torch.ones(3)}, {"inputs": []}, {"inputs": ["x"]}, {"retain_graph": "x"}):
        with pytest.raises((TypeError, RuntimeError)):
            y.backward(**wrong)
    with pytest.raises(TypeError):
        torch.set_grad_enabled("x")
    assert torch.is_grad_enabled()
    assert x.grad is None
    y.backward()
    assert x.grad.tolist() == [2.0, 4.0], "the graph was not used up"


def test_a_hook_may_return_what_is_like_the_gradient():
    x = leaf()
    x.register_hook(lambda grad: torch.full((2,), 5.0))
    x.sum().backward()
    assert x.grad.tolist() == [5.0, 5.0]
