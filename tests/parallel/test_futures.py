"""Futures: values, functions of them, errors, and order on GPUs."""

import threading

import pytest

import flambeau as torch
from flambeau.errors import ModeError, RaceError
from flambeau.futures import Future, collect_all, wait_all
from flambeau.parallel.futures import future_of
from flambeau.testing import machine


def test_functions_are_called_when_the_value_is_there():
    future, seen = Future(), []
    length = future.then(lambda done: len(done.value()))
    doubled = length.then(lambda done: done.wait() * 2)
    future.add_done_callback(lambda done: seen.append(done.value()))
    assert not future.done() and seen == []
    with pytest.raises(ModeError, match="Future.value: the future is not done"):
        length.value()
    future.set_result("text")
    assert (length.wait(), doubled.value(), seen) == (4, 8, ["text"])
    assert future.then(lambda done: done.value() + "!").value() == "text!"
    for method in (Future().then, Future().add_done_callback):
        with pytest.raises(TypeError, match=f"^Future.{method.__name__}: the callback is not callable: 3\nhint: "):
            method(3)
    with pytest.raises(ModeError, match="only be marked completed once"):
        future.set_result("other")


def test_another_thread_may_set_the_value():
    future = Future()
    thread = threading.Thread(target=future.set_result, args=(3,))
    thread.start()
    assert future.wait() == 3
    thread.join()


def test_errors_are_raised_by_wait_and_value():
    future = Future()
    later = future.then(lambda done: done.value())
    future.set_exception(KeyError("lost"))
    for each in (future, later):
        with pytest.raises(KeyError, match="lost"):
            each.wait()
        with pytest.raises(KeyError, match="lost"):
            each.value()


def test_several_futures():
    first, second = Future(), Future()
    both = collect_all([first, second])
    first.set_result(1)
    assert not both.done()
    second.set_result(2)
    assert [each.value() for each in both.wait()] == [1, 2] == wait_all([first, second])
    assert collect_all([]).wait() == []


def test_values_on_gpus_are_ordered_by_wait_alone():
    with machine(races="error"):
        side, future = torch.cuda.Stream(), Future()
        x = torch.ones(4, device="cuda")
        with torch.cuda.stream(side):
            side.wait_stream(torch.cuda.default_stream())
            future.set_result([x.mul_(2)])
        later = future.then(lambda done: done.value()[0].add_(1))
        assert later.wait().tolist() == [3.0] * 4
        later = later.then(lambda done: done.value().add_(1))
        with pytest.raises(RaceError):
            later.value().tolist()


class Pending:
    """A collective on the CPU that is done when it is waited for."""

    def __init__(self):
        self.waits = 0

    def is_completed(self):
        return self.waits > 0

    def wait(self):
        self.waits += 1


def test_the_host_waits_for_a_collective_on_the_cpu_when_its_value_is_asked_for():
    work, x = Pending(), torch.ones(2)
    later = future_of(work, [x]).then(lambda done: done.value()[0] + 1).then(lambda done: done.value() * 2)
    assert work.waits == 0 and not later.done()
    assert later.wait().tolist() == [4.0, 4.0] and later.wait() is later.value() and work.waits == 1
    assert future_of(work, [x]).done()


def test_an_annotation_names_the_type_of_the_value():
    assert torch.Future is torch.futures.Future and torch.Future[int].__origin__ is torch.Future
