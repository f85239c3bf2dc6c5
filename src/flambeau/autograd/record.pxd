cimport cython
from ..core cimport TensorCore
from ..ops.operator cimport Operator

cpdef edge_of(tensor)
@cython.locals(index=Py_ssize_t, tensor=TensorCore)
cpdef bint wants_grad(Operator operator, list bound)
cpdef record(Operator operator, list bound, outputs)
