"""Streams, events and functions of the nvidia driver, for uncompiled runs.  nvidia.pyx also makes its calls."""

from __future__ import annotations

from typing import Any

NO_DEVICE = -1
MAX_ARGUMENT_BYTES = 32_764  # most argument bytes of one launch, on every architecture since Volta
MAX_ALIGNMENT = 256  # bytes: cublasLt requires no more
DESC_BIAS_POINTER = 8  # cublasLtMatmulDescAttributes_t


class Stream:
    """A CUDA stream.

    cu: the CUstream of cuda.bindings;  raw: its address.  is_ours: whether this driver made it and must destroy it.
    context: the address of its device's CUcontext, 0 while unknown.
    """

    __slots__ = ("context", "cu", "device", "is_ours", "raw")

    def __init__(self, device: int, cu: Any, is_ours: bool) -> None:
        self.device = device
        self.cu = cu
        self.raw = int(cu)
        self.is_ours = is_ours
        self.context = 0

    def end(self) -> int:
        """Mark the stream as destroyed; return its device.  Compiled calls on it then take the slow path."""
        device, self.device, self.context = self.device, NO_DEVICE, 0
        return device


class Event:
    """A CUDA event.

    cu: the CUevent of cuda.bindings;  raw: its address.  interprocess: whether other processes may open it.
    """

    __slots__ = ("cu", "device", "interprocess", "is_plain", "raw", "timing")

    def __init__(self, device: int, cu: Any, timing: bool, is_plain: bool = False, interprocess: bool = False) -> None:
        """is_plain: whether it has no options, so that it may be reused after its destruction."""
        self.device = device
        self.cu = cu
        self.raw = int(cu)
        self.timing = timing
        self.is_plain = is_plain
        self.interprocess = interprocess

    def is_put_off(self) -> bool:
        """Return whether its latest record is still in a native thread's ring.  Uncompiled, there is no such thread."""
        return False


class Function:
    """A kernel on one device.

    address: the CUfunction's address.  shared_limit: most bytes of dynamic shared memory of a launch.
    """

    __slots__ = ("address", "device", "shared_limit")

    def __init__(self, address: int, device: int, shared_limit: int) -> None:
        self.address = address
        self.device = device
        self.shared_limit = shared_limit
