"""Start and stop of profilers, as virtual GPUs record them; the driver's tests have the calls on hardware."""

from __future__ import annotations

import threading

import pytest

import flambeau as torch
from flambeau import errors
from flambeau.core.queue import hooks
from flambeau.testing import machine

nvtx = torch.cuda.nvtx


@pytest.fixture
def told(monkeypatch):
    found = []
    monkeypatch.setattr(hooks, "on_range", lambda *facts: found.append(facts))
    with machine() as made:
        made.driver.clock.spend(100 - made.driver.clock.now() % 100)
        yield lambda: [(text, start, end) for text, start, end, _ in found]


def test_depths_count_from_zero():
    with machine():
        assert [nvtx.range_push("a"), nvtx.range_push("b"), nvtx.range_push("c")] == [0, 1, 2]
        assert [nvtx.range_pop(), nvtx.range_pop(), nvtx.range_pop()] == [2, 1, 0]


def test_with_nothing_open_a_pop_is_negative():
    with machine():
        assert nvtx.range_pop() == -1


def test_each_thread_has_its_own_depth():
    seen = []
    with machine():
        nvtx.range_push("outer")
        thread = threading.Thread(target=lambda: seen.append((nvtx.range_push("other"), nvtx.range_pop())))
        thread.start()
        thread.join()
        assert nvtx.range_pop() == 0
    assert seen == [(0, 0)]


def test_a_range_is_a_block_and_a_decorator(told):
    @nvtx.range("double {}", "it")
    def double(value):
        return 2 * value

    with nvtx.range("step {n}", n=3):
        assert double(4) == 8 and double(5) == 10
    assert [text for text, _, _ in told()] == ["double it", "double it", "step 3"]


def test_a_range_ends_when_its_block_raises(told):
    with pytest.raises(KeyError), nvtx.range("broken"):
        raise KeyError("no")
    assert [text for text, _, _ in told()] == ["broken"] and nvtx.range_pop() == -1


def test_times_are_the_host_s(told):
    with nvtx.range("all"):
        nvtx.mark("begin")
        torch.cuda._sleep(1_000_000)
        torch.cuda.synchronize()
    (_, start, end), (_, first, last) = told()
    assert start == end == first and last - first > 500_000


def test_a_range_that_another_thread_ends(told):
    number = nvtx.range_start("far")
    other = nvtx.range_start("near")
    thread = threading.Thread(target=nvtx.range_end, args=(number,))
    thread.start()
    thread.join()
    nvtx.range_end(other)
    assert number != other and [text for text, _, _ in told()] == ["far", "near"]


def test_a_range_ends_once():
    with machine():
        number = nvtx.range_start("once")
        nvtx.range_end(number)
        with pytest.raises(errors.ArgumentError, match=rf"range_end: there is no open range {number}\nhint: "):
            nvtx.range_end(number)


def test_a_range_that_began_before_anybody_watched_has_no_begin(monkeypatch):
    found = []
    with machine():
        nvtx.range_push("early")
        monkeypatch.setattr(hooks, "on_range", lambda *facts: found.append(facts))
        nvtx.range_pop()
    assert [(text, start, change) for text, start, _, change in found] == [("early", None, 0)]


def test_nothing_starts_a_machine():
    from flambeau.config import virtual_gpus
    from flambeau.core import thread
    from flambeau.runtime.machine import Machine

    made = Machine(virtual_gpus(1))
    former = thread.swap_machine(made)
    try:
        with nvtx.range("cold"):
            nvtx.mark("moment")
        assert not made.is_started
    finally:
        thread.swap_machine(former)


def test_the_gate_is_open_inside_the_block():
    with machine() as made:
        assert not made.driver.is_profiled
        with torch.cuda.profiler.profile():
            assert made.driver.is_profiled
        assert not made.driver.is_profiled


def test_the_gate_closes_when_the_block_raises():
    with machine() as made:
        with pytest.raises(KeyError), torch.cuda.profiler.profile():
            raise KeyError("no")
        assert not made.driver.is_profiled


def test_start_and_stop_may_be_called_again():
    with machine() as made:
        torch.cuda.profiler.start()
        torch.cuda.profiler.start()
        assert made.driver.is_profiled
        torch.cuda.profiler.stop()
        torch.cuda.profiler.stop()
        assert not made.driver.is_profiled
