"""Private pools: memory of CUDA graphs and of `MemPool`, kept apart while their users live.

- A capture names one pool.  Blocks for its streams come from that pool, and return to it when freed.  Only later
  captures of the same pool reuse them.
- A thread inside `use_mem_pool` names one pool, too: for all of its requests that no capture serves.
- A pool counts its users: graphs, MemPools and threads.  After the last one, its idle segments return to the driver
  with those of the shared pools.  Memory of live tensors stays until they are freed.
- Statistics count private pools together with the shared small and large pools.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from threading import get_ident

from ..core.pool import Pool
from ..driver.api import CaptureMode, CaptureStatus, Driver, StreamHandle

PoolId = tuple[int, int]


class PrivatePool:
    """The small and the large pool of one id.

    uses: the number of users.  serves_shortages: whether requests of the shared pools get its idle blocks when memory
    runs out.
    """

    __slots__ = ("large", "serves_shortages", "small", "uses")

    def __init__(self, pool_id: PoolId, small: Pool, large: Pool) -> None:
        self.small, self.large = (Pool(like.is_small, like.total, like.counters, pool_id) for like in (small, large))
        for pool, like in zip(self.both, (small, large)):
            pool.max_split, pool.max_excess = like.max_split, like.max_excess
        self.uses = 0
        self.serves_shortages = False

    @property
    def both(self) -> tuple[Pool, Pool]:
        return self.small, self.large

    def like(self, pool: Pool) -> Pool:
        return self.small if pool.is_small else self.large

    @property
    def is_empty(self) -> bool:
        return not any(pool.segments for pool in self.both)


class Routes:
    """The private pools that serve requests now.

    captured: of the capture that is underway;  threads: of each thread, by its id, the innermost `use_mem_pool` last.
    """

    def __init__(self) -> None:
        self.captured: PrivatePool | None = None
        self.threads: dict[int, list[PrivatePool]] = {}

    def instead_of(self, pool: Pool, stream: StreamHandle, driver: Driver) -> Pool:
        """Return the pool for a request of this thread: a private one, else the shared `pool`."""
        if self.captured is not None and driver.capture_status(stream) is not CaptureStatus.NONE:
            return self.captured.like(pool)
        chosen = self.threads.get(get_ident())
        return chosen[-1].like(pool) if chosen else pool

    @property
    def is_empty(self) -> bool:
        return self.captured is None and not self.threads


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

    def uses(self, pool_id: PoolId) -> int:
        """The number of users of a pool."""
        private = self._by_id.get(pool_id)
        return 0 if private is None else private.uses

    def in_shortages(self) -> list[PrivatePool]:
        """Return the pools whose idle blocks serve any request when memory runs out."""
        return [private for private in self._by_id.values() if private.serves_shortages]

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
