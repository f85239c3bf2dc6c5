"""The memory of virtual GPUs: fake addresses, segments and blocks.

- A device address is `FIRST_ADDRESS + (device << ADDRESS_BITS) + offset`.  Processes have no memory at such
  addresses, so a device address is never a host address, and it identifies its device.
- The bytes lie in spaces (space.py).
- A segment is an allocation of `mem_alloc`.  It is one live block until a block is taken inside it.  Then only taken
  blocks are live.  A reservation of `mem_reserve` is a segment, too; its blocks are taken where memory is mapped.
- Dead blocks are remembered, with their access history, until their bytes are taken again.
- Blocks, live or dead, never overlap.  If only a part of a dead block is taken, the rest keeps the block's history,
  which no longer changes.
"""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Iterable, Sequence
from typing import Any

from ...errors import AcceleratorError, AccessError, ConfigError, OutOfMemoryError
from ..api import Address
from .access import History, MemoryAccess, Overlap
from .space import GRANULE, Blocks, DeviceSpace, EmptySpace, Ranges, Space

ADDRESS_BITS = 46  # each device has 2**46 bytes of addresses
FIRST_ADDRESS = 1 << 50

INVALID_VALUE = 1  # CUresult
ILLEGAL_ADDRESS = 700  # CUresult
HOST_MEMORY_ALREADY_REGISTERED = 712  # CUresult
HOST_MEMORY_NOT_REGISTERED = 713  # CUresult


def device_of(address: int) -> int | None:
    """Return the device that an address belongs to, or None for an address of the host."""
    return (address - FIRST_ADDRESS) >> ADDRESS_BITS if address >= FIRST_ADDRESS else None


class Block:
    """A block: bytes [low, high) with one owner, and their access history.  device: None for pinned memory.

    fate: how it was freed, for errors;  takes: how often it was allocated again.
    is_unused: whether no block was taken in it since `mem_alloc`.
    whole, poisoning: the access and the poison of its allocation, set when it is first allocated again.
    """

    __slots__ = (
        "device", "fate", "high", "history", "is_live", "is_unused", "low", "poisoning", "space", "takes", "whole",
    )  # fmt: skip
    poisoning: tuple[Space, Overlap]

    def __init__(self, space: Space, device: int | None, low: int, high: int, history: History | None = None) -> None:
        self.space = space
        self.device = device
        self.low = low
        self.high = high
        self.history = History() if history is None else history
        self.is_live = True
        self.is_unused = False
        self.fate = "was freed"
        self.takes = 0
        self.whole: MemoryAccess | None = None

    @property
    def is_fresh(self) -> bool:
        """Whether its bytes have not been used since `mem_alloc`."""
        return self.is_unused and not self.history.newest

    def part(self, low: int, high: int) -> Block:
        """Return the part of a dead block in [low, high)."""
        part = Block(self.space, self.device, low, high, self.history)
        part.is_live, part.is_unused, part.fate = False, self.is_unused, self.fate
        return part


class Segment:
    """An allocation of `mem_alloc`: one block until `carved`.

    shared: None, or one block with the access history of the whole segment, made when a capture first takes a part.
    From then on the segment belongs to graphs: their launches use its bytes, allocated or not, and all its blocks share
    this history.
    """

    __slots__ = ("carved", "high", "low", "shared", "space")

    def __init__(self, space: Space, low: int, high: int) -> None:
        self.space = space
        self.low = low
        self.high = high
        self.carved = False
        self.shared: Block | None = None


class Reservation(Segment):
    """A range of reserved addresses with its own bytes.  pages: (low, high) of each mapped piece, by its start."""

    __slots__ = ("mapped", "pages")

    space: DeviceSpace

    def __init__(self, low: int, high: int) -> None:
        super().__init__(DeviceSpace(low, high - low), low, high)
        self.carved = True
        self.mapped = Ranges()
        self.pages: dict[int, int] = {}


class DeviceMemory:
    """The segments and blocks of one device with `total` bytes.  has_values: whether there are bytes behind them."""

    def __init__(self, device: int, total: int, has_values: bool = True) -> None:
        self.device = device
        self.total = total
        self.used = 0
        base = FIRST_ADDRESS + (device << ADDRESS_BITS)
        self.space = DeviceSpace(base, total, True) if has_values else EmptySpace(base, total)
        self.blocks: Blocks[Block] = Blocks()
        self._segments: Blocks[Segment] = Blocks()
        self._reservations: dict[int, Reservation] = {}
        self._room = Ranges()
        self._room.add(base, base + total // GRANULE * GRANULE)
        self._room_beyond = Ranges()
        self._room_beyond.add(base + _granules(total), base + (1 << ADDRESS_BITS))

    def allocate(self, nbytes: int) -> Address:
        """Allocate a segment of unwritten memory.  Raises OutOfMemoryError."""
        if nbytes <= 0:
            raise AcceleratorError(
                f"{nbytes} bytes cannot be allocated", error_code=INVALID_VALUE, operator="mem_alloc"
            )
        low = self._room.first_fit(_granules(nbytes))
        if low is None or self.used + _granules(nbytes) > self.total:
            raise self._out_of_memory(nbytes)
        self.space.open()
        high = low + _granules(nbytes)
        self._room.remove(low, high)
        self.used += high - low
        self._forget(low, high)
        self._segments.add(Segment(self.space, low, low + nbytes))
        block = Block(self.space, self.device, low, low + nbytes)
        block.is_unused = True
        self.blocks.add(block)
        return Address(low)

    def _out_of_memory(self, nbytes: int, name: str = "mem_alloc") -> OutOfMemoryError:
        return OutOfMemoryError(
            f"{nbytes} bytes do not fit on virtual device {self.device}: {self.total - self.used} of "
            f"{self.total} bytes are free, the largest free range has {self._room.largest()}",
            operator=name,
        )

    def reserve(self, nbytes: int) -> Address:
        """Reserve addresses without memory.  Raises OutOfMemoryError."""
        low = self._room_beyond.first_fit(_granules(nbytes)) if nbytes > 0 else None
        if low is None:
            raise OutOfMemoryError(
                f"{nbytes} bytes of addresses cannot be reserved on virtual device {self.device}",
                operator="mem_reserve",
            )
        high = low + _granules(nbytes)
        self._room_beyond.remove(low, high)
        self._forget(low, high)
        self._reservations[low] = reservation = Reservation(low, high)
        self._segments.add(reservation)
        return Address(low)

    def unreserve(self, address: int) -> None:
        """Release reserved addresses; none may be mapped."""
        reservation = self._reservations.get(address)
        if reservation is None or reservation.pages:
            mapped = f"has {len(reservation.pages)} mapped pieces" if reservation else "does not begin a reservation"
            raise self._refused(f"{address:#x} {mapped}", "mem_unreserve")
        del self._reservations[address]
        self._segments.remove(reservation)
        self._room_beyond.add(reservation.low, reservation.high)

    def map(self, address: int, nbytes: int) -> None:
        """Map new, unwritten memory at reserved addresses.  Raises OutOfMemoryError."""
        reservation = self._around(address, nbytes, "mem_map")
        low, high = address, address + nbytes
        if reservation.mapped.within(low, high):
            raise self._refused(f"bytes [{low:#x}, {high:#x}) are mapped in part already", "mem_map")
        if self.used + nbytes > self.total:
            raise self._out_of_memory(nbytes, "mem_map")
        reservation.space.open()
        self.used += nbytes
        reservation.mapped.add(low, high)
        reservation.pages[low] = high
        self._forget(low, high)

    def mapped_blocks(self, address: int, nbytes: int) -> list[Block]:
        """Return the blocks that count as users of a mapped piece.

        Raises: AcceleratorError if there is no such piece.
        """
        reservation = self._around(address, nbytes, "mem_unmap")
        if reservation.pages.get(address) != address + nbytes:
            raise self._refused(
                f"[{address:#x}, {address + nbytes:#x}) was not mapped by one call", "mem_unmap"
            )
        blocks = self.blocks.overlapping(address, address + nbytes)
        return blocks if reservation.shared is None else [*blocks, reservation.shared]

    def unmap(self, address: int, nbytes: int) -> None:
        """Free the memory that one call of `map` mapped.  Its bytes are remembered as unmapped, for errors."""
        low, high = address, address + nbytes
        reservation = self._around(address, nbytes, "mem_unmap")
        del reservation.pages[low]
        reservation.mapped.remove(low, high)
        self._forget(low, high)
        block = Block(reservation.space, self.device, low, high)
        block.is_live, block.fate = False, "was unmapped"
        self.blocks.add(block)
        self.used -= nbytes
        reservation.space.discard(low, high)

    def _around(self, address: int, nbytes: int, name: str) -> Reservation:
        """Return the reservation that contains a range of addresses.  Raises AcceleratorError for partial granules."""
        segment = self._segments.find(address)
        if (
            not isinstance(segment, Reservation) or address + nbytes > segment.high or nbytes <= 0
            or (address - segment.low) % GRANULE or nbytes % GRANULE
        ):  # fmt: skip
            raise self._refused(
                f"{nbytes} bytes at {address:#x} are not multiples of {GRANULE} bytes within one reservation", name
            )
        return segment

    def _refused(self, why: str, name: str) -> AcceleratorError:
        return AcceleratorError(f"device {self.device}: {why}", error_code=INVALID_VALUE, operator=name)

    def segment(self, address: int, name: str) -> Segment:
        """Return the segment that begins at `address`; reservations are excluded."""
        segment = self._segments.at.get(address)
        if segment is None or isinstance(segment, Reservation):
            raise AcceleratorError(
                f"{address:#x} is not the start of an allocation of device {self.device}",
                error_code=INVALID_VALUE,
                operator=name,
            )
        return segment

    def blocks_in(self, segment: Segment) -> list[Block]:
        """Return all blocks that count as users of the segment."""
        low, high = segment.low, segment.high
        blocks = self.blocks.overlapping(low, high)
        return blocks if segment.shared is None else [*blocks, segment.shared]

    def is_there(self, segment: Segment) -> bool:
        """Return whether the segment is still allocated."""
        return self._segments.at.get(segment.low) is segment

    def of_graphs(self, low: int) -> Segment | None:
        """Return the segment that contains an address if it belongs to graphs, else None."""
        segment = self._segments.find(low)
        return segment if segment is not None and segment.shared is not None else None

    def take_for_graph(self, low: int, high: int) -> Block:
        """Allocate a block for a capture.  From then on its segment belongs to graphs."""
        segment = self._segments.find(low)
        assert segment is not None
        if segment.shared is None:
            segment.shared = Block(segment.space, self.device, segment.low, segment.high)
        return self.take(low, high, segment.shared.history)

    def release(self, segment: Segment) -> None:
        """Free a segment.  Its bytes are remembered as freed, for errors."""
        self._forget(segment.low, segment.high)
        block = Block(self.space, self.device, segment.low, segment.high)
        block.is_live = False
        self.blocks.add(block)
        self._segments.remove(segment)
        end = segment.low + _granules(segment.high - segment.low)
        self._room.add(segment.low, end)
        self.used -= end - segment.low
        self.space.discard(segment.low, end)

    def live_in(self, low: int, high: int) -> list[Block]:
        return [block for block in self.blocks.overlapping(low, high) if block.is_live]

    def pieces(self, low: int, high: int) -> list[Block]:
        """Return what `room_for` does, with a fast path for a dead block of exactly this range."""
        block = self.blocks.at.get(low)
        return [block] if block is not None and not block.is_live and block.high == high else self.room_for(low, high)

    def room_for(self, low: int, high: int) -> list[Block]:
        """Return the blocks whose bytes a block at [low, high) would take over.

        Raises: AccessError if one is in use.
        """
        segment = self._segments.find(low)
        is_there = segment is not None and low < high <= segment.high
        if is_there and isinstance(segment, Reservation):
            is_there = segment.mapped.within(low, high) == [(low, high)]
        if segment is None or not is_there:
            raise AccessError(
                f"bytes [{low:#x}, {high:#x}) are not within one allocation of device {self.device}",
                error_code=ILLEGAL_ADDRESS,
                operator="block_taken",
            )
        blocks = self.blocks.overlapping(low, high)
        live = [block for block in blocks if block.is_live]
        if segment.carved and live:
            raise AccessError(
                f"bytes [{low:#x}, {high:#x}) of device {self.device} overlap the block "
                f"[{live[0].low:#x}, {live[0].high:#x}), which was not freed",
                error_code=ILLEGAL_ADDRESS,
                operator="block_taken",
            )
        return blocks

    def are_fresh(self, pieces: Sequence[Block], low: int, high: int) -> bool:
        """Return whether bytes [low, high) of dead blocks have not been used since `mem_alloc`."""
        return all([piece.is_fresh for piece in pieces])

    def take(self, low: int, high: int, history: History) -> Block:
        """Make a block live after `room_for`; a dead block of exactly this range becomes live again."""
        block = self.blocks.at.get(low)
        if block is not None and not block.is_live and block.high == high:
            block.is_live, block.is_unused = True, False
            block.history = history
            block.takes += 1
            return block
        segment = self._segments.find(low)
        assert segment is not None
        if not segment.carved:
            segment.carved = True
            self.blocks.at[segment.low].is_live = False
        self._forget(low, high)
        block = Block(segment.space, self.device, low, high, history)
        self.blocks.add(block)
        return block

    def give(self, low: int, high: int) -> None:
        """Mark the live block [low, high) as dead.  No lock is needed: it is one assignment."""
        block = self.blocks.at.get(low)
        if block is None or not block.is_live or block.high != high:
            raise AcceleratorError(
                f"device {self.device} has no live block [{low:#x}, {high:#x})",
                error_code=INVALID_VALUE,
                operator="block_given",
            )
        block.is_live = False

    def map_import(self, nbytes: int, buffer: Any) -> Block:
        """Make a live block of another process's bytes, at an address beyond the device's own."""
        low = self._room_beyond.first_fit(_granules(nbytes))
        if low is None:
            raise self._out_of_memory(nbytes)
        self._room_beyond.remove(low, low + _granules(nbytes))
        self._forget(low, low + nbytes)
        block = Block(Space(low, buffer), self.device, low, low + nbytes)
        self.blocks.add(block)
        return block

    def invalidate(self, block: Block, fate: str) -> None:
        """Mark an imported block as dead; its addresses stay reserved."""
        block.fate = fate
        block.is_live = False

    def unmap_import(self, block: Block) -> None:
        """Unmap an imported block and release its addresses."""
        if block.is_live:
            self.invalidate(block, "was closed by ipc_close")
        block.space.buffer = None  # unmaps the bytes; the dead block is remembered
        self._room_beyond.add(block.low, block.low + _granules(block.high - block.low))

    def _forget(self, low: int, high: int) -> None:
        """Forget the blocks in [low, high); dead blocks that reach beyond it keep the rest."""
        for block in self.blocks.overlapping(low, high):
            self.blocks.remove(block)
            block.is_live = False
            if block.low < low:
                self.blocks.add(block.part(block.low, low))
            if block.high > high:
                self.blocks.add(block.part(high, block.high))


class PinnedMemory:
    """Pinned host memory, which asynchronous copies may use."""

    def __init__(self) -> None:
        self.blocks: Blocks[Block] = Blocks()

    def allocate(self, nbytes: int) -> Address:
        if nbytes <= 0:
            raise AcceleratorError(
                f"{nbytes} bytes cannot be allocated", error_code=INVALID_VALUE, operator="host_alloc"
            )
        buffer = (ctypes.c_uint8 * nbytes).from_buffer(mmap.mmap(-1, nbytes))
        self._add(ctypes.addressof(buffer), nbytes, buffer)
        return Address(ctypes.addressof(buffer))

    def register(self, address: int, nbytes: int) -> None:
        """Pin memory of another owner."""
        if self.blocks.overlapping(address, address + nbytes):
            raise AcceleratorError(
                f"bytes [{address:#x}, {address + nbytes:#x}) are pinned already",
                error_code=HOST_MEMORY_ALREADY_REGISTERED,
                operator="host_register",
            )
        if nbytes <= 0 or address <= 0 or device_of(address) is not None:
            raise AcceleratorError(
                f"{nbytes} bytes at {address:#x} are not host memory",
                error_code=INVALID_VALUE,
                operator="host_register",
            )
        self._add(address, nbytes, (ctypes.c_uint8 * nbytes).from_address(address))

    def _add(self, address: int, nbytes: int, buffer: Any) -> None:
        self.blocks.add(Block(Space(address, buffer), None, address, address + nbytes))

    def block(self, address: int, name: str) -> Block:
        """Return the pinned block that begins at `address`."""
        block = self.blocks.at.get(address)
        if block is None:
            raise AcceleratorError(
                f"{address:#x} is not the start of pinned memory", error_code=HOST_MEMORY_NOT_REGISTERED, operator=name
            )
        return block


def check_size(nbytes: int) -> None:
    """Raise ConfigError if a device cannot have so much memory."""
    if nbytes > 1 << ADDRESS_BITS:
        raise ConfigError(
            f"virtual GPUs: {nbytes} bytes of memory were requested; at most {1 << ADDRESS_BITS} are possible",
            hint="write a smaller size, as in memory=24GiB",
        )


class Memory:
    """All memory of a machine.  peers: pairs (device, peer) of which device may access the memory of peer."""

    def __init__(self, totals: Iterable[int], have_values: bool = True) -> None:
        self.devices: Sequence[DeviceMemory] = [
            DeviceMemory(device, total, have_values) for device, total in enumerate(totals)
        ]
        for memory in self.devices:
            check_size(memory.total)
        self.pinned = PinnedMemory()
        self.peers: set[tuple[int, int]] = set()

    def find(self, device: int, low: int, high: int, name: str) -> Block:
        """Return the live block around [low, high) that work on `device` may access.  Raises AccessError for `name`."""
        block = self.devices[device].blocks.at.get(low)
        if block is not None and block.is_live and high <= block.high:
            return block
        return self._search(device, low, high, name)

    def around(self, address: int) -> Block | None:
        """Return the block, live or dead, or the pinned memory that contains an address."""
        owner = device_of(address)
        return self.pinned.blocks.find(address) if owner is None else self.devices[owner].blocks.find(address)

    def owner(self, address: int) -> int | None:
        """Return the device that an address belongs to, or None for an address of the host."""
        return device_of(address)

    def graph_segment(self, block: Block) -> Segment | None:
        """Return the segment that contains a block if it belongs to graphs."""
        return None if block.device is None else self.devices[block.device].of_graphs(block.low)

    def pinned_block(self, low: int, high: int, name: str) -> Block | None:
        """Return the pinned block around host bytes [low, high), or None if they are pageable."""
        block = self.pinned.blocks.find(low)
        if block is not None and high > block.high:
            raise self._error(name, low, high, "the host", _beyond(high, block))
        if block is None and (low <= 0 or device_of(high - 1) is not None):
            raise self._error(name, low, high, "the host", "is not host memory")
        return block

    def _search(self, device: int, low: int, high: int, name: str) -> Block:
        owner = device_of(low)
        where = f"device {device}"
        if owner is None:
            block = self.pinned.blocks.find(low)
        elif owner == device or (device, owner) in self.peers:
            block = self.devices[owner].blocks.find(low)
            block = block if block is not None and block.is_live else None
        elif owner < len(self.devices):
            raise self._error(name, low, high, where, f"is an address of device {owner}, not enabled as its peer")
        else:
            block = None
        if block is None:
            raise self._error(name, low, high, where, self._why_dead(owner, low))
        if high > block.high:
            raise self._error(name, low, high, where, _beyond(high, block))
        return block

    def _why_dead(self, owner: int | None, low: int) -> str:
        freed = owner is not None and owner < len(self.devices) and self.devices[owner].blocks.find(low)
        if not freed:
            return "is not an address of any block"
        return f"{freed.fate}: bytes [{freed.low:#x}, {freed.high:#x}) were freed, or never allocated"

    def _error(self, name: str, low: int, high: int, where: str, why: str) -> AccessError:
        fact = f"{name}: on {where}, bytes [{low:#x}, {high:#x}): {low:#x} {why}"
        return AccessError(fact, error_code=ILLEGAL_ADDRESS)


def _granules(nbytes: int) -> int:
    return -(-nbytes // GRANULE) * GRANULE


def _beyond(high: int, block: Block) -> str:
    return f"lies in block [{block.low:#x}, {block.high:#x}), and the access ends {high - block.high} bytes beyond it"
