"""Observers of the graph: functions that are called with each new node and its saved values (graph_node.observe)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

observers: list[Callable[[Any, Any], None]] = []


def is_observed() -> bool:
    """Return whether there is any observer."""
    return bool(observers)


def observed(node: Any, saved: Any) -> None:
    """Call the observers with a new node and its saved values."""
    for observer in tuple(observers):
        observer(node, saved)
