"""Collectives and messages that run as one operation, a batch.

- Calls of a group are collected (`group.Coalescing`) and begun together, on the group's stream of the device.  They
  run after the work already on the current stream, and later work runs after all of them.  They are not ordered
  relative to each other.
- With NCCL, they are one group of calls, and a message uses the communicator of the whole group, not one of two ranks.
- On virtual GPUs, they are one exchange.  The hub compares each call separately, with its own line.  The exchange is
  ready when all calls are: it waits where NCCL would, and messages of one operation do not wait for each other.
- On the CPU, and on NVIDIA GPUs without NCCL, they are begun one after the other, before any of them is waited for.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from ..core.tensor import address_of
from ..errors import ArgumentError, NotSupportedError
from ..runtime.stream import Stream
from . import several
from .group import AllOf, Group, Work
from .links import START_NS
from .several import Collective, Part, Received, Transfer, Written


def _no_values(received: Received) -> Written:
    """Return no values for the whole operation: its parts compute their own outputs."""
    return []


class Coalesced(Collective):
    """Collectives and messages on one GPU that run as one operation (`driver.api.Exchange`)."""

    def __init__(self, name: str, group: Group, parts: Sequence[Part]) -> None:
        assert group.client is not None
        own = group.ranks[group.rank()]
        self.sent = [tensor for part in parts for tensor in part.sent]
        self.outputs = [tensor for part in parts for tensor in part.outputs]
        nbytes = sum(part.collective.nbytes for part in parts)
        called = several.description(group, name, name, [*self.sent, *self.outputs])
        kind, transfers = f"{own}/batch/", self._transfers
        super().__init__(name, group, called, _no_values, self.outputs, nbytes, transfers, kind, kinds=[""])
        self.channel_members = [own]  # others may take no part in the batch: each call is compared in its own channel
        self.parts = parts
        self._ready = 0  # how many of the first parts are known to be ready

    def _transfers(self) -> list[Transfer]:
        """Return the steps of all parts."""
        makers = [part.collective.transfers for part in self.parts]
        return [step for make in makers if make is not None for step in make()]

    def model(self, driver: Any) -> None:
        """Set the modelled time: the start, each collective, and the larger of all sends and all receives."""
        total = {"": 0, "send": 0, "receive": 0}
        for part in self.parts:
            part.collective.model(driver)
            direction = "" if not part.collective.kind else "send" if part.sent else "receive"
            total[direction] += part.collective.duration_ns - START_NS
        self.duration_ns = START_NS + total[""] + max(total["send"], total["receive"])
        for part in self.parts:
            part.collective.duration_ns = self.duration_ns

    def make_steps(self, stream: Stream | None) -> None:
        """Make the steps of all parts.  Raises NotSupportedError if NCCL cannot run one of them."""
        super().make_steps(stream)
        if self.steps is None:
            raise NotSupportedError(
                "NCCL does not have the reduction of one of the calls, so it cannot run them as one operation",
                hint="make that call outside of the coalescing: it then runs through the host",
                operator=self.name,
            )

    def begin(self, stream: Stream | None) -> bool:
        """Announce each call to the other ranks; return whether the stream runs the calls as steps."""
        runs_steps = self.process_group.runs_steps and super().begin(stream)
        for part in self.parts:
            if runs_steps:
                part.collective.log()
            else:
                part.collective.begin(stream)
        return runs_steps

    @property
    def keys(self) -> list[str]:
        """The key of the first call that is not ready: the others cannot finish before it."""
        return [] if self.is_ready() else self.parts[self._ready].collective.keys

    def give(self, inputs: Sequence[Any], start_ns: int) -> None:
        """Give the other ranks the bytes of arrays; none if no values are computed."""
        rest = iter(inputs)
        for part in self.parts:
            count = sum(1 for tensor in part.sent if tensor.numel()) if inputs else 0
            part.collective.give([next(rest) for _ in range(count)], start_ns)

    def is_ready(self) -> bool:
        """Return whether all members of all calls have given their bytes."""
        ready = self._ready
        while ready < len(self.parts) and self.parts[ready].collective.is_ready():
            ready += 1
        self._ready = ready
        return ready == len(self.parts)

    def finish(self, outputs: Sequence[Any] | None) -> int:
        """Write the outputs of all calls; return the modelled end.  Raises CollectiveError."""
        rest = None if outputs is None else iter(outputs)
        try:
            ends = [
                part.collective.finish(None if rest is None else [next(rest) for _ in part.collective.written])
                for part in self.parts
            ]
        finally:
            self.is_over = True
        return max(ends)


def begin_together(name: str, group: Group, parts: Sequence[Part]) -> Work:
    """Begin calls together.  Raises ArgumentError if they use several devices, or overlapping memory."""
    devices = sorted({part.device for part in parts})
    if len(devices) > 1:
        names = ", ".join("cpu" if device < 0 else f"cuda:{device}" for device in devices)
        raise ArgumentError(
            f"the tensors must be on one device, and are on {names}",
            hint="coalesce the calls of one device at a time",
            operator=name,
        )
    place = several.place_of(name, group, devices[0])
    is_one = place.stream is not None and (group.runs_steps or place.stream.driver.capabilities.exchanges)
    if not is_one:
        works = [several.begin(part.collective, place, part.sent, part.outputs) for part in parts]
        return AllOf(works, [output for part in parts for output in part.outputs])
    _check_apart(name, parts)
    whole = Coalesced(name, group, parts)
    return several.begin(whole, place, whole.sent, whole.outputs)


def _check_apart(name: str, parts: Sequence[Part]) -> None:
    """Raise ArgumentError if a call writes memory that another one reads or writes: they are not ordered."""
    written = sorted(_ranges(parts, [part.outputs for part in parts]))
    for one, other in pairwise(written):
        _check_pair(name, parts, one, other)
    ends = [end for _, end, _ in written]
    for read in _ranges(parts, [part.sent for part in parts]):
        for number in range(bisect_right(ends, read[0]), len(written)):
            if written[number][0] >= read[1]:
                break
            _check_pair(name, parts, read, written[number])


def _ranges(parts: Sequence[Part], tensors: Sequence[Sequence[Any]]) -> list[tuple[int, int, int]]:
    """Return the memory ranges of tensors: start, end, and the index of the part.  tensors: by part."""
    return [
        (address_of(tensor), address_of(tensor) + tensor.numel() * tensor.dtype.itemsize, number)
        for number in range(len(parts))
        for tensor in tensors[number]
        if tensor.numel()
    ]


def _check_pair(name: str, parts: Sequence[Part], one: tuple[int, int, int], other: tuple[int, int, int]) -> None:
    numbers = sorted((one[2], other[2]))
    if numbers[0] < numbers[1] and one[0] < other[1] and other[0] < one[1]:
        first, second = (parts[number].collective.called.text for number in numbers)
        raise ArgumentError(
            f"one of two calls writes memory of the other, and they are not ordered: {first}, and {second}",
            hint="pass separate tensors to each call, or make the calls one after the other",
            operator=name,
        )
