"""Graphs of virtual GPUs: captured once, then queued again as a whole.

- A launch queues every node as a separate command, so values, races and modelled times are those of the same calls
  made again.  The origin's nodes go to the launching stream, those of each other stream to a separate hidden queue:
  two nodes are ordered in the launch exactly if they were in the capture.
- Where races are errors, a dry run comes first: if one of the nodes races, none is queued.
- A launch follows earlier work of its stream and the graph's own last launch; the stream continues after all nodes.
- Memory that was allocated in the capture is reused.  All other memory must be in the same blocks as at the capture.
"""

from __future__ import annotations

import json
import threading
from pathlib import Path

from ... import callers
from ...config import Gpus
from ...errors import AcceleratorError, AccessError, NotSupportedError
from ..api import CaptureMode, CaptureStatus, EventHandle, GraphExecHandle, GraphHandle, StreamHandle
from .access import History, MemoryAccess
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
from .engine import Engine
from .events import INVALID_HANDLE, Event, Events, Generation
from .memory import ILLEGAL_ADDRESS, Block
from .queue import Queue, run_poison
from .schedule import Schedule
from .submission import Command

ILLEGAL_STATE = 401  # CUresult
OPERATING_SYSTEM = 304  # CUresult


class Graph:
    """A captured graph.  devices: those of its streams, the origin's first."""

    def __init__(self, nodes: list[Node], devices: list[int]) -> None:
        self.nodes = nodes
        self.devices = devices
        self.awaited = {at for node in nodes for at in node.after}

    def dot(self) -> str:
        """Return the graph in Graphviz's DOT language: nodes with name, device and source line, and edges."""
        lines = ["digraph graph_1 {"]
        last: dict[int, int] = {}
        for at, node in enumerate(self.nodes):
            label = json.dumps(f"{node.name}\ncuda:{node.device}\n{node.site}")
            lines.append(f"  {at} [label={label}];")
            before = [last[node.branch]] if node.branch in last else []
            lines += [f"  {other} -> {at};" for other in sorted({*before, *node.after})]
            last[node.branch] = at
        return "\n".join([*lines, "}", ""])


class Launchable:
    """A launchable graph.  branches: its hidden queues;  last: the point after its last launch."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.branches = [Queue(StreamHandle(next_handle()), device, 0, False) for device in graph.devices[1:]]
        self.last: Generation | None = None


class Submission:
    """Executes the steps of a graph launch on the machine."""

    def __init__(self, engine: Engine, events: Events) -> None:
        self.engine = engine
        self.events = events

    def point(self, branch: Queue) -> Generation:
        return self.events.point(branch)

    def follow(self, branch: Queue, point: Generation) -> None:
        self.events.follow(branch, point)

    def submit(self, branch: Queue, node: Node, blocks: list[Block], site: str) -> None:
        self.engine.submit(
            branch, node.name, node.work, node.detail, node.accesses, blocks, node.duration_ns, 0, node.engines,
            node.origin, site, node.work is not run_poison,
        )  # fmt: skip

    def record(self, event: Event, branch: Queue) -> None:
        self.events.mark(event, branch)

    def latest(self, event: Event) -> Generation | None:
        return event.latest


class Trial(Submission):
    """Dry run of a graph launch on the clocks: finds races and queues nothing.  `undo` ends it."""

    def __init__(self, engine: Engine, events: Events, branches: list[Queue]) -> None:
        super().__init__(engine, events)
        engine.clocks.witness = None  # tools must not be notified of a dry run
        self._saved = [(branch, branch.waits, engine.clocks.stream(branch.handle).copy()) for branch in branches]
        self._histories: dict[Block, History] = {}
        self._recorded: dict[EventHandle, Generation] = {}

    def undo(self) -> None:
        """Restore the clocks and waits from before the dry run."""
        for branch, waits, state in self._saved:
            branch.waits = waits
            self.engine.clocks.restore(branch.handle, state)
        self.engine.clocks.witness = self.engine.races.witness

    def point(self, branch: Queue) -> Generation:
        return Generation(None, self.engine.clocks.snapshot(branch.handle), 0)

    def follow(self, branch: Queue, point: Generation) -> None:
        self.engine.clocks.learn(branch.handle, point.clock)

    def submit(self, branch: Queue, node: Node, blocks: list[Block], site: str) -> None:
        """Check a node.  Raises RaceError for a race with earlier work or with an earlier node."""
        own = [self._histories.setdefault(block, History()) for block in blocks]
        self.engine.check(branch, node.name, node.origin, site, node.accesses, blocks)
        races = self.engine.check(branch, node.name, node.origin, site, node.accesses, blocks, own)
        command = Command(branch, node.name, node.work, node.detail, node.accesses, blocks, node.origin, site)
        command.advance(self.engine.clocks.stream(branch.handle))
        self.engine.races.record(command, races, own)

    def record(self, event: Event, branch: Queue) -> None:
        self._recorded[event.handle] = self.point(branch)

    def latest(self, event: Event) -> Generation | None:
        return self._recorded.get(event.handle, event.latest)


def _walk(launchable: Launchable, queue: Queue, blocks: list[list[Block]], steps: Submission, site: str) -> Generation:
    """Execute the steps of a launch; return the point after it."""
    if launchable.last is not None:
        steps.follow(queue, launchable.last)
    branches = [queue, *launchable.branches]
    start = steps.point(queue)
    for branch in launchable.branches:
        steps.follow(branch, start)
    points: dict[int, Generation] = {}
    for at, (node, accessed) in enumerate(zip(launchable.graph.nodes, blocks)):
        branch = branches[node.branch]
        for other in node.after:
            steps.follow(branch, points[other])
        if not isinstance(node, EventNode):
            steps.submit(branch, node, accessed, site)
        elif node.name == "event_record":
            steps.record(node.event, branch)
        elif (latest := steps.latest(node.event)) is not None:
            steps.follow(branch, latest)
        if at in launchable.graph.awaited:
            points[at] = steps.point(branch)
    for branch in launchable.branches:
        steps.follow(queue, steps.point(branch))
    return steps.point(queue)


class GraphCalls(Calls):
    """The graph calls of the Driver."""

    def __init__(self, choice: Gpus, schedule: Schedule | None = None) -> None:
        super().__init__(choice, schedule)
        self._graphs: dict[GraphHandle, Graph] = {}
        self._launchables: dict[GraphExecHandle, Launchable] = {}

    def capture_begin(self, stream: StreamHandle, mode: CaptureMode) -> None:
        with self._lock:
            queue = self._queue(stream)
            if queue.is_default:
                raise AcceleratorError(
                    f"stream {stream} is the default stream of device {queue.device}, which cannot be captured",
                    hint="capture on a side stream",
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
                    f"{', '.join(f'stream {branch.handle}' for branch in unjoined)}, which joined it",
                    hint="let the first stream wait_stream() for each one before the capture ends",
                    error_code=CAPTURE_UNJOINED,
                    operator="capture_end",
                )
            handle = GraphHandle(next_handle())
            self._graphs[handle] = Graph(capture.nodes, [branch.device for branch in capture.branches])
            return handle

    def _ending(self, queue: Queue) -> Capture:
        """Return the capture that began on a stream.  Raises AcceleratorError if this thread may not end it."""
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
            captured = self._lookup(self._graphs, graph, "graph")
            handle = GraphExecHandle(next_handle())
            launchable = self._launchables[handle] = Launchable(captured)
            self._engine.runner.queues |= dict.fromkeys(launchable.branches)
            return handle

    def graph_launch(self, graph: GraphExecHandle, stream: StreamHandle) -> None:
        with self._lock:
            queue = self._queue(stream)
            launchable = self._lookup(self._launchables, graph, "graph")
            if queue.capture is not None:
                raise NotSupportedError(
                    f"stream {stream} is capturing; graphs within graphs are not supported", operator="graph_launch"
                )
            if queue.device != launchable.graph.devices[0]:
                raise AcceleratorError(
                    f"the graph was captured on device {launchable.graph.devices[0]}, and launched on stream {stream} "
                    f"of device {queue.device}",
                    error_code=INVALID_HANDLE,
                    operator="graph_launch",
                )
            blocks = [self._blocks(node) for node in launchable.graph.nodes]
            self._launch_graph(launchable, queue, blocks)

    def _launch_graph(self, launchable: Launchable, queue: Queue, blocks: list[list[Block]]) -> None:
        """Queue all nodes; later work of the stream follows them.  If a node would raise, queue none."""
        site = callers.call_site()
        for branch in launchable.branches:
            branch.launched_on = queue
        if self._engine.races.witness is not None:
            self._engine.races.witness.begins(queue, self._engine.clocks.stream(queue.handle).count, site)
        if self._engine.races.raises:
            trial = Trial(self._engine, self._events_of, [queue, *launchable.branches])
            try:
                _walk(launchable, queue, blocks, trial, site)
            finally:
                trial.undo()
        self._engine.clock.spend(self._engine.card.host.graph)
        runner = self._engine.runner
        runner.is_interruptible = False  # a launch is queued as a whole, even if a full queue makes it wait
        try:
            launchable.last = _walk(launchable, queue, blocks, Submission(self._engine, self._events_of), site)
        finally:
            runner.is_interruptible = True

    def _blocks(self, node: Node) -> list[Block]:
        return [self._block(node, access, home) for access, home in zip(node.accesses, node.homes)]

    def _block(self, node: Node, access: MemoryAccess, home: Home) -> Block:
        """Return the block whose bytes a node accesses.

        Raises: AccessError if they have another owner than at the capture.
        """
        memory = self._engine.memory
        device = node.device if home.block.device is None else home.block.device
        if home.segment is not None:
            if memory.devices[device].is_there(home.segment) and home.segment.shared is not None:
                return home.segment.shared
            raise _gone(node, access, "the graph's own memory was freed")
        block = memory.find(device, access.low, access.high, f"graph_launch: {node.name}, captured at {node.site}")
        if block is not home.block or block.takes != home.takes:
            raise _gone(node, access, "the memory was freed after the capture and has a new owner")
        return block

    def graph_destroy(self, graph: GraphHandle | GraphExecHandle) -> None:
        """Destroy a launchable graph; launched work continues."""
        with self._lock:
            if graph in self._graphs:
                del self._graphs[GraphHandle(graph)]
                return
            self._lookup(self._launchables, GraphExecHandle(graph), "graph")
            for branch in self._launchables.pop(GraphExecHandle(graph)).branches:
                self._engine.retire(branch)


def _gone(node: Node, access: MemoryAccess, why: str) -> AccessError:
    return AccessError(
        f"{node.name}, captured at {node.site}: bytes [{access.low:#x}, {access.high:#x}): {why}",
        hint="keep a reference to every tensor that the graph uses",
        error_code=ILLEGAL_ADDRESS,
        operator="graph_launch",
    )
