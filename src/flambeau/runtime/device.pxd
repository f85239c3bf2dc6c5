cimport cython
from . cimport state
from .facts cimport MachineFacts

cdef dict _known

cpdef as_device(value)
cdef dict _places
cdef int _CPU, _CURRENT

@cython.locals(machine=MachineFacts, index=int, place=int)
cpdef int resolve(value) except? -2
