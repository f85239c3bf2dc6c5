"""Streams and events: order, waiting, timing, and their errors.  Rows 1.4.*, 1.6.*"""

import threading

import numpy as np
import pytest

import flambeau as torch
from flambeau.errors import AcceleratorError, ArgumentTypeError
from flambeau.testing import machine
from flambeau.testing.schedules import outcomes

from ..conftest import ON_HARDWARE

pytestmark = pytest.mark.usefixtures("gpus")


def test_side_streams_come_from_a_pool_of_32():
    streams = [torch.cuda.Stream() for _ in range(33)]
    assert len(set(streams)) == 32 and streams[32] == streams[0] and streams[0] != torch.cuda.default_stream()
    assert torch.cuda.Stream(priority=-1) not in streams


def test_a_stream_says_that_it_has_several_owners():
    with machine():
        streams = [torch.cuda.Stream() for _ in range(33)]
        assert [each.handed_out for each in streams] == [2, *[1] * 31, 2] and streams[0] is streams[32]
        assert "handed_out=2" in repr(streams[0]) and "handed_out" not in repr(streams[1])


def test_priorities_are_clamped():
    assert [torch.cuda.Stream(priority=p).priority for p in (5, 0, -1, -3, -9)] == [0, 0, -1, -3, -3]
    assert torch.cuda.Stream.priority_range() == (0, -3)


@pytest.mark.devices(2)
def test_default_streams_of_two_devices_differ():
    one, other = torch.cuda.default_stream(0), torch.cuda.default_stream(1)
    assert one != other and one.cuda_stream == other.cuda_stream == 0 and one.device.index == 0
    assert one != "stream" and len({one, other, torch.cuda.default_stream("cuda:1")}) == 2


@pytest.mark.devices(2)
def test_a_stream_guard_changes_stream_and_device_and_restores_both():
    s, t = torch.cuda.Stream(0), torch.cuda.Stream(1)
    with torch.cuda.stream(s):
        with torch.cuda.stream(t):
            assert torch.cuda.current_device() == 1 and torch.cuda.current_stream() == t
            assert torch.cuda.current_stream(0) == s
        assert torch.cuda.current_device() == 0 and torch.cuda.current_stream() == s
        assert torch.cuda.current_stream(1) == torch.cuda.default_stream(1)
        with torch.cuda.stream(None):
            assert torch.cuda.current_stream() == s
    with s:
        assert torch.cuda.current_stream() == s
    assert torch.cuda.current_stream() == torch.cuda.default_stream()


@pytest.mark.devices(2)
def test_a_stream_guard_restores_the_former_devices_stream_too():
    s, t = torch.cuda.Stream(0), torch.cuda.Stream(1)
    with torch.cuda.stream(s):
        with torch.cuda.stream(t):
            torch.cuda.set_stream(torch.cuda.default_stream(0))
        assert torch.cuda.current_stream() == s and torch.cuda.current_stream(1) == torch.cuda.default_stream(1)


@pytest.mark.devices(2)
def test_threads_may_be_inside_one_stream_at_once():
    s, inside, others = torch.cuda.Stream(0), threading.Barrier(2), []

    def other():
        torch.cuda.set_device(1)
        with s:
            inside.wait()
            inside.wait()
        others.append((torch.cuda.current_device(), torch.cuda.current_stream(0) == torch.cuda.default_stream(0)))

    worker = threading.Thread(target=other)
    worker.start()
    inside.wait()
    with s:  # entered last, left first or last: each thread leaves its own block
        pass
    assert torch.cuda.current_device() == 0
    s.__enter__()
    inside.wait()
    worker.join()
    s.__exit__(None, None, None)
    assert torch.cuda.current_device() == 0 and others == [(1, True)]


@pytest.mark.devices(2)
def test_one_guard_serves_nested_blocks_and_several_threads():
    for guard in (torch.cuda.stream(torch.cuda.Stream(1)), torch.cuda.device(1)):
        inside, devices = threading.Barrier(2), []

        def other(guard=guard, inside=inside, devices=devices):
            with guard:
                inside.wait()
            devices.append(torch.cuda.current_device())
            inside.wait()

        torch.cuda.set_device(1)
        worker = threading.Thread(target=other)
        with guard, guard:
            worker.start()
            inside.wait()
            inside.wait()
        worker.join()
        assert torch.cuda.current_device() == 1 and devices == [0]
        torch.cuda.set_device(0)
        with guard, guard:
            pass
        assert torch.cuda.current_device() == 0 and torch.cuda.current_stream(1) == torch.cuda.default_stream(1)


def test_a_stream_that_was_not_entered_cannot_be_left():
    s = torch.cuda.Stream()
    with pytest.raises(AcceleratorError, match="was not entered by this thread"):
        s.__exit__(None, None, None)
    assert torch.cuda.current_stream() == torch.cuda.default_stream()


def test_wrong_things_where_a_stream_belongs():
    s = torch.cuda.Stream()
    with pytest.raises(TypeError, match="expected a Stream or None, got 7\nhint: make one with cuda.Stream"):
        torch.cuda.stream(7)
    with pytest.raises(TypeError, match="wait_stream: expected a Stream"):
        s.wait_stream(torch.cuda.Event())
    with pytest.raises(TypeError, match="wait_event: expected an Event"):
        s.wait_event(s)


def handed_over(ordered: bool):
    def program(schedule) -> float:
        with machine(devices=1, races="real", schedule=schedule):
            a, s = torch.zeros(1, device="cuda"), torch.cuda.Stream()
            torch.cuda.synchronize()
            a.fill_(7.0)
            if ordered:
                s.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(s):
                b = a + 0
            s.synchronize()
            return b.item() if ordered else read_on(s, b)

    return program


def read_on(stream, tensor) -> float:
    with torch.cuda.stream(stream):
        return tensor.item()


def test_without_an_event_the_reader_may_see_the_old_value():
    assert outcomes(handed_over(ordered=False)) == {0.0, 7.0}


def test_an_event_leaves_one_outcome():
    assert outcomes(handed_over(ordered=True)) == {7.0}


def test_an_event_that_was_never_recorded_waits_for_nothing():
    event = torch.cuda.Event()
    assert event.query() and event.device is None and "uninitialized" in repr(event)
    event.synchronize()
    torch.cuda.current_stream().wait_event(event)
    event.wait()
    assert torch.cuda.current_stream().query()


def test_recording_again_moves_an_event_but_not_its_old_waiters():
    with machine(devices=1) as made:
        s, t = torch.cuda.Stream(), torch.cuda.Stream()
        x = torch.ones(4, device="cuda")
        torch.cuda.synchronize()
        with torch.cuda.stream(s):
            y = x + 1
        event = s.record_event()
        t.wait_event(event)
        with torch.cuda.stream(s):
            z = y + 1
        event.record(s)
        made.driver.log.clear()
        with torch.cuda.stream(t):
            w = y * 2
            assert w.tolist() == [4.0] * 4
        sums = [name for stream, _, name in made.driver.log if stream == s.handle and "add" in name]
        assert len(sums) <= 1, "only what t waited for ran"
        s.synchronize()
        assert z is not None


@pytest.mark.devices(2)
def test_errors_of_events_name_both_sides():
    event = torch.cuda.Event(enable_timing=True)
    event.record(torch.cuda.default_stream(0))
    with pytest.raises(RuntimeError, match="event belongs to cuda:0, the stream to cuda:1"):
        event.record(torch.cuda.default_stream(1))
    with pytest.raises(ValueError, match="the end event has no timing"):
        event.elapsed_time(torch.cuda.Event())
    with pytest.raises(ValueError, match="the end event was never recorded"):
        event.elapsed_time(torch.cuda.Event(enable_timing=True))
    other = torch.cuda.Event(enable_timing=True)
    other.record(torch.cuda.default_stream(1))
    torch.cuda.synchronize(0)
    torch.cuda.synchronize(1)
    with pytest.raises(RuntimeError, match="cuda:0 and cuda:1"):
        event.elapsed_time(other)
    with pytest.raises(ValueError, match="interprocess=True cannot have enable_timing"):
        torch.cuda.Event(enable_timing=True, interprocess=True)


def test_elapsed_time_of_unfinished_work_is_an_error_on_virtual_gpus():
    with machine(devices=1):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        x = torch.ones(1 << 22, device="cuda")
        start.record()
        x.mul_(2)
        end.record()
        with pytest.raises(RuntimeError, match="not"):
            start.elapsed_time(end)
        end.synchronize()
        first = start.elapsed_time(end)
        assert 0.005 < first < 0.1, "16 MiB read and written at 4.26 TB/s, modelled"


def test_a_polling_loop_ends_on_virtual_gpus():
    with machine(devices=1):
        x = torch.ones(1 << 24, device="cuda")
        x.mul_(2)
        polls = 0
        while not torch.cuda.current_stream().query():
            polls += 1
        assert polls > 0 and x[0].item() == 2.0


def test_streams_speak_the_protocol_of_other_libraries():
    s = torch.cuda.Stream()
    assert s.__cuda_stream__() == (0, s.cuda_stream) and s.cuda_stream != 0
    assert torch.cuda.ExternalStream(s.cuda_stream) == s


class Foreign:
    """Another library's stream, with `__cuda_stream__`."""

    def __init__(self, raw):
        self.raw = raw

    def __cuda_stream__(self):
        return 0, self.raw


def test_an_object_of_another_library_is_taken_by_the_protocol():
    s = torch.cuda.Stream()
    for each in (s, torch.cuda.default_stream()):
        assert torch.cuda.ExternalStream(Foreign(each.cuda_stream)) == each
        assert torch.cuda.ExternalStream(each) is each


@pytest.mark.parametrize(
    "call",
    [
        lambda: torch.cuda.stream(7),
        lambda: torch.cuda.set_stream("stream"),
        lambda: torch.cuda.Stream().wait_stream(None),
        lambda: torch.cuda.Stream().wait_event(None),
        lambda: torch.cuda.Stream().record_event(7),
        lambda: torch.cuda.Event().record(7),
        lambda: torch.cuda.Event().record(torch.cuda.Event()),
        lambda: torch.cuda.Event().wait("stream"),
        lambda: torch.cuda.Event(enable_timing=True).elapsed_time(7),
        lambda: torch.cuda.ExternalStream("stream"),
        lambda: torch.cuda.ExternalStream(None),
        lambda: torch.cuda.ExternalStream(True),
        lambda: torch.ones(1, device="cuda").record_stream(7),
        lambda: torch.cuda.Event.from_ipc_handle("cuda:0", None),
    ],
)
def test_what_is_no_stream_or_event_is_a_type_error_and_leaves_nothing(call):
    call_before = torch.cuda.memory_allocated(), torch.cuda.current_stream(), torch.cuda.current_device()
    with pytest.raises(ArgumentTypeError):
        call()
    assert (torch.cuda.memory_allocated(), torch.cuda.current_stream(), torch.cuda.current_device()) == call_before


@pytest.mark.skipif(ON_HARDWARE, reason="hardware takes any number for a stream")
def test_a_stream_that_is_not_there():
    with pytest.raises(AcceleratorError, match="12345678 is not a stream of device 0\nhint: "):
        torch.cuda.ExternalStream(12345678)
    with pytest.raises(AcceleratorError, match="is not a stream of device 1"):
        torch.cuda.ExternalStream(torch.cuda.Stream(0).cuda_stream, device=1)


@pytest.fixture
def dead():
    """A stream, an event and a graph of a machine that was replaced."""
    with machine():
        s, event, graph, x = torch.cuda.Stream(), torch.cuda.Event(), torch.cuda.CUDAGraph(), torch.zeros(4).cuda()
        event.record()
        with torch.cuda.graph(graph):
            x.add_(1)
    return s, event, graph


@pytest.mark.skipif(ON_HARDWARE, reason="hardware has one machine in a process")
@pytest.mark.parametrize(
    "call",
    [
        lambda s, event, graph: torch.cuda.Stream().wait_stream(s),
        lambda s, event, graph: torch.cuda.current_stream().wait_event(event),
        lambda s, event, graph: event.wait(),
        lambda s, event, graph: event.record(),
        lambda s, event, graph: torch.cuda.Event().record(s),
        lambda s, event, graph: torch.cuda.Event().wait(s),
        lambda s, event, graph: torch.cuda.set_stream(s),
        lambda s, event, graph: torch.cuda.stream(s).__enter__(),
        lambda s, event, graph: s.__enter__(),
        lambda s, event, graph: torch.ones(4, device="cuda").record_stream(s),
        lambda s, event, graph: graph.replay(),
        lambda s, event, graph: graph.debug_dump("graph.dot"),
        lambda s, event, graph: graph.raw_cuda_graph_exec(),
    ],
)
def test_what_belongs_to_a_machine_that_is_gone_is_an_error_and_leaves_nothing(dead, call):
    with machine():
        former, before = torch.cuda.current_stream(), torch.cuda.memory_allocated()
        with pytest.raises(AcceleratorError):
            call(*dead)
        assert torch.cuda.current_stream() == former and torch.cuda.memory_allocated() == before
        assert (torch.ones(4, device="cuda") + 1).tolist() == [2.0] * 4


@pytest.mark.parametrize("priority", [None, 1.5, float("nan"), True, "high"])
def test_a_priority_is_an_int(priority):
    with pytest.raises(ArgumentTypeError, match=f"Stream: priority must be an int, got {priority!r}\nhint: "):
        torch.cuda.Stream(priority=priority)
    assert torch.cuda.Stream(priority=np.int64(-2)).priority == -2


@pytest.mark.parametrize("pinned", [False, True])
def test_memory_of_the_host_is_kept_for_no_stream(pinned):
    x = torch.ones(4).pin_memory() if pinned else torch.ones(4)
    with pytest.raises(NotImplementedError, match=r"record_stream: this is float32\[4\] on cpu, .*\nhint: "):
        x.record_stream(torch.cuda.Stream())
    torch.ones(0, device="cuda").record_stream(torch.cuda.Stream())


@pytest.mark.parametrize("count", [None, True, 8.0, "8"])
def test_multiprocessors_are_counted_in_ints(count):
    with pytest.raises(ArgumentTypeError, match=f"GreenContext.create: num_sms must be an int, got {count!r}\nhint: "):
        torch.cuda.green_contexts.GreenContext.create(num_sms=count)


@pytest.mark.parametrize("count", [0, -1, 1 << 70])
def test_more_multiprocessors_than_there_are(count):
    text = rf"GreenContext.create: {count} multiprocessors were requested, cuda:0 has \d+\nhint: pass 1 to"
    with pytest.raises(AcceleratorError, match=text):
        torch.cuda.green_contexts.GreenContext.create(num_sms=count)
    assert torch.cuda.green_contexts.GreenContext.create(num_sms=np.int64(8)).num_sms >= 8
