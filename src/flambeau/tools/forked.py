"""Run a function in a forked process, to which SIGINT and SIGTERM are passed on.

- Ctrl-C in a terminal, `timeout` and a shell's `kill %1` send the signal to both processes; `kill PID` and most
  supervisors send it to the parent alone.  A second SIGINT would interrupt the cleanup that the first one began.
- So the child's wakeup file descriptor is a pipe to the parent.  The parent passes on a signal that does not
  arrive there within PATIENCE.  A program that sets the descriptor itself, as asyncio does, gets signals twice then.
"""

from __future__ import annotations

import os
import select
import signal
import stat
import sys
from collections.abc import Callable
from contextlib import suppress
from types import FrameType
from typing import NamedTuple

PATIENCE = 0.3  # seconds
SIGNALS = signal.SIGINT, signal.SIGTERM


class Ended(NamedTuple):
    """The end of a child.  status: negative for a signal.  received: the first signal that came meanwhile, else 0."""

    status: int
    received: int


def run_forked(job: Callable[[], object]) -> Ended:
    """Run a job that ends its process, in a forked copy of this one, and wait for it."""
    sys.stdout.flush()
    sys.stderr.flush()
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    received: list[int] = []

    def pass_on(number: int, frame: FrameType | None) -> None:
        received.append(number)
        if not _arrives(reader, number):
            with suppress(ProcessLookupError):  # it has ended
                signal.pidfd_send_signal(file, number)

    offset = _place_in_stdin()
    masked = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)  # until both processes have their handlers
    child = os.fork()
    if child == 0:
        os.close(reader)
        signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
        signal.pthread_sigmask(signal.SIG_SETMASK, masked)
        job()
        os._exit(1)  # not reached
    file = os.pidfd_open(child)
    taken = [number for number in SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
    formers = {number: signal.signal(number, pass_on) for number in taken}
    try:
        signal.pthread_sigmask(signal.SIG_SETMASK, masked)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    finally:
        for number, former in formers.items():
            signal.signal(number, former)
        for descriptor in (reader, writer, file):
            os.close(descriptor)
        if offset is not None:
            os.lseek(0, offset, os.SEEK_SET)
    return Ended(status, received[0] if received else 0)


def _place_in_stdin() -> int | None:
    """Return the offset in a file that is stdin, which the next run reads again; None for pipes and terminals."""
    with suppress(OSError):  # it is closed
        if stat.S_ISREG(os.fstat(0).st_mode):
            return os.lseek(0, 0, os.SEEK_CUR)
    return None


def _arrives(reader: int, number: int) -> bool:
    """Return whether the child gets the signal without being sent it."""
    poll = select.poll()
    poll.register(reader, select.POLLIN)
    while poll.poll(1000 * PATIENCE):
        if number in os.read(reader, 64):
            return True
    return False
