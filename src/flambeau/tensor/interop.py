"""Exchange with other libraries: NumPy's protocols, DLPack, the CUDA array interface, buffers and files."""

from __future__ import annotations

import importlib
import operator as python_operators
from typing import Any

from .. import dtypes
from ..core import thread
from ..core.factories import resolve
from ..core.tensor import TensorBase, alias_of
from ..dtypes import dtype
from ..errors import ArgumentError, AutogradError, ValueRangeError, naming, shown
from ..host import is_numpy_loaded, np
from ..memory_formats import check_layout
from ..ops.operator import Operator
from ..runtime import device as devices
from ..runtime.device import CPU_INDEX
from . import checks, factories, foreign, storages
from .factories import as_leaf, from_array, of_buffer
from .meta import is_meta

ARRAY_API = ("2021.12", "2022.12", "2023.12", "2024.12")


def as_array(self: Any, dtype: Any = None, copy: bool | None = None) -> Any:
    """Convert a tensor to a NumPy array: `__array__`, for `np.asarray(tensor)` and `np.array(tensor)`.

    Raises: the errors of `Tensor.numpy`; ArgumentError if copy is False and another type is asked for.
    """
    array = self.numpy()
    if dtype is None or array.dtype == dtype:
        return array.copy() if copy else array
    if copy is False:
        raise ArgumentError(
            f"{self.describe()} cannot become an array of {np.dtype(dtype)} without a copy, and copy is False",
            hint="leave out copy=False",
            operator="__array__",
        )
    return array.astype(dtype)


def from_result(self: Any, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
    """Convert the result of a NumPy ufunc on tensors to a tensor: `__array_wrap__`.

    Bool results become uint8, as in PyTorch.
    """
    array = np.asarray(array)
    return factories.from_numpy(array.view(np.uint8) if array.dtype == np.bool_ else array)


def with_array(symbol: str, swap: bool, tensor: Any, other: Any) -> Any:
    """Apply a binary operator, named as in Python's `operator`, to a tensor and an array.

    Returns NotImplemented for anything but an array.  NumPy computes the result, so its type is that for two arrays.
    """
    if not is_numpy_loaded() or not isinstance(other, np.ndarray):
        return NotImplemented
    compute = getattr(python_operators, f"__{symbol}__")
    return from_result(tensor, compute(other, tensor.numpy()) if swap else compute(tensor.numpy(), other))


def compared(operator: Operator, tensor: Any, other: Any) -> Any:
    """Compare a tensor with an array of numbers; return NotImplemented for anything else."""
    if not is_numpy_loaded() or not isinstance(other, np.ndarray) or dtypes.from_numpy(other.dtype) is None:
        return NotImplemented
    with naming(operator.called):
        return operator(tensor, factories.tensor(other))


def dlpack_device(self: Any) -> tuple[int, int]:
    """Return the tensor's device as DLPack numbers devices: (type, index)."""
    _check_not_meta(self, "__dlpack_device__")
    if self.is_cuda:
        return foreign.CUDA, self.device_index
    return foreign.CPU, 0  # pinned memory too, because PyTorch refuses DLPack's type for it


def _check_not_meta(tensor: Any, name: str) -> None:
    """Raise ExchangeError for a tensor of meta."""
    if is_meta(tensor):
        raise foreign.ExchangeError(
            f"tensors on meta have no values for other libraries, this is {tensor.describe()}",
            hint="make it with torch.empty_like(tensor, device=...)",
            operator=name,
        )


def dlpack(
    self: Any,
    *,
    stream: int | None = None,
    max_version: tuple[int, int] | None = None,
    dl_device: tuple[int, int] | None = None,
    copy: bool | None = None,
) -> Any:
    """Return a DLPack capsule over the tensor's memory.

    stream: the consumer's stream, which follows the tensor's current stream: a CUstream, 1 or None for the legacy
            default stream, -1 for no order.
    max_version: the newest version that the consumer reads; before (1, 0) the capsule has none.
    dl_device: where the consumer wants the memory; another device than the tensor's means a copy.
    copy: True always copies, False never, None if it must.
    Raises: ExchangeError (NotSupportedError, BufferError) for virtual GPUs and unknown devices, and for a copy that
            copy=False forbids; ExchangeGraphError (AutogradError, BufferError) for a tensor in a graph.
    """
    _check_not_meta(self, "__dlpack__")
    if self.requires_grad:
        raise foreign.ExchangeGraphError(
            f"can't export tensors that require gradient: {self.describe()}",
            hint="use tensor.detach()",
            operator="__dlpack__",
        )
    if copy is not None:
        checks.flag("__dlpack__", "copy", copy)
    source = self if dl_device is None else _on(self, int(dl_device[0]), int(dl_device[1]), copy)
    if source.is_cuda and foreign.is_modelled():
        raise foreign.ExchangeError(
            f"the memory of virtual GPUs cannot be read by other libraries, this is {self.describe()}",
            hint="pass tensor.cpu(); consumers that take dl_device get a copy with dl_device=(1, 0)",
            operator="__dlpack__",
        )
    source = source.clone() if copy and source is self else source
    foreign.let_follow(source, stream)
    is_versioned = max_version is not None and max_version[0] >= 1
    return foreign.capsule_of(source, dlpack_device(source), is_versioned, source is not self)


def _on(self: Any, kind: int, index: int, copy: bool | None) -> Any:
    """Return the tensor on a device that DLPack numbers: itself if it is there."""
    if (kind, index) == dlpack_device(self) or (kind == foreign.CPU and not self.is_cuda):
        return self
    if kind not in (foreign.CPU, foreign.CUDA):
        raise foreign.ExchangeError(
            f"dl_device is {(kind, index)}, and tensors are on the CPU (1, 0) and on CUDA devices (2, index)",
            hint="leave it out",
            operator="__dlpack__",
        )
    if copy is False:
        raise foreign.ExchangeError(
            f"{self.describe()} is not on the device {(kind, index)} of DLPack without a copy, and copy is False",
            hint="leave out copy=False",
            operator="__dlpack__",
        )
    return self.cpu() if kind == foreign.CPU else self.to(f"cuda:{index}")


def to_dlpack(tensor: Any) -> Any:
    """Return a DLPack capsule, through which other libraries use a tensor's memory.

    Raises: ExchangeError (NotSupportedError, BufferError) on a virtual GPU, ExchangeGraphError (AutogradError) for a
            tensor that requires a gradient.
    Example:
        >>> type(torch.to_dlpack(torch.ones(2))).__name__
        'PyCapsule'
    """
    checks.tensor("to_dlpack", "tensor", tensor)
    return dlpack(tensor)


def from_dlpack(ext_tensor: Any, *, device: Any = None, copy: bool | None = None) -> Any:
    """Return a tensor over the memory of any object with `__dlpack__`, or of a DLPack capsule.

    device: the device of the result.  copy: True always copies, False never, None only if needed.
    Shapes: those of the object.
    Order:  the current stream of the memory's GPU waits for the producer's work.
    Raises: the exporter's errors; ExchangeError (BufferError) for types and devices that tensors do not have;
            ArgumentError if copy is False and the result is on another device.
    Example:
        >>> import numpy
        >>> array = numpy.arange(3)
        >>> x = torch.from_dlpack(array)
        >>> x
        tensor([0, 1, 2])
    """
    if copy is not None:
        checks.flag("from_dlpack", "copy", copy)
    with naming("from_dlpack"):
        where = None if device is None else resolve(device)
        result = _shared(ext_tensor, where, copy)
    if where is None or where == result.device_index:
        return result.clone() if copy else result
    if copy is False:
        raise ArgumentError(
            f"{result.describe()} is not on {'cpu' if where == CPU_INDEX else f'cuda:{where}'} without a copy, "
            "and copy is False",
            hint="leave out copy=False",
            operator="from_dlpack",
        )
    return result.to(f"cuda:{where}") if where >= 0 else result.cpu()


def is_foreign(value: Any) -> bool:
    """Return whether a value is a tensor of another library, which `adopted` takes; NumPy's arrays are none."""
    return not isinstance(value, (TensorBase, np.ndarray)) and hasattr(value, "__dlpack__")


def adopted(value: Any) -> Any:
    """Return a tensor over the memory of another library's tensor.

    Raises: ExchangeError (BufferError) that names its class, for any reason for which it cannot be taken.
    """
    try:
        return from_dlpack(value.detach() if hasattr(value, "detach") else value)
    except Exception as error:
        raise foreign.ExchangeError(
            f"a {type(value).__module__}.{type(value).__qualname__} cannot be taken through DLPack: "
            f"{str(error).partition(chr(10))[0]}",
            hint="convert it to a dense array of a supported type on this machine",
        ) from error


def _shared(source: Any, where: int | None, copy: bool | None) -> Any:
    """Make a tensor over the memory of an object with `__dlpack__` or a capsule."""
    if isinstance(source, TensorBase):
        own: Any = source
        if own.requires_grad:
            return own.__dlpack__()  # raises
        return alias_of(own, own.shape, own.strides, own._offset)
    if foreign.is_capsule(source):
        capsule = source
    elif hasattr(source, "__dlpack__"):
        kind = int(source.__dlpack_device__()[0]) if hasattr(source, "__dlpack_device__") else foreign.CPU
        is_moved = where == CPU_INDEX and kind in (foreign.CUDA, foreign.CUDA_MANAGED) and copy is not False
        options = {"dl_device": (foreign.CPU, 0), "copy": None} if is_moved and foreign.is_modelled() else {}
        capsule = foreign.capsule_from("from_dlpack", source, options)
    else:
        raise ValueRangeError(
            f"{shown(source)} has no __dlpack__ method and is not an unused capsule",
            hint="use torch.as_tensor(...) for lists and numbers",
            operator="from_dlpack",
        )
    found = foreign.memory_of("from_dlpack", capsule)
    return found if isinstance(found, TensorBase) else factories.sharing(found, "from_dlpack")


def array_namespace(self: Any, *, api_version: str | None = None) -> Any:
    """Return the module with the functions of the array API (https://data-apis.org/array-api): `__array_namespace__`.

    Raises: ArgumentError for a version that does not exist.
    """
    if api_version is not None and api_version not in ARRAY_API:
        raise ArgumentError(
            f"version {api_version!r} of the array API is not supported",
            hint=f"use one of {', '.join(ARRAY_API)}",
            operator="__array_namespace__",
        )
    return importlib.import_module(f"{__name__.partition('.')[0]}.array_api")  # a higher layer: on demand


def to_device(self: Any, device: Any, /, *, stream: Any = None) -> Any:
    """Move a tensor to a device: the array API's name for `to`.

    Host:   waits for a copy between the CPU and a GPU.
    Raises: ArgumentError if `stream` is given: the copy is made on the current stream.
    Example:
        >>> torch.ones(2).to_device("cuda").device
        device(type='cuda', index=0)
    """
    if stream is not None:
        raise ArgumentError(
            f"stream must be None, got {shown(stream)}",
            hint="put the call into a block: with torch.cuda.stream(stream)",
            operator="to_device",
        )
    return self.to(device)


def cuda_array_interface(self: Any) -> dict[str, Any]:
    """Return the CUDA array interface, version 3, of a tensor on a GPU; the stream is the current one.

    Raises: AttributeError on the CPU, so that hasattr() is False there; AutogradError for a tensor in a graph.
    """
    if not self.is_cuda:
        raise AttributeError(
            f"__cuda_array_interface__: Can't get it on non-CUDA tensor: this is {self.describe()}\n"
            "hint: use tensor.cuda()"
        )
    if self.requires_grad:
        raise AutogradError(
            f"Can't get it on Variable that requires grad: {self.describe()}",
            hint="use tensor.detach()",
            operator="__cuda_array_interface__",
        )
    devices.expose()
    size = self.dtype.itemsize
    strides = None if self.is_contiguous() else tuple(step * size for step in self.strides)
    stream = thread.current_stream(self.device_index).cuda_stream
    return {
        "shape": tuple(self.shape),
        "typestr": self.dtype.numpy.str,
        "data": (self.address() if self.numel() else 0, False),
        "strides": strides,
        "stream": stream or 1,  # the protocol forbids 0; 1 is the legacy default stream
        "version": 3,
    }


def frombuffer(buffer: Any, *, dtype: dtype, count: int = -1, offset: int = 0, requires_grad: bool = False) -> Any:
    """Return a CPU tensor that shares the memory of an object with Python's buffer interface, such as a bytearray.

    count: elements, -1 for all.  offset: bytes to leave out at the start.
    Shapes: a vector of `count` elements.
    Raises: ArgumentError if the buffer is too small, or if the object is not a buffer.
    Example:
        >>> data = bytearray([1, 0, 2, 0])
        >>> x = torch.frombuffer(data, dtype=torch.int16)
        >>> data[0] = 9
        >>> x
        tensor([9, 2], dtype=torch.int16)
    """
    return of_buffer("frombuffer", buffer, dtype, count, offset, requires_grad)


def from_file(
    filename: str,
    shared: bool | None = None,
    size: int = 0,
    *,
    dtype: dtype | None = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Any:
    """Return a CPU tensor over the bytes of a file, which is mapped into memory.

    shared: True passes writes on to the file, which is created or extended if needed; otherwise writes stay in this
    process.
    size: the number of elements.
    Shapes: a vector of `size` elements.
    Raises: FileFormatError if the file is too small, the OSError of a file that cannot be opened.
    Example:
        >>> import tempfile
        >>> with tempfile.NamedTemporaryFile() as file:
        ...     x = torch.from_file(file.name, shared=True, size=2, dtype=torch.uint8).fill_(65)
        ...     file.read()
        b'AA'
    """
    check_layout("from_file", layout)
    checks.count("from_file", "size", size)
    element_type = checks.as_dtype("from_file", dtype) or dtypes.default.floating
    nbytes = size * element_type.itemsize
    content = f"{size} elements of {element_type.name}"
    array = storages.mapped("from_file", filename, bool(shared), nbytes, content).view(element_type.numpy)
    result = from_array(array, "from_file")
    result = result.pin_memory() if pin_memory else result
    return result if requires_grad is False else as_leaf("from_file", result, requires_grad)
