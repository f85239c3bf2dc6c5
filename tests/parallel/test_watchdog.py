"""The watchdog of collectives that GPUs run, with calls of its tests' own."""

from types import SimpleNamespace

import pytest

from flambeau.parallel import watchdog as watchdogs
from flambeau.parallel.calls import Channel, Running
from flambeau.parallel.flight_recorder import Entry
from flambeau.parallel.watchdog import Watchdog


class Ranks:
    """A client whose group does not fail: keeps what is reported."""

    is_broken = False

    def __init__(self):
        self.channels, self.late = {"0:": Channel("0:", [0, 1])}, []

    def await_failure(self, seconds):
        return True  # the thread ends, and the test looks itself

    def report(self):
        pass

    def report_late(self, channel, seconds):
        self.late.append((channel.name, seconds))


class Idle:
    """A driver on which no call ends."""

    def capture_mode_exchange(self, mode):
        pass

    def event_query(self, handle, waits):
        return False

    def exchange_failure(self):
        return None


@pytest.fixture
def watched(monkeypatch):
    """A watchdog, what it reports to, and a clock of whole seconds."""
    clock = SimpleNamespace(now=0.0)
    client = Ranks()
    monkeypatch.setattr(watchdogs, "time", SimpleNamespace(monotonic=lambda: clock.now))
    watchdog = Watchdog(client, Idle())
    watchdog.join()

    def call(timeout):
        channel = client.channels["0:"]
        channel.count += 1
        channel.running.append(Running(channel.count, Entry(0, "0:0", "all_reduce", "", 4), timeout, clock.now))
        channel.latest = channel.count, SimpleNamespace(handle=channel.count)

    def looks(now):
        clock.now = float(now)
        client.late.clear()
        watchdog.look()
        return client.late

    return call, looks


def test_each_call_has_its_own_timeout(watched):
    call, looks = watched
    call(60.0)
    call(10.0)
    assert looks(1) == [] and looks(11) == [] and looks(12) == [("0:", 10.0)]


def test_a_timeout_begins_at_its_call(watched):
    call, looks = watched
    call(60.0)
    assert looks(1) == [] and looks(50) == []
    call(10.0)
    assert looks(59) == [] and looks(61) == [("0:", 10.0)]


def test_a_timeout_is_that_of_the_first_to_be_late(watched):
    call, looks = watched
    call(10.0)
    call(60.0)
    assert looks(1) == [] and looks(12) == [("0:", 10.0)]
