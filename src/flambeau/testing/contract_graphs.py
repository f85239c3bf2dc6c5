"""The part of the contract that is about graphs.  A driver without them has nothing to show here."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread
from typing import Any

from .. import host
from ..driver.api import Address, CaptureMode, CaptureStatus, CopyKind, GraphExecHandle, StreamHandle
from ..dtypes import float32
from ..errors import AcceleratorError, NotSupportedError
from ..problem import Gemm
from .contract_base import COUNT, DEVICE, LONG_COPY, SCALE, TO_DEVICE, TO_HOST, WITHIN, Contract, raised

GLOBAL, THREAD_LOCAL, RELAXED = CaptureMode.GLOBAL, CaptureMode.THREAD_LOCAL, CaptureMode.RELAXED
NBYTES = 4 * COUNT


def in_thread(call: Callable[[], object]) -> list[Exception]:
    """What `call` raises on another thread: nothing, or one exception."""
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
    """Capturing, launching, and what is not permitted meanwhile."""

    @property
    def has_graphs(self) -> bool:
        return self.driver.capabilities.graphs

    @contextmanager
    def captured(self, mode: CaptureMode = GLOBAL) -> Iterator[list[GraphExecHandle]]:
        """Capture on `self.stream`; the list has what can be launched when the block is over."""
        made: list[GraphExecHandle] = []
        self.driver.capture_begin(self.stream, mode)
        yield made
        graph = self.driver.capture_end(self.stream)
        self._undo.append(lambda: self.driver.graph_destroy(graph))
        made.append(self.driver.graph_instantiate(graph))
        self._undo.append(lambda: self.driver.graph_destroy(made[0]))

    @contextmanager
    def broken(self, mode: CaptureMode = GLOBAL) -> Iterator[None]:
        """Capture on `self.stream`; the block breaks the capture, and the stream works afterwards."""
        self.driver.capture_begin(self.stream, mode)
        yield
        assert self.driver.capture_status(self.stream) is CaptureStatus.INVALIDATED
        raised(AcceleratorError, lambda: self.driver.capture_end(self.stream))
        assert self.driver.capture_status(self.stream) is CaptureStatus.NONE
        self.driver.stream_synchronize(self.stream)

    def wait(self, waiter: StreamHandle, stream: StreamHandle) -> None:
        """Later work on `waiter` follows what is on `stream`."""
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

    # what a graph looks like

    def test_a_graph_has_numbers_and_is_written(self) -> None:
        if not self.has_graphs:
            return
        data = self.upload(self.ones())
        self.driver.capture_begin(self.stream, GLOBAL)
        self.driver.fill(data, 0, 4, self.stream)
        self.driver.fill(data, 1, 8, self.stream)
        graph = self.driver.capture_end(self.stream)
        made = self.driver.graph_instantiate(graph)
        assert 0 < self.driver.graph_raw(graph) != self.driver.graph_raw(made) > 0
        with TemporaryDirectory() as place:
            self.driver.graph_write(graph, f"{place}/graph.dot")
            text = Path(f"{place}/graph.dot").read_text()
            raised(AcceleratorError, lambda: self.driver.graph_write(graph, f"{place}/nowhere/graph.dot"))
        assert "digraph" in text and text.count("->") == 1
        for each in (made, graph):
            self.driver.graph_destroy(each)

    # what a graph does
    def test_without_graphs_a_capture_is_refused(self) -> None:
        if not self.has_graphs:
            raised(NotSupportedError, lambda: self.driver.capture_begin(self.stream, GLOBAL))

    def test_a_capture_runs_nothing_and_each_launch_all_of_it(self) -> None:
        if not self.has_graphs:
            return
        data, sums = self.upload(self.ones()), self.upload(self.ones())
        self.driver.kernel_load(DEVICE, SCALE)
        with self.captured() as made:
            assert self.driver.capture_status(self.stream) is CaptureStatus.ACTIVE
            self.launch(SCALE, [sums, data, 3.0, COUNT])
            self.driver.copy(data, sums, NBYTES, WITHIN, self.stream)
            self.driver.fill(sums, 0, 4, self.stream)
        assert self.driver.capture_status(self.stream) is CaptureStatus.NONE
        assert (self.download(data, (COUNT,), float32) == 1).all()
        for launches in (1, 2, 3):
            self.driver.graph_launch(made[0], self.stream)
            assert (self.download(data, (COUNT,), float32) == 3.0**launches).all()
        assert self.download(sums, (COUNT,), float32)[:2].tolist() == [0.0, 27.0]

    def test_a_graph_is_launched_on_any_stream(self) -> None:
        if not self.has_graphs:
            return
        data, other = self.upload(self.ones()), self.new_stream()
        self.driver.kernel_load(DEVICE, SCALE)
        with self.captured() as made:
            self.launch(SCALE, [data, data, 2.0, COUNT])
        for stream in (other, self.stream, self.driver.stream_adopt(DEVICE, 0)):
            self.driver.graph_launch(made[0], stream)
            self.wait(self.stream, stream)
        assert (self.download(data, (COUNT,), float32) == 8).all()

    def test_a_side_stream_joins_a_capture_and_comes_back(self) -> None:
        if not self.has_graphs:
            return
        side = self.new_stream()
        first, second = self.upload(self.ones()), self.new_memory()
        self.driver.kernel_load(DEVICE, SCALE)
        with self.captured() as made:
            self.launch(SCALE, [first, first, 2.0, COUNT])
            self.wait(side, self.stream)
            assert self.driver.capture_status(side) is CaptureStatus.ACTIVE
            self.launch(SCALE, [second, first, 5.0, COUNT], side)
            self.wait(self.stream, side)
            self.driver.copy(first, second, NBYTES, WITHIN, self.stream)
        assert self.driver.capture_status(side) is CaptureStatus.NONE
        for launches in (1, 2):
            self.driver.graph_launch(made[0], self.stream)
            assert (self.download(first, (COUNT,), float32) == 10.0**launches).all()

    def test_pinned_memory_is_read_at_each_launch(self) -> None:
        if not self.has_graphs:
            return
        address, (source, values), (target, found) = self.new_memory(), self.new_pinned(64), self.new_pinned(64)
        with self.captured() as made:
            self.driver.copy(address, source, 64, TO_DEVICE, self.stream)
            self.driver.copy(target, address, 64, TO_HOST, self.stream)
        for value in (3, 4):
            values[:] = value
            self.driver.graph_launch(made[0], self.stream)
            self.driver.stream_synchronize(self.stream)
            assert (found == value).all()

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
        with self.captured() as made:
            run()
        self.driver.graph_launch(made[0], self.stream)
        assert (self.download(out, (16, 16), float32) == 4 * host.numpy().eye(16)).all()

    def test_an_empty_capture_is_a_graph(self) -> None:
        if not self.has_graphs:
            return
        with self.captured() as made:
            pass
        self.driver.graph_launch(made[0], self.stream)

    def test_the_mode_of_a_thread_is_exchanged(self) -> None:
        if not self.has_graphs:
            return
        assert self.driver.capture_mode_exchange(RELAXED) is GLOBAL
        assert self.driver.capture_mode_exchange(GLOBAL) is RELAXED

    # what is not permitted
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
            assert [type(each) for each in in_thread(lambda: self.driver.mem_alloc(DEVICE, LONG_COPY))]

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
        made = self.driver.graph_instantiate(graph)
        self.driver.graph_destroy(graph)
        self.driver.graph_launch(made, self.stream)
        self.driver.graph_destroy(made)
        raised(AcceleratorError, lambda: self.driver.graph_launch(made, self.stream))
        raised(AcceleratorError, lambda: self.driver.graph_destroy(graph))
        raised(AcceleratorError, lambda: self.driver.graph_instantiate(graph))

    def test_pageable_memory_is_not_captured(self) -> None:
        """Where a driver takes it, the address is captured; `flambeau` itself refuses it on every driver."""
        if not self.has_graphs or self.driver.capabilities.name != "virtual":
            return
        address, values = self.new_memory(), self.ones()
        for kind, ends in ((CopyKind.HOST_TO_DEVICE, (address, values)), (CopyKind.DEVICE_TO_HOST, (values, address))):
            dst, src = (Address(each if isinstance(each, int) else host.address_of(each)) for each in ends)
            with self.broken():
                raised(AcceleratorError, partial(self.driver.copy, dst, src, NBYTES, kind, self.stream))
