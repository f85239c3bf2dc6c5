"""The caching allocator of device memory (rows 1.8.1 to 1.8.8, 1.8.23 to 1.8.28 and 1.8.30)."""

import gc
import threading
import weakref

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flambeau.core.pool import KINDS, Block
from flambeau.core.queue import hooks
from flambeau.errors import AcceleratorError, ArgumentError, ArgumentTypeError, OutOfMemoryError
from flambeau.memory.allocator import CachingAllocator, RawBlocks
from flambeau.memory.settings import Settings, parse

from .fake import FakeDriver

KIB = 1 << 10
MIB = 1 << 20
FIELDS = ("current", "peak", "allocated", "freed")


def make(capacity=1 << 40, settings=None, **options):
    driver = FakeDriver(capacity)
    return driver, CachingAllocator(driver, 0, driver.record_event, settings, **options)


def segments(allocator):
    return [(each["stream"], each["total_size"]) for each in allocator.snapshot()]


def states(allocator):
    return [(block["state"], block["size"]) for each in allocator.snapshot() for block in each["blocks"]]


def cycle(allocator, nbytes, stream=1):
    allocator.free(allocator.allocate(nbytes, stream))


def freed_with_work(driver, allocator, nbytes, stream=1, user=2):
    block = allocator.allocate(nbytes, stream)
    allocator.record_stream(block, user)
    driver.work(user)
    allocator.free(block)
    return block


# rounding, segments, reuse
@pytest.mark.parametrize(
    "nbytes, block, segment",
    [
        (1, 512, 2 * MIB), (MIB, MIB, 2 * MIB), (MIB + 1, MIB + 512, 20 * MIB),
        (10 * MIB - 512, 10 * MIB - 512, 20 * MIB), (10 * MIB, 10 * MIB, 10 * MIB),
        (10 * MIB + 1, 10 * MIB + 512, 12 * MIB),
    ],
)  # fmt: skip
def test_boundaries(nbytes, block, segment):
    _, allocator = make()
    taken = allocator.allocate(nbytes, 1)
    assert (taken.nbytes, taken.requested) == (block, nbytes)
    assert segments(allocator) == [(1, segment)]


def test_two_blocks_of_a_mebibyte_share_a_segment_and_a_third_does_not():
    driver, allocator = make()
    held = [allocator.allocate(MIB, 1) for _ in range(3)]
    assert held[1].address == held[0].address + MIB
    assert segments(allocator) == [(1, 2 * MIB)] * 2
    assert driver.calls().count("mem_alloc") == 2


def test_a_freed_block_is_used_again_at_once_on_its_own_stream():
    driver, allocator = make()
    first = allocator.allocate(4 * KIB, 1)
    address = first.address
    driver.work(1)
    allocator.free(first)
    assert allocator.allocate(4 * KIB, 1).address == address
    assert driver.calls() == ["mem_alloc", "block_taken", "block_given", "block_taken"]


def test_the_driver_hears_of_the_bytes_that_were_asked_for():
    driver, allocator = make()
    block = allocator.allocate(100, 1)
    allocator.free(block)
    allocator.empty_cache()
    assert driver.log[1] == ("block_taken", block.address, 100, 1)
    assert driver.log[2] == ("block_given", block.address, 100)


def test_another_stream_never_gets_a_cached_block():
    _, allocator = make()
    cycle(allocator, 4 * KIB, stream=1)
    allocator.allocate(4 * KIB, 2)
    assert segments(allocator) == [(1, 2 * MIB), (2, 2 * MIB)]


def test_divisions_round_blocks_but_not_requests():
    _, allocator = make(settings=parse("roundup_power2_divisions:4"))
    assert allocator.allocate(84 * MIB, 1).nbytes == 96 * MIB
    assert allocator.statistics()["requested_bytes.all.current"] == 84 * MIB


def test_other_settings_hold_from_then_on():
    _, allocator = make(settings=parse("roundup_power2_divisions:2"))
    assert allocator.allocate(65 * MIB, 1).nbytes == 96 * MIB
    allocator.configure(Settings())
    assert allocator.allocate(65 * MIB, 1).nbytes == 66 * MIB


@pytest.mark.parametrize("nbytes", [0, -1])
def test_a_block_has_at_least_one_byte(nbytes):
    _, allocator = make()
    with pytest.raises(ArgumentError, match=f"allocate: {nbytes} bytes"):
        allocator.allocate(nbytes, 1)


# other streams
def test_a_recorded_block_waits_for_all_of_its_streams():
    driver, allocator = make()
    block = allocator.allocate(20 * MIB, 1)
    for stream in (2, 3, 2):
        allocator.record_stream(block, stream)
        driver.work(stream)
    allocator.free(block)
    assert allocator.allocate(20 * MIB, 1) is not block
    assert [call for call in driver.log if call[0] == "record"] == [("record", 2), ("record", 3)]
    driver.complete(2)
    assert allocator.allocate(20 * MIB, 1) is not block
    driver.complete(3)
    assert allocator.allocate(20 * MIB, 1) is block
    assert driver.events == {}


def test_recording_a_blocks_own_stream_means_nothing():
    driver, allocator = make()
    block = allocator.allocate(KIB, 1)
    allocator.record_stream(block, 1)
    allocator.free(block)
    assert allocator.allocate(KIB, 1) is block
    assert "record" not in driver.calls()


def test_events_are_recorded_when_the_free_is_drained():
    driver, allocator = make()
    block = allocator.allocate(KIB, 1)
    allocator.record_stream(block, 2)
    driver.calls()
    allocator.free(block)
    assert driver.calls() == []
    driver.work(2)
    assert allocator.allocate(KIB, 1) is not block
    assert driver.calls() == ["record", "block_given", "query", "block_taken"]


def test_a_slow_stream_does_not_hold_up_the_blocks_of_another():
    driver, allocator = make()
    freed_with_work(driver, allocator, 20 * MIB, user=2)
    fast = freed_with_work(driver, allocator, 20 * MIB, user=3)
    driver.complete(3)
    assert allocator.allocate(20 * MIB, 1) is fast


def test_one_query_answers_for_a_queue():
    driver, allocator = make()
    for block in [allocator.allocate(KIB, 1) for _ in range(5)]:
        allocator.record_stream(block, 2)
        driver.work(2)
        allocator.free(block)
    driver.calls()
    allocator.allocate(KIB, 1)
    assert driver.calls().count("query") == 1


def test_nothing_is_asked_while_nothing_is_pending():
    driver, allocator = make()
    cycle(allocator, KIB)
    driver.calls()
    for _ in range(3):
        cycle(allocator, KIB)
    assert set(driver.calls()) == {"block_taken", "block_given"}


def test_a_waiting_block_is_active_but_not_allocated():
    driver, allocator = make()
    freed_with_work(driver, allocator, KIB)
    found = allocator.statistics()
    assert (found["allocation.all.current"], found["active.all.current"]) == (0, 1)
    assert (found["allocated_bytes.all.current"], found["active_bytes.small_pool.current"]) == (0, KIB)
    assert states(allocator) == [("active_awaiting_free", KIB), ("inactive", 2 * MIB - KIB)]
    driver.complete(2)
    cycle(allocator, KIB)
    found = allocator.statistics()
    assert (found["active.all.current"], found["active.all.freed"], found["active.all.peak"]) == (0, 2, 1)


# the way down when nothing fits
def test_finished_events_are_noticed_before_anything_is_waited_for():
    driver, allocator = make(capacity=64 * MIB)
    block = freed_with_work(driver, allocator, 40 * MIB)
    driver.calls()
    driver.on_call = lambda name: driver.complete(2) if name == "mem_alloc" else None
    assert allocator.allocate(40 * MIB, 1) is block
    assert driver.calls() == ["record", "block_given", "query", "mem_alloc", "query", "block_taken"]
    assert allocator.statistics()["num_alloc_retries"] == 0


def test_the_pool_is_searched_again_after_waiting_for_events():
    driver, allocator = make(capacity=64 * MIB)
    block = freed_with_work(driver, allocator, 40 * MIB)
    driver.calls()
    assert allocator.allocate(40 * MIB, 1) is block
    assert driver.calls() == ["record", "block_given", "query", "mem_alloc", "query", "synchronize", "block_taken"]
    found = allocator.statistics()
    assert (found["num_alloc_retries"], found["num_sync_all_streams"], found["num_device_free"]) == (0, 1, 0)


def test_idle_segments_of_all_streams_go_back_last():
    driver, allocator = make(capacity=64 * MIB)
    cycle(allocator, 40 * MIB, stream=2)
    cycle(allocator, KIB, stream=3)
    held = allocator.allocate(KIB, 4)
    driver.work(2), driver.work(3)
    driver.calls()
    block = allocator.allocate(60 * MIB, 1)
    assert driver.calls() == (["mem_alloc"] + ["record", "synchronize", "mem_free"] * 2 + ["mem_alloc", "block_taken"])
    assert segments(allocator) == [(4, 2 * MIB), (1, 60 * MIB)]
    found = allocator.statistics()
    assert (found["num_alloc_retries"], found["num_device_alloc"], found["num_device_free"]) == (1, 4, 2)
    assert held.allocated and block.allocated


def test_just_enough_oversize_segments_go_back_first():
    _, allocator = make(capacity=100 * MIB, settings=parse("max_split_size_mb:20"))
    blocks = [allocator.allocate(size * MIB, 1) for size in (22, 24, 50)]
    for block in blocks:
        allocator.free(block)
    assert allocator.allocate(74 * MIB, 1).nbytes == 74 * MIB
    assert segments(allocator) == [(1, 22 * MIB), (1, 74 * MIB)]
    assert allocator.statistics()["num_alloc_retries"] == 0
    assert allocator.statistics()["num_sync_all_streams"] == 0


def test_the_smallest_sufficient_oversize_segment_goes_back():
    _, allocator = make(capacity=120 * MIB, settings=parse("max_split_size_mb:20,max_non_split_rounding_mb:20"))
    blocks = [allocator.allocate(size * MIB, 1) for size in (60, 50)]
    for block in blocks:
        allocator.free(block)
    allocator.allocate(24 * MIB, 1)
    assert segments(allocator) == [(1, 60 * MIB), (1, 24 * MIB)]


def test_an_unsuccessful_allocation_changes_nothing_and_the_next_one_works():
    _, allocator = make(capacity=64 * MIB)
    held = allocator.allocate(40 * MIB, 1)
    before = allocator.statistics()
    with pytest.raises(OutOfMemoryError) as caught:
        allocator.allocate(40 * MIB, 1)
    assert str(caught.value) == (
        "CUDA out of memory. Tried to allocate 40.00 MiB. GPU 0 has a total capacity of 64.00 MiB of which 24.00 MiB "
        "is free. Of the allocated memory 40.00 MiB is allocated by flambeau, and 0 bytes is reserved by flambeau but "
        "unallocated.\n"
        "hint: fragmentation is not the cause: live bytes exceed capacity by 16.00 MiB; "
        "release tensors, or use a smaller batch; "
        "torch.cuda.memory._record_memory_history(stacks='line') would name the lines that hold it"
    )
    counts = {"num_ooms": 1, "num_alloc_retries": 1, "num_sync_all_streams": 1}
    assert allocator.statistics() == {**before, **counts}
    assert allocator.allocate(24 * MIB, 1).nbytes == 24 * MIB
    allocator.free(held)
    assert allocator.allocate(40 * MIB, 2).nbytes == 40 * MIB


def test_fragmentation_is_named():
    _, allocator = make(capacity=40 * MIB)
    held = [allocator.allocate(9 * MIB, 1) for _ in range(4)]
    allocator.free(held[1])
    allocator.free(held[3])
    with pytest.raises(OutOfMemoryError, match=r"is the cause: largest free block 11\.00 MiB of 22\.00 MiB"):
        allocator.allocate(12 * MIB, 1)


def test_memory_of_another_stream_is_named():
    _, allocator = make(capacity=20 * MIB)
    held = allocator.allocate(5 * MIB, 1)
    with pytest.raises(OutOfMemoryError, match=r"block 15\.00 MiB of 15\.00 MiB cached belongs to another"):
        allocator.allocate(5 * MIB, 2)
    assert held.allocated


def test_processes_are_named_where_they_are_known():
    _, allocator = make(capacity=2 * MIB, process_usage=lambda: [(12, 3 * MIB)])
    with pytest.raises(OutOfMemoryError, match=r"Process 12 has 3\.00 MiB memory in use"):
        allocator.allocate(20 * MIB, 1)


def test_more_than_an_exabyte_is_not_tried():
    driver, allocator = make()
    with pytest.raises(OutOfMemoryError, match="more than 1EB memory"):
        allocator.allocate(1 << 60, 1)
    assert driver.calls() == []
    assert allocator.statistics()["num_ooms"] == 0


def test_a_driver_that_refuses_the_block_leaves_it_idle():
    driver, allocator = make()

    def refuse(name):
        if name == "block_taken":
            raise AcceleratorError("no")

    driver.on_call = refuse
    with pytest.raises(AcceleratorError, match="no"):
        allocator.allocate(KIB, 1)
    driver.on_call = lambda name: None
    assert states(allocator) == [("inactive", 2 * MIB)]
    assert allocator.statistics()["allocation.all.allocated"] == 0


def test_a_free_that_could_not_be_drained_is_drained_later():
    driver, allocator = make()
    block = allocator.allocate(KIB, 1)
    for stream in (2, 3):
        allocator.record_stream(block, stream)
        driver.work(stream)
    allocator.free(block)

    def fail(name):
        if driver.log[-1] == ("record", 3):
            raise AcceleratorError("no")

    driver.on_call = fail
    with pytest.raises(AcceleratorError):
        allocator.allocate(KIB, 1)
    driver.on_call = lambda name: None
    driver.complete(2)
    assert allocator.allocate(KIB, 1) is not block
    driver.complete(3)
    assert allocator.allocate(KIB, 1) is block
    assert driver.events == {}


# limits
def test_the_fraction_limits_reserved_bytes():
    driver, allocator = make(capacity=64 * MIB)
    assert (allocator.fraction, allocator.limit) == (1.0, None)
    allocator.set_fraction(0.5)
    assert (allocator.fraction, allocator.limit) == (0.5, 32 * MIB)
    cycle(allocator, 20 * MIB, stream=2)
    assert allocator.allocate(32 * MIB, 1).nbytes == 32 * MIB
    driver.calls()
    with pytest.raises(OutOfMemoryError, match=r"This process is allowed to reserve 32\.00 MiB"):
        allocator.allocate(1, 1)
    assert "mem_alloc" not in driver.calls()


def test_the_fraction_can_be_a_setting():
    _, allocator = make(capacity=64 * MIB, settings=parse("per_process_memory_fraction:0.25"))
    assert allocator.limit == 16 * MIB


@pytest.mark.parametrize("fraction, error", [(1, ArgumentTypeError), (1.5, ArgumentError), (-0.1, ArgumentError)])
def test_a_fraction_is_a_float_from_0_to_1(fraction, error):
    _, allocator = make()
    with pytest.raises(error, match="set_fraction: fraction must"):
        allocator.set_fraction(fraction)
    assert allocator.limit is None


def test_garbage_collection_hands_back_what_was_idle_longest():
    _, allocator = make(capacity=100 * MIB, settings=parse("garbage_collection_threshold:0.5"))
    allocator.set_fraction(1.0)
    old = [allocator.allocate(size * MIB, 1) for size in (30, 32)]
    allocator.free(old[0])
    for _ in range(5):
        cycle(allocator, 12 * MIB, stream=2)
    allocator.free(old[1])
    allocator.allocate(14 * MIB, 3)
    assert segments(allocator) == [(1, 32 * MIB), (2, 12 * MIB), (3, 14 * MIB)]
    assert allocator.statistics()["num_sync_all_streams"] == 0


def test_without_a_limit_nothing_is_collected():
    _, allocator = make(capacity=100 * MIB, settings=parse("garbage_collection_threshold:0.1"))
    cycle(allocator, 30 * MIB)
    allocator.allocate(40 * MIB, 1)
    assert allocator.reserved_bytes == 70 * MIB


# handing back
def test_empty_cache_hands_back_what_is_whole():
    driver, allocator = make()
    held = allocator.allocate(KIB, 1)
    for stream in (1, 2):
        cycle(allocator, 30 * MIB, stream)
    driver.work(1)
    allocator.empty_cache()
    assert segments(allocator) == [(1, 2 * MIB)]
    assert held.allocated and allocator.statistics()["num_sync_all_streams"] == 1
    assert driver.events == {}


def test_empty_cache_waits_for_pending_blocks():
    driver, allocator = make()
    freed_with_work(driver, allocator, 30 * MIB)
    allocator.empty_cache()
    assert segments(allocator) == [] and driver.segments == {}


def test_during_a_capture_nothing_is_recorded_asked_or_handed_back():
    driver, allocator = make(capacity=64 * MIB)
    cycle(allocator, 20 * MIB, stream=2)
    block = allocator.allocate(40 * MIB, 1)
    allocator.record_stream(block, 3)
    driver.work(3)
    allocator.capture_started()
    allocator.free(block)
    driver.calls()
    with pytest.raises(OutOfMemoryError, match=r"a capture is underway, so 20\.00 MiB cached cannot be handed back"):
        allocator.allocate(12 * MIB, 1)
    allocator.empty_cache()
    assert driver.calls() == ["block_given", "mem_alloc"]
    assert allocator.statistics()["num_sync_all_streams"] == 0
    allocator.capture_ended()
    assert driver.calls() == ["record"]
    driver.complete(3)
    assert allocator.allocate(40 * MIB, 1) is block


# numbers
def test_statistics_have_the_names_of_pytorch():
    _, allocator = make()
    flows = [f"{kind}.{pool}" for kind in KINDS for pool in ("all", "small_pool", "large_pool")]
    flows += ["oversize_allocations", "oversize_segments"]
    counts = ["alloc_retries", "device_alloc", "device_free", "oom_rejections", "ooms", "sync_all_streams"]
    assert set(KINDS) == {
        "allocation", "segment", "active", "inactive_split", "allocated_bytes", "reserved_bytes", "active_bytes",
        "inactive_split_bytes", "requested_bytes",
    }  # fmt: skip
    expected = [f"{flow}.{field}" for flow in flows for field in FIELDS] + [f"num_{each}" for each in counts]
    assert list(allocator.statistics()) == sorted([*expected, "max_split_size"])


def test_statistics_of_a_short_life():
    _, allocator = make()
    held = allocator.allocate(1000, 1)
    allocator.free(allocator.allocate(5 * MIB, 1))
    found = allocator.statistics()

    def row(key):
        return [found[f"{key}.{field}"] for field in FIELDS]

    assert row("allocation.all") == [1, 2, 2, 1]
    assert row("allocated_bytes.all") == [KIB, 5 * MIB + KIB, 5 * MIB + KIB, 5 * MIB]
    assert row("requested_bytes.all") == [1000, 5 * MIB + 1000, 5 * MIB + 1000, 5 * MIB]
    assert row("reserved_bytes.large_pool") == [20 * MIB, 20 * MIB, 20 * MIB, 0]
    assert row("inactive_split.all") == [1, 2, 2, 1]
    assert row("inactive_split_bytes.small_pool") == [2 * MIB - KIB, 2 * MIB - KIB, 2 * MIB - KIB, 0]
    assert row("active_bytes.large_pool") == [0, 5 * MIB, 5 * MIB, 5 * MIB]
    assert (allocator.allocated_bytes, allocator.reserved_bytes) == (held.nbytes, 22 * MIB)
    assert found["max_split_size"] == -1


@given(st.lists(st.tuples(st.booleans(), st.sampled_from([100, 5000, MIB, 3 * MIB, 12 * MIB]), st.integers(0, 99))))
def test_peaks_are_exact_however_rarely_they_are_read(steps):
    _, allocator = make()
    held = []
    peaks = {f"{kind}.{pool}": 0 for kind in ("allocation", "requested_bytes") for pool in ("all", "small_pool")}
    for is_free, nbytes, pick in steps:
        if is_free and held:
            allocator.free(held.pop(pick % len(held)))
            continue
        held.append(allocator.allocate(nbytes, 1))
        small = [block.requested for block in held if block.segment.is_small]
        now = [len(held), len(small), sum(block.requested for block in held), sum(small)]
        peaks = {key: max(peaks[key], value) for key, value in zip(peaks, now, strict=True)}
    found = allocator.statistics()
    assert {key: found[f"{key}.peak"] for key in peaks} == peaks
    assert found["active.all.peak"] == peaks["allocation.all"]


def test_resets():
    _, allocator = make()
    held = allocator.allocate(KIB, 1)
    cycle(allocator, 5 * MIB)
    allocator.reset_peak_statistics()
    found = allocator.statistics()
    assert found["allocated_bytes.all.peak"] == found["active_bytes.all.peak"] == held.nbytes
    assert found["reserved_bytes.all.peak"] == 22 * MIB
    allocator.empty_cache()
    allocator.reset_accumulated_statistics()
    found = allocator.statistics()
    assert found["allocation.all.allocated"] == found["allocation.all.freed"] == found["num_device_alloc"] == 0
    assert found["allocation.all.current"] == 1 and found["num_sync_all_streams"] == 0
    allocator.free(held)
    assert allocator.statistics()["active.all.freed"] == 1


def test_oversize_is_counted():
    _, allocator = make(settings=parse("max_split_size_mb:20"))
    cycle(allocator, 30 * MIB)
    allocator.configure(Settings())
    found = allocator.statistics()
    assert [found[f"oversize_allocations.{field}"] for field in FIELDS] == [0, 1, 1, 1]
    assert [found[f"oversize_segments.{field}"] for field in FIELDS] == [1, 1, 1, 0]
    allocator.empty_cache()
    assert allocator.statistics()["oversize_segments.current"] == 0


def test_the_snapshot():
    _, allocator = make()
    block = allocator.allocate(1000, 7)
    assert allocator.snapshot() == [{
        "device": 0, "address": block.address, "total_size": 2 * MIB, "allocated_size": KIB, "active_size": KIB,
        "requested_size": 1000, "stream": 7, "segment_type": "small", "segment_pool_id": (0, 0), "is_expandable": False,
        "blocks": [
            {"address": block.address, "size": KIB, "requested_size": 1000, "state": "active_allocated"},
            {"address": block.address + KIB, "size": 2 * MIB - KIB, "requested_size": 0, "state": "inactive"},
        ],
    }]  # fmt: skip


# addresses
def test_raw_addresses():
    _, allocator = make()
    raw = RawBlocks(allocator)
    assert raw.allocate(0, 1) == 0
    raw.free(0)
    address = raw.allocate(1000, 1)
    assert allocator.owns(address) and allocator.owns(address + 2 * MIB - 1)
    assert not allocator.owns(address - 1) and not allocator.owns(address + 2 * MIB)
    raw.free(address)
    assert allocator.allocated_bytes == 0
    with pytest.raises(AcceleratorError, match=f"free: invalid device pointer: {address:#x}"):
        raw.free(address)


def test_a_block_is_freed_once():
    _, allocator = make()
    block = allocator.allocate(KIB, 1)
    allocator.free(block)
    with pytest.raises(AcceleratorError, match="free: invalid device pointer: 0x"):
        allocator.free(block)
    with pytest.raises(AcceleratorError, match="record_stream: invalid device pointer: 0x"):
        allocator.record_stream(block, 2)
    assert allocator.statistics()["allocation.all.freed"] == 1


# lifetimes and threads
class Owner:
    def __init__(self, allocator):
        self.allocator = allocator
        self.block = allocator.allocate(KIB, 1)

    def __del__(self):
        self.allocator.free(self.block)


def test_free_in_a_finalizer_under_the_lock():
    driver, allocator = make()
    owners = [Owner(allocator)]
    driver.on_call = lambda name: owners.clear()
    cycle(allocator, 5 * MIB)
    assert owners == []
    assert allocator.allocated_bytes == 0


def test_memory_and_blocks_return_by_reference_count_alone():
    gc.collect()
    gc.disable()
    try:
        _, allocator = make()
        owners = [Owner(allocator) for _ in range(8)]
        del owners
        assert allocator.allocated_bytes == 0
        before = sum(type(each) is Block for each in gc.get_objects())
        owners = [Owner(allocator) for _ in range(100)]
        del owners[::2]
        del owners
        assert allocator.allocated_bytes == 0
        assert sum(type(each) is Block for each in gc.get_objects()) == before
        dead = weakref.ref(allocator)
        del allocator
        assert dead() is None
    finally:
        gc.enable()


def test_hooks_hear_of_every_block(monkeypatch):
    heard = []
    monkeypatch.setattr(hooks, "on_block_taken", lambda block, stream: heard.append(("taken", block.address, stream)))
    monkeypatch.setattr(hooks, "on_block_given", lambda block: heard.append(("given", block.address, block.nbytes)))
    _, allocator = make()
    block = allocator.allocate(100, 3)
    allocator.free(block)
    assert heard == [("taken", block.address, 3)]
    allocator.empty_cache()
    assert heard[1:] == [("given", block.address, 512)]


def test_threads_share_an_allocator():
    _, allocator = make()
    failures = []

    def churn(stream):
        try:
            for nbytes in range(1, 3000, 7):
                block = allocator.allocate(nbytes * 64, stream)
                allocator.record_stream(block, stream + 1)
                allocator.free(block)
        except Exception as error:  # noqa: BLE001 - the main thread reports it
            failures.append(error)

    threads = [threading.Thread(target=churn, args=(stream,)) for stream in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    allocator.empty_cache()
    found = allocator.statistics()
    assert found["allocation.all.freed"] == 4 * len(range(1, 3000, 7))
    assert found["reserved_bytes.all.current"] == found["active.all.current"] == 0


def test_a_request_over_the_limit_may_be_rejected_before_memory_is_sought():
    driver, allocator = make(capacity=100 * MIB, settings=parse("throw_on_cudamalloc_oom:True"))
    allocator.set_fraction(0.5)
    allocator.free(allocator.allocate(40 * MIB, 1))
    driver.log.clear()
    with pytest.raises(OutOfMemoryError) as caught:
        allocator.allocate(20 * MIB, 2)
    assert "the limit is the cause" in caught.value.hint and "mem_free" not in driver.calls()
    found = allocator.statistics()
    assert (found["num_oom_rejections"], found["num_alloc_retries"]) == (1, 0)
    allocator.configure(Settings())
    assert allocator.allocate(20 * MIB, 2).nbytes == 20 * MIB
    assert allocator.statistics()["num_oom_rejections"] == 1
