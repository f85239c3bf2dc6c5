cimport cython
from . cimport core
from .autograd cimport record
from .core cimport TensorCore
from .dispatch cimport call_two
from .hooks cimport Hooks
from .ops.operator cimport Operator
from .runtime.copy cimport copy_bytes

cdef Hooks hooks
cdef Operator _convert

cpdef TensorCore dense(TensorCore tensor, wanted)
@cython.locals(source=TensorCore, target=TensorCore)
cpdef TensorCore to_device(TensorCore tensor, int device, bint non_blocking)
@cython.locals(size=Py_ssize_t)
cdef _move(TensorCore target, TensorCore source, bint non_blocking)
cpdef move(TensorCore input, int device, bint non_blocking=*)
@cython.locals(here=int)
cpdef to(TensorCore input, int device, wanted, bint non_blocking=*, bint copy=*, format=*)
cdef _converted(TensorCore input, wanted)
