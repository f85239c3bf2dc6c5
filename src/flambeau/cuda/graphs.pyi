# Written by scripts/stubs, not by hand.
from ..nn.graphed_callables import make_graphed_callables as make_graphed_callables
from ..runtime.graph import CUDAGraph as CUDAGraph
from ..runtime.graph import graph as graph
from ..runtime.graph import graph_pool_handle as graph_pool_handle
from ..runtime.graph import is_current_stream_capturing as is_current_stream_capturing
__all__ = ["CUDAGraph", "graph", "graph_pool_handle", "is_current_stream_capturing", "make_graphed_callables"]
