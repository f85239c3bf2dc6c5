"""Launches, events, waits, copies, products and attention of the nvidia driver without Python in between.

nvidia.py is what runs uncompiled: it has the classes of streams, events and functions, and no calls.

- No header of NVIDIA's is needed: functions are found by name in libraries that are loaded; cuda.h, cublasLt.h and
  cudnn_graph.h say what they take.
- Only what goes well is done here.  A handle that is unknown, a device that was not used yet, an error code: all these
  go the long way, through the driver's methods in Python, which put things right or raise.  A call that has failed is
  made once more there, and fails again.
- The interpreter is unlocked around each call into the driver, which may block while a queue is full.
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
from .queue cimport HotCalls

from ..library_operation import unpack_addresses

ctypedef int (*Launch)(
    void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**, void**
) noexcept nogil
ctypedef int (*CurrentContext)(void**) noexcept nogil
ctypedef int (*SetContext)(void*) noexcept nogil
ctypedef int (*Record)(void*, void*) noexcept nogil
ctypedef int (*Wait)(void*, void*, unsigned) noexcept nogil
ctypedef int (*Copy)(unsigned long long, unsigned long long, size_t, void*) noexcept nogil
ctypedef int (*Multiply)(
    void*, void*, void*, void*, void*, void*, void*, void*, void*, void*, void*, void*, void*, void*, size_t, void*
) noexcept nogil
ctypedef int (*SetAttribute)(void*, int, void*, size_t) noexcept nogil

CALLS = ("launch", "event_record", "stream_wait_event", "copy")  # what stands in for the driver's own methods

NO_DEVICE = -1
MAX_ARGUMENT_BYTES = 32_764  # of one launch, on every architecture since Volta
MAX_ALIGNMENT = 256  # bytes: cublasLt asks for no more
DESC_BIAS_POINTER = 8  # cublasLtMatmulDescAttributes_t


cdef class Stream:
    """See nvidia.py."""

    cdef public object cu
    cdef public int device
    cdef public bint is_ours
    cdef public unsigned long long raw
    cdef public unsigned long long context

    def __init__(self, int device, cu, bint is_ours):
        self.device, self.cu, self.raw, self.is_ours, self.context = device, cu, int(cu), is_ours, 0

    def end(self):
        """See nvidia.py."""
        device, self.device, self.context = self.device, NO_DEVICE, 0
        return device


cdef class Event:
    """See nvidia.py."""

    cdef public object cu
    cdef public int device
    cdef public bint timing
    cdef public unsigned long long raw
    cdef public bint is_plain
    cdef public bint interprocess

    def __init__(self, int device, cu, bint timing, bint is_plain=False, bint interprocess=False):
        self.device, self.cu, self.raw = device, cu, int(cu)
        self.timing, self.is_plain, self.interprocess = timing, is_plain, interprocess


cdef class Function:
    """See nvidia.py."""

    cdef public unsigned long long address
    cdef public unsigned int shared_limit
    cdef public int device

    def __init__(self, unsigned long long address, int device, unsigned int shared_limit):
        self.address, self.device, self.shared_limit = address, device, shared_limit


cdef void* found(void* library, bytes name) except NULL:
    cdef void* function = dlsym(library, name)
    if function == NULL:
        raise OSError(f"{name.decode()} was not found: {(<bytes>dlerror()).decode()}")
    return function


cdef inline object entry(object table, object handle):
    """Return the object of a handle, or None."""
    cdef PyObject* known = PyDict_GetItemWithError(table, handle)
    return None if known == NULL else <object>known


cdef class Native(HotCalls):
    """The calls of one driver.

    path: the driver's library.  kernels, streams, events: its tables.  contexts: {device: its Context}.
    library_calls: {plan: its LibraryCall}, of the plans that have one.
    Raises: OSError if the library, or a function in it, is not there.
    """

    cdef Launch _cu_launch
    cdef CurrentContext _cu_current
    cdef SetContext _cu_set_current
    cdef Record _cu_record
    cdef Wait _cu_wait
    cdef Copy _cu_copy
    cdef object _kernels, _streams, _events, _contexts, _library_calls
    cdef object _slow_launch, _slow_record, _slow_wait, _slow_copy, _slow_run
    cdef object _last_handle
    cdef Stream _last_stream

    def __init__(self, path, driver, kernels, streams, events, contexts, library_calls):
        super().__init__(driver)
        cdef void* library = dlopen(path.encode(), RTLD_LAZY)
        if library == NULL:
            raise OSError((<bytes>dlerror()).decode())
        self._cu_launch = <Launch>found(library, b"cuLaunchKernel")
        self._cu_current = <CurrentContext>found(library, b"cuCtxGetCurrent")
        self._cu_set_current = <SetContext>found(library, b"cuCtxSetCurrent")
        self._cu_record = <Record>found(library, b"cuEventRecord")
        self._cu_wait = <Wait>found(library, b"cuStreamWaitEvent")
        self._cu_copy = <Copy>found(library, b"cuMemcpyAsync")
        self._kernels, self._streams, self._events, self._contexts = kernels, streams, events, contexts
        self._slow_launch, self._slow_record = driver.launch, driver.event_record
        self._slow_wait, self._slow_copy = driver.stream_wait_event, driver.copy
        self._slow_run, self._library_calls = driver.library_run, library_calls

    def current(self):
        """Return the thread's current context, 0 if it has none."""
        cdef void* now = NULL
        self._cu_current(&now)  # it fails only before the driver was initialised, when there is none
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
            return self._slow_launch(kernel, grid, arguments, stream)
        cdef unsigned int x, y, z
        cdef unsigned int threads = <object>PyTuple_GET_ITEM(grid, 1), shared = <object>PyTuple_GET_ITEM(grid, 2)
        cdef unsigned int threads_y = <object>PyTuple_GET_ITEM(grid, 3), threads_z = <object>PyTuple_GET_ITEM(grid, 4)
        x, y, z = <tuple><object>PyTuple_GET_ITEM(grid, 0)
        cdef size_t size
        cdef void* data
        if PyByteArray_Check(arguments):
            size, data = PyByteArray_GET_SIZE(arguments), PyByteArray_AS_STRING(arguments)
        else:
            size, data = PyBytes_GET_SIZE(arguments), PyBytes_AS_STRING(arguments)
        cdef void* former
        if size > MAX_BYTES or shared > loaded.shared_limit or not self._use(of, &former):
            return self._slow_launch(kernel, grid, arguments, stream)
        cdef void* extra[5]
        extra[0], extra[1], extra[2], extra[3], extra[4] = <void*>1, data, <void*>2, &size, NULL
        cdef int code
        with nogil:
            code = self._cu_launch(
                <void*>loaded.address, x, y, z, threads, threads_y, threads_z, shared, <void*>of.raw, NULL, extra
            )
        self._leave(former)
        if code:
            self._slow_launch(kernel, grid, arguments, stream)

    cpdef event_record(self, event, stream, bint external=False):
        """See Driver."""
        cdef Event recorded = entry(self._events, event)
        cdef Stream of = self._stream(stream)
        cdef void* former
        if external or recorded is None or of is None or recorded.device != of.device or not self._use(of, &former):
            return self._slow_record(event, stream, external)
        cdef int code
        with nogil:
            code = self._cu_record(<void*>recorded.raw, <void*>of.raw)
        self._leave(former)
        if code:
            self._slow_record(event, stream, external)

    cpdef stream_wait_event(self, stream, event, bint external=False):
        """See Driver."""
        cdef Event awaited = entry(self._events, event)
        cdef Stream of = self._stream(stream)
        cdef void* former
        if external or awaited is None or of is None or not self._use(of, &former):
            return self._slow_wait(stream, event, external)
        cdef int code
        with nogil:
            code = self._cu_wait(<void*>of.raw, <void*>awaited.raw, 0)
        self._leave(former)
        if code:
            self._slow_wait(stream, event)

    cpdef copy(self, unsigned long long dst, unsigned long long src, Py_ssize_t nbytes, kind, stream):
        """See Driver."""
        cdef Stream of = self._stream(stream)
        cdef void* former
        if not nbytes or of is None or not self._use(of, &former):
            return self._slow_copy(dst, src, nbytes, kind, stream)
        cdef int code
        with nogil:
            code = self._cu_copy(dst, src, nbytes, <void*>of.raw)
        self._leave(former)
        if code:
            self._slow_copy(dst, src, nbytes, kind, stream)

    cpdef library_run(self, plan, bytearray packed, unsigned long long workspace, stream):
        """See HotCalls."""
        cdef LibraryCall call = entry(self._library_calls, plan)
        cdef Stream of = self._stream(stream)
        cdef void* former
        cdef int code
        if call is None or of is None or call.device != of.device or not self._use(of, &former):
            return self._slow_run(plan, unpack_addresses(packed), workspace, stream)
        try:
            code = call.run(packed, workspace, of.raw)
        finally:
            self._leave(former)
        if code:
            self._slow_run(plan, unpack_addresses(packed), workspace, stream)


cdef size_t MAX_BYTES = MAX_ARGUMENT_BYTES
cdef void* STAYS = <void*><uintptr_t>1  # no context: the current one may stay
cdef unsigned long long ALIGNMENT = MAX_ALIGNMENT
cdef int BIAS = DESC_BIAS_POINTER


cdef class LibraryCall:
    """A plan of a library's, on any operands."""

    cdef readonly int device

    cdef int run(self, bytearray packed, unsigned long long workspace, unsigned long long stream) except? -1:
        """Queue it.  Not 0 where the long way has to be gone."""
        return 1


cdef class Product(LibraryCall):
    """cublasLtMatmul with everything but the operands, the algorithm, the workspace and the stream given, as addresses."""

    cdef Multiply _multiply
    cdef SetAttribute _set_attribute
    cdef void* _handle
    cdef void* _operation
    cdef void* _alpha
    cdef void* _beta
    cdef void* _a
    cdef void* _b
    cdef void* _d
    cdef bint _is_swapped
    cdef size_t _workspace_nbytes
    cdef readonly dict algorithms
    cdef Lock _lock

    def __init__(
        self, unsigned long long function, unsigned long long handle, unsigned long long operation,
        unsigned long long alpha, unsigned long long beta, unsigned long long a, unsigned long long b,
        unsigned long long d,
    ):
        self._multiply = <Multiply><uintptr_t>function
        self._handle, self._operation = <void*>handle, <void*>operation
        self._alpha, self._beta = <void*>alpha, <void*>beta
        self._a, self._b, self._d = <void*>a, <void*>b, <void*>d
        self._set_attribute = NULL
        self.device = -1
        self.algorithms = {}

    def serve(self, int device, bint is_swapped, size_t workspace_nbytes, unsigned long long set_attribute, Lock lock):
        """Be run by Native.library_run.

        set_attribute: cublasLtMatmulDescSetAttribute if there is a bias, else 0.  lock: held from setting a bias to using
        it.  `algorithms` gives their addresses by the alignment of the operands.
        """
        self.device, self._is_swapped, self._workspace_nbytes = device, is_swapped, workspace_nbytes
        self._set_attribute, self._lock = <SetAttribute><uintptr_t>set_attribute, lock

    cdef int run(self, bytearray packed, unsigned long long workspace, unsigned long long stream) except? -1:
        """See LibraryCall.  With a bias its lock is held, and one that is held is waited for on the long way."""
        cdef unsigned long long* given = <unsigned long long*>PyByteArray_AS_STRING(packed)
        cdef unsigned long long out = given[0], a = given[1], b = given[2]
        cdef unsigned long long bias = given[3] if self._set_attribute != NULL else 0
        cdef unsigned long long bits = ALIGNMENT | out | a | b | bias
        cdef unsigned long long algorithm = self.algorithms.get(bits & -bits, 0)
        if algorithm == 0:
            return 1
        if not self._is_swapped:
            a, b = b, a
        cdef int status = 0
        if self._set_attribute != NULL:
            if not self._lock.try_acquire():
                return 1
            status = self._set_attribute(self._operation, BIAS, &bias, sizeof(bias))
        if status == 0:
            with nogil:
                status = self._call(out, a, b, algorithm, workspace, self._workspace_nbytes, stream)
        if self._set_attribute != NULL:
            self._lock.release()
        return status

    cdef int _call(
        self, unsigned long long out, unsigned long long a, unsigned long long b, unsigned long long algorithm,
        unsigned long long workspace, size_t workspace_nbytes, unsigned long long stream,
    ) noexcept nogil:
        return self._multiply(
            self._handle, self._operation, self._alpha, <void*>a, self._a, <void*>b, self._b, self._beta,
            <void*>out, self._d, <void*>out, self._d, <void*>algorithm, <void*>workspace, workspace_nbytes,
            <void*>stream,
        )

    def __call__(
        self, unsigned long long out, unsigned long long a, unsigned long long b, unsigned long long algorithm,
        unsigned long long workspace, size_t workspace_nbytes, unsigned long long stream,
    ):
        """The cublasStatus_t."""
        cdef int status
        with nogil:
            status = self._call(out, a, b, algorithm, workspace, workspace_nbytes, stream)
        return status


cdef enum:
    OPERANDS = 4  # of a product
    KERNEL_BYTES = 1024  # of a product's arguments


cdef class KernelCall(LibraryCall):
    """A product by a launch of an own kernel on a grid.

    arguments: the launch's, at most KERNEL_BYTES;  places: where in them the operands' addresses go.
    """

    cdef Launch _cu_launch
    cdef Function _kernel
    cdef unsigned int _x, _y, _z, _threads
    cdef char _arguments[KERNEL_BYTES]
    cdef size_t _size
    cdef size_t _places[OPERANDS]

    def __init__(self, Native calls, Function kernel, grid, bytes arguments, tuple places):
        assert len(arguments) <= KERNEL_BYTES and len(places) == OPERANDS
        self._cu_launch, self._kernel, self.device = calls._cu_launch, kernel, kernel.device
        (self._x, self._y, self._z), self._threads = grid[0], grid[1]
        self._size = len(arguments)
        memcpy(self._arguments, PyBytes_AS_STRING(arguments), self._size)
        for index in range(OPERANDS):
            self._places[index] = places[index]

    cdef int run(self, bytearray packed, unsigned long long workspace, unsigned long long stream) except? -1:
        """See LibraryCall."""
        cdef unsigned long long* given = <unsigned long long*>PyByteArray_AS_STRING(packed)
        cdef char arguments[KERNEL_BYTES]
        memcpy(arguments, self._arguments, self._size)
        for index in range(OPERANDS):
            memcpy(arguments + self._places[index], &given[index], sizeof(given[index]))
        cdef void* extra[5]
        extra[0], extra[1], extra[2], extra[3], extra[4] = <void*>1, arguments, <void*>2, &self._size, NULL
        cdef int code
        with nogil:
            code = self._cu_launch(
                <void*>self._kernel.address, self._x, self._y, self._z, self._threads, 1, 1, 0, <void*>stream, NULL,
                extra,
            )
        return code


cdef enum:  # POINTERS: of a pack, at most.  The others: cudnn_graph.h
    POINTERS = 16, PACK = 16, INT64 = 3, ADDRESS = 6, PACK_UIDS = 1000, PACK_POINTERS = 1001, PACK_WORKSPACE = 1003

ctypedef unsigned long long Addresses[POINTERS]

cdef struct PackCalls:
    int (*execute)(void*, void*, void*) noexcept nogil
    int (*set_stream)(void*, void*) noexcept nogil
    int (*create)(int, void**) noexcept nogil
    int (*set)(void*, int, int, long long, void*) noexcept nogil
    int (*finalize)(void*) noexcept nogil
    int (*destroy)(void*) noexcept nogil


cdef class Execution(LibraryCall):
    """cudnnBackendExecute of one plan.  Each run makes a pack, the descriptor of its addresses, and destroys it.

    dnn: has the lock of its handle and that one's `stream`.  calls: the addresses of dnn.PACK_CALLS, as bytes.
    uids, pointers: of the tensors, as bytes.  A run names the first ones; those from `scratch` to `scalars` are offsets
    in the workspace.
    """

    cdef PackCalls _calls
    cdef void* _handle
    cdef void* _plan
    cdef object _dnn
    cdef Lock _lock
    cdef Addresses _uids, _pointers
    cdef int _scratch, _scalars, _count

    def __init__(self, dnn, bytes calls, unsigned long long plan, bytes uids, bytes pointers, int scratch, int scalars):
        assert len(calls) == sizeof(PackCalls) and len(uids) == len(pointers) <= sizeof(self._uids)
        self._handle, self._plan = <void*><uintptr_t>dnn.handle, <void*>plan
        self._dnn, self._lock, self.device = dnn, dnn.lock, dnn.device
        self._scratch, self._scalars, self._count = scratch, scalars, len(uids) // sizeof(self._uids[0])
        memcpy(&self._calls, PyBytes_AS_STRING(calls), sizeof(PackCalls))
        memcpy(self._uids, PyBytes_AS_STRING(uids), len(uids))
        memcpy(self._pointers, PyBytes_AS_STRING(pointers), len(pointers))

    cdef int run(self, bytearray packed, unsigned long long workspace, unsigned long long stream) except? -1:
        """See LibraryCall.  A lock that is held is waited for on the long way."""
        cdef Addresses pointers
        cdef void* pack = NULL
        cdef int status, index
        memcpy(pointers, self._pointers, sizeof(pointers))
        memcpy(pointers, PyByteArray_AS_STRING(packed), self._scratch * sizeof(pointers[0]))
        for index in range(self._scratch, self._scalars):
            pointers[index] += workspace
        if not self._lock.try_acquire():
            return 1
        try:
            if self._dnn.stream != stream and self._calls.set_stream(self._handle, <void*>stream):
                return 1
            self._dnn.stream = stream
            with nogil:
                status = self._calls.create(PACK, &pack) or (
                    self._calls.set(pack, PACK_UIDS, INT64, self._count, self._uids)
                    or self._calls.set(pack, PACK_POINTERS, ADDRESS, self._count, pointers)
                    or self._calls.set(pack, PACK_WORKSPACE, ADDRESS, 1, &workspace)
                    or self._calls.finalize(pack) or self._calls.execute(self._handle, self._plan, pack)
                )
                if pack != NULL:
                    self._calls.destroy(pack)
            return status
        finally:
            self._lock.release()
