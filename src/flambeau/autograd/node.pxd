cimport cython
from .. cimport core
from ..core cimport TensorCore
from ..layout cimport Layout
from ..ops.operator cimport Operator
from ..runtime cimport state
from ..runtime.queue cimport Queue
from ..runtime.storage cimport Storage

cdef class Saved:
    cdef public Storage storage
    cdef public Layout layout
    cdef public Py_ssize_t offset
    cdef public Py_ssize_t version
    cdef public object edge

    cpdef unpack(self, name, own)

cdef class Node:
    cdef public tuple edges
    cdef public object name
    cdef public object number
    cdef public Py_ssize_t outputs
    cdef public list post_hooks
    cdef public list pre_hooks
    cdef public dict streams
    cdef object __weakref__

    cpdef begin(self, name, edges, dict streams, Py_ssize_t outputs)

cdef class AccumulateGrad(Node):
    cdef public TensorCore leaf

cdef class OperatorNode(Node):
    cdef public object inputs
    cdef public Operator operator
    cdef public bint released
    cdef public list saved

    @cython.locals(operator=Operator)
    cpdef list flow(self, grads, own)
    cpdef _value(self, kind, saved, grads, own)

@cython.locals(first=int, device=int, tensor=TensorCore)
cpdef dict streams_of(tensors)
cpdef fit(TensorCore grad, Layout layout, int device)
