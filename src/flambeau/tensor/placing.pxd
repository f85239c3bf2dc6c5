cimport cython
from .. cimport transfer
from ..core cimport TensorCore
from ..runtime cimport device as devices

@cython.locals(flags=list, given=Py_ssize_t)
cpdef tuple to_arguments(tuple args, dict kwargs)
