"""Point-to-point messages: send and receive.

- A message is a collective of two processes, in a separate channel for each direction and tag.
- The hub (hub.py) chooses the sender of a receive from any process: the first one whose message no other receive has
  taken.  From then on, the hub matches all receives of that tag, so that messages are received in the order of the
  receives.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from ..errors import NotSupportedError, ValueRangeError
from .group import Group, Work
from .several import (
    Collective,
    Part,
    Received,
    Transfer,
    Written,
    begin,
    begin_bytes,
    description,
    device_of,
    form_of,
    order_of,
    place_of,
)


class MatchedReceive(Collective):
    """A receive whose sender the hub chooses.

    source: the sender's rank in the group; -1 before the message has arrived.
    """

    source = -1

    def model(self, driver: Any) -> None:
        """Do nothing: the sender sets the modelled time, as it knows both ends."""

    def collect(self, timeout: timedelta | None = None) -> tuple[Received, int]:
        """Collect as `Collective.collect` does, and record the sender."""
        data, end_ns = super().collect(timeout)
        self.source = next(rank for rank in data if rank != self.process_group.rank())
        return data, end_ns

    def _call(self, gpu: str) -> None:
        group, own, tag = self.process_group, self.process_group.rank(), self.kind.split("/")[1]
        channels = {
            f"{self.group}:{source}>{own}/{tag}/": group.ranks[source]
            for source in range(group.size())
            if group.ranks[source] in self.members and source != own
        }
        self.client.call(self.key, self.members, self.called, gpu, self.nbytes, channels)


def _receive_kind(group: Group, src: int | None, dst: int, tag: int | str) -> str:
    """Return the kind of a receive, with its tag between slashes.  A matched receive has a kind that no send has."""
    if src is None:
        group.matched_tags.add(tag)
    source = "any" if src is None else src
    return f"{source}>{dst}/{tag}/" + ("matched/" if tag in group.matched_tags else "")


def message(group: Group, name: str, tensor: Any, src: int | None, dst: int, tag: int) -> Work:
    """Begin a message of which this rank is the sender or the receiver.  src: None receives from any process.

    NCCL has no tags: messages of one direction are received in the order of the sends, and their tags must match.
    """
    is_source, members = group.rank() == src, _members(group, name, src, dst)
    other = dst if is_source else src
    device, form, coalescing = device_of(name, group, [tensor]), form_of(tensor), group.coalescing
    is_part = coalescing is not None and coalescing.takes(name, device)
    if src is None:
        _check_any_source(name, group, device, is_part)
    kind, kinds = f"{src}>{dst}/{tag}/", None
    if is_part:
        kind = f"{src}>{dst}/batch/"
    elif group.runs_steps and tensor.is_cuda:
        kind, kinds = f"{src}>{dst}/", sorted((f"{src}>{dst}/", f"{dst}>{src}/"))
    elif not is_source:
        kind = _receive_kind(group, src, dst, tag)

    def compute(received: Received) -> Written:
        if not is_source:
            yield 0, form.read(next(data for rank, data in received.items() if rank != dst))

    def transfers() -> list[Transfer]:
        assert other is not None
        peer = other if is_part else members.index(group.ranks[other])  # a part runs among all ranks of the group
        return [
            Transfer("send", tensor, None, peer=peer) if is_source else Transfer("receive", None, tensor, peer=peer)
        ]

    sent, outputs = ([tensor], []) if is_source else ([], [tensor])
    more = f"{'dst' if is_source else 'src'}={'any' if other is None else other}"
    if tag:
        more += f", tag={tag}"
    same: tuple[Any, ...] = (tensor.dtype.name, tensor.numel(), tag)
    order = order_of(name, group, device, [tensor])
    if order:
        same, more = (*same, order), f"{more}, {order}"
    called = description(group, name, same, [tensor], more)
    make = MatchedReceive if kind.endswith("/matched/") else Collective
    collective = make(name, group, called, compute, outputs, form.nbytes, transfers, kind, members, kinds)
    if coalescing is not None and is_part:
        return coalescing.add(Part(collective, sent, outputs, device))
    work = begin(collective, place_of(name, group, device, kind), sent, outputs)
    work.source = None if is_source else src
    work.receive = collective if isinstance(collective, MatchedReceive) else None
    return work


def _check_any_source(name: str, group: Group, device: int, is_part: bool) -> None:
    """Raise NotSupportedError if the group cannot receive from any process."""
    if device >= 0 and "nccl" in group.backend:
        raise NotSupportedError(
            "Backend nccl does not support recvAnysource",
            hint="name the sender: src=1, or make the group with backend='gloo'",
            operator=name,
        )
    if is_part:
        raise NotSupportedError(
            "a receive from any process cannot be coalesced", hint="name the sender: src=1", operator=name
        )


def pass_bytes(group: Group, name: str, data: bytes, src: int | None, dst: int) -> tuple[bytes, int]:
    """Pass bytes from one rank to another; return the bytes and the sender's rank.  Host: waits.

    src: None receives from any process.
    """
    is_source, members, tag = group.rank() == src, _members(group, name, src, dst), "objects"
    kind = f"{src}>{dst}/{tag}/" if is_source else _receive_kind(group, src, dst, tag)
    results: list[tuple[bytes, int]] = []

    def compute(received: Received) -> Written:
        source = src if is_source else next(rank for rank in received if rank != dst)
        assert source is not None
        results.append((received[source], source))
        return []

    other = f"dst={dst}" if is_source else f"src={'any' if src is None else src}"
    called = description(group, name, tag, [], other)
    make = MatchedReceive if kind.endswith("/matched/") else Collective
    begin_bytes(make(name, group, called, compute, [], len(data), None, kind, members), data).wait()
    return results[0]


def _members(group: Group, name: str, src: int | None, dst: int) -> list[int]:
    """Return the members of a message: sender and receiver, or the whole group for a receive from any process.

    Raises: ValueRangeError if sender and receiver are the same process.
    """
    if src is None:
        return list(group.ranks)
    if src == dst:
        raise ValueRangeError(
            f"sender and receiver are the same process, rank {src} of the group",
            hint="pass the rank of another process",
            operator=name,
        )
    return sorted((group.ranks[src], group.ranks[dst]))
