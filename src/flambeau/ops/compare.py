"""Comparisons, logic on truth values and on bits, selection by a condition, maximum, minimum and clamp."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from math import nan
from typing import Any

from .. import callers, dtypes
from ..dtypes import INTEGER, bool_, converted, dtype, uint8
from ..errors import DtypeError, ShapeError, ValueRangeError
from ..host import CLIPPED, np
from ..strides import Shape, contiguous
from .copies import fill
from .indexing import nonzero
from .operator import Array, ErrorSample, Operand, Sample, Value, passed_as
from .pointwise import PYTHON, Pointwise, Types, as_bool, is_tensor, numbers, numpy_type, pointwise, promoted, to_bool
from .samples import NUMERIC_TYPES, pairs, singles, unbroadcastable

INTEGRAL = (bool_, *dtypes.INTEGER_TYPES)


# comparisons


class Comparison(Pointwise):
    """A comparison.  A number is first rounded to the half type of the other operand: a tensor of 0.1 equals 0.1."""

    def lower(self, call: Any, input: Any, other: Any) -> Any:
        return super().lower(call, _rounded(input, other), _rounded(other, input))


def _rounded(value: Any, beside: Any) -> Any:
    if is_tensor(value) or not is_tensor(beside) or beside.dtype.wide is beside.dtype:
        return value
    return passed_as(value, partial(_as_half, beside.dtype), float)


def _as_half(dtype: dtype, value: Any) -> float:
    with np.errstate(over="ignore"):
        return float(dtype.numpy.type(value))


def _comparison(symbol: str) -> Any:
    def made(body: Any) -> Comparison:
        operator = Comparison(
            body, to_bool, f"input {symbol} other", 1.0, samples=pairs, errors=unbroadcastable, dtypes=dtypes.ALL,
            inplace=True, differentiable=False,
        )  # fmt: skip
        operator.derivative(_no_slope)
        return operator

    return made


def _no_slope(grad: Any, needs: Any) -> Any:
    """Return a zero gradient: a comparison written in place may have a floating point result."""
    return fill(grad, 0), fill(grad, 0) if needs[1] else None


@_comparison("==")
def eq(input: Value, other: Value) -> Any:
    """Compute input == other for each pair of elements, as bool; False if either value is NaN.

    Shapes: the inputs broadcast together; the result has the broadcast shape.
    Host:   returns at once.
    Raises: ShapeError if the shapes do not broadcast.
    Example:
        >>> torch.eq(torch.tensor([1, 2, 3]), torch.tensor([1, 0, 3]))
        tensor([ True, False,  True])
    """
    return np.equal(input, other)


@_comparison("!=")
def ne(input: Value, other: Value) -> Any:
    """Compute input != other, as bool; True for NaN.

    Shapes: the inputs broadcast together; the result has the broadcast shape.
    Host:   returns at once.
    Raises: ShapeError if the shapes do not broadcast.
    Example:
        >>> torch.ne(torch.tensor([1, 2, 3]), 2)
        tensor([ True, False,  True])
    """
    return np.not_equal(input, other)


@_comparison("<")
def lt(input: Value, other: Value) -> Any:
    """Compute input < other, as bool.

    Shapes: the inputs broadcast together; the result has the broadcast shape.
    Host:   returns at once.
    Raises: ShapeError if the shapes do not broadcast.
    Example:
        >>> torch.lt(torch.tensor([1, 2, 3]), 2)
        tensor([ True, False, False])
    """
    return np.less(input, other)


@_comparison("<=")
def le(input: Value, other: Value) -> Any:
    """Compute input <= other, as bool.

    Shapes: the inputs broadcast together; the result has the broadcast shape.
    Host:   returns at once.
    Raises: ShapeError if the shapes do not broadcast.
    Example:
        >>> torch.le(torch.tensor([1, 2, 3]), 2)
        tensor([ True,  True, False])
    """
    return np.less_equal(input, other)


@_comparison(">")
def gt(input: Value, other: Value) -> Any:
    """Compute input > other, as bool.

    Shapes: the inputs broadcast together; the result has the broadcast shape.
    Host:   returns at once.
    Raises: ShapeError if the shapes do not broadcast.
    Example:
        >>> torch.gt(torch.tensor([1, 2, 3]), 2)
        tensor([False, False,  True])
    """
    return np.greater(input, other)


@_comparison(">=")
def ge(input: Value, other: Value) -> Any:
    """Compute input >= other, as bool.

    Shapes: the inputs broadcast together; the result has the broadcast shape.
    Host:   returns at once.
    Raises: ShapeError if the shapes do not broadcast.
    Example:
        >>> torch.ge(torch.tensor([1, 2, 3]), 2)
        tensor([False,  True,  True])
    """
    return np.greater_equal(input, other)


def _test(cuda: str) -> Any:
    return pointwise(dtype=to_bool, cuda=cuda, samples=singles, dtypes=dtypes.ALL, inplace=False)


@_test("is_nan(input)")
def isnan(input: Operand) -> Any:
    """Test each element for NaN.

    Shapes: same as the input.
    Host:   returns at once.
    Raises: ArgumentTypeError if the input is not a tensor.
    Example:
        >>> torch.isnan(torch.tensor([1.0, float("nan"), float("inf")]))
        tensor([False,  True, False])
    """
    return np.not_equal(input, input)


@_test("is_infinite(input)")
def isinf(input: Operand) -> Any:
    """Test each element for infinity.

    Shapes: same as the input.
    Host:   returns at once.
    Raises: ArgumentTypeError if the input is not a tensor.
    Example:
        >>> torch.isinf(torch.tensor([1.0, float("nan"), -float("inf")]))
        tensor([False, False,  True])
    """
    return np.isinf(input)


@_test("!is_nan(input) && !is_infinite(input)")
def isfinite(input: Operand) -> Any:
    """Test whether each element is finite: neither infinite nor NaN.

    Shapes: same as the input.
    Host:   returns at once.
    Raises: ArgumentTypeError if the input is not a tensor.
    Example:
        >>> torch.isfinite(torch.tensor([1.0, float("nan"), float("inf")]))
        tensor([ True, False, False])
    """
    return np.isfinite(input)


@_test("is_infinite(input) && input > 0")
def isposinf(input: Operand) -> Any:
    """Test each element for positive infinity.

    Shapes: same as the input.
    Host:   returns at once.
    Raises: ArgumentTypeError if the input is not a tensor.
    Example:
        >>> torch.isposinf(torch.tensor([1.0, float("inf"), -float("inf")]))
        tensor([False,  True, False])
    """
    return np.isposinf(input) if numpy_type(input).kind == "f" else np.zeros(input.shape, bool)


@_test("is_infinite(input) && input < 0")
def isneginf(input: Operand) -> Any:
    """Test each element for negative infinity.

    Shapes: same as the input.
    Host:   returns at once.
    Raises: ArgumentTypeError if the input is not a tensor.
    Example:
        >>> torch.isneginf(torch.tensor([1.0, float("inf"), -float("inf")]))
        tensor([False, False,  True])
    """
    return np.isneginf(input) if numpy_type(input).kind == "f" else np.zeros(input.shape, bool)


@_test("true")
def isreal(input: Operand) -> Any:
    """Test whether each element is real: True everywhere, as there are no complex numbers.

    Shapes: same as the input.
    Host:   returns at once.
    Raises: ArgumentTypeError if the input is not a tensor.
    Example:
        >>> torch.isreal(torch.tensor([1.0, 2.0]))
        tensor([True, True])
    """
    return np.ones(input.shape, bool)


@_test("is_negative(input)")
def signbit(input: Operand) -> Any:
    """Test each element for a set sign bit; -0.0 has one.

    Shapes: same as the input.
    Host:   returns at once.
    Raises: ArgumentTypeError if the input is not a tensor.
    Example:
        >>> torch.signbit(torch.tensor([1.0, -2.0, -0.0]))
        tensor([False,  True,  True])
    """
    return np.signbit(input) if numpy_type(input).kind == "f" else np.less(input, 0)


# logic


def _logic(cuda: str, samples: Any = pairs, errors: Any = unbroadcastable) -> Any:
    return pointwise(dtype=as_bool, cuda=cuda, samples=samples, errors=errors, dtypes=dtypes.ALL)


@_logic("input && other")
def logical_and(input: Value, other: Value) -> Any:
    """Compute the logical AND: True where both values are nonzero; NaN counts as nonzero.

    Shapes: the inputs broadcast together; the result has the broadcast shape.
    Host:   returns at once.
    Raises: ShapeError if the shapes do not broadcast.
    Example:
        >>> torch.logical_and(torch.tensor([0, 1, 2]), torch.tensor([True, True, False]))
        tensor([False,  True, False])
    """
    return np.logical_and(input, other)


@_logic("input || other")
def logical_or(input: Value, other: Value) -> Any:
    """Compute the logical OR: True where either value is nonzero; NaN counts as nonzero.

    Shapes: the inputs broadcast together; the result has the broadcast shape.
    Host:   returns at once.
    Raises: ShapeError if the shapes do not broadcast.
    Example:
        >>> torch.logical_or(torch.tensor([0, 1, 2]), torch.tensor([False, False, True]))
        tensor([False,  True,  True])
    """
    return np.logical_or(input, other)


@_logic("input != other")
def logical_xor(input: Value, other: Value) -> Any:
    """Compute the logical exclusive OR: True where exactly one value is nonzero; NaN counts as nonzero.

    Shapes: the inputs broadcast together; the result has the broadcast shape.
    Host:   returns at once.
    Raises: ShapeError if the shapes do not broadcast.
    Example:
        >>> torch.logical_xor(torch.tensor([0, 1, 2]), torch.tensor([True, True, False]))
        tensor([ True, False,  True])
    """
    return np.logical_xor(input, other)


@_logic("!input", singles, None)
def logical_not(input: Operand) -> Any:
    """Compute the logical NOT: True where the value is 0; NaN counts as nonzero.

    Shapes: same as the input.
    Host:   returns at once.
    Raises: ArgumentTypeError if the input is not a tensor.
    Example:
        >>> torch.logical_not(torch.tensor([0, 1, 2]))
        tensor([ True, False, False])
    """
    return np.logical_not(input)


def _integral(name: str, types: Types, common: dtype) -> tuple[Types, dtype]:
    if common.is_floating_point:
        raise DtypeError(f"operands must be integers or bool, got {common.name}", hint="call .long()", operator=name)
    return promoted(name, types, common)


def _integer_pairs() -> Iterator[Sample]:
    yield Sample((Array((3, 4), 0, 9), Array((3, 4), 0, 9, seed=1)))
    yield Sample((Array((3, 1), 0, 9), Array((4,), 0, 9, seed=1)))
    yield Sample((Array((4, 3), 0, 9, layout="transposed"), 1))
    yield Sample((Array((2, 3), 0, 9, layout="strided"), Array((), 1, 2)))
    yield Sample((Array((0, 3)), Array((3,), seed=1)))


def _floats() -> Iterator[ErrorSample]:
    yield ErrorSample((Array((3,)), Array((3,))), DtypeError, "operands must be integers or bool, got float32")


def _one_float() -> Iterator[ErrorSample]:
    yield ErrorSample((Array((3,)),), DtypeError, "operands must be integers or bool, got float32")


def _bits(cuda: str, samples: Any = _integer_pairs, errors: Any = _floats) -> Any:
    return pointwise(dtype=_integral, cuda=cuda, samples=samples, errors=errors, dtypes=INTEGRAL)


@_bits("input & other")
def bitwise_and(input: Value, other: Value) -> Any:
    """Compute the bitwise AND, `input & other`; for bool, the logical AND.

    Shapes: the inputs broadcast together; the result has the broadcast shape.
    Host:   returns at once.
    Raises: ShapeError if the shapes do not broadcast, DtypeError for floating point.
    Example:
        >>> torch.bitwise_and(torch.tensor([0b1100, 0b1010]), 0b0110)
        tensor([4, 2])
    """
    return np.bitwise_and(input, other)


@_bits("input | other")
def bitwise_or(input: Value, other: Value) -> Any:
    """Compute the bitwise OR, `input | other`; for bool, the logical OR.

    Shapes: the inputs broadcast together; the result has the broadcast shape.
    Host:   returns at once.
    Raises: ShapeError if the shapes do not broadcast, DtypeError for floating point.
    Example:
        >>> torch.bitwise_or(torch.tensor([0b1100, 0b1010]), 0b0001)
        tensor([13, 11])
    """
    return np.bitwise_or(input, other)


@_bits("input ^ other")
def bitwise_xor(input: Value, other: Value) -> Any:
    """Compute the bitwise exclusive OR, `input ^ other`; for bool, the logical exclusive OR.

    Shapes: the inputs broadcast together; the result has the broadcast shape.
    Host:   returns at once.
    Raises: ShapeError if the shapes do not broadcast, DtypeError for floating point.
    Example:
        >>> torch.bitwise_xor(torch.tensor([0b1100, 0b1010]), 0b1111)
        tensor([3, 5])
    """
    return np.bitwise_xor(input, other)


@_bits("inverted(input)", singles, _one_float)
def bitwise_not(input: Operand) -> Any:
    """Compute the bitwise NOT, `~input`, which inverts every bit; for bool, the logical NOT.

    Shapes: same as the input.
    Host:   returns at once.
    Raises: DtypeError for floating point.
    Example:
        >>> torch.bitwise_not(torch.tensor([0, 5]))
        tensor([-1, -6])
        >>> torch.bitwise_not(torch.tensor([True, False]))
        tensor([False,  True])
    """
    return np.invert(input)


def _shifts() -> Iterator[Sample]:
    yield Sample((Array((3, 4), 0, 9), Array((3, 4), -1, 9, seed=1)))
    yield Sample((Array((3, 1), 0, 9), Array((4,), 0, 3, seed=1)))
    yield Sample((Array((4, 3), 0, 9, layout="transposed"), 1))
    yield Sample((Array((2, 3), 0, 9, layout="strided"), 64))
    yield Sample((2, Array((3,), 0, 9)))
    yield Sample((Array((0, 3)), Array((3,), seed=1)))


def _whole(name: str, types: Types, common: dtype) -> tuple[Types, dtype]:
    if common.category != INTEGER:
        raise DtypeError(f"operands must be integers, got {common.name}", hint="call .long()", operator=name)
    return promoted(name, types, common)


def _shift(cuda: str) -> Any:
    return pointwise(dtype=_whole, cuda=cuda, samples=_shifts, errors=_no_shift, dtypes=dtypes.INTEGER_TYPES)


def _no_shift() -> Iterator[ErrorSample]:
    yield ErrorSample((Array((3,)), Array((3,))), DtypeError, "operands must be integers, got float32")
    bools = Array((3,), dtype="bool")
    yield ErrorSample((bools, bools), DtypeError, "operands must be integers, got bool")


@_shift("shifted_left(input, other)")
def bitwise_left_shift(input: Value, other: Value) -> Any:
    """Shift `input` left by `other` bits.

    The result is 0 if `other` is negative, or at least the number of bits of the type.

    Shapes: the inputs broadcast together; the result has the broadcast shape.
    Host:   returns at once.
    Raises: DtypeError for floating point and bool.
    Example:
        >>> torch.bitwise_left_shift(torch.tensor([1, 3]), 4)
        tensor([16, 48])
    """
    bits = 8 * numpy_type(input).itemsize
    held = (other >= 0) & (other < bits)
    return np.where(held, np.left_shift(input, np.where(held, other, 0)), 0)


@_shift("shifted_right(input, other)")
def bitwise_right_shift(input: Value, other: Value) -> Any:
    """Shift `input` right by `other` bits, keeping its sign.

    If `other` is negative, or at least the number of bits of the type, every bit of the result is the sign bit.

    Shapes: the inputs broadcast together; the result has the broadcast shape.
    Host:   returns at once.
    Raises: DtypeError for floating point and bool.
    Example:
        >>> torch.bitwise_right_shift(torch.tensor([48, -16]), 4)
        tensor([ 3, -1])
    """
    last = 8 * numpy_type(input).itemsize - 1
    is_unsigned = numpy_type(input).kind == "u"
    held = (other >= 0) & (other <= last)
    moved = np.right_shift(input, np.where(held, other, last))
    return np.where(held, moved, 0) if is_unsigned else moved


# where and masked_fill


def _choices() -> Iterator[Sample]:
    yield Sample((Array((3, 4), -1, 2, dtype="bool"), Array((3, 4), seed=1), Array((3, 4), seed=2)))
    yield Sample((Array((3, 1), -1, 2, dtype="bool"), Array((4,), seed=1), 0))
    yield Sample((Array((4, 3), -1, 2, dtype="bool", layout="transposed"), 1.5, Array((4, 3), seed=2)))
    yield Sample((Array((2, 3), -1, 2, dtype="bool", layout="strided"), 1, 2))
    yield Sample((Array((0, 3), dtype="bool"), Array((3,)), Array(())))


def _no_condition() -> Iterator[ErrorSample]:
    yield ErrorSample((Array((3,)), Array((3,)), Array((3,))), DtypeError, "condition must be bool, got float32")
    yield ErrorSample((Array((3,), dtype="bool"), Array((2,)), 1), ShapeError, "do not broadcast")


def _chosen(name: str, types: Types, common: dtype) -> tuple[Types, dtype]:
    if types[0] not in (bool_, uint8):
        raise DtypeError(
            f"condition must be bool, got {types[0].name}", hint="compare first, as in x > 0", operator=name
        )
    return [bool_, common, common], common


class Where(Pointwise):
    """The operator `where`; with only a condition, it calls `nonzero`."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if len(args) + len(kwargs) == 1 and (args or "condition" in kwargs):
            return nonzero(*args, *kwargs.values(), as_tuple=True)
        return super().__call__(*args, **kwargs)

    def lower(self, call: Any, condition: Any, input: Any, other: Any) -> Any:
        if condition.dtype is uint8:
            callers.warn("where: a uint8 condition is deprecated, please use a dtype torch.bool instead.")
        return super().lower(call, condition, input, other)

    def promoting(self, operands: Sequence[Any]) -> list[Any]:
        return super().promoting(operands[1:])


def _where(condition: Operand, input: Value, other: Value) -> Any:
    """Return `input` where the condition is true, else `other`.

    With only a condition, return nonzero(condition, as_tuple=True).
    Shapes: the three inputs broadcast together; the result has the broadcast shape.
    Host:   returns at once; with only a condition, waits for the number of nonzero elements.
    Raises: ShapeError if the shapes do not broadcast, DtypeError if the condition is not bool.
    Example:
        >>> x = torch.tensor([-1.0, 2.0, -3.0])
        >>> torch.where(x > 0, x, 0.0)
        tensor([0., 2., 0.])
        >>> torch.where(x < 0)
        (tensor([0, 2]),)
    """
    return np.where(condition, input, other)


where = Where(
    _where, _chosen, "condition ? input : other", 1.0, exact=True, samples=_choices, errors=_no_condition,
    dtypes=dtypes.ALL, method=False, name="where",
)  # fmt: skip


@where.derivative
def _(grad: Any, condition: Any, needs: Any) -> Any:
    return None, where(condition, grad, 0) if needs[1] else None, where(condition, 0, grad) if needs[2] else None


def _masks() -> Iterator[Sample]:
    yield Sample((Array((3, 4)), Array((3, 4), -1, 2, dtype="bool", seed=1), 1))
    yield Sample((Array((4, 3), layout="transposed"), Array((3,), -1, 2, dtype="bool", seed=1), 0))
    yield Sample((Array((2, 3), layout="strided"), Array((2, 1), -1, 2, dtype="bool", seed=1), Array((), 0, 2)))
    yield Sample((Array((0, 3)), Array((3,), 0, 2, dtype="bool"), 0))


def _no_mask() -> Iterator[ErrorSample]:
    yield ErrorSample((Array((3,)), Array((3,)), 1), DtypeError, "mask must be bool, got float32")
    mask = Array((3,), dtype="bool")
    yield ErrorSample((Array((3,)), mask, Array((2,))), ShapeError, "value must have no dimensions, got one of shape")
    yield ErrorSample((Array((3,), dtype="uint8"), mask, 300), ValueRangeError, "type uint8 without overflow: 300")
    yield ErrorSample((Array((3,), dtype="int64"), mask, nan), ValueRangeError, "type int64 without overflow: nan")


def _filled(name: str, types: Types, common: dtype) -> tuple[Types, dtype]:
    """Dtype rule of masked_fill: the value is converted to the type of the input."""
    if types[1] is not bool_:
        raise DtypeError(f"mask must be bool, got {types[1].name}", hint="compare first, as in x > 0", operator=name)
    return [types[0], bool_, types[0]], types[0]


class MaskedFill(Pointwise):
    """The operator `masked_fill`: its number is converted as by `fill_`.  A new result is contiguous."""

    def strides_of(self, shape: Sequence[int], operands: Sequence[Any]) -> Shape:
        return contiguous(shape)

    def promoting(self, operands: Sequence[Any]) -> list[Any]:
        return [operands[0]]

    def lower(self, call: Any, input: Any, mask: Any, value: Any) -> Any:
        if not hasattr(value, "shape"):
            value = passed_as(value, partial(converted, call.called, input.dtype), PYTHON[input.dtype.category])
        elif value.shape:
            raise ShapeError(
                f"value must have no dimensions, got one of shape {list(value.shape)}",
                hint="fill by several values with torch.where(mask, value, input)",
                operator=self.name,
            )
        return super().lower(call, input, mask, value)


def _masked_fill(input: Operand, mask: Operand, value: Value) -> Any:
    """Return a copy of the input with `value` where the mask is true.

    value: a number or a tensor without dimensions, which is converted to the input's type.
    Shapes: input and mask broadcast together.
    Host:   returns at once.
    Raises: ShapeError if the shapes do not broadcast or `value` has dimensions, DtypeError if the mask is not bool,
            ValueRangeError if the type cannot hold the number.
    Example:
        >>> scores = torch.tensor([0.1, 0.7, 0.2])
        >>> torch.masked_fill(scores, scores < 0.15, float("-inf"))
        tensor([  -inf, 0.7000, 0.2000])
    """
    return np.where(mask, value, input)


masked_fill = MaskedFill(
    _masked_fill, _filled, "mask ? value : input", 1.0, samples=_masks, errors=_no_mask, dtypes=dtypes.ALL,
    inplace=True, name="masked_fill",
)  # fmt: skip


@masked_fill.derivative
def _(grad: Any, mask: Any, needs: Any) -> Any:
    return masked_fill(grad, mask, 0), None, where(mask, grad, 0) if needs[2] else None


# maximum, minimum and clamp


def _extreme(cuda: str) -> Any:
    return pointwise(dtype=promoted, cuda=cuda, samples=pairs, errors=unbroadcastable, dtypes=dtypes.ALL, inplace=False)


@_extreme("larger(input, other)")
def maximum(input: Value, other: Value) -> Any:
    """Return the larger of two values; NaN if either is NaN.

    Equal values share the gradient equally.
    Shapes: the inputs broadcast together; the result has the broadcast shape.
    Host:   returns at once.
    Raises: ShapeError if the shapes do not broadcast.
    Example:
        >>> torch.maximum(torch.tensor([1.0, 5.0]), torch.tensor([3.0, float("nan")]))
        tensor([3., nan])
    """
    return np.maximum(input, other)


@_extreme("smaller(input, other)")
def minimum(input: Value, other: Value) -> Any:
    """Return the smaller of two values; NaN if either is NaN.

    Equal values share the gradient equally.
    Shapes: the inputs broadcast together; the result has the broadcast shape.
    Host:   returns at once.
    Raises: ShapeError if the shapes do not broadcast.
    Example:
        >>> torch.minimum(torch.tensor([1.0, 5.0]), torch.tensor([3.0, float("nan")]))
        tensor([1., nan])
    """
    return np.minimum(input, other)


def _share(grad: Any, lost: Any, tied: Any) -> Any:
    """Return the gradient of one input: 0 where `lost`, half where `tied`, else all of it (also where one is NaN)."""
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


def _all_tensors() -> Iterator[Sample]:
    return (sample for sample in pairs() if hasattr(sample.args[1], "shape"))


def _number_extreme(cuda: str) -> Any:
    return pointwise(
        dtype=promoted, cuda=cuda, samples=_all_tensors, errors=unbroadcastable, dtypes=dtypes.ALL, inplace=False
    )


@_number_extreme("larger_number(input, other)")
def fmax(input: Operand, other: Operand) -> Any:
    """Return the larger of two values; if one of them is NaN, return the other.

    Shapes: the inputs broadcast together; the result has the broadcast shape.
    Host:   returns at once.
    Raises: ShapeError if the shapes do not broadcast.
    Example:
        >>> torch.fmax(torch.tensor([1.0, 5.0]), torch.tensor([3.0, float("nan")]))
        tensor([3., 5.])
    """
    return np.fmax(input, other)


@fmax.derivative
def _(grad: Any, input: Any, other: Any, needs: Any) -> Any:
    first = logical_or(ge(input, other), isnan(other))
    return where(first, grad, 0) if needs[0] else None, masked_fill(grad, first, 0) if needs[1] else None


@_number_extreme("smaller_number(input, other)")
def fmin(input: Operand, other: Operand) -> Any:
    """Return the smaller of two values; if one of them is NaN, return the other.

    Shapes: the inputs broadcast together; the result has the broadcast shape.
    Host:   returns at once.
    Raises: ShapeError if the shapes do not broadcast.
    Example:
        >>> torch.fmin(torch.tensor([1.0, 5.0]), torch.tensor([3.0, float("nan")]))
        tensor([1., 5.])
    """
    return np.fmin(input, other)


@fmin.derivative
def _(grad: Any, input: Any, other: Any, needs: Any) -> Any:
    first = logical_or(le(input, other), isnan(other))
    return where(first, grad, 0) if needs[0] else None, masked_fill(grad, first, 0) if needs[1] else None


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
    return pointwise(dtype=numbers, cuda=cuda, exact=True, samples=_one_bound, errors=_bool_bound, dtypes=NUMERIC_TYPES)


@_bound("larger(input, min)")
def clamp_min(input: Operand, min: Value) -> Any:
    """Compute max(input, min); NaN is unchanged.

    Shapes: the inputs broadcast together.
    Host:   returns at once.
    Raises: ShapeError if the shapes do not broadcast, DtypeError if both operands are bool.
    Example:
        >>> torch.clamp_min(torch.tensor([-5.0, 0.5]), 0)
        tensor([0.0000, 0.5000])
    """
    return np.maximum(input, min)


@clamp_min.derivative
def _(grad: Any, input: Any, min: Any, needs: Any) -> Any:
    by_input = where(ge(input, min), grad, 0) if needs[0] else None
    return by_input, where(lt(input, min), grad, 0) if needs[1] else None


@_bound("smaller(input, max)")
def clamp_max(input: Operand, max: Value) -> Any:
    """Compute min(input, max); NaN is unchanged.

    Shapes: the inputs broadcast together.
    Host:   returns at once.
    Raises: ShapeError if the shapes do not broadcast, DtypeError if both operands are bool.
    Example:
        >>> torch.clamp_max(torch.tensor([0.5, 5.0]), 1)
        tensor([0.5000, 1.0000])
    """
    return np.minimum(input, max)


@clamp_max.derivative
def _(grad: Any, input: Any, max: Any, needs: Any) -> Any:
    by_input = where(le(input, max), grad, 0) if needs[0] else None
    return by_input, where(gt(input, max), grad, 0) if needs[1] else None


class Clamp(Pointwise):
    """The operator `clamp`: one launch, with one bound or with two."""

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


def _clamp(input: Operand, min: Value | None = None, max: Value | None = None) -> Any:
    """Limit values to [min, max]; NaN is unchanged.

    min, max: numbers or tensors; one of them may be None.  If min > max, the result is max.
    Shapes: the inputs broadcast together.
    Host:   returns at once.
    Raises: ValueRangeError if both are None; DtypeError if all operands are bool.
    Example:
        >>> torch.clamp(torch.tensor([-5.0, 0.5, 5.0]), min=-1, max=1)
        tensor([-1.0000,  0.5000,  1.0000])
    """
    if np.size(input) >= CLIPPED:
        return np.clip(input, min, max)
    lower = np.maximum(input, min)
    is_own = lower.ndim and lower.shape == input.shape and not np.ndim(max)  # a new array of the result's shape
    return np.minimum(lower, max, out=lower if is_own else None)


clamp = Clamp(
    _clamp, numbers, "smaller(larger(input, min), max)", 2.0, samples=_two_bounds, errors=_no_bounds,
    dtypes=NUMERIC_TYPES, inplace=True, name="clamp", exact=True, ufunc="clip",
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
