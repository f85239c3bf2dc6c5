"""torch.fx: names that programs import.  Programs are not traced, so there are no graphs."""

from ...errors import no_attribute as _no_attribute
from ...tools.eager import Graph, GraphModule, Interpreter, Node, Proxy, Tracer, symbolic_trace
from ...tools.eager import Interpreter as Transformer
from ...tools.eager import same as wrap
from . import graph_module, node, proxy

__all__ = [
    "Graph", "GraphModule", "Interpreter", "Node", "Proxy", "Tracer", "Transformer", "graph_module", "node",
    "proxy", "symbolic_trace", "wrap",
]  # fmt: skip


def __getattr__(name: str) -> object:
    raise _no_attribute(__name__, name)
