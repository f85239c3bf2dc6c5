"""The operators as functions of the package: flambeau.add, flambeau.softmax and so on."""

from __future__ import annotations

from .. import ops  # noqa: F401  (registers the operators)
from ..ops.operator import REGISTRY

_FUNCTIONS = {name: operator for name, operator in REGISTRY.items() if operator.function}
globals().update(_FUNCTIONS)

subtract, multiply = REGISTRY["sub"], REGISTRY["mul"]
divide = true_divide = REGISTRY["div"]
negative, absolute, clip = REGISTRY["neg"], REGISTRY["abs"], REGISTRY["clamp"]
ALIASES = ["absolute", "clip", "divide", "multiply", "negative", "subtract", "true_divide"]

__all__ = [*_FUNCTIONS, *ALIASES]
