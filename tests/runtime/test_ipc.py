"""CUDA IPC between processes: transfers that fail or are interrupted half way, and events of other processes."""

import gc
from multiprocessing.reduction import ForkingPickler

import pytest

import flambeau as torch
from flambeau import channel
from flambeau.core import thread
from flambeau.errors import ArgumentError, ProcessGoneError
from flambeau.runtime import ipc, shared_memory
from flambeau.runtime.ipc import Exports

DEVICES = pytest.mark.parametrize("device", ["cpu", "cuda"])


@pytest.fixture(autouse=True)
def nothing_is_on_its_way():
    shared_memory.host_side().exports.withdraw(lambda route: True)


def exports(device):
    return shared_memory.host_side().exports if device == "cpu" else ipc.of(thread.machine()).exports


def message_of(device):
    return bytes(ForkingPickler.dumps(torch.ones(2, device=device)))


class Sender:
    """Stands for a connection; what happens when somebody looks whether it is lost."""

    def __init__(self, look):
        self.look = look

    @property
    def is_lost(self):
        return self.look(self)


def test_two_threads_may_open_events(gpus):
    exchange = ipc.of(thread.machine())
    opened = exchange._opened_events

    def meets_another(sender):
        opened[sender, 0, b"another"] = 2
        return False

    def is_removed(sender):
        del opened[sender, 0, b"event"]
        return True

    first, second = Sender(meets_another), Sender(is_removed)
    opened.update({(first, 0, b"event"): 1, (second, 0, b"event"): 3})
    try:
        assert exchange._opened_event(first, 0, b"event") == 1
        assert list(opened) == [(first, 0, b"event"), (first, 0, b"another")]
    finally:
        opened.clear()


@DEVICES
def test_what_a_process_is_receiving_from_itself_cannot_be_withdrawn(gpus, context, monkeypatch, device):
    queue = context.SimpleQueue()
    queue.put(torch.ones(2, device=device))
    take, withdrawn = Exports.take, []

    def taking(self, number, peer):
        found = take(self, number, peer)
        withdrawn.append(queue.withdraw())
        with pytest.raises(ProcessGoneError, match="received already"):
            take(self, number, peer)
        return found

    monkeypatch.setattr(Exports, "take", taking)
    assert queue.get().tolist() == [1.0, 1.0]
    assert withdrawn == [0] and not exports(device).accounts()[0]


def test_a_handle_that_could_not_be_answered_is_still_to_be_had(other, monkeypatch):
    message, duplicate, failures = message_of("cpu"), shared_memory.os.dup, []

    def failing_once(descriptor):
        if not failures:
            failures.append(descriptor)
            raise OSError(24, "Too many open files")
        return duplicate(descriptor)

    monkeypatch.setattr(shared_memory.os, "dup", failing_once)
    name, text = other.fails("import pickle; pickle.loads(message)", message=message)
    assert name == "ArgumentError" and "Too many open files" in text
    (handle,) = exports("cpu").accounts()[0]
    assert handle.taker is None
    assert other.do("answer = pickle.loads(message).tolist()") == [1.0, 1.0]
    channel.settle()
    assert not exports("cpu").accounts()[0]


@DEVICES
def test_an_interrupted_receiver_holds_nothing(other, device):
    message = message_of(device)
    other.do(
        """
import pickle
from flambeau import channel
receive, interrupted = channel.Connection._receive, False
def interrupting(self, wanted):
    receive(self, wanted)
    raise KeyboardInterrupt
channel.Connection._receive = interrupting
try:
    pickle.loads(message)
except KeyboardInterrupt:
    interrupted = True
channel.Connection._receive = receive
assert interrupted
""",
        message=message,
    )
    channel.settle()
    assert exports(device).accounts() == ([], [])
    assert other.fails("pickle.loads(message)")[0] == "ProcessGoneError"
    assert other.do("answer = pickle.loads(another).tolist()", another=message_of(device)) == [1.0, 1.0]


@DEVICES
def test_a_receiver_that_is_refused_changes_nothing(other, device):
    """While this process receives, the other one asks for the same."""
    message, take = message_of(device), Exports.take
    number = exports(device).accounts()[0][0].number
    take(exports(device), number, None)
    assert other.fails("import pickle; pickle.loads(message)", message=message)[0] == "ProcessGoneError"
    channel.settle()
    assert [each.number for each in exports(device).accounts()[0]] == [number]
    exports(device).done(number, None)
    assert exports(device).accounts() == ([], [])


@DEVICES
@pytest.mark.parametrize(
    "call",
    [
        lambda pool, x: pool.map(len, [x, lambda: 0]),
        lambda pool, x: pool.map(len, [x], "no size"),
        lambda pool, x: pool.apply_async(len, (x, lambda: 0)),
        lambda pool, x: pool.apply_async(len, (x,), {"other": lambda: 0}),
    ],
)
def test_a_pool_that_cannot_send_one_argument_keeps_none(gpus, context, device, call):
    with context.Pool(1) as pool:
        with pytest.raises((AttributeError, TypeError)):
            call(pool, torch.ones(2, device=device))
        assert not exports(device).accounts()[0]


# events of other processes

MADE = "event = torch.cuda.Event(interprocess=True); event.record(); answer = event.ipc_handle()"


def figures():
    gc.collect()
    return torch.cuda.memory_allocated(), torch.cuda.memory_reserved(), str(torch.cuda.ipc_report())


def test_a_handle_may_be_opened_twice(other):
    handle = other.do(MADE)
    one, two = (torch.cuda.Event.from_ipc_handle("cuda:0", handle) for _ in range(2))
    one.record()
    two.synchronize()
    assert one.query() and two.query()
    del one
    two.record()
    two.synchronize()
    assert other.do("event.synchronize(); answer = event.query()")


def test_a_handle_of_a_process_that_has_ended(other):
    handle = other.do(MADE)
    before = figures()
    other.kill()
    for _ in range(2):
        with pytest.raises(ProcessGoneError, match=str(other.pid)):
            torch.cuda.Event.from_ipc_handle("cuda:0", handle)
    assert figures() == before and torch.cuda.Event(interprocess=True).ipc_handle()


def test_an_event_outlives_the_process_that_made_it(other):
    event = torch.cuda.Event.from_ipc_handle("cuda:0", other.do(MADE))
    other.kill()
    event.synchronize()
    event.record()
    assert (event.synchronize(), event.query()) == (None, True)


@pytest.mark.parametrize(
    "change", [lambda handle: handle[:-1], lambda handle: handle + b"x", lambda handle: handle[::-1]]
)
def test_a_handle_that_was_damaged(other, change):
    handle = other.do(MADE)
    before = figures()
    with pytest.raises(ArgumentError):
        torch.cuda.Event.from_ipc_handle("cuda:0", change(handle))
    assert figures() == before and torch.cuda.Event.from_ipc_handle("cuda:0", handle).query()


def test_an_event_that_another_process_saw_done_is_done_here(other):
    x = torch.zeros(1 << 22, device="cuda")
    event = torch.cuda.Event(interprocess=True)
    for _ in range(8):
        x += 1
    event.record()
    opened = f"event = torch.cuda.Event.from_ipc_handle('cuda:0', {event.ipc_handle()!r})"
    assert other.do(f"{opened}; event.synchronize(); answer = event.query()")
    assert event.query()
