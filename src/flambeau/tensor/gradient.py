"""The gradient of a tensor: what may be assigned to it, who keeps it, who sees it on its way."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

from ..autograd import record
from ..core.tensor import TensorBase
from ..errors import ArgumentTypeError, AutogradError, DeviceMismatchError, DtypeError, ModeError, ShapeError, shown
from . import checks

WANTED = "call requires_grad_() on it, or on what it is computed from"
ALIKE = "a gradient has the shape, type and device of its tensor"


def want(tensor: TensorBase, requires_grad: Any, name: str) -> None:
    """Say whether a leaf collects a gradient.

    Raises: AutogradError for a non-leaf, DtypeError for integers; for what is no bool, ArgumentTypeError from a method,
            ModeError from an assignment.
    """
    if requires_grad is not True and requires_grad is not False:
        kind = ModeError if name == "requires_grad" else ArgumentTypeError
        raise kind(f"{name}: must be a bool, got {shown(requires_grad)}", hint="give True or False")
    if tensor._grad_fn is not None and not requires_grad:
        raise AutogradError(
            f"you can only change requires_grad flags of leaf variables, this is {tensor.describe()} of "
            f"{tensor._grad_fn}",
            hint="use detach() instead",
            operator=name,
        )
    if requires_grad and not tensor.dtype.is_floating_point:
        checks.leaf(name, tensor, requires_grad)
    tensor._requires_grad = requires_grad if tensor._grad_fn is None else False


def check_data(tensor: TensorBase, value: Any) -> None:
    """Raise ArgumentTypeError or DtypeError for what cannot be a tensor's `data`."""
    checks.tensor("data", "what is assigned", value)
    if tensor._requires_grad and not value.dtype.is_floating_point:
        raise DtypeError(
            f"what is assigned to a tensor that requires gradients must be floating point, got {value.describe()}",
            hint="convert it with .float()",
            operator="data",
        )


def check_grad(tensor: TensorBase, grad: Any) -> None:
    """Raise ArgumentTypeError, AutogradError, DtypeError, DeviceMismatchError or ShapeError if it is no gradient."""
    if not isinstance(grad, TensorBase):
        raise ArgumentTypeError(f"expected a Tensor or None, got {shown(grad)}", hint=ALIKE, operator="grad")
    if grad is tensor:
        raise AutogradError(f"{tensor.describe()} cannot be its own gradient", hint="assign a clone()", operator="grad")
    if grad.layout is tensor.layout and grad.device_index == tensor.device_index:
        return
    fact = f"attempting to assign {grad.describe()} as the gradient of {tensor.describe()}"
    if grad.dtype is not tensor.dtype:
        raise DtypeError(fact, operator="grad", hint=f"{ALIKE}: convert it with to({tensor.dtype})")
    if grad.device_index != tensor.device_index:
        raise DeviceMismatchError(fact, operator="grad", hint=f"{ALIKE}: move it with to('{tensor.device}')")
    if grad.shape != tensor.shape:
        raise ShapeError(fact, operator="grad", hint=ALIKE)


class Keeper:
    """Sets `grad` of a tensor that is not a leaf, after the hooks on it."""

    __slots__ = ("tensor",)

    def __init__(self, tensor: TensorBase) -> None:
        self.tensor = weakref.ref(tensor)

    def __call__(self, grad: Any) -> None:
        tensor = self.tensor()
        if tensor is not None:
            tensor.grad = grad


def retain(tensor: TensorBase) -> None:
    """Keep the gradient of a tensor in `grad` during backward; a leaf's is kept anyway.

    Raises: AutogradError if it needs none.
    """
    if not tensor.requires_grad:
        raise AutogradError(f"{tensor.describe()} does not require a gradient", hint=WANTED, operator="retain_grad")
    edge = record.edge_of(tensor)
    if edge is None or tensor._grad_fn is None:
        return
    hooks = edge[0].hooks()
    if not any(isinstance(hook, Keeper) and hook.tensor() is tensor for _, hook in hooks):
        hooks.append((edge[1], Keeper(tensor)))


def register(tensor: TensorBase, hook: Callable[[Any], Any]) -> HookHandle:
    """Call `hook` with a tensor's gradient during backward, after the hooks that it has, before the gradient is kept.

    Raises: AutogradError if it needs none.
    """
    checks.function("register_hook", "hook", hook)
    edge = record.edge_of(tensor)
    if edge is None:
        raise AutogradError(
            f"cannot register a hook on a tensor that doesn't require gradient: {tensor.describe()}",
            hint=WANTED,
            operator="register_hook",
        )
    node, index = edge
    if tensor._grad_fn is None:
        tensor.hooks = node  # a leaf keeps its accumulator, or the hook would go with the graph
    entry = (index, hook)
    hooks = node.hooks()
    keepers = sum(isinstance(each, Keeper) for _, each in hooks)
    hooks.insert(len(hooks) - keepers, entry)
    return HookHandle(hooks, entry)


class HookHandle:
    """Takes a hook away again."""

    def __init__(self, hooks: list[Any], entry: Any) -> None:
        self._hooks = hooks
        self._entry = entry

    def remove(self) -> None:
        """Take the hook away; nothing if it is gone."""
        if self._entry in self._hooks:
            self._hooks.remove(self._entry)
