cimport cython
from . cimport core
from .plan cimport Plan
from .autograd cimport record
from .core cimport TensorCore
from .layout cimport Layout
from .ops.operator cimport Operator
from .runtime cimport state

cpdef call(Operator operator, tuple args, dict kwargs)
cpdef _call_mutating(Operator operator, list bound, int device)
cpdef call_inplace(Operator operator, tuple args, dict kwargs)
@cython.locals(plan=Plan)
cpdef _run(Operator operator, list bound, given, int device)
cpdef dict _plans(int device)
@cython.locals(key=list, index=Py_ssize_t, tensor=TensorCore)
cpdef tuple _key(Operator operator, list bound, given)
cpdef _fixed(value)
@cython.locals(source=TensorCore, aligned=Layout, misaligned=Layout, offset=Py_ssize_t, step=Py_ssize_t)
cpdef _view(Operator operator, list bound)
cpdef _run_into(Operator operator, list bound, target, int device)
@cython.locals(index=Py_ssize_t, found=int, mixed=bint, tensor=TensorCore)
cpdef int common_device(Operator operator, list bound) except? -2
