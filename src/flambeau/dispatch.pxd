cimport cython
from . cimport core
from .placement cimport common_device
from .plan cimport Decided, Plan, View
from .autograd cimport record
from .core cimport TensorCore
from .layout cimport Layout
from .ops.operator cimport Operator
from .runtime cimport state
from .runtime.facts cimport DeviceFacts, MachineFacts

@cython.locals(plan=Plan)
cpdef call(Operator operator, tuple args, dict kwargs)
cdef _composed(Operator operator, list bound)
cpdef _call_mutating(Operator operator, list bound, int device)
@cython.locals(plan=Plan, bound=list, target=TensorCore, needs_node=bint)
cpdef call_inplace(Operator operator, tuple args, dict kwargs)
cdef Py_ssize_t _WIDEST

cdef Decided _into(Operator operator, list bound)
@cython.locals(index=Py_ssize_t, tensor=TensorCore)
cdef bint _is_apart(list bound, TensorCore target) except -1
@cython.locals(machine=MachineFacts, serial="long long", decided=Decided)
cdef Decided _holding(list recent, Operator operator, list bound)
@cython.locals(index=Py_ssize_t, tensor=TensorCore)
cdef bint _is_for(Decided decided, Operator operator, list bound, MachineFacts machine) except -1
@cython.locals(plan=Plan, key=tuple)
cpdef _run(Operator operator, list bound, given, int device)
@cython.locals(machine=MachineFacts, accelerator=DeviceFacts)
cpdef dict _plans(int device)
@cython.locals(key=list, index=Py_ssize_t, tensor=TensorCore)
cpdef tuple _key(Operator operator, list bound, given)
cdef _known(Operator operator, list bound, dict plans, tuple key)
cpdef _fixed(value)
@cython.locals(index=Py_ssize_t)
cdef bint _are_same_sizes(tuple value, tuple part) except -1
cdef bint _are_alike(Operator operator, Py_ssize_t index, value, part) except -1
@cython.locals(source=TensorCore, decided=View, offset=Py_ssize_t)
cpdef _view(Operator operator, list bound)
cpdef _run_into(Operator operator, list bound, target, int device)
@cython.locals(plan=Plan, bound=list)
cpdef fill_new(Operator operator, TensorCore made, tuple args, dict kwargs)
