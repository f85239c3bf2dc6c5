"""The larger and the smaller of two values, and values held between bounds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .. import dtypes
from ..errors import DtypeError, ValueRangeError
from ..host import np
from .arithmetic import NUMBERS, pairs, unbroadcastable
from .compare import eq, ge, gt, le, logical_and, logical_or, lt, masked_fill, where
from .operator import Array, ErrorSample, Operand, Sample, Value
from .pointwise import Pointwise, numbers, pointwise, promoted


def _extreme(cuda: str) -> Any:
    return pointwise(dtype=promoted, cuda=cuda, samples=pairs, errors=unbroadcastable, dtypes=dtypes.ALL)


@_extreme("larger(input, other)")
def maximum(input: Value, other: Value) -> Any:
    """The larger of two values, NaN if either is; where they tie, the gradient is shared.

    Shapes: the inputs broadcast together; the result has the broadcast shape.
    Host:   returns at once.
    Example:
        >>> torch.maximum(torch.tensor([1.0, 5.0]), torch.tensor([3.0, float("nan")]))
        tensor([3., nan])
    """
    return np.maximum(input, other)


@_extreme("smaller(input, other)")
def minimum(input: Value, other: Value) -> Any:
    """The smaller of two values, NaN if either is; where they tie, the gradient is shared.

    Shapes: the inputs broadcast together; the result has the broadcast shape.
    Host:   returns at once.
    Example:
        >>> torch.minimum(torch.tensor([1.0, 5.0]), torch.tensor([3.0, float("nan")]))
        tensor([1., nan])
    """
    return np.minimum(input, other)


def _share(grad: Any, lost: Any, tied: Any) -> Any:
    """Nothing where an input lost, half of the gradient where both tied, else all (NaN neither loses nor ties)."""
    return where(tied, grad * 0.5, masked_fill(grad, lost, 0))


@maximum.derivative
def _(grad: Any, input: Any, other: Any, needs: Any) -> Any:
    tied = eq(input, other)
    by_input = _share(grad, lt(input, other), tied) if needs[0] else None
    return by_input, _share(grad, gt(input, other), tied) if needs[1] else None


@minimum.derivative
def _(grad: Any, input: Any, other: Any, needs: Any) -> Any:
    tied = eq(input, other)
    by_input = _share(grad, gt(input, other), tied) if needs[0] else None
    return by_input, _share(grad, lt(input, other), tied) if needs[1] else None


def _one_bound() -> Iterator[Sample]:
    yield Sample((Array((3, 4)), 0))
    yield Sample((Array((4, 3), layout="transposed"), 1))
    yield Sample((Array((2, 3), layout="strided"), 0.5))
    yield Sample((Array((3, 4)), Array((4,), -1, 1, seed=2)))
    yield Sample((Array((0, 3)), 0))
    yield Sample((Array(()), 0))


def _bool_bound() -> Iterator[ErrorSample]:
    yield ErrorSample((Array((3,), dtype="bool"), True), DtypeError, "bool operands are not supported")


def _bound(cuda: str) -> Any:
    return pointwise(dtype=numbers, cuda=cuda, exact=True, samples=_one_bound, errors=_bool_bound, dtypes=NUMBERS)


@_bound("larger(input, min)")
def clamp_min(input: Operand, min: Value) -> Any:
    """Values below `min` become `min`; NaN stays.

    Shapes: the inputs broadcast together.
    Host:   returns at once.
    Example:
        >>> torch.clamp_min(torch.tensor([-5.0, 0.5]), 0)
        tensor([0.0000, 0.5000])
    """
    return np.maximum(input, min)  # type: ignore[call-overload]


@clamp_min.derivative
def _(grad: Any, input: Any, min: Any, needs: Any) -> Any:
    by_input = where(ge(input, min), grad, 0) if needs[0] else None
    return by_input, where(lt(input, min), grad, 0) if needs[1] else None


@_bound("smaller(input, max)")
def clamp_max(input: Operand, max: Value) -> Any:
    """Values above `max` become `max`; NaN stays.

    Shapes: the inputs broadcast together.
    Host:   returns at once.
    Example:
        >>> torch.clamp_max(torch.tensor([0.5, 5.0]), 1)
        tensor([0.5000, 1.0000])
    """
    return np.minimum(input, max)  # type: ignore[call-overload]


@clamp_max.derivative
def _(grad: Any, input: Any, max: Any, needs: Any) -> Any:
    by_input = where(le(input, max), grad, 0) if needs[0] else None
    return by_input, where(gt(input, max), grad, 0) if needs[1] else None


class Clamp(Pointwise):
    """One launch for one bound, and one for two."""

    def lower(self, call: Any, input: Any, min: Any = None, max: Any = None) -> Any:
        if min is None and max is None:
            raise ValueRangeError(
                "at least one of 'min' or 'max' must not be None, got None and None",
                hint="pass a bound, as in clamp(min=0)",
                operator="clamp",
            )
        if max is None:
            return clamp_min.lower(call, input, min)
        return clamp_max.lower(call, input, max) if min is None else super().lower(call, input, min, max)


def _two_bounds() -> Iterator[Sample]:
    yield Sample((Array((3, 4)), 0, 1))
    yield Sample((Array((4, 3), layout="transposed"), None, 1))
    yield Sample((Array((2, 3), layout="strided"), 0))
    yield Sample((Array((3, 4), -4, 4), Array((4,), -2, 0, seed=1), Array((3, 1), 1, 3, seed=2)))
    yield Sample((Array((3, 4)), 1, 0))
    yield Sample((Array((0, 3)), 0, 1))
    yield Sample((Array(()),), {"max": 0})


def _no_bounds() -> Iterator[ErrorSample]:
    yield ErrorSample((Array((3,)),), ValueRangeError, "at least one of 'min' or 'max' must not be None")


def _clamp(input: Operand, min: Value = None, max: Value = None) -> Any:  # type: ignore[assignment]
    """Values held between `min` and `max`, either of which may be None; NaN stays.  Where min is above max, it is max.

    Shapes: the inputs broadcast together.
    Host:   returns at once.
    Raises: ValueRangeError if both are None; DtypeError for bool.
    Example:
        >>> torch.clamp(torch.tensor([-5.0, 0.5, 5.0]), min=-1, max=1)
        tensor([-1.0000,  0.5000,  1.0000])
    """
    return np.minimum(np.maximum(input, min), max)  # type: ignore[call-overload]


clamp = Clamp(
    _clamp, numbers, "smaller(larger(input, min), max)", 2.0, samples=_two_bounds, errors=_no_bounds, dtypes=NUMBERS,
    inplace=True, name="clamp", exact=True,
)  # fmt: skip


@clamp.derivative
def _(grad: Any, input: Any, min: Any, max: Any, needs: Any) -> Any:
    if max is None:
        return where(ge(input, min), grad, 0), where(lt(input, min), grad, 0) if needs[1] else None, None
    if min is None:
        return where(le(input, max), grad, 0), None, where(gt(input, max), grad, 0) if needs[2] else None
    inside = logical_and(ge(input, min), le(input, max))
    by_min = where(logical_and(lt(input, min), lt(min, max)), grad, 0) if needs[1] else None
    by_max = where(logical_or(gt(input, max), lt(max, min)), grad, 0) if needs[2] else None
    return where(inside, grad, 0), by_min, by_max
