"""Many tensors in one buffer: packed for one copy, and taken apart again as tensors of their own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from .. import strides as st
from .. import transfer
from ..core.storage import Storage, owning
from ..core.tensor import TensorBase, empty_tensor, tensor_over
from ..dtypes import uint8
from ..runtime.copy import copy_bytes

ALIGNMENT = 256  # bytes: where each tensor of a buffer starts, as the driver aligns blocks


class _Kept:
    """Stands for the buffer in its parts: a part's memory is the buffer's, and lives as long as the last part."""

    def record_stream(self, buffer: Storage, stream: Any) -> None:
        buffer.record_stream(buffer.device.machine.streams[stream])

    def free(self, buffer: Storage) -> None:
        """Nothing: the part drops the buffer by itself."""


_KEPT = _Kept()


def part(buffer: TensorBase, start: int, like: TensorBase) -> TensorBase:
    """A tensor as dense and typed as `like`, `start` bytes into a buffer, with a version count of its own."""
    whole, nbytes = buffer.storage, like.numel() * like.dtype.itemsize
    memory = owning(whole.device, nbytes, whole.address() + start, whole, _KEPT)
    return tensor_over(memory, like.dtype, like.shape, st.contiguous(like.shape))


def pack(tensors: Sequence[TensorBase], *, clear_gaps: bool = False) -> TensorBase:
    """A uint8 buffer with all tensors of one device in it; clear_gaps: with 0 in between.  Host: returns at once."""
    starts, nbytes = layout(tensors)
    buffer = empty_tensor((nbytes,), uint8, tensors[0].device_index, name="pack")
    if clear_gaps:
        buffer.zero_()  # type: ignore[attr-defined]  # every tensor is a Tensor
    for start, each in zip(starts, tensors):
        dense = transfer.dense(each, each.dtype)
        size = dense.dtype.itemsize
        copy_bytes(buffer.storage, start, dense.storage, dense.offset * size, dense.numel() * size, True)
    return buffer


def unpack(buffer: TensorBase, likes: Sequence[TensorBase]) -> list[TensorBase]:
    """The tensors of a buffer that `pack` made of tensors like these."""
    starts, _ = layout(likes)
    return [part(buffer, start, each) for start, each in zip(starts, likes)]


def layout(tensors: Sequence[TensorBase]) -> tuple[list[int], int]:
    """Where each tensor starts in a buffer, and the buffer's size, in bytes."""
    starts, end = [], 0
    for each in tensors:
        starts.append(end)
        end += -(-each.numel() * each.dtype.itemsize // ALIGNMENT) * ALIGNMENT
    return starts, end


def chunks(tensors: Sequence[TensorBase], nbytes: int) -> Iterator[list[int]]:
    """The tensors' places in groups of one type and at most `nbytes` bytes; a bigger tensor is a group by itself."""
    open_groups: dict[Any, tuple[list[int], int]] = {}
    for place, each in enumerate(tensors):
        size = each.numel() * each.dtype.itemsize
        group, taken = open_groups.get(each.dtype, ([], 0))
        if group and taken + size > nbytes:
            yield group
            group, taken = [], 0
        open_groups[each.dtype] = ([*group, place], taken + size)
    yield from (group for group, _ in open_groups.values())
