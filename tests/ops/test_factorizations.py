"""Factorizations: the identities that define them, batches, gradients of both orders, and failures."""

import numpy as np
import pytest

import flambeau as torch
from flambeau import linalg
from flambeau.errors import ArgumentError, DtypeError, LinAlgError, NotSupportedError, ShapeError, ValueRangeError
from flambeau.testing import gradcheck, gradgradcheck

RANDOM = np.random.default_rng(11)
SHAPES = [(3, 3), (4, 2), (2, 4), (2, 3, 3), (2, 2, 3, 2), (0, 3, 2), (3, 0)]
SQUARE = [(3, 3), (2, 3, 3), (2, 2, 1, 1), (0, 3, 3), (0, 0)]


def random(*shape):
    return torch.tensor(RANDOM.standard_normal(shape))


def definite(*shape):
    a = random(*shape)
    return a @ a.mT + torch.eye(shape[-1], dtype=torch.float64)


def near(one, other):
    expected = np.broadcast_to(other.cpu().detach().numpy(), one.shape)
    np.testing.assert_allclose(one.cpu().detach().numpy(), expected, rtol=1e-8, atol=1e-8)


def eye(a):
    return torch.eye(a.shape[-1], dtype=a.dtype).expand(a.shape)


@pytest.mark.parametrize("device", ["cpu", "cuda"])
@pytest.mark.parametrize("shape", SHAPES)
def test_factors_multiply_to_the_matrix(shape, device, gpus):
    a = random(*shape).to(device)
    k = min(shape[-2:])
    q, r = linalg.qr(a)
    near(q @ r, a)
    near(r, r.triu())
    u, s, vh = linalg.svd(a, full_matrices=False)
    near((u * s.unsqueeze(-2)) @ vh, a)
    assert linalg.svd(a).Vh.shape == (*shape[:-2], shape[-1], shape[-1]) and s.shape == (*shape[:-2], k)
    near(linalg.svdvals(a), s)
    p, lower, upper = linalg.lu(a)
    near(p @ lower @ upper, a)
    near(torch.lu_unpack(*linalg.lu_factor(a)).L, lower)
    near(a @ linalg.pinv(a) @ a, a)
    assert {each.device for each in (q, r, u, s, vh, p, lower, upper)} == {a.device}


@pytest.mark.parametrize("shape", SQUARE)
def test_square_matrices(shape):
    a, b = random(*shape), definite(*shape)
    near(a @ linalg.inv(a), eye(a))
    lower = linalg.cholesky(b)
    near(lower @ lower.mT, b)
    near(linalg.cholesky(b, upper=True), lower.mT)
    values, vectors = linalg.eigh(b)
    near((vectors * values.unsqueeze(-2)) @ vectors.mT, b)
    near(linalg.eigvalsh(b), values)
    sign, size = torch.slogdet(a)
    near(sign * size.exp(), a.det())
    near(torch.logdet(b), b.det().log())
    near(b.matrix_power(-2) @ b @ b, eye(b))
    near(torch.matrix_exp(a) @ torch.matrix_exp(-a), eye(a))
    near(torch.cholesky_inverse(lower) @ b, eye(b))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_matrix_exp_of_half_types_is_rounded_once(device, dtype):
    a = torch.tensor([[0.5, -1.0], [0.25, 2.0]], dtype=dtype, device=device, requires_grad=True)
    wide = a.detach().float().requires_grad_()
    found, expected = torch.matrix_exp(a), torch.matrix_exp(wide)
    assert found.dtype is dtype and found.equal(expected.to(dtype))
    found.sum().backward()
    expected.to(dtype).sum().backward()
    assert a.grad.equal(wide.grad.to(dtype))


@pytest.mark.parametrize(
    "shapes", [((3, 3), (3, 2)), ((2, 3, 3), (3, 2)), ((3, 3), (2, 3, 2)), ((4, 1, 3, 3), (2, 3, 2))]
)
def test_solutions(shapes):
    a, b = (random(*shape) for shape in shapes)
    near(a @ linalg.solve(a, b), b)
    near(linalg.solve(a, b.mT, left=False) @ a, b.mT.expand(*(a @ b).mT.shape))
    near(a.triu() @ linalg.solve_triangular(a, b, upper=True), b)
    near(torch.triangular_solve(b, a, False, True).solution, linalg.solve_triangular(a.mT, b, upper=True))
    factors = linalg.lu_factor(a)
    near(a @ linalg.lu_solve(*factors, b), b)
    near(a.mT @ linalg.lu_solve(*factors, b, adjoint=True), b)
    near(linalg.lu_solve(*factors, b.mT, left=False) @ a, b.mT.expand(*(a @ b).mT.shape))
    near(torch.lu_solve(b, *factors), linalg.solve(a, b))
    c = a @ a.mT
    near(c @ torch.cholesky_solve(b, linalg.cholesky(c)), b)


def test_vectors_on_the_right():
    a, b = random(2, 3, 3), random(2, 3)
    near((a @ linalg.solve(a, b).unsqueeze(-1)).squeeze(-1), b)
    assert linalg.solve(a, random(3, 2)).shape == (2, 3, 2)
    assert linalg.lstsq(random(4, 2), random(4)).solution.shape == (2,)


def test_least_squares_agree_with_numpy():
    a, b = random(5, 2), random(5, 3)
    solution, residuals, rank, values = linalg.lstsq(a, b, driver="gelsd")
    expected = np.linalg.lstsq(a.numpy(), b.numpy(), rcond=None)
    for found, wanted in zip((solution, residuals, rank, values), expected, strict=True):
        np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-9)
    assert [each.numel() for each in linalg.lstsq(a, b)] == [6, 0, 1, 0]


@pytest.mark.parametrize("shape", [(5, 0), (2, 5, 0), (0, 5, 2)])
def test_matrices_without_elements_have_full_rank(shape):
    a, b = random(*shape), random(*shape[:-1], 3)
    for driver in ("gels", "gelsd", "gelss"):
        assert linalg.lstsq(a, b, driver=driver).residuals.shape == (*shape[:-2], 3)
        near(linalg.lstsq(a, b, driver=driver).residuals, (b * b).sum(-2) if shape[-1] == 0 else random(0, 3))


def test_gels_takes_every_matrix_to_have_full_rank():
    a, b = torch.ones(5, 2, dtype=torch.float64), torch.arange(5.0, dtype=torch.float64).unsqueeze(1)
    near(linalg.lstsq(a, b, driver="gels").residuals, torch.tensor([10.0], dtype=torch.float64))
    assert linalg.lstsq(a, b, driver="gelsd").residuals.shape == (0,)


def test_batches_of_least_squares_broadcast():
    a, b = random(2, 1, 4, 3), random(1, 3, 4, 5)
    found = linalg.lstsq(a, b, driver="gelsd")
    assert [tuple(each.shape) for each in found] == [(2, 3, 3, 5), (2, 3, 5), (2, 1), (2, 1, 3)]
    for i in range(2):
        for j in range(3):
            near(found.solution[i, j], linalg.lstsq(a[i, 0], b[0, j]).solution)
    with pytest.raises(ShapeError, match=r"linalg.lstsq: .*broadcast: shapes \[2, 4, 3\] and \[3, 4, 5\]"):
        linalg.lstsq(random(2, 4, 3), random(3, 4, 5))


def test_ranks_and_tolerances():
    a = torch.tensor(np.diag([3.0, 1.0, 0.1]))
    assert linalg.matrix_rank(a).item() == 3
    assert [linalg.matrix_rank(a, each).item() for each in (0.5, 2.0)] == [2, 1]
    assert [linalg.matrix_rank(a, rtol=each).item() for each in (0.5, 0.3)] == [1, 2]
    assert linalg.matrix_rank(a, atol=torch.tensor(0.5).double(), hermitian=True).item() == 2
    assert linalg.pinv(a, rtol=0.3).diagonal().tolist() == pytest.approx([1 / 3, 1, 0])
    assert linalg.pinv(a, 0.3).equal(torch.pinverse(a, 0.3))


A, B = RANDOM.standard_normal((2, 3, 3)), RANDOM.standard_normal((2, 3, 2))
FUNCTIONS = {
    "inv": linalg.inv, "det": linalg.det, "slogdet": lambda a: linalg.slogdet(a)[1], "pinv": linalg.pinv,
    "matrix_exp": linalg.matrix_exp, "lu": lambda a: linalg.lu(a)[1:], "qr": linalg.qr,
    "cholesky": lambda a: linalg.cholesky(a @ a.mT + torch.eye(3, dtype=a.dtype)),
    "eigh": lambda a: [each * each for each in linalg.eigh(a + a.mT)],
    "svd": lambda a: [each * each for each in linalg.svd(a, full_matrices=False)],
    "tall pinv": lambda a: linalg.pinv(a[..., :2]), "tall qr": lambda a: linalg.qr(a[..., :2]),
    "wide qr": lambda a: linalg.qr(a[..., :2, :]), "tall lu": lambda a: linalg.lu_factor(a[..., :2])[0],
    "wide lu": lambda a: linalg.lu_factor(a[..., :2, :])[0],
    "lu_solve": lambda a: [linalg.lu_solve(*linalg.lu_factor(a), a @ a, adjoint=each) for each in (False, True)],
    "householder_product": lambda a: linalg.householder_product(a[..., :2], a[..., 2, :2]),
    "ormqr": lambda a: [torch.ormqr(a, a[..., 0], a, *each) for each in ((), (True, True), (False,), (False, True))],
    "wide svd": lambda a: [each * each for each in linalg.svd(a[..., :2, :], full_matrices=False)],
}  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradients_of_both_orders(name):
    a = torch.tensor(A, requires_grad=True)
    assert gradcheck(FUNCTIONS[name], [a])
    assert gradgradcheck(FUNCTIONS[name], [a], fast_mode=True)


@pytest.mark.parametrize("options", [{"upper": True}, {"upper": False, "unitriangular": True}])
def test_gradients_of_solutions(options):
    a, b = torch.tensor(A, requires_grad=True), torch.tensor(B, requires_grad=True)
    for function in (linalg.solve, lambda a, b: linalg.solve_triangular(a, b, **options)):
        assert gradcheck(function, [a, b])
        assert gradgradcheck(function, [a, b], fast_mode=True)


def test_the_determinant_of_a_singular_matrix_has_a_gradient():
    a = torch.tensor([[1.0, 2.0], [2.0, 4.0]], requires_grad=True)
    torch.det(a).backward()
    np.testing.assert_allclose(a.grad.numpy(), [[4, -2], [-2, 1]], atol=1e-5)


def test_gradients_return_to_the_gpu(gpus):
    a = torch.tensor(A, device="cuda", requires_grad=True)
    linalg.inv(a).sum().backward()
    expected = torch.tensor(A, requires_grad=True)
    linalg.inv(expected).sum().backward()
    assert a.grad.device == a.device
    np.testing.assert_allclose(a.grad.cpu().numpy(), expected.grad.numpy(), rtol=1e-4, atol=1e-4)


SINGULAR = torch.tensor([[[1.0, 0.0], [0.0, 1.0]], [[1.0, 2.0], [2.0, 4.0]]])


def test_condition_numbers():
    a = torch.tensor([[2.0, 1.0], [1.0, 3.0]], dtype=torch.float64)
    orders = (None, 2, -2, "fro", "nuc", 1, -1, float("inf"), float("-inf"))
    found = [linalg.cond(a, each).item() for each in orders]
    golden = (3 + 5**0.5) / 2
    assert found == pytest.approx([golden, golden, 1 / golden, 3, 5, 3.2, 1.8, 3.2, 1.8])
    assert linalg.cond(SINGULAR, 1).tolist() == [1, float("inf")]
    factors, _, info = torch.lu(SINGULAR, get_infos=True)
    assert info.tolist() == [0, 2] and SINGULAR[0].lu()[0].equal(factors[0])


def test_failures_name_the_matrix():
    with pytest.raises(LinAlgError, match=r"linalg.inv: \(batch element 1\) .*diagonal element 2 .*singular"):
        linalg.inv(SINGULAR)
    with pytest.raises(LinAlgError, match="inverse: .*singular"):
        SINGULAR[1].inverse()
    with pytest.raises(LinAlgError, match="linalg.solve: .*singular"):
        linalg.solve(SINGULAR[1], torch.ones(2))
    with pytest.raises(linalg.LinAlgError, match=r"linalg.cholesky: .*batch element 0.* order 1"):
        linalg.cholesky(-SINGULAR)
    with pytest.raises(RuntimeError, match="linalg.eigh: .*converge"):
        linalg.eigh(torch.full((3, 3), float("nan")))


def test_codes_of_failures():
    assert linalg.inv_ex(SINGULAR).info.tolist() == [0, 2]
    assert linalg.inv_ex(SINGULAR).inverse[0].equal(SINGULAR[0])
    assert linalg.solve_ex(SINGULAR, torch.ones(2, 2)).info.tolist() == [0, 2]
    assert linalg.cholesky_ex(SINGULAR).info.tolist() == [0, 2]
    assert linalg.lu_factor_ex(SINGULAR).info.tolist() == [0, 2]
    for function in (linalg.inv_ex, linalg.cholesky_ex, linalg.lu_factor_ex):
        with pytest.raises(LinAlgError, match=r"batch element 1"):
            function(SINGULAR, check_errors=True)


def test_a_zero_on_the_diagonal_divides():
    a = torch.tensor([[0.0, 1.0], [0.0, 1.0]])
    assert linalg.solve_triangular(a, torch.ones(2, 1), upper=True).isfinite().tolist() == [[False], [True]]
    assert torch.logdet(torch.tensor([[-1.0]])).isnan().item() and torch.logdet(torch.zeros(1, 1)).item() == -float(
        "inf"
    )


def test_errors():
    with pytest.raises(NotSupportedError, match="linalg.eigvals: .*complex"):
        linalg.eigvals(torch.eye(2))
    with pytest.raises(DtypeError, match="det: .*got int64"):
        torch.det(torch.eye(2).long())
    with pytest.raises(ShapeError, match=r"linalg.solve: .*\(2x2 and 3x1\)"):
        linalg.solve(torch.eye(2), torch.ones(3, 1))
    with pytest.raises(ShapeError, match=r"linalg.lstsq: .*\[2, 3, 1\] and \[3, 2\]"):
        linalg.lstsq(torch.ones(2, 3, 1), torch.ones(3, 2))
    with pytest.raises(ArgumentError, match="linalg.vander: .*got 1"):
        linalg.vander(torch.ones(3), N=1)
    x = torch.ones(2, 2, requires_grad=True)
    with pytest.raises(NotSupportedError, match="linalg.qr: .*complete.* 3 and 2"):
        linalg.qr(torch.ones(3, 2, requires_grad=True), mode="complete").R.sum().backward()
    assert not linalg.qr(x, mode="r").R.requires_grad


def test_products_of_reflections():
    """Recorded from PyTorch."""
    a = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], dtype=torch.float64, requires_grad=True)
    packed, tau = torch.geqrf(a.detach())
    assert packed.flatten().tolist() == pytest.approx(PACKED, abs=1e-6)
    assert tau.tolist() == pytest.approx(FACTORS, abs=1e-6)
    q, r = torch.linalg.qr(a.detach())
    assert torch.allclose(torch.orgqr(packed, tau), q) and torch.allclose(packed[:2].triu(), r)
    assert packed.orgqr(tau).equal(torch.linalg.householder_product(packed, tau))
    factors = torch.tensor([0.5, 1.5], dtype=torch.float64, requires_grad=True)
    found = torch.linalg.householder_product(a, factors)
    assert found.flatten().tolist() == pytest.approx(PRODUCT, abs=1e-6)
    found.pow(2).sum().backward()
    assert a.grad.flatten().tolist() == pytest.approx(OF_A) and factors.grad.tolist() == pytest.approx(OF_FACTORS)


PACKED = [-5.9160798, -7.4373574, 0.4337717, 0.8280787, 0.7229529, 0.8926238]
FACTORS = [1.1690309, 1.113104]
PRODUCT = [0.5, 23.25, -1.5, 69.25, -2.5, 107.25]
OF_A = [0.0, 0.0, 3605.25, 0.0, 11894.875, 5432.625]
OF_FACTORS = [71387.25, 23893.75]


def test_the_zeroth_power_is_the_identity_with_a_gradient_of_zeros():
    x = torch.tensor([[1.0, np.nan], [np.inf, 2.0]], requires_grad=True)
    power = linalg.matrix_power(x, 0)
    power.sum().backward()
    assert power.tolist() == [[1, 0], [0, 1]] and x.grad.tolist() == [[0, 0], [0, 0]]


@pytest.mark.parametrize("dtype", [torch.int32, torch.uint8, torch.int64])
def test_vandermonde_matrices_of_integers_are_int64(dtype):
    found = linalg.vander(torch.tensor([2, 20], dtype=dtype), N=3)
    assert found.dtype is torch.int64 and found.tolist() == [[1, 2, 4], [1, 20, 400]]


def test_vandermonde_matrices_begin_with_ones_beside_infinities():
    assert linalg.vander(torch.tensor([np.inf, np.nan]), N=2)[:, 0].tolist() == [1, 1]


def test_determinants_of_matrices_that_are_not_finite_have_gradients_of_nan():
    x = torch.tensor([[[1.0, np.nan], [0.0, 1.0]], [[2.0, 0.0], [0.0, 3.0]]], requires_grad=True)
    linalg.det(x).sum().backward()
    assert x.grad[0].isnan().all() and x.grad[1].tolist() == [[3, 0], [0, 2]]


def test_products_with_reflections_are_products_with_q(device):
    a = torch.tensor([[3.0, 1.0], [4.0, 2.0], [0.0, 5.0]], dtype=torch.float64, device=device)
    other = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], dtype=torch.float64, device=device)
    packed, tau = torch.geqrf(a)
    q = torch.linalg.qr(a, "complete").Q
    assert torch.allclose(torch.ormqr(packed, tau, other), q @ other)
    assert torch.allclose(packed.ormqr(tau, other.mT, left=False, transpose=True), other.mT @ q.mT)
    assert torch.allclose(torch.ormqr(packed, tau, a, True, True).triu(), packed.triu())


def test_random_projections_find_the_largest_singular_values(device):
    torch.manual_seed(0)
    a = torch.diag(torch.tensor([5.0, 3.0, 0.5, 0.0], dtype=torch.float64, device=device))[:3] + 1
    expected = torch.linalg.svdvals(a)
    for matrix in (a, a.mT):
        U, S, V = torch.svd_lowrank(matrix, q=3)
        assert torch.allclose(S, expected)
        assert torch.allclose(U @ torch.diag(S) @ V.mT, matrix)
    assert torch.svd_lowrank(a, 2, 0, M=a)[1].abs().max() < 1e-12
    centered = torch.linalg.svdvals(a - a.mean(0, True))
    assert torch.allclose(torch.pca_lowrank(a, 2)[1], centered[:2])
    assert torch.pca_lowrank(a)[2].shape == (4, 3)
    for q, niter in ((4, 2), (-1, 2), (2, -1)):
        with pytest.raises(ArgumentError, match=f"pca_lowrank: q={q} and niter={niter} .* \\[3, 4\\]"):
            torch.pca_lowrank(a, q, niter=niter)


@pytest.mark.parametrize("UPLO", ["L", "U"])
def test_gradients_of_eigenvectors_are_symmetric(UPLO):  # noqa: N803
    a = random(4, 4)
    a = (a + a.mT).detach().requires_grad_()
    weights = random(4, 4)
    (grad,) = torch.autograd.grad((linalg.eigh(a, UPLO).eigenvectors.abs() * weights).sum(), a)
    near(grad, grad.mT)
    assert torch.autograd.gradcheck(lambda t: linalg.eigh((t + t.mT) / 2, UPLO).eigenvectors.abs(), (a,))


def test_the_pseudoinverse_of_a_symmetric_matrix_has_the_gradient_of_any_other():
    a = random(3, 3)
    a = (a + a.mT).detach().requires_grad_()
    weights = random(3, 3)
    of_symmetric, of_any = (
        torch.autograd.grad((linalg.pinv(a, hermitian=each) * weights).sum(), a)[0] for each in (True, False)
    )
    near(of_symmetric, of_any)


def test_a_vandermonde_matrix_of_one_number():
    assert linalg.vander(torch.tensor(2.0), N=3).tolist() == [[1.0, 2.0, 4.0]]
    with pytest.raises(ValueRangeError, match="linalg.vander: N must be greater than 1, got 1"):
        linalg.vander(torch.tensor(2.0))
