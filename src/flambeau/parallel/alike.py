"""One process that stands for all ranks of a job, as `flambeau fit --nproc` uses to measure rank 0.

If the environment variable ALIKE_RANKS is set, `init_process_group` uses `AlikeRanks` in place of a connection.  All
ranks are assumed to do the same as this one: the bytes that it contributes to a collective stand for every rank's, and
the modelled time is that of the links between all ranks.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..errors import NotSupportedError
from .calls import Description, Descriptions
from .exchange import Client, Given, Unfinished
from .flight_recorder import FlightRecorder

ALIKE_RANKS = "FLAMBEAU_ALIKE_RANKS"


class AlikeRanks(Client):
    """The client of a process that stands for all ranks.  No call waits."""

    is_watched = False
    aborted: set[str] = set()
    _driver = None

    def __init__(self, rank: int, size: int) -> None:
        self.rank, self.size = rank, size
        self.recorder = FlightRecorder(rank)
        self.descriptions = Descriptions()
        self.failure: str | None = None
        self.unfinished: dict[str, deque[Unfinished]] = {}
        self._members: dict[str, Sequence[int]] = {}
        self._given: dict[str, tuple[bytes, tuple[int, int] | None]] = {}

    def call(
        self,
        key: str,
        members: Sequence[int],
        called: Description,
        gpu: str = "",
        nbytes: int = 0,
        channels: Mapping[str, int] | None = None,
    ) -> None:
        """Record a call's members.  Raises: NotSupportedError for objects that only another rank has."""
        if called.name in ("send_object_list", "recv_object_list"):
            raise NotSupportedError(
                f"{called.text}: one process stands for all {self.size} ranks, so objects cannot be exchanged",
                hint="use flambeau trace --nproc, which runs all ranks",
                operator="fit --nproc",
            )
        self.recorder.add(key, called.name, called.text, nbytes)
        self._members[key] = members

    def give(self, key: str, parts: Sequence[Any], times: tuple[int, int] | None = None) -> None:
        self._given[key] = b"".join(part.tobytes() for part in parts), times

    def is_ready(self, key: str) -> bool:
        return True

    def wait(self, keys: Sequence[str], timeout: float, is_over: Callable[[], bool]) -> None:
        pass

    def collect(self, key: str, timeout: float, operator: str) -> Given:
        data, times = self._given.pop(key)
        self.recorder.completed(key)
        members = self._members.pop(key)
        return Given(dict.fromkeys(members, data), {} if times is None else dict.fromkeys(members, times))

    def end_before_machine(self) -> None:
        pass

    def serve_by(self, driver: Any) -> None:
        pass

    def abort(self, reason: str) -> None:
        pass

    def abort_group(self, group: str) -> None:
        pass

    def leave(self) -> None:
        pass
