"""torch.overrides: find arguments that override functions, and call their `__torch_function__`."""

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
    """Return one argument per class that has its own `__torch_function__`; derived classes before their bases."""
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
    """Return whether the class of any of these arguments overrides functions with its own `__torch_function__`.

    Inside the default `__torch_function__` of subclasses, it returns False.
    Example:
        >>> class Named(torch.Tensor):
        ...     @classmethod
        ...     def __torch_function__(cls, func, types, args=(), kwargs=None):
        ...         return func.__name__
        >>> torch.overrides.has_torch_function([torch.ones(1), Named([1.0])])
        True
        >>> torch.overrides.has_torch_function([torch.ones(1), 2])
        False
    """
    return not subclass.is_default_running() and bool(_overriding(relevant_args))


def has_torch_function_unary(obj: Any) -> bool:
    """Return whether the class of the argument overrides functions: see `has_torch_function`.

    Example:
        >>> torch.overrides.has_torch_function_unary(torch.ones(1))
        False
    """
    return has_torch_function((obj,))


def has_torch_function_variadic(*args: Any) -> bool:
    """Return whether the class of any argument overrides functions: see `has_torch_function`.

    Example:
        >>> torch.overrides.has_torch_function_variadic(torch.ones(1), 2)
        False
    """
    return has_torch_function(args)


def handle_torch_function(
    public_api: Callable[..., Any], relevant_args: Iterable[Any], *args: Any, **kwargs: Any
) -> Any:
    """Call `__torch_function__` of the classes of `relevant_args`, for a function called with args and kwargs.

    public_api: the function.
    The result is the first one that is not NotImplemented; derived classes are tried before their bases.
    Raises: ArgumentTypeError if every class returns NotImplemented.
    Example:
        >>> class Named(torch.Tensor):
        ...     @classmethod
        ...     def __torch_function__(cls, func, types, args=(), kwargs=None):
        ...         return f"{func.__name__} of {len(args)}"
        >>> x = Named([1.0])
        >>> torch.overrides.handle_torch_function(torch.add, [x], x, 2)
        'add of 2'
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
    """Return a decorator that lets the `__torch_function__` of a function's arguments override the function.

    dispatcher: called with the function's arguments; returns the arguments whose classes may override the call.
    Example:
        >>> @torch.overrides.wrap_torch_function(lambda x: (x,))
        ... def double(x):
        ...     return 2 * x
        >>> class Named(torch.Tensor):
        ...     @classmethod
        ...     def __torch_function__(cls, func, types, args=(), kwargs=None):
        ...         return func.__name__
        >>> double(3), double(Named([1.0]))
        (6, 'double')
    """

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
    """Return whether a value is a tensor, or its class has `__torch_function__`.

    Example:
        >>> torch.overrides.is_tensor_like(torch.ones(1)), torch.overrides.is_tensor_like(1.0)
        (True, False)
    """
    return isinstance(inp, TensorBase) or hasattr(type(inp), "__torch_function__")


def is_tensor_method_or_property(func: Callable[..., Any]) -> bool:
    """Return whether a function is a method of Tensor, or the getter of a property.

    Example:
        >>> torch.overrides.is_tensor_method_or_property(torch.Tensor.add)
        True
        >>> torch.overrides.is_tensor_method_or_property(torch.add)
        False
    """
    return any(func is member or func is getattr(member, "__get__", None) for member in vars(Tensor).values())


def resolve_name(f: Callable[..., Any]) -> str | None:
    """Return the full name of a function or method of the library; None for an object without a name.

    Example:
        >>> torch.overrides.resolve_name(torch.Tensor.add), torch.overrides.resolve_name(torch.add)
        ('torch.Tensor.add', 'torch.add')
    """
    name = getattr(f, "__name__", None)
    if name is None:
        return None
    return f"torch.Tensor.{name}" if is_tensor_method_or_property(f) else f"torch.{name}"


class TorchFunctionMode:
    """Placeholder for PyTorch's base class of modes that intercept every call: it can be imported, but not entered.

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
            "modes that intercept calls are not supported",
            hint="a subclass of Tensor with __torch_function__ sees the calls that it takes part in",
            operator=type(self).__name__,
        )

    def __exit__(self, *error: object) -> None:
        """Do nothing: no mode was entered."""


def get_overridable_functions() -> dict[Any, list[Callable[..., Any]]]:
    """Return {Tensor: [methods]}: the methods of Tensor that a subclass can override with `__torch_function__`.

    Example:
        >>> torch.Tensor.add in torch.overrides.get_overridable_functions()[torch.Tensor]
        True
    """
    names = [name for name in dir(Tensor) if subclass.is_overridable(name)]
    methods = [getattr(Tensor, name) for name in names]
    return {Tensor: [method for method in methods if inspect.isroutine(method)]}
