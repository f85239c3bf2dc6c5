from ..core cimport thread
from ..driver.hot_calls cimport HotCalls
from ..core.hooks cimport Hooks

cdef Hooks hooks

cdef class Queue:
    cdef public thread.Machine machine
    cdef public object driver
    cdef public HotCalls hot
    cdef public int device_index
    cdef public object handle
    cdef public dict alone
    cdef public object mark

    cpdef begin(self, machine, int device_index, handle)
    cpdef record(self, event, bint external=*)
    cpdef wait(self, event, bint external=*)
    cpdef follow(self, Queue other)
    cpdef synchronize(self)
    cpdef launch(self, kernel, grid, arguments)
    cpdef library_run(self, plan, bytearray packed, unsigned long long workspace)
    cpdef copy(self, unsigned long long dst, unsigned long long src, Py_ssize_t nbytes, kind)
