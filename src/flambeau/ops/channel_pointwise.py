"""Pointwise operators of values per element and several numbers per channel, such as batch norm's.

A kernel of the general kind reads every operand at every element.  Where the channels lie next to each other, as in
channels-last images, another kernel is launched: a thread reads the numbers of its channels once, and computes once
what depends on them alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
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
    tensors_of,
    values_of,
)

# How many operands have values per element -> rows that a thread loads at once, and blocks that a multiprocessor must
# hold, which bounds registers.
LOADS_AND_BLOCKS = {1: (4, 4), 2: (2, 3)}
WAVE_BLOCKS = 132 * 4  # as many as a large device runs at once
ROWS_PER_THREAD = 4  # at least, for which a thread reads the numbers of its channels
_BODY = (Path(__file__).parent / "kernels" / "channel_pointwise_body.cu").read_text()


class ChannelPointwise(Pointwise):
    """A pointwise operator of which some operands have values per element, and the others usually a number per channel.

    whole: the names of the operands with values per element.
    """

    def __init__(
        self, body: Callable[..., Any], rule: DtypeRule, cuda: str, cost: float, whole: Sequence[str], **options: Any
    ) -> None:
        super().__init__(body, rule, cuda, cost, **options)
        self.whole = frozenset(whole)
        self.channel_kernels: dict[str, Kernel] = {}  # by the entry of the kernel that each replaces

    def spread(
        self, kernel: Kernel, layout: KernelLayout, width: int, tensors: Sequence[Any]
    ) -> tuple[Kernel, Grid, KernelLayout]:
        """(kernel, grid, layout): the kernel of channels that lie next to each other, if they do."""
        if not self._are_neighbours(kernel, layout, width) or not all(tensor.is_aligned() for tensor in tensors):
            return super().spread(kernel, layout, width, tensors)
        channels, rows = layout[0]
        return self.channel_kernels[kernel.entry], channel_grid(channels, rows, width), layout

    def _are_neighbours(self, kernel: Kernel, layout: KernelLayout, width: int) -> bool:
        """Return whether dimension 0 has the channels, in whole vectors, and dimension 1 everything else."""
        sizes, (*steps, reciprocals) = layout
        if len(sizes) != 2 or reciprocals[0] == -1 or not is_vectorized(sizes, steps, width):
            return False
        names = [param.name for param in kernel.params if isinstance(param, Pointer)]
        return all(
            row[0] == 1 and (row[1] != 0) == (name == "out" or name in self.whole) for name, row in zip(names, steps)
        )

    def _make_kernel(self, out: dtype, inputs: Sequence[dtype | None], computes: Sequence[dtype], *_: Any) -> Kernel:
        kernel = super()._make_kernel(out, inputs, computes)
        source_of = partial(_source, self.whole)
        self.channel_kernels[kernel.entry] = super()._make_kernel(out, inputs, computes, "_channels", source_of)
        return kernel


def channel_pointwise(
    *, dtype: DtypeRule, cuda: str, whole: Sequence[str], cost: float = 1.0, **options: Any
) -> Callable[[Callable[..., Any]], ChannelPointwise]:
    """Return a decorator that makes an operator as `pointwise` does.  whole: see ChannelPointwise."""
    return lambda body: ChannelPointwise(body, dtype, cuda, cost, whole, inplace=False, **options)


def channel_grid(channels: int, rows: int, width: int) -> Grid:
    """The grid for rows of channels, of which a thread takes `width`."""
    columns = channels // width
    tiles = -(-columns // THREADS)
    together = THREADS // -(-columns // tiles)
    groups = max(1, min(-(-rows // (together * ROWS_PER_THREAD)), WAVE_BLOCKS // tiles))
    return Grid((tiles * groups, 1, 1), THREADS)


def _source(whole: frozenset[str], entry: str, out: dtype, inputs: Sequence[Input], cuda: str) -> str:
    """The source of a kernel.  whole: the operands with values per element."""
    tensors = [(at, name, dtype.cuda) for at, (name, dtype) in enumerate(tensors_of(inputs), 1)]
    rows = [tensor for tensor in tensors if tensor[1] in whole]
    channels = [tensor for tensor in tensors if tensor[1] not in whole]
    loads, blocks = LOADS_AND_BLOCKS[len(rows)]
    parts = {
        "T": out.cuda,
        "CHANNELS": [f"Loaded<{t}, pack> {n}_pack; {n}_pack.fetch({n}_data + column * pack);" for _, n, t in channels]
        + [f"{n}_data += column * pack;" for _, n, _ in rows],
        "PACKS": [f"Loaded<{t}, pack> {n}_pack[loads];" for _, n, t in rows],
        "FETCH": [
            f"{n}_pack[each].fetch({n}_data + place * (unsigned int)layout.stride[{at}][1]);" for at, n, _ in rows
        ],
        "VALUES": values_of(inputs, lambda name, _: f"{name}_pack{'[each]' if name in whole else ''}[lane]"),
    }
    body = Template(_BODY).substitute(
        {name: part if isinstance(part, str) else " ".join(part) for name, part in parts.items()}
    )
    return entry_source(entry, out, inputs, cuda, blocks, f"loads = {loads}", body)
