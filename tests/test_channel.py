"""Private sockets: answers, losses, and who may ask."""

import os
import signal
import threading
import weakref

import pytest

from flambeau import channel
from flambeau.errors import ArgumentError, ProcessGoneError
from tests.open_files import open_files

FORKS = pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")


class Echo:
    def __init__(self):
        self.told = []
        self.lost_peers = []

    def asked(self, peer, request):
        if request == b"bad":
            raise ArgumentError("that was bad")
        if request == b"broken":
            raise ZeroDivisionError("a bug")
        if request == b"file":
            return b"here", (os.open(os.devnull, os.O_RDONLY),)
        self.told.append(request)
        return request[::-1], ()

    def lost(self, peer):
        self.lost_peers.append(peer.pid)


@pytest.fixture
def ends():
    """Two endpoints of this process, as two processes would have."""
    made = channel.Endpoint(), channel.Endpoint()
    yield made
    for each in made:
        end(each)


def end(endpoint):
    """Close its sockets, as the end of its process would."""
    with endpoint._lock:
        endpoint._listening.close()
        for peer in list(endpoint._peers.values()):
            endpoint._forget(peer)


def test_ask_and_tell(ends):
    here, there = ends
    service = there.serve(echo := Echo())
    way = here.connect(there.name)
    assert here.connect(there.name) is way and way.pid == os.getpid()
    assert way.ask(service, b"abc") == (b"cba", [])
    way.tell(service, b"note")
    there.settle()
    assert echo.told == [b"abc", b"note"]


def test_settling_hears_those_who_have_just_come_and_gone(ends):
    here, there = ends
    echo = Echo()
    with there._lock:  # its thread hears nothing meanwhile
        service = there.serve(echo)
        way = here.connect(there.name)
        way.tell(service, b"bye")
        way.close()
        there.settle()
        assert echo.told == [b"bye"] and echo.lost_peers == [os.getpid()]


def test_refusals_and_services_that_are_gone(ends):
    here, there = ends
    echo = Echo()
    service, way = there.serve(echo), here.connect(there.name)
    with pytest.raises(ArgumentError, match=f"process {os.getpid()}: that was bad"):
        way.ask(service, b"bad")
    with pytest.raises(ArgumentError, match="ZeroDivisionError: a bug"):
        way.ask(service, b"broken")
    assert way.ask(service, b"abc") == (b"cba", [])
    del echo
    with pytest.raises(ProcessGoneError, match="the shared object is gone"):
        way.ask(service, b"abc")


def test_an_answer_that_nobody_waits_for_any_more_is_dropped(ends):
    here, there = ends
    service = there.serve(echo := Echo())
    way = here.connect(there.name)
    with there._lock, way._lock:  # as if the asking thread had been interrupted
        way._asked += 1
        way._send(channel._HEAD.pack(way._asked, service) + b"old")
    assert way.ask(service, b"new") == (b"wen", [])
    assert echo.told == [b"old", b"new"]


def test_who_speaks_another_language_is_cut_off(ends):
    here, there = ends
    there.serve(echo := Echo())
    way = here.connect(there.name)
    way._send(b"GET /")
    there.settle()
    here.settle()
    assert echo.lost_peers == [os.getpid()] and way.is_lost


def test_files_are_handed_over_and_closed_here(ends):
    here, there = ends
    service = there.serve(echo := Echo())
    way = here.connect(there.name)
    way.ask(service, b"abc")
    before = open_files()
    answer, (file,) = way.ask(service, b"file")
    there.settle()
    assert answer == b"here" and os.readlink(f"/proc/self/fd/{file}") == os.devnull
    os.close(file)
    assert open_files() <= before and echo.told == [b"abc"]


def test_without_files_to_spare_a_connection_is_turned_away_and_the_next_one_served(ends, monkeypatch):
    here, there = ends
    service = there.serve(echo := Echo())
    accept, refusals = there._listening.accept, [OSError(24, "Too many open files")]

    class Listening:
        def __getattr__(self, name):
            return getattr(listening, name)

        def accept(self):
            if refusals:
                raise refusals.pop()
            return accept()

    listening = there._listening
    with there._lock:
        there._listening = Listening()
        way = here.connect(there.name)
        there.settle()
        there._listening = listening
    with pytest.raises(ProcessGoneError):
        way.ask(service, b"abc")
    here.settle()
    assert here.connect(there.name).ask(service, b"abc") == (b"cba", []) and echo.told == [b"abc"]


class Refusing:
    """A listening socket; calls of `accept` first raise what is given."""

    def __init__(self, listening, *errors):
        self._listening, self._errors = listening, list(errors)

    def __getattr__(self, name):
        return getattr(self._listening, name)

    def accept(self):
        if self._errors:
            raise self._errors.pop(0)
        return self._listening.accept()


def is_open(file):
    return os.path.exists(f"/proc/self/fd/{file}")


def test_without_files_to_spare_and_with_nobody_waiting_nothing_happens(ends):
    there = ends[1]
    with there._lock:
        listening = there._listening
        there._listening = Refusing(listening, OSError(24, "Too many open files"), BlockingIOError())
        there._accept()
        there._listening = listening
        assert is_open(there._spare)


def test_without_any_file_nobody_is_heard_until_there_is_one(ends, monkeypatch):
    here, there = ends
    service = there.serve(echo := Echo())
    with there._lock:
        listening, spare = there._listening, there._spare
        there._listening = Refusing(listening, *[OSError(24, "Too many open files")] * 2)
        way = here.connect(there.name)
        with monkeypatch.context() as none_left:
            none_left.setattr(channel, "_spare_file", lambda: -1)
            there.settle()
        there._listening = listening
        assert (there._spare, there._poll.poll(0)) == (-1, []) and echo.told == []
        there.settle()
        assert is_open(there._spare)
    assert way.ask(service, b"abc") == (b"cba", []) and spare >= 0


def test_a_closed_connection_is_not_watched_even_if_a_child_has_a_copy(ends):
    here, there = ends
    there.serve(echo := Echo())
    with there._lock:
        way = here.connect(there.name)
        there.settle()
        (file,) = there._peers
        copy = os.dup(file)
        way.close()
        there._forget(there._peers[file])
        assert there._poll.poll(0) == [] and echo.lost_peers == [os.getpid()]
        os.close(copy)


def test_the_endpoint_can_be_had_while_another_thread_forks(ends, monkeypatch):
    monkeypatch.setattr(channel, "_endpoint", ends[0])
    found = []
    with channel._lock:
        thread = threading.Thread(target=lambda: found.append(channel.endpoint()), daemon=True)
        thread.start()
        thread.join(10)
        assert found == [ends[0]]


def test_an_interrupt_before_a_fork_leaves_no_lock_held(ends, monkeypatch):
    class Interrupted:
        def pause(self):
            raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(channel, "_endpoint", Interrupted())
        with pytest.raises(KeyboardInterrupt):
            channel._before_fork()
        assert channel._lock.locked()
        channel._in_parent()
    assert not channel._lock.locked() and channel._held_by_fork == []


def test_nobody_there(ends):
    with pytest.raises(ProcessGoneError, match="process 7 has ended: there is no endpoint f.*\nhint: a"):
        ends[0].connect(b"flambeau-7-abc")


def test_another_user_is_not_heard(ends, monkeypatch):
    here, there = ends
    monkeypatch.setattr(channel.os, "geteuid", lambda: 4242)
    with pytest.raises(ProcessGoneError, match="there is no endpoint"):
        here.connect(there.name)


def test_an_end_is_noticed_on_both_sides(ends):
    here, there = ends
    there.serve(echo := Echo())
    way = here.connect(there.name)
    heard = []

    class Listener:
        def lost(self):
            heard.append(way.pid)

    listener = Listener()
    way.on_lost.append(weakref.WeakMethod(listener.lost))
    there.settle()
    end(there)
    here.settle()
    assert heard == echo.lost_peers == [os.getpid()]
    assert here.services == {} and way.is_lost


@pytest.fixture
def leaver(ends):
    """A forked process that has closed its connection to the first endpoint, and still runs."""
    here = ends[0]
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            channel.Endpoint().connect(here.name).close()
            os.write(write, b"closed")
            signal.pause()
        finally:
            os._exit(1)  # an exception must not reach the tests' runner, of which this process has a copy
    os.close(write)
    assert os.read(read, 6) == b"closed"
    os.close(read)
    here.settle()
    assert [each.pid for each in here._leaving.values()] == [pid]
    return pid


def ended(pid):
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)


@FORKS
def test_a_peer_is_lost_when_its_process_is_gone_as_a_whole(ends, leaver):
    """Its sockets close before it is: what it had a GPU do may still run then."""
    here = ends[0]
    here.serve(echo := Echo())
    ended(leaver)
    here.settle()
    assert echo.lost_peers == [leaver] and here._leaving == {}


@FORKS
def test_a_child_forked_while_a_file_is_closed_keeps_its_own_of_that_number(ends, leaver, monkeypatch):
    here, close, codes = ends[0], os.close, []
    monkeypatch.setattr(channel, "_endpoint", here)
    (watched,) = here._leaving

    def closing(file):
        close(file)
        if file == watched and not codes:
            opened = [os.open(os.devnull, os.O_RDONLY)]
            while opened[-1] != file:  # each time the lowest number that is free
                opened.append(os.open(os.devnull, os.O_RDONLY))
            if (pid := os.fork()) == 0:
                os._exit(sum(not is_open(each) for each in opened))
            codes.append(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
            for each in opened:
                close(each)

    monkeypatch.setattr(os, "close", closing)
    ended(leaver)
    here.settle()
    assert codes == [0]


@FORKS
def test_a_fork_waits_for_what_another_thread_is_handling(ends, monkeypatch):
    here, order = ends[0], []
    monkeypatch.setattr(channel, "_endpoint", here)
    held, about = threading.Event(), threading.Event()

    def handle():
        with here._lock:
            held.set()
            about.wait()
            order.append("handled")

    thread = threading.Thread(target=handle)
    thread.start()
    held.wait()
    about.set()
    if (pid := os.fork()) == 0:
        os._exit(len(order))
    thread.join()
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 1
    assert here._lock.acquire(blocking=False) is True
    here._lock.release()


def test_asking_a_process_that_has_ended(ends):
    here = ends[0]
    other = channel.Endpoint()
    service = other.serve(echo := Echo())
    way = here.connect(other.name)
    end(other)
    with pytest.raises(ProcessGoneError, match=f"process {os.getpid()} has ended"):
        way.ask(service, b"abc")
    way.tell(service, b"abc")
    here.settle()
    assert way.is_lost and echo.told == []
