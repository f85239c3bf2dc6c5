"""Softmax and its logarithm: values, extremes, half types, and the gradient that has a kernel of its own."""

import numpy as np
import pytest

import flambeau as torch
from flambeau import dtypes
from flambeau.errors import DtypeError, IndexRangeError
from flambeau.ops.softmax import log_softmax, log_softmax_backward, softmax, softmax_backward
from flambeau.tensor.factories import tensor
from flambeau.testing import gradcheck

INF = float("inf")
RANDOM = np.random.default_rng(3)


def leaf(values):
    return tensor(values, dtype=dtypes.float64, requires_grad=True)


def expected_of(x, axis):
    powers = np.exp(x - x.max(axis, keepdims=True))
    return powers / powers.sum(axis, keepdims=True)


@pytest.mark.parametrize("shape", [(3, 5), (2, 1500), (1500, 2), (2, 40, 3)])
def test_softmax_along_every_dimension(shape):
    values = RANDOM.standard_normal(shape) * 5
    for dim in range(len(shape)):
        expected = expected_of(values, dim)
        np.testing.assert_allclose(softmax(tensor(values), dim).numpy(), expected, rtol=1e-12)
        found = log_softmax(tensor(values), dim).numpy()
        np.testing.assert_allclose(found, np.log(expected), rtol=1e-9, atol=1e-12)


def test_softmax_reads_any_strides():
    values = RANDOM.standard_normal((4, 6))
    seen = tensor(values).transpose(0, 1)
    np.testing.assert_allclose(softmax(seen, 0).numpy(), expected_of(values.T, 0), rtol=1e-12)


def test_softmax_of_extremes():
    assert softmax(tensor([1e30, 1e30]), 0).tolist() == [0.5, 0.5]
    assert softmax(tensor([-INF, 0.0]), 0).tolist() == [0.0, 1.0]
    assert np.isnan(softmax(tensor([-INF, -INF]), 0).tolist()).all()
    assert log_softmax(tensor([0.0, -1000.0]), 0).tolist() == [0.0, -1000.0]
    assert softmax(tensor(3.0), 0).item() == 1.0


@pytest.mark.parametrize("kind", [dtypes.float16, dtypes.bfloat16])
def test_half_types_round_once(kind):
    x = tensor(RANDOM.standard_normal((4, 300)), dtype=kind)
    exact = softmax(x, 1, dtypes.float32)
    assert exact.dtype is dtypes.float32
    assert softmax(x, 1).tolist() == exact.to(kind).tolist()


def test_integers_need_a_type():
    with pytest.raises(DtypeError, match="softmax: input must be floating point, got int64"):
        softmax(tensor([1, 2]), 0)
    assert softmax(tensor([1, 1]), 0, dtypes.float32).tolist() == [0.5, 0.5]
    with pytest.raises(IndexRangeError, match="log_softmax: Dimension out of range"):
        log_softmax(tensor([1.0]), 1)


@pytest.mark.parametrize("function", [softmax, log_softmax])
def test_second_derivative_of_softmax(function):
    """A gradient of a gradient is the gradient of the kernel that makes it."""
    grad, x = leaf(RANDOM.standard_normal((2, 4))), leaf(RANDOM.standard_normal((2, 4)))
    backward = softmax_backward if function is softmax else log_softmax_backward
    assert gradcheck(lambda g, y: backward(g, function(y, 1), 1), [grad, x])


def assert_near(found, wanted, kind):
    tolerance = {"float32": 1e-5, "float16": 2e-3, "bfloat16": 2e-2, "float64": 1e-12}[kind]
    scale = max(np.abs(wanted).max(), 1e-30)
    np.testing.assert_allclose(found.cpu().double().numpy(), wanted, rtol=0, atol=tolerance * scale)


@pytest.mark.parametrize("kind", ["float32", "float16", "bfloat16", "float64"])
@pytest.mark.parametrize("size", [1, 2, 8, 31, 512, 1000, 4096, 4097, 16640, 40000])
def test_rows_of_any_size(size, kind, device):
    """Below, at and beyond the edges of runs, warps, blocks and tiles."""
    dtype = getattr(dtypes, kind)
    x, g = (tensor(RANDOM.standard_normal((5, size)) * 3, dtype=dtype, device=device) for _ in range(2))
    values, slopes = x.cpu().double().numpy(), g.cpu().double().numpy()
    expected = expected_of(values, 1)
    assert_near(softmax(x, 1), expected, kind)
    assert_near(log_softmax(x, 1), np.log(expected), kind)
    y = softmax(x, 1)
    wide = y.cpu().double().numpy()
    assert_near(softmax_backward(g, y, 1), wide * (slopes - (slopes * wide).sum(1, keepdims=True)), kind)
    y = log_softmax(x, 1)
    of_sum = np.exp(y.cpu().double().numpy()) * slopes.sum(1, keepdims=True)
    assert_near(log_softmax_backward(g, y, 1), slopes - of_sum, kind)


@pytest.mark.parametrize("size", [64, 65])
def test_rows_that_are_misaligned_strided_or_repeated(size, device):
    base = RANDOM.standard_normal((4, 2 * size + 2)).astype(np.float32)
    x = tensor(base, device=device)
    for seen, values in (
        (x[:, 1 : size + 1], base[:, 1 : size + 1]),
        (x[:, 4 : size + 4], base[:, 4 : size + 4]),
        (x[:, ::2], base[:, ::2]),
        (x[:1, :size].expand(3, size), np.broadcast_to(base[:1, :size], (3, size))),
    ):
        y = softmax(seen, 1)
        expected = expected_of(values.astype(np.float64), 1)
        assert_near(y, expected, "float32")
        repeated = tensor([2.0], dtype=dtypes.float32, device=device).expand(*values.shape)
        assert_near(log_softmax_backward(repeated, y.log(), 1), 2 - expected * 2 * values.shape[1], "float32")


def test_many_small_rows(device):
    values = RANDOM.standard_normal((1237, 12)).astype(np.float32)
    assert_near(softmax(tensor(values, device=device), 1), expected_of(values.astype(np.float64), 1), "float32")


@pytest.mark.parametrize("size", [4, 300, 20000, 20001])
def test_extremes_in_one_of_many_places(size, device):
    """An infinity or NaN in one thread's, warp's or tile's part of a row does not spoil the other parts."""
    values = np.full((4, size), -INF, np.float32)
    values[0, size // 2] = 3.0
    values[1, :] = 5.0
    values[1, size - 1] = np.nan
    values[2, 0] = INF
    found = softmax(tensor(values, device=device), 1).cpu().numpy()
    assert found[0, size // 2] == 1 and found[0].sum() == 1
    assert np.isnan(found[1]).all() and np.isnan(found[3]).all()
    assert np.isnan(found[2, 0])
    logs = log_softmax(tensor(values[:1], device=device), 1).cpu().numpy()[0]
    assert logs[size // 2] == 0 and np.isneginf(np.delete(logs, size // 2)).all()


def test_a_row_is_written_over_itself(device):
    values = RANDOM.standard_normal((2, 20000)).astype(np.float32)
    x = tensor(values, device=device)
    assert softmax(x, 1, out=x) is x
    assert_near(x, expected_of(values.astype(np.float64), 1), "float32")


@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_no_integers_need_no_type(name):
    for dtype in (torch.int64, torch.uint8, torch.bool):
        for shape, dim in (((0,), 0), ((0, 3), 1)):
            found = getattr(torch.zeros(shape, dtype=dtype), name)(dim)
            assert found.dtype is dtype and found.shape == shape
    with pytest.raises(DtypeError, match=f"{name}: .*int64"):
        getattr(torch.zeros(0), name)(0, dtype=torch.int64)
