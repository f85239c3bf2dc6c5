"""Report of memory shared between processes (cuda.ipc_report)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Lent:
    """A storage of this process that others hold.  nbytes in bytes;  holders: how often, by process id;  site: where it
    was first sent."""

    device: int
    nbytes: int
    holders: dict[int, int]
    site: str

    def __str__(self) -> str:
        held = ", ".join(f"process {pid} ({count})" for pid, count in sorted(self.holders.items()))
        return f"cuda:{self.device}, {self.nbytes} bytes, sent at {self.site}: held by {held}"


@dataclass(frozen=True)
class Borrowed:
    """An imported storage.  nbytes in bytes;  is_lost: the owner has ended."""

    device: int
    nbytes: int
    owner: int
    is_lost: bool

    def __str__(self) -> str:
        return f"cuda:{self.device}, {self.nbytes} bytes of process {self.owner}{', which has ended' * self.is_lost}"


@dataclass(frozen=True)
class InFlight:
    """A tensor in flight.  nbytes in bytes;  taker: the receiving process, None before."""

    device: int
    nbytes: int
    taker: int | None
    site: str

    def __str__(self) -> str:
        where = f"cuda:{self.device}" if self.device >= 0 else "cpu"
        who = "not received yet" if self.taker is None else f"being received by process {self.taker}"
        return f"{where}, {self.nbytes} bytes, sent at {self.site}: {who}"


@dataclass(frozen=True)
class Report:
    """All memory that this process shares with others, as far as known."""

    lent: list[Lent]
    borrowed: list[Borrowed]
    in_flight: list[InFlight]

    def __str__(self) -> str:
        parts = (("lent", self.lent), ("borrowed", self.borrowed), ("on their way", self.in_flight))
        lines = [f"{title}: {each}" for title, entries in parts for each in entries]
        return "\n".join(lines) or "nothing is shared with other processes"
