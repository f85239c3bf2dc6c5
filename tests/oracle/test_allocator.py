"""Invariants under random programs: blocks never overlap, no reuse comes too early, and all sums agree (row 1.8.26)."""

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from flambeau.errors import AcceleratorError, OutOfMemoryError
from flambeau.memory.allocator import CachingAllocator
from flambeau.memory.history import History
from flambeau.memory.settings import EXACT, Settings, parse
from tests.memory.fake import FakeDriver

MIB = 1 << 20
PAGE_GRAIN = 2 * MIB
STREAMS = st.integers(1, 3)
SIZES = st.one_of(
    st.sampled_from([1, 512, 513, MIB, MIB + 1, 5 * MIB, 10 * MIB - 512, 10 * MIB, 12 * MIB + 1, 30 * MIB, 90 * MIB]),
    st.integers(1, 40 * MIB),
)
EXACTLY = Settings(roundup_divisions=EXACT)
CACHING = list(map(parse, [
    "", "max_split_size_mb:20", "roundup_power2_divisions:4,large_segment_size_mb:24",
    "garbage_collection_threshold:0.5,per_process_memory_fraction:0.75", "expandable_segments:True",
    "expandable_segments:True,max_split_size_mb:21,large_segment_size_mb:21,per_process_memory_fraction:0.9",
]))  # fmt: skip
CONFIGURATIONS = st.sampled_from([EXACTLY, *CACHING])


class Replayed:
    """The memory as the events of a history tell it: bytes of segments and mapped parts, and of live blocks."""

    def __init__(self, history):
        self.history = history
        self.segments, self.mapped, self.blocks = {}, {}, {}

    def catch_up(self):
        for event in self.history.entries():
            getattr(self, event["action"])(event.get("addr"), event["size"])
        self.history.forget_events()

    def alloc(self, address, nbytes):
        assert address not in self.blocks
        self.blocks[address] = nbytes

    def free_requested(self, address, nbytes):
        assert self.blocks[address] == nbytes

    def free_completed(self, address, nbytes):
        assert self.blocks.pop(address) == nbytes

    def segment_alloc(self, address, nbytes):
        self.segments[address] = nbytes

    def segment_free(self, address, nbytes):
        assert self.segments.pop(address) == nbytes

    def segment_map(self, address, nbytes):
        self.mapped.update(dict.fromkeys(range(address, address + nbytes, PAGE_GRAIN)))

    def segment_unmap(self, address, nbytes):
        for page in range(address, address + nbytes, PAGE_GRAIN):
            del self.mapped[page]

    def oom(self, address, nbytes):
        """An event without a block."""


class Allocations(RuleBasedStateMachine):
    """A program with three streams on a device of 64 MiB.

    `guarded` has, per freed block, its bytes, and the work of other streams that must be done before they are reused.
    """

    @initialize(configuration=CONFIGURATIONS)
    def start(self, configuration):
        self.driver = FakeDriver(capacity=64 * MIB)
        self.allocator = CachingAllocator(self.driver, 0, self.driver.record_event, configuration)
        self.live, self.guarded = [], []
        self.capturing, self.graphs = None, []
        self.users = {}
        self.chosen = []  # pools of this thread, the innermost last
        self.count = self.failures = self.peak = 0
        self.history = History(context=None)
        self.history.start()
        self.replayed = Replayed(self.history)

    def teardown(self):
        if hasattr(self, "history"):
            self.history.stop()

    @rule(nbytes=SIZES, stream=STREAMS)
    def allocate(self, nbytes, stream):
        try:
            block = self.allocator.allocate(nbytes, stream)
        except OutOfMemoryError:
            self.failures += 1
            self.unchanged()
            return
        self.count += 1
        assert block.nbytes >= nbytes and block.stream == stream
        assert not self.allocator.settings.exact or self.capturing or self.chosen or block.nbytes == nbytes
        chosen = self.chosen[-1] if self.chosen else (0, 0)
        assert block.segment.pool.id == (self.capturing if stream in self.driver.capturing else chosen)
        span = (block.address, block.address + block.nbytes)
        assert all(span[1] <= other[0] or other[1] <= span[0] for *_, other in self.live)
        self.guarded = [each for each in self.guarded if self.still_guarded(each, span)]
        self.live.append((block, nbytes, span))
        self.users[span[0]] = set()
        self.peak = max(self.peak, sum(block.nbytes for block, *_ in self.live))

    def unchanged(self):
        found = self.allocator.statistics()
        assert found["allocation.all.current"] == len(self.live)
        assert found["allocation.all.allocated"] == self.count
        assert found["allocated_bytes.all.current"] == sum(block.nbytes for block, *_ in self.live)
        assert found["num_ooms"] == self.failures

    def still_guarded(self, guard, span):
        (low, high), work = guard
        if span[1] <= low or high <= span[0]:
            return True
        assert all(self.driver.done[stream] >= number for stream, number in work), "bytes were reused too early"
        return False

    @precondition(lambda self: self.live)
    @rule(data=st.data())
    def free(self, data):
        self.free_block(data.draw(st.integers(0, len(self.live) - 1)))

    def free_block(self, index):
        block, _, span = self.live.pop(index)
        users = self.users.pop(span[0])
        self.guarded.append((span, [(stream, self.driver.submitted[stream]) for stream in sorted(users)]))
        self.allocator.free(block)

    @precondition(lambda self: self.live)
    @rule(data=st.data(), stream=STREAMS)
    def use_on(self, data, stream):
        self.use_block(data.draw(st.integers(0, len(self.live) - 1)), stream)

    def use_block(self, index, stream):
        block, _, span = self.live[index]
        self.allocator.record_stream(block, stream)
        self.driver.work(stream)
        if stream != block.stream:
            self.users[span[0]].add(stream)

    @precondition(lambda self: self.live)
    @rule(data=st.data())
    def free_twice(self, data):
        self.free_block_twice(data.draw(st.integers(0, len(self.live) - 1)))

    def free_block_twice(self, index):
        block = self.live[index][0]
        self.free_block(index)
        for call in (lambda: self.allocator.free(block), lambda: self.allocator.record_stream(block, 1)):
            with pytest.raises(AcceleratorError, match=hex(block.address)):
                call()

    @rule(stream=STREAMS)
    def work(self, stream):
        self.driver.work(stream)

    @rule(stream=STREAMS)
    def complete(self, stream):
        self.driver.complete(stream)

    @precondition(lambda self: self.capturing is None)
    @rule(pool=st.integers(1, 2), streams=st.sets(STREAMS, min_size=1))
    def begin_capture(self, pool, streams):
        self.capturing = (0, pool)
        self.allocator.capture_started(self.capturing)
        self.driver.capturing |= streams

    @precondition(lambda self: self.capturing is not None)
    @rule(succeeds=st.booleans())
    def end_capture(self, succeeds):
        self.driver.capturing.clear()
        self.allocator.capture_ended()
        self.graphs.append(self.capturing)
        self.capturing = None
        if not succeeds:
            self.release()

    @precondition(lambda self: self.graphs)
    @rule()
    def release(self):
        self.allocator.release_pool(self.graphs.pop())

    @precondition(lambda self: len(self.chosen) < 3)
    @rule(pool=st.integers(3, 4))
    def enter_pool(self, pool):
        self.chosen.append((0, pool))
        self.allocator.begin_pool(self.chosen[-1])

    @precondition(lambda self: self.chosen)
    @rule()
    def leave_pool(self):
        self.allocator.end_pool(self.chosen.pop())

    @precondition(lambda self: not self.allocator.settings.exact)
    @rule(configuration=st.sampled_from(CACHING))
    def configure(self, configuration):
        self.allocator.configure(configuration)

    @precondition(lambda self: self.capturing is None and not self.chosen)
    @rule()
    def empty_cache(self):
        waits = self.allocator.statistics()["num_sync_all_streams"]
        self.allocator.empty_cache()
        found = self.allocator.statistics()
        assert found["num_sync_all_streams"] == waits + 1
        assert found["active.all.current"] == len(self.live)
        for segment in self.allocator.snapshot():
            assert segment["active_size"] or segment["segment_pool_id"] in self.graphs
            if segment["is_expandable"] and segment["segment_pool_id"] not in self.graphs:
                self.keeps_no_idle_page(segment)

    def keeps_no_idle_page(self, segment):
        for page, nbytes in self.driver.pages.items():
            if segment["address"] <= page < segment["address"] + segment["total_size"]:
                active = [block for block in segment["blocks"] if block["state"] != "inactive"]
                inside = [block for block in active if block["address"] < page + nbytes]
                assert any(block["address"] + block["size"] > page for block in inside)

    @invariant()
    def sums_agree(self):
        snapshot, found = self.allocator.snapshot(), self.allocator.statistics()
        for pool in ("all", "small_pool", "large_pool"):
            chosen = [each for each in snapshot if pool in ("all", f"{each['segment_type']}_pool")]
            for kind, value in expected(chosen).items():
                assert found[f"{kind}.{pool}.current"] == value, (kind, pool)
                assert found[f"{kind}.{pool}.allocated"] - found[f"{kind}.{pool}.freed"] == value
                assert found[f"{kind}.{pool}.peak"] >= value
        assert found["allocated_bytes.all.current"] == sum(block.nbytes for block, *_ in self.live)
        assert found["allocated_bytes.all.peak"] == self.peak
        assert found["reserved_bytes.all.current"] == self.driver.held()

    @invariant()
    def the_history_tells_the_same(self):
        snapshot = self.allocator.snapshot()  # which records what has become free
        self.replayed.catch_up()
        plain = {each["address"]: each["total_size"] for each in snapshot if not each["is_expandable"]}
        runs = [range(s["address"], s["address"] + s["total_size"], PAGE_GRAIN) for s in snapshot if s["is_expandable"]]
        blocks = [block for segment in snapshot for block in segment["blocks"] if block["state"] != "inactive"]
        assert self.replayed.segments == plain
        assert sorted(self.replayed.mapped) == [page for run in runs for page in run]
        assert self.replayed.blocks == {block["address"]: block["requested_size"] for block in blocks}

    @invariant()
    def blocks_tile_their_segments(self):
        grain = 1 if self.allocator.settings.exact else 512
        for segment in self.allocator.snapshot():
            at = segment["address"]
            idle_before = False
            for block in segment["blocks"]:
                assert block["address"] == at and block["size"] % grain == 0
                assert not (idle_before and block["state"] == "inactive")
                idle_before = block["state"] == "inactive"
                at += block["size"]
            assert at == segment["address"] + segment["total_size"]
            active = [block for block in segment["blocks"] if block["state"] != "inactive"]
            assert sum(block["requested_size"] for block in active) == segment["requested_size"]


def expected(segments):
    """Compute the current value of every counter from a snapshot alone."""
    blocks = [(segment, block) for segment in segments for block in segment["blocks"]]
    allocated = [block for _, block in blocks if block["state"] == "active_allocated"]
    active = [block for _, block in blocks if block["state"] != "inactive"]
    plain = [segment for segment in segments if not segment["is_expandable"]]
    idle = [(each["total_size"], b) for each in plain for b in each["blocks"] if b["state"] == "inactive"]
    parts = [block for total, block in idle if block["size"] < total]
    return {
        "allocation": len(allocated), "allocated_bytes": sum(each["size"] for each in allocated),
        "active": len(active), "active_bytes": sum(each["size"] for each in active),
        "requested_bytes": sum(each["requested_size"] for each in active),
        "inactive_split": len(parts), "inactive_split_bytes": sum(each["size"] for each in parts),
        "segment": len(plain), "reserved_bytes": sum(each["total_size"] for each in segments),
    }  # fmt: skip


TestAllocations = Allocations.TestCase
TestAllocations.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)


def test_the_machine_notices_a_planted_early_reuse(monkeypatch):
    monkeypatch.setattr(FakeDriver, "event_query", lambda driver, event: True)
    machine = Allocations()
    machine.start(Settings())
    machine.allocate(20 * MIB, 1)
    block, _, span = machine.live.pop()
    machine.allocator.record_stream(block, 2)
    machine.driver.work(2)
    machine.guarded.append((span, [(2, 1)]))
    machine.allocator.free(block)
    with pytest.raises(AssertionError, match="reused too early"):
        machine.allocate(20 * MIB, 1)
    machine.teardown()


def test_a_long_run_agrees_with_the_model():
    from tests.memory import long_run  # which imports this module

    assert long_run.run(3_000, seed=4) == 3_000
