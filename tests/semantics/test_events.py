"""1.6 Events: when they become real, what they mark, and how time is measured."""

import pytest


@pytest.mark.rule("1.6.1", since="1.0")
def test_an_event_becomes_real_when_it_is_first_recorded(torch):
    event = torch.cuda.Event()
    assert "uninitialized" in repr(event)
    event.record()
    assert "uninitialized" not in repr(event) and event.device == torch.device("cuda", 0)


@pytest.mark.rule("1.6.1", since="2.3")
def test_an_event_has_no_device_before(torch):
    assert torch.cuda.Event().device is None


@pytest.mark.rule("1.6.1", since="1.0")
@pytest.mark.devices(2)
def test_the_first_recording_stream_gives_the_device(torch):
    event = torch.cuda.Event()
    assert torch.cuda.current_device() == 0
    event.record(torch.cuda.Stream(1))
    assert event.device == torch.device("cuda", 1)


@pytest.mark.rule("1.6.2", since="1.0")
def test_record_marks_what_the_current_stream_has(torch, latch):
    s, event = torch.cuda.Stream(), torch.cuda.Event()
    with torch.cuda.stream(s):
        held = latch()
        assert event.record() is None
    assert not event.query() and torch.cuda.default_stream().query()
    held.open()
    s.synchronize()
    assert event.query()


@pytest.mark.rule("1.6.2", since="1.0")
def test_record_event_makes_an_event_or_takes_one(torch):
    s, event = torch.cuda.Stream(), torch.cuda.Event()
    assert s.record_event(event) is event
    assert isinstance(s.record_event(), torch.cuda.Event)


@pytest.mark.rule("1.6.2", since="1.0")
def test_recording_again_moves_the_event(torch, latch):
    s, event = torch.cuda.Stream(), torch.cuda.Event()
    event.record(s)
    event.synchronize()
    assert event.query()
    held = latch(s)
    event.record(s)
    assert not event.query()
    held.open_soon()
    event.synchronize()
    assert s.query()


@pytest.mark.rule("1.6.2", since="1.0")
def test_who_waited_before_keeps_the_earlier_mark(torch, latch):
    s, t, event = torch.cuda.Stream(), torch.cuda.Stream(), torch.cuda.Event()
    event.record(s)
    t.wait_event(event)
    held = latch(s)
    event.record(s)
    t.synchronize()
    assert t.query() and not event.query()
    held.open()
    event.synchronize()


@pytest.mark.rule("1.6.2", since="1.0")
def test_wait_makes_the_current_stream_or_a_named_one_wait(torch, latch):
    s, t, event = torch.cuda.Stream(), torch.cuda.Stream(), torch.cuda.Event()
    held = latch(s)
    event.record(s)
    event.wait(t)
    event.wait()
    assert not torch.cuda.current_stream().query() and not t.query()
    held.open_soon()
    t.synchronize()
    assert s.query() and event.query()


@pytest.mark.rule("1.6.2", since="1.0", differs="the message ends before the first device's number")
@pytest.mark.devices(2)
def test_recording_on_another_devices_stream_is_an_error_that_names_both(torch):
    event = torch.cuda.Event()
    event.record(torch.cuda.default_stream(0))
    with pytest.raises(RuntimeError, match=r"0.*1"):
        event.record(torch.cuda.default_stream(1))
    assert event.device == torch.device("cuda", 0)


@pytest.mark.rule("1.6.2", since="1.0")
@pytest.mark.devices(2)
def test_another_devices_stream_may_wait(torch, busy):
    s, t = torch.cuda.Stream(0), torch.cuda.Stream(1)
    busy(s)
    t.wait_event(s.record_event())
    t.synchronize()
    assert s.query()


@pytest.mark.rule("1.6.3", since="1.0")
def test_an_event_that_was_never_recorded_is_done_and_holds_nobody_up(torch):
    event = torch.cuda.Event()
    event.synchronize()
    event.wait()
    torch.cuda.current_stream().wait_event(event)
    assert event.query() and torch.cuda.current_stream().query()


@pytest.mark.rule("1.6.3", since="1.0")
@pytest.mark.devices(2)
def test_an_event_can_be_asked_from_any_device(torch, latch):
    s = torch.cuda.Stream(0)
    held = latch(s)
    event = s.record_event()
    with torch.cuda.device(1):
        assert not event.query()
        held.open_soon()
        event.synchronize()
        assert event.query()


def timed(torch, count=2):
    return [torch.cuda.Event(enable_timing=True) for _ in range(count)]


@pytest.mark.rule("1.6.4", since="1.0")
def test_elapsed_time_is_in_milliseconds_of_the_device(torch, latch):
    start, middle, end = timed(torch, 3)
    times = []
    for _ in range(5):  # other processes may share the device, so the shortest time counts
        held = latch()
        start.record()
        torch.cuda._sleep(20_000_000)
        middle.record()
        torch.cuda._sleep(80_000_000)
        end.record()
        held.open()
        end.synchronize()
        times.append((start.elapsed_time(middle), middle.elapsed_time(end)))
        assert start.elapsed_time(end) == pytest.approx(sum(times[-1]), rel=1e-3) and start.elapsed_time(start) == 0.0
    short, long = map(min, zip(*times, strict=True))
    assert 4 < short < 40 and 3 < long / short < 5


@pytest.mark.rule("1.6.4", since="2.8")
def test_without_timing_it_is_a_value_error(torch):
    (start,) = timed(torch, 1)
    start.record()
    plain = torch.cuda.current_stream().record_event()
    torch.cuda.synchronize()
    for one, other in ((start, plain), (plain, start)):
        with pytest.raises(ValueError, match="enable_timing"):
            one.elapsed_time(other)


@pytest.mark.rule("1.6.4", since="2.8")
def test_without_a_record_it_is_a_value_error(torch):
    start, end = timed(torch)
    start.record()
    torch.cuda.synchronize()
    for one, other in ((start, end), (end, start)):
        with pytest.raises(ValueError, match="recorded"):
            one.elapsed_time(other)


@pytest.mark.rule("1.6.4", since="2.8")
def test_before_they_are_done_it_is_a_runtime_error(torch, latch):
    start, end = timed(torch)
    start.record()
    held = latch()
    end.record()
    with pytest.raises(RuntimeError, match="complete"):
        start.elapsed_time(end)
    held.open()
    end.synchronize()
    assert start.elapsed_time(end) > 0


@pytest.mark.rule("1.6.4", since="1.0")
@pytest.mark.devices(2)
def test_between_two_devices_it_is_a_runtime_error(torch):
    start, end = timed(torch)
    start.record(torch.cuda.default_stream(0))
    end.record(torch.cuda.default_stream(1))
    start.synchronize()
    end.synchronize()
    with pytest.raises(RuntimeError):
        start.elapsed_time(end)


@pytest.mark.rule("1.6.5", since="1.0")
def test_a_blocking_event_waits_as_well(torch, busy):
    s, event = torch.cuda.Stream(), torch.cuda.Event(blocking=True)
    busy(s)
    event.record(s)
    event.synchronize()
    assert s.query()


@pytest.mark.rule("1.6.6", since="1.0")
def test_an_event_for_other_processes_has_no_timing(torch):
    torch.cuda.Event(interprocess=True).record()
    with pytest.raises((ValueError, RuntimeError)):
        torch.cuda.Event(enable_timing=True, interprocess=True).record()


@pytest.mark.rule("1.6.6", since="1.0")
def test_an_event_for_other_processes_has_a_handle_before_it_is_recorded(torch):
    event = torch.cuda.Event(interprocess=True)
    handle = event.ipc_handle()
    assert isinstance(handle, bytes) and event.ipc_handle() == handle
    assert event.device == torch.device("cuda", 0) and event.query()


# 1.6.7: external events, which are a graph's own


def captured(torch, work):
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        result = work()
    return graph, result


@pytest.mark.rule("1.6.7", since="2.8")
def test_an_external_event_measures_time_within_a_graph(torch):
    start, middle, end = (torch.cuda.Event(enable_timing=True, external=True) for _ in range(3))
    x = torch.zeros(4, device="cuda")

    def work():
        x.add_(1)
        start.record()
        torch.cuda._sleep(20_000_000)
        middle.record()
        torch.cuda._sleep(80_000_000)
        end.record()

    graph, _ = captured(torch, work)
    for replays in (1, 2):
        graph.replay()
        torch.cuda.synchronize()
        short, long = start.elapsed_time(middle), middle.elapsed_time(end)
        # 10 ms and 40 ms; other processes may share the device
        assert 4 < short < long < 400 and long > 20 and x.tolist() == [replays] * 4


@pytest.mark.rule("1.6.7", since="2.8")
def test_a_record_in_a_capture_does_not_count_before_the_replay(torch, latch):
    event = torch.cuda.Event(external=True)

    def work():
        held = latch()
        event.record()
        return held

    graph, held = captured(torch, work)
    assert event.query()
    graph.replay()
    assert not event.query()
    held.open_soon()
    event.synchronize()
    assert event.query() and torch.cuda.current_stream().query()


@pytest.mark.rule("1.6.7", since="2.8")
def test_a_graph_may_wait_for_a_point_within_another(torch, latch):
    event = torch.cuda.Event(external=True)
    x, y = torch.zeros(1000, device="cuda"), torch.zeros(1000, device="cuda")

    def produce():
        torch.cuda._sleep(20_000_000)
        x.add_(1)
        event.record()
        return latch()

    def consume():
        event.wait()
        y.copy_(x)

    (producer, held), (consumer, _) = captured(torch, produce), captured(torch, consume)
    s, t = torch.cuda.Stream(), torch.cuda.Stream()
    for replays in (1, 2):
        torch.cuda.synchronize()
        held.close()
        with torch.cuda.stream(s):
            producer.replay()
        with torch.cuda.stream(t):
            consumer.replay()
            assert y.tolist() == [replays] * 1000
        assert not s.query(), "it waits for the point, and not for the whole graph"
        held.open()


@pytest.mark.rule("1.6.7", since="2.8")
def test_outside_of_captures_an_external_event_is_an_ordinary_one(torch, latch):
    s, t = torch.cuda.Stream(), torch.cuda.Stream()
    event = torch.cuda.Event(external=True)
    held = latch(s)
    event.record(s)
    event.wait(t)
    assert not event.query() and not t.query()
    held.open_soon()
    t.synchronize()
    assert s.query() and event.query()
