"""A tensor's gradient: requires_grad, checks of `grad` and `data`, and hooks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..autograd import graph, graph_node
from ..autograd.node_hooks import RemovableHandle, add, leaf_hooks
from ..core import thread
from ..core.tensor import TensorBase
from ..errors import ArgumentTypeError, AutogradError, DeviceMismatchError, DtypeError, ModeError, ShapeError, shown
from . import checks

WANTED = "call requires_grad_() on it, or on the tensors it is computed from"
ALIKE = "a gradient has the shape, type and device of its tensor"


def want(tensor: TensorBase, requires_grad: Any, name: str) -> None:
    """Set whether a leaf accumulates a gradient.

    Raises: AutogradError for a non-leaf, DtypeError for integers.  For a value that is not a bool, a method raises
            ArgumentTypeError, an assignment ModeError.
    """
    if requires_grad is not True and requires_grad is not False:
        error_class = ModeError if name == "requires_grad" else ArgumentTypeError
        raise error_class(
            f"{name}: requires_grad must be a bool, got {shown(requires_grad)}", hint="pass True or False"
        )
    if tensor._grad_fn is not None and (not requires_grad or name == "requires_grad"):
        raise AutogradError(
            f"you can only change requires_grad flags of leaf variables, this is {tensor.describe()} of "
            f"{tensor._grad_fn}",
            hint="use detach() instead",
            operator=name,
        )
    if requires_grad and not tensor.dtype.is_floating_point:
        checks.leaf(name, tensor, requires_grad)
    if requires_grad and tensor._storage.version < 0 and not thread.here().inference:
        raise AutogradError(
            f"Setting requires_grad=True on inference tensor outside InferenceMode is not allowed: {tensor.describe()}",
            hint="use a clone() of it",
            operator=name,
        )
    tensor._requires_grad = requires_grad if tensor._grad_fn is None else False


def check_data(tensor: TensorBase, value: Any) -> None:
    """Raise ArgumentTypeError or DtypeError for a value that cannot be a tensor's `data`."""
    checks.tensor("data", "the assigned value", value)
    if tensor._requires_grad and not value.dtype.is_floating_point:
        raise DtypeError(
            f"the value assigned to a tensor that requires gradients must be floating point, got {value.describe()}",
            hint="convert it with .float()",
            operator="data",
        )


def check_grad(tensor: TensorBase, grad: Any) -> None:
    """Raise ArgumentTypeError, AutogradError, DtypeError, DeviceMismatchError or ShapeError for a wrong gradient."""
    if not isinstance(grad, TensorBase):
        raise ArgumentTypeError(f"expected a Tensor or None, got {shown(grad)}", hint=ALIKE, operator="grad")
    if grad is tensor:
        raise AutogradError(f"{tensor.describe()} cannot be its own gradient", hint="assign a clone()", operator="grad")
    if grad._layout is tensor._layout and grad.device_index == tensor.device_index:
        return
    fact = f"attempting to assign {grad.describe()} as the gradient of {tensor.describe()}"
    if grad.dtype is not tensor.dtype:
        raise DtypeError(fact, operator="grad", hint=f"{ALIKE}: convert it with to({tensor.dtype})")
    if grad.device_index != tensor.device_index:
        raise DeviceMismatchError(fact, operator="grad", hint=f"{ALIKE}: move it with to('{tensor.device}')")
    if grad.shape != tensor.shape:
        raise ShapeError(fact, operator="grad", hint=ALIKE)


def retain(tensor: TensorBase) -> None:
    """Keep the gradient of a tensor in `grad` during backward; a leaf's is always kept.

    Raises: AutogradError if the tensor does not require gradients.
    """
    if not tensor.requires_grad:
        raise AutogradError(f"{tensor.describe()} does not require a gradient", hint=WANTED, operator="retain_grad")
    graph_node.keep_gradient(tensor)


def register(tensor: TensorBase, hook: Callable[[Any], Any]) -> RemovableHandle:
    """Call `hook` with a tensor's gradient during backward, after its earlier hooks, before the gradient is kept.

    Raises: AutogradError if the tensor does not require gradients.
    """
    checks.function("register_hook", "hook", hook)
    return graph.register_gradient_hook("register_hook", tensor, hook)


def register_accumulated(tensor: TensorBase, hook: Callable[[Any], None]) -> RemovableHandle:
    """Call `hook` with a leaf after each accumulation of its gradient.

    Raises: AutogradError if the tensor is not a leaf, or does not require gradients.
    """
    name = "register_post_accumulate_grad_hook"
    checks.function(name, "hook", hook)
    if not tensor.requires_grad:
        raise AutogradError(
            f"cannot register a hook on a tensor that doesn't require gradient: {tensor.describe()}",
            hint=WANTED,
            operator=name,
        )
    leaf: Any = tensor
    if not leaf.is_leaf:
        raise AutogradError(
            f"post accumulate grad hooks cannot be registered on non-leaf tensors: {tensor.describe()}",
            hint="use register_hook(), which accepts any tensor that requires gradients",
            operator=name,
        )
    return add(leaf_hooks(tensor).accumulated, hook)
