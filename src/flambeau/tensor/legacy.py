"""The classes that once named a type and a place together: FloatTensor, cuda.HalfTensor, and Variable.

They make tensors, `isinstance` knows them, and `x.type(...)` takes them; no tensor is an instance of them.
"""

from __future__ import annotations

import copyreg
from typing import Any

from .. import dtypes, transfer
from ..core.tensor import TensorBase, empty_tensor
from ..dtypes import dtype
from ..errors import ArgumentError, ArgumentTypeError, FlambeauError, ValueRangeError, name_error, shown
from ..runtime import device as devices
from ..strides import Size
from . import checks, factories

_NAMES = {
    dtypes.float16: "HalfTensor",
    dtypes.bfloat16: "BFloat16Tensor",
    dtypes.float32: "FloatTensor",
    dtypes.float64: "DoubleTensor",
    dtypes.uint8: "ByteTensor",
    dtypes.int8: "CharTensor",
    dtypes.int16: "ShortTensor",
    dtypes.int32: "IntTensor",
    dtypes.int64: "LongTensor",
    dtypes.bool_: "BoolTensor",
}


class TensorType(type):
    """The class of FloatTensor and its kin: calling one makes a tensor of its dtype, on the CPU or a CUDA device."""

    dtype: dtype
    is_cuda: bool

    def __call__(cls, *args: Any, device: Any = None) -> Any:
        """T(2, 3) and T(torch.Size([2, 3])) have unset values; T([1, 2]) has these.  Host: waits for those on a GPU."""
        return make(cls, args, device=device)

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, TensorBase) and (instance.dtype, instance.is_cuda) == (cls.dtype, cls.is_cuda)

    def __repr__(cls) -> str:
        return f"<class '{cls.__module__}.{cls.__name__}'>"

    def __str__(cls) -> str:
        return f"{cls.__module__}.{cls.__name__}"


def _type(kind: dtype, is_cuda: bool) -> TensorType:
    members = {"dtype": kind, "is_cuda": is_cuda, "__module__": "torch.cuda" if is_cuda else "torch"}
    return TensorType(_NAMES[kind], (), members)


CPU_TYPES = {kind: _type(kind, False) for kind in _NAMES}
CUDA_TYPES = {kind: _type(kind, True) for kind in _NAMES}
TYPES = {name: CPU_TYPES[kind] for kind, name in _NAMES.items()}
TYPES |= {f"cuda.{name}": CUDA_TYPES[kind] for kind, name in _NAMES.items()}

HalfTensor, CudaHalfTensor = TYPES["HalfTensor"], TYPES["cuda.HalfTensor"]
BFloat16Tensor, CudaBFloat16Tensor = TYPES["BFloat16Tensor"], TYPES["cuda.BFloat16Tensor"]
FloatTensor, CudaFloatTensor = TYPES["FloatTensor"], TYPES["cuda.FloatTensor"]
DoubleTensor, CudaDoubleTensor = TYPES["DoubleTensor"], TYPES["cuda.DoubleTensor"]
ByteTensor, CudaByteTensor = TYPES["ByteTensor"], TYPES["cuda.ByteTensor"]
CharTensor, CudaCharTensor = TYPES["CharTensor"], TYPES["cuda.CharTensor"]
ShortTensor, CudaShortTensor = TYPES["ShortTensor"], TYPES["cuda.ShortTensor"]
IntTensor, CudaIntTensor = TYPES["IntTensor"], TYPES["cuda.IntTensor"]
LongTensor, CudaLongTensor = TYPES["LongTensor"], TYPES["cuda.LongTensor"]
BoolTensor, CudaBoolTensor = TYPES["BoolTensor"], TYPES["cuda.BoolTensor"]


def _reduce(kind: TensorType) -> tuple[Any, ...]:
    """Reduce a legacy type for pickle to its name in TYPES."""
    return _named, (str(kind).removeprefix("torch."),)


def _named(name: str) -> TensorType:
    return TYPES[name]


copyreg.pickle(TensorType, _reduce)


def make(kind: TensorType, args: tuple[Any, ...], device: Any = None, **other: Any) -> Any:
    """A tensor of a legacy type, from sizes or from data (see TensorType).

    device: of the type's kind; the current CUDA device if none is named.
    Raises: ArgumentError for a device of another kind, ArgumentTypeError for a tensor of another type.
    """
    if other:
        raise ArgumentTypeError(
            f"takes sizes or data, and device=, got {', '.join(other)}",
            hint="torch.tensor(...) takes dtype=",
            operator=kind,
        )
    wanted = ("cuda" if kind.is_cuda else "cpu") if device is None else device
    index = devices.resolve(wanted)
    if (index >= 0) != kind.is_cuda:
        raise ValueRangeError(
            f"legacy constructor expects device type: {'cuda' if kind.is_cuda else 'cpu'}, got {wanted}",
            hint="torch.empty(...) and torch.tensor(...) take any device",
            operator=kind,
        )
    return constructed(kind.dtype, index, args, str(kind))


def make_tensor(*args: Any, **options: Any) -> Any:
    """Make a tensor as `Tensor(...)` does: as FloatTensor, but sharing a CPU tensor of any type."""
    if len(args) == 1 and not options and isinstance(args[0], TensorBase) and not args[0].is_cuda:
        return args[0].detach()  # type: ignore[attr-defined]  # every tensor is a Tensor
    return make(TYPES["FloatTensor"], args, **options)


def constructed(kind: dtype, index: int, args: tuple[Any, ...], name: str) -> Any:
    """What FloatTensor(*args) and `x.new(*args)` make: unset values for sizes, a copy of data, or a tensor shared."""
    if len(args) == 1 and isinstance(args[0], TensorBase):
        return _shared(args[0], kind, index, name)
    if len(args) == 1 and not isinstance(args[0], (int, Size)):
        where = "cpu" if index < 0 else devices.cuda(index)
        try:
            return factories.tensor(args[0], dtype=kind, device=where)
        except FlambeauError as error:
            name_error(error, name)
            raise
    shape = args[0] if len(args) == 1 and isinstance(args[0], Size) else args or (0,)
    checks.sizes(name, shape)
    return empty_tensor(shape, kind, index, name=name)


def _shared(source: Any, kind: dtype, index: int, name: str) -> Any:
    if source.dtype is not kind or source.device_index != index:
        raise ArgumentTypeError(
            f"expected a tensor of {kind.name} on {'cpu' if index < 0 else devices.cuda(index)}, "
            f"got {source.describe()}",
            hint="convert it with .type() or .to()",
            operator=name,
        )
    return source.detach()


def name_of(tensor: TensorBase) -> str:
    """The name of a tensor's legacy type: 'torch.cuda.FloatTensor'."""
    return str((CUDA_TYPES if tensor.is_cuda else CPU_TYPES)[tensor.dtype])


def convert(tensor: TensorBase, kind: Any, non_blocking: bool = False) -> Any:
    """A tensor as a dtype, a legacy class or a legacy class's name; itself if nothing changes.

    A tensor on a GPU stays on it for a CUDA class; a CPU tensor goes to the current device.
    Raises: ArgumentError for an unknown name, ArgumentTypeError for anything else.
    """
    if isinstance(kind, str):
        if kind.removeprefix("torch.") not in TYPES or not kind.startswith("torch."):
            raise ArgumentError(
                f"invalid type: {kind!r}", hint="a name such as 'torch.cuda.FloatTensor'", operator="type"
            )
        kind = TYPES[kind.removeprefix("torch.")]
    if isinstance(kind, dtype):
        return transfer.to(tensor, tensor.device_index, kind, non_blocking)
    if not isinstance(kind, TensorType):
        raise ArgumentTypeError(
            f"dtype must be a type, a class such as torch.FloatTensor or its name, not {shown(kind)}",
            hint="use torch.float32",
            operator="type",
        )
    stays = tensor.is_cuda == kind.is_cuda
    index = tensor.device_index if stays else devices.resolve("cuda" if kind.is_cuda else "cpu")
    return transfer.to(tensor, index, kind.dtype, non_blocking)


class _VariableType(type):
    def __call__(cls, data: Any, requires_grad: bool = False, volatile: bool = False) -> Any:
        checks.tensor("Variable", "data", data)
        checks.leaf("Variable", data, requires_grad)
        return data.detach().requires_grad_(requires_grad)

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, TensorBase)


class Variable(metaclass=_VariableType):
    """What tensors with gradients were once wrapped in: Variable(x, requires_grad) is a tensor with x's memory.

    `volatile` no longer means anything; use no_grad().
    """
