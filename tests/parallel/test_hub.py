"""All ranks wait for each other: reported as soon as it is true, and never while one of them can go on."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from flambeau.parallel import exchange, hub
from flambeau.parallel.calls import Descriptions
from flambeau.parallel.exchange import Client

SECONDS = 20.0


class Held:
    """A socket whose `recv` waits while `opened` is clear."""

    def __init__(self, link):
        self._link, self.opened = link, threading.Event()
        self.opened.set()

    def recv(self, size):
        data = self._link.recv(size)
        self.opened.wait(SECONDS)
        return data

    def __getattr__(self, name):
        return getattr(self._link, name)


class Rank:
    """A client of the hub, which its own thread creates and uses."""

    def __init__(self, server, rank):
        self._thread = ThreadPoolExecutor(1)
        self.client = self.run(Client, *server.address, "secret", SECONDS, rank, 2).result()

    def run(self, function, *arguments):
        return self._thread.submit(function, *arguments)

    def call(self, key, gives=True):
        def make():
            self.client.post(key, [0, 1], Descriptions().of("barrier", "barrier", []), "")
            if gives:
                self.client.give(key, [])

        self.run(make).result()

    def wait(self, key, run=None):
        """Begin a wait in the rank's thread, or by `run`; its future, once the client has looked for a message."""
        asked = threading.Event()

        def is_over():
            asked.set()
            return False

        found = (run or self.run)(self.client.wait, [key], SECONDS, is_over)
        asked.wait(SECONDS)
        return found

    def settle(self):
        """Let the hub handle what has been sent until now, whichever connections it reads first."""
        for _ in range(2):
            self.client.ask(SECONDS, "an answer", do="check", keys=[])

    def close(self):
        self.client.close()
        self._thread.shutdown()


@pytest.fixture
def ranks():
    server = hub.Hub("localhost", 0, 2, "secret")
    made = [Rank(server, 0), Rank(server, 1)]
    yield made
    for each in made:
        each.close()
    server.stop()


def test_a_rank_that_an_answer_has_not_reached_yet_is_not_waiting(ranks):
    late, prompt = ranks

    class Streams:  # the second call's values depend on those of the first
        has_given = False

        def serve_exchanges(self):
            if late.client.is_ready("0:1") and not self.has_given:
                self.has_given = True
                late.client.give("0:2", [])

    link = late.client._link = Held(late.client._link)
    late.client.ask(SECONDS, "an answer", do="check", keys=[])  # the listening thread uses `Held` from now on
    late.client.serve_by(Streams())
    link.opened.clear()
    for each in ranks:
        each.call("0:1")
    late.call("0:2", gives=False)
    prompt.call("0:2")
    waits = [late.wait("0:2")]
    prompt.settle()
    waits.append(prompt.wait("0:2"))
    prompt.settle()
    link.opened.set()
    for each in waits:
        each.result()
    assert [each.client.failure for each in ranks] == [None, None]
    assert [each.client.is_ready("0:2") for each in ranks] == [True, True]


def test_a_rank_with_a_thread_that_does_not_wait_is_not_waiting(ranks):
    both, other = ranks
    both.call("0:1", gives=False)
    other.call("0:1")
    with ThreadPoolExecutor(1) as second:
        waits = [other.wait("0:1"), both.wait("0:1", second.submit)]
        both.settle()
        both.run(both.client.give, "0:1", []).result()
        for each in waits:
            each.result()
    assert [each.client.failure for each in ranks] == [None, None]
    assert [each.client.is_ready("0:1") for each in ranks] == [True, True]


def test_a_rank_that_waits_goes_on_with_the_first_call_of_another_thread(ranks):
    both, other = ranks
    for key in ("0:1", "0:2"):
        both.call(key, gives=False)
    with ThreadPoolExecutor(1) as second:
        waits = [both.wait("0:1")]
        both.settle()
        second.submit(both.client.post, "0:3", [0, 1], Descriptions().of("barrier", "barrier", []), "").result()
        other.call("0:1")
        waits.append(other.wait("0:1"))
        both.settle()
        second.submit(both.client.give, "0:1", []).result()
        for each in waits:
            each.result()
    assert [each.client.failure for each in ranks] == [None, None]
    assert [each.client.is_ready("0:1") for each in ranks] == [True, True]


@pytest.mark.parametrize("timeout", [None, SECONDS])
def test_a_thread_that_joins_one_that_waits_is_waiting(ranks, timeout, monkeypatch):
    looks = threading.Semaphore(0)
    monkeypatch.setattr(exchange, "SLICE", 0.01)
    monkeypatch.setattr(exchange, "run_handlers", looks.release)  # called whenever a thread has looked at the others
    both, other = ranks
    both.call("0:1", gives=False)
    other.call("0:1")
    second = threading.Thread(target=both.client.wait, args=(["0:1"], SECONDS, lambda: False))
    second.start()
    joined = both.run(second.join, timeout)
    wait = other.wait("0:1")
    if timeout is not None:  # it may go on before the collective is complete
        assert all(looks.acquire(timeout=SECONDS) for _ in range(10)) and not wait.done()
        both.client.give("0:1", [])
    for each in (joined, wait):
        each.result()
    found = "all ranks wait for each other" if timeout is None else "None"
    assert [str(each.client.failure).partition("\n")[0] for each in ranks] == [found, found]


@pytest.mark.parametrize("ends", [False, True])
def test_a_rank_waits_when_all_of_its_threads_do_or_have_ended(ranks, ends):
    both, other = ranks
    for key in ("0:1", "0:2"):
        both.call(key, gives=False)
    other.call("0:1")
    with ThreadPoolExecutor(1) as second:
        waits = [other.wait("0:1"), both.wait("0:1", second.submit)]
        both.settle()
        assert both.client.failure is None
        if ends:
            both._thread.shutdown()
        else:
            waits.append(both.wait("0:2"))
        for each in waits:
            each.result()
    for each in ranks:
        assert each.client.failure.startswith("all ranks wait for each other\n")


def test_a_rank_whose_wait_was_interrupted_is_not_waiting(ranks, monkeypatch):
    interrupted, other = ranks

    def interrupt():
        raise KeyboardInterrupt

    interrupted.call("0:1", gives=False)
    other.call("0:1")
    with monkeypatch.context() as patches:
        patches.setattr(exchange, "run_handlers", interrupt)
        wait = interrupted.wait("0:1")
        with pytest.raises(KeyboardInterrupt):
            wait.result()
    wait = other.wait("0:1")
    other.settle()
    interrupted.run(interrupted.client.give, "0:1", []).result()
    wait.result()
    assert [each.client.failure for each in ranks] == [None, None]
    assert other.client.is_ready("0:1")
