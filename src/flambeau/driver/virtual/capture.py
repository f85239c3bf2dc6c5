"""Stream capture: work of capturing streams is recorded instead of queued.

- A capture begins on one stream, its origin.  A stream that waits for an event of the capture joins it; by the end, all
  that joined must have been waited for by the origin, directly or not.
- Recorded work is checked as if it were queued, except for races, which are checked at each launch.
- A call that is not permitted in a capture raises and breaks the capture: its streams accept no more work, and
  `capture_end` reports the call.
- Calls that may wait or change memory are unsafe.  They break the calling thread's captures and other threads' captures
  in mode GLOBAL, unless the capture, or the calling thread, is in a laxer mode.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any, NamedTuple, NoReturn

from ... import callers
from ...callers import Origin
from ...errors import AcceleratorError
from ..api import CaptureMode
from .access import MemoryAccess
from .clock import CopyEngine
from .faults import Countdown
from .memory import Block, Memory, Segment
from .queue import Queue, Work

CAPTURE_UNSUPPORTED = 900  # CUresult
CAPTURE_INVALIDATED = 901  # CUresult
CAPTURE_MERGE = 902  # CUresult
CAPTURE_UNMATCHED = 903  # CUresult
CAPTURE_UNJOINED = 904  # CUresult
CAPTURE_ISOLATION = 905  # CUresult
CAPTURED_EVENT = 907  # CUresult
CAPTURE_WRONG_THREAD = 908  # CUresult
MOVE = "move the call out of the capture"


class Home(NamedTuple):
    """The memory of a captured access: a segment owned by graphs, or a block at its n-th allocation (`takes`)."""

    block: Block
    takes: int
    segment: Segment | None


class Node:
    """A captured operation.  branch: the index of its stream;  after: nodes of other branches that it follows."""

    __slots__ = (
        "accesses", "after", "branch", "detail", "device", "duration_ns", "engines", "homes", "name", "origin", "work",
    )  # fmt: skip

    def __init__(self, branch: int, device: int, name: str, work: Work, detail: Any) -> None:
        self.branch = branch
        self.device = device
        self.name = name
        self.work = work
        self.detail = detail
        self.origin: Origin = ("", "")
        self.after: tuple[int, ...] = ()
        self.accesses: Sequence[MemoryAccess] = ()
        self.homes: list[Home] = []
        self.duration_ns = 0
        self.engines: Sequence[CopyEngine] = ()

    @property
    def site(self) -> str:
        """The source line of the captured call."""
        return callers.described(self.origin)[0]


class EventNode(Node):
    """An event record or wait that each launch of the graph repeats."""

    __slots__ = ("event",)

    def __init__(self, branch: int, device: int, name: str, event: Any) -> None:
        super().__init__(branch, device, name, nothing, None)
        self.event = event


def nothing(command: object) -> None:
    """Do nothing: event nodes have no work."""


class Capture:
    """An active capture.  nodes: in the order of the calls;  branches: its streams, the origin first.

    fault: the injected failure that breaks the capture in tests.
    """

    def __init__(self, memory: Memory, origin: Queue, mode: CaptureMode, fault: Countdown) -> None:
        self.memory = memory
        self.fault = fault
        self.origin = origin
        self.mode = mode
        self.thread = threading.get_ident()
        self.nodes: list[Node] = []
        self.branches: list[Queue] = []
        self.broken = ""
        self.join(origin, ())

    def __repr__(self) -> str:
        return f"the capture on stream {self.origin.handle} of device {self.origin.device}, mode {self.mode.value}"

    def join(self, queue: Queue, after: tuple[int, ...]) -> None:
        """Add a stream to the capture; its next work follows the nodes `after`."""
        if queue.capture is None:
            queue.capture = self
            queue.tails = ()
            self.branches.append(queue)
        queue.tails = tuple(sorted({*queue.tails, *after}))

    def leave(self) -> None:
        """Remove all streams from the capture, so that they queue work again."""
        for queue in self.branches:
            queue.capture = None
            queue.tails = ()

    def check(self, name: str) -> None:
        """Raise AcceleratorError if the capture is broken."""
        if self.broken:
            raise AcceleratorError(
                f"{self} was broken before: {self.broken}", error_code=CAPTURE_INVALIDATED, operator=name
            )

    def record(
        self,
        queue: Queue,
        name: str,
        work: Work,
        detail: Any,
        accesses: Sequence[MemoryAccess],
        blocks: Sequence[Block],
        duration_ns: int,
        engines: Sequence[CopyEngine],
    ) -> None:
        """Record work as the next node of a stream."""
        if self.fault.strikes():
            self.broken = self.broken or f"{name}: an injected failure broke the capture, as another thread would"
        self.check(name)
        node = Node(self.branches.index(queue), queue.device, name, work, detail)
        node.accesses, node.duration_ns, node.engines = accesses, duration_ns, engines
        node.homes = [Home(block, block.takes, self.memory.graph_segment(block)) for block in blocks]
        self._append(queue, node)

    def note(self, queue: Queue, name: str, event: Any) -> None:
        """Add a node that makes each launch record an event, or wait for it."""
        self.check(name)
        self._append(queue, EventNode(self.branches.index(queue), queue.device, name, event))

    def _append(self, queue: Queue, node: Node) -> None:
        node.origin = callers.origin()
        node.after = tuple(at for at in queue.tails if self.nodes[at].branch != node.branch)
        self.nodes.append(node)
        queue.tails = (len(self.nodes) - 1,)

    def unjoined(self) -> list[Queue]:
        """Return the streams that have not been joined back into the origin."""
        reached: set[int] = set()
        stack = list(self.origin.tails)
        while stack:
            at = stack.pop()
            if at not in reached:
                reached.add(at)
                stack += self._before(at)
        return [queue for queue in self.branches[1:] if not set(queue.tails) <= reached]

    def _before(self, at: int) -> list[int]:
        """Return the nodes that node `at` follows directly."""
        node = self.nodes[at]
        same = next((index for index in range(at - 1, -1, -1) if self.nodes[index].branch == node.branch), None)
        return [*node.after, *([] if same is None else [same])]


class Captures:
    """The active captures of a machine, and the calls that they forbid."""

    def __init__(self) -> None:
        self.active: list[Capture] = []
        self._thread = threading.local()

    @property
    def mode(self) -> CaptureMode:
        """The calling thread's capture mode."""
        return getattr(self._thread, "mode", CaptureMode.GLOBAL)

    @mode.setter
    def mode(self, mode: CaptureMode) -> None:
        self._thread.mode = mode

    def begin(self, capture: Capture) -> None:
        self.active.append(capture)

    def end(self, capture: Capture) -> None:
        self.active.remove(capture)
        capture.leave()

    def check_unsafe(self, name: str) -> None:
        """Raise AcceleratorError if a capture forbids unsafe calls of this thread; the captures break."""
        forbidding = [capture for capture in self.active if self._is_forbidden(capture)]
        if forbidding:
            hint = "call it outside of captures, or capture in mode thread_local (own calls) or relaxed (any)"
            self.break_all(forbidding, f"{name}: not permitted", CAPTURE_UNSUPPORTED, hint)

    def _is_forbidden(self, capture: Capture) -> bool:
        if self.mode is CaptureMode.RELAXED:
            return False
        if capture.thread == threading.get_ident():
            return capture.mode is not CaptureMode.RELAXED
        return self.mode is CaptureMode.GLOBAL and capture.mode is CaptureMode.GLOBAL

    def check_stream(self, queue: Queue, name: str) -> None:
        """Raise AcceleratorError for a wait or a query of a capturing stream, or if unsafe calls are forbidden."""
        if queue.capture is not None:
            self.break_all([queue.capture], f"{name}: not permitted on stream {queue.handle}", CAPTURE_UNSUPPORTED)
        self.check_unsafe(name)

    def check_device(self, device: int, name: str) -> None:
        """Raise AcceleratorError for a wait for a device with a capturing stream."""
        capturing = [capture for capture in self.active if any(queue.device == device for queue in capture.branches)]
        if capturing:
            self.break_all(capturing, f"{name}: not permitted on device {device}", CAPTURE_UNSUPPORTED)
        self.check_unsafe(name)

    def break_all(self, captures: Sequence[Capture], what: str, code: int, hint: str = MOVE) -> NoReturn:
        """Break captures, and raise AcceleratorError with the reason."""
        reason = f"{what} during {captures[0]!r}; called by {callers.caller()}"
        for capture in captures:
            capture.broken = capture.broken or reason
        raise AcceleratorError(reason, hint=hint, error_code=code)
