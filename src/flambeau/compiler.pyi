# Written by scripts/stubs, not by hand.
from .tools.eager import Setting as set_stance
from .tools.eager import compile as compile
from .tools.eager import disable as disable
from .tools.eager import no as is_compiling
from .tools.eager import no as is_dynamo_compiling
from .tools.eager import no as is_exporting
from .tools.eager import no_backends as list_backends
from .tools.eager import nothing as cudagraph_mark_step_begin
from .tools.eager import nothing as reset
from .tools.eager import nothing as set_default_backend
from .tools.eager import same as allow_in_graph
from .tools.eager import same as assume_constant_result
from .tools.eager import same as nested_compile_region
from .tools.eager import same as wrap_numpy
from .tools.eager import substitute as substitute_in_graph
__all__ = ["allow_in_graph", "assume_constant_result", "compile", "cudagraph_mark_step_begin", "disable", "is_compiling", "is_dynamo_compiling", "is_exporting", "list_backends", "nested_compile_region", "reset", "set_default_backend", "set_stance", "substitute_in_graph", "wrap_numpy"]
