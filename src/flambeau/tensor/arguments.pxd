cimport cython
from ..core cimport TensorCore

cpdef sizes(values)
@cython.locals(flags=list, given=Py_ssize_t)
cpdef tuple to_arguments(tuple args, dict kwargs)
