"""Private pools of graphs."""

import pytest

from flambeau.errors import OutOfMemoryError
from flambeau.memory.allocator import CachingAllocator

from .fake import MIB, FakeDriver

POOL, OTHER = (0, 1), (0, 2)
MAIN, SIDE, CAPTURE = 1, 2, 3


@pytest.fixture
def driver():
    return FakeDriver()


@pytest.fixture
def allocator(driver):
    return CachingAllocator(driver, 0, driver.record_event)


def begin(driver, allocator, pool=POOL, streams=(CAPTURE,)):
    allocator.capture_started(pool)
    driver.capturing |= set(streams)


def end(driver, allocator):
    driver.capturing.clear()
    allocator.capture_ended()


def addresses(allocator, stream, sizes):
    blocks = [allocator.allocate(size, stream) for size in sizes]
    found = [block.address for block in blocks]
    for block in blocks:
        allocator.free(block)
    return found


def test_blocks_of_capturing_streams_come_from_the_private_pool(driver, allocator):
    before = addresses(allocator, CAPTURE, (512, 4 * MIB))
    begin(driver, allocator, streams=(CAPTURE, SIDE))
    inside = addresses(allocator, CAPTURE, (512, 4 * MIB))
    side = addresses(allocator, SIDE, (512,))
    assert addresses(allocator, CAPTURE, (512, 4 * MIB)) == inside
    outside = addresses(allocator, MAIN, (512,))
    end(driver, allocator)
    assert len({*before, *inside, *side, *outside}) == 6
    assert addresses(allocator, CAPTURE, (512, 4 * MIB)) == before
    assert {each["segment_pool_id"] for each in allocator.snapshot()} == {(0, 0), POOL}


def test_a_block_goes_back_to_the_pool_that_it_came_from(driver, allocator):
    shared = allocator.allocate(512, CAPTURE)
    begin(driver, allocator)
    private = allocator.allocate(512, CAPTURE)
    allocator.free(shared)
    again = allocator.allocate(512, CAPTURE)
    assert again.address not in (shared.address, private.address)
    end(driver, allocator)
    allocator.free(private)
    assert allocator.allocate(512, CAPTURE).address == shared.address


def test_captures_of_one_pool_share_its_memory(driver, allocator):
    found = []
    for pool in (POOL, POOL, OTHER):
        begin(driver, allocator, pool)
        found.append(addresses(allocator, CAPTURE, (512, 4 * MIB)))
        end(driver, allocator)
    assert found[0] == found[1] and not set(found[0]) & set(found[2])


def test_the_last_release_lets_the_memory_go_and_tensors_keep_theirs(driver, allocator):
    begin(driver, allocator)
    kept = allocator.allocate(512, CAPTURE)
    addresses(allocator, CAPTURE, (4 * MIB,))
    end(driver, allocator)
    begin(driver, allocator)
    end(driver, allocator)
    for reserved in (22 * MIB, 2 * MIB):
        allocator.release_pool(POOL)
        allocator.empty_cache()
        assert allocator.reserved_bytes == reserved
    allocator.free(kept)
    allocator.empty_cache()
    assert allocator.reserved_bytes == 0 and allocator.allocated_bytes == 0
    stats = allocator.statistics()
    assert {key: value for key, value in stats.items() if key.endswith("current") and value} == {}


def test_a_pool_that_is_used_again_keeps_its_memory(driver, allocator):
    begin(driver, allocator)
    kept = allocator.allocate(512, CAPTURE)
    end(driver, allocator)
    allocator.release_pool(POOL)
    begin(driver, allocator)
    end(driver, allocator)
    allocator.free(kept)
    allocator.empty_cache()
    assert allocator.reserved_bytes == 2 * MIB


def test_statistics_count_private_pools_too(driver, allocator):
    begin(driver, allocator)
    block = allocator.allocate(1000, CAPTURE)
    stats = allocator.statistics()
    assert stats["allocated_bytes.small_pool.current"] == stats["allocated_bytes.all.current"] == 1024
    assert stats["segment.all.current"] == 1 and stats["inactive_split.all.current"] == 1
    allocator.free(block)
    end(driver, allocator)
    stats = allocator.statistics()
    assert stats["allocated_bytes.all.current"] == 0 and stats["reserved_bytes.all.current"] == 2 * MIB


def test_a_shared_block_is_not_taken_for_a_full_private_pool():
    driver = FakeDriver(capacity=2 * MIB)
    allocator = CachingAllocator(driver, 0, driver.record_event)
    addresses(allocator, CAPTURE, (512,))
    begin(driver, allocator)
    with pytest.raises(OutOfMemoryError, match="a capture is underway"):
        allocator.allocate(512, CAPTURE)
