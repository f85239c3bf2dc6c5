cimport cython
from ..core cimport TensorCore
from .node cimport OperatorNode, Saved, streams_of
from ..ops.operator cimport Operator

cpdef edge_of(TensorCore tensor)
@cython.locals(edges=list, metas=list, tensors=list, node=OperatorNode, tensor=TensorCore)
cpdef OperatorNode _node(Operator operator, list bound, outputs)
@cython.locals(slots=list, index=Py_ssize_t)
cpdef list _tensor_slots(Operator operator, list bound)
cpdef tuple _meta(TensorCore tensor)
@cython.locals(index=Py_ssize_t, only_for=Py_ssize_t)
cpdef _save(need, list bound, outputs)
@cython.locals(index=Py_ssize_t, tensor=TensorCore)
cpdef bint wants_grad(Operator operator, list bound)
cpdef record(Operator operator, list bound, outputs)
