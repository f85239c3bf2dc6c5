from .. cimport transfer
from ..core cimport TensorCore
from ..runtime.device cimport resolve

cdef _placed(TensorCore tensor, tuple args, dict kwargs)
cpdef tuple to_arguments(tuple args, dict kwargs)
cdef bint _flag(name, value) except -1
