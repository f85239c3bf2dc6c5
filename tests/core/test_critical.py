"""Critical sections and locks: deferred signal handlers, and re-entry by the thread that holds a lock."""

import gc
import signal
import threading

import pytest

from flambeau import signals
from flambeau.core import native
from flambeau.core.locks import ReentrantLock, whole
from flambeau.errors import ReentryError


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
