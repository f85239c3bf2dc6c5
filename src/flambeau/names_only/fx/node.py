"""torch.fx.node: names that programs import."""

from typing import Any

from ...errors import no_attribute as _no_attribute
from ...tools.eager import Node

Argument = Target = Any

__all__ = ["Argument", "Node", "Target"]


def __getattr__(name: str) -> object:
    raise _no_attribute(__name__, name)
