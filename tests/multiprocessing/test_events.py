"""Events of other processes, where something is wrong with them."""

import gc

import pytest

import flambeau as torch
from flambeau.errors import ArgumentError, ProcessGoneError

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
