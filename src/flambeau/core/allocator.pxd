cimport cython
from .pool cimport Block, Counters, Flow, Pool, note_peaks
from .queue cimport Hooks
from .native cimport Lock

cdef long long BLOCK_GRAIN
cdef long long SMALL_LIMIT

cdef Hooks hooks

@cython.final
cdef class CachingAllocator:
    cdef public int device
    cdef object _driver
    cdef bint _watches_blocks
    cdef object _process_usage
    cdef public Lock lock
    cdef list _freed
    cdef dict _awaited
    cdef object _pending
    cdef object _segments
    cdef Counters _total
    cdef Pool _small
    cdef Pool _large
    cdef object _private
    cdef object _captured
    cdef list _released
    cdef Flow _oversize
    cdef object _fraction
    cdef public object last_resort
    cdef object _divisions
    cdef object _incidents
    cdef object __weakref__

    cpdef Block allocate(self, long long nbytes, stream)
    @cython.locals(size=cython.longlong, pool=Pool, block=Block, counters=Counters)
    cpdef Block take(self, long long nbytes, stream)
    cpdef free(self, Block block)
    @cython.locals(freed=list, count=Py_ssize_t)
    cpdef _drain(self)
    @cython.locals(pool=Pool, counters=Counters)
    cpdef _take_back(self, Block block, bint records_later)
