"""ProcessGroup: the collectives of a group, as methods that return a Work.

- The functions of torch.distributed (process_group.py) call them, and `several` runs those of several processes.
- Ranks are those in the group.
- Each method takes PyTorch's two forms: lists of one tensor with an options object, or tensors with the options as
  arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from copy import copy
from datetime import timedelta
from operator import index
from typing import Any, TypeVar

from ..autograd.mode import GradMode
from ..core.tensor import TensorBase
from ..errors import (
    ArgumentError,
    ArgumentTypeError,
    FlambeauError,
    NotSupportedError,
    ShapeError,
    ValueRangeError,
    shown,
)
from ..runtime.device import as_device
from . import messages, several
from .alike import AlikeRanks
from .batches import begin_together
from .collective_options import CollectiveOptions
from .exchange import as_timeout
from .group import AllOf, Coalescing, Group, GroupError, GroupMember, PremulSum, ReduceOp, Work
from .store import ClientStore, HashStore, PrefixStore, Store

SEVERAL = "start several ranks: flambeau run --nproc 2 program.py"


class RankError(ValueRangeError, ArgumentTypeError):
    """A rank that is not an integer."""


# arguments


def checked_tensor(name: str, what: str, value: Any) -> Any:
    if not isinstance(value, TensorBase):
        raise ArgumentTypeError(
            f"{what} must be a Tensor, got {shown(value)}",
            hint="use an object collective, such as all_gather_object, for other values",
            operator=name,
        )
    return value


def entries(name: str, what: str, values: Any, group: Group) -> list[Any]:
    """Check a list with one entry per process.

    Raises: ArgumentTypeError for a value that is not a list; ValueRangeError for a list of another length.
    """
    is_list = isinstance(values, (list, tuple))
    if not is_list or len(values) != group.size():
        one = "one entry, as the group has one process"
        count = one if group.size() == 1 else f"{group.size()} entries, one per process"
        error: type[FlambeauError] = ValueRangeError if is_list else ArgumentTypeError
        raise error(
            f"{what} must be a list with {count}, got {shown(values)}",
            hint="pass a list with get_world_size() entries",
            operator=name,
        )
    return list(values)


def _one(name: str, what: str, values: Any) -> Any:
    """Return the only entry of a list, in a group of one process."""
    return entries(name, what, values, Group())[0]


def tensors_of(name: str, what: str, values: Any, group: Group) -> list[Any]:
    """Check a list with one tensor per process."""
    return [checked_tensor(name, f"an entry of {what}", entry) for entry in entries(name, what, values, group)]


def _check_parts(name: str, whole: Any, part: Any, group: Group) -> None:
    """Check that a tensor has room for one part per process."""
    checked_tensor(name, "the larger tensor", whole)
    checked_tensor(name, "the smaller tensor", part)
    if whole.numel() != part.numel() * group.size() or whole.dtype is not part.dtype:
        raise ShapeError(
            f"{whole.describe()} does not have {group.size()} parts of {part.describe()}",
            hint="pass a larger tensor with get_world_size() times the elements of the smaller one",
            operator=name,
        )


def _copy(name: str, target: Any, source: Any) -> Any:
    """Copy a tensor's values into another one with the same type and number of elements."""
    checked_tensor(name, "the output", target)
    checked_tensor(name, "the input", source)
    several.check_alike(name, [target], "output", source, "input")
    with GradMode(False):
        target.copy_(source.reshape(target.shape))
    return target


def make_premul_sum(factor: Any) -> PremulSum:
    """Make a reduction that multiplies this rank's values by a factor before the sum.  Ranks may use different factors.

    factor: a number, or a tensor with one element.
    Raises: ArgumentTypeError for another value; ArgumentError for a tensor with several elements.
    Example:
        >>> torch.distributed.init_process_group("gloo")
        >>> x = torch.ones(2)
        >>> torch.distributed.all_reduce(x, torch.distributed._make_nccl_premul_sum(0.5))
        >>> x
        tensor([0.5000, 0.5000])
        >>> torch.distributed.destroy_process_group()
    """
    name = "_make_nccl_premul_sum"
    if isinstance(factor, TensorBase):
        if factor.numel() != 1:
            raise ArgumentError(
                f"factor must have one element, got {factor.describe()}",
                hint="pass a number, or a tensor with one element",
                operator=name,
            )
    elif isinstance(factor, bool) or not isinstance(factor, (int, float)):
        raise ArgumentTypeError(
            f"factor must be a number or a Tensor, got {shown(factor)}", hint="for example 0.5", operator=name
        )
    return PremulSum(factor)


def _scaled(name: str, op: Any, tensors: list[Any]) -> tuple[ReduceOp, list[Any]]:
    """Return the ReduceOp and the tensors to reduce, which are multiplied by the factor of a PREMUL_SUM."""
    if not isinstance(op, PremulSum):
        return op, tensors
    is_tensor = isinstance(op.factor, TensorBase)
    factor = op.factor.detach().reshape(()) if is_tensor else op.factor  # 0-dim: keeps the result's type
    for tensor in tensors:
        if not tensor.dtype.is_floating_point:
            raise NotSupportedError(
                f"PREMUL_SUM needs a floating point tensor, and the tensor is {tensor.describe()}",
                hint="multiply the tensor first, and use SUM",
                operator=name,
            )
    with GradMode(False):
        return ReduceOp.PREMUL_SUM, [(tensor.detach() * factor).to(tensor.dtype) for tensor in tensors]


def check_reduction(name: str, op: Any) -> None:
    if op is ReduceOp.PREMUL_SUM:
        raise NotSupportedError(
            "ReduceOp.PREMUL_SUM needs a factor",
            hint="pass torch.distributed._make_nccl_premul_sum(factor)",
            operator=name,
        )
    if not isinstance(op, (ReduceOp, PremulSum)):
        raise ArgumentTypeError(
            f"op must be a ReduceOp, got {shown(op)}", hint="for example torch.distributed.ReduceOp.SUM", operator=name
        )


def _split(name: str, what: str, tensor: Any, sizes: Any, group: Group) -> list[Any]:
    """Split a tensor's rows into one view per process, of `sizes` rows or equally many."""
    if checked_tensor(name, what, tensor).ndim == 0:
        raise ShapeError(
            f"{what} is {tensor.describe()}, which has no rows", hint="pass a tensor of one dimension", operator=name
        )
    rows = tensor.shape[0]
    if not isinstance(sizes, (Sequence, type(None))) or not all(hasattr(size, "__index__") for size in sizes or ()):
        raise ArgumentTypeError(
            f"the split sizes of {what} must be a list of integers, got {shown(sizes)}",
            hint="pass the number of rows for each process",
            operator=name,
        )
    listed = [index(size) for size in sizes or ()] or [rows // group.size()] * group.size()
    if len(listed) != group.size() or sum(listed) != rows or min(listed) < 0:
        raise ShapeError(
            f"{what} is {tensor.describe()}, and the split sizes are {listed}",
            hint=f"pass {group.size()} sizes whose sum is the number of rows",
            operator=name,
        )
    return list(tensor.detach().split(listed))


def _single(name: str, what: str, values: Any) -> Any:
    """Return a tensor, or the only one in a list: a process has one tensor per call."""
    if isinstance(values, (list, tuple)) and len(values) == 1:
        values = values[0]
    if isinstance(values, (list, tuple)):
        raise ArgumentError(
            f"{what} must be one tensor, got a list of {len(values)}", hint="pass one tensor per process", operator=name
        )
    return checked_tensor(name, what, values)


def _list_of(name: str, what: str, values: Any) -> Any:
    """Return a list of tensors, or the only list in a list of such lists."""
    if isinstance(values, (list, tuple)) and len(values) == 1 and isinstance(values[0], (list, tuple)):
        return values[0]
    if isinstance(values, (list, tuple)) and any(isinstance(value, (list, tuple)) for value in values):
        raise ArgumentError(
            f"{what} must be one list of tensors, got {len(values)} lists",
            hint="pass one list per process",
            operator=name,
        )
    return values


Value = TypeVar("Value")


def _option(options: Any, name: str, value: Value) -> Any:
    """Return a field of an options object; the value itself if it is not an options object."""
    return getattr(options, name) if isinstance(options, CollectiveOptions) else value


def _timeout(options: Any, timeout: Any) -> Any:
    """Return the timeout that was passed to a call, in one of its forms; None for the group's timeout."""
    if isinstance(timeout, CollectiveOptions):
        options = timeout
    return _option(options, "timeout", timeout)


def _begun(work: Work, options: Any) -> Work:
    """Return the Work of a call, after waiting for it if the options say so."""
    if not _option(options, "asyncOp", True):
        work.wait()
    return work


def check_exists(group: Group, operator: str) -> None:
    """Raise GroupError if the group has been destroyed."""
    if group.is_destroyed:
        raise GroupError(
            f"group {group.group_name}, of the ranks {', '.join(map(str, group.ranks))}, has been destroyed",
            hint="call destroy_process_group() after the last use",
            operator=operator,
        )


def check_members(group: Group, name: str, ranks: Sequence[int]) -> None:
    """Raise ValueRangeError unless numbers are ranks in a group, each at most once."""
    wanted = sorted(ranks)
    if not wanted or len(set(wanted)) < len(wanted) or not set(wanted) <= set(range(group.size())):
        raise ValueRangeError(
            f"ranks {wanted} do not fit a group with {group.size()} processes",
            hint=f"pass each rank from 0 to {group.size() - 1} at most once",
            operator=name,
        )


def check_several(group: Group, operator: str) -> None:
    """Raise NotSupportedError in a group of one process."""
    if group.size() == 1:
        raise NotSupportedError("the group has one process only", hint=SEVERAL, operator=operator)


def root_of(group: Group, operator: str, root: Any) -> int:
    if isinstance(root, bool) or not isinstance(root, int) or not 0 <= root < group.size():
        raise ValueRangeError(
            f"the root must be a rank of a group with {group.size()} processes, got {shown(root)}",
            hint=f"pass 0 to {group.size() - 1}",
            operator=operator,
        )
    return root


def message(group: Group, name: str, tensor: Any, other: int | None, tag: int, is_sent: bool) -> Work:
    """Begin a message to or from another process.  Raises NotSupportedError in a group of one process.

    other: the rank of the other process; None receives from any.
    """
    check_exists(group, name)
    check_several(group, name)
    if not hasattr(tag, "__index__"):
        raise ArgumentTypeError(
            f"tag must be an integer, got {shown(tag)}", hint="pass the same int in both processes", operator=name
        )
    checked, own = checked_tensor(name, "tensor", tensor), group.rank()
    if is_sent:
        return messages.message(group, name, checked, own, root_of(group, name, other), int(tag))
    source = None if other is None else root_of(group, name, other)
    return messages.message(group, name, checked, source, own, int(tag))


def next_name(group: Group, kind: str) -> str:
    """Return a name for a new group made from another group's processes; it is the same in all of them."""
    return group.next_key(kind).replace(":", "/")


class ProcessGroup(Group):
    """A group of a job's processes that includes this one.

    `init_process_group` and `new_group` make groups.  The methods run collectives and messages, and return a Work.
    Ranks are ranks in the group, not global ones.  Timeouts are timedeltas, or floats of seconds; the default is the
    group's timeout.
    A method that takes `opts` accepts an options object, such as AllreduceOptions, in place of its other options.
    Methods raise GroupError once the group is destroyed, ArgumentTypeError for arguments of wrong types, and
    ValueRangeError for ranks that are not in the group.  `Work.wait` raises CollectiveError if the processes' calls
    differ, a process has ended, or the timeout has expired.
    Example:
        >>> torch.distributed.init_process_group("gloo")
        >>> group = torch.distributed.new_group([0])
        >>> group.rank(), group.size()
        (0, 1)
        >>> group.allreduce(torch.ones(2)).result()
        [tensor([1., 1.])]
        >>> torch.distributed.destroy_process_group()
    """

    _store: Store | None = None  # made by the first `get_group_store`

    def _within(self, operator: str, options: Any, timeout: Any = None) -> ProcessGroup:
        """Check that the group exists; return it with the timeout of a call."""
        check_exists(self, operator)
        return self.within(operator, _timeout(options, timeout))

    def _together(self, name: str, tensors: Any, options: Any, begin: Callable[[Any], list[Work]], value: Any) -> Work:
        """Begin one call per tensor with `begin`, as one operation.

        begin: called with the options.  value: the result of the Work.
        Raises: ArgumentTypeError for a value that is not a list of tensors; ArgumentError for tensors on several
                devices.
        """
        group = self._within(name, options)
        if not isinstance(tensors, (list, tuple)):
            raise ArgumentTypeError(
                f"expected a list of tensors, got {shown(tensors)}", hint="pass [tensor, ...]", operator=name
            )
        devices = {checked_tensor(name, "an entry of the list", tensor).device_index for tensor in tensors}
        if not self.is_shared or self.coalescing is not None or not devices:
            return AllOf(begin(options), value)
        if len(devices) > 1:
            raise ArgumentError(
                "the tensors must be on one device, and are on "
                f"{', '.join(sorted({str(tensor.device) for tensor in tensors}))}",
                hint="coalesce the calls of one device at a time",
                operator=name,
            )
        collected = self.coalescing = Coalescing("cpu" if min(devices) < 0 else "cuda")
        each_options = copy(options)
        if isinstance(options, CollectiveOptions):
            each_options.asyncOp = True  # the calls can only be waited for together
        try:
            begin(each_options)
        finally:
            self.coalescing = None
        return _begun(AllOf([begin_together(name, group, collected.parts)], value), options)

    def allreduce(self, tensors: Any, op: Any = ReduceOp.SUM, timeout: Any = None, *, opts: Any = None) -> Work:
        """Reduce a tensor over all processes, in place.

        tensors: a tensor, or a list of one tensor, that receives the result.
        op: a ReduceOp.  opts: an AllreduceOptions, used instead of `op` and `timeout`; it may also be passed as `op`.
        Returns: a Work whose `result` is a list of the tensor.
        Raises: ArgumentTypeError for anything but a tensor, or if `op` is not a ReduceOp; ArgumentError for several
                tensors; NotSupportedError for a reduction that the tensor's dtype does not have.
        Example:
            >>> torch.distributed.init_process_group("gloo")
            >>> group = torch.distributed.group.WORLD
            >>> group.allreduce([torch.ones(2)], torch.distributed.AllreduceOptions()).wait()
            True
            >>> torch.distributed.destroy_process_group()
        """
        name, options = "all_reduce", op if isinstance(op, CollectiveOptions) else opts
        group, tensor = self._within(name, options, timeout), _single(name, "tensor", tensors)
        op = _option(options, "reduceOp", op)
        check_reduction(name, op)
        op, (source,) = _scaled(name, op, [tensor])
        if self.is_shared:
            return _begun(several.all_reduce(group, tensor, op, source), options)
        return Work([tensor if source is tensor else _copy(name, tensor, source)])

    def allreduce_coalesced(self, tensors: Any, opts: Any = None) -> Work:
        """Reduce each of several tensors over all processes, in place, as one operation.

        tensors: a list of tensors.  opts: AllreduceCoalescedOptions with the reduction; None for SUM.
        Returns: a Work whose `result` is the list.
        Raises: ArgumentTypeError for a value that is not a list of tensors; ArgumentError for tensors on several
                devices, and for tensors that share memory.
        Example:
            >>> torch.distributed.init_process_group("gloo")
            >>> group = torch.distributed.group.WORLD
            >>> group.allreduce_coalesced([torch.ones(2), torch.ones(1)]).result()
            [tensor([1., 1.]), tensor([1.])]
            >>> torch.distributed.destroy_process_group()
        """

        def begin(options: Any) -> list[Work]:
            return [self.allreduce(tensor, opts=options) for tensor in tensors]

        return self._together("all_reduce_coalesced", tensors, opts, begin, tensors)

    def broadcast(self, tensors: Any, root: Any = 0, timeout: Any = None, *, opts: Any = None) -> Work:
        """Copy the tensor of one process into the tensors of the other processes.

        tensors: a tensor, or a list of one: the tensor to send in the root, the tensor to overwrite elsewhere.
        root: the rank of the sender.  opts: a BroadcastOptions, used instead of `root` and `timeout`; it may also be
        passed as `root`.
        Raises: ArgumentTypeError for a value that is not a tensor, ArgumentError for several tensors, ValueRangeError
                for a root that is not in the group.
        Example:
            >>> torch.distributed.init_process_group("gloo")
            >>> group = torch.distributed.group.WORLD
            >>> group.broadcast(torch.ones(2), 0).result()
            [tensor([1., 1.])]
            >>> torch.distributed.destroy_process_group()
        """
        name, options = "broadcast", root if isinstance(root, CollectiveOptions) else opts
        group, tensor = self._within(name, options, timeout), _single(name, "tensor", tensors)
        source = root_of(self, name, _option(options, "rootRank", root))
        return _begun(several.broadcast(group, tensor, source) if self.is_shared else Work([tensor]), options)

    def reduce(
        self, tensors: Any, root: Any = 0, op: Any = ReduceOp.SUM, timeout: Any = None, *, opts: Any = None
    ) -> Work:
        """Reduce a tensor over all processes, into the tensor of one process.

        root: the rank of the process whose tensor receives the result.  op: a ReduceOp.
        opts: a ReduceOptions, used instead of `root`, `op` and `timeout`; it may also be passed as `root`.
        Raises: the errors of `allreduce`; ValueRangeError for a root that is not in the group.
        Example:
            >>> torch.distributed.init_process_group("gloo")
            >>> group = torch.distributed.group.WORLD
            >>> group.reduce(torch.ones(2), 0).result()
            [tensor([1., 1.])]
            >>> torch.distributed.destroy_process_group()
        """
        name, options = "reduce", root if isinstance(root, CollectiveOptions) else opts
        group, tensor = self._within(name, options, timeout), _single(name, "tensor", tensors)
        target, op = root_of(self, name, _option(options, "rootRank", root)), _option(options, "reduceOp", op)
        check_reduction(name, op)
        op, (source,) = _scaled(name, op, [tensor])
        if self.is_shared:
            work = several.reduce(group, tensor, target, op, source)
            work.value = [tensor]  # on all ranks
            return _begun(work, options)
        return Work([tensor if source is tensor else _copy(name, tensor, source)])

    def allgather(self, output_tensors: Any, input_tensors: Any, timeout: Any = None, *, opts: Any = None) -> Work:
        """Copy every process's tensor into a list of tensors.

        output_tensors: a list with one tensor per process, in rank order; a list of one such list is accepted too.
        input_tensors: this process's tensor, or a list of it.
        opts: an AllgatherOptions, used instead of `timeout`; it may also be passed as `timeout`.
        Shapes: each output has as many elements as the input.
        Raises: ArgumentTypeError or ValueRangeError unless there is a list of one tensor per process; ShapeError for an
                output of another size.
        Example:
            >>> torch.distributed.init_process_group("gloo")
            >>> group = torch.distributed.group.WORLD
            >>> found = [torch.zeros(2)]
            >>> group.allgather([found], [torch.ones(2)]).wait()
            True
            >>> found
            [tensor([1., 1.])]
            >>> torch.distributed.destroy_process_group()
        """
        name, options = "all_gather", timeout if isinstance(timeout, CollectiveOptions) else opts
        group, tensor = self._within(name, options, timeout), _single(name, "the input", input_tensors)
        listed = _list_of(name, "tensor_list", output_tensors)
        outputs = tensors_of(name, "tensor_list", listed, self)
        if self.is_shared:
            return _begun(several.all_gather(group, name, outputs, tensor), options)
        _copy(name, outputs[0], tensor)
        return Work(listed)

    def allgather_coalesced(self, output_lists: Any, input_list: Any, opts: Any = None) -> Work:
        """Copy every process's tensors into lists of tensors, one list per process, as one operation.

        output_lists: one list of tensors per process, in rank order.  input_list: this process's tensors.
        Raises: the errors of `allgather`; ArgumentTypeError unless `input_list` is a list of tensors, ArgumentError for
                tensors on several devices.
        Example:
            >>> torch.distributed.init_process_group("gloo")
            >>> group = torch.distributed.group.WORLD
            >>> found = [[torch.zeros(2), torch.zeros(1)]]
            >>> group.allgather_coalesced(found, [torch.ones(2), torch.ones(1)]).wait()
            True
            >>> found
            [[tensor([1., 1.]), tensor([1.])]]
            >>> torch.distributed.destroy_process_group()
        """

        def begin(options: Any) -> list[Work]:
            return [
                self.allgather([outputs[number] for outputs in output_lists], tensor, opts=options)
                for number, tensor in enumerate(input_list)
            ]

        return self._together("all_gather_coalesced", input_list, opts, begin, output_lists)

    def all_gather_single(self, output: Any, input: Any, opts: Any = None) -> Work:
        """Copy every process's tensor into one tensor, in rank order.

        opts: an AllgatherOptions, or None.
        Shapes: the output has `size()` times the elements of the input.
        Raises: ArgumentTypeError for a value that is not a tensor, ShapeError for an output of another size.
        Example:
            >>> torch.distributed.init_process_group("gloo")
            >>> group = torch.distributed.group.WORLD
            >>> found = torch.zeros(2)
            >>> group.all_gather_single(found, torch.ones(2)).wait()
            True
            >>> found
            tensor([1., 1.])
            >>> torch.distributed.destroy_process_group()
        """
        name = "all_gather_into_tensor"
        group = self._within(name, opts)
        if self.is_shared:
            _check_parts(name, output, input, self)
            return _begun(several.all_gather_into_tensor(group, name, output, input), opts)
        return Work([_copy(name, output, input)])

    _allgather_base = all_gather_single

    def all_gather_single_coalesced(self, outputs: Any, inputs: Any, opts: Any = None) -> Work:
        """Copy every process's tensors into one output tensor per input tensor, as one operation.

        outputs[i] receives the tensors inputs[i] of all processes, in rank order.
        Shapes: outputs[i] has `size()` times the elements of inputs[i].
        Raises: the errors of `all_gather_single`; ArgumentTypeError unless `inputs` is a list of tensors;
                ArgumentError for tensors on several devices.
        Example:
            >>> torch.distributed.init_process_group("gloo")
            >>> group = torch.distributed.group.WORLD
            >>> found = [torch.zeros(2)]
            >>> group.all_gather_single_coalesced(found, [torch.ones(2)]).result()
            [tensor([1., 1.])]
            >>> torch.distributed.destroy_process_group()
        """

        def begin(options: Any) -> list[Work]:
            return [self.all_gather_single(*pair, options) for pair in zip(outputs, inputs, strict=True)]

        return self._together("all_gather_into_tensor_coalesced", inputs, opts, begin, outputs)

    allgather_into_tensor_coalesced = all_gather_single_coalesced

    def gather(
        self, output_tensors: Any, input_tensors: Any, root: Any = 0, timeout: Any = None, *, opts: Any = None
    ) -> Work:
        """Copy every process's tensor into a list of tensors on one process; the others pass an empty list.

        output_tensors: on the receiver, a list with one tensor per process, in rank order; a list of one such list is
        accepted too.  input_tensors: this process's tensor, or a list of it.
        root: the rank of the receiver.  opts: a GatherOptions, used instead of `root` and `timeout`; it may also be
        passed as `root`.
        Shapes: each output has as many elements as the input.
        Raises: ArgumentTypeError or ValueRangeError unless the root has a list of one tensor per process;
                ValueRangeError for a root that is not in the group; ShapeError for an output of another size.
        Example:
            >>> torch.distributed.init_process_group("gloo")
            >>> group = torch.distributed.group.WORLD
            >>> found = [torch.zeros(2)]
            >>> group.gather([found], [torch.ones(2)]).wait()
            True
            >>> found
            [tensor([1., 1.])]
            >>> torch.distributed.destroy_process_group()
        """
        name, options = "gather", root if isinstance(root, CollectiveOptions) else opts
        group, target = self._within(name, options, timeout), root_of(self, name, _option(options, "rootRank", root))
        tensor, listed = _single(name, "the input", input_tensors), _list_of(name, "gather_list", output_tensors)
        outputs = tensors_of(name, "gather_list", listed, self) if self.rank() == target else []
        if self.is_shared:
            return _begun(several.gather(group, tensor, outputs, target), options)
        _copy(name, outputs[0], tensor)
        return Work(listed)

    def scatter(
        self, output_tensors: Any, input_tensors: Any, root: Any = 0, timeout: Any = None, *, opts: Any = None
    ) -> Work:
        """Send entry i of one process's list of tensors to rank i; the other processes pass an empty list.

        output_tensors: the tensor that receives this process's entry, or a list of it.
        input_tensors: on the sender, a list with one tensor per process, or a list of one such list.
        root: the rank of the sender.  opts: a ScatterOptions, used instead of `root` and `timeout`; it may also be
        passed as `root`.
        Shapes: each input has as many elements as the output.
        Raises: ArgumentTypeError or ValueRangeError unless the root has a list of one tensor per process;
                ValueRangeError for a root that is not in the group; ShapeError for an input of another size.
        Example:
            >>> torch.distributed.init_process_group("gloo")
            >>> group = torch.distributed.group.WORLD
            >>> group.scatter(torch.zeros(2), [torch.ones(2)]).result()
            [tensor([1., 1.])]
            >>> torch.distributed.destroy_process_group()
        """
        name, options = "scatter", root if isinstance(root, CollectiveOptions) else opts
        group, source = self._within(name, options, timeout), root_of(self, name, _option(options, "rootRank", root))
        tensor, listed = _single(name, "the output", output_tensors), _list_of(name, "scatter_list", input_tensors)
        inputs = tensors_of(name, "scatter_list", listed, self) if self.rank() == source else []
        if self.is_shared:
            return _begun(several.scatter(group, tensor, inputs, source), options)
        return Work([_copy(name, tensor, inputs[0])])

    def reduce_scatter(
        self, output_tensors: Any, input_tensors: Any, op: Any = ReduceOp.SUM, timeout: Any = None, *, opts: Any = None
    ) -> Work:
        """Reduce a list of tensors over all processes, entry by entry; rank i gets the result of entry i.

        output_tensors: the tensor that receives this process's result, or a list of it.
        input_tensors: a list with one tensor per process, or a list of one such list.
        op: a ReduceOp.  opts: a ReduceScatterOptions, used instead of `op` and `timeout`; it may also be passed
        as `op`.
        Shapes: each input has as many elements as the output.
        Raises: ArgumentTypeError or ValueRangeError unless there is a list of one tensor per process, ArgumentTypeError
                if `op` is not a ReduceOp; ShapeError for an input of another size.
        Example:
            >>> torch.distributed.init_process_group("gloo")
            >>> group = torch.distributed.group.WORLD
            >>> group.reduce_scatter(torch.zeros(2), [torch.ones(2)]).result()
            [tensor([1., 1.])]
            >>> torch.distributed.destroy_process_group()
        """
        name, options = "reduce_scatter", op if isinstance(op, CollectiveOptions) else opts
        group, output = self._within(name, options, timeout), _single(name, "output", output_tensors)
        op = _option(options, "reduceOp", op)
        check_reduction(name, op)
        inputs = tensors_of(name, "input_list", _list_of(name, "input_list", input_tensors), self)
        op, inputs = _scaled(name, op, inputs)
        if self.is_shared:
            return _begun(several.reduce_scatter(group, name, output, inputs, op), options)
        return Work([_copy(name, output, inputs[0])])

    def reduce_scatter_single(self, outputTensor: Any, inputTensor: Any, opts: Any = None) -> Work:
        """Reduce a tensor over all processes, and divide the result: rank i gets part i in `outputTensor`.

        opts: a ReduceScatterOptions with the reduction; None for SUM.
        Shapes: the input has `size()` times the elements of the output.
        Raises: ArgumentTypeError for a value that is not a tensor, or a reduction in `opts` that is not a ReduceOp;
                ShapeError for an input of another size.
        Example:
            >>> torch.distributed.init_process_group("gloo")
            >>> group = torch.distributed.group.WORLD
            >>> group.reduce_scatter_single(torch.zeros(2), torch.ones(2)).result()
            [tensor([1., 1.])]
            >>> torch.distributed.destroy_process_group()
        """
        name, op = "reduce_scatter_tensor", _option(opts, "reduceOp", ReduceOp.SUM)
        group = self._within(name, opts)
        check_reduction(name, op)
        op, (source,) = _scaled(name, op, [checked_tensor(name, "the input", inputTensor)])
        if self.is_shared:
            _check_parts(name, source, outputTensor, self)
            return _begun(several.reduce_scatter(group, name, outputTensor, [source], op), opts)
        return Work([_copy(name, outputTensor, source)])

    _reduce_scatter_base = reduce_scatter_single

    def reduce_scatter_single_coalesced(self, outputs: Any, inputs: Any, opts: Any = None) -> Work:
        """Reduce several tensors over all processes, as one operation; each process gets a part of each result.

        outputs[i] receives this process's part of the result of inputs[i]: rank r gets part r.
        opts: a ReduceScatterOptions with the reduction; None for SUM.
        Shapes: inputs[i] has `size()` times the elements of outputs[i].
        Raises: the errors of `reduce_scatter_single`; ArgumentTypeError unless `inputs` is a list of tensors;
                ArgumentError for tensors on several devices.
        Example:
            >>> torch.distributed.init_process_group("gloo")
            >>> group = torch.distributed.group.WORLD
            >>> group.reduce_scatter_single_coalesced([torch.zeros(2)], [torch.ones(2)]).result()
            [tensor([1., 1.])]
            >>> torch.distributed.destroy_process_group()
        """

        def begin(options: Any) -> list[Work]:
            return [self.reduce_scatter_single(*pair, options) for pair in zip(outputs, inputs, strict=True)]

        return self._together("reduce_scatter_tensor_coalesced", inputs, opts, begin, outputs)

    reduce_scatter_tensor_coalesced = reduce_scatter_single_coalesced

    def alltoall(self, output_tensors: Any, input_tensors: Any, opts: Any = None) -> Work:
        """Send one tensor to each process and receive one from each.

        output_tensors: entry i receives the tensor from rank i.  input_tensors: entry i is sent to rank i.
        Raises: ArgumentTypeError or ValueRangeError unless both arguments are lists of one tensor per process,
                ArgumentError for tensors of several dtypes; CollectiveError if a sent and a received size differ.
        Example:
            >>> torch.distributed.init_process_group("gloo")
            >>> group = torch.distributed.group.WORLD
            >>> group.alltoall([torch.zeros(2)], [torch.ones(2)]).result()
            [tensor([1., 1.])]
            >>> torch.distributed.destroy_process_group()
        """
        name = "all_to_all"
        group = self._within(name, opts)
        outputs = tensors_of(name, "output_tensor_list", output_tensors, self)
        inputs = tensors_of(name, "input_tensor_list", input_tensors, self)
        if self.is_shared:
            return _begun(several.all_to_all(group, name, outputs, inputs), opts)
        _copy(name, outputs[0], inputs[0])
        return Work(output_tensors)

    def all_to_all_single(
        self,
        output: Any,
        input: Any,
        output_split_sizes: Any = None,
        input_split_sizes: Any = None,
        timeout: Any = None,
        *,
        opts: Any = None,
    ) -> Work:
        """Send some rows of a tensor to each process and receive some rows from each.

        output_split_sizes: a list with the number of rows to receive from each process.
        input_split_sizes: a list with the number of rows to send to each process.
        If a list is None or empty, the rows are divided equally.
        opts: an AllToAllOptions, used instead of `timeout`; it may also be passed as `timeout`.
        Raises: ArgumentTypeError for a value that is not a tensor; ShapeError unless a tensor's rows are the sum of its
                sizes; ArgumentError if the tensors differ in dtype; CollectiveError if a sent and a received size
                differ.
        Example:
            >>> torch.distributed.init_process_group("gloo")
            >>> group = torch.distributed.group.WORLD
            >>> group.all_to_all_single(torch.zeros(2), torch.ones(2), [], []).result()
            [tensor([1., 1.])]
            >>> torch.distributed.destroy_process_group()
        """
        name, options = "all_to_all_single", timeout if isinstance(timeout, CollectiveOptions) else opts
        group = self._within(name, options, timeout)
        outputs = _split(name, "output", output, output_split_sizes, self)
        inputs = _split(name, "input", input, input_split_sizes, self)
        if self.is_shared:
            work = several.all_to_all(group, name, outputs, inputs)
            work.value = [output]
            return _begun(work, options)
        return Work([_copy(name, output, input)])

    alltoall_base = all_to_all_single

    def barrier(self, opts: Any = None, *, timeout: timedelta | float | None = None) -> Work:
        """Begin a barrier, and return a Work whose `wait` waits until all processes of the group have called this.

        opts: BarrierOptions, or a timeout.
        Raises: GroupError if the group has been destroyed, ArgumentTypeError for a timeout of another type.
        Example:
            >>> torch.distributed.init_process_group("gloo")
            >>> group = torch.distributed.group.WORLD
            >>> group.barrier().wait()
            True
            >>> torch.distributed.destroy_process_group()
        """
        timeout = opts if isinstance(opts, (timedelta, float)) else timeout
        group = self._within("barrier", opts, timeout)
        return _begun(several.barrier(group) if self.is_shared else Work([]), opts)

    def monitored_barrier(self, timeout: timedelta | float | None = None, wait_all_ranks: bool = False) -> None:
        """Wait until all processes of the group have called this.

        timeout: a timedelta, or a float of seconds; None for the group's timeout.  wait_all_ranks: has no effect.
        Host:   waits.
        Raises: the errors of `barrier`; CollectiveError if a process does not arrive in time.  The message lists the
                collective that each process has called.
        Example:
            >>> torch.distributed.init_process_group("gloo")
            >>> group = torch.distributed.group.WORLD
            >>> group.monitored_barrier()
            >>> torch.distributed.destroy_process_group()
        """
        group = self._within("monitored_barrier", None, timeout)
        if self.is_shared:
            several.barrier(group, "monitored_barrier").wait()

    def send(self, tensors: Any, dstRank: int, tag: int) -> Work:
        """Begin to send a tensor to one process; return a Work.

        tensors: a tensor, or a list of one.  dstRank: the receiver's rank in the group.
        tag: an int that distinguishes messages; the receiver must pass the same.
        Raises: NotSupportedError in a group of one process, ValueRangeError for a rank that is not in the group.
        Example:
            >>> torch.distributed.init_process_group("gloo")
            >>> group = torch.distributed.group.WORLD
            >>> try:
            ...     group.send([torch.ones(1)], 1, 0)
            ... except NotImplementedError:
            ...     print("the group has one process")
            the group has one process
            >>> torch.distributed.destroy_process_group()
        """
        return message(self, "isend", _single("isend", "tensor", tensors), dstRank, tag, is_sent=True)

    def recv(self, tensors: Any, srcRank: int, tag: int) -> Work:
        """Begin to receive a tensor from one process; return a Work.

        tensors: the tensor to overwrite, or a list of it.  srcRank: the sender's rank in the group.
        tag: an int that distinguishes messages; the sender must pass the same.
        Raises: NotSupportedError in a group of one process, ValueRangeError for a rank that is not in the group.
        Example:
            >>> torch.distributed.init_process_group("gloo")
            >>> group = torch.distributed.group.WORLD
            >>> try:
            ...     group.recv([torch.ones(1)], 1, 0)
            ... except NotImplementedError:
            ...     print("the group has one process")
            the group has one process
            >>> torch.distributed.destroy_process_group()
        """
        return message(self, "irecv", _single("irecv", "tensor", tensors), srcRank, tag, is_sent=False)

    def recv_anysource(self, tensors: Any, tag: int) -> Work:
        """Begin to receive a tensor from any process; return a Work, whose `source_rank()` is the sender's rank.

        tensors: the tensor to overwrite, or a list of it.
        tag: an int that distinguishes messages; the sender must pass the same.
        Raises: NotSupportedError in a group of one process, and for a tensor on a GPU if the backend is "nccl".
        Example:
            >>> torch.distributed.init_process_group("gloo")
            >>> group = torch.distributed.group.WORLD
            >>> try:
            ...     group.recv_anysource([torch.ones(1)], 0)
            ... except NotImplementedError:
            ...     print("the group has one process")
            the group has one process
            >>> torch.distributed.destroy_process_group()
        """
        return message(self, "irecv", _single("irecv", "tensor", tensors), None, tag, is_sent=False)

    def split_group(
        self,
        ranks: Sequence[int],
        timeout: timedelta | float | None = None,
        opts: Any = None,
        group_name: str | None = None,
        group_desc: str | None = None,
        device_types: Any = None,
    ) -> ProcessGroup | None:
        """Make a group of some of this group's processes; every process of this group must call this.

        ranks: the members of the new group, by their ranks in this group; the order has no effect.
        timeout: the new group's timeout, a timedelta or a float of seconds; None for that of this group.
        Returns: the new group; None in a process that is not one of its members.
        Raises: ValueRangeError for a rank that does not exist or is repeated; ArgumentTypeError for a timeout of
                another type, and for ranks that are not integers; GroupError if this group has been destroyed.
        Example:
            >>> torch.distributed.init_process_group("gloo")
            >>> group = torch.distributed.group.WORLD
            >>> group.split_group([0]).size()
            1
            >>> torch.distributed.destroy_process_group()
        """
        name = "split_group"
        numbers = list(ranks) if isinstance(ranks, Iterable) else [ranks]
        if not isinstance(ranks, Iterable) or any(not hasattr(rank, "__index__") for rank in numbers):
            raise RankError(f"ranks must be integers, got {shown(ranks)}", hint="for example [0, 1]", operator=name)
        check_exists(self, name)
        limit = self.timeout if timeout is None else as_timeout(name, timeout)
        wanted = sorted(map(index, numbers))
        check_members(self, name, wanted)
        if self.rank() not in wanted:
            return None
        subgroup = ProcessGroup(
            self.backend,
            group_name or next_name(self, f"split {'.'.join(map(str, wanted))} "),
            tuple(self.ranks[rank] for rank in wanted),
            wanted.index(self.rank()),
            self.client,
            limit,
            group_desc or f"{self.group_desc}:split",
            self.bound_device_id,
        )
        GroupMember.others.append(subgroup)
        return subgroup

    def get_group_store(self) -> Store:
        """Return a key-value store that the group's processes share.

        Groups with different names have separate keys.
        Example:
            >>> torch.distributed.init_process_group("gloo")
            >>> group = torch.distributed.group.WORLD
            >>> store = group.get_group_store()
            >>> store.set("loss", "1.5")
            >>> group.get_group_store().get("loss")
            b'1.5'
            >>> torch.distributed.destroy_process_group()
        """
        if self._store is None:
            client = self.client
            self._store = HashStore() if client is None or isinstance(client, AlikeRanks) else ClientStore(client)
        return PrefixStore(self.group_name, self._store)

    @property
    def _device_types(self) -> list[Any]:
        """The types of devices whose tensors the group accepts."""
        return [
            as_device(device_type) for device_type in ("cuda", "cpu") if self.backend != "nccl" or device_type == "cuda"
        ]

    def _get_backend(self, device: Any) -> ProcessGroup:
        """Return the group itself, which stands for all its backends."""
        return self

    def _get_backend_name(self) -> str:
        return self.backend

    def _get_sequence_number_for_group(self) -> int:
        """Return the number of collectives that this process has begun."""
        return self._counts.get("", -1) + 1

    def shutdown(self) -> None:
        """Destroy the group in this process.  Its unfinished collectives still complete; later calls raise GroupError.

        Host:   waits for the collectives of CPU tensors and of NVIDIA GPUs.
        Raises: CollectiveError if one of these fails.
        Example:
            >>> torch.distributed.init_process_group("gloo")
            >>> group = torch.distributed.group.WORLD
            >>> group.shutdown()
            >>> try:
            ...     group.barrier()
            ... except RuntimeError:
            ...     print("the group has been destroyed")
            the group has been destroyed
            >>> torch.distributed.destroy_process_group()
        """
        if self.is_destroyed:
            return
        self.is_destroyed = True
        if self.client is not None:
            self.client.finish(self.group_name)
        for stream in self._streams.values():
            stream.driver.finish_exchanges([stream.handle])

    def abort(self) -> None:
        """Destroy the group in all its processes, without waiting for its collectives.

        Unfinished collectives raise CollectiveError.  Later ones raise GroupError in this process, CollectiveError in
        the others.  The other groups of these processes end too.
        Example:
            >>> torch.distributed.init_process_group("gloo")
            >>> group = torch.distributed.group.WORLD
            >>> group.abort()
            >>> try:
            ...     group.barrier()
            ... except RuntimeError:
            ...     print("the group has been destroyed")
            the group has been destroyed
            >>> torch.distributed.destroy_process_group()
        """
        if self.is_destroyed:
            return
        self.is_destroyed = True
        if self.client is not None:
            self.client.report_broken(f"abort() of group {self.group_name}")
