cimport cython
from .. cimport core
from ..core cimport TensorCore
from ..layout cimport Layout
from ..runtime cimport state
from ..runtime.queue cimport Queue
from ..runtime.state cimport Thread
from ..runtime.storage cimport Storage
from .node cimport AccumulateGrad, Node

@cython.final
cdef class GraphTask:
    cdef public bint keep_graph
    cdef public bint create_graph
    cdef public object targets
    cdef public dict captured
    cdef public dict buffers
    cdef public dict waiting
    cdef public set needed
    cdef public set only_captured
    cdef public list ready
    cdef public set shared
    cdef public dict leaf_streams
    cdef public dict moved

    @cython.locals(thread=Thread, recorded=bint)
    cpdef run(self, roots, grads)
    @cython.locals(seen=set, stack=list, waiting=dict, node=Node, edge=tuple)
    cpdef _plan(self, roots)
    cpdef _narrow(self, nodes)
    cpdef _push(self, Node node)
    @cython.locals(node=Node, index=Py_ssize_t, buffer=list)
    cpdef _deliver(self, tuple edge, grad, dict made_on)
    cpdef _order(self, Node node, grad, dict made_on)
    cpdef dict _streams(self, Node node)
    @cython.locals(streams=dict, grads=list, edge=tuple, place=Py_ssize_t)
    cpdef _run_node(self, Node node)
    cpdef _found(self, Node node, list grads)
    cpdef _accumulate(self, TensorCore leaf, grad)
    @cython.locals(layout=Layout, storage=Storage)
    cpdef _owned(self, TensorCore grad)
    cpdef _apply(self, Node node, list grads)
    @cython.locals(left=Py_ssize_t)
    cpdef _count_down(self, Node node)
    cpdef _capture(self, Node node, grads)

cdef bint _are_none(list grads) except -1
@cython.locals(device=int, stream=Queue)
cdef bint _are_current(dict streams) except -1
@cython.locals(former_device=int, device=int)
cpdef tuple _enter(dict streams)
cpdef _leave(int former_device, list former)
