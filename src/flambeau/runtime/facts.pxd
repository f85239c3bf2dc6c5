from ..memory.caching cimport CachingAllocator

cdef class DeviceFacts:
    cdef public CachingAllocator allocator
    cdef public object default_stream
    cdef public dict plans

cdef class MachineFacts:
    cdef public long long serial
    cdef public bint is_started
    cdef public object devices
    cdef public dict cpu_plans
    cdef public object driver
    cdef public bint launch_blocking
    cdef public object capture
