"""LDL factorizations and lobpcg, against what PyTorch gives."""

import pytest

import flambeau as torch
from flambeau.errors import LinAlgError

A = torch.tensor([[1.0, 2.0, 3.0], [2.0, 0.0, 1.0], [3.0, 1.0, -4.0]], dtype=torch.float64)


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_ldl_factors_are_lapack_s(gpus, device):
    factors, pivots = torch.linalg.ldl_factor(A.to(device))
    expected = [[-4.0, 0.0, 0.0], [-0.25, 3.25, 0.0], [-0.75, 0.8461538461538461, -2.076923076923077]]
    assert factors.device.type == device and pivots.tolist() == [3, 3, 3]
    assert factors.tolist() == [pytest.approx(row) for row in expected]
    right = torch.eye(3, dtype=torch.float64, device=device)
    assert torch.allclose(A.to(device) @ torch.linalg.ldl_solve(factors, pivots, right), right)


def test_blocks_of_two_rows_and_singular_matrices():
    result = torch.linalg.ldl_factor(torch.tensor([[0.0, 1.0], [1.0, 0.0]]))
    assert (result.LD.tolist(), result.pivots.tolist()) == ([[0.0, 0.0], [1.0, 0.0]], [-2, -2])
    assert torch.linalg.ldl_factor_ex(torch.zeros(2, 2)).info.item() == 1
    for call in (
        lambda: torch.linalg.ldl_factor(torch.zeros(2, 2)),
        lambda: torch.linalg.ldl_factor_ex(torch.zeros(2, 2), check_errors=True),
    ):
        with pytest.raises(LinAlgError, match="element 1 of D is zero"):
            call()


def test_a_batch_of_systems():
    batch = torch.stack([A, A + torch.eye(3, dtype=torch.float64)])
    right = torch.arange(6.0, dtype=torch.float64).reshape(2, 3, 1)
    assert torch.allclose(batch @ torch.linalg.ldl_solve(*torch.linalg.ldl_factor(batch), right), right)


def test_extreme_eigenvalues_and_their_gradients():
    matrix = torch.diag(torch.tensor([1.0, 5.0, 3.0, 9.0, 2.0, 4.0], dtype=torch.float64)).requires_grad_()
    scale = torch.diag(torch.tensor([1.0, 1.0, 0.25, 2.0, 1.0, 1.0], dtype=torch.float64))
    values, vectors = torch.lobpcg(matrix, k=2, B=scale)
    assert values.tolist() == pytest.approx([12.0, 5.0])
    assert torch.allclose(matrix @ vectors, scale @ vectors * values)
    assert torch.lobpcg(matrix, largest=False)[0].tolist() == pytest.approx([1.0])
    values[0].backward()
    assert torch.allclose(matrix.grad, torch.diag(torch.tensor([0.0, 0.0, 4.0, 0.0, 0.0, 0.0], dtype=torch.float64)))
