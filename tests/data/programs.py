"""Functions for worker processes of the tests; spawned workers import them by name."""

from __future__ import annotations

import os
import random
import signal
import threading

import numpy as np

import flambeau as torch
from flambeau.data import Dataset, IterableDataset, get_worker_info


class Told(Exception):
    """An exception of a module, with a text alone."""


class Numbers(Dataset):
    """0, 1, 2 … as tensors."""

    def __init__(self, count: int) -> None:
        self.count = count

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index):
        return torch.tensor(float(index))


class Called(Numbers):
    """A dataset that calls a function with each index."""

    def __init__(self, count, function):
        super().__init__(count)
        self.function = function

    def __getitem__(self, index):
        return self.function(index)


class Stream(IterableDataset):
    """A worker's share of 0, 1, 2 …: every num_workers-th."""

    def __init__(self, count: int) -> None:
        self.count = count

    def __iter__(self):
        info = get_worker_info()
        return iter(range(info.id, self.count, info.num_workers))


def at(index, function):
    """A function of an index that calls another one at one index, and gives the index at all others."""
    return lambda each: function() if each == index else each


DEADLY_SIZE = 100_000


class Deadly(Numbers):
    """Samples large enough for files of their own; the process is killed where it makes one of them."""

    def __init__(self, count, at):
        super().__init__(count)
        self.at = at

    def __getitem__(self, index):
        if index == self.at:
            die()
        return torch.full((DEADLY_SIZE,), float(index))


def interrupt_group(index):
    """Interrupt all processes of this group at one index, as the keyboard does."""
    if index == 5:
        os.killpg(0, signal.SIGINT)
        stop()
    return index


def tell():
    raise Told("it did not work")


def die():
    os.kill(os.getpid(), signal.SIGKILL)


def leave():
    os._exit(3)


def stop():
    signal.pause()


def who(index):
    """Of this worker: pid, number, how many, seed; the library's seed, and one number each of Python and NumPy."""
    info = get_worker_info()
    numbers = random.random(), np.random.rand()
    return os.getpid(), info.id, info.num_workers, info.seed, torch.initial_seed(), *numbers


def state_of_numpy(index):
    return np.random.get_state()[1].tolist()


def mark(worker):
    get_worker_info().dataset.count = 100 + worker


def refuse(worker):
    raise Told(f"worker {worker} does not start")


def on_gpu(index):
    return torch.full((3,), float(index), device="cuda")


class Unpinnable:
    def pin_memory(self):
        raise Told("no room")


class Where:
    """It says on which device, and in which thread, it was pinned."""

    def __init__(self):
        self.found = None

    def pin_memory(self):
        self.found = torch.cuda.current_device(), threading.current_thread().name
        return self


def where(index):
    return Where()
