"""Layer norm: values, far means, and the gradients that have kernels of their own."""

import numpy as np
import pytest

import flambeau as torch
from flambeau import dtypes
from flambeau.core.queue import hooks
from flambeau.errors import DtypeError, ShapeError
from flambeau.ops.normalization import SHORT_ROWS, _column_plan, layer_norm, layer_norm_columns, native_layer_norm
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
    count = SHORT_ROWS + 1
    assert _column_plan(count, 2, dtypes.float64)[2] > 1
    values, weight, bias = (leaf(RANDOM.standard_normal(shape)) for shape in ((count, 2), (2,), (2,)))
    assert gradcheck(lambda w, b: layer_norm(values.detach(), (2,), w, b), [weight, bias])
    assert gradcheck(lambda x, w: layer_norm(x, (2,), w), [leaf(RANDOM.standard_normal((3, 2))), weight])


@pytest.mark.parametrize("affine", [True, False])
def test_layer_norm_second_derivative(affine):
    x, weight, bias, slope = (leaf(RANDOM.standard_normal(shape)) for shape in ((2, 3, 4), (3, 4), (3, 4), (2, 3, 4)))
    leaves = [x, weight, bias, slope] if affine else [x, slope]

    def gradients(x, *rest):
        parameters = rest[:-1] or (None, None)
        out = layer_norm(x, (3, 4), *parameters)
        needed = [x, *(each for each in parameters if each is not None)]
        return torch.autograd.grad((out * rest[-1]).sum(), needed, create_graph=True)

    assert gradcheck(gradients, leaves)


@pytest.mark.parametrize("kind", ["float32", "bfloat16", "float64"])
@pytest.mark.parametrize("size", [1, 3, 8, 33, 513, 4096, 4100, 20000])
def test_rows_of_any_size(size, kind, device):
    """Below, at and beyond the edges of runs, warps, blocks and tiles."""
    dtype = getattr(dtypes, kind)
    x, g = (tensor(RANDOM.standard_normal((5, size)) + 2, dtype=dtype, device=device) for _ in range(2))
    w, b = (tensor(RANDOM.random(size), dtype=dtype, device=device).requires_grad_() for _ in range(2))
    x.requires_grad_()
    out = layer_norm(x, (size,), w, b)
    out.backward(g)
    values, slopes, weight, bias = (each.cpu().detach().double().numpy() for each in (x, g, w, b))
    n, scale = normal(values), 1 / np.sqrt(values.var(-1, keepdims=True) + 1e-5)
    s = slopes * weight
    of_x = scale * (s - s.mean(-1, keepdims=True) - n * (s * n).mean(-1, keepdims=True))
    for found, wanted in (
        (out, n * weight + bias), (w.grad, (slopes * n).sum(0)), (b.grad, slopes.sum(0)),
    ):  # fmt: skip
        assert_near(found, wanted, kind)
    assert_near(x.grad, of_x, kind, terms=scale * s)  # which cancel


def assert_near(found, wanted, kind, terms=0.0):
    largest = max(np.abs(wanted).max(), np.abs(terms).max(), 1)
    tolerance = {"float32": 2e-5, "bfloat16": 2e-2, "float64": 1e-11}[kind] * largest
    np.testing.assert_allclose(found.cpu().detach().double().numpy(), wanted, rtol=0, atol=tolerance)


@pytest.mark.parametrize("size", [64, 65])
def test_misaligned_rows(size, device):
    base = tensor(RANDOM.standard_normal(3 * size + 1).astype(np.float32), device=device)
    x, weight = base[1:].view(3, size), base[1 : size + 1]
    found = layer_norm(x, (size,), weight, weight)
    values = base.cpu().double().numpy()
    assert_near(found, normal(values[1:].reshape(3, size)) * values[1 : size + 1] + values[1 : size + 1], "float32")


def test_a_mean_far_above_the_deviation(device):
    """Squares of the values would lose everything: the deviation is 1e-5 of the mean."""
    values = (1e4 + RANDOM.standard_normal((4, 4096)) * 0.1).astype(np.float32)
    _, mean, rstd = native_layer_norm(tensor(values, device=device), (4096,))
    wide = values.astype(np.float64)
    np.testing.assert_allclose(rstd.cpu().numpy()[:, 0], 1 / np.sqrt(wide.var(1) + 1e-5), rtol=1e-3)
    np.testing.assert_allclose(mean.cpu().numpy()[:, 0], wide.mean(1), rtol=1e-6)


@pytest.mark.parametrize("rows, size", [(1, 1), (200, 3), (130, 260), (1000, 33), (1300, 33)])
def test_columns_are_summed_alike_twice(rows, size, device):
    values, slopes = RANDOM.standard_normal((rows, size)), RANDOM.standard_normal((rows, size))
    x, g = tensor(values, dtype=dtypes.float32, device=device), tensor(slopes, dtype=dtypes.float32, device=device)
    _, mean, rstd = native_layer_norm(x, (size,))
    first, again = (layer_norm_columns(g, x, mean, rstd, (size,)) for _ in range(2))
    np.testing.assert_allclose(first[0].cpu().numpy(), (slopes * normal(values)).sum(0), atol=2e-4 * rows**0.5)
    np.testing.assert_allclose(first[1].cpu().numpy(), slopes.sum(0), atol=2e-5 * rows**0.5)
    assert [each.cpu().tolist() for each in first] == [each.cpu().tolist() for each in again]


def test_parameter_gradients_of_few_rows_take_one_launch(monkeypatch):
    for kind, rows, size, pieces in (
        ("float32", 1024, 256, 1), ("float32", 1024, 768, 1), ("float32", 2048, 256, 32), ("float32", 0, 256, 0),
        ("bfloat16", 1024, 256, 16),
    ):  # fmt: skip
        assert _column_plan(rows, size, dtypes.BY_NAME[kind])[2] == pieces
    seen = []
    monkeypatch.setattr(hooks, "on_launch", lambda *_: seen.append(1))
    with machine(devices=1):
        for rows, launches in ((256, 1), (SHORT_ROWS + 1, 2)):
            x = tensor(np.ones((rows, 4), np.float32), device="cuda")
            _, mean, rstd = native_layer_norm(x, (4,))
            seen.clear()
            layer_norm_columns(x, x, mean, rstd, (4,))
            assert len(seen) == launches


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


def test_norms_with_their_statistics():
    x = torch.arange(24.0).reshape(1, 4, 2, 3)
    out, mean, scale = torch.native_layer_norm(x, [2, 3], None, None, 1e-5)
    assert out.equal(torch.nn.functional.layer_norm(x, [2, 3])) and mean.flatten().tolist() == [2.5, 8.5, 14.5, 20.5]
    assert scale.shape == (1, 4, 1, 1) and scale.flatten().tolist() == pytest.approx([0.5855390] * 4)
    out, mean, scale = torch.native_group_norm(x, None, None, 1, 4, 6, 2, 1e-5)
    assert out.equal(torch.nn.functional.group_norm(x, 2)) and mean.tolist() == [[5.5, 17.5]]
    assert scale.tolist() == [pytest.approx([0.2896826] * 2)]
    with pytest.raises(ShapeError, match=r"native_group_norm.*C=3.*\[1, 4, 2, 3\]"):
        torch.native_group_norm(x, None, None, 1, 3, 6, 2, 1e-5)
    nothing = torch.native_group_norm(torch.ones(0, 2), torch.ones(2), torch.ones(2), 0, 2, 1, 1, 1e-5)
    assert [tuple(each.shape) for each in nothing] == [(0, 2), (0, 1), (0, 1)]
