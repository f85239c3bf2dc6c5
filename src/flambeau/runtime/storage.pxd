cimport cython
from ..memory.caching cimport CachingAllocator
from ..memory.pool cimport Block
from . cimport state
from .facts cimport DeviceFacts, MachineFacts

cdef unsigned long long _WIDEST
cdef Py_ssize_t _INFERENCE

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

cdef _free(CachingAllocator allocator, Block block)
@cython.locals(accelerator=DeviceFacts, allocator=CachingAllocator, block=Block, made=Storage)
cpdef Storage on_device(MachineFacts machine, int device, Py_ssize_t nbytes, stream)
