"""Activation checkpointing: backward recomputes values instead of keeping them.

Not reentrant: a hook replaces every tensor that the function saves by a slot.  When backward first needs one of them,
the function runs again, on the same inputs and random numbers, under the same autocast, and its saved tensors fill the
slots.
Reentrant: a Function that runs forward without recording.  In its backward, it runs again with recording, and its
graph is differentiated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from typing import Any, NamedTuple

from .. import callers
from ..core.record import Saved, save
from ..core.tensor import TensorBase
from ..errors import ArgumentError, ArgumentTypeError, AutogradError, CheckpointError, shown
from ..runtime.device import CPU_INDEX
from ..runtime.generator import default_generator, set_states
from . import gradients, graph
from .autocast import Kept
from .function import Function
from .mode import GradMode, mode

DETERMINISM_CHECKS = ("default", "none")
Contexts = Callable[[], tuple[AbstractContextManager[Any], AbstractContextManager[Any]]]


class _Choices:
    """Process-wide settings.  early_stop: whether recomputation stops after the last needed value; None: as passed."""

    early_stop: bool | None = None
    debug: bool | None = None


@contextmanager
def set_checkpoint_early_stop(enable: bool) -> Iterator[None]:
    """Return a context that sets `early_stop` for every `checkpoint` inside it.

    Example:
        >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
        >>> with torch.utils.checkpoint.set_checkpoint_early_stop(False):
        ...     y = torch.utils.checkpoint.checkpoint(torch.exp, x * 0, use_reentrant=False)
        >>> y.sum().backward()
        >>> x.grad
        tensor([0., 0.])
    """
    former, _Choices.early_stop = _Choices.early_stop, enable
    try:
        yield
    finally:
        _Choices.early_stop = former


@contextmanager
def set_checkpoint_debug_enabled(enabled: bool | None) -> Iterator[None]:
    """Return a context that sets `debug` for every `checkpoint` inside it; None uses each call's own setting.

    Example:
        >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
        >>> with torch.utils.checkpoint.set_checkpoint_debug_enabled(True):
        ...     y = torch.utils.checkpoint.checkpoint(torch.square, x, use_reentrant=False)
        >>> y.sum().backward()
        >>> x.grad
        tensor([2., 4.])
    """
    former, _Choices.debug = _Choices.debug, enabled
    try:
        yield
    finally:
        _Choices.debug = former


def noop_context_fn() -> tuple[AbstractContextManager[Any], AbstractContextManager[Any]]:
    """Return two contexts that do nothing: the default of `checkpoint`'s context_fn.

    Example:
        >>> forward, recomputation = torch.utils.checkpoint.noop_context_fn()
        >>> with forward:
        ...     print(torch.ones(1))
        tensor([1.])
    """
    return nullcontext(), nullcontext()


def checkpoint(
    function: Callable[..., Any],
    *args: Any,
    use_reentrant: bool | None = None,
    context_fn: Contexts = noop_context_fn,
    determinism_check: str = "default",
    debug: bool = False,
    early_stop: bool = True,
    **kwargs: Any,
) -> Any:
    """Call function(*args, **kwargs) without keeping the values that backward needs: backward recomputes them.

    use_reentrant: pass False.  True selects an older implementation, which needs an argument that requires gradients,
    takes no keywords, and allows neither `autograd.grad` nor `backward(inputs=)`.  None warns and means True.
    context_fn: a function that returns two context managers: for the call and for the recomputation.
    determinism_check: "default" compares shapes, types and devices of recomputed values; "none" does not.
    debug: accepted; errors always list the values that differ.
    early_stop: whether recomputation stops after the last value that backward needs.
    preserve_rng_state (a keyword): whether random numbers are the same in both runs; True by default.
    Host:   returns at once.
    Raises: ArgumentError for options that conflict; ArgumentTypeError unless context_fn returns two context managers;
            CheckpointError, in backward, if the runs differ.
    Example:
        >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
        >>> y = torch.utils.checkpoint.checkpoint(lambda x: (x * x).exp(), x * 0, use_reentrant=False)
        >>> y
        tensor([1., 1.], grad_fn=<ExpBackward0>)
        >>> y.sum().backward()
        >>> x.grad
        tensor([0., 0.])
    """
    preserve = kwargs.pop("preserve_rng_state", True)
    if use_reentrant is None:
        use_reentrant = _default_way("checkpoint")
    if not use_reentrant:
        return _call_framed(function, args, kwargs, preserve, context_fn, determinism_check, early_stop)
    _check_no_keywords("checkpoint", kwargs)
    if context_fn is not noop_context_fn or debug is not False:
        raise ArgumentError(
            "Passing `context_fn` or `debug` is only supported when use_reentrant=False, got "
            f"use_reentrant={use_reentrant}",
            hint="pass use_reentrant=False",
            operator="checkpoint",
        )
    if not any(isinstance(arg, TensorBase) and arg.requires_grad for arg in args):
        callers.warn("None of the inputs have requires_grad=True. Gradients will be None")
    return CheckpointFunction.apply(function, preserve, *args)


def checkpoint_sequential(
    functions: Any, segments: int, input: Any, use_reentrant: bool | None = None, **kwargs: Any
) -> Any:
    """Call functions one after another, in `segments` parts of which all but the last are checkpointed.

    functions: a Sequential, or a list of functions of one argument.
    use_reentrant, preserve_rng_state: as for `checkpoint`.
    Raises: ArgumentError if there are more segments than functions.
    Example:
        >>> layers = [torch.square, torch.square, torch.square]
        >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
        >>> y = torch.utils.checkpoint.checkpoint_sequential(layers, 2, x, use_reentrant=False)
        >>> y.sum().backward()
        >>> x.grad
        tensor([   8., 1024.])
    """
    if use_reentrant is None:
        use_reentrant = _default_way("checkpoint_sequential")
    preserve = kwargs.pop("preserve_rng_state", True)
    _check_no_keywords("checkpoint_sequential", kwargs)
    children = getattr(functions, "children", None)
    steps = list(functions) if children is None else list(children())
    if not 1 <= segments <= len(steps):
        raise ArgumentError(
            f"segments must be 1 to {len(steps)}, the number of functions, got {segments}",
            hint="use fewer segments",
            operator="checkpoint_sequential",
        )
    size = len(steps) // segments
    for start in range(0, size * (segments - 1), size):
        part = _chain(steps[start : start + size])
        input = checkpoint(part, input, use_reentrant=use_reentrant, preserve_rng_state=preserve)
    return _chain(steps[size * (segments - 1) :])(input)


def _chain(steps: Sequence[Callable[[Any], Any]]) -> Callable[[Any], Any]:
    def run(value: Any) -> Any:
        for step in steps:
            value = step(value)
        return value

    return run


def _default_way(name: str) -> bool:
    callers.warn(
        f"{name}: the use_reentrant parameter should be passed explicitly. use_reentrant=False is recommended; without "
        f"it, use_reentrant=True is meant."
    )
    return True


def _check_no_keywords(name: str, kwargs: dict[str, Any]) -> None:
    if kwargs:
        raise ArgumentError(
            f"Unexpected keyword arguments: {', '.join(kwargs)}",
            hint="pass arguments by position, or use_reentrant=False, which accepts keywords",
            operator=name,
        )


# random numbers


class _Random:
    """The random state of the CPU and of the GPUs of some tensors."""

    def __init__(self, tensors: Sequence[Any]) -> None:
        devices = {value.device_index for value in tensors if isinstance(value, TensorBase)}
        self.generators = [default_generator(index) for index in sorted(devices | {CPU_INDEX})]
        self.states = [generator.state_bytes() for generator in self.generators]

    @contextmanager
    def again(self) -> Iterator[None]:
        """Return a context that restores the random state saved in `__init__`; the current state continues after it."""
        former = [generator.state_bytes() for generator in self.generators]
        try:
            set_states("set_state", self.generators, self.states)
            yield
        finally:
            set_states("set_state", self.generators, former)


def get_device_states(*args: Any) -> tuple[list[int], list[Any]]:
    """Return (GPUs of the tensors among the arguments, states of these GPUs' generators); containers are searched too.

    Example:
        >>> torch.utils.checkpoint.get_device_states(torch.ones(2), 3)
        ([], [])
    """
    devices = sorted({tensor.device_index for tensor in _tensors(args) if tensor.is_cuda})
    return devices, [default_generator(index).get_state() for index in devices]


def _tensors(values: Iterable[Any]) -> Iterator[TensorBase]:
    for value in values:
        if isinstance(value, TensorBase):
            yield value
        elif isinstance(value, (list, tuple, dict)):
            yield from _tensors(value.values() if isinstance(value, dict) else value)


def set_device_states(devices: Sequence[int], states: Sequence[Any], *, device_type: str | None = None) -> None:
    """Restore the states of generators that `get_device_states` returned.

    device_type: ignored, since there are only CUDA devices.
    Raises: ArgumentError unless there is one state for each device, ArgumentTypeError if a state is not a tensor of
            uint8.
    Example:
        >>> x = torch.ones(2, device="cuda")
        >>> saved = torch.utils.checkpoint.get_device_states(x)
        >>> first = torch.rand_like(x)
        >>> torch.utils.checkpoint.set_device_states(*saved)
        >>> torch.equal(first, torch.rand_like(x))
        True
    """
    if len(devices) != len(states):
        raise ArgumentError(
            f"there are {len(devices)} devices and {len(states)} states",
            hint="pass both results of get_device_states",
            operator="set_device_states",
        )
    for index, state in zip(devices, states):
        default_generator(index).set_state(state)


def detach_variable(inputs: Any) -> tuple[Any, ...]:
    """Return a tuple of values, with each tensor detached; those that required a gradient still do.

    Raises: ArgumentTypeError for anything but a tuple.
    Example:
        >>> x = torch.ones(2, requires_grad=True)
        >>> y, three = torch.utils.checkpoint.detach_variable((2 * x, 3))
        >>> y.is_leaf, y.requires_grad, three
        (True, True, 3)
    """
    if not isinstance(inputs, tuple):
        raise ArgumentTypeError(
            f"expected a tuple, got {shown(inputs)}", hint="pass a tuple of values", operator="detach_variable"
        )
    return tuple(
        value.detach().requires_grad_(value.requires_grad) if isinstance(value, TensorBase) else value
        for value in inputs
    )


def check_backward_validity(inputs: Iterable[Any]) -> None:
    """Warn if none of the tensors in an iterable requires a gradient.

    Example:
        >>> torch.utils.checkpoint.check_backward_validity([torch.ones(2, requires_grad=True)])
    """
    if not any(isinstance(value, TensorBase) and value.requires_grad for value in inputs):
        callers.warn("None of the inputs have requires_grad=True. Gradients will be None")


# not reentrant


class _Fact(NamedTuple):
    """Properties of a saved tensor that recomputation is checked against."""

    shape: tuple[int, ...]
    dtype: Any
    device: Any


class _Place:
    """Placeholder for a tensor that is not kept.  index: its index among the tensors that the call saved."""

    __slots__ = ("frame", "index")

    def __init__(self, frame: _Frame, index: int) -> None:
        self.frame = frame
        self.index = index


class _Ended(Exception):
    """Stops a recomputation."""


class _Frame:
    """One call of a checkpointed function: how to run it again, and the properties of the tensors that it saved.

    args, kwargs: the call's arguments, with `_Input`s in place of tensors.
    """

    def __init__(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.function = function
        self.args = [_Input(arg) if isinstance(arg, TensorBase) else arg for arg in args]
        self.kwargs = {name: _Input(arg) if isinstance(arg, TensorBase) else arg for name, arg in kwargs.items()}
        self.facts: list[_Fact] = []
        self.random: _Random | None = None
        self.autocast = Kept()
        self.context: AbstractContextManager[Any] = nullcontext()
        self.compares = True
        self.ends_early = True

    def pack(self, tensor: Any) -> _Place:
        self.facts.append(_fact_of(tensor))
        return _Place(self, len(self.facts) - 1)

    def unpack(self, slot: _Place) -> Any:
        """Return a tensor that was not kept.  Within a backward pass, one recomputation supplies each tensor once."""
        values = gradients.notes(self)
        if values is None:
            values = {}
        if slot.index not in values:
            values.update(self._recomputed())
        return values.pop(slot.index)

    def _recomputed(self) -> dict[int, Any]:
        """Run the function again; return the tensors that it saves, by index.  Raises: CheckpointError."""
        saved: dict[int, Any] = {}

        def pack(tensor: Any) -> Any:
            saved[len(saved)] = tensor
            if self.ends_early and len(saved) == len(self.facts):
                raise _Ended
            return tensor

        args = [_opened(value) for value in self.args]
        kwargs = {name: _opened(value) for name, value in self.kwargs.items()}
        again = nullcontext() if self.random is None else self.random.again()
        hooks = graph.saved_tensors_hooks(pack, lambda tensor: tensor)
        with again, self.autocast, self.context, GradMode(True), hooks, suppress(_Ended):
            self.function(*args, **kwargs)
        self._check([_fact_of(value) for value in saved.values()])
        return saved

    def _check(self, facts: list[_Fact]) -> None:
        """Raise CheckpointError unless recomputation saved as many tensors as the call, with the same properties."""
        hint = "the function must do the same each time, and its inputs must not have changed"
        if len(facts) != len(self.facts):
            raise CheckpointError(
                "A different number of tensors was saved during the original forward and recomputation: "
                f"{len(self.facts)} and {len(facts)}",
                hint=hint,
                operator="checkpoint",
            )
        pairs = enumerate(zip(self.facts, facts)) if self.compares else ()
        changed = [f"number {index} was {_text(old)}, is {_text(new)}" for index, (old, new) in pairs if old != new]
        if changed:
            raise CheckpointError(
                "Recomputed values for the following tensors have different metadata than during the "
                f"forward pass: {'; '.join(changed)}",
                hint=hint,
                operator="checkpoint",
            )


class _Input:
    """A tensor argument, saved in the same way as a tensor for backward."""

    def __init__(self, tensor: Any) -> None:
        self.requires_grad = tensor.requires_grad
        self.saved: Saved = save(tensor, None)
        graph.pack_saved([self.saved])


def _opened(value: Any) -> Any:
    if not isinstance(value, _Input):
        return value
    tensor: Any = value.saved.unpack("checkpoint", None)
    return tensor.requires_grad_(value.requires_grad)


def _fact_of(tensor: Any) -> _Fact:
    return _Fact(tuple(tensor.shape), tensor.dtype, tensor.device)


def _text(fact: _Fact) -> str:
    return f"{fact.dtype.name}{list(fact.shape)} on {fact.device}"


def _call_framed(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], preserve: bool,
    context_fn: Contexts, determinism_check: str, early_stop: bool,
) -> Any:  # fmt: skip
    if determinism_check not in DETERMINISM_CHECKS:
        raise ArgumentError(
            f"determinism_check should be one of {list(DETERMINISM_CHECKS)}, but got {determinism_check!r}",
            hint='leave it out for "default"',
            operator="checkpoint",
        )
    contexts: Any = context_fn()
    if not isinstance(contexts, (tuple, list)) or len(contexts) != 2:
        raise ArgumentTypeError(
            f"context_fn must return two context managers, got {shown(contexts)}",
            hint="return one for the call and one for the recomputation",
            operator="checkpoint",
        )
    first, second = contexts
    if not mode.enabled:
        with first:
            return function(*args, **kwargs)
    frame = _Frame(function, args, kwargs)
    frame.context = second
    frame.compares = determinism_check == "default"
    frame.ends_early = early_stop if _Choices.early_stop is None else _Choices.early_stop
    if preserve:
        frame.random = _Random([*args, *kwargs.values()])
    with first, graph.saved_tensors_hooks(frame.pack, frame.unpack):
        return function(*args, **kwargs)


# reentrant


class CheckpointFunction(Function):
    """The autograd Function that implements `checkpoint` with use_reentrant=True.

    apply(function, preserve_rng_state, *args): call function(*args) without recording it; backward calls it again, with
    recording.  preserve_rng_state: whether random numbers are the same in both calls.
    Example:
        >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
        >>> y = torch.utils.checkpoint.CheckpointFunction.apply(torch.square, True, x)
        >>> y.sum().backward()
        >>> x.grad
        tensor([2., 4.])
    """

    @staticmethod
    def forward(ctx: Any, function: Callable[..., Any], preserve: bool, *args: Any) -> Any:
        """Return function(*args), computed without recording, and keep the arguments for `backward`.

        preserve: whether the call in `backward` draws the same random numbers.
        Example:
            >>> x = torch.tensor([3.0], requires_grad=True)
            >>> torch.utils.checkpoint.CheckpointFunction.apply(torch.square, True, x)
            tensor([9.], grad_fn=<CheckpointFunctionBackward>)
        """
        ctx.function = function
        ctx.random = _Random(args) if preserve else None
        ctx.autocast = Kept()
        ctx.places = [index for index, arg in enumerate(args) if isinstance(arg, TensorBase)]
        ctx.args = [None if isinstance(arg, TensorBase) else arg for arg in args]
        ctx.save_for_backward(*[args[index] for index in ctx.places])
        return function(*args)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        """Call the function again, with recording, and compute the gradients of its arguments.

        Raises: AutogradError in a pass of `torch.autograd.grad` or with `inputs`, and if no result requires a gradient.
        Example:
            >>> x = torch.tensor([3.0], requires_grad=True)
            >>> torch.utils.checkpoint.CheckpointFunction.apply(torch.square, True, x).backward()
            >>> x.grad
            tensor([6.])
        """
        task = gradients.current_task()
        if task is None or not task.accumulates or task.targets is not None:
            raise AutogradError(
                "When use_reentrant=True, it is incompatible with .grad() or passing an `inputs` parameter "
                "to .backward()",
                hint="pass use_reentrant=False, or call backward() without inputs",
                operator="checkpoint",
            )
        args = list(ctx.args)
        for index, tensor in zip(ctx.places, ctx.saved_tensors):
            args[index] = tensor.detach().requires_grad_(tensor.requires_grad)
        again = nullcontext() if ctx.random is None else ctx.random.again()
        with again, ctx.autocast, GradMode(True):
            result = ctx.function(*args)
        outputs = result if isinstance(result, tuple) else (result,)
        pairs = [
            (output, grad)
            for output, grad in zip(outputs, grads)
            if isinstance(output, TensorBase) and output.requires_grad
        ]
        if not pairs:
            raise AutogradError(
                "none of output has requires_grad=True, this checkpoint() is not necessary",
                hint="call the function itself",
                operator="checkpoint",
            )
        gradients.backward([output for output, _ in pairs], [grad for _, grad in pairs])
        return (None, None, *[arg.grad if isinstance(arg, TensorBase) else None for arg in args])
