cimport cython
from .core cimport TensorCore
from .ops.operator cimport Operator
from .runtime cimport state

@cython.locals(index=Py_ssize_t, found=int, mixed=bint, tensor=TensorCore)
cpdef int common_device(Operator operator, list bound) except? -2
