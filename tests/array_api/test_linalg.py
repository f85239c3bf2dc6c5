"""Products, transposes and the array API's extension for linear algebra."""

import pytest

import flambeau as torch
from flambeau import array_api as xp
from flambeau.errors import IndexRangeError, ShapeError

A = torch.tensor([[4.0, 1.0], [1.0, 3.0]])


def test_products_promote():
    x, y = torch.tensor([[1, 2]], dtype=torch.uint8), torch.tensor([[3], [4]], dtype=torch.int16)
    assert xp.matmul(x, y).tolist() == [[11]] and xp.matmul(x, y).dtype is torch.int16
    assert xp.vecdot(x.to(torch.float32), torch.tensor([3.0, 4.0], dtype=torch.float64)).dtype is torch.float64
    assert xp.vecdot(A, A, axis=0).tolist() == [17.0, 10.0]
    integers = xp.vecdot(x, torch.tensor([[3, 4], [5, 6]], dtype=torch.uint16))
    assert integers.tolist() == [11, 17] and integers.dtype is torch.uint16
    with pytest.raises(ShapeError, match="vecdot: axis -1 has size 2 in x1 and 1 in x2"):
        xp.vecdot(A, torch.ones(1))
    for other, axis in ((A, 2), (torch.tensor(1.0), -1)):
        with pytest.raises(IndexRangeError, match=f"vecdot: .*{axis}"):
            xp.vecdot(A, other, axis=axis)
    assert xp.tensordot(A, A, axes=((1,), (0,))).equal(A @ A) and xp.tensordot(A, A).item() == 27.0
    assert xp.matrix_transpose(torch.ones(4, 2, 3)).shape == (4, 3, 2)
    with pytest.raises(ShapeError, match="matrix_transpose: x must have at least 2 dimensions, got 1"):
        xp.matrix_transpose(torch.ones(2))


def test_factors_multiply_to_the_matrix():
    linalg = xp.linalg
    lower, (q, r), (u, s, vh) = linalg.cholesky(A), linalg.qr(A), linalg.svd(A)
    values, vectors = linalg.eigh(A)
    products = (lower @ lower.mT, q @ r, u * s @ vh, vectors * values @ vectors.mT, linalg.inv(linalg.pinv(A)))
    assert all(torch.allclose(each, A, atol=1e-5) for each in products)
    assert torch.allclose(linalg.eigvalsh(A), values) and torch.allclose(linalg.svdvals(A), s)
    assert linalg.svd(torch.ones(2, 3), full_matrices=False).Vh.shape == (2, 3)
    sign, logarithm = linalg.slogdet(A)
    assert abs((sign * logarithm.exp()).item() - 11) < 1e-4 and abs(linalg.det(A).item() - 11) < 1e-4
    assert linalg.cholesky(A, upper=True).equal(lower.mT) and linalg.matrix_rank(A).item() == 2


def test_right_sides_are_matrices_unless_they_are_one_vector():
    b = torch.tensor([2.0, 4.0])
    assert torch.allclose(A @ xp.linalg.solve(A, b), b)
    stack = A.expand(2, 2, 2)
    found = xp.linalg.solve(stack, A)  # PyTorch reads a right side of this shape as two vectors
    assert found.shape == (2, 2, 2) and torch.allclose(stack @ found, stack, atol=1e-5)


def test_norms_diagonals_and_traces():
    linalg = xp.linalg
    x = torch.arange(12.0).reshape(2, 2, 3)
    assert linalg.diagonal(x).tolist() == [[0.0, 4.0], [6.0, 10.0]]
    assert linalg.trace(x, offset=1).tolist() == [6.0, 18.0]
    assert linalg.trace(torch.ones(2, 2, dtype=torch.uint8)).dtype is torch.uint64
    v = torch.tensor([[3.0, 4.0], [0.0, 2.0]])
    assert linalg.vector_norm(v, axis=1).tolist() == [5.0, 2.0] and linalg.vector_norm(v, ord=0).item() == 3.0
    assert linalg.vector_norm(-v, axis=()).equal(v) and linalg.vector_norm(v, keepdims=True).shape == (1, 1)
    assert linalg.matrix_norm(torch.eye(2) * 3, ord=2).item() == pytest.approx(3.0)
    assert linalg.matrix_norm(v, keepdims=True).shape == (1, 1)
    assert linalg.cross(torch.tensor([1, 0, 0]), torch.tensor([0, 1, 0])).tolist() == [0, 0, 1]
    assert linalg.cross(torch.ones(2, 2, 3), torch.tensor([1.0, 0.0, 0.0])).shape == (2, 2, 3)
    assert linalg.outer(torch.tensor([1, 2]), torch.tensor([3.0])).tolist() == [[3.0], [6.0]]
