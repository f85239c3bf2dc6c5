"""How the cost of an operation on virtual GPUs grows: `python -m benchmarks.growth [name ...]`.

Each program runs at two sizes, a hundred times apart, and prints processor time per operation, the best of some rounds.
A ratio of up to 2 is the goal: what is left is caches, and Python's collector, which looks at more objects.
tests/semantics/driver/test_growth.py asserts in counts that the work itself does not grow.
"""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import flambeau as torch
from flambeau.config import virtual_gpus
from flambeau.driver.virtual.driver import VirtualDriver
from flambeau.driver.virtual.submission import MAX_PENDING
from flambeau.kernel import Grid, Kernel, Pointer, Scalar, Strided
from flambeau.testing import machine

SEGMENT = 64 << 20
GRID = Grid((1, 1, 1), 32)
READ = Kernel(
    "read",
    "",
    [Pointer("out", torch.float32, "w", ("n",)), Pointer("in", torch.float32, "r", ("n",)), Scalar("n", "int64")],
    lambda out, source, n: None,
)
WRITE_STRIDED = Kernel(
    "write_strided", "", [Pointer("out", torch.float32, "w", "layout"), Strided("layout", ("out",))], lambda out: None
)
FACTOR = 100
ROUNDS = 3

Program = Callable[[int], float]  # from a size to seconds per operation
programs: dict[str, tuple[int, Program]] = {}


def sized(largest: int) -> Callable[[Program], Program]:
    def kept(program: Program) -> Program:
        programs[program.__name__] = largest, program
        return program

    return kept


@contextmanager
def driver_of() -> Iterator[tuple[VirtualDriver, int]]:
    driver = VirtualDriver(virtual_gpus(1))
    yield driver, driver.mem_alloc(0, SEGMENT)


@sized(10_000)
def streams_reading_one_tensor(count: int) -> float:
    with driver_of() as (driver, memory):
        streams = [driver.stream_create(0, 0) for _ in range(count)]
        event, kernel = driver.event_create(0, False, False, False), driver.kernel_load(0, READ)
        driver.fill(memory, 1, 64, streams[0])
        driver.event_record(event, streams[0])
        start = time.process_time()
        for index, stream in enumerate(streams):
            driver.stream_wait_event(stream, event)
            driver.launch(kernel, GRID, READ.pack([memory + 4096 + 64 * index, memory, 16]), stream)
        return (time.process_time() - start) / count


@sized(10_000)
def synchronizing_each_stream(count: int) -> float:
    with driver_of() as (driver, memory):
        streams = [driver.stream_create(0, 0) for _ in range(count)]
        for index, stream in enumerate(streams):
            driver.fill(memory + 64 * index, 1, 64, stream)
        start = time.process_time()
        for stream in streams:
            driver.stream_synchronize(stream)
        return (time.process_time() - start) / count


@sized(10_000)
def joining_and_forking_streams(count: int) -> float:
    with driver_of() as (driver, memory):
        main, *streams = (driver.stream_create(0, 0) for _ in range(count + 1))
        event = driver.event_create(0, False, False, False)
        start = time.process_time()
        for _ in range(2):
            for index, stream in enumerate(streams):
                driver.event_record(event, main)
                driver.stream_wait_event(stream, event)
                driver.fill(memory + 64 * index, 1, 64, stream)
            for stream in streams:
                driver.event_record(event, stream)
                driver.stream_wait_event(main, event)
        driver.stream_synchronize(main)
        return (time.process_time() - start) / (4 * count)


@sized(100_000)
def disjoint_ranges_on_two_streams(count: int) -> float:
    with driver_of() as (driver, memory):
        streams = [driver.stream_create(0, 0) for _ in range(2)]
        for index in range(count):
            driver.fill(memory + 16 * index, 1, 8, streams[index % 2])
        for index in range(2 * MAX_PENDING):  # full queues at any size: from now on each call runs a command
            driver.fill(memory + SEGMENT - 64 * (1 + index % 2), 1, 8, streams[index % 2])
        start = time.process_time()
        for index in range(1000):
            driver.fill(memory + 16 * (index * 7919 % count), 1, 8, streams[index * 7919 % count % 2])
        return (time.process_time() - start) / 1000


@sized(1 << 24)
def interleaved_elements_on_two_streams(count: int) -> float:
    with driver_of() as (driver, _):
        memory = driver.mem_alloc(0, 8 * count)
        streams, kernel = [driver.stream_create(0, 0) for _ in range(2)], driver.kernel_load(0, WRITE_STRIDED)
        start = time.process_time()
        for index in range(200):
            at = index % 2
            driver.launch(kernel, GRID, WRITE_STRIDED.pack([memory + 4 * at, ((count,), [(2,)])]), streams[at])
        return (time.process_time() - start) / 200


def _with_blocks(count: int, timed: Callable[[object, list[object], int], int]) -> float:
    with machine() as made:
        allocator, stream = made.devices[0].allocator, made.devices[0].default_stream.handle
        blocks = [allocator.allocate(512, stream) for _ in range(count)]
        gc.collect()
        gc.freeze()  # visits of Python's collector to the blocks are no work of the allocator
        start = time.process_time()
        operations = timed(allocator, blocks, stream)
        spent = time.process_time() - start
        gc.unfreeze()
        return spent / operations


@sized(100_000)
def allocating_beside_live_blocks(count: int) -> float:
    def allocate(allocator, blocks, stream):  # type: ignore[no-untyped-def]
        for _ in range(1000):
            blocks.append(allocator.allocate(512, stream))
        return 1000

    return _with_blocks(count, allocate)


@sized(100_000)
def freeing_blocks_and_emptying_the_cache(count: int) -> float:
    def free(allocator, blocks, stream):  # type: ignore[no-untyped-def]
        while blocks:
            allocator.free(blocks.pop())
        allocator.empty_cache()
        return count

    return _with_blocks(count, free)


def measure(largest: int, program: Program) -> tuple[float, float]:
    """Microseconds per operation at a hundredth of the size and at the full one."""

    def run(size: int) -> float:
        gc.collect()
        return program(size) * 1e6

    small, large = (min(run(size) for _ in range(ROUNDS)) for size in (largest // FACTOR, largest))
    return small, large


def main(names: list[str]) -> None:
    print(f"{'us of processor time per operation':<44}{'size / 100':>12}{'size':>12}{'ratio':>8}")
    for name, (largest, program) in programs.items():
        if not names or name in names:
            small, large = measure(largest, program)
            print(f"{f'{name} ({largest})':<44}{small:>12.1f}{large:>12.1f}{large / small:>8.2f}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
