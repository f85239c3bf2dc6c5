cimport cython
from ..core cimport TensorCore
from ..runtime cimport state
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

    cpdef run(self, roots, grads)
    cpdef _push(self, Node node)
    @cython.locals(node=Node, index=Py_ssize_t, buffer=list)
    cpdef _deliver(self, tuple edge, grad, dict made_on)
    cpdef _order(self, Node node, grad, dict made_on)
    @cython.locals(streams=dict)
    cpdef _run_node(self, Node node)
    cpdef _accumulate(self, TensorCore leaf, grad)
    cpdef _apply(self, Node node, list grads)
    cpdef _count_down(self, Node node)
    cpdef _capture(self, Node node, grads)

@cython.locals(former_device=int, device=int)
cpdef tuple _enter(dict streams)
cpdef _leave(int former_device, list former)
