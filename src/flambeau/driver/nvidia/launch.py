"""Loaded kernels, and the memory through which the driver gets a launch buffer.

cuLaunchKernel reads the buffer before it returns, with the interpreter unlocked.  So a thread takes a `Passage`
from a list that all threads share, and puts it back after the call; a list's pop and append are atomic.
"""

from __future__ import annotations

import ctypes
from threading import Lock
from typing import Any

from ...core.nvidia import MAX_ARGUMENT_BYTES, Function, Stream
from ...errors import ArgumentError
from ...kernel import Buffer, Grid, Kernel
from .library import check

PLAIN_SHARED_BYTES = 48 * 1024  # dynamic shared memory that needs no permission

# cuda.h: the keys of cuLaunchKernel's `extra`
BUFFER_POINTER, BUFFER_SIZE, END = 1, 2, 0


class Passage:
    """One launch's `extra`: {BUFFER_POINTER, data, BUFFER_SIZE, &size, END}.  address: where it lies."""

    __slots__ = ("_extra", "address", "data", "size")

    def __init__(self) -> None:
        self.data = ctypes.create_string_buffer(MAX_ARGUMENT_BYTES)
        self.size = ctypes.c_size_t()
        pointers = (BUFFER_POINTER, ctypes.addressof(self.data), BUFFER_SIZE, ctypes.addressof(self.size), END)
        self._extra = (ctypes.c_void_p * len(pointers))(*pointers)
        self.address = ctypes.addressof(self._extra)


class LoadedKernel(Function):
    """A kernel on one device.  It keeps the module loaded, and the Kernel alive."""

    __slots__ = ("_function", "_lock", "_module", "entry", "kernel")

    def __init__(self, cu: Any, device: int, kernel: Kernel, cubin: bytes) -> None:
        """Load onto `device`, whose context is current.  cubin: see Compiler.cubin.  Raises AcceleratorError."""
        symbol = kernel.entry.encode()
        if not kernel.is_c:
            symbol, _, cubin = cubin.partition(b"\0")
        self._module = check(cu.cuModuleLoadData(cubin), "cuModuleLoadData", kernel=kernel.entry, device=device)
        found = cu.cuModuleGetFunction(self._module, symbol)
        self._function = check(found, "cuModuleGetFunction", kernel=kernel.entry, device=device)
        super().__init__(int(self._function), device, PLAIN_SHARED_BYTES)
        self._lock = Lock()
        self.entry = kernel.entry
        self.kernel = kernel

    def function(self, cu: Any, shared: int) -> Any:
        """The CUfunction, ready for `shared` bytes of dynamic shared memory."""
        if shared > self.shared_limit:
            with self._lock:
                self._allow(cu, shared)
        return self._function

    def _allow(self, cu: Any, shared: int) -> None:
        if shared <= self.shared_limit:
            return
        attribute = cu.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
        result = cu.cuFuncSetAttribute(self._function, attribute, shared)
        check(result, "cuFuncSetAttribute", kernel=self.entry, device=self.device, shared=shared)
        self.shared_limit = shared


class Launcher:
    """Puts kernels on streams."""

    def __init__(self, cu: Any) -> None:
        self._cu = cu
        self._launch = cu.cuLaunchKernel
        self._spare: list[Passage] = []

    def launch(self, loaded: LoadedKernel, grid: Grid, arguments: Buffer, stream: Stream) -> None:
        """Queue one launch.  The kernel's device is current.  Raises AcceleratorError."""
        if len(arguments) > MAX_ARGUMENT_BYTES:
            raise ArgumentError(
                f"{len(arguments)} bytes of arguments; a launch takes {MAX_ARGUMENT_BYTES}", operator=loaded.entry
            )
        (x, y, z), threads, shared, threads_y, threads_z = grid
        function = loaded.function(self._cu, shared)
        try:
            passage = self._spare.pop()
        except IndexError:
            passage = Passage()
        passage.data.raw = bytes(arguments)
        passage.size.value = len(arguments)
        result = self._launch(
            function, x, y, z, threads, threads_y, threads_z, shared, stream.cu, 0, passage.address
        )
        self._spare.append(passage)
        if result[0]:
            check(result, "cuLaunchKernel", kernel=loaded.entry, device=loaded.device, grid=grid, stream=stream.raw)
