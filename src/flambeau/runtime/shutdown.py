"""Runs queued work before the process ends: on a GPU it runs too, without anyone waiting for it.

A child of `multiprocessing` that was forked ends without `atexit`, and forgets the finalizers that were registered
before its `run`, as when its arguments started the machine.  So a finalizer is registered, and registered again there.
"""

from __future__ import annotations

import atexit
import os

from ..core import thread

FIRST = 100  # the priority: before what queues and pools do at the end

_watched_in = 0  # the process that is watched already


def watch() -> None:
    """Have the queued work of the process's machine run before this process ends."""
    global _watched_in
    if _watched_in != os.getpid():
        from multiprocessing import util  # importing flambeau must not load it

        _watched_in = os.getpid()
        atexit.register(_drain)
        _finalize(_drain)
        util.register_after_fork(_drain, _finalize)


def _finalize(drain: object) -> None:
    from multiprocessing import util

    util.Finalize(None, _drain, exitpriority=FIRST)


def _drain() -> None:
    machine = thread.machine() if thread.has_machine() else None
    if machine is not None and machine.is_started and machine.forked is None and _watched_in == os.getpid():
        machine.driver.drain()
