
from ..core.tensor cimport TensorBase
from ..runtime.device cimport resolve

cdef _placed(TensorBase tensor, tuple args, dict kwargs)
cpdef tuple to_arguments(tuple args, dict kwargs)
cdef bint _flag(name, value) except -1
