"""NVTX markers for NVIDIA's profilers, through the C library in NVIDIA's wheels.

Without a profiler every call returns at once.  The library finds the profiler by the environment variable
NVTX_INJECTION64_PATH.
"""

from __future__ import annotations

from ctypes import c_char_p, c_int, c_uint64
from functools import cache
from typing import Any

from .library import in_wheels, open_first

LIBRARY = "libnvtx3interop.so.1"
OLD_LIBRARY = "libnvToolsExt.so.1"  # of toolkits before CUDA 12.9, with the same functions
SIGNATURES: dict[str, tuple[tuple[Any, ...], Any]] = {
    "nvtxMarkA": ((c_char_p,), None),
    "nvtxRangePushA": ((c_char_p,), c_int),
    "nvtxRangePop": ((), c_int),
    "nvtxRangeStartA": ((c_char_p,), c_uint64),
    "nvtxRangeEnd": ((c_uint64,), None),
}


class NvtxMarkers:
    """The implementation of `driver.api.Markers`."""

    def __init__(self, library: Any) -> None:
        self._library = library
        for name, (argtypes, restype) in SIGNATURES.items():
            function = getattr(library, name)
            function.argtypes, function.restype = argtypes, restype

    def mark(self, text: str) -> None:
        self._library.nvtxMarkA(text.encode())

    def push(self, text: str) -> None:
        self._library.nvtxRangePushA(text.encode())

    def pop(self) -> None:
        self._library.nvtxRangePop()

    def begin(self, text: str) -> int:
        return int(self._library.nvtxRangeStartA(text.encode()))

    def end(self, begun: int) -> None:
        self._library.nvtxRangeEnd(begun)


@cache
def load() -> NvtxMarkers | None:
    """Return the library, or None if it is not installed."""
    library = open_first(*in_wheels(LIBRARY), LIBRARY, OLD_LIBRARY)
    return None if library is None else NvtxMarkers(library)
