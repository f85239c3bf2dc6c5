"""Norms: values, running statistics, far means, first and second derivatives, and their kernels."""

import numpy as np
import pytest

import flambeau as torch
from flambeau import dtypes
from flambeau.core import thread
from flambeau.core.queue import hooks
from flambeau.errors import ArgumentTypeError, DtypeError, ShapeError
from flambeau.nn import functional as F
from flambeau.ops.normalization import (
    SHORT_ROWS,
    _column_plan,
    _spread,
    layer_norm,
    layer_norm_columns,
    native_layer_norm,
    native_norm,
    normal_sums,
    without_repetition,
)
from flambeau.ops.softmax import log_softmax
from flambeau.tensor.factories import tensor
from flambeau.testing import gradcheck, gradgradcheck, machine

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


@pytest.mark.parametrize("rows, size", [(1, 1), (200, 3), (130, 260), (1000, 33), (1300, 33), (0, 3), (0, 300)])
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
    with pytest.raises(ArgumentTypeError, match="native_layer_norm: normalized_shape .*got 2"):
        torch.native_layer_norm(x, 2, None, None, 1e-5)
    out, mean, scale = torch.native_group_norm(x, None, None, 1, 4, 6, 2, 1e-5)
    assert out.equal(torch.nn.functional.group_norm(x, 2)) and mean.tolist() == [[5.5, 17.5]]
    assert scale.tolist() == [pytest.approx([0.2896826] * 2)]
    with pytest.raises(ShapeError, match=r"native_group_norm.*C=3.*\[1, 4, 2, 3\]"):
        torch.native_group_norm(x, None, None, 1, 3, 6, 2, 1e-5)
    nothing = torch.native_group_norm(torch.ones(0, 2), torch.ones(2), torch.ones(2), 0, 2, 1, 1, 1e-5)
    assert [tuple(each.shape) for each in nothing] == [(0, 2), (0, 1), (0, 1)]


# norms of channels: batch, instance, group, RMS and local response norm

DRAWN = np.random.default_rng(5)


def random_leaf(*shape):
    return torch.tensor(DRAWN.standard_normal(shape), requires_grad=True)


def batch(x, eps=1e-5):
    dims = (0, *range(2, x.ndim))
    return (x - x.mean(dims, keepdims=True)) / np.sqrt(x.var(dims, keepdims=True) + eps)


@pytest.mark.parametrize("shape", [(5, 3), (2, 3, 40), (2, 3, 4, 5), (300, 3, 40)])
def test_batch_norm(shape):
    x, weight, bias = DRAWN.standard_normal(shape) * 2 + 30, DRAWN.random(3), DRAWN.random(3)
    along = (3, *[1] * (len(shape) - 2))
    expected = batch(x) * weight.reshape(along) + bias.reshape(along)
    for each in (x, x.swapaxes(0, -1).copy().swapaxes(0, -1)):
        found = F.batch_norm(torch.tensor(each), None, None, torch.tensor(weight), torch.tensor(bias), training=True)
        np.testing.assert_allclose(found.numpy(), expected, rtol=1e-9, atol=1e-9)


def test_running_statistics_move_by_the_momentum():
    x = DRAWN.standard_normal((6, 2, 3))
    mean, variance = torch.tensor([1.0, 2.0]).double(), torch.tensor([3.0, 4.0]).double()
    F.batch_norm(torch.tensor(x), mean, variance, training=True, momentum=0.25)
    np.testing.assert_allclose(mean.numpy(), 0.75 * np.array([1, 2]) + 0.25 * x.mean((0, 2)))
    np.testing.assert_allclose(variance.numpy(), 0.75 * np.array([3, 4]) + 0.25 * x.var((0, 2), ddof=1))
    before = mean.tolist(), variance.tolist()
    found = F.batch_norm(torch.tensor(x), mean, variance, eps=0.5)
    expected = (x - mean.numpy()[:, None]) / np.sqrt(variance.numpy()[:, None] + 0.5)
    np.testing.assert_allclose(found.numpy(), expected)
    assert (mean.tolist(), variance.tolist()) == before


def test_running_statistics_move_in_a_recorded_call():
    """They need not be contiguous, may be of another type than the input, and each call counts as one write."""
    x = torch.tensor(DRAWN.standard_normal((6, 2, 3)), requires_grad=True)
    means, variance = torch.zeros(2, 2), torch.ones(2)
    for _ in range(2):
        out = F.batch_norm(x, means[:, 0], variance, training=True, momentum=0.5)
    assert out.grad_fn.name() == "NativeBatchNormBackward0" and not means.requires_grad
    assert (means._version, variance._version) == (2, 2)
    values = x.detach().numpy()
    np.testing.assert_allclose(means.numpy(), np.stack([0.75 * values.mean((0, 2)), [0, 0]], 1), rtol=1e-5)
    np.testing.assert_allclose(variance.numpy(), 0.25 + 0.75 * values.var((0, 2), ddof=1), rtol=1e-5)
    (of_x,) = torch.autograd.grad((out * out).sum(), x)
    assert of_x.abs().max() < 1e-3  # the sum of squares does not depend on x, but for eps
    random_leaf = torch.zeros(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="leaf"):
        F.batch_norm(x, random_leaf, variance, training=True)
    assert variance._version == 2


def test_the_statistics_of_an_empty_batch_are_not_used():
    mean, variance = torch.zeros(3), torch.ones(3)
    assert F.batch_norm(torch.ones(0, 3), mean, variance, training=True).shape == (0, 3)
    nothing = torch.ones(0, requires_grad=True)
    for is_training in (True, False):
        found = F.batch_norm(nothing, torch.zeros(0), torch.ones(0), training=is_training)
        assert found.shape == (0,) and found.requires_grad
    assert (mean.tolist(), variance.tolist()) == ([0, 0, 0], [1, 1, 1])


def test_instance_norm_averages_its_running_statistics_over_the_batch():
    x = DRAWN.standard_normal((4, 2, 6))
    mean, variance = torch.zeros(2).double(), torch.ones(2).double()
    found = F.instance_norm(torch.tensor(x), mean, variance, momentum=0.5)
    expected = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)
    np.testing.assert_allclose(found.numpy(), expected)
    np.testing.assert_allclose(mean.numpy(), 0.5 * x.mean((0, 2)))
    np.testing.assert_allclose(variance.numpy(), 0.5 + 0.5 * x.var(2, ddof=1).mean(0))


def test_group_norm():
    x, weight = DRAWN.standard_normal((2, 6, 5)), DRAWN.random(6)
    groups = x.reshape(2, 3, -1)
    normal = (groups - groups.mean(-1, keepdims=True)) / np.sqrt(groups.var(-1, keepdims=True) + 1e-5)
    found = F.group_norm(torch.tensor(x), 3, torch.tensor(weight))
    np.testing.assert_allclose(found.numpy(), normal.reshape(x.shape) * weight[:, None])


@pytest.mark.parametrize("size", [3, 700, 5000])
def test_rms_norm(size):
    x, weight = DRAWN.standard_normal((3, size)), DRAWN.random(size)
    expected = x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-6) * weight
    np.testing.assert_allclose(F.rms_norm(torch.tensor(x), (size,), torch.tensor(weight), 1e-6).numpy(), expected)


def test_rms_norm_of_a_half_type_uses_the_epsilon_of_float32():
    x = torch.tensor([0.0, 1e-4, 2e-4, 3e-4], dtype=torch.float16)
    assert F.rms_norm(x, (4,)).tolist() == pytest.approx([0, 0.2546, 0.5093, 0.7637], abs=1e-3)
    assert F.rms_norm(x, (4,), torch.ones(4)).dtype is torch.float16


@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_local_response_norm(size):
    x = DRAWN.standard_normal((2, 5, 3))
    padded = np.pad(x * x, ((0, 0), (size // 2, (size - 1) // 2), (0, 0)))
    total = sum(padded[:, step : step + 5] for step in range(size))
    expected = x / (2 + 0.1 * total / size) ** 0.75
    np.testing.assert_allclose(F.local_response_norm(torch.tensor(x), size, 0.1, 0.75, 2.0).numpy(), expected)


@pytest.mark.parametrize(
    "body",
    [
        lambda x, w, b: F.batch_norm(x, None, None, w, b, training=True),
        lambda x, w, b: F.batch_norm(x, torch.ones(4), torch.ones(4), w, b),
        lambda x, w, b: F.instance_norm(x, None, None, w, b),
        lambda x, w, b: F.group_norm(x, 2, w, b),
        lambda x, w, b: F.rms_norm(x, (3,), w[:3]),
    ],
)
def test_second_derivatives(body):
    assert gradgradcheck(body, [random_leaf(2, 4, 3), random_leaf(4), random_leaf(4)])


def test_long_sums_are_made_of_pieces():
    """As one piece would make them: the reference adds all in the first."""
    x, slope = torch.tensor(DRAWN.standard_normal((2, 3, 9000))), torch.tensor(DRAWN.standard_normal((2, 3, 9000)))
    assert _spread(3, 18000, False)[1] > 1 and _spread(2000, 3, True) == (8, 1, 3)
    _, mean, rstd, variance = native_norm(x, (0, 2))
    np.testing.assert_allclose(variance.view(-1).numpy(), x.numpy().var((0, 2)))
    sums, products = normal_sums(slope, x, mean, rstd, (0, 2))
    np.testing.assert_allclose(sums.view(-1).numpy(), slope.numpy().sum((0, 2)))
    np.testing.assert_allclose(products.view(-1).numpy(), (slope.numpy() * batch(x.numpy(), 1e-5)).sum((0, 2)))


def test_channels_last_stays_channels_last():
    x = torch.ones(2, 3, 4, 5).to(memory_format=torch.channels_last)
    assert F.batch_norm(x, None, None, training=True).stride() == x.stride()
    assert F.batch_norm(x, torch.zeros(3), torch.ones(3)).stride() == x.stride()


@pytest.mark.parametrize(
    "body, name, values",
    [
        (lambda: F.batch_norm(torch.ones(1, 3), None, None, training=True), "batch_norm", r"more than 1 .*\[1, 3\]"),
        (lambda: F.batch_norm(torch.ones(2, 3), None, None), "batch_norm", "running_mean"),
        (lambda: F.batch_norm(torch.ones(2, 3), torch.ones(2), None), "batch_norm", r"3 elements, got shape \[2\]"),
        (lambda: F.instance_norm(torch.ones(2, 3, 1)), "instance_norm", r"more than 1 .*\[2, 3, 1\]"),
        (lambda: F.group_norm(torch.ones(1, 2), 2), "group_norm", r"more than 1 .*\[1, 2\]"),
    ],
)
def test_what_has_no_statistics_is_refused(body, name, values):
    with pytest.raises((ValueError, RuntimeError), match=f"^{name}: .*{values}"):
        body()


@pytest.mark.devices(1)
@pytest.mark.parametrize("channels", [16, 24, 20])
def test_sums_of_channels_that_lie_next_to_each_other(channels, gpus):
    """Threads make runs of 8 results in bfloat16 where the channels divide so."""
    x, slope = (
        torch.tensor(DRAWN.standard_normal((4, channels, 30, 30)), dtype=torch.bfloat16, device="cuda").to(
            memory_format=torch.channels_last
        )
        for _ in range(2)
    )
    _, mean, rstd, _ = native_norm(x, (0, 2, 3))
    sums, products = normal_sums(slope, x, mean, rstd, (0, 2, 3))
    values, slopes = x.cpu().double().numpy(), slope.cpu().double().numpy()
    np.testing.assert_allclose(sums.view(-1).cpu().numpy(), slopes.sum((0, 2, 3)), rtol=1e-4, atol=1e-3)
    np.testing.assert_allclose(
        products.view(-1).cpu().numpy(), (slopes * batch(values)).sum((0, 2, 3)), rtol=1e-4, atol=1e-2
    )


def test_a_thread_makes_as_many_results_as_it_loads():
    assert _spread(64, 1_000_000, True, 8) == (32, 528, 1894)
    assert _spread(24, 1000, True, 8)[0] == 64 and _spread(4096, 1000, True, 8)[0] == 8


@pytest.mark.devices(1)
def test_a_thread_loads_as_many_values_of_a_sum_as_lie_in_runs(gpus):
    for shape, run in [((3, 4, 30, 30), 4), ((3, 4, 16, 16), 8), ((5, 4, 7, 7), 1), ((40, 3, 2, 3), 2)]:
        x, slope = (torch.tensor(DRAWN.standard_normal(shape), dtype=torch.bfloat16, device="cuda") for _ in range(2))
        _, mean, rstd, _ = native_norm(x, (0, 2, 3))
        sums, products = normal_sums(slope, x, mean, rstd, (0, 2, 3))
        kernels = [kernel.entry for kernel in thread.machine().devices[0].kernels]
        assert f"normal_sums_bfloat16_{run}" in kernels, (shape, kernels)
        values, slopes = x.cpu().double().numpy(), slope.cpu().double().numpy()
        np.testing.assert_allclose(sums.view(-1).cpu().numpy(), slopes.sum((0, 2, 3)), rtol=1e-4, atol=1e-3)
        expected = (slopes * batch(values)).sum((0, 2, 3))
        np.testing.assert_allclose(products.view(-1).cpu().numpy(), expected, rtol=1e-4, atol=1e-2)


def test_a_part_of_a_sum_has_whole_runs():
    assert _spread(3, 18_000, False, run=8) == (256, 4, 4504)
    assert _spread(3, 18_000, False) == (256, 4, 4500)


@pytest.mark.parametrize("kept", [(0,), (1,), (0, 2), ()])
def test_products_of_two_broadcast_operands_are_one_per_channel(kept):
    full = 3, 4, 5
    values = DRAWN.random([size if dim in kept else 1 for dim, size in enumerate(full)])
    found = without_repetition(np.broadcast_to(values, full))
    assert found.shape == values.shape and np.array_equal(found, values)
    assert without_repetition(np.float64(2.0)) == 2.0
    assert without_repetition(np.broadcast_to(np.ones((1, 4, 1)), (0, 4, 5))).shape == (0, 4, 1)
