"""Which worker process of a DataLoader this one is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class WorkerInfo:
    """A worker's number `id`, from 0, of `num_workers`; the seed of its generators; its copy of the dataset."""

    id: int
    num_workers: int
    seed: int
    dataset: Any


_worker_info: WorkerInfo | None = None


def get_worker_info() -> WorkerInfo | None:
    """In a worker process of a DataLoader: which one it is.  None in any other process."""
    return _worker_info


def set_worker_info(info: WorkerInfo) -> None:
    """Make this process that worker."""
    global _worker_info
    _worker_info = info
