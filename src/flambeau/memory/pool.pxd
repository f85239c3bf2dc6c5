cdef class Block:
    cdef public object address
    cdef public bint allocated
    cdef public object idle_since
    cdef public bint is_idle
    cdef public bint is_oversize
    cdef public long long nbytes
    cdef public Block next
    cdef public Py_ssize_t pending
    cdef public Block prev
    cdef public long long requested
    cdef public long long served
    cdef public object segment
    cdef public object stream
    cdef public list streams

cdef class Pool:
    cdef public object counters
    cdef public dict idle
    cdef public bint is_small
    cdef public object max_excess
    cdef public object max_split
    cdef public object smallest_remainder
    cdef public object total
    cdef dict _front
    cdef object _parts
    cdef object _all_parts
    cdef object _part_bytes
    cdef object _all_part_bytes

    cpdef take(self, nbytes, stream)
    cpdef keep(self, Block block)
    cpdef settle(self)
    cpdef put(self, Block block)
