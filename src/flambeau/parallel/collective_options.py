"""Option objects of ProcessGroup's methods, with PyTorch's fields."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from .group import ReduceOp

UNSET_TIMEOUT = timedelta(milliseconds=-1)  # the timeout of the group


class CollectiveOptions:
    """Base of the options.  timeout: the group's if negative;  asyncOp: False makes the call wait for its result."""

    def __init__(self) -> None:
        self.timeout = UNSET_TIMEOUT
        self.asyncOp = True


class AllreduceOptions(CollectiveOptions):
    """Options of `ProcessGroup.allreduce`.

    timeout: a timedelta; if negative (the default), the group's timeout.
    asyncOp: if True (the default), the call returns before it has finished; if False, it waits for its result.
    reduceOp: the reduction, a ReduceOp; SUM by default.
    Example:
        >>> options = torch.distributed.AllreduceOptions()
        >>> options.reduceOp.name
        'SUM'
    """

    def __init__(self) -> None:
        super().__init__()
        self.reduceOp = ReduceOp.SUM


class AllreduceCoalescedOptions(AllreduceOptions):
    """Options of `ProcessGroup.allreduce_coalesced`.

    timeout: a timedelta; if negative (the default), the group's timeout.
    asyncOp: if True (the default), the call returns before it has finished; if False, it waits for its result.
    reduceOp: the reduction, a ReduceOp; SUM by default.
    Example:
        >>> torch.distributed.AllreduceCoalescedOptions().reduceOp.name
        'SUM'
    """


class AllgatherOptions(CollectiveOptions):
    """Options of `ProcessGroup.allgather`.

    timeout: a timedelta; if negative (the default), the group's timeout.
    asyncOp: if True (the default), the call returns before it has finished; if False, it waits for its result.
    Example:
        >>> torch.distributed.distributed_c10d.AllgatherOptions().asyncOp
        True
    """


class AllToAllOptions(CollectiveOptions):
    """Options of `ProcessGroup.alltoall`.

    timeout: a timedelta; if negative (the default), the group's timeout.
    asyncOp: if True (the default), the call returns before it has finished; if False, it waits for its result.
    Example:
        >>> torch.distributed.AllToAllOptions().asyncOp
        True
    """


class BarrierOptions(CollectiveOptions):
    """Options of `ProcessGroup.barrier`.

    device_ids, device: have no effect, as a barrier waits on the host.
    timeout: a timedelta; if negative (the default), the group's timeout.
    asyncOp: if True (the default), the call returns before it has finished; if False, it waits for its result.
    Example:
        >>> torch.distributed.BarrierOptions().device_ids
        []
    """

    def __init__(self) -> None:
        super().__init__()
        self.device_ids: list[int] = []
        self.device: Any = None


class BroadcastOptions(CollectiveOptions):
    """Options of `ProcessGroup.broadcast`.

    rootRank: the rank, in the group, of the process that sends its tensor; 0 by default.
    rootTensor: has no effect, as a call has one tensor.
    timeout: a timedelta; if negative (the default), the group's timeout.
    asyncOp: if True (the default), `broadcast` returns before it has finished; if False, it waits for its result.
    Example:
        >>> torch.distributed.BroadcastOptions().rootRank
        0
    """

    def __init__(self) -> None:
        super().__init__()
        self.rootRank = 0
        self.rootTensor = 0


class ReduceOptions(BroadcastOptions):
    """Options of `ProcessGroup.reduce`.

    reduceOp: the reduction, a ReduceOp; SUM by default.
    rootRank: the rank, in the group, of the process that gets the result; 0 by default.
    rootTensor: has no effect, as a call has one tensor.
    timeout: a timedelta; if negative (the default), the group's timeout.
    asyncOp: if True (the default), `reduce` returns before it has finished; if False, it waits for its result.
    Example:
        >>> torch.distributed.ReduceOptions().rootRank
        0
    """

    def __init__(self) -> None:
        super().__init__()
        self.reduceOp = ReduceOp.SUM


class ReduceScatterOptions(AllreduceOptions):
    """Options of `ProcessGroup.reduce_scatter`.

    reduceOp: the reduction, a ReduceOp; SUM by default.
    timeout: a timedelta; if negative (the default), the group's timeout.
    asyncOp: if True (the default), `reduce_scatter` returns before it has finished; if False, it waits for its result.
    Example:
        >>> torch.distributed.ReduceScatterOptions().reduceOp.name
        'SUM'
    """


class GatherOptions(CollectiveOptions):
    """Options of `ProcessGroup.gather`.

    rootRank: the rank, in the group, of the process that receives the tensors; 0 by default.
    timeout: a timedelta; if negative (the default), the group's timeout.
    asyncOp: if True (the default), `gather` returns before it has finished; if False, it waits for its result.
    Example:
        >>> torch.distributed.GatherOptions().rootRank
        0
    """

    def __init__(self) -> None:
        super().__init__()
        self.rootRank = 0


class ScatterOptions(GatherOptions):
    """Options of `ProcessGroup.scatter`.

    rootRank: the rank, in the group, of the process that sends the tensors; 0 by default.
    timeout: a timedelta; if negative (the default), the group's timeout.
    asyncOp: if True (the default), `scatter` returns before it has finished; if False, it waits for its result.
    Example:
        >>> torch.distributed.ScatterOptions().rootRank
        0
    """
