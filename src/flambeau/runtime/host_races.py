"""Uses of pinned memory by the host before a copy of it is awaited: races like any other, under races="error".

NumPy arrays that were made before the copy, and other libraries, are not seen.
"""

from __future__ import annotations

from ..core import thread
from ..hooks import subscribe
from ..kernel import Access

_is_subscribed = False


def watch() -> None:
    """Tell machines whose races are errors of each use of host memory from now on."""
    global _is_subscribed
    if not _is_subscribed:
        subscribe(on_host_read=_used, on_host_write=_used)
        _is_subscribed = True


def _used(access: Access) -> None:
    machine = thread.machine() if thread.has_machine() else None
    if machine is not None and machine.is_started and machine.choice.races == "error":
        machine.driver.host_touched(access)
