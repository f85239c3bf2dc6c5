"""Mirrored replicas: the module runs once in Python, and every call of an operator runs on all devices.

- While the first replica runs, a MirroredStream is the current stream of its device.  Memory that is allocated on it
  has twins on the other devices, and plans repeat their launches with the twins' addresses (core/plan.py).
- Nodes that are recorded keep the MirroredStream, so that backward runs them in the same way.
- Anything else ends the mirror: a value that is read, a copy, an event, a custom Function, a question for the device,
  an operand without twins, a write to a parameter or an input.  The first replica continues on its device alone.  The
  others run in threads, from the state that they started with.
- A write to a buffer writes its twins, which are dropped in the end.
"""

from __future__ import annotations

import random
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any
from weakref import WeakKeyDictionary, ref

from .. import transfer
from ..autograd.function import Function, FunctionNode
from ..autograd.mode import mode
from ..autograd.observers import is_observed
from ..core import thread
from ..core.plan import Launch
from ..core.queue import Mirror as MirrorBase
from ..core.queue import Queue
from ..core.storage import Storage, Twins, owning
from ..core.tensor import TensorBase, empty_tensor, new_tensor, tensor_over, watchers
from ..errors import NotSupportedError
from ..nn.hooks import everywhere
from ..nn.parameter import Buffer, Parameter
from ..ops.operator import REGISTRY
from ..runtime import device as devices
from ..runtime.random_state import twister_words
from ..runtime.stream import Stream
from ..tensor.tensor import Tensor
from . import comm, effects
from .broadcast import ReduceAddCoalesced

FORWARD, BACKWARD = "forward", "backward"
_ORDINARY: set[type] = {Tensor, Parameter, Buffer}  # subclasses may look at their device
_groups: WeakKeyDictionary[Any, dict[Any, Any]] = WeakKeyDictionary()  # per machine, the group of each tuple of streams
_equal: WeakKeyDictionary[Any, dict[Any, bool]] = WeakKeyDictionary()  # per machine, what `_are_equal` returns
_running = threading.Lock()  # one module at a time: parameters have one list of twins


class MirroredStream(Stream):
    """A device's current stream, while its work is repeated on others.  Work that is not a plan's ends the mirror."""

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
        """Order the first device's work; the engine calls it where a gradient comes from elsewhere."""
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
        self.drawn = []
        self.queues = list(streams)
        machine = streams[0].machine
        handles = tuple([stream.handle for stream in streams])
        self.group = _groups.setdefault(machine, {}).setdefault(handles, handles)
        self.devices = [machine.devices[stream.device_index] for stream in streams]
        self.phase, self.reason = FORWARD, ""
        self.made: Any = []
        self.twinned: list[tuple[Storage, Twins]] = []
        self.kept: set[int] = set()  # ids of storages that must not be written
        self.late: list[Any] | None = None
        self.stream = MirroredStream.over(streams[0], self)
        self.streams = {**{each.device_index: each for each in streams}, self.stream.device_index: self.stream}
        self.states = [each.generator.random_state for each in self.devices]
        self.marks = [each.position() for each in self.states]
        self.host_marks = _host_marks(machine)

    # see MirrorBase

    def end(self, reason: str, error: Any = None) -> None:
        if self.phase is BACKWARD:
            if error is None and is_observed():  # anomaly detection looks at the first device
                return
            raise error or NotSupportedError(
                f"in the backward pass of a DataParallel module, {reason}",
                hint="call nn.parallel.replicate and nn.parallel.parallel_apply: they run in threads",
            )
        self.reason = self.reason or reason
        self.stream.mirror = None

    def load(self, step: Any) -> Any:
        if isinstance(step, Launch):
            step.mirrored = self.group, [each.kernel(step.kernel) for each in self.devices], []
        else:
            plans = [each.library_plan(step.operation) for each in self.devices]
            step.mirrored = self.group, [handle for handle, _ in plans], [nbytes for _, nbytes in plans]
        return step.mirrored

    def draw(self, draws: Any) -> None:
        if any(source is not None for _, source in draws):
            self.end("random numbers were drawn from a generator")
        self.drawn = [
            [number for count, _ in draws for number in each.generator.reserve(count)] for each in self.devices[1:]
        ]

    # its own

    def adopt(self, memory: Storage, memories: list[Storage], start: int) -> None:
        """Give a storage its twins, until `release`."""
        memory.twins = Twins(self.group, memories, start, memory.twins)
        self.twinned.append((memory, memory.twins))
        self.kept.add(id(memory))

    def release(self) -> None:
        """Drop the twins of parameters, buffers and inputs: no node of the forward is left."""
        for memory, twins in self.twinned:
            twins.is_live = False
            while memory.twins is not None and not memory.twins.is_live:
                memory.twins = memory.twins.before
        self.stream.mirror = None
        self.stream.alone, self.streams = {}, {}

    def before_write(self, tensor: TensorBase) -> None:
        """End before a parameter or an input is written in place: replicas in threads start with its value.

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
        """End if the replicas of the other devices would have done something else."""
        if self.reason:
            return
        outputs = list(_tensors(output))
        if not all(each._storage.twins is not None for each in outputs):
            self.end("an output is on the first device only")
        elif _host_marks(self.stream.machine) != self.host_marks:
            self.end("random numbers were drawn on the host")
        elif len({self._drawn(index) for index in range(len(self.devices))}) > 1:
            self.end("a generator was seeded")
        else:
            known = {id(each) for output in outputs for each in (output, output._base)}
            if any(id(each) not in known for each in [made() for made in self.made] if each is not None):
                self.end("a tensor that is no output outlives the forward")

    def _drawn(self, index: int) -> tuple[bool, int]:
        """Return whether a device's generator has its former seed, and how many counters were drawn."""
        (seed, before), (now, counter) = self.marks[index], self.states[index].position()
        own = self.devices[index].generator.random_state is self.states[index]
        return own and seed == now, counter - before

    def rewind(self) -> None:
        """Let the generators of the further devices start again."""
        for state, (seed, counter) in zip(self.states[1:], self.marks[1:]):
            state.reseed(seed)
            state.count_from(counter)


def _host_marks(machine: Any) -> tuple[Any, ...]:
    """Return a value that changes when Python, NumPy or the CPU's generator draws random numbers."""
    return random.getstate(), _numpy_mark(), machine.cpu_generator.random_state.position()


_seen: tuple[bytes, Any, Any] = b"", False, 0.0  # of NumPy's generator: its words, and a normal number that it keeps


def _numpy_mark() -> Any:
    """Return a value that changes when NumPy's global generator draws.

    `get_state`, which takes long, is called only if the words have changed, or if a normal number was kept: that is
    drawn without a change of the words.
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
    """Iterate over the tensors in nested values, in order."""
    if isinstance(value, TensorBase):
        yield value
    elif isinstance(value, Mapping):
        for each in value.values():
            yield from _tensors(each)
    elif isinstance(value, (tuple, list)):
        for each in value:
            yield from _tensors(each)


def _with(value: Any, tensors: Iterator[Any]) -> Any:
    """Return nested values with other tensors, in the order of `_tensors`."""
    if isinstance(value, TensorBase):
        return next(tensors)
    if isinstance(value, Mapping):
        make: Any = type(value)
        return make([(key, _with(each, tensors)) for key, each in value.items()])
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*[_with(each, tensors) for each in value])
    if isinstance(value, (tuple, list)):
        return type(value)([_with(each, tensors) for each in value])
    return value


def _is_whole(tensor: TensorBase) -> bool:
    """Return whether a tensor has no gaps and all of its storage."""
    return tensor._layout.dense and tensor._offset == 0 and tensor._layout.nbytes == tensor._storage.nbytes


class _Hold:
    """Keeps a mirror as long as a node of its forward may run."""

    __slots__ = ("__weakref__", "mirror")

    def __init__(self, mirror: Mirror) -> None:
        self.mirror = mirror

    def __del__(self) -> None:
        self.mirror.release()


# between ordinary tensors on every device and mirrored tensors; device-major: all of the first device, then the next


def _part(mirrored: TensorBase, index: int) -> TensorBase:
    """Return a mirrored tensor's part on the device of `index`, as an ordinary tensor."""
    layout = mirrored._layout
    if index == 0:
        return new_tensor(mirrored._storage, layout, mirrored._offset)
    twins = mirrored._storage.twins
    assert twins is not None
    memory = _window(twins.memories[index - 1], twins.start + mirrored._offset * layout.itemsize, _span(layout))
    return tensor_over(memory, layout.dtype, layout.shape, layout.strides)


def _span(layout: Any) -> int:
    """Return the bytes from the first to the last element of a layout."""
    if not layout.numel:
        return 0
    last = sum((size - 1) * stride for size, stride in zip(layout.shape, layout.strides))
    nbytes: int = (last + 1) * layout.itemsize
    return nbytes


def _window(memory: Storage, start: int, nbytes: int) -> Storage:
    """Return a storage over a part of another, with a version count of its own."""
    return owning(memory.device, nbytes, memory.address() + start, memory, comm.KEPT)


def _mirrored(mirror: Mirror, parts: Sequence[Any]) -> TensorBase:
    """Return a mirrored tensor over contiguous parts."""
    parts = [transfer.dense(part, part.dtype) for part in parts]
    windows = [_window(part._storage, part._offset * part.dtype.itemsize, _span(part._layout)) for part in parts]
    windows[0].twins = Twins(mirror.group, windows[1:], 0)
    return tensor_over(windows[0], parts[0].dtype, parts[0].shape, parts[0].strides)


class _Join(Function):
    """Make mirrored tensors of the parts on all devices."""

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
    """Take mirrored tensors apart."""

    @staticmethod
    def forward(ctx: Any, hold: _Hold, *tensors: Any) -> Any:
        ctx.hold = hold
        return tuple(_part(each, index) for index in range(len(hold.mirror.devices)) for each in tensors)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        return (None, *_mirroring(_Join, ctx.hold, *grads))


class _Apart:
    """Inside, the first device works alone."""

    def __init__(self, mirror: Mirror) -> None:
        self.stream = mirror.stream

    def __enter__(self) -> None:
        thread.set_stream(self.stream.base)

    def __exit__(self, *error: object) -> None:
        thread.set_stream(self.stream)


def _mirroring(function: type[Function], hold: _Hold, *arguments: Any) -> Any:
    """Apply a function whose results are mirrored; their gradients are summed on all devices."""
    results = function.apply(hold, *arguments)
    for each in results:
        if each._grad_fn is not None:
            each._grad_fn.streams = hold.mirror.streams
    return results


def _share_gradients(entered: Iterable[Any], shares: bool) -> None:
    """Set whether others may hold the gradients that the node of `_Enter` returns."""
    for each in entered:
        if isinstance(each._grad_fn, FunctionNode):
            each._grad_fn.shares = shares


def _split(hold: _Hold, tensors: Sequence[Any]) -> list[Any]:
    """As `_Split`, of tensors or None, differentiable if gradients are recorded."""
    given = [index for index, each in enumerate(tensors) if each is not None]
    parts = iter(_Split.apply(hold, *[tensors[index] for index in given]) if given else ())
    found: list[Any] = [None] * (len(hold.mirror.devices) * len(tensors))
    for device in range(len(hold.mirror.devices)):
        for index in given:
            found[device * len(tensors) + index] = next(parts)
    return found


class _Enter(Function):
    """Make the first replica's parameters and inputs: `count` parameters, then the parts of the inputs.

    Backward sums the parameters' gradients in the order of the devices.
    """

    @staticmethod
    def forward(ctx: Any, hold: _Hold, count: int, *tensors: Any) -> Any:
        ctx.hold, ctx.count = hold, count
        ctx.shapes = [(each.shape, each.dtype) for each in tensors[:count]]
        ctx.set_materialize_grads(False)
        inputs = (len(tensors) - count) // len(hold.mirror.devices)
        return (*tensors[:count], *[_alias(each) for each in tensors[count : count + inputs]])

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        mirror, params, inputs = ctx.hold.mirror, grads[: ctx.count], grads[ctx.count :]
        with _Apart(mirror):
            sums = _sums(ctx.hold, params, ctx.shapes)
            if mirror.reason:
                return (None, None, *sums, *inputs, *[None] * (len(inputs) * (len(mirror.devices) - 1)))
            return (None, None, *sums, *_split(ctx.hold, inputs))


def _alias(tensor: TensorBase) -> TensorBase:
    return new_tensor(tensor._storage, tensor._layout, tensor._offset)


def _sums(hold: _Hold, grads: Sequence[Any], shapes: Sequence[Any]) -> list[Any]:
    """Sum parameters' gradients over the devices; one that no device has is zeros."""
    mirror = hold.mirror
    first = mirror.devices[0].index
    if mirror.reason:
        own = [_zeros(like, first) if each is None else each for each, like in zip(grads, shapes)]
        groups, mirror.late = [own, *(mirror.late or ())], None
        return list(ReduceAddCoalesced.apply(first, len(own), *[each for group in groups for each in group]))
    given = [index for index, each in enumerate(grads) if each is not None]
    found: list[Any] = [None] * len(grads)
    if mode.enabled:
        parts = _split(hold, [grads[index] for index in given])
        sums: Sequence[Any] = ReduceAddCoalesced.apply(first, len(given), *parts) if given else ()
    else:
        sums = _summed(mirror, [grads[index] for index in given])
    for index, total in zip(given, sums):
        found[index] = total
    return [_zeros(like, first) if each is None else each for each, like in zip(found, shapes)]


def _zeros(like: tuple[Any, Any], index: int) -> Any:
    zeros: Any = empty_tensor(*like, index)
    return zeros.zero_()


def _summed(mirror: Mirror, grads: Sequence[Any]) -> list[Any]:
    """As comm.reduce_add_coalesced, where each bucket is packed on all devices by one call."""
    totals: list[Any] = [None] * len(grads)
    first = mirror.devices[0].index
    for group in comm.buckets(grads, comm.BUFFER_BYTES):
        likes = [grads[index] for index in group]
        thread.set_stream(mirror.stream)
        try:
            flat = comm.flat(likes)
        finally:
            thread.set_stream(mirror.stream.base)
        total: Any = REGISTRY["add"](_part(flat, 0), comm.to_index(_part(flat, 1), first))
        for index in range(2, len(mirror.devices)):
            total.add_(comm.to_index(_part(flat, index), first))
        for index, each in zip(group, comm.unpack(total, likes)):
            totals[index] = each
    return totals


class _Late(Function):
    """Make the parameters of the replicas that run in threads after all.  Their gradients go to `_Enter`."""

    @staticmethod
    def forward(ctx: Any, hold: _Hold, copies: list[list[Any]], *params: Any) -> Any:
        ctx.hold, ctx.count = hold, len(params)
        return tuple(each for copied in copies for each in copied)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        ctx.hold.mirror.late = [list(grads[at : at + ctx.count]) for at in range(0, len(grads), ctx.count)]
        return (None, None, *[None] * ctx.count)


# sending tensors to the other devices


class _Bucket:
    """Tensors of the first device, packed, and the copies of the bucket on the others."""

    def __init__(self, mirror: Mirror, tensors: list[Any]) -> None:
        self.mirror, self.tensors = mirror, tensors
        self.packed = comm.pack(tensors)
        self.starts = comm.bucket_layout(tensors)[0]
        self.send()
        for start, each in zip(self.starts, tensors):
            mirror.adopt(each._storage, self.copies, start)

    def send(self) -> None:
        self.copies = [transfer.to_device(self.packed, each.index, True)._storage for each in self.mirror.devices[1:]]

    def of_device(self, index: int) -> Iterator[tuple[int, Any]]:
        """The tensors' ids and their copies on a further device, as tensors."""
        for start, each in zip(self.starts, self.tensors):
            memory = _window(self.copies[index - 1], start, each.numel() * each.dtype.itemsize)
            yield id(each), tensor_over(memory, each.dtype, each.shape, each.strides)


def _sent(mirror: Mirror, tensors: list[Any]) -> list[_Bucket]:
    return [_Bucket(mirror, [tensors[at] for at in group]) for group in comm.buckets(tensors, comm.BUFFER_BYTES)]


# the forward


def _are_equal(machine: Any, gpus: tuple[int, ...]) -> bool:
    """Return whether devices have equal properties, so that what was lowered for one suits all."""
    known = _equal.setdefault(machine, {})
    if gpus not in known:
        known[gpus] = len({replace(machine.devices[index].properties, uuid="") for index in gpus}) == 1
    return known[gpus]


def _has_hooks(module: Any) -> bool:
    return bool(
        module._forward_hooks or module._forward_pre_hooks or module._backward_hooks or module._backward_pre_hooks
    )


class Replicas:
    """The calls of one forward.  args, named: the inputs of each device.

    members: has the original's `params` and `buffers`, and `replica(params, buffers)`, which copies it.
    call: calls replicas in threads, [(index, replica, (args, named))] -> outputs;  its second argument is a stream
    that is current in them, or None.
    """

    def __init__(
        self, members: Any, gpus: Sequence[int], args: Sequence[Any], named: Sequence[Any],
        call: Callable[[Sequence[tuple[int, Any, Any]], Any], list[Any]],
    ) -> None:  # fmt: skip
        self.gpus, self.args, self.named = gpus, args, named
        self.modules, self.params, self.buffers = members.modules, members.params, members.buffers
        self.build, self.call = members.replica, call
        self.plain = not mode.enabled

    def outputs(self) -> tuple[list[Any], str] | None:
        """Run the replicas; return their outputs by device, and the reason for which the mirror ended, or "".

        None, and nothing was done, if they cannot be mirrored from the start.
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
        if everywhere.any or any(map(_has_hooks, self.modules)):  # they run once per replica
            return False
        if not _are_equal(machine, tuple(self.gpus)):
            return False
        if not self.plain and any(each.requires_grad for each in self.buffers):  # their gradients are summed too
            return False
        if any(stream is not None and stream.mirror is not None for stream in now.streams):
            devices.unmirror("a module inside runs on several devices itself")
            return False
        states = [*self.params, *self.buffers]
        if any([type(each) not in _ORDINARY or not _is_whole(each) for each in states]):
            return False
        self.parts = [list(_tensors(each)) for each in zip(self.args, self.named)]
        if not all(map(self._are_alike, self.parts[1:])):
            return False
        streams = [thread.current_stream(index) for index in self.gpus]
        memories = [each._storage for each in (*states, *self.parts[0])]
        if len({id(each) for each in memories}) < len(memories):
            return False
        group = tuple([stream.handle for stream in streams])
        return all(each.twins is None or each.twins.group == group for each in memories)

    def _are_alike(self, parts: list[Any]) -> bool:
        """Return whether the inputs of a further device lie like those of the first, in memory of their own."""
        if len(parts) != len(self.parts[0]):
            return False
        for part, first in zip(parts, self.parts[0]):
            if type(part) not in _ORDINARY or type(first) not in _ORDINARY or part.dtype is not first.dtype:
                return False
            if part.shape != first.shape or not first._layout.dense or not part._layout.dense or part._offset:
                return False
        return True

    def _outputs(self) -> tuple[list[Any], str]:
        mirror = Mirror([thread.current_stream(index) for index in self.gpus])
        hold = _Hold(mirror)
        first, params, buffers, sent = self._entered(mirror, hold)
        replica = self.build(params, buffers)
        places = effects.places(self.modules)
        before = effects.marks(self.modules, places)
        output = self._first(mirror, replica, first)
        del replica, first
        mirror.check(output)
        if effects.marks(self.modules, places) != before:
            mirror.end("the module changed a container or a variable that its replicas share")
        mirror.phase, mirror.made = BACKWARD, deque(maxlen=0)
        mirror.stream.mirror = None if mirror.reason else mirror
        if mirror.reason:
            _share_gradients(params.values(), True)  # so that the node runs even if no replica but a late one has any
            return [output, *self.call(self._rest(mirror, hold, params, sent), None)], mirror.reason
        tensors = list(_tensors(output))
        parts = _split(hold, tensors)
        count = len(tensors)
        return [_with(output, iter(parts[at * count : (at + 1) * count])) for at in range(len(self.gpus))], ""

    def _entered(self, mirror: Mirror, hold: _Hold) -> Any:
        """Return the first replica's (args, named), its parameters and buffers by id, and what was sent of them."""
        recorded = not self.plain
        wanted = [each for each in self.params if recorded and each.requires_grad]
        frozen = [each for each in self.params if not (recorded and each.requires_grad)]
        sent = [_sent(mirror, tensors) for tensors in (wanted, frozen, self.buffers)]
        for parts in zip(*self.parts):
            memories = [part._storage for part in parts[1:]]
            mirror.adopt(parts[0]._storage, memories, -parts[0]._offset * parts[0].dtype.itemsize)
        joined = [parts for parts in zip(*self.parts) if recorded and parts[0].requires_grad]
        entered: list[Any] = []
        if wanted or joined:
            flat = [parts[index] for index in range(len(self.gpus)) for parts in joined]
            entered = list(_mirroring(_Enter, hold, len(wanted), *wanted, *flat))
            _share_gradients(entered, False)  # those of parameters become their `grad` without a copy
        inputs = iter(entered[len(wanted) :])
        first = [
            next(inputs) if recorded and parts[0].requires_grad else _alias(parts[0]) for parts in zip(*self.parts)
        ]
        mirror.made.extend([ref(each) for each in first])
        others = [*frozen, *self.buffers]
        params = dict(zip(map(id, wanted), entered))
        params.update((id(each), each.detach() if self.plain else each) for each in others)
        for bucket in sent[2]:
            mirror.kept.difference_update([id(each._storage) for each in bucket.tensors])
        return _with((self.args[0], self.named[0]), iter(first)), params, params, sent

    def _first(self, mirror: Mirror, replica: Any, inputs: tuple[Any, Any]) -> Any:
        """Call the first replica in a thread in which its device's stream is the mirrored one."""
        accelerator = mirror.devices[0]
        public = accelerator.public
        watchers.append(mirror.before_write)
        try:
            accelerator.public = devices.observed(accelerator.index)
            return self.call([(0, replica, inputs)], mirror.stream)[0]
        finally:
            accelerator.public = public
            watchers.remove(mirror.before_write)

    def _rest(self, mirror: Mirror, hold: _Hold, params: Any, sent: Any) -> list[tuple[int, Any, Any]]:
        """Return the calls of the further replicas, which start with the state that the first one started with."""
        mirror.rewind()
        for bucket in sent[2]:
            bucket.send()
        further = range(1, len(self.gpus))
        copies = [dict(each for part in sent for bucket in part for each in bucket.of_device(at)) for at in further]
        wanted = [id(each) for bucket in sent[0] for each in bucket.tensors]
        if wanted:
            late = _Late.apply(hold, [[own[key] for key in wanted] for own in copies], *[params[key] for key in wanted])
            for at, own in enumerate(copies):
                own.update(zip(wanted, late[at * len(wanted) :]))
        return [(at, self.build(own, own), (self.args[at], self.named[at])) for at, own in zip(further, copies)]
