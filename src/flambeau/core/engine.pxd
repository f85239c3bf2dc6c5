cimport cython

from .tensor cimport TensorBase
from .layout cimport Layout
from .native cimport Lock, identity
from . cimport record
from .tensor cimport new_tensor
from .operator cimport Operator
from . cimport thread
from .queue cimport Queue
from .thread cimport Thread
from .storage cimport Storage
from .record cimport AccumulateGrad, Node

@cython.final
@cython.freelist(16)
cdef class Waiting:
    cdef public Node node
    cdef public Py_ssize_t left
    cdef public list grads
    cdef public list captured
    cdef public bint is_needed
    cdef public bint is_target
    cdef public bint leads

@cython.locals(waiting=Waiting)
cdef Waiting _waiting(Node node)

@cython.final
cdef class GraphTask:
    cdef public bint keep_graph
    cdef public bint create_graph
    cdef public bint accumulates
    cdef public dict notes
    cdef public object watch
    cdef public list targets
    cdef public dict waiting
    cdef public Waiting next
    cdef public list ready
    cdef public set shared
    cdef public dict leaf_streams
    cdef public dict moved

    @cython.locals(now=Thread, recorded=bint, waiting=Waiting, grad=TensorBase, edge=tuple, index=Py_ssize_t)
    cpdef list run(self, list roots, list grads)
    @cython.locals(waiting=Waiting)
    cpdef _captured_at(self, tuple edge)
    @cython.locals(known=dict, nodes=list, node=Node, successor=Node, edge=tuple, waiting=Waiting)
    cpdef _plan(self, roots)
    @cython.locals(inner=list, node=Node, waiting=Waiting, target=Waiting, edge=tuple)
    cpdef _narrow(self, list targets)
    @cython.locals(edge=tuple, waiting=Waiting)
    cdef bint _leads(self, Node node) except -1
    @cython.locals(lesser=Waiting)
    cpdef _push(self, Waiting waiting)
    @cython.locals(first=Waiting)
    cpdef Waiting _popped(self)
    @cython.locals(node=Node)
    cpdef _deliver(self, Waiting waiting, Py_ssize_t index, grad, dict made_on)
    cpdef _order(self, Node node, TensorBase grad, dict made_on)
    cpdef dict _streams(self, Node node)
    @cython.locals(now=Thread, former=list, device=int)
    cpdef _add(self, Node node, have, more)
    @cython.locals(
        node=Node, streams=dict, grads=list, edge=tuple, index=Py_ssize_t, above=Waiting, now=Thread, former=list, device=int
    )
    cpdef _run_node(self, Waiting waiting)
    @cython.locals(node=Node, goes_on=bint)
    cpdef _input_grads(self, Waiting waiting, list grads)
    cpdef _ended(self, Node node, hooks, list grads)
    @cython.locals(stream=Queue)
    cpdef _call_leaf_hooks(self, AccumulateGrad node, list grads)
    cpdef _apply_hooked(self, Node node, hooks, list grads)
    cpdef _share(self, grads)
    cpdef _watched(self, Node node, list grads)
    cpdef _add_to_leaf(self, TensorBase leaf, grad)
    cpdef _accumulate(self, TensorBase leaf, grad)
    @cython.locals(layout=Layout, wanted=Layout, storage=Storage)
    cpdef _owned(self, TensorBase leaf, TensorBase grad)
    cpdef _apply(self, Node node, list grads)

    @cython.locals(stream=Queue)
    cpdef _join_leaves(self)

cdef Lock _accumulating

cdef bint _are_none(list grads) except -1
@cython.locals(device=int, stream=Queue)
cdef bint _are_current(dict streams) except -1
@cython.locals(device=int)
cpdef _enter(Thread now, dict streams)
@cython.locals(result=list, index=Py_ssize_t)
cpdef list initial_grads(name, list outputs, list grads)
cpdef _check_given(name, grad, output)
@cython.locals(fill=Operator)
cpdef _one_like(TensorBase output)
