"""Ranks as forked processes that meet at a file."""

import faulthandler
import os
import pickle
import select
import signal
import tempfile
import time
from datetime import timedelta

import flambeau as torch
from flambeau import distributed as dist
from flambeau.parallel import exchange, hub, process_group
from flambeau.testing import machine

PATIENCE = 120  # seconds: longer than the limits of collectives in all tests
STACKS = 2.0  # seconds in which a process prints its stacks


def run(function, size, backend="gloo", seconds=30.0, gpus=0, races="error", machines=1):
    """The result of function(rank), or (class, text) of its error, in each of `size` processes that form a group.

    machines: over which the ranks are spread evenly, as they see it.
    """

    def one(rank):
        if machines > 1:
            be_on(rank * machines // size)
        return _rank(function, rank, size, f"file://{folder}/meeting", backend, seconds, gpus, races)

    with tempfile.TemporaryDirectory() as folder:
        return forked(one, size)


def forked(function, size):
    """The result of function(rank) in each of `size` forked processes, or the exit status of one that was killed.

    A process that runs for PATIENCE seconds prints the stacks of its threads, and is killed.
    """
    children = []
    end = time.monotonic() + PATIENCE
    for rank in range(size):
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                faulthandler.register(signal.SIGUSR2, file=2)  # no timer: it waits for ever if the parent has one
                answer = pickle.dumps(function(rank))
                with open(write, "wb") as opened:
                    opened.write(answer)
                process_group.end_hubs()
            finally:
                os._exit(0)
        os.close(write)
        children.append((child, read))
    found = []
    for child, read in children:
        data = _written(read, child, end)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        found.append(pickle.loads(data) if data else status)
    return found


def _written(read, child, end):
    """Return the bytes that a process writes to a pipe; kill it at time `end`, and return b""."""
    parts = []
    with open(read, "rb", buffering=0) as source:
        while True:
            if not select.select([source], [], [], max(0.0, end - time.monotonic()))[0]:
                os.kill(child, signal.SIGUSR2)
                select.select([source], [], [], STACKS)
                os.kill(child, signal.SIGKILL)
                return b""
            part = source.read(65536)
            if not part:
                return b"".join(parts)
            parts.append(part)


def be_on(machine):
    """Let this process take itself for one of a numbered machine.  Except on 0, opening a file of bytes ends it."""
    hub.place_of_processes = exchange.place_of_processes = lambda: f"machine {machine}"
    if machine:
        read = exchange._bytes_of
        exchange._bytes_of = lambda place, part: read(place, part) if place is None else os._exit(1)


def _rank(function, rank, size, method, backend, seconds, gpus, races):
    limit = timedelta(seconds=seconds)
    with machine(devices=max(gpus, 1), races=races):
        try:
            dist.init_process_group(backend, method, limit, size, rank)
            if gpus:
                torch.cuda.set_device(rank % gpus)
            answer = function(rank)
            dist.destroy_process_group()
        except Exception as error:  # noqa: BLE001  (the test looks at it)
            answer = type(error).__name__, str(error)
            if dist.is_initialized():  # not where the rank with the store died while the others began
                dist.destroy_process_group()
    return answer


def die():
    os.kill(os.getpid(), signal.SIGKILL)
