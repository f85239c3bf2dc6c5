cimport cython

from .tensor cimport TensorBase
from .layout cimport Layout
from .native cimport next_number
from .tensor cimport in_graph, new_tensor
from .binding cimport Need, OperatorBase
from . cimport thread
from .queue cimport Queue
from .storage cimport Storage

@cython.final
@cython.freelist(32)
cdef class Saved:
    cdef public Storage storage
    cdef public Storage counter
    cdef public Layout layout
    cdef public Py_ssize_t offset
    cdef public Py_ssize_t version
    cdef public object edge
    cdef public object packed

    cpdef unpack(self, name, own)

@cython.locals(saved=Saved)
cpdef Saved save(TensorBase tensor, edge)

cdef class Node:
    cdef public tuple edges
    cdef public object name
    cdef public long long number
    cdef public Py_ssize_t outputs
    cdef public object hooks
    cdef public object face
    cdef public bint shares
    cdef public dict streams
    cdef object __weakref__

    cpdef begin(self, name, tuple edges, dict streams, Py_ssize_t outputs)
    cpdef apply(self, grads)
    cpdef release(self)

cdef class AccumulateGrad(Node):
    cdef public TensorBase leaf

cdef class OperatorNode(Node):
    cdef public object inputs
    cdef public OperatorBase operator
    cdef public bint released
    cdef public list saved

    @cython.locals(input_grads=list, index=Py_ssize_t)
    cpdef apply(self, grads)
    @cython.locals(operator=OperatorBase, values=list, need=Need, index=Py_ssize_t)
    cpdef list flow(self, grads, own)
    @cython.locals(flat=list, index=Py_ssize_t, grad=TensorBase, have=Layout, layout=Layout)
    cpdef list _fitted(self, result)
    @cython.locals(kept=Saved)
    cpdef _value(self, kind, saved, grads, own)
    cpdef release(self)

@cython.locals(first=int, device=int, tensor=TensorBase, stream=Queue)
cpdef dict streams_of(tensors)
cdef bint _holds_saved(values) except -1
cpdef list _flatten(values)
@cython.locals(node=OperatorNode)
cpdef OperatorNode operator_node(OperatorBase operator, tuple edges, dict streams, inputs, Py_ssize_t outputs)

cdef list _observers
cdef object _renew_view

cpdef edge_of(TensorBase tensor)
@cython.locals(node=AccumulateGrad)
cpdef AccumulateGrad accumulator(TensorBase leaf)
cpdef _fact(value, what)
@cython.locals(tensor=TensorBase)
cdef bint _needs_grad(value) except -1
cpdef _keep(value)
@cython.locals(edges=list, layouts=list, tensors=list, node=OperatorNode, index=Py_ssize_t)
cpdef OperatorNode node_of(OperatorBase operator, list bound, outputs, Py_ssize_t count)
@cython.locals(tensor=TensorBase, layout=Layout)
cpdef _add_edge(value, list edges, list layouts, list tensors)
cpdef _save(Need need, list bound, outputs)
cpdef bint wants_grad(OperatorBase operator, list bound) except -1
@cython.locals(index=Py_ssize_t)
cpdef bint joins(OperatorBase operator, list bound) except -1
cdef bint _any_joins(values) except -1
@cython.locals(index=Py_ssize_t, out=TensorBase, node=OperatorNode)
cpdef record(OperatorBase operator, list bound, outputs)
