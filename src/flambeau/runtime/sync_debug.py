"""Sync debug mode: reports implicit host synchronization (cuda.set_sync_debug_mode).

An implicit wait is part of another call: `item()`, a blocking copy, indexing with a boolean mask.  Calls of
`synchronize` are explicit and never reported.
"""

from __future__ import annotations

import warnings

from .. import callers
from ..core import thread
from ..errors import ArgumentTypeError, ModeError, SynchronizationError

LEVELS = ("default", "warn", "error")


class SyncDebug:
    """The sync debug mode of the process: an index into LEVELS."""

    def __init__(self) -> None:
        self.mode = 0


setting = SyncDebug()


def set_sync_debug_mode(debug_mode: int | str) -> None:
    """Ignore, report or refuse calls that make the host wait for a GPU implicitly, such as `item`.

    debug_mode: "default" or 0 ignores them, "warn" or 1 warns, "error" or 2 raises an error.
    Raises: ModeError for any other text or number, ArgumentTypeError for any other type.
    Example:
        >>> torch.cuda.set_sync_debug_mode("error")
        >>> torch.cuda.get_sync_debug_mode()
        2
        >>> torch.cuda.set_sync_debug_mode("default")
    """
    if isinstance(debug_mode, bool) or not isinstance(debug_mode, (int, str)):
        raise ArgumentTypeError(
            f"debug_mode must be a str or an int, got {debug_mode!r}",
            hint="use 'default', 'warn' or 'error', or 0, 1 or 2",
            operator="set_sync_debug_mode",
        )
    known = range(len(LEVELS)) if isinstance(debug_mode, int) else LEVELS
    if debug_mode not in known:
        raise ModeError(
            f"invalid value of debug_mode, got {debug_mode!r}",
            hint="expected one of `default`, `warn`, `error`, or 0, 1, 2",
            operator="set_sync_debug_mode",
        )
    thread.machine().start()
    setting.mode = debug_mode if isinstance(debug_mode, int) else LEVELS.index(debug_mode)


def get_sync_debug_mode() -> int:
    """Return the reaction to calls that make the host wait for a GPU implicitly, such as `item`.

    Returns: 0 for none, 1 for a warning, 2 for an error.
    Example:
        >>> torch.cuda.get_sync_debug_mode()
        0
    """
    return setting.mode


def about_to_wait(device_index: int) -> None:
    """Report an implicit host wait for a device.  Raises SynchronizationError in "error" mode."""
    if not setting.mode:
        return
    where = callers.call_site()
    fact = f"{where}: called a synchronizing CUDA operation: the host waits for cuda:{device_index}"
    if LEVELS[setting.mode] == "error":
        raise SynchronizationError(fact, hint='cuda.set_sync_debug_mode("default") permits synchronization')
    warnings.warn_explicit(fact, UserWarning, *callers.place())
