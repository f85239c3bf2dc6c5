"""Samples and error samples that several operators share."""

from __future__ import annotations

from collections.abc import Iterator

from .. import dtypes
from ..dtypes import bool_
from ..errors import DtypeError, IndexRangeError, ShapeError
from .operator import Array, ErrorSample, Sample

# pointwise operators

NUMERIC_TYPES = tuple(dtype for dtype in dtypes.ALL if dtype is not bool_)


def pairs() -> Iterator[Sample]:
    """Yield two operands: dense, broadcast, strided, empty, zero-dimensional, mixed with numbers and other types."""
    yield Sample((Array((3, 4)), Array((3, 4), seed=1)))
    yield Sample((Array((3, 1)), Array((4,), seed=1)))
    yield Sample((Array((4, 3), layout="transposed"), Array((4, 3), seed=1)))
    yield Sample((Array((2, 3), layout="strided"), 2))
    yield Sample((Array((5,)), Array((), seed=1)))
    yield Sample((Array((0, 3)), Array((3,), seed=1)))
    yield Sample((Array((3,)), Array((3,), dtype="float32", seed=1, grad=False)))
    yield Sample((Array(()), 1.5))


def scaled_pairs() -> Iterator[Sample]:
    """Return samples like `pairs`, and some with alpha."""
    yield from pairs()
    yield Sample((Array((3, 1)), Array((4,), seed=1)), {"alpha": 2})
    yield Sample((Array((4, 3), layout="transposed"), Array((4, 3), seed=1)), {"alpha": 3})


def divisible_pairs() -> Iterator[Sample]:
    """Return samples like `pairs`, with divisors away from 0 and values away from rounding boundaries."""
    yield Sample((Array((3, 4), 1, 7), Array((3, 4), 1, 4, seed=1)))
    yield Sample((Array((3, 1), -7, -1), Array((4,), 2, 4, seed=1)))
    yield Sample((Array((4, 3), 1, 7, layout="transposed"), Array((4, 3), 1, 4, seed=1)))
    yield Sample((Array((2, 3), 1, 7, layout="strided"), 2))
    yield Sample((Array((0, 3)), Array((3,), 1, 2, seed=1)))
    yield Sample((3, Array((2,), 1, 4)))


def singles() -> Iterator[Sample]:
    """Return one operand of every layout."""
    yield Sample((Array((3, 4)),))
    yield Sample((Array((4, 3), layout="transposed"),))
    yield Sample((Array((2, 3), layout="strided"),))
    yield Sample((Array((0, 3)),))
    yield Sample((Array(()),))


def positives() -> Iterator[Sample]:
    """Return samples like `singles`, with values above 0."""
    return (Sample((sample.args[0]._replace(low=0.5, high=3.0),)) for sample in singles())


def unbroadcastable() -> Iterator[ErrorSample]:
    yield ErrorSample((Array((3, 4)), Array((3,))), ShapeError, r"shapes \[3, 4\] and \[3\] do not broadcast")


def one_bool() -> Iterator[ErrorSample]:
    yield ErrorSample((Array((3,), dtype="bool"),), DtypeError, "bool operands are not supported")


def no_floats() -> Iterator[ErrorSample]:
    """Return integers, for operators that accept only floating point."""
    yield ErrorSample((Array((3,), dtype="int64"),), DtypeError, "operands must be floating point, got int64")


# reductions and dimensions


def reduction_samples() -> Iterator[Sample]:
    """Return one operand and dimensions: all, one, several, kept, strided, empty, zero-dimensional."""
    yield Sample((Array((3, 4)),))
    yield Sample((Array((3, 4)), 0))
    yield Sample((Array((2, 3, 4)), (0, -1), True))
    yield Sample((Array((4, 3), layout="transposed"), 1))
    yield Sample((Array((2, 6), layout="strided"), -1))
    yield Sample((Array((3, 0)), 0))
    yield Sample((Array(()),))
    yield Sample((Array((2, 300)), 1))


def bad_dims() -> Iterator[ErrorSample]:
    yield ErrorSample((Array((2, 3)), 2), IndexRangeError, r"expected to be in range of \[-2, 1\], but got 2")


def bad_second() -> Iterator[ErrorSample]:
    """Yield a bad second dimension, for operators with two."""
    yield ErrorSample((Array((2, 3)), 0, 2), IndexRangeError, r"expected to be in range of \[-2, 1\], but got 2")


def bad_new() -> Iterator[ErrorSample]:
    """Yield a bad dimension, for operators that insert one."""
    yield ErrorSample((Array((2, 3)), 3), IndexRangeError, r"expected to be in range of \[-3, 2\], but got 3")


def bad_last() -> Iterator[ErrorSample]:
    """Return bad dimensions, for operators whose first attribute is one dimension."""
    yield from bad_dims()
    yield ErrorSample((Array(()), 1), IndexRangeError, r"expected to be in range of \[-1, 0\], but got 1")


def bad_lists() -> Iterator[ErrorSample]:
    yield from bad_dims()
    yield ErrorSample((Array((2, 3)), (0, -2)), ShapeError, "dim 0 appears multiple times")


def bad_floats() -> Iterator[ErrorSample]:
    yield from bad_lists()
    yield ErrorSample((Array((2, 3), dtype="int64"),), DtypeError, "must be floating point, got int64")


def nothing_to_choose() -> Iterator[ErrorSample]:
    yield from bad_dims()
    yield ErrorSample((Array((0, 3)),), IndexRangeError, "expected reduction dim to be specified")
    yield ErrorSample((Array((0, 3)), 0), IndexRangeError, "expected reduction dim 0 to have non-zero size")


# indices


def index_array(*shape: int, low: int = 0, high: int = 2, seed: int = 3) -> Array:
    return Array(shape, low=low, high=high, dtype="int64", seed=seed, grad=False)
