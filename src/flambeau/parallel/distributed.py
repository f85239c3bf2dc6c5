"""DistributedDataParallel: a module in each process of a group, with gradients averaged over the processes.

- Rank 0's parameters and buffers are copied to the other processes when the wrapper is made.
- Backward averages gradients over the processes while it runs (reducer.py); optimizers then take the same step in each.
- Before a forward, rank 0's buffers are copied to the other processes, unless the last forward was inside `no_sync`.
"""

from __future__ import annotations

import dataclasses
import inspect
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from .. import callers
from ..autograd.function import Function
from ..autograd.gradients import queue_callback
from ..autograd.mode import GradMode, is_grad_enabled
from ..core.tensor import TensorBase
from ..dtypes import int64
from ..errors import (
    ArgumentError,
    ArgumentTypeError,
    AutogradError,
    ModeError,
    NotSupportedError,
    ShapeError,
    naming,
    shown,
)
from ..nn.module import Module
from ..nn.parameter import is_lazy
from ..runtime.device import cuda_index
from ..tensor import factories
from ..uncomputed import numbers_of
from . import join as joins
from . import process_group as collectives
from .comm_hooks import BuiltinCommHookType, named_hook
from .data_parallel import check_place, scatter_kwargs
from .group import GroupMember, ReduceOp
from .reducer import NAME, Reducer, assigned, copy_all, joined, parts_of

MIB = 1 << 20
CAP_MIB = 25  # size limit of a bucket; the first one has 1 MiB, so that its reduction starts early
STATE_BYTES = 250 * MIB  # bytes of parameters and buffers that share one broadcast


class DistributedDataParallel(Module, joins.Joinable):
    """Wrap a module that each process of a group calls; backward averages the gradients over the processes.

    device_ids: None, or a list of the GPU that has the parameters; inputs are copied to it.
    process_group: the group of the processes; None is the default group.
    init_sync: whether to compare the parameters of all processes, and to copy rank 0's parameters and buffers to the
        others.
    forward_sync_buffers: whether forward copies rank 0's buffers, such as the averages of a batch norm, to the others;
        `broadcast_buffers` is its former name, which also affects `init_sync`.
    dim, check_reduction, batched_grad_copy, skip_all_reduce_unused_params: have no effect.
    bucket_cap_mb: MiB of gradients that are reduced together, 25 unless given; the first bucket has 1 MiB.
        bucket_cap_mb_list gives one number per bucket.
    find_unused_parameters: whether parameters on which the outputs do not depend get the other processes' gradients.
        Each forward then searches the graph.  Without it, every parameter must get a gradient in every backward.
    gradient_as_bucket_view: whether `grad` is a view of the buffer that is reduced, which saves a copy and its memory.
    static_graph: whether all passes use the same parameters, equally often: parameters may then be unused, and
        reentrant checkpoints may overlap.
    Host:   forward and backward return at once on GPUs, except when buckets are rebuilt after the first pass, and with
            find_unused_parameters if this process leaves some unused.
    Order:  reductions run on the group's stream while backward continues; the caller's streams wait for them at the end
            of backward.
    Raises: GroupError (RuntimeError) before `init_process_group`; ArgumentTypeError for a value that is not a module, a
            group, a list of devices or a number of MiB; ArgumentError for `device_ids` that are not the GPU of all
            parameters; NotSupportedError for `mixed_precision`, `device_mesh`, `delay_all_reduce_named_params` and
            `param_to_hook_all_reduce`; AutogradError (RuntimeError) if no parameter requires a gradient, and in forward
            if parameters got no gradient in the previous backward; DeviceMismatchError if a parameter is on another
            device; ShapeError in every process if the processes' parameters differ.
    Example:
        >>> torch.distributed.init_process_group("gloo", rank=0, world_size=1)
        >>> net = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(3, 2))
        >>> net(torch.ones(4, 3)).sum().backward()
        >>> net.module.bias.grad, list(net.state_dict())
        (tensor([4., 4.]), ['module.weight', 'module.bias'])
        >>> torch.distributed.destroy_process_group()
    """

    def __init__(
        self,
        module: Any,
        device_ids: Any = None,
        output_device: Any = None,
        dim: int = 0,
        broadcast_buffers: bool | None = None,
        init_sync: bool = True,
        process_group: Any = None,
        bucket_cap_mb: float | None = None,
        find_unused_parameters: bool = False,
        check_reduction: bool = False,
        gradient_as_bucket_view: bool = False,
        static_graph: bool = False,
        delay_all_reduce_named_params: Any = None,
        param_to_hook_all_reduce: Any = None,
        mixed_precision: Any = None,
        device_mesh: Any = None,
        skip_all_reduce_unused_params: bool = False,
        bucket_cap_mb_list: Sequence[float] | None = None,
        batched_grad_copy: bool = False,
        forward_sync_buffers: bool | None = None,
    ) -> None:
        super().__init__()
        _refuse(
            delay_all_reduce_named_params=delay_all_reduce_named_params,
            param_to_hook_all_reduce=param_to_hook_all_reduce,
            mixed_precision=mixed_precision,
            device_mesh=device_mesh,
        )
        self.process_group = _group(process_group)
        self.parameters_to_ignore = set(getattr(module, "_ddp_params_and_buffers_to_ignore", ()))
        parameters = _check_module(module, self.parameters_to_ignore)
        self.module = module
        self.dim = dim
        self.device = parameters[0].device
        self.device_type = self.device.type
        self.is_multi_device_module = len({parameter.device for parameter in parameters}) > 1
        self.device_ids = _device_ids(device_ids, output_device, parameters) or None
        self.output_device = self.device_ids[0] if self.device_ids and output_device is None else output_device
        if self.device_ids:
            check_place(module, self.device_ids[0], NAME)
        if broadcast_buffers is not None:
            callers.warn(
                "`broadcast_buffers` is deprecated: use `forward_sync_buffers`, which does not affect the copies of "
                "`init_sync` as they are",
                FutureWarning,
            )
        former = True if broadcast_buffers is None else broadcast_buffers
        self.forward_sync_buffers = former if forward_sync_buffers is None else forward_sync_buffers
        self.find_unused_parameters = find_unused_parameters
        self.gradient_as_bucket_view = gradient_as_bucket_view
        self.static_graph = static_graph
        self.require_backward_grad_sync = True
        self.require_forward_param_sync = True
        self._divide_by_initial_world_size = True
        self._caps = _caps(bucket_cap_mb, bucket_cap_mb_list)
        self.bucket_bytes_cap = self._caps[-1]
        named = self._reduced_parameters()
        if init_sync:
            check_same_parameters(named, self.process_group)
            self._sync_state(0, former or forward_sync_buffers is not None)
        self._make_reducer()

    def _reduced_parameters(self) -> dict[str, Any]:
        """Return the parameters whose gradients are reduced, by name."""
        return {
            name: parameter
            for name, parameter in self.module.named_parameters()
            if parameter.requires_grad and name not in self.parameters_to_ignore
        }

    def _make_reducer(self) -> None:
        named = self._reduced_parameters()
        self.reducer = Reducer(
            list(named.values()),
            list(named),
            self.process_group,
            self._caps,
            self.find_unused_parameters,
            self.gradient_as_bucket_view,
            self.static_graph,
        )

    @property
    def broadcast_buffers(self) -> bool:
        """The former name of `forward_sync_buffers`."""
        return self.forward_sync_buffers

    @broadcast_buffers.setter
    def broadcast_buffers(self, value: bool) -> None:
        self.forward_sync_buffers = value

    # forward

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        self._before_forward()
        if self.device_ids:
            args, named = scatter_kwargs(inputs, kwargs, self.device_ids, self.dim)
            inputs, kwargs = (args[0], named[0]) if args else ((), {})
        return self._after_forward(self.module(*inputs, **kwargs))

    def _before_forward(self) -> None:
        reducer, is_joined = self.reducer, self._join_config.enable
        if is_grad_enabled():
            reducer.check_finished()
        count = joins.notify(self)
        reducer.join_count = None if self._divide_by_initial_world_size else count
        if is_grad_enabled():
            reducer.rebuild()
        if self.will_sync_module_buffers():
            self._sync_buffers(self._common_rank(True) if is_joined else 0)
        if is_joined:
            joins.counted(self.process_group, self.device, int(self.require_backward_grad_sync), async_op=True)

    def _after_forward(self, output: Any) -> Any:
        if not is_grad_enabled() or not self.require_backward_grad_sync:
            self.require_forward_param_sync = False
            return output
        self.require_forward_param_sync = True
        searches = self.find_unused_parameters and not self.static_graph
        self.reducer.begin(_tensors(output) if searches else None)
        if searches or self.static_graph and not self.reducer.knows_calls:
            return _through_sink(output, self.reducer)
        return output

    @contextmanager
    def no_sync(self) -> Iterator[None]:
        """Accumulate gradients without reducing them inside a with block; the first backward after it reduces the sums.

        The forward must be inside the block too.
        Example:
            >>> torch.distributed.init_process_group("gloo", rank=0, world_size=1)
            >>> net = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(1, 1))
            >>> with net.no_sync():
            ...     net(torch.ones(1, 1)).sum().backward()
            >>> net(torch.ones(1, 1)).sum().backward()
            >>> net.module.bias.grad
            tensor([2.])
            >>> torch.distributed.destroy_process_group()
        """
        before, self.require_backward_grad_sync = self.require_backward_grad_sync, False
        try:
            yield
        finally:
            self.require_backward_grad_sync = before

    def register_comm_hook(self, state: Any, hook: Callable[..., Any]) -> None:
        """Call hook(state, bucket) instead of reducing each bucket of gradients.

        The hook returns a Future of the averaged gradients, so it must divide by the number of processes.
        torch.distributed.algorithms.ddp_comm_hooks has examples.
        Raises: ArgumentTypeError if the hook is not callable; ArgumentError if it does not take two arguments;
                ModeError if there already is one.
        Example:
            >>> torch.distributed.init_process_group("gloo", rank=0, world_size=1)
            >>> def summed(group, bucket):
            ...     work = torch.distributed.all_reduce(bucket.buffer(), group=group, async_op=True)
            ...     return work.get_future().then(lambda done: done.value()[0])
            >>> net = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(3, 2))
            >>> net.register_comm_hook(None, summed)
            >>> net(torch.ones(4, 3)).sum().backward()
            >>> net.module.bias.grad
            tensor([4., 4.])
            >>> torch.distributed.destroy_process_group()
        """
        if not callable(hook):
            raise ArgumentTypeError(
                f"the hook is not callable: {shown(hook)}", hint="pass a function", operator="register_comm_hook"
            )
        if not _takes_two(hook):
            raise ArgumentError(
                f"the hook {shown(hook)} does not take two arguments",
                hint="define it as hook(state, bucket)",
                operator="register_comm_hook",
            )
        if self.reducer.hook is not None:
            raise ModeError(
                f"register_comm_hook can only be called once, and {self.reducer.hook[1]} is registered",
                hint="register one hook that calls both",
                operator="register_comm_hook",
            )
        self.reducer.hook = state, hook

    def _register_builtin_comm_hook(self, comm_hook_type: Any) -> None:
        self.register_comm_hook(None, named_hook("_register_builtin_comm_hook", comm_hook_type, BuiltinCommHookType))

    @staticmethod
    def _set_params_and_buffers_to_ignore_for_model(module: Any, params_and_buffers_to_ignore: Any) -> None:
        module._ddp_params_and_buffers_to_ignore = params_and_buffers_to_ignore

    def _set_static_graph(self) -> None:
        self.static_graph = self.reducer.is_static = True
        self.reducer.finds_unused, self.reducer.may_rebuild = False, True

    # buffers and state

    def will_sync_module_buffers(self) -> bool:
        """Return whether the next forward copies rank 0's buffers to the other processes.

        Example:
            >>> torch.distributed.init_process_group("gloo", rank=0, world_size=1)
            >>> net = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2))
            >>> torch.nn.parallel.DistributedDataParallel(net).will_sync_module_buffers()
            True
            >>> torch.distributed.destroy_process_group()
        """
        return bool(self.require_forward_param_sync and self.forward_sync_buffers and self._buffers_of_module())

    def _buffers_of_module(self) -> list[Any]:
        named = self.module.named_buffers()
        return [buffer for name, buffer in named if name not in self.parameters_to_ignore]

    def _sync_buffers(self, source: int) -> None:
        buffers = self._buffers_of_module()
        # kept: the same values do not invalidate earlier graphs
        versions = [buffer._storage.version for buffer in buffers]
        broadcast(buffers, self.process_group, source)
        for buffer, version in zip(buffers, versions):
            buffer._storage.version = version

    def _sync_state(self, source: int, with_buffers: bool) -> None:
        named = self.module.named_parameters()
        state = [parameter for name, parameter in named if name not in self.parameters_to_ignore]
        broadcast(state + (self._buffers_of_module() if with_buffers else []), self.process_group, source)

    def __getstate__(self) -> dict[str, Any]:
        if self.process_group is not GroupMember.WORLD:
            raise ModeError(
                "DDP Pickling/Unpickling are only supported with the default process group, and this one has another",
                hint="pickle its state_dict(), or the wrapped module",
                operator=NAME,
            )
        return {name: value for name, value in self.__dict__.items() if name not in ("process_group", "reducer")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self.process_group = _group(None)
        self._make_reducer()

    # uneven inputs

    def join(
        self,
        divide_by_initial_world_size: bool = True,
        enable: bool = True,
        throw_on_early_termination: bool = False,
    ) -> joins.Join:
        """Return a context manager inside which the processes may have different numbers of inputs.

        A process whose inputs have ended makes the same collective calls as the others, with gradients of zero.  At the
        end of the block, all processes get the parameters of a process that finished last.
        divide_by_initial_world_size: False divides gradients by the number of processes that still have inputs.
        enable, throw_on_early_termination: see Join.
        Raises: ModeError in all processes with throw_on_early_termination, once the inputs of one have ended;
                CollectiveError if a process has ended.
        Example:
            >>> torch.distributed.init_process_group("gloo", rank=0, world_size=1)
            >>> net = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(1, 1))
            >>> with net.join():
            ...     for x in torch.ones(3, 1, 1):
            ...         net(x).sum().backward()
            >>> net.module.bias.grad
            tensor([3.])
            >>> torch.distributed.destroy_process_group()
        """
        return joins.Join(
            [self], enable, throw_on_early_termination, divide_by_initial_world_size=divide_by_initial_world_size
        )

    def join_hook(self, **kwargs: Any) -> joins.JoinHook:
        """Return the hook that makes this process's collective calls once its inputs have ended, for `Join`.

        kwargs: `divide_by_initial_world_size`, as in `join`.
        Example:
            >>> torch.distributed.init_process_group("gloo", rank=0, world_size=1)
            >>> net = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(1, 1))
            >>> isinstance(net.join_hook(), torch.distributed.algorithms.join.JoinHook)
            True
            >>> torch.distributed.destroy_process_group()
        """
        self._divide_by_initial_world_size = kwargs.get("divide_by_initial_world_size", True)
        return _Shadow(self)

    @property
    def join_device(self) -> Any:
        """The device of the first parameter."""
        return self.device

    @property
    def join_process_group(self) -> Any:
        """The process group that reduces the gradients."""
        return self.process_group

    def _common_rank(self, counts: bool) -> int:
        """Return the highest rank of the processes that pass True."""
        rank = collectives.get_rank(self.process_group) if counts else -1
        highest = factories.tensor([rank], dtype=int64, device=self.device)
        collectives.all_reduce(highest, op=ReduceOp.MAX, group=self.process_group)
        return int(highest.item())


class _Shadow(joins.JoinHook):
    """Join hook of DistributedDataParallel: the calls of a process whose inputs have ended."""

    def __init__(self, wrapper: DistributedDataParallel) -> None:
        self.wrapper = wrapper

    def main_hook(self) -> None:
        wrapper = self.wrapper
        wrapper.reducer.rebuild()
        if wrapper.will_sync_module_buffers():
            wrapper._sync_buffers(wrapper._common_rank(False))
        syncs = joins.counted(wrapper.process_group, wrapper.device, 0)[1].item() != 0
        wrapper.require_forward_param_sync = syncs
        if syncs:
            wrapper.reducer.shadow()

    def post_hook(self, is_last_joiner: bool) -> None:
        wrapper = self.wrapper
        wrapper._sync_state(wrapper._common_rank(is_last_joiner), wrapper.forward_sync_buffers)
        wrapper._divide_by_initial_world_size = True


class _Sink(Function):
    """Identity function of all outputs: backward visits everything they depend on, with None for missing gradients.

    This makes the parameters of outputs that the loss does not use ready.
    """

    @staticmethod
    def forward(ctx: Any, reducer: weakref.ref[Reducer], *outputs: Any) -> Any:
        ctx.set_materialize_grads(False)
        ctx.reducer = reducer
        return tuple(output.clone() for output in outputs)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        reducer = ctx.reducer()
        if reducer is not None and reducer.is_static:
            queue_callback(reducer.end_first_static_pass)
        return None, *grads


def _through_sink(output: Any, reducer: Reducer) -> Any:
    """Pass the output's tensors that are in a graph through a sink; return the new output."""
    tensors = [tensor for tensor in _tensors(output) if tensor.grad_fn is not None]
    if not tensors:
        return output
    passed = _Sink.apply(weakref.ref(reducer), *tensors)
    return _replaced(output, {id(old): new for old, new in zip(tensors, passed)})


def _tensors(value: Any) -> list[Any]:
    """Return the tensors of nested sequences, mappings and dataclasses."""
    if isinstance(value, TensorBase):
        return [value]
    if isinstance(value, dict):
        value = value.values()
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        value = vars(value).values()
    elif not isinstance(value, (list, tuple)):
        return []
    return [tensor for entry in value for tensor in _tensors(entry)]


def _replaced(value: Any, new: dict[int, Any]) -> Any:
    """Return nested sequences and dictionaries with tensors replaced, by the tensors' ids."""
    if isinstance(value, TensorBase):
        return new.get(id(value), value)
    if isinstance(value, dict):
        make: Any = type(value)
        return make((key, _replaced(entry, new)) for key, entry in value.items())
    if not isinstance(value, (list, tuple)):
        return value
    parts = [_replaced(entry, new) for entry in value]
    return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)


def broadcast(tensors: Sequence[Any], group: Any, source: int) -> None:
    """Copy a rank's tensors to those of all other processes, many in one call.  source: the rank in the group."""
    is_source = collectives.get_rank(group) == source
    with GradMode(False):
        for indexes in assigned(tensors, range(len(tensors)), [STATE_BYTES]):
            chosen = [tensors[index].detach() for index in indexes]
            flat = joined([tensor if tensor._layout.compact else tensor.contiguous() for tensor in chosen])
            collectives.broadcast(flat, group=group, group_src=source)
            if not is_source:
                copy_all(parts_of(flat, chosen), chosen)


def check_same_parameters(named: dict[str, Any], group: Any) -> None:
    """Raise ShapeError in every process of a group unless their parameters agree in number, shapes and strides.

    Host: waits.
    """
    size = collectives.get_world_size(group)
    if size == 1:
        return
    parameters = list(named.values())
    device = parameters[0].device
    counts = _gathered([len(parameters), sum(2 * parameter.ndim for parameter in parameters)], size, device, group)
    if len({count for count, _ in counts}) > 1:
        listed = ", ".join(f"rank {rank} has {count}" for rank, (count, _) in enumerate(counts))
        raise ShapeError(f"the numbers of parameters differ: {listed}", hint=SAME, operator=NAME)
    ranks = [parameter.ndim for parameter in parameters]
    for index, values in enumerate(zip(*_gathered(ranks, size, device, group))):
        _check_agree(named, index, "dimensions", values)
    facts = [number for parameter in parameters for number in (*parameter.shape, *parameter.stride())]
    rows = _gathered(facts, size, device, group) if facts else []
    start = 0
    for index, parameter in enumerate(parameters):
        for what in ("shape", "strides"):
            _check_agree(named, index, what, [row[start : start + parameter.ndim] for row in rows])
            start += parameter.ndim


SAME = "build the same module in every process"


def _check_agree(named: dict[str, Any], index: int, what: str, values: Sequence[Any]) -> None:
    if any(value != values[0] for value in values):
        listed = ", ".join(f"{value} in rank {rank}" for rank, value in enumerate(values))
        raise ShapeError(
            f"parameter {index} ({list(named)[index]} here) differs in its {what}: {listed}", hint=SAME, operator=NAME
        )


def _gathered(numbers: Sequence[int], size: int, device: Any, group: Any) -> list[list[int]]:
    """Gather equally many numbers from every process."""
    own = factories.tensor(list(numbers), dtype=int64, device=device)
    outputs = [factories.zeros(len(numbers), dtype=int64, device=device) for _ in range(size)]
    collectives.all_gather(outputs, own, group=group)
    return [numbers_of(output, list(numbers)) for output in outputs]


# arguments


def _refuse(**options: Any) -> None:
    for name, value in options.items():
        if value is not None:
            raise NotSupportedError(f"{name}={shown(value)} is not supported", hint=f"leave {name} out", operator=NAME)


def _group(group: Any) -> Any:
    """Check a group and return it; None is the default group."""
    with naming(NAME):
        rank = collectives.get_rank(group)
    if rank < 0:
        raise ArgumentError(
            "this process is not in the process group", hint="make the wrapper in the group's processes", operator=NAME
        )
    return GroupMember.WORLD if group is None else group


def _check_module(module: Any, ignored: set[str]) -> list[Any]:
    """Check that a module can be wrapped; return its parameters."""
    if not isinstance(module, Module):
        raise ArgumentTypeError(
            f"module must be a Module, got {shown(module)}",
            hint="pass an instance of a subclass of torch.nn.Module",
            operator=NAME,
        )
    parameters = [parameter for name, parameter in module.named_parameters() if name not in ignored]
    if not any(parameter.requires_grad for parameter in parameters):
        raise AutogradError(
            f"DistributedDataParallel is not needed when a module doesn't have any parameters that require a "
            f"gradient: {type(module).__name__} has none",
            hint="call the module itself",
            operator=NAME,
        )
    kinds = sorted({parameter.device.type for parameter in parameters})
    if len(kinds) > 1:
        raise ArgumentError(
            f"the module must be on devices of one type, but its parameters are on {kinds}",
            hint="move it with module.to(device)",
            operator=NAME,
        )
    if any(map(is_lazy, parameters)):
        raise ModeError(
            f"Modules with uninitialized parameters can't be used: {type(module).__name__} has some",
            hint="call the module once first, so that it creates its parameters",
            operator=NAME,
        )
    return parameters


def _device_ids(device_ids: Any, output_device: Any, parameters: Sequence[Any]) -> list[int]:
    """Check a list of at most one GPU; return the device indexes."""
    if not isinstance(device_ids, (Iterable, type(None))):
        raise ArgumentTypeError(
            f"device_ids must be a list, got {shown(device_ids)}", hint="for example [0]", operator=NAME
        )
    given = [] if device_ids is None else list(device_ids)
    if len(given) > 1:
        raise ArgumentError(
            f"device_ids can only be None or contain a single element, got {shown(given)}",
            hint="use torch.nn.DataParallel for several GPUs",
            operator=NAME,
        )
    devices = list(dict.fromkeys(str(parameter.device) for parameter in parameters))
    if (given or output_device is not None) and (len(devices) > 1 or devices == ["cpu"]):
        raise ArgumentError(
            f"device_ids and output_device are for a module on one GPU, got device_ids={shown(given)}, "
            f"output_device={shown(output_device)} and parameters on {', '.join(devices)}",
            hint="leave them out",
            operator=NAME,
        )
    return [cuda_index(device) for device in given]


def _takes_two(hook: Callable[..., Any]) -> bool:
    """Return whether a function can be called with two arguments; True if its arguments are unknown."""
    try:
        inspect.signature(hook).bind(None, None)
    except TypeError:
        return False
    except ValueError:  # a function in C
        pass
    return True


def _caps(cap: float | None, caps: Sequence[float] | None) -> list[int]:
    """Return the size limits of the first, the second and all further buckets, in bytes."""
    for size in caps or ([] if cap is None else [cap]):
        if isinstance(size, bool) or not isinstance(size, (int, float)) or size < 0:
            raise ArgumentTypeError(
                f"bucket_cap_mb must be a number of MiB, got {shown(size)}",
                hint=f"pass a number above 0: {CAP_MIB} is usual",
                operator=NAME,
            )
    return [int(size * MIB) for size in caps or ([1, CAP_MIB] if cap is None else [cap])]
