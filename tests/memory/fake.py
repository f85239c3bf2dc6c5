"""A fake of the driver calls that the allocators use; queued work completes only when a test says so."""

from collections import Counter

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
        self.submitted, self.done, self.last_use = Counter(), Counter(), {}
        self.log, self.next = [], 1 << 44
        self.on_call = lambda name: None
        self.mode, self.capturing = CaptureMode.GLOBAL, set()

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
        return self.capacity - sum(self.segments.values()), self.capacity

    def mem_alloc(self, device, nbytes):
        self.note("mem_alloc", nbytes)
        assert not self.capturing or self.mode is CaptureMode.RELAXED, "an allocation would break the capture"
        return self._alloc(self.segments, nbytes, self.mem_info(0)[0])

    def mem_free(self, device, address):
        self._check_not_capturing("mem_free")
        self.note("mem_free", address)
        inside = range(address, address + self.segments[address])
        assert not any(block in inside for block in self.blocks), "a segment with live blocks was freed"
        for block, (stream, number) in list(self.last_use.items()):
            if block in inside:
                assert self.done[stream] >= number, "a segment was freed while its stream works on it"
                del self.last_use[block]
        del self.segments[address]

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
        for other, (size, _) in self.blocks.items():
            assert address + nbytes <= other or other + size <= address, "two blocks overlap"
        self.blocks[address] = (nbytes, stream)

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
