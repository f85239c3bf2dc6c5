cimport cython

@cython.final
cdef class Way:
    cdef public Py_ssize_t count
    cdef public tuple names
    cdef public list places

@cython.locals(place=Py_ssize_t)
cpdef bint is_way(Way way, Py_ssize_t count, dict kwargs) except -1
