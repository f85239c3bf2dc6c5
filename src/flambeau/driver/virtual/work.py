"""What commands do when they run: NumPy on the memory of virtual GPUs.

- What is read is made real first: poison that no byte holds yet is written.
- A read of `spoiled` bytes gets a private copy with poison laid over; an array that is also written gets the poison in
  place, because bytes which two unordered writers share end as poison anyway.
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

BOUND_LAUNCHES = 1024  # per kernel and device: argument buffers whose touches are kept


class Bound:
    """Arguments as arrays: what `Kernel.bind` gave, with the touches to check, and the device time they take."""

    __slots__ = ("duration_ns", "touches", "values")

    def __init__(self, name: str, values: list[Any], duration: Callable[[list[Access]], int]) -> None:
        accesses = [each for each in _flat(values) if isinstance(each, Access) and each.nbytes]
        self.values = values
        self.touches = tuple(MemoryAccess(access, name) for access in accesses)
        self.duration_ns = duration(accesses)


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
    """Touches: destination, source."""
    target, source = arrays_of(command)
    target[:] = source


def run_copy_from_host(command: Command) -> None:
    """Touches: destination.  detail: the staged bytes."""
    (target,) = arrays_of(command)
    target[:] = command.detail


def run_copy_to_host(command: Command) -> None:
    """Touches: source.  detail: the host's address."""
    (source,) = arrays_of(command)
    host.bytes_at(command.detail, len(source))[:] = source


def run_fill(command: Command) -> None:
    """Touches: destination.  detail: the byte."""
    (target,) = arrays_of(command)
    target[:] = command.detail


def run_poison(command: Command) -> None:
    """Touches: the new block."""
    (touch,), (block,) = command.touches, command.blocks
    block.space.poison(touch.low, touch.high)


def run_failure(command: Command) -> None:
    """A launch that the test wanted to fail."""
    raise InjectedFailure("launch failed on demand")


def arrays_of(command: Command) -> list[Any]:
    """One array per touch, ready to be read and written."""
    pairs = list(zip(command.touches, command.blocks))
    for touch, block in pairs:
        if touch.reads or not touch.dense:
            block.space.materialise(touch.low, touch.high)
    for touch, block in pairs:
        if touch.writes:
            block.space.written(touch.low, touch.high)
    return [_array(touch, block, command.spoiled or []) for touch, block in pairs]


def _array(touch: MemoryAccess, block: Block, spoiled: list[Overlap]) -> Any:
    parts = _clip(touch, spoiled) if spoiled and touch.reads else []
    if not parts:
        return touch.array(block.space)
    if not touch.writes:
        return touch.copy(block.space, parts)
    for each in parts:
        each.poison(block.space)
        block.space.materialise(each.low, each.high)
    return touch.array(block.space)


def _clip(touch: MemoryAccess, overlaps: list[Overlap]) -> list[Overlap]:
    clipped = [each.clipped(touch.low, touch.high) for each in overlaps]
    return [each for each in clipped if each.low < each.high]
