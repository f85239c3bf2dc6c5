"""History of the caching allocators: the lines that allocated and freed each block, and when.

- An event is a tuple of under 200 bytes: its kind and its stack are interned, however deep the stack is.
- A stack is kept as code objects and instruction offsets.  Lines and names are looked up when a snapshot is made.
- Frees are recorded where the program frees, which may be a finalizer inside any lock: recording takes no lock.
- A free whose block waits for no stream is one event, reported as two: free_requested and free_completed.
"""

from __future__ import annotations

import itertools
import os
import sys
from collections import deque
from collections.abc import Callable, Iterator
from sys import _getframe
from time import time_ns
from typing import Any

from ..core.hooks import subscribe, unsubscribe
from ..core.pool import SHARED, Block
from ..driver.api import StreamHandle

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep

Kind = tuple[str, int, int]  # action; device, -1 for that of the stream; label
Event = tuple[Kind, int, int, int, int, int]  # kind, stack, address, bytes, stream, nanoseconds since 1970
ALLOC: Kind = ("alloc", -1, 0)
FREE: Kind = ("free", -1, 0)  # a free that is requested and completed at once
FREE_REQUESTED: Kind = ("free_requested", -1, 0)
SKIPPABLE = (
    "alloc", "free_requested", "free_completed", "segment_alloc", "segment_free", "segment_map", "segment_unmap",
    "oom", "snapshot",
)  # fmt: skip
SEGMENTS = ("segment_alloc", "segment_map")
NO_STACK = -1

Frame = tuple[str, int, str]  # file, line, function
PoolId = tuple[int, int]


class History:
    """A recorder of allocations and frees on all devices.

    events:   whether events are kept, not only the stacks of live blocks;  max_entries: the most events kept.
    context:  which stacks are kept: "state" of live blocks, "alloc" of allocations too, "all" of frees too;
              None for none.
    stacks:   "python" for all frames, "line" for the innermost one outside this package.
    skip:     actions that are not recorded.
    """

    def __init__(
        self,
        events: bool = True,
        context: str | None = "all",
        stacks: str = "python",
        max_entries: int = sys.maxsize,
        skip: tuple[str, ...] = (),
    ) -> None:
        self.metadata = ""
        self._skip = frozenset(skip)
        self._events: deque[Event] = deque(maxlen=max_entries if events else 0)
        self._live: dict[int, int] = {}  # stacks of live blocks and of segments, by address
        self._segments: dict[int, int] = {}
        self._ids: dict[tuple[int, ...], int] = {}
        self._stacks: dict[int, tuple[tuple[Any, int], ...]] = {}
        self._next = itertools.count()
        self._kinds: dict[Kind, Kind] = {}
        self._labels: dict[tuple[PoolId, str], int] = {(SHARED, ""): 0}
        self._label_of: dict[int, tuple[PoolId, str]] = {0: (SHARED, "")}
        self._next_label = itertools.count(1)
        self._of_alloc = context in ("alloc", "all")
        self._of_free = context == "all"
        tracer = self._line_tracer() if stacks == "line" else self._stack
        self._trace: Callable[[int], int] = self._nothing if context is None else tracer
        self._taken, self._freed = self._taker(), self._freer()

    def start(self) -> None:
        subscribe(on_block_taken=self._taken, on_block_freed=self._freed, on_memory=self._rare)

    def stop(self) -> None:
        unsubscribe(on_block_taken=self._taken, on_block_freed=self._freed, on_memory=self._rare)

    # recording
    def _taker(self) -> Callable[[Block, StreamHandle], None]:
        live, add, trace = self._live, self._events.append, self._trace
        records, with_stack = "alloc" not in self._skip and self._events.maxlen != 0, self._of_alloc

        def taken(block: Block, stream: StreamHandle) -> None:
            stack = trace(2)
            pool = block.segment.pool
            address = block.address
            live[address] = stack
            if records:
                kind = ALLOC
                if pool is not None and (pool.id is not SHARED or self.metadata):
                    kind = self._kind(kind, pool.id)
                add((kind, stack if with_stack else NO_STACK, address, block.requested, stream, time_ns()))

        return taken

    def _freer(self) -> Callable[[Block], None]:
        live, add, trace = self._live, self._events.append, self._trace
        records, with_stack = self._events.maxlen != 0, self._of_free

        def freed(block: Block) -> None:
            address = block.address
            waits = block.streams
            if not waits:
                live.pop(address, None)
            if records:
                pool = block.segment.pool
                kind = FREE_REQUESTED if waits else FREE
                if pool is not None and (pool.id is not SHARED or self.metadata):
                    kind = self._kind(kind, pool.id)
                stack = trace(2) if with_stack else NO_STACK
                add((kind, stack, address, block.requested, block.stream, time_ns()))

        return freed

    def _rare(self, action: str, device: int, address: int, nbytes: int, stream: int, pool: PoolId) -> None:
        stack = NO_STACK
        if action in SEGMENTS:
            stack = self._segments[address] = self._trace(2)
        elif action == "free_completed":
            self._live.pop(address, None)
        elif action == "segment_free":
            self._segments.pop(address, None)
        elif action == "oom":
            stack = self._trace(2)
        if action not in self._skip:
            kind = self._kind((action, device, 0), pool)
            self._events.append((kind, stack, address, nbytes, stream, time_ns()))

    def _kind(self, kind: Kind, pool: PoolId) -> Kind:
        """Intern a kind of event with the label of a pool and of the metadata."""
        labelled = kind[0], kind[1], self._label(pool)
        return self._kinds.setdefault(labelled, labelled)

    def _label(self, pool: PoolId) -> int:
        key = pool, self.metadata
        label = self._labels.get(key)
        if label is None:
            label = next(self._next_label)
            self._label_of[label] = key
            self._labels[key] = label
        return label

    # stacks
    def _nothing(self, depth: int) -> int:
        return NO_STACK

    def _line_tracer(self) -> Callable[[int], int]:
        known, new = self._ids.get, self._new

        def line(depth: int) -> int:
            try:
                frame = _getframe(depth)
            except ValueError:  # called from a finalizer without a Python caller
                return NO_STACK
            code = frame.f_code
            key = id(code), frame.f_lasti
            stack = known(key)
            while stack is None and frame.f_back is not None and code.co_filename.startswith(_PACKAGE):
                frame = frame.f_back
                code = frame.f_code
                key = id(code), frame.f_lasti
                stack = known(key)
            return new(key, ((code, frame.f_lasti),)) if stack is None else stack

        return line

    def _stack(self, depth: int) -> int:
        try:
            frame: Any = _getframe(depth)
        except ValueError:  # called from a finalizer without a Python caller
            return NO_STACK
        parts: list[int] = []
        add = parts.append
        while frame is not None:
            add(id(frame.f_code))
            add(frame.f_lasti)
            frame = frame.f_back
        key = tuple(parts)
        stack = self._ids.get(key)
        if stack is not None:
            return stack
        frame, frames = _getframe(depth), []
        while frame is not None:
            frames.append((frame.f_code, frame.f_lasti))
            frame = frame.f_back
        return self._new(key, tuple(frames))

    def _new(self, key: tuple[int, ...], frames: tuple[tuple[Any, int], ...]) -> int:
        """Intern a stack.  Its code objects are kept alive, so that their ids are not reused."""
        stack = next(self._next)
        self._stacks[stack] = frames
        self._ids[key] = stack
        return stack

    # reports
    def stack_of(self, address: int) -> list[Frame]:
        """Return the stack that allocated the live block at an address, innermost frame first; empty if unknown."""
        return self._frames(self._live.get(address, NO_STACK))

    def is_known(self, address: int) -> bool:
        return self._live.get(address, NO_STACK) != NO_STACK

    def segment_stack(self, address: int) -> list[Frame]:
        return self._frames(self._segments.get(address, NO_STACK))

    def line_of(self, address: int) -> str:
        """Return `file:line` of the program that allocated the live block at an address; "" if it is not known."""
        for file, line, _ in self.stack_of(address):
            if not file.startswith(_PACKAGE):
                return f"{file}:{line}"
        return ""

    def _frames(self, stack: int) -> list[Frame]:
        return [(code.co_filename, _line_at(code, at), code.co_name) for code, at in self._stacks.get(stack, ())]

    def note(self, action: str, device: int) -> None:
        """Record an event that concerns no block."""
        self._rare(action, device, 0, 0, 0, SHARED)

    def take_over(self, former: History) -> None:
        """Continue a former history: take its stacks, its labels and as many of its latest events as fit."""
        for name in ("_live", "_segments", "_ids", "_stacks", "_labels", "_label_of"):
            getattr(self, name).update(getattr(former, name))
        self._next, self._next_label = former._next, former._next_label
        self._events.extend(former._events)

    def forget_events(self) -> None:
        """Drop the events, but not the stacks of live blocks."""
        self._events.clear()

    @property
    def is_full(self) -> bool:
        """Whether the history holds the most events that it keeps, so that each new one replaces the oldest."""
        return self._events.maxlen is not None and len(self._events) >= self._events.maxlen > 0

    def entries(self) -> Iterator[dict[str, Any]]:
        """Return every event, oldest first, by the names of PyTorch's snapshots; `device` is -1 for that of the stream.

        Events with the same stack share one list of frames.
        """
        frames: dict[int, list[dict[str, Any]]] = {}
        for (action, device, label), stack, address, nbytes, stream, ns in tuple(self._events):
            if stack not in frames:
                frames[stack] = described(self._frames(stack))
            pool, metadata = self._label_of[label]
            names = ("free_requested", "free_completed") if action == "free" else (action,)
            for name in names:
                if name not in self._skip:
                    yield {
                        "action": name,
                        "device_free" if name == "oom" else "addr": address,
                        "size": nbytes,
                        "stream": stream,
                        "time_us": ns // 1000,
                        "frames": frames[stack],
                        "compile_context": "N/A",
                        "user_metadata": metadata,
                        "pool_id": pool,
                        "device": device,
                    }


def described(frames: list[Frame]) -> list[dict[str, Any]]:
    """Return frames under the keys of PyTorch's snapshots."""
    return [{"name": name, "filename": file, "line": line} for file, line, name in frames]


def _line_at(code: Any, offset: int) -> int:
    """Return the line of an instruction."""
    lines = (line for start, end, line in code.co_lines() if start <= offset < end and line)
    return int(next(lines, code.co_firstlineno))


recorder: History | None = None  # the history that is being recorded


def record(history: History | None) -> None:
    """Record into a history from now on; None stops recording."""
    global recorder
    if recorder is not None:
        recorder.stop()
    recorder = history
    if history is not None:
        history.start()
