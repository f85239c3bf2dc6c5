"""Copies of a module on several devices.

- A copy shares everything with the original but its parameters, buffers and children.  What it writes to itself is
  lost, except in place to parameters and buffers on the first device: there it shares their memory.
- A copy's parameters are not leaves: their gradients are summed on the first device into the original's.  Without
  gradients being recorded, or with detach, they are plain copies.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..autograd.function import Function
from ..autograd.mode import mode
from ..errors import ArgumentError, ArgumentTypeError, naming, shown
from ..nn.module import Module
from ..runtime.device import cuda_index
from ..tensor import checks
from . import comm


class Broadcast(Function):
    """Copy tensors to several devices; their gradients are summed on the first."""

    @staticmethod
    def forward(ctx: Any, gpus: Sequence[int], *inputs: Any) -> Any:
        ctx.source = gpus[0]
        ctx.count = len(inputs)
        return tuple(each for copies in comm.broadcast_coalesced(inputs, gpus) for each in copies)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        return (None, *ReduceAddCoalesced.apply(ctx.source, ctx.count, *grads))


class ReduceAddCoalesced(Function):
    """Sum groups of `count` tensors, one group per device, on one device; the gradient is copied to all."""

    @staticmethod
    def forward(ctx: Any, target: int, count: int, *grads: Any) -> Any:
        groups = [grads[start : start + count] for start in range(0, len(grads), count)]
        ctx.devices = [each[0].device_index for each in groups]
        return comm.reduce_add_coalesced(groups, comm.place_of(target))

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        return (None, None, *Broadcast.apply(ctx.devices, *grads))


def replicate(network: Module, devices: Sequence[Any], detach: bool = False) -> list[Module]:
    """Copy a module to several devices; the first copy shares the parameters and buffers of the module.

    Host:   returns at once.
    Raises: DeviceMismatchError if a parameter or buffer is not on the first device.
    """
    if not isinstance(network, Module):
        raise ArgumentTypeError(
            f"network must be a Module, got {shown(network)}", hint="torch.nn.Module", operator="replicate"
        )
    with naming("replicate"):
        gpus = [cuda_index(each) for each in checks.listed("replicate", "devices", "devices", devices)]
    if not gpus:
        raise ArgumentError(f"got no devices: {devices}", hint="the first is where the module is", operator="replicate")
    plain = detach or not mode.enabled
    with naming("replicate"):
        params = _copies(list(network.parameters()), gpus, plain)
        buffers = _copies(list(network.buffers()), gpus, plain)
    modules = list(network.modules())
    replicas = [{id(each): _shallow(each) for each in modules} for _ in gpus]
    for place, copied in enumerate(replicas):
        for module in modules:
            _fill(copied[id(module)], module, copied, params[place], buffers[place])
    return [copied[id(network)] for copied in replicas]


def _copies(tensors: list[Any], gpus: Sequence[int], plain: bool) -> list[dict[int, Any]]:
    """Per device, the copy of each tensor, by the tensor's id."""
    wanted = [each for each in tensors if each.requires_grad and not plain]
    others = [each for each in tensors if not (each.requires_grad and not plain)]
    found = [dict(zip(map(id, others), each)) for each in comm.broadcast_coalesced(others, gpus)]
    found[0] = {key: each.detach() for key, each in found[0].items()} if plain else found[0]
    if wanted:
        flat = Broadcast.apply(gpus, *wanted)
        for place, copied in enumerate(found):
            copied.update(zip(map(id, wanted), flat[place * len(wanted) :]))
    return found


def _shallow(module: Module) -> Module:
    replica = object.__new__(type(module))
    replica.__dict__ = module.__dict__.copy()
    replica.__dict__.update(_parameters={}, _buffers={}, _modules={}, _former_parameters={}, _is_replica=True)
    return replica


def _fill(
    replica: Module, module: Module, children: dict[int, Module], params: dict[int, Any], buffers: dict[int, Any]
) -> None:
    own = replica.__dict__
    for name, child in module._modules.items():
        own["_modules"][name] = None if child is None else children[id(child)]
    for name, param in module._parameters.items():
        own[name] = None if param is None else params[id(param)]  # an attribute: it is not a leaf
        if param is not None:
            own["_former_parameters"][name] = own[name]
    for name, buffer in module._buffers.items():
        own["_buffers"][name] = None if buffer is None else buffers[id(buffer)]
