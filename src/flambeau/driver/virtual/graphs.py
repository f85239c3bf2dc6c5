"""Graphs of virtual GPUs: captured once, then queued again as a whole.

- A launch queues every node as a command of its own, so values, races and modelled times are those of the same calls
  made again.  The origin's nodes go to the launching stream, those of each other stream to a hidden queue of its own:
  two nodes have an order in the launch exactly if they had one in the capture.
- A launch follows the work before it on its stream and the graph's own last launch; the stream goes on after all nodes.
- Memory that the capture took is used as it is.  All other memory must still be what it was at the capture.
"""

from __future__ import annotations

import json
import threading
from pathlib import Path

from ...errors import AcceleratorError, AccessError, NotSupportedError
from ..api import CaptureMode, CaptureStatus, GraphExecHandle, GraphHandle, StreamHandle
from .base import Calls, next_handle
from .capture import (
    CAPTURE_INVALIDATED,
    CAPTURE_UNJOINED,
    CAPTURE_UNMATCHED,
    CAPTURE_UNSUPPORTED,
    CAPTURE_WRONG_THREAD,
    Capture,
    EventNode,
    Home,
    Node,
)
from .events import INVALID_HANDLE, Generation
from .memory import ILLEGAL_ADDRESS, Block
from .queue import Queue
from .touch import Touch

ILLEGAL_STATE = 401  # CUresult
OPERATING_SYSTEM = 304  # CUresult


class Graph:
    """What a capture gave.  devices: of its streams, the origin's first."""

    def __init__(self, nodes: list[Node], devices: list[int]) -> None:
        self.nodes = nodes
        self.devices = devices
        self.awaited = {at for node in nodes for at in node.after}

    def dot(self) -> str:
        """The nodes by their number, with what they are and where they were captured, and what each one follows."""
        lines = ["digraph graph_1 {"]
        last: dict[int, int] = {}
        for at, node in enumerate(self.nodes):
            label = json.dumps(f"{node.name}\ncuda:{node.device}\n{node.site}")
            lines.append(f"  {at} [label={label}];")
            before = [last[node.lane]] if node.lane in last else []
            lines += [f"  {other} -> {at};" for other in sorted({*before, *node.after})]
            last[node.lane] = at
        return "\n".join([*lines, "}", ""])


class Launchable:
    """A graph that can be launched.  lanes: its hidden queues;  last: when its last launch is done."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.lanes = [Queue(StreamHandle(next_handle()), device, 0, False) for device in graph.devices[1:]]
        self.last: Generation | None = None


class GraphCalls(Calls):
    """The graph calls of the Driver."""

    def __init__(self, *arguments: object) -> None:
        super().__init__(*arguments)  # type: ignore[arg-type]
        self._graphs: dict[GraphHandle, Graph] = {}
        self._launchables: dict[GraphExecHandle, Launchable] = {}

    def capture_begin(self, stream: StreamHandle, mode: CaptureMode) -> None:
        with self._lock:
            queue = self._queue(stream)
            if queue.is_default:
                raise AcceleratorError(
                    f"stream {stream} is the default stream of device {queue.device}, which cannot be captured",
                    hint="capture on a stream of your own",
                    error_code=CAPTURE_UNSUPPORTED,
                    operator="capture_begin",
                )
            if queue.capture is not None:
                raise AcceleratorError(
                    f"stream {stream} takes part in {queue.capture}", error_code=ILLEGAL_STATE, operator="capture_begin"
                )
            self._captures.begin(Capture(self._engine.memory, queue, mode, self.faults.capture))

    def capture_end(self, stream: StreamHandle) -> GraphHandle:
        with self._lock:
            queue = self._queue(stream)
            capture = self._ending(queue)
            unjoined = capture.unjoined()
            self._captures.end(capture)
            if capture.broken:
                raise AcceleratorError(
                    f"{capture} was broken: {capture.broken}", error_code=CAPTURE_INVALIDATED, operator="capture_end"
                )
            if unjoined:
                raise AcceleratorError(
                    f"{capture} does not follow the work of "
                    f"{', '.join(f'stream {each.handle}' for each in unjoined)}, which joined it",
                    hint="let the first stream wait_stream() for each one before the capture ends",
                    error_code=CAPTURE_UNJOINED,
                    operator="capture_end",
                )
            handle = GraphHandle(next_handle())
            self._graphs[handle] = Graph(capture.nodes, [each.device for each in capture.lanes])
            return handle

    def _ending(self, queue: Queue) -> Capture:
        """The capture that a stream began, and this thread may end."""
        capture = queue.capture
        if capture is None or capture.origin is not queue:
            raise AcceleratorError(
                f"no capture began on stream {queue.handle}", error_code=CAPTURE_UNMATCHED, operator="capture_end"
            )
        if capture.mode is not CaptureMode.RELAXED and capture.thread != threading.get_ident():
            raise AcceleratorError(
                f"{capture} was begun by another thread", error_code=CAPTURE_WRONG_THREAD, operator="capture_end"
            )
        return capture

    def capture_status(self, stream: StreamHandle) -> CaptureStatus:
        with self._lock:
            capture = self._queue(stream).capture
            if capture is None:
                return CaptureStatus.NONE
            return CaptureStatus.INVALIDATED if capture.broken else CaptureStatus.ACTIVE

    def capture_mode_exchange(self, mode: CaptureMode) -> CaptureMode:
        with self._lock:
            previous, self._captures.mode = self._captures.mode, mode
            return previous

    def graph_node_count(self, graph: GraphHandle) -> int:
        with self._lock:
            return len(self._lookup(self._graphs, graph, "graph").nodes)

    def graph_write(self, graph: GraphHandle, path: str) -> None:
        with self._lock:
            text = self._lookup(self._graphs, graph, "graph").dot()
        try:
            Path(path).write_text(text, encoding="utf-8")
        except OSError as failure:
            raise AcceleratorError(
                f"{path!r} cannot be written: {failure}", error_code=OPERATING_SYSTEM, operator="graph_write"
            ) from failure

    def graph_raw(self, graph: GraphHandle | GraphExecHandle) -> int:
        with self._lock:
            if graph not in self._launchables:
                self._lookup(self._graphs, GraphHandle(graph), "graph")
            return graph

    def graph_instantiate(self, graph: GraphHandle) -> GraphExecHandle:
        with self._lock:
            self._captures.check_unsafe("graph_instantiate")
            found = self._lookup(self._graphs, graph, "graph")
            handle = GraphExecHandle(next_handle())
            made = self._launchables[handle] = Launchable(found)
            self._engine.runner.queues += made.lanes
            return handle

    def graph_launch(self, graph: GraphExecHandle, stream: StreamHandle) -> None:
        with self._lock:
            queue = self._queue(stream)
            found = self._lookup(self._launchables, graph, "graph")
            if queue.capture is not None:
                raise NotSupportedError(
                    f"stream {stream} is capturing; graphs in graphs cannot be had", operator="graph_launch"
                )
            if queue.device != found.graph.devices[0]:
                raise AcceleratorError(
                    f"captured on device {found.graph.devices[0]}, launched on stream {stream} of "
                    f"device {queue.device}",
                    error_code=INVALID_HANDLE,
                    operator="graph_launch",
                )
            blocks = [self._blocks(node) for node in found.graph.nodes]
            self._launch_graph(found, queue, blocks)

    def _launch_graph(self, found: Launchable, queue: Queue, blocks: list[list[Block]]) -> None:
        """Queue every node, and let the stream go on after all of them."""
        events, engine = self._events_of, self._engine
        engine.clock.spend(engine.preset.launch_ns)
        if found.last is not None:
            events.follow(queue, found.last)
        lanes = [queue, *found.lanes]
        start = events.point(queue)
        for lane in found.lanes:
            events.follow(lane, start)
        points: dict[int, Generation] = {}
        for at, (node, touched) in enumerate(zip(found.graph.nodes, blocks)):
            lane = lanes[node.lane]
            for other in node.after:
                events.follow(lane, points[other])
            if isinstance(node, EventNode):
                self._pass(node, lane)
            else:
                engine.submit(
                    lane, node.name, node.work, node.detail, node.touches, touched, node.duration_ns, 0, node.engines,
                    node.site, node.called,
                )  # fmt: skip
            if at in found.graph.awaited:
                points[at] = events.point(lane)
        for lane in found.lanes:
            events.follow(queue, events.point(lane))
        found.last = events.point(queue)

    def _pass(self, node: EventNode, lane: Queue) -> None:
        """Record the event of a node, or wait for what is now its latest record."""
        if node.name == "event_record":
            self._events_of.mark(node.event, lane)
        elif node.event.latest is not None:
            self._events_of.follow(lane, node.event.latest)

    def _blocks(self, node: Node) -> list[Block]:
        return [self._block(node, touch, home) for touch, home in zip(node.touches, node.homes)]

    def _block(self, node: Node, touch: Touch, home: Home) -> Block:
        """The block whose bytes a node touches.  Raises AccessError if they are not what they were at the capture."""
        memory = self._engine.memory
        device = node.device if home.block.device is None else home.block.device
        if home.segment is not None:
            if memory.devices[device].is_there(home.segment) and home.segment.shared is not None:
                return home.segment.shared
            raise _gone(node, touch, "the graph's own memory was handed back")
        block = memory.find(device, touch.low, touch.high, f"graph_launch: {node.name}, captured at {node.site}")
        if block is not home.block or block.takes != home.takes:
            raise _gone(node, touch, "the memory was freed after the capture, and another owner has it")
        return block

    def graph_destroy(self, graph: GraphHandle | GraphExecHandle) -> None:
        """What was launched goes on."""
        with self._lock:
            if graph in self._graphs:
                del self._graphs[GraphHandle(graph)]
                return
            self._lookup(self._launchables, GraphExecHandle(graph), "graph")
            for lane in self._launchables.pop(GraphExecHandle(graph)).lanes:
                self._engine.retire(lane)


def _gone(node: Node, touch: Touch, why: str) -> AccessError:
    return AccessError(
        f"{node.name}, captured at {node.site}: bytes [{touch.low:#x}, {touch.high:#x}): {why}",
        hint="keep a reference to every tensor that the graph uses",
        error_code=ILLEGAL_ADDRESS,
        operator="graph_launch",
    )
