"""The operators as functions of the package: flambeau.add, flambeau.softmax and so on."""

from __future__ import annotations

from .. import ops  # noqa: F401  (registers the operators)
from ..ops.operator import REGISTRY

_FUNCTIONS = {name: operator for name, operator in REGISTRY.items() if operator.function}
_ALIASES = {
    "absolute": "abs", "clip": "clamp", "divide": "div", "multiply": "mul", "negative": "neg", "subtract": "sub",
    "true_divide": "div",
}  # fmt: skip
_FUNCTIONS |= {alias: REGISTRY[name].called_as(alias) for alias, name in _ALIASES.items()}
globals().update(_FUNCTIONS)

__all__ = [*_FUNCTIONS]
