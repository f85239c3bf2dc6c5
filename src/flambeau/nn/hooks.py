"""Module hooks: of one module or of all, around forward and backward, and of saving, loading and registration."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from functools import partial
from typing import Any

from .. import callers
from ..autograd.function import Function
from ..autograd.node_hooks import RemovableHandle
from ..core.tensor import TensorBase
from ..errors import ArgumentTypeError, AutogradError, ModeError, shown
from ..tensor import checks, factories


class HookError(ArgumentTypeError, RuntimeError):
    """A hook returned a value that cannot replace its argument."""


Hooks = OrderedDict[int, Callable[..., Any]]  # by the ids of their handles


class _Everywhere:
    """Hooks of all modules.  any: all hooks by id, so that a call without hooks tests only one dictionary."""

    def __init__(self) -> None:
        self.any: Hooks = OrderedDict()
        self.forward_pre: Hooks = OrderedDict()
        self.forward: Hooks = OrderedDict()
        self.backward_pre: Hooks = OrderedDict()
        self.backward: Hooks = OrderedDict()
        self.with_kwargs: OrderedDict[int, bool] = OrderedDict()
        self.always_called: OrderedDict[int, bool] = OrderedDict()
        self.is_full: bool | None = None  # whether `backward` holds full hooks; None if it holds none
        self.buffers: Hooks = OrderedDict()
        self.parameters: Hooks = OrderedDict()
        self.modules: Hooks = OrderedDict()


everywhere = _Everywhere()


def register(
    called: str, hooks: Hooks, hook: Any, prepend: bool = False, marks: tuple[OrderedDict[int, bool], ...] = (),
    others: tuple[Any, ...] = (),
) -> RemovableHandle:  # fmt: skip
    """Add a hook, last or first; return the handle that removes it.  Raises ArgumentTypeError unless it is callable.

    marks: dictionaries in which its id is set to True.  others: further dictionaries that hold it.
    """
    checks.function(called, "hook", hook)
    handle = RemovableHandle(hooks, extra_dict=[*marks, *others])
    hooks[handle.id] = hook
    for table in marks:
        table[handle.id] = True
    for table in others:
        table[handle.id] = hook
    if prepend:
        hooks.move_to_end(handle.id, last=False)
    return handle


def _check_kind(called: str, held: bool | None, is_full: bool, whose: str) -> None:
    """Raise ModeError if there are backward hooks of the other kind."""
    if held is not None and held is not is_full:
        raise ModeError(
            f"cannot use both regular backward hooks and full backward hooks on {whose}, which has "
            f"{'full' if held else 'regular'} ones",
            hint="use register_full_backward_hook for all of them",
            operator=called,
        )


class PostHook:
    """A hook of `register_state_dict_post_hook`, whose result must be None."""

    def __init__(self, hook: Callable[..., Any]) -> None:
        self.hook = hook

    def __call__(self, *args: Any) -> None:
        result = self.hook(*args)
        if result is not None:
            raise ModeError(
                f"a state_dict post-hook must return None, {shown(self.hook)} returned {shown(result)}",
                hint="change the dictionary in place",
                operator="state_dict",
            )


class WithoutModule:
    """A hook before loading that is not called with the module."""

    def __init__(self, hook: Callable[..., Any]) -> None:
        self.hook = hook

    def __call__(self, module: Any, *args: Any) -> Any:
        return self.hook(*args)


class Hooked:
    """Base of Module: registration of hooks."""

    _forward_pre_hooks: Hooks
    _forward_pre_hooks_with_kwargs: OrderedDict[int, bool]
    _forward_hooks: Hooks
    _forward_hooks_with_kwargs: OrderedDict[int, bool]
    _forward_hooks_always_called: OrderedDict[int, bool]
    _backward_pre_hooks: Hooks
    _backward_hooks: Hooks
    _is_full_backward_hook: bool | None
    _state_dict_pre_hooks: Hooks
    _state_dict_hooks: Hooks
    _load_state_dict_pre_hooks: Hooks
    _load_state_dict_post_hooks: Hooks

    def register_forward_pre_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """Call hook(module, args) before forward; a result other than None replaces the arguments.

        prepend: call it before the existing hooks.  with_kwargs: call hook(module, args, kwargs), which returns (args,
        kwargs).
        Returns a handle, whose `remove()` removes the hook.
        Raises: ArgumentTypeError for a hook that is not callable.
        Example:
            >>> layer = torch.nn.ReLU()
            >>> handle = layer.register_forward_pre_hook(lambda module, args: (args[0] + 1,))
            >>> layer(torch.tensor([-3.0, 2.0]))
            tensor([0., 3.])
        """
        marks = (self._forward_pre_hooks_with_kwargs,) if with_kwargs else ()
        return register("register_forward_pre_hook", self._forward_pre_hooks, hook, prepend, marks)

    def register_forward_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False, always_call: bool = False
    ) -> RemovableHandle:
        """Call hook(module, args, output) after forward; a result other than None replaces the output.

        prepend: call it before the existing hooks.  with_kwargs: call hook(module, args, kwargs, output).
        always_call: call it also after a forward that raised, with None for the output.
        Returns a handle, whose `remove()` removes the hook.
        Raises: ArgumentTypeError for a hook that is not callable.
        Example:
            >>> layer = torch.nn.ReLU()
            >>> handle = layer.register_forward_hook(lambda module, args, output: output * 10)
            >>> layer(torch.tensor([-3.0, 2.0]))
            tensor([ 0., 20.])
        """
        marks = (
            *((self._forward_hooks_with_kwargs,) if with_kwargs else ()),
            *((self._forward_hooks_always_called,) if always_call else ()),
        )
        return register("register_forward_hook", self._forward_hooks, hook, prepend, marks)

    def register_full_backward_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Call hook(module, grad_output) before the module's backward; a result other than None replaces grad_output.

        prepend: call it before the existing hooks.  Returns a handle, whose `remove()` removes the hook.
        Raises: ArgumentTypeError for a hook that is not callable.
        Example:
            >>> layer, x = torch.nn.ReLU(), torch.tensor([-3.0, 2.0], requires_grad=True)
            >>> handle = layer.register_full_backward_pre_hook(lambda module, grads: (grads[0] * 10,))
            >>> layer(x).sum().backward()
            >>> x.grad
            tensor([ 0., 10.])
        """
        return register("register_full_backward_pre_hook", self._backward_pre_hooks, hook, prepend)

    def register_full_backward_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Call hook(module, grad_input, grad_output) after the module's backward; a result replaces grad_input.

        grad_input, grad_output: tuples of the gradients of the arguments and of the outputs, None where there is none.
        A result of None changes nothing.  prepend: call the hook before the existing ones.
        Returns a handle, whose `remove()` removes the hook.
        Raises: ArgumentTypeError for a hook that is not callable, ModeError if the module has hooks of
                register_backward_hook.
        Example:
            >>> layer, x = torch.nn.ReLU(), torch.tensor([-3.0, 2.0], requires_grad=True)
            >>> handle = layer.register_full_backward_hook(lambda module, grad_input, grad_output: (grad_input[0] - 1,))
            >>> layer(x).sum().backward()
            >>> x.grad
            tensor([-1.,  0.])
        """
        name = "register_full_backward_hook"
        _check_kind(name, self._is_full_backward_hook, True, "a single module")
        handle = register(name, self._backward_hooks, hook, prepend)
        self._is_full_backward_hook = True
        return handle

    def register_backward_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call hook(module, grad_input, grad_output) after the backward of the operator that made the module's output.

        grad_input has the gradients of that operator's inputs, not of the module's: prefer register_full_backward_hook.
        Returns a handle, whose `remove()` removes the hook.
        Raises: ArgumentTypeError for a hook that is not callable, ModeError if the module has hooks of
                register_full_backward_hook.
        Example:
            >>> layer, x = torch.nn.ReLU(), torch.tensor([-3.0, 2.0], requires_grad=True)
            >>> handle = layer.register_backward_hook(lambda module, grad_input, grad_output: print(grad_input))
            >>> layer(x).sum().backward()
            (tensor([0., 1.]),)
        """
        name = "register_backward_hook"
        _check_kind(name, self._is_full_backward_hook, False, "a single module")
        handle = register(name, self._backward_hooks, hook)
        self._is_full_backward_hook = False
        return handle

    def register_state_dict_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call hook(module, prefix, keep_vars) before state_dict collects this module's own tensors.

        Returns a handle, whose `remove()` removes the hook.
        Raises: ArgumentTypeError for a hook that is not callable.
        Example:
            >>> net = torch.nn.Sequential(torch.nn.Linear(1, 1))
            >>> handle = net[0].register_state_dict_pre_hook(lambda module, prefix, keep_vars: print(prefix))
            >>> list(net.state_dict())
            0.
            ['0.weight', '0.bias']
        """
        return register("register_state_dict_pre_hook", self._state_dict_pre_hooks, hook)

    def register_state_dict_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call hook(module, state_dict, prefix, local_metadata) at the end of this module's part of state_dict.

        The part includes the children's.  The hook may change the dict in place, and must return None.
        Returns a handle, whose `remove()` removes the hook.
        Raises: ArgumentTypeError for a hook that is not callable.
        Example:
            >>> def drop_bias(module, state_dict, prefix, local_metadata):
            ...     del state_dict[prefix + "bias"]
            >>> layer = torch.nn.Linear(1, 1)
            >>> handle = layer.register_state_dict_post_hook(drop_bias)
            >>> list(layer.state_dict())
            ['weight']
        """
        checks.function("register_state_dict_post_hook", "hook", hook)
        return register("register_state_dict_post_hook", self._state_dict_hooks, PostHook(hook))

    def _register_state_dict_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Register a hook like register_state_dict_post_hook's; a result other than None replaces the dictionary."""
        return register("_register_state_dict_hook", self._state_dict_hooks, hook)

    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook` before load_state_dict reads this module's own entries.

        The hook takes (module, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs).
        The hook may change state_dict, which is a copy made for the load.
        Returns a handle, whose `remove()` removes the hook.
        Raises: ArgumentTypeError for a hook that is not callable.
        Example:
            >>> def rename(module, state_dict, prefix, *further):
            ...     state_dict[prefix + "weight"] = state_dict.pop(prefix + "kernel")
            >>> layer = torch.nn.Linear(1, 1, bias=False)
            >>> handle = layer.register_load_state_dict_pre_hook(rename)
            >>> layer.load_state_dict({"kernel": torch.ones(1, 1)})
            <All keys matched successfully>
        """
        return register("register_load_state_dict_pre_hook", self._load_state_dict_pre_hooks, hook)

    def _register_load_state_dict_pre_hook(
        self, hook: Callable[..., Any], with_module: bool = False
    ) -> RemovableHandle:
        """Register a hook before loading; it is called without the module unless with_module."""
        checks.function("_register_load_state_dict_pre_hook", "hook", hook)
        entry = hook if with_module else WithoutModule(hook)
        return register("_register_load_state_dict_pre_hook", self._load_state_dict_pre_hooks, entry)

    def register_load_state_dict_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call hook(module, incompatible_keys) after this module and its children were loaded.

        The hook may change the lists incompatible_keys.missing_keys and incompatible_keys.unexpected_keys in place;
        load_state_dict raises if names remain in them.
        Returns a handle, whose `remove()` removes the hook.
        Raises: ArgumentTypeError for a hook that is not callable.
        Example:
            >>> layer = torch.nn.Linear(1, 1)
            >>> handle = layer.register_load_state_dict_post_hook(lambda module, keys: keys.missing_keys.clear())
            >>> layer.load_state_dict({"weight": torch.ones(1, 1)})
            <All keys matched successfully>
        """
        return register("register_load_state_dict_post_hook", self._load_state_dict_post_hooks, hook)


# hooks of all modules, which are called before those of the module


def register_module_forward_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call hook(module, args) before the forward of every module; a result other than None replaces the arguments.

    Returns a handle, whose `remove()` removes the hook.
    Example:
        >>> from flambeau.nn.modules.module import register_module_forward_pre_hook
        >>> handle = register_module_forward_pre_hook(lambda module, args: print(type(module).__name__))
        >>> torch.nn.Sequential(torch.nn.Flatten(), torch.nn.ReLU())(torch.ones(1, 2))
        Sequential
        Flatten
        ReLU
        tensor([[1., 1.]])
        >>> handle.remove()
    """
    name = "register_module_forward_pre_hook"
    return register(name, everywhere.forward_pre, hook, others=(everywhere.any,))


def register_module_forward_hook(
    hook: Callable[..., Any], *, with_kwargs: bool = False, always_call: bool = False
) -> RemovableHandle:
    """Call hook(module, args, output) after the forward of every module; see Module.register_forward_hook.

    Example:
        >>> from flambeau.nn.modules.module import register_module_forward_hook
        >>> with register_module_forward_hook(lambda module, args, output: print(type(module).__name__)):
        ...     net = torch.nn.Sequential(torch.nn.Linear(2, 1), torch.nn.ReLU())
        ...     _ = net(torch.ones(1, 2))
        Linear
        ReLU
        Sequential
    """
    marks = (*((everywhere.with_kwargs,) if with_kwargs else ()), *((everywhere.always_called,) if always_call else ()))
    return register("register_module_forward_hook", everywhere.forward, hook, False, marks, (everywhere.any,))


def register_module_full_backward_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call hook(module, grad_output) before the backward of every module; a result replaces grad_output.

    A result of None changes nothing.  Returns a handle, whose `remove()` removes the hook.
    Example:
        >>> from flambeau.nn.modules.module import register_module_full_backward_pre_hook
        >>> handle = register_module_full_backward_pre_hook(lambda module, grad_output: print(module, grad_output))
        >>> torch.nn.ReLU()(torch.ones(2, requires_grad=True)).sum().backward()
        ReLU() (tensor([1., 1.]),)
        >>> handle.remove()
    """
    name = "register_module_full_backward_pre_hook"
    return register(name, everywhere.backward_pre, hook, others=(everywhere.any,))


def register_module_full_backward_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call hook(module, grad_input, grad_output) after the backward of every module.

    A result other than None replaces grad_input.  Returns a handle, whose `remove()` removes the hook.
    Example:
        >>> from flambeau.nn.modules.module import register_module_full_backward_hook
        >>> handle = register_module_full_backward_hook(lambda module, grad_input, grad_output: print(grad_input))
        >>> torch.nn.ReLU()(torch.tensor([-1.0, 2.0], requires_grad=True)).sum().backward()
        (tensor([0., 1.]),)
        >>> handle.remove()
    """
    return _register_backward("register_module_full_backward_hook", hook, True)


def register_module_backward_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call hook(module, grad_input, grad_output) after the backward of the operator that made a module's output.

    It is called for every module.  Prefer register_module_full_backward_hook, whose grad_input is the module's.
    Returns a handle, whose `remove()` removes the hook.
    Example:
        >>> from flambeau.nn.modules.module import register_module_backward_hook
        >>> handle = register_module_backward_hook(lambda module, grad_input, grad_output: print(module, grad_input))
        >>> torch.nn.ReLU()(torch.tensor([-1.0, 2.0], requires_grad=True)).sum().backward()
        ReLU() (tensor([0., 1.]),)
        >>> handle.remove()
    """
    return _register_backward("register_module_backward_hook", hook, False)


def _register_backward(name: str, hook: Callable[..., Any], is_full: bool) -> RemovableHandle:
    held = everywhere.is_full if everywhere.backward else None
    _check_kind(name, held, is_full, "all modules")
    handle = register(name, everywhere.backward, hook, others=(everywhere.any,))
    everywhere.is_full = is_full
    return handle


def register_module_buffer_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call hook(module, name, buffer) whenever a buffer is registered; a result other than None is registered instead.

    Returns a handle, whose `remove()` removes the hook.
    Example:
        >>> from flambeau.nn.modules.module import register_module_buffer_registration_hook
        >>> handle = register_module_buffer_registration_hook(lambda module, name, buffer: print(name, buffer))
        >>> torch.nn.Module().register_buffer("mean", torch.zeros(2))
        mean tensor([0., 0.])
        >>> handle.remove()
    """
    return register("register_module_buffer_registration_hook", everywhere.buffers, hook)


def register_module_module_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call hook(module, name, submodule) whenever a child is registered; a result is registered instead.

    A result of None changes nothing.  Returns a handle, whose `remove()` removes the hook.
    Example:
        >>> from flambeau.nn.modules.module import register_module_module_registration_hook
        >>> handle = register_module_module_registration_hook(lambda module, name, submodule: print(name, submodule))
        >>> net = torch.nn.Sequential(torch.nn.ReLU())
        0 ReLU()
        >>> handle.remove()
    """
    return register("register_module_module_registration_hook", everywhere.modules, hook)


def register_module_parameter_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call hook(module, name, param) whenever a parameter is registered; a result is registered instead.

    A result of None changes nothing.  Returns a handle, whose `remove()` removes the hook.
    Example:
        >>> from flambeau.nn.modules.module import register_module_parameter_registration_hook
        >>> handle = register_module_parameter_registration_hook(lambda module, name, param: print(name, param.shape))
        >>> layer = torch.nn.Linear(2, 3)
        weight torch.Size([3, 2])
        bias torch.Size([3])
        >>> handle.remove()
    """
    return register("register_module_parameter_registration_hook", everywhere.parameters, hook)


def registered(hooks: Hooks, module: Any, name: str, value: Any) -> Any:
    """Return the value to register, which hooks of all modules may replace."""
    for hook in tuple(hooks.values()):
        changed = hook(module, name, value)
        value = value if changed is None else changed
    return value


# around a call


def run(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call a module's forward with its hooks, and those of all modules, around it."""
    called: set[int] = set()  # hooks after forward that were called
    result = None
    try:
        args, kwargs = _before_forward(module, args, kwargs)
        pre = (*everywhere.backward_pre.values(), *module._backward_pre_hooks.values())
        full = (
            *(everywhere.backward.values() if everywhere.is_full else ()),
            *(module._backward_hooks.values() if module._is_full_backward_hook else ()),
        )
        watch = _Backward(module, pre, full) if pre or full else None
        if watch is not None:
            args = watch.inputs(args)
        result = module.forward(*args, **kwargs)
        for handle, hook, with_kwargs, _ in _after(module):
            called.add(handle)
            changed = _call_after(module, hook, with_kwargs, args, kwargs, result)
            result = result if changed is None else changed
        if watch is not None:
            result = watch.outputs(result)
        if everywhere.is_full is False or module._is_full_backward_hook is False:
            _watch_node(module, result)
    except Exception:
        for handle, hook, with_kwargs, always in _after(module):
            if always and handle not in called:
                _call_anyway(module, hook, with_kwargs, args, kwargs, result)
        raise
    return result


def _call_anyway(
    module: Any, hook: Callable[..., Any], with_kwargs: bool, args: tuple[Any, ...], kwargs: Any, result: Any
) -> None:
    """Call a hook with always_call=True after an exception; an exception of the hook becomes a warning."""
    try:
        _call_after(module, hook, with_kwargs, args, kwargs, result)
    except Exception as error:  # noqa: BLE001  (a hook of users may raise anything)
        callers.warn(
            f"{type(module).__name__}: a forward hook with always_call=True raised an exception, which was "
            f"silenced because of an earlier one: {error}"
        )


def _watch_node(module: Any, result: Any) -> None:
    """Register the module's non-full backward hooks on the graph node of its result."""
    tensor = result
    while not isinstance(tensor, TensorBase):
        if not isinstance(tensor, (dict, list, tuple)) or not tensor:
            return
        tensor = next(iter(tensor.values())) if isinstance(tensor, dict) else tensor[0]
    node = tensor.grad_fn
    if node is None:
        return
    common = everywhere.backward.values() if everywhere.is_full is False else ()
    own = module._backward_hooks.values() if module._is_full_backward_hook is False else ()
    for hook in (*common, *own):
        node.register_hook(partial(hook, module))


def _before_forward(
    module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    marked = module._forward_pre_hooks_with_kwargs
    for handle, hook in (*everywhere.forward_pre.items(), *module._forward_pre_hooks.items()):
        if handle in marked:
            changed = hook(module, args, kwargs)
            if changed is None:
                continue
            if not (isinstance(changed, tuple) and len(changed) == 2):
                raise HookError(
                    "a forward pre-hook with kwargs must return None or a tuple of (args, "
                    f"kwargs), not {shown(changed)}",
                    hint="end the hook with: return args, kwargs",
                    operator=type(module).__name__,
                )
            args, kwargs = changed
        else:
            changed = hook(module, args)
            if changed is not None:
                args = changed if isinstance(changed, tuple) else (changed,)
    return args, kwargs


def _after(module: Any) -> list[tuple[int, Callable[..., Any], bool, bool]]:
    """Return (id, hook, whether it takes keywords, whether it is always called) of the hooks after forward."""
    common = [
        (handle, hook, handle in everywhere.with_kwargs, handle in everywhere.always_called)
        for handle, hook in everywhere.forward.items()
    ]
    with_kwargs, always = module._forward_hooks_with_kwargs, module._forward_hooks_always_called
    own = [(handle, hook, handle in with_kwargs, handle in always) for handle, hook in module._forward_hooks.items()]
    return common + own


def _call_after(
    module: Any, hook: Callable[..., Any], with_kwargs: bool, args: tuple[Any, ...], kwargs: Any, result: Any
) -> Any:
    return hook(module, args, kwargs, result) if with_kwargs else hook(module, args, result)


class _Backward:
    """One call of a module whose gradients are observed.

    Its tensors pass through two identity functions: the one at the outputs receives grad_output, the one at the inputs
    grad_input.
    """

    def __init__(self, module: Any, pre: tuple[Any, ...], full: tuple[Any, ...]) -> None:
        self.module = module
        self.pre = pre  # hooks before and after the backward of this call
        self.full = full
        self.grad_output: tuple[Any, ...] | None = None  # of a backward that has not reached the inputs yet
        self.input_places: list[int] = []
        self.input_count = 0
        self.output_places: list[int] = []
        self.output_count = 1
        self.needs_inputs = False

    def inputs(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        self.input_places = [index for index, value in enumerate(args) if isinstance(value, TensorBase)]
        self.input_count = len(args)
        tensors = [args[index] for index in self.input_places]
        self.needs_inputs = any(tensor.requires_grad for tensor in tensors)
        return _spread(args, self.input_places, _AtInputs.apply(self, *tensors)) if self.needs_inputs else args

    def outputs(self, result: Any) -> Any:
        """Apply the output identity to a result that is a tensor or a tuple; return any other result unchanged."""
        if isinstance(result, TensorBase):
            self.output_places = [0]
            return _AtOutputs.apply(self, result)[0]
        if not isinstance(result, tuple):
            callers.warn(
                f"{type(self.module).__name__}: backward hooks are called for outputs that are a tensor or a tuple of "
                f"tensors, this is {type(result).__name__}"
            )
            return result
        self.output_places = [index for index, value in enumerate(result) if isinstance(value, TensorBase)]
        self.output_count = len(result)
        tensors = [result[index] for index in self.output_places]
        values = _spread(result, self.output_places, _AtOutputs.apply(self, *tensors)) if tensors else result
        return type(result)(*values) if hasattr(result, "_fields") else values

    def at_outputs(self, grads: tuple[Any, ...]) -> tuple[Any, ...]:
        """Call the hooks with the gradients, None for those of unused outputs; return the resulting ones."""
        whole = _spread((None,) * self.output_count, self.output_places, grads)
        for hook in self.pre:
            changed = hook(self.module, whole)
            if changed is not None:
                whole = self._as_grads("grad_output", changed, whole)
        self.grad_output = whole
        if not self.needs_inputs:
            callers.warn(
                f"{type(self.module).__name__}: a full backward hook is called when the gradients of the outputs are "
                "known, because no input requires a gradient"
            )
            if any(grad is not None for grad in self._call_hooks((None,) * self.input_count)):
                raise AutogradError(
                    "a backward hook returned gradients of inputs that do not require any",
                    hint="return None",
                    operator=type(self.module).__name__,
                )
        return tuple(whole[index] for index in self.output_places)

    def at_inputs(self, grads: tuple[Any, ...]) -> tuple[Any, ...]:
        if self.grad_output is None:  # a gradient that did not come through the outputs, as in a second derivative
            return grads
        whole = self._call_hooks(_spread((None,) * self.input_count, self.input_places, grads))
        return tuple(whole[index] for index in self.input_places)

    def _call_hooks(self, grad_input: tuple[Any, ...]) -> tuple[Any, ...]:
        for hook in self.full:
            changed = hook(self.module, grad_input, self.grad_output)
            if changed is not None:
                grad_input = self._as_grads("grad_input", changed, grad_input)
        self.grad_output = None
        return grad_input

    def _as_grads(self, what: str, changed: Any, whole: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return the result of a hook as a tuple.  Raises ArgumentTypeError, AutogradError if it is invalid."""
        name = type(self.module).__name__
        grads = changed if isinstance(changed, tuple) else (changed,)
        if len(grads) != len(whole):
            raise AutogradError(
                f"a backward hook returned an invalid number of {what}, got {len(grads)}, but expected {len(whole)}",
                hint="return a tensor or None for each, or None for all",
                operator=name,
            )
        for index, (new, grad) in enumerate(zip(grads, whole)):
            wanted = "None" if grad is None else grad.describe()
            if new is not None and not isinstance(new, TensorBase):
                raise ArgumentTypeError(
                    f"a backward hook returned {shown(new)} as {what}[{index}], which is {wanted}",
                    hint="return a tensor or None",
                    operator=name,
                )
            if isinstance(new, TensorBase) and grad is not None and new.shape != grad.shape:
                raise AutogradError(
                    f"a backward hook has changed the size of {what}[{index}] from {wanted} to {shown(new)}",
                    hint="return a tensor of the same shape",
                    operator=name,
                )
        return grads


def _spread(values: tuple[Any, ...], places: list[int], new: Any) -> tuple[Any, ...]:
    spread = list(values)
    for index, value in zip(places, new):
        spread[index] = value
    return tuple(spread)


class _AtInputs(Function):
    @staticmethod
    def forward(ctx: Any, watch: _Backward, *tensors: Any) -> Any:
        ctx.watch = watch
        ctx.mark_non_differentiable(*[tensor for tensor in tensors if not tensor.requires_grad])
        return tensors

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        return (None, *ctx.watch.at_inputs(grads))


class _AtOutputs(Function):
    @staticmethod
    def forward(ctx: Any, watch: _Backward, *tensors: Any) -> Any:
        ctx.watch = watch
        ctx.set_materialize_grads(False)  # the hooks see which outputs were not used
        ctx.mark_non_differentiable(*[tensor for tensor in tensors if not tensor.requires_grad])
        ctx.layouts = [(tensor.shape, tensor.dtype, tensor.device) for tensor in tensors]
        return tensors

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        changed = ctx.watch.at_outputs(grads)
        filled = [
            factories.zeros(shape, dtype=dtype, device=device) if grad is None and dtype.is_floating_point else grad
            for grad, (shape, dtype, device) in zip(changed, ctx.layouts)
        ]
        return (None, *filled)
