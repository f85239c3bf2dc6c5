"""What a captured graph looks like, for people and for other libraries."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import callers
from ..driver.api import GraphExecHandle, GraphHandle
from ..errors import AcceleratorError
from .generator import CAPTURE_UNSUPPORTED

if TYPE_CHECKING:
    from .machine import Machine

DEBUG_HINT = "call enable_debug_mode() before the capture, or make it with CUDAGraph(keep_graph=True)"


class GraphInside:
    """The part of a CUDAGraph that shows what was captured."""

    keep_graph: bool
    _graph: GraphHandle
    _launchable: GraphExecHandle
    _in_debug_mode = False

    if TYPE_CHECKING:

        def _captured(self, name: str) -> Machine: ...

    def enable_debug_mode(self) -> None:
        """Keep what is captured from now on, so that `debug_dump` can write it."""
        self._in_debug_mode = True

    def debug_dump(self, debug_path: str) -> None:
        """Write the graph to a file, in the language of Graphviz; a warning where it was not kept.

        Raises: AcceleratorError before the end of a capture, or if the file cannot be written.
        """
        machine = self._captured("debug_dump")
        if not self._graph:
            callers.warn(f"debug_dump: nothing is written, for the graph was not kept: {DEBUG_HINT}")
            return
        machine.driver.graph_write(self._graph, str(debug_path))

    def raw_cuda_graph(self) -> int:
        """The CUgraph, as an int, for other libraries.  Raises AcceleratorError without keep_graph=True."""
        machine = self._captured("raw_cuda_graph")
        if not self.keep_graph:
            raise AcceleratorError(
                "the graph was not kept",
                hint="make it with CUDAGraph(keep_graph=True)",
                error_code=CAPTURE_UNSUPPORTED,
                operator="raw_cuda_graph",
            )
        return machine.driver.graph_raw(self._graph)

    def raw_cuda_graph_exec(self) -> int:
        """The CUgraphExec, as an int, for other libraries.  Raises AcceleratorError before `instantiate`."""
        machine = self._captured("raw_cuda_graph_exec")
        if not self._launchable:
            raise AcceleratorError(
                "the graph is not instantiated",
                hint="call instantiate() first",
                error_code=CAPTURE_UNSUPPORTED,
                operator="raw_cuda_graph_exec",
            )
        return machine.driver.graph_raw(self._launchable)
