"""Frequent calls of the nvidia driver without Python: launches, events, waits, copies, products and attention.

nvidia.py is the uncompiled form: it has the classes of streams, events and functions, but no calls.

- No header of NVIDIA's is needed: functions are looked up by name in loaded libraries; their signatures are those of
  cuda.h, cublasLt.h and cudnn_graph.h.
- Only the successful case is handled here.  After an error code, and for an unknown handle or a device not used before,
  the slow path is taken: the driver's methods in Python, which recover or raise.  A call that has failed is made
  again there, and fails again.
- The GIL is released around each call into the driver, which may block while a queue is full.
- A call may be made later, by a native thread of the device (submission.h).  `flush` waits until all are made, and must
  precede every other call of the driver.  Between `hold` and `release` all calls are made at once.
"""

from cpython.bytearray cimport PyByteArray_AS_STRING, PyByteArray_Check, PyByteArray_GET_SIZE
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_Check, PyBytes_GET_SIZE
from cpython.dict cimport PyDict_GetItemWithError
from cpython.object cimport PyObject
from cpython.tuple cimport PyTuple_GET_ITEM
from libc.stdint cimport uintptr_t
from libc.string cimport memcpy
from posix.dlfcn cimport RTLD_LAZY, dlerror, dlopen, dlsym

from .native cimport Lock
from .queue cimport HotCalls, _hooks

import os
from time import perf_counter_ns

from ..driver.api import CopyKind
from ..library_operation import unpack_addresses

HOST_TO_DEVICE, DEVICE_TO_HOST = CopyKind.HOST_TO_DEVICE, CopyKind.DEVICE_TO_HOST

CALLS = (
    "launch", "event_record", "stream_wait_event", "copy", "fill", "graph_launch", "stream_synchronize",
)  # methods of Native that replace those of the driver

NO_DEVICE = -1
MAX_ARGUMENT_BYTES = 32_764  # most argument bytes of one launch, on every architecture since Volta
MAX_ALIGNMENT = 256  # bytes: cublasLt requires no more
DESC_BIAS_POINTER = 8  # cublasLtMatmulDescAttributes_t
NAMES = (  # of the calls, by their kinds
    "cuLaunchKernel", "cuEventRecord", "cuStreamWaitEvent", "cuMemcpyAsync", "cuMemsetD8Async", "cuGraphLaunch",
    "cuStreamSynchronize", "cublasLtMatmul", "cudnnBackendExecute",
)

cdef class Stream:
    """See nvidia.py."""

    cdef public object cu
    cdef public int device
    cdef public bint is_ours
    cdef public unsigned long long raw
    cdef public unsigned long long context
    cdef Ring* ring

    def __init__(self, int device, cu, bint is_ours):
        self.device, self.cu, self.raw, self.is_ours, self.context = device, cu, int(cu), is_ours, 0
        self.ring = NULL

    def end(self):
        """See nvidia.py."""
        device, self.device, self.context, self.ring = self.device, NO_DEVICE, 0, NULL
        return device


cdef class Event:
    """See nvidia.py."""

    cdef public object cu
    cdef public int device
    cdef public bint timing
    cdef public unsigned long long raw
    cdef public bint is_plain
    cdef public bint interprocess
    cdef Ring* ring  # the ring of its latest record, or NULL
    cdef unsigned long long position  # the ring's head after that record

    def __init__(self, int device, cu, bint timing, bint is_plain=False, bint interprocess=False):
        self.device, self.cu, self.raw = device, cu, int(cu)
        self.timing, self.is_plain, self.interprocess = timing, is_plain, interprocess
        self.ring, self.position = NULL, 0

    def is_put_off(self):
        """See nvidia.py."""
        return self.ring != NULL and ring_tail(self.ring) < self.position


cdef class Function:
    """See nvidia.py."""

    cdef public unsigned long long address
    cdef public unsigned int shared_limit
    cdef public int device

    def __init__(self, unsigned long long address, int device, unsigned int shared_limit):
        self.address, self.device, self.shared_limit = address, device, shared_limit


cdef int make_launch(RingCall* call) noexcept nogil:
    cdef LaunchCall* of = <LaunchCall*>call
    cdef void* extra[5]
    extra[0], extra[1], extra[2], extra[3], extra[4] = <void*>1, of.data, <void*>2, &of.size, NULL
    cdef Shape* shape = &of.shape
    return of.launch(
        of.function, shape.x, shape.y, shape.z, shape.threads, shape.threads_y, shape.threads_z, shape.shared,
        of.stream, NULL, extra,
    )


cdef int make_stream_call(RingCall* call) noexcept nogil:
    cdef StreamCall* of = <StreamCall*>call
    if call.kind == RECORD or call.kind == GRAPH:
        return (<Record>of.function)(<void*>of.what, of.stream)
    if call.kind == SYNCHRONIZE:
        return (<Synchronize>of.function)(of.stream)
    if call.kind == WAIT:
        if of.to:
            ring_wait(<Ring*><uintptr_t>of.to, of.nbytes)
        return (<Wait>of.function)(of.stream, <void*>of.what, 0)
    if call.kind == COPY:
        return (<Copy>of.function)(of.to, of.what, of.nbytes, of.stream)
    return (<Fill>of.function)(of.to, <unsigned char>of.what, of.nbytes, of.stream)


cdef void* found(void* library, bytes name) except NULL:
    cdef void* function = dlsym(library, name)
    if function == NULL:
        raise OSError(f"{name.decode()} was not found: {(<bytes>dlerror()).decode()}")
    return function


cdef inline object entry(object table, object handle):
    """Return the object of a handle, or None."""
    cdef PyObject* known = PyDict_GetItemWithError(table, handle)
    return None if known == NULL else <object>known


cdef inline Shape shape_of(grid) except *:
    cdef Shape shape
    shape.x, shape.y, shape.z = <tuple><object>PyTuple_GET_ITEM(grid, 0)
    shape.threads, shape.shared = <object>PyTuple_GET_ITEM(grid, 1), <object>PyTuple_GET_ITEM(grid, 2)
    shape.threads_y, shape.threads_z = <object>PyTuple_GET_ITEM(grid, 3), <object>PyTuple_GET_ITEM(grid, 4)
    return shape


cdef class Native(HotCalls):
    """The calls of one driver.

    path: the driver's library.  kernels, streams, events, graphs: its tables.  contexts: {device: its Context}.
    library_calls: {plan: its LibraryCall}, of the plans that have one.
    Raises: OSError if the library, or a function in it, is not there.
    """

    cdef void* _functions[SYNCHRONIZE + 1]  # by kind
    cdef CurrentContext _cu_current
    cdef SetContext _cu_set_current
    cdef Ring* _rings[RINGS]
    cdef int _holds
    cdef object _kernels, _streams, _events, _graphs, _contexts, _library_calls
    cdef object _slow  # the driver's class: its Python methods, which this object's replace on the instance
    cdef object _last_handle
    cdef Stream _last_stream

    def __init__(self, path, driver, kernels, streams, events, graphs, contexts, library_calls):
        super().__init__(driver)
        cdef void* library = dlopen(path.encode(), RTLD_LAZY)
        if library == NULL:
            raise OSError((<bytes>dlerror()).decode())
        for kind in range(SYNCHRONIZE + 1):
            self._functions[kind] = found(library, NAMES[kind].encode())
        self._cu_current = <CurrentContext>found(library, b"cuCtxGetCurrent")
        self._cu_set_current = <SetContext>found(library, b"cuCtxSetCurrent")
        self._holds = len(os.sched_getaffinity(0)) == 1  # a thread that submits would compete for the only core
        self._kernels, self._streams, self._events, self._graphs = kernels, streams, events, graphs
        self._contexts, self._library_calls = contexts, library_calls
        self._slow = type(driver)

    def current(self):
        """Return the thread's current context, 0 if it has none."""
        cdef void* now = NULL
        self._cu_current(&now)  # it fails only before the driver is initialized, when no context exists
        return <uintptr_t>now

    cdef Stream _stream(self, handle):
        """Return the Stream of a handle, or None.  The last one is cached: successive calls mostly use one stream."""
        cdef Stream found
        if handle is self._last_handle:
            return self._last_stream
        found = entry(self._streams, handle)
        if found is not None:
            self._last_handle, self._last_stream = handle, found
        return found

    cpdef flush(self):
        """Wait until every call so far is made.  Raises AcceleratorError if one failed without losing the device."""
        cdef Ring* ring
        cdef int index, kind, code
        for index in range(RINGS):
            ring = self._rings[index]
            if ring == NULL:
                continue
            with nogil:
                ring_drain(ring)
            code = ring_failure(ring, &kind)
            if code:
                self._driver.failed_earlier(NAMES[kind], code)

    cpdef hold(self):
        """Make calls at once, until `release`.  Nests.  If it raises, as `flush` does, no `release` may follow."""
        self._holds += 1
        try:
            self.flush()
        except BaseException:
            self._holds -= 1
            raise

    cpdef release(self):
        """See `hold`."""
        self._holds -= 1

    cdef Ring* _ring(self, Stream stream):
        """Return the ring for a call on a stream.  NULL if the caller must make it: earlier calls are made by then."""
        cdef Ring* ring = stream.ring
        if ring == NULL:
            ring = stream.ring = self._ring_of(stream)
        if ring == NULL:
            return NULL
        if self._holds:
            if not ring_is_empty(ring):
                with nogil:
                    ring_drain(ring)
            return NULL
        return ring if ring_takes(ring) else NULL

    cdef Ring* _ring_of(self, Stream stream):
        """Return the ring of a stream's device, NULL if it has none or none yet."""
        cdef unsigned long long context
        cdef Ring* ring
        if stream.device not in self._contexts or stream.device >= RINGS:
            return NULL
        ring = self._rings[stream.device]
        if ring == NULL:
            context = self._contexts[stream.device].raw
            ring = self._rings[stream.device] = ring_new(<void*>context, self._cu_current, self._cu_set_current)
        return ring

    cdef RingCall* _place(self, Stream stream, size_t nbytes):
        """Return room for a call of nbytes in the ring that takes it; NULL if the caller must make it."""
        cdef Ring* ring = self._ring(stream)
        cdef RingCall* call = NULL
        while ring != NULL:
            call = ring_reserve(ring, nbytes)
            if call != NULL:
                break
            with nogil:
                ring_wait_for_room(ring)
            ring = self._ring(stream)
        return call

    cdef bint _make(self, Stream stream, RingCall* call, bint is_placed):
        """Commit a call to the stream's ring, or make it.  False if it could not be made."""
        cdef void* former
        cdef int code
        if is_placed:
            ring_commit(stream.ring, call)
            return True
        if not self._use(stream, &former):
            return False
        with nogil:
            code = call.perform(call)
        self._leave(former)
        return code == 0

    cdef bint _make_stream_call(
        self, Stream stream, int kind, unsigned long long to, unsigned long long what, size_t nbytes
    ):
        """Make a call of an event, a copy, a fill or a graph, or commit it.  False if it could not be made."""
        cdef StreamCall local
        cdef StreamCall* call = <StreamCall*>self._place(stream, sizeof(StreamCall))
        cdef bint is_placed = call != NULL
        if not is_placed:
            call = &local
        call.call.perform, call.call.kind = make_stream_call, kind
        call.function, call.stream = self._functions[kind], <void*>stream.raw
        call.to, call.what, call.nbytes = to, what, nbytes
        return self._make(stream, &call.call, is_placed)

    cdef bint _use(self, Stream stream, void** former):
        """Make the context of a stream's device current, until `_leave(former)`.  False if it cannot be done here.

        As Devices.use in driver/nvidia/devices.py.
        """
        cdef void* now = NULL
        former[0] = STAYS
        if stream.context == 0:
            if stream.device not in self._contexts:
                return False
            stream.context = self._contexts[stream.device].raw
        if self._cu_current(&now):
            return False
        if <uintptr_t>now == stream.context:
            return True
        if self._cu_set_current(<void*>stream.context):
            return False
        if now != NULL or stream.device:
            former[0] = now
        return True

    cdef inline void _leave(self, void* former) noexcept:
        if former != STAYS:
            self._cu_set_current(former)

    cpdef launch(self, kernel, grid, arguments, stream):
        """See Driver."""
        cdef Function loaded = entry(self._kernels, kernel)
        cdef Stream of = self._stream(stream)
        if loaded is None or of is None or loaded.device != of.device:
            return self._slow.launch(self._driver, kernel, grid, arguments, stream)
        cdef Shape shape = shape_of(grid)
        cdef size_t size
        cdef void* data
        if PyByteArray_Check(arguments):
            size, data = PyByteArray_GET_SIZE(arguments), PyByteArray_AS_STRING(arguments)
        else:
            size, data = PyBytes_GET_SIZE(arguments), PyBytes_AS_STRING(arguments)
        if size > MAX_BYTES or shape.shared > loaded.shared_limit or not self._launch(loaded, shape, data, size, of):
            self._slow.launch(self._driver, kernel, grid, arguments, stream)

    cdef bint _launch(self, Function kernel, Shape shape, void* data, size_t size, Stream stream):
        """Make a launch, or commit it.  False if it could not be made."""
        cdef LaunchCall local
        cdef LaunchCall* call = <LaunchCall*>self._place(stream, sizeof(LaunchCall) + size)
        cdef bint is_placed = call != NULL
        if is_placed:
            memcpy(call + 1, data, size)
            data = call + 1
        else:
            call = &local
        call.call.perform, call.call.kind, call.launch = make_launch, LAUNCH, <Launch>self._functions[LAUNCH]
        call.function, call.stream = <void*>kernel.address, <void*>stream.raw
        call.data, call.size, call.shape = data, size, shape
        return self._make(stream, &call.call, is_placed)

    cpdef event_record(self, event, stream, bint external=False):
        """See Driver.  Interprocess events are recorded at once: other processes can query them in the driver only."""
        cdef Event recorded = entry(self._events, event)
        cdef Stream of = self._stream(stream)
        if external or recorded is None or of is None or recorded.device != of.device or recorded.interprocess:
            return self._slow.event_record(self._driver, event, stream, external)
        if not self._make_stream_call(of, RECORD, 0, recorded.raw, 0):
            return self._slow.event_record(self._driver, event, stream, external)
        recorded.ring = of.ring
        if of.ring != NULL:
            recorded.position = ring_head(of.ring)

    cpdef stream_wait_event(self, stream, event, bint external=False):
        """See Driver.  The thread that makes this call waits for a record in a ring, which is earlier: no deadlock."""
        cdef Event awaited = entry(self._events, event)
        cdef Stream of = self._stream(stream)
        if external or awaited is None or of is None:
            return self._slow.stream_wait_event(self._driver, stream, event, external)
        if not self._make_stream_call(of, WAIT, <uintptr_t>awaited.ring, awaited.raw, awaited.position):
            self._slow.stream_wait_event(self._driver, stream, event)

    cpdef copy(self, unsigned long long dst, unsigned long long src, Py_ssize_t nbytes, kind, stream):
        """See Driver.  A copy of host memory is made at once: the call must return after its use of pageable memory."""
        cdef Stream of = self._stream(stream)
        cdef bint is_made = False
        if not nbytes or of is None:
            return self._slow.copy(self._driver, dst, src, nbytes, kind, stream)
        if kind is HOST_TO_DEVICE or kind is DEVICE_TO_HOST:
            self.hold()
            is_made = self._make_stream_call(of, COPY, dst, src, nbytes)
            self.release()
        else:
            is_made = self._make_stream_call(of, COPY, dst, src, nbytes)
        if not is_made:
            self._slow.copy(self._driver, dst, src, nbytes, kind, stream)

    cpdef fill(self, unsigned long long dst, unsigned char value, Py_ssize_t nbytes, stream):
        """See Driver."""
        cdef Stream of = self._stream(stream)
        if not nbytes or of is None or not self._make_stream_call(of, FILL, dst, value, nbytes):
            self._slow.fill(self._driver, dst, value, nbytes, stream)

    cpdef graph_launch(self, graph, stream):
        """See Driver."""
        captured = entry(self._graphs, graph)
        cdef Stream of = self._stream(stream)
        if captured is None or of is None or captured.device != of.device:
            return self._slow.graph_launch(self._driver, graph, stream)
        if not self._make_stream_call(of, GRAPH, 0, int(captured.cu), 0):
            self._slow.graph_launch(self._driver, graph, stream)

    cpdef stream_synchronize(self, stream):
        """See Driver.  While a tool subscribes to `on_blocked`, the slow path is taken, which measures the time."""
        cdef Stream of = self._stream(stream)
        cdef StreamCall call
        if of is None or _hooks.on_blocked is not None:
            return self._slow.stream_synchronize(self._driver, stream)
        self.flush()
        call.call.perform, call.call.kind = make_stream_call, SYNCHRONIZE
        call.function, call.stream = self._functions[SYNCHRONIZE], <void*>of.raw
        if not self._make(of, &call.call, False):
            self._slow.stream_synchronize(self._driver, stream)
        elif _hooks.on_blocked is not None:  # subscribed meanwhile, as by the watchdog of a group that has failed
            _hooks.on_blocked(perf_counter_ns(), perf_counter_ns())

    cpdef library_run(self, plan, bytearray packed, unsigned long long workspace, stream):
        """See HotCalls."""
        cdef LibraryCall call = entry(self._library_calls, plan)
        cdef Stream of = self._stream(stream)
        if call is None or of is None or call.device != of.device or not call.queue(self, packed, workspace, of):
            self._slow.library_run(self._driver, plan, unpack_addresses(packed), workspace, stream)


cdef size_t MAX_BYTES = MAX_ARGUMENT_BYTES
cdef void* STAYS = <void*><uintptr_t>1  # not a context: the current one need not be restored
cdef unsigned long long ALIGNMENT = MAX_ALIGNMENT
cdef int BIAS = DESC_BIAS_POINTER


cdef class LibraryCall:
    """A library plan, which runs on any operands.  It exists as long as the driver.

    lock: held while a run is made, unless a ring makes it; None if none is needed.
    """

    cdef readonly int device
    cdef Lock lock

    cdef bint queue(self, Native calls, bytearray packed, unsigned long long workspace, Stream stream) except -1:
        """Queue a run.  False if the slow path has to be taken."""
        cdef LibraryRun* run = <LibraryRun*>calls._place(stream, sizeof(LibraryRun))
        if run == NULL:
            return self._make(calls, packed, workspace, stream)
        if not self.prepare(run, packed, workspace, stream.raw):
            return False
        ring_commit(stream.ring, &run.call)
        return True

    cdef bint _make(self, Native calls, bytearray packed, unsigned long long workspace, Stream stream) except -1:
        """Make a run at once.  False if the slow path has to be taken, for example because the lock is held."""
        cdef LibraryRun run
        cdef bint is_made = False
        if self.lock is not None and not self.lock.try_acquire():
            return False
        calls._holds += 1  # the threads of rings do not take the lock
        try:
            if self.prepare(&run, packed, workspace, stream.raw):
                is_made = calls._make(stream, &run.call, False)
                if not is_made:
                    self.failed()
        finally:
            calls._holds -= 1
            if self.lock is not None:
                self.lock.release()
        return is_made

    cdef bint prepare(
        self, LibraryRun* run, bytearray packed, unsigned long long workspace, unsigned long long stream
    ) except -1:
        """Fill in a run.  False if the slow path has to be taken."""
        return False

    cdef void failed(self):
        """Reset state after a run that `prepare` filled in could not be made."""


cdef int multiply(RingCall* call) noexcept nogil:
    """pointers: out, operands in cuBLASLt's order, bias."""
    cdef LibraryRun* run = <LibraryRun*>call
    cdef Multiplication* of = <Multiplication*>run.plan
    cdef unsigned long long* given = &run.pointers[0]
    cdef void* out = <void*>given[0]
    cdef int status = 0
    if of.set_bias != NULL:
        status = of.set_bias(of.operation, BIAS, &given[3], sizeof(given[3]))
    return status or of.multiply(
        of.handle, of.operation, of.alpha, <void*>given[1], of.a, <void*>given[2], of.b, of.beta, out, of.d, out, of.d,
        <void*>run.algorithm, <void*>run.workspace, of.workspace_nbytes, <void*>run.stream,
    )


cdef class Product(LibraryCall):
    """cublasLtMatmul of one plan.

    parts: the fields of Multiplication, as bytes.  algorithms: their addresses, by the operands' alignment in bytes.
    lock: held from setting a bias until its use;  None without a bias.
    """

    cdef Multiplication _of
    cdef bint _is_swapped
    cdef dict _algorithms

    def __init__(self, int device, bint is_swapped, bytes parts, dict algorithms, Lock lock):
        assert len(parts) == sizeof(Multiplication)
        self.device, self._is_swapped, self._algorithms, self.lock = device, is_swapped, algorithms, lock
        memcpy(&self._of, PyBytes_AS_STRING(parts), sizeof(Multiplication))

    cdef bint prepare(
        self, LibraryRun* run, bytearray packed, unsigned long long workspace, unsigned long long stream
    ) except -1:
        """See LibraryCall."""
        cdef unsigned long long* given = <unsigned long long*>PyByteArray_AS_STRING(packed)
        cdef unsigned long long out = given[0], a = given[1], b = given[2]
        cdef unsigned long long bias = given[3] if self._of.set_bias != NULL else 0
        cdef unsigned long long bits = ALIGNMENT | out | a | b | bias
        run.algorithm = self._algorithms.get(bits & -bits, 0)
        run.call.perform, run.call.kind, run.plan = multiply, PRODUCT, &self._of
        run.workspace, run.stream = workspace, stream
        if not self._is_swapped:
            a, b = b, a
        run.pointers[0], run.pointers[1], run.pointers[2], run.pointers[3] = out, a, b, bias
        return run.algorithm != 0


cdef class KernelCall(LibraryCall):
    """A matrix product made by a launch of one of the driver's own kernels.

    arguments: the launch's, at most KERNEL_BYTES;  places: where in them the operands' addresses go.
    """

    cdef Function _kernel
    cdef Shape _shape
    cdef bytes _arguments
    cdef size_t _places[OPERANDS]

    def __init__(self, Function kernel, grid, bytes arguments, tuple places):
        assert len(arguments) <= KERNEL_BYTES and len(places) == OPERANDS
        self._kernel, self._shape, self._arguments, self.device = kernel, shape_of(grid), arguments, kernel.device
        for index in range(OPERANDS):
            self._places[index] = places[index]

    cdef bint queue(self, Native calls, bytearray packed, unsigned long long workspace, Stream stream) except -1:
        """See LibraryCall."""
        cdef char arguments[KERNEL_BYTES]
        cdef unsigned long long* given = <unsigned long long*>PyByteArray_AS_STRING(packed)
        memcpy(arguments, PyBytes_AS_STRING(self._arguments), PyBytes_GET_SIZE(self._arguments))
        for index in range(OPERANDS):
            memcpy(arguments + self._places[index], &given[index], sizeof(given[index]))
        return calls._launch(self._kernel, self._shape, arguments, PyBytes_GET_SIZE(self._arguments), stream)


cdef int execute(RingCall* call) noexcept nogil:
    cdef LibraryRun* run = <LibraryRun*>call
    cdef Executable* of = <Executable*>run.plan
    cdef void* pack = NULL
    cdef int status = of.calls.set_stream(of.handle, <void*>run.stream) if run.sets_stream else 0
    status = status or of.calls.create(PACK, &pack) or (
        of.calls.set(pack, PACK_UIDS, INT64, of.count, of.uids)
        or of.calls.set(pack, PACK_POINTERS, ADDRESS, of.count, run.pointers)
        or of.calls.set(pack, PACK_WORKSPACE, ADDRESS, 1, &run.workspace)
        or of.calls.finalize(pack) or of.calls.execute(of.handle, of.plan, pack)
    )
    if pack != NULL:
        of.calls.destroy(pack)
    return status


cdef class Execution(LibraryCall):
    """cudnnBackendExecute of one plan.  Each run makes a pack, the descriptor of its addresses, and destroys it.

    dnn: has the cuDNN handle, its lock and its `stream`.  calls: the addresses of dnn.PACK_CALLS, as bytes.
    uids, pointers: of the tensors, as bytes.  A run supplies the first `scratch` pointers; those up to `scalars` are
    offsets in the workspace.
    """

    cdef Executable _of
    cdef object _dnn
    cdef Addresses _pointers
    cdef int _scratch, _scalars

    def __init__(self, dnn, bytes calls, unsigned long long plan, bytes uids, bytes pointers, int scratch, int scalars):
        assert len(calls) == sizeof(PackCalls) and len(uids) == len(pointers) <= <Py_ssize_t>sizeof(self._pointers)
        self._of.handle, self._of.plan = <void*><uintptr_t>dnn.handle, <void*>plan
        self._dnn, self.lock, self.device = dnn, dnn.lock, dnn.device
        self._scratch, self._scalars, self._of.count = scratch, scalars, len(uids) // sizeof(self._pointers[0])
        memcpy(&self._of.calls, PyBytes_AS_STRING(calls), sizeof(PackCalls))
        memcpy(self._of.uids, PyBytes_AS_STRING(uids), len(uids))
        memcpy(self._pointers, PyBytes_AS_STRING(pointers), len(pointers))

    cdef bint prepare(
        self, LibraryRun* run, bytearray packed, unsigned long long workspace, unsigned long long stream
    ) except -1:
        """See LibraryCall."""
        run.call.perform, run.call.kind, run.plan = execute, EXECUTION, &self._of
        run.stream, run.workspace, run.sets_stream = stream, workspace, self._dnn.stream != stream
        memcpy(run.pointers, self._pointers, sizeof(run.pointers))
        memcpy(run.pointers, PyByteArray_AS_STRING(packed), self._scratch * sizeof(run.pointers[0]))
        for index in range(self._scratch, self._scalars):
            run.pointers[index] += workspace
        self._dnn.stream = stream
        return True

    cdef void failed(self):
        """See LibraryCall.  The handle's stream may not have been set."""
        self._dnn.stream = None
