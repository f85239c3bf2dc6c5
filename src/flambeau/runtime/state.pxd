cimport cython

cdef extern from "pythread.h":
    unsigned long _ident "PyThread_get_thread_ident"()

cdef class Thread:
    cdef public unsigned long long ident
    cdef public object machine
    cdef public int device
    cdef public bint chosen
    cdef public dict streams
    cdef public list default_devices
    cdef public bint grad_enabled
    cdef public object handing

cdef Thread _last
cdef object _machine
cdef object _local

cpdef machine()
@cython.locals(thread=Thread, ident=cython.ulonglong)
cpdef Thread here()
cpdef int current_device()
cpdef set_device(int index)
@cython.locals(streams=dict)
cpdef current_stream(int index)
cpdef set_stream(stream)
