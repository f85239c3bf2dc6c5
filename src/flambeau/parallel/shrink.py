"""shrink_group: replace a process group by one without some of its processes.

- The default group is a job of its own: its remaining processes connect to a new hub in the process that becomes rank
  0.  They exchange its address through the store of the former job.  So ranks count from 0 everywhere, and a failure
  of the former job does not matter.
- Any other group keeps its connection: its remaining processes make a group as `new_group` does.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from ..core import thread
from ..errors import ArgumentTypeError, ValueRangeError, shown
from . import several
from .alike import AlikeRanks
from .collectives import ProcessGroup, next_name
from .exchange import Client
from .group import GroupError, GroupMember
from .hub import Hub
from .process_group import member, replace_default_group, start_hub
from .store import SECRET, ClientStore

NAME = "shrink_group"
SHRINK_DEFAULT, SHRINK_ABORT = 0, 1


def shrink_group(
    ranks_to_exclude: list[int], group: Any = None, shrink_flags: int = SHRINK_DEFAULT, pg_options: Any = None
) -> ProcessGroup:
    """Replace a group by a new one without some of its processes; only the remaining processes call this.

    ranks_to_exclude: a list of ranks in the group.  The remaining processes keep their order, with ranks from 0.
    group: None for the default group.  Shrinking the default group destroys all other groups, and the result becomes
        the default group.
    shrink_flags: SHRINK_DEFAULT waits for the group's unfinished collectives; SHRINK_ABORT ends them, and they raise
        CollectiveError.  Both are in torch.distributed.distributed_c10d.
    Host:   waits for the remaining processes.
    Raises: ValueRangeError for no ranks, a rank that does not exist or is repeated, all ranks, unknown flags, and a
            group of one process; ArgumentTypeError unless the ranks are a list of ints; GroupError (RuntimeError,
            ValueError) for the rank of this process, and for a group that does not exist; CollectiveError if a
            collective fails or the group has failed.  After SHRINK_ABORT, the default group may have failed.
    Example:
        >>> torch.distributed.init_process_group("gloo")
        >>> try:
        ...     torch.distributed.shrink_group([0])
        ... except ValueError:
        ...     print("the group has one process")
        the group has one process
        >>> torch.distributed.destroy_process_group()
    """
    parent = member(NAME, group)
    remaining = _remaining(ranks_to_exclude, shrink_flags, parent)
    client = parent.client
    assert client is not None  # a group of several processes
    aborts, is_default = shrink_flags == SHRINK_ABORT, parent is GroupMember.WORLD
    if not aborts or not is_default:
        client.check(NAME)
    if is_default:
        return _shrink_job(parent, client, remaining, aborts)
    if aborts:
        client.abort_group(parent.group_name)
        if parent.stream_handles:
            thread.machine().driver.abort_exchanges(parent.stream_handles)
    else:
        client.finish(parent.group_name)
    name = next_name(parent, f"shrunk {'.'.join(map(str, remaining))} ")
    ranks = tuple(parent.ranks[rank] for rank in remaining)
    shrunk = _group(parent, name, ranks, remaining, client, f"{parent.group_name}:shrunk")
    parent.shutdown()
    GroupMember.others.remove(parent)
    GroupMember.others.append(shrunk)
    return shrunk


def _remaining(excluded: Any, flags: Any, group: ProcessGroup) -> list[int]:
    """Check the arguments; return the ranks that remain."""
    size, own = group.size(), group.rank()
    if not isinstance(excluded, list) or not all(isinstance(rank, int) for rank in excluded):
        raise ArgumentTypeError(
            f"ranks_to_exclude must be a list of ints, got {shown(excluded)}",
            hint="pass [3] for one rank",
            operator=NAME,
        )
    if flags not in (SHRINK_DEFAULT, SHRINK_ABORT):
        raise ValueRangeError(
            f"shrink_flags must be 0 or 1, got {shown(flags)}",
            hint="pass SHRINK_DEFAULT (0) or SHRINK_ABORT (1)",
            operator=NAME,
        )
    if size == 1:
        raise ValueRangeError(
            "the group has one process, which cannot be excluded",
            hint="shrink a group of two or more processes",
            operator=NAME,
        )
    if not excluded or len(set(excluded)) < len(excluded) or not set(excluded) < set(range(size)):
        raise ValueRangeError(
            f"ranks_to_exclude {excluded} does not fit a group with {size} processes",
            hint=f"pass one or more ranks from 0 to {size - 1}, each once, and not all",
            operator=NAME,
        )
    if own in excluded:
        raise GroupError(
            f"this process has rank {own}, which is in ranks_to_exclude {excluded}",
            hint="call shrink_group only in the processes that remain",
            operator=NAME,
        )
    return [rank for rank in range(size) if rank not in excluded]


def _shrink_job(parent: ProcessGroup, client: Client, remaining: Sequence[int], aborts: bool) -> ProcessGroup:
    """Replace the default group by one with a hub of its own."""
    if aborts:
        client.abort("the default group was aborted by shrink_group")
    else:
        client.complete(NAME)
    shrunk, hub = _new_job(parent, client, remaining)
    replace_default_group(parent, shrunk, hub)
    return shrunk


def _new_job(parent: ProcessGroup, client: Client, remaining: Sequence[int]) -> tuple[ProcessGroup, Hub | None]:
    """Connect the remaining processes; return their group, and the hub if it is in this process."""
    own, size, hub = remaining.index(parent.rank()), len(remaining), None
    seconds, secret = parent.timeout.total_seconds(), os.environ.get(SECRET, "")
    other: Client | None = None
    ranks, description = tuple(range(size)), "default:shrunken"
    if isinstance(client, AlikeRanks):
        other = AlikeRanks(own, size)
    elif size > 1:
        store, key = ClientStore(client), next_name(parent, f"shrunk {'.'.join(map(str, remaining))} ")
        store.set_timeout(parent.timeout)
        try:
            if own == 0:
                hub = start_hub(client.local_host, 0, size, secret)
                store.set(key, "{}:{}".format(*hub.address))
            host, _, port = store.get(key).decode().rpartition(":")
            other = Client(host, int(port), secret, seconds, own, size)
            shrunk = _group(parent, "0", ranks, remaining, other, description)
            several.barrier(shrunk, NAME).wait()
        except BaseException:
            if other is not None:
                other.close()
            if hub is not None:
                hub.retire()
            raise
        return shrunk, hub
    return _group(parent, "0", ranks, remaining, other, description), None


def _group(
    parent: ProcessGroup,
    name: str,
    ranks: tuple[int, ...],
    remaining: Sequence[int],
    client: Client | None,
    description: str,
) -> ProcessGroup:
    own = remaining.index(parent.rank())
    device = parent.bound_device_id
    return ProcessGroup(parent.backend, name, ranks, own, client, parent.timeout, description, device)
