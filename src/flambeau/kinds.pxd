cimport cython
from .core cimport TensorCore
from .ops.operator cimport Operator
from .plan cimport Decided
from .runtime cimport state
from .runtime.facts cimport DeviceFacts, MachineFacts

cpdef Decided into(Operator operator, list bound)
@cython.locals(index=Py_ssize_t, tensor=TensorCore)
cpdef bint is_apart(list bound, TensorCore target) except -1
@cython.locals(machine=MachineFacts, serial="long long", decided=Decided)
cpdef Decided holding(list recent, Operator operator, list bound)
@cython.locals(index=Py_ssize_t, tensor=TensorCore)
cdef bint _is_for(Decided decided, Operator operator, list bound, MachineFacts machine) except -1
@cython.locals(machine=MachineFacts, accelerator=DeviceFacts)
cpdef dict plans_on(int device)
@cython.locals(key=list, index=Py_ssize_t, tensor=TensorCore)
cpdef tuple key_of(Operator operator, list bound, given)
cpdef known(Operator operator, list bound, dict plans, tuple key)
cpdef _fixed(value)
@cython.locals(index=Py_ssize_t)
cdef bint _are_same_sizes(tuple value, tuple part) except -1
cdef bint _are_alike(Operator operator, Py_ssize_t index, value, part) except -1
