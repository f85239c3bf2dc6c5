"""Losses of differences: values, gradients, and sizes that differ."""

import numpy as np
import pytest

from flambeau import dtypes
from flambeau.errors import ShapeError
from flambeau.ops.losses import l1_loss, mse_loss, smooth_l1_loss
from flambeau.tensor.factories import tensor
from flambeau.testing import gradcheck

RANDOM = np.random.default_rng(5)


def leaf(*shape):
    return tensor(RANDOM.standard_normal(shape), requires_grad=True)


def double(values):
    return tensor(values, dtype=dtypes.float64)


def test_losses_of_numbers():
    a, b = double([0.0, 0.5, 2.0, -3.0]), double([0.0] * 4)
    assert mse_loss(a, b).item() == 3.3125
    assert mse_loss(a, b, reduction="sum").item() == 13.25
    assert l1_loss(a, b).item() == 1.375
    assert smooth_l1_loss(a, b, None, None, "none", 1.5).tolist() == pytest.approx([0, 1 / 12, 1.25, 2.25])
    assert smooth_l1_loss(a, b, beta=0).item() == 1.375
    with pytest.raises(ShapeError, match="smooth_l1_loss: beta must not be negative, got -1"):
        smooth_l1_loss(a, b, beta=-1)


@pytest.mark.parametrize("function", [mse_loss, l1_loss, smooth_l1_loss])
def test_gradients_of_numbers(function):
    assert gradcheck(function, [leaf(3, 4), leaf(3, 4)])


def test_different_sizes_broadcast_with_a_warning():
    with pytest.warns(UserWarning, match=r"target of shape \[2\] differs from input of shape \[2, 2\]"):
        assert mse_loss(double([[1.0, 2.0], [3.0, 4.0]]), double([1.0, 2.0])).item() == 2
