"""Runs the work that programs queue on the emulated driver, libcuda.c, in an order that CUDA allows.

- Work runs when the program waits or queries: within a stream in order, and after the records that a stream waits for.
- Kernels and library calls run their NumPy references on the arrays that their packed arguments describe.
- Captured work is kept in graphs.  A graph runs its work in the order of the calls.

This is for tests of the nvidia driver, from the public call to the packed arguments.  Machine code and vendors'
libraries are not emulated.
"""

from __future__ import annotations

import atexit
import ctypes
import itertools
import mmap
import multiprocessing.util
import os
import struct
import sys
import threading
import time
import traceback
from collections import defaultdict, deque
from collections.abc import Callable
from typing import Any

import numpy as np

DEVICES = 8
# as in libcuda.c
LAUNCH, COPY, FILL, RECORD, WAIT, GRAPH, LIBRARY = range(7)
(
    STREAM_QUERY, STREAM_WAIT, EVENT_QUERY, EVENT_WAIT, DEVICE_WAIT, BEGIN, END, STATUS, ALLOCATE, FREE, ELAPSED, NODES,
    PLACE, INSTANTIATE, SHARE,
) = range(15)  # fmt: skip
# CUresult
SUCCESS, INVALID_HANDLE, ILLEGAL_STATE, NOT_READY, ASSERT, UNKNOWN = 0, 400, 401, 600, 710, 999
CAPTURE_UNSUPPORTED, CAPTURE_INVALIDATED, CAPTURE_MERGE, CAPTURE_UNMATCHED, CAPTURE_UNJOINED = range(900, 905)
CAPTURE_ISOLATION, CAPTURED_EVENT = 905, 907
GLOBAL, THREAD_LOCAL, RELAXED = range(3)  # CUstreamCaptureMode
EXTERNAL = 1  # CU_EVENT_RECORD_EXTERNAL, CU_EVENT_WAIT_EXTERNAL
IS_UNTIMED = 2  # in the handle of an event
DEFAULT_STREAM = 0
LATCH = 0  # the number of the kernel of tests/latch.py
FIRST_GRAPH = 0x7000_0000_0000
PATIENCE = 60.0  # seconds that a wait takes at most
PAUSE = 20e-6
PAUSE_OF_FOLLOWER = 1e-3

Key = tuple[int, int]  # device and stream
Clock = dict[Key, int]


class Entry(ctypes.Structure):
    """The head of a call that queued work."""


Entry._fields_ = [
    ("next", ctypes.c_void_p), ("kind", ctypes.c_int), ("device", ctypes.c_int), ("stream", ctypes.c_uint64),
    ("a", ctypes.c_uint64), ("b", ctypes.c_uint64), ("c", ctypes.c_uint64), ("nbytes", ctypes.c_uint64),
]  # fmt: skip
ANSWER = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_uint64, ctypes.c_uint64, ctypes.POINTER(ctypes.c_uint64)
)


class Work:
    """A queued call.  number: of the record that it makes or waits for.  done: how many nodes of a graph have run."""

    __slots__ = ("a", "b", "c", "data", "device", "done", "kind", "number", "stream")

    def __init__(self, address: int) -> None:
        entry = Entry.from_address(address)
        self.kind, self.device, self.stream = entry.kind, entry.device, entry.stream
        self.a, self.b, self.c = entry.a, entry.b, entry.c
        self.data = ctypes.string_at(address + ctypes.sizeof(Entry), entry.nbytes)
        self.number = self.done = 0


class Event:
    """capture: what recorded it, at `clock`.  file: what holds its counts, if other processes may open it, or -1."""

    def __init__(self, file: int) -> None:
        self.time_ns = 0
        self.capture: Capture | None = None
        self.clock: Clock = {}
        self._counts = memoryview(mmap.mmap(file, mmap.PAGESIZE)).cast("Q") if file >= 0 else [0, 0]

    @property
    def recorded(self) -> int:
        """The number of its latest record."""
        return self._counts[0]

    @recorded.setter
    def recorded(self, number: int) -> None:
        self._counts[0] = number

    @property
    def done(self) -> int:
        """The number of its latest record that has run."""
        return self._counts[1]

    @done.setter
    def done(self, number: int) -> None:
        self._counts[1] = number


class Events(dict[int, Event]):
    """Events by their handles."""

    def __init__(self, library: ctypes.CDLL) -> None:
        super().__init__()
        self._file_of = library.emulation_event
        self._file_of.argtypes = [ctypes.c_uint64]

    def __missing__(self, handle: int) -> Event:
        event = self[handle] = Event(self._file_of(handle))
        return event


class Capture:
    """A capture, and the graph that it makes.

    clocks: by stream, how many nodes of each stream its next node follows.  code: 0, or why it is broken.
    """

    def __init__(self, handle: int, origin: Key, mode: int) -> None:
        self.handle, self.origin, self.mode = handle, origin, mode
        self.thread = threading.get_ident()
        self.nodes: list[Work] = []
        self.clocks: dict[Key, Clock] = {}
        self.code = SUCCESS
        self.count(origin)

    def count(self, key: Key) -> None:
        clock = self.clocks.setdefault(key, {})
        clock[key] = clock.get(key, 0) + 1

    def join(self, key: Key, other: Clock) -> None:
        clock = self.clocks.setdefault(key, {})
        for of, count in other.items():
            clock[of] = max(count, clock.get(of, 0))

    def is_joined(self) -> bool:
        known = self.clocks[self.origin]
        return all(known.get(key, 0) >= clock[key] for key, clock in self.clocks.items())


class Engine:
    """The streams, events and captures of all devices."""

    def __init__(self, library: ctypes.CDLL) -> None:
        library.emulation_take.restype = ctypes.c_void_p
        library.emulation_drop.argtypes = [ctypes.c_void_p]
        self.library = library
        self.kernels: list[Any] = [None]
        self.operations: list[Any] = []
        self.lock = threading.RLock()
        self.streams: defaultdict[Key, deque[Work]] = defaultdict(deque)
        self.events = Events(library)
        self.follower: threading.Thread | None = None
        self.graphs: dict[int, list[Work]] = {}
        self.captured: dict[Key, Capture] = {}
        self.handles = itertools.count(FIRST_GRAPH, 16)
        self.answer = ANSWER(self._answer)
        library.emulation_start(self.answer)

    # queueing

    def _take(self) -> int:
        """Put listed calls into their streams; return the code of the last one."""
        code = SUCCESS
        while address := self.library.emulation_take():
            work = Work(address)
            self.library.emulation_drop(address)
            code = self._place(work)
        return code

    def _place(self, work: Work) -> int:
        key = work.device, work.stream
        capture = self.captured.get(key)
        if capture is not None and capture.code:
            return CAPTURE_INVALIDATED
        if work.kind in (RECORD, WAIT) and not work.b & EXTERNAL:
            event = self.events[work.a]
            if capture is None and event.capture is None:
                event.recorded += work.kind == RECORD
                work.number = event.recorded
            elif work.kind == RECORD:
                event.capture = capture
                event.clock = {} if capture is None else dict(capture.clocks[key])
                if capture is not None:
                    return SUCCESS
                event.recorded += 1
                work.number = event.recorded
            else:
                return self._join(key, capture, event)
        if capture is None:
            self.streams[key].append(work)
            return SUCCESS
        capture.nodes.append(work)
        capture.count(key)
        return SUCCESS

    def _join(self, key: Key, capture: Capture | None, event: Event) -> int:
        """A stream waits for an event, and one of them is part of a capture."""
        if event.capture is None:
            assert capture is not None
            capture.code = CAPTURE_INVALIDATED
            return CAPTURE_ISOLATION
        if capture is None:
            capture = self.captured[key] = event.capture
            capture.count(key)
        elif capture is not event.capture:
            capture.code = event.capture.code = CAPTURE_INVALIDATED
            return CAPTURE_MERGE
        capture.join(key, event.clock)
        return SUCCESS

    # running

    def run(self) -> None:
        """Run all work that may run."""
        self._take()
        moved = True
        while moved:
            moved = False
            for queue in list(self.streams.values()):
                while queue and self._step(queue[0]):
                    moved = True
                    if queue:  # a failure empties it
                        queue.popleft()

    def _step(self, work: Work) -> bool:
        """Run work.  Return False if it has to wait."""
        if work.kind == WAIT:
            return self.events[work.a].done >= work.number
        if work.kind == RECORD:
            event = self.events[work.a]
            event.done, event.time_ns = max(event.done, work.number), time.perf_counter_ns()
        elif work.kind == COPY:
            ctypes.memmove(work.a, work.b or work.data, work.c)
        elif work.kind == FILL:
            ctypes.memmove(work.a, work.data * work.c, len(work.data) * work.c)
        elif work.kind == GRAPH:
            return self._replay(work)
        elif work.kind == LAUNCH and work.a == LATCH:
            (word,) = struct.unpack_from("@Q", work.data)
            return bool(ctypes.c_uint32.from_address(word).value)
        else:
            self._compute(work)
        return True

    def _replay(self, work: Work) -> bool:
        nodes = self.graphs[work.a]
        while work.done < len(nodes):
            node = nodes[work.done]
            if node.kind == RECORD:
                event = self.events[node.a]
                event.recorded += 1
                node.number = event.recorded
            elif node.kind == WAIT:
                node.number = self.events[node.a].recorded
            if not self._step(node):
                return False
            node.done = 0
            work.done += 1
        return True

    def _compute(self, work: Work) -> None:
        try:
            if work.kind == LIBRARY:
                called = self.operations[work.a]
                values = called.accesses(struct.unpack(f"@{len(work.data) // 8}Q", work.data))
            else:
                called = self.kernels[work.a]
                values = called.bind(work.data)
            arguments = [list(map(_array, value)) if isinstance(value, list) else _array(value) for value in values]
            with np.errstate(all="ignore"):
                called.reference(*arguments)
        except Exception:  # noqa: BLE001  (a device-side assert, or a mistake of the reference)
            if os.environ.get("EMULATED_ERRORS"):
                traceback.print_exc()
            self.library.emulation_fail(work.device, ASSERT)
            for (device, _), queue in self.streams.items():
                if device == work.device:
                    queue.clear()

    def _follow(self) -> None:
        """Run work from now on also while the program does not ask: other processes wait for it."""

        def follow() -> None:
            while True:
                time.sleep(PAUSE_OF_FOLLOWER)
                with self.lock:
                    self.run()

        if self.follower is None:
            atexit.register(self.run)
            multiprocessing.util.Finalize(None, self.run, exitpriority=0)  # processes of multiprocessing skip atexit
            self.follower = threading.Thread(target=follow, name="emulation", daemon=True)
            self.follower.start()

    # queries and waits

    def _answer(self, question: int, device: int, a: int, b: int, result: Any) -> int:
        try:
            with self.lock:
                return self._answered(question, device, a, b, result)
        except BaseException:  # noqa: BLE001  (ctypes would drop it)
            traceback.print_exc()
            return UNKNOWN

    def _answered(self, question: int, device: int, a: int, b: int, result: Any) -> int:
        code = self._take()
        if question == PLACE:
            return code
        if question == BEGIN:
            if a == DEFAULT_STREAM:
                return CAPTURE_UNSUPPORTED
            if (device, a) in self.captured:
                return ILLEGAL_STATE
            capture = Capture(next(self.handles), (device, a), b)
            self.captured[device, a] = capture
            return SUCCESS
        if question == END:
            return self._end((device, a), b, result)
        if question == STATUS:
            found = self.captured.get((device, a))
            result[0] = 0 if found is None else 2 if found.code else 1
            return SUCCESS
        if question == NODES:
            result[0] = len(self.graphs[a])
            return SUCCESS
        if question == SHARE:
            self._follow()
            self.run()
            return SUCCESS
        if question == INSTANTIATE:
            result[0] = next(self.handles)
            self.graphs[result[0]] = self.graphs[a]
            return SUCCESS
        if question in (ALLOCATE, FREE, EVENT_QUERY, STREAM_QUERY) and self._breaks_a_capture(b):
            return CAPTURE_UNSUPPORTED
        if question == ALLOCATE:
            return SUCCESS
        self.run()
        if question == ELAPSED:
            return self._elapsed(self.events[a], self.events[b], bool((a | b) & IS_UNTIMED), result)
        return self._waited(question, device, a)

    def _breaks_a_capture(self, mode: int) -> bool:
        """A call that captures forbid, from a thread of this mode."""
        broken = [
            capture
            for capture in self.captured.values()
            if mode != RELAXED
            and not capture.code
            and (capture.mode == GLOBAL or capture.mode == THREAD_LOCAL and capture.thread == threading.get_ident())
        ]
        for capture in broken:
            capture.code = CAPTURE_INVALIDATED
        return bool(broken)

    def _waited(self, question: int, device: int, a: int) -> int:
        """Answer a query, or wait: for a stream, an event or, before memory is freed, the device."""
        is_done: Callable[[], bool]
        if question in (STREAM_QUERY, STREAM_WAIT):
            captures = [self.captured[device, a]] if (device, a) in self.captured else []
            is_done = lambda: not self.streams[device, a]  # noqa: E731
        elif question in (EVENT_QUERY, EVENT_WAIT):
            event = self.events[a]
            captures = [event.capture] if event.capture else []
            number = event.recorded
            is_done = lambda: event.done >= number  # noqa: E731
        else:
            captures = [each for (of, _), each in self.captured.items() if of == device and question == DEVICE_WAIT]
            captures = [capture for capture in captures if not capture.code]
            is_done = lambda: not any(work for (of, _), work in self.streams.items() if of == device)  # noqa: E731
        for capture in captures:
            capture.code = CAPTURE_INVALIDATED
        if captures:
            return CAPTURED_EVENT if question in (EVENT_QUERY, EVENT_WAIT) else CAPTURE_UNSUPPORTED
        if question in (STREAM_QUERY, EVENT_QUERY):
            return self.library.emulation_failure(device) or (SUCCESS if is_done() else NOT_READY)
        end = time.monotonic() + PATIENCE
        while not is_done():
            if time.monotonic() > end:
                return UNKNOWN
            self.lock.release()
            try:
                time.sleep(PAUSE)
            finally:
                self.lock.acquire()
            self.run()
        return int(self.library.emulation_failure(device))

    def _end(self, key: Key, address: int, result: Any) -> int:
        capture = self.captured.get(key)
        if capture is None:
            return ILLEGAL_STATE
        if key != capture.origin:
            capture.code = CAPTURE_INVALIDATED
            return CAPTURE_UNMATCHED
        for of in [of for of, each in self.captured.items() if each is capture]:
            del self.captured[of]
        for event in self.events.values():
            if event.capture is capture:
                event.capture = None
        result[0] = 1  # captures that ended
        code = capture.code or (SUCCESS if capture.is_joined() else CAPTURE_UNJOINED)
        ctypes.c_uint64.from_address(address).value = 0 if code else capture.handle
        if not code:
            self.graphs[capture.handle] = capture.nodes
        return code

    def _elapsed(self, start: Event, end: Event, is_untimed: bool, result: Any) -> int:
        if is_untimed or not start.recorded or not end.recorded:
            return INVALID_HANDLE
        if start.done < start.recorded or end.done < end.recorded:
            return NOT_READY
        result[0] = (end.time_ns - start.time_ns) & 0xFFFF_FFFF_FFFF_FFFF
        return SUCCESS


def _array(value: Any) -> Any:
    """Return an argument of a reference: an array over the memory of an Access; a number or None as it is."""
    if not hasattr(value, "nbytes"):
        return value
    data_type, strides = value.dtype, value.strides
    if not value.nbytes:
        return np.empty(value.shape, data_type.numpy)
    memory = (ctypes.c_char * value.nbytes).from_address(value.address)
    steps = None if strides is None else [stride * data_type.itemsize for stride in strides]
    array = np.ndarray(value.shape, data_type.numpy, memory, 0, steps)
    array.flags.writeable = value.mode != "r"
    return array


class Plan:
    """A library call that runs its NumPy reference, in place of a vendor's library."""

    workspace_nbytes = 0
    native = None

    def __init__(self, engine: Engine, operation: Any) -> None:
        self._library, self._number = engine.library, len(engine.operations)
        engine.operations.append(operation)

    def run(self, addresses: tuple[int, ...], workspace: int, stream: Any) -> None:
        from flambeau.driver.nvidia import library

        packed = struct.pack(f"@{len(addresses)}Q", *addresses)
        code = self._library.emulation_library(
            ctypes.c_uint64(stream.raw), ctypes.c_uint64(self._number), packed, ctypes.c_uint64(len(packed))
        )
        library.check((sys.modules["cuda.bindings.driver"].CUresult(code),), "emulation_library")


def install() -> None:
    """Emulate the GPUs of this process: machine code and library plans of its driver are numbers of this engine."""
    from flambeau.driver.nvidia import compile, plans

    engine = Engine(ctypes.CDLL("libcuda.so.1"))
    numbers: dict[Any, int] = {}
    plan_of = plans.Planner.plan

    def cubin(self: Any, kernel: Any, arch: str) -> bytes:
        if kernel not in numbers:
            numbers[kernel] = len(engine.kernels)
            engine.kernels.append(kernel)
        image = b"emulated:%d\0" % numbers[kernel]
        return image if kernel.is_c else kernel.entry.encode() + b"\0" + image

    def plan(self: Any, device: int, problem: Any) -> Any:
        is_emulated = self._devices._cu is sys.modules["cuda.bindings.driver"]  # and no stand-in of a test
        return Plan(engine, problem) if is_emulated else plan_of(self, device, problem)

    compile.Compiler.cubin = cubin  # type: ignore[method-assign]
    plans.Planner.plan = plan  # type: ignore[method-assign]
