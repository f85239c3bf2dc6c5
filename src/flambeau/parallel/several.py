"""Collectives of several processes.

- Each rank sends the bytes of its inputs to all members (see exchange.py), and computes its outputs itself, in the
  order of the ranks: results do not depend on timing, and are equal on all ranks.
- Tensors on a GPU pass through the host.  Reads of inputs and writes of outputs run on the group's stream of the
  device, after the work submitted to the current stream; later work of the current stream follows `Work.wait`.  So a
  missing wait is a race that the race checker sees.
- Host: waits until all members have called, `async_op` or not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from .. import callers, host
from ..autograd.mode import GradMode
from ..core import thread
from ..core.tensor import TensorBase, array_of
from ..errors import ArgumentError, NotSupportedError, ShapeError, ValueRangeError
from ..ops.compare import maximum, minimum
from ..runtime.stream import Event, Stream, StreamGuard
from ..tensor.interop import frombuffer
from .group import ProcessGroup, ReduceOp, Work

Received = dict[int, bytes]  # by rank of the group
Written = Iterable[tuple[Any, Any]]  # outputs, and their values on the CPU


class Place(NamedTuple):
    """Where a collective runs.  stream: None on the CPU."""

    device: int
    stream: Stream | None


def _place(name: str, group: ProcessGroup, tensors: Sequence[TensorBase]) -> Place:
    """Check a collective's tensors; return their place, on which work follows the current stream."""
    devices = {tensor.device_index for tensor in tensors}
    if len(devices) > 1:
        raise ArgumentError(
            f"tensors are on {', '.join(sorted({str(tensor.device) for tensor in tensors}))}",
            hint="use tensors of one device in a collective",
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
            hint=f"the group has {group.backend!r}",
            operator=name,
        )
    for tensor in tensors:
        if not tensor.is_contiguous():
            raise ArgumentError(
                f"Tensors must be contiguous, got strides {tuple(tensor.strides)}",
                hint="call contiguous() first",
                operator=name,
            )
    if device < 0:
        return Place(device, None)
    stream = group.stream(device)
    stream.wait_stream(thread.current_stream(device))
    return Place(device, stream)


def _bytes_of(tensor: Any, place: Place) -> Any:
    """An array over a tensor's bytes on the host.  Host: waits."""
    if place.stream is not None:
        tensor.record_stream(place.stream)
        with StreamGuard(place.stream):
            tensor = tensor.detach().cpu()
    return array_of(tensor.detach()).reshape(-1).view(host.np.uint8)


def _text(name: str, tensors: Sequence[TensorBase], more: str = "") -> str:
    """A call with its line, for failures."""
    shown = ", ".join(f"{each.dtype.name}{list(each.shape)}" for each in tensors[:4]) + ", ..." * (len(tensors) > 4)
    site = callers.shown_site(callers.call_site())
    return f"{name}({', '.join(filter(None, (shown, more)))}) at {site}"


def _like(tensors: Sequence[TensorBase]) -> list[Any]:
    return [[each.dtype.name, list(each.shape)] for each in tensors]


def _run(
    name: str,
    group: ProcessGroup,
    same: Any,
    sent: Sequence[Any],
    outputs: Sequence[Any],
    compute: Callable[[Received], Written],
    more: str = "",
) -> Work:
    """Send tensors to all members, and write what `compute` makes of everyone's bytes."""
    assert group.client is not None
    place = _place(name, group, [*sent, *outputs])
    key = group.next_key()
    text = _text(name, sent or outputs, more)
    parts = [_bytes_of(tensor, place) for tensor in sent]
    group.client.post(key, group.ranks, [name, same], text, parts)
    found = group.client.collect(key, group.timeout.total_seconds(), name)
    by_rank = {group.ranks.index(rank): data for rank, data in found.items()}
    return Work(outputs, _write(place, compute(by_rank)))


def _write(place: Place, values: Written) -> Event | None:
    """Write outputs.  Returns: an event after the copies to a GPU, for which the host does not wait."""
    with GradMode(False), StreamGuard(place.stream):
        for output, value in values:
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
    """The result of a collective: without `async_op`, the current stream follows it."""
    if async_op:
        return work
    work.wait()
    return None


def _read(data: bytes, like: Any, offset: int = 0) -> Any:
    """A tensor on the CPU of another rank's bytes, of the type and shape of `like`."""
    count = like.numel()
    if count == 0:
        return like.detach().cpu()
    return frombuffer(bytearray(data), dtype=like.dtype, count=count, offset=offset).reshape(like.shape)


def _reduced(name: str, op: ReduceOp, tensors: list[Any]) -> Any:
    """The reduction of the ranks' tensors, in their order."""
    total = tensors[0]
    for each in tensors[1:]:
        if op in (ReduceOp.SUM, ReduceOp.AVG):
            total = total + each
        elif op is ReduceOp.PRODUCT:
            total = total * each
        elif op is ReduceOp.MIN:
            total = minimum(total, each)
        elif op is ReduceOp.MAX:
            total = maximum(total, each)
        elif op is ReduceOp.BAND:
            total = total & each
        elif op is ReduceOp.BOR:
            total = total | each
        elif op is ReduceOp.BXOR:
            total = total ^ each
        else:
            raise NotSupportedError(
                f"{op.name} is not there", hint="multiply the tensor first, and use SUM", operator=name
            )
    if op is ReduceOp.AVG:
        total = (total / len(tensors)).to(tensors[0].dtype)
    return total


def all_reduce(group: ProcessGroup, tensor: Any, op: ReduceOp) -> Work:
    def compute(found: Received) -> Written:
        yield tensor, _reduced("all_reduce", op, [_read(found[rank], tensor) for rank in range(group.size())])

    return _run("all_reduce", group, [op.name, _like([tensor])], [tensor], [tensor], compute, op.name)


def reduce(group: ProcessGroup, tensor: Any, dst: int, op: ReduceOp) -> Work:
    def compute(found: Received) -> Written:
        if group.rank() == dst:
            yield tensor, _reduced("reduce", op, [_read(found[rank], tensor) for rank in range(group.size())])

    same = [op.name, dst, _like([tensor])]
    return _run("reduce", group, same, [tensor], [tensor], compute, f"{op.name}, dst={dst}")


def broadcast(group: ProcessGroup, tensor: Any, src: int) -> Work:
    def compute(found: Received) -> Written:
        if group.rank() != src:
            yield tensor, _read(found[src], tensor)

    sent = [tensor] if group.rank() == src else []
    return _run("broadcast", group, [src, _like([tensor])], sent, [tensor], compute, f"src={src}")


def all_gather(group: ProcessGroup, name: str, outputs: Sequence[Any], tensor: Any) -> Work:
    """outputs: one tensor per rank."""

    def compute(found: Received) -> Written:
        for rank, output in enumerate(outputs):
            yield output, _read(found[rank], tensor).reshape(output.shape)

    return _run(name, group, _like([tensor]), [tensor], outputs, compute)


def gather(group: ProcessGroup, tensor: Any, outputs: Sequence[Any], dst: int) -> Work:
    def compute(found: Received) -> Written:
        for rank, output in enumerate(outputs):
            yield output, _read(found[rank], output)

    return _run("gather", group, [dst, _like([tensor])], [tensor], outputs, compute, f"dst={dst}")


def scatter(group: ProcessGroup, tensor: Any, inputs: Sequence[Any], src: int) -> Work:
    def compute(found: Received) -> Written:
        yield tensor, _read(found[src], tensor, group.rank() * tensor.numel() * tensor.element_size())

    return _run("scatter", group, [src, _like([tensor])], inputs, [tensor], compute, f"src={src}")


def reduce_scatter(group: ProcessGroup, name: str, output: Any, inputs: Sequence[Any], op: ReduceOp) -> Work:
    """inputs: one tensor per rank, or one with the parts of all."""
    size = output.numel() * output.element_size()

    def compute(found: Received) -> Written:
        parts = [_read(found[rank], output, group.rank() * size) for rank in range(group.size())]
        yield output, _reduced(name, op, parts)

    return _run(name, group, [op.name, _like([output])], inputs, [output], compute, op.name)


def all_to_all(group: ProcessGroup, name: str, outputs: Sequence[Any], inputs: Sequence[Any]) -> Work:
    """outputs, inputs: one tensor per rank; rank i's input j has as many bytes as rank j's output i."""
    sizes = [tensor.numel() * tensor.element_size() for tensor in inputs]
    table = _sizes(group, name, sizes)

    def compute(found: Received) -> Written:
        me = group.rank()
        for rank, output in enumerate(outputs):
            offset, length = sum(table[rank][:me]), table[rank][me]
            if length != output.numel() * output.element_size():
                raise ShapeError(
                    f"rank {rank} sends {length} bytes, and output {rank} is {output.describe()}",
                    hint="its input for this rank must have as many elements",
                    operator=name,
                )
            yield output, _read(found[rank], output, offset)

    return _run(name, group, (inputs or outputs)[0].dtype.name, inputs, outputs, compute)


def _sizes(group: ProcessGroup, name: str, sizes: Sequence[int]) -> list[list[int]]:
    """Every rank's list of sizes."""
    found = exchange(group, f"{name} (sizes)", host.np.array(sizes, host.np.int64).tobytes())
    return [host.np.frombuffer(data, host.np.int64).tolist() for data in found]


def barrier(group: ProcessGroup, name: str = "barrier") -> Work:
    exchange(group, name, b"")
    return Work()


def exchange(group: ProcessGroup, name: str, data: bytes, same: Any = None) -> list[bytes]:
    """Every rank's bytes, by rank.  Host: waits."""
    assert group.client is not None
    key = group.next_key()
    part = host.np.frombuffer(data, host.np.uint8)
    group.client.post(key, group.ranks, [name, same], _text(name, []), [part])
    found = group.client.collect(key, group.timeout.total_seconds(), name)
    return [found[rank] for rank in group.ranks]


# between two ranks


class Message(Work):
    """A message between two ranks, of `isend` or `irecv`."""

    def __init__(self, group: ProcessGroup, name: str, key: str, tensor: Any, src: int) -> None:
        super().__init__([tensor])
        self._group, self._name, self._key, self._tensor, self._src = group, name, key, tensor, src
        self._is_over = False

    def wait(self, timeout: Any = None) -> bool:
        """Wait for the other rank; the current stream follows what is received."""
        if not self._is_over:
            self._is_over = True
            client, tensor = self._group.client, self._tensor
            assert client is not None
            found = client.collect(self._key, self._group.timeout.total_seconds(), self._name)
            if self._group.rank() != self._src:
                place = _place(self._name, self._group, [tensor])
                self._done = _write(place, [(tensor, _read(found[self._group.ranks[self._src]], tensor))])
        return super().wait(timeout)

    def is_completed(self) -> bool:
        """Return whether it has been waited for."""
        return self._is_over and super().is_completed()


def message(group: ProcessGroup, name: str, tensor: Any, src: int, dst: int, tag: int) -> Message:
    """Begin a message; this rank is one of both."""
    assert group.client is not None
    other = dst if group.rank() == src else src
    if other == group.rank():
        raise ValueRangeError(f"rank {other} is this process", hint="name another rank", operator=name)
    place = _place(name, group, [tensor])
    is_source = group.rank() == src
    key = group.next_key(f"{src}>{dst}/{tag}/")
    parts = [_bytes_of(tensor, place)] if is_source else []
    text = _text(name, [tensor], f"{'dst' if is_source else 'src'}={other}")
    members = sorted((group.ranks[src], group.ranks[dst]))
    same = [tensor.dtype.name, tensor.numel()]
    group.client.post(key, members, same, text, parts)
    return Message(group, name, key, tensor, src)
