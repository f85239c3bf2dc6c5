cimport cython
from .allocator cimport BlockAllocator
from .pool cimport Block, Segment
from .layout cimport Layout
from .queue cimport Mirror
from . cimport thread
from .thread cimport Device

cdef unsigned long long _WIDEST
cdef Py_ssize_t _INFERENCE

cdef class Storage

@cython.final
cdef class Twins:
    cdef public object group
    cdef public list memories
    cdef public Py_ssize_t start
    cdef public Twins before
    cdef public Storage kept
    cdef public object arrival
    cdef public bint is_live

@cython.final
cdef class Storage:
    cdef public Twins twins
    cdef public Py_ssize_t nbytes
    cdef public Device device
    cdef public Py_ssize_t version
    cdef public Py_ssize_t place
    cdef public bint aligned
    cdef public unsigned long long _address
    cdef public bint _has_address
    cdef public object block
    cdef public BlockAllocator _allocator
    cdef public object _owner
    cdef public object _array
    cdef public object whole
    cdef public Layout whole_layout
    cdef object __weakref__

    cpdef unsigned long long address(self) except? 0

@cython.locals(storage=Storage)
cdef Storage _new(Device device, Py_ssize_t nbytes)
@cython.locals(storage=Storage)
cpdef Storage owning(Device device, Py_ssize_t nbytes, unsigned long long address, block, owner)
@cython.locals(storage=Storage)
cpdef Storage placeholder(Device device, Py_ssize_t nbytes, Py_ssize_t place)
@cython.locals(owner=BlockAllocator, block=Block, storage=Storage)
cpdef Storage on_device(Device device, Py_ssize_t nbytes, stream)
@cython.locals(kept=Storage, further=Device, segment=Segment, twins=Twins)
cpdef add_twins(Storage memory, Mirror mirror)
@cython.locals(storage=Storage)
cpdef Storage of_array(array, Layout layout)
