"""Queries of tensors, compared with NumPy."""

import numpy as np
import pytest

import flambeau as torch
from flambeau.errors import ArgumentError, DtypeError

VALUES = [0.0, 1.0, 1.0 + 1e-6, 1.1, float("inf"), -float("inf"), float("nan")]


@pytest.mark.parametrize("equal_nan", [False, True])
def test_isclose_is_numpys(equal_nan):
    a, b = np.meshgrid(VALUES, VALUES)
    found = torch.isclose(torch.tensor(a), torch.tensor(b), equal_nan=equal_nan)
    assert np.array_equal(found.numpy(), np.isclose(a, b, equal_nan=equal_nan))


def test_allclose_and_equal():
    x = torch.tensor([1, 2])
    assert torch.equal(x, x.clone()) and not torch.equal(x, x[:1]) and not x.equal(x + 1)
    assert x.allclose(x) and not torch.allclose(x, x + 1) and torch.allclose(x, x + 1, atol=1)
    with pytest.raises(DtypeError, match="int64 did not match float32"):
        torch.allclose(x, x.float())
    with pytest.raises(ArgumentError, match="atol=-1"):
        torch.allclose(x, x, atol=-1)


def test_facts():
    x = torch.zeros(2, 3)
    assert torch.is_tensor(x) and not torch.is_tensor([1])
    assert torch.numel(x) == 6 and torch.is_floating_point(x)
