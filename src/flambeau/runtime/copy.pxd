cimport cython
from ..core cimport thread
from ..hooks cimport Hooks
from .queue cimport Queue
from ..core.storage cimport Storage

cdef Hooks hooks

@cython.locals(to="unsigned long long", start="unsigned long long", stream=Queue, each=Storage)
cpdef copy_bytes(Storage dst, Py_ssize_t dst_offset, Storage src, Py_ssize_t src_offset, Py_ssize_t nbytes, bint non_blocking)
@cython.locals(copier=Queue, other=Queue)
cdef _between_devices(unsigned long long to, unsigned long long start, Py_ssize_t nbytes, Storage src, Storage dst)
