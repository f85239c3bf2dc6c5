"""The only place where operators meet streams: check devices, lower the call, allocate, enqueue, record for autograd."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from . import core, host
from . import strides as st
from .autograd import record
from .autograd.mode import mode
from .core import Result, TensorCore
from .dtypes import dtype
from .errors import ArgumentTypeError, AutogradError, DeviceMismatchError, DtypeError, ShapeError
from .kernel import Access, Grid, Kernel, Pointer, Pointers, Strided
from .ops.operator import COMPOSITE, LOWERED, REGISTRY, VIEW, Operator, Runner
from .problem import Problem
from .runtime import device as devices
from .runtime import generator, state, storage
from .runtime.stream import Stream


class Call:
    """One call of an operator on one device: what its lowering may ask for (see ops/operator.py)."""

    __slots__ = ("accelerator", "device", "given", "name", "plans", "stream")

    def __init__(self, name: str, device: int, given: Any) -> None:
        self.name = name
        self.device = device
        self.given = given
        if device >= 0:
            self.accelerator: Any = state.machine().devices[device]
            self.stream: Stream | None = state.current_stream(device)
            self.plans = self.accelerator.plans
        else:
            self.accelerator = self.stream = None
            self.plans = state.machine().cpu_plans

    def output(self, shape: Sequence[int], dtype: dtype) -> Any:
        """A new contiguous result, or the tensor given as out= if it has this shape and type."""
        size = shape if type(shape) is st.Size else st.Size(shape)
        given = self.given
        if given is not None and given.shape == size and given.dtype is dtype and given.is_contiguous():
            return given
        if self.stream is None:
            return core.empty(size, dtype, -1, name=self.name)
        nbytes = size.numel() * dtype.itemsize
        memory = storage.on_device(self.accelerator.machine, self.device, nbytes, self.stream.handle)
        return Result.type(memory, dtype, size, st.contiguous(size))

    def scratch(self, shape: Sequence[int], dtype: dtype) -> Any:
        """Contiguous memory that is free again once this call's launches are done."""
        return core.empty(shape, dtype, self.device, name=self.name)

    def contiguous(self, operand: Any, dtype: dtype | None = None) -> Any:
        """The operand itself if it is contiguous and of that dtype, else a copy that is."""
        wanted = operand.dtype if dtype is None else dtype
        if operand.dtype is wanted and operand.is_contiguous():
            return operand
        target = self.scratch(operand.shape, wanted)
        self.assign(target, operand)
        return target

    def assign(self, target: Any, source: Any) -> None:
        """Write `source`, converted and broadcast, into `target` of the same device."""
        shape = target.shape
        view = core.alias(source, shape, st.expand(source.shape, source.strides, shape), source.offset)
        REGISTRY["convert"].lower(Call(self.name, self.device, target), view)  # type: ignore[attr-defined]

    def launch(self, kernel: Kernel, grid: Grid, *values: Any) -> None:
        """Queue a kernel; on the CPU, run its reference."""
        packed = kernel.pack([_packable(param, value) for param, value in zip(kernel.params, values)])
        if self.stream is None:
            _run_on_host(kernel.bind(packed), kernel.reference)
        else:
            self.stream.launch(self.accelerator.kernel(kernel), grid, packed)

    def library(self, problem: Problem, *operands: Any) -> None:
        """Queue a library call, with a workspace from the caching allocator."""
        addresses = tuple(0 if each is None else each.address() for each in operands)
        if self.stream is None:
            _run_on_host(problem.accesses(addresses), problem.reference)
            return
        plan, nbytes = self.accelerator.library_plan(problem)
        workspace = storage.on_device(self.accelerator.machine, self.device, nbytes, self.stream.handle)
        self.stream.library_run(plan, addresses, workspace.address())

    def random(self, count: int, source: Any = None) -> tuple[int, int]:
        """Reserve `count` Philox counters of a generator (None: the device's own): (seed, first counter)."""
        chosen = generator.default_generator(self.device) if source is None else source
        if chosen.device_index != self.device:
            raise DeviceMismatchError(f"{self.name}: expected a generator of {self._where()}, got one of {chosen.device}")
        return chosen.reserve(count)

    def read(self, operand: Any) -> Any:
        """The operand's values as a NumPy array.  Host: waits."""
        return read(operand)

    def _where(self) -> str:
        return "cpu" if self.device < 0 else f"cuda:{self.device}"


def _packable(param: Any, value: Any) -> Any:
    kind = type(param)
    if kind is Pointer:
        return 0 if value is None else value.address()
    if kind is Pointers:
        return [(each.address(), each.numel()) for each in value]
    return value


def _run_on_host(bound: Sequence[Any], reference: Any) -> None:
    with host.np.errstate(all="ignore"):
        reference(*[_host_array(each) for each in bound])


def _host_array(value: Any) -> Any:
    if isinstance(value, list):
        return [_host_array(each) for each in value]
    if isinstance(value, Access):
        return host.array_at(value.address, value.dtype, value.shape, value.strides)
    return value


def read(tensor: TensorCore) -> Any:
    """A tensor's values as a NumPy array of its own memory or a copy.  Host: waits for the tensor's current stream."""
    if tensor.storage.device < 0:
        return tensor.array()
    from .transfer import to_device

    return to_device(tensor, -1, False).array()


def call(operator: Operator, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call an operator on tensors and numbers: what `Operator.__call__` does.

    out=: a tensor of the result's shape to write into.
    Raises: DeviceMismatchError, and what the operator says; nothing has changed then.
    """
    given = kwargs.pop("out", None) if kwargs else None
    bound = list(args) if not kwargs and len(args) == len(operator.parameters) else operator.bind(args, kwargs)
    kind = operator.kind
    if kind is COMPOSITE:
        result = operator.body(*bound)
        return result if given is None else write_out(operator, bound, given, result)
    device = common_device(operator, bound)
    if kind is VIEW:
        return _view(operator, bound)
    if given is not None:
        return _call_out(operator, bound, given, device)
    if operator.mutates:
        return _call_mutating(operator, bound, device)
    current = Call(operator.name, device, None)
    result = operator.lower(current, *bound) if kind is not LOWERED else operator.body(current, *bound)  # type: ignore[attr-defined]
    if record.wants_grad(operator, bound):
        record.record(operator, bound, result if isinstance(result, tuple) else (result,))
    return result


def _call_mutating(operator: Operator, bound: list[Any], device: int) -> Any:
    """Lower a call that writes operands, and is in no graph.  Raises AutogradError where gradients would be lost."""
    written = [each for name in operator.mutates for each in bound[operator.index_of[name]]]
    if mode.enabled:
        for each in written:
            record.check_inplace(operator.name, each)
        if record.wants_grad(operator, bound):
            raise AutogradError(f"{operator.name}: has no derivative", hint="call it under torch.no_grad()")
    result = operator.body(Call(operator.name, device, None), *bound)
    for each in written:
        each.storage.version += 1
    return result


def _view(operator: Operator, bound: list[Any]) -> Any:
    source = bound[0]
    shape, strides, offset = operator.body(*bound)
    result = core.alias(source, shape, strides, source.offset + offset)
    record.link_view(operator, bound, result)
    return result


def _call_out(operator: Operator, bound: list[Any], given: Any, device: int) -> Any:
    if record.wants_grad(operator, bound) or given.requires_grad and mode.enabled:
        raise AutogradError(f"{operator.name}: functions with out=... arguments don't support automatic differentiation")
    _run_into(operator, bound, given, device)
    given.storage.version += 1
    return given


def call_inplace(operator: Operator, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call an operator and write the result into its first operand, which is returned: `x.add_(y)`."""
    bound = operator.bind(args, kwargs)
    target = bound[0]
    if operator.kind is COMPOSITE:
        from .transfer import copy_

        return copy_(target, operator.body(*bound))
    name = f"{operator.name}_"
    needs_node = record.wants_grad(operator, bound)
    if needs_node or target.base is not None:
        record.check_inplace(name, target)
    device = common_device(operator, bound)
    if not target.dtype.is_floating_point and needs_node:
        needs_node = False
    node = record.node_for_inplace(operator, bound, target) if needs_node and operator.differentiable else None
    _run_into(operator, bound, target, device)
    record.record_inplace(operator, bound, target, node)
    return target


def _run_into(operator: Operator, bound: list[Any], target: Any, device: int) -> None:
    """Lower a call whose result goes to `target`."""
    if target.storage.device != device:
        raise DeviceMismatchError(
            f"{operator.name}: the tensor to write is {target.describe()}, the operands are on {_device_name(device)}"
        )
    _check_overlap(operator, bound, target)
    current = Call(operator.name, device, target)
    result = operator.lower(current, *bound) if operator.kind is not LOWERED else operator.body(current, *bound)  # type: ignore[attr-defined]
    if result is not target:
        check_fits(operator.name, result, target)
        current.assign(target, result)


def write_out(operator: Operator, bound: list[Any], given: Any, result: Any) -> Any:
    """Write a composite's result into out=."""
    check_fits(operator.name, result, given)
    Call(operator.name, given.storage.device, None).assign(given, result)
    given.storage.version += 1
    return given


def check_fits(name: str, result: Any, target: Any) -> None:
    """Raise ShapeError or DtypeError if `target` cannot take `result`."""
    if result.shape != target.shape:
        raise ShapeError(f"{name}: the result has shape {list(result.shape)}, the tensor to write {list(target.shape)}")
    if result.dtype.category > target.dtype.category:
        raise DtypeError(f"{name}: result type {result.dtype.name} can't be cast to the desired output type {target.dtype.name}")


def _check_overlap(operator: Operator, bound: Sequence[Any], target: Any) -> None:
    if st.overlaps_itself(target.shape, target.strides):
        raise ShapeError(
            f"{operator.name}: more than one element of the written-to tensor {target.describe()} refers to a single memory "
            f"location (strides {list(target.strides)})",
            hint="clone() the tensor before writing it",
        )
    for index in operator.tensor_indexes:
        each = bound[index]
        if isinstance(each, TensorCore) and each is not target and core.overlap(each, target) == "partial":
            raise ShapeError(
                f"{operator.name}: the written-to tensor {target.describe()} partly overlaps an input, {each.describe()}",
                hint="clone() the input before writing",
            )


def common_device(operator: Operator, bound: list[Any]) -> int:
    """The device of a call's tensors.  Zero-dimensional CPU tensors go along as numbers where an operand may be one.

    Raises DeviceMismatchError, naming every operand.
    """
    found: int | None = None
    mixed = False
    for index in operator.tensor_indexes:
        value = bound[index]
        if isinstance(value, TensorCore):
            where = value.storage.device
            mixed = mixed or (found is not None and where != found)
            found = where if found is None else found
        elif type(value) in (list, tuple):
            for each in value:
                mixed = mixed or (found is not None and each.storage.device != found)
                found = each.storage.device if found is None else found
        elif value is not None and type(value) not in (int, float, bool):
            bound[index] = _plain_number(operator, index, value)
    if mixed:
        return _settle_mixed(operator, bound)
    return -1 if found is None else found


def _plain_number(operator: Operator, index: int, value: Any) -> Any:
    """A NumPy scalar, or an instance of a number's subclass, as the Python number.  Raises ArgumentTypeError for all else."""
    if isinstance(value, (int, float)):
        return float(value) if isinstance(value, float) else int(value)
    if host.is_numpy_loaded() and isinstance(value, host.np.generic):
        return value.item()
    parameter = operator.parameters[index]
    raise ArgumentTypeError(
        f"{operator.name}(): argument '{parameter.name}' must be a Tensor{' or a number' if parameter.annotation == 'Value' else ''},"
        f" not {type(value).__name__}"
    )


def _settle_mixed(operator: Operator, bound: Any) -> int:
    """Replace zero-dimensional CPU operands of a pointwise call by their values, if that leaves one device."""
    tensors = [each for each in _named_tensors(operator, bound)]
    on_gpu = {each.storage.device for _, each in tensors if each.storage.device >= 0}
    loose = [name for name, each in tensors if each.storage.device < 0]
    scalars = [
        index
        for index in operator.tensor_indexes
        if operator.parameters[index].annotation == "Value"
        and isinstance(bound[index], TensorCore)
        and bound[index].storage.device < 0
        and not bound[index].shape
    ]
    if len(on_gpu) == 1 and len(scalars) == len(loose):
        (device,) = on_gpu
        from .transfer import to_device

        for index in scalars:
            bound[index] = to_device(bound[index], device, False)
        return device
    raise _mismatch(operator, tensors)


def _named_tensors(operator: Operator, bound: Sequence[Any]) -> list[tuple[str, TensorCore]]:
    named: list[tuple[str, TensorCore]] = []
    for index in operator.tensor_indexes:
        value, name = bound[index], operator.parameters[index].name
        if isinstance(value, TensorCore):
            named.append((name, value))
        elif isinstance(value, (list, tuple)):
            named += [(f"{name}[{place}]", each) for place, each in enumerate(value)]
    return named


def _mismatch(operator: Operator, tensors: Sequence[tuple[str, TensorCore]]) -> DeviceMismatchError:
    listed = ", ".join(f"{name} is {each.describe()}" for name, each in tensors)
    target = next((each.device for _, each in tensors if each.is_cuda), devices.CPU)
    mover = next(name for name, each in tensors if each.device != target)
    return DeviceMismatchError(
        f"{operator.name}: Expected all tensors to be on the same device: {listed}",
        hint=f'move one of them, for example {mover}.to("{target}")',
    )


def _device_name(index: int) -> str:
    return "cpu" if index < 0 else f"cuda:{index}"


Runner.run = staticmethod(call)
