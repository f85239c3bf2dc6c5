"""Private pools: memory of CUDA graphs and of `MemPool`, kept apart while their users live.

- A capture uses one pool.  Blocks for its streams come from that pool, and return to it when freed.  Only requests that
  use the same pool reuse them.
- A thread inside `use_mem_pool` also uses one pool, for all of its requests that no capture serves.
- A pool counts its users: graphs, MemPools and threads.  When none is left, its idle segments return to the driver with
  those of the shared pools.  Memory of live tensors stays until they are freed.
- Statistics count private pools together with the shared small and large pools.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from threading import get_ident

from ..core.pool import Pool
from ..driver.api import CaptureMode, CaptureStatus, Driver, StreamHandle
from .settings import UNLIMITED, Settings

PoolId = tuple[int, int]


class PoolSet:
    """The pools of one id: a small and a large one of ordinary segments, and the same of expandable ones."""

    def __init__(self, small: Pool, large: Pool) -> None:
        self.plain = small, large
        self.expandable = tuple(Pool(pool.is_small, pool.total, pool.counters, pool.id, True) for pool in self.plain)

    @property
    def all(self) -> tuple[Pool, ...]:
        return (*self.plain, *self.expandable)

    def like(self, pool: Pool) -> Pool:
        """Return this set's counterpart of a pool of another set."""
        small, large = self.expandable if pool.is_expandable else self.plain
        return small if pool.is_small else large

    def plain_like(self, pool: Pool) -> Pool:
        return self.plain[0 if pool.is_small else 1]

    def configure(self, settings: Settings) -> None:
        for pool in self.plain:
            pool.max_split = settings.max_split_size
            pool.max_excess = settings.max_non_split_rounding


class PrivatePool(PoolSet):
    """A set of pools for graphs and `MemPool`.

    uses: the number of users.  serves_shortages: whether requests of the shared pools get its idle blocks when memory
    runs out.  expands: whether it may have expandable segments.
    """

    def __init__(self, pool_id: PoolId, shared: PoolSet, settings: Settings) -> None:
        small, large = (Pool(like.is_small, like.total, like.counters, pool_id) for like in shared.plain)
        super().__init__(small, large)
        self.configure(settings)
        self.uses = 0
        self.serves_shortages = False
        self.expands = True

    def never_split(self) -> None:
        self.expands = False
        for pool in self.plain:
            pool.smallest_remainder = UNLIMITED

    def like(self, pool: Pool) -> Pool:
        return super().like(pool) if self.expands else self.plain_like(pool)

    @property
    def is_empty(self) -> bool:
        return not any(pool.segments for pool in self.all)


class Routes:
    """The private pools that serve requests now.

    captured: the pool of the current capture;  threads: each thread's pools by its id, the innermost `use_mem_pool`
    last.
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

    def use(self, pool_id: PoolId, shared: PoolSet, settings: Settings) -> PrivatePool:
        """Add a user to a private pool, which is created if missing; return the pool."""
        private = self._by_id.get(pool_id)
        if private is None:
            private = self._by_id[pool_id] = PrivatePool(pool_id, shared, settings)
        private.uses += 1
        return private

    def release(self, pool_id: PoolId) -> None:
        """Remove a user of a pool."""
        self._by_id[pool_id].uses -= 1
        self.forget_empty()

    def uses(self, pool_id: PoolId) -> int:
        """Return the number of users of a pool."""
        private = self._by_id.get(pool_id)
        return 0 if private is None else private.uses

    def in_shortages(self) -> list[PrivatePool]:
        """Return the private pools whose idle blocks serve any request when memory runs out."""
        return [private for private in self._by_id.values() if private.serves_shortages]

    def forget_empty(self) -> None:
        """Drop the pools that have neither users nor segments."""
        for pool_id, private in list(self._by_id.items()):
            if not private.uses and private.is_empty:
                del self._by_id[pool_id]

    def sets(self) -> list[PrivatePool]:
        return list(self._by_id.values())

    def of(self, pool: Pool, shared: PoolSet) -> PoolSet:
        """Return the set that a pool belongs to."""
        return self._by_id.get(pool.id, shared)

    def pools(self) -> Iterable[Pool]:
        """Return the small and large pools of every private pool."""
        return [pool for private in self._by_id.values() for pool in private.all]

    def unused(self) -> Iterable[Pool]:
        """Return the small and large pools of the private pools without users."""
        return [pool for private in self._by_id.values() if not private.uses for pool in private.all]


@contextmanager
def relaxed(driver: Driver) -> Iterator[None]:
    """Switch this thread to the relaxed capture mode, in which it may allocate and load during a capture."""
    previous = driver.capture_mode_exchange(CaptureMode.RELAXED)
    try:
        yield
    finally:
        driver.capture_mode_exchange(previous)
