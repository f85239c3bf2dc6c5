"""torch.distributed: process groups, and their collectives.

- The processes of a group connect to a hub in the process of rank 0, or in that of `flambeau run --nproc` (hub.py).
- In a group of one process, a collective copies its inputs to its outputs on the current streams.  Those of several
  processes are in several.py.
- A function that needs a group raises an error before `init_process_group`, as in PyTorch.
"""

from __future__ import annotations

import copy
import os
import pickle
import time
from collections.abc import Callable, Iterable, MutableSequence, Sequence
from datetime import timedelta
from functools import wraps
from operator import index
from typing import Any, ParamSpec, TypeVar, cast

from .. import callers
from ..core import thread
from ..driver import nccl_version
from ..errors import ArgumentError, ArgumentTypeError, NotSupportedError, ValueRangeError, shown
from ..runtime.device import as_device
from . import messages, several
from .alike import ALIKE_RANKS, AlikeRanks
from .collective_options import ReduceScatterOptions
from .collectives import (
    ProcessGroup,
    RankError,
    check_exists,
    check_members,
    check_several,
    checked_tensor,
    entries,
    message,
    next_name,
)
from .exchange import Client, NextGroup, at_exit, checked_timeout, ends_by_exception
from .flight_recorder import FlightRecorder
from .group import TIMEOUT, GroupError, GroupMember, ReduceOp, Work
from .hub import Hub
from .rendezvous import KNOWN, handlers, number_of_url, rendezvous
from .store import Meeting, Store, listening, meeting_of, number_from_environment

BACKENDS = ("gloo", "nccl", "mpi", "ucc", "xccl", "fake", "cpu:gloo", "cuda:nccl", "cuda:gloo")
ALONE = "call init_process_group(); a program that runs alone needs none: check torch.distributed.is_initialized()"
SPREAD = "DistributedDataParallel keeps a whole copy in each process"
LARGE = 1 << 27  # most bytes of an object

_hub: Hub | None = None  # the hub that this process runs as rank 0
_hubs: list[tuple[int, Hub]] = []  # current and earlier hubs, and the processes that started them

# the group


def is_available() -> bool:
    """Return True: process groups are always available.

    Example:
        >>> torch.distributed.is_available(), torch.distributed.is_initialized()
        (True, False)
    """
    return True


def is_initialized() -> bool:
    """Return whether the default process group exists: `init_process_group` makes it.

    Example:
        >>> torch.distributed.is_initialized()
        False
    """
    return GroupMember.WORLD is not None


def is_torchelastic_launched() -> bool:
    """Return whether torchrun started this process.

    Example:
        >>> torch.distributed.is_torchelastic_launched()
        False
    """
    return os.environ.get("TORCHELASTIC_RUN_ID") is not None


def is_nccl_available() -> bool:
    """Return whether the "nccl" backend is available: on virtual GPUs, or on NVIDIA GPUs if NCCL is installed.

    Example:
        >>> torch.distributed.is_nccl_available()
        True
    """
    machine = thread.machine()
    return machine.device_count() > 0 and (machine.choice.kind == "virtual" or nccl_version() is not None)


def is_gloo_available() -> bool:
    """Return True: the "gloo" backend is always available.

    Example:
        >>> torch.distributed.is_gloo_available()
        True
    """
    return True


def init_process_group(
    backend: str | None = None,
    init_method: str | None = None,
    timeout: timedelta | None = None,
    world_size: int = -1,
    rank: int = -1,
    store: Any = None,
    group_name: str = "",
    pg_options: Any = None,
    device_id: Any = None,
) -> None:
    """Connect the processes of a job, and make the default process group of all of them.

    backend: "gloo" for tensors on any device, which are copied through the host; "nccl" for tensors on GPUs; None for
        "nccl" if `is_nccl_available()`, else "gloo".
    init_method: a URL where the processes meet.  "env://", the default, uses the variables MASTER_ADDR and MASTER_PORT.
        Others are "tcp://HOST:PORT", "file:///PATH" of a new file, and schemes of `register_rendezvous_handler`.
    world_size, rank: the number of processes, and the number of this one, from 0.  -1 takes them from the URL
        (`?rank=0&world_size=2`), else from the variables WORLD_SIZE and RANK, else 1 and 0.
    store: a TCPStore or FileStore, in place of `init_method`.
    timeout: how long collectives wait for other processes, a timedelta; 30 minutes by default.
    Host:   waits until all processes have called this.
    Raises: ValueRangeError for a rank that is not below the size, and a negative timeout; ArgumentError for an unknown
            backend or address; ArgumentTypeError for a rank or a size that is not an int, a timeout that is not a
            timedelta, and a store that is not a Store;
            NotSupportedError for "nccl" of several processes on NVIDIA GPUs without NCCL; GroupError (RuntimeError,
            ValueError) if the group exists; StoreTimeoutError if other processes do not connect in time;
            CollectiveError if two processes have the same rank.
    Example:
        >>> torch.distributed.init_process_group("gloo", rank=0, world_size=1)
        >>> torch.distributed.get_rank(), torch.distributed.get_world_size()
        (0, 1)
        >>> torch.distributed.destroy_process_group()
    """
    name = "init_process_group"
    if GroupMember.WORLD is not None:
        raise GroupError(
            "trying to initialize the default process group twice!",
            hint="call destroy_process_group() first",
            operator=name,
        )
    limit = TIMEOUT if timeout is None else checked_timeout(name, timeout)
    if limit < timedelta(0):
        raise ValueRangeError(f"timeout is {limit.total_seconds():g} s", hint="pass a positive time", operator=name)
    if not isinstance(store, (Store, type(None))):
        raise ArgumentTypeError(f"store is {shown(store)}", hint="pass a TCPStore or a FileStore", operator=name)
    if isinstance(init_method, str) and init_method.partition(":")[0] in set(handlers) - set(KNOWN):
        store, rank, world_size = next(rendezvous(init_method, rank, world_size, timeout=limit))
        init_method = None
    if isinstance(init_method, str):
        rank = number_of_url(name, "rank", rank, init_method)
        world_size = number_of_url(name, "world_size", world_size, init_method)
    size = number_from_environment(name, "world_size", world_size, "WORLD_SIZE", 1)
    number = number_from_environment(name, "rank", rank, "RANK", 0)
    if size < 1 or not 0 <= number < size:
        raise ValueRangeError(
            f"rank {number} is not in a world of {size} processes",
            hint=f"pass a rank from 0 to {size - 1}",
            operator=name,
        )
    chosen = _backend(name, backend)
    named: Any = {"description": "default_pg", "device": None if device_id is None else as_device(device_id)}
    if size == 1:
        # Nothing is contacted, but a wrong address is an error.
        if init_method is not None and (init_method != "env://" or store is not None):
            meeting_of(init_method, store, number, size, limit.total_seconds())
        GroupMember.WORLD = ProcessGroup(chosen, timeout=limit, **named)
        return
    if "nccl" in chosen and thread.machine().choice.kind == "nvidia" and nccl_version() is None:
        raise NotSupportedError(
            "NCCL was not found",
            hint="pip install \"nvidia-nccl-cu13\", or pass backend='gloo', which copies through the host",
            operator=name,
        )
    if ALIKE_RANKS in os.environ:
        client: Client = AlikeRanks(number, size)
        GroupMember.WORLD = ProcessGroup(chosen, "0", tuple(range(size)), number, client, limit, **named)
        return
    meeting = meeting_of(init_method, store, number, size, limit.total_seconds())
    client = _meet(meeting, number, size, limit)
    group = ProcessGroup(chosen, "0", tuple(range(size)), number, client, limit, **named)
    several.barrier(group, name).wait()
    meeting.forget()
    GroupMember.WORLD = group


def _meet(meeting: Meeting, rank: int, size: int, limit: timedelta) -> Client:
    """Connect to the hub.  The process of rank 0 starts it, unless the launcher does."""
    global _hub
    end, has_tried = time.monotonic() + limit.total_seconds(), False
    if meeting.begins_hub:
        _hub = start_hub(meeting.host, meeting.port, size, meeting.secret)
        meeting.tell(_hub.address)
    try:
        while True:
            seconds = end - time.monotonic()
            try:
                return Client(meeting.host, meeting.port, meeting.secret, seconds, rank, size, meeting.find)
            except NextGroup as refusal:
                if has_tried and not refusal.is_told:
                    raise
                has_tried = True
    except BaseException:
        _retire_hub()
        raise


def start_hub(host: str, port: int, size: int, secret: str) -> Hub:
    """Start a hub in this process, which waits for it at its exit."""
    hub = listening(host, port, size, secret)
    _hubs.append((os.getpid(), hub))
    at_exit(end_hubs)  # the hub ends after the clients have left
    return hub


def _retire_hub() -> None:
    """Let this process's hub end once all ranks have left."""
    global _hub
    if _hub is not None:
        _hub.retire()
        _hub = None


def end_hubs() -> None:
    """Wait at process exit until no rank needs this process's hubs; not if it ends by an exception."""
    while _hubs:
        process, hub = _hubs.pop()
        if process == os.getpid() and not ends_by_exception():
            hub.retire()
            hub.join()


def _backend(name: str, backend: Any) -> str:
    """Check a backend's name and return it; None chooses one for this machine."""
    if backend is None:
        return "nccl" if is_nccl_available() else "gloo"
    known = [part.strip() for part in str(backend).lower().split(",")]
    if not isinstance(backend, str) or any(part not in BACKENDS for part in known):
        raise ArgumentError(f"Unknown backend: {shown(backend)}", hint="use 'gloo' or 'nccl'", operator=name)
    return backend.lower()


def destroy_process_group(group: Any = None) -> None:
    """Destroy a process group.

    group: None or the default group destroys all groups; GroupMember.NON_GROUP_MEMBER has no effect.
    Raises: GroupError (RuntimeError, ValueError) if there is no default group, ArgumentTypeError for a value that
            is not a group.
    Example:
        >>> torch.distributed.init_process_group("gloo")
        >>> torch.distributed.destroy_process_group()
        >>> torch.distributed.is_initialized()
        False
    """
    if group is GroupMember.NON_GROUP_MEMBER:
        return
    process_group = member("destroy_process_group", group)
    if process_group is GroupMember.WORLD:
        hub = _hub
        replace_default_group(process_group, None, None)
        if hub is not None:
            hub.settle()
    elif process_group in GroupMember.others:
        GroupMember.others.remove(process_group)
        process_group.shutdown()


def replace_default_group(former: ProcessGroup, made: ProcessGroup | None, hub: Hub | None) -> None:
    """Remove all groups, leave their job, and let `made` be the default group.  hub: of `made`, in this process."""
    global _hub
    former.is_destroyed = True
    GroupMember.WORLD = None
    for group in GroupMember.others:
        group.is_destroyed = True
    GroupMember.others.clear()
    _retire_hub()  # first, so that ranks which connect again go to the next hub
    if former.client is not None:
        former.client.leave()
    GroupMember.WORLD, _hub = made, hub


class OutsideError(ArgumentTypeError, ArgumentError):
    """The group is GroupMember.NON_GROUP_MEMBER: this process is not a member."""


P = ParamSpec("P")
R = TypeVar("R")


def for_members(function: Callable[P, R]) -> Callable[P, R]:
    """Make a collective warn and return None, or -1 for a rank, in processes that are not members of its group."""

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except OutsideError:
            name = function.__name__
            callers.warn(f"Running {name} on global rank {get_rank()} which does not belong to the given group.")
            return cast(R, -1 if name in ("recv", "recv_object_list") else None)

    return call


def member(name: str, group: Any) -> ProcessGroup:
    """Check a group and return it; None is the default group."""
    world: ProcessGroup | None = GroupMember.WORLD
    if world is None:
        raise GroupError("Default process group has not been initialized", hint=ALONE, operator=name)
    if group is None:
        return world
    if group is GroupMember.NON_GROUP_MEMBER:
        raise OutsideError(
            "this process is not in the group",
            hint="make the call only in the group's processes: get_rank(group) is -1 in others",
            operator=name,
        )
    if not isinstance(group, ProcessGroup):
        raise ArgumentTypeError(
            f"group must be a ProcessGroup or None, got {shown(group)}",
            hint="pass a result of new_group()",
            operator=name,
        )
    check_exists(group, name)
    return group


def default_group() -> ProcessGroup:
    """Return the default group.

    Raises: GroupError (RuntimeError, ValueError) before `init_process_group`.
    Example:
        >>> from flambeau.distributed.distributed_c10d import _get_default_group
        >>> torch.distributed.init_process_group("gloo")
        >>> _get_default_group().size()
        1
        >>> torch.distributed.destroy_process_group()
    """
    return member("_get_default_group", None)


def new_group(
    ranks: Sequence[int] | None = None,
    timeout: timedelta | None = None,
    backend: str | None = None,
    pg_options: Any = None,
    use_local_synchronization: bool = False,
    group_desc: str | None = None,
    device_id: Any = None,
    sort_ranks: bool = True,
) -> Any:
    """Make a group of some of the job's processes; all processes of the job must call this, in the same order.

    ranks: a list of the members' global ranks; None for all processes.  Process ranks[i] gets the rank i in the group.
    sort_ranks: whether `ranks` is sorted first, as by default.
    timeout: how long the group's collectives wait, a timedelta; None for the default group's timeout.
    backend: "gloo" or "nccl"; None for that of the default group.
    use_local_synchronization: if True, only the members call this.
    Host:   waits for all processes of the job, unless `use_local_synchronization` is True.
    Returns: the group, or GroupMember.NON_GROUP_MEMBER in a process that is not a member.
    Raises: GroupError (RuntimeError, ValueError) before `init_process_group`; RankError unless the ranks are a list of
            integers, ValueRangeError for a rank that does not exist or is repeated; ArgumentTypeError for a timeout
            that is not a timedelta, ArgumentError for an unknown backend; CollectiveError if the processes pass
            different ranks, or some do not call this.
    Example:
        >>> torch.distributed.init_process_group("gloo")
        >>> torch.distributed.get_world_size(torch.distributed.new_group([0]))
        1
        >>> torch.distributed.destroy_process_group()
    """
    world = member("new_group", None)
    if not isinstance(ranks, (Iterable, type(None))):
        raise RankError(f"ranks must be a list, got {shown(ranks)}", hint="for example [0, 1]", operator="new_group")
    wanted = list(world.ranks) if ranks is None else list(ranks)
    if any(not hasattr(rank, "__index__") for rank in wanted):
        raise RankError(f"ranks must be integers, got {shown(wanted)}", hint="for example [0, 1]", operator="new_group")
    limit = world.timeout if timeout is None else checked_timeout("new_group", timeout)
    if sort_ranks:
        wanted.sort()
    if any(rank not in world.ranks for rank in wanted) or len(set(wanted)) < len(wanted):
        raise ValueRangeError(
            f"ranks {wanted} do not fit a job with {world.size()} processes",
            hint=f"pass each rank from 0 to {world.size() - 1} at most once",
            operator="new_group",
        )
    if not use_local_synchronization:
        several.agree(world, "new_group", tuple(map(index, wanted)), f"ranks={shown(wanted)}")
    name = next_name(world, f"local {'.'.join(map(str, wanted))} " if use_local_synchronization else "group")
    if world.rank() not in wanted:
        return GroupMember.NON_GROUP_MEMBER
    chosen = world.backend if backend is None else _backend("new_group", backend)
    own, description = wanted.index(world.rank()), group_desc or "undefined"
    group = ProcessGroup(chosen, name, tuple(wanted), own, world.client, limit, description)
    GroupMember.others.append(group)
    return group


def new_subgroups(
    group_size: int | None = None,
    group: Any = None,
    timeout: timedelta | None = None,
    backend: str | None = None,
    pg_options: Any = None,
    group_desc: str | None = None,
) -> tuple[Any, list[Any]]:
    """Divide a group into groups of equal size with consecutive ranks; all processes of the job must call this.

    group_size: the number of processes in each new group; None for the number of GPUs.
    group: the group to divide; None for the default group.  timeout, backend: as in `new_group`.
    Returns: (the new group of this process, the list of new groups).  In the list, GroupMember.NON_GROUP_MEMBER stands
             for each group of which this process is not a member.
    Raises: ValueRangeError unless the size divides the number of processes; the errors of `new_group`.
    Example:
        >>> torch.distributed.init_process_group("gloo")
        >>> mine, groups = torch.distributed.new_subgroups(1)
        >>> torch.distributed.get_process_group_ranks(mine)
        [0]
        >>> torch.distributed.destroy_process_group()
    """
    ranks = member("new_subgroups", group).ranks
    size = thread.machine().device_count() if group_size is None else group_size
    if isinstance(size, bool) or not isinstance(size, int) or size < 1 or len(ranks) % size:
        raise ValueRangeError(
            f"group_size must divide the number of processes, {len(ranks)}, got {shown(size)}",
            hint="pass a divisor of the number of processes, such as 1",
            operator="new_subgroups",
        )
    parts = [list(ranks[at : at + size]) for at in range(0, len(ranks), size)]
    return new_subgroups_by_enumeration(parts, timeout, backend, pg_options, group_desc)


def new_subgroups_by_enumeration(
    ranks_per_subgroup_list: Any,
    timeout: timedelta | None = None,
    backend: str | None = None,
    pg_options: Any = None,
    group_desc: str | None = None,
) -> tuple[Any, list[Any]]:
    """Make several groups without common members; all processes of the job must call this, with equal lists.

    ranks_per_subgroup_list: a list with one list of global ranks per group.  timeout, backend: as in `new_group`.
    Returns: (the new group of this process, the list of new groups).  The first is None if the process is in no group.
             In the list, GroupMember.NON_GROUP_MEMBER stands for each group of which this process is not a member.
    Raises: ValueRangeError for an argument that is not a list of lists, and for a rank that is in two groups; the
            errors of `new_group`.
    Example:
        >>> torch.distributed.init_process_group("gloo")
        >>> mine, groups = torch.distributed.new_subgroups_by_enumeration([[0]])
        >>> mine is groups[0]
        True
        >>> torch.distributed.destroy_process_group()
    """
    name = "new_subgroups_by_enumeration"
    listed = [list(ranks) for ranks in ranks_per_subgroup_list] if isinstance(ranks_per_subgroup_list, list) else []
    every = [rank for ranks in listed for rank in ranks]
    if not every or len(set(every)) < len(every):
        raise ValueRangeError(
            f"ranks_per_subgroup_list must be lists of different ranks, got {shown(ranks_per_subgroup_list)}",
            hint="pass a list of lists of ranks, in which each rank is at most once",
            operator=name,
        )
    groups = [new_group(ranks, timeout, backend, pg_options, group_desc=group_desc) for ranks in listed]
    mine = [group for group in groups if group is not GroupMember.NON_GROUP_MEMBER]
    return mine[0] if mine else None, groups


def split_group(
    parent_pg: Any = None,
    split_ranks: Any = None,
    timeout: timedelta | None = None,
    pg_options: Any = None,
    group_desc: str | None = None,
    backend: str | None = None,
) -> ProcessGroup | None:
    """Split a group: make one group per list of ranks; all processes of the group must call this, with equal lists.

    parent_pg: the group to split; None for the default group.  split_ranks: a list of lists of ranks in `parent_pg`.
    timeout: how long collectives wait, a timedelta; None for the parent's timeout.  backend: None, or the parent's.
    Host:   waits for all processes of the group.
    Returns: this process's group, or None if it is in no list.
    Raises: ValueRangeError for no lists, and a rank that does not exist or is repeated; RankError for a rank that is
            not an integer; ArgumentError for a backend other than the parent's; CollectiveError if the processes pass
            different lists, or some do not call this.
    Example:
        >>> torch.distributed.init_process_group("gloo")
        >>> torch.distributed.split_group(None, [[0]]).size()
        1
        >>> torch.distributed.destroy_process_group()
    """
    name = "split_group"
    parent = member(name, parent_pg)
    is_lists = isinstance(split_ranks, (list, tuple)) and all(isinstance(ranks, (list, tuple)) for ranks in split_ranks)
    listed = [list(ranks) for ranks in split_ranks] if is_lists else []
    every = [rank for ranks in listed for rank in ranks]
    if any(not hasattr(rank, "__index__") for rank in every):
        raise RankError(
            f"split_ranks must be lists of different ranks, got {shown(split_ranks)}",
            hint="pass ints, as in [[0, 1], [2]]",
            operator=name,
        )
    if not every or len(set(every)) < len(every):
        raise ValueRangeError(
            f"split_ranks must be lists of different ranks, got {shown(split_ranks)}",
            hint="pass a list of lists of ranks, in which each rank is at most once",
            operator=name,
        )
    if backend is not None and _backend(name, backend) != parent.backend:
        raise ArgumentError(
            f"backend must be that of the parent group, {parent.backend!r}, got {shown(backend)}",
            hint="leave backend out",
            operator=name,
        )
    for ranks in listed:
        check_members(parent, name, ranks)
    same = tuple(sorted(tuple(sorted(map(index, ranks))) for ranks in listed))
    several.agree(parent, name, same, f"split_ranks={shown(split_ranks)}")
    groups = [parent.split_group(ranks, timeout, pg_options, None, group_desc) for ranks in listed]
    return next((group for group in groups if group is not None), None)


def group_count() -> int:
    """Return the number of groups of which this process is a member."""
    return len(GroupMember.others) + (GroupMember.WORLD is not None)


def rank_not_in_group(group: Any) -> bool:
    """Return whether this process is not a member of a group.

    Example:
        >>> from flambeau.distributed.distributed_c10d import _rank_not_in_group
        >>> _rank_not_in_group(None), _rank_not_in_group(torch.distributed.GroupMember.NON_GROUP_MEMBER)
        (False, True)
    """
    return group is GroupMember.NON_GROUP_MEMBER


def process_group_name(group: Any) -> str:
    """Return a group's name, which is the same in all its processes.

    Raises: GroupError (RuntimeError, ValueError) before `init_process_group`, ArgumentTypeError for a value that
            is not a group.
    Example:
        >>> from flambeau.distributed.distributed_c10d import _get_process_group_name
        >>> torch.distributed.init_process_group("gloo")
        >>> _get_process_group_name(torch.distributed.group.WORLD)
        '0'
        >>> torch.distributed.destroy_process_group()
    """
    return member("_get_process_group_name", group).group_name


def process_group_store(group: Any) -> Any:
    """Return the store of a group's processes.

    Raises: GroupError (RuntimeError, ValueError) before `init_process_group`, ArgumentTypeError for a value that
            is not a group.
    Example:
        >>> from flambeau.distributed.distributed_c10d import _get_process_group_store
        >>> torch.distributed.init_process_group("gloo")
        >>> store = _get_process_group_store(torch.distributed.group.WORLD)
        >>> store.add("steps", 2)
        2
        >>> torch.distributed.destroy_process_group()
    """
    return member("_get_process_group_store", group).get_group_store()


def default_store() -> Any:
    """Return the store of the job's processes.

    Raises: GroupError (RuntimeError, ValueError) before `init_process_group`.
    Example:
        >>> from flambeau.distributed.distributed_c10d import _get_default_store
        >>> torch.distributed.init_process_group("gloo")
        >>> _get_default_store().add("steps", 2)
        2
        >>> torch.distributed.destroy_process_group()
    """
    return member("_get_default_store", None).get_group_store()


def get_rank(group: Any = None) -> int:
    """Return this process's rank in a group; -1 if it is not a member.

    group: None for the default group; GroupMember.NON_GROUP_MEMBER gives -1.
    Raises: GroupError (RuntimeError, ValueError) before `init_process_group`, ArgumentTypeError for a value that
            is not a group.
    Example:
        >>> torch.distributed.init_process_group("gloo")
        >>> torch.distributed.get_rank()
        0
        >>> torch.distributed.destroy_process_group()
    """
    return -1 if group is GroupMember.NON_GROUP_MEMBER else member("get_rank", group).rank()


def get_world_size(group: Any = None) -> int:
    """Return the number of a group's processes; -1 if this process is not a member.

    group: None for the default group; GroupMember.NON_GROUP_MEMBER gives -1.
    Raises: GroupError (RuntimeError, ValueError) before `init_process_group`, ArgumentTypeError for a value that
            is not a group.
    Example:
        >>> torch.distributed.init_process_group("gloo")
        >>> torch.distributed.get_world_size()
        1
        >>> torch.distributed.destroy_process_group()
    """
    return -1 if group is GroupMember.NON_GROUP_MEMBER else member("get_world_size", group).size()


def get_backend(group: Any = None) -> str:
    """Return the name of a group's backend, such as "gloo".

    group: None for the default group.
    Raises: GroupError (RuntimeError, ValueError) before `init_process_group`, ArgumentTypeError for a value that
            is not a group.
    Example:
        >>> torch.distributed.init_process_group("gloo")
        >>> torch.distributed.get_backend()
        'gloo'
        >>> torch.distributed.destroy_process_group()
    """
    return member("get_backend", group).backend


def get_process_group_ranks(group: Any = None) -> list[int]:
    """Return the global ranks of a group's processes, as a list in the order of their ranks in the group.

    group: None for the default group.
    Raises: GroupError (RuntimeError, ValueError) before `init_process_group`, ArgumentTypeError for a value that
            is not a group.
    Example:
        >>> torch.distributed.init_process_group("gloo")
        >>> torch.distributed.get_process_group_ranks(None)
        [0]
        >>> torch.distributed.destroy_process_group()
    """
    return list(member("get_process_group_ranks", group).ranks)


def get_global_rank(group: Any, group_rank: int) -> int:
    """Return the global rank of the process that has the rank `group_rank` in a group.

    group: None for the default group.
    Raises: ValueRangeError for a rank that is not in the group, RankError for a value that is not an integer;
            GroupError before `init_process_group`.
    Example:
        >>> torch.distributed.init_process_group("gloo")
        >>> torch.distributed.get_global_rank(None, 0), torch.distributed.get_group_rank(None, 0)
        (0, 0)
        >>> torch.distributed.destroy_process_group()
    """
    process_group = member("get_global_rank", group)
    return process_group.ranks[_place("get_global_rank", "group_rank", group_rank, tuple(range(process_group.size())))]


def get_group_rank(group: Any, global_rank: int) -> int:
    """Return the rank in a group of the process that has the global rank `global_rank`.

    group: None for the default group.
    Raises: ValueRangeError for a process that is not in the group, RankError for a value that is not an integer;
            GroupError before `init_process_group`.
    Example:
        >>> torch.distributed.init_process_group("gloo")
        >>> torch.distributed.get_group_rank(None, 0)
        0
        >>> torch.distributed.destroy_process_group()
    """
    return _place("get_group_rank", "global_rank", global_rank, member("get_group_rank", group).ranks)


def get_node_local_rank(fallback_rank: int | None = None) -> int:
    """Return this process's number among the processes of its host: the environment variable LOCAL_RANK.

    fallback_rank: returned if the variable is not set.
    Raises: GroupError (RuntimeError, ValueError) if the variable is not set and `fallback_rank` is None; ArgumentError
            if the value is not a number.
    Example:
        >>> torch.distributed.get_node_local_rank(0)
        0
    """
    name, text = "get_node_local_rank", os.environ.get("LOCAL_RANK")
    if text is None and fallback_rank is None:
        raise GroupError("LOCAL_RANK is not in the environment", hint="pass fallback_rank=0", operator=name)
    try:
        return int(fallback_rank or 0) if text is None else int(text)
    except (ValueError, TypeError):
        fact = f"fallback_rank is {shown(fallback_rank)}" if text is None else f"LOCAL_RANK is {text!r}"
        raise ArgumentError(f"{fact}, which is not a number", hint="for example 0", operator=name) from None


def _place(name: str, what: str, rank: Any, known: tuple[int, ...]) -> int:
    """Return the index of a rank in the ranks of a group.  Raises ValueRangeError, or RankError for no integer."""
    ranks, hint = ", ".join(map(str, known)), "pass one of them"
    if isinstance(rank, bool) or not hasattr(rank, "__index__"):
        raise RankError(
            f"{what} must be an integer, got {shown(rank)}, and the group has the ranks {ranks}",
            hint=hint,
            operator=name,
        )
    if rank not in known:
        raise ValueRangeError(
            f"{what} must be a rank of the group, which has {ranks}, got {shown(rank)}", hint=hint, operator=name
        )
    return known.index(rank)


def rank_in_group(
    name: str, what: str, rank: Any, group: Any, group_rank: Any = None, default: int | None = None
) -> int:
    """Return a process's rank in a group, from its global rank or its rank in the group.

    default: the global rank if neither is given; None raises ArgumentError then, as giving both does.
    """
    process_group = member(name, group)
    if group_rank is not None:
        if rank is not None:
            raise ArgumentError(
                f"both {what}={shown(rank)} and group_{what}={shown(group_rank)} are given",
                hint="pass one of them",
                operator=name,
            )
        return _place(name, f"group_{what}", group_rank, tuple(range(process_group.size())))
    rank = default if rank is None else rank
    if rank is None:
        raise ArgumentError(f"{what} is missing", hint=f"name the process: {what}=0, or group_{what}=0", operator=name)
    return _place(name, what, rank, process_group.ranks)


# collectives


@for_members
def all_reduce(tensor: Any, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False) -> Work | None:
    """Reduce a tensor over all processes, in place.

    op:       a ReduceOp, by default SUM; or the result of `_make_nccl_premul_sum`.
    group:    a ProcessGroup; None for the default group.  With GroupMember.NON_GROUP_MEMBER, the call only warns.
    async_op: if True, return a Work without waiting; if False, return None.
    Shapes:   any, the same in all processes.
    Host:     waits for the other processes if the tensor is on the CPU, and does not wait if it is on a GPU.
    Raises:   GroupError before `init_process_group`; ArgumentTypeError for an argument of a wrong type; in a group of
              several processes NotSupportedError for a reduction that the tensor's dtype does not have, ArgumentError
              for a tensor with gaps between its elements; CollectiveError if the processes' calls differ or one has
              ended.
              Other collectives raise the same.
    Example:
        >>> torch.distributed.init_process_group("gloo")
        >>> x = torch.ones(2)
        >>> torch.distributed.all_reduce(x)
        >>> x
        tensor([1., 1.])
        >>> torch.distributed.destroy_process_group()
    """
    process_group = member("all_reduce", group)
    checked_tensor("all_reduce", "tensor", tensor)
    return several.ended(process_group.allreduce(tensor, op), async_op)


@for_members
def reduce(
    tensor: Any,
    dst: int | None = None,
    op: Any = ReduceOp.SUM,
    group: Any = None,
    async_op: bool = False,
    group_dst: int | None = None,
) -> Work | None:
    """Reduce a tensor over all processes, into the tensor of one process; the other tensors are unchanged.

    dst: the global rank of the process that gets the result.  group_dst: its rank in the group, in place of dst.
    op, group, async_op: as in `all_reduce`.
    Shapes: any, the same in all processes.
    Raises: ArgumentError if no rank is given; ValueRangeError for a rank that is not in the group; the errors of
            `all_reduce`.
    Example:
        >>> torch.distributed.init_process_group("gloo")
        >>> x = torch.ones(2)
        >>> torch.distributed.reduce(x, dst=0)
        >>> x
        tensor([1., 1.])
        >>> torch.distributed.destroy_process_group()
    """
    process_group, target = member("reduce", group), rank_in_group("reduce", "dst", dst, group, group_dst)
    checked_tensor("reduce", "tensor", tensor)
    return several.ended(process_group.reduce(tensor, target, op), async_op)


@for_members
def broadcast(
    tensor: Any, src: int | None = None, group: Any = None, async_op: bool = False, group_src: int | None = None
) -> Work | None:
    """Copy the tensor of one process into the tensors of the other processes.

    src: the sender's global rank.  group_src: its rank in the group, in place of src.
    group, async_op: as in `all_reduce`.
    Shapes: any, the same in all processes.
    Raises: ArgumentError if no rank is given; ValueRangeError for a rank that is not in the group; the errors of
            `all_reduce`.
    Example:
        >>> torch.distributed.init_process_group("gloo")
        >>> x = torch.ones(2)
        >>> torch.distributed.broadcast(x, src=0)
        >>> x
        tensor([1., 1.])
        >>> torch.distributed.destroy_process_group()
    """
    process_group, source = member("broadcast", group), rank_in_group("broadcast", "src", src, group, group_src)
    checked_tensor("broadcast", "tensor", tensor)
    return several.ended(process_group.broadcast(tensor, source), async_op)


@for_members
def all_gather(tensor_list: Any, tensor: Any, group: Any = None, async_op: bool = False) -> Work | None:
    """Copy every process's tensor into a list of tensors.

    tensor_list: one tensor per process; entry i receives the tensor of rank i.
    group, async_op: as in `all_reduce`.
    Shapes: each entry has as many elements as the tensor.
    Raises: ArgumentTypeError or ValueRangeError unless tensor_list is a list with one tensor per process; ShapeError
            for an entry of another size; the errors of `all_reduce`.
    Example:
        >>> torch.distributed.init_process_group("gloo")
        >>> found = [torch.zeros(2)]
        >>> torch.distributed.all_gather(found, torch.ones(2))
        >>> found
        [tensor([1., 1.])]
        >>> torch.distributed.destroy_process_group()
    """
    process_group = member("all_gather", group)
    checked_tensor("all_gather", "the input", tensor)
    return several.ended(process_group.allgather(tensor_list, tensor), async_op)


@for_members
def all_gather_into_tensor(
    output_tensor: Any, input_tensor: Any, group: Any = None, async_op: bool = False
) -> Work | None:
    """Copy every process's tensor into one tensor, in rank order.

    output_tensor: a tensor with get_world_size(group) times the elements of input_tensor.
    group, async_op: as in `all_reduce`.
    Raises: ShapeError for an output of another size; the errors of `all_reduce`.
    Example:
        >>> torch.distributed.init_process_group("gloo")
        >>> found = torch.zeros(2)
        >>> torch.distributed.all_gather_into_tensor(found, torch.ones(2))
        >>> found
        tensor([1., 1.])
        >>> torch.distributed.destroy_process_group()
    """
    process_group = member("all_gather_into_tensor", group)
    return several.ended(process_group.all_gather_single(output_tensor, input_tensor), async_op)


@for_members
def gather(
    tensor: Any,
    gather_list: Any = None,
    dst: int | None = None,
    group: Any = None,
    async_op: bool = False,
    group_dst: int | None = None,
) -> Work | None:
    """Copy every process's tensor into a list of tensors on one process.

    gather_list: on the receiver, one tensor per process; entry i receives the tensor of rank i.  None elsewhere.
    dst: the receiver's global rank; 0 by default.  group_dst: its rank in the group, in place of dst.
    group, async_op: as in `all_reduce`.
    Shapes: each entry has as many elements as the tensor.
    Raises: ArgumentTypeError or ValueRangeError unless the receiver's gather_list is a list with one tensor per
            process; ValueRangeError for a rank that is not in the group; ShapeError for an entry of another size; the
            errors of `all_reduce`.
    Example:
        >>> torch.distributed.init_process_group("gloo")
        >>> found = [torch.zeros(2)]
        >>> torch.distributed.gather(torch.ones(2), found)
        >>> found
        [tensor([1., 1.])]
        >>> torch.distributed.destroy_process_group()
    """
    process_group = member("gather", group)
    target = rank_in_group("gather", "dst", dst, group, group_dst, default=0)
    checked_tensor("gather", "the input", tensor)
    return several.ended(process_group.gather(gather_list, tensor, target), async_op)


@for_members
def scatter(
    tensor: Any,
    scatter_list: Any = None,
    src: int | None = None,
    group: Any = None,
    async_op: bool = False,
    group_src: int | None = None,
) -> Work | None:
    """Send entry i of the sender's `scatter_list` to rank i, which receives it in `tensor`.

    scatter_list: on the sender, one tensor per process.  None elsewhere.
    src: the sender's global rank; 0 by default.  group_src: its rank in the group, in place of src.
    group, async_op: as in `all_reduce`.
    Shapes: each entry has as many elements as `tensor`.
    Raises: ArgumentTypeError or ValueRangeError unless the sender's scatter_list is a list with one tensor per process;
            ValueRangeError for a rank that is not in the group; ShapeError for an entry of another size than `tensor`;
            the errors of `all_reduce`.
    Example:
        >>> torch.distributed.init_process_group("gloo")
        >>> found = torch.zeros(2)
        >>> torch.distributed.scatter(found, [torch.ones(2)], src=0)
        >>> found
        tensor([1., 1.])
        >>> torch.distributed.destroy_process_group()
    """
    process_group = member("scatter", group)
    source = rank_in_group("scatter", "src", src, group, group_src, default=0)
    checked_tensor("scatter", "the output", tensor)
    return several.ended(process_group.scatter(tensor, scatter_list, source), async_op)


@for_members
def reduce_scatter(
    output: Any, input_list: Any, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False
) -> Work | None:
    """Reduce a list of tensors over all processes, entry by entry; rank i gets the result of entry i.

    output: the tensor that receives the result.  input_list: one tensor per process, each of the size of `output`.
    op, group, async_op: as in `all_reduce`.
    Raises: ArgumentTypeError or ValueRangeError unless input_list is a list with one tensor per process; ShapeError for
            an entry of another size; the errors of `all_reduce`.
    Example:
        >>> torch.distributed.init_process_group("gloo")
        >>> found = torch.zeros(2)
        >>> torch.distributed.reduce_scatter(found, [torch.ones(2)])
        >>> found
        tensor([1., 1.])
        >>> torch.distributed.destroy_process_group()
    """
    process_group = member("reduce_scatter", group)
    checked_tensor("reduce_scatter", "the output", output)
    return several.ended(process_group.reduce_scatter(output, input_list, op), async_op)


@for_members
def reduce_scatter_tensor(
    output: Any, input: Any, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False
) -> Work | None:
    """Reduce a tensor over all processes, and divide the result: rank i gets part i in `output`.

    input: a tensor with get_world_size(group) times the elements of `output`.
    op, group, async_op: as in `all_reduce`.
    Raises: ShapeError for an input of another size; the errors of `all_reduce`.
    Example:
        >>> torch.distributed.init_process_group("gloo")
        >>> found = torch.zeros(2)
        >>> torch.distributed.reduce_scatter_tensor(found, torch.ones(2))
        >>> found
        tensor([1., 1.])
        >>> torch.distributed.destroy_process_group()
    """
    process_group, options = member("reduce_scatter_tensor", group), ReduceScatterOptions()
    options.reduceOp = op
    return several.ended(process_group.reduce_scatter_single(output, input, options), async_op)


@for_members
def all_to_all(
    output_tensor_list: Any, input_tensor_list: Any, group: Any = None, async_op: bool = False
) -> Work | None:
    """Send one tensor to each process and receive one from each.

    output_tensor_list: one tensor per process; entry i receives the tensor from rank i.
    input_tensor_list: one tensor per process; entry i is sent to rank i.
    group, async_op: as in `all_reduce`.
    Raises: ArgumentTypeError or ValueRangeError unless both lists have one tensor per process; ArgumentError for
            tensors of several dtypes; CollectiveError if a sent and a received size differ; the errors of `all_reduce`.
    Example:
        >>> torch.distributed.init_process_group("gloo")
        >>> found = [torch.zeros(2)]
        >>> torch.distributed.all_to_all(found, [torch.ones(2)])
        >>> found
        [tensor([1., 1.])]
        >>> torch.distributed.destroy_process_group()
    """
    process_group = member("all_to_all", group)
    return several.ended(process_group.alltoall(output_tensor_list, input_tensor_list), async_op)


@for_members
def all_to_all_single(
    output: Any,
    input: Any,
    output_split_sizes: Any = None,
    input_split_sizes: Any = None,
    group: Any = None,
    async_op: bool = False,
) -> Work | None:
    """Send some rows of a tensor to each process and receive some rows from each.

    output_split_sizes: a list with the number of rows to receive from each process; None for equal numbers.
    input_split_sizes: a list with the number of rows to send to each process; None for equal numbers.
    group, async_op: as in `all_reduce`.
    Raises: ShapeError unless a tensor's rows are the sum of its sizes; ArgumentError if the tensors differ in dtype;
            CollectiveError if a sent and a received size differ; the errors of `all_reduce`.
    Example:
        >>> torch.distributed.init_process_group("gloo")
        >>> found = torch.zeros(2)
        >>> torch.distributed.all_to_all_single(found, torch.ones(2))
        >>> found
        tensor([1., 1.])
        >>> torch.distributed.destroy_process_group()
    """
    process_group = member("all_to_all_single", group)
    return several.ended(
        process_group.all_to_all_single(output, input, output_split_sizes, input_split_sizes), async_op
    )


@for_members
def barrier(
    group: Any = None, async_op: bool = False, device_ids: Any = None, timeout: timedelta | float | None = None
) -> Work | None:
    """Wait until all processes of a group have called this.

    group: None for the default group.  device_ids: has no effect.
    async_op: if True, return a Work without waiting, whose `wait` waits for the processes; if False, return None.
    timeout: a timedelta, or a float of seconds, for this call; None for the group's timeout.
    Host:   waits for the processes, and once GPUs have run collectives, for the current stream too.
    Raises: GroupError before `init_process_group`; ArgumentTypeError for a timeout of another type;
            CollectiveError if the processes' calls differ, one has ended, or the timeout has expired.
    Example:
        >>> torch.distributed.init_process_group("gloo")
        >>> torch.distributed.barrier()
        >>> torch.distributed.destroy_process_group()
    """
    return several.ended(member("barrier", group).barrier(timeout=timeout), async_op)


@for_members
def monitored_barrier(
    group: Any = None, timeout: timedelta | float | None = None, wait_all_ranks: bool = False
) -> None:
    """Wait until all processes of a group have called this.

    group: None for the default group.  wait_all_ranks: has no effect.
    timeout: a timedelta, or a float of seconds, for this call; None for the group's timeout.
    Host:   waits.
    Raises: the errors of `barrier`.  If a process does not arrive in time, the message lists the call of each process.
    Example:
        >>> torch.distributed.init_process_group("gloo")
        >>> torch.distributed.monitored_barrier()
        >>> torch.distributed.destroy_process_group()
    """
    member("monitored_barrier", group).monitored_barrier(timeout, wait_all_ranks)


def _objects(group: ProcessGroup, name: str, obj: Any) -> list[Any]:
    """Return every rank's object.  Objects are pickled: the processes of a job trust each other."""
    return [pickle.loads(data) for data in several.exchange(group, name, _pickled(name, obj))]


def _pickled(name: str, obj: Any) -> bytes:
    data = pickle.dumps(obj)
    if len(data) > LARGE:
        raise ArgumentError(
            f"an object of {len(data)} bytes; at most {LARGE} are sent",
            hint="send tensors by all_gather",
            operator=name,
        )
    return data


@for_members
def all_gather_object(object_list: Any, obj: Any, group: Any = None) -> None:
    """Put a copy of every process's object into a list.

    Objects are pickled, and unpickling can run code: every process of the job must be trusted.
    object_list: a list with one entry per process; entry i becomes the object of rank i.
    Host:   waits.
    Raises: ArgumentTypeError or ValueRangeError for another list; ArgumentError for an object that is too large when
            pickled; GroupError before `init_process_group`; CollectiveError if the processes' calls differ or
            one has ended.
    Example:
        >>> torch.distributed.init_process_group("gloo")
        >>> found = [None]
        >>> torch.distributed.all_gather_object(found, {"loss": 1.5})
        >>> found
        [{'loss': 1.5}]
        >>> torch.distributed.destroy_process_group()
    """
    process_group = member("all_gather_object", group)
    entries("all_gather_object", "object_list", object_list, process_group)
    if process_group.is_shared:
        object_list[:] = _objects(process_group, "all_gather_object", obj)
    else:
        object_list[0] = copy.deepcopy(obj)


@for_members
def gather_object(
    obj: Any,
    object_gather_list: Any = None,
    dst: int | None = None,
    group: Any = None,
    group_dst: int | None = None,
) -> None:
    """Put a copy of every process's object into a list on one process.

    Objects are pickled, and unpickling can run code: every process of the job must be trusted.
    object_gather_list: on the receiver, a list with one entry per process.  None elsewhere.
    dst: the receiver's global rank; 0 by default.  group_dst: its rank in the group, in place of dst.
    Host:   waits.
    Raises: the errors of `all_gather_object`; ValueRangeError for a rank that is not in the group.
    Example:
        >>> torch.distributed.init_process_group("gloo")
        >>> found = [None]
        >>> torch.distributed.gather_object("text", found)
        >>> found
        ['text']
        >>> torch.distributed.destroy_process_group()
    """
    process_group = member("gather_object", group)
    target = rank_in_group("gather_object", "dst", dst, group, group_dst, default=0)
    if process_group.rank() == target:
        entries("gather_object", "object_gather_list", object_gather_list, process_group)
    if process_group.is_shared:
        objects = _objects(process_group, "gather_object", obj)
        if process_group.rank() == target:
            object_gather_list[:] = objects
    else:
        object_gather_list[0] = copy.deepcopy(obj)


@for_members
def broadcast_object_list(
    object_list: Any, src: int | None = None, group: Any = None, device: Any = None, group_src: int | None = None
) -> None:
    """Send one process's list of objects to all processes.

    Objects are pickled, and unpickling can run code: the sender must be trusted.
    object_list: the objects to send; in the other processes, a list of the same length, which is overwritten.
    src: the sender's global rank; 0 by default.  group_src: its rank in the group, in place of src.
    device: has no effect.
    Host:   waits.
    Raises: ArgumentTypeError for a value that is not a list, ArgumentError for a list of another length;
            ValueRangeError for a rank that is not in the group; the errors of `all_gather_object`.
    Example:
        >>> torch.distributed.init_process_group("gloo")
        >>> objects = ["text", 1]
        >>> torch.distributed.broadcast_object_list(objects, src=0)
        >>> objects
        ['text', 1]
        >>> torch.distributed.destroy_process_group()
    """
    name = "broadcast_object_list"
    process_group, source = member(name, group), rank_in_group(name, "src", src, group, group_src, default=0)
    if not isinstance(object_list, MutableSequence):
        raise ArgumentTypeError(
            f"object_list must be a list, got {shown(object_list)}", hint="pass [object, ...]", operator=name
        )
    if process_group.is_shared:
        sent = _objects(process_group, name, object_list if process_group.rank() == source else None)[source]
        if len(sent) != len(object_list):
            raise ArgumentError(
                f"rank {source} sends {len(sent)} objects, and the list has {len(object_list)}",
                hint="pass a list of that length",
                operator=name,
            )
        object_list[:] = sent


@for_members
def scatter_object_list(
    scatter_object_output_list: Any,
    scatter_object_input_list: Any = None,
    src: int | None = None,
    group: Any = None,
    group_src: int | None = None,
) -> None:
    """Send object i of one process's list to rank i.

    Objects are pickled, and unpickling can run code: the sender must be trusted.
    scatter_object_output_list: a list; its first entry is replaced by the received object.
    scatter_object_input_list: on the sender, a list with one object per process.  None elsewhere.
    src: the sender's global rank; 0 by default.  group_src: its rank in the group, in place of src.
    Host:   waits.
    Raises: ArgumentError for an output list without an entry; ValueRangeError for a rank that is not in the group; the
            errors of `all_gather_object`.
    Example:
        >>> torch.distributed.init_process_group("gloo")
        >>> found = [None]
        >>> torch.distributed.scatter_object_list(found, ["text"])
        >>> found
        ['text']
        >>> torch.distributed.destroy_process_group()
    """
    name = "scatter_object_list"
    own_group, source = member(name, group), rank_in_group(name, "src", src, group, group_src, default=0)
    if not isinstance(scatter_object_output_list, list) or not scatter_object_output_list:
        raise ArgumentError(
            f"scatter_object_output_list must be a list with an entry, got {shown(scatter_object_output_list)}",
            hint="pass [None]",
            operator=name,
        )
    if own_group.rank() == source:
        entries(name, "scatter_object_input_list", scatter_object_input_list, own_group)
    if own_group.is_shared:
        sent = _objects(own_group, name, scatter_object_input_list if own_group.rank() == source else None)[source]
        scatter_object_output_list[0] = sent[own_group.rank()]
    else:
        scatter_object_output_list[0] = copy.deepcopy(scatter_object_input_list[0])


def _receiver(name: str, dst: Any, group: Any, group_dst: Any) -> tuple[ProcessGroup, int]:
    """Return the group, and the receiver's rank in it."""
    process_group = member(name, group)
    check_several(process_group, name)
    return process_group, rank_in_group(name, "dst", dst, group, group_dst)


def _sender(name: str, src: Any, group: Any, group_src: Any) -> tuple[ProcessGroup, int | None]:
    """Return the group, and the sender's rank in it; None for any sender."""
    process_group = member(name, group)
    check_several(process_group, name)
    if src is None and group_src is None:
        return process_group, None
    return process_group, rank_in_group(name, "src", src, group, group_src)


def _message(name: str, tensor: Any, peer: Any, group: Any, group_peer: Any, tag: Any, is_sent: bool) -> Work:
    member(name, group)
    checked_tensor(name, "tensor", tensor)
    find = _receiver if is_sent else _sender
    process_group, other = find(name, peer, group, group_peer)
    return message(process_group, name, tensor, other, tag, is_sent)


@for_members
def isend(
    tensor: Any, dst: int | None = None, group: Any = None, tag: int = 0, group_dst: int | None = None
) -> Work | None:
    """Begin to send a tensor to one process; return a Work.

    dst: the receiver's global rank.  group_dst: the receiver's rank in the group, in place of dst.
    group: None for the default group.
    tag: an int that distinguishes messages; the receiver must pass the same.
    Host:   waits only for the first message between two processes.
    Raises: NotSupportedError in a group of one process; ArgumentTypeError for a value that is not a tensor, or a tag
            that is not an integer; ArgumentError if no rank is given; ValueRangeError for a rank that is not in the
            group, or is this process's; CollectiveError if the receiver's tensor has another size or type, or a
            process has ended.
    Example:
        >>> torch.distributed.init_process_group("gloo")
        >>> torch.distributed.isend(torch.ones(1), 0)
        Traceback (most recent call last):
        ...
        flambeau.errors.NotSupportedError: isend: the group has one process only
        hint: start several ranks: flambeau run --nproc 2 program.py
        >>> torch.distributed.destroy_process_group()
    """
    return _message("isend", tensor, dst, group, group_dst, tag, is_sent=True)


@for_members
def irecv(
    tensor: Any, src: int | None = None, group: Any = None, tag: int = 0, group_src: int | None = None
) -> Work | None:
    """Begin to receive a tensor from one process; return a Work.

    A tensor on the CPU is written when the program calls `wait` on the Work.
    src: the sender's global rank; None receives the first message with the tag from any process, and `source_rank()` of
        the Work is the sender's rank in the group.  group_src: the sender's rank in the group, in place of src.
    tag: an int that distinguishes messages; the sender must pass the same.
    Raises: NotSupportedError in a group of one process, and without `src` for a tensor on a GPU if the backend is
            "nccl", as NCCL has no such receive; the errors of `isend` for its other arguments.
    Example:
        >>> torch.distributed.init_process_group("gloo")
        >>> torch.distributed.irecv(torch.ones(1), 0)
        Traceback (most recent call last):
        ...
        flambeau.errors.NotSupportedError: irecv: the group has one process only
        hint: start several ranks: flambeau run --nproc 2 program.py
        >>> torch.distributed.destroy_process_group()
    """
    return _message("irecv", tensor, src, group, group_src, tag, is_sent=False)


@for_members
def send(tensor: Any, dst: int | None = None, group: Any = None, tag: int = 0, group_dst: int | None = None) -> None:
    """Send a tensor to one process.

    dst, group, group_dst, tag: as in `isend`.
    Host:   for a CPU tensor, waits until the other process has received it.
    Raises: the errors of `isend`.
    Example:
        >>> torch.distributed.init_process_group("gloo")
        >>> torch.distributed.send(torch.ones(1), 0)
        Traceback (most recent call last):
        ...
        flambeau.errors.NotSupportedError: send: the group has one process only
        hint: start several ranks: flambeau run --nproc 2 program.py
        >>> torch.distributed.destroy_process_group()
    """
    several.ended(_message("send", tensor, dst, group, group_dst, tag, is_sent=True), async_op=False)


@for_members
def recv(tensor: Any, src: int | None = None, group: Any = None, tag: int = 0, group_src: int | None = None) -> int:
    """Receive a tensor from one process; return the sender's global rank.

    src: the sender's global rank; None receives the first message with the tag from any process.
    group_src: the sender's rank in the group, in place of src.  tag: an int; the sender must pass the same.
    Host:   waits if the tensor is on the CPU; without a sender, also if it is on a GPU.
    Raises: the errors of `irecv`.
    Example:
        >>> torch.distributed.init_process_group("gloo")
        >>> torch.distributed.recv(torch.ones(1), 0)
        Traceback (most recent call last):
        ...
        flambeau.errors.NotSupportedError: recv: the group has one process only
        hint: start several ranks: flambeau run --nproc 2 program.py
        >>> torch.distributed.destroy_process_group()
    """
    work = _message("recv", tensor, src, group, group_src, tag, is_sent=False)
    several.ended(work, async_op=False)
    process_group, source = _sender("recv", src, group, group_src)
    return process_group.ranks[work.source_rank() if source is None else source]


@for_members
def send_object_list(
    object_list: Any,
    dst: int | None = None,
    group: Any = None,
    device: Any = None,
    group_dst: int | None = None,
    use_batch: bool = False,
) -> None:
    """Send a list of picklable objects to one process, which calls `recv_object_list`.

    device, use_batch: have no effect.
    dst: the receiver's global rank.  group_dst: its rank in the group, in place of dst.
    Host:   waits.
    Raises: NotSupportedError in a group of one process; ArgumentError if no rank is given, or for a list that is too
            large when pickled; ValueRangeError for a rank that is not in the group; CollectiveError if a process has
            ended.
    Example:
        >>> torch.distributed.init_process_group("gloo")
        >>> torch.distributed.send_object_list(["text"], 0)
        Traceback (most recent call last):
        ...
        flambeau.errors.NotSupportedError: send_object_list: the group has one process only
        hint: start several ranks: flambeau run --nproc 2 program.py
        >>> torch.distributed.destroy_process_group()
    """
    name = "send_object_list"
    process_group, other = _receiver(name, dst, group, group_dst)
    messages.pass_bytes(process_group, name, _pickled(name, object_list), process_group.rank(), other)


@for_members
def recv_object_list(
    object_list: Any,
    src: int | None = None,
    group: Any = None,
    device: Any = None,
    group_src: int | None = None,
    use_batch: bool = False,
) -> int:
    """Receive a list of objects from one process; return the sender's global rank.

    Objects are unpickled, which can run code: the sender must be trusted.
    device, use_batch: have no effect.
    object_list: a list of the same length as the sent one, which is overwritten.
    src: the sender's global rank; None receives from any process.  group_src: its rank in the group, in place of src.
    Host:   waits.
    Raises: NotSupportedError in a group of one process; ArgumentError unless the list is as long as the sent one;
            ValueRangeError for a rank that is not in the group; CollectiveError if a process has ended.
    Example:
        >>> torch.distributed.init_process_group("gloo")
        >>> torch.distributed.recv_object_list([None], 0)
        Traceback (most recent call last):
        ...
        flambeau.errors.NotSupportedError: recv_object_list: the group has one process only
        hint: start several ranks: flambeau run --nproc 2 program.py
        >>> torch.distributed.destroy_process_group()
    """
    name = "recv_object_list"
    process_group, other = _sender(name, src, group, group_src)
    data, source = messages.pass_bytes(process_group, name, b"", other, process_group.rank())
    sent = pickle.loads(data)
    if len(sent) != len(object_list):
        raise ArgumentError(
            f"{len(sent)} objects were sent, and the list has {len(object_list)}",
            hint="pass a list of that length",
            operator=name,
        )
    object_list[:] = sent
    return process_group.ranks[source]


class Spread:
    """Base of classes for values distributed over processes: only for imports and `isinstance`, never instantiated."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise NotSupportedError(
            "values distributed over processes are not supported", hint=SPREAD, operator=type(self).__name__
        )


class DTensor(Spread):
    """A placeholder for PyTorch's DTensor, a tensor distributed over processes: only for imports and `isinstance`.

    Raises: NotSupportedError when called.
    Example:
        >>> from flambeau.distributed.tensor import DTensor
        >>> isinstance(torch.ones(1), DTensor)
        False
    """


class DeviceMesh(Spread):
    """A placeholder for PyTorch's DeviceMesh, an array of processes: only for imports and `isinstance`.

    Raises: NotSupportedError when called.
    Example:
        >>> from flambeau.distributed.device_mesh import DeviceMesh
        >>> DeviceMesh("cuda", [0, 1])
        Traceback (most recent call last):
        ...
        flambeau.errors.NotSupportedError: DeviceMesh: values distributed over processes are not supported
        hint: DistributedDataParallel keeps a whole copy in each process
    """


class Placement:
    """Base class of descriptions of how a tensor is distributed over processes: Replicate, Shard and Partial.

    Placements can be compared and printed.  No function of flambeau uses them, as it has no distributed tensors.
    Example:
        >>> from flambeau.distributed.tensor import Placement, Replicate, Shard
        >>> isinstance(Shard(0), Placement), Shard(0) == Shard(0), Shard(0) == Replicate()
        (True, True, False)
    """

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and vars(other) == vars(self)

    def __hash__(self) -> int:
        return hash((type(self), *vars(self).values()))

    def __repr__(self) -> str:
        values = ", ".join(f"{name}={value!r}" for name, value in vars(self).items())
        return f"{type(self).__name__}({values})"


class Shard(Placement):
    """A Placement in which each process has a part of the tensor, divided along its dimension `dim`.

    Placements can be compared and printed, but distributed tensors are not supported.
    Example:
        >>> from flambeau.distributed.tensor import Shard
        >>> Shard(0)
        Shard(dim=0)
    """

    def __init__(self, dim: int) -> None:
        self.dim = dim


class Replicate(Placement):
    """A Placement in which each process has the whole tensor.

    Placements can be compared and printed, but distributed tensors are not supported.
    Example:
        >>> from flambeau.distributed.tensor import Replicate
        >>> Replicate()
        Replicate()
    """


class Partial(Placement):
    """A Placement in which each process has one operand, and the tensor is the reduction of the operands.

    reduce_op: the name of the reduction.  Placements can be compared and printed, but distributed tensors are not
    supported.
    Example:
        >>> from flambeau.distributed.tensor import Partial
        >>> Partial()
        Partial(reduce_op='sum')
    """

    def __init__(self, reduce_op: str = "sum") -> None:
        self.reduce_op = reduce_op


class FullyShardedDataParallel(Spread):
    """A placeholder for PyTorch's class of modules with parameters distributed over processes: only for `isinstance`.

    Raises: NotSupportedError when called.
    Example:
        >>> from flambeau.distributed.fsdp import FullyShardedDataParallel
        >>> isinstance(torch.nn.Linear(1, 1), FullyShardedDataParallel)
        False
    """


def _class_of_several(path: str) -> type[Spread]:
    """Make a class for imports and `isinstance` that cannot be instantiated.  path: its name in torch.distributed."""
    module, _, name = path.rpartition(".")
    doc = f"""A placeholder for PyTorch's {name}: only for imports and `isinstance`, never instantiated.

    Raises: NotSupportedError when called.
    Example:
        >>> from flambeau.distributed.{module} import {name}
        >>> {name}()
        Traceback (most recent call last):
        ...
        flambeau.errors.NotSupportedError: {name}: values distributed over processes are not supported
        hint: DistributedDataParallel keeps a whole copy in each process
    """
    return type(name, (Spread,), {"__doc__": doc, "__module__": __name__})


HuggingFaceStorageReader, HuggingFaceStorageWriter = [
    _class_of_several(f"checkpoint.hf_storage.{name}")
    for name in ("HuggingFaceStorageReader", "HuggingFaceStorageWriter")
]
(
    BackwardPrefetch, CPUOffload, CPUOffloadPolicy, FSDPModule, FullOptimStateDictConfig, FullStateDictConfig,
    MixedPrecision, MixedPrecisionPolicy, OffloadPolicy, OptimStateKeyType, ShardedOptimStateDictConfig,
    ShardedStateDictConfig, ShardingStrategy, StateDictType,
) = [
    _class_of_several(f"fsdp.{name}")
    for name in (
        "BackwardPrefetch", "CPUOffload", "CPUOffloadPolicy", "FSDPModule", "FullOptimStateDictConfig",
        "FullStateDictConfig", "MixedPrecision", "MixedPrecisionPolicy", "OffloadPolicy", "OptimStateKeyType",
        "ShardedOptimStateDictConfig", "ShardedStateDictConfig", "ShardingStrategy", "StateDictType",
    )
]  # fmt: skip
(
    CustomPolicy, ModelAverager, ModuleWrapPolicy, PeriodicModelAverager, PostLocalSGDOptimizer, RRef,
    ShardedGradScaler, StateDictOptions, ZeroRedundancyOptimizer,
) = [
    _class_of_several(path)
    for path in (
        "fsdp.wrap.CustomPolicy", "algorithms.model_averaging.averagers.ModelAverager", "fsdp.wrap.ModuleWrapPolicy",
        "algorithms.model_averaging.averagers.PeriodicModelAverager", "optim.PostLocalSGDOptimizer", "rpc.RRef",
        "fsdp.sharded_grad_scaler.ShardedGradScaler", "checkpoint.state_dict.StateDictOptions",
        "optim.ZeroRedundancyOptimizer",
    )
]  # fmt: skip


def _of_several(path: str) -> Callable[..., Any]:
    """Make a function that raises NotSupportedError.  path: its name in torch.distributed."""
    module, _, name = path.rpartition(".")

    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise NotSupportedError("values distributed over processes are not supported", hint=SPREAD, operator=name)

    refuse.__name__ = refuse.__qualname__ = name
    refuse.__doc__ = f"""Raise NotSupportedError: this function of torch.distributed.{module} is not supported.

    The name exists for imports.  Tensors, modules and objects that are distributed over processes are not supported.
    Example:
        >>> from flambeau.distributed.{module} import {name}
        >>> {name}()
        Traceback (most recent call last):
        ...
        flambeau.errors.NotSupportedError: {name}: values distributed over processes are not supported
        hint: DistributedDataParallel keeps a whole copy in each process
    """
    return refuse


distribute_tensor, distribute_module, fully_shard, init_device_mesh, compute_local_shape_and_global_offset = [
    _of_several(path)
    for path in (
        "tensor.distribute_tensor", "tensor.distribute_module", "fsdp.fully_shard", "device_mesh.init_device_mesh",
        "tensor._utils.compute_local_shape_and_global_offset",
    )
]  # fmt: skip
all_to_all_single_autograd = _of_several("_functional_collectives.all_to_all_single_autograd")
(
    always_wrap_policy, enable_wrap, lambda_auto_wrap_policy, size_based_auto_wrap_policy,
    transformer_auto_wrap_policy, wrap,
) = [
    _of_several(f"fsdp.wrap.{name}")
    for name in (
        "always_wrap_policy", "enable_wrap", "lambda_auto_wrap_policy", "size_based_auto_wrap_policy",
        "transformer_auto_wrap_policy", "wrap",
    )
]  # fmt: skip
(
    get_model_state_dict, get_optimizer_state_dict, get_state_dict, set_model_state_dict, set_optimizer_state_dict,
    set_state_dict,
) = [
    _of_several(f"checkpoint.state_dict.{name}")
    for name in (
        "get_model_state_dict", "get_optimizer_state_dict", "get_state_dict", "set_model_state_dict",
        "set_optimizer_state_dict", "set_state_dict",
    )
]  # fmt: skip
init_rpc, remote, rpc_async, rpc_sync, shutdown = [
    _of_several(f"rpc.{name}") for name in ("init_rpc", "remote", "rpc_async", "rpc_sync", "shutdown")
]
implicit_replication = _of_several("_tensor.experimental.implicit_replication")
register_fsdp_forward_method = _of_several("fsdp.register_fsdp_forward_method")


def dump_flight_recorder() -> str:
    """Return a record of this process's last collectives, as JSON text.

    Each item of "entries" describes one collective: its "call" is the function with the line that called it, its
    "state" is scheduled, started or completed, and its times are in nanoseconds.
    Raises: GroupError (RuntimeError, ValueError) before `init_process_group`.
    Example:
        >>> import json
        >>> from flambeau.distributed import flight_recorder
        >>> torch.distributed.init_process_group("gloo")
        >>> json.loads(flight_recorder.dump())["entries"]  # a group of one process records none
        []
        >>> torch.distributed.destroy_process_group()
    """
    client = member("flight_recorder.dump", None).client
    return FlightRecorder(0).dump() if client is None else client.recorder.dump()
