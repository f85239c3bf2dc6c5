"""Statistics of the caches of plans, kernels and library plans."""

from __future__ import annotations

from collections import Counter
from typing import Any

from ..core import thread
from ..core.plan import Plan
from ..core.thread import CPU, MAX_ENTRIES, Device


def statistics() -> dict[str, dict[str, Any]]:
    """Return, for the CPU and each GPU in use, the numbers of cached plans (prepared calls), kernels and library plans.

    The result is {device: {"plans": {operator: number of plans}, "max_plans": size of the cache of all devices,
    "kernels": number of loaded kernels, "library_plans": number of plans of cuBLAS and cuDNN}}.  Host: returns at once.
    Example:
        >>> x = torch.ones(2, device="cuda") + 1
        >>> torch.statistics()["cuda:0"]["plans"]["add"]
        1
    """
    machine = thread.machine()
    entries = list(machine.plans.entries.items())
    counts = {"cpu": _kept(entries, CPU, 0, 0)}
    for device in machine.devices:
        counts[str(device)] = _kept(entries, device, len(device.kernels), len(device._library_plans))
    return counts


def _kept(entries: list[tuple[Any, Any]], device: Device, kernels: int, library_plans: int) -> dict[str, Any]:
    counts = Counter(key[0].name for key, entry in entries if isinstance(entry, Plan) and entry.device is device)
    return {
        "plans": dict(sorted(counts.items())),
        "max_plans": MAX_ENTRIES,
        "kernels": kernels,
        "library_plans": library_plans,
    }
