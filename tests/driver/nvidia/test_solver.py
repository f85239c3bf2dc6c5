"""Factorizations by cuSOLVER and cuBLAS, run by stand-ins that compute with LAPACK on the host's memory."""

from __future__ import annotations

import ctypes
import itertools

import numpy as np
import pytest
from scipy.linalg import lapack

from flambeau import dtypes, errors
from flambeau.core.nvidia import Stream
from flambeau.driver.nvidia import solver
from flambeau.host import address_of, bytes_at
from flambeau.solver_operation import (
    CHOLESKY,
    EIGEN,
    EIGENVALUES,
    LU,
    LU_IN_ORDER,
    LU_SOLUTION,
    READ,
    REFLECTED_COLUMNS,
    REFLECTION,
    REFLECTORS,
    SCRATCH,
    SINGULAR,
    SOLUTION,
    SPENT,
    TRIANGULAR,
    UPDATED,
    WRITTEN,
    Argument,
    Solver,
)

STREAM, OTHER_STREAM = Stream(0, 0xABC, is_ours=True), Stream(0, 0xDEF, is_ours=True)
LWORK = 24
TYPES = {"S": np.dtype("float32"), "D": np.dtype("float64")}
HANDLES = {"solver": 11, "blas": 12, "singular": 14}


def columns(of, at, rows, cols, ld):
    """Column-major memory as an array."""
    assert ld >= max(rows, 1)
    flat = bytes_at(at, ((cols - 1) * ld + rows) * of.itemsize).view(of)
    return np.lib.stride_tricks.as_strided(flat, (rows, cols), (of.itemsize, ld * of.itemsize))


def numbers(at, count, kind="int32"):
    return bytes_at(at, count * np.dtype(kind).itemsize).view(kind)


class FakeLibraries:
    """A stand-in for cuSOLVER and cuBLAS; arguments have the order of cusolverDn.h and cublas_api.h.

    calls: names in order.  fails: the status of a call, by its name.
    """

    def __init__(self):
        self.calls = []
        self.streams = []
        self.fails = {}
        self.workspace = range(0)

    def __getattr__(self, name):
        def call(*arguments):
            self.calls.append(name)
            if name in self.fails:
                return self.fails[name]
            library = "cusolverDn" if name.startswith("cusolverDn") else "cublas"
            rest = name.removeprefix(library)
            if rest.startswith(("Create", "SetStream")):
                getattr(self, "_" + rest.lower())(*arguments)
                return 0
            signature = (solver.SIGNATURES if library == "cusolverDn" else solver.BLAS_SIGNATURES)[name]
            assert len(arguments) == len(signature), name
            for argument, kind in zip(arguments, signature):
                assert kind is not ctypes.c_int or type(argument) is int, (name, arguments)
            handle, *others = arguments
            assert handle.value == HANDLES["solver" if library == "cusolverDn" else "blas"]
            if rest.endswith("_bufferSize"):
                size = next(each for each in others if hasattr(each, "_obj"))
                size._obj.value = LWORK
                return 0
            getattr(self, "_" + rest[1:].lower())(TYPES[rest[0]], *others)
            return 0

        return call

    def _create(self, made):
        made._obj.value = HANDLES["solver"]

    def _create_v2(self, made):
        made._obj.value = HANDLES["blas"]

    def _creategesvdjinfo(self, made):
        made._obj.value = HANDLES["singular"]

    def _setstream(self, handle, stream):
        assert handle.value == HANDLES["solver"]
        self.streams.append(stream)

    def _setstream_v2(self, handle, stream):
        assert (handle.value, stream) == (HANDLES["blas"], self.streams[-1])

    def space(self, at, nbytes):
        assert at in self.workspace and at + nbytes - 1 in self.workspace

    def working(self, of, work, lwork=LWORK):
        assert lwork == LWORK
        self.space(work, lwork * of.itemsize)

    def each(self, of, pointers, rows, cols, ld, batch):
        self.space(pointers, 8 * batch)
        return [columns(of, at, rows, cols, ld) for at in numbers(pointers, batch, "int64").tolist()]

    # routines

    def _potrf(self, of, uplo, n, a, lda, work, lwork, info):
        self.working(of, work, lwork)
        matrix = columns(of, a, n, n, lda)
        factor, numbers(info, 1)[0] = lapack.get_lapack_funcs(("potrf",), (matrix,))[0](matrix, lower=uplo == 0)
        matrix[...] = factor

    def _potrfbatched(self, of, uplo, n, pointers, lda, infos, batch):
        for index, matrix in enumerate(self.each(of, pointers, n, n, lda, batch)):
            found = lapack.get_lapack_funcs(("potrf",), (matrix,))[0](matrix, lower=uplo == 0)
            matrix[...], numbers(infos, batch)[index] = found
            matrix[np.triu_indices(n, 1) if uplo == 0 else np.tril_indices(n, -1)] = np.nan  # used as workspace

    def factorize(self, matrix, pivots):
        factors, order, code = lapack.get_lapack_funcs(("getrf",), (matrix,))[0](matrix)
        if pivots is None:  # the tests' matrices need no exchange
            assert (order == range(len(order))).all()
        else:
            pivots[...] = order + 1
        matrix[...] = factors
        return code

    def _getrf(self, of, m, n, a, lda, work, pivots, info):
        self.working(of, work)
        order = None if pivots is None else numbers(pivots, min(m, n))
        numbers(info, 1)[0] = self.factorize(columns(of, a, m, n, lda), order)

    def _getrfbatched(self, of, n, pointers, lda, pivots, infos, batch):
        for index, matrix in enumerate(self.each(of, pointers, n, n, lda, batch)):
            order = None if pivots is None else numbers(pivots, batch * n).reshape(batch, n)[index]
            numbers(infos, batch)[index] = self.factorize(matrix, order)

    def substitute(self, trans, a, pivots, b):
        b[...] = lapack.get_lapack_funcs(("getrs",), (a, b))[0](a, pivots - 1, b, trans=trans)[0]

    def _getrs(self, of, trans, n, nrhs, a, lda, pivots, b, ldb, info):
        self.space(info, 4)
        self.substitute(trans, columns(of, a, n, n, lda), numbers(pivots, n), columns(of, b, n, nrhs, ldb))

    def _getrsbatched(self, of, trans, n, nrhs, pointers, lda, pivots, targets, ldb, code, batch):
        orders = numbers(pivots, batch * n).reshape(batch, n)
        pairs = zip(self.each(of, pointers, n, n, lda, batch), orders, self.each(of, targets, n, nrhs, ldb, batch))
        for a, order, b in pairs:
            self.substitute(trans, a, order, b)

    def substitute_triangle(self, side, uplo, trans, diag, alpha, a, b):
        assert (side, alpha._obj.value) == (solver.LEFT, 1)
        trtrs = lapack.get_lapack_funcs(("trtrs",), (a, b))[0]
        b[...] = trtrs(a, b, lower=uplo == 0, trans=trans, unitdiag=diag)[0]

    def _trsm_v2(self, of, side, uplo, trans, diag, m, n, alpha, a, lda, b, ldb):
        pair = columns(of, a, m, m, lda), columns(of, b, m, n, ldb)
        self.substitute_triangle(side, uplo, trans, diag, alpha, *pair)

    def _trsmbatched(self, of, side, uplo, trans, diag, m, n, alpha, pointers, lda, targets, ldb, batch):
        for pair in zip(self.each(of, pointers, m, m, lda, batch), self.each(of, targets, m, n, ldb, batch)):
            self.substitute_triangle(side, uplo, trans, diag, alpha, *pair)

    def _geqrf(self, of, m, n, a, lda, tau, work, lwork, info):
        self.working(of, work, lwork)
        self.space(info, 4)
        matrix = columns(of, a, m, n, lda)
        packed, numbers(tau, min(m, n), of)[...] = np.linalg.qr(matrix, "raw")
        matrix[...] = packed.T

    def _geqrfbatched(self, of, m, n, pointers, lda, targets, code, batch):
        pairs = zip(self.each(of, pointers, m, n, lda, batch), self.each(of, targets, min(m, n), 1, m, batch))
        for matrix, tau in pairs:
            packed, tau[:, 0] = np.linalg.qr(matrix, "raw")
            matrix[...] = packed.T

    def _orgqr(self, of, m, n, k, a, lda, tau, work, lwork, info):
        self.working(of, work, lwork)
        self.space(info, 4)
        matrix, factors = columns(of, a, m, n, lda), numbers(tau, k, of)
        matrix[...] = lapack.get_lapack_funcs(("orgqr",), (matrix,))[0](matrix, factors)[0]

    def _ormqr(self, of, side, trans, m, n, k, a, lda, tau, c, ldc, work, lwork, info):
        self.working(of, work, lwork)
        self.space(info, 4)
        matrix, target = columns(of, a, n if side else m, k, lda), columns(of, c, m, n, ldc)
        ormqr = lapack.get_lapack_funcs(("ormqr",), (matrix,))[0]
        target[...] = ormqr("LR"[side], "NT"[trans], matrix, numbers(tau, k, of), target, 640)[0]

    def _syevd(self, of, jobz, uplo, n, a, lda, w, work, lwork, info):
        self.working(of, work, lwork)
        matrix = columns(of, a, n, n, lda)
        numbers(w, n, of)[...], vectors = np.linalg.eigh(matrix, "LU"[uplo])
        matrix[...] = vectors if jobz == solver.VECTORS else np.nan
        numbers(info, 1)[0] = 0

    def _gesvdj(self, of, jobz, econ, m, n, a, lda, s, u, ldu, v, ldv, work, lwork, info, parameters):
        assert jobz == solver.VECTORS and parameters.value == HANDLES["singular"]
        self.working(of, work, lwork)
        matrix, k = columns(of, a, m, n, lda), min(m, n)
        left, numbers(s, k, of)[...], right = np.linalg.svd(matrix, not econ)
        columns(of, u, *left.shape, ldu)[...] = left
        columns(of, v, *right.shape[::-1], ldv)[...] = right.T
        matrix[...], numbers(info, 1)[0] = 9, 0


class Launches:
    """Runs kernels' references on the host's memory at once."""

    def __init__(self):
        self.streams = []

    def load(self, kernel):
        def launch(grid, packed, stream):
            self.streams.append(stream.raw)
            address, *rest = kernel.bind(packed)
            kernel.reference(numbers(address.address, address.shape[0], "int64"), *rest)

        return launch


@pytest.fixture
def library():
    return FakeLibraries()


@pytest.fixture
def planner(library):
    made = solver.SolverPlanner((library, library), 0, Launches().load)
    return made


def dense(shape, dtype, by_columns=True):
    *batch, rows, cols = shape
    return np.zeros((*batch, cols, rows), dtype).swapaxes(-2, -1) if by_columns else np.zeros(shape, dtype)


def run(planner, library, kind, operands, options=(), stream=STREAM):
    """Run a plan on copies of (mode, array) operands; return the operands of the plan and of the reference."""
    mine, wanted = ([array.copy("K") for _, array in operands] for _ in range(2))
    arguments = tuple(
        Argument(
            mode, getattr(dtypes, each.dtype.name), each.shape, tuple(step // each.itemsize for step in each.strides)
        )
        for (mode, _), each in zip(operands, mine)
    )
    problem = Solver(kind, arguments, options)
    plan = planner.plan(problem)
    workspace = np.zeros(plan.workspace_nbytes + 1, "uint8")
    library.workspace = range(address_of(workspace), address_of(workspace) + plan.workspace_nbytes)
    plan.run(tuple(map(address_of, mine)), address_of(workspace), stream)
    problem.reference(*wanted)
    return mine, wanted


def filled(shape, dtype="float64", by_columns=True, seed=3):
    out = dense(shape, dtype, by_columns)
    out[...] = np.random.default_rng(seed).standard_normal(shape)
    return out


def codes(shape):
    return WRITTEN, np.full(shape[:-2], -7, "int32")


def near(found, wanted):
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-3, atol=2e-4)


BATCHES = [(), (1,), (3,), (2, 2)]
KINDS = ("float32", "float64")
CASES = list(itertools.product(BATCHES, KINDS))


@pytest.mark.parametrize(("batch", "dtype"), CASES)
def test_cholesky_by_rows_and_by_columns(planner, library, batch, dtype):
    for by_columns, upper in itertools.product((False, True), repeat=2):
        a = filled((*batch, 4, 4), dtype, by_columns)
        a[...] = a @ a.swapaxes(-2, -1) + 4 * np.eye(4)
        a[...] = np.triu(a) if upper else np.tril(a)
        found, wanted = run(planner, library, CHOLESKY, [(UPDATED, a), codes(a.shape)], (upper,))
        wanted_part = np.triu if upper else np.tril
        near((wanted_part(np.nan_to_num(found[0])), found[1]), wanted)
    a[..., 1, 1] = -1
    (_, found), (_, wanted) = run(planner, library, CHOLESKY, [(UPDATED, a), codes(a.shape)], (upper,))
    assert found.tolist() == wanted.tolist() and (found == 2).all()


def test_small_matrices_are_batched_and_others_are_not(planner, library):
    for size, name in ((4, "cusolverDnDpotrfBatched"), (solver.BATCHED_ROWS + 1, "cusolverDnDpotrf")):
        a = dense((3, size, size), "float64")
        a[...] = np.eye(size)
        del library.calls[:]
        run(planner, library, CHOLESKY, [(UPDATED, a), codes(a.shape)], (False,))
        assert library.calls.count(name) == (1 if size == 4 else 3)


@pytest.mark.parametrize("batch", BATCHES)
@pytest.mark.parametrize("shape", [(4, 4), (5, 3), (3, 5)], ids=str)
def test_lu(planner, library, batch, shape):
    a = filled((*batch, *shape))
    pivots = WRITTEN, np.zeros((*batch, min(shape)), "int32")
    near(*run(planner, library, LU, [(UPDATED, a), codes(a.shape), pivots]))
    a += 9 * np.eye(*shape)
    near(*run(planner, library, LU_IN_ORDER, [(UPDATED, a), codes(a.shape)]))


@pytest.mark.parametrize(("batch", "dtype"), CASES)
def test_solutions(planner, library, batch, dtype):
    for size in (3, solver.BATCHED_ROWS + 1):
        a, b = filled((*batch, size, size), dtype), filled((*batch, size, 2), dtype, seed=4)
        a += 4 * size**0.5 * np.eye(size, dtype=dtype)
        pivots = np.zeros((*batch, size), "int32")
        found, wanted = run(planner, library, SOLUTION, [(SPENT, a), (UPDATED, b), (SCRATCH, pivots), codes(a.shape)])
        near((found[1], found[3]), (wanted[1], wanted[3]))
        for transposed in (False, True):
            operands = [(READ, found[0]), (READ, found[2]), (UPDATED, b)]
            near(*run(planner, library, LU_SOLUTION, operands, (transposed,)))


def test_a_solution_without_right_sides_has_a_code(planner, library):
    a = filled((2, 3, 3))
    a[1] = 0
    operands = (SPENT, a), (UPDATED, dense((2, 3, 0), "float64")), (SCRATCH, np.zeros((2, 3), "int32")), codes(a.shape)
    found, _ = run(planner, library, SOLUTION, operands)
    assert found[3].tolist() == [0, 1]


@pytest.mark.parametrize(("batch", "dtype"), CASES)
def test_triangular_solutions(planner, library, batch, dtype):
    for by_columns, upper, unit in itertools.product((False, True), repeat=3):
        a = filled((*batch, 4, 4), dtype, by_columns) + np.eye(4, dtype=dtype) * 5
        operands = [(READ, a if by_columns else np.ascontiguousarray(a)), (UPDATED, filled((*batch, 4, 2), dtype))]
        near(*run(planner, library, TRIANGULAR, operands, (upper, unit)))


@pytest.mark.parametrize("batch", BATCHES)
@pytest.mark.parametrize("shape", [(4, 4), (5, 3), (3, 5), (solver.BATCHED_ROWS + 1, 2)], ids=str)
def test_reflections(planner, library, batch, shape):
    rows, k = shape[0], min(shape)
    tau = WRITTEN, np.zeros((*batch, k))
    found, wanted = run(planner, library, REFLECTORS, [(UPDATED, filled((*batch, *shape))), tau])
    near(found, wanted)
    packed, factors = found
    near(*run(planner, library, REFLECTED_COLUMNS, [(UPDATED, packed[..., :k].copy("K")), (READ, factors)]))
    for left, transposed in itertools.product((False, True), repeat=2):
        other = filled((*batch, rows, 2) if left else (*batch, 2, rows), seed=5)
        operands = [(READ, packed), (READ, factors), (UPDATED, other)]
        near(*run(planner, library, REFLECTION, operands, (left, transposed)))


def test_a_corner_of_wider_matrices(planner, library):
    """Reflectors of matrices that are the first columns of wider ones, as if Q had more columns than A."""
    q = filled((2, 5, 5))
    corner, tau = q[..., :3], np.zeros((2, 3))
    strides = tuple(step // 8 for step in corner.strides)
    arguments = Argument(UPDATED, dtypes.float64, (2, 5, 3), strides), Argument(WRITTEN, dtypes.float64, (2, 3), (3, 1))
    plan = planner.plan(Solver(REFLECTORS, arguments))
    workspace, expected = np.zeros(plan.workspace_nbytes, "uint8"), np.linalg.qr(corner, "raw")
    library.workspace = range(address_of(workspace), address_of(workspace) + len(workspace))
    plan.run((address_of(q), address_of(tau)), address_of(workspace), STREAM)
    near((corner, tau), (expected[0].swapaxes(1, 2), expected[1]))


@pytest.mark.parametrize(("batch", "dtype"), CASES)
def test_eigenvalues(planner, library, batch, dtype):
    for size, lower in itertools.product((3, 33), (False, True)):
        a = filled((*batch, size, size), dtype)
        values = WRITTEN, np.zeros((*batch, size), dtype)
        near(*run(planner, library, EIGEN, [(UPDATED, a), values, codes(a.shape)], (lower,)))
        (_, *found), (_, *wanted) = run(planner, library, EIGENVALUES, [(SPENT, a), values, codes(a.shape)], (lower,))
        near(found, wanted)


@pytest.mark.parametrize("batch", BATCHES)
@pytest.mark.parametrize("shape", [(4, 4), (5, 3), (3, 5), (1, 4), (4, 1), (33, 2)], ids=str)
def test_singular_values(planner, library, batch, shape):
    (m, n), k = shape, min(shape)
    for full in (False, True):
        u, vt = dense((*batch, m, m if full else k), "float64"), np.zeros((*batch, n if full else k, n))
        operands = [(SPENT, filled((*batch, m, n))), *((WRITTEN, each) for each in (u, np.zeros((*batch, k)), vt))]
        (_, *found), (_, *wanted) = run(planner, library, SINGULAR, [*operands, codes((*batch, m, n))], (full,))
        near(found, wanted)


def test_the_stream_is_set_when_it_changes(planner, library):
    for stream in (STREAM, STREAM, OTHER_STREAM, STREAM):
        a = dense((2, 1, 1), "float64")
        run(planner, library, CHOLESKY, [(UPDATED, a), codes(a.shape)], (False,), stream)
    assert library.streams == [STREAM.raw, OTHER_STREAM.raw, STREAM.raw]


def test_a_status_is_an_error(planner, library):
    a = dense((1, 1), "float64")
    for name, status, error in (
        ("cusolverDnDpotrf_bufferSize", 3, errors.AcceleratorError), ("cusolverDnDpotrf", 7, errors.AcceleratorError),
        ("cusolverDnDpotrf", 2, errors.OutOfMemoryError),
    ):  # fmt: skip
        library.fails = {name: status}
        with pytest.raises(error, match=f"{name}: cuSOLVER status {status}; device is 0"):
            run(planner, library, CHOLESKY, [(UPDATED, a), codes(a.shape)], (False,))
    library.fails = {"cublasDtrsm_v2": 3}
    with pytest.raises(errors.OutOfMemoryError, match="cublasDtrsm_v2: cuBLAS status 3"):
        run(planner, library, TRIANGULAR, [(READ, a), (UPDATED, a)], (False, False))


@pytest.mark.parametrize("name", ["cusolverDnCreate", "cusolverDnCreateGesvdjInfo", "cusolverDnSetStream"])
def test_handles_that_cannot_be_made_are_errors(planner, library, name):
    library.fails = {name: 1}
    a = dense((1, 1), "float64")
    with pytest.raises(errors.AcceleratorError, match=f"{name}: cuSOLVER status 1"):
        run(planner, library, CHOLESKY, [(UPDATED, a), codes(a.shape)], (False,))


def test_a_library_that_is_missing_is_said_once(monkeypatch):
    def missing(path):
        raise OSError(path)

    monkeypatch.setattr(ctypes, "CDLL", missing)
    monkeypatch.setattr(solver, "packaged", lambda name: ("/nowhere",))
    monkeypatch.setattr(solver, "load_cublas", lambda: object())
    assert solver.load() is None
    solver.warn_is_missing.cache_clear()
    with pytest.warns(RuntimeWarning, match="cuSOLVER .*pip install nvidia-cusolver"):
        solver.warn_is_missing()
    solver.warn_is_missing()


def test_the_driver_plans_and_runs_what_the_library_has(driver, library, monkeypatch):
    a, found = np.full((2, 2), 4.0) + np.eye(2), np.full((), -7, "int32")
    arguments = Argument(UPDATED, dtypes.float64, (2, 2), (2, 1)), Argument(WRITTEN, dtypes.int32, (), ())
    problem = Solver(CHOLESKY, arguments, (False,))
    solver.warn_is_missing.cache_clear()
    monkeypatch.setattr(solver, "load", lambda: None)
    with pytest.warns(RuntimeWarning, match="pip install nvidia-cusolver"), pytest.raises(errors.NotSupportedError):
        driver.library_plan(0, problem)
    monkeypatch.setattr(solver, "load", lambda: (library, library))
    plan, nbytes = driver.library_plan(1, problem)
    workspace = np.zeros(nbytes, "uint8")
    library.workspace = range(address_of(workspace), address_of(workspace) + nbytes)
    stream = driver.stream_create(1, 0)
    driver.library_run(plan, (address_of(a), address_of(found)), address_of(workspace), stream)
    assert library.streams == [driver.stream_raw(stream)] and found == 0
    np.testing.assert_allclose(np.tril(a), np.linalg.cholesky(np.full((2, 2), 4.0) + np.eye(2)))
