cimport cython
from .thread cimport Device

@cython.final
cdef class Layout:
    cdef readonly Device device
    cdef readonly object dtype
    cdef readonly object shape
    cdef readonly object strides
    cdef readonly bint aligned
    cdef readonly bint compact
    cdef readonly bint dense
    cdef readonly Py_ssize_t numel
    cdef readonly Py_ssize_t nbytes
    cdef readonly Py_ssize_t itemsize
    cdef readonly bint is_floating
    cdef readonly object plain
    cdef readonly object steps
    cdef public dict views

    cpdef prepare(self)

@cython.locals(layout=Layout)
cpdef Layout layout_of(Device device, dtype, shape, strides, bint aligned=*)
@cython.locals(layout=Layout)
cpdef Layout dense_layout(Device device, dtype, shape)
