"""Subclasses of Tensor and their `__torch_function__`.

- A call with a tensor of a user's subclass goes to the `__torch_function__` of that class.  By default the call runs,
  and tensors among its results become tensors of the class.
- A function looks at the classes of all its arguments. A method or a symbol of a plain tensor does not: it calls
  `__torch_function__` only if its own tensor, or the reflected side of a symbol, is of a subclass.
- Programs without subclasses pay nothing for it. Subclasses derive from `overridable()`, whose methods check the
  classes of their arguments; functions start to check when the first subclass is defined.
"""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache, wraps
from typing import Any

from ..core import call as calls
from ..core.binding import make_calls_by
from ..core.tensor import TensorBase, new_tensor_of
from ..errors import ArgumentTypeError, shown
from ..ops.operator import REGISTRY, Operator
from . import argument_orders, checks, legacy, operators
from .operators import BINARY, UNARY

FIELDS = [name for name in TensorBase.__slots__ if name not in ("__weakref__", "_accumulator", "_grad")]
FUNCTION_OF = {f"__{symbol}__": name for symbol, name in (BINARY | UNARY).items()}
FUNCTION_OF |= {f"__i{symbol}__": f"{name}_" for symbol, name in BINARY.items()}
FUNCTION_OF |= {"__radd__": "add", "__rmul__": "mul", "__lt__": "lt", "__le__": "le", "__gt__": "gt", "__ge__": "ge"}
ALSO_METHODS = (
    *(f"__r{symbol}__" for symbol in BINARY), "__eq__", "__ne__",
    "__getitem__", "__setitem__", "__len__", "__bool__", "__float__", "__int__", "__index__", "__contains__",
)  # fmt: skip
NOT_METHODS = ("as_subclass",)
PROPERTIES = ("T", "mT", "data")  # attributes whose value is a tensor of the class


class _Running(threading.local):
    """default: whether this thread is inside the default `__torch_function__`, where calls run as on plain tensors."""

    default = False


_running = _Running()


def recast(tensor: Any, cls: type) -> Any:
    """Return a tensor of a class with the memory and the graph node of `tensor`."""
    result: Any = new_tensor_of(cls, tensor._storage, tensor._layout, tensor._offset)
    for name in FIELDS:
        setattr(result, name, getattr(tensor, name))
    return result


def as_subclass(self: Any, cls: type) -> Any:
    """Return a tensor of the subclass `cls` over this tensor's memory; gradients flow through it.

    Raises: ArgumentTypeError for anything but a subclass of Tensor.
    Example:
        >>> class Meters(torch.Tensor):
        ...     pass
        >>> type(torch.ones(2).as_subclass(Meters)).__name__
        'Meters'
    """
    _check_class("as_subclass", cls)
    return recast(REGISTRY["alias"](self), cls)


def _check_class(name: str, cls: Any) -> None:
    if not isinstance(cls, type) or not issubclass(cls, TensorBase):
        raise ArgumentTypeError(
            f"expected a subclass of Tensor, got {shown(cls)}", hint="derive it from Tensor", operator=name
        )


def make_subclass(cls: type, data: Any, require_grad: bool = False) -> Any:
    """Return a tensor of a subclass with the memory of `data`, detached from its graph.  Raises: ArgumentTypeError."""
    _check_class("_make_subclass", cls)
    checks.tensor("_make_subclass", "data", data)
    return recast(data.detach(), cls).requires_grad_(require_grad)


def convert_like(result: Any, source: Any) -> Any:
    """Return the result of a factory as a tensor of the class of `source`, if that is a user's subclass."""
    return _converted(result, type(source)) if is_overriding(type(source)) else result


# calls


def is_default_running() -> bool:
    """Return whether this thread is inside the default `__torch_function__`."""
    return _running.default


def is_overriding(cls: type) -> bool:
    """Return whether a class is a user's subclass of Tensor."""
    return _known.base is not None and issubclass(cls, _known.base)


def _overriding_types(values: Iterable[Any], depth: int = 64) -> list[type]:
    """Return the users' subclasses among the classes of arguments, derived classes before their bases.

    depth: of nested lists that are searched; a list may contain itself.
    """
    subclasses: list[type] = []
    for value in values:
        if isinstance(value, (list, tuple)):
            candidates = _overriding_types(value, depth - 1) if depth else []
        else:
            candidates = [type(value)] if is_overriding(type(value)) else []
        for cls in candidates:
            if cls not in subclasses:
                position = next((at for at, known in enumerate(subclasses) if issubclass(cls, known)), len(subclasses))
                subclasses.insert(position, cls)
    return subclasses


def call_override(function: Any, classes: list[Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call `__torch_function__` of each class until one returns a result.

    Raises: ArgumentTypeError if each returns NotImplemented.
    """
    for cls in classes:
        result = cls.__torch_function__(function, tuple(classes), args, kwargs)
        if result is not NotImplemented:
            return result
    names = ", ".join(cls.__name__ for cls in classes)
    raise ArgumentTypeError(
        f"no implementation found for arguments of {names}: every __torch_function__ returned NotImplemented",
        hint="call super().__torch_function__ for functions that a class does not define itself",
        operator=function.__name__,
    )


@contextmanager
def default_running() -> Iterator[None]:
    before, _running.default = _running.default, True
    try:
        yield
    finally:
        _running.default = before


def torch_function(cls: type, func: Any, types: Iterable[type], args: Any = (), kwargs: Any = None) -> Any:
    """Return the default `__torch_function__`: run the call and convert tensors among its results to this class."""
    if not all(issubclass(cls, other) for other in types):
        return NotImplemented
    with default_running():
        return _converted(func(*args, **(kwargs or {})), cls)


def run_default(func: Any, types: Iterable[type], args: Any = (), kwargs: Any = None) -> Any:
    """Return a `__torch_function__` that runs the call as if its operands were plain tensors; a static method."""
    with default_running():
        return func(*args, **(kwargs or {}))


def _converted(result: Any, cls: type) -> Any:
    if isinstance(result, TensorBase):
        if isinstance(result, cls):
            return result
        return as_subclass(result, cls) if result.requires_grad else recast(result, cls)
    if isinstance(result, (list, tuple)):
        parts = [_converted(item, cls) for item in result]
        return type(result)(*parts) if hasattr(result, "_fields") else type(result)(parts)
    return result


class _Overriding(calls.CoreCaller):
    """Runs operators called as functions, and calls `__torch_function__` where an argument is of a subclass."""

    __slots__ = ()

    def call(self, operator: Operator, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        classes = [] if _running.default else _overriding_types((*args, *kwargs.values()))
        if classes:
            return call_override(operator.as_function(), classes, args, kwargs)
        return calls.call(operator, args, kwargs)


# the class


def _method(owner: type, name: str, plain: Callable[..., Any]) -> Callable[..., Any]:
    """Return a method that calls `__torch_function__`.

    owner, name: the method passed to `__torch_function__` as the function.  plain: the method of Tensor.
    """

    @wraps(plain)
    def method(*args: Any, **kwargs: Any) -> Any:
        if _running.default:
            return plain(*args, **kwargs)
        return call_override(getattr(owner, name), _overriding_types((*args, *kwargs.values())), args, kwargs)

    return method


def _symbol(owner: type, name: str, plain: Callable[..., Any]) -> Callable[..., Any]:
    """Like `_method`, for a binary symbol: a call whose other operand is not a tensor or number goes to `plain`."""
    overriding = _method(owner, name, plain)

    @wraps(plain)
    def method(self: Any, other: Any) -> Any:
        return overriding(self, other) if calls.is_operand(other) else plain(self, other)

    return method


def _property(plain: property) -> property:
    def value(self: Any) -> Any:
        return _converted(plain.__get__(self), type(self))

    return property(value, plain.fset)


def _new(cls: type, *args: Any, **kwargs: Any) -> Any:
    return recast(legacy.make_tensor(*args, **kwargs), cls)


def _init(self: Any, *args: Any, **kwargs: Any) -> None:
    """Do nothing: `__new__` has made the tensor, and arguments of a subclass are its own."""


class _Known:
    """base: the class that users' subclasses derive from; None until one is defined."""

    base: type | None = None


_known = _Known()


def is_overridable(name: str) -> bool:
    """Return whether the method of that name calls `__torch_function__` on tensors of subclasses."""
    return name in FUNCTION_OF or name in ALSO_METHODS or not name.startswith("_") and name not in NOT_METHODS


def _name_in_text(cls: Any, /, **options: Any) -> None:
    """Print tensors of a subclass under its name."""
    cls.shown_as = cls.__name__


@cache
def overridable(plain: type) -> type:
    """Return the class between Tensor and users' subclasses, whose methods call `__torch_function__`."""
    members: dict[str, Any] = {"__new__": _new, "__init__": _init, "__torch_function__": classmethod(torch_function)}
    members["__init_subclass__"] = classmethod(_name_in_text)
    for name, member in vars(plain).items():
        if name in PROPERTIES:
            members[name] = _property(member)
        elif name in FUNCTION_OF and FUNCTION_OF[name] not in UNARY.values():
            members[name] = _symbol(plain, FUNCTION_OF[name], member)
        elif inspect.isroutine(member) and not isinstance(member, operators.Missing) and is_overridable(name):
            members[name] = _method(plain, FUNCTION_OF.get(name, name), member)
    overriding = _Overriding()
    make_calls_by(overriding)
    argument_orders.AsFunction.call = overriding.call
    _known.base = type(plain)("Overridable", (plain,), members, overrides=False)
    return _known.base
