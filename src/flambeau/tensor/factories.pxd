from .. cimport core
from ..core cimport TensorCore
from ..runtime.device cimport resolve

cpdef tuple _sizes(values)
cpdef TensorCore unset(name, size, kind, device, pin_memory=*)
