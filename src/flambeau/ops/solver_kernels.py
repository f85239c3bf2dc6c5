"""Kernels that complement solver libraries: parts and determinants of LU factors, and reflections of batches."""

from __future__ import annotations

from functools import cache, lru_cache
from typing import Any

from ..dtypes import dtype, int32
from ..host import np
from ..kernel import Kernel, Param, Pointer, Scalar
from ..solver_operation import LEAST_TOGETHER, lapack, reflected_columns, reflection
from .indexing_kernels import check_index, scalars
from .pointwise import PRELUDE, THREADS

WARP = 32


@lru_cache(256)
def is_lower(rows: int, columns: int) -> Any:
    """Return a mask of the elements below the diagonal of a matrix."""
    return np.tri(rows, columns, -1, bool)


@cache
def triangles_kernel(kind: dtype) -> Kernel:
    """Return the kernel that splits dense LU factors into L and U: one thread for each element."""
    entry = f"lu_triangles_{kind.name}"
    source = f"""{PRELUDE}
extern "C" __global__ void __launch_bounds__({THREADS}) {entry}(
    {kind.cuda}* lower, {kind.cuda}* upper, const {kind.cuda}* factors, long long batch, long long rows,
    long long columns, long long least, long long row_step, long long column_step) {{
  const long long numel = batch * rows * columns;
  for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < numel;
       i += (long long)gridDim.x * blockDim.x) {{
    long long row, column;
    const long long matrix = divide(divide(i, columns, column), rows, row);
    const {kind.cuda} x = factors[matrix * rows * columns + row * row_step + column * column_step];
    if (column < least) lower[(matrix * rows + row) * least + column] = row > column ? x : row == column;
    if (row < least) upper[(matrix * least + row) * columns + column] = row <= column ? x : 0;
  }}
}}
"""

    def reference(
        lower: Any, upper: Any, factors: Any, batch: int, rows: int, columns: int, least: int, row_step: int, _: int
    ) -> None:
        if row_step == 1:
            factors = factors.reshape(batch, columns, rows).swapaxes(1, 2)
        factors = factors.reshape(batch, rows, columns)
        below, beside = is_lower(rows, least), is_lower(least, columns)
        lower.reshape(batch, rows, least)[...] = np.where(below, factors[:, :, :least], np.eye(rows, least))
        upper.reshape(batch, least, columns)[...] = np.where(beside, 0, factors[:, :least])

    params: list[Param] = [
        Pointer("lower", kind, "w", ("batch", "rows", "least")),
        Pointer("upper", kind, "w", ("batch", "least", "columns")),
        Pointer("factors", kind, "r", ("batch", "rows", "columns")),
        *scalars("batch", "rows", "columns", "least", "row_step", "column_step"),
    ]
    return Kernel(entry, source, params, reference)


@cache
def row_order_kernel() -> Kernel:
    """Return the kernel of the order of rows after the exchanges of pivots: one thread for each matrix."""
    source = f"""{PRELUDE}
extern "C" __global__ void __launch_bounds__({THREADS}) row_order(
    int* order, const int* pivots, long long batch, long long rows, long long count) {{
  for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < batch;
       i += (long long)gridDim.x * blockDim.x) {{
    int* mine = order + i * rows;
    for (int row = 0; row < rows; ++row) mine[row] = row;
    for (int at = 0; at < count; ++at) {{
      const int other = pivots[i * count + at] - 1;
      device_assert(other >= 0 && other < rows);
      const int held = mine[at];
      mine[at] = mine[other];
      mine[other] = held;
    }}
  }}
}}
"""

    def reference(order: Any, pivots: Any, batch: int, rows: int, count: int) -> None:
        others = check_index(pivots - 1, 0, rows, -1)
        order[...] = np.arange(rows)
        if batch == 1:
            mine = list(range(rows))
            for at, other in enumerate(others[0].tolist()):
                mine[at], mine[other] = mine[other], mine[at]
            order[0] = mine
            return
        matrices = np.arange(batch)
        for at in range(count):
            other = others[:, at]
            held = order[matrices, other]
            order[matrices, other] = order[:, at]
            order[:, at] = held

    params: list[Param] = [
        Pointer("order", int32, "w", ("batch", "rows")), Pointer("pivots", int32, "r", ("batch", "count")),
        *scalars("batch", "rows", "count"),
    ]  # fmt: skip
    return Kernel("row_order", source, params, reference)


@cache
def permutation_kernel(kind: dtype) -> Kernel:
    """Return the kernel of the permutation matrices of an order of rows: one thread for each element."""
    entry = f"permutation_{kind.name}"
    source = f"""{PRELUDE}
extern "C" __global__ void __launch_bounds__({THREADS}) {entry}(
    {kind.cuda}* out, const int* order, long long batch, long long rows) {{
  const long long numel = batch * rows * rows;
  for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < numel;
       i += (long long)gridDim.x * blockDim.x) {{
    long long row, column;
    const long long matrix = divide(divide(i, rows, column), rows, row);
    out[i] = order[matrix * rows + column] == row;
  }}
}}
"""

    def reference(out: Any, order: Any, batch: int, rows: int) -> None:
        out[...] = np.arange(rows)[:, None] == order[:, None]

    params: list[Param] = [
        Pointer("out", kind, "w", ("batch", "rows", "rows")), Pointer("order", int32, "r", ("batch", "rows")),
        *scalars("batch", "rows"),
    ]  # fmt: skip
    return Kernel(entry, source, params, reference)


@cache
def determinant_kernel(kind: dtype) -> Kernel:
    """Return the kernel of the determinant, or its sign and logarithm, from LU factors: one warp for each matrix."""
    entry, of = f"lu_determinant_{kind.name}", kind.cuda
    source = f"""{PRELUDE}
extern "C" __global__ void __launch_bounds__({WARP}) {entry}(
    {of}* product, {of}* sign, {of}* logarithm, const {of}* factors, const int* pivots, long long batch, long long n) {{
  for (long long i = blockIdx.x; i < batch; i += gridDim.x) {{
    {of} whole = 1, signs = 1, sum = 0;
    for (long long at = threadIdx.x; at < n; at += {WARP}) {{
      const {of} x = factors[(i * n + at) * n + at], turn = pivots[i * n + at] == at + 1 ? 1 : -1;
      whole *= turn * x;
      signs *= x > 0 ? turn : x < 0 ? -turn : 0;
      sum += log(x < 0 ? -x : x);
    }}
    for (int step = {WARP // 2}; step; step /= 2) {{
      whole *= __shfl_xor_sync(0xffffffff, whole, step);
      signs *= __shfl_xor_sync(0xffffffff, signs, step);
      sum += __shfl_xor_sync(0xffffffff, sum, step);
    }}
    if (threadIdx.x) continue;
    if (product) product[i] = whole;
    if (sign) sign[i] = signs, logarithm[i] = sum;
  }}
}}
"""

    def reference(product: Any, sign: Any, logarithm: Any, factors: Any, pivots: Any, batch: int, n: int) -> None:
        if product is not None:
            product[...] = product_of_diagonal(factors, pivots)
        if sign is not None:
            sign[...], logarithm[...] = logarithm_of_diagonal(factors, pivots)

    params: list[Param] = [
        *(Pointer(name, kind, "w", ("batch",)) for name in ("product", "sign", "logarithm")),
        Pointer("factors", kind, "r", ("batch", "n", "n")), Pointer("pivots", int32, "r", ("batch", "n")),
        *scalars("batch", "n"),
    ]  # fmt: skip
    return Kernel(entry, source, params, reference)


def _diagonal(factors: Any, pivots: Any) -> tuple[Any, Any]:
    """Return (diagonal of U, 1 or -1 for an even or odd number of exchanged rows) of LU factors."""
    is_odd = np.logical_xor.reduce(pivots != np.arange(1, factors.shape[-1] + 1), -1)
    return factors.diagonal(0, -2, -1), 1 - 2 * is_odd


def product_of_diagonal(factors: Any, pivots: Any) -> Any:
    """Return the determinants of LU factors, in NumPy."""
    numbers, turns = _diagonal(factors, pivots)
    return np.multiply.reduce(numbers, -1) * turns


def logarithm_of_diagonal(factors: Any, pivots: Any) -> tuple[Any, Any]:
    """Return (signs, logarithms of the absolute values) of the determinants of LU factors, in NumPy."""
    numbers, turns = _diagonal(factors, pivots)
    signs = np.subtract(numbers > 0, numbers < 0, dtype="int8")  # 0 for NaN
    return np.multiply.reduce(signs, -1) * turns, np.add.reduce(np.log(np.abs(numbers)), -1)


@cache
def reflection_kernel(kind: dtype) -> Kernel:
    """Return the kernel that reflects the columns, or rows, of a batch of arrays in place, a thread for each column.

    of_identity: the arrays are written as identities first.
    """
    entry, of = f"reflection_{kind.name}", kind.cuda
    source = f"""{PRELUDE}
extern "C" __global__ void __launch_bounds__({THREADS}) {entry}(
    {of}* target, const {of}* vectors, const {of}* factors, long long batch, long long rows, long long columns,
    long long width, long long count, long long row_step, long long column_step, bool last_first, bool of_identity) {{
  const long long numel = batch * columns;
  for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < numel;
       i += (long long)gridDim.x * blockDim.x) {{
    long long column;
    const long long matrix = divide(i, columns, column);
    {of}* mine = target + matrix * rows * columns + column * column_step;
    for (int row = 0; of_identity && row < rows; ++row) mine[row * row_step] = row == column;
    for (int step = 0; step < count; ++step) {{
      const int at = last_first ? count - 1 - step : step;
      const {of}* vector = vectors + (matrix * width + at) * rows;
      {of} along = mine[at * row_step];
      for (int row = at + 1; row < rows; ++row) along += vector[row] * mine[row * row_step];
      along *= factors[matrix * count + at];
      mine[at * row_step] -= along;
      for (int row = at + 1; row < rows; ++row) mine[row * row_step] -= along * vector[row];
    }}
  }}
}}
"""

    def reference(
        target: Any, vectors: Any, factors: Any, batch: int, rows: int, columns: int, width: int, count: int,
        row_step: int, _: int, last_first: bool, of_identity: bool,
    ) -> None:  # fmt: skip
        by_rows = target.reshape(batch, rows, columns)
        target = target.reshape(batch, columns, rows).swapaxes(1, 2) if row_step == 1 else by_rows
        if batch == 1:  # as on the CPU
            a, left = vectors.swapaxes(1, 2), row_step == 1
            other = target if left else target.swapaxes(1, 2)
            arguments = (other, left, left != last_first)
            (result,) = reflected_columns(a, factors) if of_identity else reflection(a, factors, *arguments)
            other[...] = result
            return
        if of_identity:
            target[...] = np.eye(rows, columns)
        apply_reflections(vectors, factors, target, last_first)

    sizes = ("batch", "rows", "columns", "width", "count", "row_step", "column_step")
    params: list[Param] = [
        Pointer("target", kind, "rw", ("batch", "columns", "rows")),
        Pointer("vectors", kind, "r", ("batch", "width", "rows")), Pointer("factors", kind, "r", ("batch", "count")),
        *scalars(*sizes), Scalar("last_first", "bool"), Scalar("of_identity", "bool"),
    ]  # fmt: skip
    return Kernel(entry, source, params, reference)


def apply_reflections(vectors: Any, factors: Any, target: Any, last_first: bool) -> None:
    """Apply reflections to the columns of a batch of arrays.  vectors: [batch, count or more, rows]."""
    count = factors.shape[-1]
    if len(target) <= LEAST_TOGETHER * count:
        order, lwork, ormqr = "N" if last_first else "T", 64 * max(target.shape[1:]), lapack("ormqr", target.dtype.char)
        for columns, tau, mine in zip(vectors[:, :count].swapaxes(1, 2), factors, target):
            mine[...] = ormqr("L", order, columns, tau, mine, lwork)[0]
        return
    ones = np.ones((len(target), 1), factors.dtype)
    for at in reversed(range(count)) if last_first else range(count):
        vector = np.concatenate([ones, vectors[:, at, at + 1 :]], 1)
        along = factors[:, at, None, None] * (vector[:, None] @ target[:, at:])
        target[:, at:] -= vector[:, :, None] * along
