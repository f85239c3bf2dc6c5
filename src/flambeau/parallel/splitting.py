"""How `scatter` splits a tensor, and on which streams the parts are copied."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..autograd.mode import GradMode
from ..errors import ArgumentError, ArgumentTypeError, DeviceMismatchError, ShapeError, shown
from ..runtime.stream import Stream
from ..tensor import checks


def streams(streams: Any, indexes: Sequence[int]) -> Sequence[Stream | None]:
    """The stream of each device, None for its current one."""
    if streams is None:
        return [None] * len(indexes)
    found = checks.listed("scatter", "streams", "streams", streams)
    if len(found) != len(indexes):
        fact = f"streams must have one stream or None per device, got {len(found)} for {len(indexes)} devices"
        raise ArgumentError(fact, operator="scatter", hint="None stands for the device's current stream")
    for place, (each, index) in enumerate(zip(found, indexes)):
        if each is None:
            continue
        if not isinstance(each, Stream):
            fact = f"streams[{place}] must be a Stream or None, got {shown(each)}"
            raise ArgumentTypeError(fact, operator="scatter", hint="make one with cuda.Stream()")
        if each.device_index != index:
            fact = f"streams[{place}] is {each!r}, its part goes to cuda:{index}"
            raise DeviceMismatchError(fact, operator="scatter", hint=f"make it with cuda.Stream({index})")
    return found


def split(tensor: Any, indexes: Sequence[int], sizes: Sequence[int] | None, dim: int) -> list[Any]:
    with GradMode(False):
        if sizes is None:
            return list(tensor.chunk(len(indexes), dim))
        sizes = checks.listed("scatter", "chunk_sizes", "ints", sizes)
        for place, each in enumerate(sizes):
            checks.integer("scatter", f"chunk_sizes[{place}]", each)
        if len(sizes) != len(indexes):
            fact = f"got len(devices)={len(indexes)} and len(chunk_sizes)={len(sizes)}"
            raise ShapeError(
                f"Expected devices and chunk_sizes to be of same length, but {fact}",
                hint="give one size per device",
                operator="scatter",
            )
        if sum(sizes) != tensor.shape[dim] or any(each < 0 for each in sizes):
            fact = f"chunk_sizes {list(sizes)} do not sum to size {tensor.shape[dim]} of dimension {dim}"
            raise ShapeError(fact, operator="scatter", hint="leave out chunk_sizes for even parts")
        return narrowed(tensor, sizes, dim)


def narrowed(tensor: Any, sizes: Sequence[int], dim: int) -> list[Any]:
    parts, start = [], 0
    for size in sizes:
        parts.append(tensor.narrow(dim, start, size))
        start += size
    return parts


def sizes_of(out: Sequence[Any], tensor: Any, dim: int) -> list[int]:
    """The sizes along `dim` of tensors that a tensor is split into."""
    for index, each in enumerate(out):
        wanted = [*tensor.shape[:dim], each.shape[dim] if each.ndim > dim else 0, *tensor.shape[dim + 1 :]]
        if list(each.shape) != wanted:
            fact = f"out[{index}] has shape {list(each.shape)}, expected {wanted}"
            raise ShapeError(fact, operator="scatter", hint=f"it may differ from the source in dimension {dim} alone")
    sizes = [each.shape[dim] for each in out]
    if sum(sizes) != tensor.shape[dim]:
        fact = f"out's sizes {sizes} do not sum to size {tensor.shape[dim]} of dimension {dim}"
        raise ShapeError(fact, operator="scatter", hint="give tensors that hold the whole source together")
    return sizes
