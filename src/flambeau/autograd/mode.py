"""The thread's gradient mode: whether calls are recorded for backward."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from ..core import thread
from ..errors import ArgumentTypeError, shown


class _Mode:
    @property
    def enabled(self) -> bool:
        return thread.here().grad_enabled

    @enabled.setter
    def enabled(self, value: bool) -> None:
        thread.here().grad_enabled = value


mode = _Mode()


class GradMode:
    """Sets this thread's gradient mode inside a `with` block or a decorated function, and restores it."""

    def __init__(self, enabled: bool) -> None:
        self.enabled = enabled
        self._previous: list[bool] = []

    def __enter__(self) -> None:
        self._previous.append(mode.enabled)
        mode.enabled = self.enabled

    def __exit__(self, *error: object) -> None:
        mode.enabled = self._previous.pop()

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        if not callable(function):
            raise ArgumentTypeError(
                f"decorates functions, got {shown(function)}",
                hint=f"use it as @{type(self).__name__}(), or in a with statement",
                operator=type(self).__name__,
            )
        enabled = self.enabled

        @wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            with GradMode(enabled):
                return function(*args, **kwargs)

        return wrapped


class no_grad(GradMode):  # noqa: N801
    """Nothing is recorded inside: `with no_grad():`, `@no_grad()` or `@no_grad`."""

    def __new__(cls, function: Callable[..., Any] | None = None) -> Any:
        made = object.__new__(cls)
        if function is None:
            return made
        made.__init__()  # type: ignore[misc]
        return made(function)

    def __init__(self) -> None:
        super().__init__(False)


class enable_grad(no_grad):  # noqa: N801
    """Calls are recorded inside, also within no_grad."""

    def __init__(self) -> None:
        GradMode.__init__(self, True)


class inference_mode(GradMode):  # noqa: N801
    """As no_grad."""

    def __init__(self, mode: bool = True) -> None:
        _check_bool("inference_mode", mode)
        super().__init__(not mode)


class set_grad_enabled(GradMode):  # noqa: N801
    """Sets the mode at once; as a context manager it restores the former one on exit."""

    def __init__(self, mode_: bool) -> None:
        _check_bool("set_grad_enabled", mode_)
        super().__init__(mode_)
        self._first = mode.enabled
        mode.enabled = mode_

    def __enter__(self) -> None:
        self._previous.append(self._first)
        mode.enabled = self.enabled


def _check_bool(name: str, value: object) -> None:
    if not isinstance(value, bool):
        raise ArgumentTypeError(f"mode must be a bool, got {shown(value)}", hint="give True or False", operator=name)


def is_grad_enabled() -> bool:
    """Whether calls are recorded in this thread."""
    return mode.enabled
