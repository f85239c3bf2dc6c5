"""Mirrored replicas: the module runs once in Python, and every call of an operator runs on all devices.

- While the first replica runs, a MirroredStream is the current stream of its device.  Memory that is allocated on it
  has twins: memory of the same size on the other devices.  Plans repeat their launches with the twins' addresses
  (core/plan.py).
- Nodes that are recorded keep the MirroredStream, so that backward runs them in the same way.
- Anything else ends the mirror: reading a value, a copy, an event, a custom Function, a query of a tensor's device, an
  operand without twins, a write to a parameter or an input.  The first replica continues on its device alone.  The
  others then run in threads, with the state from before the forward.
- Parameters and buffers are copied to the other devices during the forward.  A step of a plan waits for those that it
  uses.  Their gradients are copied to the first device during the backward, and summed there.
- A write to a buffer also writes its twins, which are dropped at the end.
"""

from __future__ import annotations

import random
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any
from weakref import WeakKeyDictionary, ref

from .. import transfer
from ..autograd.function import Function
from ..autograd.mode import mode
from ..autograd.node_hooks import is_observed
from ..core import thread
from ..core.call import run_into
from ..core.plan import Launch
from ..core.queue import Mirror as MirrorBase
from ..core.queue import Queue
from ..core.record import LAST_NUMBER, Edge, Node, edge_of
from ..core.storage import Storage, Twins, on_device, owning
from ..core.tensor import (
    FROM_FUNCTION,
    ONE_OF_SEVERAL,
    TensorBase,
    empty_tensor,
    in_graph,
    new_tensor,
    tensor_over,
    watchers,
)
from ..driver.api import EventHandle
from ..errors import AcceleratorError, NotSupportedError
from ..nn.hooks import everywhere
from ..nn.parameter import Buffer, Parameter
from ..runtime import device as devices
from ..runtime.copy import queue_between
from ..runtime.generator import twister_words
from ..runtime.stream import Stream
from ..tensor.tensor import Tensor
from . import comm, effects
from .broadcast import ReduceAddCoalesced
from .lockstep import allocator_for

FORWARD, BACKWARD = "forward", "backward"
ALONE_BYTES = 4 << 20  # a parameter of at least this size is copied on its own; smaller ones share a bucket
ARRIVAL_BYTES = 16 << 20  # bytes of parameters that a step waits for at once
EARLY_BYTES = 32 << 20  # gradients of all further devices that are copied together during a backward
LEAST_EARLY_BYTES = 10 << 20  # the same of one device, at least: smaller batches cost more host time than they hide
_ORDINARY: set[type] = {Tensor, Parameter, Buffer}  # subclasses may read their device
_groups: WeakKeyDictionary[Any, dict[Any, Any]] = WeakKeyDictionary()  # per machine, the group of each tuple of streams
_equal: WeakKeyDictionary[Any, dict[Any, bool]] = WeakKeyDictionary()  # per machine, what `_are_equal` returns
_sides: WeakKeyDictionary[Any, dict[int, Any]] = WeakKeyDictionary()  # per machine, the copy stream of each device
_events: WeakKeyDictionary[Any, dict[int, list[Any]]] = WeakKeyDictionary()  # and its unused events
_running = threading.Lock()  # one module at a time: parameters have one list of twins


class MirroredStream(Stream):
    """The first device's current stream while its work is repeated on others.  Work outside plans ends the mirror."""

    __slots__ = ("base",)
    base: Stream

    @classmethod
    def over(cls, base: Stream, mirror: Mirror) -> MirroredStream:
        stream: MirroredStream = Queue.__new__(cls)
        stream.begin(base.machine, base.device_index, base.handle)
        stream.priority, stream.name, stream.made_at = base.priority, base.name, base.made_at
        stream._restore, stream.handed_out, stream._owner = [], base.handed_out, None
        stream.base, stream.mirror = base, mirror
        return stream

    @property
    def plain(self) -> Stream:
        return self.base

    def _alone(self, what: str) -> Stream:
        if self.mirror is not None:
            self.mirror.end(what)
        return self.base

    def launch(self, *args: Any) -> None:
        self._alone("a kernel was launched by hand").launch(*args)

    def library_run(self, *args: Any) -> None:
        self._alone("a library was called by hand").library_run(*args)

    def copy(self, *args: Any) -> None:
        self._alone("memory was copied, as where a value is read").copy(*args)

    def fill(self, *args: Any) -> None:
        self._alone("memory was filled by hand").fill(*args)

    def graph_launch(self, *args: Any) -> None:
        self._alone("a graph was launched").graph_launch(*args)

    def record(self, *args: Any) -> None:
        self._alone("an event was recorded").record(*args)

    def wait(self, *args: Any) -> None:
        self._alone("a stream waited for an event").wait(*args)

    def follow(self, other: Any) -> None:
        self.base.follow(other)

    def wait_stream(self, stream: Any) -> None:
        """Order the first device's work; the autograd engine calls this for a gradient from another stream."""
        if stream.handle != self.handle:
            self.base.wait_stream(stream)

    def synchronize(self) -> None:
        self._alone("the host waited for the device").synchronize()

    def query(self) -> bool:
        return self._alone("a stream was queried").query()

    @property
    def cuda_stream(self) -> int:
        return self._alone("the stream's address was asked for").cuda_stream


class Mirror(MirrorBase):
    """One mirrored forward and its backward.

    reason: why it ended, or "".  phase: FORWARD or BACKWARD.  made: weak references to the tensors made in forward.
    """

    def __init__(self, streams: Sequence[Stream]) -> None:
        self.drawn: list[Any] = []
        self.queues = list(streams)
        machine = streams[0].machine
        handles = tuple([stream.handle for stream in streams])
        self.group = _groups.setdefault(machine, {}).setdefault(handles, handles)
        self.devices = [machine.devices[stream.device_index] for stream in streams]
        self.indexes = [stream.device_index for stream in streams[1:]]
        self.allocator = allocator_for(machine, streams[1:])
        self.lockstep = None if self.allocator is None else self.allocator.enter()
        self.phase, self.reason = FORWARD, ""
        self.made: list[Any] | None = []
        self.twinned: list[tuple[Storage, Twins]] = []
        self.kept: set[int] = set()  # ids of storages that must not be written
        self.late: list[Any] | None = None
        self.side = _side_stream(machine, streams[0].device_index)
        self.events = _events.setdefault(machine, {}).setdefault(self.side.device_index, [])
        self.arrivals: list[_Arrival] = []  # of copies that the devices do not all wait for yet
        self.sources: list[Any] = []  # tensors that these copies read: kept until the copies end
        self.stream = MirroredStream.over(streams[0], self)
        self.streams = {**{stream.device_index: stream for stream in streams}, self.stream.device_index: self.stream}
        self.states = [device.generator.random_state for device in self.devices]
        self.marks = [state.position() for state in self.states]
        self.host_marks = _host_marks(machine)

    # called by core/plan.py and core/storage.py

    def end(self, reason: str, error: Any = None) -> None:
        if self.phase is BACKWARD:
            if error is None and is_observed():  # anomaly detection reads values of the first device only
                return
            raise error or NotSupportedError(
                f"in the backward pass of a DataParallel module, {reason}",
                hint="call nn.parallel.replicate and nn.parallel.parallel_apply: they run in threads",
            )
        self.reason = self.reason or reason
        self.stream.mirror = None
        self.arrive_all()

    def arrive(self, twins: Twins) -> None:
        """Make the further devices wait for the copies to twins that a step uses now."""
        arrival, twins.arrival = twins.arrival, None
        if not arrival.is_awaited:
            arrival.is_awaited = True
            for queue in self.queues[1:]:
                queue.wait(arrival.event)

    def arrive_all(self) -> None:
        """Make all devices wait for all copies: afterwards their sources may be written, and memory may be freed."""
        arrivals, self.arrivals = self.arrivals, []
        if self.sources:
            mark = self.side._marked()
            # no arrivals if an error came first
            are_awaited = bool(arrivals) and all([arrival.is_awaited for arrival in arrivals])
            for queue in self.queues[: 1 if are_awaited else None]:
                queue.wait(mark)
            for arrival in arrivals:
                arrival.is_awaited = True
                self.events.append(arrival.event)
            self.sources = []

    def mark(self) -> EventHandle:
        """Record an event on the copy stream and return it.  Append it to `events` after the last wait for it."""
        events, side = self.events, self.side
        event = events.pop() if events else side.driver.event_create(side.device_index, False, False, False)
        side.record(event)
        return event

    def load(self, step: Any) -> Any:
        if isinstance(step, Launch):
            step.mirrored = self.group, [device.kernel(step.kernel) for device in self.devices], 0
        else:
            plans = [device.library_plan(step.operation) for device in self.devices]
            step.mirrored = self.group, [handle for handle, _ in plans], max(nbytes for _, nbytes in plans)
        return step.mirrored

    def draw(self, draws: Any) -> None:
        if any(source is not None for _, source in draws):
            self.end("random numbers were drawn from a generator")
        self.drawn = [
            [number for count, _ in draws for number in device.generator.reserve(count)] for device in self.devices[1:]
        ]

    def twins_of(self, memory: Storage) -> Twins:
        """Allocate a storage's twins, one on each further device.  Raises: OutOfMemoryError."""
        places = zip(self.devices[1:], self.group[1:])
        return Twins(self.group, [on_device(device, memory.nbytes, handle) for device, handle in places], 0)

    # called in this module

    def adopt(
        self, tensors: Sequence[Any], starts: Sequence[int], memories: list[Storage], arrival: _Arrival | None = None
    ) -> None:
        """Set the twins of the storages of tensors, until `release`."""
        group, twinned = self.group, self.twinned
        for start, tensor in zip(starts, tensors):
            memory = tensor._storage
            memory.twins = twins = Twins(group, memories, start, memory.twins, None, arrival)
            twinned.append((memory, twins))

    def release(self) -> None:
        """Drop the twins of parameters, buffers and inputs: no node of the forward is left."""
        for memory, twins in self.twinned:
            twins.is_live = False
            last = memory.twins
            while last is not None and not last.is_live:
                last = last.before
            memory.twins = last
        self.stream.mirror = None
        self.stream.alone, self.streams = {}, {}
        if self.allocator is not None:
            self.allocator.leave()

    def before_write(self, tensor: TensorBase) -> None:
        """End before a parameter or an input is written in place: replicas in threads start with its old value.

        A thread that the module started writes on the first device only.
        """
        twins = tensor._storage.twins
        if twins is None or twins.group is not self.group or self.reason:
            return
        if thread.current_stream(self.stream.device_index) is not self.stream:
            self.end("another thread wrote in place")
        elif id(tensor._storage) in self.kept:
            self.end("a parameter or an input was written in place")

    def check(self, output: Any) -> None:
        """End the mirror if replicas in threads could have given other results on the other devices."""
        if self.reason:
            return
        outputs = list(_tensors(output))
        if not all(tensor._storage.twins is not None for tensor in outputs):
            self.end("an output is on the first device only")
        elif _host_marks(self.stream.machine) != self.host_marks:
            self.end("random numbers were drawn on the host")
        elif len({self._drawn(index) for index in range(len(self.devices))}) > 1:
            self.end("a generator was seeded")
        else:
            known = {id(tensor) for output in outputs for tensor in (output, output._base)}
            tensors = [reference() for reference in self.made or ()]
            if any(id(tensor) not in known for tensor in tensors if tensor is not None):
                self.end("a tensor that is no output outlives the forward")

    def _drawn(self, index: int) -> tuple[bool, int]:
        """Return whether a device's generator has its former seed, and by how much its counter advanced."""
        (seed, before), (now, counter) = self.marks[index], self.states[index].position()
        own = self.devices[index].generator.random_state is self.states[index]
        return own and seed == now, counter - before

    def rewind(self) -> None:
        """Reset the generators of the further devices to their state before the forward."""
        for state, (seed, counter) in zip(self.states[1:], self.marks[1:]):
            state.reseed(seed)
            state.count_from(counter)


class _Arrival:
    """The end of a batch of copies to the further devices.  is_awaited: whether their streams wait for it."""

    __slots__ = ("event", "is_awaited")
    event: EventHandle

    def __init__(self) -> None:
        self.is_awaited = False


def _side_stream(machine: Any, index: int) -> Stream:
    """Return the stream of a device for copies that overlap a forward or a backward."""
    known = _sides.setdefault(machine, {})
    if index not in known:
        known[index] = Stream(index, name="DataParallel").handle  # a Stream would keep the machine alive
    stream: Stream = machine.streams[known[index]]
    return stream


def _host_marks(machine: Any) -> tuple[Any, ...]:
    """Return a value that changes when Python, NumPy or the CPU's generator draws random numbers.

    Three words and the position of Python's generator are compared: a draw moves the position or replaces all words.
    """
    _, words, kept = random.getstate()
    return words[-4:], kept, _numpy_mark(), machine.cpu_generator.random_state.position()


_seen: tuple[bytes, Any, Any] = b"", False, 0.0  # NumPy's words, whether it caches a normal number, that number


def _numpy_mark() -> Any:
    """Return a value that changes when NumPy's global generator draws.

    The slow `get_state` is called only if the words have changed or a normal number was cached: drawing a cached number
    does not change the words.
    """
    global _seen
    numpy: Any = sys.modules.get("numpy.random")
    if numpy is None:
        return None
    generator = numpy.get_bit_generator()
    if type(generator) is not numpy.MT19937:  # the program has set another one
        return str(numpy.get_state(legacy=False))
    words = twister_words(generator)
    if words != _seen[0] or _seen[1]:
        state = numpy.get_state(legacy=False)
        _seen = words, state["has_gauss"], state["gauss"]
    return _seen


def _tensors(value: Any) -> Iterator[TensorBase]:
    """Yield the tensors in nested values, in order."""
    if isinstance(value, TensorBase):
        yield value
    elif isinstance(value, Mapping):
        for entry in value.values():
            yield from _tensors(entry)
    elif isinstance(value, (tuple, list)):
        for entry in value:
            yield from _tensors(entry)


def _with(value: Any, tensors: Iterator[Any]) -> Any:
    """Return nested values with the tensors replaced, in the order of `_tensors`."""
    if isinstance(value, TensorBase):
        return next(tensors)
    if isinstance(value, Mapping):
        make: Any = type(value)
        return make([(key, _with(entry, tensors)) for key, entry in value.items()])
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*[_with(entry, tensors) for entry in value])
    if isinstance(value, (tuple, list)):
        return type(value)([_with(entry, tensors) for entry in value])
    return value


class _Hold:
    """Keeps a mirror alive as long as a node of its forward may run."""

    __slots__ = ("__weakref__", "mirror")

    def __init__(self, mirror: Mirror) -> None:
        self.mirror = mirror

    def __del__(self) -> None:
        self.mirror.release()


# Conversions between ordinary tensors on every device and mirrored tensors.  Lists of parts are device-major.


def _part(mirrored: TensorBase, index: int) -> TensorBase:
    """Return a mirrored tensor's part on the device of `index`, as an ordinary tensor."""
    layout = mirrored._layout
    if index == 0:
        return new_tensor(mirrored._storage, layout, mirrored._offset)
    twins = mirrored._storage.twins
    assert twins is not None
    start = twins.start + mirrored._offset * layout.itemsize
    memory = twins.memories[index - 1]
    window = owning(memory.device, _span(layout), memory.address() + start, (twins, memory), OF_TWINS)
    return tensor_over(window, layout.dtype, layout.shape, layout.strides)


class _OfTwins:
    """Allocator of parts of twins: a part keeps its twins alive."""

    def record_stream(self, part: tuple[Twins, Storage], handle: Any) -> None:
        twins, memory = part
        stream = memory.device.machine.streams[handle]
        memory.record_stream(stream)
        if twins.kept is not None and handle not in twins.group:
            twins.kept.record_stream(stream)

    def free(self, part: tuple[Twins, Storage]) -> None:
        """Do nothing: the part drops its reference to the twins."""


OF_TWINS = _OfTwins()


def _span(layout: Any) -> int:
    """Return the bytes from the first to the last element of a layout."""
    if not layout.numel:
        return 0
    last = sum((size - 1) * stride for size, stride in zip(layout.shape, layout.strides))
    nbytes: int = (last + 1) * layout.itemsize
    return nbytes


def _window(memory: Storage, start: int, nbytes: int) -> Storage:
    """Return a storage over a part of another, with a version counter of its own."""
    return owning(memory.device, nbytes, memory.address() + start, memory, comm.KEPT)


def _mirrored(mirror: Mirror, parts: Sequence[Any]) -> TensorBase:
    """Return a mirrored tensor made of one part per device, made contiguous where necessary."""
    parts = [transfer.dense(part, part.dtype) for part in parts]
    windows = [_window(part._storage, part._offset * part.dtype.itemsize, _span(part._layout)) for part in parts]
    windows[0].twins = Twins(mirror.group, windows[1:], 0)
    return tensor_over(windows[0], parts[0].dtype, parts[0].shape, parts[0].strides)


class _Join(Function):
    """Make mirrored tensors from their parts on all devices."""

    @staticmethod
    def forward(ctx: Any, hold: _Hold, *parts: Any) -> Any:
        ctx.hold = hold
        ctx.set_materialize_grads(False)
        count = len(parts) // len(hold.mirror.devices)
        return tuple(_mirrored(hold.mirror, parts[index::count]) for index in range(count))

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        with _Apart(ctx.hold.mirror):
            return (None, *_split(ctx.hold, grads))


class _Split(Function):
    """Split mirrored tensors into their parts on each device."""

    @staticmethod
    def forward(ctx: Any, hold: _Hold, *tensors: Any) -> Any:
        ctx.hold = hold
        return tuple(_part(tensor, index) for index in range(len(hold.mirror.devices)) for tensor in tensors)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        return (None, *_mirroring(_Join, ctx.hold, *grads))


class _Apart:
    """Context manager in which work on the first device is not mirrored."""

    def __init__(self, mirror: Mirror) -> None:
        self.stream = mirror.stream

    def __enter__(self) -> None:
        thread.set_stream(self.stream.base)

    def __exit__(self, *error: object) -> None:
        thread.set_stream(self.stream)


def parts_of(hold: _Hold, mirrored: TensorBase) -> list[TensorBase]:
    """Return a mirrored tensor's part on each device, detached from autograd."""
    return [_part(mirrored, index) for index in range(len(hold.mirror.devices))]


def from_parts(hold: _Hold, parts: Sequence[Any]) -> Any:
    """Make a mirrored tensor from its parts; differentiable in grad mode."""
    return _mirroring(_Join, hold, *parts)[0] if mode.enabled else _mirrored(hold.mirror, parts)


def _mirroring(function: type[Function], hold: _Hold, *arguments: Any) -> Any:
    """Apply a function whose results are mirrored; their gradients are summed on all devices."""
    results = function.apply(hold, *arguments)
    for node in {result._grad_fn for result in results if result._grad_fn is not None}:
        node.streams = hold.mirror.streams
    return results


def _split(hold: _Hold, tensors: Sequence[Any]) -> list[Any]:
    """Apply `_Split` to tensors, some of which may be None; differentiable in grad mode."""
    given = [index for index, tensor in enumerate(tensors) if tensor is not None]
    parts = iter(_Split.apply(hold, *[tensors[index] for index in given]) if given else ())
    result: list[Any] = [None] * (len(hold.mirror.devices) * len(tensors))
    for device in range(len(hold.mirror.devices)):
        for index in given:
            result[device * len(tensors) + index] = next(parts)
    return result


class _Enter(Node):
    """Autograd node of the first replica's parameters and inputs: parameters first, then the parts of the inputs.

    Its gradients are those of the parameters, summed in the order of the devices, and those of the parts.
    params: the layouts of the parameters.  sums: by backward pass, the sums that it has begun.
    """

    __slots__ = ("hold", "params", "sums")

    def __init__(self, hold: _Hold, params: Sequence[Any], parts: Sequence[Any], inputs: int) -> None:
        edges = [edge_of(tensor) for tensor in (*params, *parts)]
        super().__init__("BroadcastBackward", edges, hold.mirror.streams, len(params) + inputs + 1)
        self.hold = hold
        self.params = [param._layout for param in params]
        self.sums: dict[Any, _Sums] = {}

    def entered(self, params: Sequence[Any], inputs: Sequence[Any]) -> list[Any]:
        """Return the node's results: views of the parameters, and the inputs on the first device."""
        outputs = [_alias(tensor) for tensor in (*params, *inputs)]
        origin = ONE_OF_SEVERAL if len(outputs) > 1 else FROM_FUNCTION
        for output, param in zip(outputs, params):
            if param._storage.version >= 0:
                base = param._base
                output._base = param if base is None else base
                output._view_version, output._origin = param._counter.version, origin
        for index, output in enumerate(outputs):
            output._grad_fn, output._output_index = self, index
        self._divide(outputs)
        return outputs

    def _divide(self, outputs: list[Any]) -> None:
        """Split the parameters of a large module among nodes that run before this one, last layers first."""
        most, taken = max(EARLY_BYTES // len(self.hold.mirror.indexes), LEAST_EARLY_BYTES), 0
        if sum([layout.nbytes for layout in self.params]) <= most:
            return
        batches: list[list[int]] = [[]]
        for index, layout in enumerate(self.params):
            if taken + layout.nbytes > most and batches[-1]:
                batches.append([])
                taken = 0
            batches[-1].append(index)
            taken += layout.nbytes
        after: Edge = self, self.outputs - 1
        for batch in batches if len(batches) > 1 else ():
            early = _Early(self, batch, after)
            for position, index in enumerate(batch):
                outputs[index]._grad_fn, outputs[index]._output_index = early, position
            after = early, len(batch)

    def begin_sums(self, indexes: Sequence[int], grads: Sequence[Any]) -> None:
        """Begin to sum the gradients of some parameters."""
        task = thread.here().task
        sums = self.sums.get(task)
        if sums is None:
            sums = self.sums[task] = _Sums(self.hold.mirror, len(self.params))
        sums.begin(indexes, grads)

    def apply(self, grads: Sequence[Any]) -> list[Any]:
        """See Node."""
        mirror, count = self.hold.mirror, len(self.params)
        params, inputs = grads[:count], grads[count:-1]
        with _Apart(mirror):
            self.begin_sums(range(count), params)
            sums = self.sums.pop(thread.here().task).end(self.hold, self.params)
            if mirror.reason:
                return [*sums, *inputs, *[None] * (len(inputs) * (len(mirror.devices) - 1))]
            return [*sums, *_split(self.hold, inputs)]


class _Early(Node):
    """Node of some parameters of an `_Enter`: begins to sum their gradients as soon as all of them are available.

    The node of later layers has an edge to this node's last output, so that this node runs after it.
    """

    __slots__ = ("enter", "indexes")

    def __init__(self, enter: _Enter, indexes: list[int], after: Edge) -> None:
        super().__init__("BroadcastBackward", [after], enter.streams, len(indexes) + 1)
        self.number += LAST_NUMBER
        self.enter, self.indexes = enter, indexes

    def apply(self, grads: Sequence[Any]) -> list[Any]:
        """See Node."""
        with _Apart(self.enter.hold.mirror):
            self.enter.begin_sums(self.indexes, grads)
        return [next(grad for grad in grads if grad is not None)]  # so that the next node runs


def _alias(tensor: TensorBase) -> TensorBase:
    alias = new_tensor(tensor._storage, tensor._layout, tensor._offset)
    alias._counter = tensor._counter
    return alias


def _zeros(like: Any, index: int) -> Any:
    zeros: Any = empty_tensor(like.shape, like.dtype, index)
    return zeros.zero_()


class _Sums:
    """Sums of the parameters' gradients over the devices, in one backward pass.

    grads: the gradients to sum at the end: all of them if the mirror has ended or in grad mode, else none.
    ahead: the latest batch, which the first device sums on a side stream, and for which no device waits yet.
    """

    def __init__(self, mirror: Mirror, count: int) -> None:
        self.mirror = mirror
        self.is_late = bool(mirror.reason) or mode.enabled
        self.grads: list[Any] = [None] * count
        self.totals: list[Any] = [None] * count
        self.ahead: _Fetched | None = None

    def begin(self, indexes: Sequence[int], grads: Sequence[Any]) -> None:
        """Begin to sum the gradients of some parameters; None for a parameter without one."""
        given = [at for at in range(len(indexes)) if grads[at] is not None]
        indexes, grads = [indexes[at] for at in given], [grads[at] for at in given]
        if self.is_late:
            for index, grad in zip(indexes, grads):
                self.grads[index] = grad
        elif given:
            self._fetch(indexes, grads)

    def _fetch(self, indexes: Sequence[int], grads: Sequence[Any]) -> None:
        fetched = _Fetched(self.mirror, indexes, grads)
        if self.ahead is not None:
            self.ahead.end(self.totals)
        self.ahead = fetched

    def __del__(self) -> None:
        if self.ahead is not None and not sys.is_finalizing():  # an error came before `end`
            self.mirror.events.append(self.ahead.ended)
            with suppress(AcceleratorError):  # the machine has ended, and its memory with it
                _follow(self.mirror)

    def end(self, hold: _Hold, shapes: Sequence[Any]) -> list[Any]:
        """Return the sum for each parameter; zeros for one without gradients."""
        mirror, first = self.mirror, self.mirror.devices[0].index
        if mirror.reason:
            own = [_zeros(like, first) if grad is None else grad for grad, like in zip(self.grads, shapes)]
            groups, mirror.late = [own, *(mirror.late or ())], None
            return list(ReduceAddCoalesced.apply(first, len(own), *[grad for group in groups for grad in group]))
        given = [index for index, grad in enumerate(self.grads) if grad is not None]
        if given:
            parts = _split(hold, [self.grads[index] for index in given])
            for index, total in zip(given, ReduceAddCoalesced.apply(first, len(given), *parts)):
                self.totals[index] = total
        if self.ahead is not None:
            self.ahead.end(self.totals)
            self.ahead = None
        return [_zeros(like, first) if summed is None else summed for summed, like in zip(self.totals, shapes)]


def _follow(mirror: Mirror) -> None:
    """Make all devices wait for the copy stream, before memory that it uses is freed."""
    for queue in mirror.queues:
        queue.follow(mirror.side)


class _Fetched:
    """Gradients of some parameters, which a side stream of the first device copies from the others and sums."""

    def __init__(self, mirror: Mirror, indexes: Sequence[int], grads: Sequence[Any]) -> None:
        self.queues, self.indexes, self.events = mirror.queues, indexes, mirror.events
        self.buckets = comm.buckets(grads, comm.BUFFER_BYTES, ALONE_BYTES)
        self.likes = [[grads[index] for index in bucket.indexes] for bucket in self.buckets]
        side, base, others = mirror.side, mirror.stream.base, mirror.queues[1:]
        thread.set_stream(mirror.stream)
        try:
            self.packed = [
                _flat(list(map(comm.in_memory_order, own)), bucket) for own, bucket in zip(self.likes, self.buckets)
            ]
        finally:
            thread.set_stream(base)
        self.parts = [[empty_tensor(flat.shape, flat.dtype, base.device_index) for _ in others] for flat in self.packed]
        for queue in mirror.queues:
            side.follow(queue)
        thread.set_stream(side)
        try:
            self._copy(side, others)
            for flat, (total, *rest) in zip(self.packed, self.parts):
                for part in (_part(flat, 0), *rest):  # total begins as device 1's part: a + b is b + a
                    run_into("add", "DataParallel", total, part)
        except BaseException:
            _follow(mirror)
            raise
        finally:
            thread.set_stream(base)
        self.ended = mirror.mark()

    def _copy(self, side: Stream, others: Sequence[Any]) -> None:
        for flat, parts in zip(self.packed, self.parts):
            twins, start = flat._storage.twins, flat._offset * flat._layout.itemsize
            for other, memory, part in zip(others, twins.memories, parts):
                at = memory.address() + twins.start + start
                queue_between(side, other, part.address(), at, flat._layout.nbytes)

    def end(self, totals: list[Any]) -> None:
        """Make all devices wait for the sums, and put them into `totals`.  The copies may then be freed."""
        for queue in self.queues:
            queue.wait(self.ended)
        self.events.append(self.ended)
        for bucket, likes, (total, *_) in zip(self.buckets, self.likes, self.parts):
            sums = comm.unpack(total._storage, bucket.starts, likes, keeps_strides=True)
            for at, summed in zip(bucket.indexes, sums):
                totals[self.indexes[at]] = summed


def _flat(grads: list[Any], bucket: Any) -> Any:
    """Return the only gradient of a bucket itself if it is contiguous; otherwise pack the gradients."""
    return grads[0] if len(grads) == 1 and grads[0]._layout.dense else comm.flat(grads, bucket)


class _Late(Function):
    """Make the parameters of replicas that run in threads because the mirror ended; `_Enter` sums their gradients."""

    @staticmethod
    def forward(ctx: Any, hold: _Hold, copies: list[list[Any]], *params: Any) -> Any:
        ctx.hold, ctx.count = hold, len(params)
        return tuple(tensor for copied in copies for tensor in copied)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        ctx.hold.mirror.late = [list(grads[at : at + ctx.count]) for at in range(0, len(grads), ctx.count)]
        return (None, None, *[None] * ctx.count)


# sending tensors to the other devices


class _Bucket:
    """Tensors of the first device, and their packed copies on the others.  starts: the tensors' offsets in a copy."""

    def __init__(
        self, mirror: Mirror, tensors: list[Any], starts: list[int], copies: list[Storage], arrival: _Arrival
    ) -> None:
        self.tensors, self.starts, self.copies = tensors, starts, copies
        mirror.adopt(tensors, starts, copies, arrival)

    def of_device(self, index: int) -> Iterator[tuple[int, Any]]:
        """Return pairs: the id of a tensor, and its copy as a tensor on a further device."""
        copies = comm.unpack(self.copies[index - 1], self.starts, self.tensors, keeps_strides=True)
        return zip(map(id, self.tensors), copies)


def _sent(mirror: Mirror, tensors: list[Any], packs: list[Any] | None = None) -> list[_Bucket]:
    """Copy tensors to the further devices during the forward: a step waits for the copies that it uses.

    A bucket of several tensors is packed first; with `packs`, a list that gets the packed sources, every bucket is.
    """
    sent: list[_Bucket] = []
    if not tensors:
        return sent
    buckets = comm.buckets(tensors, comm.BUFFER_BYTES, ALONE_BYTES)
    members = [[tensors[at] for at in bucket.indexes] for bucket in buckets]
    sources = [
        comm.pack(list(map(comm.in_memory_order, own)), bucket) if len(own) > 1 or packs is not None else own[0]
        for own, bucket in zip(members, buckets)
    ]
    places = list(zip(mirror.devices[1:], mirror.queues[1:]))
    copies = [[on_device(at, packed._layout.nbytes, queue.handle) for at, queue in places] for packed in sources]
    mirror.sources += sources
    if packs is not None:
        packs += sources
    side, arrival, taken = mirror.side, _Arrival(), 0
    for queue in mirror.queues:
        side.follow(queue)
    for own, bucket, source, memories in zip(members, buckets, sources, copies):
        start, nbytes = source._storage.address() + source._offset * source._layout.itemsize, source._layout.nbytes
        for memory, (_, queue) in zip(memories, places):
            queue_between(side, queue, memory.address(), start, nbytes)
        sent.append(_Bucket(mirror, own, bucket.starts, memories, arrival))
        taken += nbytes
        if taken >= ARRIVAL_BYTES or bucket is buckets[-1]:
            arrival.event = mirror.mark()
            mirror.arrivals.append(arrival)
            arrival, taken = _Arrival(), 0
    return sent


# the forward


def _are_equal(machine: Any, gpus: tuple[int, ...]) -> bool:
    """Return whether devices have equal properties, so that plans lowered for one suit all."""
    known = _equal.setdefault(machine, {})
    if gpus not in known:
        known[gpus] = len({machine.devices[index].properties._replace(uuid="") for index in gpus}) == 1
    return known[gpus]


class Replicas:
    """The calls of one forward.  args, named: the inputs of each device.

    members: the original's `modules`, `states`, `params` and `buffers` (see data_parallel._Members), and a method
    `replica(params, buffers)` that copies it.
    call: calls replicas in threads, [(index, replica, (args, named))] -> outputs;  or, if its second argument is a
    stream, one replica in this thread, with this stream as the current one of its device.
    join: None, or (hold, tensor) -> tensor, which joins the parts of an output that is one mirrored tensor.
    is_joined: whether `join` was called.
    """

    def __init__(
        self, members: Any, gpus: Sequence[int], args: Sequence[Any], named: Sequence[Any],
        call: Callable[[Sequence[tuple[int, Any, Any]], Any], list[Any]],
        join: Callable[[Any, Any], Any] | None = None,
    ) -> None:  # fmt: skip
        self.gpus, self.args, self.named = gpus, args, named
        self.modules, self.states = members.modules, members.states
        self.params, self.buffers = members.params, members.buffers
        self.build, self.call, self.join = members.replica, call, join
        self.is_joined = False
        self.plain = not mode.enabled
        self.hold: _Hold | None = None  # keeps the mirror until the outputs have been used

    def outputs(self) -> tuple[list[Any], str] | None:
        """Run the replicas; return their outputs by device, and why the mirror ended, or "".

        If `is_joined` is set, there is one output, joined from all devices.
        Returns None, and does nothing, if the replicas cannot be mirrored from the start.
        """
        if not self._is_possible() or not _running.acquire(blocking=False):
            return None
        try:
            return self._outputs()
        finally:
            _running.release()

    def _is_possible(self) -> bool:
        now, machine = thread.here(), thread.machine()
        if now.inference or now.task is not None or now.operator is not None or now.lowering is not None:
            return False
        if machine.capture is not None or is_observed():
            return False
        if everywhere.any:  # hooks run once per replica
            return False
        for own in self.states:
            if own["_forward_hooks"] or own["_forward_pre_hooks"]:
                return False
            if own["_backward_hooks"] or own["_backward_pre_hooks"]:
                return False
        if not _are_equal(machine, tuple(self.gpus)):
            return False
        if not self.plain and any(buffer.requires_grad for buffer in self.buffers):  # their gradients are summed too
            return False
        if any(stream is not None and stream.mirror is not None for stream in now.streams):
            devices.unmirror("a module inside runs on several devices itself")
            return False
        memories = []
        for tensor in (*self.params, *self.buffers):
            layout, memory = tensor._layout, tensor._storage
            if type(tensor) not in _ORDINARY or not layout.compact or tensor._offset or layout.nbytes != memory.nbytes:
                return False
            memories.append(memory)
        self.parts = [list(_tensors(arguments)) for arguments in zip(self.args, self.named)]
        if not all(map(self._are_alike, self.parts[1:])):
            return False
        streams = [thread.current_stream(index) for index in self.gpus]
        memories += [tensor._storage for tensor in self.parts[0]]
        if len(set(map(id, memories))) < len(memories):
            return False
        group = tuple([stream.handle for stream in streams])
        return all([storage.twins is None or storage.twins.group == group for storage in memories])

    def _are_alike(self, parts: list[Any]) -> bool:
        """Return whether the inputs of a further device have the types and layouts of the first device's inputs."""
        if len(parts) != len(self.parts[0]):
            return False
        for part, first in zip(parts, self.parts[0]):
            if type(part) not in _ORDINARY or type(first) not in _ORDINARY or part.dtype is not first.dtype:
                return False
            if part.shape != first.shape or part.strides != first.strides or not part._layout.compact or part._offset:
                return False
        return True

    def _outputs(self) -> tuple[list[Any], str]:
        mirror = Mirror([thread.current_stream(index) for index in self.gpus])
        self.hold = hold = _Hold(mirror)
        try:
            first, params, entry = self._entered(mirror, hold)
            replica = self.build(params, params)
            places = effects.places(self.modules, self.states)
            before = effects.marks(self.states, places)
            output = self._first(mirror, replica, first)
        finally:
            mirror.arrive_all()
        del replica, first
        mirror.check(output)
        if effects.marks(self.states, places) != before:
            mirror.end("the module changed a container or a variable that its replicas share")
        mirror.phase, mirror.made = BACKWARD, None
        mirror.stream.mirror = None if mirror.reason else mirror
        if mirror.reason:
            if entry is not None:
                entry.shares = True  # so that the node runs even if only replicas in threads have gradients
            return [output, *self.call(self._rest(mirror, hold, params), None)], mirror.reason
        if self.join is not None and isinstance(output, TensorBase):
            self.is_joined, joined = True, self.join(hold, output)
            if joined._grad_fn is not None:  # backward runs the node on these streams
                joined._grad_fn.streams = {queue.device_index: queue for queue in mirror.queues}
            return [joined], ""
        tensors = list(_tensors(output))
        parts = _split(hold, tensors)
        count = len(tensors)
        return [_with(output, iter(parts[at * count : (at + 1) * count])) for at in range(len(self.gpus))], ""

    def _entered(self, mirror: Mirror, hold: _Hold) -> tuple[Any, dict[int, Any], _Enter | None]:
        """Return the first replica's (args, named), its parameters and buffers by id, and their autograd node."""
        recorded = not self.plain
        wanted = [param for param in self.params if in_graph(param)] if recorded else []
        frozen: list[Any] = [] if wanted else self.params
        if 0 < len(wanted) < len(self.params):
            frozen = [param for param in self.params if not in_graph(param)]
        self.packed: list[Any] = []
        self.sent = [_sent(mirror, self.buffers, self.packed), _sent(mirror, wanted), _sent(mirror, frozen)]
        firsts = self.parts[0]
        for parts in zip(*self.parts):
            memories = [part._storage for part in parts[1:]]
            mirror.adopt(parts[:1], [-parts[0]._offset * parts[0].dtype.itemsize], memories)
        joined = [at for at, tensor in enumerate(firsts) if recorded and in_graph(tensor)]
        params = {id(tensor): tensor.detach() if self.plain else tensor for tensor in (*frozen, *self.buffers)}
        first = [_alias(tensor) for tensor in firsts]
        entry = None
        if wanted or joined:
            entry = _Enter(hold, wanted, [parts[at] for parts in self.parts for at in joined], len(joined))
            entered = entry.entered(wanted, [firsts[at] for at in joined])
            params.update(zip(map(id, wanted), entered))
            for at, tensor in zip(joined, entered[len(wanted) :]):
                first[at] = tensor
        mirror.made = [ref(tensor) for tensor in first]
        mirror.kept = {id(memory) for memory, _ in mirror.twinned} - {id(tensor._storage) for tensor in self.buffers}
        return _with((self.args[0], self.named[0]), iter(first)), params, entry

    def _first(self, mirror: Mirror, replica: Any, inputs: tuple[Any, Any]) -> Any:
        """Call the first replica with the mirrored stream as the current stream of its device."""
        accelerator = mirror.devices[0]
        public = accelerator.public
        watchers.append(mirror.before_write)
        try:
            accelerator.public = devices.observed(accelerator.index)
            return self.call([(0, replica, inputs)], mirror.stream)[0]
        finally:
            accelerator.public = public
            watchers.remove(mirror.before_write)

    def _rest(self, mirror: Mirror, hold: _Hold, params: Any) -> list[tuple[int, Any, Any]]:
        """Return the calls of the further replicas, which start from the same state as the first one."""
        mirror.rewind()
        for bucket, copies in zip(self.sent[0], comm.send(self.packed, mirror.indexes)):
            bucket.copies = copies
        further = range(1, len(self.gpus))
        buckets = [bucket for sent in self.sent for bucket in sent]
        copied = [dict(pair for bucket in buckets for pair in bucket.of_device(at)) for at in further]
        wanted = [id(tensor) for bucket in self.sent[1] for tensor in bucket.tensors]
        if wanted:
            late = _Late.apply(hold, [[own[key] for key in wanted] for own in copied], *[params[key] for key in wanted])
            for at, own in enumerate(copied):
                own.update(zip(wanted, late[at * len(wanted) :]))
        return [(at, self.build(own, own), (self.args[at], self.named[at])) for at, own in zip(further, copied)]
