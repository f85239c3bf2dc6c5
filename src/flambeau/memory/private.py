"""Private pools: memory of CUDA graphs, kept apart from all other while the graph lives.

- A capture names one pool.  Blocks for its streams come from that pool, and freed ones go back to it, so that the next
  captures of the pool reuse them, and nobody else.
- A pool counts the graphs that use it.  After the last one, its idle segments go back to the driver with those of the
  shared pools; what tensors still hold stays until they go.
- Counters are those of the small and the large pool: a statistic tells nothing apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from ..core.pool import Pool
from ..driver.api import CaptureMode, CaptureStatus, Driver, StreamHandle

PoolId = tuple[int, int]


class PrivatePool:
    """The two pools of one id.  uses: graphs, finished or being captured, that need it."""

    __slots__ = ("large", "small", "uses")

    def __init__(self, pool_id: PoolId, small: Pool, large: Pool) -> None:
        self.small, self.large = (Pool(like.is_small, like.total, like.counters, pool_id) for like in (small, large))
        for pool, like in zip(self.both, (small, large)):
            pool.max_split, pool.max_excess = like.max_split, like.max_excess
        self.uses = 0

    @property
    def both(self) -> tuple[Pool, Pool]:
        return self.small, self.large

    def instead_of(self, pool: Pool, stream: StreamHandle, driver: Driver) -> Pool:
        """The pool for a request of a stream: one of these if the stream is capturing, else the shared `pool`."""
        if driver.capture_status(stream) is CaptureStatus.NONE:
            return pool
        return self.small if pool.is_small else self.large

    @property
    def is_empty(self) -> bool:
        return not any(pool.segments for pool in self.both)


class PrivatePools:
    """The private pools of one device."""

    def __init__(self) -> None:
        self._by_id: dict[PoolId, PrivatePool] = {}

    def use(self, pool_id: PoolId, small: Pool, large: Pool) -> PrivatePool:
        """Add a graph to a private pool, created if missing."""
        found = self._by_id.get(pool_id)
        if found is None:
            found = self._by_id[pool_id] = PrivatePool(pool_id, small, large)
        found.uses += 1
        return found

    def release(self, pool_id: PoolId) -> None:
        """One graph less uses a pool."""
        self._by_id[pool_id].uses -= 1
        self.forget_empty()

    def forget_empty(self) -> None:
        """Drop the pools that no graph uses and that hold nothing."""
        for pool_id, each in list(self._by_id.items()):
            if not each.uses and each.is_empty:
                del self._by_id[pool_id]

    def pools(self) -> Iterable[Pool]:
        """Every small and large pool."""
        return [pool for each in self._by_id.values() for pool in each.both]

    def unused(self) -> Iterable[Pool]:
        """The pools that no graph uses."""
        return [pool for each in self._by_id.values() if not each.uses for pool in each.both]


@contextmanager
def relaxed(driver: Driver) -> Iterator[None]:
    """Let this thread allocate and load, which concerns no stream, while a stream is capturing."""
    previous = driver.capture_mode_exchange(CaptureMode.RELAXED)
    try:
        yield
    finally:
        driver.capture_mode_exchange(previous)
