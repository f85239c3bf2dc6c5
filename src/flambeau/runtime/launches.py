"""The last launches of every stream, with their lines, for errors that come later: kept under FLAMBEAU_STRICT=1.

A driver that reports a failure cannot say which launch it was.  It was one that the host had not waited for yet.
"""

from __future__ import annotations

from collections import deque
from typing import Any, NamedTuple

from .. import callers
from ..core.native import Lock
from ..driver.api import StreamHandle
from .stream import Stream

MOST = 16  # launches of one stream that are remembered


class Launched(NamedTuple):
    number: int
    what: str
    site: str
    stream: Stream


class Launches:
    """What one machine launched, and was not waited for when the next launch came."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._of: dict[StreamHandle, deque[Launched]] = {}
        self._waited: set[StreamHandle] = set()
        self._names: dict[int, str] = {}
        self._count = 0

    def launched(self, stream: Stream, handle: Any) -> None:
        """Remember the line that put a kernel or a library's call on a stream."""
        site, called = callers.call()
        self._keep(stream, callers.operator_of(self.name_of(stream, handle), called), site)

    def put(self, stream: Stream, what: str) -> None:
        """Remember the line that put something else on a stream."""
        self._keep(stream, what, callers.call_site())

    def _keep(self, stream: Stream, what: str, site: str) -> None:
        with self._lock:
            kept = self._of.setdefault(stream.handle, deque(maxlen=MOST))
            if stream.handle in self._waited:  # and the wait met no failure, or nothing would come after it
                self._waited.remove(stream.handle)
                kept.clear()
            self._count += 1
            kept.append(Launched(self._count, what, site, stream))

    def host_waits(self, streams: list[StreamHandle]) -> None:
        """The host is about to wait for everything on some streams."""
        with self._lock:
            self._waited.update(streams)

    def name_of(self, stream: Stream, handle: Any) -> str:
        """The entry of a kernel, or the kind of a library's plan."""
        found = self._names.get(handle)
        if found is None:
            device = stream.machine.devices[stream.device_index]
            self._names |= {known: kernel.entry for kernel, known in device.kernels.items()}
            self._names |= {plan: problem.kind for problem, (plan, _) in device._library_plans.items()}
            found = self._names.setdefault(handle, "a launch")
        return found

    def suspects(self) -> list[str]:
        """What may have failed, the latest first: `operator at file:line on stream`."""
        with self._lock:
            found = sorted((each for kept in self._of.values() for each in kept), reverse=True)
        return [f"{each.what} at {each.site} on {each.stream!r}" for each in found[:MOST]]
