"""Handles of cuBLAS, for libraries that take one; flambeau's own products are cuBLASLt's, which has no streams."""

from __future__ import annotations

import ctypes
from ctypes import byref, c_int, c_void_p
from functools import cache
from typing import Any

from ...errors import NotSupportedError
from ..per_thread import PerThread
from .blas import packaged
from .handles import Stream
from .library import check_blas

SONAMES = ("libcublas.so.13", "libcublas.so.12")
SIGNATURES: dict[str, tuple[Any, ...]] = {
    "cublasCreate_v2": (ctypes.POINTER(c_void_p),),
    "cublasSetStream_v2": (c_void_p, c_void_p),
}


@cache
def load() -> Any:
    """The library with its signatures declared.  Raises NotSupportedError if it is not installed."""
    for path in (*packaged("cublas"), *SONAMES):
        try:
            library = ctypes.CDLL(path)
        except OSError:  # not there: the next one may be
            continue
        for name, argtypes in SIGNATURES.items():
            function = getattr(library, name)
            function.argtypes, function.restype = argtypes, c_int
        return library
    raise NotSupportedError(
        "cuBLAS is not installed", hint='pip install "nvidia-cublas"', operator="current_blas_handle"
    )


class BlasHandles:
    """One handle per thread and device.  They live as long as the process."""

    def __init__(self) -> None:
        self._handles: PerThread[int, int] = PerThread()

    def of(self, stream: Stream) -> int:
        """The calling thread's, which puts its work on a stream.  The stream's device is current."""
        library = load()
        handle = self._handles.get(stream.device, lambda: _make(library, stream.device))
        check_blas(library.cublasSetStream_v2(handle, stream.raw), "cublasSetStream", device=stream.device)
        return handle


def _make(library: Any, device: int) -> int:
    made = c_void_p()
    check_blas(library.cublasCreate_v2(byref(made)), "cublasCreate", device=device)
    return int(made.value or 0)
