"""Streams, events and functions of the nvidia driver as launches read them.  The compiled form also has the calls."""

from __future__ import annotations

from typing import Any

NO_DEVICE = -1
MAX_ARGUMENT_BYTES = 32_764  # of one launch, on every architecture since Volta
MAX_ALIGNMENT = 256  # bytes: cublasLt asks for no more
DESC_BIAS_POINTER = 8  # cublasLtMatmulDescAttributes_t


class Stream:
    """cu: the CUstream, as cuda.bindings wants it; raw: its number.  is_ours: this driver made it, and destroys it.

    context: the number of its device's context, 0 while it is not known.
    """

    __slots__ = ("context", "cu", "device", "is_ours", "raw")

    def __init__(self, device: int, cu: Any, is_ours: bool) -> None:
        self.device = device
        self.cu = cu
        self.raw = int(cu)
        self.is_ours = is_ours
        self.context = 0

    def end(self) -> int:
        """Its device, just before it is destroyed.  Compiled calls that still know it go the long way from now on."""
        device, self.device, self.context = self.device, NO_DEVICE, 0
        return device


class Event:
    """cu: the CUevent, as cuda.bindings wants it; raw: its number.  interprocess: other processes may open it."""

    __slots__ = ("cu", "device", "interprocess", "is_plain", "raw", "timing")

    def __init__(self, device: int, cu: Any, timing: bool, is_plain: bool = False, interprocess: bool = False) -> None:
        """is_plain: it has nothing that an event can have, and may serve again after it was destroyed."""
        self.device = device
        self.cu = cu
        self.raw = int(cu)
        self.timing = timing
        self.is_plain = is_plain
        self.interprocess = interprocess


class Function:
    """A kernel on one device.

    address: the CUfunction's number.  shared_limit: the bytes of dynamic shared memory that it may ask for.
    """

    __slots__ = ("address", "device", "shared_limit")

    def __init__(self, address: int, device: int, shared_limit: int) -> None:
        self.address = address
        self.device = device
        self.shared_limit = shared_limit
