"""Parts of numbers: signs, mantissas, exponents, neighbours, divisors, and what stands for NaN and infinities."""

from __future__ import annotations

from collections.abc import Iterator
from math import pi
from typing import Any, NamedTuple

from .. import dtypes
from ..dtypes import bool_, dtype, int32
from ..errors import DtypeError
from ..host import np
from .arithmetic import pow_
from .compare import isfinite, masked_fill, where
from .copies import fill
from .elementary import LOG_2, exp2, floating_function
from .operator import Array, ErrorSample, Operand, Sample, Value, composite
from .pointwise import Pointwise, Types, common_type, floating_only, numpy_type, pointwise, promoted, to_float
from .samples import no_floats, pairs, singles, unbroadcastable

LARGEST = {
    dtypes.float16: 65504.0, dtypes.bfloat16: 3.3895313892515355e38, dtypes.float32: 3.4028234663852886e38,
    dtypes.float64: 1.7976931348623157e308,
}  # fmt: skip


def _tensors() -> Iterator[Sample]:
    """Two tensors: dense, broadcast, strided, empty, zero-dimensional."""
    yield Sample((Array((3, 4)), Array((3, 4), seed=1)))
    yield Sample((Array((3, 1)), Array((4,), seed=1)))
    yield Sample((Array((4, 3), layout="transposed"), Array((4, 3), layout="strided", seed=1)))
    yield Sample((Array((0, 3)), Array((3,), seed=1)))
    yield Sample((Array(()), Array((), seed=1)))


# signs


def _signs() -> Iterator[Sample]:
    return (sample for sample in pairs() if hasattr(sample.args[0], "shape"))


@pointwise(dtype=to_float, cuda="copysign(input, other)", samples=_signs, errors=unbroadcastable, dtypes=dtypes.ALL)
def copysign(input: Operand, other: Value) -> Any:
    """The magnitude of `input` with the sign of `other`; integers give float32.

    Shapes: the inputs broadcast together; the result has the broadcast shape.
    Host:   returns at once.
    Example:
        >>> torch.copysign(torch.tensor([1.0, -2.0]), torch.tensor([-0.0, 3.0]))
        tensor([-1.,  2.])
    """
    return np.copysign(input, other)


@copysign.derivative
def _(grad: Any, out: Any, input: Any, needs: Any) -> Any:
    by_input = grad * where(input == 0, 0, out / input) if needs[0] else None
    return by_input, fill(grad, 0) if needs[1] else None


@floating_function(
    "is_nan(input) ? input : input < 0 ? (decltype(input))3.141592653589793 : 0", cost=1.0, inplace=False
)
def angle(input: Operand) -> Any:
    """The angle of a number in the complex plane: pi if it is negative, else 0; NaN is unchanged.

    Shapes: as the input's.
    Host: returns at once.
    Example:
        >>> torch.angle(torch.tensor([-1.0, 0.0, 1.0]))
        tensor([3.1416, 0.0000, 0.0000])
    """
    number = numpy_type(input).type
    return np.where(np.isnan(input), input, np.where(np.less(input, 0), number(pi), number(0)))


angle.derivative(lambda grad: fill(grad, 0))
angle.inplace = False


def _same_type(name: str, types: Types, common: dtype) -> tuple[Types, dtype]:
    if types[0] is not types[1]:
        raise DtypeError(
            f"input and values must have the same type, got {types[0].name} and {types[1].name}",
            hint=f"convert one, as in values.to(torch.{types[0].name})",
            operator=name,
        )
    return promoted(name, types, common)


def _two_types() -> Iterator[ErrorSample]:
    yield from unbroadcastable()
    yield ErrorSample((Array((3,)), Array((3,), dtype="int64")), DtypeError, "same type, got float32 and int64")


@pointwise(
    dtype=_same_type, cuda="input == 0 ? values : (decltype(input))(input > 0)", samples=_tensors, errors=_two_types,
    dtypes=dtypes.ALL, differentiable=False,
)  # fmt: skip
def heaviside(input: Operand, values: Operand) -> Any:
    """0 where `input` is negative or NaN, `values` where it is 0, else 1.  It has no gradient.

    Shapes: the inputs broadcast together; the result has the broadcast shape.
    Host:   returns at once.
    Raises: DtypeError if the types differ.
    Example:
        >>> torch.heaviside(torch.tensor([-1.5, 0.0, 2.0]), torch.tensor([0.5]))
        tensor([0.0000, 0.5000, 1.0000])
    """
    return np.where(np.equal(input, 0), values, np.greater(input, 0).astype(numpy_type(input)))


# mantissas, exponents, neighbours


@pointwise(
    dtype=floating_only, cuda="mantissa_of(input)", samples=singles, dtypes=dtypes.FLOATING_TYPES, inplace=False,
    method=False, function=False,
)  # fmt: skip
def frexp_mantissa(input: Operand) -> Any:
    """The mantissa of `frexp`."""
    return np.frexp(input)[0]


@frexp_mantissa.derivative
def _(grad: Any, input: Any) -> Any:
    return grad / pow_(2.0, frexp_exponent(input))


def _to_exponents(name: str, types: Types, common: dtype) -> tuple[Types, dtype]:
    return floating_only(name, types, common)[0], int32


@pointwise(
    dtype=_to_exponents, cuda="exponent_of(input)", samples=singles, dtypes=dtypes.FLOATING_TYPES, inplace=False,
    method=False, function=False, differentiable=False,
)  # fmt: skip
def frexp_exponent(input: Operand) -> Any:
    """The exponent of `frexp`."""
    return np.frexp(input)[1]


class MantissaAndExponent(NamedTuple):
    """The results of `frexp`."""

    mantissa: Any
    exponent: Any


@composite(samples=singles, errors=no_floats, dtypes=dtypes.FLOATING_TYPES, takes_out=False)
def frexp(input: Operand) -> Any:
    """(mantissa, exponent) with input = mantissa * 2^exponent, mantissa in (-1, -0.5], 0 or [0.5, 1), exponent int32.

    Shapes: both as the input's.
    Host:   returns at once.
    Raises: DtypeError for integers.
    Example:
        >>> torch.frexp(torch.tensor([0.0, 3.0, -8.0]))
        MantissaAndExponent(mantissa=tensor([ 0.0000,  0.7500, -0.5000]), exponent=tensor([0, 2, 4], dtype=torch.int32))
    """
    return MantissaAndExponent(frexp_mantissa(input), frexp_exponent(input))


def _exponents() -> Iterator[Sample]:
    for sample in _tensors():
        first, second = sample.args
        yield Sample((first, second._replace(low=-3, high=4)))


@pointwise(dtype=to_float, cuda="input * exp2(other)", samples=_exponents, errors=unbroadcastable, dtypes=dtypes.ALL)
def ldexp(input: Operand, other: Operand) -> Any:
    """`input * 2 ** other`; integers give float32.

    Shapes: the inputs broadcast together; the result has the broadcast shape.
    Host:   returns at once.
    Example:
        >>> torch.ldexp(torch.tensor([1.0, 3.0]), torch.tensor([4, -1]))
        tensor([16.0000,  1.5000])
    """
    return input * np.exp2(other)


@ldexp.derivative(only_for={"other": "input"})
def _(grad: Any, out: Any, other: Any, needs: Any) -> Any:
    return grad * exp2(other) if needs[0] else None, grad * out * LOG_2 if needs[1] else None


def _of_halves(dtype: dtype) -> Any:
    """Make the operator that `nextafter` lowers to for a half type."""

    def neighbour(input: Operand, other: Operand) -> Any:
        """The next number of a half type."""
        first, second = [np.asarray(each).astype(dtype.numpy) for each in (input, other)]
        return np.nextafter(first, second)

    return Pointwise(
        neighbour, lambda *_: ([dtype] * 2, dtype), f"neighbour<{dtype.cuda}>(input, other)", 4.0, samples=tuple,
        dtypes=(dtype,), method=False, function=False, differentiable=False, name=f"nextafter_{dtype.name}",
    )  # fmt: skip


HALVES = {dtype: _of_halves(dtype) for dtype in (dtypes.float16, dtypes.bfloat16)}


class Nextafter(Pointwise):
    """nextafter, whose meaning depends on the type that is stored, not on the one that is computed in."""

    def lower(self, call: Any, input: Any, other: Any) -> Any:
        halves = HALVES.get(common_type([input, other]))
        return super().lower(call, input, other) if halves is None else halves.lower(call, input, other)


def _no_neighbours() -> Iterator[ErrorSample]:
    yield from unbroadcastable()
    integers = Array((3,), dtype="int64")
    yield ErrorSample((integers, integers), DtypeError, "operands must be floating point, got int64")


def _nextafter(input: Operand, other: Operand) -> Any:
    """The next number of the type after `input` in the direction of `other`; its gradient is that of `input`.

    Shapes: the inputs broadcast together; the result has the broadcast shape.
    Host:   returns at once.
    Raises: DtypeError for integers.
    Example:
        >>> x = torch.tensor([1.0])
        >>> torch.nextafter(x, torch.tensor([2.0])) - x
        tensor([1.1921e-07])
    """
    return np.nextafter(input, other)


nextafter = Nextafter(
    _nextafter, floating_only, "nextafter(input, other)", 4.0, samples=_tensors, errors=_no_neighbours,
    dtypes=dtypes.FLOATING_TYPES, inplace=True, name="nextafter",
)  # fmt: skip


@nextafter.derivative
def _(grad: Any, input: Any, other: Any, needs: Any) -> Any:
    return masked_fill(grad, input == other, 0), fill(grad, 0) if needs[1] else None


# divisors


def _integers_only(name: str, types: Types, common: dtype) -> tuple[Types, dtype]:
    if common is bool_ or common.is_floating_point:
        raise DtypeError(f"operands must be integers, got {common.name}", hint="call .long()", operator=name)
    return promoted(name, types, common)


def _multiples() -> Iterator[Sample]:
    for sample in _tensors():
        first, second = sample.args
        yield Sample((first._replace(low=-12, high=12), second._replace(low=-6, high=9)))


def _no_divisors() -> Iterator[ErrorSample]:
    yield ErrorSample((Array((3,)), Array((3,))), DtypeError, "operands must be integers, got float32")


def _of_integers(cuda: str) -> Any:
    return pointwise(
        dtype=_integers_only, cuda=cuda, samples=_multiples, errors=_no_divisors, dtypes=dtypes.INTEGER_TYPES, cost=50.0
    )


@_of_integers("divisor_of(input, other)")
def gcd(input: Operand, other: Operand) -> Any:
    """Greatest common divisor, which is not negative; that of 0 and 0 is 0.

    Shapes: the inputs broadcast together; the result has the broadcast shape.
    Host:   returns at once.
    Raises: DtypeError for floating point and bool.
    Example:
        >>> torch.gcd(torch.tensor([12, 7, 0]), torch.tensor([18, 14, 5]))
        tensor([6, 7, 5])
    """
    return np.gcd(input, other)


@_of_integers("multiple_of(input, other)")
def lcm(input: Operand, other: Operand) -> Any:
    """Least common multiple, which is not negative; 0 where an operand is 0.

    Shapes: the inputs broadcast together; the result has the broadcast shape.
    Host:   returns at once.
    Raises: DtypeError for floating point and bool.
    Example:
        >>> torch.lcm(torch.tensor([4, 7, 0]), torch.tensor([6, 14, 5]))
        tensor([12, 14,  0])
    """
    divisors = np.gcd(input, other)
    wide = np.promote_types(numpy_type(input), np.int32)  # as C computes with narrower types
    return np.abs(np.floor_divide(input, np.where(divisors == 0, 1, divisors)).astype(wide) * other)


# NaN and infinities


class NanToNum(Pointwise):
    """nan_to_num; infinities become by default the largest numbers of the input's type."""

    def lower(self, call: Any, input: Any, nan: Any = None, posinf: Any = None, neginf: Any = None) -> Any:
        if not input.dtype.is_floating_point:
            return super().lower(call, input, 0.0, 0.0, 0.0)
        largest = LARGEST[input.dtype]
        return super().lower(
            call,
            input,
            0.0 if nan is None else float(nan),
            largest if posinf is None else float(posinf),
            -largest if neginf is None else float(neginf),
        )


def _as_first(name: str, types: Types, common: dtype) -> tuple[Types, dtype]:
    """Read every input as the first one's type, and return that."""
    return [types[0]] * len(types), types[0]


def _not_finite() -> Iterator[Sample]:
    yield from singles()
    yield Sample((Array((3, 4)), 1.5))
    yield Sample((Array((4, 3), layout="transposed"),), {"posinf": 2.0, "neginf": -3.0})


def _wrong_numbers() -> Iterator[ErrorSample]:
    yield ErrorSample((Array((3,)), "0"), TypeError, "argument 'nan' must be a number or None")


def _nan_to_num(
    input: Operand, nan: float | None = None, posinf: float | None = None, neginf: float | None = None
) -> Any:
    """Replace NaN by `nan`, infinities by `posinf` and `neginf`; integers are unchanged.

    nan: 0 if it is None.  posinf, neginf: the largest and the least number of the type if they are None.
    Shapes: as the input's.
    Host:   returns at once.
    Example:
        >>> torch.nan_to_num(torch.tensor([float("nan"), 2.0, -float("inf")]), neginf=-1.0)
        tensor([ 0.,  2., -1.])
    """
    array: Any = input
    if array.dtype.kind != "f":
        return array
    return np.where(
        np.isnan(array), nan, np.where(np.isposinf(array), posinf, np.where(np.isneginf(array), neginf, array))
    )


nan_to_num = NanToNum(
    _nan_to_num, _as_first, "is_nan(input) ? nan : is_infinite(input) ? (input > 0 ? posinf : neginf) : input", 3.0,
    samples=_not_finite, errors=_wrong_numbers, dtypes=dtypes.ALL, inplace=True, name="nan_to_num",
)  # fmt: skip


@nan_to_num.derivative
def _(grad: Any, input: Any) -> Any:
    return where(isfinite(input), grad, 0)
