from .layout cimport Layout
from .runtime.storage cimport Storage

cdef class TensorCore:
    cdef public Storage storage
    cdef public Layout layout
    cdef public Py_ssize_t offset
    cdef public bint _requires_grad
    cdef public object _grad_fn
    cdef public Py_ssize_t output_index
    cdef public object grad
    cdef public object accumulator
    cdef public object base
    cdef public Py_ssize_t view_version
    cdef public object hooks
    cdef object __weakref__

    cpdef begin(self, Storage storage, Layout layout, Py_ssize_t offset)
    cpdef address(self)
    cpdef is_contiguous(self)
    cpdef is_aligned(self)
    cpdef numel(self)

cpdef TensorCore new(Storage storage, Layout layout, Py_ssize_t offset=*)
cpdef TensorCore over(Storage storage, dtype, shape, strides, Py_ssize_t offset=*)
cpdef TensorCore alias(TensorCore source, shape, strides, Py_ssize_t offset)
