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
cdef tuple _without(tuple values, Py_ssize_t at)
cdef tuple _with(tuple values, Py_ssize_t at, Py_ssize_t value)

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
@cython.locals(at=Py_ssize_t)
cpdef tuple split(TensorBase operand, list bound)
@cython.locals(at=Py_ssize_t, count=Py_ssize_t, size=Py_ssize_t)
cpdef tuple chunk(TensorBase operand, list bound)
@cython.locals(
    layout=Layout, size=Py_ssize_t, stride=Py_ssize_t, start=Py_ssize_t, first=Py_ssize_t, pieces=list, shape=tuple,
)
cdef tuple _pieces(TensorBase operand, list bound, Py_ssize_t at, Py_ssize_t width)
@cython.locals(
    layout=Layout, at=Py_ssize_t, shape=tuple, strides=tuple, stride=Py_ssize_t, start=Py_ssize_t,
    index=Py_ssize_t,
)
cpdef tuple unbind(TensorBase operand, list bound)
cdef TensorBase _part(TensorBase view)
@cython.locals(layout=Layout, known=Py_ssize_t, unknown=Py_ssize_t, target=list)
cpdef TensorBase reshape(TensorBase operand, list bound)
@cython.locals(shape=tuple, strides=tuple, kept=Py_ssize_t, step=Py_ssize_t)
cdef TensorBase _regrouped(TensorBase source, tuple target)
@cython.locals(layout=Layout, shape=tuple, first=Py_ssize_t, last=Py_ssize_t, merged=Py_ssize_t)
cpdef TensorBase flatten(TensorBase operand, list bound)
@cython.locals(strides=list, step=Py_ssize_t, at=Py_ssize_t)
cdef tuple _dense_strides(tuple shape)
@cython.locals(known=Layout)
cdef bint _is_row_major(Layout layout) except -1
@cython.locals(layout=Layout, known=Layout)
cdef TensorBase _row_major(TensorBase source, tuple shape)
cpdef TensorBase t(TensorBase operand, list bound)
@cython.locals(
    layout=Layout, ndim=Py_ssize_t, one=Py_ssize_t, other=Py_ssize_t, shape=list, strides=list,
)
cpdef TensorBase transpose(TensorBase operand, list bound)
@cython.locals(
    layout=Layout, ndim=Py_ssize_t, at=Py_ssize_t, seen=Py_ssize_t, shape=list, strides=list,
)
cpdef TensorBase permute(TensorBase operand, list bound)
@cython.locals(shape=tuple, strides=tuple, at=Py_ssize_t, step=Py_ssize_t)
cpdef TensorBase unsqueeze(TensorBase operand, list bound)
@cython.locals(shape=tuple, strides=tuple, at=Py_ssize_t, kept=list)
cpdef TensorBase squeeze(TensorBase operand, list bound)
@cython.locals(
    shape=tuple, steps=tuple, lead=Py_ssize_t, target=list, strides=list, dim=Py_ssize_t,
    size=Py_ssize_t, step=Py_ssize_t,
)
cpdef TensorBase expand(TensorBase operand, list bound)
