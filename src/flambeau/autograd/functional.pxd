from . cimport record
from .engine cimport GraphTask, initial_grads
from ..core.tensor cimport TensorBase

cpdef list as_list(name, what, values)
cpdef list _run(name, list outputs, list grads, inputs, retain, create_graph, bint accumulates)
cpdef _check_flag(name, what, value)
cpdef _check_inputs(name, inputs)
cpdef _edge(name, tensor, bint is_input)
