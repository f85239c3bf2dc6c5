"""Work that holds a stream until the host opens it, for tests of what happens meanwhile.

On NVIDIA GPUs it is a kernel that polls a word of pinned memory; on virtual GPUs, whose clock is modelled, long work.
It uses the driver itself, so that it serves the streams of every library in the process.
"""

from __future__ import annotations

import ctypes
import functools
import itertools
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

CYCLES = 400_000_000  # of the work on a virtual GPU
SOON = 0.02  # seconds
LIMIT_NS = 20_000_000_000  # the kernel ends after this time, so that a test that forgets to open a latch fails and ends
WORDS = 1024
PTX = b"""
.version 6.4
.target sm_70
.address_size 64
.visible .entry latch(.param .u64 word, .param .u64 limit)
{
    .reg .pred %is_open, %is_early;
    .reg .b32 %value;
    .reg .b64 %address, %now, %end;
    ld.param.u64 %address, [word];
    ld.param.u64 %end, [limit];
    mov.u64 %now, %globaltimer;
    add.u64 %end, %end, %now;
again:
    ld.volatile.global.u32 %value, [%address];
    setp.ne.u32 %is_open, %value, 0;
    @%is_open bra done;
    mov.u64 %now, %globaltimer;
    setp.lt.u64 %is_early, %now, %end;
    @%is_early bra again;
done:
    ret;
}
"""


class Latch:
    """Work on a stream that does not end before `open` is called.  Captured in a graph, it holds each replay."""

    def __init__(self, word: ctypes.c_uint32) -> None:
        self._word = word
        self._timer: threading.Timer | None = None

    def close(self) -> None:
        self._word.value = 0

    def open(self) -> None:
        self._word.value = 1

    def open_soon(self) -> None:
        """Open from another thread, while this one waits."""
        self._timer = threading.Timer(SOON, self.open)
        self._timer.start()

    def end(self) -> None:
        if self._timer is not None:
            self._timer.join()
        self.open()


class Latches:
    """Makes latches on the streams of a library, flambeau or PyTorch; a block, at whose end all are open.

    devices: for how many GPUs the kernel is loaded at once; for others it is at their first latch.
    """

    def __init__(self, library: Any, on_hardware: bool, devices: int = 1) -> None:
        self._library = library
        self._on_hardware = on_hardware
        self._made: list[Latch] = []
        for device in range(devices if on_hardware else 0):
            _load(device)

    def __enter__(self) -> Latches:
        return self

    def __exit__(self, *_: object) -> None:
        for each in self._made:
            each.end()

    def latch(self, stream: Any = None) -> Latch:
        """Hold a stream, the current one by default, until the latch is opened."""
        return self._add(stream, is_brief=False)

    def busy(self, stream: Any = None) -> Latch:
        """Hold a stream for some time, so that what does not wait for it comes too early."""
        return self._add(stream, is_brief=True)

    def _add(self, stream: Any, is_brief: bool) -> Latch:
        cuda = self._library.cuda
        stream = cuda.current_stream() if stream is None else stream
        if not self._on_hardware:
            self._made.append(Latch(ctypes.c_uint32()))
            with cuda.stream(stream):
                cuda._sleep(CYCLES // 10 if is_brief else CYCLES)
            return self._made[-1]
        _load(stream.device.index)
        made = Latch(_word(stream.device.index))
        self._made.append(made)
        if is_brief:
            made.open_soon()  # first: with CUDA_LAUNCH_BLOCKING=1 the launch waits
        _launch(stream.device.index, stream.cuda_stream, made._word)
        return made


@functools.cache
def _load(device: int) -> None:
    """Load the kernel on a device and run it, as loading may wait for work that is held."""
    word = _word(device)
    word.value = 1
    _launch(device, 0, word)


@functools.cache
def _driver() -> ctypes.CDLL:
    return ctypes.CDLL("libcuda.so.1")


def _check(code: int) -> None:
    if code:
        raise RuntimeError(f"the CUDA driver answered {code}")


@functools.cache
def _context(device: int) -> ctypes.c_void_p:
    """The primary context of a device, which it keeps: the last one to release it would free what is here."""
    cuda, context = _driver(), ctypes.c_void_p()
    _check(cuda.cuInit(0))
    _check(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), device))
    return context


@contextmanager
def _current(device: int) -> Iterator[None]:
    """Within the block the device's context is current."""
    cuda, before = _driver(), ctypes.c_void_p()
    _check(cuda.cuCtxPushCurrent_v2(_context(device)))
    try:
        yield
    finally:
        _check(cuda.cuCtxPopCurrent_v2(ctypes.byref(before)))


@functools.cache
def _words(device: int) -> Iterator[ctypes.c_uint32]:
    """Words of pinned memory, in turn."""
    address = ctypes.c_void_p()
    with _current(device):
        _check(_driver().cuMemHostAlloc(ctypes.byref(address), ctypes.c_size_t(4 * WORDS), 0))
    assert address.value is not None
    return itertools.cycle([ctypes.c_uint32.from_address(address.value + 4 * each) for each in range(WORDS)])


def _word(device: int) -> ctypes.c_uint32:
    word = next(_words(device))
    word.value = 0
    return word


@functools.cache
def _kernel(device: int) -> ctypes.c_void_p:
    """The kernel, loaded into the device's context, which is current."""
    cuda, module, function = _driver(), ctypes.c_void_p(), ctypes.c_void_p()
    _check(cuda.cuModuleLoadData(ctypes.byref(module), PTX))
    _check(cuda.cuModuleGetFunction(ctypes.byref(function), module, b"latch"))
    return function


def _launch(device: int, stream: int, word: ctypes.c_uint32) -> None:
    arguments = ctypes.c_uint64(ctypes.addressof(word)), ctypes.c_uint64(LIMIT_NS)
    pointers = (ctypes.c_void_p * 2)(*map(ctypes.addressof, arguments))
    one_thread = [ctypes.c_uint(1)] * 6
    with _current(device):
        kernel, no_memory = _kernel(device), ctypes.c_uint(0)
        _check(_driver().cuLaunchKernel(kernel, *one_thread, no_memory, ctypes.c_void_p(stream), pointers, None))
