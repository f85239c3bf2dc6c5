"""Finalizers and hooks that call the library during a call of the library."""

import faulthandler
import gc
import threading
import weakref

import pytest

import flambeau as torch
from flambeau.core.hooks import subscribe, unsubscribe
from flambeau.errors import AcceleratorError, ReentryError
from tests.conftest import ON_HARDWARE

HUNG = 60  # seconds


@pytest.fixture(autouse=True)
def _no_hang():
    faulthandler.dump_traceback_later(HUNG, exit=True)
    yield
    faulthandler.cancel_dump_traceback_later()


def item():
    assert torch.ones(8, device="cuda").sum().item() == 8


def settled():
    """The bytes allocated and active, after blocks that earlier tests freed on other streams are inactive."""
    torch.cuda.synchronize()
    torch.empty(1, device="cuda")
    return torch.cuda.memory_allocated(), torch.cuda.memory_stats()["active_bytes.all.current"]


CALLS = {
    "allocates": lambda: torch.empty(1000, device="cuda"),
    "pins": lambda: torch.empty(1000, pin_memory=True),
    "memory_allocated": torch.cuda.memory_allocated,
    "memory_stats": torch.cuda.memory_stats,
    "host_memory_stats": torch.cuda.host_memory_stats,
    "item": item,
    "synchronize": torch.cuda.synchronize,
    "empty_cache": torch.cuda.empty_cache,
    "draws": lambda: torch.randn(8, device="cuda"),
}


class Cycle:
    """Create cyclic garbage whose finalizer calls the library."""

    def __init__(self, call, failures):
        self.me, self.call, self.failures = self, call, failures

    def __del__(self):
        try:
            self.call()
        except Exception as error:  # noqa: BLE001  (each is looked at)
            self.failures.append(error)


def work():
    side = torch.cuda.Stream()
    x = torch.ones(5000, device="cuda")
    with torch.cuda.stream(side):
        side.wait_stream(torch.cuda.default_stream())
        y = x * 2 + torch.randn(5000, device="cuda") * 0
    x.record_stream(side)
    del x
    torch.cuda.current_stream().wait_stream(side)
    host = torch.empty(5000, pin_memory=True)
    host.copy_(y, non_blocking=True)
    torch.cuda.synchronize()
    assert host[0].item() == 2
    del host
    torch.cuda.empty_cache()
    torch.cuda.memory_snapshot()
    w = torch.ones(100, device="cuda", requires_grad=True)
    (w * 3).sum().backward()
    assert w.grad[0].item() == 3


@pytest.mark.slow
@pytest.mark.parametrize("name", CALLS)
def test_a_finalizer_that_the_collector_runs_anywhere_may_call_the_library(gpus, name):
    failures, made = [], []

    def garbage(phase, facts):
        if phase == "stop" and len(made) < 2000:
            made.append(None)
            Cycle(CALLS[name], failures)

    work()
    former = gc.get_threshold()
    gc.collect()
    gc.callbacks.append(garbage)
    Cycle(CALLS[name], failures)
    gc.set_threshold(1)
    try:
        work()
    finally:
        gc.set_threshold(*former)
        gc.callbacks.remove(garbage)
    gc.collect()
    assert made and not failures
    work()


@pytest.mark.parametrize("name", CALLS)
def test_a_collection_inside_the_allocators_lock_is_answered(gpus, name):
    """A hook that runs the collector: each call works, or its error names __del__."""
    failures, done = [], []

    def taken(block, stream):
        if not done:
            done.append(None)
            Cycle(CALLS[name], failures)
            gc.collect()

    subscribe(on_block_taken=taken)
    try:
        x = torch.ones(8, device="cuda")
    finally:
        unsubscribe(on_block_taken=taken)
    assert x.sum().item() == 8 and done
    assert all(type(each) is ReentryError and "__del__" in str(each) for each in failures)
    if name in ("memory_allocated", "memory_stats", "host_memory_stats", "pins"):
        assert not failures
    work()


def test_a_weak_reference_may_call_the_library(gpus):
    found = []
    x = torch.ones(1000, device="cuda")
    before = torch.cuda.memory_allocated()
    weakref.finalize(x, lambda: found.append(torch.cuda.memory_allocated()))
    del x
    assert len(found) == 1 and found[0] <= before


def test_figures_wait_for_no_lock(gpus):
    at_first, active = settled()
    pins = torch.cuda.host_memory_stats()["active_requests.allocated"]
    held = torch.ones(1000, device="cuda")
    side = torch.cuda.Stream()
    dropped = torch.empty(5000, device="cuda")
    dropped.record_stream(side)
    pinned = torch.empty(100, pin_memory=True)
    accelerator = gpus.devices[0]
    inside, done, found = threading.Event(), threading.Event(), []

    def allocating():
        with accelerator.allocator.lock, gpus.pinned.lock, gpus.driver._lock:
            inside.set()
            done.wait(HUNG)

    thread = threading.Thread(target=allocating)
    thread.start()
    inside.wait()
    try:
        del dropped
        for call in (
            torch.cuda.memory_allocated, torch.cuda.memory_reserved, torch.cuda.max_memory_allocated,
            torch.cuda.memory_summary,
        ):  # fmt: skip
            found.append(call())
        stats = torch.cuda.memory_stats()
        assert torch.cuda.host_memory_stats()["active_requests.allocated"] == pins + 1
    finally:
        done.set()
        thread.join()
    assert found[0] - at_first == 4096
    assert stats["active_bytes.all.current"] - active == 4096 + 20480
    assert stats == torch.cuda.memory_stats() | {
        each: stats[each] for each in stats if "inactive" in each or "requested" in each
    }
    assert held[0].item() == 1 and pinned.is_pinned()


def test_figures_do_not_wait_for_a_driver_that_is_busy(gpus):
    at_first, active = settled()
    side = torch.cuda.Stream()
    dropped = torch.empty(5000, device="cuda")
    dropped.record_stream(side)
    inside, done = threading.Event(), threading.Event()

    def waiting():
        with gpus.driver._lock:
            inside.set()
            done.wait(HUNG)

    thread = threading.Thread(target=waiting)
    thread.start()
    inside.wait()
    try:
        del dropped
        assert torch.cuda.memory_allocated() == at_first
        assert torch.cuda.memory_stats()["active_bytes.all.current"] - active == 20480
    finally:
        done.set()
        thread.join()
    torch.cuda.synchronize()
    torch.empty(1, device="cuda")
    assert torch.cuda.memory_stats()["active_bytes.all.current"] == active


@pytest.mark.skipif(ON_HARDWARE, reason="on hardware a fault ends the device for the whole process")
def test_figures_answer_after_a_device_assert(gpus):
    x = torch.ones(1000, device="cuda")
    y = torch.ones(1000, device="cuda")
    y.record_stream(torch.cuda.Stream())
    gpus.driver.faults.fail_launch_at(1)
    x.add_(1)
    with pytest.raises(AcceleratorError):
        torch.cuda.synchronize()
    del y
    assert torch.cuda.memory_allocated() == 4096
    assert torch.cuda.memory_stats()["allocation.all.current"] == 1
    assert "CUDA memory summary" in torch.cuda.memory_summary()
    assert torch.cuda.host_memory_stats()["num_host_alloc"] == 0
