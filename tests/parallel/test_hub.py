"""The hub: ranks that wait for each other are reported as soon as that is true, secrets of connections, and its end."""

import json
import socket
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from flambeau import distributed as dist
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


@pytest.fixture
def server():
    made = hub.Hub("localhost", 0, 2, "secret")
    yield made
    made.stop()


def talk(server, *messages):
    """Send bytes to the hub; what it answers before it closes, or within a moment."""
    with socket.create_connection(server.address, timeout=10) as link:
        for message in messages:
            link.sendall(message)
        try:
            return link.recv(1 << 16)
        except ConnectionResetError:
            return b""


@pytest.mark.parametrize(
    "first",
    [
        hub.packed({"do": "hello", "secret": "wrong", "rank": 0, "size": 2}),
        hub.packed({"do": "set", "id": 1, "key": "a", "value": "b"}),
        hub.packed({}),
        (1 << 30).to_bytes(4, "little"),
        b"\x05\x00\x00\x00hello",
        b"\x02\x00\x00\x00[]",
        b"GET / HTTP/1.0\r\n\r\n",
    ],
)
def test_connections_without_the_secret_are_closed(server, first):
    assert talk(server, first) == b""
    answer = talk(server, hub.packed({"do": "hello", "secret": "secret"}))
    assert json.loads(answer[4:]) == {"id": 0, "value": None, "error": "", "is_near": False}


@pytest.mark.parametrize(
    ("rank", "size", "text"),
    [
        (2, 2, "rank 2 is not in a world of 2 processes"),
        (1, 3, "rank 1 has world_size 3, and rank 0 has 2"),
    ],
)
def test_a_rank_that_does_not_fit_is_told(server, rank, size, text):
    hello = {"do": "hello", "secret": "secret", "rank": rank, "size": size, "place": "elsewhere", "host": "far"}
    answer = talk(server, hub.packed(hello))
    assert json.loads(answer[4:])["error"] == text


def test_the_end_of_the_hub_is_a_failure_of_later_calls_only():
    server = hub.Hub("localhost", 0, 1, "secret")
    client = Client(*server.address, "secret", 10, 0, 1)
    client.post("0:0", [0], Descriptions().of("barrier", "barrier", []), "")
    server.stop()
    assert client.await_failure(10) and not client.is_broken
    with pytest.raises(dist.CollectiveError, match="which holds the store, has ended"):
        client.check("barrier")
    client.close()

    server = hub.Hub("localhost", 0, 1, "secret")
    client = Client(*server.address, "secret", 10, 0, 1)
    client.report_broken("a failure")
    assert client.await_failure(10) and client.is_broken
    server.stop()
    client._thread.join(10)
    assert client.is_broken and "rank 0 reports a failure" in client.failure
    client.close()
