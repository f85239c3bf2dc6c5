"""The store and the way to it: values, addresses, names, secrets, and ranks that come late or never."""

import os
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest

import flambeau as torch
from flambeau import distributed as dist
from flambeau.parallel import hub, process_group, rendezvous
from flambeau.parallel.exchange import Client
from flambeau.parallel.store import HAS_HUB, SECRET, listening
from flambeau.testing import machine
from tests.parallel.processes import forked

OTHER_HOST = "127.0.0.2"  # another address of the loopback interface
KEY = "a secret of this test"


@pytest.fixture
def server():
    """`server(host)`: a hub of two ranks, or of `size`."""
    made = []

    def start(host, size=2):
        made.append(hub.Hub(host, 0, size, KEY))
        return made[-1]

    yield start
    for each in made:
        each.stop()


def ranks(function, environments):
    """The result of function(rank), or (class, text) of its error, in processes that form a group by env://."""

    def start(rank):
        settings = {HAS_HUB: "True", SECRET: KEY, "WORLD_SIZE": "2", "RANK": str(rank)}
        os.environ.update(settings | environments[rank])
        with machine(devices=1):
            return one(function, rank)

    return forked(start, len(environments))


def one(function, rank):
    try:
        dist.init_process_group("gloo", timeout=timedelta(seconds=20))
        answer = function(rank)
        dist.destroy_process_group()
    except Exception as error:  # noqa: BLE001  (the test looks at it)
        return type(error).__name__, str(error)
    return answer


def summed(rank):
    x = torch.full((3,), rank + 1.0)
    dist.all_reduce(x)
    return x.tolist()


def resolving(monkeypatch, names):
    """Let the resolver know further names."""
    resolve = socket.getaddrinfo
    monkeypatch.setattr(socket, "getaddrinfo", lambda host, *args, **kw: resolve(names.get(host, host), *args, **kw))


def test_ranks_reach_the_hub_by_names_of_its_address(server, monkeypatch):
    resolving(monkeypatch, {"master.test": OTHER_HOST, "alias.test": OTHER_HOST})
    for host in (OTHER_HOST, "master.test"):
        made = server(host)
        assert made.address[0] == OTHER_HOST
        port = str(made.address[1])
        places = [{"MASTER_ADDR": name, "MASTER_PORT": port} for name in ("master.test", "alias.test")]
        assert ranks(summed, places) == [[3.0, 3.0, 3.0]] * 2


def test_a_hub_listens_at_its_own_address_alone(server):
    made = server(OTHER_HOST)
    with pytest.raises(dist.StoreTimeoutError, match=r"nothing listens at 127\.0\.0\.1:\d+: .*refused"):
        Client("127.0.0.1", made.address[1], KEY, 0.05)
    store = dist.TCPStore("127.0.0.1", 0, is_master=True)  # the same port may be another's there
    assert store.port > 0


def test_an_unknown_name_is_said(monkeypatch):
    def unknown(*args, **kwargs):
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    with pytest.raises(dist.StoreTimeoutError, match="nothing listens at nowhere.test:29500: .*not known"):
        Client("nowhere.test", 29500, KEY, 0.05)
    with pytest.raises(ValueError, match="the store cannot listen at nowhere.test:0: .*not known"):
        listening("nowhere.test", 0, 2, KEY)


def test_an_address_of_another_machine_is_said():
    with pytest.raises(ValueError, match=r"cannot listen at 203\.0\.113\.1:0"):  # an address for documentation
        listening("203.0.113.1", 0, 2, KEY)


@pytest.fixture
def ipv6():
    try:
        with socket.create_server(("::1", 0), family=socket.AF_INET6):
            return "::1"
    except OSError:
        pytest.skip("there is no IPv6")


def test_addresses_of_ipv6(server, ipv6, tmp_path):
    made = server(ipv6)
    places = [{"MASTER_ADDR": ipv6, "MASTER_PORT": str(made.address[1])}] * 2
    assert ranks(summed, places) == [[3.0, 3.0, 3.0]] * 2
    store = dist.TCPStore(ipv6, 0, is_master=True)
    other = dist.TCPStore(ipv6, store.port)
    other.set("a", "b")
    assert store.get("a") == b"b"


def test_a_wrong_secret_is_refused_and_said(server):
    made = server("localhost")
    host, port = made.address
    for secret in ("another", ""):
        with pytest.raises(dist.CollectiveError) as caught:
            Client(host, port, secret, 10, 0, 2)
        assert "the store closed the connection before it answered" in str(caught.value)
        assert "FLAMBEAU_JOB_SECRET" in str(caught.value) and KEY not in str(caught.value)
    right = [{"MASTER_ADDR": host, "MASTER_PORT": str(port)}] * 2
    assert ranks(summed, right) == [[3.0, 3.0, 3.0]] * 2  # those that were refused count for nothing


def test_ranks_may_come_before_the_hub(monkeypatch):
    """A rank tries until rank 0 listens."""
    with socket.socket() as taken:  # bound, and not listening: connections are refused
        taken.bind((OTHER_HOST, 0))
        port = taken.getsockname()[1]
        tried, connect, found = threading.Event(), socket.create_connection, []

        def noted(*args, **kwargs):
            try:
                return connect(*args, **kwargs)
            finally:
                tried.set()

        monkeypatch.setattr(socket, "create_connection", noted)
        thread = threading.Thread(target=lambda: found.append(Client(OTHER_HOST, port, KEY, 20)))
        thread.start()
        assert tried.wait(20)
    made = hub.Hub(OTHER_HOST, port, 2, KEY)
    thread.join(20)
    (client,) = found
    assert client.ask(10, "an answer", do="add", key="a", value=2) == 2
    client.close()
    made.stop()


def arrived(client, members=(0, 1)):
    """Begin a barrier."""
    client.call("0:0", members, client.descriptions.of("barrier", None, []))
    client.give("0:0", [])


def test_a_rank_that_comes_late_is_waited_for(server):
    made = server(OTHER_HOST)
    early = Client(*made.address, KEY, 10, 0, 2)
    arrived(early)
    early.ask(10, "an answer", do="count")  # the hub has read what was sent before
    assert not early.is_ready("0:0") and early.failure is None
    late = Client(*made.address, KEY, 10, 1, 2)
    arrived(late)
    for each in (early, late):
        assert each.collect("0:0", 10, "barrier").data == {0: b"", 1: b""}
        each.close()


def test_a_rank_that_never_comes_is_named(server):
    made = server("localhost")
    client = Client(*made.address, KEY, 10, 0, 2)
    arrived(client)
    with pytest.raises(dist.CollectiveError) as caught:
        client.collect("0:0", 0.05, "init_process_group")
    assert "rank 0 has waited for 0.05 s" in str(caught.value) and "rank 1: has not joined the group" in str(
        caught.value
    )
    client.close()


def test_a_rank_whose_process_has_ended_is_not_waited_for(server):
    """The launcher may say so before or after the others begin to wait."""
    for is_first in (True, False):
        made = server(OTHER_HOST, 3)
        launcher, client = Client(*made.address, KEY, 10), Client(*made.address, KEY, 10, 0, 3)
        steps = [
            lambda: launcher.ask(10, "an answer", do="ended", rank=2, how="exited with 0"),
            lambda: arrived(client, [0, 1, 2]),
        ]
        for step in steps if is_first else steps[::-1]:
            step()
        with pytest.raises(dist.CollectiveError) as caught:
            client.collect("0:0", 10, "init_process_group")
        text = str(caught.value)
        assert "rank 2 exited with 0 before it joined the group" in text and "rank 0: barrier()" in text
        assert "rank 1: has not joined the group" in text
        for each in (launcher, client):
            each.close()


def test_the_end_of_a_rank_that_has_called_is_no_failure(server):
    made = server(OTHER_HOST)
    launcher, clients = Client(*made.address, KEY, 10), [Client(*made.address, KEY, 10, rank, 2) for rank in range(2)]
    for each in clients:
        arrived(each)
        launcher.ask(10, "an answer", do="ended", rank=each.rank, how="exited with 0")
    for each in clients:
        assert each.collect("0:0", 10, "barrier").data == {0: b"", 1: b""}
    for each in (launcher, *clients):
        each.close()


def test_urls_lead_to_a_store(tmp_path, monkeypatch):
    for name, value in {"RANK": "1", "WORLD_SIZE": "2", "MASTER_ADDR": "localhost", HAS_HUB: "False"}.items():
        monkeypatch.setenv(name, value)
    first = dist.TCPStore("localhost", 0, is_master=True)
    monkeypatch.setenv("MASTER_PORT", str(first.port))
    found = [
        next(dist.rendezvous("env://")),
        next(dist.rendezvous(f"tcp://localhost:{first.port}?rank=1&world_size=2")),
        next(dist.rendezvous(f"tcp://localhost:{first.port}", 1, 2, timeout=timedelta(seconds=20))),
    ]
    assert [each[1:] for each in found] == [(1, 2)] * 3
    assert [each[0].add("a", 1) for each in found] == [1, 2, 3] and first.get("a") == b"3"
    assert found[2][0].timeout == timedelta(seconds=20)
    store, rank, size = next(dist.rendezvous(f"file://{tmp_path}/store?rank=0", world_size=3))
    assert (type(store), rank, size) == (dist.FileStore, 0, 3)
    for url, text in [
        ("none://a", "none:// has no handler"),
        ("tcp://localhost", "write tcp://HOST:PORT"),
        ("tcp://localhost:1?rank=0", "has no world_size"),
        ("file://", "write file:///PATH"),
        (None, "the URL must be a str, got None"),
    ]:
        with pytest.raises((RuntimeError, ValueError, TypeError), match=text):
            next(dist.rendezvous(url))
    for scheme, handler in ((3, print), ("mine", 3)):
        with pytest.raises(TypeError, match="^register_rendezvous_handler: expected a str and a function, .*\nhint: "):
            dist.register_rendezvous_handler(scheme, handler)
    with pytest.raises(RuntimeError, match="env:// already has a handler"):
        dist.register_rendezvous_handler("env", None)


def test_a_group_meets_by_a_handler_of_the_program(tmp_path, monkeypatch):
    monkeypatch.setattr(rendezvous, "handlers", dict(rendezvous.handlers))
    monkeypatch.setattr(process_group, "handlers", rendezvous.handlers)

    def handler(url, rank=-1, timeout=None):
        yield dist.FileStore(f"{tmp_path}/{url.rpartition('/')[2]}"), rank, 2

    dist.register_rendezvous_handler("mine", handler)

    def start(rank):
        with machine(devices=1):
            dist.init_process_group("gloo", "mine://there", timedelta(seconds=20), rank=rank)
            answer = summed(rank)
            dist.destroy_process_group()
            return answer

    assert forked(start, 2) == [[3.0] * 3] * 2


def kinds(folder):
    hash_store = dist.HashStore()
    return [
        hash_store,
        dist.FileStore(f"{folder}/store", 1),
        dist.TCPStore("127.0.0.1", 0, 1, True),
        dist.PrefixStore("part", hash_store),
    ]


BY_KEY = {
    "set": lambda store, key: store.set(key, "1"),
    "get": lambda store, key: store.get(key),
    "add": lambda store, key: store.add(key, 1),
    "append": lambda store, key: store.append(key, "1"),
    "compare_set": lambda store, key: store.compare_set(key, "", "1"),
    "delete_key": lambda store, key: store.delete_key(key),
    "check": lambda store, key: store.check([key]),
    "wait": lambda store, key: store.wait([key]),
    "queue_push": lambda store, key: store.queue_push(key, "1"),
    "queue_pop": lambda store, key: store.queue_pop(key, False),
    "queue_len": lambda store, key: store.queue_len(key),
}


def test_stores_refuse_keys_that_are_no_text(tmp_path):
    for store in kinds(tmp_path):
        for name, call in BY_KEY.items():
            for key in (1, None, b"name"):
                with pytest.raises(TypeError, match=f"Store.{name}: the key must be a str, got .*\nhint: pass a name"):
                    call(store, key)
        for name in ("check", "wait"):
            for keys in ("name", 1):  # the letters of a text are no keys
                with pytest.raises(TypeError, match=f"Store.{name}: the keys must be a list of str, got "):
                    getattr(store, name)(keys)
        assert store.num_keys() == 0


def test_stores_refuse_wrong_numbers_and_timeouts(tmp_path):
    for store in kinds(tmp_path):
        with pytest.raises(TypeError, match="Store.add: the amount must be an integer, got 1.5\nhint: "):
            store.add("steps", 1.5)
        before = store.timeout
        with pytest.raises(TypeError, match="Store.set_timeout: timeout must be a datetime.timedelta, got 3\nhint: "):
            store.set_timeout(3)
        with pytest.raises(TypeError, match="Store.wait: timeout must be a datetime.timedelta, got 1\nhint: "):
            store.wait(["steps"], 1)
        with pytest.raises(TypeError, match="Store.barrier: timeout must be a datetime.timedelta, got 5\nhint: "):
            store.barrier("end", 1, 5)
        with pytest.raises(ValueError, match="Store.wait: timeout is nan s\nhint: "):
            store.wait(["steps"], float("nan"))
        for amount in (2**63, -(2**70)):
            with pytest.raises(TypeError, match=f"Store.add: the amount is {amount}\nhint: .*64 bits"):
                store.add("steps", amount)
        assert store.timeout == before and not store.check(["steps"]) and store.add("steps", True) == 1
        assert not store.check(["end/arrived"])
        with pytest.raises(RuntimeError, match="lost.*not set.*\nhint: |lost.*\nhint: "):
            store.wait(["lost"], timedelta(0))


def test_timeouts_may_be_floats_of_seconds(tmp_path):
    for store in kinds(tmp_path):
        with pytest.raises(dist.DistStoreError, match="lost.*not set|lost"):
            store.wait(["lost"], 0.0)
        store.barrier("begin", 1, 5.0)
        store.set_timeout(2.5)
        assert store.timeout == timedelta(seconds=2.5)
    assert dist.TCPStore("127.0.0.1", 0, 1, True, timeout=3.5).timeout == timedelta(seconds=3.5)


@pytest.mark.parametrize("port, error", [(70000, ValueError), (-1, ValueError), ("0", TypeError), (0.0, TypeError)])
def test_a_store_refuses_ports_that_do_not_exist(port, error):
    with pytest.raises(error, match="TCPStore: port .*\nhint: "):
        dist.TCPStore("127.0.0.1", port, 1, True)
    with pytest.raises(ValueError, match="TCPStore: world_size must be at least 1, got 0\nhint: "):
        dist.TCPStore("127.0.0.1", 0, 0, True)


def test_a_prefix_and_its_store_are_checked():
    for prefix, store in ((1, dist.HashStore()), ("part", None)):
        with pytest.raises(TypeError, match="PrefixStore: expected a str and a Store, got "):
            dist.PrefixStore(prefix, store)


def stores(folder):
    return {
        "HashStore": dist.HashStore(),
        "FileStore": dist.FileStore(f"{folder}/store"),
        "TCPStore": dist.TCPStore("localhost", 0, is_master=True),
        "PrefixStore": dist.PrefixStore("a", dist.HashStore()),
    }


@pytest.mark.parametrize("name", ["HashStore", "FileStore", "TCPStore", "PrefixStore"])
def test_stores(name, tmp_path):
    store = stores(tmp_path)[name]
    store.set("key", b"\x00\xff")
    store.set("text", "é")
    assert (store.get("key"), store.get("text")) == (b"\x00\xff", "é".encode())
    assert (store.add("count", 2), store.add("count", -5), store.get("count")) == (2, -3, b"-3")
    assert store.compare_set("new", "", "one") == b"one"
    assert store.compare_set("new", "other", "two") == b"one"
    assert store.compare_set("new", "one", "two") == b"two"
    assert store.compare_set("missing", "x", "y") == b"x"
    assert store.check(["key", "new"]) and not store.check(["key", "missing"])
    assert store.num_keys() == 4 and store.delete_key("new") and not store.delete_key("new")
    store.set_timeout(timedelta(seconds=0.05))
    with pytest.raises(RuntimeError, match=r"missing.* not .*within 0.05 s"):
        store.get("missing")


@pytest.mark.parametrize("name", ["HashStore", "FileStore", "TCPStore", "PrefixStore"])
def test_stores_of_several_keys_and_queues(name, tmp_path):
    store = stores(tmp_path)[name]
    assert store.has_extended_api()
    store.append("log", "a")
    store.append("log", b"\xff")
    store.multi_set(["one", "two"], ["1", b"2"])
    assert store.multi_get(["two", "log", "one"]) == [b"2", b"a\xff", b"1"]
    assert sorted(store.list_keys()) == ["log", "one", "two"]
    other = store.clone()
    assert type(other) is type(store)
    other.set("two", "3")
    assert store.get("two") == b"3"
    store.queue_push("jobs", "first")
    store.queue_push("jobs", "second")
    assert (store.queue_len("jobs"), store.queue_len("none"), store.num_keys()) == (2, 0, 3)
    assert store.check(["jobs"])
    assert (other.queue_pop("jobs"), store.queue_pop("jobs", block=False)) == (b"first", b"second")
    assert not store.check(["jobs"])
    with pytest.raises(dist.QueueEmptyError, match="jobs"):
        store.queue_pop("jobs", block=False)
    with pytest.raises(TypeError, match="Store.set: the key must be a str, got 1"):
        store.set(1, "value")
    store.set_timeout(timedelta(seconds=0.05))
    assert store.timeout == timedelta(seconds=0.05)
    with pytest.raises(dist.StoreTimeoutError, match=r"jobs.* not .*within 0.05 s"):
        store.queue_pop("jobs")
    with pytest.raises(dist.StoreTimeoutError, match=r"missing.* not .*within 0.05 s"):
        store.multi_get(["one", "missing"])
    with pytest.raises(dist.DistStoreError, match="2 keys and 1 values"):
        store.multi_set(["one", "two"], ["1"])
    with pytest.raises(TypeError, match="Store.multi_set: the keys must be a list of str, got 3\nhint: "):
        store.multi_set(3, ["1"])
    with pytest.raises(TypeError, match="Store.multi_set: the values must be a list, got 3\nhint: "):
        store.multi_set(["one"], 3)
    with pytest.raises(dist.DistStoreError, match=r"add: the value of '(a/)?log' is not a number.*\nhint: "):
        store.add("log", 1)
    with pytest.raises(ValueError, match="Store.barrier: world_size must be 1 or more, got 0\nhint: "):
        store.barrier("ready", 0)
    with pytest.raises(TypeError, match="Store.barrier: the key must be a str, got 3\nhint: "):
        store.barrier(3, 1)
    with pytest.raises(TypeError, match="Store.barrier: world_size must be an integer, got 'one'\nhint: "):
        store.barrier("ready", "one")
    assert store.add("count", 1) == 1  # the store goes on


@pytest.mark.parametrize("name", ["HashStore", "FileStore", "TCPStore", "PrefixStore"])
def test_callers_of_a_store_wait_for_each_other(name, tmp_path):
    store = stores(tmp_path)[name]
    order = []

    def work(number):
        own = store.clone()
        for _ in range(3):
            own.barrier("round", 2)
            order.append("round")
            own.barrier("end", 2)
        job = own.queue_pop("jobs")
        own.queue_push("done", job)

    with ThreadPoolExecutor(2) as pool:
        works = [pool.submit(work, number) for number in range(2)]
        store.queue_push("jobs", "a")
        store.queue_push("jobs", "b")
        for each in works:
            each.result()
    assert order == ["round"] * 6
    assert sorted([store.queue_pop("done"), store.queue_pop("done")]) == [b"a", b"b"]
    assert sorted(store.list_keys()) == ["end/2", "end/arrived", "round/2", "round/arrived"]


def test_a_store_of_the_program_may_lack_what_it_does_not_define():
    class Mine(dist.HashStore):
        append = dist.Store.append

    store = Mine()
    assert not store.has_extended_api()
    with pytest.raises(NotImplementedError, match="Store.append: a Mine does not have append"):
        store.append("a", "b")
    with pytest.raises(TypeError, match="TCPStore: host_name must be a str, got 3\nhint: "):
        dist.TCPStore(3, 0, is_master=True)
    with pytest.raises(TypeError, match="FileStore: file_name must be a str or a path, got 3\nhint: "):
        dist.FileStore(3)
    with pytest.raises(NotImplementedError, match="master_listen_fd=3"):
        dist.TCPStore("localhost", 0, master_listen_fd=3)
    store = dist.PrefixStore("a", dist.PrefixStore("b", store))
    assert store._underlying_non_prefix_store is store.underlying_store.underlying_store


def test_a_subclass_defines_what_it_needs():
    class Mine(dist.Store):
        def __init__(self):
            self.values = {}

        def set(self, key, value):
            self.values[key] = value

        def get(self, key):
            return self.values[key]

    store = Mine()
    dist.PrefixStore("part", store).set("loss", "1.5")
    assert store.get("part/loss") == "1.5"
    calls = {
        "add": lambda: store.add("steps", 1),
        "check": lambda: store.check(["loss"]),
        "compare_set": lambda: store.compare_set("loss", "", "2"),
        "delete_key": lambda: store.delete_key("loss"),
        "num_keys": store.num_keys,
        "wait": lambda: store.multi_get(["loss"]),
    }
    for name, call in calls.items():
        with pytest.raises(NotImplementedError, match=f"^Store.{name}: a Mine does not have {name}\\(\\)\nhint: "):
            call()


def test_values_of_a_tcp_store_may_be_long(monkeypatch):
    store = dist.TCPStore("localhost", 0, is_master=True)
    value = bytes(3 << 20)
    store.set("zeros", value)
    assert store.get("zeros") == value
    monkeypatch.setattr(hub, "MAX_MESSAGE", 1000)
    with pytest.raises(dist.DistStoreError, match="^Store.set: a message of .* at most 1000 are sent\nhint: divide"):
        store.set("zeros", bytes(1000))
    store.set("loss", "1.5")
    assert store.get("loss") == b"1.5"


def test_a_wait_of_every_store_has_one_error(tmp_path):
    for store in kinds(tmp_path):
        with pytest.raises(dist.StoreTimeoutError, match="^Store.wait: .*loss, .*lost: not set within 0 s\nhint: "):
            store.wait(["loss", "lost"], timedelta(0))
