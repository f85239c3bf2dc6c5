"""CUDA graphs: work that is captured once and replayed at the cost of one launch.

- One capture at a time in the machine.  From its begin to its end the allocators ask nothing of events and hand nothing
  back, capturing streams get their memory from the graph's private pool, and what must be loaded or allocated on the
  way is, with the thread's capture mode relaxed.
- The graph keeps its pool, its random states and the pinned memory that its copies use; inputs are for others to keep.
"""

from __future__ import annotations

import gc
import itertools
from typing import TYPE_CHECKING, Any

from .. import callers
from ..core import thread
from ..core.native import whole
from ..driver.api import CaptureMode, CaptureStatus, GraphExecHandle, GraphHandle
from ..errors import AcceleratorError, ArgumentError, ArgumentTypeError
from ..memory.private import PoolId
from . import arrival, control, usage
from . import device as devices
from .arrival import HostUse
from .generator import CAPTURE_UNSUPPORTED, Generator
from .graph_inputs import StaticInputs
from .graph_inside import GraphInside
from .graph_random import RandomStates
from .stream import Event, Stream
from .stream_guard import StreamGuard

if TYPE_CHECKING:
    from .machine import Machine

MODES = {mode.value: mode for mode in CaptureMode}

_pool_numbers = itertools.count(1)


def graph_pool_handle() -> PoolId:
    """A name for a memory pool that several graphs are to share: `pool=` of their captures."""
    return 0, next(_pool_numbers)


def is_current_stream_capturing() -> bool:
    """Whether the current stream is capturing.  Starts nothing.  Host: returns at once."""
    if not control.is_initialized() or thread.machine().capture is None:
        return False
    return thread.current_stream(thread.current_device()).is_capturing()


def refuse_capture(name: str, why: str, hint: str) -> None:
    """Raise AcceleratorError if the current stream is capturing: a replay would not do what a call does."""
    if is_current_stream_capturing():
        raise AcceleratorError(
            f"cannot be captured: {why}; called by {callers.caller()}",
            hint=hint,
            error_code=CAPTURE_UNSUPPORTED,
            operator=name,
        )


class CUDAGraph(GraphInside):
    """Captured work.  `with cuda.graph(g):` captures into it, `g.replay()` does the work again.

    keep_graph: instantiate at the first replay, or when asked, instead of at the end of the capture.
    """

    def __init__(self, keep_graph: bool = False) -> None:
        self.keep_graph = keep_graph
        self._forget()

    def _forget(self) -> None:
        """Be as new."""
        self._machine: Machine | None = None
        self._stream: Stream | None = None
        self._last: Stream | None = None
        self._pool: PoolId | None = None
        self._graph = GraphHandle(0)
        self._launchable = GraphExecHandle(0)
        self._random = RandomStates()
        self._inputs = StaticInputs()
        self._kept: list[HostUse] = []
        self._events: list[Event] = []
        self._checks_inputs = False

    # capturing

    def capture_begin(
        self, pool: PoolId | None = None, capture_error_mode: str = "global", check_input_liveness: bool = False
    ) -> None:
        """Capture what the current stream gets from now on.

        pool: of another graph (`g.pool()`), or a `graph_pool_handle()`, to share memory with; None for a new one.
        capture_error_mode: "global", "thread_local" or "relaxed": whose unsafe calls break the capture.
        check_input_liveness: replays look for what was freed since the capture; on virtual GPUs alone.
        Host:   waits for the current stream.
        Raises: AcceleratorError if the current stream is a default one, the graph has been captured already, or
                another capture is underway; ArgumentError for an unknown mode, ArgumentTypeError for what is no pool.
        """
        if pool is not None and not _is_pool(pool):
            raise ArgumentTypeError(
                f"{pool!r} is no memory pool",
                hint="pool= takes g.pool() or graph_pool_handle()",
                operator="capture_begin",
            )
        if capture_error_mode not in MODES:
            raise ArgumentError(
                f"unknown capture error mode {capture_error_mode!r}",
                hint=f"use one of {', '.join(MODES)}",
                operator="capture_begin",
            )
        index = devices.cuda_index()
        machine, stream = thread.machine(), thread.current_stream(index)
        if self._machine is not None:
            raise _error("capture_begin: this graph has been captured already", "reset() it first")
        if stream == machine.devices[index].default_stream:
            raise _error(
                "capture_begin: CUDA graphs must be captured on a non-default stream, and this is the default one: "
                f"{stream!r}",
                "use `with cuda.graph(g):`, or make another stream current",
            )
        if machine.capture is None:
            self._random.allocate(stream)
        self._checks_inputs = check_input_liveness
        try:
            self._begin(machine, stream, pool or graph_pool_handle(), MODES[capture_error_mode])
        except BaseException:
            self.abandon()  # it has begun if a signal handler raised at its end
            raise

    @whole
    def _begin(self, machine: Machine, stream: Stream, pool: PoolId, mode: CaptureMode) -> None:
        with machine.lock:
            if machine.capture is not None:
                raise _error(
                    f"capture_begin: a capture is underway on {machine.capture._stream!r}", "one at a time is possible"
                )
            machine.capture = self
        self._machine, self._stream, self._pool = machine, stream, pool
        self._launch_blocking, machine.launch_blocking = machine.launch_blocking, False
        for each in machine.devices:
            each.allocator.capture_started(pool)
        machine.pinned.capture_started()
        try:
            machine.driver.capture_begin(stream.handle, mode)
        except BaseException:
            self._capture_over(machine)
            self.reset()
            raise

    @whole
    def capture_end(self) -> None:
        """End the capture; the current stream is the one where it began.

        Host:   returns at once.
        Raises: AcceleratorError if the capture was broken, naming the call, or a stream that joined it was not waited
                for.  The graph is empty then.
        """
        machine = self._capturing("capture_end")
        stream = thread.current_stream(devices.cuda_index())
        if stream != self._stream:
            raise _error(
                f"capture_end: the current stream is {stream!r}, the capture began on {self._stream!r}",
                "end it on the stream where it began",
            )
        try:
            self._graph = machine.driver.capture_end(stream.handle)
        except BaseException:
            if machine.driver.capture_status(stream.handle) is CaptureStatus.NONE:
                self._capture_over(machine)
                self.reset()
            raise
        self._capture_over(machine)
        if machine.driver.graph_node_count(self._graph) == 0:
            callers.warn(f"The CUDA Graph is empty: nothing was put on {stream!r} or on a stream that joined it")
        self._inputs.note()
        if not self.keep_graph:
            self._instantiate(machine)

    def _capture_over(self, machine: Machine) -> None:
        """Let everything go on as without a capture; the next one may begin only then."""
        try:
            for each in machine.devices:
                each.allocator.capture_ended()
            machine.pinned.capture_ended()
        finally:
            machine.launch_blocking = self._launch_blocking
            machine.capture = None

    def _capturing(self, name: str) -> Machine:
        if self._machine is None or self._machine.capture is not self:
            raise _error(f"{name}: this graph is not being captured", "call capture_begin() first")
        return self._machine

    @whole
    def abandon(self) -> None:
        """End a capture whose result nobody wants; nothing if there is none."""
        machine, stream = self._machine, self._stream
        if machine is None or stream is None or machine.capture is not self:
            return
        try:
            self._graph = machine.driver.capture_end(stream.handle)
        except AcceleratorError:
            if machine.driver.capture_status(stream.handle) is not CaptureStatus.NONE:
                raise
        self._capture_over(machine)
        self.reset()

    # what captured work asks of its graph

    def covers(self, device: int) -> bool:
        """Whether work on a device's current stream is captured."""
        return device >= 0 and thread.current_stream(device).is_capturing()

    def keep(self, use: HostUse) -> None:
        """Hold on to memory that a captured copy uses; every replay uses it again."""
        self._kept.append(use)

    def keep_event(self, event: Event) -> None:
        """Hold on to an external event that replays record or wait for."""
        self._events.append(event)

    def draw(self, generator: Generator, count: int) -> tuple[int, int, int]:
        """Take `count` counters at each replay: (address of the generator's state, 0, the first one's place)."""
        return self._random.draw(generator, count)

    def register_generator_state(self, generator: Generator) -> None:
        """Let replays draw from a generator; a capture does so itself for those that it meets."""
        self._random.register(generator)

    # replaying

    def instantiate(self) -> None:
        """Make the graph ready for replays, anew if it is.  Raises AcceleratorError without keep_graph=True."""
        machine = self._captured("instantiate")
        if not self.keep_graph:
            raise _error("instantiate: the graph was not kept", "make it with CUDAGraph(keep_graph=True)")
        self._instantiate(machine)

    @whole
    def _instantiate(self, machine: Machine) -> None:
        is_kept = self.keep_graph or self._in_debug_mode
        with machine.loading():
            made = machine.driver.graph_instantiate(self._graph)
            for gone in (self._launchable, GraphHandle(0) if is_kept else self._graph):
                if gone:
                    machine.driver.graph_destroy(gone)
        self._launchable = made
        if not is_kept:
            self._graph = GraphHandle(0)

    @whole
    def replay(self) -> None:
        """Do the captured work on the current stream of the device that it was captured on.

        Host:   returns at once.
        Order:  after the work on that stream, and after the graph's last replay.
        Raises: AcceleratorError if nothing is captured, the stream is capturing, or, with FLAMBEAU_STRICT=1, a declared
                input is gone or old.
        """
        machine = self._captured("replay")
        if not self._launchable:
            self._instantiate(machine)
        assert self._stream is not None
        stream = thread.current_stream(self._stream.device_index)
        if machine.capture is not None and stream.is_capturing():
            raise _error(f"replay: {stream!r} is capturing", "a graph cannot be part of another one")
        self._inputs.check()
        if self._checks_inputs:
            usage.allocated_bytes()  # the driver learns what was dropped
        if stream is not self._last:
            for use in self._kept:
                use.memory.record_stream(stream)
        self._random.write(stream, self._last)
        stream.graph_launch(self._launchable)
        self._last = stream
        arrival.expect(self._kept, stream)
        self._inputs.use_up(stream)

    def _captured(self, name: str) -> Machine:
        if self._machine is None or self._machine.capture is self:
            raise _error(f"{name}: there is no finished capture", "capture with `with cuda.graph(g):` first")
        return self._machine

    # inputs

    def static_inputs(self, *tensors: Any) -> None:
        """Say which tensors get new values before each replay; before or during the capture, or after it.

        Without FLAMBEAU_STRICT=1 this does nothing.  With it, a replay raises if one of them was freed, or not written
        since the last replay (or the capture), and leaves poison (NaN, or -1) in them.
        """
        for each in tensors:
            self._inputs.declare(each)

    # memory

    def pool(self) -> PoolId:
        """The pool that the graph's memory comes from, for captures that are to share it."""
        if self._pool is None:
            raise _error("pool: nothing was captured", "capture first, or share a graph_pool_handle()")
        return self._pool

    @whole
    def reset(self) -> None:
        """Forget the capture.  Its memory goes back with `empty_cache`, except what tensors hold.

        Raises: AcceleratorError while it is being captured.
        """
        machine = self._machine
        if machine is None:
            return
        if machine.capture is self:
            raise _error("reset: the graph is being captured", "call capture_end() first")
        with machine.loading():
            for each in (self._launchable, self._graph):
                if each:
                    machine.driver.graph_destroy(each)
        if self._pool is not None:
            for accelerator in machine.devices:
                accelerator.allocator.release_pool(self._pool)
        self._forget()

    def __del__(self) -> None:
        machine = getattr(self, "_machine", None)  # which is missing if __init__ was interrupted
        if machine is not None and machine.capture is not self:
            self.reset()


class graph:  # noqa: N801  (the field's name for it)
    """`with cuda.graph(g):` captures what the block does on the device's capture stream, which is current inside.

    pool, capture_error_mode, check_input_liveness: as in `CUDAGraph.capture_begin`.  stream: to capture on instead.
    Host:   waits for the device, and hands idle memory back, on entry.
    Raises: AcceleratorError as capture_begin and capture_end do.
    """

    def __init__(
        self,
        cuda_graph: CUDAGraph,
        pool: PoolId | None = None,
        stream: Stream | None = None,
        capture_error_mode: str = "global",
        check_input_liveness: bool = False,
    ) -> None:
        self.cuda_graph = cuda_graph
        self.pool = pool
        self.capture_error_mode = capture_error_mode
        self.check_input_liveness = check_input_liveness
        self.capture_stream = stream if stream is not None else _capture_stream(devices.cuda_index())
        self._guard = StreamGuard(self.capture_stream)

    def __enter__(self) -> None:
        if thread.machine().capture is None:  # else capture_begin says what is wrong
            control.synchronize(self.capture_stream.device_index)
            hand_idle_memory_back()
        self._guard.__enter__()
        try:
            self.cuda_graph.capture_begin(self.pool, self.capture_error_mode, self.check_input_liveness)
        except BaseException:
            self._guard.__exit__()
            raise

    @whole
    def __exit__(self, kind: Any, *error: object) -> None:
        try:
            if kind is None:
                self.cuda_graph.capture_end()
        finally:
            try:
                self.cuda_graph.abandon()  # does nothing after an end that went well
            finally:
                self._guard.__exit__()


def hand_idle_memory_back() -> None:
    """Collect what cycles hold, and hand back what the allocators keep idle, so that graphs have room for theirs."""
    gc.collect()
    usage.empty_cache()
    usage.empty_host_cache()


def _capture_stream(index: int) -> Stream:
    accelerator = thread.machine().devices[index]
    if accelerator.capture_stream is None:
        accelerator.capture_stream = accelerator.stream_of_its_own()
    return accelerator.capture_stream


def _is_pool(value: object) -> bool:
    return isinstance(value, tuple) and len(value) == 2 and all(type(each) is int for each in value)


def _error(fact: str, hint: str) -> AcceleratorError:
    return AcceleratorError(fact, hint=hint, error_code=CAPTURE_UNSUPPORTED)
