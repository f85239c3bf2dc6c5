"""Allocation without a cache: by functions of a library, on the fake driver.

The library is libc, whose malloc and free ignore the further arguments.
"""

import pytest

from flambeau.driver.api import Capabilities
from flambeau.errors import AcceleratorError, ArgumentError, NotSupportedError, OutOfMemoryError
from flambeau.memory.allocator import CachingAllocator
from flambeau.memory.direct import DirectAllocator, LibraryFunctions
from flambeau.memory.settings import Settings, parse

from .fake import MIB, FakeDriver


class Hardware(FakeDriver):
    """As the fake driver, without knowledge of blocks."""

    capabilities = Capabilities("fake")

    def follow(self, stream, other):
        self.note("follow", stream, other)


class Recorded(LibraryFunctions):
    """The library, and a list of its calls.  capacity: bytes that it gives away at most."""

    def __init__(self, capacity=1 << 40):
        super().__init__("libc.so.6", "malloc", "free")
        self.calls, self.left = [], capacity

    def allocate(self, device, nbytes, stream):
        if nbytes > self.left:
            raise OutOfMemoryError(f"{nbytes} of {self.left}", operator="allocate")
        self.left -= nbytes
        self.calls.append(("allocate", nbytes, stream))
        return super().allocate(device, nbytes, stream)

    def free(self, device, address, nbytes, stream):
        self.left += nbytes
        self.calls.append(("free", nbytes, stream))
        super().free(device, address, nbytes, stream)


def make(settings=None, capacity=1 << 40):
    driver, source = Hardware(), Recorded(capacity)
    source.driver = driver
    return DirectAllocator(driver, 0, driver.record_event, settings or Settings(), source, driver.follow), source


def test_every_block_is_one_call_of_the_library():
    allocator, source = make()
    x, y = allocator.allocate(1000, 1), allocator.allocate(2 * MIB, 2)
    assert source.calls == [("allocate", 1000, 1), ("allocate", 2 * MIB, 2)] and allocator.backend == "pluggable"
    allocator.free(x)
    assert len(source.calls) == 2  # a free calls nothing
    z = allocator.allocate(8, 1)
    assert source.calls[2:] == [("free", 1000, 1), ("allocate", 8, 1)]
    assert allocator.owns(y.address + MIB) and not allocator.owns(y.address - 1) and z.requested == 8


def test_statistics_know_blocks_but_no_segments():
    allocator, _ = make()
    x, y = allocator.allocate(1000, 1), allocator.allocate(2 * MIB, 2)
    allocator.free(x)
    found = allocator.statistics()
    assert found["allocated_bytes.all.current"] == 2 * MIB
    assert found["reserved_bytes.all.current"] == 2 * MIB + 1024  # the freed block goes back with the next call
    assert found["allocated_bytes.all.peak"] == 2 * MIB + 1024 == found["reserved_bytes.all.peak"]
    assert found["allocation.small_pool.freed"] == 1 and found["segment.all.allocated"] == 0
    assert found["active.all.current"] == 1 and y.nbytes == 2 * MIB
    allocator.empty_cache()
    allocator.reset_peak_statistics()
    assert allocator.statistics()["reserved_bytes.all.peak"] == 2 * MIB


def test_reading_statistics_calls_no_library_and_frees_nothing_twice():
    allocator, source = make()
    allocator.free(allocator.allocate(1000, 1))
    allocator.statistics()
    assert len(source.calls) == 1
    allocator.empty_cache()
    allocator.empty_cache()
    assert source.calls[1:] == [("free", 1000, 1)]


def test_a_block_is_freed_after_the_streams_that_used_it():
    allocator, source = make()
    x = allocator.allocate(1000, 1)
    allocator.record_stream(x, 2)
    allocator.record_stream(x, 3)
    allocator.free(x)
    allocator.empty_cache()
    assert allocator._driver.log == [("follow", 1, 2), ("follow", 1, 3)]
    assert source.calls[-1] == ("free", 1000, 1)


def test_memory_that_was_freed_is_returned_before_it_runs_out():
    allocator, _ = make(capacity=3 * MIB)
    x = allocator.allocate(2 * MIB, 1)
    allocator.last_resort = lambda: allocator.free(x)
    assert allocator.allocate(3 * MIB, 1).requested == 3 * MIB
    allocator.last_resort = None
    with pytest.raises(OutOfMemoryError) as caught:
        allocator.allocate(512, 1)
    assert "512 bytes" in str(caught.value)
    assert [allocator.statistics()[each] for each in ("num_ooms", "num_alloc_retries")] == [1, 2]


def test_the_limit_of_the_process_counts():
    allocator, _ = make(parse("per_process_memory_fraction:0.5"))
    allocator._segments.limit = 2 * MIB
    x = allocator.allocate(MIB, 1)
    with pytest.raises(OutOfMemoryError):
        allocator.allocate(MIB + 1, 1)
    assert allocator.allocate(MIB, 1).nbytes == x.nbytes


def test_a_block_freed_twice_is_an_error():
    allocator, source = make()
    x = allocator.allocate(1000, 1)
    allocator.free(x)
    with pytest.raises(AcceleratorError, match=hex(x.address)):
        allocator.free(x)
    allocator.empty_cache()
    assert [name for name, *_ in source.calls] == ["allocate", "free"]


@pytest.mark.parametrize("call", [
    lambda allocator: allocator.snapshot(), lambda allocator: allocator.hold_pool((0, 1)),
    lambda allocator: allocator.require_pools("capture_begin"),
])  # fmt: skip
def test_what_a_source_has_not_is_refused(call):
    allocator, _ = make()
    with pytest.raises(NotSupportedError) as caught:
        call(allocator)
    assert "pluggable" in str(caught.value) and "native" in caught.value.hint


def test_segments_of_a_pool_come_from_its_library():
    driver, source = Hardware(), Recorded()
    source.driver = driver
    allocator = CachingAllocator(driver, 0, driver.record_event, parse("expandable_segments:True"))
    pool = (0, 1)
    allocator.hold_pool(pool, source=source)
    allocator.begin_pool(pool)
    x, y = allocator.allocate(1000, 1), allocator.allocate(2000, 1)
    allocator.end_pool(pool)
    assert source.calls == [("allocate", 2 * MIB, 1)] and driver.segments == driver.reserved == {}
    allocator.release_pool(pool)  # the tensors live on
    allocator.free(x)
    allocator.empty_cache()
    assert len(source.calls) == 1 and allocator.reserved_bytes == 2 * MIB
    allocator.free(y)
    allocator.empty_cache()
    assert source.calls[1:] == [("free", 2 * MIB, 1)] and allocator.reserved_bytes == 0


def test_a_library_or_function_that_is_missing_is_named():
    with pytest.raises(ArgumentError) as caught:
        LibraryFunctions("/no/such.so", "malloc", "free")
    assert "CUDAPluggableAllocator" in str(caught.value) and "/no/such.so" in str(caught.value)
    with pytest.raises(ArgumentError) as caught:
        LibraryFunctions("libc.so.6", "malloc", "no_such_function")
    assert "no_such_function" in str(caught.value) and "libc.so.6" in str(caught.value)


def test_a_library_without_memory_is_out_of_memory():
    functions = LibraryFunctions("libc.so.6", "strchr", "free")  # strchr would need a string: it is not called
    functions._allocate, functions.driver = lambda *arguments: None, FakeDriver()
    with pytest.raises(OutOfMemoryError) as caught:
        functions.allocate(0, 1000, 1)
    assert "1000" in str(caught.value) and "libc.so.6" in str(caught.value)
