cimport cython
from .. cimport core
from ..core cimport TensorCore
from .node cimport AccumulateGrad, OperatorNode, Saved, accumulate_grad, operator_node, save, streams_of
from ..ops.operator cimport Need, Operator
from ..runtime cimport state

cdef list _observers
cdef int _IN_NO_GRAD, _IN_INFERENCE

cpdef bint is_observed()
cpdef edge_of(TensorCore tensor)
@cython.locals(node=AccumulateGrad)
cpdef AccumulateGrad accumulator(TensorCore leaf)
cpdef _fact(value, what)
@cython.locals(tensor=TensorCore)
cdef bint _needs_grad(value) except -1
cpdef _keep(value)
@cython.locals(edges=list, metas=list, tensors=list, node=OperatorNode, index=Py_ssize_t)
cpdef OperatorNode _node(Operator operator, list bound, outputs, Py_ssize_t count)
@cython.locals(tensor=TensorCore)
cpdef _add_edge(value, list edges, list metas, list tensors)
cpdef tuple _meta(TensorCore tensor)
cpdef _save(Need need, list bound, outputs)
@cython.locals(index=Py_ssize_t, tensor=TensorCore)
cpdef bint wants_grad(Operator operator, list bound)
@cython.locals(index=Py_ssize_t, out=TensorCore, node=OperatorNode)
cpdef record(Operator operator, list bound, outputs)
@cython.locals(source=TensorCore, thread=state.Thread)
cpdef link_view(Operator operator, list bound, TensorCore view)
