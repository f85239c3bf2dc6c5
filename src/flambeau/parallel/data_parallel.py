"""DataParallel and its parts: scatter and gather of nested inputs, replicas of a module, and threads that call them.

- A forward splits the inputs, copies the module to the other devices, calls the copies and joins the outputs.  Backward
  sums the copies' gradients into the module's parameters in the order of the devices, so results are the same in every
  run.
- The copies run in threads; or one of them runs, and its work is repeated on all devices (mirror.py).  Results are the
  same.
- Tensors are split or joined along a dimension.  Tuples, named tuples, lists and mappings are traversed.  Any other
  value goes to every device as it is.
- The parts of a CPU tensor are copied on one background stream per device.  The device's current stream waits for it
  and is recorded on their memory.
- A replica shares everything with the original but its parameters, buffers and children.  Its writes to attributes are
  lost.  In-place writes to parameters and buffers on the first device are kept: it shares their memory.
- A replica's parameters are not leaves: their gradients are summed on the first device into the original's.  Without
  gradient recording, or with detach, they are plain copies.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary, ref

from .. import callers
from ..autograd.autocast import Kept
from ..autograd.function import Function
from ..autograd.mode import GradMode, mode
from ..core import thread
from ..core.tensor import FROM_FUNCTION, ONE_OF_SEVERAL, TensorBase, alias_of, in_graph
from ..driver.api import StreamHandle
from ..errors import ArgumentError, ArgumentTypeError, DeviceMismatchError, NamingError, naming, shown, walking
from ..importer import listing
from ..multiprocessing.worker_pipe import WorkerException
from ..nn.module import Module
from ..runtime import device as devices
from ..runtime.device import cuda_index
from ..runtime.machine import Machine
from ..runtime.stream import Stream
from ..runtime.threads import streams
from ..tensor import checks
from . import comm
from .broadcast import Broadcast
from .mirror import Replicas, from_parts, parts_of

log = logging.getLogger("flambeau")
BALANCE = 0.75  # a device with a smaller share of the best one's memory or processors causes a warning
_background: WeakKeyDictionary[Machine, dict[int, StreamHandle]] = WeakKeyDictionary()  # Streams would keep machines

_in_threads: dict[int, Any] = {}  # weak references to the modules that cannot be mirrored, by id


class DataParallel(Module):
    """Call a module on several GPUs, each with a part of the batch.

    device_ids: the GPUs, all of them by default; the module's parameters and buffers must be on the first.
    output_device: the device of the joined outputs, the first GPU by default;  dim: the dimension that is split.
    Without a GPU the module itself is called; with one GPU, no thread is started.  With several, Python runs the
    module once, in a thread, and launches each operation on all GPUs.  In some cases Python runs the module once per
    GPU instead, in a thread for each: if it has hooks; if the parts of the inputs differ in shape; and, from the first
    such call on, if it reads a value or a device, uses a Function, a stream or an event, draws random numbers on the
    host, or changes a container or a variable that all replicas share.
    Raises: DeviceMismatchError in forward if a parameter or buffer is not on the first device.
    Example:
        >>> net = torch.nn.DataParallel(torch.nn.Linear(3, 2).cuda())
        >>> net(torch.ones(4, 3)).shape
        torch.Size([4, 2])
    """

    def __init__(
        self, module: Any, device_ids: Sequence[Any] | None = None, output_device: Any = None, dim: int = 0
    ) -> None:
        super().__init__()
        _check_module("DataParallel", module, dim)
        self.dim = dim
        self.module = module
        count = thread.machine().device_count()
        self.device_ids = [] if count == 0 else _device_indexes("DataParallel", device_ids, count)
        if not self.device_ids:
            return
        self.output_device = _output("DataParallel", output_device, self.device_ids)
        _check_balance(self.device_ids)
        if len(self.device_ids) == 1:
            module.to(devices.cuda(self.device_ids[0]))

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        if not self.device_ids:
            return self.module(*inputs, **kwargs)
        members = _Members(self.module)
        members.check_place(self.device_ids[0], "DataParallel")
        args, named = self.scatter(inputs, kwargs, self.device_ids)
        if not args:
            args, named = ((),), ({},)
        if len(self.device_ids) == 1:
            return self.module(*args[0], **named[0])
        used = self.device_ids[: len(args)]
        outputs, replicas = None, None
        if _is_plain(type(self)):
            is_own = type(self).gather is not DataParallel.gather
            join = None if is_own else partial(MirroredGather.apply, self.output_device, self.dim)
            outputs, replicas = _mirrored_outputs(members, used, args, named, join)
        if outputs is None:
            outputs = self.parallel_apply(self.replicate(self.module, used), args, named)
        is_joined = replicas is not None and replicas.is_joined
        joined = outputs[0] if is_joined else self.gather(outputs, self.output_device)
        del outputs, replicas  # in this order, so that the mirror's memory is freed with the mirror
        return joined

    def replicate(self, module: Any, device_ids: Sequence[int]) -> list[Module]:
        """Return copies of the module, one per device.

        Example:
            >>> net = torch.nn.DataParallel(torch.nn.Linear(3, 2).cuda())
            >>> [str(replica.weight.device) for replica in net.replicate(net.module, [0, 1])]
            ['cuda:0', 'cuda:1']
        """
        return replicate(module, device_ids)

    def scatter(self, inputs: Any, kwargs: Any, device_ids: Sequence[int]) -> Any:
        """Split the inputs along `dim`; return (positional, keyword) arguments, each a tuple with one entry per device.

        Example:
            >>> net = torch.nn.DataParallel(torch.nn.Linear(3, 2).cuda())
            >>> args, kwargs = net.scatter((torch.ones(4, 3),), {}, [0, 1])
            >>> args[1][0].shape, kwargs
            (torch.Size([2, 3]), ({}, {}))
        """
        return scatter_kwargs(inputs, kwargs, device_ids, self.dim)

    def parallel_apply(self, replicas: Sequence[Any], inputs: Any, kwargs: Any) -> list[Any]:
        """Call each copy with its inputs, all at once, and return a list of their outputs.

        Example:
            >>> net = torch.nn.DataParallel(torch.nn.Linear(3, 2).cuda())
            >>> args, kwargs = net.scatter((torch.ones(4, 3),), {}, [0, 1])
            >>> replicas = net.replicate(net.module, [0, 1])
            >>> [output.shape for output in net.parallel_apply(replicas, args, kwargs)]
            [torch.Size([2, 2]), torch.Size([2, 2])]
        """
        return parallel_apply(replicas, inputs, kwargs, self.device_ids[: len(replicas)])

    def gather(self, outputs: Sequence[Any], output_device: Any) -> Any:
        """Return the outputs of the copies, joined along `dim` on one device.

        Example:
            >>> net = torch.nn.DataParallel(torch.nn.Linear(3, 2).cuda())
            >>> net.gather([torch.zeros(1, device="cuda:0"), torch.ones(1, device="cuda:1")], 0)
            tensor([0., 1.], device='cuda:0')
        """
        return gather(outputs, output_device, self.dim)


def data_parallel(
    module: Any,
    inputs: Any,
    device_ids: Sequence[Any] | None = None,
    output_device: Any = None,
    dim: int = 0,
    module_kwargs: dict[str, Any] | None = None,
) -> Any:
    """Split the inputs over several GPUs, call copies of a module on them, and join the outputs, as DataParallel does.

    inputs: a tuple of the module's positional arguments, or a single argument.  module_kwargs: its keyword arguments.
    device_ids: the GPUs, all of them by default.  output_device: the device of the result, the first GPU by default.
    Shapes: inputs are split along `dim`, outputs joined along it.
    Raises: ArgumentTypeError for a module that is not a Module or module_kwargs that is not a dict, ArgumentError for
            empty or repeated device_ids, DeviceMismatchError if a parameter or buffer is not on the first device.
    Example:
        >>> net = torch.nn.Linear(3, 2).cuda()
        >>> torch.nn.parallel.data_parallel(net, torch.ones(4, 3), [0, 1]).shape
        torch.Size([4, 2])
    """
    _check_module("data_parallel", module, dim)
    if module_kwargs is not None and not isinstance(module_kwargs, dict):
        raise ArgumentTypeError(
            f"module_kwargs must be a dict, got {shown(module_kwargs)}",
            hint="pass a dict of names and values",
            operator="data_parallel",
        )
    args = inputs if isinstance(inputs, tuple) else () if inputs is None else (inputs,)
    named = module_kwargs or {}
    count = thread.machine().device_count()
    if count == 0:
        return module(*args, **named)
    gpus = _device_indexes("data_parallel", device_ids, count)
    target = _output("data_parallel", output_device, gpus)
    members = _Members(module)
    members.check_place(gpus[0], "data_parallel")
    split, split_named = scatter_kwargs(args, named, gpus, dim)
    if not split:
        split, split_named = ((),), ({},)
    if len(gpus) == 1:
        return module(*split[0], **split_named[0])
    used = gpus[: len(split)]
    join = partial(MirroredGather.apply, target, dim)
    outputs, replicas = _mirrored_outputs(members, used, split, split_named, join)
    if outputs is None:
        outputs = parallel_apply(replicate(module, used), split, split_named, used)
    is_joined = replicas is not None and replicas.is_joined
    joined = outputs[0] if is_joined else gather(outputs, target, dim)
    del outputs, replicas  # in this order, as in DataParallel.forward
    return joined


def _is_plain(cls: type[DataParallel]) -> bool:
    """Return whether a class replicates and calls modules as DataParallel does."""
    return cls.replicate is DataParallel.replicate and cls.parallel_apply is DataParallel.parallel_apply


class _Members:
    """A module's descendants, itself first, and their parameters and buffers, each once.

    states: the `__dict__` of each module, which is slow to look up.
    """

    def __init__(self, module: Module) -> None:
        self.modules = [module]
        self.states: list[dict[str, Any]] = []
        known = {id(module), id(None)}
        params: list[Any] = []
        buffers: list[Any] = []
        for submodule in self.modules:  # the loop appends to it
            own = submodule.__dict__
            self.states.append(own)
            if children := own["_modules"]:
                for child in children.values():
                    if id(child) not in known:
                        known.add(id(child))
                        self.modules.append(child)
            if parameters := own["_parameters"]:
                params += parameters.values()
            if tensors := own["_buffers"]:
                buffers += tensors.values()
        self.params = _distinct(params)
        self.buffers = _distinct(buffers)

    def check_place(self, index: int, called: str) -> None:
        if {tensor._layout.device.index for tensor in (*self.params, *self.buffers)} - {index}:
            check_place(self.modules[0], index, called)

    def replica(self, params: dict[int, Any], buffers: dict[int, Any]) -> Module:
        """Copy the module with other parameters and buffers, given by the ids of the originals."""
        copied = {id(module): object.__new__(type(module)) for module in self.modules}
        for own, replica in zip(self.states, copied.values()):
            _fill(replica, own.copy(), copied, params, buffers)
        return copied[id(self.modules[0])]


def _distinct(tensors: list[Any]) -> list[Any]:
    """Return the distinct tensors of a list, without None."""
    by_id = dict(zip(map(id, tensors), tensors))
    by_id.pop(id(None), None)
    return list(by_id.values())


def _mirrored_outputs(
    members: _Members, gpus: list[int], args: Sequence[Any], named: Sequence[Any], join: Any = None
) -> tuple[list[Any] | None, Replicas | None]:
    """Return the replicas' outputs by device, and what to keep until these have been joined.

    The outputs are None if the replicas have to run in threads from the start.  join: see Replicas.
    """
    module = members.modules[0]
    if len(gpus) < 2 or id(module) in _in_threads:
        return None, None

    def call(replicas: Sequence[tuple[int, Any, Any]], stream: Stream | None) -> list[Any]:
        calls = [_Replica(at, replica, inputs[0], inputs[1], gpus[at]) for at, replica, inputs in replicas]
        if stream is None:
            _run_in_threads(calls)
        else:
            _run_here(calls[0], stream)
        return _results(calls)

    replicas = Replicas(members, gpus, args, named, call, join)
    result = replicas.outputs()
    if result is None:
        return None, None
    outputs, reason = result
    if reason:
        key = id(module)
        _in_threads[key] = ref(module, lambda _: _in_threads.pop(key, None))
        log.info("DataParallel: %s runs in threads from now on, one per GPU: %s", type(module).__name__, reason)
    return outputs, replicas


def _check_module(name: str, module: Any, dim: Any) -> None:
    checks.integer(name, "dim", dim)
    if not isinstance(module, Module):
        fact = f"module must be a Module, got {shown(module)}"
        raise ArgumentTypeError(fact, operator=name, hint="pass an instance of a subclass of torch.nn.Module")


def _device_indexes(name: str, device_ids: Sequence[Any] | None, count: int) -> list[int]:
    if device_ids is None:
        return list(range(count))
    given = checks.listed(name, "device_ids", "devices", device_ids)
    if not given:
        raise ArgumentError(f"device_ids is empty: {device_ids}", hint="leave it out to use all devices", operator=name)
    with naming(name):
        indexes = [devices.cuda_index(device) for device in given]
    if len(set(indexes)) != len(indexes):
        raise ArgumentError(
            f"device_ids {indexes} contains a device twice", hint="list each device once", operator=name
        )
    return indexes


def _output(name: str, output_device: Any, gpus: Sequence[int]) -> Any:
    """The output device: an index, or the CPU's device object."""
    if output_device is None:
        return gpus[0]
    with naming(name):
        index = -1 if output_device == -1 and isinstance(output_device, int) else devices.resolve(output_device)
    return comm.place_of(index) if index < 0 else index


def check_place(module: Any, index: int, called: str = "DataParallel") -> None:
    """Raise DeviceMismatchError unless all parameters and buffers are on device `index`."""
    for name, tensor in (*module.named_parameters(), *module.named_buffers()):
        if tensor.device_index != index:
            raise DeviceMismatchError(
                f"module must have its parameters and buffers on device cuda:{index} (device_ids[0]) but "
                f"found one of them on device: {tensor.device} ({name})",
                hint=f'move it with module.to("cuda:{index}")',
                operator=called,
            )


def _check_balance(gpus: Sequence[int]) -> None:
    machine = thread.machine()
    machine.start()
    for what, name in (("total_memory", "memory"), ("multi_processor_count", "processors")):
        sizes = {index: getattr(machine.devices[index].properties, what) for index in gpus}
        low, high = min(sizes, key=lambda index: sizes[index]), max(sizes, key=lambda index: sizes[index])
        if sizes[low] < BALANCE * sizes[high]:
            callers.warn(
                f"DataParallel: there is an imbalance between your GPUs: cuda:{low} has {sizes[low]} of {name}, "
                f"cuda:{high} has {sizes[high]}; leave it out with device_ids, or every step waits for it"
            )


def background_stream(index: int) -> Stream:
    """The stream for copies from the CPU to device `index`; one per device."""
    machine = thread.machine()
    handles = _background.setdefault(machine, {})
    if index not in handles:
        handles[index] = Stream(index).handle
    return machine.streams[handles[index]]


class Scatter(Function):
    """Split a tensor over devices; the gradient is joined on the tensor's device."""

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
    """Join tensors of several devices on one; the gradient is split again.  Scalars become a vector."""

    @staticmethod
    def forward(ctx: Any, target: Any, dim: int, *inputs: Any) -> Any:
        ctx.dim = dim
        ctx.devices = [tensor.device_index for tensor in inputs]
        ctx.were_scalars = dim == 0 and not any([tensor._layout.shape for tensor in inputs])
        if ctx.were_scalars:
            callers.warn("gather: along dimension 0, but all inputs were scalars; they are joined into a vector")
            inputs = tuple([alias_of(tensor, (1,), (1,), tensor._offset) for tensor in inputs])
        checks.dimension("gather", dim, inputs[0])
        joined = comm.gather(inputs, dim, target)
        ctx.sizes = [tensor._layout.shape[dim] for tensor in inputs]
        return joined

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        parts = Scatter.apply(ctx.devices, ctx.sizes, ctx.dim, grad)
        return None, None, *([part[0] for part in parts] if ctx.were_scalars else parts)


class MirroredGather(Gather):
    """Like Gather, for the parts of one mirrored tensor."""

    @staticmethod
    def forward(ctx: Any, target: Any, dim: int, *inputs: Any) -> Any:
        ctx.hold, whole = inputs
        return Gather.forward(ctx, target, dim, *parts_of(ctx.hold, whole))

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        if mode.enabled or not grad.is_cuda:
            _, _, *parts = Gather.backward(ctx, grad)
        else:
            parts = list(comm.scatter(grad, ctx.devices, ctx.sizes, ctx.dim))
            parts = [alias_of(part, (), (), part._offset) for part in parts] if ctx.were_scalars else parts
        return None, None, None, from_parts(ctx.hold, parts)


MirroredGather.__name__ = Gather.__name__  # the name of the autograd node derives from it


def scatter(inputs: Any, target_gpus: Sequence[Any], dim: int = 0) -> list[Any]:
    """Split nested inputs over GPUs: one copy of the structure per device, fewer if a tensor has too few rows.

    Tensors are split along `dim`; other values go to every device.  target_gpus: the devices, as indexes or devices.
    Raises: ArgumentError for no devices and containers that contain themselves, ArgumentTypeError for a dim that is not
            an int, IndexRangeError for a dim that a tensor does not have.
    Example:
        >>> first, second = torch.nn.parallel.scatter({"x": torch.arange(4), "name": "a"}, [0, 1])
        >>> second
        {'x': tensor([2, 3], device='cuda:1'), 'name': 'a'}
    """
    checks.integer("scatter", "dim", dim)
    with naming("scatter"):
        gpus = [devices.cuda_index(gpu) for gpu in checks.listed("scatter", "target_gpus", "devices", target_gpus)]
    if not gpus:
        raise ArgumentError(f"got no devices: {target_gpus}", hint="give at least one", operator="scatter")
    with walking("scatter", inputs):
        return _scatter(inputs, gpus, dim, _plain_parts(inputs, gpus, dim))


def _scatter(value: Any, gpus: list[int], dim: int, known: dict[int, list[Any]]) -> list[Any]:
    """Split nested values.  known: the parts of tensors that are split already, by the tensors' ids."""
    if isinstance(value, TensorBase):
        return known.pop(id(value), None) or list(Scatter.apply(gpus, None, dim, value))
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return [type(value)(*parts) for parts in zip(*[_scatter(entry, gpus, dim, known) for entry in value])]
    if isinstance(value, (tuple, list)) and value:
        split = zip(*[_scatter(entry, gpus, dim, known) for entry in value])
        return [tuple(parts) if isinstance(value, tuple) else list(parts) for parts in split]
    if isinstance(value, dict) and value:
        return [type(value)(parts) for parts in zip(*[_scatter(entry, gpus, dim, known) for entry in value.items()])]
    return [value for _ in gpus]


def _plain_parts(value: Any, gpus: list[int], dim: int) -> dict[int, list[Any]]:
    """Split the tensors of GPUs in nested values that need no gradient, by their ids; all are copied at once."""
    tensors: dict[int, Any] = {}
    _add_plain(value, dim, tensors)
    if not tensors:
        return {}
    devices.unmirror("tensors were scattered")
    split = [comm.split(tensor, gpus, dim) for tensor in tensors.values()]
    places = [index for parts in split for _, index in zip(parts, gpus)]
    moved = comm.to_indexes([part for parts in split for part in parts], places)
    if mode.enabled:
        for part in moved:
            if part._base is not None:
                part._origin = ONE_OF_SEVERAL if len(gpus) > 1 else FROM_FUNCTION
    rest = iter(moved)
    return {key: [next(rest) for _ in parts] for key, parts in zip(tensors, split)}


def _add_plain(value: Any, dim: int, tensors: dict[int, Any]) -> None:
    if isinstance(value, TensorBase):
        if value.is_cuda and -value.ndim <= dim < value.ndim and not in_graph(value):
            tensors[id(value)] = value
    elif isinstance(value, (tuple, list)):
        for entry in value:
            _add_plain(entry, dim, tensors)
    elif isinstance(value, dict):
        for entry in value.values():
            _add_plain(entry, dim, tensors)


def scatter_kwargs(
    inputs: tuple[Any, ...], kwargs: dict[str, Any] | None, target_gpus: Sequence[Any], dim: int = 0
) -> tuple[tuple[Any, ...], tuple[dict[str, Any], ...]]:
    """Split positional and keyword inputs over GPUs; return (args of each device, kwargs of each device).

    If one of the two has fewer parts than the other, empty tuples or dicts are appended.
    Raises: ArgumentTypeError for kwargs that is not a dict; also the errors of `scatter`.
    Example:
        >>> args, kwargs = torch.nn.parallel.scatter_kwargs((torch.arange(2),), {"scale": 3}, [0, 1])
        >>> args[1], kwargs[1]
        ((tensor([1], device='cuda:1'),), {'scale': 3})
    """
    if kwargs is not None and not isinstance(kwargs, dict):
        raise ArgumentTypeError(
            f"kwargs must be a dict, got {shown(kwargs)}",
            hint="pass a dict of names and values",
            operator="scatter_kwargs",
        )
    args = scatter(inputs, target_gpus, dim) if inputs else []
    named = scatter(kwargs, target_gpus, dim) if kwargs else []
    count = max(len(args), len(named))
    args += [()] * (count - len(args))
    named += [{}] * (count - len(named))
    return tuple(args), tuple(named)


def gather(outputs: Sequence[Any], target_device: Any, dim: int = 0) -> Any:
    """Concatenate the tensors of nested outputs, one structure per device, along `dim` on one device.

    target_device: a GPU, as an index or a device, or "cpu".
    None stays None; tensors without dimensions become a vector, with a warning.
    Shapes: the outputs have equal sizes except in `dim`; the result's size in `dim` is the sum of theirs.
    Raises: ArgumentError for no outputs, mappings or sequences of different lengths and containers that contain
            themselves; ArgumentTypeError for outputs that are not tensors or containers of tensors, NamingError for
            mappings with different keys, IndexRangeError for a dim out of range, ShapeError if sizes differ in another
            dimension.
    Example:
        >>> parts = torch.nn.parallel.scatter({"x": torch.arange(4)}, [0, 1])
        >>> torch.nn.parallel.gather(parts, "cpu")
        {'x': tensor([0, 1, 2, 3])}
    """
    if not isinstance(outputs, Sequence) or isinstance(outputs, str):
        raise ArgumentTypeError(
            f"outputs must be a list, got {shown(outputs)}", hint="give one per device", operator="gather"
        )
    if not outputs:
        raise ArgumentError(f"got no outputs: {outputs}", hint="give one per device", operator="gather")
    with walking("gather", outputs):
        return _gathered(outputs, target_device, dim)


def _gathered(outputs: Sequence[Any], target_device: Any, dim: int) -> Any:
    first = outputs[0]
    if isinstance(first, TensorBase):
        checks.tensors("gather", "outputs", outputs)
        return Gather.apply(target_device, dim, *outputs)
    if first is None:
        return None
    if isinstance(first, Mapping):
        _check_lengths("dicts", outputs)
        other = next((index for index, output in enumerate(outputs) if output.keys() != first.keys()), None)
        if other is not None:
            raise NamingError(
                f"outputs[0] has the keys {list(first)}, outputs[{other}] has {list(outputs[other])}",
                hint="let the module return the same keys on every device",
                operator="gather",
            )
        make: Any = type(first)
        return make((key, _gathered([output[key] for output in outputs], target_device, dim)) for key in first)
    if not isinstance(first, (tuple, list)):
        raise ArgumentTypeError(
            f"outputs must be tensors, or tuples, lists and dicts of them, got {shown(first)}",
            hint="let the module return tensors",
            operator="gather",
        )
    _check_lengths("sequences", outputs)
    joined = [_gathered(parts, target_device, dim) for parts in zip(*outputs)]
    return type(first)(*joined) if hasattr(first, "_fields") else type(first)(joined)


def _check_lengths(containers: str, outputs: Sequence[Any]) -> None:
    for index, output in enumerate(outputs):
        if not isinstance(output, (Mapping, tuple, list)):
            raise ArgumentTypeError(
                f"outputs[0] is {shown(outputs[0])}, outputs[{index}] is {shown(output)}",
                hint="let the module return values of the same types on every device",
                operator="gather",
            )
    lengths = [len(output) for output in outputs]
    if len(set(lengths)) > 1:
        raise ArgumentError(
            f"All {containers} must have the same number of entries, they have {lengths}",
            hint="let the module return the same number of entries on every device",
            operator="gather",
        )


def replicate(network: Module, devices: Sequence[Any], detach: bool = False) -> list[Module]:
    """Copy a module to several devices; the first copy shares the parameters and buffers of the module.

    detach: if True, backward of the copies adds no gradients to the module's parameters.
    Host:   returns at once.
    Raises: DeviceMismatchError if a parameter or buffer is not on the first device, ArgumentTypeError if the network is
            not a Module, ArgumentError for no devices.
    Example:
        >>> net = torch.nn.Linear(3, 2).cuda()
        >>> first, second = torch.nn.parallel.replicate(net, [0, 1])
        >>> first.weight.device, second.weight.device
        (device(type='cuda', index=0), device(type='cuda', index=1))
    """
    if not isinstance(network, Module):
        raise ArgumentTypeError(
            f"network must be a Module, got {shown(network)}", hint="pass a torch.nn.Module", operator="replicate"
        )
    with naming("replicate"):
        gpus = [cuda_index(device) for device in checks.listed("replicate", "devices", "devices", devices)]
    if not gpus:
        raise ArgumentError(
            f"got no devices: {devices}",
            hint="pass at least one device; the first is the device of the module",
            operator="replicate",
        )
    plain = detach or not mode.enabled
    with naming("replicate"):
        params = _copies(list(network.parameters()), gpus, plain)
        buffers = _copies(list(network.buffers()), gpus, plain)
    members = _Members(network)
    return [members.replica(*copies) for copies in zip(params, buffers)]


def _copies(tensors: list[Any], gpus: Sequence[int], plain: bool) -> list[dict[int, Any]]:
    """Per device, the copy of each tensor, by the tensor's id."""
    wanted = [tensor for tensor in tensors if tensor.requires_grad and not plain]
    others = [tensor for tensor in tensors if not (tensor.requires_grad and not plain)]
    copies = [dict(zip(map(id, others), device_copies)) for device_copies in comm.broadcast_coalesced(others, gpus)]
    copies[0] = {key: tensor.detach() for key, tensor in copies[0].items()} if plain else copies[0]
    if wanted:
        flat = Broadcast.apply(gpus, *wanted)
        for index, copied in enumerate(copies):
            copied.update(zip(map(id, wanted), flat[index * len(wanted) :]))
    return copies


def _fill(
    replica: Module, own: dict[str, Any], copied: dict[int, Module], params: dict[int, Any], buffers: dict[int, Any]
) -> None:
    """Give a new replica its attributes.  own: a copy of the attributes of its module."""
    own["_is_replica"] = True
    children, tensors = own["_modules"], own["_buffers"]
    own["_modules"] = {name: copied.get(id(child)) for name, child in children.items()} if children else {}
    own["_buffers"] = {name: buffers.get(id(tensor)) for name, tensor in tensors.items()} if tensors else {}
    former: dict[str, Any] = {}
    parameters, own["_parameters"], own["_former_parameters"] = own["_parameters"], {}, former
    for name, param in parameters.items():  # attributes, not in _parameters: the copies are not leaves
        if param is None:
            own[name] = None
        else:
            own[name] = former[name] = params[id(param)]
    object.__setattr__(replica, "__dict__", own)


def parallel_apply(
    modules: Sequence[Any],
    inputs: Sequence[Any],
    kwargs_tup: Sequence[dict[str, Any]] | None = None,
    devices: Any = None,
) -> list[Any]:
    """Call each module with its input in a thread of its own; return the results in order.

    kwargs_tup: a dict of keyword arguments for each module, or None.
    A single module is called in the calling thread.  In each thread the current device is that of `devices`, or of the
    input if `devices` is None; gradient mode, autocast and current streams are the caller's.
    Host:   waits until all threads have ended; a thread waits for a GPU only where its module does.
    Raises: the first replica's exception, with its type, naming replica and device, after all threads have ended;
            ArgumentError if modules, inputs, kwargs and devices differ in number.
    Example:
        >>> modules = [torch.nn.ReLU(), torch.nn.Tanh()]
        >>> inputs = [torch.ones(1, device="cuda:0"), torch.zeros(1, device="cuda:1")]
        >>> torch.nn.parallel.parallel_apply(modules, inputs)
        [tensor([1.], device='cuda:0'), tensor([0.], device='cuda:1')]
    """
    modules = checks.listed("parallel_apply", "modules", "modules", modules)
    inputs = checks.listed("parallel_apply", "inputs", "inputs, one per module", inputs)
    for position, function in enumerate(modules):
        checks.function("parallel_apply", f"modules[{position}]", function)
    count = len(modules)
    named = [{}] * count if kwargs_tup is None else kwargs_tup
    if not len(inputs) == len(named) == count:
        raise ArgumentError(
            f"{count} modules, {len(inputs)} inputs and {len(named)} kwargs do not fit",
            hint="give one of each per module",
            operator="parallel_apply",
        )
    with naming("parallel_apply"):
        places = [None] * count if devices is None else [cuda_index(device) for device in devices]
    if len(places) != count:
        raise ArgumentError(
            f"{count} modules and {len(places)} devices do not fit",
            hint="give one device per module",
            operator="parallel_apply",
        )
    calls = [
        _Replica(index, module, input, kwargs, device)
        for index, (module, input, kwargs, device) in enumerate(zip(modules, inputs, named, places))
    ]
    if len(calls) == 1:
        calls[0].run()
    else:
        _run_in_threads(calls)
    return _results(calls)


def _results(calls: list[_Replica]) -> list[Any]:
    """Return what calls returned.  Raises the first one's exception."""
    for call in calls:
        if isinstance(call.result, WorkerException):
            raise call.result.again()
    return [call.result for call in calls]


def _run_in_threads(calls: list[_Replica]) -> None:
    threads = [threading.Thread(target=call.run, name=f"flambeau-replica-{call.index}") for call in calls]
    for worker in threads:
        worker.start()
    for worker in threads:
        worker.join()


def _run_here(call: _Replica, stream: Stream) -> None:
    """Run a call in this thread, with another current stream of its device."""
    now, before = thread.here(), thread.current_stream(call.device)
    chosen = now.chosen
    call.streams[call.device] = stream
    try:
        call.run()
    finally:
        thread.set_stream(before)
        now.chosen = chosen


class _Replica:
    """One call, with the state of the calling thread."""

    def __init__(self, index: int, module: Any, input: Any, kwargs: dict[str, Any], device: int | None) -> None:
        self.autocast = Kept()
        self.index = index
        self.module = module
        self.args = tuple(input) if isinstance(input, (list, tuple)) else (input,)
        self.kwargs = kwargs
        chosen = _first_device([self.args, kwargs]) if device is None else device
        self.device = thread.current_device() if chosen is None else chosen
        self.recording = mode.enabled
        self.streams = streams()
        self.result: Any = None

    def run(self) -> None:
        """Call the module; `result` is what it returns, or a WorkerException."""
        before = thread.current_device()
        for stream in self.streams.values():
            thread.set_stream(stream)
        thread.set_device(self.device)
        try:
            with GradMode(self.recording), self.autocast:
                self.result = self.module(*self.args, **self.kwargs)
        except BaseException as error:  # noqa: BLE001  (carried to the thread that asked)
            self.result = WorkerException(error, f"in replica {self.index} on device cuda:{self.device}")
        finally:
            thread.set_device(before)


def _first_device(value: Any) -> int | None:
    """The GPU of the first tensor in nested values; None without a tensor on a GPU."""
    if isinstance(value, TensorBase):
        return value.device_index if value.is_cuda else None
    entries = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
    for entry in entries:
        device = _first_device(entry)
        if device is not None:
            return device
    return None


__all__ = ["DataParallel", "data_parallel", "gather", "parallel_apply", "replicate", "scatter", "scatter_kwargs"]
__dir__ = listing(globals())
