cimport cython
from . cimport thread
from .tensor cimport TensorBase, empty_tensor

cdef int _CPU, _CURRENT, _UNKNOWN
cdef dict _indexes
cdef object _explain

@cython.locals(machine=thread.Machine, device_index=int, current=int)
cpdef int resolve(value) except? -2
cpdef tuple sizes(values, name)
cpdef TensorBase unset(name, size, dtype, where, pin_memory=*)
