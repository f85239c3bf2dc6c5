"""make_graphed_callables: callables as CUDA graphs with gradients, one forward and one backward graph each.

- Forward graphs are captured in order, backward graphs in reverse, all in one memory pool; calls must keep that order.
- A call copies its arguments into static inputs, replays, and returns views of static results, which the next call
  overwrites.  A replay increments their versions, so a backward pass that needs overwritten values raises an error.
- Parameters are used in place: their values may change, their memory may not.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any

from ..autograd import autocast
from ..autograd.function import Function
from ..autograd.gradients import grad as gradients
from ..autograd.mode import GradMode, is_grad_enabled
from ..core.tensor import TensorBase
from ..errors import ArgumentError, ArgumentTypeError, AutogradError, ModeError, shown
from ..runtime import control
from ..runtime.device import DeviceGuard
from ..runtime.graph import CUDAGraph, graph, graph_pool_handle
from ..runtime.stream import Stream, StreamGuard
from ..tensor import checks, like_factories
from .module import Module


def make_graphed_callables(
    callables: Any,
    sample_args: Any,
    num_warmup_iters: int = 3,
    allow_unused_input: bool = False,
    pool: Any = None,
    capture_error_mode: str = "global",
) -> Any:
    """Make functions or modules run as CUDA graphs, with gradients; return the results.  A module is changed in place.

    callables: a function or module, or a tuple of them in the order in which the program will call them.
    sample_args: a tuple of tensors, or a tuple of such tuples, one for each callable.
    Calls take tensors with the shapes, dtypes and devices of the samples.  An argument may require a gradient only if
    its sample does.  A module runs its graph while `training` is as it was at the capture, and its own forward
    otherwise.
    Each callable is captured on the device of its first sample, or else of its first parameter.
    allow_unused_input: inputs and parameters that results do not depend on get no gradient, instead of an error.
    num_warmup_iters: how often each is called before its capture.  pool, capture_error_mode: see `cuda.graph`.
    Host:   waits for the device several times; the callables themselves return at once.
    Raises: ArgumentTypeError for samples that are not tensors, ArgumentError for modules that cannot be captured,
            ModeError inside autocast that caches casts, AcceleratorError as `cuda.graph` does.
    Example:
        >>> layer = torch.nn.Linear(4, 2).cuda()
        >>> x = torch.ones(3, 4, device="cuda")
        >>> graphed = torch.cuda.make_graphed_callables(layer, (x,))
        >>> graphed(x).shape
        torch.Size([3, 2])
    """
    if autocast.is_autocast_enabled("cuda") and autocast.is_autocast_cache_enabled():
        raise ModeError(
            "make_graphed_callables does not support the autocast caching, whose casts would not be in the graph",
            hint='enter torch.autocast("cuda", cache_enabled=False)',
            operator="make_graphed_callables",
        )
    single = not isinstance(callables, tuple)
    calls = (callables,) if single else callables
    samples = (sample_args,) if single else sample_args
    _check_calls(calls, samples, num_warmup_iters)
    parts = [Part(call, tuple(args), allow_unused_input) for call, args in zip(calls, samples, strict=True)]
    _warm_up(parts, num_warmup_iters)
    shared = graph_pool_handle() if pool is None else pool
    for part in parts:
        part.capture_forward(shared, capture_error_mode)
    for part in reversed(parts):
        part.capture_backward(shared, capture_error_mode)
    installed = tuple(part.installed() for part in parts)
    return installed[0] if single else installed


def _check_calls(calls: tuple[Any, ...], samples: Any, iterations: Any) -> None:
    """Check the callables and their sample arguments.  Raises ArgumentTypeError or ArgumentError."""
    name = "make_graphed_callables"
    checks.count(name, "num_warmup_iters", iterations)
    if not isinstance(samples, (tuple, list)) or len(samples) != len(calls):
        raise ArgumentError(
            f"{len(calls)} callables and {shown(samples)} as their samples do not fit",
            hint="give one tuple of tensors for each callable",
            operator=name,
        )
    for index, (call, args) in enumerate(zip(calls, samples)):
        checks.function(name, f"callable {index}", call)
        if not isinstance(args, (tuple, list)):
            raise ArgumentTypeError(
                f"the samples of callable {index} must be a tuple of tensors, got {shown(args)}",
                hint="put a single one in a tuple: (x,)",
                operator=name,
            )


def _warm_up(parts: Sequence[Part], iterations: int) -> None:
    """Run everything on a side stream, to load kernels and make plans before the capture."""
    sides = {index: Stream(index) for index in dict.fromkeys(part.device for part in parts)}
    try:
        for index in sides:
            control.synchronize(index)
        for part in parts:
            with StreamGuard(sides[part.device]):
                for _ in range(iterations):
                    part.run_once()
    finally:
        for index in sides:
            control.synchronize(index)


class Part:
    """One callable, its static tensors and its graphs.

    surface: the sample arguments and the parameters;  results: the static results, in the order of the callable's own.
    device: the index of the one that is current during the capture.
    """

    def __init__(self, call: Callable[..., Any], args: tuple[Any, ...], allow_unused: bool) -> None:
        for index, tensor in enumerate(args):
            if not isinstance(tensor, TensorBase):
                raise ArgumentTypeError(
                    f"sample argument {index} must be a Tensor, not {type(tensor).__name__}: {shown(tensor)}",
                    hint="bind anything else first, as with functools.partial",
                    operator="make_graphed_callables",
                )
        self.call = call
        self.name = type(call).__name__ if isinstance(call, Module) else getattr(call, "__name__", "graphed")
        self.args = args
        self.allow_unused = allow_unused
        self.parameters = tuple(call.parameters()) if isinstance(call, Module) else ()
        if isinstance(call, Module):
            _check_module(call)
        self.surface = (*args, *self.parameters)
        names = [name for name, _ in call.named_parameters()] if isinstance(call, Module) else []
        self.surface_names = [f"sample argument {at}" for at in range(len(args))] + [f"parameter {at}" for at in names]
        for what, tensor in zip(self.surface_names, self.surface):
            if not tensor.is_cuda:
                raise ArgumentError(
                    f"{what} is {tensor.describe()}, and only work of a GPU can be captured",
                    hint="move it to a GPU first: .cuda()",
                    operator="make_graphed_callables",
                )
        self.device = self.surface[0].device_index if self.surface else control.current_device()
        self.forward_graph, self.backward_graph = CUDAGraph(), CUDAGraph()
        self.results: tuple[Any, ...] = ()
        self.result_grads: list[Any] = []
        self.surface_grads: list[Any] = []
        self.structure: Any = None

    def run_once(self) -> None:
        """Run forward and backward once, to fill caches."""
        results = _flat(self.call(*self.args))
        wanted = [result for result in results if result.requires_grad]
        if wanted:
            self._gradients(wanted, [like_factories.zeros_like(result) for result in wanted])

    def _gradients(self, results: Sequence[Any], grads: Sequence[Any]) -> list[Any]:
        """Return one gradient per surface tensor; None if not required, or if unused (allow_unused_input)."""
        wanted = [tensor for tensor in self.surface if tensor.requires_grad]
        remaining = iter(gradients(results, wanted, grads, allow_unused=True))
        surface_grads = [next(remaining) if tensor.requires_grad else None for tensor in self.surface]
        for what, tensor, gradient in zip(self.surface_names, self.surface, surface_grads):
            if gradient is None and tensor.requires_grad and not self.allow_unused:
                raise AutogradError(
                    f"{what}, {tensor.describe()}, appears to not have been used in the graph of {self.name}",
                    hint="pass allow_unused_input=True to leave its gradient out",
                    operator="make_graphed_callables",
                )
        return surface_grads

    def capture_forward(self, pool: Any, mode: str) -> None:
        with DeviceGuard(self.device), graph(self.forward_graph, pool, capture_error_mode=mode):
            self.structure = self.call(*self.args)
        self.results = _flat(self.structure)

    def capture_backward(self, pool: Any, mode: str) -> None:
        """Capture the gradients, if there are any, and drop the forward pass."""
        wanted = [result for result in self.results if result.requires_grad]
        if wanted and any(tensor.requires_grad for tensor in self.surface):
            self.result_grads = [
                like_factories.empty_like(result) if result.requires_grad else None for result in self.results
            ]
            with DeviceGuard(self.device), graph(self.backward_graph, pool, capture_error_mode=mode):
                self.surface_grads = self._gradients(wanted, [grad for grad in self.result_grads if grad is not None])
        self.results = tuple(result.detach() for result in self.results)
        self.structure = _shape_of(self.structure)

    def installed(self) -> Any:
        """Return the replacement of the callable, which runs its graphs."""
        module: Any = self.call
        if not isinstance(module, Module):
            return self.run
        self.call = _captured_already  # avoids a reference cycle of part and module
        reference, own, training = weakref.ref(module), type(module).forward, module.training

        def forward(*args: Any, **named: Any) -> Any:
            owner = reference()
            assert owner is not None
            return self.run(*args, **named) if owner.training == training else own(owner, *args, **named)

        object.__setattr__(module, "forward", forward)
        return module

    def run(self, *args: Any, **named: Any) -> Any:
        """Copy the arguments in and replay.  Raises ArgumentError if they differ from the samples."""
        if named:
            raise ArgumentTypeError(
                f"the argument {next(iter(named))} was given by name",
                hint="give all arguments by position, in the order of the samples",
                operator=self.name,
            )
        if len(args) != len(self.args):
            raise ArgumentError(
                f"got {len(args)} arguments, and the graph was captured with {len(self.args)}",
                hint=f"give {len(self.args)}: a graph's arguments are fixed",
                operator=self.name,
            )
        for index, (arg, sample) in enumerate(zip(args, self.args)):
            if _signature(arg) != _signature(sample) or (
                arg.requires_grad and not sample.requires_grad and is_grad_enabled()
            ):
                raise ArgumentError(
                    f"argument {index} is {_described(arg)}, and the graph was captured with {_described(sample)}",
                    hint="a graph's shapes and types are fixed, and so are the samples that get gradients",
                    operator=self.name,
                )
        results = Graphed.apply(self, *args, *self.parameters)
        return _rebuilt(self.structure, iter(results))

    def forward(self, args: Sequence[Any]) -> tuple[Any, ...]:
        """Copy the arguments to the graph's inputs and replay."""
        _refresh(self.args, args)
        self.forward_graph.replay()
        for result in self.results:
            result._counter.version += 1
        return tuple(result.detach() for result in self.results)

    def backward(self, grads: Sequence[Any]) -> list[Any]:
        if not self.surface_grads:
            raise AutogradError(
                "the graph was captured without gradients",
                hint="capture it with samples or parameters that require gradients",
                operator=self.name,
            )
        _refresh(self.result_grads, grads)
        self.backward_graph.replay()
        return [None if grad is None else grad.detach() for grad in self.surface_grads]


def _captured_already(*args: Any) -> Any:
    raise AutogradError(
        "the module was captured already", hint="call the module itself", operator="make_graphed_callables"
    )


class Graphed(Function):
    """The node of one graphed call."""

    @staticmethod
    def forward(ctx: Any, part: Part, *surface: Any) -> tuple[Any, ...]:
        ctx.part = part
        results = part.forward(surface[: len(part.args)])
        if part.surface_grads:
            ctx.mark_non_differentiable(*(result for result, grad in zip(results, part.result_grads) if grad is None))
        return results

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> tuple[Any, ...]:
        with GradMode(False):
            return None, *ctx.part.backward(grads)


def _refresh(static: Sequence[Any], given: Sequence[Any]) -> None:
    """Copy tensors to the graph's inputs, unless they have the same address and strides."""
    with GradMode(False):
        for target, source in zip(static, given):
            if target is None or source is None:
                continue
            if target.address() != source.address():
                target.copy_(source)
            elif target.stride() != source.stride():
                target.copy_(source.clone())


def _check_module(module: Any) -> None:
    for submodule in module.modules():
        hooks = (
            submodule._forward_hooks,
            submodule._forward_pre_hooks,
            submodule._backward_hooks,
            submodule._backward_pre_hooks,
        )
        if any(hooks):
            raise ArgumentError(
                f"{type(submodule).__name__} has hooks: {sum(map(len, hooks))}",
                hint="register hooks after make_graphed_callables()",
                operator="make_graphed_callables",
            )
    for name, buffer in module.named_buffers():
        if buffer.requires_grad:
            raise ArgumentError(
                f"buffer {name}, {buffer.describe()}, requires a gradient",
                hint="call detach_() on the buffer",
                operator="make_graphed_callables",
            )


def _signature(tensor: Any) -> tuple[Any, ...]:
    if not isinstance(tensor, TensorBase):
        return (type(tensor),)
    return tensor.shape, tensor.dtype, tensor.device


def _described(value: Any) -> str:
    if not isinstance(value, TensorBase):
        return type(value).__name__
    return f"{value.describe()}, requires_grad={value.requires_grad}"


def _flat(result: Any) -> tuple[Any, ...]:
    """Return the tensors of a result: one, or tuples, lists and dictionaries of them."""
    if isinstance(result, TensorBase):
        return (result,)
    if isinstance(result, dict):
        return tuple(leaf for entry in result.values() for leaf in _flat(entry))
    if isinstance(result, (tuple, list)):
        return tuple(leaf for entry in result for leaf in _flat(entry))
    raise ArgumentTypeError(
        f"a result is {shown(result)}, and only tensors can be",
        hint="return tensors, or tuples, lists and dicts of them",
        operator="make_graphed_callables",
    )


def _shape_of(result: Any) -> Any:
    """Return a result with None in the place of its tensors."""
    if isinstance(result, dict):
        return {key: _shape_of(entry) for key, entry in result.items()}
    if isinstance(result, (tuple, list)):
        return _like(result, [_shape_of(entry) for entry in result])
    return None


def _rebuilt(structure: Any, leaves: Any) -> Any:
    if isinstance(structure, dict):
        return {key: _rebuilt(entry, leaves) for key, entry in structure.items()}
    if isinstance(structure, (tuple, list)):
        return _like(structure, [_rebuilt(entry, leaves) for entry in structure])
    return next(leaves)


def _like(sequence: Any, values: list[Any]) -> Any:
    """Return the values in a sequence of the same type."""
    sequence_type = type(sequence)
    return sequence_type(*values) if hasattr(sequence, "_fields") else sequence_type(values)
