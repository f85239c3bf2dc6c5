"""Measurement of kernels, copies and fills by CUPTI's activity API, through ctypes.

- A process can have one CUPTI subscriber.  If PyTorch's profiler, Nsight or another measurement is subscribed already,
  `measure` logs it and returns None.
- CUPTI fills buffers with records and returns them.  They are decoded after the end of the measurement.
- A record of work has the correlation id of the driver or runtime API call that queued it.  An external correlation
  record has that id and the number that the thread passed to `begin_call`.  CUPTI makes it only if it also records the
  API call.
- Enabling the records of single functions has no effect in a process that already has a context.  So those of all
  functions are enabled, then those of functions that launch no work are disabled.  This takes about 2 ms.
- CUPTI requests buffers inside launching calls, while the driver or CUPTI may hold locks.  The functions that provide
  buffers need the GIL.  So no thread may make a call that takes such a lock while it holds the GIL: this can deadlock.
- Later versions of a record append fields: the layouts here are the beginnings of all versions of CUDA 12.6 to 13.5.
- CUPTI's clock is compared with the host's at the beginning and at the end.
"""

from __future__ import annotations

import atexit
import ctypes
import logging
import os
from collections.abc import Callable, Iterable, Iterator
from ctypes import (
    CFUNCTYPE,
    POINTER,
    byref,
    c_char_p,
    c_int,
    c_int32,
    c_size_t,
    c_uint8,
    c_uint16,
    c_uint32,
    c_uint64,
    c_void_p,
    cast,
)
from functools import cache
from itertools import chain, count
from time import perf_counter_ns
from typing import Any, NamedTuple

from ..api import Activity
from .library import declare, in_wheels, open_first, packaged

SONAMES = ("libcupti.so.13", "libcupti.so.12")
KNOWN_VERSIONS = (range(24, 100), range(130000, 140000))  # CUPTI_API_VERSION of CUDA 12.6 to 12.9, and of CUDA 13
BUFFER_BYTES = 4 << 20
CLOCK_TRIES = 8

# cupti_result.h
SUCCESS = 0
MULTIPLE_SUBSCRIBERS = 39
# cupti_activity.h: CUpti_ActivityKind, CUpti_ExternalCorrelationKind, CUpti_ActivityFlag, CUpti_ActivityMemcpyKind
MEMCPY, MEMSET, DRIVER, RUNTIME, CONCURRENT_KERNEL, MEMCPY_PEER, EXTERNAL_CORRELATION = 1, 2, 4, 5, 10, 22, 39
KINDS = (CONCURRENT_KERNEL, MEMCPY, MEMCPY_PEER, MEMSET, EXTERNAL_CORRELATION)
CUSTOM0 = 3
FLUSH_FORCED = 1
COPY_KINDS = {1: "copy h2d", 2: "copy d2h", 8: "copy d2d", 9: "copy h2h", 10: "copy peer"}
# cupti_driver_cbid.h, cupti_runtime_cbid.h: the calls that queue kernels, copies, fills and graphs, with the variants
# for per-thread default streams
DRIVER_CALLS = (
    307, 442, 652, 653, 477, 478, 514, 515,  # cuLaunchKernel, ...Ex, cuLaunchCooperativeKernel, cuGraphLaunch
    306, 418, 277, 421, 279, 422, 281, 423, 289, 424, 319, 426,  # cuMemcpy: Async, HtoD, DtoH, DtoD, 2D, Peer
    216, 428, 218, 429, 220, 430,  # cuMemsetD8Async, cuMemsetD16Async, cuMemsetD32Async
)  # fmt: skip
RUNTIME_CALLS = (
    211, 214, 430, 431, 269, 270, 311, 312,  # cudaLaunchKernel, ...ExC, cudaLaunchCooperativeKernel, cudaGraphLaunch
    41, 225, 44, 228, 161, 51, 235,  # cudaMemcpyAsync, cudaMemcpy2DAsync, cudaMemcpyPeerAsync, cudaMemsetAsync
    505, 506,  # __cudaLaunchKernel, of CUDA 13
)  # fmt: skip

HELD_CALLS = (304, 303)  # cuCtxGetCurrent, cuCtxSetCurrent: core/nvidia.pyx calls them with the GIL held

Requested = CFUNCTYPE(None, POINTER(c_void_p), POINTER(c_size_t), POINTER(c_size_t))
Completed = CFUNCTYPE(None, c_void_p, c_uint32, c_void_p, c_size_t, c_size_t)
Callback = CFUNCTYPE(None, c_void_p, c_int, c_uint32, c_void_p)

SIGNATURES: dict[str, tuple[Any, ...]] = {
    "cuptiGetVersion": (POINTER(c_uint32),),
    "cuptiGetResultString": (c_int, POINTER(c_char_p)),
    "cuptiGetTimestamp": (POINTER(c_uint64),),
    "cuptiSubscribe": (POINTER(c_void_p), Callback, c_void_p),
    "cuptiUnsubscribe": (c_void_p,),
    "cuptiActivityRegisterCallbacks": (Requested, Completed),
    "cuptiActivityEnable": (c_int,),
    "cuptiActivityDisable": (c_int,),
    "cuptiActivityEnableDriverApi": (c_uint32, c_uint8),
    "cuptiActivityEnableRuntimeApi": (c_uint32, c_uint8),
    "cuptiActivityFlushAll": (c_uint32,),
    "cuptiActivityGetNextRecord": (c_void_p, c_size_t, POINTER(c_void_p)),
    "cuptiActivityGetNumDroppedRecords": (c_void_p, c_uint32, POINTER(c_size_t)),
    "cuptiActivityPushExternalCorrelationId": (c_int, c_uint64),
    "cuptiActivityPopExternalCorrelationId": (c_int, POINTER(c_uint64)),
}

log = logging.getLogger("flambeau")


class KernelRecord(ctypes.Structure):
    """The beginning of CUpti_ActivityKernel9 and of later ones.  Times are nanoseconds of CUPTI's clock."""

    _fields_ = (
        ("kind", c_int), ("caches", c_uint16), ("registers", c_uint16), ("partitioned", c_int * 2),
        ("start", c_uint64), ("end", c_uint64), ("completed", c_uint64),
        ("device", c_uint32), ("context", c_uint32), ("stream", c_uint32),
        ("grid", c_int32 * 3), ("block", c_int32 * 3), ("static_shared", c_int32), ("dynamic_shared", c_int32),
        ("local_memory", c_uint32 * 2), ("correlation", c_uint32), ("grid_number", c_uint64),
        ("name", c_void_p), ("reserved", c_void_p), ("queued", c_uint64), ("submitted", c_uint64),
        ("launch_type", c_uint32), ("shared_executed", c_uint32), ("graph_node", c_uint64), ("limit", c_int),
        ("graph", c_uint32),
    )  # fmt: skip


class CopyRecord(ctypes.Structure):
    """The beginning of CUpti_ActivityMemcpy5 and of later ones."""

    _fields_ = (
        ("kind", c_int), ("copy_kind", c_uint8), ("memory_kinds", c_uint8 * 3), ("nbytes", c_uint64),
        ("start", c_uint64), ("end", c_uint64), ("device", c_uint32), ("context", c_uint32), ("stream", c_uint32),
        ("correlation", c_uint32), ("runtime_correlation", c_uint32), ("pad", c_uint32), ("reserved", c_void_p),
        ("graph_node", c_uint64), ("graph", c_uint32),
    )  # fmt: skip


class PeerCopyRecord(ctypes.Structure):
    """The beginning of CUpti_ActivityMemcpyPtoP4."""

    _fields_ = (
        ("kind", c_int), ("copy_kind", c_uint8), ("memory_kinds", c_uint8 * 3), ("nbytes", c_uint64),
        ("start", c_uint64), ("end", c_uint64), ("device", c_uint32), ("context", c_uint32), ("stream", c_uint32),
        ("source", c_uint32 * 2), ("destination", c_uint32 * 2), ("correlation", c_uint32), ("reserved", c_void_p),
        ("graph_node", c_uint64), ("graph", c_uint32),
    )  # fmt: skip


class FillRecord(ctypes.Structure):
    """The beginning of CUpti_ActivityMemset4 and of later ones."""

    _fields_ = (
        ("kind", c_int), ("value", c_uint32), ("nbytes", c_uint64), ("start", c_uint64), ("end", c_uint64),
        ("device", c_uint32), ("context", c_uint32), ("stream", c_uint32), ("correlation", c_uint32),
        ("flags", c_uint32), ("pad", c_uint32), ("reserved", c_void_p), ("graph_node", c_uint64), ("graph", c_uint32),
    )  # fmt: skip


class CorrelationRecord(ctypes.Structure):
    """CUpti_ActivityExternalCorrelation.  number: given by `begin_call`."""

    _fields_ = (("kind", c_int), ("external_kind", c_int), ("number", c_uint64), ("correlation", c_uint32))


WORK: dict[int, Any] = {
    CONCURRENT_KERNEL: KernelRecord, MEMCPY: CopyRecord, MEMCPY_PEER: PeerCopyRecord, MEMSET: FillRecord,
}  # fmt: skip

# The process's buffers: those that CUPTI holds, by address, and those that it returned, with their valid bytes.
_held: dict[int, Any] = {}
_returned: list[tuple[Any, int]] = []


def _give_buffer(buffer: Any, nbytes: Any, most_records: Any) -> None:
    """Give CUPTI a buffer of any number of records."""
    array = (c_uint64 * (BUFFER_BYTES // 8))()  # aligned to 8 bytes, as records must be
    address = ctypes.addressof(array)
    _held[address] = array
    buffer[0], nbytes[0], most_records[0] = address, BUFFER_BYTES, 0


def _take_buffer(context: Any, stream: int, buffer: int, nbytes: int, valid_nbytes: int) -> None:
    """Take a buffer back from CUPTI.  valid_nbytes: the size of the records in it."""
    _returned.append((_held.pop(buffer), valid_nbytes))


def _ignore(data: Any, domain: int, call: int, arguments: Any) -> None:
    """Do nothing: CUPTI requires a callback function, but no callback is enabled."""


# Kept alive: CUPTI may call these until the process ends.
GIVE_BUFFER, TAKE_BUFFER, IGNORE = Requested(_give_buffer), Completed(_take_buffer), Callback(_ignore)


class Clock(NamedTuple):
    """The same moment on CUPTI's clock and on the host's, in nanoseconds."""

    cupti_ns: int
    host_ns: int


class Cupti:
    """The implementation of `driver.api.Activities`."""

    def __init__(self, found: Any, ended: Callable[[], None]) -> None:
        """ended: called when the measurement has ended."""
        self._library, self._ended = found, ended
        declare(found, SIGNATURES)
        self.version, self.name = 0, "CUPTI"
        self._subscriber, self._process = c_void_p(), os.getpid()
        self._names: dict[int, str] = {}  # by address, which is the same in all records of a kernel
        self._push = found.cuptiActivityPushExternalCorrelationId
        self._pop = found.cuptiActivityPopExternalCorrelationId

    def begin(self) -> str:
        """Begin to measure.  Return "", or the reason why CUPTI cannot."""
        version = c_uint32()
        code = self._library.cuptiGetVersion(byref(version))
        if code != SUCCESS:
            return self._problem("cuptiGetVersion", code)
        self.version, self.name = version.value, f"CUPTI {version.value}"
        if not any(self.version in known for known in KNOWN_VERSIONS):
            return f"the layout of the records of version {self.version} is not known here"
        _returned.clear()
        for name, arguments in self._opening():
            code = getattr(self._library, name)(*arguments)
            if code != SUCCESS:
                self._close()
                return self._problem(name, code)
        self._began = self._clock()
        atexit.register(self._close)  # no buffer may be returned to an interpreter that has ended
        return ""

    def _opening(self) -> Iterator[tuple[str, tuple[Any, ...]]]:
        """Yield the calls that begin a measurement, with their arguments."""
        yield "cuptiSubscribe", (byref(self._subscriber), IGNORE, None)
        yield "cuptiActivityEnable", (DRIVER,)
        self._leave_out(self._library.cuptiActivityEnableDriverApi, chain(HELD_CALLS, count(1)), DRIVER_CALLS)
        yield "cuptiActivityEnable", (RUNTIME,)
        self._leave_out(self._library.cuptiActivityEnableRuntimeApi, count(1), RUNTIME_CALLS)
        yield "cuptiActivityRegisterCallbacks", (GIVE_BUFFER, TAKE_BUFFER)
        for kind in KINDS:
            yield "cuptiActivityEnable", (kind,)

    def _leave_out(self, record: Any, functions: Iterable[int], launching: tuple[int, ...]) -> None:
        """Disable the records of functions that launch no work, up to the first number unknown to the library."""
        for function in functions:
            if function not in launching and record(function, 0) != SUCCESS:
                return

    def _problem(self, name: str, code: int) -> str:
        if code == MULTIPLE_SUBSCRIBERS:
            return "another profiler measures this process, such as PyTorch's or Nsight"
        text = c_char_p()
        self._library.cuptiGetResultString(code, byref(text))
        return f"{name}: {(text.value or b'unknown code').decode()} (CUPTI status {code})"

    def begin_call(self, number: int) -> None:
        self._push(CUSTOM0, number)

    def end_call(self) -> None:
        self._pop(CUSTOM0, None)

    def stop(self, collect: bool) -> tuple[list[Activity], int]:
        ended = self._clock()
        self._close(collect)
        self._ended()
        atexit.unregister(self._close)
        dropped = c_size_t()
        self._library.cuptiActivityGetNumDroppedRecords(None, 0, byref(dropped))
        returned, _returned[:] = list(_returned), []
        activities, untimed = self._decoded(returned, ended) if collect else ([], 0)
        return activities, dropped.value + untimed

    def _close(self, flush: bool = True) -> None:
        """Disable everything that `begin` enabled before it ended or failed, and collect the buffers."""
        if not self._subscriber or self._process != os.getpid():  # in a forked child, CUPTI's threads are missing
            return
        for kind in (*KINDS, DRIVER, RUNTIME):
            self._library.cuptiActivityDisable(kind)
        if flush:
            self._library.cuptiActivityFlushAll(FLUSH_FORCED)
        self._library.cuptiUnsubscribe(self._subscriber)
        self._subscriber = c_void_p()

    def _clock(self) -> Clock:
        """Return the two clocks at one moment: the pair that was read in the shortest time."""
        tries, timestamp = [], c_uint64()
        for _ in range(CLOCK_TRIES):
            before = perf_counter_ns()
            self._library.cuptiGetTimestamp(byref(timestamp))
            after = perf_counter_ns()
            tries.append((after - before, Clock(timestamp.value, (before + after) // 2)))
        return min(tries)[1]

    def _decoded(self, buffers: list[tuple[Any, int]], ended: Clock) -> tuple[list[Activity], int]:
        """Return the work recorded in buffers, and the number of records without times."""
        work, calls = [], {}
        for buffer, valid_nbytes in buffers:
            for kind, address in self._records(buffer, valid_nbytes):
                if kind == EXTERNAL_CORRELATION:
                    correlated = CorrelationRecord.from_address(address)
                    calls[correlated.correlation] = correlated.number
                elif kind in WORK:
                    work.append(WORK[kind].from_address(address))
        timed = [record for record in work if 0 < record.start <= record.end]
        activities = [self._activity(record, calls.get(record.correlation, 0), ended) for record in timed]
        return activities, len(work) - len(timed)

    def _records(self, buffer: Any, valid_nbytes: int) -> Iterator[tuple[int, int]]:
        """Yield the kind and the address of each record in a buffer."""
        record = c_void_p()
        if not valid_nbytes:
            return
        while self._library.cuptiActivityGetNextRecord(buffer, valid_nbytes, byref(record)) == SUCCESS:
            address: Any = record.value
            yield c_int.from_address(address).value, address

    def _activity(self, record: Any, call: int, ended: Clock) -> Activity:
        times = (self._host_ns(record.start, ended), self._host_ns(record.end, ended))
        ids = (record.context, record.stream, record.graph, record.graph_node)
        if record.kind != CONCURRENT_KERNEL:
            name = "fill" if record.kind == MEMSET else COPY_KINDS.get(record.copy_kind, "copy")
            return Activity(call, record.device, name, *times, *ids, nbytes=record.nbytes)
        name, shared_nbytes = self._kernel_name(record.name), record.static_shared + record.dynamic_shared
        shape = {"grid": tuple(record.grid), "block": tuple(record.block), "registers": record.registers}
        return Activity(call, record.device, name, *times, *ids, shared_nbytes=shared_nbytes, **shape)

    def _kernel_name(self, address: int) -> str:
        """Return the demangled name of a kernel.  address: of its mangled name, in CUPTI's memory."""
        name = self._names.get(address)
        if name is None:
            name = self._names[address] = demangled(cast(address, c_char_p).value or b"")
        return name

    def _host_ns(self, cupti_ns: int, ended: Clock) -> int:
        """Convert a time of CUPTI's clock to the host's, which may run a little faster or slower."""
        began = self._began
        length_ns = max(1, ended.cupti_ns - began.cupti_ns)
        drift_ns = (ended.host_ns - began.host_ns) - (ended.cupti_ns - began.cupti_ns)
        since_ns = cupti_ns - began.cupti_ns
        return began.host_ns + since_ns + drift_ns * since_ns // length_ns


def measure(ended: Callable[[], None]) -> Cupti | None:
    """Begin a measurement; return None, and log the reason, if it is not possible.

    ended: called when it has ended.
    """
    library = load()
    if library is None:
        _say(logging.INFO, "CUPTI of CUDA 12.6 or later is not installed (nvidia-cuda-cupti)")
        return None
    cupti = Cupti(library, ended)
    problem = cupti.begin()
    if problem:
        _say(logging.WARNING, f"CUPTI cannot be used: {problem}")
        return None
    return cupti


@cache
def _say(level: int, text: str) -> None:
    """Log a text once in the process: a profile with a schedule measures many times."""
    log.log(level, "%s; work is measured by events", text)


@cache
def load() -> Any | None:
    """Return the library, or None if it is not installed or lacks a function."""
    wheels = (path for name in SONAMES for path in in_wheels(name))
    library = open_first(*packaged("cupti"), *wheels, *SONAMES)
    return library if all(hasattr(library, name) for name in SIGNATURES) else None


def demangled(name: bytes) -> str:
    """Return the C++ name of a mangled name; a name that is not mangled is returned unchanged."""
    library = _cxx() if name.startswith(b"_Z") else None
    if library is None:
        return name.decode(errors="replace")
    status = c_int()
    library.__cxa_demangle.restype = c_void_p
    text = library.__cxa_demangle(name, None, None, byref(status))
    if not text:
        return name.decode(errors="replace")
    content: Any = cast(text, c_char_p).value
    library.free(c_void_p(text))
    return str(content.decode(errors="replace"))


@cache
def _cxx() -> Any | None:
    """Return the C++ library, which can demangle names; None if it is missing."""
    try:
        return ctypes.CDLL("libstdc++.so.6")
    except OSError:
        return None
