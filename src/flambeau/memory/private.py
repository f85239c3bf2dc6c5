"""Private pools: memory of CUDA graphs, kept apart while the graphs live.

- A capture names one pool.  Blocks for its streams come from that pool, and return to it when freed.  Only later
  captures of the same pool reuse them.
- A pool counts the graphs that use it.  After the last one, its idle segments return to the driver with those of the
  shared pools.  Memory of live tensors stays until they are freed.
- Statistics count private pools together with the shared small and large pools.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from ..core.pool import Pool
from ..driver.api import CaptureMode, CaptureStatus, Driver, StreamHandle

PoolId = tuple[int, int]


class PrivatePool:
    """The small and the large pool of one id.  uses: the number of graphs, finished or in capture, that need them."""

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
        """Return the pool for a stream's request: a private one if the stream is capturing, else the shared `pool`."""
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
        """Count one graph more for a private pool, which is created if missing; return the pool."""
        private = self._by_id.get(pool_id)
        if private is None:
            private = self._by_id[pool_id] = PrivatePool(pool_id, small, large)
        private.uses += 1
        return private

    def release(self, pool_id: PoolId) -> None:
        """Count one graph less for a pool."""
        self._by_id[pool_id].uses -= 1
        self.forget_empty()

    def forget_empty(self) -> None:
        """Drop the pools that no graph uses and that have no segments."""
        for pool_id, private in list(self._by_id.items()):
            if not private.uses and private.is_empty:
                del self._by_id[pool_id]

    def pools(self) -> Iterable[Pool]:
        """Return every small and large pool."""
        return [pool for private in self._by_id.values() for pool in private.both]

    def unused(self) -> Iterable[Pool]:
        """Return the pools that no graph uses."""
        return [pool for private in self._by_id.values() if not private.uses for pool in private.both]


@contextmanager
def relaxed(driver: Driver) -> Iterator[None]:
    """Let this thread allocate and load during a capture; neither is stream work."""
    previous = driver.capture_mode_exchange(CaptureMode.RELAXED)
    try:
        yield
    finally:
        driver.capture_mode_exchange(previous)
