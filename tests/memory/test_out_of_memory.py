"""The text of an out-of-memory error (row 1.8.8)."""

import os
from dataclasses import replace

import pytest

from flambeau.memory.out_of_memory import Shortage, size, too_large

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
    assert replace(BASE, limit=62 * MIB, processes=((1, 3 * MIB), (os.getpid(), 61 * MIB))).fact() == (
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
    full = replace(BASE, active=60 * MIB, free=0)
    assert full.hint().startswith("fragmentation is not the cause: live bytes exceed capacity by 12.00 MiB")


def test_the_limit_counts_as_capacity():
    limited = replace(BASE, active=50 * MIB, limit=60 * MIB)
    assert limited.hint().startswith("fragmentation is not the cause: live bytes exceed capacity by 2.00 MiB")


def test_a_block_of_another_stream_is_named():
    assert "12.00 MiB of 18.00 MiB cached belongs to another stream or pool" in replace(BASE, largest=12 * MIB).hint()


def test_the_rounding_of_a_segment_is_named():
    rounded = replace(BASE, block=3 * MIB, segment=20 * MIB, largest=2 * MIB)
    assert rounded.hint() == (
        "the block of 3.00 MiB would fit, but it needs a segment of 20.00 MiB, and only 4.00 MiB can still be reserved"
    )


def test_a_capture_is_named():
    capturing = replace(BASE, capturing=True)
    assert capturing.hint().startswith("a capture is underway, so 18.00 MiB cached cannot be handed back")


def test_more_than_an_exabyte():
    assert str(too_large()) == "CUDA out of memory. Tried to allocate more than 1EB memory."
