"""A virtual driver that keeps the order of a program's operations by itself, and which of its accesses are unordered.

It shares no code with the library's race detection: what happens before an operation is a set, as the bits of a number,
and each access is compared with all that are not known to the host.  Graphs are supported if they have one stream.
"""

from __future__ import annotations

import numpy as np

from flambeau.driver.api import CopyKind
from flambeau.driver.virtual.driver import VirtualDriver

PAGE = 4096  # bytes
HOST = "the host"


class Bytes:
    """The bytes of an access.  mask: one bit for each, from `low` on; None for all."""

    def __init__(self, low: int, high: int, writes: bool, mask: int | None = None) -> None:
        self.low, self.high, self.writes = low, high, writes
        self.mask = mask

    @staticmethod
    def of(access) -> Bytes:
        """The bytes of an access of the virtual driver, one by one where it has gaps."""
        low, mask = access.low, None
        form = access._access
        if form is not None and form.strides is not None and form.nbytes:
            offsets = np.zeros(1, int)
            for length, step in zip(form.shape, form.strides):
                offsets = (offsets[:, None] + np.arange(length) * step).ravel()
            elements = np.zeros(offsets.max() + 1, bool)
            elements[offsets] = True
            if not elements.all():
                bits = np.packbits(elements.repeat(form.dtype.itemsize), bitorder="little")
                mask = int.from_bytes(bits.tobytes(), "little")
        return Bytes(low, access.high, access.writes, mask)

    def meets(self, other: Bytes) -> bool:
        low, high = max(self.low, other.low), min(self.high, other.high)
        if low >= high or (self.mask is None and other.mask is None):
            return low < high
        return bool(self.bits(low, high) & other.bits(low, high))

    def bits(self, low: int, high: int) -> int:
        every = (1 << (high - low)) - 1
        return every if self.mask is None else (self.mask >> (low - self.low)) & every

    def pages(self) -> range:
        return range(self.low // PAGE, (self.high - 1) // PAGE + 1)


class Order:
    """done: by stream, what is done when everything so far on it is.  unordered: pairs of names of operations."""

    def __init__(self) -> None:
        self.count = 0
        self.host = 0
        self.done: dict[int, int] = {}
        self.points: dict[int, int] = {}
        self.uses: dict[int, list[tuple[int, str, Bytes]]] = {}
        self.unordered: set[tuple[str, str]] = set()

    def new_bit(self) -> int:
        self.count += 1
        return 1 << self.count

    def compare(self, name: str, accesses: list[Bytes], known: int) -> None:
        for access in accesses:
            for page in access.pages():
                kept = [use for use in self.uses.get(page, ()) if not use[0] & self.host]
                self.uses[page] = kept
                for bit, other, theirs in kept:
                    if not bit & known and (access.writes or theirs.writes) and access.meets(theirs):
                        self.unordered.add((other, name))

    def submit(self, stream: int, name: str, accesses: list[Bytes]) -> None:
        known = self.host | self.done[stream]
        self.compare(name, accesses, known)
        bit = self.new_bit()
        self.done[stream] = known | bit
        for access in accesses:
            for page in access.pages():
                self.uses.setdefault(page, []).append((bit, name, access))

    def take(self, stream: int, low: int, high: int) -> None:
        """A block is taken: a write, over at once where the host has waited for all that the stream has."""
        block = [Bytes(low, high, writes=True)]
        if self.done[stream] & ~self.host:
            self.submit(stream, "take", block)
        else:
            self.compare("take", block, self.host)

    def forget(self, low: int, high: int, point: int) -> None:
        """The allocator has waited for a point on behalf of one block."""
        for page in Bytes(low, high, writes=True).pages():
            self.uses[page] = [
                use for use in self.uses.get(page, ()) if not (use[0] & point and low <= use[2].low < high)
            ]


class Observed(VirtualDriver):
    """`order` is that of all operations."""

    def start(self) -> None:
        self.order = Order()
        self.captured: dict[int, list[tuple[str, list[Bytes]]]] = {}  # by stream, then by graph
        self.launched: dict[int, int] = {}
        super().start()

    def _submitted(self, stream, name, accesses) -> None:
        if self._streams[stream].capture is not None:
            self.captured.setdefault(stream, []).append((name, accesses))
        else:
            self.order.submit(stream, name, accesses)

    # work
    def launch(self, kernel, grid, arguments, stream) -> None:
        loaded = self._kernels[kernel]
        accesses = [Bytes.of(access) for access in loaded.bound(bytes(arguments)).accesses]
        super().launch(kernel, grid, arguments, stream)
        self._submitted(stream, loaded.name, accesses)

    def library_run(self, plan, addresses, workspace, stream) -> None:
        loaded = self._plans[plan]
        accesses = [Bytes.of(access) for access in loaded.bound(tuple(addresses)).accesses]
        super().library_run(plan, addresses, workspace, stream)
        self._submitted(stream, loaded.name, accesses)

    def copy(self, dst, src, nbytes, kind, stream) -> None:
        pinned = self._engine.memory.pinned_block
        sides = []
        if kind is not CopyKind.DEVICE_TO_HOST or pinned(dst, dst + nbytes, "copy") is not None:
            sides.append(Bytes(dst, dst + nbytes, writes=True))
        if kind is not CopyKind.HOST_TO_DEVICE or pinned(src, src + nbytes, "copy") is not None:
            sides.append(Bytes(src, src + nbytes, writes=False))
        super().copy(dst, src, nbytes, kind, stream)
        if nbytes:
            self._submitted(stream, f"copy {kind.value}", sides)
        if kind is CopyKind.DEVICE_TO_HOST and len(sides) == 1:
            self.order.host |= self.order.done[stream]

    def fill(self, dst, value, nbytes, stream) -> None:
        super().fill(dst, value, nbytes, stream)
        if nbytes:
            self._submitted(stream, "fill", [Bytes(dst, dst + nbytes, writes=True)])

    # graphs
    def capture_end(self, stream):
        graph = super().capture_end(stream)
        self.captured[graph] = self.captured.pop(stream, [])
        return graph

    def graph_instantiate(self, graph):
        made = super().graph_instantiate(graph)
        self.captured[made] = self.captured[graph]
        return made

    def graph_launch(self, graph, stream) -> None:
        super().graph_launch(graph, stream)
        self.order.done[stream] |= self.launched.get(graph, 0)
        for name, accesses in self.captured[graph]:
            self.order.submit(stream, name, accesses)
        self.launched[graph] = self.order.done[stream]

    # blocks and host memory
    def block_taken(self, device, address, nbytes, stream) -> None:
        super().block_taken(device, address, nbytes, stream)
        if self._streams[stream].capture is not None:
            self._submitted(stream, "take", [Bytes(address, address + nbytes, writes=True)])
        else:
            self.order.take(stream, address, address + nbytes)

    def block_finished(self, address, event) -> None:
        super().block_finished(address, event)
        block = self._engine.memory.around(address)
        if block is not None:
            self.order.forget(block.low, block.high, self.order.points.get(event, 0))

    def host_taken(self, address, nbytes) -> None:
        super().host_taken(address, nbytes)
        self.order.compare(HOST, [Bytes(address, address + nbytes, writes=True)], self.order.host)

    def host_accessed(self, access) -> None:
        super().host_accessed(access)
        if access.nbytes:
            whole = Bytes(access.address, access.address + access.nbytes, access.mode != "r")
            self.order.compare(HOST, [whole], self.order.host)

    # order
    def stream_create(self, device, priority):
        return self._born(super().stream_create(device, priority))

    def stream_adopt(self, device, raw):
        return self._born(super().stream_adopt(device, raw))

    def _born(self, stream):
        if stream not in self.order.done:
            self.order.done[stream] = self.order.new_bit()  # nobody has waited for it at first
        return stream

    def event_record(self, event, stream, external=False) -> None:
        super().event_record(event, stream, external)
        if self._streams[stream].capture is None:
            self.order.points[event] = self.order.done[stream]

    def stream_wait_event(self, stream, event, external=False) -> None:
        super().stream_wait_event(stream, event, external)
        self.order.done[stream] |= self.order.points.get(event, 0)

    def event_synchronize(self, event, orders=True) -> None:
        super().event_synchronize(event, orders)
        self.order.host |= self.order.points.get(event, 0) if orders else 0

    def event_query(self, event, orders=True) -> bool:
        is_done = super().event_query(event, orders)
        self.order.host |= self.order.points.get(event, 0) if orders and is_done else 0
        return is_done

    def stream_query(self, stream) -> bool:
        is_done = super().stream_query(stream)
        self.order.host |= self.order.done[stream] if is_done else 0
        return is_done

    def stream_synchronize(self, stream) -> None:
        super().stream_synchronize(stream)
        self.order.host |= self.order.done[stream]

    def device_synchronize(self, device) -> None:
        super().device_synchronize(device)
        for stream, queue in self._streams.items():
            if queue.device == device:
                self.order.host |= self.order.done[stream]
