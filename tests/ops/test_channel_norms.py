"""Batch, instance, group, RMS and local response norm: values, running statistics and second derivatives."""

import numpy as np
import pytest

import flambeau as torch
from flambeau.core import thread
from flambeau.nn import functional as F
from flambeau.ops.normalization import _spread, native_norm, normal_sums, without_repetition
from flambeau.testing import gradgradcheck

RANDOM = np.random.default_rng(5)


def leaf(*shape):
    return torch.tensor(RANDOM.standard_normal(shape), requires_grad=True)


def batch(x, eps=1e-5):
    dims = (0, *range(2, x.ndim))
    return (x - x.mean(dims, keepdims=True)) / np.sqrt(x.var(dims, keepdims=True) + eps)


@pytest.mark.parametrize("shape", [(5, 3), (2, 3, 40), (2, 3, 4, 5), (300, 3, 40)])
def test_batch_norm(shape):
    x, weight, bias = RANDOM.standard_normal(shape) * 2 + 30, RANDOM.random(3), RANDOM.random(3)
    along = (3, *[1] * (len(shape) - 2))
    expected = batch(x) * weight.reshape(along) + bias.reshape(along)
    for each in (x, x.swapaxes(0, -1).copy().swapaxes(0, -1)):
        found = F.batch_norm(torch.tensor(each), None, None, torch.tensor(weight), torch.tensor(bias), training=True)
        np.testing.assert_allclose(found.numpy(), expected, rtol=1e-9, atol=1e-9)


def test_running_statistics_move_by_the_momentum():
    x = RANDOM.standard_normal((6, 2, 3))
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
    x = torch.tensor(RANDOM.standard_normal((6, 2, 3)), requires_grad=True)
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
    leaf = torch.zeros(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="leaf"):
        F.batch_norm(x, leaf, variance, training=True)
    assert variance._version == 2


def test_the_statistics_of_an_empty_batch_are_not_used():
    mean, variance = torch.zeros(3), torch.ones(3)
    assert F.batch_norm(torch.ones(0, 3), mean, variance, training=True).shape == (0, 3)
    assert (mean.tolist(), variance.tolist()) == ([0, 0, 0], [1, 1, 1])


def test_instance_norm_averages_its_running_statistics_over_the_batch():
    x = RANDOM.standard_normal((4, 2, 6))
    mean, variance = torch.zeros(2).double(), torch.ones(2).double()
    found = F.instance_norm(torch.tensor(x), mean, variance, momentum=0.5)
    expected = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)
    np.testing.assert_allclose(found.numpy(), expected)
    np.testing.assert_allclose(mean.numpy(), 0.5 * x.mean((0, 2)))
    np.testing.assert_allclose(variance.numpy(), 0.5 + 0.5 * x.var(2, ddof=1).mean(0))


def test_group_norm():
    x, weight = RANDOM.standard_normal((2, 6, 5)), RANDOM.random(6)
    groups = x.reshape(2, 3, -1)
    normal = (groups - groups.mean(-1, keepdims=True)) / np.sqrt(groups.var(-1, keepdims=True) + 1e-5)
    found = F.group_norm(torch.tensor(x), 3, torch.tensor(weight))
    np.testing.assert_allclose(found.numpy(), normal.reshape(x.shape) * weight[:, None])


@pytest.mark.parametrize("size", [3, 700, 5000])
def test_rms_norm(size):
    x, weight = RANDOM.standard_normal((3, size)), RANDOM.random(size)
    expected = x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-6) * weight
    np.testing.assert_allclose(F.rms_norm(torch.tensor(x), (size,), torch.tensor(weight), 1e-6).numpy(), expected)


def test_rms_norm_of_a_half_type_uses_the_epsilon_of_float32():
    x = torch.tensor([0.0, 1e-4, 2e-4, 3e-4], dtype=torch.float16)
    assert F.rms_norm(x, (4,)).tolist() == pytest.approx([0, 0.2546, 0.5093, 0.7637], abs=1e-3)
    assert F.rms_norm(x, (4,), torch.ones(4)).dtype is torch.float16


@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_local_response_norm(size):
    x = RANDOM.standard_normal((2, 5, 3))
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
    assert gradgradcheck(body, [leaf(2, 4, 3), leaf(4), leaf(4)])


def test_long_sums_are_made_of_pieces():
    """As one piece would make them: the reference adds all in the first."""
    x, slope = torch.tensor(RANDOM.standard_normal((2, 3, 9000))), torch.tensor(RANDOM.standard_normal((2, 3, 9000)))
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
        torch.tensor(RANDOM.standard_normal((4, channels, 30, 30)), dtype=torch.bfloat16, device="cuda").to(
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
        x, slope = (torch.tensor(RANDOM.standard_normal(shape), dtype=torch.bfloat16, device="cuda") for _ in range(2))
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
    values = RANDOM.random([size if dim in kept else 1 for dim, size in enumerate(full)])
    found = without_repetition(np.broadcast_to(values, full))
    assert found.shape == values.shape and np.array_equal(found, values)
    assert without_repetition(np.float64(2.0)) == 2.0
    assert without_repetition(np.broadcast_to(np.ones((1, 4, 1)), (0, 4, 5))).shape == (0, 4, 1)
