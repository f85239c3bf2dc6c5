"""Leak test: kills processes that hold shared tensors at arbitrary moments, and checks that nothing leaks.

    python -m flambeau.testing.kills --rounds 1000 --seed 7

Each round starts two consumers from a fork server, sends them tensors of a GPU and of the CPU, has them pass some on to
each other and drop some, and kills one or both: at once, after some answers, or, with `--late`, after a moment.  After
every round this process must hold no more device memory, descriptors and IPC entries than before the first.
"""

from __future__ import annotations

import argparse
import gc
import os
import random
import signal
import sys
import time
from collections.abc import Sequence
from contextlib import nullcontext
from multiprocessing import forkserver
from typing import Any, NamedTuple

from ... import config
from ... import multiprocessing as mp
from ...core import thread
from ...errors import FlambeauError, ProcessGoneError
from ...runtime import control, cuda_memory, shared_memory
from ...tensor import Tensor, full, ones
from ..machine import machine

DEFAULT_ROUNDS, DEFAULT_SEED = 50, 7
MOST_TENSORS = 6  # sent in one round
MOST_ELEMENTS = 400_000  # of one tensor, so that both the small and the large pool are used
LATEST = 0.02  # seconds, the longest delay of a late kill
PRELOAD = ["flambeau.testing.kills", "flambeau.driver.virtual.driver", "numpy"]


class LeakError(FlambeauError, AssertionError):
    """Memory, descriptors or references were not released."""


class Figures(NamedTuple):
    """Counts that must not grow: bytes of device memory, open files, IPC handles and references, shared storages."""

    allocated: int
    files: int
    lent: int
    borrowed: int
    in_flight: int
    host_in_flight: int


def figures() -> Figures:
    """The counts of this process, after collecting everything that can be released."""
    control.ipc_collect()
    report = control.ipc_report()
    handles, _ = shared_memory.host_side().exports.accounts()
    files = len(os.listdir("/proc/self/fd"))
    held = len(report.lent), len(report.borrowed), len(report.in_flight)
    return Figures(cuda_memory.memory_allocated(), files, *held, len(handles))


def consume(inbox: Any, outbox: Any, neighbour: Any) -> None:
    """Main function of a consumer: receive, write, keep, drop, pass on and send back, until it is killed."""
    kept: list[Any] = []
    while True:
        try:
            what, tensor = inbox.get()
            tensor += 1
            if what == "keep":
                kept.append(tensor)
            elif what == "pass":
                neighbour.put(("keep", tensor))
            elif what == "return":
                outbox.put((tensor * 2, tensor))
            elif kept:
                kept.pop()
            outbox.put(what)
        except ProcessGoneError:
            outbox.put("gone")  # a neighbour was killed while it forwarded this tensor
        tensor = None


class Round:
    """One round: two consumers with their queues."""

    def __init__(self, context: Any, chance: random.Random) -> None:
        self.chance = chance
        self.outbox = context.SimpleQueue()
        self.inboxes = [context.SimpleQueue() for _ in range(2)]
        self.consumers = [
            context.Process(target=consume, args=(self.inboxes[i], self.outbox, self.inboxes[1 - i]), daemon=True)
            for i in range(2)
        ]
        for consumer in self.consumers:
            consumer.start()

    def run(self, late: bool) -> None:
        """Send tensors, receive some answers, kill consumers and clean up."""
        sent = self._send()
        for _ in range(self.chance.randrange(sent + 1)):
            self._listen()
        if late:
            time.sleep(self.chance.uniform(0, LATEST))
        order = self.chance.sample(self.consumers, 2)
        for consumer in order[: self.chance.randint(1, 2)]:
            os.kill(consumer.pid, signal.SIGKILL)
        self._clear_up()

    def _send(self) -> int:
        count = self.chance.randrange(1, MOST_TENSORS + 1)
        for _ in range(count):
            size = self.chance.randrange(1, MOST_ELEMENTS)
            tensor = full((size,), 2.0, device="cuda") if self.chance.random() < 0.7 else ones(size)
            what = self.chance.choice(("keep", "drop", "pass", "return"))
            self.chance.choice(self.inboxes).put((what, tensor))
        return count

    def _listen(self) -> None:
        answer = self.outbox.get()
        if isinstance(answer, tuple):
            double, own = answer
            assert isinstance(double, Tensor) and isinstance(own, Tensor)

    def _clear_up(self) -> None:
        """Kill the remaining consumers and withdraw the queues' messages."""
        for consumer in self.consumers:
            consumer.kill()
            consumer.join()
            consumer.close()
        for queue in (*self.inboxes, self.outbox):
            queue.withdraw()
            queue.close()


def run(rounds: int, seed: int, late: bool = False) -> Figures:
    """Run rounds on a virtual GPU, or on an NVIDIA one if FLAMBEAU_GPUS selects it; return the counts before the first.

    Raises: LeakError, which names the round.
    """
    context = mp.get_context("forkserver")
    context.set_forkserver_preload(PRELOAD)
    forkserver.ensure_running()
    chosen = config.gpus()
    with nullcontext() if chosen is not None and chosen.kind == "nvidia" else machine():
        chance = random.Random(seed)
        Round(context, chance).run(late)  # makes everything that is made once per process
        gc.collect()
        before = figures()
        for number in range(rounds):
            Round(context, chance).run(late)
            after = figures()
            if any(now > then for now, then in zip(after, before)):
                raise LeakError(
                    f"round {number} of seed {seed} left {after}, before it {before}\n{control.ipc_report()}",
                    operator="kills",
                )
        thread.machine().devices[0].allocator.empty_cache()
        return before


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m flambeau.testing.kills", description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=DEFAULT_ROUNDS, help=f"how many (default: {DEFAULT_ROUNDS})")
    parser.add_argument("--seed", type=int, default=DEFAULT_SEED, help=f"of the choices (default: {DEFAULT_SEED})")
    parser.add_argument("--late", action="store_true", help="kill after a moment, not only between messages")
    chosen = parser.parse_args(arguments)
    start = time.monotonic()
    try:
        counts = run(chosen.rounds, chosen.seed, chosen.late)
    except LeakError as error:
        print(error, file=sys.stderr)
        return 1
    print(f"{chosen.rounds} rounds, nothing leaked: {counts}; {time.monotonic() - start:.0f} s")
    return 0
