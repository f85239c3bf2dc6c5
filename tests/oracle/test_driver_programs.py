"""Random programs on three streams, against NumPy that runs each step at once.

A program is a list of steps (name, *arguments) on four 32-byte cells of one segment, which blocks divide among
themselves in changing ways, and on two pinned buffers.
"""

from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from flambeau import host
from flambeau.driver.api import CopyKind
from flambeau.driver.virtual.schedule import Delay, Seeded, Submission
from flambeau.errors import RaceError
from tests.driver.virtual.rig import ADD_ONE, BUMP, STRIDED_FILL, Rig

CELL = 32  # bytes
CELLS = 4
STREAMS = 3
BUFFERS = 2

stream = st.integers(0, STREAMS - 1)
cell = st.integers(0, CELLS - 1)
byte = st.integers(0, 254)
buffer = st.integers(0, BUFFERS - 1)

WORK = st.one_of(
    st.tuples(st.just("fill"), stream, cell, st.sampled_from([0, 8, 20]), st.sampled_from([1, 8, 12]), byte),
    st.tuples(st.just("copy"), stream, cell, cell, st.sampled_from([8, CELL])),
    st.tuples(st.just("bump"), stream, cell),
    st.tuples(st.just("add_one"), stream, cell, cell),
    st.tuples(st.just("strided"), stream, cell, st.integers(0, 1), byte),
    st.tuples(st.just("down"), stream, buffer, cell),
    st.tuples(st.just("up"), stream, cell, buffer),
    st.tuples(st.just("put"), stream, cell, byte),
    st.tuples(st.just("read"), stream, cell),
    st.tuples(st.just("blocks"), stream, st.sets(st.integers(1, CELLS - 1))),
)
WAIT = st.one_of(
    st.tuples(st.just("wait"), stream, stream),
    st.tuples(st.just("sync"), stream),
    st.tuples(st.just("poll"), stream),
)
HOST_ACCESS = st.one_of(st.tuples(st.just("peek"), buffer), st.tuples(st.just("poke"), buffer, byte))
START = [("take", 0, 0, CELLS)]


def steps_of(program):
    """The program with each change of blocks as single gives and takes."""
    steps, blocks = list(START), [(0, CELLS)]
    for step in program:
        if step[0] != "blocks":
            steps.append(step)
            continue
        _, on, cuts = step
        steps += [("give", *block) for block in blocks]
        edges = [0, *sorted(cuts), CELLS]
        blocks = list(pairwise(edges))
        steps += [("take", (on + low) % STREAMS, low, high) for low, high in blocks]
    return steps


class Machine:
    """Runs steps on a virtual GPU.  results: all values that the program sees."""

    def __init__(self, races, schedule=None):
        self.rig = Rig(races=races, schedule=schedule)
        self.streams = (self.rig.a, self.rig.b, self.rig.c)
        self.pinned = [self.rig.pinned(CELL) for _ in range(BUFFERS)]
        self.results = []

    def at(self, index):
        return self.rig.memory[0] + index * CELL

    def run(self, steps):
        for step in steps:
            getattr(self, step[0])(*step[1:])
        return self.finish()

    def finish(self):
        self.rig.driver.device_synchronize(0)
        for index in range(CELLS):
            self.read(0, index)
        return self.results + [found.tolist() for _, found in self.pinned]

    def fill(self, on, index, offset, nbytes, value):
        self.rig.fill(self.at(index) + offset, value, nbytes, self.streams[on])

    def copy(self, on, target, source, nbytes):
        self.rig.copy(self.at(target), self.at(source), nbytes, self.streams[on])

    def bump(self, on, index):
        self.rig.launch(BUMP, [self.at(index), CELL // 4], self.streams[on])

    def add_one(self, on, target, source):
        self.rig.launch(ADD_ONE, [self.at(target), self.at(source), CELL // 4], self.streams[on])

    def strided(self, on, index, phase, value):
        layout = ((CELL // 8,), [(2,)])
        self.rig.launch(STRIDED_FILL, [self.at(index) + 4 * phase, layout, float(value)], self.streams[on])

    def down(self, on, target, index):
        self.rig.driver.copy(self.pinned[target][0], self.at(index), CELL, CopyKind.DEVICE_TO_HOST, self.streams[on])

    def up(self, on, index, source):
        self.rig.driver.copy(self.at(index), self.pinned[source][0], CELL, CopyKind.HOST_TO_DEVICE, self.streams[on])

    def put(self, on, index, value):
        staged = np.full(CELL, value, "uint8")
        where = host.address_of(staged)
        self.rig.driver.copy(self.at(index), where, CELL, CopyKind.HOST_TO_DEVICE, self.streams[on])

    def read(self, on, index):
        self.results.append(self.rig.get_bytes(self.at(index), CELL, self.streams[on]))

    def give(self, low, high):
        self.rig.give(self.at(low), (high - low) * CELL)

    def take(self, on, low, high):
        self.rig.take(low * CELL, (high - low) * CELL, self.streams[on])

    def wait(self, waiter, on):
        self.rig.wait(self.streams[waiter], self.streams[on])

    def sync(self, on):
        self.rig.driver.stream_synchronize(self.streams[on])

    def poll(self, on):
        self.rig.driver.stream_query(self.streams[on])

    def peek(self, index):
        self.results.append(self.pinned[index][1].tolist())

    def poke(self, index, value):
        self.pinned[index][1][:] = value


class Eager(Machine):
    """Runs the same steps in NumPy, each at once."""

    def __init__(self):
        self.cells = np.full((CELLS, CELL), 255, "uint8")
        self.pinned = [(0, np.zeros(CELL, "uint8")) for _ in range(BUFFERS)]
        self.results = []

    def finish(self):
        return self.results + self.cells.tolist() + [found.tolist() for _, found in self.pinned]

    def fill(self, on, index, offset, nbytes, value):
        self.cells[index, offset : offset + nbytes] = value

    def copy(self, on, target, source, nbytes):
        self.cells[target, :nbytes] = self.cells[source, :nbytes]

    def bump(self, on, index):
        self.add_one(on, index, index)

    def add_one(self, on, target, source):
        with np.errstate(all="ignore"):
            self.cells[target].view("float32")[:] = self.cells[source].view("float32") + np.float32(1)

    def strided(self, on, index, phase, value):
        self.cells[index].view("float32")[phase::2] = value

    def down(self, on, target, index):
        self.pinned[target][1][:] = self.cells[index]

    def up(self, on, index, source):
        self.cells[index] = self.pinned[source][1]

    def put(self, on, index, value):
        self.cells[index] = value

    def read(self, on, index):
        self.results.append(self.cells[index].tolist())

    def take(self, on, low, high):
        self.cells[low:high] = 255

    def nothing(self, *arguments):
        pass

    give = wait = sync = poll = nothing


def ordered(steps):
    """The steps with a wait for every other stream before each one that would race."""
    machine, result = Machine("error"), []
    for step in steps:
        try:
            getattr(machine, step[0])(*step[1:])
        except RaceError:
            waits = [("wait", step[1], other) for other in range(STREAMS) if other != step[1]]
            for wait in waits:
                machine.wait(*wait[1:])
            getattr(machine, step[0])(*step[1:])
            result += waits
        result.append(step)
    return result


def schedules():
    return [Submission(), Seeded(1), Seeded(2), Delay(0), Delay(2)]


@settings(max_examples=120, deadline=None)
@given(st.lists(WORK | WAIT, max_size=25))
def test_programs_without_a_race_compute_what_eager_numpy_does(program):
    steps = ordered(steps_of(program))
    expected = Eager().run(steps)
    for schedule in schedules():
        assert Machine("real", schedule).run(steps) == expected
    assert Machine("poison", Seeded(3)).run(steps) == expected


@settings(max_examples=120, deadline=None)
@given(st.lists(WORK | WAIT | HOST_ACCESS, max_size=25))
def test_with_poison_nothing_depends_on_the_schedule(program):
    steps = steps_of(program)
    results = [Machine("poison", schedule).run(steps) for schedule in schedules()]
    assert all(result == results[0] for result in results)
