"""Meeting other libraries: DLPack for host memory, the CUDA array interface, and pickle."""

from __future__ import annotations

from typing import Any

from ..core import thread
from ..core.tensor import TensorBase
from ..dtypes import BY_NAME
from ..errors import AutogradError, NotSupportedError, ValueRangeError, naming, shown
from ..host import np
from ..runtime import device as devices
from . import factories

DLPACK_CPU, DLPACK_CUDA = 1, 2  # DLDeviceType


def dlpack_device(self: TensorBase) -> tuple[int, int]:
    """Where the tensor lives, as DLPack numbers devices."""
    return (DLPACK_CUDA, self.device_index) if self.is_cuda else (DLPACK_CPU, 0)


def dlpack(self: Any, **options: Any) -> Any:
    """A DLPack capsule over a CPU tensor's memory.

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


def from_dlpack(source: Any) -> Any:
    """A CPU tensor over the memory of any object with `__dlpack__`.  Raises what the exporter raises."""
    if not hasattr(source, "__dlpack__"):
        raise ValueRangeError(
            f"{shown(source)} has no __dlpack__ method",
            hint="torch.as_tensor(...) takes lists and numbers",
            operator="from_dlpack",
        )
    with naming("from_dlpack"):
        return factories.from_numpy(np.from_dlpack(source))


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


def reduce(self: Any, protocol: Any = None) -> tuple[Any, ...]:
    """What pickle stores: the dense values, and where they go back to.  Host: waits for a tensor on a GPU."""
    if self.requires_grad and not self.is_leaf:
        raise AutogradError(
            f"only leaves of a graph can be pickled, this is {self.describe()}",
            hint="use tensor.detach()",
            operator="pickle",
        )
    values = self.detach().cpu().contiguous().array().tobytes()
    return _restore, (values, self.dtype.name, tuple(self.shape), str(self.device), self.requires_grad)


def _restore(values: bytes, kind: str, shape: tuple[int, ...], device: str, requires_grad: bool) -> Any:
    array = np.frombuffer(bytearray(values), BY_NAME[kind].numpy).reshape(shape)
    made = factories.from_array(array)
    return (made if device == "cpu" else made.to(devices.as_device(device))).requires_grad_(requires_grad)
