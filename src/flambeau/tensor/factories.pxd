
from ..core.tensor cimport TensorBase
from ..runtime.device cimport resolve

cpdef tuple _sizes(values)
cpdef TensorBase unset(name, size, kind, device, pin_memory=*)
