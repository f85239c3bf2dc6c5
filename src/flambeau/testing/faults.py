"""faults(): failures of virtual GPUs on demand."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..core import thread
from ..errors import ArgumentError, NotSupportedError


@contextmanager
def faults(
    *, oom: int = 0, launch: int = 0, refused: int = 0, capture: int = 0, lost_link: tuple[int, int] | None = None
) -> Iterator[None]:
    """Make calls on virtual GPUs fail inside the block.  A number n means the n-th such call, 0 none.

    oom: the n-th allocation of device memory raises OutOfMemoryError; the device stays usable.
    launch: the n-th kernel or library call fails when it runs, and its device with it.
    refused: the n-th kernel or library call raises, and is not queued; the device stays usable.
    capture: the n-th captured operation finds its capture broken, as by another thread.
    lost_link: two devices between which no copy goes.
    Faults that were not met end with the block.  Blocks nest if they ask for different faults.
    Raises: ArgumentError; NotSupportedError on NVIDIA GPUs.
    Example:
        >>> from flambeau.testing import faults
        >>> with faults(oom=2):
        ...     x = torch.ones(4, device="cuda")
        ...     y = torch.ones(4, device="cuda")
        Traceback (most recent call last):
        ...
        flambeau.errors.OutOfMemoryError: allocate: 16 bytes on virtual device 0 fail on demand
        hint: flambeau.testing.faults asked for it
    """
    for name, count in (("oom", oom), ("launch", launch), ("refused", refused), ("capture", capture)):
        if count < 0:
            raise ArgumentError(f"{name} is {count}", hint="1 is the next call, 0 none", operator="faults")
    machine = thread.machine()
    machine.start()
    if not machine.driver.capabilities.faults:
        raise NotSupportedError(
            "failures on demand need virtual GPUs", hint="FLAMBEAU_GPUS=virtual:2", operator="faults"
        )
    driver: Any = machine.driver
    injected = driver.faults
    if lost_link is not None and not all(0 <= device < len(machine.devices) for device in lost_link):
        raise ArgumentError(
            f"lost_link is {lost_link}", hint=f"name two of {len(machine.devices)} devices", operator="faults"
        )
    asked = [(injected.block, oom), (injected.launch, launch), (injected.refusal, refused), (injected.capture, capture)]
    asked = [(countdown, count) for countdown, count in asked if count]
    before = [countdown.left for countdown, _ in asked]
    for countdown, count in asked:
        countdown.left = count
    if lost_link is not None:
        injected.drop_peer(*lost_link)
    try:
        yield
    finally:
        for (countdown, _), left in zip(asked, before):
            countdown.left = left
        if lost_link is not None:
            injected.restore_peer(*lost_link)
