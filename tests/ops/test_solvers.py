"""Factorizations and solutions on a GPU: by own kernels, cuSOLVER and cuBLAS on hardware, by NumPy on virtual ones."""

import numpy as np
import pytest

import flambeau as torch
from flambeau import linalg
from flambeau.driver.nvidia.solver import BATCHED_ROWS
from flambeau.errors import FlambeauError, LinAlgError, NotSupportedError
from flambeau.ops import solvers
from flambeau.solver_operation import SMALL_SIDE

pytestmark = pytest.mark.devices(1)
TOLERANCE = {torch.float32: 2e-3, torch.float64: 1e-9}
# Sizes on both sides of the limits of own kernels and of batched calls; batches of none, one and several matrices.
LIMITS = [(size, size) for size in (SMALL_SIDE, SMALL_SIDE + 3)]
SIZES = [(3, 3), (5, 2), (2, 5), *LIMITS, (BATCHED_ROWS + 2, 7), (1, 1)]
BATCHES = [(), (1,), (3,), (2, 2)]


def matrices(*shape, dtype=torch.float64, seed=2):
    return torch.tensor(np.random.default_rng(seed).standard_normal(shape), dtype=dtype, device="cuda")


def dominant(*shape, **options):
    """Matrices with an inverse, whose rows need no exchange."""
    return matrices(*shape, **options) + 4 * shape[-1] ** 0.5 * torch.eye(*shape[-2:], device="cuda")


def near(one, other):
    one, other = one.detach().cpu().numpy(), other.detach().cpu().numpy()
    tolerance = TOLERANCE[getattr(torch, other.dtype.name)]
    np.testing.assert_allclose(one, np.broadcast_to(other, one.shape), rtol=tolerance, atol=tolerance)


def cases(*sizes):
    for dtype in TOLERANCE:
        for batch in BATCHES:
            for size in sizes:
                yield (*batch, *size), dtype


SQUARES = [size for size in SIZES if size[0] == size[1]] + [(BATCHED_ROWS + 2, BATCHED_ROWS + 2)]


def test_cholesky_factors(gpus):
    for shape, dtype in cases(*SQUARES):
        a = matrices(*shape, dtype=dtype)
        a = a @ a.mT + shape[-1] * torch.eye(shape[-1], dtype=dtype, device="cuda")
        lower, upper = linalg.cholesky(a), linalg.cholesky(a.tril().mT.contiguous(), upper=True)
        near(lower @ lower.mT, a)
        near(upper, lower.mT)
        near(lower, lower.tril())
        b = matrices(*shape[:-1], 2, dtype=dtype, seed=3)
        near(a @ torch.cholesky_solve(b, lower), b)
        near(torch.cholesky_inverse(upper, True) @ a, torch.eye(shape[-1], dtype=dtype, device="cuda"))


def test_lu_factors(gpus):
    for shape, dtype in cases(*SIZES, SQUARES[-1]):
        a = matrices(*shape, dtype=dtype)
        p, lower, upper = linalg.lu(a)
        near(p @ lower @ upper, a)
        factors, pivots, info = linalg.lu_factor_ex(a)
        assert not info.any() and pivots.dtype is torch.int32 and pivots.min() >= 1 and pivots.max() <= shape[-2]
        for one, other in zip(torch.lu_unpack(factors, pivots), (p, lower, upper), strict=True):
            near(one, other)
        a = dominant(*shape, dtype=dtype)
        factors, pivots = linalg.lu_factor(a, pivot=False)
        near(pivots.double(), torch.arange(1, min(shape[-2:]) + 1).double())
        near(torch.lu_unpack(factors, pivots).L @ torch.lu_unpack(factors, pivots).U, a)


def test_solutions(gpus):
    for shape, dtype in cases(*SQUARES):
        a, b = dominant(*shape, dtype=dtype), matrices(*shape[:-1], 2, dtype=dtype, seed=3)
        near(a @ linalg.solve(a, b), b)
        near(linalg.solve(a, b.mT, left=False) @ a, b.mT)
        near(a @ linalg.inv(a), torch.eye(shape[-1], dtype=dtype, device="cuda"))
        factors = linalg.lu_factor(a)
        near(a @ linalg.lu_solve(*factors, b), b)
        near(a.mT @ linalg.lu_solve(*factors, b, adjoint=True), b)
        near(linalg.lu_solve(*factors, b.mT, left=False) @ a, b.mT)
        near(linalg.lu_solve(*factors, b.mT, left=False, adjoint=True) @ a.mT, b.mT)
        near((a @ linalg.solve(a, b[..., 0]).unsqueeze(-1))[..., 0], b[..., 0])


def test_one_matrix_solves_for_a_batch(gpus):
    a, b = dominant(3, 3), matrices(4, 3, 2)
    near(a @ linalg.solve(a, b), b)
    near(a.triu() @ linalg.solve_triangular(a, b, upper=True), b)
    near(a @ linalg.lu_solve(*linalg.lu_factor(a), b), b)
    assert linalg.solve_ex(a, b).info.shape == ()


def test_batches_of_any_strides(gpus):
    whole, b = dominant(4, 5, 3, 3), matrices(5, 4, 3, 2, seed=3)
    for a in (whole.transpose(0, 1), whole[::2, 1:].transpose(0, 1), whole[:, 0].expand(5, 4, 3, 3)):
        some = b[: a.shape[0], : a.shape[1]]
        near(a @ linalg.solve(a, some), some)
        near(linalg.qr(a).Q @ linalg.qr(a).R, a)
        near(linalg.svdvals(a), linalg.svdvals(a.contiguous()))


def test_triangular_solutions(gpus):
    for shape, dtype in cases(*SQUARES[:2], SQUARES[-1]):
        one = torch.eye(shape[-1], dtype=dtype, device="cuda")
        for a in (dominant(*shape, dtype=dtype), dominant(*shape, dtype=dtype).mT):
            b = matrices(*shape[:-1], 2, dtype=dtype, seed=3)
            near(a.triu() @ linalg.solve_triangular(a, b, upper=True), b)
            near(a.tril() @ linalg.solve_triangular(a, b, upper=False), b)
            near(linalg.solve_triangular(a, b.mT, upper=False, left=False) @ a.tril(), b.mT)
            small = a / (8 * shape[-1])
            solution = linalg.solve_triangular(small, b, upper=True, unitriangular=True)
            near((small.triu(1) + one) @ solution, b)
            near(a.tril().mT @ torch.triangular_solve(b, a, False, True).solution, b)


def test_reflections(gpus):
    for shape, dtype in cases(*SIZES):
        a, (m, n) = matrices(*shape, dtype=dtype), shape[-2:]
        for mode, columns in (("reduced", min(m, n)), ("complete", m)):
            q, r = linalg.qr(a, mode)
            assert q.shape == (*shape[:-1], columns) and r.shape == (*shape[:-2], columns, n)
            near(q @ r, a)
            near(q.mT @ q, torch.eye(columns, dtype=dtype, device="cuda"))
            near(r, r.triu())
        packed, factors = torch.geqrf(a)
        near(packed.triu()[..., : min(m, n), :], linalg.qr(a, "r").R)
        near(torch.ormqr(packed, factors, a, True, True), packed.triu())
        near(torch.ormqr(packed, factors, a.mT, False, False), packed.triu().mT)
        if m >= n:
            near(linalg.householder_product(packed, factors), linalg.qr(a).Q)


def test_eigenvalues_and_singular_values(gpus):
    for shape, dtype in cases(*SIZES):
        a = matrices(*shape, dtype=dtype)
        for full in (False, True):
            u, s, vh = linalg.svd(a, full)
            k = s.shape[-1]
            near((u[..., :k] * s.unsqueeze(-2)) @ vh[..., :k, :], a)
            near(u.mT @ u, torch.eye(u.shape[-1], dtype=dtype, device="cuda"))
            near(vh @ vh.mT, torch.eye(vh.shape[-2], dtype=dtype, device="cuda"))
        near(s, s.sort(descending=True)[0])
        near(a @ linalg.pinv(a) @ a, a)
        b = a @ a.mT
        for uplo, given in (("L", b.tril()), ("U", b.triu()), ("L", b.tril().mT.contiguous().mT)):
            values, vectors = linalg.eigh(given, uplo)
            near((vectors * values.unsqueeze(-2)) @ vectors.mT, b)
        near(values, values.sort()[0])
        near(linalg.eigvalsh(b), values)
        assert (linalg.matrix_rank(a) == min(shape[-2:])).all()


def test_determinants(gpus):
    for shape, dtype in cases((3, 3), (1, 1), (40, 40), (0, 0)):
        a = matrices(*shape, dtype=dtype)
        sign, size = linalg.slogdet(a)
        expected = np.linalg.slogdet(a.cpu().double().numpy())
        near(sign.double(), torch.tensor(expected[0]))
        near(size, torch.tensor(expected[1]).to(dtype))
        if shape[-1] < 40:
            near(linalg.det(a), sign * size.exp())
    singular = torch.tensor([[1.0, 2.0], [2.0, 4.0]], device="cuda")
    assert (linalg.det(singular).item(), *map(torch.Tensor.item, linalg.slogdet(singular))) == (0, 0, -np.inf)


def test_determinants_of_matrices_that_are_not_finite(gpus):
    """The sign is 0 where the determinant is NaN, as PyTorch's is."""
    for device in ("cpu", "cuda"):
        for batch in ((), (1,), (2,)):
            a = torch.tensor([[float("nan"), 1.0], [2.0, 3.0]], device=device).expand(*batch, 2, 2)
            sign, size = linalg.slogdet(a)
            assert (sign == 0).all() and size.isnan().all() and linalg.det(a).isnan().all(), (device, batch)


def test_codes_of_failures(gpus):
    singular = torch.tensor([[[1.0, 0.0], [0.0, 1.0]], [[1.0, 2.0], [2.0, 4.0]]], device="cuda")
    for function in (linalg.inv_ex, linalg.cholesky_ex, linalg.lu_factor_ex):
        assert function(singular)[-1].tolist() == [0, 2]
        with pytest.raises(LinAlgError, match="batch element 1"):
            function(singular, check_errors=True)
    for function in (linalg.inv, linalg.cholesky, linalg.lu_factor):
        with pytest.raises(LinAlgError, match=f"linalg.{function.__name__}: "):
            function(singular[1])
    with pytest.raises(LinAlgError, match="linalg.solve: .*singular"):
        linalg.solve(singular[1], torch.ones(2, device="cuda"))
    divided = linalg.solve_triangular(singular[1].tril(-1), torch.ones(2, 1, device="cuda"), upper=False)
    assert not divided.isfinite().any()


def test_decompositions_that_do_not_converge_are_errors_of_the_call(gpus):
    nan = torch.full((2, 3, 3), float("nan"), device="cuda")
    nan[0] = torch.eye(3)
    for function in (linalg.eigh, linalg.eigvalsh, linalg.svd, linalg.svdvals):
        with pytest.raises(LinAlgError, match=rf"linalg.{function.__name__}: \(batch element 1\) .*converge"):
            function(nan)
    assert linalg.svdvals(torch.eye(2, device="cuda")).tolist() == [1, 1]  # the device works on


def test_singular_vectors_of_singular_matrices_are_orthonormal(gpus):
    for dtype in TOLERANCE:
        for rank, (m, n) in ((0, (3, 3)), (1, (4, 4)), (2, (6, 4)), (1, (3, 5)), (3, (SMALL_SIDE, 9))):
            a = matrices(2, m, rank, dtype=dtype) @ matrices(2, rank, n, dtype=dtype, seed=3)
            for full in (False, True):
                u, s, vh = linalg.svd(a, full)
                k = s.shape[-1]
                near((u[..., :k] * s.unsqueeze(-2)) @ vh[..., :k, :], a)
                near(u.mT @ u, torch.eye(u.shape[-1], dtype=dtype, device="cuda"))
                near(vh @ vh.mT, torch.eye(vh.shape[-2], dtype=dtype, device="cuda"))
            assert linalg.matrix_rank(a).tolist() == [rank] * 2


def test_magnitudes_near_the_limits_of_a_type(gpus):
    for scale in (1e-40, 1e-30, 1e30):
        a = torch.tensor([[2.0, 1.0], [1.0, 2.0]], device="cuda") * scale
        for found in (linalg.eigvalsh(a), linalg.svdvals(a).flip(0)):
            near((found.double() / scale).float(), torch.tensor([1.0, 3.0]))


def test_matrices_without_elements(gpus):
    a, zero = 2 * torch.eye(3, device="cuda"), torch.zeros(3, 3, device="cuda")
    none = torch.ones(3, 0, device="cuda")
    assert [linalg.solve_ex(each, none).info.item() for each in (a, zero)] == [0, 1]
    assert linalg.solve_triangular(a, none, upper=True).shape == (3, 0)
    assert linalg.qr(none, "complete").Q.equal(a / 2) and linalg.lu(none).P.equal(a / 2)
    assert linalg.svd(none.mT).Vh.equal(a / 2) and linalg.svd(none.mT).U.shape == (0, 0)
    assert linalg.det(torch.ones(2, 0, 0, device="cuda")).tolist() == [1, 1]
    assert linalg.eigh(torch.ones(2, 0, 0, device="cuda")).eigenvectors.shape == (2, 0, 0)
    assert linalg.inv_ex(torch.ones(0, 3, 3, device="cuda")).info.shape == (0,)
    assert linalg.householder_product(a, a[0, :0]).equal(a / 2)


def calls(size):
    """Calls that do not wait, with the number of launches by own kernels and with a library."""
    a, b = dominant(size, size), matrices(size, 2, seed=3)
    factors, reflections = linalg.lu_factor(a), torch.geqrf(a)
    return {
        "cholesky_ex": (1, 2, lambda: linalg.cholesky_ex(a)),
        "lu_factor_ex": (1, 2, lambda: linalg.lu_factor_ex(a)),
        "lu": (1, 2, lambda: torch.lu(a, get_infos=True)),
        "linalg.lu": (4, 5, lambda: linalg.lu(a)),
        "lu_unpack": (3, 3, lambda: torch.lu_unpack(*factors)),
        "lu_solve": (1, 2, lambda: linalg.lu_solve(*factors, b)),
        "solve_ex": (1, 3, lambda: linalg.solve_ex(a, b)),
        "inv_ex": (1, 4, lambda: linalg.inv_ex(a)),
        "solve_triangular": (1, 2, lambda: linalg.solve_triangular(a, b, upper=True)),
        "triangular_solve": (2, 3, lambda: torch.triangular_solve(b, a)),
        "cholesky_solve": (2, 4, lambda: torch.cholesky_solve(b, a)),
        "cholesky_inverse": (4, 6, lambda: torch.cholesky_inverse(a)),
        "det": (2, 3, lambda: linalg.det(a)),
        "slogdet": (2, 3, lambda: linalg.slogdet(a)),
        "logdet": (4, 5, lambda: torch.logdet(a)),
        "geqrf": (1, 2, lambda: torch.geqrf(a)),
        "orgqr": (1, 2, lambda: torch.orgqr(*reflections)),
        "householder_product": (1, 2, lambda: linalg.householder_product(*reflections)),
        "ormqr": (2, 2, lambda: torch.ormqr(*reflections, b)),
        "qr": (1, 5, lambda: linalg.qr(a)),
    }


def test_calls_that_raise_no_error_for_values_do_not_wait(gpus):
    from benchmarks import counts

    for size, is_large in ((3, False), (SMALL_SIDE, False), (SMALL_SIDE + 1, True)):
        for name, (*launches, call) in calls(size).items():
            found = counts.of(call)
            assert found["launch"] == launches[is_large] and set(found) == {"launch", "block"}, (size, name, found)


def test_functions_of_singular_values_take_few_launches(gpus):
    from benchmarks import counts

    a, b = matrices(3, 2), matrices(3, 1, seed=3)
    calls = {
        "svdvals": (1, lambda: linalg.svdvals(a)), "svd": (1, lambda: linalg.svd(a)),
        "cond": (2, lambda: linalg.cond(a)), "nuclear_norm": (2, lambda: torch.nuclear_norm(a)),
        "matrix_rank": (4, lambda: linalg.matrix_rank(a)), "pinv": (7, lambda: linalg.pinv(a)),
        "lstsq": (10, lambda: linalg.lstsq(a, b)),
    }  # fmt: skip
    for name, (launches, call) in calls.items():
        found = counts.of(call)
        assert (found["launch"], found["copy"], found["host wait"]) == (launches, 1, 1), (name, found)


def test_codes_of_failures_are_read_at_once(gpus):
    from benchmarks import counts

    a = dominant(4, 3, 3)
    for call in (linalg.inv, linalg.cholesky, linalg.lu_factor, linalg.eigh, linalg.svd, linalg.svdvals):
        found = counts.of(lambda call=call: call(a @ a.mT))
        assert (found["copy"], found["host wait"]) == (1, 1), (call.name, found)


@pytest.mark.parametrize("size", [3, SMALL_SIDE + 1])
def test_graphs_capture_calls_that_do_not_wait(gpus, size):
    refused = {}
    for name, (*_, call) in calls(size).items():
        expected = call()
        graph = torch.cuda.CUDAGraph()
        try:
            with torch.cuda.graph(graph):
                found = call()
        except FlambeauError as error:
            refused[name] = str(error)
            continue
        graph.replay()
        for one, other in zip(
            *(each if isinstance(each, tuple) else (each,) for each in (found, expected)), strict=True
        ):
            assert torch.equal(one, other), name
    assert refused == {}


def test_without_a_solver_library_the_host_computes(gpus, monkeypatch):
    """As on an NVIDIA GPU without cuSOLVER."""
    a, b = dominant(2, 3, 3), matrices(2, 3, 2, seed=3)

    def values():
        factors, reflections = linalg.lu_factor(a), torch.geqrf(a)
        return [
            linalg.cholesky_ex(a @ a.mT).L, linalg.inv(a), linalg.solve(a, b), linalg.lu_solve(*factors, b),
            linalg.solve_triangular(a, b, upper=True), linalg.det(a), linalg.qr(a).R.abs(), linalg.svdvals(a),
            torch.ormqr(*reflections, b), linalg.eigvalsh(a), linalg.pinv(a), linalg.lstsq(a, b).solution,
            *torch.lu_unpack(*factors), torch.cholesky_inverse(a),
        ]  # fmt: skip

    with monkeypatch.context() as changed:
        changed.setattr(solvers, "has_solver", lambda device: device.index < 0)
        on_host = values()
    for one, other in zip(on_host, values(), strict=True):
        assert one.device == other.device == a.device
        near(one, other)


class Device:
    index = 0
    asked = 0

    def library_plan(self, operation):
        self.asked += 1
        raise NotSupportedError(f"no {operation.kind}")


def test_a_device_is_asked_once_for_its_solver_library(gpus):
    device = Device()
    assert [solvers.has_solver(device) for _ in range(3)] == [False] * 3 and device.asked == 1
    assert solvers.has_solver(gpus.devices[0])


def test_gradients_on_the_gpu_are_those_of_the_cpu(gpus):
    functions = (
        linalg.inv, linalg.det, linalg.qr, linalg.pinv, linalg.slogdet, lambda a: linalg.cholesky(a @ a.mT),
        lambda a: linalg.lu(a)[1:], lambda a: linalg.solve(a, a @ a), lambda a: linalg.svdvals(a),
        lambda a: linalg.eigvalsh(a @ a.mT), lambda a: linalg.solve_triangular(a, a @ a, upper=True),
        lambda a: linalg.lu_solve(*linalg.lu_factor(a), a @ a, adjoint=True),
        lambda a: torch.ormqr(a / 9, a[..., 0] / 9, a, False),
        lambda a: linalg.householder_product(a / 9, a[..., 0] / 9),
    )  # fmt: skip
    for number, function in enumerate(functions):
        grads = []
        for device in ("cpu", "cuda"):
            a = dominant(2, 3, 3).to(device).requires_grad_(True)
            found = function(a)
            total = sum((each * each).sum() for each in (found if isinstance(found, tuple) else (found,)))
            total.backward()
            grads.append(a.grad)
        assert grads[1].device.type == "cuda", number
        near(grads[1], grads[0])


def test_strides_are_those_of_pytorch(gpus):
    """Recorded from PyTorch, but for factors of Cholesky, R and Vh."""
    for device in ("cpu", "cuda"):
        a, b = dominant(2, 3, 3).to(device), matrices(2, 3, 2).to(device)
        wide, tall = matrices(2, 3, 4).to(device), matrices(2, 4, 3).to(device)
        factors, reflections = linalg.lu_factor(tall), torch.geqrf(tall)
        found = {
            "lu_factor": (factors.LU, (12, 1, 4)), "wide lu": (linalg.lu_factor(wide).LU, (12, 1, 3)),
            "pivots": (factors.pivots, (3, 1)), "inv": (linalg.inv(a), (9, 1, 3)),
            "solve": (linalg.solve(a, b), (6, 1, 3)),
            "solve a vector": (linalg.solve(a, b[..., 0]), (3, 1)),
            "solve from the right": (linalg.solve(a, b.mT.contiguous(), left=False), (6, 3, 1)),
            "triangular": (linalg.solve_triangular(a, b, upper=True), (6, 1, 3)),
            "lu_solve": (linalg.lu_solve(*linalg.lu_factor(a), b), (6, 1, 3)),
            "cholesky_solve": (torch.cholesky_solve(b, a), (6, 1, 3)), "Q": (linalg.qr(tall).Q, (12, 1, 4)),
            "complete Q": (linalg.qr(tall, "complete").Q, (16, 1, 4)), "geqrf": (reflections.a, (12, 1, 4)),
            "orgqr": (torch.orgqr(*reflections), (12, 1, 4)), "vectors": (linalg.eigh(a).eigenvectors, (9, 1, 3)),
            "U": (linalg.svd(tall).U, (16, 1, 4)), "V": (torch.svd(tall).V, (9, 1, 3)),
            "ormqr": (torch.ormqr(*reflections, tall), (12, 1, 4)), "P": (linalg.lu(tall).P, (16, 4, 1)),
        }  # fmt: skip
        assert {name: tensor.stride() for name, (tensor, _) in found.items()} == {
            name: strides for name, (_, strides) in found.items()
        }


@pytest.mark.parametrize("batch", [(), (2,)])
def test_nan_is_not_lost(device, batch):
    matrix = torch.tensor([[float("nan"), 1.0], [1.0, 2.0]], device=device).expand((*batch, 2, 2))
    for result in (torch.linalg.inv(matrix), torch.linalg.solve(matrix, torch.ones((*batch, 2, 1), device=device))):
        assert result.isnan().all()
    assert torch.linalg.lu_factor(matrix).LU[..., 1, :].isnan().all()
    for matrices in (matrix, torch.cat([torch.eye(2, device=device)[None], matrix.reshape((-1, 2, 2))])):
        with pytest.raises(LinAlgError, match=r"linalg\.cholesky: "):
            torch.linalg.cholesky(matrices).cpu()
    assert torch.linalg.cholesky_ex(matrix).info.flatten().tolist() == [1] * max(1, len(batch) * 2)
