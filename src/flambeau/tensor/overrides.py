"""torch.overrides: which arguments override functions of the library, and calls of their `__torch_function__`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from typing import Any

from ..core.tensor import TensorBase
from ..errors import ArgumentTypeError, NotSupportedError, shown
from . import subclass
from .tensor import Tensor


def _overriding(values: Iterable[Any]) -> list[Any]:
    """One argument of each class that has its own `__torch_function__`; derived classes before their bases."""
    found: list[Any] = []
    for value in values:
        cls = type(value)
        if cls in map(type, found) or not hasattr(cls, "__torch_function__"):
            continue
        if issubclass(cls, TensorBase) and not subclass.is_overriding(cls):
            continue
        at = next((index for index, other in enumerate(found) if issubclass(cls, type(other))), len(found))
        found.insert(at, value)
    return found


def has_torch_function(relevant_args: Iterable[Any]) -> bool:
    """Return whether the class of an argument overrides functions by its own `__torch_function__`.

    Inside the default `__torch_function__` of subclasses, it returns False.
    """
    return not subclass.is_default_running() and bool(_overriding(relevant_args))


def has_torch_function_unary(obj: Any) -> bool:
    """As `has_torch_function`, for one argument."""
    return has_torch_function((obj,))


def has_torch_function_variadic(*args: Any) -> bool:
    """As `has_torch_function`, for several arguments."""
    return has_torch_function(args)


def handle_torch_function(
    public_api: Callable[..., Any], relevant_args: Iterable[Any], *args: Any, **kwargs: Any
) -> Any:
    """Call `__torch_function__` of the arguments' classes, for a function called with args and kwargs.

    Raises: ArgumentTypeError if every one returns NotImplemented.
    """
    overloaded = _overriding(relevant_args)
    types = tuple(map(type, overloaded))
    for value in overloaded:
        result = value.__torch_function__(public_api, types, args, kwargs)
        if result is not NotImplemented:
            return result
    raise ArgumentTypeError(
        f"no implementation found for arguments of {', '.join([cls.__name__ for cls in types])}: every "
        f"__torch_function__ returned NotImplemented",
        hint="call super().__torch_function__ for functions that a class does not define itself",
        operator=resolve_name(public_api) or shown(public_api),
    )


def wrap_torch_function(dispatcher: Callable[..., Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Make a decorator of functions that calls `__torch_function__` of the arguments that the dispatcher returns."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            relevant: Sequence[Any] = dispatcher(*args, **kwargs)
            if has_torch_function(relevant):
                return handle_torch_function(wrapped, relevant, *args, **kwargs)
            return function(*args, **kwargs)

        return wrapped

    return decorate


def is_tensor_like(inp: Any) -> bool:
    """Return whether a value is a tensor, or its class has `__torch_function__`."""
    return isinstance(inp, TensorBase) or hasattr(type(inp), "__torch_function__")


def is_tensor_method_or_property(func: Callable[..., Any]) -> bool:
    """Return whether a function is a method of Tensor, or the getter of a property."""
    return any(func is member or func is getattr(member, "__get__", None) for member in vars(Tensor).values())


def resolve_name(f: Callable[..., Any]) -> str | None:
    """Return the name of a function or method of the library with its module, or None."""
    name = getattr(f, "__name__", None)
    if name is None:
        return None
    return f"torch.Tensor.{name}" if is_tensor_method_or_property(f) else f"torch.{name}"


class TorchFunctionMode:
    """The base class of modes that intercept every call; for imports and `isinstance`.

    Raises: NotSupportedError when it is entered.
    Example:
        >>> try:
        ...     with torch.overrides.TorchFunctionMode():
        ...         pass
        ... except NotImplementedError as error:
        ...     print(str(error).startswith("TorchFunctionMode: "))
        True
    """

    def __enter__(self) -> TorchFunctionMode:
        raise NotSupportedError(
            "modes do not intercept calls",
            hint="a subclass of Tensor with __torch_function__ sees the calls that it takes part in",
            operator=type(self).__name__,
        )

    def __exit__(self, *error: object) -> None:
        """Do nothing: no mode was entered."""


def get_overridable_functions() -> dict[Any, list[Callable[..., Any]]]:
    """Return the methods of Tensor that call `__torch_function__`, by their class."""
    names = [name for name in dir(Tensor) if subclass.is_overridable(name)]
    methods = [getattr(Tensor, name) for name in names]
    return {Tensor: [method for method in methods if inspect.isroutine(method)]}
