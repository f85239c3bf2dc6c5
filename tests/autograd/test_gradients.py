"""backward and grad: their arguments, and gradients of inner results."""

import pytest

import flambeau as torch
from flambeau.autograd import graph
from flambeau.autograd.gradients import queue_callback
from flambeau.errors import AutogradError


def leaf(*values):
    return torch.tensor(values or [1.0, 2.0, 3.0], requires_grad=True)


def test_a_gradient_that_does_not_fit_its_input_is_refused():
    class Wrong(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, shape):
            ctx.shape = shape
            return x.sum()

        @staticmethod
        def backward(ctx, grad):
            return torch.ones(ctx.shape), None

    x = leaf(1.0, 2.0)
    for shape in ((3,), (), (2, 3)):
        with pytest.raises(
            RuntimeError, match=r"gradient at index 0: float32\[.*\] on cpu for an input of shape \[2\]"
        ):
            Wrong.apply(x, shape).backward()
    assert x.grad is None
    Wrong.apply(x, (3, 2)).backward()
    assert x.grad.tolist() == [3.0, 3.0]


def test_grad_returns_and_leaves_leaves_alone():
    x, y, unused = leaf(2.0), leaf(3.0), leaf(1.0)
    z = x * y
    dx, dy = torch.autograd.grad(z, [x, y], retain_graph=True)
    assert (dx.item(), dy.item(), x.grad) == (3.0, 2.0, None)
    with pytest.raises(RuntimeError, match="number 0.*not have been used"):
        torch.autograd.grad(z, [unused], retain_graph=True)
    assert torch.autograd.grad(z, [unused], allow_unused=True) == (None,)


def test_gradient_with_respect_to_an_inner_value():
    x = leaf(2.0)
    y = x * 3
    (found,) = torch.autograd.grad(y * y, [y])
    assert found.tolist() == [12.0]


def test_grad_of_an_inner_result_leaves_its_own_graph_alone():
    x = torch.full((1,), 2.0, requires_grad=True)
    y = x * x
    (grad,) = torch.autograd.grad(y * y, [y])
    y.backward()
    assert (grad.item(), x.grad.item()) == (8.0, 4.0)


@pytest.mark.parametrize(
    ("given", "error", "text"),
    [
        (
            lambda: torch.ones(3, device="cuda:1"),
            RuntimeError,
            r": the gradient is .*cuda:1.*, the output .*cuda:0",
        ),
        (lambda: torch.ones(3), RuntimeError, r": the gradient is .*cpu.*, the output .*cuda:0"),
        (
            lambda: torch.ones(2, device="cuda:0"),
            RuntimeError,
            r": the gradient has shape \[2\], the output \[3\]",
        ),
        (lambda: 5, TypeError, ": a gradient is a tensor or None, not 5"),
    ],
    ids=["another device", "the host", "another shape", "no tensor"],
)
def test_a_gradient_that_is_given_fits_its_output(gpus, given, error, text):
    x = torch.ones(3, device="cuda:0", requires_grad=True)
    y = x * 2
    with pytest.raises(error, match=f"^backward{text}"):
        y.backward(given())
    with pytest.raises(error, match=f"^grad{text}"):
        torch.autograd.grad(y, [x], [given()])
    y.backward(torch.ones(3, device="cuda:0"))
    assert x.grad.tolist() == [2.0] * 3


def test_gradients_under_their_former_name():
    x = leaf(1.0, 2.0)
    with pytest.warns(FutureWarning, match="grad_variables"):
        torch.autograd.backward(x * 2, grad_variables=torch.ones(2))
    assert x.grad.tolist() == [2.0, 2.0]
    with pytest.warns(FutureWarning), pytest.raises(RuntimeError, match="backward: .*both"):
        torch.autograd.backward(x * 2, torch.ones(2), grad_variables=torch.ones(2))


def test_a_callback_is_called_when_the_pass_ends():
    seen, x = [], torch.ones(2, requires_grad=True)
    y = x * 2
    y.register_hook(lambda grad: queue_callback(lambda: seen.append(x.grad.tolist())))
    y.sum().backward(retain_graph=True)
    assert seen == [[2.0, 2.0]]
    torch.autograd.grad(y.sum(), x)
    assert len(seen) == 2
    with pytest.raises(AutogradError, match="queue_callback: no backward pass is running"):
        queue_callback(seen.clear)


def test_the_pass_with_inputs_adds_to_those_alone_and_makes_others_retain():
    x, w = leaf(), leaf(4.0, 5.0, 6.0)
    y = x * w
    y.register_hook(lambda grad: grad * 10)
    (y * y).sum().backward(inputs=[y, w])
    assert x.grad is None and y.retains_grad
    assert y.grad.tolist() == [80.0, 200.0, 360.0] and w.grad.tolist() == [80.0, 400.0, 1080.0]


def test_edges_take_the_place_of_tensors():
    x = leaf()
    y = x * 2
    out = (y * y).sum()
    edge = graph.get_gradient_edge(y)
    assert (edge.node, edge.output_nr, edge.ownership_token) == (y.grad_fn, 0, None) and tuple(edge) == edge
    (found,) = torch.autograd.grad(out, edge, retain_graph=True)
    assert found.tolist() == [4.0, 8.0, 12.0]
    del y
    (found,) = torch.autograd.grad(edge, x, torch.ones(3))
    assert found.tolist() == [2.0] * 3
    torch.autograd.backward(graph.get_gradient_edge(x.exp().sum()), inputs=[graph.get_gradient_edge(x)])
    assert torch.equal(x.grad, x.exp())
    for value in (torch.ones(1), 3):
        with pytest.raises(AutogradError, match="get_gradient_edge: "):
            graph.get_gradient_edge(value)
    with pytest.raises(AutogradError, match="implicitly created only for scalar outputs"):
        torch.autograd.backward(graph.get_gradient_edge(x * 2))


def test_grad_takes_dictionaries_and_makes_zeros():
    x, unused = leaf(), leaf()
    found = torch.autograd.grad((x * 2).sum(), {"x": x, "unused": unused}, materialize_grads=True)
    assert {name: each.tolist() for name, each in found.items()} == {"x": [2.0] * 3, "unused": [0.0] * 3}
    with pytest.raises(ValueError, match="allow_unused=False"):
        torch.autograd.grad(x.sum(), [x], allow_unused=False, materialize_grads=True)
