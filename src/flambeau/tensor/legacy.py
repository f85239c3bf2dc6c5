"""Legacy tensor classes, which name a type and a device kind: FloatTensor, cuda.HalfTensor, and Variable.

They construct tensors, work with `isinstance`, and are accepted by `x.type(...)`.  No tensor is a direct instance of
them.
"""

from __future__ import annotations

import copyreg
from operator import index as index_of
from typing import Any

from .. import dtypes, transfer
from ..core.tensor import TensorBase, empty_tensor
from ..dtypes import dtype
from ..errors import ArgumentError, ArgumentTypeError, FlambeauError, ValueRangeError, name_error, shown
from ..host import np
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
    """Metaclass of the legacy tensor types, such as FloatTensor: a call makes a tensor of its dtype."""

    dtype: dtype
    is_cuda: bool

    def __call__(cls, *args: Any, device: Any = None) -> Any:
        """T(2, 3) and T(torch.Size([2, 3])) are uninitialized; T([1, 2]) copies data, T(array) shares it if it can.

        Host: waits to copy to a GPU.
        """
        return make(cls, args, device=device)

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, TensorBase) and (instance.dtype, instance.is_cuda) == (cls.dtype, cls.is_cuda)

    def __repr__(cls) -> str:
        return f"<class '{cls.__module__}.{cls.__name__}'>"

    def __str__(cls) -> str:
        return f"{cls.__module__}.{cls.__name__}"


def _type(element_type: dtype, is_cuda: bool) -> TensorType:
    module, name = "torch.cuda" if is_cuda else "torch", _NAMES[element_type]
    text = (
        f"PyTorch's older name for tensors of {element_type.name} on {'a CUDA device' if is_cuda else 'the CPU'}.\n\n"
        f"A call makes a tensor: {name}(2, 3) is uninitialized, {name}([1, 2]) copies data.\n"
        f"Example:\n    >>> {module}.{name}([0, 1]).dtype\n    {element_type}\n"
    )
    members = {"dtype": element_type, "is_cuda": is_cuda, "__module__": module, "__doc__": text}
    return TensorType(name, (), members)


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


def _reduce(cls: TensorType) -> tuple[Any, ...]:
    """Reduce a legacy class for pickle to its name in TYPES."""
    return _named, (str(cls).removeprefix("torch."),)


def _named(name: str) -> TensorType:
    return TYPES[name]


copyreg.pickle(TensorType, _reduce)


def make(cls: TensorType, args: tuple[Any, ...], device: Any = None, **other: Any) -> Any:
    """Return a tensor of a legacy class, from sizes or from data (see TensorType).

    device: of the class's kind; the current CUDA device if none is named.
    Raises: ArgumentError for a device of another kind, ArgumentTypeError for a tensor of another type.
    """
    if other:
        raise ArgumentTypeError(
            f"takes sizes or data, and device=, got {', '.join(other)}",
            hint="use torch.tensor(...), which accepts dtype=",
            operator=cls,
        )
    wanted = ("cuda" if cls.is_cuda else "cpu") if device is None else device
    index = devices.resolve(wanted)
    if (index >= 0) != cls.is_cuda:
        raise ValueRangeError(
            f"legacy constructor expects device type: {'cuda' if cls.is_cuda else 'cpu'}, got {wanted}",
            hint="use torch.empty(...) or torch.tensor(...), which accept any device",
            operator=cls,
        )
    return constructed(cls.dtype, index, args, str(cls))


def make_tensor(*args: Any, **options: Any) -> Any:
    """Make the result of `Tensor(...)`: as `FloatTensor(...)`, but it shares a CPU tensor of any type."""
    if len(args) == 1 and not options and isinstance(args[0], TensorBase) and not args[0].is_cuda:
        source: Any = args[0]
        return source.detach()
    return make(CPU_TYPES[dtypes.default.floating], args, **options)


def constructed(element_type: dtype, index: int, args: tuple[Any, ...], name: str) -> Any:
    """Make a tensor as FloatTensor(*args) and `x.new(*args)` do: uninitialized, with copied data, or sharing memory."""
    if len(args) == 1 and isinstance(args[0], TensorBase):
        return _shared(args[0], element_type, index, name)
    args = tuple(index_of(size) if _is_index(size) else size for size in args)
    if len(args) == 1 and isinstance(args[0], np.ndarray):
        return transfer.to(factories.sharing(args[0], name), index, element_type)
    if len(args) == 1 and not isinstance(args[0], (int, Size)):
        if isinstance(args[0], (float, np.generic)):
            raise ArgumentTypeError(
                f"data must be a sequence, got {shown(args[0])}", hint="torch.tensor(...) takes numbers", operator=name
            )
        where = "cpu" if index < 0 else devices.cuda(index)
        try:
            return factories.tensor(args[0], dtype=element_type, device=where)
        except FlambeauError as error:
            name_error(error, name)
            raise
    shape = args[0] if len(args) == 1 and isinstance(args[0], Size) else args or (0,)
    checks.sizes(name, shape)
    return empty_tensor(shape, element_type, index, name=name)


def _is_index(value: Any) -> bool:
    """Return whether PyTorch takes a value of another library as a size: an integer of NumPy, or one like it."""
    if isinstance(value, (int, tuple, list, TensorBase)):
        return False
    if isinstance(value, (np.ndarray, np.generic)):
        return not value.ndim and value.dtype.kind in "iu"
    return hasattr(type(value), "__index__")


def _shared(source: Any, element_type: dtype, index: int, name: str) -> Any:
    if source.dtype is not element_type or source.device_index != index:
        raise ArgumentTypeError(
            f"expected a tensor of {element_type.name} on {'cpu' if index < 0 else devices.cuda(index)}, "
            f"got {source.describe()}",
            hint="convert it with .type() or .to()",
            operator=name,
        )
    return source.detach()


def name_of(tensor: TensorBase) -> str:
    """Return the name of a tensor's legacy class, such as 'torch.cuda.FloatTensor'."""
    return str((CUDA_TYPES if tensor.is_cuda else CPU_TYPES)[tensor.dtype])


def convert(tensor: TensorBase, target: Any, non_blocking: bool = False) -> Any:
    """Convert a tensor to a dtype, a legacy class or a legacy class's name; return it if nothing changes.

    A tensor on a GPU stays on it for a CUDA class; a CPU tensor is copied to the current device.
    Raises: ArgumentError for an unknown name, ArgumentTypeError for anything else.
    """
    if isinstance(target, str):
        if target.removeprefix("torch.") not in TYPES or not target.startswith("torch."):
            raise ArgumentError(
                f"invalid type: {target!r}", hint="use a name such as 'torch.cuda.FloatTensor'", operator="type"
            )
        target = TYPES[target.removeprefix("torch.")]
    if isinstance(target, dtype):
        return transfer.to(tensor, tensor.device_index, target, non_blocking)
    if not isinstance(target, TensorType):
        raise ArgumentTypeError(
            f"dtype must be a type, a class such as torch.FloatTensor or its name, not {shown(target)}",
            hint="use torch.float32",
            operator="type",
        )
    stays = tensor.is_cuda == target.is_cuda
    index = tensor.device_index if stays else devices.resolve("cuda" if target.is_cuda else "cpu")
    return transfer.to(tensor, index, target.dtype, non_blocking)


class _VariableType(type):
    def __call__(cls, data: Any, requires_grad: bool = False, volatile: bool = False) -> Any:
        checks.tensor("Variable", "data", data)
        checks.leaf("Variable", data, requires_grad)
        return data.detach().requires_grad_(requires_grad)

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, TensorBase)


class Variable(metaclass=_VariableType):
    """The deprecated wrapper of tensors with gradients: Variable(x, requires_grad) returns a tensor with x's memory.

    `volatile` has no effect; use no_grad().
    Example:
        >>> torch.autograd.Variable(torch.ones(2), requires_grad=True)
        tensor([1., 1.], requires_grad=True)
    """
