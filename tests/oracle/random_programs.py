"""Random programs on virtual GPUs, step by step beside the oracle of happens_before.py.

python -m tests.oracle.random_programs --programs 20000 --seed 1

A program is what a generator of random numbers makes of its seed: streams of two devices, events, blocks of the caching
allocators with and without record_stream, views with gaps, pinned memory, copies, host accesses, waits and graphs.

- races="error": a step raises exactly if the oracle says so; then it is made again after the waits that the error
  names, and has to pass.  A launch of a graph is refused as a whole.
- races="poison": every value that is read is the oracle's.
- A model that follows a driver (driver/virtual/followed.py) reports a race of a step exactly if the oracle says so.
- races="real": the program that the waits made of it computes the oracle's values under every schedule that is tried.
"""

from __future__ import annotations

import argparse
import random
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import cycle, islice
from typing import Any

import numpy as np

from flambeau import host
from flambeau.config import virtual_gpus
from flambeau.core.queue import HotCalls
from flambeau.driver.api import Address, CaptureMode, CopyKind
from flambeau.driver.virtual.driver import VirtualDriver
from flambeau.driver.virtual.followed import FollowedDriver
from flambeau.driver.virtual.races import awaited_queue, needed_of
from flambeau.driver.virtual.schedule import Delay, Schedule, Seeded
from flambeau.dtypes import uint8
from flambeau.errors import RaceError
from flambeau.kernel import Access as HostAccess
from flambeau.kernel import Grid, Kernel, Pointer, Scalar, Strided
from flambeau.memory.allocator import CachingAllocator
from flambeau.memory.pinned import PinnedCache
from flambeau.testing.schedules import every_schedule

from .happens_before import GRAIN, Access, Oracle

GRID = Grid((1, 1, 1), 32)
DEVICES = 2
STREAMS = 3  # of each device
NBYTES = 24  # of a tensor
BLOCKS = ((24, 0), (500, 320), (64, 8), (512, 0), (200, 176))  # bytes of a block, and where in it the tensor lies
HOST = "the host"


def _mix(out: Any, source: Any, bits: int) -> None:
    np.bitwise_or(source, np.uint8(bits), out=out)


def _update(out: Any, bits: int) -> None:
    out |= np.uint8(bits)


def _set(out: Any, bits: int) -> None:
    out[...] = bits


MIX = Kernel(
    "mix",
    "",
    [
        Pointer("out", uint8, "w", "layout"),
        Pointer("source", uint8, "r", "layout"),
        Strided("layout", ("out", "source")),
        Scalar("bits", "int32"),
    ],
    _mix,
)
ONE = [Pointer("out", uint8, "rw", "layout"), Strided("layout", ("out",)), Scalar("bits", "int32")]
UPDATE = Kernel("update", "", ONE, _update)
SET = Kernel("set", "", [Pointer("out", uint8, "w", "layout"), *ONE[1:]], _set)

View = tuple[int, tuple[int, ...], tuple[int, ...]]  # offset, shape and strides, in bytes
Step = tuple[Any, ...]


def offsets_of(view: View) -> list[int]:
    start, shape, strides = view
    found = [start]
    for size, stride in zip(shape, strides):
        found = [at + index * stride for at in found for index in range(size)]
    return found


class Tensor:
    def __init__(self, block: Any, device: int | None, offset: int = 0) -> None:
        self.block = block
        self.address = int(block.address) + offset
        self.device = device


class Watched(HotCalls):
    """The frequent calls of a driver.  `taken` sees the blocks that allocators take."""

    def __init__(self, driver: VirtualDriver) -> None:
        super().__init__(driver)
        self.real = driver.hot
        self.taken: Callable[..., None] = self.real.block_taken

    def block_taken(self, device: int, address: Address, nbytes: int, stream: Any) -> None:
        self.taken(device, address, nbytes, stream)

    def block_given(self, device: int, address: Address, nbytes: int) -> None:
        self.real.block_given(device, address, nbytes)


class Machine:
    """A virtual machine and, beside it, the oracle."""

    def __init__(self, races: str, schedule: Schedule | None = None, is_ordered: bool = False) -> None:
        self.races = races
        self.is_ordered = is_ordered
        self.oracle = Oracle()
        self.blocks = cycle(BLOCKS)
        self.sizes: dict[int, int] = {}  # of the blocks, by address
        self.driver = self.make_driver(schedule)
        self.driver.start()
        self.hot = self.driver.hot = Watched(self.driver)
        self.points: dict[int, int] = {}  # what the latest record of an event has done
        self.streams = [[self.driver.stream_create(device, 0) for _ in range(STREAMS)] for device in range(DEVICES)]
        self.device_of = {each: device for device, streams in enumerate(self.streams) for each in streams}
        for each in self.device_of:
            self.oracle.lane(each)
        for device in range(DEVICES):
            self.driver.peer_enable(device, 1 - device)
        self._watch_allocators()
        self.allocators = [CachingAllocator(self.driver, device, self.record_event) for device in range(DEVICES)]
        self.pinned_cache = PinnedCache(self.driver, self.record_event)
        self.events = [[self.new_event(device) for _ in range(2)] for device in range(DEVICES)]
        self.tensors: list[Tensor] = []
        self.pinned: list[Tensor] = []
        self.graphs: list[Graph] = []

    def make_driver(self, schedule: Schedule | None) -> VirtualDriver:
        return VirtualDriver(virtual_gpus(DEVICES, races=self.races), schedule)

    # the allocators' own calls, of which the oracle has to know when they answer "done"
    def new_event(self, device: int) -> int:
        return self.driver.event_create(device, False, False, False)

    def record_event(self, stream: int) -> int:
        event = self.new_event(self.device_of[stream])
        self.record(event, stream)
        return event

    def _watch_allocators(self) -> None:
        finished = self.driver.block_finished

        def block_finished(address: int, event: int) -> None:
            finished(address, event)  # type: ignore[arg-type]
            self.oracle.run(self.points[event])
            nbytes = self.sizes.get(address, GRAIN)
            self.oracle.forget(address // GRAIN, self.points[event], (1 << nbytes) - 1)

        self.driver.block_finished = block_finished  # type: ignore[method-assign, assignment]

    # order
    def record(self, event: int, stream: int) -> None:
        self.driver.event_record(event, stream)  # type: ignore[arg-type]
        self.points[event] = self.oracle.done[stream]

    def wait_event(self, stream: int, event: int) -> None:
        self.driver.stream_wait_event(stream, event)  # type: ignore[arg-type]
        self.oracle.wait(stream, self.points.get(event, 0))

    def wait_stream(self, stream: int, other: int) -> None:
        event = self.record_event(other)
        self.wait_event(stream, event)

    def query_event(self, event: int) -> None:
        if self.driver.event_query(event):  # type: ignore[arg-type]
            self.oracle.host_waits(self.points.get(event, 0))

    def query_stream(self, stream: int) -> None:
        if self.driver.stream_query(stream):  # type: ignore[arg-type]
            self.oracle.host_waits(self.oracle.done[stream])

    def sync_event(self, event: int) -> None:
        self.driver.event_synchronize(event)  # type: ignore[arg-type]
        self.oracle.host_waits(self.points.get(event, 0))

    def sync_stream(self, stream: int) -> None:
        self.driver.stream_synchronize(stream)  # type: ignore[arg-type]
        self.oracle.host_waits(self.oracle.done[stream])

    def sync_device(self, device: int) -> None:
        self.driver.device_synchronize(device)
        for each in self.streams[device]:
            self.oracle.host_waits(self.oracle.done[each])

    # work
    def attempt(self, lane: Any, call: Callable[[], Any], racing: list[tuple]) -> Any:
        """Make a call that races as the oracle says: after the waits that are missing, if the program is ordered."""
        wanted = _needed(racing)
        if self.is_ordered:
            self.order(lane, wanted)
        if self.races != "error" or not racing:
            return call()
        try:
            call()
        except RaceError as error:
            said = {int(match) for each in error.missing for match in re.findall(r"stream (\d+)$", each.awaited)}
            assert said == wanted, f"the error says {said}, the oracle {wanted}: {error}"
            self.order(lane, said)
        else:
            raise AssertionError(f"a race was missed: {[each[1].lane for each in racing]}")
        return call()

    def order(self, lane: Any, others: set[int]) -> None:
        for other in sorted(others):
            if lane is HOST:
                self.sync_stream(other)
            else:
                self.wait_stream(lane, other)

    def work(self, stream: int, accesses: list[Access], compute: Callable, call: Callable[[], None]) -> None:
        self.attempt(stream, call, self.oracle.racing(stream, accesses))
        self.oracle.submit(stream, accesses, compute)

    def launch(self, kernel: Kernel, values: list[Any], stream: int) -> None:
        handle = self.driver.kernel_load(self.device_of[stream], kernel)
        self.hot.real.launch(handle, GRID, kernel.pack(values), stream)  # type: ignore[arg-type]

    def kernel_step(self, name: str, stream: int, views: list[tuple[Tensor, View]], bits: int) -> tuple[Any, ...]:
        """(accesses, compute, call) of a kernel on views of one shape."""
        shape = views[0][1][1]
        addresses = [tensor.address + view[0] for tensor, view in views]
        layout = (shape, [view[2] for _, view in views])
        modes = {"mix": ((False, True), (True, False)), "update": ((True, True),), "set": ((False, True),)}[name]
        accesses = [Access(tensor.address, offsets_of(view), *mode) for (tensor, view), mode in zip(views, modes)]
        computes = {
            "mix": lambda out, source: [source | np.uint8(bits)],
            "update": lambda out: [out | np.uint8(bits)],
            "set": lambda out: [np.full(out.shape, bits, "uint8")],
        }
        kernel = {"mix": MIX, "update": UPDATE, "set": SET}[name]
        return accesses, computes[name], lambda: self.launch(kernel, [*addresses, layout, bits], stream)

    def copy_step(self, stream: int, dst: Tensor, src: Tensor, kind: CopyKind) -> tuple[Any, ...]:
        whole = range(NBYTES)
        accesses = [Access(dst.address, whole, False, True), Access(src.address, whole, True, False)]
        call = lambda: self.driver.copy(dst.address, src.address, NBYTES, kind, stream)  # type: ignore[arg-type]  # noqa: E731
        return accesses, lambda out, source: [source], call

    def read(self, stream: int, tensor: Tensor) -> None:
        """A copy to pageable memory, which the host waits for."""
        found = np.empty(NBYTES, "uint8")
        access = Access(tensor.address, range(NBYTES), True, False)
        seen: list[Any] = []

        def compute(source: Any) -> list[Any]:
            seen.append(source.tolist())
            return []

        where = host.address_of(found)
        self.work(
            stream,
            [access],
            compute,
            lambda: self.driver.copy(where, tensor.address, NBYTES, CopyKind.DEVICE_TO_HOST, stream),  # type: ignore[arg-type]
        )
        self.oracle.host_waits(self.oracle.done[stream])
        self.compare(found.tolist(), seen[0])

    def compare(self, found: list[int], expected: list[int]) -> None:
        """Compare the values that a step read with the oracle's."""
        assert found == expected, f"read {found}, expected {expected}"

    def launch_graph(self, call: Callable[[], None], races: bool) -> None:
        call()

    # memory
    def allocate(self, stream: int) -> None:
        """The oracle learns from the call where the block lies, and says afterwards whether that was to raise."""
        device = self.device_of[stream]
        block_taken = self.hot.real.block_taken

        def observed(on: int, address: int, nbytes: int, by: int) -> None:
            self.sizes[address] = nbytes
            access = Access(address, range(nbytes), False, True)
            found = self.oracle.racing(by, [access])
            self.attempt(by, lambda: block_taken(on, address, nbytes, by), found)  # type: ignore[arg-type]
            self.oracle.take(by, access)

        self.hot.taken = observed
        nbytes, offset = next(self.blocks)
        try:
            block = self.allocators[device].allocate(nbytes, stream)  # type: ignore[arg-type]
            self.tensors.append(Tensor(block, device, offset))
        finally:
            self.hot.taken = block_taken

    def free(self, tensor: Tensor) -> None:
        self.tensors.remove(tensor)
        assert tensor.device is not None
        self.allocators[tensor.device].free(tensor.block)

    def record_stream(self, tensor: Tensor, stream: int) -> None:
        assert tensor.device is not None
        self.allocators[tensor.device].record_stream(tensor.block, stream)  # type: ignore[arg-type]

    def allocate_pinned(self) -> None:
        driver = self.driver
        host_taken = type(driver).host_taken

        def observed(address: int, nbytes: int) -> None:
            whole = Access(address, range(512), False, True)
            found = self.oracle.racing(HOST, [whole])
            self.attempt(HOST, lambda: host_taken(driver, address, nbytes), found)  # type: ignore[arg-type]
            self.oracle.take_pinned(whole)

        driver.host_taken = observed  # type: ignore[method-assign, assignment]
        try:
            made = Tensor(self.pinned_cache.allocate(NBYTES), None)
        finally:
            del driver.host_taken
        self.pinned.append(made)
        grain = made.address // 512
        if grain not in self.oracle.memory:
            self.oracle.array(grain)[:] = 0

    def free_pinned(self, tensor: Tensor) -> None:
        self.pinned.remove(tensor)
        self.pinned_cache.free(tensor.block)

    def record_pinned(self, tensor: Tensor, stream: int) -> None:
        self.pinned_cache.record_stream(tensor.block, stream)  # type: ignore[arg-type]

    def touch_pinned(self, tensor: Tensor, value: int | None) -> None:
        """The host reads pinned memory, or writes `value`: where races are no errors, only if nothing uses it."""
        mode = "r" if value is None else "w"
        racing = self.oracle.racing(HOST, [Access(tensor.address, range(NBYTES), value is None, value is not None)])
        if racing and self.races != "error":
            return
        access = HostAccess(tensor.address, uint8, mode, (NBYTES,), None)
        self.attempt(HOST, lambda: self.driver.host_accessed(access), racing)
        found, expected = host.bytes_at(tensor.address, NBYTES), self.oracle.array(tensor.address // 512)
        start = tensor.address % 512
        if value is None:
            self.compare(found.tolist(), expected[start : start + NBYTES].tolist())
        else:
            found[:] = value
            expected[start : start + NBYTES] = value

    def finish(self) -> None:
        for device in range(DEVICES):
            self.sync_device(device)
        for tensor in self.tensors:
            self.read(self.streams[tensor.device or 0][0], tensor)
        for tensor in self.pinned:
            self.touch_pinned(tensor, None)


class Found:
    """A witness of a driver.  awaited: the streams for which the last step had to wait."""

    place = 0

    def __init__(self) -> None:
        self.awaited: set[int] = set()

    def found(self, queue: Any, name: str, call: Any, waited: Any, conflicts: Any, accesses: Any) -> None:
        self.awaited |= {awaited_queue(conflict.use).handle for conflict in needed_of(conflicts)}

    def begins(self, *arguments: Any) -> None:
        """Ignore it, as the next five."""

    began = submitted = point = learns = host_learns = begins


class Followed(Machine):
    """A machine whose driver a model follows.  A race is reported, and the program goes on."""

    def __init__(self) -> None:
        self.found = Found()
        super().__init__("real")

    def make_driver(self, schedule: Schedule | None) -> VirtualDriver:
        real = VirtualDriver(virtual_gpus(DEVICES, races="real"), schedule)
        driver = FollowedDriver(virtual_gpus(DEVICES), real)
        driver.watch(self.found)
        return driver

    def attempt(self, lane: Any, call: Callable[[], Any], racing: list[tuple]) -> Any:
        self.found.awaited = set()
        result = call()
        wanted = _needed(racing)
        assert self.found.awaited == wanted, f"the model says {self.found.awaited}, the oracle {wanted}"
        return result

    def launch_graph(self, call: Callable[[], None], races: bool) -> None:
        self.found.awaited = set()
        call()
        assert bool(self.found.awaited) == races, f"the model says {self.found.awaited}, the oracle {races}"

    def compare(self, found: list[int], expected: list[int]) -> None:
        """The values that race are any."""

    def sync_during(self, stream: int, call: Callable[[], None]) -> None:
        """Wait for a stream; another thread makes a call meanwhile, when the stream's earlier work is done."""
        assert isinstance(self.driver, FollowedDriver)
        real = self.driver._real
        point, synchronize = self.oracle.done[stream], real.stream_synchronize

        def synchronized(handle: Any) -> None:
            real.stream_synchronize = synchronize  # type: ignore[method-assign]
            synchronize(handle)
            in_thread(call)

        real.stream_synchronize = synchronized  # type: ignore[method-assign]
        self.driver.stream_synchronize(stream)  # type: ignore[arg-type]
        self.oracle.host_waits(point)

    def finish(self) -> None:
        super().finish()
        assert isinstance(self.driver, FollowedDriver)
        assert self.driver.lost == ""


def in_thread(call: Callable[[], None]) -> None:
    """Make a call in a thread, and raise what it raises."""
    with ThreadPoolExecutor(1) as pool:
        pool.submit(call).result()


def _needed(racing: list[tuple]) -> set[int]:
    """The streams that have to be waited for: those whose racing work no other racing stream's work comes after."""
    latest: dict[int, Any] = {}
    for _, older, _, _ in racing:
        if older.lane not in latest or older.bit > latest[older.lane].bit:
            latest[older.lane] = older
    return {
        lane
        for lane, older in latest.items()
        if not any(other.lane != lane and older.bit & other.before for other in latest.values())
    }


class Graph:
    """A captured fork and join.  nodes: (branch, accesses, compute), branch 0 on the stream that launches."""

    def __init__(self, machine: Machine, stream: int, other: int, plan: list[Step], tensors: list[Tensor]) -> None:
        self.machine, self.stream = machine, stream
        self.nodes: list[tuple[int, list[Access], Callable]] = []
        self.last = 0
        self.tensors = tensors
        driver, event = machine.driver, machine.new_event(machine.device_of[stream])
        driver.capture_begin(stream, CaptureMode.RELAXED)  # type: ignore[arg-type]
        driver.event_record(event, stream)  # type: ignore[arg-type]
        driver.stream_wait_event(other, event)  # type: ignore[arg-type]
        for branch, name, views, bits in plan:
            on = (stream, other)[branch]
            chosen = [(tensors[at % len(tensors)], view) for at, view in views]
            accesses, compute, call = machine.kernel_step(name, on, chosen, bits)
            call()
            self.nodes.append((branch, accesses, compute))
        driver.event_record(event, other)  # type: ignore[arg-type]
        driver.stream_wait_event(stream, event)  # type: ignore[arg-type]
        self.handle = driver.graph_instantiate(driver.capture_end(stream))  # type: ignore[arg-type]

    def launch(self) -> None:
        """On the stream that captured it.  A graph whose own nodes race is launched only where that is no error."""
        machine, stream = self.machine, self.stream
        oracle = machine.oracle
        start = oracle.done[stream] | self.last
        racing = [race for _, accesses, _ in self.nodes for race in oracle.racing(stream, accesses, start)]

        def call() -> None:
            machine.driver.graph_launch(self.handle, stream)

        races_itself = self._races_itself()
        if races_itself and (machine.races == "error" or machine.is_ordered):
            if machine.races == "error":
                _refused(call)
            return
        if machine.races == "error" and racing:
            _refused(call)
        if racing and (machine.races == "error" or machine.is_ordered):
            for other in {older.lane for _, older, _, _ in racing}:
                machine.wait_stream(stream, other)
        machine.launch_graph(call, bool(racing) or races_itself)
        self._submit(oracle)

    def _races_itself(self) -> bool:
        pairs = [(one, two) for one in self.nodes for two in self.nodes if one[0] < two[0]]
        return any(
            (a.writes or b.writes) and a.grain == b.grain and bool(a.bits & b.bits)
            for one, two in pairs
            for a in one[1]
            for b in two[1]
        )

    def _submit(self, oracle: Oracle) -> None:
        start = oracle.done[self.stream] | self.last
        done = [start, start]
        for branch, accesses, compute in self.nodes:
            done[branch] = oracle.submit(self.stream, accesses, compute, done[branch]).before
        oracle.done[self.stream] = self.last = done[0] | done[1]


def _refused(call: Callable[[], None]) -> None:
    try:
        call()
    except RaceError:
        return
    raise AssertionError("a race of a graph was missed")


# programs
SHAPES = (((8,), (1,)), ((6,), (2,)), ((4,), (3,)), ((5,), (4,)), ((2, 3), (8, 2)), ((3, 2), (7, 1)), ((2, 2), (5, 3)))


def random_view(rng: random.Random, shape: tuple[int, ...] | None = None) -> View:
    """Of one shape, if given, so that two views are alike."""
    sizes, strides = rng.choice([each for each in SHAPES if shape is None or len(each[0]) == len(shape)])
    if shape is not None:
        sizes, strides = shape, rng.choice([(1,), (2,)] if len(shape) == 1 else [(3, 1), (7, 2), (2, 5)])
    extent = 1 + sum((size - 1) * stride for size, stride in zip(sizes, strides))
    return rng.randrange(NBYTES - extent + 1), sizes, strides


def random_kernel(rng: random.Random) -> tuple[str, list[View], int]:
    name = rng.choice(["mix", "mix", "update", "set"])
    first = random_view(rng)
    views = [first, random_view(rng, first[1])] if name == "mix" else [first]
    return name, views, rng.randrange(255)


class Program:
    """Steps that a generator of random numbers picks for a machine."""

    def __init__(self, machine: Machine, seed: int) -> None:
        self.rng = random.Random(seed)
        self.machine = machine
        for device in range(DEVICES):
            for _ in range(2):
                machine.allocate(machine.streams[device][0])
        machine.allocate_pinned()
        self.steps = {
            self.kernel: 10, self.copy: 4, self.up: 3, self.down: 3, self.read: 2, self.allocate: 4, self.free: 3,
            self.record_stream: 2, self.wait_stream: 5, self.record: 3, self.wait_event: 3, self.poll: 2,
            self.synchronize: 2, self.touch: 2, self.pinned: 2, self.capture: 1, self.replay: 3,
        }  # fmt: skip

    def run(self, steps: int = 0) -> None:
        """Make that many steps, or a random number of them, and read everything."""
        for _ in range(steps or self.rng.randrange(5, 45)):
            self.rng.choices(list(self.steps), list(self.steps.values()))[0]()
        self.machine.finish()

    def stream(self) -> int:
        return self.rng.choice(list(self.machine.device_of))

    def tensor(self) -> Tensor:
        return self.rng.choice(self.machine.tensors + [each for graph in self.machine.graphs for each in graph.tensors])

    def kernel(self) -> None:
        name, views, bits = random_kernel(self.rng)
        out, source, stream = self.tensor(), self.tensor(), self.stream()
        if name == "mix" and out is source:
            return
        self.machine.work(stream, *self.machine.kernel_step(name, stream, list(zip((out, source), views)), bits))

    def copy(self) -> None:
        dst, src, stream = self.tensor(), self.tensor(), self.stream()
        if dst is not src:
            kind = CopyKind.DEVICE_TO_DEVICE if dst.device == src.device else CopyKind.PEER
            self.machine.work(stream, *self.machine.copy_step(stream, dst, src, kind))

    def _across(self, kind: CopyKind) -> None:
        stream, is_recorded = self.stream(), self.rng.random() < 0.6
        if self.machine.pinned:
            pinned, tensor = self.rng.choice(self.machine.pinned), self.tensor()
            dst, src = (tensor, pinned) if kind is CopyKind.HOST_TO_DEVICE else (pinned, tensor)
            self.machine.work(stream, *self.machine.copy_step(stream, dst, src, kind))
            if is_recorded:
                self.machine.record_pinned(pinned, stream)

    def up(self) -> None:
        self._across(CopyKind.HOST_TO_DEVICE)

    def down(self) -> None:
        self._across(CopyKind.DEVICE_TO_HOST)

    def read(self) -> None:
        self.machine.read(self.stream(), self.tensor())

    def allocate(self) -> None:
        self.machine.allocate(self.stream())

    def free(self) -> None:
        if len(self.machine.tensors) > 1:
            self.machine.free(self.rng.choice(self.machine.tensors))

    def record_stream(self) -> None:
        self.machine.record_stream(self.rng.choice(self.machine.tensors), self.stream())

    def wait_stream(self) -> None:
        self.machine.wait_stream(self.stream(), self.stream())

    def event(self) -> tuple[int, int]:
        """With its device."""
        device = self.rng.randrange(DEVICES)
        return self.rng.choice(self.machine.events[device]), device

    def record(self) -> None:
        event, device = self.event()
        self.machine.record(event, self.rng.choice(self.machine.streams[device]))

    def wait_event(self) -> None:
        self.machine.wait_event(self.stream(), self.event()[0])

    def poll(self) -> None:
        if self.rng.random() < 0.5:
            self.machine.query_stream(self.stream())
        else:
            self.machine.query_event(self.event()[0])

    def synchronize(self) -> None:
        how = self.rng.randrange(3)
        if how == 0:
            self.machine.sync_stream(self.stream())
        elif how == 1:
            self.machine.sync_event(self.event()[0])
        else:
            self.machine.sync_device(self.rng.randrange(DEVICES))

    def touch(self) -> None:
        value = self.rng.choice([None, self.rng.randrange(255)])
        if self.machine.pinned:
            self.machine.touch_pinned(self.rng.choice(self.machine.pinned), value)

    def pinned(self) -> None:
        if self.machine.pinned and self.rng.random() < 0.5:
            self.machine.free_pinned(self.rng.choice(self.machine.pinned))
        else:
            self.machine.allocate_pinned()

    def capture(self) -> None:
        """A graph of two branches on one device, and tensors that stay."""
        device = self.rng.randrange(DEVICES)
        stream, other = self.rng.sample(self.machine.streams[device], 2)
        for _ in range(2):
            self.machine.allocate(stream)
        tensors = [self.machine.tensors.pop() for _ in range(2)]
        plan = []
        for _ in range(self.rng.randrange(1, 5)):
            name, views, bits = random_kernel(self.rng)
            first = self.rng.randrange(2)
            plan.append((self.rng.randrange(2), name, [(first + at, view) for at, view in enumerate(views)], bits))
        self.machine.graphs.append(Graph(self.machine, stream, other, plan, tensors))

    def replay(self) -> None:
        if self.machine.graphs:
            self.rng.choice(self.machine.graphs).launch()


class Loyal(Program):
    """Steps most of which use a tensor on the stream that allocated it."""

    def __init__(self, machine: Machine, seed: int) -> None:
        super().__init__(machine, seed)
        self.steps |= {self.update: 60, self.wait_stream: 14}

    def update(self) -> None:
        tensor, view = self.tensor(), random_view(self.rng)
        stream = tensor.block.stream
        self.machine.work(stream, *self.machine.kernel_step("update", stream, [(tensor, view)], 1))


class Quiet(Program):
    """Most steps are on one stream after a wait for all work, so that a model may defer and drop them."""

    def __init__(self, machine: Machine, seed: int) -> None:
        super().__init__(machine, seed)
        self.main = self.rng.choice(list(machine.device_of))
        self.steps |= {
            self.kernel: 40, self.copy: 12, self.allocate: 14, self.free: 14, self.poll: 1, self.up: 5, self.down: 5,
            self.touch: 3, self.finish_all: 8, self.finish_main: 6, self.others: 4, self.in_thread: 3,
            self.during_wait: 5, self.record_and_wait: 2,
        }  # fmt: skip

    def stream(self) -> int:
        return self.main

    def finish_all(self) -> None:
        for device in range(DEVICES):
            self.machine.sync_device(device)
        if self.rng.random() < 0.5:
            self.main = super().stream()

    def finish_main(self) -> None:
        self.machine.sync_stream(self.main)

    def record_and_wait(self) -> None:
        """Work after the record is not waited for."""
        device = self.machine.device_of[self.main]
        event = self.rng.choice(self.machine.events[device])
        self.machine.record(event, self.main)
        self.few()
        if self.rng.random() < 0.5:
            self.machine.sync_event(event)
        else:
            self.machine.query_event(event)

    def in_thread(self) -> None:
        in_thread(self.few)

    def during_wait(self) -> None:
        assert isinstance(self.machine, Followed)
        self.machine.sync_during(self.main if self.rng.random() < 0.8 else super().stream(), self.few)

    def few(self) -> None:
        """A few steps."""
        steps = [self.kernel, self.kernel, self.kernel, self.copy, self.allocate, self.free, self.finish_main]
        for _ in range(self.rng.randrange(1, 6)):
            self.rng.choice([*steps, self.others, self.up, self.down, self.replay])()

    def others(self) -> None:
        """A few steps on any streams."""
        main = self.main
        for _ in range(self.rng.randrange(1, 4)):
            self.main = super().stream()
            if self.rng.random() < 0.5:
                self.machine.wait_stream(self.main, main)
            self.rng.choice([self.kernel, self.kernel, self.copy, self.allocate])()
        if self.rng.random() < 0.5:
            self.machine.wait_stream(main, self.main)
        self.main = main


def run(seed: int, races: str, schedule: Schedule | None = None, is_ordered: bool = False) -> None:
    """Run the program of a seed beside the oracle.  is_ordered: it waits wherever it would race.

    Raises: AssertionError.
    """
    try:
        Program(Machine(races, schedule, is_ordered), seed).run()
    except Exception as error:
        raise AssertionError(f"program {seed}, races={races}, {type(schedule).__name__}: {error}") from error


LOYAL_STEPS = 150


def follow(seed: int) -> None:
    """Run three programs of a seed with a driver that a model follows.  Raises: AssertionError."""
    try:
        Program(Followed(), seed).run()
        Loyal(Followed(), seed).run(LOYAL_STEPS)
        Quiet(Followed(), seed).run(LOYAL_STEPS)
    except Exception as error:
        raise AssertionError(f"program {seed}, followed: {error}") from error


def check(seed: int, schedules: int = 3) -> None:
    """Run the program of a seed in every mode, and under `schedules` of all orders of its work.

    Every run is compared with an oracle beside it.  Two runs are not: which block of pinned memory is reused depends on
    the system's addresses.
    """
    run(seed, "error")
    run(seed, "poison")
    run(seed, "poison", Seeded(seed))
    follow(seed)
    others: list[Schedule] = [Seeded(seed), Delay(seed % (DEVICES * STREAMS)), *islice(every_schedule(), schedules)]
    for schedule in others:
        run(seed, "real", schedule, is_ordered=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--programs", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0, help="of the first program")
    parser.add_argument("--schedules", type=int, default=3, help="orders of each program's work, besides two others")
    chosen = parser.parse_args()
    for seed in range(chosen.seed, chosen.seed + chosen.programs):
        check(seed, chosen.schedules)
        if (seed + 1 - chosen.seed) % 1000 == 0:
            print(f"{seed + 1 - chosen.seed} programs", flush=True)
    print(f"{chosen.programs} programs from seed {chosen.seed}: no race was missed, none was invented")


if __name__ == "__main__":
    main()
