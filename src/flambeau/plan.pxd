from .core cimport TensorCore
from .layout cimport Layout

cdef class Slot:
    cdef public Layout layout
    cdef public Py_ssize_t place
    cdef public Py_ssize_t start

    cpdef numel(self)
    cpdef is_contiguous(self)
    cpdef is_aligned(self)

cdef class Launch:
    cdef public object kernel
    cdef public object handle
    cdef public object grid
    cdef public list addresses
    cdef public list numbers
    cdef public list draws
    cdef public object template

    cpdef filled(self, addresses, bound, drawn)

cdef class Library:
    cdef public object problem
    cdef public object handle
    cdef public object places
    cdef public object workspace_nbytes

cdef class Plan:
    cdef public int device
    cdef public list sources
    cdef public bint has_given
    cdef public list taken
    cdef public list steps
    cdef public list draws
    cdef public object result

    cpdef run(self, bound, given)

cpdef also_read(bound, TensorCore given)
cpdef put_address(bytearray buffer, Py_ssize_t at, unsigned long long address)
