"""A forked child has its parent's machine in its memory and none of its GPUs.

In the child the machine counts as not started, and every use of it raises ForkError.  What only forgets, as when
events and tensors of the parent go, does nothing.
"""

from __future__ import annotations

import os
from typing import Any

from ..errors import ForkError
from . import state

HINT = "start processes with the 'spawn' or 'forkserver' method, or use CUDA first in the child"


class Gone:
    """Stands where the parent's driver and allocators stood."""

    def __init__(self, started_at: str) -> None:
        self.started_at = started_at

    def refuse(self) -> None:
        raise ForkError(
            f"Cannot re-initialize CUDA in forked subprocess: the parent process first used it at {self.started_at}",
            hint=HINT,
        )

    def event_destroy(self, event: int) -> None:
        """Nothing: the event is the parent's."""

    def __getattr__(self, name: str) -> Any:
        return self.refuse()


def _in_child() -> None:
    if state.has_machine() and state.machine().is_started:
        state.machine().forked()


os.register_at_fork(after_in_child=_in_child)
