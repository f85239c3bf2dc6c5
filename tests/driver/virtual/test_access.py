"""Access histories of blocks: which bytes operands touch, and how short the histories stay."""

import pytest

from flambeau.driver.virtual.access import FEW_GROUPS
from flambeau.dtypes import float32
from flambeau.errors import RaceError
from flambeau.kernel import Kernel, Pointer, Strided

from .rig import ADD_ONE, STRIDED_FILL


def test_interleaved_views_do_not_race(make_rig):
    rig = make_rig(races="error")
    even, odd = rig.memory[0], rig.memory[0] + 4
    rig.launch(STRIDED_FILL, [even, ((8,), [(2,)]), 1.0], rig.a)
    rig.launch(STRIDED_FILL, [odd, ((8,), [(2,)]), 2.0], rig.b)
    with pytest.raises(RaceError, match=f"{odd:#x}, {odd + 4:#x}"):
        rig.launch(STRIDED_FILL, [odd, ((1,), [(1,)]), 3.0], rig.c)


def test_columns_of_a_matrix_do_not_race_but_a_row_does(make_rig):
    rig = make_rig(races="error")
    for column, stream in enumerate((rig.a, rig.b)):
        rig.launch(STRIDED_FILL, [rig.memory[0] + 4 * column, ((4, 1), [(2, 1)]), 1.0], stream)
    with pytest.raises(RaceError):
        rig.launch(STRIDED_FILL, [rig.memory[0] + 8, ((2,), [(1,)]), 1.0], rig.c)


def test_a_transposed_view_touches_every_byte(make_rig):
    rig = make_rig(races="error")
    rig.launch(STRIDED_FILL, [rig.memory[0], ((2, 4), [(1, 2)]), 1.0], rig.a)
    with pytest.raises(RaceError):
        rig.fill(rig.memory[0] + 12, 0, 1, rig.b)


def test_a_broadcast_operand_is_read(make_rig):
    def copy_row(out, row):
        out[...] = row

    kernel = Kernel(
        "row",
        "",
        [Pointer("out", float32, "w", "at"), Pointer("row", float32, "r", "at"), Strided("at", ("out", "row"))],
        copy_row,
    )
    rig = make_rig(races="error")
    rig.launch(kernel, [rig.memory[0], rig.memory[0] + 256, ((4, 3), [(3, 1), (0, 1)])], rig.a)
    rig.fill(rig.memory[0] + 268, 0, 4, rig.b)
    with pytest.raises(RaceError):
        rig.fill(rig.memory[0] + 264, 0, 4, rig.b)


# bookkeeping
def test_the_history_of_a_block_stays_short(rig):
    block = rig.take(0, 1 << 16)
    for step in range(10 * FEW_GROUPS):
        rig.fill(block, 0, 64 + step, rig.a)
    history = rig.driver._engine.memory.find(0, block, block + 1, "test").history
    assert len(history) <= FEW_GROUPS + 1


def test_what_the_host_waited_for_is_forgotten(rig):
    block = rig.take(0, 1 << 16)
    for step in range(10 * FEW_GROUPS):
        rig.copy(rig.memory[0] + (1 << 15), block, 64 + step, rig.a)
        rig.driver.stream_synchronize(rig.a)
    history = rig.driver._engine.memory.find(0, block, block + 1, "test").history
    assert len(history) <= 2 * FEW_GROUPS


def test_absent_operands_and_empty_arrays_touch_nothing(rig):
    seen = []

    def look(out, source, n):
        seen.append((out.shape, source))

    kernel = Kernel("look", "", ADD_ONE.params, look)
    rig.launch(kernel, [12, 0, 0], rig.a)
    rig.driver.stream_synchronize(rig.a)
    assert seen == [((0,), None)]
