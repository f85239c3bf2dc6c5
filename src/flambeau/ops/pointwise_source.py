"""The text of pointwise kernels, and how their operands are walked.

- One kernel serves every layout of its types.  Operands that are dense, or dense along the fastest dimension, are taken
  in accesses of 16 bytes if their addresses allow it, which the kernel sees for itself; others element by element.
- A pack holds as many elements of every operand as the widest of them has in 16 bytes; or in 32, two accesses, where
  the result is narrower than that.
- No kernel divides by a size: the layout's last row has the reciprocals (kernels/pointwise.cu).
- Loads in flight come from many threads: a thread takes one pack of each operand, and registers are bounded.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from pathlib import Path
from string import Template

from .. import strides as st
from ..dtypes import FLOATING, dtype
from ..kernel import Grid

THREADS = 256
ACCESS_BYTES = 16
# How many tensors are read -> elements that a thread loads at once where they are not packed, and blocks that a
# multiprocessor must hold, which bounds registers.  Measured on an H200: more of either spills.
LOADS_AND_BLOCKS = {0: (4, 8), 1: (4, 8), 2: (3, 7), 3: (3, 6)}
LOADS_AND_BLOCKS_OF_MANY = (3, 5)
WAVE_BLOCKS = 132 * 8  # with fewer blocks, part of a large device is idle
MAX_BLOCKS = 2**31 - 1
MAX_OFFSETS = 2**32 - 2**16  # 32 bits, and a thread may count somewhat past the end
WALK = "walk"  # the name of a layout's last row
_BODY = (Path(__file__).parent / "kernels" / "pointwise_body.cu").read_text()

Input = tuple[str, dtype | None, dtype]  # name, type in memory (None: a number), compute type
Walk = tuple[st.Shape, list[st.Shape]]


def walked(shape: Sequence[int], strides: Sequence[Sequence[int]], pack: int) -> Walk:
    """The fewest dimensions that walk every operand, the one where the first moves least first, and the walk's row."""
    order = sorted(range(len(shape)), key=lambda dim: -strides[0][dim])
    sizes, steps = st.collapse([shape[dim] for dim in order], [[each[dim] for dim in order] for each in strides])
    sizes, steps = sizes[::-1] or (1,), [each[::-1] or (1,) for each in steps]
    return sizes, [*steps, _row(sizes, steps, pack)]


def _row(sizes: st.Shape, steps: Sequence[st.Shape], pack: int) -> st.Shape:
    is_far = max(prod(sizes), *(st.extent(sizes, each) for each in steps)) > MAX_OFFSETS
    packs = are_packed(sizes, steps, pack)
    if len(sizes) == 1:
        return (int(packs) << 32 | is_far,)
    if is_far:
        return (-1,) + (0,) * (len(sizes) - 1)
    inverses = [(2**32 - 1) // size for size in sizes[:-1]]
    first = inverses[0] | (2**32 - 1) // (sizes[0] // pack) << 32 if packs else inverses[0]
    return (first - 2**64 if first >= 2**63 else first, *inverses[1:], 0)


def are_packed(sizes: Sequence[int], steps: Sequence[Sequence[int]], pack: int) -> bool:
    """Whether every operand lies in whole packs, or repeats one element, along dimension 0."""
    if pack == 1 or len(sizes) > 1 and sizes[0] % pack:
        return False
    return all(each[0] == 0 or each[0] == 1 and all(step % pack == 0 for step in each[1:]) for each in steps)


def pack_of(out: dtype, inputs: Sequence[dtype]) -> int:
    """How many elements a pack holds."""
    widest = max(each.itemsize for each in (out, *inputs))
    if out.itemsize == widest:
        return ACCESS_BYTES // widest
    return min(ACCESS_BYTES // out.itemsize, 2 * ACCESS_BYTES // widest)


def grid_of(walk: Walk, pack: int) -> Grid:
    """A grid in which every thread loads once, or fewer elements if that leaves the device idle."""
    sizes, steps = walk
    numel = prod(sizes)
    if steps[-1][0] != -1 and steps[-1][0] >> 32:
        blocks = -(-numel // (pack * THREADS))
    else:
        singles, _ = LOADS_AND_BLOCKS.get(len(steps) - 2, LOADS_AND_BLOCKS_OF_MANY)
        blocks = max(-(-numel // (singles * THREADS)), min(-(-numel // THREADS), WAVE_BLOCKS))
    return Grid((max(1, min(blocks, MAX_BLOCKS)), 1, 1), THREADS)


def kernel_text(entry: str, out: dtype, inputs: Sequence[Input], cuda: str) -> str:
    """The kernel's definition; what it calls is in prelude.cu, math.cu and pointwise.cu."""
    tensors = [(name, kind) for name, kind, _ in inputs if kind is not None]
    operands = 1 + len(tensors)
    singles, blocks = LOADS_AND_BLOCKS.get(len(tensors), LOADS_AND_BLOCKS_OF_MANY)
    arguments = [f"{out.cuda}* out", *map(_argument, inputs), f"const __grid_constant__ Layout<{operands + 1}> layout"]
    values = ", ".join(f"{compute.wide.cuda} {name}" for name, _, compute in inputs)
    return f"""
inline {out.cuda} value({values}) {{ return store<{out.cuda}>({cuda}); }}

extern "C" __global__ void __launch_bounds__({THREADS}, {blocks})
{entry}({", ".join(arguments)}) {{
  constexpr int threads = {THREADS}, singles = {singles}, operands = {operands};
  constexpr int pack = {pack_of(out, [kind for _, kind in tensors])};
{Template(_BODY).substitute(_parts(out, inputs, tensors))}}}
"""


def _parts(out: dtype, inputs: Sequence[Input], tensors: Sequence[tuple[str, dtype]]) -> dict[str, str]:
    """What stands for each $PART of the body."""

    def every(statement: str) -> str:
        return " ".join(statement.format(n=name, t=kind.cuda, at=at) for at, (name, kind) in enumerate(tensors, 1))

    def values(place: str) -> str:
        at = iter(range(1, len(inputs) + 1))
        return ", ".join(
            f"({c.wide.cuda}){name}_number"
            if kind is None
            else f"load<{c.wide.cuda}>({place.format(n=name, at=next(at))})"
            for name, kind, c in inputs
        )

    aligned = every("&& (layout.stride[{at}][0] == 0 || is_aligned<pack>({n}_data))")
    return {
        "T": out.cuda,
        "ALIGNED": f"is_aligned<pack>(out) {aligned}",
        "PACKS": every("Loaded<{t}, pack> {n}_pack;"),
        "FETCH_LINE": every(
            "if (layout.stride[{at}][0]) {n}_pack.fetch({n}_data + place); else {n}_pack.fetch_one({n}_data);"
        ),
        "FETCH": every(
            "if (layout.stride[{at}][0]) {n}_pack.fetch({n}_data + at[0][{at}]); "
            "else {n}_pack.fetch_one({n}_data + at[0][{at}]);"
        ),
        "REPEAT": every("if (layout.stride[{at}][0] == 0) {n}_pack.repeat();"),
        "OF_PACK": values("{n}_pack[lane]"),
        "ONES": every("{t} {n}_one[singles];"),
        "FETCH_ONE": every("{n}_one[each] = {n}_data[at[each][{at}]];"),
        "OF_ONE": values("{n}_one[each]"),
        "OF_FAR": values("{n}_data[at[{at}]]"),
    }


def _argument(each: Input) -> str:
    name, kind, compute = each
    if kind is None:
        return f"{'double' if compute.category == FLOATING else 'long long'} {name}_number"
    return f"const {kind.cuda}* {name}_data"
