"""Locks and critical sections, compiled or not: deferred signal handlers, and re-entry by a lock's own thread."""

import gc
import json
import os
import signal
import threading

import pytest

from flambeau import signals
from flambeau.core import native
from flambeau.core.locks import ReentrantLock, whole
from flambeau.core.native import Lock
from flambeau.errors import ReentryError
from flambeau.tools.compiled import is_compiled
from tests.forks import Wanted


def is_free(lock):
    if not lock.try_acquire():
        return False
    lock.release()
    return True


def test_what_is_held_is_not_taken_again():
    lock = Lock()
    assert lock.try_acquire() and not lock.try_acquire()
    lock.release()
    assert is_free(lock)


def test_it_is_given_back_when_its_block_raises():
    lock = Lock()
    with pytest.raises(KeyError), lock:
        raise KeyError
    assert is_free(lock)


def test_who_waits_gets_it_after_the_owner():
    lock, order, starting = Lock(), [], threading.Event()

    def wait():
        starting.set()
        with lock:
            order.append("the other")

    other = threading.Thread(target=wait)
    with lock:
        other.start()
        starting.wait()
        assert not lock.try_acquire()
        order.append("the owner")
    other.join()
    assert order == ["the owner", "the other"] and is_free(lock)


def test_threads_that_count_under_it_miss_nothing():
    lock, count = Lock(), [0]

    def add():
        for _ in range(1000):
            with lock:
                now = count[0]
                count[0] = now + 1

    threads = [threading.Thread(target=add) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert count == [4000]


@pytest.fixture
def seen():
    """Collect the signals whose handler ran; each run raises KeyError."""
    found = []

    def handler(number, frame):
        found.append(number)
        raise KeyError(number)

    former = signal.signal(signal.SIGUSR1, handler)
    signals.replace_handlers()
    yield found
    signal.signal(signal.SIGUSR1, former)


def test_a_handler_runs_after_the_outermost_section(seen):
    with pytest.raises(KeyError):
        native.enter_critical()
        native.enter_critical()
        signal.raise_signal(signal.SIGUSR1)
        native.leave_critical()
        assert seen == []
        native.leave_critical()
    assert seen == [signal.SIGUSR1]


def test_outside_of_sections_a_handler_runs_at_once(seen):
    with pytest.raises(KeyError):
        signal.raise_signal(signal.SIGUSR1)
    assert seen == [signal.SIGUSR1]


@pytest.mark.parametrize("kind", [native.Lock, ReentrantLock])
def test_a_lock_is_free_when_the_handler_runs(seen, kind):
    lock = kind()
    with pytest.raises(KeyError), lock:
        signal.raise_signal(signal.SIGUSR1)
        assert seen == []
    assert seen == [signal.SIGUSR1]
    _in_thread(lambda: lock.acquire() or lock.release())


def test_a_wait_runs_what_was_put_off(seen):
    native.enter_critical()
    signal.raise_signal(signal.SIGUSR1)
    try:
        with pytest.raises(KeyError):
            native.run_handlers()
    finally:
        native.leave_critical()
    assert seen == [signal.SIGUSR1]


def test_a_section_of_another_thread_puts_no_handler_off(seen):
    inside, done = threading.Event(), threading.Event()

    def other():
        native.enter_critical()
        inside.set()
        done.wait()
        native.leave_critical()

    thread = threading.Thread(target=other)
    thread.start()
    inside.wait()
    try:
        with pytest.raises(KeyError):
            signal.raise_signal(signal.SIGUSR1)
    finally:
        done.set()
        thread.join()


def test_a_whole_function_ends_before_the_handler_runs(seen):
    steps = []

    @whole
    def function():
        signal.raise_signal(signal.SIGUSR1)
        steps.append(1)

    with pytest.raises(KeyError):
        function()
    assert steps == [1]


def test_the_collector_rests_in_sections_and_runs_after_them():
    native.enter_critical()
    try:
        assert not gc.isenabled()
    finally:
        native.leave_critical()
    assert gc.isenabled()


def test_a_disabled_collector_stays_disabled():
    gc.disable()
    try:
        with native.Lock():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_a_lock_refuses_the_thread_that_holds_it():
    lock = native.Lock()
    with lock, pytest.raises(ReentryError, match="__del__"):
        lock.acquire()
    with lock:
        assert not lock.try_acquire()
    assert gc.isenabled()


def test_a_reentrant_lock_takes_its_thread_again():
    lock = ReentrantLock()
    with lock, lock:
        pass
    _in_thread(lambda: lock.acquire() or lock.release())


def _in_thread(function):
    thread = threading.Thread(target=function, daemon=True)
    thread.start()
    thread.join(10)
    assert not thread.is_alive()


ON_THE_CPU = """
import json, os, signal, sys
import flambeau as torch

class Ended(Exception):
    pass

def end(number, frame):
    raise Ended

def interrupted_at(count):
    # sends the signal when that function of the library is entered, as CPython may; in writes, at that line
    left = count

    def trace(frame, event, argument):
        nonlocal left
        if "flambeau" not in frame.f_code.co_filename or "signals.py" in frame.f_code.co_filename:
            return None
        if event == ("line" if name in writes else "call"):
            left -= 1
            if left == 0:
                signal.raise_signal(signal.SIGALRM)
        return trace

    return trace

signal.signal(signal.SIGALRM, end)
x, index = torch.rand(3, 3), torch.zeros(3, 3, dtype=torch.int64)
writes = {
    "copy_": lambda t: t.copy_(x.t()),
    "scatter_add_": lambda t: t.scatter_add_(0, index, x),
    "index_add_": lambda t: t.index_add_(0, index[0], x),
    "normal_": lambda t: t.normal_(),
    "geometric_": lambda t: t.geometric_(0.5),
    "masked_scatter_": lambda t: t.masked_scatter_(x > 0.5, x),
}
name = sys.argv[1]
reads = {
    "mvlgamma": lambda: x.add(2.0).mvlgamma(2),
    "cumsum": lambda: x.cumsum(0),
    "index": lambda: x[index],
}
count, outcomes = 1, set()
while "finished" not in outcomes:
    target = torch.full((3, 3), 2.0)
    before = target._version
    sys.settrace(interrupted_at(count))
    try:
        writes[name](target) if name in writes else reads[name]()
        sys.settrace(None)
        outcomes.add("finished")
    except Ended:
        sys.settrace(None)
        changed = bool((target != 2.0).any())
        outcomes.add("counted" if target._version == before + 1 else "not counted" if changed else "untouched")
    except BaseException as other:
        sys.settrace(None)
        outcomes.add(type(other).__name__)
    count += 1
print(json.dumps(sorted(outcomes)))
"""


@pytest.fixture
def outcomes(programs):
    """Runs a call once per line of the library's, and sends a signal at that line; what came of it."""

    def run(name):
        wanted = Wanted(["-c", ON_THE_CPU, name], os.getcwd(), dict(os.environ))
        done = programs.run(wanted, timeout=120, fresh=True)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run


def few_by_default(first, *others):
    return pytest.mark.parametrize("name", [first, *(pytest.param(name, marks=pytest.mark.full) for name in others)])


@pytest.mark.slow
@pytest.mark.skipif(not is_compiled(), reason="an uncompiled call on the CPU may be interrupted anywhere")
@few_by_default("scatter_add_", "copy_", "index_add_", "normal_", "geometric_", "masked_scatter_")
def test_a_write_on_the_cpu_is_whole_before_cuda_has_started(outcomes, name):
    """A signal comes before the write, or after it was counted."""
    assert {"counted", "finished"} <= set(outcomes(name)) <= {"counted", "finished", "untouched"}


@pytest.mark.slow
@few_by_default("mvlgamma", "cumsum", "index")
def test_what_a_handler_raises_in_a_reference_stays_what_it_is(outcomes, name):
    assert outcomes(name) == ["finished", "untouched"]


AT_THE_END = """
import atexit, threading
start, held = threading.Event(), threading.Event()
atexit.register(lambda: start.set() or held.wait())  # runs last: what is queued has been run

import flambeau as torch
from flambeau.core import thread

torch.virtual(1)
event = torch.cuda.Event()
event.record()
hold = "start.wait(); lock.acquire(); held.set(); threading.Event().wait()"
names = {"start": start, "held": held, "threading": threading, "lock": thread.machine().driver._lock}
threading.Thread(target=exec, args=(hold, names), daemon=True).start()  # without this module, whose names go
"""


def test_a_daemon_thread_that_holds_a_lock_does_not_keep_the_process(programs):
    """The interpreter stops it for ever, and then runs the finalizer of the event, which takes the lock."""
    done = programs.run(Wanted(["-c", AT_THE_END], os.getcwd(), dict(os.environ)), timeout=30, fresh=True)
    assert (done.returncode, done.stderr) == (0, "")
