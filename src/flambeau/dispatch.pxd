from .core cimport TensorCore

cpdef call(operator, tuple args, dict kwargs)
cpdef call_inplace(operator, tuple args, dict kwargs)
cpdef _run(operator, list bound, given, int device)
cpdef _key(operator, list bound, given)
cpdef common_device(operator, list bound)
