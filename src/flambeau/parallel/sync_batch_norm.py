"""Batch norm over the batches of all processes of a group, which may differ in size.

- Forward gathers each process's mean, variance and count per channel; backward sums two numbers per channel.
- A process whose batch is empty takes part with a count of 0.  The host never waits.
- Gradients of weight and bias are those of the process's own batch: DistributedDataParallel averages them.
"""

from __future__ import annotations

from typing import Any

from ..autograd.function import Function, once_differentiable
from ..dtypes import float32, float64
from ..ops.join import cat, stack
from ..tensor import factories
from . import process_group as collectives


class SynchronizedBatchNorm(Function):
    """Normalize each channel over the batches of a group of processes; update the running statistics in place."""

    @staticmethod
    def forward(
        ctx: Any,
        input: Any,
        weight: Any,
        bias: Any,
        running_mean: Any,
        running_var: Any,
        eps: float,
        momentum: float,
        group: Any,
    ) -> Any:
        channels = input.shape[1]
        dims = [dim for dim in range(input.ndim) if dim != 1]
        wide = input.to(float64 if input.dtype is float64 else float32)
        ctx.shape = [1, channels, *[1] * (input.ndim - 2)]
        ctx.group, ctx.dims = group, dims
        count = input.numel() // max(channels, 1)
        parts = [wide.mean(dims), wide.var(dims, unbiased=False)] if count else [wide.new_zeros(2 * channels)]
        own = cat([*parts, factories.full((1,), float(count), dtype=wide.dtype, device=wide.device)], 0)
        gathered = [own.clone() for _ in range(collectives.get_world_size(group))]
        collectives.all_gather(gathered, own, group=group)
        table = stack(gathered, 0)
        counts = table[:, -1:]
        total = counts.sum()
        shares = counts / total
        mean = (table[:, :channels] * shares).sum(0)
        var = ((table[:, channels:-1] + (table[:, :channels] - mean).square()) * shares).sum(0)
        if running_mean is not None:
            running_mean.mul_(1 - momentum).add_(mean.to(running_mean.dtype), alpha=momentum)
            unbiased = var * (total / (total - 1))
            running_var.mul_(1 - momentum).add_(unbiased.to(running_var.dtype), alpha=momentum)
        scale = (var + eps).rsqrt()
        ctx.save_for_backward(input, weight, mean, scale, total)
        result = (wide - mean.view(ctx.shape)) * scale.view(ctx.shape)
        if weight is not None:
            result = result * weight.view(ctx.shape)
        if bias is not None:
            result = result + bias.view(ctx.shape)
        return result.to(input.dtype)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Any) -> Any:
        input, weight, mean, scale, total = ctx.saved_tensors
        channels = input.shape[1]
        wide = grad.to(mean.dtype)
        centred = input.to(mean.dtype) - mean.view(ctx.shape)
        own = cat([wide.sum(ctx.dims), (wide * centred).sum(ctx.dims)], 0)
        grad_input = None
        if ctx.needs_input_grad[0]:
            sums = own.clone()
            collectives.all_reduce(sums, group=ctx.group)
            sums = sums / total
            slope = sums[channels:] * scale.square()
            grad_input = wide - sums[:channels].view(ctx.shape) - centred * slope.view(ctx.shape)
            factor = scale if weight is None else scale * weight
            grad_input = (grad_input * factor.view(ctx.shape)).to(input.dtype)
        grad_weight = (own[channels:] * scale).to(weight.dtype) if ctx.needs_input_grad[1] else None
        grad_bias = own[:channels].to(weight.dtype) if ctx.needs_input_grad[2] else None
        return grad_input, grad_weight, grad_bias, None, None, None, None, None
