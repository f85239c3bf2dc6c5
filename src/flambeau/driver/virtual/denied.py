"""The calls of the Driver Protocol that virtual GPUs do not have yet."""

from __future__ import annotations

from typing import NoReturn

from ...errors import NotSupportedError
from ..api import CaptureMode, GraphExecHandle, GraphHandle, StreamHandle


class Denied:
    """Capturing graphs.  Each call raises NotSupportedError."""

    def capture_begin(self, stream: StreamHandle, mode: CaptureMode) -> NoReturn:
        raise _denial("capture_begin")

    def capture_end(self, stream: StreamHandle) -> NoReturn:
        raise _denial("capture_end")

    def capture_status(self, stream: StreamHandle) -> NoReturn:
        raise _denial("capture_status")

    def capture_mode_exchange(self, mode: CaptureMode) -> NoReturn:
        raise _denial("capture_mode_exchange")

    def graph_instantiate(self, graph: GraphHandle) -> NoReturn:
        raise _denial("graph_instantiate")

    def graph_launch(self, graph: GraphExecHandle, stream: StreamHandle) -> NoReturn:
        raise _denial("graph_launch")

    def graph_destroy(self, graph: GraphHandle | GraphExecHandle) -> NoReturn:
        raise _denial("graph_destroy")


def _denial(call: str) -> NotSupportedError:
    return NotSupportedError(f"{call}: the virtual driver does not have this ability")
