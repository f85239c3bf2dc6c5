"""torch.autograd.functional: Jacobians, Hessians and products with vectors; values that PyTorch computes."""

import pytest

import flambeau as torch
from flambeau.autograd.functional import hessian, hvp, jacobian, jvp, vhp, vjp
from flambeau.errors import ArgumentTypeError, AutogradError, NotSupportedError, ShapeError


def cubes(x):
    return (x**3).sum()


def both(x, y):
    return x * y, (x * x).sum()


def mixed(x, y):
    return (x * x * y).sum()


X, Y = torch.tensor([1.0, 2.0]), torch.tensor([4.0, 5.0])


def test_a_jacobian_has_the_shapes_of_output_and_input():
    assert jacobian(lambda x: x * x, X).tolist() == [[2, 0], [0, 4]]
    assert jacobian(lambda x: x.sum(0, keepdim=True), torch.ones(2, 3)).shape == (1, 3, 2, 3)
    (dx, dy), (sx, sy) = jacobian(both, (X, Y))
    assert (dx.tolist(), dy.tolist()) == ([[4, 0], [0, 5]], [[1, 0], [0, 2]])
    assert (sx.tolist(), sy.tolist()) == ([2, 4], [0, 0])
    assert isinstance(jacobian(cubes, (X,)), tuple)
    assert jacobian(lambda x: x[:0], X).shape == (0, 2)


def test_hessians():
    assert hessian(cubes, X).tolist() == [[6, 0], [0, 12]]
    (xx, xy), (yx, yy) = hessian(mixed, (X, Y))
    assert (xx.tolist(), xy.tolist()) == ([[8, 0], [0, 10]], [[2, 0], [0, 4]])
    assert (yx.tolist(), yy.tolist()) == ([[2, 0], [0, 4]], [[0, 0], [0, 0]])
    assert hessian(lambda x: x.sum(), X).tolist() == [[0, 0], [0, 0]]


def test_products_with_vectors():
    outputs, (dx, dy) = vjp(both, (X, Y), (Y, torch.tensor(2.0)))
    assert [each.tolist() for each in outputs] == [[4, 10], 5]
    assert (dx.tolist(), dy.tolist()) == ([20, 33], [4, 10])
    outputs, (first, second) = jvp(both, (X, Y), (Y, X))
    assert (first.tolist(), second.item()) == ([17, 29], 28)
    for product in (vhp, hvp):
        value, (dx, dy) = product(mixed, (X, Y), (Y, Y))
        assert value.item() == 24 and (dx.tolist(), dy.tolist()) == ([40, 70], [8, 20])
    assert vjp(cubes, X)[1].tolist() == [3, 12]


@pytest.mark.parametrize("product", [vjp, jvp])
def test_results_have_a_graph_only_if_asked(product):
    x = X.clone().requires_grad_()
    assert not any(each.requires_grad for each in product(lambda x: x * x, x, Y))
    output, found = product(lambda x: x * x, x, Y, create_graph=True)
    assert output.requires_grad
    assert torch.autograd.grad(found.sum(), x)[0].tolist() == [8, 10]


def test_a_derivative_of_a_jacobian():
    x = X.clone().requires_grad_()
    jacobian(lambda x: x**3, x, create_graph=True).sum().backward()
    assert x.grad.tolist() == [6, 12]
    assert not jacobian(lambda x: x**3, x).requires_grad


def test_inputs_that_are_not_used():
    assert [each.tolist() for each in jacobian(lambda x, y: x.sum(), (X, Y))] == [[1, 1], [0, 0]]
    with pytest.raises(AutogradError, match="jacobian: .*independent of input 1"):
        jacobian(lambda x, y: x.sum(), (X, Y), strict=True)
    with pytest.raises(AutogradError, match="vjp: output 0 .*independent"):
        vjp(lambda x: torch.tensor(1.0), X, strict=True)
    assert vjp(lambda x: torch.tensor(1.0), X)[1].tolist() == [0, 0]


def test_wrong_arguments():
    with pytest.raises(AutogradError, match="vjp: .*can only be None"):
        vjp(lambda x: x * 2, X)
    with pytest.raises(ShapeError, match=r"jvp: v\[0\] has shape \[1\], expected \[2\]"):
        jvp(lambda x: x * 2, X, torch.ones(1))
    with pytest.raises(AutogradError, match=r"hessian: .*\[\[2\]\]"):
        hessian(lambda x: x * 2, X)
    with pytest.raises(ArgumentTypeError, match="jacobian: .*element 0 is 3"):
        jacobian(lambda x: 3, X)
    with pytest.raises(NotSupportedError, match="jacobian: .*'sideways'"):
        jacobian(cubes, X, strategy="sideways")


def test_gradients_of_a_batch_of_weights():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    z = torch.ones(1, requires_grad=True)
    (rows, none) = torch.autograd.grad(x * x, [x, z], torch.eye(2), is_grads_batched=True, allow_unused=True)
    assert rows.tolist() == [[2, 0], [0, 4]] and none is None
    with pytest.raises(AutogradError, match="grad: .*first size"):
        torch.autograd.grad(x * x, x, torch.ones(0, 2), is_grads_batched=True)


def test_a_backward_may_be_called_vjp():
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def vjp(ctx, grad):
            return grad * 3

    x = torch.ones(1, requires_grad=True)
    Double.apply(x).backward()
    assert x.grad.item() == 3
    Double.backward = staticmethod(lambda ctx, grad: grad)
    with pytest.raises(AutogradError, match="Double: backward and vjp are both defined"):
        Double.apply(x).backward()


@pytest.mark.parametrize("call", [hessian, vhp, hvp])
def test_second_derivatives_are_of_one_tensor(call):
    x = torch.tensor([1.0, 2.0])
    arguments = () if call is hessian else (x,)
    with pytest.raises(AutogradError, match=f"^{call.__name__}: "):
        call(lambda x: (cubes(x),), x, *arguments)
