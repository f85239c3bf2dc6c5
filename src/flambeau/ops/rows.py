"""What softmax, layer norm and class losses share: device code that works on rows, and the grid that covers them."""

from __future__ import annotations

from ..kernel import Grid
from .pointwise import MAX_BLOCKS, THREADS, source_text
from .reduction import SOURCE as REDUCE

SOURCE = REDUCE + source_text("rows.cu")


def row_grid(rows: int, lanes: int) -> Grid:
    """Blocks for `rows` rows that `lanes` threads each make."""
    return Grid((max(1, min(-(-rows * lanes // THREADS), MAX_BLOCKS)), 1, 1), THREADS)
