"""Norms of vectors and matrices under the names of torch.linalg, and the former names of torch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import inf
from typing import Any

from .. import strides as st
from ..dtypes import FLOATING_TYPES
from ..errors import ArgumentTypeError, DtypeError, IndexRangeError, ModeError, ShapeError, shown
from .factorizations import linalg_svdvals
from .operator import Array, ErrorSample, Operand, Sample, composite
from .reductions import norm
from .solvers import TYPES

LAST = -2, -1


def _typed(name: str, values: Any, dtype: Any) -> Any:
    """Return the values in the type that the norm is computed in.

    Raises: DtypeError for integers and a narrower type.
    """
    if not values.dtype.is_floating_point:
        raise DtypeError(
            f"Expected a floating point tensor as input, got {values.dtype.name}",
            hint="convert with .float()",
            operator=name,
        )
    if dtype is None or dtype is values.dtype:
        return values
    if not dtype.is_floating_point or dtype.itemsize < values.dtype.itemsize:
        raise DtypeError(
            f"the dtype of the input, {values.dtype.name}, should be convertible without narrowing to the specified "
            f"dtype, {dtype.name}",
            hint="convert the result with .to(dtype)",
            operator=name,
        )
    return values.to(dtype)


def _vector_norm(name: str, values: Any, ord: Any, dim: Any, keepdim: bool) -> Any:
    if isinstance(ord, bool) or not isinstance(ord, (int, float)):
        raise ArgumentTypeError(
            f"ord must be a number, got {shown(ord)}", hint="leave ord out for the 2-norm", operator=name
        )
    return norm(values, ord, dim, keepdim)


def _vector_samples() -> Iterator[Sample]:
    for ord in (2, 1, 3.5, 0, inf, -inf, -2):
        yield Sample((Array((3, 4), grad=ord != 0), ord))
    yield Sample((Array((2, 3, 4)),), {"dim": (0, -1), "keepdim": True})
    yield Sample((Array((4, 3), layout="transposed"), 1, 0))
    yield Sample((Array((2, 6), layout="strided"), 2, -1))
    yield Sample((Array((2, 0)), 2, 1))
    yield Sample((Array(()),))


def _bad_vectors() -> Iterator[ErrorSample]:
    yield ErrorSample((Array((3,), dtype="int64"),), DtypeError, "floating point tensor as input, got int64")
    yield ErrorSample((Array((2, 0)), inf, 1), ShapeError, r"inf norm on an empty dimension 1 of shape \[2, 0\]")
    yield ErrorSample((Array((3,)), "fro"), ArgumentTypeError, "ord must be a number, got 'fro'")
    yield ErrorSample(
        (Array((3,), dtype="float64"),), DtypeError, "float64, should .* without narrowing .* float32",
        {"dtype": FLOATING_TYPES[-2]},
    )  # fmt: skip


@composite(
    samples=_vector_samples, errors=_bad_vectors, dtypes=FLOATING_TYPES, method=False, function=False,
    called="linalg.vector_norm", other_names={"input": "x"},
)  # fmt: skip
def linalg_vector_norm(x: Operand, ord: Any = 2, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """Compute the vector norm of the elements, over all dimensions or over those in dim.

    ord: a number p, for sum(|x| ** p) ** (1 / p); inf and -inf give the largest and smallest absolute value, 0 counts
    the nonzero elements.  dtype: the type to compute in; it may not be narrower than the input's.
    Shapes: the input's without the reduced dimensions, or with size 1 there if keepdim.
    Host:   returns at once.
    Raises: ArgumentTypeError unless ord is a number; DtypeError for integers or a narrower dtype; ShapeError if there
            are no elements to reduce and ord is negative or inf.
    Example:
        >>> torch.linalg.vector_norm(torch.tensor([[3.0, 4.0], [6.0, 8.0]]), dim=1)
        tensor([ 5., 10.])
    """
    name = "linalg.vector_norm"
    return _vector_norm(name, _typed(name, x, dtype), ord, dim, keepdim)


def _pair(name: str, values: Any, dim: Any) -> tuple[int, int]:
    """Return the two dimensions of matrices, counted from the front."""
    dims = [dim] if isinstance(dim, int) else list(dim)
    if len(values.shape) < 2 or len(dims) != 2:
        raise ShapeError(
            f"dim must be a 2-tuple of dimensions of a tensor with at least 2, got {shown(dim)} and shape "
            f"{list(values.shape)}",
            hint="use linalg.vector_norm for any dimensions",
            operator=name,
        )
    rows, columns = (st.wrap_dim(axis, len(values.shape), name) for axis in dims)
    if rows == columns:
        raise ShapeError(
            f"dims must be different, got {rows} and {columns} of {shown(dim)}",
            hint="pass two different dimensions",
            operator=name,
        )
    return rows, columns


def _matrix_norm(name: str, values: Any, ord: Any, dim: Any, keepdim: bool) -> Any:
    rows, columns = _pair(name, values, dim)
    if ord == "fro":
        return norm(values, 2, (rows, columns), keepdim)
    if ord not in ("nuc", 1, -1, 2, -2, inf, -inf):
        raise ModeError(
            f"ord must be 'fro', 'nuc', 1, -1, 2, -2, inf or -inf, got {shown(ord)}",
            hint="use linalg.vector_norm, which accepts any number",
            operator=name,
        )
    of_values = ord == "nuc" or abs(ord) == 2  # norms of the singular values
    if of_values:
        norms = linalg_svdvals(values.movedim((rows, columns), LAST))
        of_largest = -1
    else:
        if abs(ord) == inf:
            rows, columns = columns, rows
        norms = values.abs().sum(rows)
        of_largest = columns - (rows < columns)
    if ord == "nuc" or ord > 0 and not norms.shape[of_largest]:  # the norm of no elements is 0
        norms = norms.sum(of_largest)
    else:
        norms = norms.amax(of_largest) if ord > 0 else norms.amin(of_largest)
    if keepdim:
        for at in sorted((rows, columns)):
            norms = norms.unsqueeze(at)
    return norms


def _matrix_samples() -> Iterator[Sample]:
    for ord in ("fro", "nuc", 1, -1, 2, -2, inf, -inf):
        yield Sample((Array((3, 4)), ord))
        yield Sample((Array((2, 3, 4)), ord, (2, 0)), {"keepdim": True})
    yield Sample((Array((4, 3), layout="transposed"),))
    yield Sample((Array((2, 0)), "nuc"))


def _bad_matrices() -> Iterator[ErrorSample]:
    yield ErrorSample((Array((3,)),), ShapeError, r"at least 2, got \(-2, -1\) and shape \[3\]")
    yield ErrorSample((Array((2, 3)), 3), ModeError, "ord must be 'fro', .* got 3")
    yield ErrorSample((Array((2, 3)), 1, (0, -2)), ShapeError, "dims must be different, got 0 and 0")
    yield ErrorSample((Array((2, 3), dtype="int64"),), DtypeError, "floating point tensor as input, got int64")


@composite(
    samples=_matrix_samples, errors=_bad_matrices, dtypes=TYPES, host="may wait", method=False, function=False,
    called="linalg.matrix_norm", other_names={"input": "A"},
)  # fmt: skip
def linalg_matrix_norm(
    A: Operand, ord: Any = "fro", dim: Any = LAST, keepdim: bool = False, *, dtype: Any = None
) -> Any:
    """Compute the norm of matrices.

    ord: "fro": the square root of the sum of squares.  "nuc": the sum of the singular values; 2, -2: the largest and
    the smallest one.  1, -1: the largest and smallest column sum of absolute values; inf, -inf: those of row sums.
    dim: the dimensions of the matrices.  dtype: the type to compute in; not narrower than the input's.
    Shapes: [*, m, n] gives [*], or [*, 1, 1] if keepdim.
    Host:   returns at once; for singular values waits, if the operand is on a GPU.
    Raises: ShapeError for fewer than two dimensions, or two equal ones, ModeError for any other ord, DtypeError for
            integers.
    Example:
        >>> a = torch.tensor([[3.0, 0.0], [0.0, -4.0]])
        >>> torch.linalg.matrix_norm(a), torch.linalg.matrix_norm(a, "nuc"), torch.linalg.matrix_norm(a, 1)
        (tensor(5.), tensor(7.), tensor(4.))
    """
    name = "linalg.matrix_norm"
    return _matrix_norm(name, _typed(name, A, dtype), ord, dim, keepdim)


def _norm_samples() -> Iterator[Sample]:
    yield Sample((Array((2, 3, 4)),))
    yield Sample((Array((3, 4)), 1))
    yield Sample((Array((5,)), 1))
    yield Sample((Array((2, 3, 4)), 1, 1), {"keepdim": True})
    yield Sample((Array((2, 3, 4)), "nuc", (0, 1)))
    yield Sample((Array((4, 3), layout="transposed"), inf))


def _bad_norms() -> Iterator[ErrorSample]:
    yield ErrorSample((Array((2, 3, 4)), 1), ShapeError, r"one or two dimensions.* got shape \[2, 3, 4\]")
    yield ErrorSample((Array((2, 3)), "nuc", 0), ShapeError, r"must be a 2-tuple .* got 0 and shape \[2, 3\]")
    yield ErrorSample((Array((2, 3)), 1, ()), ShapeError, r"length 1 or 2, got \(\)")
    yield ErrorSample((Array((3,), dtype="int64"),), DtypeError, "floating point tensor as input, got int64")


@composite(
    samples=_norm_samples, errors=_bad_norms, dtypes=TYPES, host="may wait", method=False, function=False,
    called="linalg.norm", other_names={"input": "A"},
)  # fmt: skip
def linalg_norm(A: Operand, ord: Any = None, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """Compute a vector norm or a matrix norm.

    With ord=None, the result is the 2-norm of all elements, or of those along dim.  With any other ord, it is
    `linalg.vector_norm` along one dimension or `linalg.matrix_norm` of two; without dim, A must have one or two.
    Shapes: the input's without the reduced dimensions, or with size 1 there if keepdim.
    Host:   returns at once; for singular values waits, if the operand is on a GPU.
    Raises: ShapeError for a wrong number of dimensions, ModeError for an unknown ord, DtypeError for integers.
    Example:
        >>> a = torch.tensor([[3.0, 0.0], [0.0, -4.0]])
        >>> torch.linalg.norm(a), torch.linalg.norm(a, 2), torch.linalg.norm(a, 1, dim=1)
        (tensor(5.), tensor(4.), tensor([3., 4.]))
    """
    name = "linalg.norm"
    values = _typed(name, A, dtype)
    if dim is None and ord is not None and len(values.shape) not in (1, 2):
        raise ShapeError(
            f"an ord without dim takes one or two dimensions, got shape {list(values.shape)} and ord {shown(ord)}",
            hint="pass dim, or leave ord out",
            operator=name,
        )
    count = len(values.shape) if dim is None else 1 if isinstance(dim, int) else len(dim)
    if dim is not None and count not in (1, 2):
        raise ShapeError(f"dim must be of length 1 or 2, got {shown(dim)}", hint="leave it out", operator=name)
    if ord is None:
        return _vector_norm(name, values, 2, dim, keepdim)
    if count == 2 or isinstance(ord, str):
        return _matrix_norm(name, values, ord, LAST if dim is None else dim, keepdim)
    return _vector_norm(name, values, ord, dim, keepdim)


def _former_samples() -> Iterator[Sample]:
    yield Sample((Array((2, 3, 4)), (0, 1)))
    yield Sample((Array((4, 3), layout="transposed"), (1, 0), True))


def _no_matrix() -> Iterator[ErrorSample]:
    yield ErrorSample((Array((3,)),), ShapeError, r"a tensor with at least 2, got \(-2, -1\) and shape \[3\]")


def _no_dimension() -> Iterator[ErrorSample]:
    yield ErrorSample((Array((3, 3)), 5), IndexRangeError, r"range of \[-2, 1\], but got 5")


@composite(samples=_former_samples, errors=_no_matrix, dtypes=TYPES, host="waits", method=False)
def nuclear_norm(input: Operand, dim: Any = LAST, keepdim: bool = False) -> Any:
    """Return the sum of the singular values of matrices.

    dim: the two dimensions of the matrices.

    Shapes: the input's without the two dimensions, or with size 1 there if keepdim.
    Host:   waits if the operand is on a GPU.
    Raises: ShapeError for less than two dimensions, or two equal ones, IndexRangeError if one is out of range,
            DtypeError for integers.
    Example:
        >>> torch.nuclear_norm(torch.tensor([[3.0, 0.0], [0.0, -4.0]]))
        tensor(7.)
    """
    if isinstance(dim, bool):  # PyTorch's form without dim
        dim, keepdim = LAST, dim
    return _matrix_norm("nuclear_norm", _typed("nuclear_norm", input, None), "nuc", dim, keepdim)


def _frobenius_samples() -> Iterator[Sample]:
    yield from _former_samples()
    yield Sample((Array((2, 3)), 1))


@composite(samples=_frobenius_samples, errors=_no_dimension, dtypes=FLOATING_TYPES, method=False)
def frobenius_norm(input: Operand, dim: Any, keepdim: bool = False) -> Any:
    """Compute the square root of the sum of squares over one or two dimensions.

    Shapes: the input's without these dimensions, or with size 1 there if keepdim.
    Host:   returns at once.
    Raises: IndexRangeError if a dimension is out of range, ShapeError for more than two, DtypeError for integers.
    Example:
        >>> torch.frobenius_norm(torch.tensor([[3.0, 4.0], [0.0, 2.0]]), 1)
        tensor([5., 2.])
    """
    dims: Sequence[int] = [dim] if isinstance(dim, int) else list(dim)
    if len(dims) > 2:
        raise ShapeError(
            f"Expected at most 2 dimensions, but got {len(dims)} dimensions instead: {list(dims)}",
            hint="use linalg.vector_norm, which accepts any number",
            operator="frobenius_norm",
        )
    return norm(input, 2, dims, keepdim)


@composite(
    samples=lambda: [Sample((Array((2, 3, 4)),)), Sample((Array((2, 3, 4)), 1, 1)), Sample((Array((3, 4)), 2, -1))],
    errors=lambda: [ErrorSample((Array(()), 2, 0), IndexRangeError, "specified as 0 but tensor has no dimensions")],
    dtypes=FLOATING_TYPES, method=False, takes_out=False,
)  # fmt: skip
def norm_except_dim(v: Operand, pow: int = 2, dim: int = 0) -> Any:
    """Compute the norm over all dimensions except `dim`; the reduced dimensions are kept with size 1.

    pow: the p of the p-norm.  dim: -1 means the norm of all elements.
    Shapes: the input's with size 1 in every dimension but `dim`; no dimensions for dim=-1.
    Host:   returns at once.
    Raises: IndexRangeError if `dim` is out of range, DtypeError for integers.
    Example:
        >>> torch.norm_except_dim(torch.tensor([[3.0, 4.0], [0.0, 2.0]]))
        tensor([[5.],
                [2.]])
    """
    if dim == -1:
        return norm(v, pow)
    _typed("norm_except_dim", v, None)
    if not v.shape:
        raise IndexRangeError(
            f"Dimension specified as {dim} but tensor has no dimensions",
            hint="pass dim=-1 for the norm of all elements",
            operator="norm_except_dim",
        )
    kept = st.wrap_dim(dim, len(v.shape), "norm_except_dim")
    others = [at for at in range(len(v.shape)) if at != kept]
    values: Any = v
    return norm(values, pow, others, True) if others else values.abs()
