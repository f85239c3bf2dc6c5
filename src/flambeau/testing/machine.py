"""machine(): fresh virtual GPUs for a test."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..config import virtual_gpus
from ..core import thread
from ..runtime.machine import Machine


@contextmanager
def machine(
    devices: int = 1,
    *,
    preset: str = "h200",
    memory: int | str = 0,
    races: str | None = None,
    schedule: Any = "submission",
) -> Iterator[Machine]:
    """Make a fresh virtual machine the process's machine inside the block, and restore the former one after it.

    schedule: a text as in FLAMBEAU_GPUS, or a Schedule object.  memory: bytes of each device, as a number or "2GiB".
    `machine.driver` is the virtual driver, with its clock, faults and log.  Tensors must not leave the block.
    """
    text = schedule if isinstance(schedule, str) else "submission"
    choice = virtual_gpus(devices, preset=preset, memory=memory, races=races, schedule=text)
    virtual = Machine(choice, None if isinstance(schedule, str) else schedule)
    previous = thread.swap_machine(virtual)
    try:
        virtual.start()
        yield virtual
    finally:
        thread.swap_machine(previous)
