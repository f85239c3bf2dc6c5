"""What is kept of earlier calls."""

from __future__ import annotations

from collections import Counter
from typing import Any

from ..kinds import MAX_PLANS
from ..runtime import state


def statistics() -> dict[str, dict[str, Any]]:
    """What was decided once for calls and is used again, for the CPU and every device of a started machine.

    {device: {"plans": {operator: how many kinds of call}, "max_plans": with more, all are decided anew,
    "kernels": loaded ones, "library_plans": those of cuBLAS and cuDNN}}.  Host: returns at once, and starts nothing.
    """
    machine = state.machine()
    found = {"cpu": _kept(machine.cpu_plans, 0, 0)}
    for each in machine.devices:
        found[f"cuda:{each.index}"] = _kept(each.plans, len(each.kernels), len(each._library_plans))
    return found


def _kept(plans: dict[Any, Any], kernels: int, library_plans: int) -> dict[str, Any]:
    counts = Counter(key[0].name for key in plans)
    return {
        "plans": dict(sorted(counts.items())),
        "max_plans": MAX_PLANS,
        "kernels": kernels,
        "library_plans": library_plans,
    }
