"""torch.accelerator.Graph: the graph of a program that does not name CUDA."""

from __future__ import annotations

from typing import Any

from ..core.native import whole
from ..memory.private import PoolId
from . import control
from .graph import CUDAGraph, hand_idle_memory_back

DEFAULT_MODE = "global"


class AnyGraph(CUDAGraph):
    """Captured work.  `with stream, g:` captures what the block puts on that stream; see torch.cuda.CUDAGraph.

    keep_graph: as there.  pool, capture_error_mode: as in its `capture_begin`; "default" is "global".
    """

    def __init__(
        self, keep_graph: bool = False, *, pool: PoolId | None = None, capture_error_mode: str = "default"
    ) -> None:
        super().__init__(keep_graph)
        self.graph_pool = pool
        self.capture_error_mode = capture_error_mode

    def capture_begin(
        self, pool: PoolId | None = None, capture_error_mode: str = "", check_input_liveness: bool = False
    ) -> None:
        """Capture what the current stream gets from now on, with what the graph was made with."""
        mode = capture_error_mode or self.capture_error_mode
        mode = DEFAULT_MODE if mode == "default" else mode
        super().capture_begin(pool or self.graph_pool, mode, check_input_liveness)

    def debug_dump(self, path: str) -> None:
        """As `CUDAGraph.debug_dump`."""
        super().debug_dump(path)

    def __enter__(self) -> AnyGraph:
        control.synchronize()
        hand_idle_memory_back()
        self.capture_begin()
        return self

    @whole
    def __exit__(self, kind: Any, *error: object) -> None:
        if kind is None:
            self.capture_end()
        else:
            self.abandon()
