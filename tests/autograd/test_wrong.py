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
    (lambda: backward(3), TypeError, "backward: tensors must be a tensor or a list of them, got 3"),
    (lambda: backward([3]), TypeError, "backward: element 0 of tensors must be a Tensor, got 3"),
    (
        lambda: backward(torch.ones(1)),
        RuntimeError,
        "backward: element 0 of tensors does not require grad and does not have a grad_fn: float32[1] on cpu",
    ),
    (
        lambda: leaf().backward(),
        RuntimeError,
        "backward: grad can be implicitly created only for scalar outputs, not for float32[2] on cpu",
    ),
    (lambda: leaf().backward("x"), TypeError, "backward: a gradient is a tensor or None, not 'x'"),
    (lambda: leaf().backward(torch.ones(3)), RuntimeError, "backward: the gradient has shape [3], the output [2]"),
    (lambda: backward([leaf().sum()], [None, None]), RuntimeError, "backward: got 1 tensors and 2 gradients"),
    (lambda: leaf().sum().backward(inputs=[]), RuntimeError, "backward: inputs cannot be empty, got []"),
    (
        lambda: leaf().sum().backward(inputs=["x"]),
        RuntimeError,
        "backward: all inputs have to be Tensors or GradientEdges, inputs[0] is 'x'",
    ),
    (lambda: leaf().sum().backward(inputs=3), TypeError, "backward: inputs must be a tensor or a list of them, got 3"),
    (lambda: leaf().sum().backward(retain_graph="x"), TypeError, "backward: retain_graph must be a bool, got 'x'"),
    (lambda: leaf().sum().backward(create_graph="x"), TypeError, "backward: create_graph must be a bool, got 'x'"),
    (twice, RuntimeError, "MulBackward0: trying to backward through the graph a second time"),
    (lambda: grad(3, leaf()), TypeError, "grad: outputs must be a tensor or a list of them, got 3"),
    (lambda: grad(leaf().sum(), []), RuntimeError, "grad: inputs cannot be empty, got []"),
    (
        lambda: grad(leaf().sum(), [torch.ones(1)]),
        RuntimeError,
        "grad: one of the tensors, float32[1] on cpu, does not require grad",
    ),
    (
        lambda: grad(leaf().sum(), [leaf()]),
        RuntimeError,
        "grad: One of the differentiated Tensors (number 0, float32[2] on cpu) appears to not have been used",
    ),
    (lambda: grad(leaf().sum(), [leaf()], allow_unused="x"), TypeError, "grad: allow_unused must be a bool, got 'x'"),
    (lambda: grad(leaf(), [leaf()]), RuntimeError, "grad: grad can be implicitly created only for scalar outputs"),
    (hooked("x"), TypeError, "register_hook: the hook returned 'x' for a gradient, float32[2] on cpu"),
    (
        hooked(torch.ones(3)),
        RuntimeError,
        "register_hook: the hook returned float32[3] on cpu for a gradient, float32[2] on cpu",
    ),
    (
        hooked(torch.ones(2).double()),
        RuntimeError,
        "register_hook: the hook returned float64[2] on cpu for a gradient, float32[2] on cpu",
    ),
    (
        answering((torch.ones(2),)),
        RuntimeError,
        "WrongBackward: returned an incorrect number of gradients (expected 2, got 1)",
    ),
    (
        answering((torch.ones(2),) * 3),
        RuntimeError,
        "WrongBackward: returned an incorrect number of gradients (expected 2, got 3)",
    ),
    (answering(("x", None)), RuntimeError, "WrongBackward: returned 'x' as the gradient of input 0"),
    (
        answering((None, torch.ones(7))),
        RuntimeError,
        "WrongBackward: returned an invalid gradient at index 1: float32[7] on cpu for an input of shape [2]",
    ),
    (lambda: type("Bare", (Function,), {}).apply(leaf()), NotImplementedError, "Bare: forward is not defined"),
    (
        lambda: (
            type("Half", (Function,), {"forward": staticmethod(lambda ctx, x: x * 2)}).apply(leaf()).sum().backward()
        ),
        NotImplementedError,
        "Half: backward is not defined",
    ),
    (
        forward_that(lambda ctx, x: ctx.save_for_backward("s")),
        TypeError,
        "save_for_backward: can only save tensors, argument 0 is 's'",
    ),
    (
        forward_that(lambda ctx, x: ctx.mark_dirty("s")),
        RuntimeError,
        "mark_dirty: can only accept tensors, argument 0 is 's'",
    ),
    (
        forward_that(lambda ctx, x: ctx.mark_non_differentiable(3)),
        RuntimeError,
        "mark_non_differentiable: can only accept tensors, argument 0 is 3",
    ),
    (
        forward_that(lambda ctx, x: (ctx.mark_dirty(x), x * 2)[1]),
        RuntimeError,
        "Odd: an input that mark_dirty names, float32[2] on cpu, is not returned by forward",
    ),
    (lambda: torch.no_grad("x"), TypeError, "no_grad: decorates functions, got 'x'"),
    (lambda: torch.enable_grad()(3), TypeError, "enable_grad: decorates functions, got 3"),
    (lambda: torch.set_grad_enabled(None), TypeError, "set_grad_enabled: mode must be a bool, got None"),
    (lambda: torch.inference_mode(3), TypeError, "inference_mode: mode must be a bool, got 3"),
    (
        lambda: graph.set_warn_on_accumulate_grad_stream_mismatch("x"),
        RuntimeError,
        "set_warn_on_accumulate_grad_stream_mismatch: enabled must be a bool, but got 'x'",
    ),
    (
        lambda: leaf().add_(1),
        RuntimeError,
        "add_: a leaf Variable that requires grad is being used in an in-place operation: float32[2] on cpu",
    ),
)
def test_wrong_calls(call, error, begins):
    refused(call, error, begins)


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
