from .pool cimport Block, Pool
from .statistics cimport Counters, Flow

cdef class CachingAllocator:
    cdef public int device
    cdef object _driver
    cdef bint _watches_blocks
    cdef object _process_usage
    cdef object _lock
    cdef object _given
    cdef object _pending
    cdef object _segments
    cdef Counters _total
    cdef Pool _small
    cdef Pool _large
    cdef object _private
    cdef object _captured
    cdef object _released
    cdef Flow _oversize
    cdef object _fraction
    cdef object _divisions
    cdef object _incidents
    cdef object __weakref__

    cpdef allocate(self, long long nbytes, stream)
    cpdef free(self, Block block)
    cpdef _drain(self)
