cimport cython
from ..core cimport thread

cdef dict _known

cpdef as_device(value)
cdef dict _places
cdef int _CPU, _CURRENT

@cython.locals(machine=thread.Machine, index=int, place=int)
cpdef int resolve(value) except? -2
