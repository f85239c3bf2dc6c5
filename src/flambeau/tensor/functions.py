"""The operators as functions of the package: flambeau.add, flambeau.softmax and so on."""

from __future__ import annotations

from typing import Any

from .. import ops  # noqa: F401  (registers the operators)
from ..ops.operator import REGISTRY, Operator

_FUNCTIONS = {name: operator for name, operator in REGISTRY.items() if operator.function}
globals().update(_FUNCTIONS)


def add(input: Any, other: Any, *, alpha: float = 1, out: Any = None) -> Any:
    """`input + alpha * other`: see the operator `add`."""
    return _scaled(REGISTRY["add"], input, other, alpha, out)


def sub(input: Any, other: Any, *, alpha: float = 1, out: Any = None) -> Any:
    """`input - alpha * other`: see the operator `sub`."""
    if alpha == 1:
        return _scaled(REGISTRY["sub"], input, other, 1, out)
    return _scaled(REGISTRY["add"], input, other, -alpha, out)


def _scaled(plain: Operator, input: Any, other: Any, alpha: float, out: Any) -> Any:
    named = {} if out is None else {"out": out}
    return plain(input, other, **named) if alpha == 1 else REGISTRY["add_scaled"](input, other, alpha, **named)


subtract, multiply, divide, true_divide = sub, REGISTRY["mul"], REGISTRY["div"], REGISTRY["div"]
negative, absolute, clip = REGISTRY["neg"], REGISTRY["abs"], REGISTRY["clamp"]
ALIASES = ["absolute", "clip", "divide", "multiply", "negative", "subtract", "true_divide"]

__all__ = [*_FUNCTIONS, *ALIASES]
