"""DataParallel: one batch, split over GPUs.

Each forward splits the inputs, copies the module to the other devices, calls the copies in threads and joins the
outputs.  Backward sums the copies' gradients into the module's parameters, in the order of the devices, so results are
the same every run.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import callers
from ..core import thread
from ..errors import ArgumentError, ArgumentTypeError, DeviceMismatchError, naming, shown
from ..nn.module import Module
from ..runtime import device as devices
from ..tensor import checks
from . import comm
from .parallel_apply import parallel_apply
from .replicate import replicate
from .scatter_gather import gather, scatter_kwargs

BALANCE = 0.75  # a device with a smaller share of the best one's memory or processors is warned about


class DataParallel(Module):
    """Call a module on several GPUs, each with a part of the batch.

    device_ids: the GPUs, all of them by default; the module's parameters and buffers must be on the first.
    output_device: where outputs are joined, the first GPU by default;  dim: the batch's dimension.
    Without a GPU the module is called as it is; with one, without threads.
    Raises: DeviceMismatchError in forward if a parameter or buffer is not on the first device.
    """

    def __init__(
        self, module: Any, device_ids: Sequence[Any] | None = None, output_device: Any = None, dim: int = 0
    ) -> None:
        super().__init__()
        _check_module("DataParallel", module, dim)
        self.dim = dim
        self.module = module
        count = thread.machine().device_count()
        self.device_ids = [] if count == 0 else _indexes("DataParallel", device_ids, count)
        if not self.device_ids:
            return
        self.output_device = _output("DataParallel", output_device, self.device_ids)
        _check_balance(self.device_ids)
        if len(self.device_ids) == 1:
            module.to(devices.cuda(self.device_ids[0]))

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        if not self.device_ids:
            return self.module(*inputs, **kwargs)
        check_place(self.module, self.device_ids[0])
        args, named = self.scatter(inputs, kwargs, self.device_ids)
        if not args:
            args, named = ((),), ({},)
        if len(self.device_ids) == 1:
            return self.module(*args[0], **named[0])
        replicas = self.replicate(self.module, self.device_ids[: len(args)])
        return self.gather(self.parallel_apply(replicas, args, named), self.output_device)

    def replicate(self, module: Any, device_ids: Sequence[int]) -> list[Module]:
        """Copies of the module, one per device."""
        return replicate(module, device_ids)

    def scatter(self, inputs: Any, kwargs: Any, device_ids: Sequence[int]) -> Any:
        """The inputs of each device: (positional ones, keyword ones)."""
        return scatter_kwargs(inputs, kwargs, device_ids, self.dim)

    def parallel_apply(self, replicas: Sequence[Any], inputs: Any, kwargs: Any) -> list[Any]:
        """The outputs of the copies."""
        return parallel_apply(replicas, inputs, kwargs, self.device_ids[: len(replicas)])

    def gather(self, outputs: Sequence[Any], output_device: Any) -> Any:
        """The outputs joined on one device."""
        return gather(outputs, output_device, self.dim)


def data_parallel(
    module: Any,
    inputs: Any,
    device_ids: Sequence[Any] | None = None,
    output_device: Any = None,
    dim: int = 0,
    module_kwargs: dict[str, Any] | None = None,
) -> Any:
    """Call a module once on several GPUs, as DataParallel does."""
    _check_module("data_parallel", module, dim)
    if module_kwargs is not None and not isinstance(module_kwargs, dict):
        raise ArgumentTypeError(
            f"module_kwargs must be a dict, got {shown(module_kwargs)}",
            hint="names and values",
            operator="data_parallel",
        )
    args = inputs if isinstance(inputs, tuple) else () if inputs is None else (inputs,)
    named = module_kwargs or {}
    count = thread.machine().device_count()
    if count == 0:
        return module(*args, **named)
    gpus = _indexes("data_parallel", device_ids, count)
    target = _output("data_parallel", output_device, gpus)
    check_place(module, gpus[0], "data_parallel")
    split, split_named = scatter_kwargs(args, named, gpus, dim)
    if not split:
        split, split_named = ((),), ({},)
    if len(gpus) == 1:
        return module(*split[0], **split_named[0])
    used = gpus[: len(split)]
    return gather(parallel_apply(replicate(module, used), split, split_named, used), target, dim)


def _check_module(name: str, module: Any, dim: Any) -> None:
    checks.integer(name, "dim", dim)
    if not isinstance(module, Module):
        fact = f"module must be a Module, got {shown(module)}"
        raise ArgumentTypeError(fact, operator=name, hint="derive from torch.nn.Module")


def _indexes(name: str, device_ids: Sequence[Any] | None, count: int) -> list[int]:
    if device_ids is None:
        return list(range(count))
    given = checks.listed(name, "device_ids", "devices", device_ids)
    if not given:
        raise ArgumentError(f"device_ids is empty: {device_ids}", hint="leave it out to use all devices", operator=name)
    with naming(name):
        found = [devices.cuda_index(each) for each in given]
    if len(set(found)) != len(found):
        raise ArgumentError(f"device_ids {found} names a device twice", hint="name each once", operator=name)
    return found


def _output(name: str, output_device: Any, gpus: Sequence[int]) -> Any:
    """The output device: an index, or the CPU's device object."""
    if output_device is None:
        return gpus[0]
    with naming(name):
        index = -1 if output_device == -1 and isinstance(output_device, int) else devices.resolve(output_device)
    return comm.place_of(index) if index < 0 else index


def check_place(module: Any, index: int, called: str = "DataParallel") -> None:
    """Raise DeviceMismatchError unless all parameters and buffers are on device `index`."""
    for name, each in (*module.named_parameters(), *module.named_buffers()):
        if each.device_index != index:
            raise DeviceMismatchError(
                f"module must have its parameters and buffers on device cuda:{index} (device_ids[0]) but "
                f"found one of them on device: {each.device} ({name})",
                hint=f'move it with module.to("cuda:{index}")',
                operator=called,
            )


def _check_balance(gpus: Sequence[int]) -> None:
    machine = thread.machine()
    machine.start()
    for what, name in (("total_memory", "memory"), ("multi_processor_count", "processors")):
        sizes = {index: getattr(machine.devices[index].properties, what) for index in gpus}
        low, high = min(sizes, key=lambda each: sizes[each]), max(sizes, key=lambda each: sizes[each])
        if sizes[low] < BALANCE * sizes[high]:
            callers.warn(
                f"DataParallel: there is an imbalance between your GPUs: cuda:{low} has {sizes[low]} of {name}, "
                f"cuda:{high} has {sizes[high]}; leave it out with device_ids, or every step waits for it"
            )
