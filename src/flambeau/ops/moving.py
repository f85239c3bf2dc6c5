"""How rows that no arithmetic touches are moved (kernels/moving.cu): in which units, and by how many threads."""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd
from typing import Any, NamedTuple

from .. import strides as st
from ..dtypes import dtype
from ..kernel import Grid
from .pointwise import THREADS, grid_over, source_text

WIDEST = 16  # bytes that a thread moves at once where rows allow it
UNITS = {1: "unsigned char", 2: "unsigned short", 4: "unsigned int", 8: "unsigned long long", WIDEST: "Wide"}
WARP = 32
AHEAD = 4  # units that a thread loads before it stores the first
MAX_BLOCKS = 2**31 - 1
ROW_BLOCKS = 132 * 64  # of rows out of order, fewer blocks that go on are faster
SOURCE = source_text("moving.cu")


def blocks_of(threads: int) -> int:
    """Blocks of so many threads: copies in order are fastest in a grid that holds all of them."""
    return min(-(-threads // THREADS), MAX_BLOCKS)


def unit_of(kind: dtype, counts: Sequence[int], operands: Sequence[Any]) -> int:
    """The most bytes that divide these counts of elements, and where the operands begin."""
    if not all(each.is_aligned() for each in operands):
        return kind.itemsize
    return gcd(WIDEST, *(count * kind.itemsize for count in counts))


class Move(NamedTuple):
    """`block` and `row`: how far apart blocks and rows lie on the strided side; `width` of a row: in units of bytes.

    A width of 0 stands for rows that are not dense, and are moved element by element.
    """

    unit: int
    block: int
    row: int
    width: int
    lanes: int

    def grid(self, rows: int, inner: int) -> Grid:
        if not self.width:
            return grid_over(rows * inner)
        each = AHEAD if self.width <= self.lanes else 1
        return Grid((min(blocks_of(-(-rows // each) * self.lanes), ROW_BLOCKS), 1, 1), THREADS)


def lanes_of(width: int) -> int:
    """Threads that move a row of `width` units: a warp or less at one unit each, more at AHEAD."""
    wanted = width if width <= WARP else max(-(-width // AHEAD), WARP)
    return int(min(1 << (wanted - 1).bit_length(), THREADS))


def move_of(kind: dtype, shape: Sequence[int], strides: Sequence[int], at: int, operands: Sequence[Any]) -> Move:
    """How rows, which lie behind dimension `at` of a strided array, move between it and a contiguous one."""
    lead, tail = st.collapse(shape[:at], [strides[:at]]), st.collapse(shape[at + 1 :], [strides[at + 1 :]])
    if len(lead[0]) > 1 or tail[1][0] not in ((), (1,)):
        return Move(kind.itemsize, 0, 0, 0, 1)
    inner = tail[0][0] if tail[0] else 1
    block, row = lead[1][0][0] if lead[0] else 0, strides[at] if shape else 0
    unit = unit_of(kind, (inner, block, row), operands)
    units = [count * kind.itemsize // unit for count in (block, row, inner)]
    return Move(unit, *units, lanes_of(units[2]))
