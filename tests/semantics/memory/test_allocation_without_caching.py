"""Allocation without caching: each block is a driver allocation of exactly the requested bytes (row 1.19.3)."""

import pytest

import flambeau as torch
from flambeau.core import thread
from flambeau.errors import AccessError, OutOfMemoryError
from flambeau.memory.allocator import CachingAllocator
from flambeau.memory.settings import EXACT, Settings
from flambeau.testing import machine
from tests.memory.fake import MIB, FakeDriver

POOL = (0, 1)
MAIN, SIDE, CAPTURE = 1, 2, 3
STATISTICS = ("allocated_bytes", "requested_bytes", "reserved_bytes", "active_bytes", "inactive_split_bytes")


@pytest.fixture
def driver():
    return FakeDriver()


@pytest.fixture
def allocator(driver):
    return CachingAllocator(driver, 0, driver.record_event, Settings(roundup_divisions=EXACT))


def current(allocator):
    found = allocator.statistics()
    return [found[f"{name}.all.current"] for name in STATISTICS]


@pytest.mark.parametrize("nbytes", [1, 511, 513, MIB + 1, 10 * MIB + 3])
def test_the_driver_is_asked_for_exactly_the_bytes(driver, allocator, nbytes):
    block = allocator.allocate(nbytes, MAIN)
    assert driver.segments == {block.address: nbytes}
    assert (block.nbytes, block.requested) == (nbytes, nbytes)
    assert current(allocator) == [nbytes, nbytes, nbytes, nbytes, 0]


def test_a_freed_block_goes_back_in_the_next_call_and_serves_nobody(driver, allocator):
    block = allocator.allocate(100, MAIN)
    first = block.address
    driver.work(MAIN)
    allocator.free(block)
    assert first in driver.segments
    other = allocator.allocate(100, MAIN)
    assert other.address != first and list(driver.segments) == [other.address]
    assert current(allocator) == [100] * 4 + [0]
    assert [(each["address"], each["total_size"]) for each in allocator.snapshot()] == [(other.address, 100)]


def test_it_goes_back_after_the_streams_that_used_it(driver, allocator):
    block = allocator.allocate(100, MAIN)
    allocator.record_stream(block, SIDE)
    driver.work(MAIN), driver.work(SIDE)
    allocator.free(block)
    driver.calls()
    allocator.allocate(8, SIDE)
    calls = driver.calls()
    assert calls.index("mem_free") > max(at for at, name in enumerate(calls) if name == "synchronize")
    assert all(driver.done[stream] == 1 for stream in (MAIN, SIDE))


def test_free_makes_no_call(driver, allocator):
    block = allocator.allocate(100, MAIN)
    driver.calls()
    allocator.free(block)
    assert driver.calls() == [] and current(allocator) == [0, 100, 100, 100, 0]
    allocator.empty_cache()
    assert driver.segments == {} and current(allocator) == [0] * 5


def test_what_was_freed_makes_room(driver):
    driver = FakeDriver(capacity=100)
    allocator = CachingAllocator(driver, 0, driver.record_event, Settings(roundup_divisions=EXACT))
    block = allocator.allocate(60, MAIN)
    with pytest.raises(OutOfMemoryError, match="Tried to allocate 41 bytes"):
        allocator.allocate(41, MAIN)
    allocator.free(block)
    assert allocator.allocate(100, MAIN).nbytes == 100


def test_the_limit_counts_exact_bytes(driver):
    driver = FakeDriver(capacity=1000)
    allocator = CachingAllocator(driver, 0, driver.record_event, Settings(roundup_divisions=EXACT, memory_fraction=0.5))
    assert allocator.allocate(500, MAIN).nbytes == 500
    with pytest.raises(OutOfMemoryError):
        allocator.allocate(1, MAIN)


def test_a_capture_hands_nothing_back_and_its_pool_keeps_whole_blocks(driver, allocator):
    outside = allocator.allocate(100, MAIN)
    allocator.capture_started(POOL)
    driver.capturing = {CAPTURE}
    inside = allocator.allocate(5000, CAPTURE)
    address = inside.address
    allocator.free(inside)
    allocator.free(outside)
    again = allocator.allocate(4000, CAPTURE)
    assert (again.address, again.nbytes, len(driver.segments)) == (address, 5000, 2)
    driver.capturing.clear()
    allocator.capture_ended()
    allocator.free(again)
    allocator.allocate(1, MAIN)
    assert sorted(driver.segments.values()) == [1, 5000]
    allocator.release_pool(POOL)
    allocator.empty_cache()
    assert list(driver.segments.values()) == [1]


@pytest.fixture
def uncached(monkeypatch):
    monkeypatch.setenv("PYTORCH_NO_CUDA_MEMORY_CACHING", "1")
    with machine(devices=1) as made:
        yield made


def test_a_program_runs_as_ever(uncached):
    weights = torch.randn(30, 7, device="cuda", requires_grad=True)
    side = torch.cuda.Stream()
    for _ in range(3):
        loss = (torch.ones(5, 30, device="cuda") @ weights).relu().sum()
        loss.backward()
        with torch.cuda.stream(side):
            weights.detach() + 1
    del loss
    weights.grad = None
    torch.cuda.empty_cache()
    assert torch.cuda.memory_reserved() == torch.cuda.memory_allocated() == 30 * 7 * 4


def test_a_graph_runs_as_ever(uncached):
    x = torch.zeros(33, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = (x + 1) * 2
    x.fill_(2)
    graph.replay()
    assert y.tolist() == [6.0] * 33


def test_one_byte_too_many_and_a_use_after_free_are_found(uncached):
    stream = torch.cuda.current_stream().handle
    x = torch.zeros(25, device="cuda")
    address = x.data_ptr()
    thread.machine().driver.fill(address, 0, 100, stream)
    with pytest.raises(AccessError, match="the access ends 1 bytes beyond it"):
        thread.machine().driver.fill(address, 0, 101, stream)
    del x
    torch.zeros(1, device="cuda")
    with pytest.raises(AccessError):
        thread.machine().driver.fill(address + 64, 0, 1, stream)


def test_a_private_pool_gives_no_block_that_is_too_small(allocator):
    allocator.begin_pool(POOL)
    small = allocator.allocate(600, 1)
    allocator.free(small)
    assert allocator.allocate(1000, 1).nbytes == 1000
    assert allocator.allocate(600, 1) is small
