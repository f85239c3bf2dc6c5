"""Norms of vectors and matrices under torch.linalg's names."""

from math import inf

import pytest

import flambeau as torch
from flambeau.errors import DtypeError, ShapeError

A = [[1.0, -2.0, 3.0], [4.0, 5.0, -6.0]]


@pytest.mark.parametrize(
    ("ord", "wanted"),  # recorded from PyTorch
    [
        (None, 9.539392), ("fro", 9.539392), ("nuc", 11.653785), (1, 9.0), (-1, 5.0), (2, 9.225027), (-2, 2.428758),
        (inf, 15.0), (-inf, 6.0),
    ],
)  # fmt: skip
def test_norms_of_a_matrix(ord, wanted):
    a = torch.tensor(A)
    assert torch.linalg.norm(a, ord).item() == pytest.approx(wanted, rel=1e-5)
    if ord is not None:
        assert torch.linalg.matrix_norm(a, ord).item() == pytest.approx(wanted, rel=1e-5)
        stacked = torch.stack([a, 2 * a], 1)
        assert torch.linalg.matrix_norm(stacked, ord, (0, 2)).tolist() == pytest.approx([wanted, 2 * wanted], rel=1e-5)
        assert torch.linalg.matrix_norm(stacked, ord, (0, 2), keepdim=True).shape == (1, 2, 1)


@pytest.mark.parametrize(
    ("ord", "wanted"),  # recorded from PyTorch
    [(2, 9.539392), (1, 21.0), (0, 6.0), (3, 7.611663), (0.5, 117.328377), (inf, 6.0), (-inf, 1.0), (-1, 0.4081633)],
)
def test_norms_of_a_vector(ord, wanted):
    a = torch.tensor(A)
    assert torch.linalg.vector_norm(a, ord).item() == pytest.approx(wanted, rel=1e-5)
    assert torch.linalg.norm(a.flatten(), ord).item() == pytest.approx(wanted, rel=1e-5)


def test_former_names():
    a = torch.tensor(A, requires_grad=True)
    assert torch.norm(a, "nuc").item() == a.norm("nuc").item() == torch.nuclear_norm(a).item()
    assert torch.nuclear_norm(a, True).shape == (1, 1)
    assert torch.frobenius_norm(a, (0, 1)).item() == torch.norm(a).item()
    assert torch.norm_except_dim(a, 1, 1).tolist() == [[5.0, 7.0, 9.0]]
    (grad,) = torch.autograd.grad(torch.norm(a, "nuc"), a)
    wanted = [0.748372, -0.301833, 0.590623, 0.649624, 0.513302, -0.560812]  # recorded from PyTorch
    assert grad.flatten().tolist() == pytest.approx(wanted, abs=1e-5)


def test_types_of_norms():
    a = torch.tensor(A)
    for function in (torch.linalg.norm, torch.linalg.vector_norm, torch.linalg.matrix_norm):
        assert function(a, dtype=torch.float64).dtype is torch.float64
        with pytest.raises(DtypeError, match="linalg.*float64.*without narrowing.*float32"):
            function(a.double(), dtype=torch.float32)


def test_norms_of_nothing():
    a = torch.zeros(2, 0)
    assert [torch.linalg.matrix_norm(a, ord).item() for ord in ("fro", "nuc", 1, 2, inf)] == [0.0] * 5
    with pytest.raises(ShapeError, match="linalg.vector_norm.*-inf norm on an empty dimension 1"):
        torch.linalg.vector_norm(a, -inf)
