from ..core cimport TensorCore
from ..layout cimport Layout
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

cdef class AccumulateGrad(Node):
    cdef public TensorCore leaf

cdef class OperatorNode(Node):
    cdef public object inputs
    cdef public object operator
    cdef public bint released
    cdef public list saved

cpdef streams_of(tensors)
cpdef fit(grad, Layout layout, int device)
