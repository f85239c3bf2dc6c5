"""Per-thread modes: gradient mode, inference mode and PyTorch's multithreading setting."""

from __future__ import annotations

from collections.abc import Callable, Generator
from functools import wraps
from inspect import isgeneratorfunction
from typing import Any, Self

from .. import callers
from ..core import thread
from ..core.locks import whole
from ..errors import ArgumentTypeError, shown


class _Mode:
    @property
    def enabled(self) -> bool:
        return thread.here().grad_enabled

    @enabled.setter
    def enabled(self, value: bool) -> None:
        now = thread.here()
        now.grad_enabled = value and not now.inference  # inference mode records nothing, regardless of nested modes


mode = _Mode()


class _ContextDecorator:
    """A context manager that also decorates functions and generator functions."""

    def __enter__(self) -> None:
        raise AssertionError("subclasses implement it")

    def __exit__(self, *error: object) -> None:
        raise AssertionError("subclasses implement it")

    def clone(self) -> Any:
        """Return a context like this one: every call of a decorated function has its own."""
        raise AssertionError("subclasses implement it")

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        if not callable(function):
            raise ArgumentTypeError(
                f"decorates functions, got {shown(function)}",
                hint=f"use it as @{type(self).__name__}(), or in a with statement",
                operator=type(self).__name__,
            )
        if isinstance(function, type):
            callers.warn(
                f"{type(self).__name__}: decorating classes is deprecated, {shown(function)}; decorate its methods",
                FutureWarning,
            )
        again = self.clone
        if isgeneratorfunction(function):

            @wraps(function)
            def generating(*args: Any, **kwargs: Any) -> Any:
                return _stepped(function(*args, **kwargs), again)

            return generating

        @wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            with again():
                return function(*args, **kwargs)

        return wrapped


def _stepped(generator: Any, context: Callable[[], Any]) -> Generator[Any, Any, Any]:
    """Run each step of a generator inside a context; the caller's code between the steps runs outside of it."""
    step, value = generator.send, None
    while True:
        try:
            with context():
                item = step(value)
        except StopIteration as end:
            return end.value
        try:
            value = yield item
            step = generator.send
        except GeneratorExit:
            with context():
                generator.close()
            raise
        except BaseException as error:  # noqa: BLE001  (thrown in by the caller, and meant for the generator)
            step, value = generator.throw, error


class GradMode(_ContextDecorator):
    """Set this thread's gradient mode inside a `with` block or a decorated function; restore it at the end."""

    def __init__(self, enabled: bool) -> None:
        self.enabled = enabled
        self._previous: list[bool] = []

    def __enter__(self) -> None:
        self._previous.append(mode.enabled)
        mode.enabled = self.enabled

    @whole
    def __exit__(self, *error: object) -> None:
        mode.enabled = self._previous.pop()

    def clone(self) -> GradMode:
        """Return a new context of the same mode."""
        return GradMode(self.enabled)


class no_grad(GradMode):  # noqa: N801
    """Do not record operations for autograd: `with no_grad():`, `@no_grad()` or `@no_grad`.

    Raises: ArgumentTypeError if it decorates anything but a function.
    Example:
        >>> x = torch.ones(2, requires_grad=True)
        >>> with torch.no_grad():
        ...     y = x * 2
        >>> y.requires_grad
        False
    """

    def __new__(cls, orig_func: Callable[..., Any] | None = None) -> Any:
        return object.__new__(cls) if orig_func is None else cls()(orig_func)

    def __init__(self) -> None:
        super().__init__(False)

    def clone(self) -> Self:
        """Return a new context manager of the same class.

        Example:
            >>> with torch.no_grad().clone():
            ...     torch.is_grad_enabled()
            False
        """
        return type(self)()


class enable_grad(no_grad):  # noqa: N801
    """Record operations for autograd, even inside `no_grad`: `with enable_grad():`, `@enable_grad()`, `@enable_grad`.

    Raises: ArgumentTypeError if it decorates anything but a function.
    Example:
        >>> x = torch.ones(2, requires_grad=True)
        >>> with torch.no_grad(), torch.enable_grad():
        ...     y = x * 2
        >>> y.requires_grad
        True
    """

    def __init__(self) -> None:
        GradMode.__init__(self, True)


class set_grad_enabled(GradMode):  # noqa: N801
    """Enable or disable recording for autograd at once; as a context manager or a decorator, restore the former mode.

    Raises: ArgumentTypeError if `mode` is not a bool.
    Example:
        >>> x = torch.ones(2, requires_grad=True)
        >>> with torch.set_grad_enabled(False):
        ...     y = x * 2
        >>> y.requires_grad
        False
    """

    def __init__(self, mode: bool) -> None:
        _check_bool("set_grad_enabled", mode)
        super().__init__(mode)
        self._first = self._switch()

    def _switch(self) -> bool:
        """Set the mode; return the former one."""
        former, mode.enabled = mode.enabled, self.enabled
        return former

    def clone(self) -> Self:
        """Set the same gradient mode at once; return a context manager that restores the present mode at its end.

        Example:
            >>> with torch.set_grad_enabled(True).clone():
            ...     torch.is_grad_enabled()
            True
        """
        return type(self)(self.enabled)

    def __enter__(self) -> None:
        self._previous.append(self._first)
        mode.enabled = self.enabled

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        mode.enabled = self._first
        return super().__call__(function)


class inference_mode(_ContextDecorator):  # noqa: N801
    """Disable recording for autograd, and make new tensors inference tensors, which autograd cannot save for backward.

    mode: False ends inference mode inside another `inference_mode`, and enables gradients.
    Outside inference mode, a write to an inference tensor, or to a view that was made inside, is an error.
    Raises: ArgumentTypeError if `mode` is not a bool.
    Example:
        >>> x = torch.ones(2, requires_grad=True)
        >>> with torch.inference_mode():
        ...     y = x * 2
        >>> y.requires_grad, y.is_inference()
        (False, True)
    """

    def __new__(cls, mode: Any = True) -> Any:
        return object.__new__(cls) if isinstance(mode, bool) or not callable(mode) else cls()(mode)

    def __init__(self, mode: bool = True) -> None:
        _check_bool("inference_mode", mode)
        self.mode = mode
        self._previous: list[tuple[bool, bool]] = []

    def __enter__(self) -> None:
        now = thread.here()
        self._previous.append((now.inference, now.grad_enabled))
        now.inference, now.grad_enabled = self.mode, not self.mode

    @whole
    def __exit__(self, *error: object) -> None:
        now = thread.here()
        now.inference, now.grad_enabled = self._previous.pop()

    def clone(self) -> inference_mode:
        """Return a new context of the same mode.

        Example:
            >>> with torch.inference_mode().clone():
            ...     torch.is_inference_mode_enabled()
            True
        """
        return inference_mode(self.mode)


class _Stored(_ContextDecorator):
    """A setting that is kept and has no effect.  As a context manager or a decorator, it restores the former one."""

    enabled = True
    _parameter = "mode"

    def __init__(self, mode: bool) -> None:
        _check_bool(type(self).__name__, mode, self._parameter)
        self.mode = mode
        self._first = type(self).enabled
        type(self).enabled = mode

    def __enter__(self) -> None:
        type(self).enabled = self.mode

    @whole
    def __exit__(self, *error: object) -> None:
        type(self).enabled = self._first

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        type(self).enabled = self._first
        return super().__call__(function)

    def clone(self) -> Self:
        """Return a new context manager with the same setting.

        Like the constructor, this call stores the setting at once.
        Example:
            >>> first = torch.autograd.set_multithreading_enabled(True)
            >>> with first.clone():
            ...     torch.autograd.is_multithreading_enabled()
            True
        """
        return type(self)(self.mode)


class set_multithreading_enabled(_Stored):  # noqa: N801
    """Store a setting of PyTorch, which here has no effect: backward always runs in the calling thread.

    As a context manager or a decorator, it restores the former setting at the end.
    Raises: ArgumentTypeError if `mode` is not a bool.
    Example:
        >>> with torch.autograd.set_multithreading_enabled(False):
        ...     torch.autograd.is_multithreading_enabled()
        False
    """


class enforce_grad_layout_policy(_Stored):  # noqa: N801
    """Store a setting of PyTorch for the memory layout of gradients; it has no effect in flambeau.

    As a context manager or a decorator, it restores the former setting at the end.
    Raises: ArgumentTypeError if `enable` is not a bool.
    Example:
        >>> with torch.autograd.enforce_grad_layout_policy(False):
        ...     torch.ones(2, requires_grad=True).sum().backward()
    """

    _parameter = "enable"

    def __init__(self, enable: bool = True) -> None:
        super().__init__(enable)


def _check_bool(name: str, value: object, parameter: str = "mode") -> None:
    if not isinstance(value, bool):
        fact = f"{parameter} must be a bool, got {shown(value)}"
        raise ArgumentTypeError(fact, hint="pass True or False", operator=name)


def is_grad_enabled() -> bool:
    """Return whether calls are recorded for autograd in this thread.

    Example:
        >>> with torch.no_grad():
        ...     print(torch.is_grad_enabled())
        False
        >>> torch.is_grad_enabled()
        True
    """
    return mode.enabled


def is_inference_mode_enabled() -> bool:
    """Return whether inference mode is on in this thread, so that new tensors are inference tensors.

    Example:
        >>> with torch.inference_mode():
        ...     print(torch.is_inference_mode_enabled())
        True
    """
    return thread.here().inference


def is_multithreading_enabled() -> bool:
    """Return the value that `set_multithreading_enabled` stored, True by default; it has no effect.

    Example:
        >>> torch.autograd.is_multithreading_enabled()
        True
    """
    return set_multithreading_enabled.enabled
