"""Norms over dimensions."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from math import inf
from typing import Any

from ..dtypes import FLOATING_TYPES
from ..errors import DtypeError
from ..host import np
from .dims import Dims, bad_floats, dims_of, folds, reduced_shape, restored
from .operator import Array, ErrorSample, Operand, Sample, composite, operator
from .reduction import SUM, Fold, run_fold


@cache
def norm_fold(p: float) -> Fold:
    """Sum of |x|^p, then its p-th root."""
    if p == 2:
        return SUM._replace(name="norm2", map="x * x", finish="sqrt(a)", mapped=_squares, finished=_square_root)
    name = f"norm{p:g}".replace(".", "_").replace("-", "minus").replace("+", "")

    def mapped(rows: Any) -> Any:
        return np.abs(rows) ** rows.dtype.type(p)

    def finished(total: Any, scale: Any) -> Any:
        return total ** total.dtype.type(1 / p)

    return SUM._replace(
        name=name, map=f"pow(fabs(x), (A){p!r})", finish=f"pow(a, (A){1 / p!r})", mapped=mapped, finished=finished
    )


def _squares(rows: Any) -> Any:
    return np.square(rows)


def _square_root(total: Any, scale: Any) -> Any:
    return np.sqrt(total)


@operator(samples=folds, errors=bad_floats, dtypes=FLOATING_TYPES, method=False, function=False)
def vector_norm(call: Any, input: Operand, dim: Dims = None, keepdim: bool = False, p: float = 2.0) -> Any:
    """p-norm for a finite p other than 0: what `norm` calls."""
    if not input.dtype.is_floating_point:
        raise DtypeError(
            f"input must be floating point, got {input.dtype.name}", hint="convert with .float()", operator="norm"
        )
    dims = dims_of(call.name, dim, len(input.shape))
    out = call.output(reduced_shape(input.shape, dims, keepdim), input.dtype)
    run_fold(call, norm_fold(float(p)), input, dims, out, input.dtype.wide)
    return out


@vector_norm.derivative
def _(grad: Any, out: Any, input: Any, dim: Any, keepdim: Any, p: Any) -> Any:
    scaled = (grad / (out if p == 2 else out ** (p - 1))).masked_fill(out == 0, 0)
    scaled = restored(scaled, input.shape, dim, keepdim)
    if p == 2:
        return input * scaled
    return (input.sign() * input.abs() ** (p - 1)).masked_fill(input == 0, 0) * scaled


def _norms() -> Iterator[Sample]:
    for p in (2, 1, 3, 0.5, 0, inf, -inf):
        yield Sample((Array((3, 4), grad=p != 0), p))
    yield Sample((Array((2, 3, 4)),), {"dim": (0, 2), "keepdim": True})
    yield Sample((Array((4, 3), layout="transposed"), 1.5, 0))
    yield Sample((Array((2, 0)), "fro", 1))


def _bad_norms() -> Iterator[ErrorSample]:
    for sample in bad_floats():
        yield ErrorSample(sample.args[:1], sample.error, sample.match, {"dim": (*sample.args, None)[1]})


@composite(samples=_norms, errors=_bad_norms, dtypes=FLOATING_TYPES)
def norm(input: Operand, p: Any = 2, dim: Dims = None, keepdim: bool = False, dtype: Any = None) -> Any:
    """p-norm of the elements over some dimensions, or all of them; p may be inf, -inf or 0 (counts nonzero).

    Its gradient is 0 where the norm is 0.
    Shapes: the input's without the reduced dimensions, or with size 1 there if keepdim.
    Host:   returns at once.
    Raises: DtypeError for integers; IndexRangeError, ShapeError for bad dimensions.
    Example:
        >>> torch.norm(torch.tensor([3.0, 4.0]))
        tensor(5.)
        >>> torch.tensor([[3.0, -4.0], [0.0, 2.0]]).norm(1, dim=1)
        tensor([7., 2.])
    """
    values: Any = input if dtype is None else input.to(dtype)  # type: ignore[attr-defined]
    p = 2.0 if p == "fro" else float(p)
    if abs(p) != inf and p != 0:
        return vector_norm(values, dim, keepdim, p)
    dims = dims_of("norm", dim, len(values.shape))
    if p == 0:
        return (values != 0).sum(dims, keepdim).to(values.dtype)
    return values.abs().amax(dims, keepdim) if p > 0 else values.abs().amin(dims, keepdim)
