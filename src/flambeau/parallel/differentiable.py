"""Collectives with gradients: torch.distributed.nn.functional.

- Each collective is linear, and its backward is the transposed one: of broadcast reduce, of gather scatter, of
  all_gather reduce_scatter, and the reverse; of all_reduce and all_to_all the same.
- Backward calls them as Functions, so it has gradients too.
- All processes of the group must run backward, in the same order.
- Inputs are not changed.  Ranks are global.
"""

from __future__ import annotations

from typing import Any

from ..autograd.function import Function
from ..errors import NotSupportedError
from . import process_group as collectives
from .collectives import checked_tensor, tensors_of
from .group import ReduceOp
from .process_group import for_members, member


def _share(name: str, op: Any, group: Any) -> float:
    """Return the derivative of a reduction by one process's value.  Raises NotSupportedError unless it is linear."""
    if op is ReduceOp.SUM:
        return 1.0
    if op is ReduceOp.AVG:
        return 1.0 / collectives.get_world_size(group)
    raise NotSupportedError(
        f"the reduction {op} has no gradient",
        hint="use ReduceOp.SUM or ReduceOp.AVG, or detach the input",
        operator=name,
    )


def _checked(name: str, tensor: Any, group: Any) -> Any:
    """Return the input of a collective.  Raises as `member` and `checked_tensor`."""
    member(name, group)
    return checked_tensor(name, "tensor", tensor)


def _is_here(rank: Any) -> bool:
    return bool(collectives.get_rank() == rank)


class AllReduce(Function):
    """The reduction of all processes' tensors, in all processes."""

    @staticmethod
    def forward(ctx: Any, op: Any, group: Any, tensor: Any) -> Any:
        ctx.op, ctx.group = op, group
        result = tensor.contiguous().clone()
        collectives.all_reduce(result, op, group)
        return result

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        _share("all_reduce", ctx.op, ctx.group)
        return None, None, AllReduce.apply(ctx.op, ctx.group, grad)


class Broadcast(Function):
    """One process's tensor in all processes."""

    @staticmethod
    def forward(ctx: Any, src: Any, group: Any, tensor: Any) -> Any:
        ctx.src, ctx.group = src, group
        result = tensor.contiguous().clone()
        collectives.broadcast(result, src, group)
        return result

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return None, None, Reduce.apply(ctx.src, ReduceOp.SUM, ctx.group, True, grad)


class Reduce(Function):
    """The reduction of all processes' tensors in one process.  is_zero: the others get zeros."""

    @staticmethod
    def forward(ctx: Any, dst: Any, op: Any, group: Any, is_zero: bool, tensor: Any) -> Any:
        ctx.dst, ctx.op, ctx.group = dst, op, group
        result = tensor.contiguous().clone()
        collectives.reduce(result, dst, op, group)
        return result.zero_() if is_zero and not _is_here(dst) else result

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        share = _share("reduce", ctx.op, ctx.group)
        received = Broadcast.apply(ctx.dst, ctx.group, grad)
        return None, None, None, None, received if share == 1 else received * share


class Gather(Function):
    """All processes' tensors in one process; zeros in the others."""

    @staticmethod
    def forward(ctx: Any, dst: Any, group: Any, tensor: Any) -> Any:
        ctx.dst, ctx.group = dst, group
        tensor = tensor.contiguous()
        outputs = [tensor.new_zeros(tensor.shape) for _ in range(collectives.get_world_size(group))]
        collectives.gather(tensor, outputs if _is_here(dst) else None, dst, group)
        return tuple(outputs)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        return None, None, Scatter.apply(ctx.dst, ctx.group, *grads)


class Scatter(Function):
    """One of a process's tensors for each process."""

    @staticmethod
    def forward(ctx: Any, src: Any, group: Any, *tensors: Any) -> Any:
        ctx.src, ctx.group = src, group
        result = tensors[0].new_zeros(tensors[0].shape)
        collectives.scatter(result, [tensor.contiguous() for tensor in tensors] if _is_here(src) else None, src, group)
        return result

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return None, None, *Gather.apply(ctx.src, ctx.group, grad)


class AllGather(Function):
    """All processes' tensors, in all processes."""

    @staticmethod
    def forward(ctx: Any, group: Any, tensor: Any) -> Any:
        ctx.group = group
        tensor = tensor.contiguous()
        outputs = [tensor.new_empty(tensor.shape) for _ in range(collectives.get_world_size(group))]
        collectives.all_gather(outputs, tensor, group)
        return tuple(outputs)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        output = grads[0].new_empty(grads[0].shape)
        return None, ReduceScatter.apply(ReduceOp.SUM, ctx.group, output, *grads)


class ReduceScatter(Function):
    """The reductions of all processes' lists, one for each process.  The result shares the memory of `output`."""

    @staticmethod
    def forward(ctx: Any, op: Any, group: Any, output: Any, *tensors: Any) -> Any:
        ctx.op, ctx.group = op, group
        collectives.reduce_scatter(output, [tensor.contiguous() for tensor in tensors], op, group)
        return output.detach()

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        share = _share("reduce_scatter", ctx.op, ctx.group)
        parts = AllGather.apply(ctx.group, grad)
        return None, None, None, *(parts if share == 1 else [part * share for part in parts])


class AllToAll(Function):
    """One tensor from each process.  The results share the memory of `outputs`."""

    @staticmethod
    def forward(ctx: Any, group: Any, outputs: Any, *tensors: Any) -> Any:
        ctx.group, ctx.shapes = group, [tensor.shape for tensor in tensors]
        collectives.all_to_all(outputs, [tensor.contiguous() for tensor in tensors], group)
        return tuple(output.detach() for output in outputs)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        outputs = [grads[0].new_empty(shape) for shape in ctx.shapes]
        return None, None, *AllToAll.apply(ctx.group, outputs, *grads)


class AllToAllSingle(Function):
    """Some rows from each process.  The result shares the memory of `output`."""

    @staticmethod
    def forward(ctx: Any, group: Any, output: Any, received: Any, sent: Any, tensor: Any) -> Any:
        ctx.group, ctx.received, ctx.sent, ctx.shape = group, received, sent, tensor.shape
        collectives.all_to_all_single(output, tensor.contiguous(), received, sent, group)
        return output.detach()

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        result = AllToAllSingle.apply(ctx.group, grad.new_empty(ctx.shape), ctx.sent, ctx.received, grad)
        return None, None, None, None, result


@for_members
def all_reduce(tensor: Any, op: Any = ReduceOp.SUM, group: Any = None) -> Any:
    """Return the reduction of all processes' tensors; gradients flow through the result.

    Unlike `torch.distributed.all_reduce`, it returns a new tensor and leaves the input unchanged.
    op: a ReduceOp.  group: None for the default group.
    Shapes: the result has the shape of the tensor, which is the same in all processes.
    Host:   waits for the other processes if the tensor is on the CPU.
    Raises: ArgumentTypeError for a value that is not a tensor; CollectiveError if the processes' calls differ; in
            backward, NotSupportedError unless op is SUM or AVG.
    Example:
        >>> torch.distributed.init_process_group("gloo")
        >>> x = torch.ones(2, requires_grad=True)
        >>> torch.distributed.nn.functional.all_reduce(x * 3).sum().backward()
        >>> x.grad
        tensor([3., 3.])
        >>> torch.distributed.destroy_process_group()
    """
    return AllReduce.apply(op, group, _checked("all_reduce", tensor, group))


@for_members
def reduce(tensor: Any, dst: int, op: Any = ReduceOp.SUM, group: Any = None) -> Any:
    """Return the reduction of all processes' tensors in process `dst`; gradients flow through the result.

    In the other processes, the values of the result are undefined.
    dst: a global rank.  op: a ReduceOp.  group: None for the default group.
    Shapes: the result has the shape of the tensor, which is the same in all processes.
    Raises: the errors of `all_reduce`; ValueRangeError for a rank that is not in the group.
    Example:
        >>> torch.distributed.init_process_group("gloo")
        >>> torch.distributed.nn.functional.reduce(torch.ones(2), dst=0)
        tensor([1., 1.])
        >>> torch.distributed.destroy_process_group()
    """
    return Reduce.apply(dst, op, group, False, _checked("reduce", tensor, group))


@for_members
def broadcast(tensor: Any, src: int, group: Any = None) -> Any:
    """Return the tensor of process `src` in all processes; gradients flow through the result.

    In `src`, the gradient of the tensor is the sum of the gradients of all processes' results; elsewhere it is zero.
    src: a global rank.  tensor: in the other processes, only its shape and dtype matter.
    Shapes: the result has the shape of the tensor, which is the same in all processes.
    Raises: ArgumentTypeError for a value that is not a tensor, ValueRangeError for a rank that is not in the group;
            CollectiveError if the processes' calls differ.
    Example:
        >>> torch.distributed.init_process_group("gloo")
        >>> torch.distributed.nn.functional.broadcast(torch.ones(2), src=0)
        tensor([1., 1.])
        >>> torch.distributed.destroy_process_group()
    """
    return Broadcast.apply(src, group, _checked("broadcast", tensor, group))


@for_members
def gather(tensor: Any, dst: int = 0, group: Any = None) -> Any:
    """Return all processes' tensors as a tuple, in rank order, in process `dst`; gradients flow through them.

    The other processes get a tuple of zeros of the same shapes.
    dst: a global rank.  group: None for the default group.
    Shapes: each result has the shape of the tensor, which is the same in all processes.
    Raises: the errors of `broadcast`.
    Example:
        >>> torch.distributed.init_process_group("gloo")
        >>> torch.distributed.nn.functional.gather(torch.ones(2))
        (tensor([1., 1.]),)
        >>> torch.distributed.destroy_process_group()
    """
    return Gather.apply(dst, group, _checked("gather", tensor, group))


@for_members
def scatter(tensors: Any, src: int = 0, group: Any = None) -> Any:
    """Return, in the process of rank i, entry i of the list of process `src`; gradients flow through the result.

    tensors: a list of one tensor per process.  Only its shapes matter in the processes other than `src`.
    src: a global rank.  group: None for the default group.
    Shapes: all tensors have the same shape, which is also that of the result.
    Raises: ArgumentTypeError or ValueRangeError unless there is a list of one tensor per process; the errors of
            `broadcast`.
    Example:
        >>> torch.distributed.init_process_group("gloo")
        >>> torch.distributed.nn.functional.scatter([torch.ones(2)])
        tensor([1., 1.])
        >>> torch.distributed.destroy_process_group()
    """
    inputs = tensors_of("scatter", "tensors", tensors, member("scatter", group))
    return Scatter.apply(src, group, *inputs)


@for_members
def all_gather(tensor: Any, group: Any = None) -> Any:
    """Return the tensors of all processes as a tuple, in rank order; gradients flow through the results.

    group: None for the default group.
    Shapes: each result has the shape of the tensor, which is the same in all processes.
    Raises: the errors of `broadcast`.
    Example:
        >>> torch.distributed.init_process_group("gloo")
        >>> torch.distributed.nn.functional.all_gather(torch.ones(2))
        (tensor([1., 1.]),)
        >>> torch.distributed.destroy_process_group()
    """
    return AllGather.apply(group, _checked("all_gather", tensor, group))


@for_members
def reduce_scatter(output: Any, input_list: Any, op: Any = ReduceOp.SUM, group: Any = None) -> Any:
    """Reduce all processes' lists entry by entry; return the result of entry i in rank i, written into `output`.

    Gradients flow through the returned tensor.
    input_list: one tensor per process, each of the size of `output`.  op: a ReduceOp.
    Raises: the errors of `all_reduce`; ArgumentTypeError or ValueRangeError unless input_list has one tensor per
            process; ShapeError for a tensor of another size.
    Example:
        >>> torch.distributed.init_process_group("gloo")
        >>> torch.distributed.nn.functional.reduce_scatter(torch.zeros(2), [torch.ones(2)])
        tensor([1., 1.])
        >>> torch.distributed.destroy_process_group()
    """
    name = "reduce_scatter"
    inputs = tensors_of(name, "input_list", input_list, member(name, group))
    return ReduceScatter.apply(op, group, checked_tensor(name, "output", output), *inputs)


@for_members
def all_to_all(output_tensor_list: Any, input_tensor_list: Any, group: Any = None) -> Any:
    """Send one tensor to each process and receive one from each; return the received tensors as a tuple.

    Gradients flow through the returned tensors.
    input_tensor_list: entry i is sent to rank i.  output_tensor_list: entry i is overwritten by the tensor from rank i.
    Raises: ArgumentTypeError or ValueRangeError unless both lists have one tensor per process; CollectiveError if a
            sent and a received size differ.
    Example:
        >>> torch.distributed.init_process_group("gloo")
        >>> torch.distributed.nn.functional.all_to_all([torch.zeros(2)], [torch.ones(2)])
        (tensor([1., 1.]),)
        >>> torch.distributed.destroy_process_group()
    """
    process_group = member("all_to_all", group)
    outputs = tensors_of("all_to_all", "output_tensor_list", output_tensor_list, process_group)
    inputs = tensors_of("all_to_all", "input_tensor_list", input_tensor_list, process_group)
    return AllToAll.apply(group, outputs, *inputs)


@for_members
def all_to_all_single(
    output: Any, input: Any, output_split_sizes: Any = None, input_split_sizes: Any = None, group: Any = None
) -> Any:
    """Send some rows of a tensor to each process; return the rows received from each, written into `output`.

    Gradients flow through the returned tensor.
    output_split_sizes: a list with the number of rows to receive from each process; None for equal numbers.
    input_split_sizes: a list with the number of rows to send to each process; None for equal numbers.
    Raises: ArgumentTypeError for a value that is not a tensor, ShapeError if a tensor does not have that many rows;
            CollectiveError if a sent and a received size differ.
    Example:
        >>> torch.distributed.init_process_group("gloo")
        >>> torch.distributed.nn.functional.all_to_all_single(torch.zeros(2), torch.ones(2))
        tensor([1., 1.])
        >>> torch.distributed.destroy_process_group()
    """
    member("all_to_all_single", group)
    checked_tensor("all_to_all_single", "output", output)
    checked_tensor("all_to_all_single", "input", input)
    return AllToAllSingle.apply(group, output, output_split_sizes, input_split_sizes, input)
