cimport cython
from .native cimport thread_ident

cdef class Device:
    cdef public int index
    cdef public object machine
    cdef public object allocator
    cdef public object default_stream
    cdef public object generator
    cdef public object public
    cdef public dict layouts
    cdef public dict dense
    cdef object __weakref__

@cython.final
cdef class Plans:
    cdef public dict entries
    cdef public Py_ssize_t clock
    cdef public Py_ssize_t limit
    cdef public object lock

cdef class Machine:
    cdef public bint is_started
    cdef public object devices
    cdef public Plans plans
    cdef public object driver
    cdef public bint launch_blocking
    cdef public object capture
    cdef public object cpu_generator

@cython.final
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
    cdef public object operator
    cdef public tuple origin
    cdef public object lowering
    cdef public object autocast
    cdef object _quiet

cdef Thread _last
cdef object _machine
cdef object _local

cpdef machine()
@cython.locals(now=Thread, ident=cython.ulonglong)
cpdef Thread here()
cpdef Device device_at(int index)
cpdef int current_device()
@cython.locals(now=Thread)
cpdef set_device(int index)
@cython.locals(now=Thread, streams=list)
cpdef current_stream(int index)
@cython.locals(streams=list, device=Py_ssize_t)
cpdef _put_stream(Thread now, stream)
@cython.locals(now=Thread)
cpdef set_stream(stream)
@cython.locals(now=Thread)
cpdef quietly(function, list arguments)
