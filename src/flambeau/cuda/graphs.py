"""torch.cuda.graphs: work that is captured once and replayed."""

import importlib as _importlib

from ..errors import no_attribute as _no_attribute
from ..runtime.graph import CUDAGraph, graph, graph_pool_handle, is_current_stream_capturing


def __getattr__(name: str) -> object:
    """Load names that need further modules when they are first used."""
    if name == "make_graphed_callables":
        return _importlib.import_module("flambeau.nn.graphed_callables").make_graphed_callables
    raise _no_attribute(__name__, name)


__all__ = ["CUDAGraph", "graph", "graph_pool_handle", "is_current_stream_capturing", "make_graphed_callables"]  # noqa: F822
