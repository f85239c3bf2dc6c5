cimport cython
from .pool cimport Block, Pool, Counters, Flow, keep_block, note_hot_peaks, take_block
from .queue cimport Hooks, HotCalls
from .native cimport Lock

cdef long long BLOCK_GRAIN
cdef long long SMALL_LIMIT

cdef Hooks hooks

cdef class BlockAllocator:
    cdef public int device
    cdef public object _driver
    cdef HotCalls _hot
    cdef bint _watches_blocks
    cdef public Lock lock
    cdef public list _freed
    cdef public object _pending
    cdef dict _awaited
    cdef public Counters _total
    cdef public Pool _small
    cdef public Pool _large
    cdef public long long _small_limit
    cdef public object _routes
    cdef public object _divisions
    cdef public Flow _oversize
    cdef object __weakref__

    @cython.locals(size=cython.longlong, pool=Pool, block=Block, counters=Counters)
    cpdef Block take(self, long long nbytes, stream)
    cpdef _show_taken(self, Block block, long long nbytes, stream)
    cpdef free(self, Block block)
    @cython.locals(freed=list, count=Py_ssize_t, small=Counters, large=Counters)
    cpdef _drain(self)
    @cython.locals(pool=Pool, counters=Counters)
    cpdef _take_back(self, Block block, bint records_later)
