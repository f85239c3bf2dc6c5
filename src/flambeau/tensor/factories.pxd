from .. cimport core
from ..core cimport TensorCore
from ..runtime cimport device as devices

cpdef tuple _sizes(values)
cpdef TensorCore unset(name, size, kind, device, pin_memory=*)
