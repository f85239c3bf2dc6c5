"""The cache of pinned host memory (rows 1.9.3 to 1.9.5, with sizes bounded)."""

import gc
import weakref

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flambeau.errors import AcceleratorError, ArgumentError, OutOfMemoryError
from flambeau.memory.pinned import PinnedCache

from .fake import FakeDriver

KIB = 1 << 10
MIB = 1 << 20


@pytest.fixture
def driver():
    return FakeDriver()


@pytest.fixture
def cache(driver):
    return PinnedCache(driver, driver.record_event)


def cycle(cache, nbytes):
    block = cache.allocate(nbytes)
    cache.free(block)
    return block


@pytest.mark.parametrize(
    "nbytes, size", [(1, 4 * KIB), (4 * KIB, 4 * KIB), (4 * KIB + 1, 8 * KIB), (20 * MIB + 1, 20 * MIB + 4 * KIB)]
)
def test_sizes_are_rounded_to_4_kib_only(cache, nbytes, size):
    block = cache.allocate(nbytes)
    assert (block.nbytes, block.requested) == (size, nbytes)


def test_a_freed_block_is_used_again(cache, driver):
    first = cycle(cache, 10_000)
    assert cache.allocate(9_000) is first
    assert driver.calls() == ["host_alloc"]


@pytest.mark.parametrize(
    "cached, asked, reused",
    [
        (8 * KIB, 4 * KIB, True), (12 * KIB, 4 * KIB, False), (72 * KIB, 64 * KIB, True), (76 * KIB, 64 * KIB, False),
        (9 * MIB, 8 * MIB, True), (9 * MIB + 4 * KIB, 8 * MIB, False), (8 * MIB, 9 * MIB, False),
    ],
)  # fmt: skip
def test_waste_is_at_most_an_eighth_or_4_kib(cache, cached, asked, reused):
    first = cycle(cache, cached)
    assert (cache.allocate(asked) is first) is reused


def test_the_best_fit_is_taken(cache):
    blocks = [cache.allocate(size * KIB) for size in (72, 64, 68)]
    for block in blocks:
        cache.free(block)
    assert [cache.allocate(64 * KIB).nbytes // KIB for _ in range(3)] == [64, 68, 72]


def test_a_recorded_block_waits_for_every_stream(cache, driver):
    block = cache.allocate(KIB)
    for stream in (1, 2, 2):
        cache.record_stream(block, stream)
    driver.work(1)
    driver.work(2)
    cache.free(block)
    other = cache.allocate(KIB)
    driver.complete(1)
    assert cache.allocate(KIB) is not block and other is not block
    driver.complete(2)
    assert cache.allocate(KIB) is block
    assert driver.log.count(("record", 1)) == driver.log.count(("record", 2)) == 1
    assert driver.events == {}


def test_a_slow_stream_does_not_hold_up_the_others(cache, driver):
    slow, fast = cache.allocate(KIB), cache.allocate(KIB)
    cache.record_stream(slow, 1)
    cache.record_stream(fast, 2)
    driver.work(1)
    driver.work(2)
    cache.free(slow)
    cache.free(fast)
    driver.complete(2)
    assert cache.allocate(KIB) is fast


def test_events_cover_work_up_to_the_drain(cache, driver):
    block = cache.allocate(KIB)
    cache.record_stream(block, 1)
    cache.free(block)
    driver.work(1)
    assert cache.allocate(KIB) is not block


def test_nothing_is_asked_while_nothing_is_pending(cache, driver):
    cycle(cache, KIB)
    driver.calls()
    cycle(cache, KIB)
    assert driver.calls() == []


def test_the_cap_keeps_what_was_used_last(driver):
    cache = PinnedCache(driver, driver.record_event, max_cached=2 * MIB)
    blocks = [cache.allocate(MIB) for _ in range(3)]
    for block in blocks:
        cache.free(block)
    cache.allocate(4 * KIB)  # takes back what was freed
    assert cache.statistics()["allocated_bytes.current"] == 2 * MIB + 4 * KIB
    assert blocks[0].address not in driver.host
    assert cache.statistics()["num_host_free"] == 1


def test_a_cap_of_zero_keeps_nothing(driver):
    cache = PinnedCache(driver, driver.record_event, max_cached=0)
    cycle(cache, MIB)
    held = cache.allocate(KIB)
    assert set(driver.host) == {held.address}


def test_empty_cache_keeps_what_is_used(cache, driver):
    held, pending = cache.allocate(KIB), cache.allocate(KIB)
    cycle(cache, KIB)
    cache.record_stream(pending, 1)
    driver.work(1)
    cache.free(pending)
    cache.empty_cache()
    assert set(driver.host) == {held.address, pending.address}
    driver.complete(1)
    cache.empty_cache()
    assert set(driver.host) == {held.address}


def test_when_the_host_has_no_more_idle_blocks_go_first():
    driver = FakeDriver(capacity=4 * MIB)
    cache = PinnedCache(driver, driver.record_event)
    cycle(cache, 3 * MIB)
    assert cache.allocate(2 * MIB).nbytes == 2 * MIB
    with pytest.raises(OutOfMemoryError):
        cache.allocate(3 * MIB)
    assert cache.statistics()["allocated_bytes.current"] == 2 * MIB
    assert cache.allocate(2 * MIB).nbytes == 2 * MIB


def test_when_the_host_has_no_more_pending_blocks_are_waited_for():
    driver = FakeDriver(capacity=4 * MIB)
    cache = PinnedCache(driver, driver.record_event)
    block = cache.allocate(3 * MIB)
    cache.record_stream(block, 1)
    driver.work(1)
    cache.free(block)
    assert cache.allocate(3 * MIB) is block
    assert driver.calls() == ["host_alloc", "record", "query", "host_alloc", "synchronize"]


def test_during_a_capture_nothing_is_recorded_or_asked(cache, driver):
    block = cache.allocate(KIB)
    cache.record_stream(block, 1)
    driver.calls()
    cache.capture_started()
    cache.free(block)
    cache.allocate(KIB)
    cache.empty_cache()
    assert driver.calls() == ["host_alloc"]
    cache.capture_ended()
    assert driver.calls() == ["record"]
    assert cache.allocate(KIB) is block


def test_misuse_is_an_error(cache):
    block = cycle(cache, 1)
    with pytest.raises(AcceleratorError, match="pinned free: invalid pinned pointer: 0x"):
        cache.free(block)
    with pytest.raises(AcceleratorError, match="pinned record_stream: invalid"):
        cache.record_stream(block, 1)
    with pytest.raises(ArgumentError, match="0 bytes"):
        cache.allocate(0)


def test_statistics_have_the_names_of_pytorch(cache):
    held = cache.allocate(5 * KIB)
    cycle(cache, KIB)
    found = cache.statistics()
    flows = [f"{name}.{field}" for name in ("active_bytes", "active_requests", "allocated_bytes", "allocations")
             for field in ("allocated", "current", "freed", "peak")]  # fmt: skip
    times = [f"host_{name}_time.{field}" for name in ("alloc", "free")
             for field in ("avg", "count", "max", "min", "total")]  # fmt: skip
    assert list(found) == sorted(flows + times + ["num_host_alloc", "num_host_free"])
    assert [found[f"active_bytes.{each}"] for each in ("current", "peak", "allocated", "freed")] == [
        8 * KIB, 12 * KIB, 12 * KIB, 4 * KIB]  # fmt: skip
    assert [found[f"allocations.{each}"] for each in ("current", "peak", "allocated", "freed")] == [2, 2, 2, 0]
    assert found["num_host_alloc"] == found["host_alloc_time.count"] == 2
    cache.reset_peak_statistics()
    cache.reset_accumulated_statistics()
    found = cache.statistics()
    assert found["active_bytes.peak"] == found["active_bytes.current"] == held.nbytes
    assert found["active_bytes.allocated"] == found["num_host_alloc"] == found["host_alloc_time.count"] == 0


def test_free_in_a_finalizer_under_the_lock(cache, driver):
    class Owner:
        def __init__(self):
            self.block = cache.allocate(KIB)

        def __del__(self):
            cache.free(self.block)

    owners = [Owner()]
    driver.on_call = lambda name: owners.clear()
    assert cache.allocate(MIB).nbytes == MIB
    assert cache.statistics()["active_requests.current"] == 1


def test_the_cache_dies_by_its_reference_count(driver):
    cache = PinnedCache(driver, driver.record_event)
    cycle(cache, KIB)
    gc.disable()
    try:
        dead = weakref.ref(cache)
        del cache
        assert dead() is None
    finally:
        gc.enable()


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(1, 40_000), st.integers(0, 9)), max_size=60))
def test_no_block_is_used_twice_and_sums_agree(steps):
    driver = FakeDriver(capacity=1 << 18)
    cache = PinnedCache(driver, driver.record_event, max_cached=1 << 16)
    held, guarded = [], []
    for kind, nbytes, pick in steps:
        if kind == 0:
            try:
                block = cache.allocate(nbytes)
            except OutOfMemoryError:
                continue
            assert all(block is not other for other in held)
            assert all(driver.done[1] >= number for other, number in guarded if other is block)
            guarded = [(other, number) for other, number in guarded if other is not block]
            held.append(block)
        elif kind == 1 and held:
            block = held.pop(pick % len(held))
            if block.streams:
                guarded.append((block, driver.submitted[1]))
            cache.free(block)
        elif kind == 2 and held:
            cache.record_stream(held[pick % len(held)], 1)
            driver.work(1)
        elif kind == 3:
            driver.complete(1)
        found = cache.statistics()
        assert found["allocated_bytes.current"] == sum(driver.host.values())
        assert found["allocations.current"] == len(driver.host)
        assert found["active_bytes.current"] >= sum(block.nbytes for block in held)
