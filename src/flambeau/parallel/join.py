"""Join: a block in which the processes of a group may have different numbers of inputs.

- Before its collectives of an iteration, the first Joinable of a process that has inputs adds a one to an all_reduce.
- A process that leaves the block adds zeros.  While the sum is positive, it makes the calls of an iteration with
  `JoinHook.main_hook`; when the sum is 0 all have left, and `JoinHook.post_hook` is called.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, NamedTuple

from .. import callers
from ..errors import ArgumentError, ModeError
from ..tensor import factories
from . import process_group as collectives

SKEW = 1000  # iterations without inputs after which a warning is issued


class JoinHook:
    """Base class of hooks by which a process without further inputs matches the collective calls of other processes.

    `Join` calls `main_hook` once for each further iteration of the other processes, then `post_hook` once.
    Both do nothing unless a class overrides them.
    Example:
        >>> class AddZero(torch.distributed.algorithms.join.JoinHook):
        ...     def main_hook(self):
        ...         print("add 0 to the sum of the other processes")
        >>> AddZero().main_hook()
        add 0 to the sum of the other processes
    """

    def main_hook(self) -> None:
        """Make the collective calls that match one iteration of the other processes; override this.

        Example:
            >>> torch.distributed.algorithms.join.JoinHook().main_hook()  # nothing, unless a class overrides it
        """

    def post_hook(self, is_last_joiner: bool) -> None:
        """Do final work; `Join` calls this once, after the inputs of all processes have ended; override this.

        is_last_joiner: True in the processes that had the most inputs.
        Example:
            >>> class Report(torch.distributed.algorithms.join.JoinHook):
            ...     def post_hook(self, is_last_joiner):
            ...         print("was among the last:", is_last_joiner)
            >>> Report().post_hook(True)
            was among the last: True
        """


class JoinConfig(NamedTuple):
    """Options that a Join passes to a Joinable.  is_first: whether it is the one that counts ranks with inputs."""

    enable: bool = False
    throws: bool = False
    is_first: bool = False


class Joinable(ABC):
    """Base class of objects that make collective calls for each input, for use in `Join`.

    A class calls `Join.notify_join_context(self)` before the collective calls of each input.  It defines `join_hook`,
    and the properties `join_device` and `join_process_group`: the device and the group of the collective calls.
    Example:
        >>> join = torch.distributed.algorithms.join
        >>> class AddZero(join.JoinHook):
        ...     def main_hook(self):
        ...         torch.distributed.all_reduce(torch.zeros(1))
        >>> class Counter(join.Joinable):
        ...     join_device, join_process_group, total = torch.device("cpu"), None, 0
        ...     def join_hook(self, **kwargs):
        ...         return AddZero()
        ...     def add(self, number):
        ...         join.Join.notify_join_context(self)
        ...         torch.distributed.all_reduce(number)
        ...         self.total += number.item()
        >>> torch.distributed.init_process_group("gloo", rank=0, world_size=1)
        >>> counter = Counter()
        >>> with join.Join([counter]):
        ...     for number in torch.tensor([[1.0], [2.0]]):
        ...         counter.add(number)
        >>> counter.total
        3.0
        >>> torch.distributed.destroy_process_group()
    """

    _join_config = JoinConfig()

    @abstractmethod
    def join_hook(self, **kwargs: Any) -> JoinHook:
        """Return the JoinHook that makes this object's collective calls once this process's inputs have ended.

        kwargs: the further keyword arguments of Join.
        Example:
            >>> torch.distributed.init_process_group("gloo", rank=0, world_size=1)
            >>> net = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(1, 1))  # a Joinable
            >>> isinstance(net.join_hook(), torch.distributed.algorithms.join.JoinHook)
            True
            >>> torch.distributed.destroy_process_group()
        """

    @property
    @abstractmethod
    def join_device(self) -> Any:
        """The device of the tensors by which processes are counted."""

    @property
    @abstractmethod
    def join_process_group(self) -> Any:
        """The process group of the collective calls."""


class Join:
    """A context manager for training in which processes may have different numbers of inputs.

    A process at the end of the block makes the collective calls that the others expect, until all have reached the end.
    joinables: DistributedDataParallel modules or other Joinables, all of one process group.
    enable: False turns this off, for processes that are known to have equally many inputs.
    throw_on_early_termination: whether all processes raise ModeError as soon as the inputs of one have ended.
    kwargs: passed to each joinable's `join_hook`.
    Host:   waits at the end of the block.
    Raises: ArgumentError for no joinables, or for joinables of different groups.
    Example:
        >>> torch.distributed.init_process_group("gloo", rank=0, world_size=1)
        >>> net = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(1, 1))
        >>> with torch.distributed.algorithms.join.Join([net]):
        ...     for x in torch.ones(3, 1, 1):
        ...         net(x).sum().backward()
        >>> net.module.bias.grad
        tensor([3.])
        >>> torch.distributed.destroy_process_group()
    """

    def __init__(
        self,
        joinables: Sequence[Any],
        enable: bool = True,
        throw_on_early_termination: bool = False,
        **kwargs: Any,
    ) -> None:
        if not joinables:
            raise ArgumentError(
                f"The join context manager requires at least one joinable, got {joinables}",
                hint="pass the DistributedDataParallel modules, as in Join([model])",
                operator="Join",
            )
        groups = {id(joinable.join_process_group): joinable.join_process_group for joinable in joinables}
        if len(groups) > 1:
            raise ArgumentError(
                f"Using join context manager with multiple process groups: {list(groups.values())}",
                hint="use one Join per group",
                operator="Join",
            )
        self._joinables = list(joinables)
        self._hooks = [joinable.join_hook(**kwargs) for joinable in joinables]
        self._enable = enable
        self._throws = throw_on_early_termination
        self._group = joinables[0].join_process_group
        self._device = joinables[0].join_device
        for index, joinable in enumerate(joinables):
            joinable._join_config = JoinConfig(enable, throw_on_early_termination, index == 0)

    def __enter__(self) -> None:
        pass

    def __exit__(self, error_type: type[BaseException] | None, *error: object) -> None:
        try:
            if self._enable and error_type is None:
                self._join()
        finally:
            for joinable in self._joinables:
                joinable._join_config = JoinConfig()

    def _join(self) -> None:
        iterations = 0
        while self._count_of_others():
            if self._throws:
                self._count(1)
                raise ModeError(
                    f"Rank {collectives.get_rank(self._group)} exhausted all inputs", hint=EVEN, operator="Join"
                )
            for hook in self._hooks:
                hook.main_hook()
            iterations += 1
            if iterations == SKEW:
                callers.warn(
                    f"Join: rank {collectives.get_rank(self._group)} has at least {SKEW} fewer inputs than others"
                )
        for hook in self._hooks:
            hook.post_hook(iterations == 0)

    def _count_of_others(self) -> int:
        return self._count(0)

    def _count(self, value: int) -> int:
        return int(counted(self._group, self._device, value)[1].item())

    @staticmethod
    def notify_join_context(joinable: Joinable) -> Any:
        """Tell the other processes that this one has an input; call this before the collective calls of an iteration.

        joinable: the object that makes the calls.
        Returns: the Work of the all_reduce that counts the processes with inputs, for the first joinable of a Join;
                 None for the others, and outside of a Join.
        Raises: ModeError with throw_on_early_termination, if the inputs of a process have ended.
        Example:
            >>> torch.distributed.init_process_group("gloo", rank=0, world_size=1)
            >>> join = torch.distributed.algorithms.join
            >>> net = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(1, 1))
            >>> with join.Join([net]):
            ...     work = join.Join.notify_join_context(net)
            >>> type(work).__name__, join.Join.notify_join_context(net)  # outside of the block: None
            ('Work', None)
            >>> torch.distributed.destroy_process_group()
        """
        result = notify(joinable)
        return None if result is None else result[0]


EVEN = "give all processes as many inputs, or leave out throw_on_early_termination"


def notify(joinable: Joinable) -> tuple[Any, Any] | None:
    """Return the result of `Join.notify_join_context`, and the tensor with the number of processes that have inputs."""
    config = joinable._join_config
    if not config.enable or not config.is_first:
        return None
    group, device = joinable.join_process_group, joinable.join_device
    work, count = counted(group, device, 1, True)
    if config.throws and counted(group, device, 0)[1].item():
        raise ModeError("Detected at least one rank that exhausted inputs", hint=EVEN, operator="Join")
    return work, count


def counted(group: Any, device: Any, value: int, async_op: bool = False) -> tuple[Any, Any]:
    """Sum a number over the processes; return the Work and the tensor."""
    total = factories.full((1,), float(value), device=device)
    return collectives.all_reduce(total, group=group, async_op=async_op), total
