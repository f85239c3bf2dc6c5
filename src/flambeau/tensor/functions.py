"""The operators as functions of the package: flambeau.add, flambeau.softmax and so on."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from .. import (
    ops,  # noqa: F401  (registers the operators)
    trace,
)
from ..ops.operator import REGISTRY

_FUNCTIONS = {name: operator for name, operator in REGISTRY.items() if operator.function}
_ALIASES = {
    "absolute": "abs", "clip": "clamp", "divide": "div", "multiply": "mul", "negative": "neg", "subtract": "sub",
    "true_divide": "div",
}  # fmt: skip
_FUNCTIONS |= {alias: REGISTRY[name].called_as(alias) for alias, name in _ALIASES.items()}
globals().update(_FUNCTIONS)


class _Trace(ModuleType):
    """The class of the module flambeau.trace: PyTorch's function of that name is a call of it."""

    def __call__(self, input: Any) -> Any:
        """The sum of a matrix's diagonal."""
        return REGISTRY["trace"](input)


trace.__class__ = _Trace

__all__ = [*_FUNCTIONS]
