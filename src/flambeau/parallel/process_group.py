"""torch.distributed with one process: groups, and collectives that return at once with the process's own values.

- A group has this process alone: rank 0 of 1.  More than one process is refused by `init_process_group`.
- A collective copies its inputs to its outputs on the current streams; reductions of one value are that value.
- A function that needs a group raises an error before `init_process_group`, as in PyTorch.
"""

from __future__ import annotations

import copy
import os
from collections.abc import Callable, Sequence
from datetime import timedelta
from enum import IntEnum
from typing import Any

from ..autograd.mode import GradMode
from ..core import thread
from ..core.tensor import TensorBase
from ..errors import ArgumentError, ArgumentTypeError, ModeError, NotSupportedError, ShapeError, ValueRangeError, shown
from .futures import Future, future_of

BACKENDS = ("gloo", "nccl", "mpi", "ucc", "xccl", "fake", "cpu:gloo", "cuda:nccl")
TIMEOUT = timedelta(minutes=30)
ALONE = "call init_process_group(); a program that runs alone needs none: check torch.distributed.is_initialized()"
ONE = "start one process: torch.nn.DataParallel uses several GPUs of one process"


class ReduceOp(IntEnum):
    """The reductions of collectives.

    Example:
        >>> torch.distributed.ReduceOp.SUM.name
        'SUM'
    """

    SUM, AVG, PRODUCT, MIN, MAX, BAND, BOR, BXOR, PREMUL_SUM = range(9)


class Backend(str):
    """A backend's name.

    Example:
        >>> torch.distributed.Backend.NCCL, torch.distributed.Backend("GLOO")
        ('nccl', 'gloo')
    """

    UNDEFINED, GLOO, NCCL, MPI, UCC, XCCL = "undefined", "gloo", "nccl", "mpi", "ucc", "xccl"

    def __new__(cls, name: str) -> Backend:
        return str.__new__(cls, name.lower())


class GroupError(ModeError, ValueError):
    """The default process group does not exist, or exists already."""


class ProcessGroup:
    """A group of one process.

    Example:
        >>> torch.distributed.init_process_group("gloo")
        >>> group = torch.distributed.new_group([0])
        >>> group.rank(), group.size()
        (0, 1)
        >>> torch.distributed.destroy_process_group()
    """

    def __init__(self, backend: str = "gloo", name: str = "0") -> None:
        self.backend = backend
        self.group_name = name

    def rank(self) -> int:
        """Return 0, this process's number."""
        return 0

    def size(self) -> int:
        """Return 1, the number of processes."""
        return 1

    def name(self) -> str:
        """Return the backend's name."""
        return self.backend


class Groups:
    """The process's groups.  WORLD: the default group, None before `init_process_group`."""

    def __init__(self) -> None:
        self.WORLD: ProcessGroup | None = None
        self.others: list[ProcessGroup] = []
        self.NON_GROUP_MEMBER = object()  # what `new_group` returns to processes outside of the group


GroupMember = Groups()


class Work:
    """A collective that is done, for async_op=True.

    Example:
        >>> torch.distributed.init_process_group("gloo")
        >>> work = torch.distributed.all_reduce(torch.ones(1), async_op=True)
        >>> work.wait(), work.is_completed()
        (True, True)
        >>> torch.distributed.destroy_process_group()
    """

    def __init__(self, value: Any = None) -> None:
        self.value = value

    def wait(self, timeout: Any = None) -> bool:
        """Return True: it is done."""
        return True

    def is_completed(self) -> bool:
        """Return True: it is done."""
        return True

    def is_success(self) -> bool:
        """Return True: it is done."""
        return True

    def result(self) -> Any:
        """Return the collective's outputs."""
        return self.value

    def get_future(self) -> Future:
        """Return the future of the collective's outputs."""
        return future_of(self, self.value)


# the group


def is_available() -> bool:
    """Return True: a group of one process can be made.

    Example:
        >>> torch.distributed.is_available(), torch.distributed.is_initialized()
        (True, False)
    """
    return True


def is_initialized() -> bool:
    """Return whether `init_process_group` has been called.

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
    """Return whether there is a GPU, real or virtual; a group of one process needs no NCCL.

    Example:
        >>> torch.distributed.is_nccl_available()
        True
    """
    return thread.machine().device_count() > 0


def is_gloo_available() -> bool:
    """Return True: a group of one process can be made.

    Example:
        >>> torch.distributed.is_gloo_available()
        True
    """
    return True


def is_backend_available(backend: str) -> bool:
    """Return whether a group may name this backend.

    Example:
        >>> torch.distributed.is_backend_available("gloo"), torch.distributed.is_backend_available("mpi")
        (True, False)
    """
    return backend.lower() == "gloo" or backend.lower() == "nccl" and is_nccl_available()


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
    """Make the default group, of this process alone.

    world_size, rank: 1 and 0; -1 takes the environment's WORLD_SIZE and RANK, and without these 1 and 0.
    The other arguments are accepted: nothing is connected.
    Raises: NotSupportedError for more than one process; ValueRangeError for a rank that is not below the size;
            ArgumentError for an unknown backend; GroupError (RuntimeError, ValueError) if the group exists.
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
    size = _number("world_size", world_size, "WORLD_SIZE", 1)
    number = _number("rank", rank, "RANK", 0)
    if size > 1:
        raise NotSupportedError(f"world_size is {size}: a group has one process here", hint=ONE, operator=name)
    if size != 1 or number != 0:
        raise ValueRangeError(
            f"rank {number} is not in a world of {size} processes", hint="ranks count from 0", operator=name
        )
    GroupMember.WORLD = ProcessGroup(_backend(name, backend))


def _number(name: str, given: Any, variable: str, default: int) -> int:
    """Return an argument, or the number in the environment if it is negative."""
    if isinstance(given, bool) or not isinstance(given, int):
        raise ArgumentTypeError(
            f"{name} must be an int, got {shown(given)}", hint=f"{default} here", operator="init_process_group"
        )
    text = os.environ.get(variable, str(default))
    if given >= 0:
        return given
    if not text.strip().isdigit():
        raise ArgumentError(
            f"the environment variable {variable} is no number: {text!r}",
            hint=f"set it to {default}, or pass {name}={default}",
            operator="init_process_group",
        )
    return int(text)


def _backend(name: str, backend: Any) -> str:
    """Return a backend's checked name; None chooses by the machine."""
    if backend is None:
        return "nccl" if is_nccl_available() else "gloo"
    known = [part.strip() for part in str(backend).lower().split(",")]
    if not isinstance(backend, str) or any(part not in BACKENDS for part in known):
        raise ArgumentError(
            f"Unknown backend: {shown(backend)}", hint="'gloo' and 'nccl' are usual", operator=name
        )
    return backend.lower()


def destroy_process_group(group: Any = None) -> None:
    """Remove a group; without one, all groups.

    Raises: GroupError (RuntimeError, ValueError) if there is no default group.
    Example:
        >>> torch.distributed.init_process_group("gloo")
        >>> torch.distributed.destroy_process_group()
        >>> torch.distributed.is_initialized()
        False
    """
    found = _member("destroy_process_group", group)
    if found is GroupMember.WORLD:
        GroupMember.WORLD = None
        GroupMember.others.clear()
    elif found in GroupMember.others:
        GroupMember.others.remove(found)


def _member(name: str, group: Any) -> ProcessGroup:
    """Return a checked group; None is the default one."""
    world = GroupMember.WORLD
    if world is None:
        raise GroupError("Default process group has not been initialized", hint=ALONE, operator=name)
    if group is None:
        return world
    if not isinstance(group, ProcessGroup):
        raise ArgumentTypeError(
            f"group must be a ProcessGroup or None, got {shown(group)}", hint="new_group() makes one", operator=name
        )
    return group


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
    """A further group, of this process.

    ranks: None or [0].  Without rank 0 the result is GroupMember.NON_GROUP_MEMBER.
    Raises: ValueRangeError for a rank that does not exist.
    Example:
        >>> torch.distributed.init_process_group("gloo")
        >>> torch.distributed.get_world_size(torch.distributed.new_group([0]))
        1
        >>> torch.distributed.destroy_process_group()
    """
    world = _member("new_group", None)
    wanted = [0] if ranks is None else list(ranks)
    if any(rank != 0 for rank in wanted):
        raise ValueRangeError(
            f"ranks are {wanted}, and the only process has rank 0", hint="pass [0] or None", operator="new_group"
        )
    if not wanted:
        return GroupMember.NON_GROUP_MEMBER
    chosen = world.backend if backend is None else _backend("new_group", backend)
    group = ProcessGroup(chosen, str(len(GroupMember.others) + 1))
    GroupMember.others.append(group)
    return group


def get_rank(group: Any = None) -> int:
    """Return this process's number, 0; -1 outside of the group.

    Raises: GroupError (RuntimeError, ValueError) before `init_process_group`.
    Example:
        >>> torch.distributed.init_process_group("gloo")
        >>> torch.distributed.get_rank()
        0
        >>> torch.distributed.destroy_process_group()
    """
    return -1 if group is GroupMember.NON_GROUP_MEMBER else _member("get_rank", group).rank()


def get_world_size(group: Any = None) -> int:
    """Return the number of processes, 1; -1 outside of the group.

    Raises: GroupError (RuntimeError, ValueError) before `init_process_group`.
    Example:
        >>> torch.distributed.init_process_group("gloo")
        >>> torch.distributed.get_world_size()
        1
        >>> torch.distributed.destroy_process_group()
    """
    return -1 if group is GroupMember.NON_GROUP_MEMBER else _member("get_world_size", group).size()


def get_backend(group: Any = None) -> str:
    """Return the name of a group's backend.

    Example:
        >>> torch.distributed.init_process_group("gloo")
        >>> torch.distributed.get_backend()
        'gloo'
        >>> torch.distributed.destroy_process_group()
    """
    return _member("get_backend", group).backend


def get_process_group_ranks(group: Any = None) -> list[int]:
    """Return the numbers of a group's processes.

    Example:
        >>> torch.distributed.init_process_group("gloo")
        >>> torch.distributed.get_process_group_ranks(None)
        [0]
        >>> torch.distributed.destroy_process_group()
    """
    return list(range(_member("get_process_group_ranks", group).size()))


def get_global_rank(group: Any, group_rank: int) -> int:
    """Return a process's number among all processes.  Raises ValueRangeError for a number that is not in the group.

    Example:
        >>> torch.distributed.init_process_group("gloo")
        >>> torch.distributed.get_global_rank(None, 0), torch.distributed.get_group_rank(None, 0)
        (0, 0)
        >>> torch.distributed.destroy_process_group()
    """
    return _rank("get_global_rank", "group_rank", group_rank, group)


def get_group_rank(group: Any, global_rank: int) -> int:
    """Return a process's number in a group.  Raises ValueRangeError for a process that is not in the group.

    Example:
        >>> torch.distributed.init_process_group("gloo")
        >>> torch.distributed.get_group_rank(None, 0)
        0
        >>> torch.distributed.destroy_process_group()
    """
    return _rank("get_group_rank", "global_rank", global_rank, group)


def get_node_local_rank(fallback_rank: int | None = None) -> int:
    """Return this process's number on this machine: that of LOCAL_RANK, else `fallback_rank`.

    Raises: GroupError (RuntimeError, ValueError) without either.
    Example:
        >>> torch.distributed.get_node_local_rank(0)
        0
    """
    text = os.environ.get("LOCAL_RANK")
    if text is None and fallback_rank is None:
        raise GroupError(
            "LOCAL_RANK is not in the environment", hint="pass fallback_rank=0", operator="get_node_local_rank"
        )
    return int(text) if text is not None else int(fallback_rank or 0)


def _rank(name: str, what: str, rank: Any, group: Any) -> int:
    """Check the number of a process, which can only be 0; None is 0."""
    _member(name, group)
    if rank not in (None, 0) or isinstance(rank, bool):
        raise ValueRangeError(
            f"{what} is {shown(rank)}, and the only process has rank 0", hint="pass 0", operator=name
        )
    return 0


# collectives


def _done(value: Any, async_op: bool) -> Work | None:
    return Work(value) if async_op else None


def _tensor(name: str, what: str, value: Any) -> Any:
    if not isinstance(value, TensorBase):
        raise ArgumentTypeError(
            f"{what} must be a Tensor, got {shown(value)}", hint="object collectives take other values", operator=name
        )
    return value


def _one(name: str, what: str, values: Any) -> Any:
    """Return the entry of a list with one entry per process."""
    if not isinstance(values, (list, tuple)) or len(values) != 1:
        raise ArgumentError(
            f"{what} must be a list with one entry, as the group has one process, got {shown(values)}",
            hint="its length is get_world_size()",
            operator=name,
        )
    return values[0]


def _copy(name: str, target: Any, source: Any) -> Any:
    """Copy a tensor's values into another of as many elements."""
    _tensor(name, "the output", target)
    _tensor(name, "the input", source)
    if target.numel() != source.numel():
        raise ShapeError(
            f"the output is {target.describe()}, the input {source.describe()}: of one process they are equally large",
            hint="outputs have get_world_size() times the input's elements, or as many",
            operator=name,
        )
    with GradMode(False):
        target.copy_(source.reshape(target.shape))
    return target


def _reduction(name: str, op: Any) -> None:
    if not isinstance(op, ReduceOp):
        raise ArgumentTypeError(
            f"op must be a ReduceOp, got {shown(op)}", hint="for example torch.distributed.ReduceOp.SUM", operator=name
        )


def all_reduce(tensor: Any, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False) -> Work | None:
    """Reduce a tensor over all processes, in place: of one process it keeps its values.

    Host: returns at once.
    Example:
        >>> torch.distributed.init_process_group("gloo")
        >>> x = torch.ones(2)
        >>> torch.distributed.all_reduce(x)
        >>> x
        tensor([1., 1.])
        >>> torch.distributed.destroy_process_group()
    """
    _member("all_reduce", group)
    _tensor("all_reduce", "tensor", tensor)
    _reduction("all_reduce", op)
    return _done([tensor], async_op)


def reduce(
    tensor: Any,
    dst: int | None = None,
    op: Any = ReduceOp.SUM,
    group: Any = None,
    async_op: bool = False,
    group_dst: int | None = None,
) -> Work | None:
    """Reduce a tensor to one process, in place: of one process it keeps its values.

    Example:
        >>> torch.distributed.init_process_group("gloo")
        >>> torch.distributed.reduce(torch.ones(2), dst=0)
        >>> torch.distributed.destroy_process_group()
    """
    _rank("reduce", "dst", dst if group_dst is None else group_dst, group)
    _tensor("reduce", "tensor", tensor)
    _reduction("reduce", op)
    return _done([tensor], async_op)


def broadcast(
    tensor: Any, src: int | None = None, group: Any = None, async_op: bool = False, group_src: int | None = None
) -> Work | None:
    """Send a tensor to all processes: of one process it keeps its values.

    Example:
        >>> torch.distributed.init_process_group("gloo")
        >>> torch.distributed.broadcast(torch.ones(2), src=0)
        >>> torch.distributed.destroy_process_group()
    """
    _rank("broadcast", "src", src if group_src is None else group_src, group)
    _tensor("broadcast", "tensor", tensor)
    return _done([tensor], async_op)


def all_gather(tensor_list: Any, tensor: Any, group: Any = None, async_op: bool = False) -> Work | None:
    """Copy every process's tensor into a list of tensors.

    Raises: ArgumentError unless the list has one entry; ShapeError if it has another number of elements.
    Example:
        >>> torch.distributed.init_process_group("gloo")
        >>> found = [torch.zeros(2)]
        >>> torch.distributed.all_gather(found, torch.ones(2))
        >>> found
        [tensor([1., 1.])]
        >>> torch.distributed.destroy_process_group()
    """
    _member("all_gather", group)
    _copy("all_gather", _one("all_gather", "tensor_list", tensor_list), tensor)
    return _done(tensor_list, async_op)


def all_gather_into_tensor(
    output_tensor: Any, input_tensor: Any, group: Any = None, async_op: bool = False
) -> Work | None:
    """Copy every process's tensor into one tensor.

    Example:
        >>> torch.distributed.init_process_group("gloo")
        >>> found = torch.zeros(2)
        >>> torch.distributed.all_gather_into_tensor(found, torch.ones(2))
        >>> found
        tensor([1., 1.])
        >>> torch.distributed.destroy_process_group()
    """
    _member("all_gather_into_tensor", group)
    return _done([_copy("all_gather_into_tensor", output_tensor, input_tensor)], async_op)


def gather(
    tensor: Any,
    gather_list: Any = None,
    dst: int | None = None,
    group: Any = None,
    async_op: bool = False,
    group_dst: int | None = None,
) -> Work | None:
    """Copy every process's tensor into a list of tensors of one process.

    Example:
        >>> torch.distributed.init_process_group("gloo")
        >>> found = [torch.zeros(2)]
        >>> torch.distributed.gather(torch.ones(2), found)
        >>> found
        [tensor([1., 1.])]
        >>> torch.distributed.destroy_process_group()
    """
    _rank("gather", "dst", dst if group_dst is None else group_dst, group)
    _copy("gather", _one("gather", "gather_list", gather_list), tensor)
    return _done(gather_list, async_op)


def scatter(
    tensor: Any,
    scatter_list: Any = None,
    src: int | None = None,
    group: Any = None,
    async_op: bool = False,
    group_src: int | None = None,
) -> Work | None:
    """Copy one tensor of a process's list into each process's tensor.

    Example:
        >>> torch.distributed.init_process_group("gloo")
        >>> found = torch.zeros(2)
        >>> torch.distributed.scatter(found, [torch.ones(2)], src=0)
        >>> found
        tensor([1., 1.])
        >>> torch.distributed.destroy_process_group()
    """
    _rank("scatter", "src", src if group_src is None else group_src, group)
    _copy("scatter", tensor, _one("scatter", "scatter_list", scatter_list))
    return _done([tensor], async_op)


def reduce_scatter(
    output: Any, input_list: Any, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False
) -> Work | None:
    """Reduce a list of tensors; each process gets one of them.

    Example:
        >>> torch.distributed.init_process_group("gloo")
        >>> found = torch.zeros(2)
        >>> torch.distributed.reduce_scatter(found, [torch.ones(2)])
        >>> found
        tensor([1., 1.])
        >>> torch.distributed.destroy_process_group()
    """
    _member("reduce_scatter", group)
    _reduction("reduce_scatter", op)
    return _done([_copy("reduce_scatter", output, _one("reduce_scatter", "input_list", input_list))], async_op)


def reduce_scatter_tensor(
    output: Any, input: Any, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False
) -> Work | None:
    """Reduce a tensor; each process gets a part of it.

    Example:
        >>> torch.distributed.init_process_group("gloo")
        >>> found = torch.zeros(2)
        >>> torch.distributed.reduce_scatter_tensor(found, torch.ones(2))
        >>> found
        tensor([1., 1.])
        >>> torch.distributed.destroy_process_group()
    """
    _member("reduce_scatter_tensor", group)
    _reduction("reduce_scatter_tensor", op)
    return _done([_copy("reduce_scatter_tensor", output, input)], async_op)


def all_to_all(
    output_tensor_list: Any, input_tensor_list: Any, group: Any = None, async_op: bool = False
) -> Work | None:
    """Copy the tensors that every process has for this one.

    Example:
        >>> torch.distributed.init_process_group("gloo")
        >>> found = [torch.zeros(2)]
        >>> torch.distributed.all_to_all(found, [torch.ones(2)])
        >>> found
        [tensor([1., 1.])]
        >>> torch.distributed.destroy_process_group()
    """
    name = "all_to_all"
    _member(name, group)
    source = _one(name, "input_tensor_list", input_tensor_list)
    _copy(name, _one(name, "output_tensor_list", output_tensor_list), source)
    return _done(output_tensor_list, async_op)


def all_to_all_single(
    output: Any,
    input: Any,
    output_split_sizes: Any = None,
    input_split_sizes: Any = None,
    group: Any = None,
    async_op: bool = False,
) -> Work | None:
    """Copy the parts of a tensor that every process has for this one.

    Example:
        >>> torch.distributed.init_process_group("gloo")
        >>> found = torch.zeros(2)
        >>> torch.distributed.all_to_all_single(found, torch.ones(2))
        >>> found
        tensor([1., 1.])
        >>> torch.distributed.destroy_process_group()
    """
    _member("all_to_all_single", group)
    return _done([_copy("all_to_all_single", output, input)], async_op)


def barrier(
    group: Any = None, async_op: bool = False, device_ids: Any = None, timeout: timedelta | None = None
) -> Work | None:
    """Wait for all processes: of one process, return at once.

    Example:
        >>> torch.distributed.init_process_group("gloo")
        >>> torch.distributed.barrier()
        >>> torch.distributed.destroy_process_group()
    """
    _member("barrier", group)
    return _done(None, async_op)


def monitored_barrier(group: Any = None, timeout: timedelta | None = None, wait_all_ranks: bool = False) -> None:
    """Wait for all processes: of one process, return at once.

    Example:
        >>> torch.distributed.init_process_group("gloo")
        >>> torch.distributed.monitored_barrier()
        >>> torch.distributed.destroy_process_group()
    """
    _member("monitored_barrier", group)


def all_gather_object(object_list: Any, obj: Any, group: Any = None) -> None:
    """Put a copy of every process's object into a list.

    Example:
        >>> torch.distributed.init_process_group("gloo")
        >>> found = [None]
        >>> torch.distributed.all_gather_object(found, {"loss": 1.5})
        >>> found
        [{'loss': 1.5}]
        >>> torch.distributed.destroy_process_group()
    """
    _member("all_gather_object", group)
    _one("all_gather_object", "object_list", object_list)
    object_list[0] = copy.deepcopy(obj)


def gather_object(
    obj: Any,
    object_gather_list: Any = None,
    dst: int | None = None,
    group: Any = None,
    group_dst: int | None = None,
) -> None:
    """Put a copy of every process's object into a list of one process.

    Example:
        >>> torch.distributed.init_process_group("gloo")
        >>> found = [None]
        >>> torch.distributed.gather_object("text", found)
        >>> found
        ['text']
        >>> torch.distributed.destroy_process_group()
    """
    _rank("gather_object", "dst", dst if group_dst is None else group_dst, group)
    _one("gather_object", "object_gather_list", object_gather_list)
    object_gather_list[0] = copy.deepcopy(obj)


def broadcast_object_list(
    object_list: Any, src: int | None = None, group: Any = None, device: Any = None, group_src: int | None = None
) -> None:
    """Send a list of objects to all processes: of one process it stays as it is.

    Example:
        >>> torch.distributed.init_process_group("gloo")
        >>> torch.distributed.broadcast_object_list(["text"], src=0)
        >>> torch.distributed.destroy_process_group()
    """
    _rank("broadcast_object_list", "src", src if group_src is None else group_src, group)


def scatter_object_list(
    scatter_object_output_list: Any,
    scatter_object_input_list: Any = None,
    src: int | None = None,
    group: Any = None,
    group_src: int | None = None,
) -> None:
    """Put one object of a process's list into each process's list.

    Example:
        >>> torch.distributed.init_process_group("gloo")
        >>> found = [None]
        >>> torch.distributed.scatter_object_list(found, ["text"])
        >>> found
        ['text']
        >>> torch.distributed.destroy_process_group()
    """
    name = "scatter_object_list"
    _rank(name, "src", src if group_src is None else group_src, group)
    if not isinstance(scatter_object_output_list, list) or not scatter_object_output_list:
        raise ArgumentError(
            f"scatter_object_output_list must have an entry, got {shown(scatter_object_output_list)}",
            hint="pass [None]",
            operator=name,
        )
    scatter_object_output_list[0] = copy.deepcopy(_one(name, "scatter_object_input_list", scatter_object_input_list))


def _between_two(name: str) -> Callable[..., Any]:
    def refuse(*args: Any, **kwargs: Any) -> Any:
        _member(name, None)
        raise NotSupportedError("the group has one process, which has nothing to send to", hint=ONE, operator=name)

    refuse.__name__ = refuse.__qualname__ = name
    refuse.__doc__ = f"""Raise NotSupportedError: the group has one process.

    Example:
        >>> torch.distributed.init_process_group("gloo")
        >>> try:
        ...     torch.distributed.{name}(torch.ones(1), 0)
        ... except NotImplementedError as error:
        ...     print("refused")
        refused
        >>> torch.distributed.destroy_process_group()
    """
    return refuse


send, recv, isend, irecv = [_between_two(name) for name in ("send", "recv", "isend", "irecv")]


class Spread:
    """A class of values that are spread over several processes, for imports and `isinstance`: none is made."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise NotSupportedError(
            "nothing is spread over several processes: a group has one", hint=ONE, operator=type(self).__name__
        )


class DTensor(Spread):
    """A tensor whose parts are in several processes."""


class DeviceMesh(Spread):
    """Processes in several dimensions."""


class Placement:
    """How the processes along a dimension have the parts of a tensor: a value, for tables of them."""

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and vars(other) == vars(self)

    def __hash__(self) -> int:
        return hash((type(self), *vars(self).values()))

    def __repr__(self) -> str:
        values = ", ".join(f"{name}={value!r}" for name, value in vars(self).items())
        return f"{type(self).__name__}({values})"


class Shard(Placement):
    """Each process has a part along the dimension `dim`."""

    def __init__(self, dim: int) -> None:
        self.dim = dim


class Replicate(Placement):
    """Each process has the whole."""


class Partial(Placement):
    """Each process has an operand of a reduction."""

    def __init__(self, reduce_op: str = "sum") -> None:
        self.reduce_op = reduce_op


class FullyShardedDataParallel(Spread):
    """A module whose parameters are spread over several processes."""


class StorageOfSeveral(Spread):
    """What reads or writes files of several processes."""


class Policy(Spread):
    """An option of modules that are spread over several processes."""


def _of_several(name: str) -> Callable[..., Any]:
    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise NotSupportedError("nothing is spread over several processes: a group has one", hint=ONE, operator=name)

    refuse.__name__ = refuse.__qualname__ = name
    refuse.__doc__ = "Raise NotSupportedError: a group has one process."
    return refuse


distribute_tensor, distribute_module, fully_shard, init_device_mesh, compute_local_shape_and_global_offset = [
    _of_several(name)
    for name in (
        "distribute_tensor", "distribute_module", "fully_shard", "init_device_mesh",
        "compute_local_shape_and_global_offset",
    )
]  # fmt: skip
all_to_all_single_autograd = _of_several("all_to_all_single_autograd")
