"""Sequences, indices of triangles, and factories of odd shapes, compared with NumPy."""

import numpy as np
import pytest

import flambeau as torch
from flambeau.errors import ArgumentTypeError, NotSupportedError, ShapeError, ValueRangeError

DEVICES = pytest.mark.parametrize("device", ["cpu", "cuda"])


@DEVICES
def test_powers_with_even_exponents(device, gpus):
    found = torch.logspace(-2, 2, 5, dtype=torch.float64, device=device)
    assert found.tolist() == pytest.approx(np.logspace(-2, 2, 5).tolist())
    assert torch.logspace(0, 3, 4, base=2, dtype=torch.int64, device=device).tolist() == [1, 2, 4, 8]
    assert torch.logspace(0, 2, 3, -2.0, device=device).tolist() == [1, -2, 4] and torch.logspace(1, 2, 0).shape == (0,)
    with pytest.raises(ValueRangeError, match="logspace: .*-1"):
        torch.logspace(0, 1, -1)


@DEVICES
def test_a_range_has_its_end(device, gpus):
    with pytest.warns(UserWarning, match="range: .*deprecated"):
        assert torch.range(1, 4, device=device).tolist() == [1, 2, 3, 4]
    with pytest.warns(UserWarning):
        assert torch.range(3, 0, -1, dtype=torch.int64).tolist() == [3, 2, 1, 0]
        assert torch.range(0, 1, 0.25).tolist() == [0, 0.25, 0.5, 0.75, 1]
        with pytest.raises(ValueRangeError, match="^range: .*3, 1"):
            torch.range(3, 1)
    with pytest.raises(ArgumentTypeError, match="range: .*end"):
        torch.range(3)


def test_bounds_may_be_tensors(gpus):
    bounds = torch.tensor(1, device="cuda"), torch.tensor(7), torch.tensor(2)
    assert torch.arange(*bounds).tolist() == [1, 3, 5] and torch.arange(torch.tensor(3)).dtype is torch.int64
    assert torch.linspace(torch.tensor(0.0), torch.tensor(1), torch.tensor(3)).tolist() == [0, 0.5, 1]


@DEVICES
def test_indices_of_triangles(device, gpus):
    for row, col, offset in ((3, 3, 0), (2, 4, 1), (4, 2, -1), (3, 3, -5), (3, 2, 7), (0, 2, 0)):
        lower, upper = np.tril_indices(row, offset, col), np.triu_indices(row, offset, col)
        found = torch.tril_indices(row, col, offset, device=device)
        assert found.tolist() == [each.tolist() for each in lower] and found.dtype is torch.int64
        found = torch.triu_indices(row, col, offset, dtype=torch.int32, device=device)
        assert found.tolist() == [each.tolist() for each in upper] and found.dtype is torch.int32
    with pytest.raises(ValueRangeError, match="tril_indices: row.*-1"):
        torch.tril_indices(-1, 2)
    with pytest.raises(NotSupportedError, match="triu_indices: .*float32"):
        torch.triu_indices(2, 2, dtype=torch.float32)


def test_a_tensor_of_a_number():
    assert torch.scalar_tensor(3).dtype is torch.float32 and torch.scalar_tensor(3, dtype=torch.int64).item() == 3
    assert torch.scalar_tensor(2.5, requires_grad=True).requires_grad
    with pytest.raises(ArgumentTypeError, match="scalar_tensor: .*'a'"):
        torch.scalar_tensor("a")


@DEVICES
def test_dimensions_in_another_order(device, gpus):
    x = torch.empty_permuted((2, 3, 4), (2, 0, 1), device=device)
    assert x.shape == (2, 3, 4) and x.stride() == (3, 1, 6) and x.dim_order() == (2, 0, 1)
    assert x.new_empty_strided((2, 2), (1, 2), dtype=torch.int8).stride() == (1, 2)
    for order in ((0, 0, 1), (0, 1), (1, 2, 3)):
        with pytest.raises(ShapeError, match="empty_permuted: .*3 dimensions"):
            torch.empty_permuted((2, 3, 4), order)


def test_numbers_of_any_size():
    assert torch.arange(0, 1e305, 5e304, dtype=torch.float64).tolist() == [0.0, 5e304]
    assert torch.linspace(0, 1e308, 3, dtype=torch.float64).tolist() == [0.0, 5e307, 1e308]
    for first, last, step in ((-1e308, 1e308, 1.0), (0.5, 10**400, 1), (0, 1.0, 1e-320)):
        with pytest.raises(ValueRangeError, match=r"^arange: "):
            torch.arange(first, last, step)
