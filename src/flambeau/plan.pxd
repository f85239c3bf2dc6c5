cimport cython
from . cimport core
from .core cimport TensorCore
from .hooks cimport Hooks
from .layout cimport Layout
from .ops.operator cimport Operator
from .runtime cimport state, storage
from .runtime.facts cimport MachineFacts
from .runtime.queue cimport Queue
from .runtime.storage cimport Storage

cdef extern from *:
    """
    static CYTHON_INLINE void flambeau_put_address(PyObject *buffer, Py_ssize_t at, unsigned long long address) {
      memcpy(PyByteArray_AS_STRING(buffer) + at, &address, sizeof(address));
    }
    static CYTHON_INLINE int flambeau_is_unshared(PyObject *buffer) { return Py_REFCNT(buffer) == 1; }
    static CYTHON_INLINE PyObject *flambeau_copied(PyObject *buffer) {
      return PyByteArray_FromStringAndSize(PyByteArray_AS_STRING(buffer), PyByteArray_GET_SIZE(buffer));
    }
    """
    bint _is_unshared "flambeau_is_unshared"(object buffer)
    void _put_address "flambeau_put_address"(object buffer, Py_ssize_t at, unsigned long long address)
    bytearray _copied "flambeau_copied"(object buffer)

cdef Hooks hooks

@cython.final
cdef class Place:
    cdef public Py_ssize_t at
    cdef public Py_ssize_t operand
    cdef public Py_ssize_t start

cdef class Step:
    cdef public list addresses
    cdef public bytearray spare
    cdef public bytearray template

    @cython.locals(buffer=bytearray, place=Place, address=cython.ulonglong)
    cpdef bytearray addressed(self, list bound)

@cython.final
cdef class Launch(Step):
    cdef public object kernel
    cdef public object handle
    cdef public object grid
    cdef public list numbers
    cdef public list draws
    cdef public object called

    @cython.locals(buffer=bytearray)
    cpdef bytearray filled(self, list bound, list drawn)
    cpdef _put_numbers(self, bytearray buffer, list bound, list drawn)

@cython.final
cdef class Library(Step):
    cdef public object problem
    cdef public object handle
    cdef public Py_ssize_t workspace_nbytes

cdef class Decided:
    cdef public int device
    cdef public long long machine
    cdef public object setting
    cdef public list parts

    cpdef is_for(self, long long machine, int device, setting, list parts)

@cython.final
cdef class View(Decided):
    cdef public Layout aligned
    cdef public Layout misaligned
    cdef public Py_ssize_t step

@cython.final
cdef class Handed(Decided):
    cdef public Operator operator
    cdef public Py_ssize_t part
    cdef public list sources
    cdef public list arguments

@cython.final
cdef class Plan(Decided):
    cdef public list members
    cdef public bint has_given
    cdef public list taken
    cdef public list steps
    cdef public list draws
    cdef public object result

    @cython.locals(machine=MachineFacts, stream=Queue, layout=Layout, index=Py_ssize_t, at=Py_ssize_t)
    cpdef run(self, list bound, given)

@cython.locals(buffer=bytearray)
cpdef _launch(Launch step, Queue stream, list bound, list drawn)
cpdef Storage _memory(MachineFacts machine, Queue stream, Py_ssize_t nbytes)
@cython.locals(packed=bytearray, workspace=Storage)
cpdef _run_library(MachineFacts machine, Queue stream, Library step, list bound)
@cython.locals(place=Py_ssize_t)
cpdef _built(result, list bound)
cpdef also_read(bound, TensorCore given)
