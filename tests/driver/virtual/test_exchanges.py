"""Exchanges of several processes on virtual streams: when inputs are given, and what a call costs."""

import sys
from pathlib import Path

import numpy as np
import pytest

from flambeau.driver import virtual
from flambeau.driver.virtual.clock import latest
from flambeau.dtypes import float32
from flambeau.kernel import Access

FOLDER = str(Path(virtual.__file__).parent)


class Message:
    """A message to or from a process that answers when the test sets `is_open`."""

    name, nbytes, duration_ns, rank, size, steps, streams = "message", 16, 500, 0, 2, None, ()

    def __init__(self, value):
        self.value, self.given, self.is_open, self.looks = value, [], False, 0

    def give(self, inputs, start_ns):
        self.given.append([each.tolist() for each in inputs])

    def is_ready(self):
        self.looks += 1
        return self.is_open

    def has_failed(self):
        return False

    def wait(self, others):
        self.is_open = True

    def finish(self, outputs):
        for each in outputs:
            each[...] = self.value
        return 0


def floats(address, count, mode):
    return Access(address, float32, mode, (count,), None)


def begin(rig, message, address, stream):
    """Send four numbers from an address on, and receive others into them."""
    rig.driver.exchange(message, [floats(address, 4, "r")], [floats(address, 4, "w")], stream)


def test_a_stream_gives_in_the_order_of_its_calls(rig):
    for at in range(3):
        rig.put(rig.memory[0] + 16 * at, np.full(4, at, np.float32), rig.a)
    messages = [Message(10.0 + at) for at in range(3)]
    for at, each in enumerate(messages):
        begin(rig, each, rig.memory[0] + 16 * at, rig.a)
    assert [each.given for each in messages] == [[[[0.0] * 4]], [], []]
    messages[1].is_open = True
    rig.driver.serve_exchanges()
    assert [len(each.given) for each in messages] == [1, 0, 0]
    messages[0].is_open = True
    rig.driver.serve_exchanges()  # the second is open too, so that the third gives
    assert [each.given[0] for each in messages] == [[[at] * 4] for at in (0.0, 1.0, 2.0)]
    rig.driver.stream_synchronize(rig.a)
    assert rig.get(rig.memory[0], 12).tolist() == [10.0] * 4 + [11.0] * 4 + [12.0] * 4


def test_another_stream_gives_while_one_is_held_up(rig):
    first, second, third = (Message(float(each)) for each in range(3))
    begin(rig, first, rig.memory[0], rig.a)
    begin(rig, second, rig.memory[0] + 16, rig.a)
    begin(rig, third, rig.memory[0] + 32, rig.b)
    assert [len(each.given) for each in (first, second, third)] == [1, 0, 1]


def lines(function):
    """The number of lines of the virtual driver that a call executes."""
    count = 0

    def trace(frame, event, arg):
        nonlocal count
        if not frame.f_code.co_filename.startswith(FOLDER):
            return None
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        function()
    finally:
        sys.settrace(before)
    return count


@pytest.mark.parametrize("call", ["exchange", "serve_exchanges", "stream_query"])
def test_a_call_costs_the_same_however_many_exchanges_are_outstanding(rig, call):
    """Lines, not times: 200 messages of one stream against 20."""
    addresses = [rig.memory[0] + 16 * at for at in range(202)]
    messages = [Message(0.0) for _ in addresses]
    rest = iter(zip(messages, addresses))
    calls = {
        "exchange": lambda: begin(rig, *next(rest), rig.a),
        "serve_exchanges": rig.driver.serve_exchanges,
        "stream_query": lambda: rig.driver.stream_query(rig.a),
    }
    found = []
    for count in (20, 180):
        for _ in range(count):
            begin(rig, *next(rest), rig.a)
        looks = sum(each.looks for each in messages)
        found.append((lines(calls[call]), sum(each.looks for each in messages) - looks))
    assert found[0] == found[1]


def test_a_wait_for_a_message_costs_the_same_however_many_were_waited_for(rig):
    found = []
    for at in range(100):
        begin(rig, Message(0.0), rig.memory[0] + 16 * at, rig.a)
        event = rig.driver.event_create(0, False, False, False)
        rig.driver.event_record(event, rig.a)
        found.append(lines(lambda: rig.driver.stream_wait_event(rig.b, event)))
    assert found[10] == found[-1]


class Ended:
    def __init__(self, queue, number):
        self.queue, self.number = queue, number


def test_the_later_of_two_times_depends_on_the_last_command_of_a_stream_unless_an_earlier_one_counts_more():
    a, b, c = Ended("one", 1), Ended("one", 2), Ended("other", 1)
    assert latest({a: 0}, {b: 0, c: 5}) == {b: 0, c: 5}
    assert latest({a: 7}, {b: 0}) == {a: 7, b: 0}
    assert latest({a: 7}, {b: 7}) == {b: 7}
    assert latest({b: 3}, {b: 4}) == {b: 4}
