cimport cython
from . cimport tensor, thread
from .layout cimport Layout, layout_of
from .storage cimport Storage
from .tensor cimport TensorBase, in_graph
from .thread cimport Device, Thread

cdef Py_ssize_t _WIDEST
cdef tuple _WHOLE
cdef int _NO_GRAD, _INFERENCE, _ORDINARY, _ONE_OF_SEVERAL

@cython.locals(device=Device)
cpdef bint is_served(operand) except -1
@cython.locals(now=Thread)
cpdef bint is_recorded(TensorBase operand) except -1
@cython.locals(memory=Storage, layout=Layout, device=Device, known=Layout, aligned=bint)
cdef TensorBase _made(TensorBase source, tuple shape, tuple strides, Py_ssize_t offset)
@cython.locals(now=Thread)
cpdef TensorBase linked(TensorBase source, TensorBase view)
@cython.locals(at=Py_ssize_t)
cdef Py_ssize_t _wrapped(dim, Py_ssize_t ndim) except -2

cpdef TensorBase get_item(source, index)
@cython.locals(
    layout=Layout, sizes=tuple, steps=tuple, offset=Py_ssize_t, dim=Py_ssize_t, shape=list, strides=list,
    size=Py_ssize_t, stride=Py_ssize_t, at=Py_ssize_t, step=Py_ssize_t, first=Py_ssize_t, last=Py_ssize_t,
)
cdef TensorBase _indexed(TensorBase operand, tuple items)
cdef bint _is_plain(item) except -1
@cython.locals(bound=Py_ssize_t)
cdef Py_ssize_t _bounded(Py_ssize_t bound, Py_ssize_t size) except -2
@cython.locals(at=Py_ssize_t)
cpdef TensorBase select(TensorBase operand, list bound)
@cython.locals(at=Py_ssize_t)
cpdef TensorBase slice_(TensorBase operand, list bound)
@cython.locals(view=TensorBase)
cpdef tuple marked_parts(tuple parts)
@cython.final
cdef class KnownViews:
    cdef object operator
    cdef object learn
    cdef bint are_parts

@cython.locals(layout=Layout)
cdef TensorBase _known(TensorBase source, tuple pair)
@cython.locals(key=list, index=Py_ssize_t)
cdef tuple _key_of(operator, list bound)
