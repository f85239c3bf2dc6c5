cimport cython

cdef extern from "pythread.h":
    unsigned long _ident "PyThread_get_thread_ident"()

cdef class Thread:
    cdef public unsigned long long ident
    cdef public object machine
    cdef public int device
    cdef public bint chosen
    cdef public list streams
    cdef public list default_devices
    cdef public bint grad_enabled
    cdef public bint inference
    cdef public object task
    cdef public object handing

cdef Thread _last
cdef object _machine
cdef object _local

cpdef machine()
@cython.locals(thread=Thread, ident=cython.ulonglong)
cpdef Thread here()
cpdef int current_device()
cpdef set_device(int index)
@cython.locals(thread=Thread, streams=list)
cpdef current_stream(int index)
@cython.locals(streams=list, device=Py_ssize_t)
cpdef _put_stream(Thread thread, stream)
@cython.locals(thread=Thread)
cpdef set_stream(stream)
