"""Factorizations and solutions of small matrices on GPUs: one launch for a whole batch (kernels/small_matrices.cu).

Matrices have at most SMALL_SIDE rows and columns.  A library needs several launches for one matrix, and copies of its
operands by columns; these kernels read operands with any strides.  Results that are matrices have contiguous columns,
except where a docstring says otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from math import prod
from typing import Any

from .. import strides as st
from ..dtypes import dtype, int32
from ..host import np
from ..kernel import MAX_BLOCKS, Grid, Kernel, Param, Pointer, Scalar, Strided
from ..solver_operation import (
    CHOLESKY,
    EIGEN,
    LU,
    LU_IN_ORDER,
    LU_SOLUTION,
    REFLECTORS,
    ROUTINES,
    SINGULAR,
    SMALL_SIDE,
    SOLUTION,
    TRIANGULAR,
)
from .indexing_kernels import check_index, scalars
from .operator import Call
from .pointwise import PRELUDE, source_text

WARP = 32
MOST_THREADS = SMALL_SIDE // 2 * WARP  # a warp for each pair of columns
PAIRS = 4  # pairs of columns that a warp rotates, for many matrices
MANY_MATRICES = 132 * 2


def is_small(*operands: Any) -> bool:
    """Return whether matrices have elements, and at most as many rows and columns as the kernels support."""
    return all(operand.numel() and max(operand.shape[-2:]) <= SMALL_SIDE for operand in operands)


# launches


def write_lu(call: Call, factors: Any, pivots: Any, codes: Any, a: Any, exchanges: bool) -> None:
    """Write the LU factors in one matrix, and the exchanges of rows, counted from 1."""
    rows, columns = a.shape[-2:]
    sizes = rows, columns, min(rows, columns), exchanges
    _launch(call, lu_kernel, [factors, pivots, codes], [a], sizes)


def write_solution(call: Call, x: Any, codes: Any, a: Any, b: Any) -> None:
    """Write X of A @ X = B; the inverse of A if B is None."""
    _launch(call, solution_kernel, [x, codes], [a, b], tuple(x.shape[-2:]))


def write_lu_solution(call: Call, x: Any, factors: Any, pivots: Any, b: Any, transposed: bool) -> None:
    """Write X of A @ X = B, or of A^T @ X = B, given the LU factors of A and dense int32 pivots."""
    _launch(call, lu_solution_kernel, [x, pivots], [factors, b], (*x.shape[-2:], transposed))


def write_triangular(call: Call, x: Any, a: Any, b: Any, upper: bool, unit: bool) -> None:
    """Write X of A @ X = B for triangular A."""
    _launch(call, triangular_kernel, [x], [a, b], (*x.shape[-2:], upper, unit))


def write_cholesky(call: Call, factor: Any, codes: Any, a: Any, upper: bool) -> None:
    """Write the Cholesky factor, whose rows are contiguous, from one triangle of A."""
    if upper:  # the columns of L are the rows of the upper factor
        a = _turned(call, a)
    _launch(call, cholesky_kernel, [factor, codes], [a], (a.shape[-1], not upper))


def write_reflectors(call: Call, packed: Any, factors: Any, a: Any) -> None:
    """Write a QR factorization in packed form: R, the reflection vectors below it, and their factors."""
    _launch(call, reflectors_kernel, [packed, factors], [a], (*a.shape[-2:], min(a.shape[-2:])))


def write_qr(call: Call, q: Any, r: Any, a: Any) -> None:
    """Write Q, and R, whose rows are contiguous."""
    _launch(call, qr_kernel, [q, r], [a], (*a.shape[-2:], q.shape[-1]))


def write_eigen(call: Call, values: Any, vectors: Any, codes: Any, a: Any, lower: bool) -> None:
    """Write the eigenvalues and, unless `vectors` is None, eigenvectors, from one triangle of symmetric A."""
    a, lower = _turned(call, a), not lower  # as on the CPU, for equal values on virtual GPUs
    _launch(call, eigen_kernel, [values, vectors, codes], [a], (a.shape[-1], lower), _threads(a.shape[-1], a))


def write_singular(call: Call, u: Any, values: Any, vh: Any, codes: Any, a: Any) -> None:
    """Write the singular values and, unless `u` and `vh` are None, singular vectors; rows of `vh` are contiguous."""
    rows, columns = a.shape[-2:]
    count = min(rows, columns)
    widths = (count, count) if u is None else (u.shape[-1], vh.shape[-2])
    numbers = rows, columns, count, *widths
    _launch(call, singular_kernel, [u, values, vh, codes], [a], numbers, _threads(count, a))


def _threads(columns: int, matrices: Any) -> int:
    """Return the threads of a block that rotates pairs of columns.

    For one matrix, a warp for each pair is fastest.  For many, warps with several pairs each do less work in total: a
    warp computes the rotations of its pairs at once.
    """
    pairs = (columns + 1) // 2
    return WARP * (pairs if prod(matrices.shape[:-2]) <= MANY_MATRICES else -(-pairs // PAIRS))


def _launch(
    call: Call, kernel: Callable[[dtype], Kernel], dense: list[Any], strided: Sequence[Any], numbers: tuple[Any, ...],
    threads: int = WARP,
) -> None:  # fmt: skip
    """Launch a kernel on dense operands and, after them, on batches of matrices with any strides."""
    first = strided[0]
    batch = prod(first.shape[:-2])
    operands, layouts = [], []
    for array in strided:
        operand, layout = (None, ((batch, *first.shape[-2:]), [(0, 0, 0)])) if array is None else _batched(call, array)
        operands.append(operand)
        layouts.append(layout)
    grid = Grid((min(batch, MAX_BLOCKS[0]), 1, 1), threads)
    call.launch(kernel(first.dtype), grid, *dense, *operands, *layouts, batch, *numbers)


def _batched(call: Call, operand: Any) -> tuple[Any, Any]:
    """Return the operand, or a copy if its batch has no single stride, and its layout as [batch, rows, columns]."""
    *batch, rows, columns = operand.shape
    *steps, row, column = operand.strides
    _, (along,) = st.collapse(batch, [steps])
    step = along[0] if along else 0
    if len(along) > 1:
        operand = call.contiguous(operand)
        step, row, column = rows * columns, columns, 1
    return operand, ((prod(batch), rows, columns), [(step, row, column)])


def _turned(call: Call, operand: Any) -> Any:
    """Return the transposed matrices, as a view."""
    *batch, rows, columns = operand.shape
    *steps, row, column = operand.strides
    return call.part(operand, (*batch, columns, rows), (*steps, column, row), 0)


# kernels


def _kernel(
    name: str, dtype: dtype, dense: Sequence[Param], strided: str, numbers: Sequence[Param], reference: Any,
    threads: int = WARP,
) -> Kernel:  # fmt: skip
    """Return a kernel that is one template of small_matrices.cu, whose parameters are in the order of `_launch`."""
    operands = strided.split()
    layouts = [Strided(f"{array}_layout", (array,)) for array in operands]
    params: list[Param] = [*dense, *(Pointer(array, dtype, "r", f"{array}_layout") for array in operands), *layouts]
    params += [Scalar("batch", "int64"), *numbers]
    declared = ", ".join(map(_declared, params))
    entry = f"{name}_{dtype.name}"
    head = f'extern "C" __global__ void __launch_bounds__({threads}) {entry}({declared})'
    call = f"{name}({', '.join(param.name for param in params)});"
    source = f"{PRELUDE}{source_text('small_matrices.cu')}\n{head} {{\n    {call}\n}}\n"
    return Kernel(entry, source, params, reference, 32.0)


def _declared(param: Param) -> str:
    if isinstance(param, Pointer):
        return f"{'const ' if param.access == 'r' else ''}{param.dtype.cuda}* {param.name}"
    if isinstance(param, Scalar):
        return f"{'bool' if param.ctype == 'bool' else 'long long'} {param.name}"
    return f"const __grid_constant__ Layout<1> {param.name}"


def _matrices(name: str, dtype: dtype, columns: str, rows: str) -> Pointer:
    """Return a result of matrices whose columns are contiguous."""
    return Pointer(name, dtype, "w", ("batch", columns, rows))


def _flags(*names: str) -> list[Param]:
    return [Scalar(name, "bool") for name in names]


CODES = Pointer("codes", int32, "w", ("batch",))


def _set(*pairs: tuple[Any, Any]) -> None:
    """Write results to arrays, except absent ones."""
    for target, value in pairs:
        if target is not None:
            target[...] = value


def _by_columns(matrices: Any) -> Any:
    return np.swapaxes(matrices, -2, -1)


@cache
def lu_kernel(kind: dtype) -> Kernel:
    def reference(
        factors: Any, pivots: Any, codes: Any, a: Any, _: int, __: int, ___: int, count: int, exchanges: bool
    ) -> None:
        results = ROUTINES[LU](a) if exchanges else (*ROUTINES[LU_IN_ORDER](a), np.arange(1, count + 1))
        _set((factors, _by_columns(results[0])), (codes, results[1]), (pivots, results[2]))

    dense = _matrices("factors", kind, "columns", "rows"), Pointer("pivots", int32, "w", ("batch", "count")), CODES
    numbers = [*scalars("rows", "columns", "count"), *_flags("exchanges")]
    return _kernel("small_lu", kind, dense, "a", numbers, reference)


@cache
def solution_kernel(kind: dtype) -> Kernel:
    def reference(x: Any, codes: Any, a: Any, b: Any, *_: int) -> None:
        results = ROUTINES["inverse"](a) if b is None else ROUTINES[SOLUTION](a, b)
        _set((x, _by_columns(results[0])), (codes, results[1]))

    dense = _matrices("x", kind, "columns", "rows"), CODES
    return _kernel("small_solution", kind, dense, "a b", scalars("rows", "columns"), reference)


@cache
def lu_solution_kernel(kind: dtype) -> Kernel:
    def reference(x: Any, pivots: Any, factors: Any, b: Any, _: int, rows: int, __: int, transposed: bool) -> None:
        check_index(pivots - 1, 0, rows, -1)
        x[...] = _by_columns(ROUTINES[LU_SOLUTION](factors, pivots, b, transposed)[0])

    dense = _matrices("x", kind, "columns", "rows"), Pointer("pivots", int32, "r", ("batch", "rows"))
    numbers = [*scalars("rows", "columns"), *_flags("transposed")]
    return _kernel("small_lu_solution", kind, dense, "factors b", numbers, reference)


@cache
def triangular_kernel(kind: dtype) -> Kernel:
    def reference(x: Any, a: Any, b: Any, _: int, __: int, ___: int, upper: bool, unit: bool) -> None:
        x[...] = _by_columns(ROUTINES[TRIANGULAR](a, b, upper, unit)[0])

    numbers = [*scalars("rows", "columns"), *_flags("upper", "unit")]
    return _kernel("small_triangular", kind, [_matrices("x", kind, "columns", "rows")], "a b", numbers, reference)


@cache
def cholesky_kernel(kind: dtype) -> Kernel:
    def reference(factor: Any, codes: Any, a: Any, _: int, __: int, by_rows: bool) -> None:
        results = ROUTINES[CHOLESKY](a, False)
        _set((factor, results[0] if by_rows else _by_columns(results[0])), (codes, results[1]))

    dense = _matrices("factor", kind, "rows", "rows"), CODES
    return _kernel("small_cholesky", kind, dense, "a", [*scalars("rows"), *_flags("by_rows")], reference)


@cache
def reflectors_kernel(kind: dtype) -> Kernel:
    def reference(packed: Any, factors: Any, a: Any, *_: int) -> None:
        results = ROUTINES[REFLECTORS](a)
        _set((packed, _by_columns(results[0])), (factors, results[1]))

    dense = _matrices("packed", kind, "columns", "rows"), Pointer("factors", kind, "w", ("batch", "count"))
    return _kernel("small_reflectors", kind, dense, "a", scalars("rows", "columns", "count"), reference)


@cache
def qr_kernel(kind: dtype) -> Kernel:
    def reference(q: Any, r: Any, a: Any, _: int, __: int, ___: int, width: int) -> None:
        results = ROUTINES["qr"](a, width)
        _set((q, _by_columns(results[0])), (r, results[1]))

    dense = _matrices("q", kind, "width", "rows"), Pointer("r", kind, "w", ("batch", "width", "columns"))
    return _kernel("small_qr", kind, dense, "a", scalars("rows", "columns", "width"), reference)


@cache
def eigen_kernel(kind: dtype) -> Kernel:
    def reference(values: Any, vectors: Any, codes: Any, a: Any, _: int, __: int, lower: bool) -> None:
        results = ROUTINES[EIGEN](a, lower)
        _set((values, results[1]), (vectors, _by_columns(results[0])), (codes, results[2]))

    dense = Pointer("values", kind, "w", ("batch", "rows")), _matrices("vectors", kind, "rows", "rows"), CODES
    numbers = [*scalars("rows"), *_flags("lower")]
    return _kernel("small_eigen", kind, dense, "a", numbers, reference, MOST_THREADS)


@cache
def singular_kernel(kind: dtype) -> Kernel:
    def reference(
        u: Any, values: Any, vt: Any, codes: Any, a: Any, _: int, __: int, ___: int, count: int, *widths: int
    ) -> None:
        results = ROUTINES[SINGULAR](a, max(widths) > count)
        _set((u, _by_columns(results[0])), (values, results[1]), (vt, results[2]), (codes, results[3]))

    dense = (
        _matrices("u", kind, "u_width", "rows"), Pointer("values", kind, "w", ("batch", "count")),
        Pointer("vt", kind, "w", ("batch", "v_width", "columns")), CODES,
    )  # fmt: skip
    numbers = scalars("rows", "columns", "count", "u_width", "v_width")
    return _kernel("small_singular", kind, dense, "a", numbers, reference, MOST_THREADS)
