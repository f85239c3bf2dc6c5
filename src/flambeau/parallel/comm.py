"""Copies and sums between the devices of one process; small tensors are packed into buckets.

A copy between devices is queued on its source's current stream, after the work already queued on both devices' current
streams; the destination's current stream follows it.  Sums are computed in the order of the inputs, so results repeat
exactly.  Nothing here is recorded for autograd.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, cast

from .. import strides as st
from .. import transfer
from ..autograd.mode import GradMode
from ..core import thread
from ..core.storage import Storage, on_device, owning
from ..core.tensor import TensorBase, alias_of, empty_tensor, new_tensor, tensor_over
from ..dtypes import FLOATING_TYPES, uint8
from ..errors import (
    ArgumentError,
    ArgumentTypeError,
    DeviceMismatchError,
    FlambeauError,
    IndexRangeError,
    ShapeError,
    ValueRangeError,
    naming,
    shown,
)
from ..ops.multi_tensor import pack_many, packed_starts
from ..ops.operator import REGISTRY
from ..runtime import device as devices
from ..runtime.copy import copy_between, copy_bytes
from ..runtime.stream import Stream, StreamGuard
from ..tensor import checks
from ..tensor.tensor import Tensor
from ..transfer import lie_alike


class _Kept:
    """Allocator of views of a bucket: the bucket's memory lives as long as its last view."""

    def record_stream(self, buffer: Storage, stream: Any) -> None:
        buffer.record_stream(buffer.device.machine.streams[stream])

    def free(self, buffer: Storage) -> None:
        """Do nothing: the view drops its reference to the bucket."""


KEPT = _Kept()


class Bucket(NamedTuple):
    """Tensors of a list that are packed together.

    indexes: of the tensors in the list;  starts: the byte offset of each in the bucket;  nbytes: of the bucket.
    """

    indexes: list[int]
    starts: list[int]
    nbytes: int


def buckets(tensors: Sequence[TensorBase], nbytes: int, alone: int | None = None) -> tuple[Bucket, ...]:
    """Group tensors by dtype into buckets of at most `nbytes` bytes, in the order of their first tensors.

    alone: a tensor of at least this many bytes has a bucket of its own; if None, only one larger than `nbytes` has.
    """
    layouts = [tensor._layout for tensor in tensors]
    sizes = tuple([layout.nbytes for layout in layouts])
    return _buckets(tuple([layout.dtype for layout in layouts]), sizes, nbytes, nbytes + 1 if alone is None else alone)


@lru_cache(maxsize=64)
def _buckets(dtypes: tuple[Any, ...], sizes: tuple[int, ...], nbytes: int, alone: int) -> tuple[Bucket, ...]:
    groups: list[list[int]] = []
    open_groups: dict[Any, tuple[list[int], int]] = {}
    for index, (dtype, size) in enumerate(zip(dtypes, sizes)):
        if size >= alone:
            groups.append([index])
            continue
        group, taken = open_groups.get(dtype) or ([], 0)
        if group and taken + size > nbytes:
            groups.append(group)
            group, taken = [], 0
        group.append(index)
        open_groups[dtype] = group, taken + size
    groups += [group for group, _ in open_groups.values()]
    return tuple([Bucket(group, *packed_starts([sizes[index] for index in group])) for group in sorted(groups)])


def batches(found: Sequence[Bucket], nbytes: int) -> Iterator[list[Bucket]]:
    """Group buckets that are packed and copied together: at most `nbytes` bytes, or a larger bucket alone."""
    batch: list[Bucket] = []
    taken = 0
    for bucket in found:
        if batch and taken + bucket.nbytes > nbytes:
            yield batch
            batch, taken = [], 0
        batch.append(bucket)
        taken += bucket.nbytes
    if batch:
        yield batch


def pack(tensors: Sequence[TensorBase], bucket: Bucket, *, clear_gaps: bool = False) -> TensorBase:
    """Pack tensors of one device and dtype: into a vector of this dtype if it is floating, else of bytes.

    clear_gaps: whether to zero the bytes between the tensors.
    Host: returns at once.
    """
    if tensors[0]._layout.dtype in FLOATING_TYPES:
        with GradMode(False):
            packed: TensorBase = pack_many(tensors, clear_gaps)
        return packed
    buffer = empty_tensor((bucket.nbytes,), uint8, tensors[0].device_index, name="pack")
    if clear_gaps:
        cast(Tensor, buffer).zero_()
    for start, tensor in zip(bucket.starts, tensors):
        dense = transfer.dense(tensor, tensor.dtype)
        layout = dense._layout
        copy_bytes(buffer._storage, start, dense._storage, dense._offset * layout.itemsize, layout.nbytes, True)
    return buffer


def in_memory_order(tensor: TensorBase) -> TensorBase:
    """Return a compact tensor's elements as a vector in the order of memory; a tensor with gaps as it is."""
    layout = tensor._layout
    if layout.dense or not layout.compact:
        return tensor
    return alias_of(tensor, (layout.numel,), (1,), tensor._offset)


def unpack(
    whole: Storage, starts: Sequence[int], likes: Sequence[TensorBase], *, keeps_strides: bool = False
) -> list[TensorBase]:
    """Return the tensors of a bucket, with the shapes and dtypes of `likes`, and with version counters of their own.

    They are contiguous.  keeps_strides: those packed `in_memory_order` keep the strides of their entry of `likes`.
    """
    address, device = whole.address(), whole.device
    tensors = []
    for start, like in zip(starts, likes):
        layout = like._layout
        memory = owning(device, layout.nbytes, address + start, whole, KEPT)
        if layout.dense and layout.aligned and layout.device is device:
            tensors.append(new_tensor(memory, layout))
        else:
            keeps = layout.dense or (keeps_strides and layout.compact)
            strides = layout.strides if keeps else st.contiguous(layout.shape)
            tensors.append(tensor_over(memory, layout.dtype, layout.shape, strides))
    return tensors


def send(buffers: Sequence[TensorBase], indexes: Sequence[int]) -> list[list[Storage]]:
    """Copy contiguous tensors of one GPU to other GPUs; return, per tensor, the memory of its copy on each of them."""
    accelerators = thread.machine().devices
    streams = [thread.current_stream(index) for index in indexes]
    sent = [
        [on_device(accelerators[stream.device_index], buffer._layout.nbytes, stream.handle) for stream in streams]
        for buffer in buffers
    ]
    copy_between(
        [
            (memory, 0, buffer._storage, buffer._offset * buffer._layout.itemsize, memory.nbytes)
            for buffer, memories in zip(buffers, sent)
            for memory in memories
        ]
    )
    return sent


def chosen_streams(name: str, streams: Any, indexes: Sequence[int]) -> Sequence[Stream | None]:
    """The stream of each device, None for its current one."""
    if streams is None:
        return [None] * len(indexes)
    listed = checks.listed(name, "streams", "streams", streams)
    if len(listed) != len(indexes):
        fact = f"streams must have one stream or None per device, got {len(listed)} for {len(indexes)} devices"
        raise ArgumentError(
            fact, operator=name, hint="pass one entry per device; None stands for the device's current stream"
        )
    for position, (stream, index) in enumerate(zip(listed, indexes)):
        if stream is None:
            continue
        if not isinstance(stream, Stream):
            fact = f"streams[{position}] must be a Stream or None, got {shown(stream)}"
            raise ArgumentTypeError(fact, operator=name, hint="make one with cuda.Stream()")
        if stream.device_index != index:
            fact = f"streams[{position}] is {stream!r}, its part goes to cuda:{index}"
            raise DeviceMismatchError(fact, operator=name, hint=f"make it with cuda.Stream({index})")
    return listed


def split(tensor: Any, indexes: Sequence[int], dim: int, sizes: Sequence[int] | None = None) -> list[Any]:
    """Split a tensor into at most one view per device.  sizes: of the views; equal ones if None."""
    with GradMode(False):
        if sizes is None:
            return list(tensor.chunk(len(indexes), dim))
        sizes = checks.listed("scatter", "chunk_sizes", "ints", sizes)
        for index, size in enumerate(sizes):
            checks.integer("scatter", f"chunk_sizes[{index}]", size)
        if len(sizes) != len(indexes):
            fact = f"got len(devices)={len(indexes)} and len(chunk_sizes)={len(sizes)}"
            raise ShapeError(
                f"Expected devices and chunk_sizes to be of same length, but {fact}",
                hint="give one size per device",
                operator="scatter",
            )
        if sum(sizes) != tensor.shape[dim] or any(size < 0 for size in sizes):
            fact = f"chunk_sizes {list(sizes)} do not sum to size {tensor.shape[dim]} of dimension {dim}"
            raise ShapeError(fact, operator="scatter", hint="leave out chunk_sizes for even parts")
        return _narrowed(tensor, sizes, dim)


def _narrowed(tensor: Any, sizes: Sequence[int], dim: int) -> list[Any]:
    return list(tensor.split(list(sizes), dim))


def _sizes_of(out: Sequence[Any], tensor: Any, dim: int) -> list[int]:
    """The sizes of the parts of a tensor along `dim`."""
    for index, output in enumerate(out):
        wanted = [*tensor.shape[:dim], output.shape[dim] if output.ndim > dim else 0, *tensor.shape[dim + 1 :]]
        if list(output.shape) != wanted:
            fact = f"out[{index}] has shape {list(output.shape)}, expected {wanted}"
            raise ShapeError(fact, operator="scatter", hint=f"it may differ from the source in dimension {dim} alone")
    sizes = [output.shape[dim] for output in out]
    if sum(sizes) != tensor.shape[dim]:
        fact = f"out's sizes {sizes} do not sum to size {tensor.shape[dim]} of dimension {dim}"
        raise ShapeError(fact, operator="scatter", hint="give tensors that hold the whole source together")
    return sizes


BUFFER_BYTES = 10 << 20  # bytes that small tensors share in one copy
BATCH_BYTES = 64 << 20  # bytes of buckets that are packed at a time, in addition to their tensors
MOVE_HINT = "move it with .cuda()"


class CollectiveError(FlambeauError, RuntimeError):
    """Arguments of a collective do not fit each other."""


def index_of(device: Any) -> int:
    """The index of a CUDA device in any form, the current one for None."""
    return devices.cuda_index(device)


def place_of(index: int) -> Any:
    """The device object of an index, -1 for the CPU."""
    return devices.CPU if index < 0 else devices.cuda(index)


def to_index(tensor: Any, index: int) -> Any:
    """A tensor on device `index` (-1: the CPU), detached from autograd; the tensor itself if it is already there."""
    return tensor if tensor.device_index == index else transfer.to_device(tensor, index, True)


def to_indexes(tensors: Sequence[Any], indexes: Sequence[int]) -> list[Any]:
    """Like `to_index`, for several tensors on GPUs, each to be copied to a GPU."""
    pairs = [(tensor, index) for tensor, index in zip(tensors, indexes) if tensor.device_index != index]
    moved = iter(transfer.to_devices([tensor for tensor, _ in pairs], [index for _, index in pairs]))
    return [tensor if tensor.device_index == index else next(moved) for tensor, index in zip(tensors, indexes)]


def _indexes(name: str, devices: Any) -> list[int]:
    """The indexes of a list of devices.  Raises ArgumentTypeError for anything else."""
    with naming(name):
        return [index_of(device) for device in checks.listed(name, "devices", "devices", devices)]


def _target(name: str, destination: Any) -> int:
    with naming(name):
        return index_of(destination)


def broadcast(
    tensor: Any, devices: Sequence[Any] | None = None, *, out: Sequence[Any] | None = None
) -> tuple[Any, ...]:
    """Copy a tensor to several GPUs; the result for the tensor's own device is the tensor itself.

    devices: the destinations;  out: tensors of the same shape on GPUs to write instead.  Pass exactly one of the two.
    Host:   returns at once; waits if the tensor is in pageable CPU memory.
    Raises: ArgumentTypeError for arguments of wrong types; DeviceIndexError for a device
            that does not exist, ArgumentError for one that is not a CUDA device; DeviceMismatchError for an `out` on
            the CPU, ShapeError for one of another shape; CollectiveError unless exactly one of `devices` and `out` is
            passed.
    Example:
        >>> torch.cuda.comm.broadcast(torch.tensor([3]), [0, 1])
        (tensor([3], device='cuda:0'), tensor([3], device='cuda:1'))
    """
    checks.tensor("broadcast", "the source", tensor)
    if (devices is None) == (out is None):
        raise _exactly_one("broadcast", "devices", devices, out)
    if out is not None:
        return _copied_into(tensor, out)
    return tuple(to_index(tensor, index) for index in _indexes("broadcast", devices))


def _exactly_one(name: str, what: str, given: Any, out: Any) -> CollectiveError:
    listed = None if out is None else "given"
    return CollectiveError(
        f"Exactly one of '{what}' and 'out' must be specified, but got {what}={given} and out={listed}",
        hint=f"leave out '{what}' or 'out'" if listed else f"give '{what}', or 'out' with tensors to write",
        operator=name,
    )


def _copied_into(tensor: Any, out: Sequence[Any]) -> tuple[Any, ...]:
    out = _outputs("broadcast", out)
    for index, output in enumerate(out):
        if output.shape != tensor.shape:
            fact = f"out[{index}] has shape {list(output.shape)}, the source has shape {list(tensor.shape)}"
            raise ShapeError(fact, operator="broadcast", hint="make it with torch.empty_like(source, device=...)")
    with GradMode(False):
        for output in out:
            output.copy_(tensor, non_blocking=True)
    return out


def _outputs(name: str, out: Any) -> tuple[Any, ...]:
    """The tensors to write.  Raises ArgumentTypeError, DeviceMismatchError for one on the CPU."""
    outputs = checks.tensors(name, "out", out)
    for index, output in enumerate(outputs):
        if not output.is_cuda:
            fact = f"Expected all output tensors to be CUDA tensors, out[{index}] is {output.describe()}"
            raise DeviceMismatchError(fact, operator=name, hint=MOVE_HINT)
    return outputs


def broadcast_coalesced(
    tensors: Sequence[Any], devices: Sequence[Any], buffer_size: int = BUFFER_BYTES
) -> list[tuple[Any, ...]]:
    """Copy every tensor to every device, packing small ones into shared buffers.

    Shapes: tensors[i] is [*S_i] on devices[0]; result[d][i] is [*S_i] on devices[d], with its own version counter.
    Units:  buffer_size in bytes; a larger one means fewer copies and more temporary memory.
    Host:   returns at once.
    Memory: one buffer at a time on devices[0], until it is copied; on the others, results are parts of the copies.
    Raises: DeviceMismatchError if a tensor is not on devices[0], ArgumentError if there is no device, DeviceIndexError
            if one does not exist; ArgumentTypeError for values that are not tensors or a `buffer_size` that is not an
            int, ValueRangeError for a negative one.
    Example:
        >>> pair = torch.ones(2, device="cuda:0"), torch.zeros(1, device="cuda:0")
        >>> torch.cuda.comm.broadcast_coalesced(pair, [0, 1])[1]
        (tensor([1., 1.], device='cuda:1'), tensor([0.], device='cuda:1'))
    """
    indexes = _indexes("broadcast_coalesced", devices)
    checks.count("broadcast_coalesced", "buffer_size", buffer_size)
    if not indexes:
        raise ArgumentError(
            "got no devices",
            hint="pass at least one device; the first is the device of the tensors",
            operator="broadcast_coalesced",
        )
    tensors = checks.tensors("broadcast_coalesced", "tensors", tensors)
    for index, tensor in enumerate(tensors):
        if tensor.device_index != indexes[0]:
            first = f"cuda:{indexes[0]}"
            fact = f"all tensors must be on devices[0], {first}; tensors[{index}] is {tensor.describe()}"
            hint = f"move the tensors, or their module, to {first}"
            raise DeviceMismatchError(fact, operator="broadcast_coalesced", hint=hint)
    copies: list[list[Any]] = [[None] * len(tensors) for _ in indexes]
    copies[0] = list(tensors)
    for bucket in buckets(tensors, buffer_size) if len(indexes) > 1 else ():
        likes = [tensors[index] for index in bucket.indexes]
        (memories,) = send([pack(likes, bucket)], indexes[1:])
        for copied, memory in zip(copies[1:], memories):
            for index, tensor in zip(bucket.indexes, unpack(memory, bucket.starts, likes)):
                copied[index] = tensor
    return [tuple(device_copies) for device_copies in copies]


def reduce_add(inputs: Sequence[Any], destination: Any = None) -> Any:
    """Sum tensors of several GPUs on one of them; a single input is returned unchanged.

    destination: the device of one of the inputs, the current device by default.
    Shapes: all inputs and the result have the same shape.
    Host:   returns at once.
    Raises: ArgumentTypeError for a value that is not a list of tensors; ArgumentError for no input, an input on the
            CPU, or different shapes; DeviceMismatchError if no input is on the destination, DeviceIndexError if there
            is no such device.
    Example:
        >>> inputs = [torch.ones(2, device="cuda:0"), torch.ones(2, device="cuda:1")]
        >>> torch.cuda.comm.reduce_add(inputs, 1)
        tensor([2., 2.], device='cuda:1')
    """
    inputs = checks.tensors("reduce_add", "inputs", inputs)
    if not inputs:
        raise ArgumentError("got no tensors", hint="give one per device", operator="reduce_add")
    target = _target("reduce_add", destination)
    _check_addends(inputs, target)
    if len(inputs) == 1:
        return inputs[0]
    with GradMode(False):
        total = REGISTRY["add"](to_index(inputs[0], target), to_index(inputs[1], target))
        for tensor in inputs[2:]:
            total.add_(to_index(tensor, target))
    return total


def _check_addends(inputs: Sequence[Any], target: int) -> None:
    for index, tensor in enumerate(inputs):
        if not tensor.is_cuda:
            fact = f"expects all inputs to be on GPUs, inputs[{index}] is {tensor.describe()}"
            raise ArgumentError(fact, operator="reduce_add", hint=MOVE_HINT)
        if tensor.shape != inputs[0].shape:
            fact = f"got {list(tensor.shape)}, but expected {list(inputs[0].shape)}"
            hint = "give one tensor per device, all of one shape"
            raise ArgumentError(f"input {index} has invalid size: {fact}", hint=hint, operator="reduce_add")
    if all(tensor.device_index != target for tensor in inputs):
        fact = f"it is cuda:{target}, they are on {', '.join(str(tensor.device) for tensor in inputs)}"
        raise DeviceMismatchError(
            f"expects destination to be on the same GPU with one of the tensors: {fact}",
            hint="pass the GPU of one of the tensors as destination",
            operator="reduce_add",
        )


def reduce_add_coalesced(
    inputs: Sequence[Sequence[Any]], destination: Any = None, buffer_size: int = BUFFER_BYTES
) -> tuple[Any, ...]:
    """Sum corresponding tensors of several GPUs on one of them, packing small ones into shared buffers.

    inputs: one list of tensors for each GPU.  destination: as in `reduce_add`.
    Shapes: inputs[d][i] is [*S_i] on one device for each d; result[i] is [*S_i] on the destination.
    Units:  buffer_size in bytes.
    Host:   returns at once.
    Raises: as reduce_add; ArgumentError if the devices have different numbers of tensors.
    Example:
        >>> on_first = [torch.ones(2, device="cuda:0"), torch.zeros(1, device="cuda:0")]
        >>> on_second = [torch.ones(2, device="cuda:1"), torch.ones(1, device="cuda:1")]
        >>> torch.cuda.comm.reduce_add_coalesced([on_first, on_second], 0)
        (tensor([2., 2.], device='cuda:0'), tensor([1.], device='cuda:0'))
    """
    inputs = _groups(inputs)
    target = _target("reduce_add_coalesced", destination)
    checks.count("reduce_add_coalesced", "buffer_size", buffer_size)
    with naming("reduce_add_coalesced"):
        for parts in zip(*inputs):
            _check_addends(parts, target)
    if len(inputs) == 1:
        return tuple(inputs[0])
    totals: list[Any] = [None] * len(inputs[0])
    for bucket in buckets(inputs[0], buffer_size):
        total = reduce_add([flat([tensors[index] for index in bucket.indexes], bucket) for tensors in inputs], target)
        likes = [inputs[0][index] for index in bucket.indexes]
        for index, tensor in zip(bucket.indexes, unpack(total._storage, bucket.starts, likes)):
            totals[index] = tensor
    return tuple(totals)


def _groups(inputs: Any) -> list[tuple[Any, ...]]:
    """The tensors of each device, the same number everywhere."""
    name = "reduce_add_coalesced"
    listed = enumerate(checks.listed(name, "inputs", "lists of tensors", inputs))
    groups = [checks.tensors(name, f"inputs[{index}]", tensors) for index, tensors in listed]
    if not groups:
        raise ArgumentError("got no tensors", hint="give one list of tensors per device", operator=name)
    counts = [len(group) for group in groups]
    if len(set(counts)) > 1:
        fact = f"every device must have the same number of tensors, inputs have {counts}"
        raise ArgumentError(fact, operator=name, hint="give one list per device, all of one length")
    return groups


def flat(tensors: Sequence[Any], bucket: Bucket) -> Any:
    """A packed bucket as a vector of its tensors' dtype."""
    packed, dtype = pack(tensors, bucket, clear_gaps=True), tensors[0].dtype
    if packed.dtype is dtype:
        return packed
    return tensor_over(packed._storage, dtype, (bucket.nbytes // dtype.itemsize,), (1,))


def scatter(
    tensor: Any,
    devices: Sequence[Any] | None = None,
    chunk_sizes: Sequence[int] | None = None,
    dim: int = 0,
    streams: Sequence[Any] | None = None,
    *,
    out: Sequence[Any] | None = None,
) -> tuple[Any, ...]:
    """Split a tensor along `dim`, one part per device; a part for the tensor's own device is a view.

    chunk_sizes: the parts' sizes, one per device; by default equal, with a last one that may be smaller or missing.
    streams: for each device, the stream on which its part is copied, or None for the current one.  Later uses of the
    part on other streams must wait for this stream.
    out: tensors on GPUs to write instead; their sizes along `dim` set the sizes of the parts.
    Shapes: the sizes of the parts along `dim` add up to that of the tensor; their other sizes are those of the tensor.
    Host:   returns at once; waits if the tensor is in pageable CPU memory.
    Raises: ArgumentTypeError for arguments of wrong types; DeviceIndexError for a device that does not exist;
            ArgumentError for one that is not a CUDA device, or a wrong number of streams; IndexRangeError if `dim` is
            out of range; ShapeError if sizes do not add up or there is no device; DeviceMismatchError for an `out` on
            the CPU or a stream of another device; CollectiveError unless exactly one of `devices` and `out` is passed.
    Example:
        >>> torch.cuda.comm.scatter(torch.arange(3), [0, 1], chunk_sizes=[1, 2])
        (tensor([0], device='cuda:0'), tensor([1, 2], device='cuda:1'))
    """
    checks.tensor("scatter", "the source", tensor)
    if not tensor.ndim:
        raise ShapeError(
            f"{tensor.describe()} has no dimension to split along", hint="use unsqueeze(0) first", operator="scatter"
        )
    checks.integer("scatter", "dim", dim)
    dim = st.wrap_dim(dim, tensor.ndim, "scatter")
    if (devices is None) == (out is None):
        raise _exactly_one("scatter", "devices", devices, out)
    if out is not None:
        if chunk_sizes is not None:
            raise _exactly_one("scatter", "chunk_sizes", list(chunk_sizes), out)
        return _scattered_into(tensor, out, dim, streams)
    indexes = _indexes("scatter", devices)
    if not indexes:
        raise ShapeError("got no devices", hint="give at least one", operator="scatter")
    parts = split(tensor, indexes, dim, chunk_sizes)  # maybe fewer than devices
    if tensor.is_cuda and streams is None:
        return tuple(to_indexes(parts, indexes))
    moved = []
    for part, index, stream in zip(parts, indexes, chosen_streams("scatter", streams, indexes)):
        with StreamGuard(stream):
            moved.append(to_index(part, index))
    return tuple(moved)


def _scattered_into(tensor: Any, out: Sequence[Any], dim: int, streams: Any) -> tuple[Any, ...]:
    out = _outputs("scatter", out)
    sizes = _sizes_of(out, tensor, dim)
    chosen = chosen_streams("scatter", streams, [output.device_index for output in out])
    with GradMode(False):
        for output, part, stream in zip(out, _narrowed(tensor, sizes, dim), chosen):
            with StreamGuard(stream):
                output.copy_(part, non_blocking=True)
    return out


def gather(tensors: Sequence[Any], dim: int = 0, destination: Any = None, *, out: Any = None) -> Any:
    """Concatenate tensors of several GPUs along `dim` on one device.

    destination: the device of the result, the current one by default, "cpu" for the CPU;  out: a tensor to write
    instead.
    Shapes: the inputs' shape; its size along `dim` is the sum of theirs.
    Host:   returns at once; waits if the destination is the CPU.
    Raises: ArgumentTypeError if an input is on the CPU or the tensors are not a list, ValueRangeError for no tensors,
            ShapeError if sizes differ outside `dim` or do not fit `out`; IndexRangeError if `dim` is out of range;
            DeviceIndexError if there is no such destination; CollectiveError if both `destination` and `out` are given.
    Example:
        >>> parts = [torch.zeros(1, device="cuda:0"), torch.ones(2, device="cuda:1")]
        >>> torch.cuda.comm.gather(parts, destination=1)
        tensor([0., 1., 1.], device='cuda:1')
    """
    tensors = checks.tensors("gather", "tensors", tensors)
    if not tensors:
        raise ValueRangeError(
            "expected at least one tensor to gather from, got none", hint="give one per device", operator="gather"
        )
    checks.integer("gather", "dim", dim)
    dim = st.wrap_dim(dim, tensors[0].ndim, "gather")
    shape = _joined_shape(tensors, dim)
    if out is not None and destination is not None:
        raise _exactly_one("gather", "destination", destination, out)
    if out is None:
        return _joined(tensors, dim, empty_tensor(shape, tensors[0].dtype, _destination(destination), name="gather"))
    checks.tensor("gather", "out", out)
    if list(out.shape) != shape:
        fact = f"out has shape {list(out.shape)}, expected {shape}"
        raise ShapeError(fact, operator="gather", hint=f"make it with torch.empty({shape}, ...)")
    with GradMode(False):
        for part, tensor in zip(_narrowed(out.detach(), [tensor.shape[dim] for tensor in tensors], dim), tensors):
            part.copy_(tensor)
    return out


def _joined(tensors: Sequence[Any], dim: int, out: Any) -> Any:
    """Copy tensors into `out`, a new tensor, one after another along `dim`; return it."""
    moves = []
    with GradMode(False):
        for part, tensor in zip(_narrowed(out, [tensor.shape[dim] for tensor in tensors], dim), tensors):
            if out.is_cuda and tensor.device_index != out.device_index and lie_alike(part._layout, tensor._layout):
                size = tensor._layout.itemsize
                moves.append(
                    (part._storage, part._offset * size, tensor._storage, tensor._offset * size, tensor._layout.nbytes)
                )
            else:
                part.copy_(tensor)
    copy_between(moves)
    return out


def _joined_shape(tensors: Sequence[Any], dim: int) -> list[int]:
    first = tensors[0]
    for index, part in enumerate(tensors):
        if not part.is_cuda:
            fact = f"expects all inputs to be on GPUs, tensors[{index}] is {part.describe()}"
            raise ArgumentTypeError(fact, operator="gather", hint=MOVE_HINT)
        if not first.ndim:
            fact = f"tensors[0] is {first.describe()}, which has no dimension {dim} to join along"
            raise IndexRangeError(
                fact, operator="gather", hint="use unsqueeze(0) first; nn.parallel.gather does so by itself"
            )
        layout, like = part._layout, first._layout
        same = layout.shape == like.shape or _are_alike_but(dim, layout.shape, like.shape)
        if not same or layout.dtype is not like.dtype:
            raise ShapeError(
                f"tensors[{index}] is {part.describe()}, which does not fit {first.describe()} outside dimension {dim}",
                hint="pass tensors of one dtype, with the same sizes outside of that dimension",
                operator="gather",
            )
    shape = list(first.shape)
    shape[dim] = sum(part.shape[dim] for part in tensors)
    return shape


def _are_alike_but(dim: int, one: Sequence[int], other: Sequence[int]) -> bool:
    """Return whether two shapes are equal outside a dimension."""
    return len(one) == len(other) and all(a == b for d, (a, b) in enumerate(zip(one, other)) if d != dim)


def _destination(destination: Any) -> int:
    if destination is None:
        return thread.current_device()
    if destination == -1 and isinstance(destination, int):
        warnings.warn(
            'gather: using -1 to represent CPU tensor is deprecated; use "cpu" instead', FutureWarning, stacklevel=3
        )
        return devices.CPU_INDEX
    with naming("gather"):
        return devices.resolve(destination)
