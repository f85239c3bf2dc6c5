from ..core cimport TensorCore

cpdef edge_of(tensor)
cpdef bint wants_grad(operator, bound)
cpdef record(operator, bound, outputs)
