"""Exchange with other libraries: NumPy's protocols, DLPack, the CUDA array interface, buffers and files."""

from __future__ import annotations

import operator as python_operators
import os
from typing import Any

from .. import dtypes
from ..core import thread
from ..core.factories import resolve
from ..core.tensor import TensorBase
from ..dtypes import dtype
from ..errors import ArgumentError, AutogradError, FileFormatError, NotSupportedError, ValueRangeError, naming, shown
from ..host import is_numpy_loaded, np
from ..memory_formats import check_layout
from ..ops.operator import Operator
from ..runtime.device import CPU_INDEX
from . import checks, factories
from .factories import as_leaf, from_array, of_buffer

DLPACK_CPU, DLPACK_CUDA = 1, 2  # DLDeviceType


def as_array(self: Any, dtype: Any = None, copy: bool | None = None) -> Any:
    """Convert a tensor to a NumPy array: `__array__`, for `np.asarray(tensor)` and `np.array(tensor)`.

    Raises: what `Tensor.numpy` raises; ArgumentError if copy is False and another type is asked for.
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

    Truth values become uint8, as in PyTorch.
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


def dlpack_device(self: TensorBase) -> tuple[int, int]:
    """Return the tensor's device as DLPack numbers devices."""
    return (DLPACK_CUDA, self.device_index) if self.is_cuda else (DLPACK_CPU, 0)


def dlpack(self: Any, **options: Any) -> Any:
    """Return a DLPack capsule over a CPU tensor's memory.

    Raises: NotSupportedError on a GPU, AutogradError for a tensor in a graph.
    """
    if self.is_cuda:
        raise NotSupportedError(
            f"only CPU tensors can be exported, this is {self.describe()}",
            hint="libraries that read __cuda_array_interface__ can take it",
            operator="__dlpack__",
        )
    if self.requires_grad:
        raise AutogradError(
            f"can't export tensors that require gradient: {self.describe()}",
            hint="use tensor.detach()",
            operator="__dlpack__",
        )
    return self.array().__dlpack__(**options)


def to_dlpack(tensor: Any) -> Any:
    """Return a DLPack capsule over a CPU tensor's memory, which other libraries read.

    Raises: NotSupportedError on a GPU, AutogradError for a tensor in a graph.
    Example:
        >>> type(torch.to_dlpack(torch.ones(2))).__name__
        'PyCapsule'
    """
    checks.tensor("to_dlpack", "tensor", tensor)
    return dlpack(tensor)


def from_dlpack(ext_tensor: Any, *, device: Any = None, copy: bool | None = None) -> Any:
    """A CPU tensor over the memory of any object with `__dlpack__`.

    device: the device of the result.  copy: True always copies, False never, None if it must.
    Raises: the exporter's errors; ArgumentError if copy is False and the result is on another device.
    Example:
        >>> import numpy
        >>> array = numpy.arange(3)
        >>> x = torch.from_dlpack(array)
        >>> x
        tensor([0, 1, 2])
    """
    if not hasattr(ext_tensor, "__dlpack__"):
        raise ValueRangeError(
            f"{shown(ext_tensor)} has no __dlpack__ method",
            hint="torch.as_tensor(...) takes lists and numbers",
            operator="from_dlpack",
        )
    if copy is not None:
        checks.flag("from_dlpack", "copy", copy)
    with naming("from_dlpack"):
        result = factories.from_numpy(np.from_dlpack(ext_tensor))
        where = CPU_INDEX if device is None else resolve(device)
    if where == CPU_INDEX:
        return result.clone() if copy else result
    if copy is False:
        raise ArgumentError(
            f"{result.describe()} is not on cuda:{where} without a copy, and copy is False",
            hint="leave out copy=False",
            operator="from_dlpack",
        )
    return result.to(where)


def cuda_array_interface(self: Any) -> dict[str, Any]:
    """The CUDA array interface, version 3, of a tensor on a GPU; the stream is the current one.

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
    """A CPU tensor that shares the memory of an object with Python's buffer interface, such as a bytearray.

    count: elements, -1 for all.  offset: bytes to leave out at the start.
    Raises: ArgumentError if the buffer does not hold them or is no buffer.
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
    """A CPU tensor over the bytes of a file, which is mapped into memory.

    shared: True writes to the file, which is made or grows if it is too small; else writes stay in this process.
    size: the number of elements.
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
    if shared:
        with open(filename, "ab") as file:
            if os.fstat(file.fileno()).st_size < nbytes:
                file.truncate(nbytes)
    have = os.stat(filename).st_size
    if have < nbytes:
        raise FileFormatError(
            f"file {filename} has {have} bytes, fewer than the {nbytes} of {size} elements of {element_type.name}",
            hint="pass shared=True to let it grow",
            operator="from_file",
        )
    if not nbytes:
        array = np.empty(0, element_type.numpy)
    else:
        mapped = np.memmap(filename, np.uint8, "r+" if shared else "c", 0, nbytes)
        array = np.asarray(mapped).view(element_type.numpy)
    result = from_array(array, "from_file")
    result = result.pin_memory() if pin_memory else result
    return result if requires_grad is False else as_leaf("from_file", result, requires_grad)
