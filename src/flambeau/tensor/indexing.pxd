from .. cimport core, dispatch
from ..core cimport TensorCore

cpdef _selected(TensorCore tensor, index)
cdef bint _lists_rows(TensorCore tensor, TensorCore index) except -1
cpdef _sliced(view, int dim, slice item)
cpdef _bound(value)
