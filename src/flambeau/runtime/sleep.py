"""torch.cuda._sleep: a kernel that occupies its stream for a number of cycles."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from ..core import storage, thread
from ..dtypes import int64
from ..errors import ArgumentError, ArgumentTypeError
from ..kernel import Grid, Kernel, Pointer, Scalar
from . import device as devices

SOURCE = """
extern "C" __global__ void spin(long long* spent, long long cycles)
{
    long long start = clock64(), passed = 0;
    while (passed < cycles)
        passed = clock64() - start;
    *spent = passed;
}
"""
OPERATIONS_PER_CYCLE = 30_000  # peak rate of the H200 preset: there, modelled time equals the cycles
MOST_CYCLES = (1 << 63) - 1  # the kernel counts in int64
ONE_THREAD = Grid((1, 1, 1), 1)


def _reference(spent: Any, cycles: int) -> None:
    spent[...] = cycles


@lru_cache(maxsize=64)
def _kernel(modelled_cycles: int) -> Kernel:
    """Make the kernel for one duration.  Modelled time is a property of the kernel, so each duration needs its own."""
    params = (Pointer("spent", int64, "w", (1,)), Scalar("cycles", "int64"))
    return Kernel("spin", SOURCE, params, _reference, operations=float(modelled_cycles * OPERATIONS_PER_CYCLE))


def sleep(cycles: int) -> None:
    """Occupy the current stream for about `cycles` clock cycles of the GPU.  Host: returns at once.

    Raises: ArgumentError for a negative number or more than MOST_CYCLES, ArgumentTypeError for other types.
    """
    if not devices.is_integer(cycles):
        raise ArgumentTypeError(
            f"cycles must be an int, got {cycles!r}", hint="convert it with int(...)", operator="_sleep"
        )
    if not 0 <= cycles <= MOST_CYCLES:
        raise ArgumentError(
            f"cannot sleep for {cycles} cycles", hint=f"use a number from 0 to {MOST_CYCLES}", operator="_sleep"
        )
    cycles = int(cycles)
    index = devices.cuda_index()
    machine, stream = thread.machine(), thread.current_stream(index)
    kernel = _kernel(cycles if machine.driver.capabilities.modelled_time else 0)
    memory = storage.on_device(machine.devices[index], int64.itemsize, stream.handle)
    stream.launch(machine.devices[index].kernel(kernel), ONE_THREAD, kernel.pack((memory.address(), cycles)))
