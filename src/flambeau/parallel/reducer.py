"""Reducer of DistributedDataParallel: buckets of gradients, reduced over the processes while backward runs.

- A bucket is one flat buffer for the gradients of several parameters of one data type and device.
- A hook on the node that accumulates a parameter's gradient marks the parameter as ready.  A bucket whose parameters
  are all ready is packed, divided by the number of processes and reduced.  Buckets are reduced strictly in their order,
  so that all processes make the same calls.
- The group reduces on its own stream.  When the backward pass ends, the caller's streams wait for it, and the
  results go back to the parameters' `grad`.
- The first pass has one bucket.  The buckets of later passes have the order in which the first pass's gradients became
  ready, as rank 0 saw it.
"""

from __future__ import annotations

import math
import weakref
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

from .. import callers
from ..autograd.gradients import queue_callback
from ..autograd.mode import GradMode
from ..autograd.node_hooks import add, hooks_of
from ..core import thread
from ..core.record import AccumulateGrad, accumulator, edge_of
from ..core.tensor import TensorBase, alias_of, empty_tensor
from ..dtypes import FLOATING_TYPES, int32, int64
from ..errors import ArgumentTypeError, AutogradError, ShapeError, shown
from ..ops.join import cat
from ..ops.multi_tensor import copy_many
from ..runtime.stream import Stream
from ..strides import contiguous
from ..tensor import factories
from ..uncomputed import numbers_of
from . import process_group as collectives

MAX_NAMES = 10  # number of parameters that an error lists
NAME = "DistributedDataParallel"


def assigned(parameters: Sequence[Any], order: Iterable[int], caps: Sequence[float]) -> list[list[int]]:
    """Group parameters by data type and device; a group is closed when its size reaches the cap.

    order: indexes of the parameters.  caps: bytes of the first, the second and further groups of a type; the last cap
    applies to all that follow.  Groups are listed in the order in which they close.
    """
    closed: list[list[int]] = []
    still_open: dict[Any, tuple[list[int], int]] = {}  # a group and its size in bytes
    counts: dict[Any, int] = {}  # closed groups
    for index in order:
        parameter = parameters[index]
        key = parameter.dtype, parameter.device_index
        group, nbytes = still_open.get(key, ([], 0))
        group.append(index)
        nbytes += parameter.nbytes
        still_open[key] = group, nbytes
        if nbytes >= caps[min(counts.get(key, 0), len(caps) - 1)]:
            closed.append(group)
            del still_open[key]
            counts[key] = counts.get(key, 0) + 1
    return closed + [group for group, _ in still_open.values()]


def parts_of(flat: Any, likes: Sequence[Any]) -> list[Any]:
    """Return views of a flat buffer with the shapes of other tensors, and with their strides if they are compact.

    Autograd does not treat them as views.
    """
    parts, start = [], flat._offset
    for like in likes:
        strides = like._layout.strides if like._layout.compact else contiguous(like.shape)
        parts.append(alias_of(flat, like.shape, strides, start))
        start += like.numel()
    return parts


def joined(tensors: Sequence[Any]) -> Any:
    """Return a flat buffer of compact tensors, in the order of memory."""
    return cat([_as_it_lies(tensor) for tensor in tensors], 0)


def copy_all(sources: Sequence[Any], targets: Sequence[Any], factor: float = 1.0) -> None:
    """Write tensors of one device, times a factor, to tensors of the same types, with few launches if possible."""
    alike: tuple[list[Any], list[Any]] = [], []
    for source, target in zip(sources, targets):
        layout = target._layout
        if is_same(source, target) and factor == 1:
            continue
        dtype = source._layout.dtype
        if layout.dtype is dtype and dtype in FLOATING_TYPES and layout.strides == source._layout.strides:
            alike[0].append(_as_it_lies(target))
            alike[1].append(_as_it_lies(source))
        else:
            target.detach().copy_(source if factor == 1 else source * factor)
    if alike[0]:
        copy_many(*alike, factor)


def _as_it_lies(tensor: Any) -> Any:
    """Return the elements of a compact tensor in the order of memory."""
    return alias_of(tensor, (tensor.numel(),), (1,), tensor._offset)


class Bucket:
    """Parameters whose gradients are reduced together.

    indexes: the parameters;  flat: the buffer;  views: of the buffer, with the parameters' shapes and strides.
    missing: parameters not yet ready in this pass;  streams: those that computed the gradients of the others.
    work: the running reduction: a Work, or a comm hook's Future.
    """

    def __init__(self, indexes: Sequence[int], parameters: Sequence[Any]) -> None:
        self.indexes = list(indexes)
        self.parameters = [parameters[index] for index in indexes]
        first = self.parameters[0]
        count = sum(parameter.numel() for parameter in self.parameters)
        self.flat: Any = empty_tensor((count,), first.dtype, first.device_index, name=NAME)
        self.views = self.parts(self.flat)
        self.missing = 0
        self.streams: dict[int, Stream] = {}
        self.work: Any = None

    def parts(self, flat: Any) -> list[Any]:
        """Return views of a buffer like `flat`, one per parameter."""
        return parts_of(flat, self.parameters)

    def pack(self, factor: float) -> None:
        """Write the gradients, multiplied by a factor, into the buffer; zeros for a parameter without one."""
        pairs = [(param.grad, view) for param, view in zip(self.parameters, self.views) if param.grad is not None]
        for parameter, view in zip(self.parameters, self.views):
            if parameter.grad is None:
                view.zero_()
        copy_all([grad.detach() for grad, _ in pairs], [view for _, view in pairs], factor)


def is_same(grad: Any, view: Any) -> bool:
    """Return whether a gradient is this view: the same elements in the same layout."""
    return (
        grad is not None
        and grad._storage is view._storage
        and grad._offset == view._offset
        and grad._layout.strides == view._layout.strides
    )


class GradBucket:
    """A bucket of gradients, which DistributedDataParallel passes to a comm hook to be reduced.

    Programs do not make one: `register_comm_hook` registers a function of (state, bucket) that returns a Future of the
    reduced `bucket.buffer()`.
    Example:
        >>> def halved(state, bucket):
        ...     future = torch.futures.Future()
        ...     future.set_result(bucket.buffer() / 2)
        ...     return future
        >>> torch.distributed.init_process_group("gloo", rank=0, world_size=1)
        >>> net = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(3, 2))
        >>> net.register_comm_hook(None, halved)
        >>> net(torch.ones(4, 3)).sum().backward()
        >>> net.module.bias.grad
        tensor([2., 2.])
        >>> torch.distributed.destroy_process_group()
    """

    def __init__(self, index: int, bucket: Bucket, is_last: bool) -> None:
        self._index = index
        self._bucket = bucket
        self._is_last = is_last
        self._buffer = bucket.flat

    def index(self) -> int:
        """Return the number of the bucket, from 0: buckets are reduced in the order of their indexes.

        Example:
            >>> torch.distributed.init_process_group("gloo", rank=0, world_size=1)
            >>> def show(state, bucket):
            ...     print(bucket.index())
            ...     future = torch.futures.Future()
            ...     future.set_result(bucket.buffer())
            ...     return future
            >>> net = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(3, 2))
            >>> net.register_comm_hook(None, show)
            >>> net(torch.ones(4, 3)).sum().backward()
            0
            >>> torch.distributed.destroy_process_group()
        """
        return self._index

    def buffer(self) -> Any:
        """Return the tensor that holds all gradients of the bucket, one after the other.

        Shapes: one dimension, with as many elements as all gradients together.
        Example:
            >>> torch.distributed.init_process_group("gloo", rank=0, world_size=1)
            >>> def show(state, bucket):
            ...     print(bucket.buffer())
            ...     future = torch.futures.Future()
            ...     future.set_result(bucket.buffer())
            ...     return future
            >>> net = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(3, 2))
            >>> net.register_comm_hook(None, show)
            >>> net(torch.ones(4, 3)).sum().backward()
            tensor([4., 4., 4., 4., 4., 4., 4., 4.])
            >>> torch.distributed.destroy_process_group()
        """
        return self._buffer

    def set_buffer(self, buffer: Any) -> None:
        """Replace the tensor that `buffer` returns, so that this hook can pass the bucket on to another hook.

        buffer: a tensor with as many elements as the present buffer.
        Example:
            >>> torch.distributed.init_process_group("gloo", rank=0, world_size=1)
            >>> hooks = torch.distributed.algorithms.ddp_comm_hooks.default_hooks
            >>> def clipped(group, bucket):
            ...     bucket.set_buffer(bucket.buffer().clamp(max=1))
            ...     return hooks.allreduce_hook(group, bucket)
            >>> net = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(3, 2))
            >>> net.register_comm_hook(None, clipped)
            >>> net(torch.ones(4, 3)).sum().backward()
            >>> net.module.bias.grad
            tensor([1., 1.])
            >>> torch.distributed.destroy_process_group()
        """
        self._buffer = buffer

    def gradients(self) -> list[Any]:
        """Return the gradients of the bucket: views of the buffer, one per parameter.

        Shapes: those of the parameters.
        Example:
            >>> torch.distributed.init_process_group("gloo", rank=0, world_size=1)
            >>> def show(state, bucket):
            ...     print([grad.shape for grad in bucket.gradients()])
            ...     future = torch.futures.Future()
            ...     future.set_result(bucket.buffer())
            ...     return future
            >>> net = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(3, 2))
            >>> net.register_comm_hook(None, show)
            >>> net(torch.ones(4, 3)).sum().backward()
            [torch.Size([2, 3]), torch.Size([2])]
            >>> torch.distributed.destroy_process_group()
        """
        return self._bucket.parts(self._buffer)

    def parameters(self) -> list[Any]:
        """Return the parameters whose gradients are in the bucket.

        Example:
            >>> torch.distributed.init_process_group("gloo", rank=0, world_size=1)
            >>> def show(state, bucket):
            ...     print([parameter.shape for parameter in bucket.parameters()])
            ...     future = torch.futures.Future()
            ...     future.set_result(bucket.buffer())
            ...     return future
            >>> net = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(3, 2))
            >>> net.register_comm_hook(None, show)
            >>> net(torch.ones(4, 3)).sum().backward()
            [torch.Size([2, 3]), torch.Size([2])]
            >>> torch.distributed.destroy_process_group()
        """
        return list(self._bucket.parameters)

    def is_last(self) -> bool:
        """Return whether this is the last bucket of the backward pass.

        Example:
            >>> torch.distributed.init_process_group("gloo", rank=0, world_size=1)
            >>> def show(state, bucket):
            ...     print(bucket.is_last())
            ...     future = torch.futures.Future()
            ...     future.set_result(bucket.buffer())
            ...     return future
            >>> net = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(3, 2))
            >>> net.register_comm_hook(None, show)
            >>> net(torch.ones(4, 3)).sum().backward()
            True
            >>> torch.distributed.destroy_process_group()
        """
        return self._is_last


class Reducer:
    """Reduces the gradients of parameters over a group of processes, once per backward pass.

    caps: size limits of the first and of further buckets.  as_views: whether `grad` becomes a view of the buffer.
    finds_unused: whether parameters that the outputs do not depend on count as ready.
    is_static: whether all passes use the same parameters, equally often.
    """

    def __init__(
        self,
        parameters: Sequence[Any],
        names: Sequence[str],
        group: Any,
        caps: Sequence[int],
        finds_unused: bool,
        as_views: bool,
        is_static: bool,
    ) -> None:
        self.parameters = list(parameters)
        self.names = list(names)
        self.group = group
        self.size = collectives.get_world_size(group)
        self.caps = caps
        self.finds_unused = finds_unused and not is_static
        self.as_views = as_views
        self.is_static = is_static
        self.hook: tuple[Any, Callable[..., Any]] | None = None  # a comm hook and its state
        self.divisor = self.size
        self.join_count: tuple[Any, Any] | None = None  # (Work, number of processes in this pass)
        self.may_rebuild = not finds_unused or is_static
        self.expects_hooks = False  # between a forward outside `no_sync` and the end of its backward pass
        self.has_begun = False  # whether a hook was called since
        self.calls: dict[int, int] = {}  # static graphs: calls of hooks per pass, in the order of the last call
        self.knows_calls = False
        self.left: dict[int, int] = {}  # static graphs: calls still expected in this pass
        self.ready: dict[int, None] = {}  # parameters of this pass, in the order in which they became ready
        self.order: list[int] | None = None  # the order of the pass that determines the next buckets
        self.is_used = [False] * len(self.parameters)  # since the last reduction
        self.unused: list[int] = []  # parameters that the outputs of this pass do not depend on
        self.used_anywhere: tuple[Any, Any] | None = None  # (Work, int32 per parameter): processes that use it
        self.has_warned = False
        first_caps = [math.inf] if self.may_rebuild else caps
        groups = assigned(self.parameters, range(len(self.parameters)), first_caps)
        self._assign(sorted(groups, key=min)[::-1])  # gradients become ready in about the reverse order
        self._register()

    def _register(self) -> None:
        """Register a hook on the node of each parameter.  The hooks live as long as the nodes, which are kept here."""
        this = weakref.ref(self)
        self.nodes: list[AccumulateGrad] = [accumulator(parameter) for parameter in self.parameters]
        for index, node in enumerate(self.nodes):
            add(hooks_of(node).after, partial(_gradient_is_ready, this, index))

    def _assign(self, groups: Sequence[Sequence[int]]) -> None:
        self.buckets: list[Bucket] = []  # free the memory of the former buckets first
        self.buckets = [Bucket(group, self.parameters) for group in groups]
        self.bucket_of = {index: position for position, group in enumerate(groups) for index in group}
        self.next = len(self.buckets)  # the bucket that is reduced next; here all are done

    # before a pass

    def check_finished(self) -> None:
        """Raise AutogradError if parameters of the last pass never became ready."""
        if not self.has_begun:
            return
        missing = [index for index in range(len(self.parameters)) if index not in self.ready]
        names = [self.names[index] for index in missing]
        listed = ", ".join(names[:MAX_NAMES]) + (f" and {len(names) - MAX_NAMES} more" if names[MAX_NAMES:] else "")
        raise AutogradError(
            "Expected to have finished reduction in the prior iteration before starting a new one: "
            f"{len(names)} of {len(self.parameters)} parameters had no gradient in rank "
            f"{collectives.get_rank(self.group)}'s last backward pass: {listed}",
            hint="pass find_unused_parameters=True, or have every output of forward take part in the loss; other "
            "processes may wait for these gradients",
            operator=NAME,
        )

    def rebuild(self) -> bool:
        """Put the buckets in the order in which rank 0's gradients became ready; return whether they were rebuilt."""
        if self.order is None:
            return False
        order, self.order, self.may_rebuild = self.order, None, False
        if self.size > 1:
            device = self.parameters[0].device
            shared = factories.tensor(order, dtype=int64, device=device)
            collectives.broadcast(shared, group=self.group, group_src=0)
            order = numbers_of(shared, order)
        self._assign(assigned(self.parameters, order, self.caps))
        return True

    def begin(self, outputs: Iterable[Any] | None) -> None:
        """Prepare for the backward of a forward.  outputs: its tensors, if unused parameters are searched for."""
        self.expects_hooks = True
        self.has_begun = False
        self.next = 0
        self.ready = {}
        self.left = dict(self.calls)
        self.divisor = self.size
        for bucket in self.buckets:
            bucket.missing = len(bucket.indexes)
            bucket.streams = {}
            bucket.work = None
        self.unused = [] if outputs is None else self._unreachable(outputs)

    def _unreachable(self, outputs: Iterable[Any]) -> list[int]:
        """Return the parameters that no output depends on."""
        edges = [edge_of(output) for output in outputs]
        nodes = [edge[0] for edge in edges if edge is not None]
        seen = set(nodes)
        for node in nodes:  # the loop appends to it
            for edge in node.edges:
                if edge is not None and edge[0] not in seen:
                    seen.add(edge[0])
                    nodes.append(edge[0])
        unused = [index for index, node in enumerate(self.nodes) if node not in seen]
        if not unused and not self.has_warned:
            self.has_warned = True
            callers.warn(
                "find_unused_parameters=True was specified in DDP constructor, but did not find any unused parameters "
                "in the forward pass: every pass searches for them, so leave it out if all parameters are always used"
            )
        return unused

    # during a pass

    def gradient_is_ready(self, index: int) -> None:
        """Handle the accumulated gradient of a parameter, as its hook."""
        if self.finds_unused and self.parameters[index].grad is not None:
            self.is_used[index] = True
        if not self.expects_hooks:
            return
        if self.is_static and not self.knows_calls:
            self.has_begun = True
            self.calls[index] = self.calls.pop(index, 0) + 1
            return
        if not self.has_begun:
            self.has_begun = True
            for unused in self._never_called() if self.is_static else self.unused:
                self._mark(unused)
        if self.is_static:
            self.left[index] = self.left.get(index, 0) - 1
            if self.left[index]:
                return
        self._mark(index)
        if self.next == len(self.buckets):
            self._share_use()
            queue_callback(self._end)

    def _never_called(self) -> list[int]:
        return [index for index in range(len(self.parameters)) if index not in self.calls]

    def end_first_static_pass(self) -> None:
        """Reduce the gradients of a static graph's first pass at its end; record how often each hook was called."""
        if self.knows_calls or not self.expects_hooks:
            return
        self.knows_calls = True
        for index in (*self._never_called(), *self.calls):
            self._mark(index)
        self._end()

    def _mark(self, index: int) -> None:
        """Mark a parameter as ready; reduce the buckets that are complete."""
        if index in self.ready:
            raise AutogradError(
                f"Expected to mark a variable ready only once: parameter {self.names[index]} got a second gradient in "
                "one backward pass",
                hint="several reentrant checkpoints, or a second call of the module in one pass, use it: pass "
                "static_graph=True, or checkpoint with use_reentrant=False",
                operator=NAME,
            )
        self.ready[index] = None
        bucket = self.buckets[self.bucket_of[index]]
        bucket.missing -= 1
        device = self.parameters[index].device_index
        if device >= 0:
            stream = thread.current_stream(device)
            bucket.streams[stream.handle] = stream
        while self.next < len(self.buckets) and not self.buckets[self.next].missing:
            self._reduce(self.next)
            self.next += 1

    def _reduce(self, index: int) -> None:
        bucket = self.buckets[index]
        device = bucket.flat.device_index
        for stream in bucket.streams.values():
            thread.current_stream(device).wait_stream(stream)
        with GradMode(False):
            bucket.pack(self._factor())
            if self.as_views:
                self._point(bucket)
            bucket.work = self._start(index, bucket)

    def _start(self, index: int, bucket: Bucket) -> Any:
        if self.hook is None:
            return collectives.all_reduce(bucket.flat, group=self.group, async_op=True)
        state, hook = self.hook
        return hook(state, GradBucket(index, bucket, index == len(self.buckets) - 1))

    def _factor(self) -> float:
        """Return the factor by which gradients are multiplied before the sum; 1 with a comm hook, which divides."""
        if self.join_count is not None:
            (work, count), self.join_count = self.join_count, None
            work.wait()
            self.divisor = int(count.item())
        return 1.0 if self.hook is not None else 1 / self.divisor

    def _point(self, bucket: Bucket) -> None:
        """Make gradients views of the buffer."""
        for parameter, view in zip(bucket.parameters, bucket.views):
            if parameter.grad is not None and not is_same(parameter.grad, view):
                parameter.grad = view

    def _share_use(self) -> None:
        """Count, for each parameter, the processes that use it."""
        if not self.finds_unused:
            return
        used = factories.tensor([int(flag) for flag in self.is_used], dtype=int32)
        count = used.to(self.parameters[0].device, non_blocking=True)
        self.used_anywhere = collectives.all_reduce(count, group=self.group, async_op=True), count

    # after a pass

    def _end(self) -> None:
        """Make the current streams wait for the reductions; write the results to the parameters' gradients."""
        with GradMode(False):
            keep = self._unused_anywhere()
            for bucket in self.buckets:
                self._take(bucket, keep)
        if self.may_rebuild:
            self.order = list(self.ready)
        self.expects_hooks = self.has_begun = False
        self.is_used = [False] * len(self.parameters)

    def _unused_anywhere(self) -> set[int]:
        """Return the parameters that no process used: their `grad` stays as it is.

        Host: waits if this process did not use all parameters; never for a static graph, which all processes share.
        """
        if self.is_static:
            return set(self._never_called())
        if self.used_anywhere is None:
            return set()
        (work, count), self.used_anywhere = self.used_anywhere, None
        work.wait()
        if all(self.is_used):
            return set()
        return {index for index, users in enumerate(count.tolist()) if not users}

    def _take(self, bucket: Bucket, keep: set[int]) -> None:
        """Wait for a bucket's reduction and write the results to `grad`."""
        result = bucket.work.wait()
        bucket.work = None
        parts = bucket.views
        if self.hook is not None:
            reduced = _checked(result[0] if isinstance(result, (list, tuple)) and result else result, bucket.flat)
            if self.as_views and not is_same(reduced, bucket.flat):
                bucket.flat.copy_(reduced)
            elif not self.as_views:
                parts = bucket.parts(reduced)
        sources, targets = [], []
        for index, parameter, part in zip(bucket.indexes, bucket.parameters, parts):
            if index in keep:
                continue
            if self.as_views:
                parameter.grad = part
                continue
            if parameter.grad is None:
                fresh: Any = empty_tensor(parameter.shape, parameter.dtype, parameter.device_index, name=NAME)
                parameter.grad = alias_of(fresh, parameter.shape, part.stride(), 0)
            sources.append(part)
            targets.append(parameter.grad)
        copy_all(sources, targets)

    # passes of processes whose inputs have ended

    def shadow(self) -> None:
        """Take part in the reductions of one backward pass with gradients of zero."""
        with GradMode(False):
            for index, bucket in enumerate(self.buckets):
                bucket.flat.zero_()
                bucket.work = self._start(index, bucket)
            for bucket in self.buckets:
                bucket.work.wait()
            if self.finds_unused:
                none = factories.zeros(len(self.parameters), dtype=int32, device=self.parameters[0].device)
                collectives.all_reduce(none, group=self.group)
        if self.may_rebuild:
            self.order = list(range(len(self.parameters)))  # rank 0's order is used


def _checked(reduced: Any, flat: Any) -> Any:
    """Return a comm hook's result.  Raises ArgumentTypeError, ShapeError."""
    fact = f"the hook's Future has {shown(reduced)}"
    if not isinstance(reduced, TensorBase):
        raise ArgumentTypeError(
            fact, hint="return a future whose value is a tensor like bucket.buffer()", operator="register_comm_hook"
        )
    if reduced.numel() != flat.numel():
        raise ShapeError(
            f"{fact}, {reduced.numel()} elements for a bucket of {flat.numel()}",
            hint="return a tensor like bucket.buffer()",
            operator="register_comm_hook",
        )
    return reduced


def _gradient_is_ready(this: weakref.ref[Reducer], index: int, *grads: Any) -> None:
    reducer = this()
    if reducer is not None:
        reducer.gradient_is_ready(index)
