cimport cython

@cython.final
cdef class Stream:
    cdef public object cu
    cdef public int device
    cdef public bint is_ours
    cdef public unsigned long long raw
    cdef public unsigned long long context

@cython.final
cdef class Event:
    cdef public object cu
    cdef public int device
    cdef public bint timing
    cdef public unsigned long long raw
    cdef public bint is_plain
    cdef public bint interprocess
