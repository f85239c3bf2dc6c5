"""Softmax and its logarithm: values, extremes, half types, and the gradient that has a kernel of its own."""

import numpy as np
import pytest

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
    with pytest.raises(IndexRangeError, match="log_softmax: dimension out of range"):
        log_softmax(tensor([1.0]), 1)


@pytest.mark.parametrize("function", [softmax, log_softmax])
def test_second_derivative_of_softmax(function):
    """A gradient of a gradient is the gradient of the kernel that makes it."""
    grad, x = leaf(RANDOM.standard_normal((2, 4))), leaf(RANDOM.standard_normal((2, 4)))
    backward = softmax_backward if function is softmax else log_softmax_backward
    gradcheck(lambda g, y: backward(g, function(y, 1), 1), [grad, x])
