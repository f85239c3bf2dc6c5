"""Expandable segments, on the fake driver: which pages are mapped, reused, unmapped and reported."""

import pytest

from flambeau.core.hooks import subscribe, unsubscribe
from flambeau.errors import AcceleratorError, OutOfMemoryError
from flambeau.memory.allocator import CachingAllocator
from flambeau.memory.segments import EXPANDABLE_SMALL_LIMIT
from flambeau.memory.settings import Settings, parse

from .fake import MIB, FakeDriver

EXPANDABLE = parse("expandable_segments:True")
PAGE, GRAIN = 20 * MIB, 2 * MIB


@pytest.fixture
def driver():
    return FakeDriver(capacity=200 * MIB)


@pytest.fixture
def allocator(driver):
    return CachingAllocator(driver, 0, driver.record_event, EXPANDABLE)


def pages(driver):
    """(start, size) of the pages that are mapped in the only range, in MiB."""
    (base,) = driver.reserved
    return sorted(((address - base) // MIB, size // MIB) for address, size in driver.pages.items())


def allocate(allocator, *sizes, stream=1):
    return [allocator.allocate(size, stream) for size in sizes]


def free(allocator, *blocks):
    for block in blocks:
        allocator.free(block)


def test_pages_are_mapped_as_a_request_needs_them(driver, allocator):
    first, second = allocate(allocator, 15 * MIB, 50 * MIB)
    assert second.address == first.address + 15 * MIB
    assert pages(driver) == [(0, 16), (16, 20), (36, 20), (56, 10)]  # the idle MiB at 15 serves the second block too
    assert list(driver.reserved.values()) == [240 * MIB]  # 9/8 of the device, in multiples of 20 MiB
    assert allocator.reserved_bytes == 66 * MIB and driver.segments == {}


def test_small_and_large_requests_have_pages_of_their_own(driver, allocator):
    at_most, more = allocate(allocator, EXPANDABLE_SMALL_LIMIT, EXPANDABLE_SMALL_LIMIT + 1)
    allocate(allocator, 512, stream=2)
    assert (at_most.segment.is_small, more.segment.is_small) == (True, False)
    assert list(driver.pages.values()) == [GRAIN] * 3 and len(driver.reserved) == 3


def test_the_sizes_of_the_small_pool_follow_the_settings(driver, allocator):
    allocator.configure(Settings())
    (x,) = allocate(allocator, MIB)
    assert x.segment.is_small
    free(allocator, x)
    allocator.configure(EXPANDABLE)
    assert allocate(allocator, MIB)[0].segment.is_small is False  # by its size, it belongs to the other pool now
    allocator.configure(Settings())
    assert allocate(allocator, MIB)[0].address == x.address


def test_blocks_coalesce_over_pages_and_serve_a_larger_request(driver, allocator):
    blocks = allocate(allocator, *[12 * MIB] * 5)
    assert pages(driver) == [(0, 12), (12, 12), (24, 12), (36, 12), (48, 12)]
    address = blocks[0].address
    free(allocator, *blocks)
    (large,) = allocate(allocator, 60 * MIB)
    assert large.address == address and allocator.reserved_bytes == 60 * MIB


def test_a_range_grows_in_place(driver, allocator):
    kept, last = allocate(allocator, 30 * MIB, 10 * MIB)
    free(allocator, last)
    (grown,) = allocate(allocator, 50 * MIB)
    assert grown.address == kept.address + 30 * MIB
    assert pages(driver) == [(0, 20), (20, 10), (30, 10), (40, 20), (60, 20)]


def test_empty_cache_unmaps_the_whole_pages_of_idle_blocks(driver, allocator):
    first, middle, last = allocate(allocator, 10 * MIB, 85 * MIB, 5 * MIB)
    driver.calls()
    free(allocator, middle)
    allocator.empty_cache()
    assert pages(driver) == [(0, 10), (90, 6), (96, 4)] and allocator.reserved_bytes == 20 * MIB
    assert driver.calls()[:4] == ["block_given", "record", "synchronize", "mem_unmap"]
    low, high = allocator.snapshot()
    assert (low["address"], low["total_size"]) == (first.address, 10 * MIB)
    assert (high["address"], high["total_size"]) == (first.address + 90 * MIB, 10 * MIB)
    assert [block["state"] for block in high["blocks"]] == ["inactive", "active_allocated"]
    free(allocator, first, last)
    allocator.empty_cache()
    assert driver.pages == driver.reserved == {} and allocator.snapshot() == []


def test_the_lowest_gap_is_filled_first(driver, allocator):
    blocks = allocate(allocator, *[PAGE] * 5)
    free(allocator, blocks[1], blocks[3])
    allocator.empty_cache()
    assert pages(driver) == [(0, 20), (40, 20), (80, 20)]
    (again,) = allocate(allocator, 5 * MIB)
    assert again.address == blocks[1].address and pages(driver) == [(0, 20), (20, 6), (40, 20), (80, 20)]
    (beyond,) = allocate(allocator, 30 * MIB)
    assert beyond.address == blocks[4].address + PAGE


def test_pages_are_unmapped_before_memory_runs_out(driver, allocator):
    (x,) = allocate(allocator, 150 * MIB)
    free(allocator, x)
    driver.calls()
    (y,) = allocate(allocator, 150 * MIB, stream=2)  # another range
    calls = driver.calls()
    assert calls.index("mem_unmap") > calls.index("mem_map") and y.stream == 2
    assert allocator.statistics()["num_alloc_retries"] == 1
    assert len(driver.reserved) == 1 and allocator.reserved_bytes == 150 * MIB


def test_running_out_leaves_every_number_as_it_was(driver, allocator):
    kept = allocate(allocator, 90 * MIB)
    before = allocator.statistics()
    with pytest.raises(OutOfMemoryError) as caught:
        allocate(allocator, 120 * MIB)
    after = allocator.statistics()
    assert {key for key in before if before[key] != after[key] and ".current" in key} == set()
    assert "120.00 MiB" in str(caught.value) and "expandable_segments" not in str(caught.value) and kept
    assert pages(driver) == [(0, 20), (20, 20), (40, 20), (60, 20), (80, 10)]
    allocate(allocator, 70 * MIB)


def test_the_limit_of_the_process_counts_pages(driver, allocator):
    allocator.set_fraction(0.5)
    allocate(allocator, 90 * MIB)
    with pytest.raises(OutOfMemoryError) as caught:
        allocate(allocator, 20 * MIB)
    assert "the limit is the cause" in caught.value.hint and allocator.reserved_bytes == 90 * MIB


def test_toggled_at_run_time_each_kind_serves_its_own_requests(driver, allocator):
    (x,) = allocate(allocator, 20 * MIB)
    free(allocator, x)
    allocator.configure(Settings())
    (y,) = allocate(allocator, 20 * MIB)
    assert list(driver.segments) == [y.address]
    free(allocator, y)
    allocator.configure(EXPANDABLE)
    assert allocate(allocator, 20 * MIB)[0].address == x.address
    assert allocate(allocator, 20 * MIB)[0].address == y.address  # ordinary segments serve as well
    assert [segment["is_expandable"] for segment in allocator.snapshot()] == [True, False]


def test_private_pools_have_ranges_of_their_own(driver, allocator):
    pool = (0, 1)
    allocator.begin_pool(pool)
    (x,) = allocate(allocator, 20 * MIB)
    allocator.end_pool(pool)
    (y,) = allocate(allocator, 20 * MIB)
    assert {each["segment_pool_id"] for each in allocator.snapshot()} == {pool, (0, 0)} and len(driver.reserved) == 2
    free(allocator, x)
    allocator.empty_cache()
    assert len(driver.reserved) == 1 and allocator.allocate(512, 1) and y


def test_a_pool_that_does_not_split_has_ordinary_segments(driver, allocator):
    allocator.hold_pool((0, 1), is_split=False)
    allocator.begin_pool((0, 1))
    allocate(allocator, 2 * MIB, 2 * MIB)
    assert len(driver.segments) == 2 and driver.reserved == {}


def test_pages_are_mapped_during_a_capture(driver, allocator):
    allocator.capture_started((0, 1))
    driver.capturing.add(1)
    (x,) = allocate(allocator, 30 * MIB)
    driver.capturing.clear()
    allocator.capture_ended()
    assert x.segment.pool.id == (0, 1) and pages(driver) == [(0, 20), (20, 10)]


def test_segments_and_parts_are_not_counted(driver, allocator):
    blocks = allocate(allocator, 2 * MIB, 2 * MIB, 512)
    free(allocator, blocks[0])
    found = allocator.statistics()
    assert found["segment.all.allocated"] == found["inactive_split.all.allocated"] == 0
    assert found["inactive_split_bytes.all.peak"] == 0 and found["reserved_bytes.all.current"] == 6 * MIB
    assert found["num_device_alloc"] == 3 and found["reserved_bytes.small_pool.current"] == GRAIN


def test_events_of_the_history_add_up_to_the_mapped_bytes(driver, allocator):
    events = []

    def note(action, device, address, nbytes, stream, pool):
        events.append((action, address, nbytes))

    subscribe(on_memory=note)
    try:
        x, y = allocate(allocator, 50 * MIB, 5 * MIB)
        free(allocator, x)
        allocator.empty_cache()
    finally:
        unsubscribe(on_memory=note)
    base, end = x.address, x.address + 50 * MIB
    assert events == [
        ("segment_map", base, 50 * MIB), ("segment_map", end, 6 * MIB), ("segment_unmap", base, 50 * MIB)
    ]  # fmt: skip
    assert y.address == x.address + 50 * MIB


def test_a_page_that_cannot_be_unmapped_stays_counted(driver, allocator):
    (x,) = allocate(allocator, 60 * MIB)
    free(allocator, x)
    left = [2]

    def fail(name):
        left[0] -= name == "mem_unmap"
        if left[0] == 0:
            raise AcceleratorError("the link is lost", operator=name)

    driver.on_call = fail
    with pytest.raises(AcceleratorError):
        allocator.empty_cache()
    driver.on_call = lambda name: None
    assert allocator.reserved_bytes == 40 * MIB == driver.held() and pages(driver) == [(20, 20), (40, 20)]
    (segment,) = allocator.snapshot()
    assert segment["total_size"] == 40 * MIB and allocate(allocator, 40 * MIB)[0].address == x.address + PAGE


def test_an_address_in_a_range_is_the_allocators(driver, allocator):
    (x,) = allocate(allocator, 50 * MIB)
    assert allocator.owns(x.address + 49 * MIB) and not allocator.owns(x.address - 1)


def test_a_block_that_is_not_given_away_returns_to_its_own_segment(driver, allocator):
    allocator.configure(Settings())
    (x,) = allocate(allocator, 20 * MIB)
    free(allocator, x)
    allocator.configure(EXPANDABLE)

    def fail(name):
        if name == "block_taken":
            raise AcceleratorError("the stream is gone", operator=name)

    driver.on_call = fail
    with pytest.raises(AcceleratorError):
        allocate(allocator, 20 * MIB)  # of the ordinary segment, by a pool of expandable ones
    driver.on_call = lambda name: None
    allocator.empty_cache()
    assert driver.held() == allocator.reserved_bytes == 0
