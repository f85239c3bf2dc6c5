"""Operators that run a solver operation (solver_operation.py), with their derivatives; factorizations.py calls them.

- They run on the device of their operands.  `to_solver` moves operands to the CPU if their GPU has no such library.
- Small matrices on a GPU take one launch of a kernel of small_matrices.py; others use a library.
- Libraries compute in place: a body copies an operand to a result, or to scratch memory, by columns as LAPACK expects.
- Failures are codes in a result; the caller checks them.
- Matrices are [*, m, n]; k is the smaller of m and n.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any
from weakref import WeakKeyDictionary

from .. import dtypes, host
from .. import strides as st
from ..dtypes import dtype, float32, int32
from ..errors import DtypeError, LinAlgError, NotSupportedError
from ..host import np
from ..kernel import MAX_BLOCKS, Grid
from ..solver_operation import (
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
    SMALL_SIDE,
    SOLUTION,
    SPENT,
    TRIANGULAR,
    UPDATED,
    WRITTEN,
    Argument,
    Solver,
    has_nan,
    lapack,
    lu,
    reflected_columns,
    reflectors,
    routine,
    single,
    solution,
)
from .copies import fill
from .creation import arange, tril, triu
from .join import cat
from .linalg import matmul
from .operator import Call, Operand, operator
from .pointwise import grid_over
from .slicing import diagonal, narrow
from .small_matrices import (
    is_small,
    write_cholesky,
    write_eigen,
    write_lu,
    write_lu_solution,
    write_qr,
    write_reflectors,
    write_singular,
    write_solution,
    write_triangular,
)
from .solver_kernels import (
    WARP,
    apply_reflections,
    determinant_kernel,
    is_lower,
    logarithm_of_diagonal,
    permutation_kernel,
    product_of_diagonal,
    reflection_kernel,
    row_order_kernel,
    triangles_kernel,
)

TYPES = dtypes.FLOATING_TYPES[-2:]
Shape = Sequence[int]


# devices with a solver library

_HAVE_SOLVERS: WeakKeyDictionary[Any, bool] = WeakKeyDictionary()
_SMALLEST = Solver(CHOLESKY, (Argument(UPDATED, float32, (1, 1), (1, 1)), Argument(WRITTEN, int32, (), ())), (False,))


def has_solver(device: Any) -> bool:
    """Return whether a device computes solver operations: the CPU, virtual GPUs, and NVIDIA GPUs with cuSOLVER."""
    if device.index < 0:
        return True
    is_supported = _HAVE_SOLVERS.get(device)
    if is_supported is None:
        try:
            device.library_plan(_SMALLEST)
            is_supported = True
        except NotSupportedError:
            is_supported = False
        _HAVE_SOLVERS[device] = is_supported
    return is_supported


def to_solver(name: str, value: Any) -> Any:
    """Return the tensor, or a copy of it on the CPU if its GPU has no solver library.

    Raises: DtypeError for other types.
    """
    check_floating(name, value)
    return value if has_solver(value._layout.device) else value.to("cpu")


def to_host(name: str, value: Any) -> Any:
    """Return the tensor on the CPU.  Raises DtypeError unless it is float32 or float64."""
    check_floating(name, value)
    return value.to("cpu")


def check_floating(name: str, value: Any) -> None:
    """Raise DtypeError unless a tensor is float32 or float64."""
    if not value.dtype.is_floating_point:
        raise DtypeError(
            f"expected a floating point tensor as input, got {value.dtype.name}",
            hint="convert with .float()",
            operator=name,
        )
    if value.dtype not in TYPES:
        raise DtypeError(
            f"low precision dtypes not supported, got {value.dtype.name}", hint="convert with .float()", operator=name
        )


# bodies


def solver_operator() -> Any:
    """Make an internal operator, called only by other operators."""
    return operator(samples=tuple, method=False, function=False)


def queue(call: Call, kind: str, *operands: tuple[str, Any], options: tuple[Any, ...] = ()) -> None:
    """Queue a solver operation.  operands: pairs of an access mode, such as READ or WRITTEN, and a tensor."""
    arguments = tuple(Argument(mode, array.dtype, tuple(array.shape), tuple(array.strides)) for mode, array in operands)
    call.library(Solver(kind, arguments, options), *(array for _, array in operands))


def run_on_host(call: Call, kind: str, outputs: Sequence[tuple[Shape, dtype]], *inputs: Any) -> Any:
    """Run a routine that exists only on the CPU; return its results."""
    results = tuple(call.output(shape, dtype) for shape, dtype in outputs)
    if any(result.numel() for result in results):
        written = ((WRITTEN, result) for result in results)
        queue(call, kind, *written, *((READ, array) for array in inputs))
    return results if len(results) > 1 else results[0]


def by_columns(shape: Shape) -> tuple[int, ...]:
    """Return the strides of dense matrices whose columns are contiguous, as LAPACK expects them."""
    *batch, rows, columns = shape
    *steps, column, row = st.contiguous((*batch, columns, rows))
    return *steps, row, column


def column_output(call: Call, shape: Shape, kind: dtype) -> Any:
    """Return a result with contiguous columns."""
    return call.output(shape, kind, by_columns(shape))


def column_scratch(call: Call, shape: Shape, kind: dtype) -> Any:
    """Return scratch memory with contiguous columns."""
    *batch, rows, columns = shape
    return call.part(call.scratch((*batch, columns, rows), kind), shape, by_columns(shape), 0)


def copied(call: Call, operand: Any) -> Any:
    """Return a copy with contiguous columns in scratch memory."""
    target = column_scratch(call, operand.shape, operand.dtype)
    call.assign(target, operand)
    return target


def spent(call: Call, operand: Any) -> tuple[str, Any]:
    """Return (access mode, tensor) for an operand that a library may overwrite.

    The tensor is a copy; on the CPU, it is the operand itself, which NumPy does not change.
    """
    return (READ, operand) if call.is_on_host else (SPENT, copied(call, operand))


def replaced(call: Call, target: Any, source: Any) -> tuple[tuple[str, Any], ...]:
    """Return the operands of an operation from `source` to `target`.

    On a GPU it is `target` alone, a copy that is updated in place; on the CPU it is both.
    """
    if call.is_on_host:
        return (READ, source), (WRITTEN, target)
    call.assign(target, source)
    return ((UPDATED, target),)


def in_columns(call: Call, operand: Any) -> Any:
    """Return the operand if its columns are contiguous, else a copy."""
    return operand if operand.strides == by_columns(operand.shape) else copied(call, operand)


def dense(call: Call, operand: Any) -> Any:
    """Return the operand if its columns or its rows are contiguous, else a copy."""
    return operand if operand.is_contiguous() else in_columns(call, operand)


def turned(call: Call, operand: Any) -> Any:
    """Return the transposed matrices, as a view."""
    *batch, rows, columns = operand.shape
    *steps, row, column = operand.strides
    return call.part(operand, (*batch, columns, rows), (*steps, column, row), 0)


def corner(call: Call, operand: Any, rows: int, columns: int) -> Any:
    """Return the first rows and columns of matrices, as a view."""
    return call.part(operand, (*operand.shape[:-2], rows, columns), operand.strides, 0)


def into(call: Call, target: Any, operator: Any, *arguments: Any) -> None:
    """Lower a call of an operator that writes its result to `target`."""
    before, call.given = call.given, target
    result = operator.lower(call, *arguments)
    if result is not target:
        call.assign(target, result)
    call.given = before


def set_identity(call: Call, out: Any) -> None:
    into(call, out, fill, out, 0)
    *batch, rows, columns = out.shape
    *steps, row, column = out.strides
    ones = call.part(out, (*batch, min(rows, columns)), (*steps, row + column), 0)
    into(call, ones, fill, ones, 1)


def no_failures(call: Call, shape: Shape) -> Any:
    """Return failure codes of 0, for matrices without elements."""
    info = call.output(shape, int32)
    into(call, info, fill, info, 0)
    return info


def mt(matrix: Any) -> Any:
    return matrix.transpose(-2, -1)


def identities(like: Any) -> Any:
    """Return identity matrices of a batch's shape."""
    out = like.new_zeros(like.shape)
    diagonal(out, 0, -2, -1).fill_(1)
    return out


# inverse and solutions


@routine("inverse")
def _inverse(a: Any) -> tuple[Any, Any]:
    matrix = single(a)
    if matrix is not None:
        return solution(matrix, np.eye(len(matrix)))
    try:
        if not has_nan(a):
            return np.linalg.inv(a), 0
    except np.linalg.LinAlgError:
        pass
    return solution(a, np.broadcast_to(np.eye(a.shape[-1], dtype=a.dtype), a.shape))


@solver_operator()
def inverse_of(call: Call, A: Operand) -> Any:
    """Return (inverse, failure code) of square matrices."""
    out = column_output(call, A.shape, A.dtype)
    if not A.numel():
        return out, no_failures(call, A.shape[:-2])
    info = call.output(A.shape[:-2], int32)
    if call.is_on_host:
        queue(call, "inverse", (READ, A), (WRITTEN, out), (WRITTEN, info))
        return out, info
    if is_small(A):
        write_solution(call, out, info, A, None)
        return out, info
    set_identity(call, out)
    pivots = call.scratch(A.shape[:-1], int32)
    queue(call, SOLUTION, spent(call, A), (UPDATED, out), (SCRATCH, pivots), (WRITTEN, info))
    return out, info


@inverse_of.derivative
def _(grads: Any, out: Any) -> Any:
    return -matmul(mt(out), matmul(grads[0], mt(out)))


@solver_operator()
def solution_of(call: Call, A: Operand, B: Operand) -> Any:
    """Return (solution X of A @ X = B, failure code), for batches of one shape."""
    out = column_output(call, B.shape, B.dtype)
    if not A.numel():
        return out, no_failures(call, A.shape[:-2])
    info = call.output(A.shape[:-2], int32)
    if not call.is_on_host and is_small(A, B):
        write_solution(call, out, info, A, B)
        return out, info
    pivots = call.scratch(A.shape[:-1], int32)
    queue(call, SOLUTION, spent(call, A), *replaced(call, out, B), (SCRATCH, pivots), (WRITTEN, info))
    return out, info


@solution_of.derivative
def _(grads: Any, out: Any, A: Any, needs: Any) -> Any:
    of_b = solution_of(mt(A), grads[0])[0]
    return -matmul(of_b, mt(out)) if needs[0] else None, of_b


@solver_operator()
def triangular_solution_of(call: Call, A: Operand, B: Operand, upper: bool, unitriangular: bool) -> Any:
    """Compute the solution X of A @ X = B for triangular A, for batches of one shape."""
    out = column_output(call, B.shape, B.dtype)
    if not call.is_on_host and is_small(A, B):
        write_triangular(call, out, A, B, upper, unitriangular)
    elif out.numel():
        queue(call, TRIANGULAR, (READ, dense(call, A)), *replaced(call, out, B), options=(upper, unitriangular))
    return out


@triangular_solution_of.derivative
def _(grad: Any, out: Any, A: Any, upper: bool, unitriangular: bool, needs: Any) -> Any:
    of_b = triangular_solution_of(mt(A), grad, not upper, unitriangular)
    of_a = None
    if needs[0]:
        whole, shift = -matmul(of_b, mt(out)), 1 if unitriangular else 0
        of_a = triu(whole, shift) if upper else tril(whole, -shift)
    return of_a, of_b


# Cholesky


@solver_operator()
def cholesky_of(call: Call, A: Operand, upper: bool) -> Any:
    """Return (factor, failure code) of symmetric positive definite matrices; only that triangle is read."""
    out, triangle = call.output(A.shape, A.dtype), triu if upper else tril
    if not A.numel():
        return out, no_failures(call, A.shape[:-2])
    info, is_batch = call.output(A.shape[:-2], int32), prod(A.shape[:-2]) > 1
    if call.is_on_host:
        queue(call, CHOLESKY, (READ, A), (WRITTEN, out), (WRITTEN, info), options=(upper,))
        return out, info
    if is_small(A):
        write_cholesky(call, out, info, A, upper)
        return out, info
    if is_batch:
        call.assign(out, A)
    else:
        into(call, out, triangle, A, 0)
    queue(call, CHOLESKY, (UPDATED, out), (WRITTEN, info), options=(upper,))
    if is_batch:  # cuSOLVER uses the other triangle as workspace
        into(call, out, triangle, out, 0)
    return out, info


@cholesky_of.derivative
def _(grads: Any, out: Any, upper: bool) -> Any:
    grad = mt(grads[0]) if upper else grads[0]
    lower_t = out if upper else mt(out)  # the transpose of the lower factor
    inner = tril(matmul(lower_t, tril(grad)))
    inner = inner - 0.5 * triu(inner)
    left = triangular_solution_of(lower_t, inner, True, False)
    whole = mt(triangular_solution_of(lower_t, mt(left), True, False))
    return 0.5 * (whole + mt(whole))


# LU


@solver_operator()
def lu_of(call: Call, A: Operand, pivot: bool) -> Any:
    """Return (factors in one matrix, pivots counted from 1, failure code)."""
    *batch, m, n = A.shape
    out, pivots = column_output(call, A.shape, A.dtype), call.output((*batch, min(m, n)), int32)
    if not A.numel():
        return out, pivots, no_failures(call, batch)
    info = call.output(batch, int32)
    if not call.is_on_host and is_small(A):
        write_lu(call, out, pivots, info, A, pivot)
        return out, pivots, info
    if pivot:
        queue(call, LU, *replaced(call, out, A), (WRITTEN, info), (WRITTEN, pivots))
        return out, pivots, info
    queue(call, LU_IN_ORDER, *replaced(call, out, A), (WRITTEN, info))
    order = call.scratch((min(m, n),), int32)
    into(call, order, arange, order, 1, 1)
    call.assign(pivots, order)
    return out, pivots, info


@lu_of.derivative
def _(grads: Any, out: Any, out1: Any) -> Any:
    m, n = out.shape[-2:]
    k = min(m, n)
    square = narrow(narrow(out, -2, 0, k), -1, 0, k)
    grad = grads[0]
    first = narrow(narrow(grad, -2, 0, k), -1, 0, k)
    lower, upper = tril(square, -1) + identities(square), triu(square)
    of_lower, of_upper = tril(first, -1), triu(first)
    # A = P @ [[L1], [L2]] @ [U1, U2]
    below = None if m == k else narrow(grad, -2, k, m - k)
    beside = None if n == k else narrow(grad, -1, k, n - k)
    inner_lower, inner_upper = matmul(mt(lower), of_lower), matmul(of_upper, mt(upper))
    if beside is not None:
        inner_lower = inner_lower - matmul(beside, mt(narrow(out, -1, k, n - k)))
    if below is not None:
        inner_upper = inner_upper - matmul(mt(narrow(out, -2, k, m - k)), below)
    inner = tril(inner_lower, -1) + triu(inner_upper)
    left = triangular_solution_of(mt(lower), inner, True, True)
    whole = mt(triangular_solution_of(upper, mt(left), True, False))
    if beside is not None:
        whole = cat([whole, triangular_solution_of(mt(lower), beside, True, True)], -1)
    if below is not None:
        whole = cat([whole, mt(triangular_solution_of(upper, mt(below), True, False))], -2)
    return matmul(permutation_of(out1, m, whole.dtype), whole)


@solver_operator()
def lu_solution_of(call: Call, LU_data: Operand, pivots: Operand, B: Operand, transposed: bool) -> Any:
    """Compute the solution X of A @ X = B, or of A^T @ X = B, given the LU factors of A, for batches of one shape."""
    out = column_output(call, B.shape, B.dtype)
    if not call.is_on_host and is_small(LU_data, B):
        write_lu_solution(call, out, LU_data, call.contiguous(pivots, int32), B, transposed)
    elif out.numel():
        factors = (READ, in_columns(call, LU_data)), (READ, call.contiguous(pivots, int32))
        queue(call, LU_SOLUTION, *factors, *replaced(call, out, B), options=(transposed,))
    return out


@lu_solution_of.derivative
def _(grad: Any, out: Any, LU_data: Any, pivots: Any, transposed: bool, needs: Any) -> Any:
    of_b = lu_solution_of(LU_data, pivots, grad, not transposed)
    if not needs[0]:
        return None, None, of_b
    of_a = -matmul(out, mt(of_b)) if transposed else -matmul(of_b, mt(out))
    lower, upper = lu_triangles(LU_data)
    of_product = matmul(mt(permutation_of(pivots, LU_data.shape[-1], grad.dtype)), of_a)  # of L @ U
    return tril(matmul(of_product, mt(upper)), -1) + triu(matmul(mt(lower), of_product)), None, of_b


@solver_operator()
def lu_triangles(call: Call, LU_data: Operand) -> Any:
    """Return (L, U): the unit lower and the upper triangle of LU factors."""
    *batch, m, n = LU_data.shape
    k = min(m, n)
    lower, upper = (call.output(shape, LU_data.dtype) for shape in ((*batch, m, k), (*batch, k, n)))
    if LU_data.numel():
        factors = LU_data if LU_data.strides == by_columns(LU_data.shape) else call.contiguous(LU_data)
        sizes = prod(batch), m, n, k, *((n, 1) if factors.is_contiguous() else (1, m))
        kernel = triangles_kernel(factors.dtype)
        call.launch(kernel, grid_over(factors.numel()), lower, upper, factors, *sizes)
    return lower, upper


@lu_triangles.derivative
def _(grads: Any, LU_data: Any) -> Any:
    m, n = LU_data.shape[-2:]
    of_lower = None if grads[0] is None else _widened(tril(grads[0], -1), m, n)
    of_upper = None if grads[1] is None else _widened(triu(grads[1]), m, n)
    if of_lower is None or of_upper is None:
        return of_upper if of_lower is None else of_lower
    return of_lower + of_upper


def _widened(matrix: Any, rows: int, columns: int) -> Any:
    """Return the matrix padded with zeros below and to the right."""
    *batch, m, n = matrix.shape
    if n < columns:
        matrix = cat([matrix, matrix.new_zeros((*batch, m, columns - n))], -1)
    return cat([matrix, matrix.new_zeros((*batch, rows - m, columns))], -2) if m < rows else matrix


@solver_operator()
def permutation_of(call: Call, pivots: Operand, rows: int, dtype: Any) -> Any:
    """Return P of A = P @ L @ U, from the pivots.  Pivots beyond the rows fail as indexes out of range."""
    *batch, count = pivots.shape
    out = call.output((*batch, rows, rows), dtype)
    if not count:
        set_identity(call, out)
    elif out.numel():
        order = call.scratch((*batch, rows), int32)
        sizes = prod(batch), rows
        call.launch(row_order_kernel(), grid_over(sizes[0]), order, call.contiguous(pivots, int32), *sizes, count)
        call.launch(permutation_kernel(dtype), grid_over(out.numel()), out, order, *sizes)
    return out


# determinants


@routine("determinant")
def _determinant(a: Any) -> tuple[Any]:
    matrix = single(a)
    if matrix is not None:
        factors, order, _ = lapack("getrf", matrix.dtype.char)(matrix)
        product = np.multiply.reduce(factors.diagonal())
        return (-product if np.count_nonzero(order != np.arange(len(order))) % 2 else product,)
    factors, _, pivots = lu(a)
    return (product_of_diagonal(factors, pivots),)


@routine("log_determinant")
def _log_determinant(a: Any) -> tuple[Any, Any]:
    factors, _, pivots = lu(a)
    return logarithm_of_diagonal(factors, pivots)


def _determine(call: Call, A: Any, *results: Any) -> None:
    """Write the determinants of square matrices, or their signs and logarithms; the other targets are None."""
    batch, n = prod(A.shape[:-2]), A.shape[-1]
    if not batch * n:
        for result, value in zip(results, (1, 1, 0)):
            if result is not None:
                into(call, result, fill, result, value)
        return
    if call.is_on_host:
        written = [(WRITTEN, result) for result in results if result is not None]
        queue(call, "determinant" if len(written) == 1 else "log_determinant", (READ, A), *written)
        return
    pivots, info = call.scratch(A.shape[:-1], int32), call.scratch(A.shape[:-2], int32)
    if is_small(A):
        factors = column_scratch(call, A.shape, A.dtype)
        write_lu(call, factors, pivots, info, A, True)
    else:
        factors = copied(call, A)
        queue(call, LU, (UPDATED, factors), (WRITTEN, info), (WRITTEN, pivots))
    grid = Grid((min(batch, MAX_BLOCKS[0]), 1, 1), WARP)
    call.launch(determinant_kernel(A.dtype), grid, *results, turned(call, factors), pivots, batch, n)


@solver_operator()
def determinant_of(call: Call, A: Operand) -> Any:
    out = call.output(A.shape[:-2], A.dtype)
    _determine(call, A, out, None, None)
    return out


@determinant_of.derivative
def _(grad: Any, A: Any) -> Any:
    return grad.unsqueeze(-1).unsqueeze(-1) * cofactors_of(A.to("cpu")).to(A.device)


@solver_operator()
def log_determinant_of(call: Call, A: Operand) -> Any:
    """Return (sign, logarithm of the absolute value) of the determinant."""
    sign, logarithm = (call.output(A.shape[:-2], A.dtype) for _ in range(2))
    _determine(call, A, None, sign, logarithm)
    return sign, logarithm


@log_determinant_of.derivative
def _(grads: Any, A: Any) -> Any:
    if grads[1] is None:
        return None
    return grads[1].unsqueeze(-1).unsqueeze(-1) * mt(inverse_of(A)[0])


@routine("cofactors")
def _cofactors(a: Any) -> tuple[Any]:
    """Return the matrix of cofactors, from a singular value decomposition: it exists for singular matrices too.

    Those of a matrix that is not finite are NaN.
    """
    is_finite = np.isfinite(a).all((-2, -1), keepdims=True)
    u, s, v = np.linalg.svd(np.where(is_finite, a, a.dtype.type(0)))
    size = s.shape[-1]
    others = np.where(np.eye(size, dtype=bool), a.dtype.type(1), s[..., None, :]).prod(-1)
    sign = np.linalg.det(u) * np.linalg.det(v)
    return (np.where(is_finite, (sign[..., None, None] * (u * others[..., None, :])) @ v, a.dtype.type(np.nan)),)


@solver_operator()
def cofactors_of(call: Call, A: Operand) -> Any:
    """Return the cofactors of matrices on the CPU."""
    return run_on_host(call, "cofactors", [(A.shape, A.dtype)], A)


@cofactors_of.derivative
def _(grad: Any, A: Any) -> Any:
    inverse_t = mt(inverse_of(A)[0])
    scale = determinant_of(A).unsqueeze(-1).unsqueeze(-1)
    along = (grad * inverse_t).sum((-2, -1), keepdim=True)
    return scale * (along * inverse_t - matmul(inverse_t, matmul(mt(grad), inverse_t)))


# QR


def _reflect(call: Call, A: Any, factors: Any, out: Any, left: bool, last_first: bool, of_identity: bool) -> None:
    """Apply the reflections of small matrices to the columns of `out` or, if not left, to its rows.

    One launch handles all matrices; a library would need one call for each.
    """
    width, count = A.shape[-1], factors.shape[-1]
    rows, columns = out.shape[-2:] if left else out.shape[-2:][::-1]
    sizes = prod(out.shape[:-2]), rows, columns, width, count, *((1, rows) if left else (columns, 1))
    operands = out, in_columns(call, A), call.contiguous(factors)
    kernel = reflection_kernel(out.dtype)
    call.launch(kernel, grid_over(sizes[0] * columns), *operands, *sizes, last_first, of_identity)


def is_small_batch(A: Any) -> bool:
    """Return whether there are several matrices, each small enough that a thread computes a column."""
    return bool(prod(A.shape[:-2]) > 1 and max(A.shape[-2:]) <= SMALL_SIDE)


def is_reflected(call: Call, A: Any) -> bool:
    """Return whether `_reflect` is faster than a library: for small matrices; on the CPU, for several of them."""
    return is_small_batch(A) if call.is_on_host else is_small(A)


@solver_operator()
def reflectors_of(call: Call, input: Operand) -> Any:
    """Return (R and the vectors of the reflections below it, their factors) of matrices."""
    *batch, m, n = input.shape
    out, factors = column_output(call, input.shape, input.dtype), call.output((*batch, min(m, n)), input.dtype)
    if not call.is_on_host and is_small(input):
        write_reflectors(call, out, factors, input)
    elif out.numel():
        queue(call, REFLECTORS, *replaced(call, out, input), (WRITTEN, factors))
    return out, factors


@routine("qr")
def _qr(a: Any, columns: int) -> tuple[Any, Any]:
    """Return (Q, R), where Q has `columns` columns."""
    packed, factors = reflectors(a)
    *batch, m, n = packed.shape
    if is_small_batch(a):
        q = np.zeros((prod(batch), m, columns), a.dtype)
        q[...] = np.eye(m, columns)
        apply_reflections(packed.reshape(-1, m, n).swapaxes(1, 2), factors.reshape(len(q), -1), q, True)
        q = q.reshape(*batch, m, columns)
    else:
        wide = packed[..., :columns]
        if columns > n:
            wide = np.zeros((*batch, m, columns), a.dtype)
            wide[..., :n] = packed
        (q,) = reflected_columns(wide, factors)
    return q, np.where(is_lower(columns, n), 0, packed[..., :columns, :])


@solver_operator()
def qr_of(call: Call, A: Operand, mode: str) -> Any:
    """Return (Q, R) of matrices.  mode: "reduced" or "complete"."""
    *batch, m, n = A.shape
    k = min(m, n)
    columns = k if mode == "reduced" else m
    q, r = column_output(call, (*batch, m, columns), A.dtype), call.output((*batch, columns, n), A.dtype)
    if not A.numel():
        if q.numel():
            set_identity(call, q)
        return q, r
    if call.is_on_host:
        queue(call, "qr", (READ, A), (WRITTEN, q), (WRITTEN, r), options=(columns,))
        return q, r
    if is_small(A):
        write_qr(call, q, r, A)
        return q, r
    packed = column_scratch(call, A.shape, A.dtype) if n > columns else corner(call, q, m, n)
    factors = call.scratch((*batch, k), A.dtype)
    call.assign(packed, A)
    queue(call, REFLECTORS, (UPDATED, packed), (WRITTEN, factors))
    into(call, r, triu, corner(call, packed, columns, n), 0)
    if n > columns:
        call.assign(q, corner(call, packed, m, columns))
    queue(call, REFLECTED_COLUMNS, (UPDATED, q), (READ, factors))
    return q, r


@qr_of.derivative
def _(grads: Any, out: Any, out1: Any, mode: str) -> Any:
    of_q, of_r = grads
    m, n = out.shape[-2], out1.shape[-1]
    if mode == "complete" and m > n:
        raise NotSupportedError(
            f"the QR decomposition is not differentiable when mode='complete' and there are more rows than columns, "
            f"{m} and {n}",
            hint="use mode='reduced'",
            operator="linalg.qr",
        )
    if m >= n:
        return _qr_gradient(of_q, of_r, out, out1)
    rest = None if of_r is None else narrow(of_r, -1, m, n - m)
    if rest is not None:
        # A = [X, Y] with X = Q @ U and Y = Q @ V: Y's part reaches X through Q = Q(X)
        a_rest = matmul(out, narrow(out1, -1, m, n - m))
        through = matmul(a_rest, mt(rest))
        of_q = through if of_q is None else of_q + through
    of_first = _qr_gradient(of_q, None if of_r is None else narrow(of_r, -1, 0, m), out, narrow(out1, -1, 0, m))
    of_rest = matmul(out, rest) if rest is not None else of_first.new_zeros((*out.shape[:-1], n - m))
    return cat([of_first, of_rest], -1)


def _qr_gradient(of_q: Any, of_r: Any, q: Any, r: Any) -> Any:
    """Return the gradient of A = q @ r with at least as many rows as columns."""
    inner = None if of_r is None else matmul(r, mt(of_r))
    if of_q is not None:
        part = matmul(mt(of_q), q)
        inner = -part if inner is None else inner - part
    whole = matmul(q, tril(inner) + mt(tril(inner, -1)))
    whole = whole if of_q is None else whole + of_q
    return mt(triangular_solution_of(r, mt(whole), True, False))


@solver_operator()
def reflected_columns_of(call: Call, A: Operand, factors: Operand) -> Any:
    """Return the first columns of the product of reflections."""
    out = column_output(call, A.shape, A.dtype)
    if not factors.numel():
        if out.numel():
            set_identity(call, out)
        return out
    if is_reflected(call, A):
        _reflect(call, A, factors, out, True, True, True)
        return out
    queue(call, REFLECTED_COLUMNS, *replaced(call, out, A), (READ, call.contiguous(factors)))
    return out


@reflected_columns_of.derivative
def _(grad: Any, A: Any, factors: Any) -> Any:
    first = A.new_zeros(A.shape)
    diagonal(first, 0, -2, -1).fill_(1)
    return _reflection_gradients(grad, A, factors, first, True)[:2]


@solver_operator()
def reflection_of(call: Call, A: Operand, factors: Operand, other: Operand, left: bool, transposed: bool) -> Any:
    """Compute Q @ other, where Q is the product of reflections; other @ Q if not left; with Q^T if transposed."""
    out = column_output(call, other.shape, other.dtype)
    if not factors.numel() or not out.numel():
        call.assign(out, other)
    elif is_reflected(call, A):
        call.assign(out, other)
        _reflect(call, A, factors, out, left, left != transposed, False)
    else:
        operands = (READ, in_columns(call, A)), (READ, call.contiguous(factors))
        queue(call, REFLECTION, *operands, *replaced(call, out, other), options=(left, transposed))
    return out


@reflection_of.derivative
def _(grad: Any, A: Any, factors: Any, other: Any, left: bool, transposed: bool) -> Any:
    if left:
        return _reflection_gradients(grad, A, factors, other, not transposed)
    of_a, of_factors, of_other = _reflection_gradients(mt(grad), A, factors, mt(other), transposed)
    return of_a, of_factors, mt(of_other)


def _reflector(A: Any, at: int) -> Any:
    """Return the vector of a reflection as a column: 0 above the diagonal, 1 on it, a column of A below."""
    below = tril(narrow(A, -1, at, 1), -at - 1)
    one = below.new_zeros(below.shape[-2:])
    one[at] = 1
    return below + one


def _reflection_gradients(grad: Any, A: Any, factors: Any, other: Any, last_first: bool) -> Any:
    """Return the gradients of A, the factors and `other`, to which the reflections were applied.

    Each reflection replaces x by x - t * v @ (v^T @ x).  last_first: whether the last one was applied first.
    """
    count = factors.shape[-1]
    steps, x = [], other
    for at in reversed(range(count)) if last_first else range(count):
        vector, factor = _reflector(A, at), narrow(factors, -1, at, 1).unsqueeze(-1)
        along = matmul(mt(vector), x)
        steps.append((at, vector, factor, x, along))
        x = x - factor * matmul(vector, along)
    of_vectors, of_factors = {}, {}
    for at, vector, factor, x, along in reversed(steps):
        of_along = matmul(mt(vector), grad)
        of_factors[at] = -(along * of_along).sum(-1)
        of_vectors[at] = -factor * (matmul(grad, mt(along)) + matmul(x, mt(of_along)))
        grad = grad - factor * matmul(vector, of_along)
    rest = A.new_zeros((*A.shape[:-1], A.shape[-1] - count))
    columns = cat([*(of_vectors[at] for at in range(count)), rest], -1)
    of_all = cat([of_factors[at] for at in range(count)], -1) if count else factors * 0
    return tril(columns, -1), of_all, grad


# eigenvalues and singular values


@solver_operator()
def eigen_of(call: Call, A: Operand, lower: bool) -> Any:
    """Return (eigenvalues, eigenvectors, failure code) of symmetric matrices.  lower: the triangle to read."""
    values, vectors = call.output(A.shape[:-1], A.dtype), column_output(call, A.shape, A.dtype)
    if not A.numel():
        return values, vectors, no_failures(call, A.shape[:-2])
    info = call.output(A.shape[:-2], int32)
    if not call.is_on_host and is_small(A):
        write_eigen(call, values, vectors, info, A, lower)
        return values, vectors, info
    operands = replaced(call, vectors, turned(call, A))  # as rows are mostly contiguous; the triangle is the other one
    queue(call, EIGEN, *operands, (WRITTEN, values), (WRITTEN, info), options=(not lower,))
    return values, vectors, info


@eigen_of.derivative
def _(grads: Any, out: Any, out1: Any) -> Any:
    of_values, of_vectors = grads[:2]
    inner = None
    if of_vectors is not None:
        gaps = out.unsqueeze(-2) - out.unsqueeze(-1)
        turned = matmul(mt(out1), of_vectors)  # only its antisymmetric part keeps the vectors orthonormal
        inner = (turned - mt(turned)) * 0.5 * _reciprocal_off_diagonal(gaps)
    if of_values is not None:
        along = _as_diagonal(of_values)
        inner = along if inner is None else inner + along
    return matmul(out1, matmul(inner, mt(out1)))


@solver_operator()
def eigenvalues_of(call: Call, A: Operand, lower: bool) -> Any:
    """Return (eigenvalues, failure code) of symmetric matrices, without a derivative."""
    values = call.output(A.shape[:-1], A.dtype)
    if not A.numel():
        return values, no_failures(call, A.shape[:-2])
    info = call.output(A.shape[:-2], int32)
    if not call.is_on_host and is_small(A):
        write_eigen(call, values, None, info, A, lower)
        return values, info
    operands = spent(call, turned(call, A)), (WRITTEN, values), (WRITTEN, info)
    queue(call, EIGENVALUES, *operands, options=(not lower,))
    return values, info


def _reciprocal_off_diagonal(gaps: Any) -> Any:
    """Compute 1 / gaps, and 0 on the diagonal."""
    one = identities(gaps)
    return (1 - one) / (gaps + one)


def _as_diagonal(values: Any) -> Any:
    """Return diagonal matrices whose diagonals are the vectors."""
    return values.unsqueeze(-1) * identities(values.detach().unsqueeze(-1) * values.detach().unsqueeze(-2))


@solver_operator()
def singular_values_of(call: Call, A: Operand, full_matrices: bool) -> Any:
    """Return (U, S, Vh, failure code) of matrices."""
    *batch, m, n = A.shape
    k = min(m, n)
    rows, columns = (m, n) if full_matrices else (k, k)
    u, s = column_output(call, (*batch, m, rows), A.dtype), call.output((*batch, k), A.dtype)
    vh = call.output((*batch, columns, n), A.dtype)
    if not A.numel():
        for matrices in (u, vh):
            if matrices.numel():
                set_identity(call, matrices)
        return u, s, vh, no_failures(call, batch)
    info = call.output(batch, int32)
    if not call.is_on_host and is_small(A):
        write_singular(call, u, s, vh, info, A)
        return u, s, vh, info
    results = ((WRITTEN, output) for output in (u, s, vh, info))
    queue(call, SINGULAR, spent(call, A), *results, options=(full_matrices,))
    return u, s, vh, info


@solver_operator()
def singular_values_alone_of(call: Call, A: Operand) -> Any:
    """Return (singular values, failure code) of matrices, without a derivative."""
    *batch, m, n = A.shape
    k = min(m, n)
    s = call.output((*batch, k), A.dtype)
    if not A.numel():
        return s, no_failures(call, batch)
    info = call.output(batch, int32)
    if not call.is_on_host and is_small(A):
        write_singular(call, None, s, None, info, A)
        return s, info
    u, vh = column_scratch(call, (*batch, m, k), A.dtype), call.scratch((*batch, k, n), A.dtype)
    results = ((WRITTEN, output) for output in (u, s, vh, info))
    queue(call, SINGULAR, spent(call, A), *results, options=(False,))
    return s, info


@singular_values_of.derivative
def _(grads: Any, out: Any, out1: Any, out2: Any) -> Any:
    of_u, of_s, of_v = grads[:3]
    m, n, k = out.shape[-2], out2.shape[-1], out1.shape[-1]
    u, v = narrow(out, -1, 0, k), mt(narrow(out2, -2, 0, k))
    of_u = None if of_u is None else narrow(of_u, -1, 0, k)
    of_v = None if of_v is None else mt(narrow(of_v, -2, 0, k))
    inner = None if of_s is None else _as_diagonal(of_s)
    if of_u is not None or of_v is not None:
        squares = out1 * out1
        ratio = _reciprocal_off_diagonal(squares.unsqueeze(-2) - squares.unsqueeze(-1))
        rows, columns = out1.unsqueeze(-1), out1.unsqueeze(-2)
        for grad, basis, scale in ((of_u, u, columns), (of_v, v, rows)):
            if grad is not None:
                part = matmul(mt(basis), grad)
                term = (part - mt(part)) * ratio * scale
                inner = term if inner is None else inner + term
    result = matmul(u, matmul(inner, mt(v)))
    if of_u is not None and m > k:
        rest = of_u - matmul(u, matmul(mt(u), of_u))
        result = result + matmul(rest / out1.unsqueeze(-2), mt(v))
    if of_v is not None and n > k:
        rest = of_v - matmul(v, matmul(mt(v), of_v))
        result = result + matmul(u, mt(rest / out1.unsqueeze(-2)))
    return result


@solver_operator()
def as_pseudoinverse(call: Call, inverse: Operand, A: Operand) -> Any:
    """Return a copy of `inverse`, the pseudoinverse of A, whose derivative is that of the pseudoinverse."""
    out = call.output(inverse.shape, inverse.dtype)
    call.assign(out, inverse)
    return out


@as_pseudoinverse.derivative
def _(grad: Any, out: Any, A: Any) -> Any:
    twice = matmul(out, mt(out))
    other = matmul(mt(out), out)
    rows = mt(grad) - matmul(A, matmul(out, mt(grad)))
    columns = mt(grad) - matmul(mt(grad), matmul(out, A))
    return None, -matmul(mt(out), matmul(grad, mt(out))) + matmul(rows, twice) + matmul(other, columns)


# exponentials


@routine("exponential")
def _exponential(a: Any) -> tuple[Any]:
    try:
        return (host.scipy_linalg().expm(a),)
    except np.linalg.LinAlgError as error:
        raise LinAlgError(
            f"the algorithm failed to converge: {error}",
            hint="check the input for NaN and infinity",
            operator="linalg.matrix_exp",
        ) from error


@solver_operator()
def exponential_of(call: Call, A: Operand) -> Any:
    """Return the exponentials of matrices on the CPU."""
    return run_on_host(call, "exponential", [(A.shape, A.dtype)], A)


@exponential_of.derivative
def _(grad: Any, A: Any) -> Any:
    turned_a = mt(A)
    size = A.shape[-1]
    top, bottom = cat([turned_a, grad], -1), cat([turned_a * 0, turned_a], -1)
    return narrow(narrow(exponential_of(cat([top, bottom], -2)), -2, 0, size), -1, size, size)
