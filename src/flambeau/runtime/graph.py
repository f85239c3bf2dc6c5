"""CUDA graphs: capture work once, replay it with one launch.

- A machine has one capture at a time.  During it the allocators query no events and return nothing to the driver,
  capturing streams allocate from the graph's private pool, and loading or allocating uses the relaxed capture mode.
- A graph keeps its pool, its random states and the pinned memory of its copies alive; the program keeps the inputs.
- A captured random operation reads its generator's state, {seed, first counter}, from device memory.  A replay reserves
  the counters of the whole graph and queues a kernel that writes the state, so replays and calls share one sequence.
"""

from __future__ import annotations

import gc
import itertools
import os
import weakref
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .. import callers, host
from ..core import storage, thread
from ..core.locks import whole
from ..core.storage import Storage
from ..core.tensor import TensorBase
from ..core.versions import writes_to
from ..driver.api import CaptureMode, CaptureStatus, GraphExecHandle, GraphHandle
from ..dtypes import int64
from ..errors import AcceleratorError, ArgumentError, ArgumentTypeError, DeviceMismatchError, shown
from ..kernel import Grid, Kernel, Pointer, Scalar
from ..memory.private import PoolId
from . import control, cuda_memory, mistakes, pending_copies
from . import device as devices
from .generator import CAPTURE_UNSUPPORTED, Generator, State, check_generator
from .pending_copies import HostUse
from .stream import Event, Stream, StreamGuard

if TYPE_CHECKING:
    from .machine import Machine

POISON = 0xFF


@dataclass
class Input:
    """A declared static input.  writes: `writes_to` the storage at the capture or the last replay."""

    name: str
    memory: weakref.ref[Storage]
    writes: Any


class StaticInputs:
    """Static inputs of one graph, checked for new values before each replay; empty unless checks are on."""

    def __init__(self) -> None:
        self._inputs: list[Input] = []

    def declare(self, tensor: Any) -> None:
        """Check a tensor from now on, if a tool or strict mode checks for mistakes."""
        if mistakes.are_sought():
            name = f"static input {len(self._inputs)}, {tensor.describe()}, declared at {callers.call_site()}"
            self._inputs.append(Input(name, weakref.ref(tensor._storage), writes_to(tensor._storage)))

    def note(self) -> None:
        """Note the current versions: later writes count as new values."""
        for static_input in self._inputs:
            if (memory := static_input.memory()) is not None:
                static_input.writes = writes_to(memory)

    def check(self) -> None:
        """Raise AcceleratorError, or record a mistake, if an input was freed or has no new values."""
        for static_input in self._inputs:
            memory = static_input.memory()
            if memory is None:
                fact, hint = "was freed", "keep a reference to every tensor that the graph reads"
            elif writes_to(memory) == static_input.writes:
                fact = "was not written since the last replay, or the capture"
                hint = "copy_() new values into it before each replay"
            else:
                continue
            text = f"{static_input.name}, {fact}"
            if mistakes.collected is None:
                raise AcceleratorError(text, hint=hint, error_code=CAPTURE_UNSUPPORTED, operator="replay")
            mistakes.collected.add(f"a graph is replayed, but {text}; {hint}", is_error=True)

    def use_up(self, stream: Stream) -> None:
        """Fill the inputs with poison after a replay, to expose parts that are not written before the next one.

        While `flambeau check` collects mistakes, the inputs keep their values.
        """
        self.note()
        if mistakes.collected is not None:
            return
        for static_input in self._inputs:
            memory = static_input.memory()
            if memory is not None and memory.device.index == stream.device_index:
                stream.fill(memory.address(), POISON, memory.nbytes)


DEBUG_HINT = "call enable_debug_mode() before the capture, or make it with CUDAGraph(keep_graph=True)"


class GraphDebugging:
    """Debugging methods of CUDAGraph: dumps and raw handles."""

    keep_graph: bool
    _graph: GraphHandle
    _launchable: GraphExecHandle
    _in_debug_mode = False

    if TYPE_CHECKING:

        def _captured(self, name: str) -> Machine: ...

    def enable_debug_mode(self) -> None:
        """Keep the graphs of later captures, so that `debug_dump` can write them.

        Example:
            >>> import tempfile
            >>> x, graph = torch.ones(2, device="cuda"), torch.cuda.CUDAGraph()
            >>> graph.enable_debug_mode()
            >>> with torch.cuda.graph(graph):
            ...     y = x * 2
            >>> with tempfile.NamedTemporaryFile() as file:
            ...     graph.debug_dump(file.name)
            ...     print(file.read()[:7])
            b'digraph'
        """
        self._in_debug_mode = True

    def debug_dump(self, debug_path: str) -> None:
        """Write the graph to a file in Graphviz's DOT language.

        The graph must have been captured with keep_graph=True or after `enable_debug_mode`.  Otherwise, this call warns
        and writes nothing.

        Raises: AcceleratorError before the end of a capture, or if the file cannot be written.
        Example:
            >>> import tempfile
            >>> x, graph = torch.ones(2, device="cuda"), torch.cuda.CUDAGraph(keep_graph=True)
            >>> with torch.cuda.graph(graph):
            ...     y = x * 2
            >>> with tempfile.NamedTemporaryFile() as file:
            ...     graph.debug_dump(file.name)
            ...     print(file.read()[:7])
            b'digraph'
        """
        machine = self._captured("debug_dump")
        if not self._graph:
            callers.warn(f"debug_dump: nothing is written because the graph was not kept: {DEBUG_HINT}")
            return
        machine.driver.graph_write(self._graph, str(debug_path))

    def raw_cuda_graph(self) -> int:
        """Return the CUgraph, as an int, for other libraries.

        Raises: AcceleratorError without keep_graph=True, or if nothing is captured.
        Example:
            >>> x, graph = torch.ones(2, device="cuda"), torch.cuda.CUDAGraph(keep_graph=True)
            >>> with torch.cuda.graph(graph):
            ...     y = x * 2
            >>> graph.raw_cuda_graph() > 0
            True
        """
        machine = self._captured("raw_cuda_graph")
        if not self.keep_graph:
            raise AcceleratorError(
                "the call needs a graph that was made with keep_graph=True",
                hint="make it with CUDAGraph(keep_graph=True)",
                error_code=CAPTURE_UNSUPPORTED,
                operator="raw_cuda_graph",
            )
        return machine.driver.graph_raw(self._graph)

    def raw_cuda_graph_exec(self) -> int:
        """Return the CUgraphExec, as an int, for other libraries.

        Raises: AcceleratorError before `instantiate`, or if nothing is captured.
        Example:
            >>> x, graph = torch.ones(2, device="cuda"), torch.cuda.CUDAGraph()
            >>> with torch.cuda.graph(graph):
            ...     y = x * 2
            >>> graph.raw_cuda_graph_exec() > 0
            True
        """
        machine = self._captured("raw_cuda_graph_exec")
        if not self._launchable:
            raise AcceleratorError(
                "the graph is not instantiated",
                hint="call instantiate() first",
                error_code=CAPTURE_UNSUPPORTED,
                operator="raw_cuda_graph_exec",
            )
        return machine.driver.graph_raw(self._launchable)


STATE_BYTES = 16  # {seed, first counter} of one generator
MAX_GENERATORS = 32  # per graph
ONE_THREAD = Grid((1, 1, 1), 1)


def _set_state(out: Any, seed: int, first: int) -> None:
    out[...] = host.numpy().array([seed, first], "uint64").view("int64")


SET_STATE = Kernel(
    "set_random_state",
    """
extern "C" __global__ void set_random_state(long long* out, unsigned long long seed, unsigned long long first) {
  out[0] = seed;
  out[1] = first;
}
""",
    [Pointer("out", int64, "w", (2,)), Scalar("seed", "uint64"), Scalar("first", "uint64")],
    _set_state,
)


class RandomStates:
    """Device copies of the generator states that one graph uses."""

    def __init__(self) -> None:
        self._memory: storage.Storage | None = None
        self._draws: dict[State, int] = {}  # counters drawn by one replay, in the order of the states in memory

    def allocate(self, stream: Stream) -> None:
        """Allocate the memory.  Host: waits for `stream`, so that replays on any stream follow the allocation."""
        nbytes = STATE_BYTES * MAX_GENERATORS
        self._memory = storage.on_device(stream.machine.devices[stream.device_index], nbytes, stream.handle)
        stream.synchronize()

    def register(self, generator: Generator) -> None:
        """Let the graph draw from a generator.

        Raises: ArgumentError if there are too many, ArgumentTypeError, DeviceMismatchError.
        """
        check_generator("register_generator_state", generator)
        if generator.device.type != "cuda":
            raise DeviceMismatchError(
                f"expected a generator of a GPU, got one of {generator.device}",
                hint='make one there: torch.Generator("cuda")',
                operator="register_generator_state",
            )
        if generator.random_state not in self._draws and len(self._draws) == MAX_GENERATORS:
            raise ArgumentError(
                f"{MAX_GENERATORS} generators are registered already, the most that one graph can have",
                hint="use fewer generators in one graph",
                operator="CUDAGraph",
            )
        self._draws.setdefault(generator.random_state, 0)

    def draw(self, generator: Generator, count: int) -> tuple[int, int, int]:
        """Draw `count` counters in each replay; return (address of the generator's state, 0, offset of the first)."""
        self.register(generator)
        state = generator.random_state
        first = self._draws[state]
        self._draws[state] = first + count
        return self._address(list(self._draws).index(state)), 0, first

    def _address(self, index: int) -> int:
        assert self._memory is not None
        return self._memory.address() + STATE_BYTES * index

    def write(self, stream: Stream, last: Stream | None) -> None:
        """Reserve the counters of a replay on `stream`; queue writes of the states.  last: the last replay's stream."""
        if not any(self._draws.values()):
            return
        assert self._memory is not None
        if last is not None and last != stream:
            stream.wait_stream(last)
        self._memory.record_stream(stream)
        kernel = stream.machine.devices[stream.device_index].kernel(SET_STATE)
        for index, (state, count) in enumerate(self._draws.items()):
            _, seed, first = state.reserve(count)
            stream.launch(kernel, ONE_THREAD, SET_STATE.pack([self._address(index), seed, first]))


MODES = {mode.value: mode for mode in CaptureMode}

_pool_numbers = itertools.count(1)


def graph_pool_handle() -> PoolId:
    """Return the id of a new memory pool; graphs that are captured with `pool=` set to this id share the pool.

    Example:
        >>> pool = torch.cuda.graph_pool_handle()
        >>> first, second = torch.cuda.CUDAGraph(), torch.cuda.CUDAGraph()
        >>> x = torch.ones(2, device="cuda")
        >>> with torch.cuda.graph(first, pool=pool):
        ...     y = x * 2
        >>> with torch.cuda.graph(second, pool=pool):
        ...     z = y + 1
        >>> first.replay()
        >>> second.replay()
        >>> z
        tensor([3., 3.], device='cuda:0')
    """
    return 0, next(_pool_numbers)


def is_current_stream_capturing() -> bool:
    """Return whether the current stream is capturing.  Does not start CUDA.

    Host: returns at once.
    Example:
        >>> graph, x = torch.cuda.CUDAGraph(), torch.ones(2, device="cuda")
        >>> with torch.cuda.graph(graph):
        ...     y = x * 2
        ...     print(torch.cuda.is_current_stream_capturing())
        True
        >>> torch.cuda.is_current_stream_capturing()
        False
    """
    if not control.is_initialized() or thread.machine().capture is None:
        return False
    return thread.current_stream(thread.current_device()).is_capturing()


def refuse_capture(name: str, why: str, hint: str) -> None:
    """Raise AcceleratorError if the current stream is capturing and the call cannot be replayed."""
    if is_current_stream_capturing():
        raise AcceleratorError(
            f"cannot be captured: {why}; called by {callers.caller()}",
            hint=hint,
            error_code=CAPTURE_UNSUPPORTED,
            operator=name,
        )


class CUDAGraph(GraphDebugging):
    """A CUDA graph: `with cuda.graph(g):` captures into it, `g.replay()` launches it.

    keep_graph: keep the captured graph for `debug_dump` and `raw_cuda_graph`.  It is then instantiated by `instantiate`
    or by the first replay, instead of at the end of the capture.
    Example:
        >>> x, graph = torch.ones(2, device="cuda"), torch.cuda.CUDAGraph()
        >>> with torch.cuda.graph(graph):
        ...     y = x * 2
        >>> _ = x.fill_(5)
        >>> graph.replay()
        >>> y
        tensor([10., 10.], device='cuda:0')
    """

    def __init__(self, keep_graph: bool = False) -> None:
        self.keep_graph = keep_graph
        self._forget()

    def _forget(self) -> None:
        """Reset the attributes to those of a new graph."""
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
        """Begin capturing the current stream.

        pool: the memory pool to use, `g.pool()` of another graph or a `graph_pool_handle()`; None for a new one.
        capture_error_mode: "global", "thread_local" or "relaxed": unsafe calls of all threads, of this one or of none
        invalidate the capture.
        check_input_liveness: replays report memory that was freed since the capture; on virtual GPUs only.
        Host:   waits for the current stream.
        Raises: AcceleratorError if the current stream is the default stream, the graph has been captured already, or
                another capture is underway; ArgumentError for an unknown mode, ArgumentTypeError for an invalid pool.
        Example:
            >>> graph, side = torch.cuda.CUDAGraph(), torch.cuda.Stream()
            >>> with torch.cuda.stream(side):
            ...     graph.capture_begin()
            ...     x = torch.zeros(2, device="cuda") + 1
            ...     graph.capture_end()
            >>> graph.replay()
            >>> torch.cuda.synchronize()
            >>> x
            tensor([1., 1.], device='cuda:0')
        """
        if pool is not None and not _is_pool(pool):
            raise ArgumentTypeError(
                f"{pool!r} is not a memory pool",
                hint="pass pool=graph.pool(), or pool=torch.cuda.graph_pool_handle()",
                operator="capture_begin",
            )
        if not isinstance(capture_error_mode, str) or capture_error_mode not in MODES:
            raise ArgumentError(
                f"unknown capture error mode {capture_error_mode!r}",
                hint=f"use one of {', '.join(MODES)}",
                operator="capture_begin",
            )
        index = devices.cuda_index()
        machine, stream = thread.machine(), thread.current_stream(index)
        if self._machine is not None:
            raise _error("capture_begin: this graph has been captured already", "call reset() first")
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
            self.abandon()  # the capture has begun if a signal handler raised at the end of `_begin`
            raise

    @whole
    def _begin(self, machine: Machine, stream: Stream, pool: PoolId, mode: CaptureMode) -> None:
        for accelerator in machine.devices:
            accelerator.allocator.require_pools("capture_begin")
        with machine.lock:
            if machine.capture is not None:
                raise _error(
                    f"capture_begin: a capture is underway on {machine.capture._stream!r}",
                    "end that capture first: only one is possible at a time",
                )
            machine.capture = self
        self._machine, self._stream, self._pool = machine, stream, pool
        self._launch_blocking, machine.launch_blocking = machine.launch_blocking, False
        for accelerator in machine.devices:
            accelerator.allocator.capture_started(pool)
        machine.pinned.capture_started()
        try:
            machine.driver.capture_begin(stream.handle, mode)
        except BaseException:
            self._capture_over(machine)
            self.reset()
            raise

    @whole
    def capture_end(self) -> None:
        """End the capture.  The current stream must be the one where it began.

        Host:   returns at once.
        Raises: AcceleratorError if a call invalidated the capture (the error names the call), or if the capture stream
                did not wait for a stream that joined the capture.  The graph is empty then.
        Example:
            >>> graph, side = torch.cuda.CUDAGraph(), torch.cuda.Stream()
            >>> with torch.cuda.stream(side):
            ...     graph.capture_begin()
            ...     x = torch.zeros(2, device="cuda") + 1
            ...     graph.capture_end()
        """
        machine = self._capturing("capture_end")
        stream = thread.current_stream(devices.cuda_index())
        if stream != self._stream:
            raise _error(
                f"capture_end: the current stream is {stream!r}, the capture began on {self._stream!r}",
                "end the capture on the stream where it began",
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
            callers.warn(f"The CUDA Graph is empty: no work was submitted to {stream!r} or to a stream that joined it")
        self._inputs.note()
        if not self.keep_graph:
            self._instantiate(machine)

    def _capture_over(self, machine: Machine) -> None:
        """Leave capture mode in the allocators and the machine, so that another capture can begin."""
        try:
            for accelerator in machine.devices:
                accelerator.allocator.capture_ended()
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
        """End an unfinished capture and drop its result.  Does nothing if there is none.

        Raises: AcceleratorError if the driver cannot end the capture.
        Example:
            >>> graph, side = torch.cuda.CUDAGraph(), torch.cuda.Stream()
            >>> with torch.cuda.stream(side):
            ...     graph.capture_begin()
            ...     graph.abandon()
            >>> side.is_capturing()
            False
        """
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

    # called by operations while they are captured

    def covers(self, device: int) -> bool:
        """Internal: return whether a device's current stream is being captured.  device: its index; -1 is the CPU."""
        return device >= 0 and thread.current_stream(device).is_capturing()

    def keep(self, use: HostUse) -> None:
        """Internal: keep alive the host memory of a captured copy, which every replay uses."""
        self._kept.append(use)

    def keep_event(self, event: Event) -> None:
        """Internal: keep an external event alive as long as the graph: each replay records it or waits for it."""
        self._events.append(event)

    def draw(self, generator: Generator, count: int) -> tuple[int, int, int]:
        """Internal: let each replay draw `count` counters from a generator, for a kernel that is being captured.

        Returns: the device address of the generator's state, 0, and the offset of the first counter in a replay.
        """
        return self._random.draw(generator, count)

    def register_generator_state(self, generator: Generator) -> None:
        """Let replays draw from a generator.  Generators used during the capture are registered automatically.

        Raises: ArgumentTypeError if it is not a Generator, DeviceMismatchError if it is one of the CPU, ArgumentError
                if the graph has 32 generators already.
        Example:
            >>> generator, graph = torch.Generator("cuda").manual_seed(0), torch.cuda.CUDAGraph()
            >>> graph.register_generator_state(generator)
            >>> with torch.cuda.graph(graph):
            ...     x = torch.rand(4, device="cuda", generator=generator)
            >>> graph.replay()
            >>> generator.get_offset()
            4
        """
        self._random.register(generator)

    # replaying

    def instantiate(self) -> None:
        """Instantiate the graph for replays; a repeated call instantiates it anew from the captured work.

        Raises: AcceleratorError without keep_graph=True, or if nothing is captured.
        Example:
            >>> x, graph = torch.ones(2, device="cuda"), torch.cuda.CUDAGraph(keep_graph=True)
            >>> with torch.cuda.graph(graph):
            ...     y = x * 2
            >>> graph.instantiate()
            >>> graph.replay()
            >>> y
            tensor([2., 2.], device='cuda:0')
        """
        machine = self._captured("instantiate")
        if not self.keep_graph:
            raise _error(
                "instantiate: the call needs a graph that was made with keep_graph=True",
                "make it with CUDAGraph(keep_graph=True)",
            )
        self._instantiate(machine)

    @whole
    def _instantiate(self, machine: Machine) -> None:
        is_kept = self.keep_graph or self._in_debug_mode
        with machine.loading():
            launchable = machine.driver.graph_instantiate(self._graph)
            for gone in (self._launchable, GraphHandle(0) if is_kept else self._graph):
                if gone:
                    machine.driver.graph_destroy(gone)
        self._launchable = launchable
        if not is_kept:
            self._graph = GraphHandle(0)

    @whole
    def replay(self) -> None:
        """Launch the captured work on the current stream of the device that it was captured on.

        Host:   returns at once.
        Order:  after the work on that stream, and after the graph's last replay.
        Raises: AcceleratorError if nothing is captured, the stream is capturing, or, with FLAMBEAU_STRICT=1, an
                input declared by `static_inputs` was freed, or was not written since the last replay.
        Example:
            >>> x, graph = torch.ones(2, device="cuda"), torch.cuda.CUDAGraph()
            >>> with torch.cuda.graph(graph):
            ...     y = x * 2
            >>> graph.replay()
            >>> y
            tensor([2., 2.], device='cuda:0')
        """
        machine = self._captured("replay")
        if not self._launchable:
            self._instantiate(machine)
        assert self._stream is not None
        stream = thread.current_stream(self._stream.device_index)
        if machine.capture is not None and stream.is_capturing():
            raise _error(
                f"replay: {stream!r} is capturing",
                "replay the graph outside of the capture: a graph cannot be part of another one",
            )
        self._inputs.check()
        if self._checks_inputs:
            cuda_memory.allocated_bytes()  # drain freed blocks, so that the driver learns of them
        if stream is not self._last:
            for use in self._kept:
                use.memory.record_stream(stream)
        self._random.write(stream, self._last)
        stream.graph_launch(self._launchable)
        self._last = stream
        pending_copies.expect(self._kept, stream)
        self._inputs.use_up(stream)

    def _captured(self, name: str) -> Machine:
        if self._machine is None or self._machine.capture is self:
            raise _error(f"{name}: there is no finished capture", "capture with `with cuda.graph(g):` first")
        if self._machine is not thread.machine():
            raise _error(
                f"{name}: the graph belongs to a machine that no longer exists",
                "call reset(), and capture the graph again",
            )
        return self._machine

    # inputs

    def static_inputs(self, *tensors: Any) -> None:
        """Declare the tensors that get new values before each replay.  It may be called before or after the capture.

        With FLAMBEAU_STRICT=1, a replay raises if one of them was freed, or was not written since the last replay (or
        the capture).  After its work, each replay fills them with poison (NaN, or -1).  `flambeau check` reports
        such a replay instead of raising, and keeps the values.  Otherwise, the declaration has no effect.
        Raises: ArgumentTypeError for an argument that is not a tensor.
        Example:
            >>> x, graph = torch.ones(2, device="cuda"), torch.cuda.CUDAGraph()
            >>> graph.static_inputs(x)
            >>> with torch.cuda.graph(graph):
            ...     y = x * 2
            >>> _ = x.copy_(torch.tensor([3.0, 4.0]))
            >>> graph.replay()
            >>> y
            tensor([6., 8.], device='cuda:0')
        """
        for tensor in tensors:
            if not isinstance(tensor, TensorBase):
                raise ArgumentTypeError(
                    f"expected tensors, got {shown(tensor)}",
                    hint="pass each tensor as an argument of its own",
                    operator="static_inputs",
                )
            self._inputs.declare(tensor)

    # memory

    def pool(self) -> PoolId:
        """Return the id of the graph's memory pool; a capture with `pool=` set to this id shares the pool.

        Raises: AcceleratorError if nothing was captured.
        Example:
            >>> x, first, second = torch.ones(2, device="cuda"), torch.cuda.CUDAGraph(), torch.cuda.CUDAGraph()
            >>> with torch.cuda.graph(first):
            ...     y = x * 2
            >>> with torch.cuda.graph(second, pool=first.pool()):
            ...     z = x * 3
            >>> second.pool() == first.pool()
            True
        """
        if self._pool is None:
            raise _error("pool: nothing was captured", "capture first, or share a graph_pool_handle()")
        return self._pool

    @whole
    def reset(self) -> None:
        """Discard the capture.  `empty_cache` then returns its memory to the driver, except blocks that tensors use.

        Raises: AcceleratorError while the graph is being captured.
        Example:
            >>> x, graph = torch.ones(2, device="cuda"), torch.cuda.CUDAGraph()
            >>> for factor in (2, 3):
            ...     with torch.cuda.graph(graph):
            ...         y = x * factor
            ...     graph.replay()
            ...     print(y)
            ...     graph.reset()
            tensor([2., 2.], device='cuda:0')
            tensor([3., 3.], device='cuda:0')
        """
        machine = self._machine
        if machine is None:
            return
        if machine.capture is self:
            raise _error("reset: the graph is being captured", "call capture_end() first")
        with machine.loading():
            for handle in (self._launchable, self._graph):
                if handle:
                    machine.driver.graph_destroy(handle)
        if self._pool is not None:
            for accelerator in machine.devices:
                accelerator.allocator.release_pool(self._pool)
        self._forget()

    def __del__(self) -> None:
        machine = getattr(self, "_machine", None)  # the attribute is missing if __init__ was interrupted
        if machine is not None and machine.capture is not self and machine.process == os.getpid():
            self.reset()


class graph:  # noqa: N801  (the field's name for it)
    """`with cuda.graph(g):` captures the work of the block into g, on a stream that is current inside the block.

    pool, capture_error_mode, check_input_liveness: as in `CUDAGraph.capture_begin`.
    stream: the stream to capture on; None for a stream of the current device that is reserved for captures.
    Host:   on entry, waits for the device and returns idle memory to the driver.
    Raises: ArgumentTypeError if `cuda_graph` is not a CUDAGraph or `stream` is not a stream; on entry and exit, the
            errors of `capture_begin` and `capture_end`.
    Example:
        >>> x, graph = torch.ones(2, device="cuda"), torch.cuda.CUDAGraph()
        >>> with torch.cuda.graph(graph):
        ...     y = x + 1
        >>> graph.replay()
        >>> y
        tensor([2., 2.], device='cuda:0')
    """

    def __init__(
        self,
        cuda_graph: CUDAGraph,
        pool: PoolId | None = None,
        stream: Stream | None = None,
        capture_error_mode: str = "global",
        check_input_liveness: bool = False,
    ) -> None:
        if not isinstance(cuda_graph, CUDAGraph):
            raise ArgumentTypeError(
                f"expected a CUDAGraph, got {shown(cuda_graph)}",
                hint="make one: torch.cuda.CUDAGraph()",
                operator="graph",
            )
        self.cuda_graph = cuda_graph
        self.pool = pool
        self.capture_error_mode = capture_error_mode
        self.check_input_liveness = check_input_liveness
        self.capture_stream = stream if stream is not None else _capture_stream(devices.cuda_index())
        self._guard = StreamGuard(self.capture_stream)

    def __enter__(self) -> None:
        if thread.machine().capture is None:  # otherwise capture_begin raises
            control.synchronize(self.capture_stream.device_index)
            hand_idle_memory_back()
        self._guard.__enter__()
        try:
            self.cuda_graph.capture_begin(self.pool, self.capture_error_mode, self.check_input_liveness)
        except BaseException:
            self._guard.__exit__()
            raise

    @whole
    def __exit__(self, error_type: Any, *error: object) -> None:
        try:
            if error_type is None:
                self.cuda_graph.capture_end()
        finally:
            try:
                self.cuda_graph.abandon()  # does nothing after a successful end
            finally:
                self._guard.__exit__()


def hand_idle_memory_back() -> None:
    """Run the garbage collector and return idle memory to the driver, before a capture."""
    gc.collect()
    cuda_memory.empty_cache()
    cuda_memory.empty_host_cache()


def _capture_stream(index: int) -> Stream:
    accelerator = thread.machine().devices[index]
    if accelerator.capture_stream is None:
        accelerator.capture_stream = accelerator.stream_of_its_own()
    return accelerator.capture_stream


def _is_pool(value: object) -> bool:
    return isinstance(value, tuple) and len(value) == 2 and all(type(part) is int for part in value)


def _error(fact: str, hint: str) -> AcceleratorError:
    return AcceleratorError(fact, hint=hint, error_code=CAPTURE_UNSUPPORTED)
