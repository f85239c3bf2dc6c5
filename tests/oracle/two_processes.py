"""Random programs of two processes that hand one block back and forth, beside one oracle.

python -m tests.oracle.two_processes --programs 2000 --seed 1

Each process has two streams.  Who has the block works on it, joins its streams, shares it and records an interprocess
event; the other one's streams wait for that, and for each other: what another process orders, a machine cannot know.
"""

from __future__ import annotations

import argparse
import multiprocessing
import random
from typing import Any

import numpy as np

from flambeau import host
from flambeau.config import virtual_gpus
from flambeau.driver.api import CopyKind
from flambeau.driver.virtual.driver import VirtualDriver
from flambeau.driver.virtual.schedule import Seeded
from flambeau.errors import RaceError

from .happens_before import Access, Oracle
from .random_programs import GRID, SET, UPDATE, View, offsets_of, random_view

CELLS = 4
CELL = 24  # bytes


class Side:
    """One process's machine."""

    def begin(self, races: str, seed: int) -> None:
        self.driver = VirtualDriver(virtual_gpus(1, races=races), Seeded(seed))
        self.driver.start()
        self.streams = [self.driver.stream_create(0, 0) for _ in range(2)]
        self.event = self.driver.event_create(0, False, False, True)

    def own(self) -> tuple[bytes, bytes]:
        """Take the block, and say by what the other one opens memory and event."""
        self.address = self.driver.mem_alloc(0, 4096)
        return self.driver.ipc_export(0, self.address), self.driver.event_ipc_export(self.event)

    def open(self, memory: bytes, event: bytes) -> bytes:
        self.address = self.driver.ipc_open(0, memory)
        self.other = self.driver.event_ipc_open(0, event)
        return self.driver.event_ipc_export(self.event)

    def meet(self, event: bytes) -> None:
        self.other = self.driver.event_ipc_open(0, event)

    def end(self, is_owner: bool) -> None:
        self.driver.device_synchronize(0)
        if not is_owner:
            self.driver.ipc_close(0, self.address)

    def wait(self, waiter: int, on: int) -> None:
        event = self.driver.event_create(0, False, False, False)
        self.driver.event_record(event, self.streams[on])
        self.driver.stream_wait_event(self.streams[waiter], event)

    def give(self) -> None:
        self.wait(0, 1)
        self.driver.block_shared(0, self.address, CELLS * CELL, self.streams[0])
        self.driver.event_record(self.event, self.streams[0])

    def receive(self) -> None:
        self.driver.stream_wait_event(self.streams[0], self.other)
        self.wait(1, 0)

    def synchronize(self, on: int) -> None:
        self.driver.stream_synchronize(self.streams[on])

    def work(self, name: str, on: int, cell: int, view: View, bits: int) -> bool:
        """Whether it was done; a race refuses it."""
        kernel = {"set": SET, "update": UPDATE}[name]
        handle = self.driver.kernel_load(0, kernel)
        values = [self.address + cell * CELL + view[0], (view[1], [view[2]]), bits]
        try:
            self.driver.launch(handle, GRID, kernel.pack(values), self.streams[on])
        except RaceError:
            return False
        return True

    def read(self, on: int, cell: int) -> list[int] | None:
        found = np.empty(CELL, "uint8")
        where = host.address_of(found), self.address + cell * CELL
        try:
            self.driver.copy(*where, CELL, CopyKind.DEVICE_TO_HOST, self.streams[on])  # type: ignore[arg-type]
        except RaceError:
            return None
        return found.tolist()


def serve(connection: Any) -> None:
    """The other process: calls of a Side, until there are no more."""
    side = Side()
    while True:
        call = connection.recv()
        if call is None:
            return
        connection.send(getattr(side, call[0])(*call[1:]))


class Other:
    """The Side in another process."""

    def __init__(self) -> None:
        self._connection, theirs = multiprocessing.Pipe()
        self._process = multiprocessing.get_context("spawn").Process(target=serve, args=(theirs,), daemon=True)
        self._process.start()

    def __getattr__(self, name: str) -> Any:
        def call(*arguments: Any) -> Any:
            self._connection.send((name, *arguments))
            return self._connection.recv()

        return call

    def stop(self) -> None:
        self._connection.send(None)
        self._process.join()


def check(seed: int, other: Other, races: str) -> None:
    """Run the program of a seed.  Raises: AssertionError."""
    rng = random.Random(seed)
    sides: list[Any] = [Side(), other]
    oracle = Oracle()
    hosts = [0, 0]
    for at, side in enumerate(sides):
        side.begin(races, seed + at)
        for on in range(2):
            oracle.lane((at, on))
    memory, event = sides[0].own()
    sides[0].meet(sides[1].open(memory, event))
    has = 0
    for _ in range(rng.randrange(5, 40)):
        oracle.host, side, on, cell = hosts[has], sides[has], rng.randrange(2), rng.randrange(CELLS)
        step = rng.choice(["give", "wait", "synchronize", "work", "work", "work", "read"])
        if step == "give":
            side.give()
            oracle.wait((has, 0), oracle.done[has, 1])
            point = oracle.done[has, 0]
            oracle.run(point)
            has = 1 - has
            sides[has].receive()
            for each in range(2):
                oracle.wait((has, each), point | oracle.done[has, 0])
        elif step == "wait":
            side.wait(on, 1 - on)
            oracle.wait((has, on), oracle.done[has, 1 - on])
        elif step == "synchronize":
            side.synchronize(on)
            oracle.host_waits(oracle.done[has, on])
        elif step == "work":
            name, view, bits = rng.choice(["set", "update"]), random_view(rng), rng.randrange(255)
            access = Access(cell * CELL, offsets_of(view), name == "update", True)
            races_now = bool(oracle.racing((has, on), [access]))
            done = side.work(name, on, cell, view, bits)
            assert done == (not races_now or races == "poison"), f"program {seed}: done {done}, a race {races_now}"
            if done:
                compute = (lambda out, bits=bits: [out | np.uint8(bits)]) if name == "update" else (
                    lambda out, bits=bits: [np.full(out.shape, bits, "uint8")]
                )  # fmt: skip
                oracle.submit((has, on), [access], compute)
        else:
            access, seen = Access(cell * CELL, range(CELL), True, False), []
            races_now = bool(oracle.racing((has, on), [access]))
            found = side.read(on, cell)
            assert (found is None) == (races_now and races == "error"), f"program {seed}: {found}, a race {races_now}"
            if found is not None:
                oracle.submit((has, on), [access], lambda source, seen=seen: seen.append(source.tolist()) or [])
                oracle.host_waits(oracle.done[has, on])
                assert found == seen[0], f"program {seed}, {races}: read {found}, expected {seen[0]}"
        hosts[1 - has if step == "give" else has] = oracle.host
    for at in (1, 0):
        sides[at].end(at == 0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--programs", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0, help="of the first program")
    chosen = parser.parse_args()
    other = Other()
    for seed in range(chosen.seed, chosen.seed + chosen.programs):
        for races in ("error", "poison"):
            check(seed, other, races)
    other.stop()
    print(f"{chosen.programs} programs of two processes from seed {chosen.seed}: all as the oracle says")


if __name__ == "__main__":
    main()
