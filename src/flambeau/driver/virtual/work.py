"""What commands do when they run: NumPy on the memory of virtual GPUs.

- Poison that is only recorded for a range is written to the bytes before they are read.
- A command with `poisoned_reads` gets a private copy of the array with poison in those bytes.  An array that is also
  written gets the poison in place: bytes that two unordered writers share end as poison anyway.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ... import host
from ...kernel import Access
from .access import MemoryAccess, Overlap
from .memory import Block
from .queue import Command
from .schedule import InjectedFailure

BOUND_LAUNCHES = 1024  # per kernel and device: argument buffers whose accesses are kept


class Bound:
    """Arguments as arrays: what `Kernel.bind` gave, with the accesses to check, and the device time they take."""

    __slots__ = ("duration_ns", "accesses", "values")

    def __init__(self, name: str, values: list[Any], duration: Callable[[list[Access]], int]) -> None:
        operands = [each for each in _flat(values) if isinstance(each, Access) and each.nbytes]
        self.values = values
        self.accesses = tuple(MemoryAccess(each, name) for each in operands)
        self.duration_ns = duration(operands)


class Loaded:
    """A kernel or library plan on one device.

    bind: from launch arguments to arrays and numbers;  duration: from arrays to device time in nanoseconds.
    """

    __slots__ = ("_bind", "_bound", "_duration", "device", "name", "reference")

    def __init__(
        self,
        device: int,
        name: str,
        reference: Callable[..., None],
        bind: Callable[[Any], list[Any]],
        duration: Callable[[list[Access]], int],
    ) -> None:
        self.device = device
        self.name = name
        self.reference = reference
        self._bind = bind
        self._duration = duration
        self._bound: dict[Any, Bound] = {}

    def bound(self, arguments: Any) -> Bound:
        found = self._bound.get(arguments)
        if found is None:
            if len(self._bound) >= BOUND_LAUNCHES:
                self._bound.clear()
            found = self._bound[arguments] = Bound(self.name, self._bind(arguments), self._duration)
        return found


def _flat(values: list[Any]) -> list[Any]:
    return [each for value in values for each in (value if isinstance(value, list) else (value,))]


def run_reference(command: Command) -> None:
    """Call the NumPy meaning of a kernel or library plan.  detail: (Loaded, Bound)."""
    loaded, bound = command.detail
    arrays = iter(arrays_of(command))
    values = [
        [_argument(each, arrays) for each in value] if isinstance(value, list) else _argument(value, arrays)
        for value in bound.values
    ]
    with host.numpy().errstate(all="ignore"):
        loaded.reference(*values)


def _argument(value: Any, arrays: Any) -> Any:
    if not isinstance(value, Access):
        return value
    return next(arrays) if value.nbytes else host.numpy().empty(tuple(value.shape), value.dtype.numpy)


def run_copy(command: Command) -> None:
    """Accesses: destination, source."""
    target, source = arrays_of(command)
    target[:] = source


def run_copy_from_host(command: Command) -> None:
    """Accesses: destination.  detail: the staged bytes."""
    (target,) = arrays_of(command)
    target[:] = command.detail


def run_copy_to_host(command: Command) -> None:
    """Accesses: source.  detail: the host's address."""
    (source,) = arrays_of(command)
    host.bytes_at(command.detail, len(source))[:] = source


def run_fill(command: Command) -> None:
    """Accesses: destination.  detail: the byte."""
    (target,) = arrays_of(command)
    target[:] = command.detail


def run_poison(command: Command) -> None:
    """Accesses: the new block."""
    (access,), (block,) = command.accesses, command.blocks
    block.space.poison(access.low, access.high)


def run_failure(command: Command) -> None:
    """A launch that the test wanted to fail."""
    raise InjectedFailure("launch failed on demand")


def arrays_of(command: Command) -> list[Any]:
    """One array per access, ready to be read and written."""
    pairs = list(zip(command.accesses, command.blocks))
    for access, block in pairs:
        if access.reads or not access.dense:
            block.space.materialise(access.low, access.high)
    for access, block in pairs:
        if access.writes:
            block.space.written(access.low, access.high)
    return [_array(access, block, command.poisoned_reads or []) for access, block in pairs]


def _array(access: MemoryAccess, block: Block, poisoned_reads: list[Overlap]) -> Any:
    parts = _clip(access, poisoned_reads) if poisoned_reads and access.reads else []
    if not parts:
        return access.array(block.space)
    if not access.writes:
        return access.copy(block.space, parts)
    for each in parts:
        each.poison(block.space)
        block.space.materialise(each.low, each.high)
    return access.array(block.space)


def _clip(access: MemoryAccess, overlaps: list[Overlap]) -> list[Overlap]:
    clipped = [each.clipped(access.low, access.high) for each in overlaps]
    return [each for each in clipped if each.low < each.high]
