"""Mistakes other than races that a check reports, and correct programs for which it reports none."""

import threading

import pytest

import flambeau as torch
from flambeau.testing import check, machine


@pytest.fixture(autouse=True)
def threads_as_they_were(monkeypatch):
    monkeypatch.setattr(threading.Thread, "start", threading.Thread.start)


def mistakes_of(program):
    with machine(devices=2), check() as found:
        program()
    return found


def lines(found):
    return [int(each.site.split(":")[1].split(" ")[0]) for each in found.mistakes]


def line_of(function, number):
    return function.__code__.co_firstlineno + number


def in_thread(call):
    thread = threading.Thread(target=call, name="worker")
    thread.start()
    thread.join()


def loses_its_stream():
    with torch.cuda.stream(torch.cuda.Stream(name="side")):
        in_thread(lambda: torch.ones(2, device="cuda"))


def test_a_thread_that_lost_its_stream():
    found = mistakes_of(loses_its_stream)
    ((text, _, is_error),) = found.mistakes
    assert lines(found) == [line_of(loses_its_stream, 2)] and not is_error and found.is_clean
    assert "thread 'worker' works on" in text and "'side'" in text and "cuda.carry(function)" in text
    assert f"test_mistakes.py:{lines(found)[0]}: thread 'worker'" in str(found)


def test_a_thread_that_lost_its_device():
    def program():
        torch.cuda.set_device(1)
        in_thread(lambda: torch.ones(2, device="cuda"))

    found = mistakes_of(program)
    assert lines(found) == [line_of(program, 2)] and "device cuda:1" in found.mistakes[0].text


def test_a_thread_that_chooses_is_right():
    def program():
        with torch.cuda.device(1):
            in_thread(torch.cuda.carry(lambda: torch.ones(2, device="cuda")))
            in_thread(lambda: torch.cuda.set_device(0) or torch.ones(2, device="cuda"))

    assert mistakes_of(program).mistakes == ()


def replayed(writes, keeps=True):
    def program():
        x, graph = torch.ones(4, device="cuda"), torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            y = x * 2
        graph.static_inputs(x)
        if writes:
            x.fill_(3)
        if not keeps:
            del x
        graph.replay()
        assert y.tolist() == [6.0 if writes else 2.0] * 4  # with the program's values, not with poison
        return y

    return program


def test_a_stale_input_of_a_graph():
    program = replayed(writes=False)
    found = mistakes_of(program)
    ((text, _, is_error),) = found.mistakes
    assert is_error and not found.is_clean and lines(found) == [line_of(program, 9)]
    assert "static input 0, float32[4]" in text and "was not written since the last replay" in text
    assert mistakes_of(replayed(writes=True)).mistakes == ()


def test_a_dead_input_of_a_graph():
    found = mistakes_of(replayed(writes=True, keeps=False))
    assert "static input 0" in found.mistakes[0].text and "was freed" in found.mistakes[0].text


def test_a_wait_for_an_event_that_is_never_recorded():
    def program():
        side, event, x = torch.cuda.Stream(name="side"), torch.cuda.Event(), torch.ones(4, device="cuda")
        side.wait_event(event)
        with torch.cuda.stream(side):
            x.mul_(2)
        event.synchronize()

    found = mistakes_of(program)
    assert lines(found) == [line_of(program, 2), line_of(program, 5)] and len(found.races) == 1
    assert "'side'" in found.mistakes[0].text and "never recorded" in found.mistakes[0].text
    assert "the host waits" in found.mistakes[1].text
    assert "it waited at" in found.races[0].why and "an event that had not been recorded" in found.races[0].why


def test_the_first_wait_of_two_buffers_is_right():
    def program():
        side, events = torch.cuda.Stream(), [torch.cuda.Event(), torch.cuda.Event()]
        x = [torch.ones(4, device="cuda"), torch.ones(4, device="cuda")]
        side.wait_stream(torch.cuda.current_stream())
        for step in range(4):
            with torch.cuda.stream(side):
                side.wait_event(events[step % 2])
                x[step % 2].mul_(2)
            torch.cuda.current_stream().wait_stream(side)
            x[step % 2].add_(1)
            events[step % 2].record()
        torch.cuda.synchronize()

    found = mistakes_of(program)
    assert (found.races, found.mistakes) == ((), ())


def test_streams_that_wait_for_each_other_do_not_block():
    def program():
        one, other, x = torch.cuda.Stream(), torch.cuda.Stream(), torch.ones(4, device="cuda")
        for stream in (one, other):
            stream.wait_stream(torch.cuda.current_stream())
        for _ in range(3):
            with torch.cuda.stream(one):
                x.mul_(2)
            other.wait_stream(one)
            one.wait_stream(other)
            with torch.cuda.stream(other):
                x.add_(1)
            one.wait_stream(other)
            other.wait_stream(one)
        torch.cuda.synchronize()
        assert x.tolist() == [15.0] * 4

    found = mistakes_of(program)
    assert (found.races, found.mistakes) == ((), ())


def test_streams_made_in_a_loop_are_one_race():
    def program():
        x = torch.ones(4, device="cuda")
        for _ in range(40):  # more than a pool has
            with torch.cuda.stream(torch.cuda.Stream()):
                x.mul_(1)

    found = mistakes_of(program)
    assert {(race.older.operator.split(" ")[0], race.newer.operator.split(" ")[0]) for race in found.races} == {
        ("fill", "mul"), ("mul", "mul")
    }  # fmt: skip
    assert len(found.races) == 2 and not found.is_clean


def test_an_event_recorded_again_before_it_was_waited_for():
    def program():
        side, event, x = torch.cuda.Stream(), torch.cuda.Event(), torch.ones(4, device="cuda")
        event.record()
        side.wait_event(event)
        x.add_(1)
        event.record()  # the wait was for the earlier record
        with torch.cuda.stream(side):
            x.mul_(2)
        torch.cuda.synchronize()

    (race,) = mistakes_of(program).races
    assert "recorded again" in race.why
    assert f"test_mistakes.py:{line_of(program, 5)}, after the earlier access" in race.why


@pytest.mark.parametrize("wait", [torch.cuda.Event.synchronize, lambda event: all(event.query() for _ in range(9))])
def test_an_event_recorded_again_before_the_host_waited_for_it(wait):
    def program():
        one, other, event = torch.cuda.Stream(), torch.cuda.Stream(), torch.cuda.Event()
        x = torch.ones(4, device="cuda")
        torch.cuda.synchronize()
        with torch.cuda.stream(one):
            x.add_(1)
        event.record(one)
        event.record(other)
        wait(event)
        x.mul_(2)
        torch.cuda.synchronize()

    race = mistakes_of(program).races[-1]
    assert race.why.startswith("the host waited at ")
    assert f"had replaced that of tests/runtime/test_mistakes.py:{line_of(program, 6)}, after the earlier" in race.why


def test_a_check_leaves_nothing_behind(recwarn):
    mistakes_of(loses_its_stream)
    with machine():
        loses_its_stream()
        replayed(writes=False)()
    assert [str(each.message) for each in recwarn] == []
