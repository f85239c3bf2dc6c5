"""Splitting nested inputs over devices and joining nested outputs, with gradients.

- Tensors are split or joined along a dimension; tuples, named tuples, lists and mappings are walked; anything else is
  handed to every device as it is.
- The parts of a CPU tensor are copied on a stream of their own per device, which the device's current stream then
  waits for; the current stream is recorded on their memory.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from weakref import WeakKeyDictionary

from .. import callers
from ..autograd.function import Function
from ..core import thread
from ..core.tensor import TensorBase
from ..driver.api import StreamHandle
from ..errors import ArgumentError, ArgumentTypeError, naming, shown
from ..runtime import device as devices
from ..runtime.machine import Machine
from ..runtime.stream import Stream
from ..tensor import checks
from . import comm

_background: WeakKeyDictionary[Machine, dict[int, StreamHandle]] = (
    WeakKeyDictionary()
)  # a Stream would keep its machine


def background_stream(index: int) -> Stream:
    """The stream that copies to device `index` from the CPU, the same one every time."""
    machine = thread.machine()
    handles = _background.setdefault(machine, {})
    if index not in handles:
        handles[index] = Stream(index).handle
    return machine.streams[handles[index]]


class Scatter(Function):
    """Split a tensor over devices; the gradient is joined again on the tensor's device."""

    @staticmethod
    def forward(ctx: Any, target_gpus: Sequence[int], chunk_sizes: Any, dim: int, input: Any) -> Any:
        ctx.dim = dim
        ctx.source = input.device_index
        if ctx.source >= 0:
            return comm.scatter(input, target_gpus, chunk_sizes, dim)
        streams = [background_stream(index) for index in target_gpus]
        parts = comm.scatter(input, target_gpus, chunk_sizes, dim, streams)
        for part, stream in zip(parts, streams):
            current = thread.current_stream(stream.device_index)
            current.wait_stream(stream)
            part.record_stream(current)
        return parts

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        return None, None, None, Gather.apply(comm.place_of(ctx.source), ctx.dim, *grads)


class Gather(Function):
    """Join tensors of several devices on one; the gradient is split again.  Scalars are joined into a vector."""

    @staticmethod
    def forward(ctx: Any, target: Any, dim: int, *inputs: Any) -> Any:
        ctx.dim = dim
        ctx.devices = [each.device_index for each in inputs]
        ctx.were_scalars = all(each.ndim == 0 for each in inputs) and dim == 0
        if ctx.were_scalars:
            callers.warn("gather: along dimension 0, but all inputs were scalars; they are joined into a vector")
            inputs = tuple(each.reshape(1) for each in inputs)
        ctx.sizes = [each.shape[dim] for each in inputs]
        return comm.gather(inputs, dim, target)

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        parts = Scatter.apply(ctx.devices, ctx.sizes, ctx.dim, grad)
        return None, None, *([each[0] for each in parts] if ctx.were_scalars else parts)


def scatter(inputs: Any, target_gpus: Sequence[Any], dim: int = 0) -> list[Any]:
    """Split nested inputs over GPUs: one copy of the structure per device, fewer if a tensor has too few rows."""
    checks.integer("scatter", "dim", dim)
    with naming("scatter"):
        gpus = [devices.cuda_index(each) for each in checks.listed("scatter", "target_gpus", "devices", target_gpus)]
    if not gpus:
        raise ArgumentError(f"got no devices: {target_gpus}", hint="give at least one", operator="scatter")
    return _scatter(inputs, gpus, dim)


def _scatter(value: Any, gpus: list[int], dim: int) -> list[Any]:
    if isinstance(value, TensorBase):
        return list(Scatter.apply(gpus, None, dim, value))
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return [type(value)(*each) for each in zip(*[_scatter(entry, gpus, dim) for entry in value])]
    if isinstance(value, (tuple, list)) and value:
        split = zip(*[_scatter(entry, gpus, dim) for entry in value])
        return [tuple(each) if isinstance(value, tuple) else list(each) for each in split]
    if isinstance(value, dict) and value:
        return [type(value)(each) for each in zip(*[_scatter(entry, gpus, dim) for entry in value.items()])]
    return [value for _ in gpus]


def scatter_kwargs(
    inputs: tuple[Any, ...], kwargs: dict[str, Any] | None, target_gpus: Sequence[Any], dim: int = 0
) -> tuple[tuple[Any, ...], tuple[dict[str, Any], ...]]:
    """Split positional and keyword inputs over GPUs; the shorter of the two is filled up with empty ones."""
    if kwargs is not None and not isinstance(kwargs, dict):
        raise ArgumentTypeError(
            f"kwargs must be a dict, got {shown(kwargs)}", hint="names and values", operator="scatter_kwargs"
        )
    args = scatter(inputs, target_gpus, dim) if inputs else []
    named = scatter(kwargs, target_gpus, dim) if kwargs else []
    count = max(len(args), len(named))
    args += [()] * (count - len(args))
    named += [{}] * (count - len(named))
    return tuple(args), tuple(named)


def gather(outputs: Sequence[Any], target_device: Any, dim: int = 0) -> Any:
    """Join nested outputs, one per device, on one device ("cpu" for the CPU).

    None stays None; tensors without dimensions become a vector, with a warning.
    Raises: ArgumentError if mappings or sequences differ in length.
    """
    if not isinstance(outputs, Sequence) or isinstance(outputs, str):
        raise ArgumentTypeError(
            f"outputs must be a list, got {shown(outputs)}", hint="give one per device", operator="gather"
        )
    if not outputs:
        raise ArgumentError(f"got no outputs: {outputs}", hint="give one per device", operator="gather")
    first = outputs[0]
    if isinstance(first, TensorBase):
        checks.tensors("gather", "outputs", outputs)
        return Gather.apply(target_device, dim, *outputs)
    if first is None:
        return None
    if isinstance(first, Mapping):
        _check_lengths("dicts", outputs)
        # ignored: a mapping is made of pairs
        return type(first)((key, gather([each[key] for each in outputs], target_device, dim)) for key in first)  # type: ignore[call-arg]
    if not isinstance(first, (tuple, list)):
        raise ArgumentTypeError(
            f"outputs must be tensors, or tuples, lists and dicts of them, got {shown(first)}",
            hint="let the module return tensors",
            operator="gather",
        )
    _check_lengths("sequences", outputs)
    joined = [gather(parts, target_device, dim) for parts in zip(*outputs)]
    return type(first)(*joined) if hasattr(first, "_fields") else type(first)(joined)


def _check_lengths(kind: str, outputs: Sequence[Any]) -> None:
    for place, each in enumerate(outputs):
        if not isinstance(each, (Mapping, tuple, list)):
            raise ArgumentTypeError(
                f"outputs[0] is {shown(outputs[0])}, outputs[{place}] is {shown(each)}",
                hint="let the module return the same kind on every device",
                operator="gather",
            )
    lengths = [len(each) for each in outputs]
    if len(set(lengths)) > 1:
        raise ArgumentError(
            f"All {kind} must have the same number of entries, they have {lengths}",
            hint="let the module return as many on every device",
            operator="gather",
        )
