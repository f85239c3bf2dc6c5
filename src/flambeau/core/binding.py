"""The compiled part of an operator: the facts that calls read, and the binding of arguments.

`core/operator.py` adds the rest, which is used when an operator is defined or a call fails.
"""

from __future__ import annotations

from typing import Any

from ..dtypes import from_type


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
    """A user setting that lowerings depend on."""

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
    """Interface that runs calls of operators.  The core sets its implementation when it is imported (call.py)."""

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


class OperatorBase:
    """What a call reads of its operator.  `Operator` sets and documents the attributes."""

    derivative_call: OperatorBase | None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return _caller.call(self, args, kwargs)

    def run(self, args: tuple[Any, ...]) -> Any:
        """Return `self(*args)`, through a C call where compiled."""
        return _caller.call(self, args, {})

    def derive(self, bound: list[Any]) -> Any:
        """Run the derivative on the values that `saves` lists, without recording."""
        assert self.derivative_call is not None
        return _caller.derive(self.derivative_call, bound)

    def signature_of(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Signature:
        """Make the signature of a call.  Raises ArgumentTypeError if the call cannot be bound."""
        raise AssertionError("subclasses implement it")


def bind(operator: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
    """Return every parameter's value in order.  Raises ArgumentTypeError where a Python call would raise TypeError."""
    if kwargs or not operator.needed <= len(args) <= operator.positional:
        return _bind_named(operator, args, kwargs)
    bound: list[Any] = operator.defaults[:]
    for index, value in enumerate(args):
        bound[index] = value
    return bound


def bind_two(operator: Any, first: Any, second: Any) -> list[Any]:
    """As `bind`, for an operator that needs at most two arguments."""
    bound: list[Any] = operator.defaults[:]
    bound[0], bound[1] = first, second
    return bound


def _bind_named(operator: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
    signature = operator.last_signature
    if signature is None or not _is_like(signature, len(args), kwargs):
        form = (len(args), *kwargs)
        signature = operator.signatures.get(form)
        if signature is None:
            signature = operator.signatures[form] = operator.signature_of(args, kwargs)
        operator.last_signature = signature
    bound: list[Any] = operator.defaults[:]
    for index, value in enumerate(args):
        bound[index] = value
    for index, value in enumerate(kwargs.values()):
        bound[signature.places[index]] = from_type(value) if isinstance(value, type) else value
    return bound


def _is_like(signature: Signature, count: int, kwargs: dict[str, Any]) -> bool:
    """Return whether a call has this signature.  Keywords in program text are interned, so identity suffices."""
    if signature.count != count or len(signature.names) != len(kwargs):
        return False
    for index, name in enumerate(kwargs):  # noqa: SIM110 (compiled, there are no closures)
        if name is not signature.names[index]:
            return False
    return True
