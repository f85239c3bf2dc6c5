"""Module hooks, called around forward and backward."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from ..autograd.function import Function
from ..autograd.node_hooks import RemovableHandle, add
from ..core.tensor import TensorBase
from ..errors import ArgumentTypeError, AutogradError, shown
from ..tensor import checks


class HookError(ArgumentTypeError, RuntimeError):
    """A hook returned a value that cannot replace its argument."""


Hooks = OrderedDict[int, "Hook"]  # by the ids of their handles


class Hook:
    """One registered function."""

    __slots__ = ("always", "call", "with_kwargs")

    def __init__(self, call: Callable[..., Any], with_kwargs: bool = False, always: bool = False) -> None:
        self.call = call
        self.with_kwargs = with_kwargs
        self.always = always


def register(called: str, hooks: Hooks, hook: Hook, prepend: bool = False) -> RemovableHandle:
    """Add a hook, last or first; return the handle that removes it.  Raises ArgumentTypeError unless it is callable."""
    checks.function(called, "hook", hook.call)
    handle = add(hooks, hook)
    if prepend:
        hooks.move_to_end(handle.id, last=False)
    return handle


class Hooked:
    """Base of Module: registration of hooks."""

    _forward_pre_hooks: Hooks
    _forward_hooks: Hooks
    _backward_pre_hooks: Hooks
    _backward_hooks: Hooks
    _load_state_dict_pre_hooks: Hooks

    def register_forward_pre_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """Call hook(module, args) before forward; a result other than None replaces the arguments."""
        return register("register_forward_pre_hook", self._forward_pre_hooks, Hook(hook, with_kwargs), prepend)

    def register_forward_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False, always_call: bool = False
    ) -> RemovableHandle:
        """Call hook(module, args, output) after forward; a result other than None replaces the output.

        always_call: also after a forward that raised, with None for the output.
        """
        made = Hook(hook, with_kwargs, always_call)
        return register("register_forward_hook", self._forward_hooks, made, prepend)

    def register_full_backward_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Call hook(module, grad_output) before the module's backward; a result other than None replaces it."""
        return register("register_full_backward_pre_hook", self._backward_pre_hooks, Hook(hook), prepend)

    def register_full_backward_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Call hook(module, grad_input, grad_output) after the module's backward; a result replaces grad_input."""
        return register("register_full_backward_hook", self._backward_hooks, Hook(hook), prepend)

    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook` before this module's part of a state_dict is read; it may change that dict, the load's own copy.

        Its arguments: module, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs.
        """
        return register("register_load_state_dict_pre_hook", self._load_state_dict_pre_hooks, Hook(hook))


def run(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call a module's forward with its hooks around it."""
    args, kwargs = _before_forward(module, args, kwargs)
    watch = _Backward(module) if module._backward_hooks or module._backward_pre_hooks else None
    if watch is not None:
        args = watch.inputs(args)
    try:
        result = module.forward(*args, **kwargs)
    except Exception:
        for hook in tuple(module._forward_hooks.values()):
            if hook.always:
                _call_after(module, hook, args, kwargs, None)
        raise
    result = _after_forward(module, args, kwargs, result)
    return result if watch is None else watch.outputs(result)


def _before_forward(
    module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    for hook in tuple(module._forward_pre_hooks.values()):
        if hook.with_kwargs:
            changed = hook.call(module, args, kwargs)
            if changed is None:
                continue
            if not (isinstance(changed, tuple) and len(changed) == 2):
                raise HookError(
                    "a forward pre-hook with kwargs must return None or a tuple of (args, "
                    f"kwargs), not {shown(changed)}",
                    hint="return args, kwargs",
                    operator=type(module).__name__,
                )
            args, kwargs = changed
        else:
            changed = hook.call(module, args)
            if changed is not None:
                args = changed if isinstance(changed, tuple) else (changed,)
    return args, kwargs


def _after_forward(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> Any:
    for hook in tuple(module._forward_hooks.values()):
        changed = _call_after(module, hook, args, kwargs, result)
        result = result if changed is None else changed
    return result


def _call_after(module: Any, hook: Hook, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> Any:
    return hook.call(module, args, kwargs, result) if hook.with_kwargs else hook.call(module, args, result)


class _Backward:
    """One call of a module whose gradients are observed.

    Its tensors pass through two identity functions: the one at the outputs receives grad_output, the one at the inputs
    grad_input.
    """

    def __init__(self, module: Any) -> None:
        self.module = module
        self.grad_output: tuple[Any, ...] | None = None  # of a backward that has not come to the inputs yet
        self.input_places: list[int] = []
        self.input_count = 0
        self.output_places: list[int] = []
        self.output_count = 1
        self.needs_inputs = False

    def inputs(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        self.input_places = [place for place, each in enumerate(args) if isinstance(each, TensorBase)]
        self.input_count = len(args)
        tensors = [args[place] for place in self.input_places]
        self.needs_inputs = any(each.requires_grad for each in tensors)
        return _spread(args, self.input_places, _AtInputs.apply(self, *tensors)) if self.needs_inputs else args

    def outputs(self, result: Any) -> Any:
        """Apply the output identity to a result that is a tensor or a tuple; return any other result unchanged."""
        if isinstance(result, TensorBase):
            self.output_places = [0]
            return _AtOutputs.apply(self, result)[0]
        if not isinstance(result, tuple):
            return result
        self.output_places = [place for place, each in enumerate(result) if isinstance(each, TensorBase)]
        self.output_count = len(result)
        tensors = [result[place] for place in self.output_places]
        values = _spread(result, self.output_places, _AtOutputs.apply(self, *tensors)) if tensors else result
        return type(result)(*values) if hasattr(result, "_fields") else values

    def at_outputs(self, grads: tuple[Any, ...]) -> tuple[Any, ...]:
        whole = _spread((None,) * self.output_count, self.output_places, grads)
        for hook in tuple(self.module._backward_pre_hooks.values()):
            changed = hook.call(self.module, whole)
            if changed is not None:
                whole = self._as_grads("grad_output", changed, whole)
        self.grad_output = whole
        if not self.needs_inputs:
            self._call_hooks((None,) * self.input_count)
        return tuple(whole[place] for place in self.output_places)

    def at_inputs(self, grads: tuple[Any, ...]) -> tuple[Any, ...]:
        if self.grad_output is None:  # a gradient that did not come through the outputs, as in a second derivative
            return grads
        whole = self._call_hooks(_spread((None,) * self.input_count, self.input_places, grads))
        return tuple(whole[place] for place in self.input_places)

    def _call_hooks(self, grad_input: tuple[Any, ...]) -> tuple[Any, ...]:
        for hook in tuple(self.module._backward_hooks.values()):
            changed = hook.call(self.module, grad_input, self.grad_output)
            if changed is not None:
                grad_input = self._as_grads("grad_input", changed, grad_input)
        self.grad_output = None
        return grad_input

    def _as_grads(self, what: str, changed: Any, whole: tuple[Any, ...]) -> tuple[Any, ...]:
        """The result of a hook as a tuple.  Raises ArgumentTypeError, AutogradError if it cannot replace the values."""
        name = type(self.module).__name__
        found = changed if isinstance(changed, tuple) else (changed,)
        if len(found) != len(whole):
            raise AutogradError(
                f"a backward hook returned an invalid number of {what}, got {len(found)}, but expected {len(whole)}",
                hint="return a tensor or None for each, or None for all",
                operator=name,
            )
        for place, (each, grad) in enumerate(zip(found, whole)):
            wanted = "None" if grad is None else grad.describe()
            if each is not None and not isinstance(each, TensorBase):
                raise ArgumentTypeError(
                    f"a backward hook returned {shown(each)} as {what}[{place}], which is {wanted}",
                    hint="return a tensor or None",
                    operator=name,
                )
            if isinstance(each, TensorBase) and grad is not None and each.shape != grad.shape:
                raise AutogradError(
                    f"a backward hook has changed the size of {what}[{place}] from {wanted} to {shown(each)}",
                    hint="return a tensor of the same shape",
                    operator=name,
                )
        return found


def _spread(values: tuple[Any, ...], places: list[int], new: Any) -> tuple[Any, ...]:
    spread = list(values)
    for place, each in zip(places, new):
        spread[place] = each
    return tuple(spread)


class _AtInputs(Function):
    @staticmethod
    def forward(ctx: Any, watch: _Backward, *tensors: Any) -> Any:
        ctx.watch = watch
        return tensors

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        return (None, *ctx.watch.at_inputs(grads))


class _AtOutputs(Function):
    @staticmethod
    def forward(ctx: Any, watch: _Backward, *tensors: Any) -> Any:
        ctx.watch = watch
        return tensors

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        return (None, *ctx.watch.at_outputs(grads))
