"""A fake of the driver calls that the allocators use; queued work completes only when a test says so."""

from collections import Counter

from flambeau.core.queue import HotCalls
from flambeau.driver.api import Capabilities, CaptureMode, CaptureStatus
from flambeau.errors import OutOfMemoryError

MIB = 1 << 20
GRAIN = 2 * MIB


class FakeDriver:
    """One device of `capacity` bytes.  A stream is a number; work on it is counted, and completes in order.

    `log` has the calls that matter for order.  It fails at once if blocks overlap, or if memory with work is freed.
    """

    capabilities = Capabilities("fake", watches_blocks=True)

    def __init__(self, capacity=1 << 40):
        self.capacity = capacity
        self.segments, self.host, self.blocks, self.events = {}, {}, {}, {}
        self.reserved, self.pages = {}, {}
        self.submitted, self.done, self.last_use = Counter(), Counter(), {}
        self.log, self.next = [], 1 << 44
        self.on_call = lambda name: None
        self.mode, self.capturing = CaptureMode.GLOBAL, set()
        self.hot = HotCalls(self)

    def note(self, *call):
        self.log.append(call)
        self.on_call(call[0])

    def calls(self):
        """Return the names of the calls since the last call of this method."""
        names = [call[0] for call in self.log]
        self.log.clear()
        return names

    # memory
    def mem_info(self, device):
        return self.capacity - self.held(), self.capacity

    def held(self):
        """Return the bytes of segments and of mapped pages."""
        return sum(self.segments.values()) + sum(self.pages.values())

    def mem_alloc(self, device, nbytes):
        self.note("mem_alloc", nbytes)
        assert not self.capturing or self.mode is CaptureMode.RELAXED, "an allocation would break the capture"
        return self._alloc(self.segments, nbytes, self.mem_info(0)[0])

    def mem_free(self, device, address):
        self._check_not_capturing("mem_free")
        self.note("mem_free", address)
        self._check_unused(range(address, address + self.segments.pop(address)))

    def _check_unused(self, inside):
        for block, (nbytes, _) in self.blocks.items():
            assert block >= inside.stop or block + nbytes <= inside.start, "memory with live blocks was freed"
        for block, (stream, number) in list(self.last_use.items()):
            if block in inside:
                assert self.done[stream] >= number, "a segment was freed while its stream works on it"
                del self.last_use[block]

    # reserved addresses
    def mem_reserve(self, device, nbytes):
        self.note("mem_reserve", nbytes)
        address, self.next = self.next, self.next + nbytes
        self.reserved[address] = nbytes
        return address

    def mem_unreserve(self, device, address):
        self.note("mem_unreserve", address)
        inside = range(address, address + self.reserved.pop(address))
        assert not any(page in inside for page in self.pages), "addresses with mapped memory were released"

    def mem_map(self, device, address, nbytes):
        self.note("mem_map", address, nbytes)
        assert not self.capturing or self.mode is CaptureMode.RELAXED, "mapping would break the capture"
        assert any(low <= address and address + nbytes <= low + size for low, size in self.reserved.items())
        assert all(page + size <= address or address + nbytes <= page for page, size in self.pages.items())
        if nbytes > self.mem_info(0)[0]:
            raise OutOfMemoryError(f"{nbytes} bytes of {self.mem_info(0)[0]}")
        self.pages[address] = nbytes

    def mem_unmap(self, device, address, nbytes):
        self._check_not_capturing("mem_unmap")
        self.note("mem_unmap", address, nbytes)
        assert self.pages.pop(address) == nbytes
        self._check_unused(range(address, address + nbytes))

    def host_alloc(self, nbytes):
        self.note("host_alloc", nbytes)
        return self._alloc(self.host, nbytes, self.capacity - sum(self.host.values()))

    def host_free(self, address):
        self.note("host_free", address)
        del self.host[address]

    def _alloc(self, owned, nbytes, room):
        if nbytes > room:
            raise OutOfMemoryError(f"{nbytes} bytes of {room}")
        address, self.next = self.next, self.next + -(-nbytes // GRAIN) * GRAIN
        owned[address] = nbytes
        return address

    def block_taken(self, device, address, nbytes, stream):
        self.note("block_taken", address, nbytes, stream)
        assert self.is_backed(address, nbytes), "a block lies outside of memory"
        for other, (size, _) in self.blocks.items():
            assert address + nbytes <= other or other + size <= address, "two blocks overlap"
        self.blocks[address] = (nbytes, stream)

    def is_backed(self, address, nbytes):
        """Return whether the bytes lie in one segment, or in mapped pages."""
        if any(low <= address and address + nbytes <= low + size for low, size in self.segments.items()):
            return True
        inside = sum(
            min(address + nbytes, page + size) - max(address, page)
            for page, size in self.pages.items()
            if page < address + nbytes and address < page + size
        )
        return inside == nbytes

    def block_given(self, device, address, nbytes):
        self.note("block_given", address, nbytes)
        size, stream = self.blocks.pop(address)
        assert size == nbytes
        self.last_use[address] = (stream, self.submitted[stream])

    # streams and events
    def stream_raw(self, stream):
        return stream

    def work(self, stream):
        self.submitted[stream] += 1

    def complete(self, stream):
        self.done[stream] = self.submitted[stream]

    def _check_not_capturing(self, name):
        assert not self.capturing, f"{name} would break the capture"

    def record_event(self, stream):
        self._check_not_capturing("record_event")
        self.note("record", stream)
        self.next += 1
        self.events[self.next] = (stream, self.submitted[stream])
        return self.next

    def event_query(self, event):
        self._check_not_capturing("event_query")
        stream, number = self.events[event]
        self.note("query", stream)
        return self.done[stream] >= number

    def event_synchronize(self, event):
        self._check_not_capturing("event_synchronize")
        stream, number = self.events[event]
        self.note("synchronize", stream)
        self.done[stream] = max(self.done[stream], number)

    def event_destroy(self, event):
        del self.events[event]

    # captures: a test says which streams capture
    def capture_status(self, stream):
        return CaptureStatus.ACTIVE if stream in self.capturing else CaptureStatus.NONE

    def capture_mode_exchange(self, mode):
        before, self.mode = self.mode, mode
        return before
