cimport cython
from . cimport record, thread
from .layout cimport Layout
from .native cimport enter_critical, leave_critical, next_number
from .binding cimport Caller, OperatorBase, Signature
from .plan cimport Plan
from .storage cimport Storage
from .tensor cimport TensorBase, before_write, in_graph
from .thread cimport Machine, Plans, Thread
from .views cimport is_recorded, is_served, marked_parts

cdef Py_ssize_t _NO_PLACE, _STALE
cdef set _keyed

cdef object _lowering

cpdef call(OperatorBase operator, tuple args, dict kwargs)
cdef _quick(OperatorBase operator, quick, list bound)
@cython.locals(bound=list)
cpdef call_two(OperatorBase operator, first, second)
cpdef call_inplace(OperatorBase operator, tuple args, dict kwargs)

cpdef bint is_operand(other) except -1

cdef class CoreCaller(Caller):
    @cython.locals(now=Thread)
    cpdef derive(self, OperatorBase operator, list bound)
    cpdef call(self, OperatorBase operator, tuple args, dict kwargs)

cdef _served(OperatorBase operator, list bound, out, bint inplace)
@cython.locals(now=Thread)
cdef _named(OperatorBase operator, list bound, out, bint inplace)
cdef _called(Thread now, OperatorBase operator, list bound, out)
@cython.locals(key=list, plan=Plan, joins=bint)
cdef _run(Thread now, OperatorBase operator, list bound)
@cython.locals(machine=Machine, plans=Plans, full=tuple, plan=Plan)
cdef _entry(OperatorBase operator, list bound, list key, target)
@cython.locals(view=TensorBase)
cdef _composed(OperatorBase operator, list bound)
@cython.locals(arguments=list, operator=OperatorBase, part=Py_ssize_t, plan=Plan)
cdef _delegated(Thread now, delegation, list bound)
@cython.locals(key=list, index=Py_ssize_t, operand=TensorBase)
cdef list _key(OperatorBase operator, list bound)
cdef _canonical(value, int depth=*)
@cython.locals(operand=TensorBase)
cdef bint _is_placed(values, int depth=*) except -1
@cython.locals(joins=bint)
cdef _call_mutating(Thread now, OperatorBase operator, list bound)
@cython.locals(joins=bint)
cdef _call_out(Thread now, OperatorBase operator, list bound, out)
@cython.locals(target=TensorBase, needs_node=bint)
cdef _inplace(Thread now, OperatorBase operator, list bound)
@cython.locals(key=list, index=Py_ssize_t, operand=TensorBase)
cpdef write(OperatorBase operator, list bound, TensorBase target)
@cython.locals(bound=list, index=Py_ssize_t)
cpdef list bind(OperatorBase operator, tuple args, dict kwargs)
@cython.locals(bound=list, index=Py_ssize_t, signature=Signature, form=tuple)
cdef list _bind_named(OperatorBase operator, tuple args, dict kwargs)
@cython.locals(index=Py_ssize_t)
cdef bint _is_like(Signature signature, Py_ssize_t count, dict kwargs) except -1
