"""CUDA graphs: captured from streams, instantiated, launched.

- The driver itself enforces what is not permitted during a capture.  A call that it refuses ends in library.error_of,
  which adds who made it; `capture_end` repeats those that were refused since the capture began.
- Capture modes are a thread's own, in the driver: nothing of them is kept here.
"""

from __future__ import annotations

from typing import Any

from ...errors import AcceleratorError
from ..api import CaptureMode, CaptureStatus, GraphExecHandle, GraphHandle, StreamHandle
from .devices import Devices
from .handles import Stream, Table
from .library import CAPTURE_REFUSALS, INVALID_HANDLE, check

# cuda.h
DOT_VERBOSE = 1
MODES = (CaptureMode.GLOBAL, CaptureMode.THREAD_LOCAL, CaptureMode.RELAXED)
STATUSES = (CaptureStatus.NONE, CaptureStatus.ACTIVE, CaptureStatus.INVALIDATED)


class Captured:
    """A CUgraph or a CUgraphExec, and the device that it was captured on."""

    __slots__ = ("cu", "device")

    def __init__(self, device: int, cu: Any) -> None:
        self.device = device
        self.cu = cu


class GraphCalls:
    """The graph calls of the Driver."""

    _cu: Any
    _devices: Devices
    _streams: Table[Stream]

    def __init__(self) -> None:
        super().__init__()
        self._graphs: Table[Captured] = Table("graph")
        self._launchables: Table[Captured] = Table("graph")

    def capture_begin(self, stream: StreamHandle, mode: CaptureMode) -> None:
        of = self._streams[stream]
        self._devices.use(of.device)
        result = self._cu.cuStreamBeginCapture(of.cu, self._mode(mode))
        check(result, "cuStreamBeginCapture", stream=stream, device=of.device, mode=mode.value)
        CAPTURE_REFUSALS.clear()

    def capture_end(self, stream: StreamHandle) -> GraphHandle:
        of = self._streams[stream]
        self._devices.use(of.device)
        refused = tuple(CAPTURE_REFUSALS)
        result = self._cu.cuStreamEndCapture(of.cu)
        if result[0] and refused:
            check(result, "cuStreamEndCapture", stream=stream, device=of.device, refused="; ".join(refused))
        graph = check(result, "cuStreamEndCapture", stream=stream, device=of.device)
        return GraphHandle(self._graphs.add(Captured(of.device, graph)))

    def capture_status(self, stream: StreamHandle) -> CaptureStatus:
        of = self._streams[stream]
        if of.raw == 0:  # the driver refuses to say it of a default stream, which never captures
            return CaptureStatus.NONE
        self._devices.use(of.device)
        found = check(self._cu.cuStreamIsCapturing(of.cu), "cuStreamIsCapturing", stream=stream, device=of.device)
        return STATUSES[int(found)]

    def capture_mode_exchange(self, mode: CaptureMode) -> CaptureMode:
        result = self._cu.cuThreadExchangeStreamCaptureMode(self._mode(mode))
        return MODES[int(check(result, "cuThreadExchangeStreamCaptureMode", mode=mode.value))]

    def _mode(self, mode: CaptureMode) -> Any:
        return getattr(self._cu.CUstreamCaptureMode, f"CU_STREAM_CAPTURE_MODE_{mode.name}")

    def graph_node_count(self, graph: GraphHandle) -> int:
        of = self._graphs[graph]
        _, count = check(self._cu.cuGraphGetNodes(of.cu), "cuGraphGetNodes", graph=graph, device=of.device)
        return int(count)

    def graph_write(self, graph: GraphHandle, path: str) -> None:
        of = self._graphs[graph]
        self._devices.use(of.device)
        check(self._cu.cuGraphDebugDotPrint(of.cu, path.encode(), DOT_VERBOSE), "cuGraphDebugDotPrint", path=path)

    def graph_raw(self, graph: GraphHandle | GraphExecHandle) -> int:
        return int((self._launchables if graph in self._launchables else self._graphs)[graph].cu)

    def graph_instantiate(self, graph: GraphHandle) -> GraphExecHandle:
        of = self._graphs[graph]
        self._devices.use(of.device)
        made = check(self._cu.cuGraphInstantiate(of.cu, 0), "cuGraphInstantiate", graph=graph, device=of.device)
        return GraphExecHandle(self._launchables.add(Captured(of.device, made)))

    def graph_launch(self, graph: GraphExecHandle, stream: StreamHandle) -> None:
        found, of = self._launchables[graph], self._streams[stream]
        if found.device != of.device:
            raise AcceleratorError(
                f"captured on device {found.device}, launched on stream {stream} of device {of.device}",
                error_code=INVALID_HANDLE,
                operator="graph_launch",
            )
        self._devices.use(of.device)
        result = self._cu.cuGraphLaunch(found.cu, of.cu)
        if result[0]:
            check(result, "cuGraphLaunch", graph=graph, stream=stream, device=of.device)

    def graph_destroy(self, graph: GraphHandle | GraphExecHandle) -> None:
        if graph in self._launchables:
            gone = self._launchables.remove(graph)
            self._devices.use(gone.device)
            check(self._cu.cuGraphExecDestroy(gone.cu), "cuGraphExecDestroy", graph=graph, device=gone.device)
        else:
            gone = self._graphs.remove(graph)
            check(self._cu.cuGraphDestroy(gone.cu), "cuGraphDestroy", graph=graph, device=gone.device)
