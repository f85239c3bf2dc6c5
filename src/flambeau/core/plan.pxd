cimport cython
from .queue cimport Hooks, Mirror, Queue
from . cimport storage, tensor, thread
from .layout cimport Layout
from .native cimport copied, enter_critical, is_unshared, leave_critical, put_address

from .storage cimport Storage, Twins
from .tensor cimport TensorBase
from .thread cimport Device

cdef Hooks hooks
cdef int _FIXED
cdef int _WHOLE
cdef int _SHAPED
cdef int _NUMBER
cdef int _DRAWN

@cython.final
cdef class Place:
    cdef public Py_ssize_t at
    cdef public Py_ssize_t operand
    cdef public Py_ssize_t start

cdef class Step:
    cdef public list addresses
    cdef public bytearray spare
    cdef public bytearray template
    cdef public object called
    cdef public tuple mirrored

    @cython.locals(slot=Place, operand=TensorBase, twins=Twins, memory=Storage, start=Py_ssize_t)
    cdef readdress(self, bytearray buffer, list used, Py_ssize_t index)
    @cython.locals(buffer=bytearray, slot=Place, operand=TensorBase, address=cython.ulonglong)
    cpdef bytearray addressed(self, list used)

@cython.final
cdef class Launch(Step):
    cdef public object kernel
    cdef public object handle
    cdef public object grid
    cdef public object values
    cdef public list numbers
    cdef public list draws

    @cython.locals(buffer=bytearray, slot=list, at=Py_ssize_t, known=tuple)
    cpdef bytearray filled(self, list used, drawn)
    cpdef put_number(self, bytearray buffer, Py_ssize_t place, Py_ssize_t at, struct, number, passed)
    cdef put_draws(self, bytearray buffer, drawn)

@cython.final
cdef class LibraryCall(Step):
    cdef public object operation
    cdef public object handle
    cdef public Py_ssize_t workspace_nbytes

@cython.final
cdef class Argument:
    cdef public int how
    cdef public Py_ssize_t place
    cdef public Py_ssize_t start
    cdef public object value
    cdef public object plain
    cdef public object shape
    cdef public object steps
    cdef public object last
    cdef public object made

@cython.final
cdef class HostCall:
    cdef public object function
    cdef public list arguments
    cdef public object step
    cdef public bint is_checked
    cdef public object accesses
    cdef public object reference

    cpdef run(self, list used, drawn)

cdef _called(function, list arguments)
@cython.locals(argument=Argument, how=int, values=list)
cdef list _gathered(list arguments, list used, drawn)
@cython.locals(memory=Storage, layout=Layout, start=Py_ssize_t)
cdef _shaped(Argument argument, TensorBase operand)
cdef _number(Argument argument, value)

@cython.final
cdef class Plan:
    cdef public Device device
    cdef public bint is_on_host
    cdef public list members
    cdef public bint has_given
    cdef public list taken
    cdef public list steps
    cdef public list draws
    cdef public object result
    cdef public Py_ssize_t used
    cdef public HostCall direct
    cdef public list lifetimes
    cdef public list settings

    @cython.locals(stream=Queue, layout=Layout, index=Py_ssize_t, at=Py_ssize_t)
    cpdef run(self, list bound, target)
    cdef _draw_and_run(self, list bound, Queue stream)
    cdef _run_step(self, step, Queue stream, list bound, drawn)
    @cython.locals(first=Py_ssize_t, index=Py_ssize_t, number=Py_ssize_t)
    cdef _run_steps(self, Queue stream, list bound, drawn)
    @cython.locals(call=HostCall, layout=Layout, values=list)
    cdef _run_direct(self, list bound)

cdef bint _is_one_of(array, list values)
@cython.locals(buffer=bytearray)
cdef _launch(Launch step, Queue stream, list used, drawn)
@cython.locals(workspace=Storage)
cdef Storage _workspace(LibraryCall step, Device device, Py_ssize_t nbytes, stream, mirror=*)
@cython.locals(memory=Storage)
cdef bint _are_mirrored(list bound, Mirror mirror) except -1
@cython.locals(
    mirrored=tuple, handles=list, launch=Launch, buffer=bytearray, index=Py_ssize_t, count=Py_ssize_t,
    queue=Queue, nbytes=Py_ssize_t, workspace=Storage, address=cython.ulonglong,
)
cdef _run_on_all(Step step, Mirror mirror, list used, drawn)
@cython.locals(packed=bytearray, workspace=Storage)
cdef _run_library(LibraryCall step, Queue stream, list used)
@cython.locals(index=Py_ssize_t, whole=TensorBase)
cdef _built(result, list used)
