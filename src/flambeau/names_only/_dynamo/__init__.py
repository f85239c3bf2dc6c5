"""torch._dynamo: the names that programs touch.  Nothing is compiled, so they have no effect."""

from ...errors import no_attribute as _no_attribute
from ...tools.eager import Setting as set_stance
from ...tools.eager import disable, optimize
from ...tools.eager import no as is_compiling
from ...tools.eager import no as is_dynamo_supported
from ...tools.eager import no_backends as list_backends
from ...tools.eager import nothing as graph_break
from ...tools.eager import nothing as mark_dynamic
from ...tools.eager import nothing as mark_static
from ...tools.eager import nothing as mark_static_address
from ...tools.eager import nothing as maybe_mark_dynamic
from ...tools.eager import nothing as reset
from ...tools.eager import same as allow_in_graph
from ...tools.eager import same as assume_constant_result
from ...tools.eager import same as disallow_in_graph
from ...tools.eager import same as run
from ...tools.eager import substitute as substitute_in_graph
from . import config, eval_frame
from .eval_frame import OptimizedModule

__all__ = [
    "OptimizedModule", "allow_in_graph", "assume_constant_result", "config", "disable", "disallow_in_graph",
    "eval_frame", "graph_break", "is_compiling", "is_dynamo_supported", "list_backends", "mark_dynamic", "mark_static",
    "mark_static_address", "maybe_mark_dynamic", "optimize", "reset", "run", "set_stance", "substitute_in_graph",
]  # fmt: skip


def __getattr__(name: str) -> object:
    raise _no_attribute(__name__, name)
