"""The bytes of virtual GPUs: blocks and ranges of addresses, pending poison, and the size under a process's limit."""

import gc
import mmap
import subprocess
import sys
import weakref
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flambeau.driver.virtual.space import GRAIN, GRANULE, POISON, Blocks, DeviceSpace, Ranges

PROGRAM = """
import resource, sys, warnings
limit = int(sys.argv[1])
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
import flambeau as torch
from flambeau.errors import ConfigError
warnings.simplefilter("always")
torch.virtual(2, **({"memory": sys.argv[2]} if len(sys.argv) > 2 else {}))
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    try:
        for device in ("cuda:0", "cuda:1"):
            x = torch.ones(1 << 20, device=device)
            print((x + x).sum().item())
        print(torch.cuda.mem_get_info()[1], torch.cuda.get_device_properties(1).total_memory)
    except ConfigError as failure:
        print(failure)
print(len(caught), *(each.message for each in caught))
"""
GIB = 1 << 30


def run(*arguments):
    done = subprocess.run([sys.executable, "-c", PROGRAM, *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.slow
def test_devices_share_what_a_limit_of_addresses_leaves():
    first, second, totals, warned = run(12 * GIB)
    assert first == second == str(float(2 << 20))
    total, again = map(int, totals.split())
    assert total == again and GIB < total <= 3 * GIB
    assert warned.startswith("1 ") and f"{total} bytes of memory" in warned
    assert f"limited to {12 * GIB} bytes" in warned and "memory=" in warned


@pytest.mark.slow
def test_memory_that_was_asked_for_and_cannot_be_mapped_is_an_error_that_says_how():
    text, hint, warned = run(12 * GIB, "64GiB")
    assert f"{64 * GIB} bytes of memory cannot be mapped" in text and f"(RLIMIT_AS) is {12 * GIB}" in text
    assert hint.startswith("hint: ") and "memory=1GiB" in hint and warned == "0"
    assert run(12 * GIB, "1GiB")[2] == f"{GIB} {GIB}"


def test_machines_in_cycles_give_their_addresses_back():
    """Four times the addresses of a process, of machines that only the collector can free."""

    class Cycle:
        def __init__(self):
            self.space, self.own = DeviceSpace(BASE, 16 << 40), self
            self.space.open()

    gc.collect()
    gc.disable()
    try:
        made = [weakref.ref(Cycle()) for _ in range(32)]
    finally:
        gc.enable()
    assert 0 < sum(each() is not None for each in made) < 8


BASE = 1 << 50
NBYTES = 8 * GRAIN
EDGES = st.one_of(st.integers(0, NBYTES), st.integers(0, 8).map(lambda grain: grain * GRAIN))
STEPS = st.lists(st.tuples(st.sampled_from(["poison", "write", "read"]), EDGES, EDGES), max_size=12)


@given(STEPS)
def test_pending_poison_reads_as_poison_that_was_written_at_once(steps: list[tuple[str, int, int]]) -> None:
    space, expected = DeviceSpace(BASE, GRANULE), bytearray([POISON] * NBYTES)
    space.open()
    for number, (step, one, two) in enumerate(steps):
        low, high = min(one, two), max(one, two)
        if low == high:
            continue
        if step == "poison":
            space.poison(BASE + low, BASE + high)
            expected[low:high] = [POISON] * (high - low)
        elif step == "write":
            space.written(BASE + low, BASE + high)
            space.bytes(BASE + low, BASE + high)[:] = number
            expected[low:high] = [number] * (high - low)
        else:
            space.materialise(BASE + low, BASE + high)
            assert bytes(space.bytes(BASE + low, BASE + high)) == expected[low:high]
    space.materialise(BASE, BASE + NBYTES)
    assert bytes(space.bytes(BASE, BASE + NBYTES)) == expected


def test_poison_of_many_grains_and_discarded_bytes_are_pending():
    nbytes = 4 * GRAIN * mmap.PAGESIZE  # more than a page of marks
    space = DeviceSpace(BASE, nbytes)
    space.open()
    for make_pending in (
        lambda: space.poison(BASE + GRAIN, BASE + nbytes - GRAIN),
        lambda: space.discard(BASE, BASE + nbytes),
    ):
        space.written(BASE, BASE + nbytes)
        assert not space.is_pending(BASE + GRAIN, BASE + 2 * GRAIN)
        make_pending()
        assert space.is_pending(BASE + GRAIN, BASE + nbytes - GRAIN)
    assert space.is_pending(BASE, BASE + nbytes)


# ranges of bytes, and blocks by address

BYTES = st.integers(0, 40)
REMOVALS = st.lists(st.tuples(st.booleans(), BYTES, st.integers(1, 12)), max_size=20)


@given(REMOVALS, BYTES, BYTES)
def test_ranges_are_a_set_of_bytes(steps: list[tuple[bool, int, int]], low: int, high: int) -> None:
    ranges, expected = Ranges(), set()
    for is_added, start, length in steps:
        (ranges.add if is_added else ranges.remove)(start, start + length)
        touched = set(range(start, start + length))
        expected = expected | touched if is_added else expected - touched
    found = ranges.within(low, high)
    assert [byte for start, end in found for byte in range(start, end)] == sorted(expected & set(range(low, high)))


@given(REMOVALS)
def test_ranges_that_touch_become_one(steps: list[tuple[bool, int, int]]) -> None:
    ranges = Ranges()
    for is_added, start, length in steps:
        (ranges.add if is_added else ranges.remove)(start, start + length)
    found = ranges.within(0, 100)
    assert all(end < start for (_, end), (start, _) in pairwise(found))
    assert ranges.largest() == max((end - start for start, end in found), default=0)


def test_first_fit_is_the_lowest_range_with_room() -> None:
    ranges = Ranges()
    for low, high in ((0, 4), (10, 20), (30, 90)):
        ranges.add(low, high)
    assert [ranges.first_fit(n) for n in (4, 5, 10, 11, 61)] == [0, 10, 10, 30, None]


def test_many_ranges_become_few_again() -> None:
    ranges = Ranges()
    for low in range(0, 40, 2):
        ranges.add(low, low + 1)
    assert ranges.within(9, 14) == [(10, 11), (12, 13)] and ranges.first_fit(1) == 0
    for low in range(0, 34, 2):
        ranges.remove(low, low + 1)
    ranges.add(35, 36)
    assert ranges.within(0, 50) == [(34, 37), (38, 39)] and ranges.first_fit(1) == 34


class Item:
    def __init__(self, low: int, high: int) -> None:
        self.low, self.high = low, high


def test_blocks_are_found_by_any_address() -> None:
    blocks: Blocks[Item] = Blocks()
    items = [Item(0, 4), Item(4, 8), Item(12, 16)]
    for item in reversed(items):
        blocks.add(item)
    assert [blocks.find(address) for address in (0, 3, 4, 8, 12, 16)] == [
        items[0],
        items[0],
        items[1],
        None,
        items[2],
        None,
    ]
    assert blocks.overlapping(3, 5) == items[:2]
    assert blocks.overlapping(8, 12) == []
    blocks.remove(items[1])
    assert blocks.overlapping(0, 99) == [items[0], items[2]]
