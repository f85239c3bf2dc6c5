"""What happens to work that is queued when the process ends: it runs, as on a GPU, which nobody has to wait for.

A process of `multiprocessing` that was forked ends without `atexit`, so there its own way of ending is used.
"""

from __future__ import annotations

import atexit
import multiprocessing
import os
from multiprocessing import util

from . import state

FIRST = 100  # before what queues and pools do at the end

_watched_in = 0  # the process that is watched already


def watch() -> None:
    """Have the queued work of the process's machine run before this process ends."""
    global _watched_in
    if _watched_in == os.getpid():
        return
    _watched_in = os.getpid()
    if multiprocessing.parent_process() is not None:
        util.Finalize(None, _drain, exitpriority=FIRST)
    else:
        atexit.register(_drain)


def _drain() -> None:
    machine = state.machine() if state.has_machine() else None
    if machine is not None and machine.is_started and machine.forked is None and _watched_in == os.getpid():
        machine.driver.drain()
