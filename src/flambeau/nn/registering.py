"""What a module says of names, parameters, buffers and children that it cannot take."""

from __future__ import annotations

from typing import Any

from ..core.tensor import TensorBase
from ..errors import ArgumentTypeError, AutogradError, NamingError, shown
from .parameter import Parameter


def check_name(called: str, module: Any, name: Any, kind: str, held: dict[str, Any]) -> None:
    """Raise ArgumentTypeError or NamingError for a name that `module` cannot give to a parameter, buffer or child."""
    if not isinstance(name, str):
        raise ArgumentTypeError(
            f"{kind} name should be a string, got {shown(name)}", hint="give a str", operator=called
        )
    if not name or "." in name:
        raise NamingError(
            f"{kind} name can't be empty or contain a dot, got {name!r}",
            hint=f"use {name.replace('.', '_') or 'a name'!r}",
            operator=called,
        )
    if name not in held and hasattr(module, name):
        raise NamingError(
            f"attribute {name!r} already exists in {type(module).__name__}, and is no {kind}",
            hint="use another name, or delete the attribute first",
            operator=called,
        )


def check_parameter(called: str, name: str, param: Any) -> None:
    """Raise ArgumentTypeError or AutogradError for what is no parameter of a module, nor None."""
    if param is not None and not isinstance(param, Parameter):
        raise ArgumentTypeError(
            f"cannot assign {type(param).__name__!r} object to parameter {name!r} (torch.nn.Parameter or "
            f"None required): {shown(param)}",
            hint="wrap a tensor in torch.nn.Parameter(...)",
            operator=called,
        )
    if param is not None and param.grad_fn is not None:
        raise AutogradError(
            f"parameter {name!r} must be a leaf of the graph, this is {param.describe()} of {param.grad_fn}",
            hint="make it of tensor.detach()",
            operator=called,
        )


def check_buffer(called: str, name: str, tensor: Any) -> None:
    """Raise ArgumentTypeError for what is no tensor, nor None."""
    if tensor is not None and not isinstance(tensor, TensorBase):
        raise ArgumentTypeError(
            f"cannot assign {type(tensor).__name__!r} object to buffer {name!r} (Tensor or None required): "
            f"{shown(tensor)}",
            hint="make one with torch.tensor(...)",
            operator=called,
        )


def check_child(called: str, name: str, module: Any, base: type) -> None:
    """Raise ArgumentTypeError for what is no module, nor None."""
    if module is not None and not isinstance(module, base):
        made = isinstance(module, type) and issubclass(module, base)
        hint = f"make one: {module.__name__}(...)" if made else "derive from torch.nn.Module"
        hint = "give the modules one by one: Sequential(*modules)" if isinstance(module, (list, tuple)) else hint
        raise ArgumentTypeError(
            f"{type(module).__name__} is not a Module subclass, child {name!r} is {shown(module)}",
            hint=hint,
            operator=called,
        )


def check_assigned_child(called: str, name: str, value: Any) -> None:
    """Raise ArgumentTypeError for what cannot take the place of a child."""
    if value is not None:
        raise ArgumentTypeError(
            f"cannot assign {type(value).__name__!r} as child module {name!r} (Module or None expected): "
            f"{shown(value)}",
            hint=f"delete the child first: del module.{name}",
            operator=called,
        )


def child(module: Any, name: str, target: str, base: type) -> Any:
    """A child of a module on the path `target`.  Raises AttributeError."""
    found = getattr(module, name, None)
    if not isinstance(found, base):
        have = ", ".join(module._modules) or "none"
        held = f"is {shown(found)}, no Module" if hasattr(module, name) else f"is not in {type(module).__name__}"
        raise AttributeError(f"get_submodule: {name!r} of {target!r} {held}\nhint: its modules are: {have}")
    return found


def member(module: Any, table: str, name: str) -> Any:
    """A parameter or a buffer of a module.  Raises AttributeError."""
    held, kind = module.__dict__[table], table[1:-1]
    if name not in held:
        have = ", ".join(held) or "none"
        raise AttributeError(
            f"get_{kind}: {type(module).__name__!r} object has no {kind} {name!r}\nhint: its {table[1:]} are: {have}"
        )
    return held[name]
