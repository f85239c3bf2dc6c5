"""1.4 Streams: which there are, which is current, and how they order work."""

import threading

import pytest


@pytest.mark.rule("1.4.1", since="1.0")
def test_the_default_stream_has_handle_zero(torch):
    default = torch.cuda.default_stream()
    assert default.cuda_stream == 0 and default == torch.cuda.default_stream(0) == torch.cuda.current_stream()
    assert default.device == torch.device("cuda", 0)


@pytest.mark.rule("1.4.1", since="1.0")
@pytest.mark.devices(2)
def test_default_streams_of_two_devices_differ(torch):
    one, other = torch.cuda.default_stream(0), torch.cuda.default_stream(1)
    assert one != other and one.cuda_stream == other.cuda_stream == 0
    assert len({one, other, torch.cuda.default_stream("cuda:1")}) == 2


@pytest.mark.rule("1.4.1", since="1.0")
def test_a_stream_never_equals_anything_else(torch):
    s = torch.cuda.Stream()
    assert s != 0 and s != "stream" and s != torch.cuda.Event() and s is not None and s != torch.cuda.default_stream()
    assert {s: "found"}[s] == "found"


@pytest.mark.rule("1.4.2", since="1.0")
def test_the_thirty_third_stream_is_the_first(torch):
    streams = [torch.cuda.Stream() for _ in range(33)]
    assert len(set(streams)) == 32 and streams[32] == streams[0]
    assert torch.cuda.default_stream() not in streams


@pytest.mark.rule("1.4.2", since="1.0")
def test_all_threads_take_streams_from_one_pool(torch):
    elsewhere, first = [], torch.cuda.Stream()
    thread = threading.Thread(target=lambda: elsewhere.extend(torch.cuda.Stream() for _ in range(31)))
    thread.start()
    thread.join()
    assert torch.cuda.Stream() == first and first not in elsewhere and len(set(elsewhere)) == 31


@pytest.mark.rule("1.4.2", since="1.0")
def test_each_priority_has_a_pool_of_its_own(torch):
    ordinary = {torch.cuda.Stream() for _ in range(32)}
    assert not ordinary & {torch.cuda.Stream(priority=-1) for _ in range(32)}


@pytest.mark.rule("1.4.2", since="1.0")
@pytest.mark.devices(2)
def test_a_stream_belongs_to_the_device_that_is_named_or_current(torch):
    with torch.cuda.device(1):
        streams = [torch.cuda.Stream(each) for each in (None, -1, 0, "cuda:1")]
    assert [each.device.index for each in streams] == [1, 1, 0, 1]


@pytest.mark.rule("1.4.2", since="1.0")
def test_a_side_stream_does_not_wait_for_the_default_one(torch, latch):
    s, x = torch.cuda.Stream(), torch.ones(4, device="cuda")
    x + 1
    torch.cuda.synchronize()
    latch(torch.cuda.default_stream())
    with torch.cuda.stream(s):
        x.record_stream(s)
        y = x + 1
    s.synchronize()
    assert not torch.cuda.default_stream().query()
    with torch.cuda.stream(s):
        assert y.tolist() == [2.0] * 4


@pytest.mark.rule("1.4.2", since="2.8")
@pytest.mark.devices(2)
def test_a_stream_is_a_block_that_makes_itself_and_its_device_current(torch):
    s = torch.cuda.Stream(1)
    with s:
        assert torch.cuda.current_device() == 1 and torch.cuda.current_stream() == s
    assert torch.cuda.current_device() == 0
    assert torch.cuda.current_stream(1) == torch.cuda.default_stream(1)


@pytest.mark.rule("1.4.3", since="1.0")
def test_lower_priorities_are_more_urgent(torch):
    least, most = torch.cuda.Stream.priority_range()
    assert least == 0 and -3 <= most < 0
    assert torch.cuda.Stream().priority == 0 and torch.cuda.Stream(priority=-1).priority == -1


@pytest.mark.rule("1.4.3", since="2.1")
def test_priorities_outside_the_range_are_clamped(torch):
    least, most = torch.cuda.Stream.priority_range()
    assert [torch.cuda.Stream(priority=each).priority for each in (7, -99)] == [least, most]


@pytest.mark.rule("1.4.4", since="1.0")
@pytest.mark.devices(2)
def test_a_stream_block_changes_stream_and_device_and_restores_both(torch):
    s, t = torch.cuda.Stream(0), torch.cuda.Stream(1)
    with torch.cuda.stream(s):
        with torch.cuda.stream(t):
            assert (torch.cuda.current_device(), torch.cuda.current_stream()) == (1, t)
            assert torch.cuda.current_stream(0) == s
        assert (torch.cuda.current_device(), torch.cuda.current_stream()) == (0, s)
        assert torch.cuda.current_stream(1) == torch.cuda.default_stream(1)
    assert torch.cuda.current_stream() == torch.cuda.default_stream()


@pytest.mark.rule("1.4.4", since="1.0")
def test_a_stream_block_restores_after_an_error_and_whatever_was_set_inside(torch):
    s, t = torch.cuda.Stream(), torch.cuda.Stream()
    with pytest.raises(KeyError), torch.cuda.stream(s):
        raise KeyError
    assert torch.cuda.current_stream() == torch.cuda.default_stream()
    with torch.cuda.stream(s):
        torch.cuda.set_stream(t)
    assert torch.cuda.current_stream() == torch.cuda.default_stream()


@pytest.mark.rule("1.4.4", since="1.0")
def test_a_block_of_no_stream_changes_nothing(torch):
    s = torch.cuda.Stream()
    with torch.cuda.stream(s), torch.cuda.stream(None):
        assert torch.cuda.current_stream() == s


@pytest.mark.rule("1.4.4", since="1.0")
@pytest.mark.devices(2)
def test_set_stream_also_makes_its_device_current(torch):
    s = torch.cuda.Stream(1)
    torch.cuda.set_stream(s)
    assert torch.cuda.current_device() == 1 and torch.cuda.current_stream() == s
    torch.cuda.set_stream(None)
    assert torch.cuda.current_stream() == s


@pytest.mark.rule("1.4.4", since="1.0")
def test_a_new_thread_starts_on_the_default_stream(torch):
    found = []
    with torch.cuda.stream(torch.cuda.Stream()):
        thread = threading.Thread(target=lambda: found.append(torch.cuda.current_stream()))
        thread.start()
        thread.join()
    assert found == [torch.cuda.default_stream()]


@pytest.mark.rule("1.4.4", since="1.0")
@pytest.mark.devices(2)
def test_each_device_keeps_its_current_stream_while_another_is_current(torch):
    s = torch.cuda.Stream(0)
    with torch.cuda.stream(s), torch.cuda.device(1):
        assert torch.cuda.current_stream() == torch.cuda.default_stream(1)
        assert torch.cuda.current_stream("cuda:0") == s
        assert torch.ones(1, device="cuda:0").device.index == 0


@pytest.mark.rule("1.4.4", since="1.0", differs="an argument that is no stream is detected when the block is entered")
def test_what_is_no_stream_is_a_type_error(torch):
    with pytest.raises(TypeError, match="expected a Stream or None, got 7"):
        torch.cuda.stream(7)


@pytest.mark.rule("1.4.5", since="1.11")
def test_an_external_stream_is_the_same_queue(torch, busy):
    s = torch.cuda.Stream()
    other = torch.cuda.ExternalStream(s.cuda_stream, device=0)
    assert other.cuda_stream == s.cuda_stream and other.device == s.device
    x = torch.zeros(4, device="cuda")
    torch.cuda.synchronize()
    busy(s)
    with torch.cuda.stream(s):
        x.fill_(3.0)
    with torch.cuda.stream(other):
        y = x + 1
        assert y.tolist() == [4.0] * 4
    assert s.query()


@pytest.mark.rule("1.4.5", since="1.11", differs="an external stream equals no other")
def test_an_external_stream_equals_the_stream_that_it_is(torch):
    s = torch.cuda.Stream()
    assert torch.cuda.ExternalStream(s.cuda_stream) == s


@pytest.mark.rule("1.4.5", since="2.8")
def test_a_stream_from_another_librarys_number(torch):
    s = torch.cuda.Stream()
    assert torch.cuda.get_stream_from_external(s.cuda_stream, "cuda:0").cuda_stream == s.cuda_stream


@pytest.mark.rule("1.4.5", since="2.9")
def test_the_protocol_by_which_other_libraries_take_a_stream(torch):
    s = torch.cuda.Stream()
    assert s.__cuda_stream__() == (0, s.cuda_stream) and torch.cuda.default_stream().__cuda_stream__() == (0, 0)


@pytest.mark.rule("1.4.5", since="1.0")
def test_a_stream_passes_to_ctypes_as_its_number(torch):
    s = torch.cuda.Stream()
    assert s._as_parameter_.value == s.cuda_stream != 0


@pytest.mark.rule("1.4.6", since="1.0")
def test_all_threads_have_one_default_stream(torch, latch):
    found, default = [], torch.cuda.default_stream()

    def look():
        found.append((torch.cuda.default_stream(), torch.cuda.current_stream(), torch.cuda.current_stream().query()))

    latch(default)
    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    assert found == [(default, default, False)]


@pytest.mark.rule("1.4.7", since="1.0")
def test_wait_stream_orders_what_comes_later_after_what_came_before(torch, latch):
    s, t = torch.cuda.Stream(), torch.cuda.Stream()
    x = torch.zeros(1000, device="cuda")
    torch.cuda.synchronize()
    held = latch(s)
    with torch.cuda.stream(s):
        x.fill_(7.0)
    t.wait_stream(s)
    assert not s.query() and not t.query(), "the host did not wait"
    held.open_soon()
    with torch.cuda.stream(t):
        assert (x + 1).tolist() == [8.0] * 1000


@pytest.mark.rule("1.4.7", since="1.0")
def test_wait_event_orders_after_the_record_and_not_after_later_work(torch, latch):
    s, t = torch.cuda.Stream(), torch.cuda.Stream()
    x = torch.zeros(4, device="cuda")
    torch.cuda.synchronize()
    with torch.cuda.stream(s):
        x.fill_(2.0)
    event = s.record_event()
    held = latch(s)
    t.wait_event(event)
    with torch.cuda.stream(t):
        assert (x * 2).tolist() == [4.0] * 4
    assert not s.query()
    held.open()
    s.synchronize()


@pytest.mark.rule("1.4.7", since="1.0")
@pytest.mark.devices(2)
def test_streams_of_two_devices_wait_for_each_other(torch, busy):
    s, t = torch.cuda.Stream(0), torch.cuda.Stream(1)
    busy(s)
    t.wait_stream(s)
    t.synchronize()
    assert s.query()


@pytest.mark.rule("1.4.7", since="1.0", differs="an AttributeError that names neither")
def test_waiting_for_the_wrong_thing_is_a_type_error(torch):
    s = torch.cuda.Stream()
    with pytest.raises(TypeError, match="wait_event: expected an Event"):
        s.wait_event(s)
    with pytest.raises(TypeError, match="wait_stream: expected a Stream"):
        s.wait_stream(torch.cuda.Event())


@pytest.mark.rule("1.4.7", since="1.0")
def test_a_stream_may_wait_for_itself(torch):
    s = torch.cuda.Stream()
    s.wait_stream(s)
    s.wait_event(s.record_event())
    s.synchronize()
    assert s.query()


@pytest.mark.rule("1.4.8", since="1.0")
def test_query_says_whether_everything_is_done_and_synchronize_waits_for_it(torch, latch):
    s = torch.cuda.Stream()
    assert s.query()
    held = latch(s)
    assert not s.query()
    held.open_soon()
    s.synchronize()
    assert s.query()


@pytest.mark.rule("1.4.8", since="1.0")
@pytest.mark.devices(2)
def test_a_stream_can_be_asked_from_any_device(torch, latch):
    s = torch.cuda.Stream(1)
    held = latch(s)
    assert torch.cuda.current_device() == 0 and not s.query()
    held.open_soon()
    s.synchronize()
    assert s.query() and torch.cuda.current_device() == 0


@pytest.mark.rule("1.4.8", since="1.0")
def test_a_polling_loop_ends(torch, latch):
    s, polls = torch.cuda.Stream(), 0
    held = latch(s)
    while not s.query():
        polls += 1
        if polls == 3:
            held.open()
    assert polls > 0


@pytest.mark.rule("1.4.8", since="1.0")
def test_synchronize_waits_for_its_own_stream_only(torch, latch, busy):
    s, t = torch.cuda.Stream(), torch.cuda.Stream()
    latch(s)
    busy(t)
    t.synchronize()
    assert t.query() and not s.query()


@pytest.mark.rule("1.4.11", since="2.5")
def test_streams_and_events_of_a_program_that_does_not_name_cuda(torch, busy):
    s, event = torch.Stream("cuda"), torch.Event("cuda")
    assert s.device == torch.device("cuda", 0) and isinstance(torch.cuda.Stream(), torch.Stream)
    assert isinstance(torch.cuda.Event(), torch.Event) and event.query()
    busy(torch.cuda.current_stream())
    event.record(torch.cuda.current_stream())
    s.wait_event(event)
    s.synchronize()
    assert event.query() and torch.cuda.current_stream().query()


@pytest.mark.rule("1.4.11", since="2.5")
def test_an_event_of_such_a_program_has_timing_if_asked(torch):
    start, end = torch.Event("cuda", enable_timing=True), torch.Event("cuda", enable_timing=True)
    start.record(torch.cuda.current_stream())
    torch.cuda._sleep(20_000_000)
    end.record(torch.cuda.current_stream())
    end.synchronize()
    assert start.elapsed_time(end) > 1
    plain = torch.Event("cuda")
    plain.record(torch.cuda.current_stream())
    plain.synchronize()
    with pytest.raises((ValueError, RuntimeError)):
        plain.elapsed_time(end)
