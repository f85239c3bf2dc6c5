"""Comm hooks of DistributedDataParallel: functions that start a bucket's reduction and return its Future."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum, IntEnum
from functools import wraps
from typing import Any

from ..dtypes import bfloat16, dtype, float16
from ..errors import ArgumentTypeError, shown
from . import process_group as collectives
from .futures import Future
from .reducer import GradBucket

Hook = Callable[[Any, GradBucket], Future]


def allreduce_hook(process_group: Any, bucket: GradBucket) -> Future:
    """Average a bucket of gradients over the processes, as DistributedDataParallel does without a hook.

    This is a comm hook: pass it to `register_comm_hook`.
    process_group: the processes; None for the default group.  bucket: a GradBucket.
    Returns: a Future of the averaged buffer.
    Shapes: the future's tensor has the shape of `bucket.buffer()`.
    Raises: GroupError before `init_process_group`; the future's `wait` raises CollectiveError if a process has ended.
    Example:
        >>> torch.distributed.init_process_group("gloo", rank=0, world_size=1)
        >>> net = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(3, 2))
        >>> net.register_comm_hook(None, torch.distributed.algorithms.ddp_comm_hooks.default_hooks.allreduce_hook)
        >>> net(torch.ones(4, 3)).sum().backward()
        >>> net.module.bias.grad
        tensor([4., 4.])
        >>> torch.distributed.destroy_process_group()
    """
    return _averaged(process_group, bucket.buffer()).then(lambda done: done.value()[0])


def fp16_compress_hook(process_group: Any, bucket: GradBucket) -> Future:
    """Average a bucket of gradients over the processes in float16, so that half the bytes are sent.

    This is a comm hook: pass it to `register_comm_hook`.
    process_group: the processes; None for the default group.  bucket: a GradBucket.
    Returns: a Future of the averaged buffer, in the gradients' dtype.
    Raises: the errors of `allreduce_hook`.
    Example:
        >>> torch.distributed.init_process_group("gloo", rank=0, world_size=1)
        >>> net = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(3, 2))
        >>> hooks = torch.distributed.algorithms.ddp_comm_hooks.default_hooks
        >>> net.register_comm_hook(None, hooks.fp16_compress_hook)
        >>> net(torch.ones(4, 3)).sum().backward()
        >>> net.module.bias.grad
        tensor([4., 4.])
        >>> torch.distributed.destroy_process_group()
    """
    return _compressed(float16, process_group, bucket)


def bf16_compress_hook(process_group: Any, bucket: GradBucket) -> Future:
    """Average a bucket of gradients over the processes in bfloat16, so that half the bytes are sent.

    This is a comm hook: pass it to `register_comm_hook`.  bfloat16 has the range of float32: large gradients do not
    overflow.
    process_group: the processes; None for the default group.  bucket: a GradBucket.
    Returns: a Future of the averaged buffer, in the gradients' dtype.
    Raises: the errors of `allreduce_hook`.
    Example:
        >>> torch.distributed.init_process_group("gloo", rank=0, world_size=1)
        >>> net = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(3, 2))
        >>> hooks = torch.distributed.algorithms.ddp_comm_hooks.default_hooks
        >>> net.register_comm_hook(None, hooks.bf16_compress_hook)
        >>> net(torch.ones(4, 3)).sum().backward()
        >>> net.module.bias.grad
        tensor([4., 4.])
        >>> torch.distributed.destroy_process_group()
    """
    return _compressed(bfloat16, process_group, bucket)


def fp16_compress_wrapper(hook: Hook) -> Hook:
    """Return a comm hook that runs another hook on float16 gradients, and converts the result back to their dtype.

    Example:
        >>> torch.distributed.init_process_group("gloo", rank=0, world_size=1)
        >>> net = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(3, 2))
        >>> hooks = torch.distributed.algorithms.ddp_comm_hooks.default_hooks
        >>> net.register_comm_hook(None, hooks.fp16_compress_wrapper(hooks.allreduce_hook))
        >>> net(torch.ones(4, 3)).sum().backward()
        >>> net.module.bias.grad
        tensor([4., 4.])
        >>> torch.distributed.destroy_process_group()
    """
    return _wrapper(float16, hook)


def bf16_compress_wrapper(hook: Hook) -> Hook:
    """Return a comm hook that runs another hook on bfloat16 gradients, and converts the result back to their dtype.

    Example:
        >>> torch.distributed.init_process_group("gloo", rank=0, world_size=1)
        >>> net = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(3, 2))
        >>> hooks = torch.distributed.algorithms.ddp_comm_hooks.default_hooks
        >>> net.register_comm_hook(None, hooks.bf16_compress_wrapper(hooks.allreduce_hook))
        >>> net(torch.ones(4, 3)).sum().backward()
        >>> net.module.bias.grad
        tensor([4., 4.])
        >>> torch.distributed.destroy_process_group()
    """
    return _wrapper(bfloat16, hook)


HOOKS = {"ALLREDUCE": allreduce_hook, "FP16_COMPRESS": fp16_compress_hook, "BF16_COMPRESS": bf16_compress_hook}


class DDPCommHookType(Enum):
    """The comm hooks that `register_ddp_comm_hook` accepts: functions of `default_hooks`.

    ALLREDUCE is `allreduce_hook`, FP16_COMPRESS is `fp16_compress_hook`, BF16_COMPRESS is `bf16_compress_hook`.
    Example:
        >>> torch.distributed.algorithms.ddp_comm_hooks.DDPCommHookType.FP16_COMPRESS.name
        'FP16_COMPRESS'
    """

    ALLREDUCE, FP16_COMPRESS, BF16_COMPRESS = HOOKS


class BuiltinCommHookType(IntEnum):
    """Names of the comm hooks that `DistributedDataParallel._register_builtin_comm_hook` accepts.

    ALLREDUCE averages gradients in their own type, FP16_COMPRESS in float16.
    Example:
        >>> torch.distributed.BuiltinCommHookType.FP16_COMPRESS.name
        'FP16_COMPRESS'
    """

    ALLREDUCE, FP16_COMPRESS = range(2)


def named_hook(operator: str, hook: Any, kind: type[Enum]) -> Hook:
    """Return the hook that a member of an enumeration names.  Raises ArgumentTypeError for another value."""
    if not isinstance(hook, kind):
        raise ArgumentTypeError(
            f"the hook must be a {kind.__name__}, got {shown(hook)}",
            hint=f"use one of {', '.join(member.name for member in kind)}",
            operator=operator,
        )
    return HOOKS[hook.name]


def register_ddp_comm_hook(comm_hook_type: DDPCommHookType, model: Any, state: Any = None) -> None:
    """Register one of the hooks in `default_hooks` with a DistributedDataParallel module.

    comm_hook_type: a DDPCommHookType.  model: the module.
    state: the process group over which the hook averages; None for the default group.
    Raises: ArgumentTypeError for a value that is not a DDPCommHookType; ModeError if there already is a hook.
    Example:
        >>> torch.distributed.init_process_group("gloo", rank=0, world_size=1)
        >>> net = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(3, 2))
        >>> hooks = torch.distributed.algorithms.ddp_comm_hooks
        >>> hooks.register_ddp_comm_hook(hooks.DDPCommHookType.FP16_COMPRESS, net)
        >>> net(torch.ones(4, 3)).sum().backward()
        >>> net.module.bias.grad
        tensor([4., 4.])
        >>> torch.distributed.destroy_process_group()
    """
    model.register_comm_hook(state, named_hook("register_ddp_comm_hook", comm_hook_type, DDPCommHookType))


def _averaged(group: Any, buffer: Any) -> Future:
    buffer.div_(collectives.get_world_size(group))
    work: Any = collectives.all_reduce(buffer, group=group, async_op=True)
    future: Future = work.get_future()
    return future


def _compressed(narrow_dtype: dtype, group: Any, bucket: GradBucket) -> Future:
    buffer = bucket.buffer()
    return _averaged(group, buffer.to(narrow_dtype)).then(lambda done: buffer.copy_(done.value()[0]))


def _wrapper(narrow_dtype: dtype, hook: Hook) -> Hook:
    @wraps(hook)
    def compressing(state: Any, bucket: GradBucket) -> Future:
        buffer = bucket.buffer()
        bucket.set_buffer(buffer.to(narrow_dtype))
        return hook(state, bucket).then(lambda done: buffer.copy_(done.value()))

    return compressing
