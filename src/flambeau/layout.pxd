cimport cython

@cython.final
cdef class Layout:
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

cpdef Layout layout_of(dtype, shape, strides, bint aligned=*)
cpdef Layout dense_layout(dtype, shape)
cpdef Layout known_dense(dtype, shape)
