"""Broadcast to devices and sum over devices as differentiable operators: each is the derivative of the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..autograd.function import Function
from . import comm


class Broadcast(Function):
    """Copy tensors to several devices; their gradients are summed on the first."""

    @staticmethod
    def forward(ctx: Any, gpus: Sequence[int], *inputs: Any) -> Any:
        ctx.source = gpus[0]
        ctx.count = len(inputs)
        return tuple(tensor for copies in comm.broadcast_coalesced(inputs, gpus) for tensor in copies)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        return (None, *ReduceAddCoalesced.apply(ctx.source, ctx.count, *grads))


class ReduceAddCoalesced(Function):
    """Sum groups of `count` tensors, one group per device, on one device; the gradient is copied to all."""

    @staticmethod
    def forward(ctx: Any, target: int, count: int, *grads: Any) -> Any:
        groups = [grads[start : start + count] for start in range(0, len(grads), count)]
        ctx.devices = [group[0].device_index for group in groups]
        return comm.reduce_add_coalesced(groups, comm.place_of(target))

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        return (None, None, *Broadcast.apply(ctx.devices, *grads))
