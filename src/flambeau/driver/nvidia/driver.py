"""NVIDIA GPUs, through the driver API of cuda.bindings.

- No driver call is made before `start`.  Every call makes its device's context current: see devices.py.
- Waits block the host with the GIL released, as cuda.bindings does in every call.
- Tables of handles need no lock.  One lock guards the creation of kernels, plans and adopted streams.
- cuLaunchKernel reads the launch buffer before it returns, with the GIL released.  So a thread takes a `Passage` from
  a list that all threads share, and puts it back after the call; a list's pop and append are atomic.
- Compiled calls may be deferred: a native thread of the device makes them (core/submission.h).  `Devices.use` waits
  until they are made, so every other driver call comes after them.
- CUDA_VISIBLE_DEVICES and CUDA_LAUNCH_BLOCKING are honoured by NVIDIA's driver itself.
- The driver itself refuses what a capture does not permit.  The error of a refused call names its caller;
  `capture_end` repeats the calls that were refused since the capture began.
- NVIDIA's driver keeps the capture mode of each thread; it is not stored here.
- An IPC handle is a fixed struct: kind, exporting process (pid and a random number), device UUID, and the driver's 64
  bytes.  The driver checks its own bytes; the other fields are checked here.
- The driver opens an allocation of another process as a whole, with a reference count: a handle has one address until
  its last close.  An exporter must not free memory that others have open, nor destroy an event that others wait for.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import struct
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from threading import Lock
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any

from ... import host
from ...core.nvidia import MAX_ARGUMENT_BYTES, Event, Function, Stream
from ...core.queue import HotCalls, hooks
from ...errors import AcceleratorError, ArgumentError, ProcessGoneError
from ...kernel import Access, Buffer, Grid, Kernel
from ...library_operation import LibraryOperation
from ..api import (
    Activities,
    Address,
    Capabilities,
    CaptureMode,
    CaptureStatus,
    CopyKind,
    DeviceProperties,
    EventHandle,
    GraphExecHandle,
    GraphHandle,
    KernelHandle,
    PlanHandle,
    StreamHandle,
)
from . import compile, cupti, library
from .blas import BlasHandles
from .devices import STREAM_NON_BLOCKING, ContextCalls, Devices, Table
from .library import CAPTURE_REFUSALS, INVALID_HANDLE, NOT_READY, check, check_ready
from .memory import MemoryCalls
from .nccl import ExchangeCalls
from .own_kernels import Launch
from .plans import LIBRARIES, Plan, Planner

PLAIN_SHARED_BYTES = 48 * 1024  # dynamic shared memory that needs no cuFuncSetAttribute

# cuda.h: the keys of cuLaunchKernel's `extra`
BUFFER_POINTER, BUFFER_SIZE, END = 1, 2, 0


class Passage:
    """One launch's `extra`: {BUFFER_POINTER, data, BUFFER_SIZE, &size, END}.  address: of `extra`."""

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
        result = cu.cuModuleGetFunction(self._module, symbol)
        self._function = check(result, "cuModuleGetFunction", kernel=kernel.entry, device=device)
        super().__init__(int(self._function), device, PLAIN_SHARED_BYTES)
        self._lock = Lock()
        self.entry = kernel.entry
        self.kernel = kernel

    def function(self, cu: Any, shared: int) -> Any:
        """Return the CUfunction, ready for `shared` bytes of dynamic shared memory."""
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
    """Launches kernels on streams."""

    def __init__(self, cu: Any) -> None:
        self._cu = cu
        self._launch = cu.cuLaunchKernel
        self._spare: list[Passage] = []

    def launch(self, loaded: LoadedKernel, grid: Grid, arguments: Buffer, stream: Stream) -> None:
        """Queue one launch.  The kernel's device is current.  Raises AcceleratorError."""
        if len(arguments) > MAX_ARGUMENT_BYTES:
            raise ArgumentError(
                f"the arguments have {len(arguments)} bytes; a launch takes at most {MAX_ARGUMENT_BYTES}",
                operator=loaded.entry,
            )
        (x, y, z), threads, shared, threads_y, threads_z = grid
        function = loaded.function(self._cu, shared)
        try:
            passage = self._spare.pop()
        except IndexError:
            passage = Passage()
        passage.data.raw = bytes(arguments)
        passage.size.value = len(arguments)
        result = self._launch(function, x, y, z, threads, threads_y, threads_z, shared, stream.cu, 0, passage.address)
        self._spare.append(passage)
        if result[0]:
            check(result, "cuLaunchKernel", kernel=loaded.entry, device=loaded.device, grid=grid, stream=stream.raw)


# cuda.h
DOT_VERBOSE = 1
MODES = (CaptureMode.GLOBAL, CaptureMode.THREAD_LOCAL, CaptureMode.RELAXED)
STATUSES = (CaptureStatus.NONE, CaptureStatus.ACTIVE, CaptureStatus.INVALIDATED)


class Captured:
    """A CUgraph or a CUgraphExec, and the device that it was captured on."""

    __slots__ = ("cu", "device")

    def __init__(self, device: int, cu: Any) -> None:
        self.device = device
        self.cu = cu


class GraphCalls:
    """The graph calls of the Driver."""

    _cu: Any
    _devices: Devices
    _streams: Table[Stream]

    def __init__(self) -> None:
        super().__init__()
        self._graphs: Table[Captured] = Table("graph")
        self._launchables: Table[Captured] = Table("graph")
        self._capturing: set[StreamHandle] = set()

    if TYPE_CHECKING:

        def hold(self) -> None: ...

        def release(self) -> None: ...

    def capture_begin(self, stream: StreamHandle, mode: CaptureMode) -> None:
        of = self._streams[stream]
        with self._devices.use(of.device):
            self.hold()  # a call that the capture refuses must raise in its caller
            try:
                result = self._cu.cuStreamBeginCapture(of.cu, self._mode(mode))
                check(result, "cuStreamBeginCapture", stream=stream, device=of.device, mode=mode.value)
            except BaseException:
                self.release()
                raise
            self._capturing.add(stream)
            CAPTURE_REFUSALS.clear()

    def capture_end(self, stream: StreamHandle) -> GraphHandle:
        of = self._streams[stream]
        if stream in self._capturing:
            self._capturing.remove(stream)
            self.release()
        with self._devices.use(of.device):
            refused = tuple(CAPTURE_REFUSALS)
            result = self._cu.cuStreamEndCapture(of.cu)
            if result[0] and refused:
                check(result, "cuStreamEndCapture", stream=stream, device=of.device, refused="; ".join(refused))
            graph = check(result, "cuStreamEndCapture", stream=stream, device=of.device)
            return GraphHandle(self._graphs.add(Captured(of.device, graph)))

    def capture_status(self, stream: StreamHandle) -> CaptureStatus:
        of = self._streams[stream]
        if of.raw == 0:  # the driver refuses the query of a default stream, which never captures
            return CaptureStatus.NONE
        with self._devices.use(of.device):
            status = check(self._cu.cuStreamIsCapturing(of.cu), "cuStreamIsCapturing", stream=stream, device=of.device)
            return STATUSES[int(status)]

    def capture_mode_exchange(self, mode: CaptureMode) -> CaptureMode:
        result = self._cu.cuThreadExchangeStreamCaptureMode(self._mode(mode))
        return MODES[int(check(result, "cuThreadExchangeStreamCaptureMode", mode=mode.value))]

    def _mode(self, mode: CaptureMode) -> Any:
        return getattr(self._cu.CUstreamCaptureMode, f"CU_STREAM_CAPTURE_MODE_{mode.name}")

    def graph_node_count(self, graph: GraphHandle) -> int:
        of = self._graphs[graph]
        _, count = check(self._cu.cuGraphGetNodes(of.cu), "cuGraphGetNodes", graph=graph, device=of.device)
        return int(count)

    def graph_write(self, graph: GraphHandle, path: str) -> None:
        of = self._graphs[graph]
        with self._devices.use(of.device):
            check(self._cu.cuGraphDebugDotPrint(of.cu, path.encode(), DOT_VERBOSE), "cuGraphDebugDotPrint", path=path)

    def graph_raw(self, graph: GraphHandle | GraphExecHandle) -> int:
        return int((self._launchables if graph in self._launchables else self._graphs)[graph].cu)

    def graph_instantiate(self, graph: GraphHandle) -> GraphExecHandle:
        of = self._graphs[graph]
        with self._devices.use(of.device):
            instance = check(self._cu.cuGraphInstantiate(of.cu, 0), "cuGraphInstantiate", graph=graph, device=of.device)
            return GraphExecHandle(self._launchables.add(Captured(of.device, instance)))

    def graph_launch(self, graph: GraphExecHandle, stream: StreamHandle) -> None:
        captured, of = self._launchables[graph], self._streams[stream]
        if captured.device != of.device:
            raise AcceleratorError(
                f"the graph was captured on device {captured.device}, and launched on stream {stream} of device "
                f"{of.device}",
                error_code=INVALID_HANDLE,
                operator="graph_launch",
            )
        with self._devices.use(of.device):
            result = self._cu.cuGraphLaunch(captured.cu, of.cu)
            if result[0]:
                check(result, "cuGraphLaunch", graph=graph, stream=stream, device=of.device)

    def graph_destroy(self, graph: GraphHandle | GraphExecHandle) -> None:
        if graph in self._launchables:
            gone = self._launchables.remove(graph)
            with self._devices.use(gone.device):
                check(self._cu.cuGraphExecDestroy(gone.cu), "cuGraphExecDestroy", graph=graph, device=gone.device)
        else:
            gone = self._graphs.remove(graph)
            check(self._cu.cuGraphDestroy(gone.cu), "cuGraphDestroy", graph=graph, device=gone.device)


MEMORY, EVENT = b"flmc-mem", b"flmc-evt"
CU_HANDLE_BYTES = 64  # CU_IPC_HANDLE_SIZE
LAZY_ENABLE_PEER_ACCESS = 1  # CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS, the only flag there is
INVALID_VALUE = 1  # CUresult
_HANDLE = struct.Struct(f"<8sI8s40s{CU_HANDLE_BYTES}s")
_PROCESS = os.urandom(8)  # processes of different containers may have equal pids


class IpcCalls:
    """The calls of the Driver for memory and events of other processes."""

    _cu: Any
    _devices: Devices
    _events: Table[Event]

    if TYPE_CHECKING:

        def stream_synchronize(self, stream: StreamHandle) -> None: ...

    def ipc_export(self, device: int, address: Address) -> bytes:
        with self._devices.use(device):
            result = self._cu.cuIpcGetMemHandle(address)
            handle = check(result, "cuIpcGetMemHandle", device=device, address=hex(address))
            return self._packed(MEMORY, device, handle)

    def ipc_open(self, device: int, handle: bytes) -> Address:
        raw = self._unpacked("ipc_open", MEMORY, device, handle, self._cu.CUipcMemHandle)
        with self._devices.use(device):
            result = self._cu.cuIpcOpenMemHandle(raw, LAZY_ENABLE_PEER_ACCESS)
            return Address(int(check(result, "cuIpcOpenMemHandle", device=device, exporter=_exporter(handle))))

    def ipc_close(self, device: int, address: Address) -> None:
        with self._devices.use(device):
            check(self._cu.cuIpcCloseMemHandle(address), "cuIpcCloseMemHandle", device=device, address=hex(address))

    def block_shared(self, device: int, address: Address, nbytes: int, stream: StreamHandle) -> None:
        """Do nothing: an interprocess event recorded on the stream orders the work of other processes."""

    def ipc_flush(self, stream: StreamHandle) -> None:
        self.stream_synchronize(stream)

    def event_ipc_export(self, event: EventHandle) -> bytes:
        of = self._events[event]
        if not of.interprocess:
            raise AcceleratorError(
                "the event was made without interprocess=True", error_code=INVALID_VALUE, operator="event_ipc_export"
            )
        with self._devices.use(of.device):
            handle = check(self._cu.cuIpcGetEventHandle(of.cu), "cuIpcGetEventHandle", event=event, device=of.device)
            return self._packed(EVENT, of.device, handle)

    def event_ipc_open(self, device: int, handle: bytes) -> EventHandle:
        raw = self._unpacked("event_ipc_open", EVENT, device, handle, self._cu.CUipcEventHandle)
        exporter = _exporter(handle)
        if not host.is_process_alive(exporter):  # the driver would open it, and no process would record it
            raise ProcessGoneError(f"process {exporter}, which made the event, has ended", operator="event_ipc_open")
        with self._devices.use(device):
            result = self._cu.cuIpcOpenEventHandle(raw)
            opened = check(result, "cuIpcOpenEventHandle", device=device, exporter=exporter)
            return EventHandle(self._events.add(Event(device, opened, timing=False)))

    def _packed(self, kind: bytes, device: int, handle: Any) -> bytes:
        raw = ctypes.string_at(int(handle.getPtr()), CU_HANDLE_BYTES)
        return _HANDLE.pack(kind, os.getpid(), _PROCESS, self._devices.uuid(device).encode(), raw)

    def _unpacked(self, name: str, kind: bytes, device: int, handle: bytes, make: Any) -> Any:
        """Return the driver's part of a handle.  Raises ArgumentError for another kind or device, or an own handle."""
        if not isinstance(handle, bytes) or len(handle) != _HANDLE.size or not handle.startswith(kind):
            raise ArgumentError(
                f"this is not a handle of an NVIDIA GPU's {'memory' if kind == MEMORY else 'event'}: "
                f"{handle[:16]!r}, {len(handle)} bytes",
                hint="handles of NVIDIA GPUs and of virtual ones cannot be exchanged",
                operator=name,
            )
        _, _, process, uuid, raw = _HANDLE.unpack(handle)
        if process == _PROCESS:
            raise ArgumentError(
                "the handle was exported by this process", hint="use the original object", operator=name
            )
        there, here = uuid.rstrip(b"\0").decode("ascii", "replace"), self._devices.uuid(device)
        if there != here:
            raise ArgumentError(
                f"the handle is of device {there}, and was opened on device {device}, {here}", operator=name
            )
        result = make()
        ctypes.memmove(int(result.getPtr()), raw, CU_HANDLE_BYTES)
        return result


def _blocking(call: Any, *arguments: Any) -> Any:
    """Make a call that waits; report to tools how long it blocked the thread."""
    began = perf_counter_ns()
    result = call(*arguments)
    if hooks.on_blocked is not None:
        hooks.on_blocked(began, perf_counter_ns())
    return result


def _exporter(handle: bytes) -> int:
    return int(_HANDLE.unpack(handle)[1])


# library calls that a native thread makes
LIBRARY_CALLS = ("cublasLtMatmul", "cudnnBackendExecute")
EARLIER_HINT = "CUDA_LAUNCH_BLOCKING=1 names its line"

# cuda.h
EXTERNAL = 1  # CU_EVENT_RECORD_EXTERNAL and CU_EVENT_WAIT_EXTERNAL
EVENT_BLOCKING_SYNC, EVENT_DISABLE_TIMING, EVENT_INTERPROCESS = 1, 2, 4
MAX_SPARE_EVENTS = (
    64  # per device: a destroyed event with no flag but DISABLE_TIMING is reused; earlier waits for it stay valid
)
DEVICE_MEMORY = 2  # CU_MEMORYTYPE_DEVICE
HOST_ALLOC_PORTABLE = 1  # pinned for every device; CU_MEMHOSTREGISTER_PORTABLE is the same


class NvidiaDriver(GraphCalls, IpcCalls, MemoryCalls, ExchangeCalls, ContextCalls):
    """The process's NVIDIA GPUs."""

    capabilities = Capabilities("nvidia", graphs=True, ipc=True, libraries=LIBRARIES)

    def __init__(self, bindings: Any = None, shared_library: str = "") -> None:
        """bindings: replacement of the module cuda.bindings.driver, which `start` imports otherwise.

        shared_library: the file in which the compiled calls find the functions of such a replacement.
        """
        super().__init__()
        self._cu: Any = bindings
        self._shared_library = shared_library if bindings else library.DRIVER_LIBRARY
        self._lock = Lock()
        self._default_streams: list[StreamHandle] = []
        self._streams: Table[Stream] = Table("stream")
        self._stream_by_raw: dict[tuple[int, int], StreamHandle] = {}
        self._events: Table[Event] = Table("event")
        self._spare_events: defaultdict[int, list[Event]] = defaultdict(list)
        self._kernels: Table[LoadedKernel] = Table("kernel")
        self._kernel_handles: dict[tuple[int, Kernel], KernelHandle] = {}
        self._plans: Table[tuple[int, Plan]] = Table("plan")
        self._plan_handles: dict[tuple[int, LibraryOperation], PlanHandle] = {}
        self._blas_handles = BlasHandles()
        self._library_calls: dict[PlanHandle, Any] = {}  # compiled runners, by plan
        self._is_exposed = False
        self._native: Any = None  # the module with the compiled calls, if they are used
        self._calls: Any = None  # the module's `Native` object

    # devices

    def start(self) -> None:
        self._cu = self._cu or library.driver_bindings()
        self._devices = Devices(self._cu, library.initialize(self._cu))
        self._launcher = Launcher(self._cu)
        self._compiler = compile.of_driver(self._cu)
        self._planner = Planner(self._devices, self._load_for_plan, self._prepare)
        streams = [Stream(device, self._cu.CUstream(0), is_ours=False) for device in range(self._devices.count)]
        self._default_streams = [StreamHandle(self._streams.add(stream)) for stream in streams]
        self.hot = HotCalls(self)
        self._call_natively()

    def _call_natively(self) -> None:
        """Use compiled calls in place of the methods of the same names, which remain for error handling."""
        native = library.native()
        if native is not None and self._shared_library:
            tables = self._kernels, self._streams, self._events, self._launchables
            parts = *tables, self._devices.contexts, self._library_calls
            self.hot = self._calls = calls = native.Native(self._shared_library, self, *parts)
            self._native = native
            for name in native.CALLS:
                setattr(self, name, getattr(calls, name))
            self._devices.current, self._devices.flush = calls.current, calls.flush
            atexit.register(calls.flush)

    def hold(self) -> None:
        """Do not defer compiled calls until `release`: they reach NVIDIA's driver before they return.  Nests."""
        if self._calls is not None:
            self._calls.hold()

    def release(self) -> None:
        """End the latest `hold`."""
        if self._calls is not None:
            self._calls.release()

    @contextmanager
    def _at_once(self) -> Iterator[None]:
        """Defer no calls inside a `with` block: native threads use a library's descriptors without a lock."""
        self.hold()
        try:
            yield
        finally:
            self.release()

    def failed_earlier(self, name: str, code: int) -> None:
        """Raise the error of a call that a native thread made.  If the device is lost, the next call raises it."""
        if name in LIBRARY_CALLS:
            raise AcceleratorError(f"{name}: status {code}, in a call before this one", hint=EARLIER_HINT)
        if code not in library.STICKY:
            raise library.error_of(self._cu.CUresult(code), name, {"the call": "one before this"})

    def expose(self) -> None:
        if not self._is_exposed:
            self.hold()
            self._is_exposed = True

    def device_count(self) -> int:
        return self._devices.count

    def properties(self, device: int) -> DeviceProperties:
        return self._devices.properties(device)

    def device_synchronize(self, device: int) -> None:
        with self._devices.use(device):
            check(_blocking(self._cu.cuCtxSynchronize), "cuCtxSynchronize", device=device)

    def mem_info(self, device: int) -> tuple[int, int]:
        with self._devices.use(device):
            free, total = check(self._cu.cuMemGetInfo(), "cuMemGetInfo", device=device)
            return int(free), int(total)

    # memory

    def mem_alloc(self, device: int, nbytes: int) -> Address:
        with self._devices.use(device):
            return Address(int(check(self._cu.cuMemAlloc(nbytes), "cuMemAlloc", device=device, nbytes=nbytes)))

    def mem_free(self, device: int, address: Address) -> None:
        with self._devices.use(device):
            check(self._cu.cuMemFree(address), "cuMemFree", device=device, address=hex(address))

    def memory_device(self, address: int) -> int | None:
        kinds = self._cu.CUpointer_attribute
        with self._devices.use_any():
            asked = kinds.CU_POINTER_ATTRIBUTE_MEMORY_TYPE
            result = self._cu.cuPointerGetAttribute(asked, address)
            if int(result[0]) == INVALID_VALUE:  # memory that CUDA does not know
                return None
            if int(check(result, "cuPointerGetAttribute", address=hex(address))) != DEVICE_MEMORY:
                return None
            asked = kinds.CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
            return int(check(self._cu.cuPointerGetAttribute(asked, address), "cuPointerGetAttribute"))

    def host_alloc(self, nbytes: int) -> Address:
        with self._devices.use_any():
            result = self._cu.cuMemHostAlloc(nbytes, HOST_ALLOC_PORTABLE)
            return Address(int(check(result, "cuMemHostAlloc", nbytes=nbytes)))

    def host_free(self, address: Address) -> None:
        with self._devices.use_any():
            check(self._cu.cuMemFreeHost(address), "cuMemFreeHost", address=hex(address))

    def host_register(self, address: Address, nbytes: int) -> None:
        with self._devices.use_any():
            result = self._cu.cuMemHostRegister(address, nbytes, HOST_ALLOC_PORTABLE)
            check(result, "cuMemHostRegister", address=hex(address), nbytes=nbytes)

    def host_unregister(self, address: Address) -> None:
        with self._devices.use_any():
            check(self._cu.cuMemHostUnregister(address), "cuMemHostUnregister", address=hex(address))

    def block_taken(self, device: int, address: Address, nbytes: int, stream: StreamHandle) -> None:
        """Do nothing: hardware does not know the allocator's blocks."""

    def block_given(self, device: int, address: Address, nbytes: int) -> None:
        """Do nothing: hardware does not know the allocator's blocks."""

    def block_finished(self, address: Address, event: EventHandle) -> None:
        """Do nothing, as `block_given`."""

    def host_taken(self, address: Address, nbytes: int) -> None:
        """Do nothing, as `block_given`."""

    def host_accessed(self, access: Access) -> None:
        """Do nothing, as `block_given`."""

    def drain(self) -> None:
        """Do nothing: the device continues with the queued work."""

    def stream_named(self, stream: StreamHandle, name: str, site: str) -> None:
        """Do nothing: the driver's reports do not name streams."""

    # streams

    def stream_create(self, device: int, priority: int) -> StreamHandle:
        with self._devices.use(device):
            priorities = self._cu.cuCtxGetStreamPriorityRange()
            least, greatest = check(priorities, "cuCtxGetStreamPriorityRange", device=device)
            clamped = max(int(greatest), min(int(least), priority))
            result = self._cu.cuStreamCreateWithPriority(STREAM_NON_BLOCKING, clamped)
            created = check(result, "cuStreamCreateWithPriority", device=device, priority=clamped)
            return self._add_stream(Stream(device, created, is_ours=True))

    def stream_adopt(self, device: int, raw: int) -> StreamHandle:
        self._devices.handle(device)
        if raw == 0:
            return self._default_streams[device]
        with self._lock:
            known = self._stream_by_raw.get((device, raw))
            return known or self._add_stream(Stream(device, self._cu.CUstream(raw), is_ours=False))

    def stream_destroy(self, stream: StreamHandle) -> None:
        if stream in self._default_streams:
            raise AcceleratorError(
                f"stream {stream} is a default stream", error_code=INVALID_HANDLE, operator="stream_destroy"
            )
        gone = self._streams.remove(stream)
        device = gone.end()
        self._stream_by_raw.pop((device, gone.raw), None)
        if gone.is_ours:
            with self._devices.use(device):
                check(self._cu.cuStreamDestroy(gone.cu), "cuStreamDestroy", stream=stream, device=device)

    def stream_query(self, stream: StreamHandle) -> bool:
        of = self._streams[stream]
        with self._devices.use(of.device):
            return check_ready(self._cu.cuStreamQuery(of.cu), "cuStreamQuery", stream=stream, device=of.device)

    def stream_synchronize(self, stream: StreamHandle) -> None:
        of = self._streams[stream]
        with self._devices.use(of.device):
            result = _blocking(self._cu.cuStreamSynchronize, of.cu)
            check(result, "cuStreamSynchronize", stream=stream, device=of.device)

    def stream_wait_event(self, stream: StreamHandle, event: EventHandle, external: bool = False) -> None:
        of, awaited = self._streams[stream], self._events[event]
        with self._devices.use(of.device):
            flags = EXTERNAL if external else 0
            check(self._cu.cuStreamWaitEvent(of.cu, awaited.cu, flags), "cuStreamWaitEvent", stream=stream, event=event)

    def stream_raw(self, stream: StreamHandle) -> int:
        return self._streams[stream].raw

    # events

    def event_create(self, device: int, timing: bool, blocking: bool, interprocess: bool) -> EventHandle:
        flags = 0 if timing else EVENT_DISABLE_TIMING
        flags |= EVENT_BLOCKING_SYNC if blocking else 0
        flags |= EVENT_INTERPROCESS if interprocess else 0
        is_plain = flags == EVENT_DISABLE_TIMING
        if is_plain:
            try:
                return EventHandle(self._events.add(self._spare_events[device].pop()))
            except IndexError:
                pass  # no spare event: create one
        with self._devices.use(device):
            created = check(self._cu.cuEventCreate(flags), "cuEventCreate", device=device, flags=flags)
            return EventHandle(self._events.add(Event(device, created, timing, is_plain, interprocess)))

    def event_destroy(self, event: EventHandle) -> None:
        gone = self._events.remove(event)
        if gone.is_plain and len(self._spare_events[gone.device]) < MAX_SPARE_EVENTS:
            # Also an event that a capture recorded: its next user records it before any wait.
            self._spare_events[gone.device].append(gone)
            return
        with self._devices.use(gone.device):
            check(self._cu.cuEventDestroy(gone.cu), "cuEventDestroy", event=event, device=gone.device)

    def event_record(self, event: EventHandle, stream: StreamHandle, external: bool = False) -> None:
        recorded, of = self._events[event], self._streams[stream]
        if recorded.device != of.device:
            raise AcceleratorError(
                f"the event belongs to device {recorded.device}, and stream {stream} to device {of.device}",
                hint=f"record an event of device {of.device}",
                error_code=INVALID_HANDLE,
                operator="event_record",
            )
        with self._devices.use(of.device):
            if external:
                result = self._cu.cuEventRecordWithFlags(recorded.cu, of.cu, EXTERNAL)
                check(result, "cuEventRecordWithFlags", event=event, stream=stream)
            else:
                check(self._cu.cuEventRecord(recorded.cu, of.cu), "cuEventRecord", event=event, stream=stream)

    def event_raw(self, event: EventHandle) -> int:
        return self._events[event].raw

    def event_query(self, event: EventHandle, orders: bool = True) -> bool:
        of = self._events[event]
        if of.is_put_off():
            return False
        with self._devices.enter(of.device):
            return check_ready(self._cu.cuEventQuery(of.cu), "cuEventQuery", event=event, device=of.device)

    def event_synchronize(self, event: EventHandle, orders: bool = True) -> None:
        of = self._events[event]
        with self._devices.use(of.device):
            check(_blocking(self._cu.cuEventSynchronize, of.cu), "cuEventSynchronize", event=event, device=of.device)

    def event_elapsed(self, start: EventHandle, end: EventHandle) -> float:
        first, last = self._events[start], self._events[end]
        for name, event in (("start", first), ("end", last)):
            if not event.timing:
                raise AcceleratorError(
                    f"the {name} event was made without timing",
                    hint="make it with timing=True",
                    error_code=INVALID_HANDLE,
                    operator="event_elapsed",
                )
        with self._devices.use(first.device):
            result = self._cu.cuEventElapsedTime(first.cu, last.cu)
            if not check_ready(result, "cuEventElapsedTime", start=start, end=end):
                raise AcceleratorError(
                    "an event is not complete",
                    hint="synchronize with it first",
                    error_code=NOT_READY,
                    operator="event_elapsed",
                )
            return float(result[1])

    # work

    def copy(self, dst: Address, src: Address, nbytes: int, kind: CopyKind, stream: StreamHandle) -> None:
        of = self._streams[stream]
        with self._devices.use(of.device):
            if nbytes == 0:
                return
            result = self._cu.cuMemcpyAsync(dst, src, nbytes, of.cu)
            if result[0]:
                facts = {"dst": hex(dst), "src": hex(src), "nbytes": nbytes, "kind": kind.value}
                check(result, "cuMemcpyAsync", **facts, device=of.device)

    def fill(self, dst: Address, value: int, nbytes: int, stream: StreamHandle) -> None:
        of = self._streams[stream]
        with self._devices.use(of.device):
            if nbytes == 0:
                return
            result = self._cu.cuMemsetD8Async(dst, value, nbytes, of.cu)
            if result[0]:
                check(result, "cuMemsetD8Async", dst=hex(dst), value=value, nbytes=nbytes, device=of.device)

    def kernel_load(self, device: int, kernel: Kernel) -> KernelHandle:
        known = self._kernel_handles.get((device, kernel))
        if known is not None:
            return known
        with self._lock:
            return self._load(device, kernel)

    def launch(self, kernel: KernelHandle, grid: Grid, arguments: Buffer, stream: StreamHandle) -> None:
        loaded, of = self._kernels[kernel], self._streams[stream]
        if loaded.device != of.device:
            raise _elsewhere(loaded.entry, loaded.device, stream, of)
        self._launch(loaded, grid, arguments, of)

    def library_plan(self, device: int, problem: LibraryOperation) -> tuple[PlanHandle, int]:
        handle = self._plan_handles.get((device, problem))
        if handle is None:
            with self._lock:
                handle = self._plan(device, problem)
        return handle, self._plans[handle][1].workspace_nbytes

    def library_run(
        self, plan: PlanHandle, addresses: tuple[int, ...], workspace: Address, stream: StreamHandle
    ) -> None:
        device, planned = self._plans[plan]
        of = self._streams[stream]
        if of.device != device:
            raise _elsewhere(f"plan {plan}", device, stream, of)
        with self._at_once(), self._devices.use(device):
            planned.run(addresses, workspace, of)

    def library_reserve(self, plan: PlanHandle) -> int:
        return int(getattr(self._plans[plan][1], "reserve_nbytes", 0))

    def product_workspace(self, device: int) -> int:
        return self._planner.workspace(device)

    def blas_handle(self, stream: StreamHandle) -> int:
        of = self._streams[stream]
        with self._devices.use(of.device):
            return self._blas_handles.of(of)

    # time

    def host_ns(self) -> int:
        return perf_counter_ns()

    def profiler_start(self) -> None:
        with self._devices.use_any():
            check(self._cu.cuProfilerStart(), "cuProfilerStart")

    def profiler_stop(self) -> None:
        with self._devices.use_any():
            check(self._cu.cuProfilerStop(), "cuProfilerStop")

    def measure(self) -> Activities | None:
        self.hold()  # CUPTI numbers the work of the thread that calls NVIDIA's driver
        activities = None
        try:
            activities = cupti.measure(self.release)
        finally:
            if activities is None:
                self.release()
        return activities

    # work

    def _launch(self, kernel: LoadedKernel, grid: Grid, arguments: Buffer, stream: Stream) -> None:
        with self._devices.use(kernel.device):
            self._launcher.launch(kernel, grid, arguments, stream)

    def _load_for_plan(self, device: int, kernel: Kernel) -> Launch:
        """Return the launch function of a loaded kernel.  The lock is held."""
        return partial(self._launch, self._kernels[self._load(device, kernel)])

    def _prepare(self, device: int, kernel: Kernel, grid: Grid, arguments: bytes, places: tuple[int, ...]) -> Any:
        """As Planner's `prepare`; None without compiled calls.  The lock is held."""
        loaded = self._kernels[self._load(device, kernel)]
        return self._native and self._native.KernelCall(loaded, grid, arguments, places)

    def _load(self, device: int, kernel: Kernel) -> KernelHandle:
        """Load a kernel unless another thread did.  The lock is held."""
        known = self._kernel_handles.get((device, kernel))
        if known is not None:
            return known
        cubin = self._compiler.cubin(kernel, self._devices.arch(device))
        with self._devices.use(device):
            handle = KernelHandle(self._kernels.add(LoadedKernel(self._cu, device, kernel, cubin)))
            self._kernel_handles[device, kernel] = handle
            return handle

    def _plan(self, device: int, problem: LibraryOperation) -> PlanHandle:
        """Make a plan unless another thread did.  The lock is held."""
        known = self._plan_handles.get((device, problem))
        if known is not None:
            return known
        with self._at_once(), self._devices.use(device):
            planned = self._planner.plan(device, problem)
            handle = PlanHandle(self._plans.add((device, planned)))
            self._plan_handles[device, problem] = handle
            if planned.native is not None:
                self._library_calls[handle] = planned.native
            return handle


def _elsewhere(name: str, device: int, stream: StreamHandle, of: Stream) -> AcceleratorError:
    return AcceleratorError(
        f"the kernel or plan is loaded on device {device}, and launched on stream {stream} of device {of.device}",
        error_code=INVALID_HANDLE,
        operator=name,
    )
