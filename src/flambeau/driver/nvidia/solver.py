"""Factorizations and solutions of linear systems by cuSOLVER and cuBLAS, through ctypes: a plan for each operation.

- Both libraries are column-major: they read a row-major matrix as its transpose, so upper and lower are exchanged.
- A batch of small matrices is one batched call if the library has one.  It takes an array of the matrices' addresses,
  which a kernel writes to the workspace.  Other batches are one call per matrix.  The smallest matrices are mostly
  computed by flambeau's own kernels instead (ops/small_matrices.py).
- A thread has its own handles on each device, so that runs of several threads need no lock.
- Info codes, such as that of a singular matrix, stay on the device.  A failure status of a call raises an error.
- The device's context is current whenever a function here is called.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from ctypes import POINTER, byref, c_double, c_float, c_int, c_void_p
from functools import cache, partial
from math import prod
from typing import Any, NamedTuple

from ... import strides as st
from ...core.nvidia import Stream
from ...dtypes import dtype, float32, float64, int64
from ...errors import NotSupportedError
from ...host import np
from ...kernel import Grid, Kernel, Pointer, Scalar
from ...solver_operation import (
    CHOLESKY,
    EIGEN,
    EIGENVALUES,
    LU,
    LU_IN_ORDER,
    LU_SOLUTION,
    REFLECTED_COLUMNS,
    REFLECTION,
    REFLECTORS,
    SINGULAR,
    SOLUTION,
    TRIANGULAR,
    Argument,
    Solver,
)
from ..per_thread import PerThread
from .blas import load_cublas
from .library import check_blas, check_solver, declare, open_first, packaged
from .own_kernels import Launch

SONAMES = ("libcusolver.so.12", "libcusolver.so.11")  # of CUDA 13 and CUDA 12
LETTERS: dict[dtype, str] = {float32: "S", float64: "D"}  # of a type, in the names of functions
SCALARS: dict[dtype, Any] = {float32: c_float, float64: c_double}
BATCHED_ROWS = 128  # beyond, calls for each matrix are faster
ALIGNMENT = 256  # of the parts of a workspace, in bytes
ADDRESS_BYTES, CODE_BYTES = 8, 4
THREADS = 256
SOMEWHERE = 1 << 40  # an address for queries of sizes, which read nothing

# cublas_api.h: cublasFillMode_t, cublasOperation_t, cublasSideMode_t, cublasDiagType_t
LOWER, UPPER, NORMAL, TRANSPOSED, LEFT, RIGHT, NON_UNIT, UNIT = 0, 1, 0, 1, 0, 1, 0, 1
NO_VECTORS, VECTORS = 0, 1  # cusolver_common.h: cusolverEigMode_t

_HANDLE, _AT, _OUT, _SIZE = c_void_p, c_void_p, POINTER(c_void_p), POINTER(c_int)
# cusolverDn.h, without `cusolverDn` and the letter of the type.  A matrix is its address and its leading dimension.
TYPED: dict[str, tuple[Any, ...]] = {
    "potrf_bufferSize": (_HANDLE, *[c_int] * 2, _AT, c_int, _SIZE),
    "potrf": (_HANDLE, *[c_int] * 2, _AT, c_int, _AT, c_int, _AT),
    "potrfBatched": (_HANDLE, *[c_int] * 2, _AT, c_int, _AT, c_int),
    "getrf_bufferSize": (_HANDLE, *[c_int] * 2, _AT, c_int, _SIZE),
    "getrf": (_HANDLE, *[c_int] * 2, _AT, c_int, _AT, _AT, _AT),
    "getrs": (_HANDLE, *[c_int] * 3, _AT, c_int, _AT, _AT, c_int, _AT),
    "geqrf_bufferSize": (_HANDLE, *[c_int] * 2, _AT, c_int, _SIZE),
    "geqrf": (_HANDLE, *[c_int] * 2, _AT, c_int, _AT, _AT, c_int, _AT),
    "orgqr_bufferSize": (_HANDLE, *[c_int] * 3, _AT, c_int, _AT, _SIZE),
    "orgqr": (_HANDLE, *[c_int] * 3, _AT, c_int, _AT, _AT, c_int, _AT),
    "ormqr_bufferSize": (_HANDLE, *[c_int] * 5, _AT, c_int, _AT, _AT, c_int, _SIZE),
    "ormqr": (_HANDLE, *[c_int] * 5, _AT, c_int, _AT, _AT, c_int, _AT, c_int, _AT),
    "syevd_bufferSize": (_HANDLE, *[c_int] * 3, _AT, c_int, _AT, _SIZE),
    "syevd": (_HANDLE, *[c_int] * 3, _AT, c_int, _AT, _AT, c_int, _AT),
    "gesvdj_bufferSize": (_HANDLE, *[c_int] * 4, _AT, c_int, _AT, _AT, c_int, _AT, c_int, _SIZE, _AT),
    "gesvdj": (_HANDLE, *[c_int] * 4, _AT, c_int, _AT, _AT, c_int, _AT, c_int, _AT, c_int, _AT, _AT),
}
SIGNATURES: dict[str, tuple[Any, ...]] = {
    "cusolverDnCreate": (_OUT,),
    "cusolverDnSetStream": (_HANDLE, c_void_p),
    "cusolverDnCreateGesvdjInfo": (_OUT,),
    **{f"cusolverDn{letter}{name}": types for letter in LETTERS.values() for name, types in TYPED.items()},
}
# cublas_api.h, without `cublas` and the letter
TYPED_BLAS: dict[str, tuple[Any, ...]] = {
    "trsm_v2": (_HANDLE, *[c_int] * 6, _AT, _AT, c_int, _AT, c_int),
    "trsmBatched": (_HANDLE, *[c_int] * 6, _AT, _AT, c_int, _AT, c_int, c_int),
    "getrfBatched": (_HANDLE, c_int, _AT, c_int, _AT, _AT, c_int),
    "getrsBatched": (_HANDLE, *[c_int] * 3, _AT, c_int, _AT, _AT, c_int, _SIZE, c_int),
    "geqrfBatched": (_HANDLE, *[c_int] * 2, _AT, c_int, _AT, _SIZE, c_int),
}
BLAS_SIGNATURES: dict[str, tuple[Any, ...]] = {
    f"cublas{letter}{name}": types for letter in LETTERS.values() for name, types in TYPED_BLAS.items()
}


def load() -> tuple[Any, Any] | None:
    """Return (cuSOLVER, cuBLAS) with their signatures declared; None if one is not installed."""
    try:
        blas = load_cublas()
    except NotSupportedError:
        return None
    solver = open_first(*packaged("cusolver"), *SONAMES)
    if solver is None:
        return None
    declare(solver, SIGNATURES)
    declare(blas, BLAS_SIGNATURES)
    return solver, blas


@cache
def warn_is_missing() -> None:
    """Warn once per process that cuSOLVER is missing, with the package to install."""
    warnings.warn(
        "cuSOLVER was not found, so factorizations and linear systems are computed on the CPU, and the host waits: "
        "pip install nvidia-cusolver (nvidia-cusolver-cu12 for CUDA 12)",
        RuntimeWarning,
        stacklevel=2,
    )


class Matrices(NamedTuple):
    """An operand as column-major matrices, or as vectors (columns 1).

    rows, columns: of the memory.  ld: elements from a column to the next.  batch: the number of matrices.
    nbytes: from a matrix to the next.
    is_turned: whether the operand is row-major, so that the memory holds its transpose.
    """

    rows: int
    columns: int
    ld: int
    batch: int
    nbytes: int
    is_turned: bool

    def at(self, address: int) -> list[int]:
        """Return the address of each matrix."""
        return [address + index * self.nbytes for index in range(self.batch)]


def matrices_of(argument: Argument) -> Matrices:
    """Return an operand of matrices, whose rows or columns are contiguous, and whose batch has one stride."""
    *batch, rows, columns = argument.shape
    *steps, row, column = argument.strides
    is_turned = rows > 1 and row != 1 and column == 1
    if is_turned:
        rows, columns, column = columns, rows, row
    return Matrices(rows, columns, max(column, rows, 1), *_batch(argument, batch, steps), is_turned)


def vectors_of(argument: Argument) -> Matrices:
    """Return an operand of contiguous vectors."""
    *batch, size = argument.shape
    return Matrices(size, 1, max(size, 1), *_batch(argument, batch, argument.strides[:-1]), False)


def _batch(argument: Argument, shape: Any, steps: Any) -> tuple[int, int]:
    _, (strides,) = st.collapse(shape, [steps])
    assert len(strides) <= 1, argument
    return prod(shape), (strides[0] if strides else 0) * argument.dtype.itemsize


@cache
def addresses_kernel() -> Kernel:
    """Return the kernel that writes the addresses of matrices of one size: (addresses, first, bytes between, count)."""
    source = f"""
extern "C" __global__ void __launch_bounds__({THREADS}) matrix_addresses(
    long long* addresses, long long first, long long nbytes, long long count) {{
  const long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
  if (i < count) addresses[i] = first + i * nbytes;
}}
"""

    def reference(addresses: Any, first: int, nbytes: int, count: int) -> None:
        addresses[...] = first + np.arange(count) * nbytes

    numbers = [Scalar(name, "int64") for name in ("first", "nbytes", "count")]
    return Kernel("matrix_addresses", source, (Pointer("addresses", int64, "w", ("count",)), *numbers), reference)


class Handles:
    """One thread's handles of both libraries on a device, and the parameters of Jacobi's method.

    They live as long as the process.
    """

    def __init__(self, libraries: tuple[Any, Any], device: int) -> None:
        self._solver, self._blas = libraries
        self._device = device
        self._stream: int | None = None
        self.solver, self.blas, self.singular = (c_void_p() for _ in range(3))
        self.check("cusolverDnCreate", byref(self.solver))
        check_blas(self._blas.cublasCreate_v2(byref(self.blas)), "cublasCreate", device=device)
        self.check("cusolverDnCreateGesvdjInfo", byref(self.singular))

    def use(self, stream: Stream) -> None:
        """Let later calls queue their work on a stream."""
        if stream.raw != self._stream:
            self.check("cusolverDnSetStream", self.solver, stream.raw)
            check_blas(self._blas.cublasSetStream_v2(self.blas, stream.raw), "cublasSetStream", device=self._device)
            self._stream = stream.raw

    def check(self, name: str, *arguments: Any) -> None:
        """Call a function of cuSOLVER.  Raises OutOfMemoryError, AcceleratorError."""
        check_solver(getattr(self._solver, name)(*arguments), name, device=self._device)

    def check_blas(self, name: str, *arguments: Any) -> None:
        """Call a function of cuBLAS.  Raises OutOfMemoryError, AcceleratorError."""
        check_blas(getattr(self._blas, name)(*arguments), name, device=self._device)


class Run(NamedTuple):
    """Arguments of one run of a plan: the thread's handles, set to the stream, and the workspace's address."""

    handles: Handles
    workspace: int
    stream: Stream


Queue = Callable[..., None]  # queues calls for a Run and the addresses of operands


class SolverPlan:
    """One operation, ready to run on any addresses.  It lives as long as the driver.

    The functions below prepare the calls of each kind.  They query the sizes of workspaces, and add parts to this
    plan's workspace.  Successive calls share the part at `work`, of `lwork` elements.
    """

    native = None

    def __init__(self, planner: SolverPlanner, problem: Solver) -> None:
        """Raises AcceleratorError, OutOfMemoryError."""
        self._planner = planner
        self.dtype = problem.arguments[0].dtype
        self._letter = LETTERS[self.dtype]
        self.workspace_nbytes = 0
        self.lwork = 0
        self._queue: Queue = PREPARED[problem.kind](self, *problem.arguments, *problem.options)
        self._work = self.part(self.lwork * self.dtype.itemsize)

    def run(self, addresses: tuple[int, ...], workspace: int, stream: Stream) -> None:
        """Queue the operation on its operands' addresses.  Raises AcceleratorError, OutOfMemoryError."""
        handles = self._planner.handles()
        handles.use(stream)
        self._queue(Run(handles, workspace, stream), *addresses)

    def part(self, nbytes: int) -> int:
        """Add a part to the workspace; return its offset."""
        at = self.workspace_nbytes
        self.workspace_nbytes += -(-nbytes // ALIGNMENT) * ALIGNMENT
        return at

    def work(self, run: Run) -> int:
        """Return the address of the workspace that successive calls share."""
        return run.workspace + self._work

    def needs(self, name: str, *arguments: Any, is_jacobi: bool = False) -> None:
        """Query how many elements of workspace a cuSOLVER function needs, and raise `lwork` to it.

        is_jacobi: whether it takes the parameters of Jacobi's method, after the size.
        """
        size, handles = c_int(), self._planner.handles()
        rest = (handles.singular,) if is_jacobi else ()
        handles.check(f"cusolverDn{self._letter}{name}_bufferSize", handles.solver, *arguments, byref(size), *rest)
        self.lwork = max(self.lwork, size.value)

    def solver(self, run: Run, name: str, *arguments: Any) -> None:
        """Call a function of cuSOLVER."""
        run.handles.check(f"cusolverDn{self._letter}{name}", run.handles.solver, *arguments)

    def blas(self, run: Run, name: str, *arguments: Any) -> None:
        """Call a function of cuBLAS."""
        run.handles.check_blas(f"cublas{self._letter}{name}", run.handles.blas, *arguments)

    def pointers(self, of: Matrices) -> Callable[[Run, int], int]:
        """Add a part for the addresses of matrices.

        The returned function takes a run and the first matrix's address.  It launches the kernel that writes the
        addresses, and returns the part's address.
        """
        part, launch = self.part(of.batch * ADDRESS_BYTES), self._planner.launch

        def write(run: Run, first: int) -> int:
            packed = addresses_kernel().pack((run.workspace + part, first, of.nbytes, of.batch))
            launch(Grid((-(-of.batch // THREADS), 1, 1), THREADS), packed, run.stream)
            return run.workspace + part

        return write


def is_batched(of: Matrices) -> bool:
    """Return whether one call for all matrices is faster than one for each."""
    return of.batch > 1 and max(of.rows, of.columns) <= BATCHED_ROWS


def cholesky(plan: SolverPlan, matrix: Argument, _: Argument, upper: bool) -> Queue:
    a = matrices_of(matrix)
    triangle = UPPER if upper != a.is_turned else LOWER
    if is_batched(a):
        pointers = plan.pointers(a)

        def all_at_once(run: Run, address: int, codes: int) -> None:
            plan.solver(run, "potrfBatched", triangle, a.rows, pointers(run, address), a.ld, codes, a.batch)

        return all_at_once
    plan.needs("potrf", triangle, a.rows, SOMEWHERE, a.ld)

    def one_by_one(run: Run, address: int, codes: int) -> None:
        for index, at in enumerate(a.at(address)):
            work = plan.work(run), plan.lwork
            plan.solver(run, "potrf", triangle, a.rows, at, a.ld, *work, codes + index * CODE_BYTES)

    return one_by_one


def lu(plan: SolverPlan, matrix: Argument, _: Argument, __: Argument | None = None) -> Queue:
    """Prepare an LU factorization, with pivots if there is an operand for them."""
    a = matrices_of(matrix)
    if is_batched(a) and a.rows == a.columns:
        pointers = plan.pointers(a)

        def all_at_once(run: Run, address: int, codes: int, pivots: int | None = None) -> None:
            plan.blas(run, "getrfBatched", a.rows, pointers(run, address), a.ld, pivots, codes, a.batch)

        return all_at_once
    plan.needs("getrf", a.rows, a.columns, SOMEWHERE, a.ld)
    step = min(a.rows, a.columns) * CODE_BYTES  # of the pivots

    def one_by_one(run: Run, address: int, codes: int, pivots: int | None = None) -> None:
        work = plan.work(run)
        for index, at in enumerate(a.at(address)):
            into = pivots and pivots + index * step
            plan.solver(run, "getrf", a.rows, a.columns, at, a.ld, work, into, codes + index * CODE_BYTES)

    return one_by_one


def lu_solution(plan: SolverPlan, matrix: Argument, _: Argument, right: Argument, transposed: bool) -> Queue:
    a, b = matrices_of(matrix), matrices_of(right)
    sizes = TRANSPOSED if transposed else NORMAL, a.rows, b.columns
    if is_batched(a):
        pointers, targets = plan.pointers(a), plan.pointers(b)

        def all_at_once(run: Run, address: int, pivots: int, target: int) -> None:
            places, into, code = pointers(run, address), targets(run, target), c_int()
            plan.blas(run, "getrsBatched", *sizes, places, a.ld, pivots, into, b.ld, byref(code), a.batch)

        return all_at_once
    code = plan.part(CODE_BYTES)  # cuSOLVER's info, which only reports invalid arguments here

    def one_by_one(run: Run, address: int, pivots: int, target: int) -> None:
        for index, (at, into) in enumerate(zip(a.at(address), b.at(target))):
            order = pivots + index * a.rows * CODE_BYTES
            plan.solver(run, "getrs", *sizes, at, a.ld, order, into, b.ld, run.workspace + code)

    return one_by_one


def solution(plan: SolverPlan, matrix: Argument, right: Argument, pivots: Argument, codes: Argument) -> Queue:
    factorize = lu(plan, matrix, codes, pivots)
    if not prod(right.shape):
        return lambda run, address, _, order, codes: factorize(run, address, codes, order)
    substitute = lu_solution(plan, matrix, pivots, right, False)

    def both(run: Run, address: int, target: int, order: int, codes: int) -> None:
        factorize(run, address, codes, order)
        substitute(run, address, order, target)

    return both


def triangular_solution(plan: SolverPlan, matrix: Argument, right: Argument, upper: bool, unit: bool) -> Queue:
    a, b = matrices_of(matrix), matrices_of(right)
    triangle = UPPER if upper != a.is_turned else LOWER
    one = SCALARS[plan.dtype](1)
    form = LEFT, triangle, TRANSPOSED if a.is_turned else NORMAL, UNIT if unit else NON_UNIT, b.rows, b.columns
    if is_batched(a):
        pointers, targets = plan.pointers(a), plan.pointers(b)

        def all_at_once(run: Run, address: int, target: int) -> None:
            places, into = pointers(run, address), targets(run, target)
            plan.blas(run, "trsmBatched", *form, byref(one), places, a.ld, into, b.ld, a.batch)

        return all_at_once

    def one_by_one(run: Run, address: int, target: int) -> None:
        for at, into in zip(a.at(address), b.at(target)):
            plan.blas(run, "trsm_v2", *form, byref(one), at, a.ld, into, b.ld)

    return one_by_one


def reflectors(plan: SolverPlan, matrix: Argument, factors: Argument) -> Queue:
    a, tau = matrices_of(matrix), vectors_of(factors)
    if is_batched(a):
        pointers, targets = plan.pointers(a), plan.pointers(tau)

        def all_at_once(run: Run, address: int, target: int) -> None:
            places, into, code = pointers(run, address), targets(run, target), c_int()
            plan.blas(run, "geqrfBatched", a.rows, a.columns, places, a.ld, into, byref(code), a.batch)

        return all_at_once
    plan.needs("geqrf", a.rows, a.columns, SOMEWHERE, a.ld)
    code = plan.part(CODE_BYTES)

    def one_by_one(run: Run, address: int, target: int) -> None:
        work = plan.work(run), plan.lwork, run.workspace + code
        for at, into in zip(a.at(address), tau.at(target)):
            plan.solver(run, "geqrf", a.rows, a.columns, at, a.ld, into, *work)

    return one_by_one


def reflected_columns(plan: SolverPlan, matrix: Argument, factors: Argument) -> Queue:
    a, tau = matrices_of(matrix), vectors_of(factors)
    sizes = a.rows, a.columns, tau.rows
    plan.needs("orgqr", *sizes, SOMEWHERE, a.ld, SOMEWHERE)
    code = plan.part(CODE_BYTES)

    def one_by_one(run: Run, address: int, given: int) -> None:
        work = plan.work(run), plan.lwork, run.workspace + code
        for at, of in zip(a.at(address), tau.at(given)):
            plan.solver(run, "orgqr", *sizes, at, a.ld, of, *work)

    return one_by_one


def reflection(
    plan: SolverPlan, matrix: Argument, factors: Argument, other: Argument, left: bool, transposed: bool
) -> Queue:
    a, tau, c = matrices_of(matrix), vectors_of(factors), matrices_of(other)
    form = LEFT if left else RIGHT, TRANSPOSED if transposed else NORMAL, c.rows, c.columns, tau.rows
    plan.needs("ormqr", *form, SOMEWHERE, a.ld, SOMEWHERE, SOMEWHERE, c.ld)
    code = plan.part(CODE_BYTES)

    def one_by_one(run: Run, address: int, given: int, target: int) -> None:
        work = plan.work(run), plan.lwork, run.workspace + code
        for at, of, into in zip(a.at(address), tau.at(given), c.at(target)):
            plan.solver(run, "ormqr", *form, at, a.ld, of, into, c.ld, *work)

    return one_by_one


def eigendecomposition(
    plan: SolverPlan, matrix: Argument, values: Argument, _: Argument, lower: bool, mode: int = VECTORS
) -> Queue:
    a, w = matrices_of(matrix), vectors_of(values)
    form = mode, LOWER if lower else UPPER, a.rows
    plan.needs("syevd", *form, SOMEWHERE, a.ld, SOMEWHERE)

    def one_by_one(run: Run, address: int, target: int, codes: int) -> None:
        work = plan.work(run), plan.lwork
        for index, (at, into) in enumerate(zip(a.at(address), w.at(target))):
            plan.solver(run, "syevd", *form, at, a.ld, into, *work, codes + index * CODE_BYTES)

    return one_by_one


def singular_values(
    plan: SolverPlan, matrix: Argument, left: Argument, values: Argument, right: Argument, _: Argument, full: bool
) -> Queue:
    """Prepare Jacobi's method.  It returns V in column-major order, which is V^T in row-major order."""
    a, u, s, v = matrices_of(matrix), matrices_of(left), vectors_of(values), matrices_of(right)
    lds = a.ld, u.ld, right.shape[-1]
    form = VECTORS, 0 if full else 1, a.rows, a.columns
    places = SOMEWHERE, lds[0], SOMEWHERE, SOMEWHERE, lds[1], SOMEWHERE, lds[2]
    plan.needs("gesvdj", *form, *places, is_jacobi=True)

    def one_by_one(run: Run, address: int, into_u: int, into_s: int, into_v: int, codes: int) -> None:
        work = plan.work(run), plan.lwork
        addresses = zip(a.at(address), s.at(into_s), u.at(into_u), v.at(into_v))
        for index, (at, at_s, at_u, at_v) in enumerate(addresses):
            places = at, lds[0], at_s, at_u, lds[1], at_v, lds[2]
            plan.solver(run, "gesvdj", *form, *places, *work, codes + index * CODE_BYTES, run.handles.singular)

    return one_by_one


PREPARED: dict[str, Callable[..., Queue]] = {
    CHOLESKY: cholesky, LU: lu, LU_IN_ORDER: lu, SOLUTION: solution, LU_SOLUTION: lu_solution,
    TRIANGULAR: triangular_solution, REFLECTORS: reflectors, REFLECTED_COLUMNS: reflected_columns,
    REFLECTION: reflection, EIGEN: eigendecomposition, SINGULAR: singular_values,
    EIGENVALUES: partial(eigendecomposition, mode=NO_VECTORS),
}  # fmt: skip


class SolverPlanner:
    """Makes the plans of one device.

    load: loads a kernel, and returns the function that launches it.
    """

    def __init__(self, libraries: tuple[Any, Any], device: int, load: Callable[[Kernel], Launch]) -> None:
        self._libraries = libraries
        self._device = device
        self._load = load
        self._handles: PerThread[int, Handles] = PerThread()
        self._launch: Launch | None = None

    def plan(self, problem: Solver) -> SolverPlan:
        """Make a plan.  Raises AcceleratorError, OutOfMemoryError."""
        return SolverPlan(self, problem)

    def handles(self) -> Handles:
        """Return the calling thread's handles."""
        return self._handles.get(self._device, lambda: Handles(self._libraries, self._device))

    @property
    def launch(self) -> Launch:
        """The function that launches `addresses_kernel`, which is loaded when the first plan uses it."""
        if self._launch is None:
            self._launch = self._load(addresses_kernel())
        return self._launch
