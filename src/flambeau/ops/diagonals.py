"""Diagonals of new matrices: diag, diag_embed, diagflat, block_diag, and the indices of triangles."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

from .. import dtypes
from .. import strides as st
from ..core.tensor import empty_tensor
from ..dtypes import dtype
from ..errors import ArgumentTypeError, IndexRangeError, ShapeError
from ..host import np
from ..kernel import Kernel, Pointer, Scalar
from .join import cat, check_tensors
from .operator import Array, Call, ErrorSample, Operand, Sample, composite, operator
from .pointwise import PRELUDE, THREADS, common_type, grid_over
from .slicing import Dense, diagonal, embed
from .views import reshape

INDEX_TYPES = (dtypes.int32, dtypes.int64)


def _diag_embed_samples() -> Iterator[Sample]:
    yield Sample((Array((3,)),))
    yield Sample((Array((2, 3)), 1))
    yield Sample((Array((3, 2), layout="transposed"), -1, 0, 2))
    yield Sample((Array((0,)), 2))


def _diag_embed_errors() -> Iterator[ErrorSample]:
    yield ErrorSample((Array((3,)), 0, 1, -1), ShapeError, "cannot be identical: 1 and -1")
    yield ErrorSample((Array(()),), IndexRangeError, r"expected to be in range of \[-1, 0\], but got -2")


@composite(samples=_diag_embed_samples, errors=_diag_embed_errors, dtypes=dtypes.ALL, takes_out=False)
def diag_embed(input: Operand, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Any:
    """Return matrices, in dimensions dim1 and dim2, with the rows of the input on a diagonal and 0 elsewhere.

    offset: 0 is the main diagonal; positive numbers are above it.
    Shapes: one dimension more than the input; dim1 and dim2 have size n + |offset|, for rows of size n.
    Host:   returns at once.
    Raises: ShapeError for equal dimensions, IndexRangeError for dimensions out of range.
    Example:
        >>> torch.diag_embed(torch.tensor([[1, 2], [3, 4]]))
        tensor([[[1, 0],
                 [0, 2]],
        <BLANKLINE>
                [[3, 0],
                 [0, 4]]])
    """
    ndim = len(input.shape) + 1
    a, b = st.wrap_dim(dim1, ndim, "diag_embed"), st.wrap_dim(dim2, ndim, "diag_embed")
    if a == b:
        raise ShapeError(
            f"the two dimensions cannot be identical: {dim1} and {dim2}",
            hint=f"pass two different dimensions: both are dimension {a} of the {ndim} of the result",
            operator="diag_embed",
        )
    rest = iter(input.shape[:-1])
    side = input.shape[-1] + abs(offset)
    shape = tuple([side if dim in (a, b) else next(rest) for dim in range(ndim)])
    size, strides, start = diagonal.body(Dense(shape, st.contiguous(shape)), offset, a, b)
    return embed(input, shape, tuple(size), tuple(strides), start)


def _diag_samples() -> Iterator[Sample]:
    yield Sample((Array((3,)),))
    yield Sample((Array((3,)), -1))
    yield Sample((Array((3, 4)), 1))
    yield Sample((Array((4, 3), layout="transposed"), -1))


def _diag_errors() -> Iterator[ErrorSample]:
    yield ErrorSample((Array((2, 2, 2)),), ShapeError, r"vector or a matrix, got shape \[2, 2, 2\]")
    yield ErrorSample((Array(()),), ShapeError, r"vector or a matrix, got shape \[\]")


@composite(samples=_diag_samples, errors=_diag_errors, dtypes=dtypes.ALL)
def diag(input: Operand, diagonal: int = 0) -> Any:
    """Return a matrix with the given vector on a diagonal, or a copy of the diagonal of a matrix.

    diagonal: 0 is the main diagonal; positive numbers are above it.
    Shapes: [n] gives [m, m], where m = n + |diagonal|; a matrix gives its diagonal.
    Host:   returns at once.
    Raises: ShapeError unless the input has one or two dimensions.
    Example:
        >>> torch.diag(torch.tensor([1, 2]))
        tensor([[1, 0],
                [0, 2]])
        >>> torch.diag(torch.tensor([[1, 2], [3, 4]]))
        tensor([1, 4])
    """
    if len(input.shape) == 1:
        return diag_embed(input, diagonal)
    if len(input.shape) != 2:
        raise ShapeError(
            f"the input must be a vector or a matrix, got shape {list(input.shape)}",
            hint="use diagonal(...) or diag_embed(...) for more dimensions",
            operator="diag",
        )
    return _diagonal_of(input, diagonal).clone()


_diagonal_of = diagonal  # an alias: a parameter of `diag` hides the name


def _diagflat_samples() -> Iterator[Sample]:
    yield Sample((Array((2, 2)),))
    yield Sample((Array((3,)), -1))
    yield Sample((Array(()), 1))


def _no_offset() -> Iterator[ErrorSample]:
    yield ErrorSample((Array((3,)), "1"), ArgumentTypeError, "offset")


@composite(samples=_diagflat_samples, errors=_no_offset, dtypes=dtypes.ALL, takes_out=False)
def diagflat(input: Operand, offset: int = 0) -> Any:
    """Return a matrix with all elements of the input, in row-major order, on a diagonal, and 0 elsewhere.

    offset: 0 is the main diagonal; positive numbers are above it.

    Shapes: n elements give [n + |offset|, n + |offset|].
    Host:   returns at once.
    Raises: ArgumentTypeError if `offset` is not an int.
    Example:
        >>> torch.diagflat(torch.tensor([[1], [2]]), offset=1)
        tensor([[0, 1, 0],
                [0, 0, 2],
                [0, 0, 0]])
    """
    return diag_embed(reshape(input, (-1,)), offset)


def block_diag(*tensors: Any) -> Any:
    """Return a matrix with the given matrices along its diagonal, and zeros elsewhere.

    Vectors count as rows, 0-dim tensors as matrices of one element.  Without matrices, the result has the shape [1, 0].
    Host:   returns at once.
    Raises: ShapeError for more than two dimensions.
    Example:
        >>> torch.block_diag(torch.tensor([[1, 2]]), torch.tensor(3))
        tensor([[1, 2, 0],
                [0, 0, 3]])
    """
    several = tensors[0] if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)) else tensors
    check_tensors("block_diag", several)
    for number, tensor in enumerate(several):
        if len(tensor.shape) > 2:
            raise ShapeError(
                f"input tensors must have two or fewer dimensions, input {number} has {len(tensor.shape)}: "
                f"{list(tensor.shape)}",
                hint="pass matrices one by one",
                operator="block_diag",
            )
    if not several:
        return empty_tensor((1, 0), dtypes.default.floating, -1)
    common = common_type(several)  # of the tensors as given: one without dimensions gives way to others of its kind
    several = [tensor.to(common) for tensor in several]
    matrices = [reshape(tensor, (1, -1)) if len(tensor.shape) < 2 else tensor for tensor in several]
    width, left = sum(matrix.shape[1] for matrix in matrices), 0
    bands = []
    for matrix in matrices:
        rows, columns = matrix.shape
        parts = [matrix.new_zeros((rows, left)), matrix, matrix.new_zeros((rows, width - left - columns))]
        bands.append(cat(parts, 1))
        left += columns
    return cat(bands, 0)


# indices of triangles


@cache
def _triangle_indices_kernel(dtype: dtype, lower: bool) -> Kernel:
    entry = f"{'tril' if lower else 'triu'}_indices_{dtype.name}"
    c = dtype.cuda
    width = "row + offset + 1" if lower else "columns - (row + offset)"
    source = f"""{PRELUDE}
extern "C" __global__ void __launch_bounds__({THREADS}) {entry}(
    {c}* out, long long rows, long long columns, long long offset, long long numel) {{
  const long long threads = (long long)gridDim.x * blockDim.x;
  for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < numel; i += threads) {{
    long long left = i, row = 0;
    for (; row < rows; ++row) {{
      const long long free = {width};
      const long long held = free < 0 ? 0 : free > columns ? columns : free;
      if (left < held) break;
      left -= held;
    }}
    const long long first = {"0" if lower else "row + offset < 0 ? 0 : row + offset"};
    out[i] = ({c})row;
    out[numel + i] = ({c})(first + left);
  }}
}}
"""
    indices = np.tril_indices if lower else np.triu_indices

    def reference(out: Any, rows: int, columns: int, offset: int, numel: int) -> None:
        out[...] = np.stack(indices(rows, offset, columns))

    params = [Pointer("out", dtype, "w", (2, "numel"))]
    names = ("rows", "columns", "offset", "numel")
    return Kernel(entry, source, [*params, *[Scalar(name, "int64") for name in names]], reference, 4.0)


def count_in_triangle(row: int, col: int, offset: int, lower: bool) -> int:
    """Return the number of elements of a triangle of a matrix."""
    if not lower:
        return row * col - count_in_triangle(row, col, offset - 1, True)
    return _held_up_to(offset + row, col) - _held_up_to(offset, col)


def _held_up_to(last: int, col: int) -> int:
    """Return the number of elements in rows that hold 1, 2, ... and `last` elements, but at most `col`."""
    growing = max(min(last, col), 0)
    return growing * (growing + 1) // 2 + max(last - col, 0) * col


def _indices_samples() -> Iterator[Sample]:
    yield Sample((Array((2, 6)), 3, 3, 0, True))
    yield Sample((Array((2, 5)), 2, 4, 1, True))
    yield Sample((Array((2, 7)), 2, 4, 0, False))
    yield Sample((Array((2, 0)), 2, 2, 3, False))


@operator(samples=_indices_samples, dtypes=INDEX_TYPES, method=False, function=False, differentiable=False)
def triangle_indices(call: Call, input: Operand, row: int, col: int, offset: int, lower: bool) -> Any:
    """Return a tensor like `input` of the row and column indices of a triangle of a matrix, in row-major order.

    Host: returns at once.
    """
    out = call.output(input.shape, input.dtype)
    numel = input.shape[1]
    if numel:
        call.launch(_triangle_indices_kernel(input.dtype, lower), grid_over(numel), out, row, col, offset, numel)
    return out
