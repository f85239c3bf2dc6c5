"""Activation checkpointing: values that backward needs are computed again instead of being kept.

Not reentrant: a hook replaces every tensor that the function saves by a place.  When backward first needs one of them,
the function runs again, on the same inputs and random numbers, and what it saves this time fills the places.
Reentrant: a Function that runs forward without recording, and records and differentiates it in its backward.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from typing import Any, NamedTuple

from .. import callers
from ..core.engine import current_task, notes
from ..core.record import Saved, save
from ..core.tensor import TensorBase
from ..errors import ArgumentError, AutogradError, CheckpointError
from ..runtime.device import CPU_INDEX
from ..runtime.generator import default_generator, set_states
from . import functional, graph
from .function import Function
from .mode import GradMode, mode

DETERMINISM_CHECKS = ("default", "none")
Contexts = Callable[[], tuple[AbstractContextManager[Any], AbstractContextManager[Any]]]


class _Choices:
    """The process's own.  early_stop: whether recomputation ends with the last value that is needed; None: as asked."""

    early_stop: bool | None = None
    debug: bool | None = None


@contextmanager
def set_checkpoint_early_stop(enable: bool) -> Iterator[None]:
    """A context that says for every `checkpoint` in it whether recomputation ends early (see there)."""
    former, _Choices.early_stop = _Choices.early_stop, enable
    try:
        yield
    finally:
        _Choices.early_stop = former


@contextmanager
def set_checkpoint_debug_enabled(enabled: bool | None) -> Iterator[None]:
    """A context that says for every `checkpoint` in it whether it is debugged; None leaves that to the call."""
    former, _Choices.debug = _Choices.debug, enabled
    try:
        yield
    finally:
        _Choices.debug = former


def noop_context_fn() -> tuple[AbstractContextManager[Any], AbstractContextManager[Any]]:
    """Two contexts that do nothing."""
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
    """Call function(*args, **kwargs) without keeping what backward needs: it is computed again in backward.

    use_reentrant: which of two ways is taken; pass False.  None warns and means True.  The reentrant way needs an
    argument that requires gradients, takes no keywords, and allows neither `grad` nor `backward(inputs=)`.
    context_fn: makes two contexts, for the call and for the recomputation.
    determinism_check: "default" compares shapes, types and devices of recomputed values; "none" does not.
    debug: accepted; errors always list the values that differ.
    early_stop: whether recomputation ends with the last value that backward needs.
    preserve_rng_state (a keyword): whether random numbers are the same in both runs; True by default.
    Host:   returns at once.
    Raises: ArgumentError for options that do not fit; CheckpointError, in backward, if the runs differ.
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
    if not any(isinstance(each, TensorBase) and each.requires_grad for each in args):
        callers.warn("None of the inputs have requires_grad=True. Gradients will be None")
    return CheckpointFunction.apply(function, preserve, *args)


def checkpoint_sequential(
    functions: Any, segments: int, input: Any, use_reentrant: bool | None = None, **kwargs: Any
) -> Any:
    """Call functions one after another, in `segments` parts of which all but the last are checkpointed.

    functions: a Sequential, or a list of functions of one argument.
    use_reentrant, preserve_rng_state: as for `checkpoint`.
    Raises: ArgumentError if there are more segments than functions.
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
            hint="the reentrant way passes arguments by position; checkpoint(..., use_reentrant=False) takes keywords",
            operator=name,
        )


# random numbers


class _Random:
    """The random state of the CPU and of the GPUs of some tensors."""

    def __init__(self, tensors: Sequence[Any]) -> None:
        devices = {each.device_index for each in tensors if isinstance(each, TensorBase)}
        self.generators = [default_generator(index) for index in sorted(devices | {CPU_INDEX})]
        self.states = [each.state_bytes() for each in self.generators]

    @contextmanager
    def again(self) -> Iterator[None]:
        """A context in which the same numbers are drawn as after this was made; what is drawn otherwise goes on."""
        former = [each.state_bytes() for each in self.generators]
        try:
            set_states("set_state", self.generators, self.states)
            yield
        finally:
            set_states("set_state", self.generators, former)


# not reentrant


class _Fact(NamedTuple):
    """What is compared of a saved tensor."""

    shape: tuple[int, ...]
    dtype: Any
    device: Any


class _Place:
    """Stands for a tensor that is not kept."""

    __slots__ = ("frame", "index")

    def __init__(self, frame: _Frame, index: int) -> None:
        self.frame = frame
        self.index = index


class _Ended(Exception):
    """Ends a recomputation."""


class _Frame:
    """One call of a checkpointed function: how it runs again, and facts of what it saved.

    args, kwargs: those of the call, with `_Input`s for tensors.
    """

    def __init__(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.function = function
        self.args = [_Input(each) if isinstance(each, TensorBase) else each for each in args]
        self.kwargs = {name: _Input(each) if isinstance(each, TensorBase) else each for name, each in kwargs.items()}
        self.facts: list[_Fact] = []
        self.random: _Random | None = None
        self.context: AbstractContextManager[Any] = nullcontext()
        self.compares = True
        self.ends_early = True

    def pack(self, tensor: Any) -> _Place:
        self.facts.append(_fact_of(tensor))
        return _Place(self, len(self.facts) - 1)

    def unpack(self, place: _Place) -> Any:
        """A tensor that was not kept.  Within a backward pass, one recomputation gives each of them once."""
        values = notes(self)
        if values is None:
            values = {}
        if place.index not in values:
            values.update(self._recomputed())
        return values.pop(place.index)

    def _recomputed(self) -> dict[int, Any]:
        """Run the function again; what it saves, by place.  Raises: CheckpointError."""
        found: dict[int, Any] = {}

        def pack(tensor: Any) -> Any:
            found[len(found)] = tensor
            if self.ends_early and len(found) == len(self.facts):
                raise _Ended
            return tensor

        args = [_opened(each) for each in self.args]
        kwargs = {name: _opened(each) for name, each in self.kwargs.items()}
        again = nullcontext() if self.random is None else self.random.again()
        hooks = graph.saved_tensors_hooks(pack, lambda tensor: tensor)
        with again, self.context, GradMode(True), hooks, suppress(_Ended):
            self.function(*args, **kwargs)
        self._check([_fact_of(each) for each in found.values()])
        return found

    def _check(self, found: list[_Fact]) -> None:
        """Raise CheckpointError unless as much was saved, and the same, as the first time."""
        hint = "the function has to do the same each time; what it uses must not have changed"
        if len(found) != len(self.facts):
            raise CheckpointError(
                "A different number of tensors was saved during the original forward and recomputation: "
                f"{len(self.facts)} and {len(found)}",
                hint=hint,
                operator="checkpoint",
            )
        pairs = enumerate(zip(self.facts, found)) if self.compares else ()
        changed = [f"number {place} was {_text(old)}, is {_text(new)}" for place, (old, new) in pairs if old != new]
        if changed:
            raise CheckpointError(
                "Recomputed values for the following tensors have different metadata than during the "
                f"forward pass: {'; '.join(changed)}",
                hint=hint,
                operator="checkpoint",
            )


class _Input:
    """A tensor argument, held as other tensors that are saved for backward are."""

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
    first, second = context_fn()
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
    """Runs a function without recording, and again, with recording, in backward."""

    @staticmethod
    def forward(ctx: Any, function: Callable[..., Any], preserve: bool, *args: Any) -> Any:
        ctx.function = function
        ctx.random = _Random(args) if preserve else None
        ctx.places = [place for place, each in enumerate(args) if isinstance(each, TensorBase)]
        ctx.args = [None if isinstance(each, TensorBase) else each for each in args]
        ctx.save_for_backward(*[args[place] for place in ctx.places])
        return function(*args)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        task = current_task()
        if task is None or not task.accumulates or task.targets is not None:
            raise AutogradError(
                "When use_reentrant=True, it is incompatible with .grad() or passing an `inputs` parameter "
                "to .backward()",
                hint="pass use_reentrant=False, or call backward() without inputs",
                operator="checkpoint",
            )
        args = list(ctx.args)
        for place, tensor in zip(ctx.places, ctx.saved_tensors):
            args[place] = tensor.detach().requires_grad_(tensor.requires_grad)
        again = nullcontext() if ctx.random is None else ctx.random.again()
        with again, GradMode(True):
            found = ctx.function(*args)
        outputs = found if isinstance(found, tuple) else (found,)
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
        functional.backward([output for output, _ in pairs], [grad for _, grad in pairs])
        return (None, None, *[each.grad if isinstance(each, TensorBase) else None for each in args])
