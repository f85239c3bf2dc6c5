"""Rows, which softmax, layer norm and class losses share: their device code, and how threads are spread over them.

- A thread holds up to RUNS runs of a row; the lanes of a row hold a tile of it together.
- Rows up to the tile of MOST_THREADS (64 KiB) are read once, longer ones tile by tile.
- Even rows are read and written WIDEST_ACCESS bytes at a time, others (and most long ones) element by element.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ..kernel import Grid, Scalar
from .pointwise import MAX_BLOCKS, THREADS, source_text
from .reduction import SOURCE as REDUCE

SOURCE = REDUCE + source_text("rows.cu")
WARP = 32
WIDEST_ACCESS = 16  # bytes of a run
RUNS = 4  # that a thread holds of a tile
MOST_SCATTERED = 4  # elements of a run of a row that is not even
MOST_THREADS = 1024  # of a block
LONG_ROW_THREADS = 256  # of a row of several tiles, where there are at least
MANY_ROWS = 132 * 4
ROW_BOUNDS = f"__launch_bounds__({MOST_THREADS})"
ROW_NUMBERS = [Scalar(name, "int64") for name in ("rows", "size", "tiles", "lanes")]
ROW_ARGUMENTS = "long long rows, long long size, long long tiles, long long lanes"


class Rows(NamedTuple):
    """How rows are spread: `lanes` threads make one, in `tiles` steps (see kernels/rows.cu)."""

    rows: int
    size: int
    tiles: int
    lanes: int

    def grid(self) -> Grid:
        """Blocks for all rows.  None makes several: the last wave of few long-lived blocks is seldom full."""
        threads = max(self.lanes, THREADS) if self.lanes <= WARP else self.lanes
        return Grid((-(-self.rows * self.lanes // threads), 1, 1), threads)


def rows_of(
    count: int, size: int, operands: Sequence[Any], starts: Sequence[Sequence[int]] = (), most_tiles: int = 1
) -> tuple[bool, Rows]:
    """Whether rows are even, and how `count` of `size` elements are spread.

    operands: all that are read or written along the rows, of which None is absent.  starts: unless they are
    contiguous, the strides of some of them, the last one along a row.  most_tiles: of even rows.
    """
    there = [each for each in operands if each is not None]
    run = WIDEST_ACCESS // max(each.dtype.itemsize for each in there)
    is_even = size % run == 0 and size <= run * RUNS * MOST_THREADS * most_tiles
    is_even = is_even and all(each.is_aligned() for each in there)
    is_even = is_even and all(steps[-1] == 1 and all(step % run == 0 for step in steps[:-1]) for steps in starts)
    held = RUNS * (run if is_even else min(run, MOST_SCATTERED))
    wanted = -(-size // held)
    lanes = -(-wanted // WARP) * WARP if wanted > WARP else 1 << (wanted - 1).bit_length()
    most = LONG_ROW_THREADS if count >= MANY_ROWS else MOST_THREADS
    if lanes > (most if most_tiles > 1 else MOST_THREADS):
        lanes = most
    return is_even, Rows(count, size, -(-size // (held * lanes)), lanes)


def even(is_even: bool) -> tuple[str, str]:
    """(the end of an entry's name, the template argument)"""
    return ("_even", "true") if is_even else ("", "false")


def across_grid(rows: int, lanes: int) -> Grid:
    """Blocks for `rows` rows that lie next to each other, and that `lanes` threads each make."""
    return Grid((max(1, min(-(-rows * lanes // THREADS), MAX_BLOCKS)), 1, 1), THREADS)
