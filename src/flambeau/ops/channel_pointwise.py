"""Pointwise operators of values per element and several numbers per channel, such as batch norm's.

A general kernel reads every operand at every element.  Two others read the numbers of a channel once for several
elements:

- Where the channels lie next to each other, as in channels-last images, a thread keeps its channels and walks over
  rows.  Terms that depend only on a channel's numbers are computed once.
- Where the elements of one channel of an image, a plane, lie next to each other, a thread takes runs of elements.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from string import Template
from typing import Any

from ..dtypes import dtype
from ..kernel import Grid, Kernel, Pointer
from .pointwise import (
    THREADS,
    DtypeRule,
    Input,
    KernelLayout,
    Pointwise,
    entry_source,
    is_vectorized,
    source_text,
    tensors_of,
    values_of,
)

CHANNELS, PLANES = "channels", "planes"  # the two kinds of kernels
# By the number of operands with values per element: the packs of each that a thread loads at once, and the blocks that
# a multiprocessor must hold, which limits registers.
LOADS_AND_BLOCKS = {CHANNELS: {1: (4, 4), 2: (2, 4)}, PLANES: {1: (2, 5), 2: (2, 4)}}
WAVE_BLOCKS = 132 * 4  # blocks that a GPU of 132 multiprocessors runs at once
ROWS_PER_THREAD = 4  # the fewest rows for which a thread reads the numbers of its channels
_BODIES = {CHANNELS: source_text("channel_pointwise_body.cu"), PLANES: source_text("plane_pointwise_body.cu")}


class ChannelPointwise(Pointwise):
    """A pointwise operator on operands with values per element and operands with, usually, a number per channel.

    whole: the names of the operands with values per element.
    """

    def __init__(
        self, body: Callable[..., Any], rule: DtypeRule, cuda: str, cost: float, whole: Sequence[str], **options: Any
    ) -> None:
        super().__init__(body, rule, cuda, cost, **options)
        self.whole = frozenset(whole)
        self.others: dict[tuple[str, str], Kernel] = {}  # by kind, and the entry of the kernel that each replaces

    def spread(
        self, kernel: Kernel, layout: KernelLayout, width: int, tensors: Sequence[Any]
    ) -> tuple[Kernel, Grid, KernelLayout]:
        """Return (kernel, grid, layout): for contiguous channels or planes where they apply, else the general ones."""
        names = [param.name for param in kernel.params if isinstance(param, Pointer)]
        are_whole = [name == "out" or name in self.whole for name in names]
        if all(tensor.is_aligned() for tensor in tensors):
            if are_channels(layout, are_whole, width):
                channels, rows = layout[0]
                return self.others[CHANNELS, kernel.entry], channel_grid(channels, rows, width), layout
            if are_planes(layout, are_whole, width):
                loads = LOADS_AND_BLOCKS[PLANES][len(self.whole)][0]
                return self.others[PLANES, kernel.entry], plane_grid(prod(layout[0]), width, loads), layout
        return super().spread(kernel, layout, width, tensors)

    def _make_kernel(self, out: dtype, inputs: Sequence[dtype | None], computes: Sequence[dtype], *_: Any) -> Kernel:
        kernel = super()._make_kernel(out, inputs, computes)
        for form, source_of in ((CHANNELS, self._channel_source), (PLANES, self._plane_source)):
            self.others[form, kernel.entry] = super()._make_kernel(out, inputs, computes, f"_{form}", source_of)
        return kernel

    def _channel_source(self, entry: str, out: dtype, inputs: Sequence[Input], cuda: str) -> str:
        whole, numbers = self._operands(inputs)
        channels = [f"Loaded<{t}, pack> {n}_pack; {n}_pack.fetch({n}_data + column * pack);" for _, n, t in numbers]
        return self._source(CHANNELS, entry, out, inputs, cuda, {
            "CHANNELS": " ".join([*channels, *(f"{n}_data += column * pack;" for _, n, _ in whole)]),
            "PACKS": " ".join(f"Loaded<{t}, pack> {n}_pack[loads];" for _, n, t in whole),
            "FETCH": " ".join(
                f"{n}_pack[each].fetch({n}_data + place * (unsigned int)layout.stride[{at}][1]);" for at, n, _ in whole
            ),
            "VALUES": self._values(inputs, "{n}_pack[each][lane]", "{n}_pack[lane]"),
        })  # fmt: skip

    def _plane_source(self, entry: str, out: dtype, inputs: Sequence[Input], cuda: str) -> str:
        whole, numbers = self._operands(inputs)
        return self._source(PLANES, entry, out, inputs, cuda, {
            "PACKS": " ".join(f"Loaded<{t}, pack> {n}_pack[loads];" for _, n, t in whole),
            "FETCH": " ".join(f"{n}_pack[each].fetch({n}_data + place);" for _, n, _ in whole),
            "HERE": " ".join(f"const {t} {n}_here = {n}_data[at[{at}]];" for at, n, t in numbers),
            "NEXT": " ".join(f"const {t} {n}_next = {n}_data[at[{at}]];" for at, n, t in numbers),
            "ONE": " ".join(f"const {t} {n}_one = {n}_data[place];" for _, n, t in whole),
            "OF_PACK": self._values(inputs, "{n}_pack[each][lane]", "{n}_here"),
            "OF_NEXT": self._values(inputs, "{n}_pack[each][lane]", "{n}_next"),
            "OF_ONE": self._values(inputs, "{n}_one", "{n}_here"),
        })  # fmt: skip

    def _operands(self, inputs: Sequence[Input]) -> tuple[list[tuple[int, str, str]], list[tuple[int, str, str]]]:
        """Return (index in the layout, name, type) of the operands of values per element, and of the others."""
        tensors = [(at, name, dtype.cuda) for at, (name, dtype) in enumerate(tensors_of(inputs), 1)]
        whole = [tensor for tensor in tensors if tensor[1] in self.whole]
        return whole, [tensor for tensor in tensors if tensor[1] not in self.whole]

    def _values(self, inputs: Sequence[Input], of_whole: str, of_number: str) -> str:
        return values_of(inputs, lambda name, _: (of_whole if name in self.whole else of_number).format(n=name))

    def _source(
        self, form: str, entry: str, out: dtype, inputs: Sequence[Input], cuda: str, parts: dict[str, str]
    ) -> str:
        loads, blocks = LOADS_AND_BLOCKS[form][len(self.whole)]
        body = Template(_BODIES[form]).substitute(parts, T=out.cuda)
        return entry_source(entry, out, inputs, cuda, blocks, f"loads = {loads}", body)


def channel_pointwise(
    *, dtype: DtypeRule, cuda: str, whole: Sequence[str], cost: float = 1.0, **options: Any
) -> Callable[[Callable[..., Any]], ChannelPointwise]:
    """Return a decorator that makes an operator as `pointwise` does.  whole: see ChannelPointwise."""
    return lambda body: ChannelPointwise(body, dtype, cuda, cost, whole, inplace=False, **options)


def are_channels(layout: KernelLayout, are_whole: Sequence[bool], width: int) -> bool:
    """Return whether dimension 0 has the channels, in whole vectors, and dimension 1 everything else.

    are_whole: whether the result and each operand have values per element.
    """
    sizes, (*steps, reciprocals) = layout
    if len(sizes) != 2 or reciprocals[0] == -1 or not is_vectorized(sizes, steps, width):
        return False
    return all(row[0] == 1 and (row[1] != 0) == is_whole for is_whole, row in zip(are_whole, steps))


def are_planes(layout: KernelLayout, are_whole: Sequence[bool], width: int) -> bool:
    """Return whether dimension 0 is a plane of a vector or more, and operands with values per element are contiguous.

    are_whole: as in `are_channels`.
    """
    sizes, (*steps, reciprocals) = layout
    if len(sizes) < 2 or reciprocals[0] == -1 or sizes[0] < width:
        return False
    dense = tuple(prod(sizes[:dim]) for dim in range(len(sizes)))
    return all(tuple(row) == dense if is_whole else row[0] == 0 for is_whole, row in zip(are_whole, steps))


def channel_grid(channels: int, rows: int, width: int) -> Grid:
    """Return the grid for rows of channels; a thread takes `width` channels."""
    columns = channels // width
    tiles = -(-columns // THREADS)
    together = THREADS // -(-columns // tiles)
    groups = max(1, min(-(-rows // (together * ROWS_PER_THREAD)), WAVE_BLOCKS // tiles))
    return Grid((tiles * groups, 1, 1), THREADS)


def plane_grid(numel: int, width: int, loads: int) -> Grid:
    """Return the grid in which every thread takes `loads` vectors; fewer of a small array."""
    blocks = -(-numel // (width * THREADS))
    return Grid((max(1, -(-blocks // loads), min(blocks, WAVE_BLOCKS)), 1, 1), THREADS)
