"""Fault injection for virtual GPUs, DataLoader workers and ranks: faults() and FLAMBEAU_FAULTS."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from .. import config
from ..core import thread
from ..driver.virtual import faults as kinds
from ..errors import NotSupportedError

_killed_worker: tuple[int, int] | None = None  # set inside a block of `faults`


@contextmanager
def faults(
    *,
    oom: int | str = 0,
    launch: int = 0,
    device_assert: int = 0,
    refused: int = 0,
    capture: int = 0,
    lost_link: tuple[int, int] | None = None,
    slow_link: tuple[int, int, int] | None = None,
    kill_worker: tuple[int, int] | None = None,
    kill_rank: tuple[int, int] | None = None,
) -> Iterator[None]:
    """Make chosen calls on virtual GPUs fail inside a `with` block.

    A number n selects the n-th call of the kind that the argument names, counted from 1; 0 selects none.
    oom: the n-th allocation of device memory raises OutOfMemoryError; the device stays usable.  With a size such as
    "64MiB", every allocation of at least that many bytes fails.
    launch: the n-th kernel or library call fails when it runs, and its device is lost.
    device_assert: the n-th kernel or library call fails in the same way, with the error of an assertion in device code.
    refused: the n-th kernel or library call raises, and is not queued; the device stays usable.
    capture: the n-th captured operation finds its capture invalidated, as if by another thread.
    lost_link: two devices between which copies fail.  slow_link: two devices, and the factor by which copies between
    them take longer.
    kill_worker: the index (from 0) of a worker of a DataLoader made in the block, and the batch at which it is killed.
    kill_rank: a rank, and the number of the launch at which its process is killed; other ranks continue.
    Faults that did not occur are dropped at the end of the block.  Blocks nest if they ask for different faults.
    `flambeau run --fault oom:3` and FLAMBEAU_FAULTS=oom:3,lost_link:0:1 do the same to a whole program.
    Raises: ArgumentError for an invalid fault; NotSupportedError on NVIDIA GPUs.
    Example:
        >>> from flambeau.testing import faults
        >>> with faults(oom=2):
        ...     x = torch.ones(4, device="cuda")
        ...     y = torch.ones(4, device="cuda")
        Traceback (most recent call last):
        ...
        flambeau.errors.OutOfMemoryError: allocate: the allocation of 16 bytes on virtual device 0 was made to fail
        hint: flambeau.testing.faults or --fault requested it
    """
    global _killed_worker
    given = {
        "oom": oom, "launch": launch, "device_assert": device_assert, "refused": refused, "capture": capture,
        "lost_link": lost_link, "slow_link": slow_link, "kill_worker": kill_worker, "kill_rank": kill_rank,
    }  # fmt: skip
    for name, value in given.items():
        kinds.check(name, value)
    wanted = {name: value for name, value in given.items() if value}
    with ExitStack() as stack:
        if wanted.keys() - {"kill_worker"}:
            machine = thread.machine()
            machine.start()
            stack.callback(_ask(machine.driver, wanted))
        former = _killed_worker
        _killed_worker = kill_worker or former
        try:
            yield
        finally:
            _killed_worker = former


def _ask(driver: Any, wanted: dict[str, Any]) -> Any:
    """Ask a machine's driver to inject failures; return a function that stops them."""
    if not driver.capabilities.faults:
        raise NotSupportedError(
            "injected failures need virtual GPUs", hint="set FLAMBEAU_GPUS=virtual:2", operator=kinds.OPERATOR
        )
    for name, value in wanted.items():
        kinds.check(name, value, driver.device_count())
    return driver.faults.ask(wanted)


def batch_that_kills(worker: int) -> int:
    """Return the number of the batch at which a DataLoader worker that starts now is killed; 0 for none."""
    wanted = _killed_worker
    if wanted is None and config.faults():
        wanted = kinds.parse(config.faults()).get("kill_worker")
    return wanted[1] if wanted is not None and wanted[0] == worker else 0
