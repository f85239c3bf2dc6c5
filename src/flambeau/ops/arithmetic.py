"""Pointwise arithmetic: sums, products, quotients, signs, powers, roots, and combinations of three operands."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import inf, nan
from math import log as log_of_number
from typing import Any

from .. import dtypes
from .. import strides as st
from ..core.operator import by_position
from ..dtypes import bool_, converted, dtype
from ..errors import ArgumentTypeError, DtypeError, ModeError, ShapeError, shown
from ..host import np
from .copies import fill
from .operator import REGISTRY, Array, ErrorSample, Number, Operand, Sample, Value, composite
from .pointwise import Pointwise, Types, floating_only, is_tensor, numbers, numpy_type, pointwise, promoted, to_float
from .samples import NUMERIC_TYPES, divisible_pairs, one_bool, pairs, positives, scaled_pairs, singles, unbroadcastable


def _two_bools() -> Iterator[ErrorSample]:
    yield from unbroadcastable()
    bools = Array((3,), dtype="bool")
    yield ErrorSample((bools, bools), DtypeError, "bool operands are not supported")


# sums


def _not_bool(name: str, types: Types, common: dtype) -> tuple[Types, dtype]:
    if bool_ in types:
        raise DtypeError("bool operands are not supported", hint="use ^, or ~ to invert a mask", operator=name)
    return promoted(name, types, common)


def _scaled_rule(name: str, types: Types, common: dtype) -> tuple[Types, dtype]:
    """Apply `promoted` to all types but the last, that of the scale."""
    if name == "sub_scaled":
        _not_bool(name, types[:-1], common)
    if types[-1] is bool_ and any(dtype is not bool_ for dtype in types[:-1]):
        raise DtypeError("a bool alpha is only for bool operands", hint="use 1 or 0", operator=name)
    if types[-1].is_floating_point and not any(dtype.is_floating_point for dtype in types[:-1]):
        raise DtypeError("for integers alpha must not be a floating point number", hint="call .float()", operator=name)
    return promoted(name, types, bool_ if all(dtype is bool_ for dtype in types[:-1]) else common)


def _scaled_operator(cuda: str) -> Any:
    """Make the operator that `add` or `sub` lowers to if alpha is not 1.  Their samples test it."""
    return pointwise(
        dtype=_scaled_rule,
        cuda=cuda,
        factor="alpha",
        samples=tuple,
        inplace=False,
        method=False,
        function=False,
        cost=2.0,
    )


@_scaled_operator("input + alpha * other")
def add_scaled(input: Value, other: Value, alpha: float) -> Any:
    """Compute `input + alpha * other`."""
    return input + alpha * other


@add_scaled.derivative
def _(grad: Any, alpha: Any, needs: Any) -> Any:
    return grad, grad * alpha if needs[1] else None


@_scaled_operator("input - alpha * other")
def sub_scaled(input: Value, other: Value, alpha: float) -> Any:
    """Compute `input - alpha * other`."""
    return input - alpha * other


@sub_scaled.derivative
def _(grad: Any, alpha: Any, needs: Any) -> Any:
    return grad, grad * -alpha if needs[1] else None


class Scaled(Pointwise):
    """A sum whose second operand may be scaled.  The kernel for an `alpha` of 1 does not multiply."""

    def lower(self, call: Any, input: Any, other: Any, alpha: Any = 1) -> Any:
        if alpha == 1 and type(alpha) is not bool:
            return super().lower(call, input, other)
        return (add_scaled if self.name == "add" else sub_scaled).lower(call, input, other, alpha)


def _sum(rule: Any, cuda: str, **options: Any) -> Any:
    return lambda body: Scaled(body, rule, cuda, 1.0, samples=scaled_pairs, inplace=True, **options)


def _whole_scale() -> Iterator[ErrorSample]:
    yield from unbroadcastable()
    integers = Array((3,), dtype="int64")
    yield ErrorSample((integers, integers), DtypeError, "alpha must not be a floating point number", {"alpha": 1.5})


@_sum(promoted, "input + other", ufunc="add", errors=_whole_scale, dtypes=dtypes.ALL)
def add(input: Value, other: Value, *, alpha: float = 1) -> Any:
    """Compute `input + other`, where `other` is a tensor or a number.

    alpha: a number that `other` is multiplied by first.
    Shapes: the inputs broadcast together; the result has the broadcast shape.
    Host:   returns at once.
    Raises: ShapeError if the shapes do not broadcast, DtypeError for integers with a fractional alpha.
    Example:
        >>> x = torch.tensor([1.0, 2.0, 3.0])
        >>> torch.add(x, 10)
        tensor([11., 12., 13.])
        >>> torch.add(x, torch.tensor([10.0, 20.0, 30.0]), alpha=0.5)
        tensor([ 6., 12., 18.])
    """
    return input + other


@add.derivative
def _(grad: Any, alpha: Any, needs: Any) -> Any:
    return grad, grad if alpha == 1 or not needs[1] else grad * alpha


@_sum(_not_bool, "input - other", ufunc="subtract", errors=_two_bools, dtypes=NUMERIC_TYPES)
def sub(input: Value, other: Value, *, alpha: float = 1) -> Any:
    """Compute `input - alpha * other`, where `other` is a tensor or a number.

    Shapes: the inputs broadcast together; the result has the broadcast shape.
    Host:   returns at once.
    Raises: ShapeError if the shapes do not broadcast, DtypeError for bool, and for integers with a fractional alpha.
    Example:
        >>> x = torch.tensor([5, 7, 9])
        >>> torch.sub(x, torch.tensor([1, 2, 3]))
        tensor([4, 5, 6])
        >>> torch.sub(x, 1, alpha=2)
        tensor([3, 5, 7])
    """
    return input - other


@sub.derivative
def _(grad: Any, alpha: Any, needs: Any) -> Any:
    return grad, grad * -alpha if needs[1] else None


def _tensor_first() -> Iterator[Sample]:
    return (sample for sample in scaled_pairs() if hasattr(sample.args[0], "shape"))


def _no_difference() -> Iterator[ErrorSample]:
    yield ErrorSample((Array((3, 4)), Array((3,))), ShapeError, r"\[3\] and \[3, 4\] do not broadcast")
    yield ErrorSample((Array((3,), dtype="bool"), True), DtypeError, "bool operands are not supported")


@composite(samples=_tensor_first, errors=_no_difference, dtypes=NUMERIC_TYPES, method=False)
def rsub(input: Operand, other: Value, alpha: float = 1) -> Any:
    """Compute `other - alpha * input`.

    Shapes: the inputs broadcast together; the result has the broadcast shape.
    Host:   returns at once.
    Raises: ShapeError if the shapes do not broadcast, DtypeError for bool, and for integers with a fractional alpha.
    Example:
        >>> torch.rsub(torch.tensor([1, 2, 3]), 10)
        tensor([9, 8, 7])
    """
    return sub(other, input, alpha=alpha)


# products and quotients


@pointwise(
    dtype=promoted,
    cuda="input * other",
    ufunc="multiply",
    samples=pairs,
    errors=unbroadcastable,
    dtypes=dtypes.ALL,
)
def mul(input: Value, other: Value) -> Any:
    """Compute `input * other`, where `other` is a tensor or a number.

    Shapes: the inputs broadcast together; the result has the broadcast shape.
    Host:   returns at once.
    Raises: ShapeError if the shapes do not broadcast, DtypeError if the result cannot be cast to the type of `out`.
    Example:
        >>> row = torch.tensor([1, 2, 3])
        >>> torch.mul(row, torch.tensor([[1], [10]]))
        tensor([[ 1,  2,  3],
                [10, 20, 30]])
    """
    return input * other


@mul.derivative(only_for={"input": "other", "other": "input"})
def _(grad: Any, input: Any, other: Any, needs: Any) -> Any:
    return grad * other if needs[0] else None, grad * input if needs[1] else None


class Quotient(Pointwise):
    """A quotient that may be rounded to an integer."""

    def lower(self, call: Any, input: Any, other: Any, rounding_mode: Any = None) -> Any:
        if rounding_mode is None:
            return super().lower(call, input, other)
        rounded = {"floor": floor_divide, "trunc": div_trunc}.get(rounding_mode)
        if rounded is None:
            raise ModeError(
                f"expected rounding_mode to be one of None, 'trunc', or 'floor', got {shown(rounding_mode)}",
                hint="'floor' rounds down, 'trunc' toward 0",
                operator="div",
            )
        return rounded.lower(call, input, other)


def _quotient(body: Any) -> Any:
    return Quotient(
        body, to_float, "input / other", 1.0, ufunc="true_divide",
        samples=divisible_pairs, errors=unbroadcastable, dtypes=dtypes.ALL, inplace=True,
    )  # fmt: skip


@_quotient
def div(input: Value, other: Value, *, rounding_mode: Any = None) -> Any:
    """Compute `input / other`, where `other` is a tensor or a number; integers give the default floating point type.

    rounding_mode: "floor" rounds down, "trunc" toward 0; the result then has the operands' common type and no gradient.
    Shapes: the inputs broadcast together; the result has the broadcast shape.
    Host:   returns at once.
    Raises: ShapeError if the shapes do not broadcast, ModeError for any other rounding_mode, DtypeError for a
            rounding_mode if both operands are bool.
    Example:
        >>> x = torch.tensor([7, -7])
        >>> torch.div(x, 2)
        tensor([ 3.5000, -3.5000])
        >>> torch.div(x, 2, rounding_mode="floor")
        tensor([ 3, -4])
        >>> torch.div(x, 2, rounding_mode="trunc")
        tensor([ 3, -3])
    """
    return input / other


@div.derivative(only_for={"input": "other"})
def _(grad: Any, input: Any, other: Any, rounding_mode: Any, needs: Any) -> Any:
    if rounding_mode is not None:
        return fill(grad, 0), fill(grad, 0) if needs[1] else None
    return grad / other if needs[0] else None, -grad * ((input / other) / other) if needs[1] else None


def _division(cuda: str, samples: Any = divisible_pairs, **options: Any) -> Any:
    return pointwise(
        dtype=numbers, cuda=cuda, samples=samples, errors=_two_bools, dtypes=NUMERIC_TYPES, cost=4.0, **options
    )


@_division("floored(input, other)", differentiable=False, rounds=("input",))
def floor_divide(input: Value, other: Value) -> Any:
    """Compute `input / other` rounded down; an integer divided by 0 gives 0 on every device.

    The result has no gradient.
    Shapes: the inputs broadcast together; the result has the broadcast shape.
    Host:   returns at once.
    Raises: ShapeError if the shapes do not broadcast, DtypeError if both operands are bool.
    Example:
        >>> torch.floor_divide(torch.tensor([7, -7]), 2)
        tensor([ 3, -4])
    """
    return np.floor_divide(input, other)


def _cut(input: Any, other: Any) -> Any:
    """Return the quotient rounded toward 0, in NumPy.  An integer divided by 0 gives 0."""
    if numpy_type(input).kind == "f":
        return np.trunc(input / other)
    leaves = (np.remainder(input, other) != 0) & ((input < 0) != (other < 0))
    return np.floor_divide(input, other) + leaves.astype(input.dtype)


@_division(
    "IS_FLOATING<decltype(input)> ? trunc_of(input / other)"
    " : floored(input, other) + (remains(input, other) != 0 && (input < 0) != (other < 0) ? 1 : 0)",
    inplace=False, method=False, function=False,
)  # fmt: skip
def div_trunc(input: Value, other: Value) -> Any:
    """Compute `div` with rounding_mode "trunc".

    Shapes: the inputs broadcast together; the result has the broadcast shape.
    Raises: ShapeError if the shapes do not broadcast, DtypeError if both operands are bool.
    """
    return _cut(input, other)


@div_trunc.derivative
def _(grad: Any, needs: Any) -> Any:
    return fill(grad, 0), fill(grad, 0) if needs[1] else None


@_division("remains(input, other)", rounds=("input", "other"))
def remainder(input: Value, other: Value) -> Any:
    """Compute input - other * floor(input / other): the remainder, with the sign of the divisor `other`.

    An integer divided by 0 gives 0 on every device.
    Shapes: the inputs broadcast together; the result has the broadcast shape.
    Host:   returns at once.
    Raises: ShapeError if the shapes do not broadcast, DtypeError if both operands are bool.
    Example:
        >>> torch.remainder(torch.tensor([7, -7]), 3)
        tensor([1, 2])
    """
    return np.remainder(input, other)


@remainder.derivative(only_for={"input": "other", "other": "other"})
def _(grad: Any, input: Any, other: Any, needs: Any) -> Any:
    return grad, -grad * floor_divide(input, other) if needs[1] else None


def _divisible_tensors() -> Iterator[Sample]:
    return (sample for sample in divisible_pairs() if hasattr(sample.args[0], "shape"))


@_division("remains_in_c(input, other)", _divisible_tensors, rounds=("other",))
def fmod(input: Operand, other: Value) -> Any:
    """Compute input - other * trunc(input / other), the remainder with the sign of `input`.

    An integer divided by 0 gives 0.
    Shapes: the inputs broadcast together; the result has the broadcast shape.
    Host:   returns at once.
    Raises: ShapeError if the shapes do not broadcast, DtypeError if both operands are bool.
    Example:
        >>> torch.fmod(torch.tensor([7, -7]), 3)
        tensor([ 1, -1])
    """
    return np.fmod(input, other)


@fmod.derivative(only_for={"input": "other", "other": "other"})
def _(grad: Any, input: Any, other: Any, needs: Any) -> Any:
    return grad, -grad * div(input, other, rounding_mode="trunc") if needs[1] else None


@pointwise(dtype=to_float, cuda="1 / input", samples=positives, dtypes=dtypes.ALL)
def reciprocal(input: Operand) -> Any:
    """Compute the reciprocal of each element, 1 / x; integers give the default floating point type.

    Shapes: same as the input.
    Host:   returns at once.
    Raises: DtypeError if `out` is not floating point.
    Example:
        >>> torch.reciprocal(torch.tensor([4, 8]))
        tensor([0.2500, 0.1250])
    """
    return 1 / input


@reciprocal.derivative
def _(grad: Any, out: Any) -> Any:
    return -grad * out * out


# sign


@pointwise(dtype=numbers, cuda="-input", samples=singles, errors=one_bool, dtypes=NUMERIC_TYPES)
def neg(input: Operand) -> Any:
    """Compute the negative of each element, -x.

    Shapes: same as the input.
    Host:   returns at once.
    Raises: DtypeError for bool.
    Example:
        >>> torch.neg(torch.tensor([1, -2, 0]))
        tensor([-1,  2,  0])
    """
    return np.negative(input)


@neg.derivative
def _(grad: Any) -> Any:
    return -grad


@pointwise(dtype=numbers, cuda="absolute(input)", samples=singles, errors=one_bool, dtypes=NUMERIC_TYPES)
def abs(input: Operand) -> Any:
    """Compute the absolute value.

    Shapes: same as the input.
    Host:   returns at once.
    Raises: DtypeError for bool.
    Example:
        >>> torch.abs(torch.tensor([-1.5, 0.0, 2.0]))
        tensor([1.5000, 0.0000, 2.0000])
    """
    return np.abs(input)


@abs.derivative
def _(grad: Any, input: Any) -> Any:
    return grad * sign(input)


@pointwise(dtype=promoted, cuda="sign_of(input)", samples=singles, dtypes=dtypes.ALL)
def sign(input: Operand) -> Any:
    """Compute the sign of each value: -1, 0 or 1; 0 for NaN.

    Shapes: same as the input.
    Host:   returns at once.
    Raises: DtypeError if the result cannot be cast to the type of `out`.
    Example:
        >>> torch.sign(torch.tensor([-3.0, 0.0, 0.5]))
        tensor([-1.,  0.,  1.])
    """
    return np.subtract(input > 0, input < 0, dtype=np.int8)


@sign.derivative
def _(grad: Any) -> Any:
    return fill(grad, 0)


# powers


def _counted(name: str, types: Types, common: dtype) -> tuple[Types, dtype]:
    """Apply `promoted`; bool becomes int64."""
    dtype = dtypes.int64 if common is bool_ else common
    return [dtype], dtype


@pointwise(dtype=_counted, cuda="input * input", samples=singles, dtypes=dtypes.ALL)
def square(input: Operand) -> Any:
    """Compute the square of each element, x * x; bool gives int64.

    Shapes: same as the input.
    Host:   returns at once.
    Raises: DtypeError if the result cannot be cast to the type of `out`.
    Example:
        >>> torch.square(torch.tensor([-3, 2]))
        tensor([9, 4])
    """
    return input * input


@square.derivative
def _(grad: Any, input: Any) -> Any:
    return grad * (input * 2)


@pointwise(dtype=to_float, cuda="sqrt(input)", samples=positives, dtypes=dtypes.ALL, cost=4.0)
def sqrt(input: Operand) -> Any:
    """Compute the square root; integers give the default floating point type.

    Shapes: same as the input.
    Host:   returns at once.
    Raises: DtypeError if `out` is not floating point.
    Example:
        >>> torch.sqrt(torch.tensor([4.0, 2.0, -1.0]))
        tensor([2.0000, 1.4142,    nan])
    """
    return np.sqrt(input)


@sqrt.derivative
def _(grad: Any, out: Any) -> Any:
    return grad / (out * 2)


@pointwise(dtype=to_float, cuda="1 / sqrt(input)", samples=positives, dtypes=dtypes.ALL, cost=5.0)
def rsqrt(input: Operand) -> Any:
    """Compute the reciprocal of the square root, 1 / sqrt(x); integers give the default floating point type.

    Shapes: same as the input.
    Host:   returns at once.
    Raises: DtypeError if `out` is not floating point.
    Example:
        >>> torch.rsqrt(torch.tensor([4.0, 0.25]))
        tensor([0.5000, 2.0000])
    """
    return 1 / np.sqrt(input)


@rsqrt.derivative
def _(grad: Any, out: Any) -> Any:
    return grad * (out * out * out) * -0.5


SHORTER = {2: square, 0.5: sqrt, -0.5: rsqrt, -1: reciprocal}  # powers of floating point that have their own operators


class Power(Pointwise):
    by_value = True  # the lowering depends on the value of a Python exponent

    def lower(self, call: Any, input: Any, exponent: Any) -> Any:
        if type(exponent) is bool and getattr(input, "dtype", None) is bool_:  # bool tensors support no other exponent
            return REGISTRY["logical_or"].lower(call, input, not exponent)
        if type(exponent) in (int, float) and hasattr(input, "dtype"):
            if input.dtype.is_floating_point and exponent in SHORTER:
                return SHORTER[exponent].lower(call, input)
            if not input.dtype.is_floating_point and type(exponent) is int and exponent < 0:
                fact = f"Integers to negative integer powers are not allowed: {input.dtype.name} to {exponent}"
                raise DtypeError(f"{fact}", hint="call .float() first", operator="pow")
        return super().lower(call, input, exponent)

    def number(self, call: Any, at: int, value: Any, compute: dtype) -> Any:
        """Convert the exponent; an integer must fit the compute type."""
        if at == 1 and compute.category == dtypes.INTEGER:
            return converted(call.called, compute, value)
        return super().number(call, at, value, compute)

    def strides_of(self, shape: Any, operands: Any) -> Any:
        """Return the strides of the result; with a number as the base it is contiguous, as in PyTorch."""
        return super().strides_of(shape, operands) if is_tensor(operands[0]) else st.contiguous(shape)


def _powers() -> Iterator[Sample]:
    yield Sample((Array((3, 4), 0.5, 3), Array((3, 4), 1, 3, seed=1)))
    yield Sample((Array((3, 1), 0.5, 3), Array((4,), 1, 3, seed=1)))
    yield Sample((Array((4, 3), 0.5, 3, layout="transposed"), 2))
    yield Sample((Array((2, 3), 1, 3, layout="strided"), 0.5))
    yield Sample((Array((3,), 1, 4), 3))
    yield Sample((2, Array((4,), 1, 3)))
    yield Sample((Array((0, 3)), 2))
    yield Sample((Array((), 1, 2), 1.5))


def _wrong_powers() -> Iterator[ErrorSample]:
    yield from _two_bools()
    yield ErrorSample((Array((3,), 1, 4, dtype="int64"), -2), DtypeError, "Integers to negative integer powers")


def _pow(input: Value, exponent: Value) -> Any:
    """Compute `input` to the power `exponent`, element by element.

    Integer results wrap.  For a negative power in an exponent tensor, an integer base gives 0, unless it is 1 or -1.
    Shapes: the inputs broadcast together; the result has the broadcast shape.
    Host:   returns at once.
    Raises: ShapeError if the shapes do not broadcast, DtypeError if both operands are bool, or if the base is an
            integer and the exponent a negative number.
    Example:
        >>> torch.pow(torch.tensor([1.0, 2.0, 3.0]), 2)
        tensor([1., 4., 9.])
        >>> torch.pow(2, torch.tensor([1, 2, 3]))
        tensor([2, 4, 8])
    """
    if numpy_type(input).kind == "f":
        powers = np.power(input, exponent)
        is_half = np.equal(exponent, 0.5)
        if is_half.any():  # NumPy may take the square root, which differs from C's pow at -0 and minus infinity
            roots = np.where(input == -np.inf, np.abs(input), np.abs(powers))
            powers = np.where(is_half, roots, powers)
        return powers
    powers = np.power(input, np.maximum(exponent, 0))
    if numpy_type(input).kind == "u":
        return powers
    unit = np.where(np.abs(input) == 1, np.where(exponent % 2 == 1, input, 1), 0)
    return np.where(exponent < 0, unit, powers)


pow_ = Power(
    _pow, numbers, "power(input, exponent)", 20.0, samples=_powers, errors=_wrong_powers, dtypes=NUMERIC_TYPES,
    rounds=("input", "exponent"), inplace=True, name="pow",
)  # fmt: skip


@pow_.derivative
def _(grad: Any, input: Any, exponent: Any, needs: Any) -> Any:
    by_input = _slope_of_base(grad, input, exponent) if needs[0] else None
    return by_input, _slope_of_exponent(grad, input, exponent) if needs[1] else None


def _slope_of_base(grad: Any, input: Any, exponent: Any) -> Any:
    if not hasattr(exponent, "shape"):
        return fill(grad, 0) if exponent == 0 else grad * (pow_(input, exponent - 1) * exponent)
    return REGISTRY["where"](exponent == 0, 0, grad * (pow_(input, exponent - 1) * exponent))


def _slope_of_exponent(grad: Any, input: Any, exponent: Any) -> Any:
    """Return the gradient of the exponent; 0 where the base is 0 and the exponent is not negative."""
    if not hasattr(input, "shape"):
        logarithm: Any = log_of_number(input) if input > 0 else -inf if input == 0 else nan
        slope = grad * (pow_(input, exponent) * logarithm)
        return slope if input else REGISTRY["where"](exponent >= 0, 0, slope)
    slope = grad * (pow_(input, exponent) * REGISTRY["log"](input))
    return REGISTRY["where"](REGISTRY["logical_and"](input == 0, exponent >= 0), 0, slope)


class FloatPower(Pointwise):
    """The operator `float_power`, whose result is float64; a tensor for `out=` or in place must be float64, too."""

    def lower(self, call: Any, input: Any, exponent: Any) -> Any:
        result = super().lower(call, input, exponent)
        if result.dtype is not dtypes.float64:
            raise DtypeError(
                f"the result is float64, the tensor to write is {result.dtype.name}",
                hint="write into a tensor of float64",
                operator="float_power",
            )
        return result


def _wide(name: str, types: Types, common: dtype) -> tuple[Types, dtype]:
    return [dtypes.float64, dtypes.float64], dtypes.float64


def _float_power(input: Value, exponent: Value) -> Any:
    """Compute `input` to the power `exponent` in float64, whatever types they have.

    Shapes: the inputs broadcast together; the result has the broadcast shape.
    Host:   returns at once.
    Raises: ShapeError if the shapes do not broadcast, DtypeError if `out`, or the tensor written in place, is not
            float64.
    Example:
        >>> torch.float_power(torch.tensor([1, 2, 3]), -1)
        tensor([1.0000, 0.5000, 0.3333], dtype=torch.float64)
    """
    return np.power(input, exponent)


# types that the samples run with: in place, a narrower floating point type is an error
WRITABLE = (bool_, *dtypes.INTEGER_TYPES, dtypes.float64)
float_power = FloatPower(
    _float_power, _wide, "power(input, exponent)", 20.0, samples=_powers, errors=unbroadcastable, dtypes=WRITABLE,
    inplace=True, name="float_power",
)  # fmt: skip


@float_power.derivative
def _(grad: Any, input: Any, exponent: Any, needs: Any) -> Any:
    wide = [each.to(dtypes.float64) if hasattr(each, "shape") else float(each) for each in (input, exponent)]
    by_input = _slope_of_base(grad, *wide) if needs[0] else None
    return by_input, _slope_of_exponent(grad, *wide) if needs[1] else None


# combinations of three operands


def _lerp_samples() -> Iterator[Sample]:
    yield Sample((Array((3, 4)), Array((3, 4), seed=1), Array((3, 4), 0.5, 2, seed=2)))
    yield Sample((Array((3, 1)), Array((4,), seed=1), 0.5))
    yield Sample((Array((4, 3), layout="transposed"), Array((4, 3), seed=1), 2.0))


def _unbroadcastable_three() -> Iterator[ErrorSample]:
    yield ErrorSample((Array((3, 4)), Array((3,)), Array((4,))), ShapeError, r"\[3, 4\] and \[3\] .* do not broadcast")


def _three_errors() -> Iterator[ErrorSample]:
    yield from _unbroadcastable_three()
    integers = Array((3,), dtype="int64")
    yield ErrorSample((integers, integers, integers), DtypeError, "must be floating point, got int64")


class OfTensors(Pointwise):
    """A combination of three operands, whose only number is the factor."""

    def __init__(self, body: Callable[..., Any], *rest: Any, **options: Any) -> None:
        super().__init__(body, *rest, **options)
        self.body = by_position(body, self.parameters)  # references get the factor by position

    def lower(self, call: Any, *operands: Any) -> Any:
        for parameter, weak, operand in zip(self.parameters, self.weak, operands):
            if not (weak or is_tensor(operand)):
                kind = operand.kind.__name__ if type(operand) is Number else type(operand).__name__
                raise ArgumentTypeError(
                    f"argument '{parameter.name}' must be a Tensor, not {kind}",
                    hint=f"torch.tensor(...) makes a Tensor of a number; {self.usage()}",
                    operator=self.called,
                )
        return super().lower(call, *operands)


def _of_tensors(rule: Any, cuda: str, cost: float = 1.0, **options: Any) -> Any:
    return lambda body: OfTensors(body, rule, cuda, cost, inplace=True, **options)


@_of_tensors(
    floating_only,
    cuda="fabs(weight) < 0.5 ? start + weight * (end - start) : end - (end - start) * (1 - weight)",
    factor="weight",
    samples=_lerp_samples,
    errors=_three_errors,
    dtypes=dtypes.FLOATING_TYPES,
    other_names={"input": "start"},
)
def lerp(start: Value, end: Value, weight: Value) -> Any:
    """Compute the linear interpolation start + weight * (end - start).

    weight: a number or a tensor.  For accuracy, each result is computed from the nearer end.
    Shapes: the three inputs broadcast together; the result has the broadcast shape.
    Host:   returns at once.
    Raises: ShapeError if the shapes do not broadcast, DtypeError for integers.
    Example:
        >>> torch.lerp(torch.tensor([0.0, 10.0]), torch.tensor([100.0, 20.0]), 0.25)
        tensor([25.0000, 12.5000])
    """
    apart = end - start
    if not np.ndim(weight):
        return start + weight * apart if np.abs(weight) < 0.5 else end - apart * (1 - weight)
    return np.where(np.abs(weight) < 0.5, start + weight * apart, end - apart * (1 - weight))


@lerp.derivative(only_for={"start": "weight", "end": "weight"})
def _(grad: Any, start: Any, end: Any, weight: Any, needs: Any) -> Any:
    return grad * (1 - weight), grad * weight, grad * (end - start) if needs[2] else None


ONE: Any = 1  # the default of a Number, which stands for the int in the body


def _scaled_products() -> Iterator[Sample]:
    for value in (1, 3):
        yield Sample((Array((3, 4)), Array((3, 4), seed=1), Array((3, 4), 1, 3, seed=2)), {"value": value})
    yield Sample((Array((3, 1)), Array((4,), seed=1), Array((), 1, 3)), {"value": 2})
    yield Sample((Array((4, 3), layout="transposed"), Array((4, 3), seed=1), Array((4, 3), 1, 3, seed=2)))


def _scaled_product(rule: Any, cuda: str, **options: Any) -> Any:
    return _of_tensors(rule, cuda, cost=3.0, factor="value", samples=_scaled_products, **options)


@_scaled_product(numbers, "input + value * tensor1 * tensor2", errors=_unbroadcastable_three, dtypes=NUMERIC_TYPES)
def addcmul(input: Value, tensor1: Value, tensor2: Value, *, value: Number = ONE) -> Any:
    """Compute `input + value * tensor1 * tensor2`.

    Shapes: the inputs broadcast together; the result has the broadcast shape.
    Host:   returns at once.
    Raises: ShapeError if the shapes do not broadcast, DtypeError if all operands are bool.
    Example:
        >>> x = torch.tensor([1.0, 1.0])
        >>> torch.addcmul(x, torch.tensor([2.0, 3.0]), torch.tensor([4.0, 5.0]), value=0.5)
        tensor([5.0000, 8.5000])
    """
    factor: Any = value
    return input + factor * tensor1 * tensor2


@addcmul.derivative(only_for={"tensor1": "tensor2", "tensor2": "tensor1"})
def _(grad: Any, tensor1: Any, tensor2: Any, value: Any, needs: Any) -> Any:
    return grad, grad * tensor2 * value if needs[1] else None, grad * tensor1 * value if needs[2] else None


def _true_quotient(name: str, types: Types, common: dtype) -> tuple[Types, dtype]:
    """Apply `floating_only`, and require a floating point type of one of the two operands of the quotient."""
    if not types[1].is_floating_point and not types[2].is_floating_point:
        raise DtypeError(
            f"tensor1 or tensor2 must be floating point, got {types[1].name} and {types[2].name}",
            hint="convert one with .float()",
            operator=name,
        )
    return floating_only(name, types, common)


@_scaled_product(
    _true_quotient, "input + value * (tensor1 / tensor2)", errors=_three_errors, dtypes=dtypes.FLOATING_TYPES
)
def addcdiv(input: Value, tensor1: Value, tensor2: Value, *, value: Number = ONE) -> Any:
    """Compute `input + value * tensor1 / tensor2`; tensor1 and tensor2 may not both be integers.

    Shapes: the inputs broadcast together; the result has the broadcast shape.
    Host:   returns at once.
    Raises: ShapeError if the shapes do not broadcast, DtypeError if tensor1 and tensor2 are integers.
    Example:
        >>> x = torch.tensor([1.0, 1.0])
        >>> torch.addcdiv(x, torch.tensor([2.0, 3.0]), torch.tensor([4.0, 6.0]), value=2)
        tensor([2., 2.])
    """
    factor: Any = value
    return input + factor * (tensor1 / tensor2)


@addcdiv.derivative(only_for={"tensor1": "tensor2"})
def _(grad: Any, tensor1: Any, tensor2: Any, value: Any, needs: Any) -> Any:
    by_first = grad * value / tensor2 if needs[1] else None
    return grad, by_first, -grad * value * tensor1 / (tensor2 * tensor2) if needs[2] else None
