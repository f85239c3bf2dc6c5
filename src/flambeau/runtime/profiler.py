"""The gate of NVIDIA's profilers: they may be told to collect only between `start` and `stop`.

`flambeau.profile()` collects by itself, on every GPU, and does not look at this gate.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ..core import thread


def start() -> None:
    """Let a profiler that waits for it collect from now on.  Starts the machine.  Raises AcceleratorError."""
    machine = thread.machine()
    machine.start()
    machine.driver.profiler_start()


def stop() -> None:
    """Let a profiler collect no more.  Starts the machine.  Raises AcceleratorError."""
    machine = thread.machine()
    machine.start()
    machine.driver.profiler_stop()


@contextmanager
def profile() -> Iterator[None]:
    """`with profiler.profile():` lets a profiler collect inside the block."""
    start()
    try:
        yield
    finally:
        stop()
