"""Tensors in several processes (semantics 1.18): values, identity, ordering, and how long memory is kept."""

import gc
import os
from queue import Full

import pytest

import flambeau as torch
from flambeau.core.queue import hooks
from flambeau.errors import AcceleratorError, ProcessGoneError
from flambeau.testing import machine

from .other import Other


def allocated():
    return torch.cuda.memory_allocated()


# values


@pytest.mark.parametrize("kind", ["float32", "bfloat16", "int64", "bool", "uint8"])
def test_every_type_arrives(other, kind):
    x = torch.arange(6, device="cuda").reshape(2, 3).to(getattr(torch, kind))
    assert other.do("answer = str(x.dtype), x.tolist(), str(x.device)", x=x) == (
        str(x.dtype),
        x.tolist(),
        "cuda:0",
    )


def test_views_keep_their_layout(other):
    x = torch.arange(24.0, device="cuda:1").reshape(4, 6)
    views = [x.t(), x[1:, ::2], x[2], x[3, 5], x.expand(2, 4, 6)]
    found = other.do(
        "answer = [(v.tolist(), v.stride(), v.storage_offset(), v.get_device()) for v in views]", views=views
    )
    assert found == [(each.tolist(), each.stride(), each.storage_offset(), 1) for each in views]


def test_memory_is_shared_both_ways(other):
    x = torch.zeros(4, device="cuda")
    other.do("x += 5; torch.cuda.synchronize(); kept = x", x=x)
    assert x.tolist() == [5.0] * 4
    x.fill_(7)
    torch.cuda.synchronize()
    assert other.do("answer = kept.tolist()") == [7.0] * 4


def test_one_message_keeps_what_its_tensors_share(other):
    x = torch.zeros(4, device="cuda")
    assert other.do(
        "pair[0][1] = 3; answer = pair[1].tolist(), pair[0]._storage is pair[1]._storage", pair=(x, x[1:])
    ) == (
        [3.0, 0.0, 0.0],
        True,
    )


def test_a_storage_received_twice_is_one_and_its_segment_is_opened_once(other):
    x, y = torch.zeros(4, device="cuda"), torch.ones(4, device="cuda")
    other.do("first, second = x, y", x=x, y=y)
    distance = y.data_ptr() - x.data_ptr()
    assert other.do("answer = x._storage is first._storage, second.data_ptr() - x.data_ptr()", x=x) == (True, distance)
    (lent, _) = sorted(torch.cuda.ipc_report().lent, key=lambda each: each.nbytes)
    assert lent.holders == {other.pid: 1}


def test_empty_tensors_travel(other):
    x = torch.empty(0, 3, device="cuda:1")
    assert other.do("answer = tuple(x.shape), str(x.device)", x=x) == ((0, 3), "cuda:1")


def test_results_come_back(other):
    x = torch.arange(4.0, device="cuda")
    assert other.do("answer = x * 2", x=x).tolist() == [0.0, 2.0, 4.0, 6.0]


def test_what_comes_back_is_what_was_sent(other):
    x = torch.arange(4.0, device="cuda")
    assert other.do("answer = x", x=x)._storage is x._storage


def test_a_process_may_receive_its_own(gpus, context):
    queue = context.SimpleQueue()
    x = torch.ones(3, device="cuda")
    queue.put(x)
    assert queue.get()._storage is x._storage
    assert not torch.cuda.ipc_report().in_flight


def test_a_consumer_may_send_it_on(others):
    first, second = others(), others()
    x = torch.arange(3.0, device="cuda")
    borrowed = first.do("answer = kept = x", x=x)
    assert second.do("y += 1; answer = y.tolist(); kept = y", y=borrowed) == [1.0, 2.0, 3.0]
    assert torch.cuda.ipc_report().lent[0].holders == {first.pid: 1, second.pid: 1}


def test_a_third_process_holds_what_the_second_has_dropped(others, context):
    hop = context.SimpleQueue()
    first, second = others(hop=hop), others(hop=hop)
    before = allocated()
    x = torch.arange(3.0, device="cuda")
    first.do("x += 1; hop.put(x); del x", x=x)
    assert second.do("x = hop.get(); answer = x.tolist()") == [1.0, 2.0, 3.0]
    first.do("torch.cuda.ipc_collect()")
    torch.cuda.ipc_collect()
    assert torch.cuda.ipc_report().lent[0].holders == {second.pid: 1}
    del x
    assert allocated() == before + 512
    second.do("del x; torch.cuda.ipc_collect()")
    torch.cuda.ipc_collect()
    assert allocated() == before


# gradients


def test_leaves_keep_requires_grad_and_gradient(other):
    x = torch.ones(2, device="cuda").requires_grad_()
    (x * 3).sum().backward()
    assert other.do("answer = x.requires_grad, x.is_leaf, x.grad.tolist()", x=x) == (True, True, [3.0, 3.0])


def test_a_non_leaf_that_requires_a_gradient_is_refused(other):
    x = torch.ones(2, device="cuda").requires_grad_() * 2
    with pytest.raises(RuntimeError, match=r"float32\[2\] on cuda:0 is a non-leaf.*\nhint: send tensor.detach\(\)"):
        other.requests.put(x)
    other.do("answer = x.tolist()", x=x.detach())


def test_modules_are_shared_parameter_by_parameter(other):
    net = torch.nn.Linear(2, 1).cuda()
    found = other.do(
        """
with torch.no_grad():
    net.weight.fill_(2)
torch.cuda.synchronize()
answer = type(net.weight).__name__, net.weight.requires_grad
""",
        net=net,
    )
    assert found == ("Parameter", True)
    assert net.weight.tolist() == [[2.0, 2.0]]


# order


def test_the_receiver_follows_the_sender_s_stream(context):
    """Whatever the schedule delays, the sending stream's work is done before the receiver reads."""
    for stream_number in (0, 1, 2):
        with machine(schedule=f"delay:{stream_number}", races="real"):
            other = Other(context)
            side = torch.cuda.Stream()
            with torch.cuda.stream(side):
                x = torch.zeros(8, device="cuda")
                for _ in range(5):
                    x += 1
                assert other.do("answer = x.tolist(); kept = x", x=x) == [5.0] * 8
                x += 1  # also for a storage that is known there
                assert other.do("answer = x.tolist()", x=x) == [6.0] * 8
            other.stop()


def test_every_transfer_records_and_waits(others, context, monkeypatch):
    """Also of a storage that the receiver has, of one that is sent on, and of one that comes home."""
    hop = context.SimpleQueue()
    first, second = others(hop=hop), others(hop=hop)
    for each in (first, second):
        each.do("""
from flambeau.core.queue import hooks
recorded, waited = [], []
hooks.on_record = lambda event, stream: recorded.append(stream.cuda_stream)
hooks.on_wait = lambda waiter, event: waited.append(waiter.cuda_stream)
""")
    recorded, waited = [], []
    monkeypatch.setattr(hooks, "on_record", lambda event, stream: recorded.append(stream))
    monkeypatch.setattr(hooks, "on_wait", lambda waiter, event: waited.append(waiter))
    side = torch.cuda.Stream()
    x = torch.zeros(2, device="cuda")
    counts = "answer = len(recorded), len(waited)"
    for times in (1, 2):
        with torch.cuda.stream(side):
            first.do("side = torch.cuda.Stream(); kept = x", x=x)
        assert recorded == [side] * times and first.do(counts) == (0, times)
    first.do("with torch.cuda.stream(side): hop.put(kept)")
    assert second.do("kept = hop.get()") is None
    assert first.do("answer = recorded == [side.cuda_stream]") and second.do(counts) == (0, 1)
    home = second.do("answer = kept")
    assert home._storage is x._storage and second.do(counts) == (1, 1)
    assert waited == [torch.cuda.current_stream()]


def test_what_is_sent_before_it_is_ordered_is_wrong_in_every_run(context):
    with machine():
        other = Other(context)
        side = torch.cuda.Stream()
        x = torch.zeros(2, device="cuda")
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            x += 1
        assert other.do("answer = (x != x).tolist()", x=x) == [True, True]
        other.stop()


def test_with_races_as_errors_the_sending_is_where_it_shows(context):
    with machine(races="error"):
        queue = context.SimpleQueue()
        side = torch.cuda.Stream()
        x = torch.zeros(2, device="cuda")
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            x += 1
        with pytest.raises(RuntimeError, match="block_shared: reads"):
            queue.put(x)
        torch.cuda.current_stream().wait_stream(side)
        queue.put(x)
        assert queue.withdraw() == 1


def test_a_queue_with_a_feeder_sends_in_the_caller_s_order(others, context):
    queue = context.Queue()
    other = others(queue=queue)
    other.start("x = queue.get(); answer = x.tolist()")
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        x = torch.zeros(2, device="cuda")
        x += 1
        queue.put(x)
    assert other.finish() == ("done", [1.0, 1.0])
    queue.close()
    queue.join_thread()


def test_events_cross_processes(other):
    event = torch.cuda.Event(interprocess=True)
    x = torch.zeros(2, device="cuda")
    event.record()
    found = other.do(
        """
event.wait()
x += 1
event.record()
event.synchronize()
answer = repr(event.device), event.query()
""",
        x=x,
        event=event,
    )
    assert found == ("device(type='cuda', index=0)", True)
    event.synchronize()
    assert x.tolist() == [1.0, 1.0]


def test_events_of_one_process_are_refused(gpus, context):
    with pytest.raises(ValueError, match="interprocess=True"):
        context.SimpleQueue().put(torch.cuda.Event())
    handle = torch.cuda.Event(interprocess=True).ipc_handle()
    with pytest.raises(ValueError, match="by this process"):
        torch.cuda.Event.from_ipc_handle("cuda:0", handle)
    with pytest.raises(ValueError, match="not a handle"):
        torch.cuda.Event.from_ipc_handle("cuda:0", b"x" * 64)


# how long memory is kept


def test_memory_is_kept_while_another_process_holds_it(other):
    before = allocated()
    x = torch.ones(1000, device="cuda")
    other.do("kept = x", x=x)
    del x
    assert allocated() == before + 4096
    again = torch.zeros(1000, device="cuda")
    assert other.do("answer = kept.sum().item()") == 1000.0
    del again
    other.do("del kept, x; torch.cuda.ipc_collect()")
    torch.cuda.ipc_collect()
    assert allocated() == before


def test_memory_is_kept_while_it_is_on_its_way(gpus, context):
    before = allocated()
    queue = context.SimpleQueue()
    queue.put(torch.ones(1000, device="cuda"))
    assert allocated() == before + 4096
    assert [each.taker for each in torch.cuda.ipc_report().in_flight] == [None]
    assert queue.withdraw() == 1
    assert allocated() == before
    with pytest.raises(ProcessGoneError, match="received already, or withdrawn"):
        queue.get()


def test_it_goes_back_after_the_consumer_s_work_on_it(other):
    """The consumer drops it with work queued: the owner gets it back when that work is done."""
    x = torch.zeros(8, device="cuda")
    other.do("x += 1; x += 1; del x; torch.cuda.ipc_collect()", x=x)
    assert x.tolist() == [2.0] * 8


def test_the_report_says_who_holds_what(other):
    x = torch.ones(1000, device="cuda:1")
    other.do("kept = x", x=x)
    del x
    (lent,) = torch.cuda.ipc_report().lent
    assert (lent.device, lent.nbytes, lent.holders) == (1, 4000, {other.pid: 1})
    assert "other.py" in lent.site
    assert f"held by process {other.pid} (1)" in str(torch.cuda.ipc_report())
    assert other.do("answer = [(b.owner, b.nbytes, b.is_lost) for b in torch.cuda.ipc_report().borrowed]") == [
        (os.getpid(), 4000, False)
    ]


def test_an_empty_report_says_so(gpus):
    assert str(torch.cuda.ipc_report()) == "nothing is shared with other processes"
    torch.cuda.ipc_collect()


def test_a_killed_consumer_gives_everything_back(others):
    before = allocated()
    first, second = others(), others()
    x = torch.ones(1000, device="cuda")
    for each in (first, second):
        each.do("kept = x", x=x)
    del x
    first.kill()
    torch.cuda.ipc_collect()
    assert torch.cuda.ipc_report().lent[0].holders == {second.pid: 1}
    assert allocated() == before + 4096
    second.kill()
    torch.cuda.ipc_collect()
    assert allocated() == before and not torch.cuda.ipc_report().lent


def test_out_of_memory_takes_back_what_was_given_back_first(context):
    with machine(memory="64MiB"):
        other = Other(context)
        other.do("kept = x", x=torch.ones(10 << 20, device="cuda"))
        with pytest.raises(torch.OutOfMemoryError):
            torch.ones(10 << 20, device="cuda")
        other.kill()
        assert torch.ones(10 << 20, device="cuda").sum().item() == 10 << 20
        other.stop()


# errors


def test_an_object_that_cannot_be_pickled_leaves_nothing_behind(gpus, context):
    before = allocated()
    queue = context.Queue()
    x = torch.ones(1000, device="cuda")
    with pytest.raises((AttributeError, TypeError), match="pickle"):
        queue.put((x, lambda: None))
    del x
    gc.collect()
    assert allocated() == before and not torch.cuda.ipc_report().in_flight


@pytest.mark.parametrize("kind", ["full", "closed"])
def test_a_put_that_fails_leaves_nothing_behind(gpus, context, kind):
    queue = context.Queue(1)
    if kind == "full":
        queue.put(1)
    else:
        queue.close()
    with pytest.raises(Full if kind == "full" else ValueError):
        queue.put(torch.ones(2, device="cuda"), block=False)
    assert not torch.cuda.ipc_report().in_flight


def test_pipes_carry_tensors_too(others, context):
    here, there = context.Pipe()
    other = others(there=there)
    x = torch.ones(2, device="cuda")
    here.send(x)
    assert other.do("x = there.recv(); x += 1; answer = x.tolist()") == [2.0, 2.0]
    assert "test_reductions.py" in torch.cuda.ipc_report().lent[-1].site
    here.close()
    there.close()


def test_messages_that_are_none_are_refused(gpus):
    from flambeau.core import thread
    from flambeau.runtime import ipc, shared_memory

    exchange = ipc.of(thread.machine())
    for receive in (exchange.receive, shared_memory.host_side().receive):
        for bad in (b"", b"x" * 88, "text", bytes(200)):
            with pytest.raises(ValueError, match="not a message of a"):
                receive(bad)


def test_a_message_is_received_once(other, gpus):
    from multiprocessing.reduction import ForkingPickler

    message = bytes(ForkingPickler.dumps(torch.ones(2, device="cuda")))
    assert other.do("import pickle; answer = pickle.loads(message).tolist()", message=message) == [1.0, 1.0]
    name, text = other.fails("pickle.loads(message)", message=message)
    assert name == "ProcessGoneError" and f"process {os.getpid()}: the tensor was received already" in text


def test_a_layout_beyond_the_storage_is_refused(gpus):
    from flambeau.multiprocessing.reductions import _rebuild_tensor

    storage = torch.ones(4, device="cuda")._storage
    for shape, strides, offset in (((5,), (1,), 0), ((4,), (1,), 1), ((2, 2), (3, 1), 1), ((2,), (1,), -1)):
        with pytest.raises(ValueError, match="does not fit in 16 bytes"):
            _rebuild_tensor(storage, "float32", shape, strides, offset, False, None)
    with pytest.raises(ValueError, match="not a data type"):
        _rebuild_tensor(storage, "os.system", (4,), (1,), 0, False, None)


def test_memory_of_a_process_that_has_ended_is_an_error(context):
    with machine():
        other = Other(context)
        y = other.do("answer = kept = torch.ones(4, device='cuda')")
        assert y.tolist() == [1.0] * 4
        other.kill()
        torch.cuda.ipc_collect()
        with pytest.raises(AcceleratorError, match=f"belonged to process {other.pid}, which has ended"):
            y + 1
        assert torch.cuda.ipc_report().borrowed[0].is_lost
        assert "which has ended" in str(torch.cuda.ipc_report())
        other.stop()


def test_a_tensor_whose_sender_has_ended_cannot_be_received(others, context):
    queue = context.SimpleQueue()
    other = others(queue=queue)
    other.do("x = torch.ones(4, device='cuda'); queue.put(x)")
    other.kill()
    with pytest.raises(ProcessGoneError, match=f"process {other.pid} has ended"):
        queue.get()


def test_a_device_that_the_receiver_lacks(context):
    with machine(devices=1):
        other = Other(context)
        other.do("answer = torch.cuda.device_count()")
        with machine(devices=3):
            x = torch.ones(2, device="cuda:2")
            name, text = other.fails("x", x=x)
        other.stop()
    assert name == "DeviceIndexError" and "lies on GPU-00000002" in text


def test_what_another_user_s_process_says_is_not_heard(gpus, monkeypatch):
    from flambeau import channel

    endpoint = channel.endpoint()
    monkeypatch.setattr(channel.os, "geteuid", lambda: 4242)
    with pytest.raises(ProcessGoneError):
        channel.Endpoint().connect(endpoint.name)
