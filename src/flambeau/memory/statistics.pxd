cimport cython
@cython.final
cdef class Flow:
    cdef public long long allocated
    cdef public long long freed
    cdef public long long peak
    cdef long long _allocated_before
    cdef long long _freed_before

    @cython.locals(made=Flow)
    cpdef Flow copied(self)
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

cpdef note_peaks(Counters small, Counters large, Counters total)
@cython.locals(in_small=cython.longlong, in_large=cython.longlong)
cpdef _note(Flow small, Flow large, Flow total)
@cython.locals(current=cython.longlong)
cpdef change(Flow flow, Flow total, long long amount)
