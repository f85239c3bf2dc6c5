"""An oracle for the order of work on virtual GPUs: what happens before what, which accesses race, what memory holds.

It shares no code with the library, and keeps everything: every operation with the set of operations before it, every
byte of every access.  Sets of operations, and of bytes within a grain of 512, are bits of a number.

An operation is a command, the taking of a block, or the birth of a stream, which nobody has waited for at first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

GRAIN = 512  # bytes: no access crosses a multiple of it
POISON = 255


class Access:
    """Bytes of one grain.  offsets: of the bytes within it, in the order of the array's elements."""

    def __init__(self, address: int, offsets: Iterable[int], reads: bool, writes: bool) -> None:
        self.grain, start = divmod(address, GRAIN)
        self.offsets = np.array([start + each for each in offsets])
        self.bits = sum(1 << int(each) for each in set(self.offsets))
        self.reads = reads
        self.writes = writes

    def without(self, bits: int) -> Access:
        """The access, for comparisons, of the bytes that are not among `bits`."""
        rest = Access(self.grain * GRAIN, (), self.reads, self.writes)
        rest.bits = self.bits & ~bits
        return rest


def bits_of(mask: int) -> np.ndarray:
    return np.array([at for at in range(GRAIN) if mask >> at & 1], int)


class Operation:
    """compute: from the arrays read to those written, in the order of the accesses."""

    def __init__(self, number: int, lane: object, before: int, accesses: list[Access], compute: Callable) -> None:
        self.bit = 1 << number
        self.lane = lane
        self.before = before  # itself included
        self.accesses = accesses
        self.compute = compute
        self.spoiled: dict[int, int] = {}  # by grain, the bytes that it reads as poison
        self.ruined: dict[int, int] = {}


class Oracle:
    """The machine.  `done` of a lane: what is done when everything so far on it is."""

    def __init__(self) -> None:
        self.operations: list[Operation] = []
        self.done: dict[object, int] = {}
        self.host = 0
        self.ran = 0
        self.uses: dict[int, list[tuple[Operation, Access]]] = {}
        self.memory: dict[int, np.ndarray] = {}

    def lane(self, name: object) -> None:
        """A stream is made."""
        self.done[name] = self._begin(name, 0, [], lambda *arrays: []).before

    def _begin(self, lane: object, before: int, accesses: list[Access], compute: Callable) -> Operation:
        number = len(self.operations)
        made = Operation(number, lane, before | 1 << number, accesses, compute)
        self.operations.append(made)
        return made

    # what races
    def racing(self, lane: object, accesses: list[Access], before: int | None = None) -> list[tuple]:
        """(access, older operation, its access, bytes in common) of the next operation of a lane, or of the host."""
        known = self.host | (self.done.get(lane, 0) if before is None else before)
        return [
            (access, older, other, access.bits & other.bits)
            for access in accesses
            for older, other in self.uses.get(access.grain, [])
            if access.bits & other.bits and (access.writes or other.writes) and not older.bit & known
        ]

    def submit(self, lane: object, accesses: list[Access], compute: Callable, before: int | None = None) -> Operation:
        """Queue an operation, and poison what it races with.

        before: what it comes after, if not what its lane has so far; then the lane does not come after it.
        """
        found = self.racing(lane, accesses, before)
        known = self.host | (self.done[lane] if before is None else before)
        made = self._begin(lane, known, accesses, compute)
        if before is None:
            self.done[lane] = made.before
        self._poison(made, found)
        for each in accesses:
            self.uses.setdefault(each.grain, []).append((made, each))
        return made

    def _poison(self, made: Operation | None, found: list[tuple]) -> None:
        for access, older, other, common in found:
            ran = bool(older.bit & self.ran)
            if access.writes and (other.writes or ran):
                _add(made, "ruined", access.grain, common)
            if access.reads and other.writes:
                _add(made, "spoiled", access.grain, common)
            if access.writes and not ran:
                if other.writes:
                    _add(older, "ruined", access.grain, common)
                if other.reads:
                    _add(older, "spoiled", access.grain, common)

    def take(self, lane: object, access: Access) -> None:
        """A block is taken: a write of poison, over at once where the host has waited for all that the lane has."""
        found = self.racing(lane, [access])
        if self.done[lane] & ~self.host:
            self.submit(lane, [access], lambda *arrays: [np.full(len(access.offsets), POISON, "uint8")])
            return
        self._poison(None, found)
        self.array(access.grain)[access.offsets] = POISON

    def take_pinned(self, access: Access) -> None:
        """Pinned memory gets a new owner, the host, whose bytes nothing changes but poison."""
        self._poison(None, self.racing("the host", [access]))
        kept = self.racing("the host", [access])
        self.uses[access.grain] = [(older, other) for _, older, other, _ in kept]

    def forget(self, grain: int, point: int, bits: int) -> None:
        """An allocator waited for a point on behalf of one block: uses of its bytes before that are over."""
        self.uses[grain] = [
            (older, access.without(bits) if older.bit & point else access)
            for older, access in self.uses.get(grain, [])
            if not older.bit & point or access.bits & ~bits
        ]

    # order
    def wait(self, lane: object, point: int) -> None:
        self.done[lane] |= point

    def host_waits(self, point: int) -> None:
        self.run(point)
        self.host |= point

    def run(self, point: int) -> None:
        """Run everything before a point; submission is an order that fits."""
        for each in self.operations:
            if each.bit & point & ~self.ran:
                self.ran |= each.bit
                self._run(each)

    def _run(self, each: Operation) -> None:
        arrays = []
        for access in each.accesses:
            found = self.array(access.grain)[access.offsets]
            if access.reads:
                found[(each.spoiled.get(access.grain, 0) >> np.array(access.offsets, object)) & 1 == 1] = POISON
            arrays.append(found)
        results = iter(each.compute(*arrays))
        for access in each.accesses:
            if access.writes:
                self.array(access.grain)[access.offsets] = next(results)
        for grain, mask in each.ruined.items():
            self.array(grain)[bits_of(mask)] = POISON

    def array(self, grain: int) -> np.ndarray:
        if grain not in self.memory:
            self.memory[grain] = np.full(GRAIN, POISON, "uint8")
        return self.memory[grain]


def _add(operation: Operation | None, name: str, grain: int, mask: int) -> None:
    if operation is not None:
        found = getattr(operation, name)
        found[grain] = found.get(grain, 0) | mask
