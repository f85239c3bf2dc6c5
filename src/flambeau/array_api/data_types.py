"""Data types of the array API: promotion, conversion, kinds and limits; inspection of the namespace."""

from __future__ import annotations

from typing import Any, NamedTuple

from .. import dtypes
from ..core.tensor import TensorBase
from ..dtypes import FLOATING, INTEGER, dtype
from ..errors import ArgumentError, ArgumentTypeError, DtypeError, shown
from ..runtime.control import device_count
from ..runtime.device import device, get_default_device
from ..tensor import factories, types

SIGNED = {"int8": dtypes.int8, "int16": dtypes.int16, "int32": dtypes.int32, "int64": dtypes.int64}
UNSIGNED = {"uint8": dtypes.uint8, "uint16": dtypes.uint16, "uint32": dtypes.uint32, "uint64": dtypes.uint64}
REAL = {"float32": dtypes.float32, "float64": dtypes.float64}
# The standard's types by kind.  There are no complex tensors.
KINDS: dict[str, dict[str, dtype]] = {
    "bool": {"bool": dtypes.bool_},
    "signed integer": SIGNED,
    "unsigned integer": UNSIGNED,
    "integral": SIGNED | UNSIGNED,
    "real floating": REAL,
    "complex floating": {},
    "numeric": SIGNED | UNSIGNED | REAL,
}
_SIGNED_BY_SIZE = {signed.itemsize: signed for signed in SIGNED.values()}


def common_dtype(a: dtype, b: dtype) -> dtype:
    """Return the type that values of two types convert to.

    Unlike PyTorch's promotion, it knows uint16, uint32 and uint64 with other integers.
    Raises: DtypeError if there is none, as for uint64 and a signed type.
    """
    if a is b:
        return a
    if a.category != INTEGER or b.category != INTEGER:
        return dtypes.promote(a, b)
    if a.is_signed == b.is_signed:
        return a if a.itemsize > b.itemsize else b
    signed, unsigned = (a, b) if a.is_signed else (b, a)
    if signed.itemsize > unsigned.itemsize:
        return signed
    if unsigned is dtypes.uint64:
        raise DtypeError(
            f"{a.name} and {b.name} have no common type", hint="convert one of them", operator="result_type"
        )
    return _SIGNED_BY_SIZE[2 * unsigned.itemsize]


def _checked(name: str, value: Any) -> dtype:
    """Return a data type.  Raises ArgumentTypeError for anything else."""
    if not isinstance(value, dtype):
        raise ArgumentTypeError(
            f"expected a data type, got {shown(value)}", hint="as in torch.float32, or x.dtype", operator=name
        )
    return value


def number_like(value: Any, array: Any) -> Any:
    """Make a 0-dimensional tensor of a Python number, of the type of an array if that can hold it."""
    scalar_dtype = dtypes.of_scalar(value, dtypes.default.floating)
    return factories.tensor(value, dtype=array.dtype if scalar_dtype.category <= array.dtype.category else scalar_dtype)


def promoted(x1: Any, x2: Any) -> tuple[Any, Any]:
    """Convert two operands to one type; a Python number gets the type of the array.

    Anything else is returned unchanged, for the operator to refuse it.
    """
    if isinstance(x1, TensorBase) and isinstance(x2, TensorBase):
        first: Any = x1
        second: Any = x2
        if first.dtype is second.dtype:
            return first, second
        wanted = common_dtype(first.dtype, second.dtype)
        return first.to(wanted), second.to(wanted)
    if isinstance(x1, TensorBase) and isinstance(x2, int | float):
        return x1, number_like(x2, x1)
    if isinstance(x2, TensorBase) and isinstance(x1, int | float):
        return number_like(x1, x2), x2
    return x1, x2


def astype(x: Any, dtype: dtype, /, *, copy: bool = True, device: Any = None) -> Any:
    """Convert an array to a data type; copy=False returns the array itself if nothing changes.

    device: the device of the result; None is that of the array.
    Shapes: same as the input.
    Raises: ArgumentTypeError if `dtype` is not a data type.
    Example:
        >>> torch.array_api.astype(torch.tensor([1.5, 2.5]), torch.int64)
        tensor([1, 2])
    """
    return x.to(device=device if device is not None else x.device, dtype=dtype, copy=copy)


def can_cast(from_: Any, to: dtype, /) -> bool:
    """Return whether an array or a data type `from_` promotes to the type `to`: their common type is `to`.

    Raises: ArgumentTypeError for anything but an array and a data type.
    Example:
        >>> torch.array_api.can_cast(torch.int32, torch.int64), torch.array_api.can_cast(torch.ones(2), torch.int64)
        (True, False)
    """
    source = from_.dtype if isinstance(from_, TensorBase) else _checked("can_cast", from_)
    try:
        return common_dtype(source, _checked("can_cast", to)) is to
    except DtypeError:
        return False


def isdtype(dtype: dtype, kind: Any) -> bool:
    """Return whether a data type is of the given kind.

    kind: a data type, the name of a group of data types, or a tuple of them.
    Names: "bool", "signed integer", "unsigned integer", "integral", "real floating", "complex floating", "numeric".
    Raises: ArgumentError for another name, ArgumentTypeError if dtype is no data type.
    Example:
        >>> torch.array_api.isdtype(torch.uint8, "integral"), torch.array_api.isdtype(torch.uint8, torch.int8)
        (True, False)
    """
    if isinstance(kind, tuple):
        return any(isdtype(dtype, entry) for entry in kind)
    _checked("isdtype", dtype)
    if not isinstance(kind, str):
        return dtype is kind
    if kind not in KINDS:
        raise ArgumentError(
            f"kind {kind!r} of data types is unknown", hint=f"use one of {', '.join(KINDS)}", operator="isdtype"
        )
    if dtype.category == FLOATING:  # includes float16 and bfloat16, which the standard does not name
        return kind in ("real floating", "numeric")
    return dtype in KINDS[kind].values()


def result_type(*arrays_and_dtypes: Any) -> dtype:
    """Return the type that arrays, data types and Python numbers promote to.

    A number affects the type only if its kind (bool, integer, float) is above those of the arrays and data types.
    Raises: ArgumentTypeError for anything else, and for no array and no data type.
    Example:
        >>> torch.array_api.result_type(torch.uint16, torch.ones(2, dtype=torch.int8), 3)
        torch.int32
    """
    types_of = [entry.dtype if isinstance(entry, TensorBase) else entry for entry in arrays_and_dtypes]
    named = [entry for entry in types_of if isinstance(entry, dtype)]
    numbers = [entry for entry in types_of if isinstance(entry, int | float)]
    if not named or len(named) + len(numbers) < len(types_of):
        raise ArgumentTypeError(
            f"expected arrays, data types and numbers, at least one of them not a number, got {shown(types_of)}",
            hint="as in result_type(x, torch.int32, 2)",
            operator="result_type",
        )
    result = named[0]
    for other in named[1:]:
        result = common_dtype(result, other)
    for number in numbers:
        scalar_dtype = dtypes.of_scalar(number, dtypes.default.floating)
        result = scalar_dtype if scalar_dtype.category > result.category else result
    return result


class FloatLimits(NamedTuple):
    """Limits of a floating-point type, as `finfo` returns them."""

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: dtype


class IntegerLimits(NamedTuple):
    """Limits of an integer type, as `iinfo` returns them."""

    bits: int
    max: int
    min: int
    dtype: dtype


def finfo(type: Any, /) -> FloatLimits:
    """Return an object with the limits of a floating-point type, or of the type of an array: `max`, `min`, `eps`, ...

    Raises: ArgumentTypeError for anything but a floating-point type.
    Example:
        >>> torch.array_api.finfo(torch.float32).bits, torch.array_api.finfo(torch.float32).dtype
        (32, torch.float32)
    """
    of = type.dtype if isinstance(type, TensorBase) else type
    limits = types.finfo(of)
    return FloatLimits(limits.bits, limits.eps, limits.max, limits.min, limits.smallest_normal, of)


def iinfo(type: Any, /) -> IntegerLimits:
    """Return an object with the limits of an integer type, or of the type of an array: `max`, `min` and `bits`.

    Raises: ArgumentTypeError for anything but an integer type.
    Example:
        >>> torch.array_api.iinfo(torch.uint16).max
        65535
    """
    of = type.dtype if isinstance(type, TensorBase) else type
    limits = types.iinfo(of)
    return IntegerLimits(limits.bits, limits.max, limits.min, of)


MAX_DIMENSIONS = 64


class NamespaceInfo:
    """Describes the namespace: its capabilities, devices and data types.  `__array_namespace_info__()` returns one.

    Example:
        >>> torch.array_api.__array_namespace_info__().default_dtypes()["indexing"]
        torch.int64
    """

    def capabilities(self) -> dict[str, Any]:
        """Return optional features and limits: boolean indexing, data-dependent shapes, maximum number of dimensions.

        Example:
            >>> torch.array_api.__array_namespace_info__().capabilities()["max dimensions"]
            64
        """
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": MAX_DIMENSIONS}

    def default_device(self) -> device:
        """Return the device of arrays that are created without a `device`.

        Example:
            >>> torch.array_api.__array_namespace_info__().default_device()
            device(type='cpu')
        """
        return get_default_device()

    def default_dtypes(self, *, device: Any = None) -> dict[str, dtype]:
        """Return the default data types by kind.  They are the same on every device.

        Example:
            >>> torch.array_api.__array_namespace_info__().default_dtypes()["real floating"]
            torch.float32
        """
        return {"real floating": dtypes.default.floating, "integral": dtypes.int64, "indexing": dtypes.int64}

    def devices(self) -> list[device]:
        """Return the CPU and every GPU.

        Example:
            >>> torch.array_api.__array_namespace_info__().devices()
            [device(type='cpu'), device(type='cuda', index=0), device(type='cuda', index=1)]
        """
        return [device("cpu"), *(device("cuda", index) for index in range(device_count()))]

    def dtypes(self, *, device: Any = None, kind: Any = None) -> dict[str, dtype]:
        """Return the data types of one kind, or of a tuple of kinds, by name.  None: all kinds.

        Raises: ArgumentError for a kind that does not exist.
        Example:
            >>> torch.array_api.__array_namespace_info__().dtypes(kind="real floating")
            {'float32': torch.float32, 'float64': torch.float64}
        """
        kinds = ("bool", "numeric") if kind is None else kind if isinstance(kind, tuple) else (kind,)
        result: dict[str, dtype] = {}
        for name in kinds:
            if name not in KINDS:
                raise ArgumentError(
                    f"kind {name!r} of data types is unknown", hint=f"use one of {', '.join(KINDS)}", operator="dtypes"
                )
            result |= KINDS[name]
        return result


def __array_namespace_info__() -> NamespaceInfo:
    """Return an object that describes the namespace: capabilities, devices and data types.

    Example:
        >>> torch.array_api.__array_namespace_info__().capabilities()["boolean indexing"]
        True
    """
    return NamespaceInfo()
