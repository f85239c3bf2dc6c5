"""The contract suite of drivers, run on virtual and real GPUs.

A subclass makes a driver; pytest finds the `test_` methods:

    class TestMine(DriverContract):
        def make_driver(self) -> Driver:
            return MyDriver()          # started; may be one that other tests use too

Each test releases its resources, so that all tests can run on one real GPU.
"""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread
from typing import Any

from .. import host
from ..config import parse_gpus
from ..driver import make
from ..driver.api import (
    Address,
    CaptureMode,
    CaptureStatus,
    CopyKind,
    Driver,
    EventHandle,
    GraphExecHandle,
    StreamHandle,
)
from ..dtypes import bfloat16, dtype, float32, float64, int64
from ..errors import AcceleratorError, ArgumentError, FlambeauError, NotSupportedError, OutOfMemoryError
from ..kernel import Grid, Kernel, Param, Pointer, Scalar, Strided
from ..library_operation import Gemm

DEVICE = 0
SEGMENT = 4 << 20  # bytes
PAGE = 2 << 20  # bytes
COUNT = 1000  # elements
MAX_POLLS = 10_000_000
LONG_COPY = 1 << 20  # bytes

TO_DEVICE, TO_HOST, WITHIN = CopyKind.HOST_TO_DEVICE, CopyKind.DEVICE_TO_HOST, CopyKind.DEVICE_TO_DEVICE

_SOURCE = """
typedef long long I;
struct Layout { I ndim; I size[8]; I stride[3][8]; };
extern "C" __global__ void contract_scale(float* out, const float* in, float factor, I n) {
    I i = blockIdx.x * (I)blockDim.x + threadIdx.x;
    if (i < n) out[i] = in[i] * factor;
}
extern "C" __global__ void contract_negate(unsigned short* out, const unsigned short* in, I n) {
    I i = blockIdx.x * (I)blockDim.x + threadIdx.x;
    if (i < n) out[i] = in[i] ^ 0x8000;
}
extern "C" __global__ void contract_add(I* out, const I* a, const I* b, Layout layout, I n) {
    I i = blockIdx.x * (I)blockDim.x + threadIdx.x;
    if (i >= n) return;
    I at[3] = {0, 0, 0};
    for (I dim = layout.ndim - 1; dim >= 0; --dim) {
        I index = i % layout.size[dim];
        i /= layout.size[dim];
        for (int operand = 0; operand < 3; ++operand) at[operand] += index * layout.stride[operand][dim];
    }
    out[at[0]] = a[at[1]] + b[at[2]];
}
"""
N = Scalar("n", "int64")


def _pair(data_type: dtype) -> list[Param]:
    return [Pointer("out", data_type, "w", ("n",)), Pointer("in", data_type, "r", ("n",))]


def _numpy(name: str) -> Callable[..., None]:
    """Make a reference that calls a NumPy function.  The first argument is the output; the last one, n, is dropped."""
    return lambda out, *inputs: getattr(host.numpy(), name)(*inputs[:-1], out=out)


SCALE = Kernel("contract_scale", _SOURCE, [*_pair(float32), Scalar("factor", "float32"), N], _numpy("multiply"))
NEGATE = Kernel("contract_negate", _SOURCE, [*_pair(bfloat16), N], _numpy("negative"))
_OPERANDS = [Pointer(name, int64, "w" if name == "out" else "r", "layout") for name in ("out", "a", "b")]
ADD = Kernel("contract_add", _SOURCE, [*_OPERANDS, Strided("layout", ("out", "a", "b")), N], _numpy("add"))


def raised(expected: type[Exception], call: Callable[[], object]) -> Exception:
    """The exception that `call` raises, which must be an `expected`."""
    error = None
    try:
        call()
    except expected as caught:
        error = caught
    assert error is not None, f"{expected.__name__} was not raised"
    return error


class Contract:
    """Base class of the contract's classes.  `driver` is a started driver with at least one device."""

    driver: Driver

    def make_driver(self) -> Driver:
        """Return a started driver."""
        raise NotSupportedError("a subclass must define make_driver", operator="Contract")

    def setup_method(self) -> None:
        self.driver = self.make_driver()
        self._undo: list[Callable[[], None]] = []
        self.stream = self.new_stream()

    def teardown_method(self) -> None:
        self.driver.device_synchronize(DEVICE)
        for undo in reversed(self._undo):
            undo()

    # resources of a test
    def new_stream(self, priority: int = 0) -> StreamHandle:
        stream = self.driver.stream_create(DEVICE, priority)
        self._undo.append(lambda: self.driver.stream_destroy(stream))
        return stream

    def new_event(self, timing: bool = False) -> EventHandle:
        event = self.driver.event_create(DEVICE, timing, False, False)
        self._undo.append(lambda: self.driver.event_destroy(event))
        return event

    def new_memory(self, nbytes: int = SEGMENT) -> Address:
        address = self.driver.mem_alloc(DEVICE, nbytes)
        self._undo.append(lambda: self.driver.mem_free(DEVICE, address))
        return address

    def new_pinned(self, nbytes: int) -> tuple[Address, Any]:
        """Allocate pinned memory; return its address and a uint8 array over it."""
        address = self.driver.host_alloc(nbytes)
        self._undo.append(lambda: self.driver.host_free(address))
        return address, host.bytes_at(address, nbytes)

    def upload(self, values: Any) -> Address:
        """Copy a NumPy array to new device memory; return the address."""
        values = host.numpy().ascontiguousarray(values)
        address = self.new_memory(max(values.nbytes, 1))
        self.driver.copy(address, Address(host.address_of(values)), values.nbytes, TO_DEVICE, self.stream)
        self.driver.stream_synchronize(self.stream)
        return address

    def download(self, address: Address, shape: tuple[int, ...], data_type: dtype) -> Any:
        """Return device memory as a NumPy array, after all work on `self.stream`."""
        values = host.numpy().empty(shape, data_type.numpy)
        self.driver.copy(Address(host.address_of(values)), address, values.nbytes, TO_HOST, self.stream)
        return values

    def launch(self, kernel: Kernel, values: list[Any], stream: StreamHandle | None = None) -> None:
        """Launch over COUNT elements, by default on `self.stream`."""
        handle = self.driver.kernel_load(DEVICE, kernel)
        grid = Grid(((COUNT + 255) // 256, 1, 1), 256)
        self.driver.launch(handle, grid, kernel.pack(values), stream or self.stream)


GLOBAL, THREAD_LOCAL, RELAXED = CaptureMode.GLOBAL, CaptureMode.THREAD_LOCAL, CaptureMode.RELAXED
NBYTES = 4 * COUNT


def in_thread(call: Callable[[], object]) -> list[Exception]:
    """Run `call` on another thread; return the exceptions that it raises, at most one."""
    raised_there: list[Exception] = []

    def run() -> None:
        try:
            call()
        except Exception as error:  # noqa: BLE001 (a test decides what is right)
            raised_there.append(error)

    thread = Thread(target=run)
    thread.start()
    thread.join()
    return raised_there


class GraphContract(Contract):
    """Contract of graphs: capture, launch, and forbidden calls."""

    @property
    def has_graphs(self) -> bool:
        return self.driver.capabilities.graphs

    @contextmanager
    def captured(self, mode: CaptureMode = GLOBAL) -> Iterator[list[GraphExecHandle]]:
        """Capture on `self.stream`; after the block the list has the launchable graph."""
        launchables: list[GraphExecHandle] = []
        self.driver.capture_begin(self.stream, mode)
        yield launchables
        graph = self.driver.capture_end(self.stream)
        self._undo.append(lambda: self.driver.graph_destroy(graph))
        launchables.append(self.driver.graph_instantiate(graph))
        self._undo.append(lambda: self.driver.graph_destroy(launchables[0]))

    @contextmanager
    def broken(self, mode: CaptureMode = GLOBAL) -> Iterator[None]:
        """Capture on `self.stream`; check that the block invalidates the capture, and the stream works afterwards."""
        self.driver.capture_begin(self.stream, mode)
        yield
        assert self.driver.capture_status(self.stream) is CaptureStatus.INVALIDATED
        raised(AcceleratorError, lambda: self.driver.capture_end(self.stream))
        assert self.driver.capture_status(self.stream) is CaptureStatus.NONE
        self.driver.stream_synchronize(self.stream)

    def wait(self, waiter: StreamHandle, stream: StreamHandle) -> None:
        """Make later work on `waiter` follow the work on `stream`."""
        event = self.new_event()
        self.driver.event_record(event, stream)
        self.driver.stream_wait_event(waiter, event)

    def ones(self) -> Any:
        return host.numpy().ones(COUNT, "float32")

    # external events

    def test_external_records_and_waits_are_made_by_each_launch(self) -> None:
        """Two graphs that only an external event orders, launched in both orders of the streams."""
        if not self.has_graphs:
            return
        event, other = self.new_event(), self.new_stream()
        with self.captured() as recording:
            self.driver.event_record(event, self.stream, True)
        with self.captured() as waiting:
            self.driver.stream_wait_event(self.stream, event, True)
        assert self.driver.event_query(event)
        for _ in range(2):
            self.driver.graph_launch(recording[0], self.stream)
            self.driver.graph_launch(waiting[0], other)
            self.driver.stream_synchronize(other)
            assert self.driver.event_query(event) and self.driver.event_raw(event)

    # descriptions of graphs

    def test_a_graph_has_numbers_and_is_written(self) -> None:
        if not self.has_graphs:
            return
        data = self.upload(self.ones())
        self.driver.capture_begin(self.stream, GLOBAL)
        self.driver.fill(data, 0, 4, self.stream)
        self.driver.fill(data, 1, 8, self.stream)
        graph = self.driver.capture_end(self.stream)
        launchable = self.driver.graph_instantiate(graph)
        assert 0 < self.driver.graph_raw(graph) != self.driver.graph_raw(launchable) > 0
        with TemporaryDirectory() as directory:
            self.driver.graph_write(graph, f"{directory}/graph.dot")
            text = Path(f"{directory}/graph.dot").read_text()
            raised(AcceleratorError, lambda: self.driver.graph_write(graph, f"{directory}/nowhere/graph.dot"))
        assert "digraph" in text and text.count("->") == 1
        for handle in (launchable, graph):
            self.driver.graph_destroy(handle)

    # launches of graphs
    def test_without_graphs_a_capture_is_refused(self) -> None:
        if not self.has_graphs:
            raised(NotSupportedError, lambda: self.driver.capture_begin(self.stream, GLOBAL))

    def test_a_capture_runs_nothing_and_each_launch_all_of_it(self) -> None:
        if not self.has_graphs:
            return
        data, sums = self.upload(self.ones()), self.upload(self.ones())
        self.driver.kernel_load(DEVICE, SCALE)
        with self.captured() as graphs:
            assert self.driver.capture_status(self.stream) is CaptureStatus.ACTIVE
            self.launch(SCALE, [sums, data, 3.0, COUNT])
            self.driver.copy(data, sums, NBYTES, WITHIN, self.stream)
            self.driver.fill(sums, 0, 4, self.stream)
        assert self.driver.capture_status(self.stream) is CaptureStatus.NONE
        assert (self.download(data, (COUNT,), float32) == 1).all()
        for launches in (1, 2, 3):
            self.driver.graph_launch(graphs[0], self.stream)
            assert (self.download(data, (COUNT,), float32) == 3.0**launches).all()
        assert self.download(sums, (COUNT,), float32)[:2].tolist() == [0.0, 27.0]

    def test_a_graph_is_launched_on_any_stream(self) -> None:
        if not self.has_graphs:
            return
        data, other = self.upload(self.ones()), self.new_stream()
        self.driver.kernel_load(DEVICE, SCALE)
        with self.captured() as graphs:
            self.launch(SCALE, [data, data, 2.0, COUNT])
        for stream in (other, self.stream, self.driver.stream_adopt(DEVICE, 0)):
            self.driver.graph_launch(graphs[0], stream)
            self.wait(self.stream, stream)
        assert (self.download(data, (COUNT,), float32) == 8).all()

    def test_a_side_stream_joins_a_capture_and_comes_back(self) -> None:
        if not self.has_graphs:
            return
        side = self.new_stream()
        first, second = self.upload(self.ones()), self.new_memory()
        self.driver.kernel_load(DEVICE, SCALE)
        with self.captured() as graphs:
            self.launch(SCALE, [first, first, 2.0, COUNT])
            self.wait(side, self.stream)
            assert self.driver.capture_status(side) is CaptureStatus.ACTIVE
            self.launch(SCALE, [second, first, 5.0, COUNT], side)
            self.wait(self.stream, side)
            self.driver.copy(first, second, NBYTES, WITHIN, self.stream)
        assert self.driver.capture_status(side) is CaptureStatus.NONE
        for launches in (1, 2):
            self.driver.graph_launch(graphs[0], self.stream)
            assert (self.download(first, (COUNT,), float32) == 10.0**launches).all()

    def test_pinned_memory_is_read_at_each_launch(self) -> None:
        if not self.has_graphs:
            return
        address, (source, values), (target, result) = self.new_memory(), self.new_pinned(64), self.new_pinned(64)
        with self.captured() as graphs:
            self.driver.copy(address, source, 64, TO_DEVICE, self.stream)
            self.driver.copy(target, address, 64, TO_HOST, self.stream)
        for value in (3, 4):
            values[:] = value
            self.driver.graph_launch(graphs[0], self.stream)
            self.driver.stream_synchronize(self.stream)
            assert (result == value).all()

    def test_a_matrix_product_is_captured(self) -> None:
        if not self.has_graphs or "gemm" not in self.driver.capabilities.libraries:
            return
        problem = Gemm(float32, 1, 16, 16, 16, (256, 16, 1), (256, 16, 1), (256, 16, 1), has_bias=False)
        plan, workspace = self.driver.library_plan(DEVICE, problem)
        scratch = self.new_memory(workspace) if workspace else Address(0)
        eye = self.upload(host.numpy().eye(16, dtype="float32") * 2)
        out = self.new_memory()
        run = partial(self.driver.library_run, plan, (out, eye, eye, Address(0)), scratch, self.stream)
        run()  # libraries load on their first call
        self.driver.fill(out, 0, NBYTES, self.stream)
        with self.captured() as graphs:
            run()
        self.driver.graph_launch(graphs[0], self.stream)
        assert (self.download(out, (16, 16), float32) == 4 * host.numpy().eye(16)).all()

    def test_an_empty_capture_is_a_graph(self) -> None:
        if not self.has_graphs:
            return
        with self.captured() as graphs:
            pass
        self.driver.graph_launch(graphs[0], self.stream)

    def test_the_mode_of_a_thread_is_exchanged(self) -> None:
        if not self.has_graphs:
            return
        assert self.driver.capture_mode_exchange(RELAXED) is GLOBAL
        assert self.driver.capture_mode_exchange(GLOBAL) is RELAXED

    # forbidden calls
    def test_a_default_stream_is_not_captured(self) -> None:
        if self.has_graphs:
            default = self.driver.stream_adopt(DEVICE, 0)
            raised(AcceleratorError, lambda: self.driver.capture_begin(default, GLOBAL))

    def test_waiting_for_a_capturing_stream_breaks_the_capture(self) -> None:
        if not self.has_graphs:
            return
        for call in (
            partial(self.driver.stream_synchronize, self.stream),
            partial(self.driver.stream_query, self.stream),
            partial(self.driver.device_synchronize, DEVICE),
        ):
            with self.broken():
                raised(AcceleratorError, call)

    def test_asking_about_a_captured_event_breaks_the_capture(self) -> None:
        if not self.has_graphs:
            return
        for call in (self.driver.event_query, self.driver.event_synchronize):
            event = self.new_event()
            with self.broken():
                self.driver.event_record(event, self.stream)
                raised(AcceleratorError, partial(call, event))

    def test_waiting_for_work_outside_breaks_the_capture(self) -> None:
        if not self.has_graphs:
            return
        event, other = self.new_event(), self.new_stream()
        self.driver.event_record(event, other)
        with self.broken():
            raised(AcceleratorError, lambda: self.driver.stream_wait_event(self.stream, event))

    def test_a_broken_capture_takes_no_more_work(self) -> None:
        if not self.has_graphs:
            return
        address = self.new_memory()
        with self.broken():
            raised(AcceleratorError, lambda: self.driver.stream_synchronize(self.stream))
            raised(AcceleratorError, lambda: self.driver.fill(address, 0, 64, self.stream))

    def test_allocating_breaks_a_capture_unless_the_thread_is_relaxed(self) -> None:
        if not self.has_graphs:
            return
        with self.captured():
            before = self.driver.capture_mode_exchange(RELAXED)
            self.new_memory()
            self.driver.capture_mode_exchange(before)
        with self.broken():
            raised(AcceleratorError, lambda: self.driver.mem_alloc(DEVICE, LONG_COPY))
        with self.captured(RELAXED):
            self.new_memory()

    def test_another_thread_breaks_only_a_global_capture(self) -> None:
        if not self.has_graphs:
            return
        with self.captured(THREAD_LOCAL):
            assert in_thread(self.new_memory) == []
        with self.broken(GLOBAL):
            assert [type(error) for error in in_thread(lambda: self.driver.mem_alloc(DEVICE, LONG_COPY))]

    def test_a_capture_ends_where_it_began(self) -> None:
        if not self.has_graphs:
            return
        other = self.new_stream()
        with self.captured():
            raised(AcceleratorError, lambda: self.driver.capture_end(other))
        raised(AcceleratorError, lambda: self.driver.capture_end(self.stream))

    def test_a_stream_that_does_not_come_back_is_an_error(self) -> None:
        if not self.has_graphs:
            return
        side, address = self.new_stream(), self.new_memory()
        self.driver.capture_begin(self.stream, GLOBAL)
        self.wait(side, self.stream)
        self.driver.fill(address, 1, 64, side)
        raised(AcceleratorError, lambda: self.driver.capture_end(self.stream))
        for stream in (self.stream, side):
            assert self.driver.capture_status(stream) is CaptureStatus.NONE

    def test_a_destroyed_graph_is_gone(self) -> None:
        if not self.has_graphs:
            return
        self.driver.capture_begin(self.stream, GLOBAL)
        graph = self.driver.capture_end(self.stream)
        assert self.driver.graph_node_count(graph) == 0
        launchable = self.driver.graph_instantiate(graph)
        self.driver.graph_destroy(graph)
        self.driver.graph_launch(launchable, self.stream)
        self.driver.graph_destroy(launchable)
        raised(AcceleratorError, lambda: self.driver.graph_launch(launchable, self.stream))
        raised(AcceleratorError, lambda: self.driver.graph_destroy(graph))
        raised(AcceleratorError, lambda: self.driver.graph_instantiate(graph))


class DriverContract(GraphContract):
    """The suite, with the tests of graphs."""

    # devices
    def test_devices_have_properties(self) -> None:
        assert self.driver.device_count() >= 1
        properties = self.driver.properties(DEVICE)
        free, total = self.driver.mem_info(DEVICE)
        assert 0 < free <= total <= properties.total_memory
        assert properties.name and properties.major >= 5 and properties.warp_size == 32
        assert properties.uuid.startswith("GPU-")
        raised(AcceleratorError, lambda: self.driver.mem_alloc(self.driver.device_count(), SEGMENT))

    # contexts and partitions of a device
    def test_a_used_device_has_a_context(self) -> None:
        self.new_memory()
        assert self.driver.has_context(DEVICE)
        raised(AcceleratorError, lambda: self.driver.has_context(self.driver.device_count()))

    def test_streams_of_a_part_of_a_device(self) -> None:
        part, multiprocessors = self.driver.partition(DEVICE, 1)
        every = self.driver.properties(DEVICE).multi_processor_count
        assert 1 <= multiprocessors < every and self.driver.partition(DEVICE, 1) == (part, multiprocessors)
        stream = self.driver.partition_stream(part)
        self._undo.append(lambda: self.driver.stream_destroy(stream))
        source, target = self.upload(host.numpy().arange(COUNT, dtype="float32")), self.new_memory()
        event = self.new_event()
        self.launch(SCALE, [target, source, 2.0, COUNT], stream)
        self.driver.event_record(event, stream)
        self.driver.stream_wait_event(self.stream, event)
        assert self.download(target, (COUNT,), float32).tolist() == list(range(0, 2 * COUNT, 2))
        raised(AcceleratorError, lambda: self.driver.partition(DEVICE, every + 1))
        raised(AcceleratorError, lambda: self.driver.partition(DEVICE, 0))

    # libraries
    def test_a_thread_has_a_handle_of_cublas_on_each_device(self) -> None:
        try:
            handle = self.driver.blas_handle(self.stream)
        except NotSupportedError:  # it is not installed
            return
        assert 0 < handle == self.driver.blas_handle(self.new_stream())
        handles: list[int] = []
        in_thread(lambda: handles.append(self.driver.blas_handle(self.stream)))
        assert handles[0] not in (0, handle)

    # time
    def test_the_host_s_clock_goes_on_while_it_waits(self) -> None:
        before = self.driver.host_ns()
        self.driver.device_synchronize(DEVICE)
        assert self.driver.host_ns() > before

    def test_a_profiler_s_gate_may_be_opened_and_closed_at_any_time(self) -> None:
        self.driver.profiler_stop()
        for _ in range(2):
            self.driver.profiler_start()
        self.driver.profiler_stop()

    def test_a_measurement_has_the_work_of_its_calls(self) -> None:
        names, address = ["fill"], self.driver.mem_alloc(DEVICE, 1024)
        stream, measured = self.driver.stream_create(DEVICE, 0), self.driver.measure()
        if measured is not None:
            measured.begin_call(5)
            self.driver.fill(address, 1, 1024, stream)
            measured.end_call()
            self.driver.device_synchronize(DEVICE)
            records, _ = measured.stop(collect=True)
            names = [record.name for record in records if record.call == 5 and record.start_ns <= record.end_ns]
        assert names == ["fill"]
        self.driver.stream_destroy(stream)
        self.driver.mem_free(DEVICE, address)

    # memory
    def test_allocations_are_disjoint_and_count(self) -> None:
        free, total = self.driver.mem_info(DEVICE)
        size = total // 32  # more than other processes are likely to allocate or free meanwhile
        first, second = self.driver.mem_alloc(DEVICE, size), self.driver.mem_alloc(DEVICE, size)
        assert first > 0 and second > 0 and abs(first - second) >= size
        assert self.driver.mem_info(DEVICE)[0] < free - size
        self.driver.mem_free(DEVICE, first)
        self.driver.mem_free(DEVICE, second)
        assert self.driver.mem_info(DEVICE)[0] > free - size

    def test_out_of_memory_leaves_the_driver_working(self) -> None:
        too_much = 2 * self.driver.properties(DEVICE).total_memory
        raised(OutOfMemoryError, lambda: self.driver.mem_alloc(DEVICE, too_much))
        address = self.upload(host.numpy().arange(COUNT, dtype="float32"))
        assert self.download(address, (COUNT,), float32).tolist() == list(range(COUNT))

    def test_pageable_source_may_change_after_the_call(self) -> None:
        values = host.numpy().full(COUNT, 3.0, "float32")
        address = self.new_memory()
        self.driver.copy(address, Address(host.address_of(values)), values.nbytes, TO_DEVICE, self.stream)
        values[:] = 4.0
        assert (self.download(address, (COUNT,), float32) == 3.0).all()

    def test_pinned_memory_goes_there_and_back(self) -> None:
        source, source_bytes = self.new_pinned(LONG_COPY)
        target, target_bytes = self.new_pinned(LONG_COPY)
        address = self.new_memory()
        source_bytes[:] = host.numpy().arange(LONG_COPY) % 251
        self.driver.copy(address, source, LONG_COPY, TO_DEVICE, self.stream)
        self.driver.copy(target, address, LONG_COPY, TO_HOST, self.stream)
        self.driver.stream_synchronize(self.stream)
        assert (target_bytes == source_bytes).all()

    def test_registered_memory_is_pinned(self) -> None:
        values = host.numpy().arange(LONG_COPY, dtype="uint8")
        where = Address(host.address_of(values))
        self.driver.host_register(where, LONG_COPY)
        address = self.new_memory()
        self.driver.copy(address, where, LONG_COPY, TO_DEVICE, self.stream)
        self.driver.fill(address, 5, 16, self.stream)
        self.driver.copy(where, address, LONG_COPY, TO_HOST, self.stream)
        self.driver.stream_synchronize(self.stream)
        self.driver.host_unregister(where)
        assert values[:18].tolist() == [5] * 16 + [16, 17]

    def test_copies_within_a_device_and_fills(self) -> None:
        source, target = self.new_memory(), self.new_memory()
        self.driver.fill(source, 0x3F, 64, self.stream)
        self.driver.fill(Address(source + 64), 0, 64, self.stream)
        self.driver.copy(target, Address(source + 32), 64, WITHIN, self.stream)
        self.driver.fill(target, 1, 0, self.stream)
        self.driver.copy(target, source, 0, WITHIN, self.stream)
        result = self.download(target, (8,), float64).view("uint8")
        assert result.tolist() == [0x3F] * 32 + [0] * 32

    def test_memory_is_mapped_at_reserved_addresses(self) -> None:
        pages = 4
        try:
            base = self.driver.mem_reserve(DEVICE, pages * PAGE)
        except NotSupportedError:  # by this device
            return
        self._undo.append(lambda: self.driver.mem_unreserve(DEVICE, base))
        for page in (1, 2):
            self._map_page(Address(base + page * PAGE))
        middle = Address(base + 2 * PAGE - 4 * COUNT // 2)  # the two pages are one range
        self.driver.block_taken(DEVICE, middle, 4 * COUNT, self.stream)
        source = self.upload(host.numpy().arange(COUNT, dtype="float32"))
        self.launch(SCALE, [middle, source, 2.0, COUNT])
        assert self.download(middle, (COUNT,), float32).tolist() == list(range(0, 2 * COUNT, 2))
        self.driver.stream_synchronize(self.stream)
        self.driver.block_given(DEVICE, middle, 4 * COUNT)
        assert self.driver.memory_device(base + PAGE) == DEVICE

    def test_wrong_uses_of_reserved_addresses_are_refused(self) -> None:
        try:
            base = self.driver.mem_reserve(DEVICE, 2 * PAGE)
        except NotSupportedError:  # by this device
            return
        self._undo.append(lambda: self.driver.mem_unreserve(DEVICE, base))
        self._map_page(base)
        raised(AcceleratorError, lambda: self.driver.mem_map(DEVICE, base, PAGE))
        raised(AcceleratorError, lambda: self.driver.mem_unmap(DEVICE, base, 2 * PAGE))
        raised(AcceleratorError, lambda: self.driver.mem_unmap(DEVICE, Address(base + PAGE), PAGE))
        raised(AcceleratorError, lambda: self.driver.mem_unreserve(DEVICE, Address(base + PAGE)))

    def _map_page(self, address: Address) -> None:
        self.driver.mem_map(DEVICE, address, PAGE)
        self._undo.append(lambda: self.driver.mem_unmap(DEVICE, address, PAGE))

    def test_the_pool_allocates_in_the_order_of_a_stream(self) -> None:
        try:
            first = self.driver.pool_alloc(DEVICE, 4 * COUNT, self.stream)
        except NotSupportedError:  # by this device
            return
        other = self.driver.pool_alloc(DEVICE, 4 * COUNT, self.stream)
        assert abs(first - other) >= 4 * COUNT and first % 256 == other % 256 == 0
        assert self.driver.pool_reserved(DEVICE) >= 8 * COUNT
        source = self.upload(host.numpy().arange(COUNT, dtype="float32"))
        for address in (first, other):
            self.launch(SCALE, [address, source, 2.0, COUNT])
        self.driver.pool_free(DEVICE, first, self.stream)
        again = self.driver.pool_alloc(DEVICE, 4 * COUNT, self.stream)  # no wait: the order of the stream suffices
        self.launch(SCALE, [again, other, 2.0, COUNT])
        assert self.download(again, (COUNT,), float32).tolist() == list(range(0, 4 * COUNT, 4))
        for address in (again, other):
            self.driver.pool_free(DEVICE, address, self.stream)
        self.driver.stream_synchronize(self.stream)
        held = self.driver.pool_reserved(DEVICE)
        self.driver.pool_trim(DEVICE)
        assert self.driver.pool_reserved(DEVICE) < held

    def test_wrong_uses_of_the_pool_are_refused(self) -> None:
        try:
            address = self.driver.pool_alloc(DEVICE, COUNT, self.stream)
        except NotSupportedError:  # by this device
            return
        too_much = 1 << 50  # more than any address space: a real driver fails without taking memory first
        raised(OutOfMemoryError, lambda: self.driver.pool_alloc(DEVICE, too_much, self.stream))
        self.driver.pool_free(DEVICE, address, self.stream)
        raised(AcceleratorError, lambda: self.driver.pool_free(DEVICE, address, self.stream))

    def test_an_address_names_its_device(self) -> None:
        memory, host_array = self.new_memory(), host.numpy().zeros(COUNT)
        assert self.driver.memory_device(memory) == DEVICE == self.driver.memory_device(memory + 4 * COUNT - 1)
        assert self.driver.memory_device(host.address_of(host_array)) is None
        pinned = self.driver.host_alloc(64)
        self._undo.append(lambda: self.driver.host_free(pinned))
        assert self.driver.memory_device(pinned) is None

    def test_peers_copy(self) -> None:
        """A device is no peer of itself; peers copy in both directions."""
        assert not self.driver.peer_can(DEVICE, DEVICE)
        if self.driver.device_count() < 2 or not self.driver.peer_can(DEVICE, 1):
            return
        self.driver.peer_enable(DEVICE, 1)
        self.driver.peer_enable(DEVICE, 1)
        other, back = self.driver.mem_alloc(1, SEGMENT), self.new_memory()
        source = self.upload(host.numpy().arange(COUNT, dtype="float32"))
        self.driver.copy(other, source, 4 * COUNT, CopyKind.PEER, self.stream)
        self.driver.copy(back, other, 4 * COUNT, CopyKind.PEER, self.stream)
        assert self.download(back, (COUNT,), float32).tolist() == list(range(COUNT))
        self.driver.mem_free(1, other)

    def test_peers_copy_to_mapped_memory(self) -> None:
        """Copies reach memory that was mapped before and after peer access was enabled."""
        assert self.driver.device_count() > DEVICE
        if self.driver.device_count() < 2 or not self.driver.peer_can(DEVICE, 1):
            return
        try:
            base = self.driver.mem_reserve(1, 2 * PAGE)
        except NotSupportedError:  # by this device
            return
        self.driver.mem_map(1, base, PAGE)
        self.driver.peer_enable(DEVICE, 1)
        self.driver.mem_map(1, Address(base + PAGE), PAGE)
        there = self.driver.stream_create(1, 0)
        self.driver.block_taken(1, base, 2 * PAGE, there)
        self.driver.stream_synchronize(there)
        source, back = self.upload(host.numpy().arange(COUNT, dtype="float32")), self.new_memory()
        for page in (0, 1):
            self.driver.copy(Address(base + page * PAGE), source, 4 * COUNT, CopyKind.PEER, self.stream)
            self.driver.copy(back, Address(base + page * PAGE), 4 * COUNT, CopyKind.PEER, self.stream)
            assert self.download(back, (COUNT,), float32).tolist() == list(range(COUNT))
        self.driver.block_given(1, base, 2 * PAGE)
        for page in (0, 1):
            self.driver.mem_unmap(1, Address(base + page * PAGE), PAGE)
        self.driver.mem_unreserve(1, base)
        self.driver.stream_destroy(there)

    # streams
    def test_streams_differ_and_are_adopted_under_one_handle(self) -> None:
        defaults = [self.driver.stream_adopt(device, 0) for device in range(self.driver.device_count())]
        assert len(set(defaults)) == len(defaults) and self.stream not in defaults
        assert defaults == [self.driver.stream_adopt(device, 0) for device in range(len(defaults))]
        assert self.driver.stream_raw(defaults[0]) == 0
        raw = self.driver.stream_raw(self.stream)
        assert raw != 0 and self.driver.stream_adopt(DEVICE, raw) == self.stream
        assert len({self.new_stream(priority) for priority in (-100, -1, 0, 100)}) == 4

    def test_polling_a_stream_ends(self) -> None:
        assert self.driver.stream_query(self.stream)
        address, target = self.new_memory(), self.new_pinned(LONG_COPY)
        self.driver.fill(address, 7, LONG_COPY, self.stream)
        self.driver.copy(target[0], address, LONG_COPY, TO_HOST, self.stream)
        assert any(self.driver.stream_query(self.stream) for _ in range(MAX_POLLS))
        assert (target[1] == 7).all()

    def test_a_device_synchronize_waits_for_every_stream(self) -> None:
        address, (target, result) = self.new_memory(), self.new_pinned(2 * LONG_COPY)
        for index, stream in enumerate((self.stream, self.new_stream())):
            at = index * LONG_COPY
            self.driver.fill(Address(address + at), index + 1, LONG_COPY, stream)
            self.driver.copy(Address(target + at), Address(address + at), LONG_COPY, TO_HOST, stream)
        self.driver.device_synchronize(DEVICE)
        assert result[0] == result[LONG_COPY - 1] == 1 and result[LONG_COPY] == result[-1] == 2

    # events
    def test_an_event_orders_two_streams(self) -> None:
        other, event = self.new_stream(), self.new_event()
        first, second = self.new_memory(), self.new_memory()
        for value in range(20):
            self.driver.fill(first, value, LONG_COPY, other)
            self.driver.event_record(event, other)
            self.driver.stream_wait_event(self.stream, event)
            self.driver.copy(second, first, LONG_COPY, WITHIN, self.stream)
            self.driver.event_record(event, self.stream)
            self.driver.stream_wait_event(other, event)
            assert (self.download(second, (LONG_COPY // 8,), float64).view("uint8") == value).all()

    def test_an_event_never_recorded_is_done(self) -> None:
        event = self.new_event()
        assert self.driver.event_query(event)
        self.driver.stream_wait_event(self.stream, event)
        self.driver.event_synchronize(event)

    def test_a_recorded_event_can_be_waited_for_and_polled(self) -> None:
        event, address, (target, result) = self.new_event(), self.new_memory(), self.new_pinned(LONG_COPY)
        self.driver.fill(address, 9, LONG_COPY, self.stream)
        self.driver.copy(target, address, LONG_COPY, TO_HOST, self.stream)
        self.driver.event_record(event, self.stream)
        self.driver.event_synchronize(event)
        assert (result == 9).all()
        self.driver.fill(address, 8, LONG_COPY, self.stream)
        self.driver.event_record(event, self.stream)
        assert any(self.driver.event_query(event) for _ in range(MAX_POLLS))

    def test_recording_again_moves_the_event_but_not_its_waiters(self) -> None:
        """If the wait followed the second record too, the two streams would wait for each other forever."""
        other, event, again = self.new_stream(), self.new_event(), self.new_event()
        address = self.new_memory()
        self.driver.fill(address, 1, 64, other)
        self.driver.event_record(event, other)
        self.driver.stream_wait_event(self.stream, event)
        self.driver.copy(Address(address + 64), address, 64, WITHIN, self.stream)
        self.driver.event_record(again, self.stream)
        self.driver.stream_wait_event(other, again)
        self.driver.fill(address, 2, 64, other)
        self.driver.event_record(event, other)
        self.driver.event_synchronize(event)
        assert self.download(address, (128 // 8,), float64).view("uint8").tolist() == [2] * 64 + [1] * 64

    def test_elapsed_time_is_positive_and_adds_up(self) -> None:
        events = [self.new_event(timing=True) for _ in range(3)]
        address = self.new_memory()
        for event in events:
            self.driver.event_record(event, self.stream)
            self.driver.fill(address, 0, SEGMENT, self.stream)
        self.driver.event_synchronize(events[2])
        steps = [self.driver.event_elapsed(a, b) for a, b in itertools.pairwise(events)]
        whole = self.driver.event_elapsed(events[0], events[2])
        assert min(steps) > 0 and abs(sum(steps) - whole) <= 1e-3 * whole + 1e-3

    def test_elapsed_time_needs_two_recorded_timing_events(self) -> None:
        timed, bare, untimed = self.new_event(timing=True), self.new_event(timing=True), self.new_event()
        for event in (timed, untimed):
            self.driver.event_record(event, self.stream)
        self.driver.stream_synchronize(self.stream)
        raised(AcceleratorError, lambda: self.driver.event_elapsed(timed, bare))
        raised(AcceleratorError, lambda: self.driver.event_elapsed(timed, untimed))
        assert self.driver.event_elapsed(timed, timed) == 0.0

    def test_an_event_belongs_to_its_device(self) -> None:
        if self.driver.device_count() < 2:
            return
        stream = self.driver.stream_adopt(1, 0)
        event = self.new_event()
        text = str(raised(AcceleratorError, lambda: self.driver.event_record(event, stream)))
        assert "device 0" in text and "device 1" in text

    # kernels
    def test_a_contiguous_kernel(self) -> None:
        values = host.numpy().linspace(-5, 5, COUNT, dtype="float32")
        source, target = self.upload(values), self.new_memory()
        assert self.driver.kernel_load(DEVICE, SCALE) == self.driver.kernel_load(DEVICE, SCALE)
        self.launch(SCALE, [target, source, 2.5, COUNT])
        assert (self.download(target, (COUNT,), float32) == values * host.numpy().float32(2.5)).all()

    def test_a_strided_kernel(self) -> None:
        """out[10, 100] = a transposed + a row that is repeated."""
        np = host.numpy()
        a, row = np.arange(COUNT).reshape(100, 10) * 2**33, np.arange(100) + 7
        addresses = [self.new_memory(), self.upload(a), self.upload(row)]
        layout = ((10, 100), [(100, 1), (1, 10), (0, 1)])
        self.launch(ADD, [*addresses, layout, COUNT])
        assert (self.download(addresses[0], (10, 100), int64) == a.T + row).all()

    def test_a_kernel_writes_only_what_its_strides_name(self) -> None:
        target = self.upload(host.numpy().full(COUNT, -1))
        source = self.upload(host.numpy().arange(10))
        self.launch(ADD, [target, source, source, ((10,), [(3,), (1,), (1,)]), 10])
        result = self.download(target, (COUNT,), int64)
        assert result[:30:3].tolist() == [2 * index for index in range(10)]
        assert (result[1:30:3] == -1).all() and (result[30:] == -1).all()

    def test_a_kernel_on_bfloat16(self) -> None:
        values = host.numpy().linspace(-3, 3, COUNT).astype(bfloat16.numpy)
        source, target = self.upload(values), self.new_memory()
        self.launch(NEGATE, [target, source, COUNT])
        result = self.download(target, (COUNT,), bfloat16)
        assert (result.view("uint16") == values.view("uint16") ^ 0x8000).all()

    def test_a_matrix_product(self) -> None:
        """With a transposed operand and a bias; where there is no library, the plan is refused."""
        problem = Gemm(float32, 2, 16, 24, 32, (512, 32, 1), (768, 1, 32), (384, 24, 1), has_bias=True)
        if "gemm" not in self.driver.capabilities.libraries:
            raised(NotSupportedError, lambda: self.driver.library_plan(DEVICE, problem))
            return
        a, b, bias = (host.numpy().sin(host.numpy().arange(n, dtype="float32")) for n in (1024, 1536, 24))
        plan, workspace = self.driver.library_plan(DEVICE, problem)
        scratch = self.new_memory(workspace) if workspace else Address(0)
        operands = (self.new_memory(), self.upload(a), self.upload(b), self.upload(bias))
        self.driver.library_run(plan, operands, scratch, self.stream)
        result = self.download(operands[0], (2, 16, 24), float32)
        wide = a.astype("float64").reshape(2, 16, 32) @ b.astype("float64").reshape(2, 24, 32).transpose(0, 2, 1) + bias
        assert abs(result - wide).max() < 1e-4

    # errors
    def test_destroyed_handles_are_errors(self) -> None:
        stream, event = self.driver.stream_create(DEVICE, 0), self.driver.event_create(DEVICE, False, False, False)
        self.driver.stream_destroy(stream)
        self.driver.event_destroy(event)
        raised(AcceleratorError, lambda: self.driver.stream_synchronize(stream))
        raised(AcceleratorError, lambda: self.driver.stream_destroy(stream))
        raised(AcceleratorError, lambda: self.driver.event_record(event, self.stream))
        raised(AcceleratorError, lambda: self.driver.event_synchronize(event))

    def test_a_destroyed_stream_finishes_its_work(self) -> None:
        address, (target, result) = self.new_memory(), self.new_pinned(LONG_COPY)
        stream = self.driver.stream_create(DEVICE, 0)
        self.driver.fill(address, 3, LONG_COPY, stream)
        self.driver.copy(target, address, LONG_COPY, TO_HOST, stream)
        self.driver.stream_destroy(stream)
        self.driver.device_synchronize(DEVICE)
        assert (result == 3).all()

    def test_a_bad_grid_is_an_error(self) -> None:
        handle, address = self.driver.kernel_load(DEVICE, SCALE), self.new_memory()
        arguments = SCALE.pack([address, address, 1.0, 4])
        blocks = ((256, 0, 0), (0, 1, 1), (1, 0, 1), (1, 1, 0), (2048, 1, 1), (64, 32, 1), (1, 1, 65))
        grids = [Grid((1, 1, 1), x, 0, y, z) for x, y, z in blocks]
        for grid in (Grid((0, 1, 1), 256), Grid((1, 0, 1), 256), *grids):
            raised(AcceleratorError, partial(self.driver.launch, handle, grid, arguments, self.stream))

    def test_an_ability_that_is_denied_raises(self) -> None:
        if not self.driver.capabilities.ipc:
            raised(NotSupportedError, lambda: self.driver.ipc_export(DEVICE, self.new_memory()))


SHARED_BYTES = 1 << 20  # bytes
SHARED_OFFSET = 512  # bytes
PARENT, CHILD = 7, 9
TIMEOUT = 120  # seconds


class IpcContract:
    """The suite of drivers with `capabilities.ipc`.  `driver` is a started driver with at least one device.

    The second process runs this file.  gpus: its FLAMBEAU_GPUS.
    """

    driver: Driver
    gpus: str

    def make_driver(self) -> Driver:
        """Return a started driver."""
        raise NotSupportedError("a subclass must define make_driver", operator="IpcContract")

    def setup_method(self) -> None:
        self.driver = self.make_driver()
        self.stream = self.driver.stream_create(DEVICE, 0)
        self.memory = self.driver.mem_alloc(DEVICE, SEGMENT)
        self.event = self.driver.event_create(DEVICE, False, False, True)

    def teardown_method(self) -> None:
        self.driver.device_synchronize(DEVICE)
        self.driver.event_destroy(self.event)
        self.driver.mem_free(DEVICE, self.memory)
        self.driver.stream_destroy(self.stream)

    def test_another_process_reads_after_the_event_and_writes_back(self) -> None:
        where = Address(self.memory + SHARED_OFFSET)
        for value in range(PARENT + 1):
            self.driver.fill(where, value, SHARED_BYTES, self.stream)
        self.driver.block_shared(DEVICE, where, SHARED_BYTES, self.stream)
        self.driver.event_record(self.event, self.stream)
        handle, event = self.driver.ipc_export(DEVICE, self.memory), self.driver.event_ipc_export(self.event)
        assert handle == self.driver.ipc_export(DEVICE, self.memory)
        said = self._other("read", handle.hex(), event.hex())
        assert said == f"{PARENT} {PARENT} True"
        assert set(_read(self.driver, where, self.stream).tolist()) == {CHILD}

    def test_a_handle_of_freed_memory_opens_nothing(self) -> None:
        gone = self.driver.mem_alloc(DEVICE, SEGMENT)
        handle = self.driver.ipc_export(DEVICE, gone)
        self.driver.mem_free(DEVICE, gone)
        assert "Error" in self._other("open", handle.hex())

    def test_own_and_broken_handles_are_refused(self) -> None:
        memory, event = self.driver.ipc_export(DEVICE, self.memory), self.driver.event_ipc_export(self.event)
        for bad in (memory, event, b"", memory[:-1], memory + b"x", bytes(len(memory))):
            raised(ArgumentError, lambda: self.driver.ipc_open(DEVICE, bad))  # noqa: B023
            raised(ArgumentError, lambda: self.driver.event_ipc_open(DEVICE, bad))  # noqa: B023

    def test_what_was_not_opened_cannot_be_closed(self) -> None:
        raised(AcceleratorError, lambda: self.driver.ipc_close(DEVICE, self.memory))

    def test_only_interprocess_events_are_exported(self) -> None:
        plain = self.driver.event_create(DEVICE, False, False, False)
        raised(AcceleratorError, lambda: self.driver.event_ipc_export(plain))
        self.driver.event_destroy(plain)

    def _other(self, *arguments: str) -> str:
        command = [sys.executable, "-m", __name__, *arguments]
        environment = {**os.environ, "FLAMBEAU_GPUS": self.gpus}
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT, env=environment)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()


def _read(driver: Driver, address: Address, stream: StreamHandle) -> Any:
    values = host.numpy().zeros(SHARED_BYTES, "uint8")
    driver.copy(Address(host.address_of(values)), address, SHARED_BYTES, CopyKind.DEVICE_TO_HOST, stream)
    return values


def _read_and_answer(driver: Driver, handle: bytes, event: bytes) -> str:
    stream = driver.stream_create(DEVICE, 0)
    opened, again = driver.ipc_open(DEVICE, handle), driver.ipc_open(DEVICE, handle)
    awaited: EventHandle = driver.event_ipc_open(DEVICE, event)
    driver.stream_wait_event(stream, awaited)
    where = Address(opened + SHARED_OFFSET)
    values = _read(driver, where, stream)
    driver.fill(where, CHILD, SHARED_BYTES, stream)
    driver.event_record(awaited, stream)
    driver.ipc_flush(stream)
    driver.event_destroy(awaited)
    driver.ipc_close(DEVICE, opened)
    driver.ipc_close(DEVICE, again)
    return f"{values.min()} {values.max()} {opened == again}"


def _open(driver: Driver, handle: bytes) -> str:
    try:
        return str(driver.ipc_open(DEVICE, handle))
    except FlambeauError as error:
        return f"{type(error).__name__}: {error.fact}"


def main(what: str, *handles: str) -> None:
    """Main of the second process: "read" or "open", with handles in hexadecimal."""
    driver = make(parse_gpus(os.environ["FLAMBEAU_GPUS"]))
    driver.start()
    do: dict[str, Callable[..., Any]] = {"read": _read_and_answer, "open": _open}
    print(do[what](driver, *map(bytes.fromhex, handles)))


if __name__ == "__main__":
    main(*sys.argv[1:])
