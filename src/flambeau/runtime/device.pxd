cimport cython
from . cimport state
from .facts cimport MachineFacts

cdef dict _known

cpdef as_device(value)
@cython.locals(machine=MachineFacts, index=int)
cpdef int resolve(value) except? -2
