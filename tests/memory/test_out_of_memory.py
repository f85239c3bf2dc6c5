"""The text of an out-of-memory error (row 1.8.8)."""

import os

import pytest

import flambeau as torch
from flambeau.errors import OutOfMemoryError
from flambeau.memory.out_of_memory import Holder, Shortage, size, too_large

MIB = 1 << 20
BASE = Shortage(
    device=1, block=12 * MIB, segment=12 * MIB, total=64 * MIB, free=4 * MIB, limit=None, processes=(),
    allocated=40 * MIB, active=42 * MIB, reserved=60 * MIB, largest=9 * MIB, reachable=9 * MIB, capturing=False,
)  # fmt: skip


@pytest.mark.parametrize(
    "nbytes, text",
    [(0, "0 bytes"), (1023, "1023 bytes"), (1024, "1.00 KiB"), (1536 * 1024, "1.50 MiB"), (1000 << 30, "1000.00 GiB")],
)
def test_sizes_are_readable(nbytes, text):
    assert size(nbytes) == text


def test_the_facts_come_in_order():
    assert BASE._replace(limit=62 * MIB, processes=((1, 3 * MIB), (os.getpid(), 61 * MIB))).fact() == (
        "CUDA out of memory. Tried to allocate 12.00 MiB. GPU 1 has a total capacity of 64.00 MiB of which 4.00 MiB is "
        "free. Process 1 has 3.00 MiB memory in use. Including non-flambeau memory, this process has 61.00 MiB "
        "memory in use. This process is allowed to reserve 62.00 MiB. Of the allocated memory 40.00 MiB is allocated "
        "by flambeau, and 20.00 MiB is reserved by flambeau but unallocated."
    )


def test_what_is_not_known_is_not_said():
    fact = BASE.fact()
    assert "rocess" not in fact and "allowed" not in fact


def test_fragmentation_is_named_where_it_is_the_cause():
    assert BASE.hint().startswith("fragmentation is the cause: largest free block 9.00 MiB of 18.00 MiB cached; ")


def test_live_bytes_are_named_where_they_are_the_cause():
    full = BASE._replace(active=60 * MIB, free=0)
    assert full.hint().startswith("fragmentation is not the cause: live bytes exceed capacity by 12.00 MiB")


def test_the_limit_counts_as_capacity():
    limited = BASE._replace(active=50 * MIB, limit=60 * MIB)
    assert limited.hint().startswith("fragmentation is not the cause: live bytes exceed capacity by 2.00 MiB")


def test_a_block_of_another_stream_is_named():
    assert "12.00 MiB of 18.00 MiB cached belongs to another stream or pool" in BASE._replace(largest=12 * MIB).hint()


def test_the_rounding_of_a_segment_is_named():
    rounded = BASE._replace(block=3 * MIB, segment=20 * MIB, largest=2 * MIB)
    assert rounded.hint().startswith(
        "the block of 3.00 MiB would fit, but it needs a segment of 20.00 MiB, and only 4.00 MiB can still be reserved"
    )
    assert "large_segment" not in rounded.hint()
    assert "large_segment_size_mb:15" in rounded._replace(free=15 * MIB).hint()


def test_a_capture_is_named():
    capturing = BASE._replace(capturing=True)
    assert capturing.hint().startswith("a capture is underway, so 18.00 MiB cached cannot be handed back")


def test_the_limit_is_named_where_the_device_has_room():
    hint = BASE._replace(limit=62 * MIB, free=30 * MIB, total=128 * MIB).hint()
    parts = ("60.00 MiB of 62.00 MiB", "30.00 MiB", "set_per_process_memory_fraction(0.57)")
    assert all(part in hint for part in parts)


def test_what_waits_is_named_with_its_stream():
    assert "3.00 MiB are freed, and wait for work on stream 7" in BASE._replace(waiting=((7, 3 * MIB),)).hint()


HOLDERS = (
    Holder("a.py:3", 30 * MIB, 4, 0), Holder("b.py:5", 2 * MIB, 1, 18 * MIB), Holder("", 8 * MIB, 2, 0),
    Holder("c.py:9", MIB, 1, 0),
)  # fmt: skip


def test_the_lines_that_hold_live_blocks_are_named_largest_first():
    hint = BASE._replace(active=60 * MIB, free=0, holders=HOLDERS, is_recorded=True).hint()
    places = [hint.index(part) for part in ("a.py:3 holds 30.00 MiB in 4 blocks", "unknown line holds 8.00", "b.py:5")]
    assert places == sorted(places) and "c.py" not in hint


def test_the_line_that_keeps_free_memory_is_named_where_it_is_fragmented():
    hint = BASE._replace(holders=HOLDERS, is_recorded=True).hint()
    assert "b.py:5 holds 2.00 MiB in 1 block and keeps 18.00 MiB of free memory" in hint and "a.py" not in hint


def test_without_a_history_the_call_that_records_one_is_named():
    assert "_record_memory_history(stacks='line')" in BASE.hint()
    assert "_record_memory_history" not in BASE._replace(is_recorded=True).hint()
    assert "_record_memory_history" not in BASE._replace(active=0).hint()


def test_an_error_names_the_lines_of_the_program(new_gpus):
    torch.cuda.memory._record_memory_history(stacks="line")
    try:
        kept = [torch.empty(1 << 28, device="cuda") for _ in range(2)]
        with pytest.raises(OutOfMemoryError) as caught:
            torch.empty(1 << 45, device="cuda")
    finally:
        torch.cuda.memory._record_memory_history(None)
    assert f"{os.path.relpath(__file__)}:" in str(caught.value)
    assert "holds 2.00 GiB in 2 blocks" in str(caught.value) and len(kept) == 2


def test_more_than_an_exabyte():
    assert str(too_large()) == "CUDA out of memory. Tried to allocate more than 1EB memory."
