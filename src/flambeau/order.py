"""Happens-before between lanes of work, by vector clocks.

A lane is anything that does one thing after another: a stream, or the host.  Each lane counts its operations.
`known` of a lane says, per other lane, up to which operation everything is done before the lane's next one.
An event is a copy of what a lane knew when it was recorded, the lane's own last operation included.

Source: C. Fidge, "Timestamps in message-passing systems that preserve the partial ordering", 1988.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from . import host

Clock = dict[Hashable, int]
HOST = "host"


class Order:
    """The clocks of all lanes.  Callers hold a lock of their own."""

    def __init__(self) -> None:
        self._count: Clock = {}
        self._known: dict[Hashable, Clock] = {HOST: {}}
        self._host_version = 0
        self._seen_host: Clock = {}

    def advance(self, lane: Hashable) -> tuple[int, Clock]:
        """Begin the lane's next operation: its number, and what it is ordered after.

        The host submits every operation, so each one is also ordered after what the host has waited for.
        The clock returned is shared: read it, never write it.
        """
        known = self._known.get(lane)
        if known is None or self._seen_host.get(lane) != self._host_version:
            known = self.learn(lane, self._known[HOST])
            self._seen_host[lane] = self._host_version
        number = self._count.get(lane, 0) + 1
        self._count[lane] = number
        return number, known

    def snapshot(self, lane: Hashable) -> Clock:
        """What is done once everything so far on `lane` is done."""
        known = dict(self._known.get(lane, {}))
        known[lane] = self._count.get(lane, 0)
        return known

    def learn(self, lane: Hashable, clock: Clock) -> Clock:
        """From its next operation on, `lane` comes after everything in `clock`."""
        known = dict(self._known.get(lane, {}))
        for other, number in clock.items():
            if known.get(other, 0) < number:
                known[other] = number
        self._known[lane] = known
        if lane == HOST:
            self._host_version += 1
        return known

    def host_knows(self, lane: Hashable, number: int) -> bool:
        """Whether the host has waited for operation `number` of `lane`."""
        return self._known[HOST].get(lane, 0) >= number


def bytes_overlap(
    start: int, shape: Sequence[int], strides: Sequence[int] | None, itemsize: int,
    other_start: int, other_shape: Sequence[int], other_strides: Sequence[int] | None, other_itemsize: int,
    low: int, high: int,
) -> list[tuple[int, int]]:  # fmt: skip
    """The byte ranges in [low, high) that both arrays touch, exactly; strides in elements, None for contiguous.

    Two contiguous arrays need no call: their hulls decide.  Otherwise both are drawn into byte masks.
    """
    np = host.numpy()
    both = _mask(start, shape, strides, itemsize, low, high) & _mask(
        other_start, other_shape, other_strides, other_itemsize, low, high
    )
    edges = np.flatnonzero(np.diff(np.concatenate(([0], both.view(np.int8), [0]))))
    return [(low + int(a), low + int(b)) for a, b in zip(edges[::2], edges[1::2])]


def _mask(start: int, shape: Sequence[int], strides: Sequence[int] | None, itemsize: int, low: int, high: int):  # type: ignore[no-untyped-def]
    np = host.numpy()
    mask = np.zeros(high - low, bool)
    if strides is None:
        count = itemsize
        for size in shape:
            count *= size
        mask[max(start, low) - low : min(start + count, high) - low] = True
        return mask
    at = np.array([start - low], np.int64)
    for size, stride in zip(shape, strides):
        at = (at[:, None] + np.arange(size, dtype=np.int64) * (stride * itemsize)).ravel()
        at = np.unique(at) if stride == 0 else at
    at = (at[:, None] + np.arange(itemsize)).ravel()
    mask[at[(at >= 0) & (at < high - low)]] = True
    return mask
