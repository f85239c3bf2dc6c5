"""Collectives of several processes.

- On NVIDIA GPUs, groups with the backend "nccl" run what NCCL supports as steps between the GPUs (`Transfer`).  The
  host waits for other ranks only at the first collective of a group; calls are compared later (watchdog.py).
- Otherwise, each rank sends the bytes of its inputs to all members (see exchange.py), and computes its own outputs in
  the order of the ranks: results do not depend on timing, and are equal on all ranks.  The call is posted at once, so
  that mismatches are found whether or not the program waits.
- On GPUs, a collective runs on the group's stream of the device: it reads its inputs, and writes its outputs when all
  ranks have given theirs.  It runs after the work submitted to the current stream; after `Work.wait`, later work on
  the current stream runs after it.  A missing wait is thus a race that the race checker detects.  The host does not
  wait.
- On the CPU, the call reads the inputs, and `Work.wait` writes the outputs.  It waits on the host and also completes
  earlier collectives of the channel; the end of the group waits for the remaining ones (`HostWork`).  The same holds
  on NVIDIA GPUs for the backend "gloo", and for what NCCL cannot run.
"""

from __future__ import annotations

import math
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from datetime import timedelta
from itertools import chain
from typing import Any, NamedTuple

from .. import callers, host
from ..autograd.mode import GradMode
from ..core import thread
from ..core.native import run_handlers
from ..core.tensor import TensorBase, address_of, array_of
from ..driver.api import CaptureStatus, Step, StreamHandle
from ..errors import AcceleratorError, ArgumentError, NotSupportedError, ShapeError
from ..kernel import Access
from ..runtime.device import cuda_index
from ..runtime.stream import Event, Stream, StreamGuard
from ..strides import is_compact
from ..tensor.interop import frombuffer
from . import links
from .calls import MAX_DESCRIPTIONS, Channel, Description, Running, Sizes, like
from .exchange import Client, CollectiveError, as_timeout
from .futures import Future
from .group import CoalescedCall, Group, ReduceOp, Work
from .hub import GOODBYE

Received = dict[int, bytes]  # by rank of the group
Written = Iterable[tuple[int, Any]]  # output indexes, and arrays of the outputs' values
COALESCED = "coalesced"  # added to the description of each part of a coalesced operation
MAX_UNFINISHED = 16  # completed results that a channel keeps
POLL = 0.001  # seconds between queries of an event while the host waits


class UnlikeError(ShapeError, ArgumentError):
    """Tensors of a call differ in their types, or in their numbers of elements."""


class Transfer(NamedTuple):
    """A step of a collective (`driver.api.Step`), with tensors."""

    kind: str
    source: Any
    target: Any
    reduction: str = ""
    peer: int = 0

    @property
    def is_empty(self) -> bool:
        return not (self.target if self.source is None else self.source).numel()


Transfers = Callable[[], list[Transfer]]


class Place(NamedTuple):
    """Where a collective runs.  stream: None on the CPU."""

    device: int
    stream: Stream | None


def device_of(name: str, group: Group, tensors: Sequence[TensorBase]) -> int:
    """Check a collective's tensors; return their device index, -1 for the CPU."""
    devices = {tensor.device_index for tensor in tensors}
    if len(devices) > 1:
        raise ArgumentError(
            "the tensors must be on one device, and are on "
            f"{', '.join(sorted({str(tensor.device) for tensor in tensors}))}",
            hint="move the tensors of the call to one device",
            operator=name,
        )
    device = devices.pop() if devices else -1
    wanted = "cpu" if device < 0 else "cuda"
    if group.backend == "nccl" and device < 0 and tensors:
        raise ArgumentError(
            "No backend type associated with device type cpu",
            hint="move the tensor to this rank's GPU, or make the group with backend='cpu:gloo,cuda:nccl'",
            operator=name,
        )
    if ":" in group.backend and f"{wanted}:" not in group.backend:
        raise ArgumentError(
            f"No backend type associated with device type {wanted}",
            hint=f"the group has backend {group.backend!r}: move the tensor, or make a group with both",
            operator=name,
        )
    for tensor in tensors:
        if not tensor.is_contiguous() and not is_compact(tensor.shape, tensor.strides):
            raise ArgumentError(
                f"Tensors must be contiguous, or permuted without gaps, got strides {tuple(tensor.strides)}",
                hint="call contiguous() first",
                operator=name,
            )
    return device


def order_of(name: str, group: Group, device: int, tensors: Sequence[TensorBase]) -> str:
    """Return how permuted tensors lie, for a call whose steps move them as they lie; else "".

    Other calls read and write in the order of indexes, so that layouts may differ.
    Raises: ArgumentError for steps between tensors of several layouts.
    """
    if device < 0 or not group.runs_steps or all(tensor.is_contiguous() for tensor in tensors):
        return ""
    layouts = list(dict.fromkeys((tuple(tensor.shape), tuple(tensor.strides)) for tensor in tensors if tensor.numel()))
    if len(layouts) > 1:
        (shape, strides), (other_shape, other_strides) = layouts[:2]
        raise ArgumentError(
            f"Tensors must be contiguous, or have one layout, got shape {shape} with strides {strides}, and "
            f"{other_shape} with {other_strides}",
            hint="call contiguous() first",
            operator=name,
        )
    return f"strides={layouts[0][1]}" if layouts else ""


def place_of(name: str, group: Group, device: int, kind: str = "") -> Place:
    """Return where collectives on a device run, and make that stream wait for the current stream.

    kind: of messages between two ranks, which have their own stream.
    """
    if device < 0:
        return Place(device, None)
    stream = group.stream(device, kind)
    _follow_current(name, stream)
    return Place(device, stream)


def _follow_current(name: str, stream: Stream) -> None:
    """Make a group's stream wait for the current stream, which must not be capturing."""
    current = thread.current_stream(stream.device_index)
    if current.driver.capture_status(current.handle) is not CaptureStatus.NONE:
        raise NotSupportedError(
            "a collective of several processes cannot be captured",
            hint="call it before or after the graph",
            operator=name,
        )
    stream.wait_stream(current)


class Form(NamedTuple):
    """A tensor's data type and shape, as NumPy's."""

    dtype: Any
    shape: tuple[int, ...]
    itemsize: int

    @property
    def numel(self) -> int:
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        return self.numel * self.itemsize

    def read(self, data: bytes, offset: int = 0) -> Any:
        """Return an array of another rank's bytes."""
        return host.np.frombuffer(data, self.dtype, self.numel, offset)


def form_of(tensor: Any) -> Form:
    return Form(tensor.dtype.numpy, tuple(tensor.shape), tensor.dtype.itemsize)


def _nothing(received: Received) -> Written:
    """Return no values: the host does not compute this collective."""
    return []


def _is_at(access: Access | None, tensor: Any) -> bool:
    """Return whether a step accesses this tensor, given that the layouts are equal."""
    return tensor is None if access is None else access.address == address_of(tensor)


def _bytes_of(array: Any) -> Any:
    """Return the bytes of an array, as an array."""
    return host.np.ascontiguousarray(array).reshape(-1).view(host.np.uint8)


class Collective:
    """A pending collective, which a stream or `Work.wait` runs (`driver.api.Exchange`).

    compute: computes the outputs' values from all ranks' bytes;  written: the indexes of outputs that are not empty.
    nbytes: of the tensor that is reduced or sent, or of all ranks' parts together;  group: its name.
    kind: of messages, which have their own stream and channel.  members: ranks in the job.
    kinds: those of the streams whose communicators are created together with this one's.
    transfers: makes the steps, for tensors; None for objects.
    """

    def __init__(
        self,
        name: str,
        group: Group,
        called: Description,
        compute: Callable[[Received], Written],
        outputs: Sequence[Any],
        nbytes: int,
        transfers: Transfers | None = None,
        kind: str = "",
        members: Sequence[int] | None = None,
        kinds: Sequence[str] | None = None,
    ) -> None:
        assert group.client is not None
        self.name, self.called, self.kind = name, called, kind
        self.key = group.next_key(kind)
        self.members = group.ranks if members is None else members
        self.channel_members = self.members  # ranks whose channel logs the call
        self.rank, self.size = self.members.index(group.ranks[group.rank()]), len(self.members)
        self.timeout = group.timeout.total_seconds()
        self.client: Client = group.client
        self.written = [index for index, output in enumerate(outputs) if output.numel()]
        self.nbytes = nbytes
        self.group = group.group_name
        self.duration_ns = 0
        self.is_over = False
        self.steps: Sequence[Step] | None = None
        self.channel: Channel | None = None  # the channel that logs the call
        self.process_group, self.transfers = group, transfers
        self._kinds, self._device = kinds or (kind,), -1
        self._ranks, self._world_size = group.ranks, group.world_size
        self._compute = compute

    def model(self, driver: Any) -> None:
        """Set the modelled time.  driver: of virtual GPUs."""
        rate = driver.card.peer_rate
        self.duration_ns = links.from_environment().duration_ns(
            self.name, self.nbytes, self.members, self._world_size, rate
        )

    def begin(self, stream: Stream | None) -> bool:
        """Announce the call to the other ranks; return whether the stream runs it as steps."""
        group = self.process_group
        if not group.runs_steps:
            self._call(_gpu(group, stream))
            return False
        self.make_steps(stream)
        if self.steps is None:
            self.client.report()  # earlier calls are compared before this one ends
            self._call("")
            if self.kind:
                return False  # no GPU runs messages of the host: the hub compares all calls of their channel
        channel = self.channel = self._channel()
        if self.steps is not None:
            self._note_steps(channel, self.key)
        channel.add(self.called)
        return self.steps is not None

    def _call(self, gpu: str) -> None:
        """Post the call.  gpu: a GPU that no other member may use."""
        self.client.call(self.key, self.members, self.called, gpu, self.nbytes)

    def make_steps(self, stream: Stream | None) -> None:
        """Make the steps, if the stream's device can run all of them."""
        if stream is not None and self.transfers is not None:
            steps = [_step(transfer) for transfer in self.transfers() if not transfer.is_empty]
            if stream.driver.runs_steps(steps):
                self.steps, self._device = steps, stream.device_index

    def _channel(self) -> Channel:
        return self.client.channel(f"{self.group}:{self.kind}", self.channel_members)

    def log(self) -> None:
        """Log the call of one part of an operation that runs as steps."""
        self._channel().add(self.called)

    def _note_steps(self, channel: Channel, key: str) -> None:
        """Record, before the call is logged, that a GPU runs it.  Raises CollectiveError if the group has failed."""
        self.client.check(self.name)
        entry = self.client.recorder.queued(key, self.name, self.called.text, self.nbytes)
        entry.started_ns = entry.created_ns
        channel.running.append(Running(channel.count + 1, entry, self.timeout, time.monotonic()))

    def without_tensors(self) -> Collective:
        """Return a copy that keeps no tensor alive, for `again`."""
        copy = Collective.__new__(Collective)
        vars(copy).update(vars(self), transfers=None, _compute=_nothing)
        return copy

    def again(self, source: Any, target: Any) -> Collective:
        """Begin a repetition of this one-step call, with tensors of the same layouts.

        Returns: the collective for a stream to run: this object itself, if the tensors have the same addresses.
        """
        assert self.steps is not None and self.channel is not None
        self._note_steps(self.channel, self.process_group.next_key())
        self.channel.add(self.called)
        kind, read, written, reduction, peer = self.steps[0]
        if _is_at(read, source) and _is_at(written, target):
            return self
        moved = self.without_tensors()
        moved.steps = [_step(Transfer(kind, source, target, reduction, peer))]
        return moved

    @property
    def streams(self) -> list[StreamHandle]:
        """The streams whose communicators are created together."""
        return [self.process_group.stream(self._device, kind).handle for kind in self._kinds]

    def join(self, make_id: Callable[[], bytes], gpu: str) -> bytes:
        """Return the ids of communicators, which the first member creates.  Host: waits for all members.

        gpu: a GPU that no other member may use.  Raises: CollectiveError.
        """
        self.client.report()
        key = self.process_group.next_key(f"{self._kinds[0]}communicator")
        called = self.called._replace(same="communicator", sends=None, takes=None)  # calls are compared by their logs
        self.client.post(key, self.members, called, gpu)
        self.client.give(key, [host.np.frombuffer(make_id(), host.np.uint8)] if self.rank == 0 else [])
        return self.client.collect(key, self.timeout, self.name).data[self.members[0]]

    def give(self, inputs: Sequence[Any], start_ns: int) -> None:
        """Give the other ranks the bytes of arrays."""
        self.client.give(self.key, [_bytes_of(array) for array in inputs], (start_ns, self.duration_ns))

    @property
    def keys(self) -> list[str]:
        """The keys that are not ready yet, or the only key."""
        return [self.key]

    def is_ready(self) -> bool:
        """Return whether all members have given their bytes."""
        return self.client.is_ready(self.key)

    def has_failed(self) -> bool:
        """Return whether the group has failed, so that this collective may never become ready."""
        return self.client.failure is not None or self.group in self.client.aborted

    def error(self) -> CollectiveError:
        """Return the error because of which there will be no outputs."""
        if self.group not in self.client.aborted:
            return self.client.error(self.name)
        error = CollectiveError(
            f"group {self.group} was aborted by shrink_group",
            hint="the outputs are undefined: repeat the call in the new group",
            operator=self.name,
        )
        error.is_repeated = True  # the program has requested the abort
        return error

    def wait(self, others: Sequence[Collective]) -> None:
        """Wait until one of several collectives, including this one, is ready or has failed.  Host: waits."""
        timeout, keys = min(other.timeout for other in others), [other.keys for other in others]
        if all(keys) and not any(other.has_failed() for other in others):  # otherwise one has become ready
            self.client.wait([*chain(*keys)], timeout, lambda: any(other.is_over for other in others))

    def collect(self, timeout: timedelta | None = None) -> tuple[Received, int]:
        """Return all ranks' bytes and the modelled end time; 0 if there is none.  Host: waits for the other ranks.

        timeout: the group's if None.  Raises: CollectiveError.
        """
        seconds = self.timeout if timeout is None else timeout.total_seconds()
        try:
            if self.group in self.client.aborted:
                raise self.error()
            reply = self.client.collect(self.key, seconds, self.name)
        finally:
            self.is_over = True
        starts, lengths = [list(numbers) for numbers in zip(*reply.times.values())] or ([0], [0])
        data = {self._ranks.index(rank): sent for rank, sent in reply.data.items()}
        return data, max(starts) + max(lengths)

    def values(self, data: Received) -> list[tuple[int, Any]]:
        """Return the outputs' values."""
        with host.np.errstate(all="ignore"):
            return list(self._compute(data))

    def finish(self, outputs: Sequence[Any] | None) -> int:
        """Write the arrays of outputs that are not empty; return the modelled end time.  Raises CollectiveError.

        outputs: None if no values are computed.
        """
        data, end_ns = self.collect()
        if outputs is not None:
            arrays = dict(zip(self.written, outputs))
            for index, value in self.values(data):
                if index in arrays:
                    arrays[index][...] = host.np.asarray(value).reshape(arrays[index].shape)
        return end_ns


class HostWork(Work):
    """A collective whose outputs the host writes, in its own `wait` or in that of a later one in its channel.

    The client keeps it until then, and waits for the remaining ones at the end of the group.
    """

    def __init__(self, collective: Collective, outputs: Sequence[Any], place: Place) -> None:
        super().__init__(outputs)
        self._collective: Collective | None = collective
        self._outputs, self._place = list(outputs), place
        self._futures: list[Future] = []
        self._finishing = threading.RLock()  # autograd's threads wait for collectives too
        self._channel = collective.client.unfinished.setdefault(f"{collective.group}:{collective.kind}", deque())
        self._channel.append(self)
        while len(self._channel) > MAX_UNFINISHED and self._channel[0].is_completed():
            pass  # its outputs have already been written

    def wait(self, timeout: Any = None) -> bool:
        """Wait for the other ranks, write the outputs, and make the current stream wait for them.  Host: waits."""
        if timeout is not None:
            timeout = as_timeout("Work.wait", timeout)
        if self._collective is not None:
            for work in list(self._channel):
                work.finish(timeout)
                if work is self:
                    break
        return super().wait(timeout)

    def finish(self, timeout: timedelta | None = None) -> None:
        """Wait for the other ranks, and write the outputs, once."""
        with self._finishing:
            collective = self._collective
            if collective is None:
                return
            data, end_ns = collective.collect(timeout)
            _reach(end_ns)
            values = [(self._outputs[index], value) for index, value in collective.values(data)]
            self._done = _write(self._place, values)
            self._collective = None
            self._channel.remove(self)
            futures, self._futures = self._futures, []
        for future in futures:
            future.set_result(self.value)

    def exception(self) -> Exception | None:
        """Return the error of the group, if it failed before all members had called."""
        collective = self._collective
        if collective is None or collective.is_ready() or not collective.has_failed():
            return None
        return collective.error()

    def is_completed(self) -> bool:
        """Return whether the outputs have been written; this call writes them if all ranks have called."""
        collective = self._collective
        if collective is not None:
            if not (collective.is_ready() or collective.has_failed()):
                return False
            self.wait()
        return super().is_completed()

    def get_future(self) -> Future:
        """Return a future of the outputs, which `wait` of this or of a later collective completes."""
        with self._finishing:
            if self._collective is None or self._place.stream is not None:
                return super().get_future()
            future = Future()
            future.start = self.wait
            self._futures.append(future)
        return future


class Part(NamedTuple):
    """A collective or message that begins together with others.  device: of its tensors, -1 for the CPU."""

    collective: Collective
    sent: Sequence[Any]
    outputs: Sequence[Any]
    device: int

    @property
    def reduction(self) -> str:
        """The name of its ReduceOp; "" without a reduction."""
        assert self.collective.transfers is not None
        return self.collective.transfers()[0].reduction


def _now() -> int:
    """Return the modelled time of this thread; 0 without virtual GPUs."""
    machine = thread.machine() if thread.has_machine() else None
    if machine is None or not machine.is_started or not machine.driver.capabilities.modelled_time:
        return 0
    return machine.driver.host_ns()


def _reach(time_ns: int) -> None:
    """Advance this thread's modelled clock to a time."""
    if _now() and time_ns:
        clock: Any = thread.machine().driver
        clock.clock.reach(time_ns)


def _run(
    name: str,
    group: Group,
    same: Any,
    sent: Sequence[Any],
    outputs: Sequence[Any],
    compute: Callable[[Received], Written],
    nbytes: int,
    transfers: Transfers,
    more: str = "",
    sizes: Sizes | None = None,
    key: Any = None,
) -> Work:
    """Begin a collective.  Its outputs are computed by `compute` from all ranks' bytes, or written by `transfers`.

    nbytes: of the tensor that is reduced or sent, or of all ranks' parts together.
    sizes: the bytes to and from each member, if these differ.
    key: equal for calls that `_again` can repeat, if this one runs as one step; None if it cannot be repeated.
    """
    device = device_of(name, group, [*sent, *outputs])
    order = order_of(name, group, device, [*sent, *outputs])
    if order:
        same, more = (same, order), f"{more}, {order}" if more else order
    coalescing = group.coalescing
    is_part = coalescing is not None and coalescing.takes(name, device)
    if is_part:
        same, more = (COALESCED, same), f"{more}, {COALESCED}" if more else COALESCED
    called = description(group, name, (name, same), sent or outputs, more, sizes)
    collective = Collective(name, group, called, compute, outputs, nbytes, transfers)
    if coalescing is not None and is_part:
        return coalescing.add(Part(collective, sent, outputs, device))
    place = place_of(name, group, device)
    work = begin(collective, place, sent, outputs)
    if key is not None and collective.steps is not None and len(collective.steps) == 1:
        if len(group.earlier) >= MAX_DESCRIPTIONS:
            group.earlier.clear()
        group.earlier[key] = collective.without_tensors(), place.stream
    return work


def _key(group: Group, name: str, how: Any, one: TensorBase, other: TensorBase) -> Any:
    """Return a key that is equal for collectives that differ only in the addresses of their tensors.

    A layout belongs to one device of one machine.
    Returns None if GPUs run no steps, and for coalesced calls.
    """
    if not group.runs_steps or group.coalescing is not None:
        return None
    frame = callers.program_frame()
    site = None if frame is None else (frame.f_code.co_filename, frame.f_lineno)
    return name, how, one._layout, other._layout, site


def _again(earlier: tuple[Collective, Stream], source: Any, target: Any) -> Work:
    """Begin a collective with the key of an earlier one-step collective, without repeating the checks.

    source, target: the tensors that are read and written, or None.
    """
    collective, stream = earlier
    _follow_current(collective.name, stream)
    sent, outputs = [] if source is None else [source], [] if target is None else [target]
    return _submit(collective.again(source, target), stream, sent, outputs)


def client_of(group: Group) -> Client:
    assert group.client is not None
    return group.client


def description(
    group: Group, name: str, same: Any, tensors: Sequence[Any], more: str = "", sizes: Sizes | None = None
) -> Description:
    """Return the description of a call in a group that the program makes now; see `Descriptions.of`."""
    if group.mention:
        more = f"{more}, {group.mention}" if more else group.mention
    return client_of(group).descriptions.of(name, same, tensors, more, sizes)


def _gpu(group: Group, stream: Stream | None) -> str:
    """Return the virtual GPU that no other rank may use in an NCCL collective; "" otherwise.

    A process that sees a single GPU may be its only user.
    """
    if stream is None or "nccl" not in group.backend or stream.driver.device_count() < 2:
        return ""
    host = links.from_environment().host(group.ranks[group.rank()], group.world_size)
    return f"cuda:{stream.device_index}" + (f" of host {host}" if host else "")


def _step(transfer: Transfer) -> Step:
    kind, source, target, reduction, peer = transfer
    read = None if source is None else Access(address_of(source), source.dtype, "r", source.shape, None)
    if target is source:
        return Step(kind, read, read, reduction, peer)
    written = None if target is None else Access(address_of(target), target.dtype, "w", target.shape, None)
    return Step(kind, read, written, reduction, peer)


def _access(tensor: Any, mode: str) -> Access:
    strides = None if tensor.is_contiguous() else tuple(tensor.strides)
    return Access(address_of(tensor), tensor.dtype, mode, tensor.shape, strides)


def begin(collective: Collective, place: Place, sent: Sequence[Any], outputs: Sequence[Any]) -> Work:
    """Begin on the group's stream; or on the CPU, give the inputs now and write the outputs in `Work.wait`."""
    stream, client = place.stream, collective.client
    runs_steps = collective.begin(stream)
    if stream is None or not (runs_steps or stream.driver.capabilities.exchanges):
        collective.give([_on_host(tensor, place) for tensor in sent], _now())
        if stream is not None:
            client.end_before_machine()
        return HostWork(collective, outputs, place)
    written = [outputs[index] for index in collective.written]
    if runs_steps:
        client.watch(stream.driver)
        return _submit(collective, stream, sent, outputs)
    for tensor in {id(operand): operand for operand in (*sent, *outputs)}.values():
        tensor.record_stream(stream)
    collective.model(stream.driver)
    inputs = [_access(tensor, "r") for tensor in sent if tensor.numel()]
    results = [_access(output, "w") for output in written]
    stream.exchange(collective, inputs, results)
    client.end_before_machine()
    client.serve_by(stream.driver)
    for tensor in written:
        tensor._counter.version += 1
    return Work(outputs, stream.record_event())


def _submit(collective: Collective, stream: Stream, sent: Sequence[Any], outputs: Sequence[Any]) -> DeviceWork:
    """Submit a begun collective to a stream, as steps."""
    for tensor in (*sent, *outputs):
        tensor._storage.record_stream(stream)
    _run_steps(collective, stream)
    for index in collective.written:
        outputs[index]._counter.version += 1
    done = stream.record_event()
    channel = collective.channel
    assert channel is not None
    channel.latest = channel.count, done
    return DeviceWork(outputs, done, collective, channel)


def _run_steps(collective: Collective, stream: Stream) -> None:
    """Submit a collective to a stream as steps.  If that fails, raise CollectiveError on all ranks."""
    try:
        stream.exchange(collective, (), ())
    except AcceleratorError as failure:  # also if an abort ended the call
        client = collective.client
        client.report_broken(str(failure))
        client.await_failure(GOODBYE)
        client.check(collective.name)
        raise


class DeviceWork(Work):
    """A collective that GPUs run among themselves."""

    def __init__(self, outputs: Any, done: Event, collective: Collective, channel: Channel) -> None:
        super().__init__(outputs, done)
        self._event, self._collective, self._channel = done, collective, channel

    def wait(self, timeout: Any = None) -> bool:
        """Make the current stream wait for the outputs.  Raises CollectiveError if the group has failed.

        Host: waits if TORCH_NCCL_BLOCKING_WAIT=1, or for at most `timeout` if it is given.
        """
        collective = self._collective
        if timeout is not None or collective.process_group.blocks_in_wait:
            limit = timedelta(seconds=collective.timeout) if timeout is None else as_timeout("Work.wait", timeout)
            self._block(limit.total_seconds())
        if collective.client.is_broken:
            raise collective.client.error(collective.name)
        return super().wait(timeout)

    def _block(self, seconds: float) -> None:
        """Wait on the host until the collective ends or the group fails; a timeout is such a failure."""
        client, end = self._collective.client, time.monotonic() + seconds
        while not self._event.query() and not client.await_failure(POLL):
            run_handlers()
            if time.monotonic() > end:
                client.report_late(self._channel, seconds)
                client.await_failure(GOODBYE)
                return

    def exception(self) -> Exception | None:
        """Return the error of the group, if it has failed."""
        client = self._collective.client
        return client.error(self._collective.name) if client.is_broken else None

    def is_completed(self) -> bool:
        """Return whether the outputs have been written, or the group has failed."""
        return self._collective.client.is_broken or super().is_completed()

    def is_success(self) -> bool:
        """Return whether the outputs have been written."""
        return not self._collective.client.is_broken and super().is_completed()


def _on_host(tensor: Any, place: Place) -> Any:
    """Copy a tensor's values into an array.  Host: waits."""
    if place.stream is not None:
        tensor.record_stream(place.stream)
        with StreamGuard(place.stream):
            tensor = tensor.detach().cpu()
    return array_of(tensor.detach())


def _write(place: Place, values: Iterable[tuple[Any, Any]]) -> Event | None:
    """Write outputs.  Returns: an event after the copies to a GPU; the host does not wait for them."""
    with GradMode(False), StreamGuard(place.stream):
        for output, array in values:
            if not output.numel():
                continue
            data = bytearray(_bytes_of(array))
            value = frombuffer(data, dtype=output.dtype, count=output.numel()).reshape(output.shape)
            if place.stream is None:
                output.copy_(value)
            else:
                output.copy_(value.pin_memory(), non_blocking=True)
                output.record_stream(place.stream)
    if place.stream is None:
        return None
    done = Event()
    done.record(place.stream)
    return done


def ended(work: Work, async_op: bool) -> Work | None:
    """Return the Work of a collective; without `async_op`, make the current stream wait for it and return None."""
    if async_op:
        return work
    if not isinstance(work, CoalescedCall):
        work.wait()
    return None


def _reduced(op: ReduceOp, arrays: list[Any]) -> Any:
    """Reduce the ranks' arrays, in rank order."""
    total = arrays[0]
    for array in arrays[1:]:
        total = FUNCTIONS[op](total, array)
    if op is ReduceOp.AVG:
        count = len(arrays)
        if total.dtype.kind in "iub":
            return host.np.trunc(total / count).astype(total.dtype)
        return host.np.divide(total, host.np.asarray(count, total.dtype))
    return total


FUNCTIONS: dict[ReduceOp, Callable[[Any, Any], Any]] = {
    ReduceOp.SUM: lambda a, b: host.np.add(a, b),
    ReduceOp.AVG: lambda a, b: host.np.add(a, b),
    ReduceOp.PREMUL_SUM: lambda a, b: host.np.add(a, b),  # each rank has already multiplied its values
    ReduceOp.PRODUCT: lambda a, b: host.np.multiply(a, b),
    ReduceOp.MIN: lambda a, b: host.np.minimum(a, b),
    ReduceOp.MAX: lambda a, b: host.np.maximum(a, b),
    ReduceOp.BAND: lambda a, b: host.np.bitwise_and(a, b),
    ReduceOp.BOR: lambda a, b: host.np.bitwise_or(a, b),
    ReduceOp.BXOR: lambda a, b: host.np.bitwise_xor(a, b),
}


def _check_reduction(name: str, op: ReduceOp, tensor: Any) -> None:
    """Raise NotSupportedError if the tensor's type does not support the reduction."""
    if op is ReduceOp.AVG and tensor.dtype.name == "bool":
        raise NotSupportedError(
            f"AVG does not support bool, and the tensor is {tensor.describe()}",
            hint="use SUM, or convert it with float()",
            operator=name,
        )
    is_bits = op in (ReduceOp.BAND, ReduceOp.BOR, ReduceOp.BXOR)
    if is_bits and (tensor.dtype.is_floating_point or tensor.dtype.is_complex):
        raise NotSupportedError(
            f"{op.name} supports integers only, and the tensor is {tensor.describe()}",
            hint="use SUM, MIN or MAX",
            operator=name,
        )
    if op in (ReduceOp.MIN, ReduceOp.MAX) and tensor.dtype.is_complex:
        raise NotSupportedError(
            f"{op.name} does not support complex numbers, and the tensor is {tensor.describe()}",
            hint="reduce the absolute values: tensor.abs()",
            operator=name,
        )


def check_alike(name: str, tensors: Sequence[Any], what: str, other: Any, other_what: str) -> None:
    """Raise UnlikeError unless tensors have the type and the number of elements of another tensor."""
    for tensor in tensors:
        if tensor.numel() != other.numel() or tensor.dtype is not other.dtype:
            raise UnlikeError(
                f"an {what} is {tensor.describe()}, and the {other_what} {other.describe()}",
                hint=f"each {what} needs the type and the number of elements of the {other_what}",
                operator=name,
            )


def _step_reduction(op: ReduceOp) -> str:
    """Return the name of a step's reduction.  Values of PREMUL_SUM have already been multiplied."""
    return ReduceOp.SUM.name if op is ReduceOp.PREMUL_SUM else op.name


def all_reduce(group: Group, tensor: Any, op: ReduceOp, source: Any) -> Work:
    """Begin an all_reduce.  source: the tensor to reduce, usually `tensor` itself."""
    key = _key(group, "all_reduce", op, source, tensor)
    earlier = group.earlier.get(key)
    if earlier is not None:
        return _again(earlier, source, tensor)
    _check_reduction("all_reduce", op, tensor)
    form, size = form_of(tensor), group.size()

    def compute(received: Received) -> Written:
        yield 0, _reduced(op, [form.read(received[rank]) for rank in range(size)])

    def transfers() -> list[Transfer]:
        return [Transfer("all_reduce", source, tensor, _step_reduction(op))]

    same = op.name, like([tensor])
    return _run("all_reduce", group, same, [source], [tensor], compute, form.nbytes, transfers, op.name, key=key)


def reduce(group: Group, tensor: Any, dst: int, op: ReduceOp, source: Any) -> Work:
    """Begin a reduce.  source: the tensor to reduce, usually `tensor` itself."""
    _check_reduction("reduce", op, tensor)
    form, size, is_target = form_of(tensor), group.size(), group.rank() == dst

    def compute(received: Received) -> Written:
        if is_target:
            yield 0, _reduced(op, [form.read(received[rank]) for rank in range(size)])

    def transfers() -> list[Transfer]:
        return [Transfer("reduce", source, tensor if is_target else None, _step_reduction(op), dst)]

    same = op.name, dst, like([tensor])
    outputs = [tensor] if is_target else []
    return _run("reduce", group, same, [source], outputs, compute, form.nbytes, transfers, f"{op.name}, dst={dst}")


def broadcast(group: Group, tensor: Any, src: int) -> Work:
    key, is_source = _key(group, "broadcast", src, tensor, tensor), group.rank() == src
    earlier = group.earlier.get(key)
    if earlier is not None:
        return _again(earlier, *((tensor, None) if is_source else (None, tensor)))
    form = form_of(tensor)

    def compute(received: Received) -> Written:
        if not is_source:
            yield 0, form.read(received[src])

    def transfers() -> list[Transfer]:
        source, target = (tensor, None) if is_source else (None, tensor)
        return [Transfer("broadcast", source, target, peer=src)]

    sent, outputs = ([tensor], []) if is_source else ([], [tensor])
    same = src, like([tensor])
    return _run("broadcast", group, same, sent, outputs, compute, form.nbytes, transfers, f"src={src}", key=key)


def all_gather(group: Group, name: str, outputs: Sequence[Any], tensor: Any) -> Work:
    """Begin an all_gather.  outputs: one tensor per rank."""
    check_alike(name, outputs, "output", tensor, "input")
    form = form_of(tensor)

    def compute(received: Received) -> Written:
        for rank in range(len(outputs)):
            yield rank, form.read(received[rank])

    def transfers() -> list[Transfer]:
        return [*_sent([tensor] * len(outputs)), *_received(outputs)]

    nbytes = form.nbytes * group.size()
    return _run(name, group, like([tensor]), [tensor], outputs, compute, nbytes, transfers)


def all_gather_into_tensor(group: Group, name: str, output: Any, tensor: Any) -> Work:
    """Begin an all_gather.  output: one tensor with the parts of all ranks."""
    key = _key(group, name, None, tensor, output)
    earlier = group.earlier.get(key)
    if earlier is not None:
        return _again(earlier, tensor, output)
    form, size = form_of(tensor), group.size()

    def compute(received: Received) -> Written:
        yield 0, host.np.concatenate([form.read(received[rank]) for rank in range(size)])

    def transfers() -> list[Transfer]:
        return [Transfer("all_gather", tensor, output)]

    return _run(name, group, like([tensor]), [tensor], [output], compute, form.nbytes * size, transfers, key=key)


def gather(group: Group, tensor: Any, outputs: Sequence[Any], dst: int) -> Work:
    check_alike("gather", outputs, "output", tensor, "input")
    forms = [form_of(output) for output in outputs]

    def compute(received: Received) -> Written:
        for rank, form in enumerate(forms):
            yield rank, form.read(received[rank])

    def transfers() -> list[Transfer]:
        return [Transfer("send", tensor, None, peer=dst), *_received(outputs)]

    nbytes, same = form_of(tensor).nbytes * group.size(), (dst, like([tensor]))
    return _run("gather", group, same, [tensor], outputs, compute, nbytes, transfers, f"dst={dst}")


def scatter(group: Group, tensor: Any, inputs: Sequence[Any], src: int) -> Work:
    check_alike("scatter", inputs, "input", tensor, "output")
    form, rank = form_of(tensor), group.rank()

    def compute(received: Received) -> Written:
        yield 0, form.read(received[src], rank * form.nbytes)

    def transfers() -> list[Transfer]:
        return [*_sent(inputs), Transfer("receive", None, tensor, peer=src)]

    nbytes, same = form.nbytes * group.size(), (src, like([tensor]))
    return _run("scatter", group, same, inputs, [tensor], compute, nbytes, transfers, f"src={src}")


def reduce_scatter(group: Group, name: str, output: Any, inputs: Sequence[Any], op: ReduceOp) -> Work:
    """Begin a reduce_scatter.  inputs: one tensor per rank, or one tensor with the parts of all ranks."""
    key = _key(group, name, op, inputs[0], output) if len(inputs) == 1 else None
    earlier = group.earlier.get(key)
    if earlier is not None:
        return _again(earlier, inputs[0], output)
    _check_reduction(name, op, output)
    if len(inputs) == group.size() > 1:
        check_alike(name, inputs, "input", output, "output")
    form, rank, size = form_of(output), group.rank(), group.size()

    def compute(received: Received) -> Written:
        yield 0, _reduced(op, [form.read(received[sender], rank * form.nbytes) for sender in range(size)])

    def transfers() -> list[Transfer]:
        if len(inputs) < size:
            return [Transfer("reduce_scatter", inputs[0], output, _step_reduction(op))]
        return [
            Transfer("reduce", tensor, output if root == rank else None, _step_reduction(op), root)
            for root, tensor in enumerate(inputs)
        ]

    same = op.name, len(inputs), like([output])
    return _run(name, group, same, inputs, [output], compute, form.nbytes * size, transfers, op.name, key=key)


def all_to_all(group: Group, name: str, outputs: Sequence[Any], inputs: Sequence[Any]) -> Work:
    """Begin an all_to_all.  outputs, inputs: one tensor per rank; rank i's input j fits rank j's output i."""
    dtypes = list(dict.fromkeys(tensor.dtype for tensor in (*inputs, *outputs)))
    if len(dtypes) > 1:
        raise ArgumentError(
            f"inputs and outputs must have one type, and are of the types {', '.join(dtype.name for dtype in dtypes)}",
            hint="convert the tensors to one type with .to(...)",
            operator=name,
        )
    forms = [form_of(output) for output in outputs]
    sends, takes = (tuple(form_of(tensor).nbytes for tensor in tensors) for tensors in (inputs, outputs))

    def compute(received: Received) -> Written:
        for rank, form in enumerate(forms):
            yield rank, form.read(received[rank])

    def transfers() -> list[Transfer]:
        return [*_sent(inputs), *_received(outputs)]

    same = (inputs or outputs)[0].dtype.name
    return _run(name, group, same, inputs, outputs, compute, sum(sends), transfers, sizes=(sends, takes))


def _sent(tensors: Sequence[Any]) -> list[Transfer]:
    """Send one tensor to each rank."""
    return [Transfer("send", tensor, None, peer=rank) for rank, tensor in enumerate(tensors)]


def _received(tensors: Sequence[Any]) -> list[Transfer]:
    """Receive one tensor from each rank."""
    return [Transfer("receive", None, tensor, peer=rank) for rank, tensor in enumerate(tensors)]


def barrier(group: Group, name: str = "barrier") -> Work:
    """Wait for all ranks.  Host: once GPUs have run collectives, waits for the current stream too, as NCCL does."""
    if client_of(group).is_watched:
        thread.current_stream(cuda_index()).synchronize()
    return _exchange(group, name, b"", lambda received: [])


def exchange(group: Group, name: str, data: bytes) -> list[bytes]:
    """Exchange bytes; return every rank's bytes, by rank.  Host: waits."""
    replies: list[bytes] = []

    def compute(received: Received) -> Written:
        replies.extend(received[rank] for rank in range(group.size()))
        return []

    _exchange(group, name, data, compute).wait()
    return replies


def agree(group: Group, name: str, argument: Any, text: str) -> None:
    """Wait until all ranks have made a call with the same argument.  text: the argument in errors."""
    if group.is_shared:
        _exchange(group, name, b"", lambda received: [], argument, text).wait()


def _exchange(
    group: Group,
    name: str,
    data: bytes,
    compute: Callable[[Received], Written],
    same: Any = None,
    more: str = "",
) -> Work:
    called = description(group, name, (name, same), [], more)
    return begin_bytes(Collective(name, group, called, compute, [], len(data)), data)


def begin_bytes(collective: Collective, data: bytes) -> Work:
    """Begin a collective of bytes in host memory."""
    collective.begin(None)
    collective.give([host.np.frombuffer(data, host.np.uint8)], _now())
    return HostWork(collective, [], Place(-1, None))
