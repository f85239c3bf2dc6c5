"""Data types, type promotion, and the conversion of Python numbers to a type.

Promotion follows PyTorch: bool < integers < floating point.  Within a category the wider type wins.  uint8 with a
signed type gives the next wider signed type; float16 with bfloat16 gives float32.  uint16, uint32 and uint64 have no
common type with bool and other integers.

Python numbers follow PyTorch, too:

- An argument (of `fill_`, `masked_fill`, `clamp`; `alpha`) is converted by `converted`.  It is an error if the type
  cannot hold it.
- An operand (of `+`, `*`, `<`) takes part in type promotion and then wraps as a cast in C does.
"""

from __future__ import annotations

from math import inf, isinf, isnan
from typing import Any

from . import host
from .errors import ArgumentTypeError, DtypeError, NotSupportedError, ValueRangeError, shown

BOOL, INTEGER, FLOATING, COMPLEX = 0, 1, 2, 3


class dtype:  # noqa: N801  (the field's name for it)
    """The type of a tensor's elements.

    Programs use the existing ones, such as torch.float32.  Attributes: `name`, such as "float32"; `itemsize`, the size
    of an element in bytes; `cuda`, the C type of elements in device memory; `compute`, the C type of arithmetic on
    elements (float for half types).
    Example:
        >>> torch.float32.itemsize, torch.float32.is_floating_point, torch.int64.is_floating_point
        (4, True, False)
    """

    __slots__ = ("category", "compute", "cuda", "is_signed", "itemsize", "name", "_numpy")

    def __init__(self, name: str, itemsize: int, category: int, is_signed: bool, cuda: str, compute: str) -> None:
        self.name = name
        self.itemsize = itemsize
        self.category = category
        self.is_signed = is_signed
        self.cuda = cuda
        self.compute = compute
        self._numpy: Any = None

    @property
    def is_floating_point(self) -> bool:
        return self.category == FLOATING

    @property
    def wide(self) -> dtype:
        """The type that arithmetic on values of this one uses."""
        return float32 if self.compute == "float" else self

    @property
    def is_complex(self) -> bool:
        return self.category == COMPLEX

    @property
    def exists(self) -> bool:
        """Whether tensors may have this type; the others are names for programs that compare types."""
        return self.cuda != ""

    def to_real(self) -> dtype:
        """Return the type of the real part of a complex type; any other type unchanged.

        Example:
            >>> torch.complex64.to_real(), torch.int8.to_real()
            (torch.float32, torch.int8)
        """
        return {complex32: float16, complex64: float32, complex128: float64}.get(self, self)

    def to_complex(self) -> dtype:
        """Return the complex type that corresponds to this type; complex64 if there is no closer one, as for integers.

        Example:
            >>> torch.float32.to_complex()
            torch.complex64
        """
        if self.is_complex:
            return self
        return {float16: complex32, float64: complex128}.get(self, complex64)

    @property
    def numpy(self) -> Any:
        """The numpy.dtype with the same bits (bfloat16 comes from ml_dtypes)."""
        if self._numpy is None:
            self._numpy = host.numpy_dtype(self.name)
        return self._numpy

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def __reduce__(self) -> str:
        return "bool_" if self.name == "bool" else self.name


bool_ = dtype("bool", 1, BOOL, False, "bool", "bool")
uint8 = dtype("uint8", 1, INTEGER, False, "unsigned char", "unsigned char")
int8 = dtype("int8", 1, INTEGER, True, "signed char", "signed char")
int16 = dtype("int16", 2, INTEGER, True, "short", "short")
int32 = dtype("int32", 4, INTEGER, True, "int", "int")
int64 = dtype("int64", 8, INTEGER, True, "long long", "long long")
uint16 = dtype("uint16", 2, INTEGER, False, "unsigned short", "unsigned short")
uint32 = dtype("uint32", 4, INTEGER, False, "unsigned int", "unsigned int")
uint64 = dtype("uint64", 8, INTEGER, False, "unsigned long long", "unsigned long long")
float16 = dtype("float16", 2, FLOATING, True, "half_t", "float")
bfloat16 = dtype("bfloat16", 2, FLOATING, True, "bfloat16_t", "float")
float32 = dtype("float32", 4, FLOATING, True, "float", "float")
float64 = dtype("float64", 8, FLOATING, True, "double", "double")

# names of types that tensors cannot have
complex32 = dtype("complex32", 4, COMPLEX, True, "", "")
complex64 = dtype("complex64", 8, COMPLEX, True, "", "")
complex128 = dtype("complex128", 16, COMPLEX, True, "", "")
float8_e4m3fn = dtype("float8_e4m3fn", 1, FLOATING, True, "", "")
float8_e4m3fnuz = dtype("float8_e4m3fnuz", 1, FLOATING, True, "", "")
float8_e5m2 = dtype("float8_e5m2", 1, FLOATING, True, "", "")
float8_e5m2fnuz = dtype("float8_e5m2fnuz", 1, FLOATING, True, "", "")
float8_e8m0fnu = dtype("float8_e8m0fnu", 1, FLOATING, True, "", "")
qint8, quint8, qint32, quint4x2, quint2x4 = [
    dtype(name, itemsize, INTEGER, name.startswith("qint"), "", "")
    for name, itemsize in (("qint8", 1), ("quint8", 1), ("qint32", 4), ("quint4x2", 1), ("quint2x4", 1))
]
int1, int2, int3, int4, int5, int6, int7 = [dtype(f"int{bits}", 1, INTEGER, True, "", "") for bits in range(1, 8)]
uint1, uint2, uint3, uint4, uint5, uint6, uint7 = [
    dtype(f"uint{bits}", 1, INTEGER, False, "", "") for bits in range(1, 8)
]
chalf, cfloat, cdouble = complex32, complex64, complex128
NAMES_ONLY = (
    *(complex32, complex64, complex128),
    *(float8_e4m3fn, float8_e4m3fnuz, float8_e5m2, float8_e5m2fnuz, float8_e8m0fnu),
)

ALL = (bool_, uint8, int8, int16, int32, int64, float16, bfloat16, float32, float64)
UNSIGNED = (uint16, uint32, uint64)  # operators accept them like uint8; no samples have them
BY_NAME = {item.name: item for item in (*ALL, *UNSIGNED)}
FLOATING_TYPES = (float16, bfloat16, float32, float64)
INTEGER_TYPES = (uint8, int8, int16, int32, int64)
_SIGNED_ABOVE_UINT8 = {int8: int16}

half, float_, double = float16, float32, float64
short, int_, long = int16, int32, int64


class Default:
    """The default type: of Python floats without tensors, and of factories without a dtype."""

    __slots__ = ("floating",)

    def __init__(self) -> None:
        self.floating = float32


default = Default()
OF_PYTHON = {bool: bool_, int: int64, float: float64}


def from_type(value: Any) -> Any:
    """Convert Python's bool, int or float type to its data type; return anything else unchanged."""
    return OF_PYTHON.get(value, value) if isinstance(value, type) else value


def promote(a: dtype, b: dtype) -> dtype:
    """Return the type that values of `a` and of `b` both convert to."""
    if a is b:
        return a
    if not (a.exists and b.exists) or (a in UNSIGNED or b in UNSIGNED) and max(a.category, b.category) < FLOATING:
        return _promote_named(a, b)
    if a.category != b.category:
        return a if a.category > b.category else b
    if {a, b} == {float16, bfloat16}:
        return float32
    low, high = sorted((a, b), key=lambda item: (item.itemsize, item.is_signed))
    if low is uint8:
        return _SIGNED_ABOVE_UINT8.get(high, high)
    return high


def _promote_named(a: dtype, b: dtype) -> dtype:
    """Return the common type of a complex type and another one.

    Raises: DtypeError for types that tensors cannot have, and for wide unsigned types with integers and bool.
    """
    if a.is_complex or b.is_complex:
        real = [item.to_real() for item in (a, b) if item.category >= FLOATING]
        return promote(real[0], real[-1]).to_complex()
    raise DtypeError(
        f"promotion of {a.name} and {b.name} is not supported", hint="convert one of them", operator="promote_types"
    )


def promote_types(type1: dtype, type2: dtype) -> dtype:
    """Return the dtype of the result of arithmetic on tensors of two dtypes.

    The Python types bool, int and float stand for the dtypes bool, int64 and float64.
    Raises: ArgumentTypeError for anything but a data type.
    Example:
        >>> torch.promote_types(torch.int64, torch.float16), torch.promote_types(torch.uint8, torch.int8)
        (torch.float16, torch.int16)
    """
    types = [from_type(value) for value in (type1, type2)]
    for number, value in enumerate(types, 1):
        if not isinstance(value, dtype):
            raise ArgumentTypeError(
                f"type{number} must be a torch.dtype, got {shown(value)}",
                hint="as in torch.float32",
                operator="promote_types",
            )
    return promote(*types)


def no_tensors_of(named: dtype) -> NotSupportedError:
    """Return the error for a tensor of a type that is only a name."""
    hints = {COMPLEX: "complex arithmetic is not implemented yet", FLOATING: "the smallest floats have 16 bits"}
    return NotSupportedError(
        f"tensors of {named.name} are not supported: {named!r} is only a name",
        hint=hints.get(named.category, "the smallest integers have 8 bits: use torch.int8 or torch.uint8"),
    )


def of_scalar(value: bool | int | float, default_float: dtype) -> dtype:
    """Return the type of a Python number without tensors."""
    if isinstance(value, bool):
        return bool_
    return int64 if isinstance(value, int) else default_float


_by_numpy: dict[Any, dtype] = {}  # by numpy.dtype, whose name takes microseconds to make


def from_numpy(numpy_dtype: Any) -> dtype | None:
    """Return the type with the same bits as a numpy.dtype, or None."""
    result = _by_numpy.get(numpy_dtype)
    if result is None:
        result = BY_NAME.get(numpy_dtype.name)
        if result is not None:
            _by_numpy[numpy_dtype] = result
    return result


def can_store(source: dtype, target: dtype) -> bool:
    """Return whether a result of type `source` may be written in place into `target` (never to a lower category)."""
    return source.category <= target.category


LARGEST = {
    float16: 65504.0, bfloat16: 3.3895313892515355e38, float32: 3.4028234663852886e38, float64: 1.7976931348623157e308,
}  # fmt: skip


def plain_number(value: Any) -> Any:
    """Convert a NumPy number, or an instance of a number's subclass, to the Python number; return others unchanged."""
    if isinstance(value, (int, float)):
        return float(value) if isinstance(value, float) else int(value)
    if host.is_numpy_loaded() and isinstance(value, host.np.generic) and value.dtype.kind in "biuf":
        return value.item()
    return value


def integer_range(dtype: dtype) -> tuple[int, int]:
    """Return the least and the largest value of an integer type or bool."""
    bits = 1 if dtype is bool_ else 8 * dtype.itemsize - dtype.is_signed
    return -(1 << bits) if dtype.is_signed else 0, (1 << bits) - 1


# By dtype: the least and the largest finite value, and the Python type of the values.
HELD: dict[dtype, tuple[Any, Any, type]] = {
    bool_: (-inf, inf, bool),
    **{dtype: (*integer_range(dtype), int) for dtype in (*INTEGER_TYPES, *UNSIGNED)},
    **{dtype: (-largest, largest, float) for dtype, largest in LARGEST.items()},
}


def converted(name: str, dtype: dtype, value: Any) -> Any:
    """Convert a number to a bool, int or float that a type can hold.

    For bool, the result is whether it is not 0.  For integers, floats are truncated, and a negative int wraps in an
    unsigned type.
    Raises: ValueRangeError, under the operator's name `name`, if it is outside the range of the type.
    """
    low, high, python = HELD[dtype]
    if low <= value <= high:
        return python(value)
    if dtype.category == BOOL:  # NaN
        return True
    if dtype.category == FLOATING and not isinstance(value, int) and (isinf(value) or isnan(value)):
        return float(value)
    if low == 0 and -high <= value < 0 and not isinstance(value, float):
        return int(value) & high
    raise overflow(name, dtype, value)


def overflow(name: str, dtype: dtype, value: Any) -> ValueRangeError:
    """Return the error for a number that a type cannot hold."""
    low, high, _ = HELD[dtype]
    hint = f"{dtype.name} holds {low:.5g} to {high:.5g}, infinity and NaN" if dtype.is_floating_point else ""
    return ValueRangeError(
        f"value cannot be converted to type {dtype.name} without overflow: {shown(value)}",
        hint=hint or f"{dtype.name} holds {low} to {high}",
        operator=name,
    )
