"""Exchange with other libraries: NumPy's protocols, DLPack for host memory, the CUDA array interface."""

from __future__ import annotations

import operator as python_operators
from typing import Any

from .. import dtypes
from ..core import thread
from ..core.factories import resolve
from ..core.tensor import TensorBase
from ..errors import ArgumentError, AutogradError, NotSupportedError, ValueRangeError, naming, shown
from ..host import is_numpy_loaded, np
from ..ops.operator import Operator
from ..runtime.device import CPU_INDEX
from . import checks, factories

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
