"""Descriptions of collective calls, and their comparison between ranks without waiting.

- A collective whose values pass through the host is posted to the hub at once, and compared before it is computed.
- A collective that GPUs run among themselves begins without contacting the hub.  It is added to the log of its
  channel; a thread periodically sends new entries of the log, and the hub compares them (`Comparison`).
- A channel is a sequence of calls that all members make in the same order: a group's collectives, or its messages of
  one direction and tag.
- A call is sent as two numbers: a hash of what must be equal on all ranks, and a hash of its description, whose text is
  sent once.
"""

from __future__ import annotations

import json
import zlib
from collections import deque
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from .. import callers
from .flight_recorder import Entry

MAX_DESCRIPTIONS = 4096  # limits the memory of programs whose shapes keep changing
SHOWN = 4  # tensors that a description lists


class Description(NamedTuple):
    """A call as it is described to other ranks.

    name: the function's;  same: what must be equal on all ranks;  text: the call and its line, for errors.
    sends, takes: bytes to and from each member if they may differ; else None.
    same_hash, text_hash: hashes of `same`, and of everything.
    """

    name: str
    same: Any
    text: str
    sends: tuple[int, ...] | None
    takes: tuple[int, ...] | None
    same_hash: int
    text_hash: int


Sizes = tuple[tuple[int, ...], tuple[int, ...]]


def like(tensors: Iterable[Any]) -> tuple[Any, ...]:
    """Return the types and shapes of tensors."""
    return tuple((tensor.dtype.name, tuple(tensor.shape)) for tensor in tensors)


class Descriptions:
    """The descriptions of a process's calls, which repeated calls from the same line share."""

    def __init__(self) -> None:
        self._known: dict[Any, Description] = {}

    def of(
        self, name: str, same: Any, tensors: Sequence[Any], more: str = "", sizes: Sizes | None = None
    ) -> Description:
        """Return the description of a call that the program makes now.

        same: what must be equal on all ranks.  tensors, more: shown in its text.
        """
        frame = callers.program_frame()
        site = ("<unknown>", 0) if frame is None else (frame.f_code.co_filename, frame.f_lineno)
        key = name, same, like(tensors[:SHOWN]), len(tensors), more, sizes, site
        description = self._known.get(key)
        if description is None:
            if len(self._known) >= MAX_DESCRIPTIONS:
                self._known.clear()
            description = self._known[key] = _described(*key)
        return description


def _described(
    name: str, same: Any, forms: Any, count: int, more: str, sizes: Sizes | None, site: tuple[str, int]
) -> Description:
    shown = ", ".join(f"{dtype}{list(shape)}" for dtype, shape in forms) + ", ..." * (count > SHOWN)
    text = f"{name}({', '.join(filter(None, (shown, more)))}) at {callers.shown_site('{}:{}'.format(*site))}"
    sends, takes = sizes or (None, None)
    same_hash, text_hash = (zlib.crc32(json.dumps(content).encode()) for content in (same, (same, text, sends, takes)))
    return Description(name, same, text, sends, takes, same_hash, text_hash)


class Running(NamedTuple):
    """A call that a GPU runs: its number in its channel, its entry in the flight recorder, its timeout in seconds.

    start: the monotonic time of the call.
    """

    number: int
    entry: Entry
    timeout: float
    start: float

    def end(self, progress: float) -> float:
        """Return when the timeout expires.  progress: the monotonic time at which the oldest call became the oldest."""
        return max(self.start, progress) + self.timeout


class Channel:
    """The calls of a channel that this process has made.

    log: calls not yet reported to the hub.  count: the number of all calls.
    running: the calls that GPUs run and that have not ended.
    latest: the number of calls up to the latest one on a GPU, and an event after it.
    """

    def __init__(self, name: str, members: Sequence[int]) -> None:
        self.name, self.members = name, list(members)
        self.log: deque[Description] = deque()
        self.running: deque[Running] = deque()
        self.told: set[int] = set()  # hashes of texts that the hub has
        self.count = 0
        self.latest: tuple[int, Any] | None = None

    def add(self, called: Description) -> None:
        """Log a call."""
        self.log.append(called)
        self.count += 1

    def unreported(self, limit: int) -> dict[str, Any]:
        """Remove at most `limit` calls from the log; return them as a message to the hub."""
        calls: list[Description] = []
        while self.log and len(calls) < limit:
            calls.append(self.log.popleft())
        is_renewed = len(self.told) > MAX_DESCRIPTIONS
        if is_renewed:
            self.told.clear()
        new = {call.text_hash: call for call in calls if call.text_hash not in self.told}
        self.told.update(new)
        return {
            "channel": self.name,
            "members": self.members,
            "same": [call.same_hash for call in calls],
            "texts": [call.text_hash for call in calls],
            "renewed": is_renewed,  # the hub may forget all earlier texts
            "new": {str(number): [call.text, call.sends, call.takes] for number, call in new.items()},
        }


class Told(NamedTuple):
    """A description as the hub received it.  sends, takes: bytes to and from each member, None if equal."""

    text: str
    sends: list[int] | None
    takes: list[int] | None


class Difference(NamedTuple):
    """A mismatch between the calls of several ranks.  texts: descriptions of the calls, by rank."""

    reason: str
    texts: dict[int, str]


class Comparison:
    """Comparison of the members' calls in a channel.  Calls that all members have made are dropped when they match."""

    def __init__(self, members: Sequence[int]) -> None:
        self.members = list(members)
        self._same: dict[int, list[int]] = {rank: [] for rank in members}
        self._texts: dict[int, list[int]] = {rank: [] for rank in members}
        self._told: dict[int, dict[int, Told]] = {rank: {} for rank in members}
        self.latest: dict[int, str] = {}  # the last call of each rank that has made one

    def add(self, rank: int, message: dict[str, Any]) -> Difference | None:
        """Add calls of a member; return the first mismatch with those of other members."""
        same, texts, told = self._same[rank], self._texts[rank], self._told[rank]
        if message["renewed"]:
            for number in set(told) - set(texts):
                del told[number]
        same += [int(same_hash) for same_hash in message["same"]]
        texts += [int(text_hash) for text_hash in message["texts"]]
        for number, (text, sends, takes) in message["new"].items():
            told[int(number)] = Told(str(text), sends, takes)
        if texts:
            self.latest[rank] = self._call(rank, -1).text
        for other in self.members:
            count = min(len(same), len(self._same[other]))
            if same[:count] != self._same[other][:count]:
                position = next(index for index in range(count) if same[index] != self._same[other][index])
                return Difference("ranks make different calls", self.texts(position))
        return self._forget(min(map(len, self._same.values())))

    def _forget(self, count: int) -> Difference | None:
        """Drop calls that all members have made, after comparing their sizes."""
        if any(call.sends is not None for told in self._told.values() for call in told.values()):
            for position in range(count):
                calls = {rank: self._call(rank, position) for rank in self.members}
                wrong = wrong_size([(rank, call.sends, call.takes) for rank, call in calls.items()])
                if wrong:
                    return Difference(wrong, self.texts(position))
        for rank in self.members:
            del self._same[rank][:count], self._texts[rank][:count]
        return None

    def _call(self, rank: int, position: int) -> Told:
        return self._told[rank].get(self._texts[rank][position], Told("a call", None, None))

    def texts(self, place: int = 0) -> dict[int, str]:
        """Return the calls at a position, by rank.  Position 0 is the first call that not all members have made."""
        return {rank: self._call(rank, place).text for rank in self.members if place < len(self._texts[rank])}

    def unfinished(self) -> dict[int, str]:
        """Return the first calls that not all members have made; if there are none, the last call of each."""
        return self.texts() or {rank: f"{text} (has not ended)" for rank, text in self.latest.items()}

    def is_behind(self, rank: int) -> bool:
        """Return whether another member has made calls that this one has not."""
        return len(self._same[rank]) < max(map(len, self._same.values()))


def wrong_size(calls: Sequence[tuple[int, Sequence[int] | None, Sequence[int] | None]]) -> str:
    """Return a text naming two ranks where one sends more or fewer bytes than the other takes; "" if none do.

    calls: (rank, bytes that it sends to each, bytes that it takes from each), by place in the group.
    """
    for i, (sender, sends, _) in enumerate(calls):
        for j, (taker, _, takes) in enumerate(calls):
            if sends is not None and takes is not None and sends[j] != takes[i]:
                return f"rank {sender} sends {sends[j]} bytes to rank {taker}, which takes {takes[i]}"
    return ""
