"""Layer norm: values, far means, and the gradients that have kernels of their own."""

import numpy as np
import pytest

from flambeau import dtypes
from flambeau.errors import AutogradError, DtypeError, ShapeError
from flambeau.ops.layer_norm import ROWS_PER_PIECE, _column_parts, layer_norm
from flambeau.ops.softmax import log_softmax
from flambeau.tensor.factories import tensor
from flambeau.testing import gradcheck, machine

RANDOM = np.random.default_rng(3)


def leaf(values):
    return tensor(values, dtype=dtypes.float64, requires_grad=True)


def normal(x, eps=1e-5):
    center = x.mean(-1, keepdims=True)
    return (x - center) / np.sqrt(np.square(x - center).mean(-1, keepdims=True) + eps)


@pytest.mark.parametrize("size", [7, 300, 2000])
def test_layer_norm(size):
    values, weight, bias = RANDOM.standard_normal((3, 5, size)) + 9, RANDOM.random(size), RANDOM.random(size)
    found = layer_norm(tensor(values), (size,), tensor(weight), tensor(bias))
    np.testing.assert_allclose(found.numpy(), normal(values) * weight + bias, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(layer_norm(tensor(values), size).numpy(), normal(values), rtol=1e-9, atol=1e-10)


def test_layer_norm_over_several_dimensions():
    values = RANDOM.standard_normal((2, 3, 4))
    found = layer_norm(tensor(values), (3, 4)).numpy()
    np.testing.assert_allclose(found, normal(values.reshape(2, 12)).reshape(2, 3, 4), rtol=1e-10, atol=1e-12)


def test_layer_norm_of_a_far_mean_is_stable():
    x = tensor([[1e4, 1e4 + 1, 1e4 + 2]])
    np.testing.assert_allclose(layer_norm(x, (3,)).numpy(), [[-1.2247, 0, 1.2247]], atol=1e-3)


def test_layer_norm_gradients_over_many_rows():
    """Enough rows for the parameter gradients to be summed in pieces."""
    count = 3 * ROWS_PER_PIECE
    assert _column_parts(count, 2) > 1
    values, weight, bias = (leaf(RANDOM.standard_normal(shape)) for shape in ((count, 2), (2,), (2,)))
    gradcheck(lambda w, b: layer_norm(values.detach(), (2,), w, b), [weight, bias])
    gradcheck(lambda x, w: layer_norm(x, (2,), w), [leaf(RANDOM.standard_normal((3, 2))), weight])


def test_layer_norm_refuses_a_second_derivative_by_name():
    x = leaf(RANDOM.standard_normal((2, 3)))
    (layer_norm(x, (3,)) * tensor(RANDOM.standard_normal((2, 3)))).sum().backward(create_graph=True)
    with pytest.raises(AutogradError, match="layer_norm_backward: the second derivative of layer_norm"):
        x.grad.sum().backward()


def test_layer_norm_without_rows():
    weight = leaf([1.0, 2.0])
    out = layer_norm(tensor(np.zeros((0, 2))), (2,), weight)
    out.sum().backward()
    assert out.shape == (0, 2)
    assert weight.grad.tolist() == [0, 0]


def test_layer_norm_errors():
    x = tensor(np.zeros((2, 3), np.float32))
    with pytest.raises(ShapeError, match=r"normalized_shape=\[2\], expected input with shape \[\*, 2\]"):
        layer_norm(x, (2,))
    with pytest.raises(ShapeError, match=r"weight has shape \[2\], normalized_shape is \[3\]"):
        layer_norm(x, (3,), tensor([1.0, 1.0]))
    with pytest.raises(DtypeError, match="bias is float64, input is float32"):
        layer_norm(x, (3,), None, tensor(np.zeros(3)))


def test_a_virtual_gpu_gives_the_same_bits():
    values = RANDOM.standard_normal((65, 33)).astype(np.float32)

    def run(device):
        x = tensor(values, device=device, requires_grad=True)
        w = tensor(np.ones(33, np.float32), device=device, requires_grad=True)
        (log_softmax(layer_norm(x, (33,), w), 1) * x).sum().backward()
        return [each.cpu().numpy().tobytes() for each in (x.grad, w.grad)]

    on_cpu = run("cpu")
    with machine(devices=1):
        assert run("cuda") == on_cpu
