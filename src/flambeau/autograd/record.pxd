cimport cython

from ..core cimport thread
from ..core.operator cimport Need, Operator
from ..core.tensor cimport TensorBase, in_graph
from .node cimport AccumulateGrad, OperatorNode, Saved, accumulate_grad, operator_node, save, streams_of

cdef list _observers
cdef int _IN_NO_GRAD, _IN_INFERENCE

cpdef bint is_observed()
cpdef edge_of(TensorBase tensor)
@cython.locals(node=AccumulateGrad)
cpdef AccumulateGrad accumulator(TensorBase leaf)
cpdef _fact(value, what)
@cython.locals(tensor=TensorBase)
cdef bint _needs_grad(value) except -1
cpdef _keep(value)
@cython.locals(edges=list, metas=list, tensors=list, node=OperatorNode, index=Py_ssize_t)
cpdef OperatorNode _node(Operator operator, list bound, outputs, Py_ssize_t count)
@cython.locals(tensor=TensorBase)
cpdef _add_edge(value, list edges, list metas, list tensors)
cpdef tuple _meta(TensorBase tensor)
cpdef _save(Need need, list bound, outputs)
@cython.locals(index=Py_ssize_t, tensor=TensorBase)
cpdef bint wants_grad(Operator operator, list bound)
@cython.locals(index=Py_ssize_t, out=TensorBase, node=OperatorNode)
cpdef record(Operator operator, list bound, outputs)
@cython.locals(source=TensorBase, now=thread.Thread)
cpdef link_view(Operator operator, list bound, TensorBase view)
