"""Eviction from a call cache that is full."""

from __future__ import annotations

from typing import Any


def drop_oldest(entries: dict[Any, Any]) -> None:
    """Remove the least recently used quarter of a call cache."""
    by_use = sorted(list(entries.items()), key=lambda item: item[1].used)  # a copy: other threads may add entries
    for key, _ in by_use[: len(by_use) // 4]:
        entries.pop(key, None)
