from ..core cimport call as calls
from ..core.tensor cimport TensorBase
from .arguments cimport sizes

cpdef bint is_operand(other) except -1
