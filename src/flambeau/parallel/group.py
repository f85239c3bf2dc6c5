"""Process groups: members, connection, streams of collectives, coalesced calls, and Works."""

from __future__ import annotations

import os
from collections.abc import Sequence
from copy import copy
from datetime import timedelta
from enum import IntEnum
from functools import cached_property
from typing import Any, ClassVar, Self

from ..core import thread
from ..driver.api import StreamHandle
from ..errors import ArgumentError, ModeError, NotSupportedError, shown
from ..runtime.stream import Event, Stream
from .exchange import Client, as_timeout
from .futures import Future, future_of

TIMEOUT = timedelta(minutes=30)
MENTIONED = 8  # ranks of a group that the description of a call lists


class ReduceOp(IntEnum):
    """The operation by which a collective combines the tensors of all processes, element by element.

    SUM, AVG (the mean), PRODUCT, MIN and MAX apply to numbers.  BAND, BOR and BXOR are bitwise AND, OR and XOR of
    integers and bools.  PREMUL_SUM multiplies each process's values by a factor before the sum: make it with
    `_make_nccl_premul_sum(factor)`.
    Example:
        >>> torch.distributed.ReduceOp.SUM.name
        'SUM'
    """

    SUM, AVG, PRODUCT, MIN, MAX, BAND, BOR, BXOR, PREMUL_SUM = range(9)

    def __str__(self) -> str:
        return f"RedOpType.{self.name}"  # as PyTorch names the enumeration

    def __repr__(self) -> str:
        return f"<{self}: {self.value}>"

    def __format__(self, spec: str) -> str:
        return format(str(self), spec)


class PremulSum:
    """ReduceOp.PREMUL_SUM with a factor: each rank's values are multiplied by its factor before the sum.

    factor: a number, or a tensor with one element.
    """

    name = ReduceOp.PREMUL_SUM.name

    def __init__(self, factor: Any) -> None:
        self.factor = factor

    def __eq__(self, other: object) -> bool:
        return other is self or other is ReduceOp.PREMUL_SUM

    def __hash__(self) -> int:
        return hash(ReduceOp.PREMUL_SUM)

    def __repr__(self) -> str:
        return f"PremulSum({self.factor!r})"


setattr(ReduceOp, "RedOpType", ReduceOp)  # noqa: B010  (the name of the enumeration in PyTorch, where ReduceOp wraps it)


class Backend(str):
    """The name of a backend, a str in lower case.  `Backend.GLOO` and `Backend.NCCL` are the available ones.

    Raises: ArgumentError for a name that is not a str.
    Example:
        >>> torch.distributed.Backend.NCCL, torch.distributed.Backend("GLOO")
        ('nccl', 'gloo')
    """

    UNDEFINED, GLOO, NCCL, MPI, UCC, XCCL, FAKE = "undefined", "gloo", "nccl", "mpi", "ucc", "xccl", "fake"
    backend_list: ClassVar = [UNDEFINED, GLOO, NCCL, XCCL, UCC, MPI, FAKE]
    backend_capability: ClassVar = {GLOO: ["cpu", "cuda"], NCCL: ["cuda"]}  # device types of the available backends
    default_device_backend_map: ClassVar = {"cpu": GLOO, "cuda": NCCL}

    def __new__(cls, name: str) -> Backend:
        if not isinstance(name, str):
            raise ArgumentError(
                f"the name must be a str, got {shown(name)}", hint="pass 'gloo' or 'nccl'", operator="Backend"
            )
        return str.__new__(cls, name.lower())


class GroupError(ModeError, ValueError):
    """The default process group does not exist, or already exists."""


class Group:
    """Base of ProcessGroup (collectives.py): some of a job's processes, including this one."""

    def __init__(
        self,
        backend: str = "gloo",
        name: str = "0",
        ranks: tuple[int, ...] = (0,),
        rank: int = 0,
        client: Client | None = None,
        timeout: timedelta = TIMEOUT,
        description: str = "undefined",
        device: Any = None,
    ) -> None:
        self.backend = backend
        self.group_name = name
        self.group_desc = description
        self.bound_device_id = device  # the GPU that init_process_group was given
        self.ranks = ranks  # rank in the job, by rank in the group
        self.client = client  # None for a group of one process
        self.timeout = timeout
        self._rank = rank
        self.world_size = len(ranks) if client is None or client.size is None else client.size
        self.is_destroyed = False
        self._streams: dict[tuple[int, str], Stream] = {}
        self._counts: dict[str, int] = {}
        self.earlier: dict[Any, Any] = {}  # calls that GPUs have run, which several.py can repeat with fewer checks
        self.matched_tags: set[int | str] = set()  # tags of receives from any process (messages.py)
        self.coalescing: Coalescing | None = None  # inside `_coalescing_manager`

    @property
    def is_shared(self) -> bool:
        """Whether the group has other members, so that collectives go through `client`."""
        return len(self.ranks) > 1

    @cached_property
    def mention(self) -> str:
        """The group's name and ranks, for errors that describe a collective call; "" for the default group."""
        world = GroupMember.WORLD
        if world is None or self.group_name == world.group_name:
            return ""
        ranks = ", ".join(map(str, self.ranks[:MENTIONED])) + ", ..." * (len(self.ranks) > MENTIONED)
        return f"group={self.group_name} of ranks {ranks}"

    @cached_property
    def runs_steps(self) -> bool:
        """Whether NVIDIA GPUs run those of the group's collectives that NCCL supports among themselves."""
        return "nccl" in self.backend and thread.machine().choice.kind == "nvidia"

    @cached_property
    def blocks_in_wait(self) -> bool:
        """Whether `Work.wait` of such collectives waits on the host."""
        return os.environ.get("TORCH_NCCL_BLOCKING_WAIT", "0") == "1"

    def rank(self) -> int:
        """Return this process's rank in the group.

        Example:
            >>> torch.distributed.init_process_group("gloo", rank=0, world_size=1)
            >>> torch.distributed.new_group([0]).rank()
            0
            >>> torch.distributed.destroy_process_group()
        """
        return self._rank

    def size(self) -> int:
        """Return the number of processes in the group.

        Example:
            >>> torch.distributed.init_process_group("gloo", rank=0, world_size=1)
            >>> torch.distributed.new_group([0]).size()
            1
            >>> torch.distributed.destroy_process_group()
        """
        return len(self.ranks)

    def name(self) -> str:
        """Return the name of the group's backend, such as "gloo".

        Example:
            >>> torch.distributed.init_process_group("gloo", rank=0, world_size=1)
            >>> torch.distributed.new_group([0]).name()
            'gloo'
            >>> torch.distributed.destroy_process_group()
        """
        return self.backend

    def set_timeout(self, timeout: timedelta | float) -> None:
        """Set the group's timeout: how long later collectives wait for other processes before they fail.

        timeout: a timedelta, or a float of seconds.
        Raises: ArgumentTypeError for another value.
        Example:
            >>> from datetime import timedelta
            >>> torch.distributed.init_process_group("gloo", rank=0, world_size=1)
            >>> torch.distributed.group.WORLD.set_timeout(timedelta(seconds=10))
            >>> torch.distributed.group.WORLD.timeout
            datetime.timedelta(seconds=10)
            >>> torch.distributed.destroy_process_group()
        """
        self.timeout = as_timeout("ProcessGroup.set_timeout", timeout)
        self.earlier = {}  # they have the former timeout

    def next_key(self, kind: str = "") -> str:
        """Internal: return a key for the next collective or message of a kind; all processes get the same key."""
        count = self._counts[kind] = self._counts.get(kind, -1) + 1
        return f"{self.group_name}:{kind}{count}"

    def within(self, name: str, timeout: timedelta | float | None) -> Self:
        """Internal: return a copy of this group with another timeout.

        name: the name of the operation, for error messages.
        timeout: a timedelta, or a float of seconds; None or a negative one returns the group itself.
        """
        limit = None if timeout is None else as_timeout(name, timeout)
        if limit is None or limit < timedelta(0):
            return self
        other = copy(self)
        other.timeout, other.earlier = limit, {}
        return other

    @property
    def stream_handles(self) -> list[StreamHandle]:
        """The streams on which the group has run something."""
        return [stream.handle for stream in self._streams.values()]

    def stream(self, device: int, kind: str = "") -> Stream:
        """Internal: return the stream of the group's collectives on a device, or of its messages if a kind is given."""
        if (device, kind) not in self._streams:
            what = f"messages {kind.rstrip('/')}" if kind else "collectives"
            self._streams[device, kind] = Stream(device, name=f"{what} of group {self.group_name}")
        return self._streams[device, kind]


class Groups:
    """The process's groups, as ProcessGroup.  WORLD: the default group, None before `init_process_group`."""

    def __init__(self) -> None:
        self.WORLD: Any = None
        self.others: list[Any] = []
        self.NON_GROUP_MEMBER = object()  # result of `new_group` in a process that is not a member


GroupMember = Groups()


class Work:
    """A collective or message in progress, as returned by `isend`, `irecv` and calls with async_op=True.

    Call `wait` before using the outputs.  It raises the errors of the operation.
    Example:
        >>> torch.distributed.init_process_group("gloo")
        >>> work = torch.distributed.all_reduce(torch.ones(1), async_op=True)
        >>> work.wait(), work.is_completed()
        (True, True)
        >>> torch.distributed.destroy_process_group()
    """

    def __init__(self, value: Any = None, done: Event | None = None) -> None:
        self.value = value
        self.source: int | None = None  # the sender's rank in the group, for a receive
        self.receive: Any = None  # the `messages.MatchedReceive` that knows the source after the wait
        self._done = done  # on the stream that writes the outputs, None on the CPU

    def wait(self, timeout: Any = None) -> bool:
        """Wait for the operation, and return True; for outputs on a GPU, the current stream waits instead of the host.

        timeout: a timedelta, or a float of seconds, for this wait; None for the group's timeout.
        Host:   waits for outputs on the CPU; for outputs on a GPU only with TORCH_NCCL_BLOCKING_WAIT=1 or a `timeout`.
        Raises: CollectiveError if the processes' calls differ, a process has ended, or the timeout has expired;
                ArgumentTypeError for a timeout of another type.
        Example:
            >>> torch.distributed.init_process_group("gloo", rank=0, world_size=1)
            >>> x = torch.ones(2, device="cuda")
            >>> work = torch.distributed.all_reduce(x, async_op=True)
            >>> work.wait()
            True
            >>> x
            tensor([1., 1.], device='cuda:0')
            >>> torch.distributed.destroy_process_group()
        """
        if timeout is not None:
            as_timeout("Work.wait", timeout)
        if self._done is not None:
            thread.current_stream(self._done.device_index).wait_event(self._done)
        return True

    def synchronize(self) -> None:
        """Wait for the operation, as `wait()` does: for outputs on a GPU, the current stream waits instead of the host.

        Raises: the errors of `wait`.
        Example:
            >>> torch.distributed.init_process_group("gloo", rank=0, world_size=1)
            >>> torch.distributed.all_reduce(torch.ones(1), async_op=True).synchronize()
            >>> torch.distributed.destroy_process_group()
        """
        self.wait()

    def is_completed(self) -> bool:
        """Return whether the operation has finished, so that its outputs have been written.

        Raises: GroupError for an operation that `_coalescing_manager` coalesces: use the `wait` of the manager.
        Example:
            >>> torch.distributed.init_process_group("gloo", rank=0, world_size=1)
            >>> work = torch.distributed.all_reduce(torch.ones(1), async_op=True)
            >>> work.is_completed()
            True
            >>> torch.distributed.destroy_process_group()
        """
        return self._done is None or self._done.query()

    def is_success(self) -> bool:
        """Return whether the operation has finished, as `is_completed` does.

        Example:
            >>> torch.distributed.init_process_group("gloo", rank=0, world_size=1)
            >>> work = torch.distributed.all_reduce(torch.ones(1), async_op=True)
            >>> work.is_success()
            True
            >>> torch.distributed.destroy_process_group()
        """
        return self.is_completed()

    def exception(self) -> Exception | None:
        """Return the error with which the operation failed; None if it has not failed.

        Example:
            >>> torch.distributed.init_process_group("gloo", rank=0, world_size=1)
            >>> work = torch.distributed.all_reduce(torch.ones(1), async_op=True)
            >>> work.exception() is None
            True
            >>> torch.distributed.destroy_process_group()
        """
        return None

    def source_rank(self) -> int:
        """Return the sender's rank in the group, for the Work of a receive.

        Host: waits for the message if the receive did not name the sender.
        Raises: GroupError (RuntimeError, ValueError) if the call is not a receive.
        Example:
            >>> torch.distributed.init_process_group("gloo", rank=0, world_size=1)
            >>> work = torch.distributed.all_reduce(torch.ones(1), async_op=True)
            >>> try:
            ...     work.source_rank()
            ... except RuntimeError:
            ...     print("nothing is received")
            nothing is received
            >>> torch.distributed.destroy_process_group()
        """
        if self.receive is not None:
            self.wait()
            if self._done is not None:
                self._done.synchronize()
            return int(self.receive.source)
        if self.source is None:
            raise GroupError(
                "only a receive has a source rank", hint="use the result of irecv", operator="Work.source_rank"
            )
        return self.source

    def block_current_stream(self) -> None:
        """Wait for the operation, as `wait()` does: for outputs on a GPU, the current stream waits instead of the host.

        Raises: the errors of `wait`.
        Example:
            >>> torch.distributed.init_process_group("gloo", rank=0, world_size=1)
            >>> torch.distributed.all_reduce(torch.ones(1), async_op=True).block_current_stream()
            >>> torch.distributed.destroy_process_group()
        """
        self.wait()

    def result(self) -> Any:
        """Return the tensors that the collective writes, without waiting for it: call `wait` first.

        Raises: GroupError for an operation that `_coalescing_manager` coalesces: use the `wait` of the manager.
        Example:
            >>> torch.distributed.init_process_group("gloo", rank=0, world_size=1)
            >>> work = torch.distributed.all_reduce(torch.ones(1), async_op=True)
            >>> work.result()
            [tensor([1.])]
            >>> torch.distributed.destroy_process_group()
        """
        return self.value

    def get_future(self) -> Future:
        """Return a Future of the tensors that the collective writes.

        Raises: GroupError for an operation that `_coalescing_manager` coalesces: use the `wait` of the manager.
        Example:
            >>> torch.distributed.init_process_group("gloo", rank=0, world_size=1)
            >>> work = torch.distributed.all_reduce(torch.ones(1), async_op=True)
            >>> work.get_future().then(lambda done: done.value()[0] + 1).wait()
            tensor([2.])
            >>> torch.distributed.destroy_process_group()
        """
        return future_of(self, self.value)

    def get_future_result(self) -> Future:
        """Raise NotSupportedError (a RuntimeError): there is no Future of whether the operation succeeded.

        Use `exception` after `wait`, or `get_future` for the outputs.
        Example:
            >>> torch.distributed.init_process_group("gloo", rank=0, world_size=1)
            >>> work = torch.distributed.all_reduce(torch.ones(1), async_op=True)
            >>> try:
            ...     work.get_future_result()
            ... except RuntimeError:
            ...     print("not supported")
            not supported
            >>> torch.distributed.destroy_process_group()
        """
        raise NotSupportedError(
            "there is no future of the outcome of a collective",
            hint="call exception() after wait(), or get_future() for the outputs",
            operator="Work.get_future_result",
        )


class Coalescing:
    """Collected calls of a group, to be run as one operation (coalesced.py).

    device_type: "cuda" or "cpu", to collect its calls; None collects calls of the functions in WITHOUT_DEVICE only.
    parts: the collected calls, as `several.Part`.
    """

    WITHOUT_DEVICE = ("all_reduce", "all_gather_into_tensor", "reduce_scatter_tensor")

    def __init__(self, device_type: str | None) -> None:
        self.device_type = device_type
        self.parts: list[Any] = []

    def takes(self, name: str, device: int) -> bool:
        """Return whether to collect a call.  device: of its tensors, -1 for the CPU."""
        if self.device_type is None:
            return name in self.WITHOUT_DEVICE
        return self.device_type == ("cpu" if device < 0 else "cuda")

    def add(self, part: Any) -> CoalescedCall:
        """Collect a call; return its result."""
        self.parts.append(part)
        return CoalescedCall(part.collective.name)


class AllOf(Work):
    """Several collectives that are waited for together."""

    def __init__(self, works: Sequence[Work], value: Any) -> None:
        super().__init__(value)
        self._works = works

    def wait(self, timeout: Any = None) -> bool:
        """Wait for each of them."""
        return all([work.wait(timeout) for work in self._works])

    def is_completed(self) -> bool:
        """Return whether the outputs of all have been written."""
        return all([work.is_completed() for work in self._works])

    def exception(self) -> Exception | None:
        """Return the error because of which a collective has no outputs; None if nothing has failed."""
        return next((error for work in self._works if (error := work.exception()) is not None), None)


class CoalescedCall(Work):
    """The result of a collected call, which cannot be waited for before the operation begins."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self._name = name

    def wait(self, timeout: Any = None) -> bool:
        """Raise GroupError."""
        raise self._too_early()

    def is_completed(self) -> bool:
        """Raise GroupError."""
        raise self._too_early()

    def result(self) -> Any:
        """Raise GroupError."""
        raise self._too_early()

    def get_future(self) -> Future:
        """Raise GroupError."""
        raise self._too_early()

    def _too_early(self) -> GroupError:
        return GroupError(
            "the call begins when its _coalescing_manager ends",
            hint="use with _coalescing_manager(async_ops=True) as manager: ..., then call manager.wait()",
            operator=self._name,
        )
