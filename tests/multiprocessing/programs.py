"""Functions for processes of the tests; spawned processes import them by name."""

import os
import signal

import flambeau as torch
import flambeau.multiprocessing as mp


def double(x):
    return (x * 2).tolist()


def made(count):
    return torch.ones(count, device="cuda")


def fill_and_end(x, value):
    """Nothing waits for what it queues."""
    x.fill_(value)


def add(x, value=0.0):
    x += value
    torch.cuda.synchronize()


def add_on_cpu(*tensors):
    for each in tensors:
        each += 1


class Adder(mp.Process):
    def __init__(self, x, value):
        super().__init__()
        self.x, self.value = x, value

    def run(self):
        add(self.x, self.value)


def fill_row(index, table):
    table[index] = index + 1.0
    torch.cuda.synchronize()


def fail_at(index, which):
    if index == which:
        raise ValueError(f"no luck in {index}")
    signal.pause()


def fail_at_length(index, size):
    raise ValueError(f"the beginning{'x' * size}the end")


def end_at(index, which, how):
    if index == which:
        if isinstance(how, str):
            os.kill(os.getpid(), signal.Signals[how])
        os._exit(how)
    signal.pause()


def nothing(index):
    """The body of an idle process."""


def what_gpus(queue):
    """The choice comes with the process, before anything was sent."""
    queue.put((torch.cuda.device_count(), torch.cuda.is_initialized(), mp.get_start_method()))
