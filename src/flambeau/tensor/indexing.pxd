from ..core cimport call as calls
from ..core.tensor cimport TensorBase

cpdef _selected(TensorBase tensor, index)
cdef bint _lists_rows(TensorBase tensor, TensorBase index) except -1
cpdef _sliced(view, int dim, slice item)
cpdef _bound(value)
