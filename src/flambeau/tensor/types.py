"""Queries about data types: finfo, iinfo, the default type, result_type and can_cast."""

from __future__ import annotations

from typing import Any, NamedTuple

from .. import dtypes
from ..core import thread
from ..core.tensor import TensorBase
from ..dtypes import default, dtype
from ..errors import ArgumentTypeError, shown
from ..ops.pointwise import common_type
from ..runtime.device import set_default_device
from . import checks, legacy

newaxis = None


class _Float(NamedTuple):
    """Limits of a floating type: largest and least number, distance from 1 to the next number, least normal number."""

    bits: int
    max: float
    min: float
    eps: float
    tiny: float
    resolution: float


def _float(bits: int, max: float, eps: float, tiny: float, resolution: float) -> _Float:
    return _Float(bits, max, -max, eps, tiny, resolution)


_FLOATS = {
    dtypes.float16: _float(16, 65504.0, 2.0**-10, 2.0**-14, 1e-3),
    dtypes.bfloat16: _float(16, 3.3895313892515355e38, 2.0**-7, 2.0**-126, 1e-2),
    dtypes.float32: _float(32, 3.4028234663852886e38, 2.0**-23, 2.0**-126, 1e-6),
    dtypes.float64: _float(64, 1.7976931348623157e308, 2.0**-52, 2.0**-1022, 1e-15),
    dtypes.float8_e4m3fn: _float(8, 448.0, 2.0**-3, 2.0**-6, 1.0),
    dtypes.float8_e4m3fnuz: _float(8, 240.0, 2.0**-3, 2.0**-7, 1.0),
    dtypes.float8_e5m2: _float(8, 57344.0, 2.0**-2, 2.0**-14, 1.0),
    dtypes.float8_e5m2fnuz: _float(8, 57344.0, 2.0**-3, 2.0**-15, 1.0),
    dtypes.float8_e8m0fnu: _Float(8, 2.0**127, 2.0**-127, 1.0, 2.0**-127, 1.0),
}


def _type_of(name: str, what: str, value: Any) -> dtype:
    """Return a dtype, or that of Python's int, float and bool.  Raises ArgumentTypeError for anything else."""
    found = dtypes.from_type(value)
    if not isinstance(found, dtype):
        raise ArgumentTypeError(
            f"{what} must be a torch.dtype, got {shown(value)}", hint="as in torch.float32", operator=name
        )
    return found


class finfo:  # noqa: N801  (PyTorch's name for it)
    """The range and precision of a floating point type, or of the real and imaginary parts of a complex type.

    type: None is the default floating point type.
    Raises: ArgumentTypeError for integers.
    Example:
        >>> torch.finfo(torch.float16).max, torch.finfo(torch.float16).eps
        (65504.0, 0.0009765625)
        >>> torch.finfo(torch.float32)
        finfo(resolution=1e-06, min=-3.40282e+38, max=3.40282e+38, eps=1.19209e-07, smallest_normal=1.17549e-38, tiny=1.17549e-38, dtype=float32)
    """  # noqa: E501

    __slots__ = ("_of", "_values")

    def __init__(self, type: Any = None) -> None:
        self._of = default.floating if type is None else _type_of("finfo", "type", type).to_real()
        if self._of not in _FLOATS:
            raise ArgumentTypeError(
                f"requires a floating point input type, got {self._of}", hint="use torch.iinfo", operator="finfo"
            )
        self._values = _FLOATS[self._of]

    @property
    def bits(self) -> int:
        """The bits of one number."""
        return self._values.bits

    @property
    def max(self) -> float:
        """The largest number."""
        return self._values.max

    @property
    def min(self) -> float:
        """The least number, usually -max."""
        return self._values.min

    @property
    def eps(self) -> float:
        """The distance from 1 to the next larger number."""
        return self._values.eps

    @property
    def tiny(self) -> float:
        """The smallest positive normal number."""
        return self._values.tiny

    @property
    def smallest_normal(self) -> float:
        """The smallest positive normal number."""
        return self._values.tiny

    @property
    def resolution(self) -> float:
        """The power of ten of the last decimal digit that the type holds, for numbers of about 1."""
        return self._values.resolution

    @property
    def dtype(self) -> str:
        """The name of the type."""
        return self._of.name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, finfo) and other._of is self._of

    def __repr__(self) -> str:
        own = self._values
        return (
            f"finfo(resolution={own.resolution:g}, min={own.min:g}, max={own.max:g}, eps={own.eps:g}, "
            f"smallest_normal={own.tiny:g}, tiny={own.tiny:g}, dtype={self._of.name})"
        )


class iinfo:  # noqa: N801  (PyTorch's name for it)
    """The range of an integer type.

    Raises: ArgumentTypeError for other types.
    Example:
        >>> torch.iinfo(torch.int8)
        iinfo(min=-128, max=127, dtype=int8)
        >>> torch.iinfo(torch.int64).max
        9223372036854775807
    """

    __slots__ = ("_of",)

    def __init__(self, type: Any) -> None:
        self._of = _type_of("iinfo", "type", type)
        if self._of.category != dtypes.INTEGER or not self._of.compute:
            raise ArgumentTypeError(
                f"requires an integer input type, got {self._of}",
                hint="use torch.finfo"
                if self._of.category != dtypes.INTEGER
                else "pass an integer dtype: there are no tensors of this type",
                operator="iinfo",
            )

    @property
    def bits(self) -> int:
        """The bits of one number."""
        return 8 * self._of.itemsize

    @property
    def max(self) -> int:
        """The largest number."""
        return (1 << self.bits - self._of.is_signed) - 1

    @property
    def min(self) -> int:
        """The least number."""
        return -self.max - 1 if self._of.is_signed else 0

    @property
    def dtype(self) -> str:
        """The name of the type."""
        return self._of.name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, iinfo) and other._of is self._of

    def __repr__(self) -> str:
        return f"iinfo(min={self.min:g}, max={self.max:g}, dtype={self._of.name})"


# the default type


def get_default_dtype() -> dtype:
    """Return the default floating point type: that of tensors made without dtype=, such as by `zeros` or from floats.

    Example:
        >>> torch.get_default_dtype()
        torch.float32
    """
    return default.floating


def set_default_dtype(d: dtype) -> None:
    """Set the default dtype, which must be a floating point type.

    Factories without dtype= and Python floats get this type; an integer tensor combined with a float is promoted to it.
    Raises: ArgumentTypeError for any other type.
    Example:
        >>> torch.set_default_dtype(torch.float64)
        >>> torch.tensor(0.5).dtype, torch.zeros(1).dtype, (torch.tensor([1]) / 2).dtype
        (torch.float64, torch.float64, torch.float64)
        >>> torch.set_default_dtype(torch.float32)
    """
    _set_default("set_default_dtype", d)


def _set_default(name: str, wanted: Any) -> None:
    if not isinstance(wanted, dtype) or wanted not in dtypes.FLOATING_TYPES:
        raise ArgumentTypeError(
            f"only floating-point types are supported as the default type, got {shown(wanted)}",
            hint="use torch.float32, torch.float64, torch.float16 or torch.bfloat16",
            operator=name,
        )
    if wanted is not default.floating:
        default.floating = wanted
        if thread.has_machine():
            thread.machine().plans.entries.clear()  # cached plans were made with the former default


class _Legacy:
    """Whether set_default_tensor_type chose the device of factories."""

    chose_device = False


def set_default_tensor_type(t: Any) -> None:
    """Set the default dtype to that of a legacy class, such as torch.DoubleTensor or "torch.DoubleTensor".

    A CUDA class, such as torch.cuda.FloatTensor, also sets this thread's default device.
    Raises: ArgumentTypeError unless it is a floating point type.
    Example:
        >>> torch.set_default_tensor_type(torch.DoubleTensor)
        >>> torch.zeros(1).dtype
        torch.float64
        >>> torch.set_default_tensor_type("torch.FloatTensor")
    """
    named = legacy.TYPES.get(t.removeprefix("torch.")) if isinstance(t, str) else t
    if not isinstance(named, legacy.TensorType):
        raise ArgumentTypeError(
            f"invalid type object: {shown(t)}",
            hint="pass a class such as torch.DoubleTensor, or its name",
            operator="set_default_tensor_type",
        )
    _set_default("set_default_tensor_type", named.dtype)
    if named.is_cuda or _Legacy.chose_device:
        set_default_device("cuda" if named.is_cuda else None)
        _Legacy.chose_device = named.is_cuda


# promotion


def result_type(
    tensor: Any = None, other: Any = None, *, scalar: Any = None, scalar1: Any = None, scalar2: Any = None
) -> dtype:
    """Return the type of the result of arithmetic on two tensors or numbers.

    If only one operand is a tensor with dimensions, the result has its type, unless the other operand's category (bool,
    integer or float, in ascending order) is higher.
    scalar, scalar1, scalar2: other names for an operand.
    Raises: ArgumentTypeError for anything else.
    Example:
        >>> torch.result_type(torch.tensor([1, 2]), 1.0)
        torch.float32
        >>> torch.result_type(torch.tensor([1.0], dtype=torch.float16), torch.tensor(1.0, dtype=torch.float64))
        torch.float16
    """
    given = [value for value in (scalar, scalar1, scalar2, tensor, other) if value is not None]
    operands = [checks.plain(value) for value in given]
    if len(operands) != 2:
        raise ArgumentTypeError(
            f"takes two tensors or numbers, got {len(operands)}",
            hint="the signature is result_type(tensor, other)",
            operator="result_type",
        )
    for value in operands:
        if not isinstance(value, (TensorBase, bool, int, float)):
            raise ArgumentTypeError(
                f"expected a Tensor or a number, got {shown(value)}",
                hint="use promote_types(...) for dtypes",
                operator="result_type",
            )
    return common_type(operands)


def can_cast(from_: dtype, to: dtype) -> bool:
    """Return whether a result of type `from_` may be written into a tensor of type `to`.

    It may not if `to` has a lower category: the categories are, in order, bool, integer, floating point, complex.
    Raises: ArgumentTypeError for anything but dtypes.
    Example:
        >>> torch.can_cast(torch.int64, torch.float16), torch.can_cast(torch.float32, torch.int64)
        (True, False)
    """
    return dtypes.can_store(_type_of("can_cast", "from_", from_), _type_of("can_cast", "to", to))


def typename(obj: Any) -> str:
    """Return the name of a tensor's legacy type, or of another object's class, with its module.

    Example:
        >>> torch.typename(torch.ones(1)), torch.typename(3)
        ('torch.FloatTensor', 'int')
    """
    if isinstance(obj, TensorBase):
        return legacy.name_of(obj)
    named = obj if hasattr(obj, "__qualname__") or hasattr(obj, "__name__") else type(obj)
    module = getattr(named, "__module__", "") or ""
    name: str = getattr(named, "__qualname__", None) or named.__name__
    return name if module in ("", "builtins") else f"{module}.{name}"
