# Types of the calls in nvidia.pyx: signatures of NVIDIA's functions, the rings of submission.h, and the calls in a ring.

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
ctypedef int (*Synchronize)(void*) noexcept nogil
ctypedef int (*Fill)(unsigned long long, unsigned char, size_t, void*) noexcept nogil

cdef extern from "submission.h" nogil:
    ctypedef struct RingCall:
        int (*perform)(RingCall*) noexcept nogil
        int kind
    ctypedef struct Ring:
        pass
    Ring* ring_new(void* context, CurrentContext get_context, SetContext set_context)
    bint ring_takes(Ring* ring)
    bint ring_is_empty(Ring* ring)
    unsigned long long ring_head(Ring* ring)
    unsigned long long ring_tail(Ring* ring)
    RingCall* ring_reserve(Ring* ring, size_t nbytes)
    void ring_commit(Ring* ring, RingCall* call)
    void ring_wait(Ring* ring, unsigned long long position)
    void ring_wait_for_room(Ring* ring)
    void ring_drain(Ring* ring)
    int ring_failure(Ring* ring, int* kind)

cdef enum:
    LAUNCH, RECORD, WAIT, COPY, FILL, GRAPH, SYNCHRONIZE, PRODUCT, EXECUTION  # kinds
    RINGS = 64  # most devices with a ring; calls on further devices are made at once

cdef struct Shape:  # of a launch: see kernel.Grid
    unsigned int x, y, z, threads, threads_y, threads_z, shared

cdef struct LaunchCall:
    RingCall call
    Launch launch
    void* function
    void* stream
    void* data  # the arguments
    size_t size
    Shape shape

cdef struct StreamCall:  # of an event, a copy, a fill or a graph
    RingCall call
    void* function
    void* stream
    unsigned long long to, what
    size_t nbytes

cdef enum:
    POINTERS = 16  # most operands of a library call

ctypedef unsigned long long Addresses[POINTERS]

cdef struct LibraryRun:
    RingCall call
    void* plan  # its Multiplication or Executable
    unsigned long long stream, workspace, algorithm
    bint sets_stream
    Addresses pointers

cdef struct Multiplication:
    Multiply multiply
    SetAttribute set_bias
    void* handle
    void* operation
    void* alpha
    void* beta
    void* a
    void* b
    void* d
    size_t workspace_nbytes

cdef enum:
    OPERANDS = 4  # of a product
    KERNEL_BYTES = 1024  # of a product's arguments

cdef enum:  # cudnn_graph.h
    PACK = 16, INT64 = 3, ADDRESS = 6, PACK_UIDS = 1000, PACK_POINTERS = 1001, PACK_WORKSPACE = 1003

cdef struct PackCalls:
    int (*execute)(void*, void*, void*) noexcept nogil
    int (*set_stream)(void*, void*) noexcept nogil
    int (*create)(int, void**) noexcept nogil
    int (*set)(void*, int, int, long long, void*) noexcept nogil
    int (*finalize)(void*) noexcept nogil
    int (*destroy)(void*) noexcept nogil

cdef struct Executable:
    PackCalls calls
    void* handle
    void* plan
    Addresses uids
    int count
