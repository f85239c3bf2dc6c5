cimport cython
from . cimport core
from .placement cimport common_device
from .kinds cimport holding, into, is_apart, key_of, known, plans_on
from .plan cimport Handed, Plan, View
from .autograd cimport record
from .core cimport TensorCore
from .layout cimport Layout
from .ops.operator cimport Operator, Runner, bind, bind_two
from .runtime cimport state

cpdef call(Operator operator, tuple args, dict kwargs)
cpdef call_two(Operator operator, first, second)
@cython.locals(plan=Plan)
cdef _called(Operator operator, list bound, given)
@cython.locals(tensor=TensorCore, source=TensorCore)
cdef _own_result(Operator operator, list bound, found)
@cython.locals(handed=Handed)
cdef _composed(Operator operator, list bound)
@cython.locals(arguments=list, source=Py_ssize_t, place=Py_ssize_t, thread=state.Thread)
cdef _handed_over(Operator operator, Handed handed, list bound)
cpdef _call_mutating(Operator operator, list bound, int device)
@cython.locals(plan=Plan, bound=list, target=TensorCore, needs_node=bint)
cpdef call_inplace(Operator operator, tuple args, dict kwargs)
cdef Py_ssize_t _WIDEST

@cython.locals(plan=Plan, key=tuple)
cpdef _run(Operator operator, list bound, given, int device)
@cython.locals(source=TensorCore, decided=View, offset=Py_ssize_t)
cpdef _view(Operator operator, list bound)
cpdef _run_into(Operator operator, list bound, target, int device)
@cython.locals(plan=Plan, bound=list)
cpdef fill_new(Operator operator, TensorCore made, tuple args, dict kwargs)

cdef class _Dispatch(Runner):
    cpdef run(self, Operator operator, tuple args, dict kwargs)
