"""Watchdog: a thread that monitors the collectives that GPUs run among themselves.

- A GPU waits in a collective until all ranks have joined it, without a time limit and without the host's knowledge.
  Every TICK seconds, the thread reports new calls to the hub, which compares them; records which collectives have
  ended; and checks for errors.
- When the group fails, running collectives are aborted.  Their outputs are undefined, so every later wait for a GPU
  (for a collective, a synchronization or a copy to the host) raises CollectiveError until the group is destroyed.
- TORCH_NCCL_ASYNC_ERROR_HANDLING=0 turns off timeouts and aborts: a program then hangs where NCCL does.
"""

from __future__ import annotations

import os
import threading
import time
from collections import defaultdict
from typing import Any, Protocol

from ..core import hooks
from ..driver.api import CaptureMode, CopyKind, Driver
from ..errors import AcceleratorError
from .calls import Channel, Running

TICK = 0.1  # seconds
NAMES = ("TORCH_NCCL_ASYNC_ERROR_HANDLING", "NCCL_ASYNC_ERROR_HANDLING")


def handles_errors() -> bool:
    """Return whether running collectives are aborted when the group fails."""
    return next((os.environ[name] for name in NAMES if name in os.environ), "1").strip() != "0"


class Watched(Protocol):
    """The part of a process's client that the watchdog uses (exchange.Client)."""

    channels: dict[str, Channel]

    @property
    def is_broken(self) -> bool: ...
    def await_failure(self, seconds: float) -> bool: ...
    def check(self, operator: str) -> None: ...
    def report(self) -> None: ...
    def report_late(self, channel: Channel, seconds: float) -> None: ...
    def report_broken(self, text: str) -> None: ...


class Progress:
    """Progress of the collectives of a channel.

    oldest, since: the oldest unfinished call, and the monotonic time at which it was first seen to be the oldest.
    count, event: the number of calls that have ended once the event is done; event is None if no call is pending.
    """

    def __init__(self) -> None:
        self.oldest: Running | None = None
        self.since = 0.0
        self.count = 0
        self.event: Any = None


class Watchdog:
    """The thread of a client and a driver."""

    def __init__(self, client: Watched, driver: Driver) -> None:
        self._client, self._driver = client, driver
        self._progress: defaultdict[str, Progress] = defaultdict(Progress)
        self._hooks: dict[str, Any] = {"on_blocked": self._after_wait, "on_copy": self._after_copy}
        self._lock = threading.Lock()
        self._may_raise = True
        self._raises = False
        self._handles_errors = handles_errors()
        self._thread = threading.Thread(target=self._run, name="flambeau watchdog", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        self._driver.capture_mode_exchange(CaptureMode.RELAXED)  # queries of events do not break captures
        while not self._client.await_failure(TICK):
            self.look()
        if self._client.is_broken and self._handles_errors:
            self._start_raising()
            self._driver.abort_exchanges()

    def look(self) -> None:
        """Report new calls, ended collectives and errors to the hub."""
        self._client.report()
        for channel in list(self._client.channels.values()):
            self._follow(channel)
        failure = self._driver.exchange_failure()
        if failure and self._handles_errors:
            self._client.report_broken(failure)

    def _follow(self, channel: Channel) -> None:
        """Record the calls of a channel that have ended.  Only the latest event is kept, so that events are reused."""
        progress = self._progress[channel.name]
        if progress.event is None and channel.latest is not None and channel.running:
            progress.count, progress.event = channel.latest
        if progress.event is not None and self._is_done(progress.event):
            progress.event = None
            while channel.running and channel.running[0].number <= progress.count:
                channel.running.popleft().entry.completed_ns = time.time_ns()
        oldest = channel.running[0] if channel.running else None
        if oldest is not progress.oldest:
            progress.oldest, progress.since = oldest, time.monotonic()
        elif channel.running and self._handles_errors:
            late = min(channel.running, key=lambda running: running.end(progress.since))  # the oldest may have ended
            if time.monotonic() > late.end(progress.since):
                self._client.report_late(channel, late.timeout)

    def _is_done(self, event: Any) -> bool:
        try:
            return self._driver.event_query(event.handle, False)
        except AcceleratorError as error:  # the device is lost
            self._client.report_broken(str(error))
            return False

    def _start_raising(self) -> None:
        with self._lock:
            if self._may_raise:
                hooks.subscribe(**self._hooks)
                self._raises = True

    def stop_raising(self) -> None:
        """Stop raising CollectiveError in waits for GPUs, as this process leaves the group."""
        with self._lock:
            self._may_raise = False
            if self._raises:
                hooks.unsubscribe(**self._hooks)
                self._raises = False

    def join(self) -> None:
        """Wait until the thread has ended, as it does once the client has left the group."""
        self._thread.join()

    def _after_wait(self, start_ns: int, end_ns: int) -> None:
        self._raise()

    def _after_copy(self, stream: Any, dst: int, src: int, nbytes: int, kind: CopyKind) -> None:
        if kind is CopyKind.DEVICE_TO_HOST:
            self._raise()

    def _raise(self) -> None:
        running = [channel.running[0].entry.name for channel in self._client.channels.values() if channel.running]
        self._client.check(running[0] if running else "collective")
