cimport cython

@cython.final
cdef class LoadedKernel:
    cdef object _function
    cdef object _lock
    cdef object _module
    cdef public unsigned long long address
    cdef public unsigned int shared_limit
    cdef public int device
    cdef public object entry
    cdef public object kernel
