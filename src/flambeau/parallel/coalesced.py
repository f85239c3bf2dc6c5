"""Coalesced calls: `_coalescing_manager`, `batch_isend_irecv` and similar functions; batches.py runs them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from .. import callers
from ..core.tensor import TensorBase
from ..errors import ArgumentError, ArgumentTypeError, shown
from ..runtime.device import as_device
from . import process_group, several
from .batches import begin_together
from .collectives import checked_tensor
from .group import AllOf, Coalescing, Group, GroupError, ReduceOp, Work
from .several import Part

NAME = "_coalescing_manager"


class CoalescingManager:
    """A context manager that collects the calls of a group and begins them as one operation when it ends.

    works: with async_ops, the Works to wait for.
    """

    def __init__(self, name: str, group: Group, device_type: str | None, async_ops: bool) -> None:
        self.works: list[Work] = []
        self._name, self._group, self._device_type, self._async_ops = name, group, device_type, async_ops

    def __enter__(self) -> CoalescingManager:
        if self._group.coalescing is not None:
            raise GroupError(
                f"the calls of group {self._group.group_name} are already being coalesced",
                hint="end the other _coalescing_manager first",
                operator=self._name,
            )
        self._group.coalescing = Coalescing(self._device_type)
        return self

    def __exit__(self, error_type: Any, error: Any, trace: Any) -> None:
        collected, self._group.coalescing = self._group.coalescing, None
        if error_type is not None or collected is None or not collected.parts:
            return
        if self._device_type is None:
            _check_alike(collected.parts)
        work = several.ended(begin_together(self._name, self._group, collected.parts), self._async_ops)
        if work is not None:
            self.append(work)

    def append(self, work: Work | None = None) -> None:
        """Add a Work to wait for."""
        if work is not None:
            self.works.append(work)

    def wait(self) -> None:
        """Make the current stream wait for all outputs; on the CPU, wait on the host."""
        for work in self.works:
            work.wait()


def _check_alike(parts: Sequence[Part]) -> None:
    """Raise GroupError unless all calls are of one function and one reduction, which is required without a device."""
    kinds = sorted({" ".join((part.collective.name, part.reduction)).strip() for part in parts})
    if len(kinds) > 1:
        raise GroupError(
            f"the calls must all be the same collective, got {', '.join(kinds)}",
            hint="pass device=, which permits different collectives",
            operator=NAME,
        )


def coalescing_manager(group: Any = None, device: Any = None, async_ops: bool = False) -> CoalescingManager:
    """Collect calls, and begin them as one operation when the context ends: no call waits for another.

    device: of the calls.  Without it, all calls must be of one kind: all_reduce, all_gather_into_tensor or
    reduce_scatter_tensor, with one reduction; other calls begin at once.
    async_ops: call `wait` of the context manager to wait for the outputs; otherwise the current stream waits for them.
    If the block raises an exception, the calls are dropped.
    Raises: GroupError (RuntimeError, ValueError) if calls differ, or the group's calls are already being coalesced;
            ArgumentError for calls on several devices, and for a call that writes the memory of another.
    Example:
        >>> torch.distributed.init_process_group("gloo")
        >>> x, y = torch.ones(2), torch.ones(3)
        >>> with torch.distributed._coalescing_manager(async_ops=True) as manager:
        ...     for each in (x, y):
        ...         _ = torch.distributed.all_reduce(each, async_op=True)
        >>> manager.wait()
        >>> torch.distributed.destroy_process_group()
    """
    chosen_group = process_group.member(NAME, group)
    return CoalescingManager(NAME, chosen_group, None if device is None else as_device(device).type, async_ops)


def all_reduce_coalesced(tensors: Any, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False) -> Any:
    """Reduce each of several tensors over all processes, in place, as one operation.

    tensors: a tensor or a list of tensors.  op: a ReduceOp.  group: None for the default group.
    Returns: a Future of the tensors if async_op is True, else None.
    Warns:  FutureWarning, as PyTorch has deprecated the function.
    Raises: ArgumentTypeError unless `tensors` is a tensor or a list of tensors; the errors of `all_reduce`.
    Example:
        >>> torch.distributed.init_process_group("gloo")
        >>> x, y = torch.ones(2), torch.ones(3)
        >>> import warnings
        >>> with warnings.catch_warnings(action="ignore"):
        ...     torch.distributed.all_reduce_coalesced([x, y])
        >>> x, y
        (tensor([1., 1.]), tensor([1., 1., 1.]))
        >>> torch.distributed.destroy_process_group()
    """
    name = "all_reduce_coalesced"
    _warn(name)
    listed = [tensors] if isinstance(tensors, TensorBase) else _listed(name, "tensors", tensors)
    with _collecting(name, listed, group) as manager:
        for tensor in listed:
            process_group.all_reduce(tensor, op, group, async_op=True)
    return _ended(manager, listed, async_op)


def all_gather_coalesced(
    output_tensor_lists: Any, input_tensor_list: Any, group: Any = None, async_op: bool = False
) -> Any:
    """Copy every process's tensors into lists of tensors, one list per process, as one operation.

    output_tensor_lists: one list of tensors per process, in rank order.  input_tensor_list: this process's tensors.
    group: None for the default group.
    Returns: a Future of the output lists if async_op is True, else None.
    Warns:  FutureWarning, as PyTorch has deprecated the function.
    Raises: ArgumentError unless each list of outputs has as many tensors as the input; ArgumentTypeError for values
            that are not lists of tensors; ValueRangeError unless there is one list per process; the errors of
            `all_gather`.
    Example:
        >>> torch.distributed.init_process_group("gloo")
        >>> found = [[torch.zeros(2), torch.zeros(1)]]
        >>> import warnings
        >>> with warnings.catch_warnings(action="ignore"):
        ...     torch.distributed.all_gather_coalesced(found, [torch.ones(2), torch.ones(1)])
        >>> found
        [[tensor([1., 1.]), tensor([1.])]]
        >>> torch.distributed.destroy_process_group()
    """
    name = "all_gather_coalesced"
    _warn(name)
    inputs = _listed(name, "input_tensor_list", input_tensor_list)
    outputs = [_listed(name, "output_tensor_lists", tensors) for tensors in output_tensor_lists]
    if any(len(tensors) != len(inputs) for tensors in outputs):
        raise ArgumentError(
            f"output_tensor_lists has lists of {', '.join(str(len(tensors)) for tensors in outputs)} tensors, and "
            f"input_tensor_list has {len(inputs)}",
            hint="each list of output_tensor_lists needs one tensor per input",
            operator=name,
        )
    with _collecting(name, inputs, group) as manager:
        for number, tensor in enumerate(inputs):
            process_group.all_gather([one[number] for one in outputs], tensor, group, async_op=True)
    return _ended(manager, output_tensor_lists, async_op)


def _warn(name: str) -> None:
    callers.warn(
        f"`torch.distributed.{name}` is deprecated: use `torch.distributed._coalescing_manager`", FutureWarning
    )


def _listed(name: str, what: str, tensors: Any) -> list[Any]:
    """Check a list of tensors."""
    if not isinstance(tensors, (list, tuple)) or not all(isinstance(tensor, TensorBase) for tensor in tensors):
        raise ArgumentTypeError(
            f"{what} must be a list of tensors, got {shown(tensors)}", hint="pass [tensor, ...]", operator=name
        )
    return list(tensors)


def _collecting(name: str, tensors: Sequence[Any], group: Any) -> CoalescingManager:
    device_type = tensors[0].device.type if tensors else None
    return CoalescingManager(name, process_group.member(name, group), device_type, async_ops=True)


def _ended(manager: CoalescingManager, value: Any, async_op: bool) -> Any:
    """Return a future of the value; without async_op, make the current stream wait for the operation."""
    work = AllOf(manager.works, value)
    return work.get_future() if async_op else several.ended(work, async_op)


# messages


class P2POp:
    """A message to be sent or received by `batch_isend_irecv`.

    op: the function `isend` or `irecv`.  tensor: the tensor to send, or to overwrite.
    peer: the global rank of the other process.  group_peer: its rank in the group, in place of `peer`.
    group: None for the default group.  tag: an int that distinguishes messages, equal in sender and receiver.
    Raises: GroupError (RuntimeError, ValueError) before `init_process_group`; ArgumentError unless one of `peer` and
            `group_peer` is given; ArgumentTypeError for a value that is not a tensor.
    Example:
        >>> torch.distributed.init_process_group("gloo")
        >>> torch.distributed.P2POp(torch.distributed.isend, torch.ones(2), 0)
        P2POp(isend pg=0, group_src=0, group_dst=0,  torch.Size([2]), torch.float32)
        >>> torch.distributed.destroy_process_group()
    """

    def __init__(
        self,
        op: Any,
        tensor: Any,
        peer: int | None = None,
        group: Any = None,
        tag: int = 0,
        group_peer: int | None = None,
    ) -> None:
        if op not in (process_group.isend, process_group.irecv):
            raise ArgumentError(
                f"op must be isend or irecv, got {shown(op)}",
                hint="pass torch.distributed.isend or torch.distributed.irecv",
                operator="P2POp",
            )
        checked_tensor("P2POp", "tensor", tensor)
        self.group_peer = process_group.rank_in_group("P2POp", "peer", peer, group, group_peer)
        self.group = process_group.member("P2POp", group)
        self.op, self.tensor, self.peer, self.tag = op, tensor, self.group.ranks[self.group_peer], tag

    def __repr__(self) -> str:
        ends = (self.group.rank(), self.group_peer)
        source, target = ends if self.op is process_group.isend else ends[::-1]
        return (
            f"P2POp({self.op.__name__} pg={self.group.group_name}, group_src={source}, group_dst={target},  "
            f"{self.tensor.shape}, {self.tensor.dtype})"
        )


def batch_isend_irecv(p2p_op_list: Any) -> list[Work]:
    """Begin several messages of one group, and return a list of Works.

    p2p_op_list: a list of P2POp.
    With NCCL, the messages are one operation with one Work, and no message waits for another; otherwise, each message
    has its own Work.  Messages from one process to another are received in the order in which they are sent.
    If this is the group's first operation, every process of the group must call this or another operation of it.
    Raises: ArgumentError for an empty list, an entry that is not a P2POp, several groups, and a message that writes
            memory that another message uses.
    Example:
        >>> torch.distributed.init_process_group("gloo")
        >>> try:
        ...     torch.distributed.batch_isend_irecv([])
        ... except ValueError as error:
        ...     print("no messages")
        no messages
        >>> torch.distributed.destroy_process_group()
    """
    name, is_list = "batch_isend_irecv", isinstance(p2p_op_list, (list, tuple)) and bool(p2p_op_list)
    if not is_list or not all(isinstance(p2p_op, P2POp) for p2p_op in p2p_op_list):
        raise ArgumentError(
            f"p2p_op_list must be a list of P2POp, got {shown(p2p_op_list)}",
            hint="make each with P2POp(isend, tensor, peer)",
            operator=name,
        )
    groups = [process_group.member(name, p2p_op.group) for p2p_op in p2p_op_list]
    other = next((group for group in groups if group is not groups[0]), None)
    if other is not None:
        raise ArgumentError(
            f"the messages must be of one group, and are of the groups {groups[0].group_name} and {other.group_name}",
            hint="call batch_isend_irecv once for each group",
            operator=name,
        )
    begins = [partial(p2p_op.op, p2p_op.tensor, p2p_op.peer, p2p_op.group, p2p_op.tag) for p2p_op in p2p_op_list]
    if "nccl" not in groups[0].backend or not all(p2p_op.tensor.is_cuda for p2p_op in p2p_op_list):
        return [begin() for begin in begins]
    with CoalescingManager(name, groups[0], "cuda", async_ops=True) as manager:
        for begin in begins:
            begin()
    return manager.works
