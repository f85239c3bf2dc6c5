"""The compiled part of an operator: the attributes that calls and backward passes read.

`core/operator.py` adds the rest, which is used when an operator is defined or a call fails.
"""

from __future__ import annotations

from typing import Any


class Need:
    """One input of a derivative: where its value comes from.

    kind: one of OF_BACKWARD, OUT (result `at`), VALUE (argument `at`; if only_for is not -1, saved only where argument
    only_for needs a gradient) or FACT (the attribute `what` of argument `at`): see core/operator.py.
    """

    __slots__ = ("at", "kind", "only_for", "what")

    def __init__(self, kind: str, at: int, what: str, only_for: int) -> None:
        self.kind = kind
        self.at = at
        self.what = what
        self.only_for = only_for


class Setting:
    """A user setting that lowerings depend on, so that its value is part of the key in the call cache.

    Example:
        >>> from flambeau.ops.operator import Setting
        >>> allow = Setting(False)
    """

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


class Signature:
    """How a call passes its arguments: `count` by position, the others by keyword.

    names: the keywords;  places: the index of each keyword's parameter.
    """

    __slots__ = ("count", "names", "places")

    def __init__(self, count: int, names: tuple[str, ...], places: list[int]) -> None:
        self.count = count
        self.names = names
        self.places = places


class Caller:
    """Interface for running operator calls.  The core sets its implementation when it is imported (call.py)."""

    __slots__ = ()

    def call(self, operator: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        raise AssertionError("make_calls_by replaces it")

    def derive(self, operator: Any, bound: list[Any]) -> Any:
        """Run a derivative (see Operator.derivative_call)."""
        raise AssertionError("make_calls_by replaces it")


_caller = Caller()


def make_calls_by(caller: Caller) -> None:
    """Set the object that runs operators called as functions."""
    global _caller
    _caller = caller


def function_of(operator: OperatorBase) -> Any:
    """Make the plain function that calls an operator."""

    def function(*args: Any, **kwargs: Any) -> Any:
        return _caller.call(operator, args, kwargs)

    return function


class OperatorBase:
    """Base of `Operator`: the compiled attributes that a call reads.  `Operator` sets and documents them."""

    derivative_call: OperatorBase | None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return _caller.call(self, args, kwargs)

    def derive(self, bound: list[Any]) -> Any:
        """Run the derivative on the values that `saves` lists, without recording it for autograd."""
        if self.derivative_call is None:
            operator: Any = self
            self.derivative_call = operator.as_derivative()
        return _caller.derive(self.derivative_call, bound)
