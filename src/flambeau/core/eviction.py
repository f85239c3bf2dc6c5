"""Call cache: additions, eviction from one that is full, and plans that a setting has made stale."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .thread import Plans


def add_entry(plans: Plans, key: Any, entry: Any) -> None:
    """Add an entry.  At the limit, the least recently used quarter is dropped."""
    if len(plans.entries) >= plans.limit:
        with plans.lock:
            _drop_oldest(plans.entries)
    plans.clock += 1
    entry.used = plans.clock
    plans.entries[key] = entry


def _drop_oldest(entries: dict[Any, Any]) -> None:
    by_use = sorted(list(entries.items()), key=lambda item: item[1].used)  # a copy: other threads may add entries
    for key, _ in by_use[: len(by_use) // 4]:
        entries.pop(key, None)


def is_stale(settings: Sequence[tuple[Any, Any]]) -> bool:
    """Return whether one of the user settings that a plan depends on has changed since.  settings: see plan.Plan."""
    return any(setting.value is not value and setting.value != value for setting, value in settings)
