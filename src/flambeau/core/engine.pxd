cimport cython

from .tensor cimport TensorBase
from .layout cimport Layout
from .native cimport Lock, identity
from .tensor cimport new_tensor
from . cimport thread
from .queue cimport Queue
from .thread cimport Thread
from .storage cimport Storage
from .record cimport AccumulateGrad, Node

@cython.final
@cython.freelist(16)
cdef class Waiting:
    cdef Node node
    cdef Py_ssize_t left
    cdef list grads
    cdef list captured
    cdef bint is_needed
    cdef bint is_target
    cdef bint leads

@cython.locals(waiting=Waiting)
cdef Waiting _waiting(Node node)

@cython.final
cdef class GraphTask:
    cdef readonly bint keep_graph
    cdef bint create_graph
    cdef public bint accumulates
    cdef public dict notes
    cdef public object code
    cdef public tuple origin
    cdef object watch
    cdef public list targets
    cdef dict waiting
    cdef Waiting next
    cdef list ready
    cdef set shared
    cdef dict leaf_streams
    cdef dict moved
    cdef list former
    cdef int device

    @cython.locals(
        now=Thread, recorded=bint, waiting=Waiting, grad=TensorBase, edge=tuple, index=Py_ssize_t, stream=Queue,
    )
    cpdef list run(self, list roots, list grads)
    @cython.locals(waiting=Waiting)
    cpdef bint will_run(self, node) except -1
    @cython.locals(waiting=Waiting)
    cdef _captured_at(self, tuple edge)
    @cython.locals(known=dict, nodes=list, node=Node, successor=Node, edge=tuple, waiting=Waiting)
    cdef _plan(self, roots)
    @cython.locals(inner=list, node=Node, waiting=Waiting, target=Waiting, edge=tuple, successor=tuple)
    cdef _narrow(self, list targets)
    @cython.locals(lesser=Waiting)
    cdef _push(self, Waiting waiting)
    @cython.locals(node=Node)
    cdef _deliver(self, Waiting waiting, Py_ssize_t index, grad, dict made_on)
    cdef _order(self, Node node, TensorBase grad, dict made_on)
    cdef dict _streams(self, Node node)
    @cython.locals(
        node=Node, streams=dict, grads=list, edge=tuple, index=Py_ssize_t, above=Waiting
    )
    cdef _run_node(self, Waiting waiting)
    @cython.locals(now=Thread)
    cdef _move(self, dict streams)
    @cython.locals(node=Node, goes_on=bint)
    cdef _input_grads(self, Waiting waiting, list grads)
    @cython.locals(stream=Queue)
    cdef _call_leaf_hooks(self, AccumulateGrad node, list grads)
    cpdef apply_node(self, Node node, list grads)
    cpdef share(self, grads)
    cdef _add_to_leaf(self, TensorBase leaf, grad)
    cdef _accumulate(self, TensorBase leaf, grad)
    @cython.locals(layout=Layout, wanted=Layout, storage=Storage)
    cdef _owned(self, TensorBase leaf, TensorBase grad)
    cpdef apply_bare(self, Node node, list grads)

cdef Lock _accumulating

@cython.locals(device=int, stream=Queue)
cdef bint _are_current(dict streams) except -1
