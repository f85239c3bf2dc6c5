cimport cython
from ..memory.caching cimport CachingAllocator
from ..memory.pool cimport Block
@cython.final
cdef class Storage:
    cdef public Py_ssize_t nbytes
    cdef public int device
    cdef public object machine
    cdef public Py_ssize_t version
    cdef public bint aligned
    cdef unsigned long long _address
    cdef public object _block
    cdef public object _give_back
    cdef public object _array
    cdef object __weakref__

    cpdef begin(self, int device, Py_ssize_t nbytes, unsigned long long address, block, give_back, machine)
    cpdef unsigned long long address(self)

@cython.locals(allocator=CachingAllocator, block=Block, made=Storage)
cpdef Storage on_device(machine, int device, Py_ssize_t nbytes, stream)
