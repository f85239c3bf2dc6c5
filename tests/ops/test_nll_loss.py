"""The negative log-likelihood of classes: long sums, half types, gradients, and what is refused."""

import numpy as np
import pytest

from flambeau import dtypes
from flambeau.errors import ArgumentError, DtypeError, ShapeError
from flambeau.ops.loss_kernels import TERMS_PER_PIECE, nll_backward
from flambeau.ops.losses import cross_entropy, nll_loss
from flambeau.tensor.factories import tensor
from flambeau.testing import gradcheck

RANDOM = np.random.default_rng(5)
LOGITS = [[1.0, 2.0, 0.5], [0.0, -1.0, 3.0], [2.0, 2.0, 2.0]]
TARGET = [1, 0, 2]
WEIGHT = [1.0, 2.0, 0.5]


def leaf(*shape):
    return tensor(RANDOM.standard_normal(shape), requires_grad=True)


def double(values):
    return tensor(values, dtype=dtypes.float64)


def test_many_targets_are_summed_in_pieces():
    count = 3 * TERMS_PER_PIECE
    logs, target = RANDOM.standard_normal((count, 4)), RANDOM.integers(0, 4, count)
    found = nll_loss(tensor(logs), tensor(target)).item()
    assert found == pytest.approx(-logs[range(count), target].mean())


def test_half_types_are_summed_in_float32():
    logs = tensor(np.full((4096, 2), -1.0), dtype=dtypes.bfloat16)
    assert nll_loss(logs, tensor(np.zeros(4096, np.int64)), reduction="sum").item() == 4096


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_gradients_of_classes(reduction):
    target, weight = tensor([[1, 0], [2, 1]]), double(WEIGHT)
    x = leaf(2, 3, 2)
    assert gradcheck(lambda each: nll_loss(each, target, weight, None, 2, None, reduction), [x])
    assert gradcheck(lambda each: cross_entropy(each, target, weight, None, 2, None, reduction, 0.3), [x])
    grad = leaf(*((2, 2) if reduction == "none" else ()))
    total = None if reduction != "mean" else double(4.0)
    assert gradcheck(lambda g: nll_backward(g, target, weight, total, (2, 3, 2), 2, reduction == "none"), [grad])


def test_class_errors_name_every_value():
    x = double(LOGITS)
    with pytest.raises(ArgumentError, match=r"input is \[3, 3\], target is \[2\]"):
        nll_loss(x, tensor([0, 1]))
    with pytest.raises(DtypeError, match="expected target dtype to be int64, got int32"):
        nll_loss(x, tensor([0, 1, 2], dtype=dtypes.int32))
    with pytest.raises(ShapeError, match=r"weight must be float64\[3\], one for each class, got float64\[2\]"):
        nll_loss(x, tensor(TARGET), double([1.0, 2.0]))
    with pytest.raises(ArgumentError, match="'average' is not a valid value for reduction"):
        cross_entropy(x, tensor(TARGET), reduction="average")
    with pytest.raises(ArgumentError, match=r"label_smoothing must be between 0\.0 and 1\.0, got 1\.5"):
        cross_entropy(x, tensor(TARGET), label_smoothing=1.5)
    with pytest.raises(ArgumentError, match=r"input is \[3, 3\], target is \[3, 2\]"):
        cross_entropy(x, double([[0.5, 0.5]] * 3))
