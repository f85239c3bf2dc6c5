"""machine(): fresh virtual GPUs for a test."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

from ..config import virtual_gpus
from ..core import thread
from ..runtime.machine import Machine

if TYPE_CHECKING:
    from ..driver.virtual.driver import VirtualDriver

    class VirtualMachine(Machine):
        """The type of the machine that `machine` yields: a Machine whose driver is the virtual one."""

        driver: VirtualDriver


@contextmanager
def machine(
    devices: int = 1,
    *,
    preset: str = "h200",
    memory: int | str = 0,
    races: str | None = None,
    schedule: Any = "submission",
) -> Iterator[VirtualMachine]:
    """Replace the process's GPUs by a fresh set of virtual GPUs, a machine, inside a `with` block.

    devices: the number of GPUs.  memory: bytes of each, as a number or a text such as "2GiB"; 0 for the preset's.
    preset, races, schedule: see `flambeau.virtual`; schedule may also be a Schedule object.
    The block's value is the machine; its `driver` is the virtual driver, with its clock, faults and log.
    Tensors must not leave the block.  At its end, the former GPUs, current device and streams are restored.
    Raises: ConfigError for a value that `flambeau.virtual` would not take.
    Example:
        >>> from flambeau.testing import machine
        >>> with machine(3):
        ...     torch.cuda.device_count()
        3
    """
    text = schedule if isinstance(schedule, str) else "submission"
    choice = virtual_gpus(devices, preset=preset, memory=memory, races=races, schedule=text)
    virtual = Machine(choice, None if isinstance(schedule, str) else schedule)
    here = thread.here()
    current = here.device, here.chosen, here.streams
    previous = thread.swap_machine(virtual)
    try:
        virtual.start()
        yield cast("VirtualMachine", virtual)
    finally:
        thread.swap_machine(previous)
        if thread.here() is here:  # it is on the former machine's device 0 and default streams now
            here.device, here.chosen, here.streams = current
