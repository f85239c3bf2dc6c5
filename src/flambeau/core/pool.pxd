cimport cython

@cython.final
cdef class Flow:
    cdef public long long allocated
    cdef public long long freed
    cdef public long long peak
    cdef public long long allocated_before
    cdef public long long freed_before

    cpdef add(self, long long amount)
    cpdef remove(self, long long amount)
    @cython.locals(current=cython.longlong)
    cpdef note(self)

@cython.final
cdef class Counters:
    cdef public Flow allocation
    cdef public Flow segment
    cdef public Flow active
    cdef public Flow inactive_split
    cdef public Flow allocated_bytes
    cdef public Flow reserved_bytes
    cdef public Flow active_bytes
    cdef public Flow inactive_split_bytes
    cdef public Flow requested_bytes
    cdef public long long awaiting
    cdef public long long awaiting_bytes

cpdef note_hot_peaks(Counters small, Counters large, Counters total)
@cython.locals(in_small=cython.longlong, in_large=cython.longlong)
cdef _note(Flow small, Flow large, Flow total)

cdef class Pool
cdef class FreeList

cdef long long _GRAIN
cdef long long _LIMIT

@cython.final
cdef class Segment:
    cdef public object address
    cdef public long long nbytes
    cdef public object stream
    cdef public bint is_small
    cdef public bint is_oversize
    cdef public Block first
    cdef public list memories
    cdef public Pool pool

@cython.final
cdef class Block:
    cdef public object address
    cdef public bint allocated
    cdef public long long idle_since
    cdef public bint is_idle
    cdef public bint is_oversize
    cdef public long long nbytes
    cdef public Block next
    cdef public Py_ssize_t pending
    cdef public Block prev
    cdef public long long requested
    cdef public long long served
    cdef public Segment segment
    cdef public FreeList free_list
    cdef public Block below
    cdef public object stream
    cdef public list streams

@cython.final
cdef class FreeList:
    cdef public Block top
    cdef public bint is_filled

@cython.final
cdef class FreeLists:
    cdef public list small
    cdef public dict large

    @cython.locals(is_small=cython.bint, free_list=FreeList)
    cdef FreeList of(self, long long nbytes)

@cython.final
cdef class Pool:
    cdef public Counters counters
    cdef public list filled
    cdef public object id
    cdef public dict idle
    cdef public bint is_expandable
    cdef public bint is_small
    cdef public long long max_excess
    cdef public long long max_split
    cdef public Py_ssize_t segments
    cdef public long long smallest_remainder
    cdef public Counters total
    cdef dict _free_lists
    cdef object _last_stream
    cdef FreeLists _last_free_lists
    cdef Counters _parts
    cdef Counters _all_parts

    cdef FreeList free_list_of(self, long long nbytes, stream)
    @cython.locals(block=Block)
    cpdef Block find(self, long long nbytes, stream)
    @cython.locals(free_list=FreeList, block=Block)
    cpdef coalesce(self)
    @cython.locals(blocks=list, block=Block, at=Py_ssize_t)
    cdef Block _best_fit(self, long long nbytes, stream)
    @cython.locals(blocks=list, parts=cython.int, part_bytes=cython.longlong, before=Block, after=Block)
    cpdef put(self, Block block)
    cdef _change_parts(self, int count, long long nbytes)
    @cython.locals(rest=cython.longlong, parts=cython.int, part_bytes=cython.longlong, remainder=Block, after=Block)
    cpdef Block carve(self, Block block, long long nbytes)

@cython.locals(free_list=FreeList, kept=Block)
cpdef Block take_block(Pool pool, long long nbytes, stream)
@cython.locals(free_list=FreeList)
cpdef keep_block(Pool pool, Block block)
cpdef change(Flow flow, Flow total, long long amount)
cpdef absorb(Block block, Block after)
