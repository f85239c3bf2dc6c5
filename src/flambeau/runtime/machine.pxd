from ..memory.caching cimport CachingAllocator

cdef class Accelerator:
    cdef dict __dict__
    cdef public CachingAllocator allocator
    cdef public object default_stream
    cdef public dict plans
    cdef object __weakref__

cdef class Machine:
    cdef dict __dict__
    cdef public object devices
    cdef public dict cpu_plans
    cdef public object driver
    cdef public long long serial
    cdef public bint launch_blocking
    cdef public object capture
    cdef public object settings
    cdef public object pinned
    cdef object __weakref__
