cimport cython
from . cimport core
from .core cimport TensorCore
from .layout cimport Layout
from .runtime cimport state, storage
from .runtime.storage cimport Storage

@cython.final
cdef class Slot:
    cdef public Layout layout
    cdef public Py_ssize_t place
    cdef public Py_ssize_t start

    cpdef numel(self)
    cpdef is_contiguous(self)
    cpdef is_aligned(self)

@cython.final
cdef class Launch:
    cdef public object kernel
    cdef public object handle
    cdef public object grid
    cdef public list addresses
    cdef public list numbers
    cdef public list draws
    cdef public object template

    @cython.locals(buffer=bytearray, at=Py_ssize_t, place=Py_ssize_t, start=Py_ssize_t)
    cpdef bytearray filled(self, list operands, list bound, list drawn)
    cpdef _put_numbers(self, bytearray buffer, list bound, list drawn)

@cython.final
cdef class Library:
    cdef public object problem
    cdef public object handle
    cdef public list places
    cdef public object workspace_nbytes

@cython.final
cdef class Plan:
    cdef public int device
    cdef public list sources
    cdef public bint has_given
    cdef public list taken
    cdef public list steps
    cdef public list draws
    cdef public object result

    @cython.locals(operands=list, layout=Layout, index=Py_ssize_t, at=Py_ssize_t)
    cpdef run(self, list bound, given)

cpdef _launch(Launch step, stream, list operands, list bound, list drawn)
cpdef Storage _memory(machine, stream, Py_ssize_t nbytes)
cpdef _run_library(machine, stream, Library step, list operands)
cpdef _built(result, list operands)
cpdef also_read(bound, TensorCore given)
cpdef put_address(bytearray buffer, Py_ssize_t at, unsigned long long address)
