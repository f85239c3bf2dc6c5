import threading

import numpy as np
import pytest

from flambeau import host
from flambeau.driver.api import CopyKind
from flambeau.driver.virtual.submission import MAX_PENDING
from flambeau.dtypes import float32
from flambeau.errors import AcceleratorError, InternalError
from flambeau.kernel import Grid, Kernel, Pointer, Scalar

from .rig import ADD_ONE, BROKEN, BUMP, SLOW, SLOW_NS


def test_nothing_runs_before_a_wait(rig):
    rig.fill(rig.memory[0], 1, 64, rig.a)
    rig.launch(BUMP, [rig.memory[0], 4], rig.a)
    assert rig.ran() == []
    rig.driver.stream_synchronize(rig.a)
    assert rig.ran() == ["fill", "bump"]


def test_a_wait_runs_ancestors_only(rig):
    rig.fill(rig.memory[0], 1, 4, rig.a)
    rig.fill(rig.memory[0] + 64, 2, 4, rig.b)
    rig.wait(rig.c, rig.a)
    rig.fill(rig.memory[0] + 4, 2, 4, rig.a)
    rig.copy(rig.memory[0] + 128, rig.memory[0], 4, rig.c)
    rig.driver.stream_synchronize(rig.c)
    assert list(rig.driver.log) == [(rig.a, 1, "fill"), (rig.c, 1, "copy d2d")]


def test_a_wait_for_an_event_runs_what_was_recorded(rig):
    event = rig.driver.event_create(0, False, False, False)
    rig.fill(rig.memory[0], 1, 4, rig.a)
    rig.driver.event_record(event, rig.a)
    rig.fill(rig.memory[0], 2, 4, rig.a)
    rig.driver.event_synchronize(event)
    assert len(rig.driver.log) == 1


def test_a_record_carries_what_its_stream_waits_for(rig):
    """An event recorded after a wait, with no work between, orders later work after the awaited work."""
    rig.fill(rig.memory[0], 1, 4, rig.a)
    rig.wait(rig.b, rig.a)
    rig.wait(rig.c, rig.b)
    rig.copy(rig.memory[0] + 64, rig.memory[0], 4, rig.c)
    assert rig.get_bytes(rig.memory[0] + 64, 4, rig.c) == [1] * 4


def test_a_stream_runs_in_order(rig):
    rig.put(rig.memory[0], [0.0], rig.a)
    for _ in range(50):
        rig.launch(BUMP, [rig.memory[0], 1], rig.a)
    assert rig.get(rig.memory[0], 1).tolist() == [50.0]


def test_a_full_queue_runs_its_oldest_command(rig):
    for _ in range(MAX_PENDING):
        rig.fill(rig.memory[0], 1, 4, rig.a)
    assert len(rig.driver.log) == 0
    before = rig.driver.clock.now()
    rig.fill(rig.memory[0], 1, 4, rig.a)
    assert list(rig.driver.log) == [(rig.a, 1, "fill")]
    assert rig.driver.clock.now() > before


def test_a_full_queue_holds_the_host_until_its_oldest_command_is_done(rig):
    rig.launch(SLOW, [rig.memory[0], 8], rig.a)
    for _ in range(MAX_PENDING - 1):
        rig.fill(rig.memory[0], 1, 4, rig.a)
    assert rig.driver.clock.now() < SLOW_NS
    rig.fill(rig.memory[0], 1, 4, rig.a)
    assert rig.driver.clock.now() > SLOW_NS


# host memory
def test_a_host_read_before_the_copy_is_done_gives_the_old_bytes(rig):
    address, found = rig.pinned(4)
    found[:] = 9
    rig.fill(rig.memory[0], 1, 4, rig.a)
    rig.driver.copy(address, rig.memory[0], 4, CopyKind.DEVICE_TO_HOST, rig.a)
    assert found.tolist() == [9] * 4
    rig.driver.stream_synchronize(rig.a)
    assert found.tolist() == [1] * 4


def test_a_pinned_source_is_read_when_the_copy_runs(rig):
    address, source = rig.pinned(4)
    source[:] = 1
    rig.driver.copy(rig.memory[0], address, 4, CopyKind.HOST_TO_DEVICE, rig.a)
    source[:] = 2
    assert rig.get_bytes(rig.memory[0], 4) == [2] * 4


def test_a_pageable_source_is_read_at_the_call(rig):
    source = np.full(4, 1, "uint8")
    rig.driver.copy(rig.memory[0], host.address_of(source), 4, CopyKind.HOST_TO_DEVICE, rig.a)
    source[:] = 2
    assert rig.ran() == []
    assert rig.get_bytes(rig.memory[0], 4) == [1] * 4


def test_a_copy_to_pageable_memory_waits_for_its_ancestors_only(rig):
    rig.fill(rig.memory[0] + 64, 7, 4, rig.b)
    rig.fill(rig.memory[0], 5, 4, rig.a)
    before = rig.driver.clock.now()
    assert rig.get_bytes(rig.memory[0], 4) == [5] * 4
    assert rig.ran() == ["fill", "copy d2h"]
    assert rig.driver.clock.now() > before


def test_freeing_memory_runs_its_users(rig):
    address, _ = rig.pinned(4)
    rig.fill(rig.memory[0], 1, 4, rig.a)
    rig.driver.copy(address, rig.memory[0], 4, CopyKind.DEVICE_TO_HOST, rig.b)
    rig.driver.host_free(address)
    assert rig.ran() == ["copy d2h"]
    rig.driver.mem_free(0, rig.memory[0])
    assert sorted(rig.ran()) == ["copy d2h", "fill"]


def test_memory_freed_after_its_blocks_were_given_runs_their_users(rig):
    address = rig.take(0, 64)
    rig.fill(address, 1, 64, rig.a)
    rig.give(address, 64)
    rig.driver.mem_free(0, rig.memory[0])
    assert rig.ran() == ["block_taken", "fill"]


# streams and events
def test_default_streams_do_not_order_with_created_ones(rig):
    default = rig.driver.stream_adopt(0, 0)
    rig.fill(rig.memory[0], 1, 4, rig.a)
    rig.driver.stream_synchronize(default)
    assert rig.ran() == []


def test_waiters_keep_the_record_that_they_waited_for(rig):
    event = rig.driver.event_create(0, False, False, False)
    rig.fill(rig.memory[0], 1, 4, rig.a)
    rig.driver.event_record(event, rig.a)
    rig.driver.stream_wait_event(rig.b, event)
    rig.fill(rig.memory[0] + 64, 2, 4, rig.a)
    rig.driver.event_record(event, rig.a)
    rig.copy(rig.memory[0] + 128, rig.memory[0], 4, rig.b)
    rig.driver.stream_synchronize(rig.b)
    assert list(rig.driver.log) == [(rig.a, 1, "fill"), (rig.b, 1, "copy d2d")]


def test_a_stream_that_waits_for_its_own_event_is_still_waited_for(rig):
    event = rig.driver.event_create(0, False, False, False)
    rig.fill(rig.memory[0], 1, 4, rig.b)
    rig.fill(rig.memory[0] + 64, 1, 4, rig.a)
    rig.wait(rig.a, rig.b)
    rig.driver.event_record(event, rig.a)
    rig.fill(rig.memory[0] + 64, 2, 4, rig.a)
    rig.driver.stream_wait_event(rig.a, event)
    rig.driver.device_synchronize(0)
    assert rig.ran() == ["fill"] * 3


def test_what_is_queued_runs_when_the_process_ends_and_failures_are_told(make_rig, capsys):
    rig = make_rig(count=2)
    rig.launch(BROKEN, [rig.memory[0], 4], rig.a)
    rig.driver.fill(rig.memory[1], 1, 4, rig.driver.stream_create(1, 0))
    rig.driver.drain()
    assert sorted(rig.ran()) == ["broken", "fill"]
    told = capsys.readouterr().err
    assert told.startswith("broken: failed on device 0") and "IndexRangeError: index 9" in told
    rig.driver.drain()
    assert capsys.readouterr().err == ""


def test_an_event_belongs_to_one_device(make_rig):
    rig = make_rig(count=2)
    event, stream = rig.driver.event_create(1, False, False, False), rig.a
    with pytest.raises(AcceleratorError, match=r"event belongs to device 1, and stream .* to device 0"):
        rig.driver.event_record(event, stream)


def test_external_records_and_waits_belong_to_captures(rig):
    event = rig.driver.event_create(0, False, False, False)
    with pytest.raises(AcceleratorError, match=f"event_record: stream {rig.a} is not capturing"):
        rig.driver.event_record(event, rig.a, external=True)
    with pytest.raises(AcceleratorError, match=f"stream_wait_event: stream {rig.a} is not capturing"):
        rig.driver.stream_wait_event(rig.a, event, external=True)


def test_elapsed_time_is_not_known_before_completion(rig):
    start, end = (rig.driver.event_create(0, True, False, False) for _ in range(2))
    rig.driver.event_record(start, rig.a)
    for _ in range(100):
        rig.fill(rig.memory[0], 0, 2 << 20, rig.a)
        rig.copy(rig.memory[0], rig.memory[0] + (1 << 20), 1 << 20, rig.a)
    rig.driver.copy(*[rig.pinned(2 << 20)[0], rig.memory[0], 2 << 20, CopyKind.DEVICE_TO_HOST, rig.a])
    rig.driver.event_record(end, rig.a)
    with pytest.raises(AcceleratorError, match="end event is not complete") as caught:
        rig.driver.event_elapsed(start, end)
    assert caught.value.error_code == 600
    rig.driver.event_synchronize(end)
    assert 0.03 < rig.driver.event_elapsed(start, end) < 2.0


def test_the_default_stream_cannot_be_destroyed(rig):
    with pytest.raises(AcceleratorError, match="default stream"):
        rig.driver.stream_destroy(rig.driver.stream_adopt(0, 0))


def test_a_device_synchronize_covers_destroyed_streams(make_rig):
    """The result does not depend on whether their work had already run for another stream's wait."""
    rig = make_rig(races="error")
    waited, pending = (rig.driver.stream_create(0, 0) for _ in range(2))
    rig.fill(rig.memory[0], 1, 4, waited)
    rig.wait(rig.a, waited)
    rig.driver.stream_synchronize(waited)
    rig.fill(rig.memory[0] + 64, 2, 4, waited)
    rig.copy(rig.memory[0] + 128, rig.memory[0] + 64, 4, waited)
    rig.fill(rig.memory[0] + 192, 3, 4, pending)
    event = rig.driver.event_create(0, False, False, False)
    rig.driver.event_record(event, waited)
    for stream in (waited, pending):
        rig.driver.stream_destroy(stream)
    rig.driver.event_synchronize(event)
    rig.driver.device_synchronize(0)
    rig.fill(rig.memory[0], 4, 256, rig.b)
    assert len(rig.driver._engine.runner.queues) == 3


def test_a_stream_whose_work_ran_unseen_and_was_destroyed_is_ordered_by_a_device_synchronize(make_rig):
    """A full queue had to run an ancestor on the other stream; this orders nothing for the host."""
    rig = make_rig(races="error")
    stream = rig.driver.stream_create(0, 0)
    rig.fill(rig.memory[0], 1, 4, stream)
    rig.wait(rig.a, stream)
    for _ in range(MAX_PENDING + 1):
        rig.fill(rig.memory[0] + 64, 1, 4, rig.a)
    assert len(rig.driver.log) == 2
    rig.driver.stream_destroy(stream)
    rig.driver.device_synchronize(0)
    rig.fill(rig.memory[0], 2, 4, rig.b)


def test_a_raw_stream_of_nobody_cannot_be_adopted(make_rig):
    rig = make_rig(count=2)
    for device, raw in ((0, 10**9), (1, rig.a), (0, rig.driver.stream_adopt(1, 0))):
        with pytest.raises(AcceleratorError, match="is not a stream of device"):
            rig.driver.stream_adopt(device, raw)


def test_handles_differ_between_machines(make_rig):
    assert not {make_rig().a, make_rig().b} & {make_rig().a, make_rig().b}


def test_a_kernel_of_another_device_cannot_be_launched(make_rig):
    rig = make_rig(count=2)
    handle = rig.driver.kernel_load(1, BUMP)
    with pytest.raises(AcceleratorError, match="bump: loaded on device 1"):
        rig.driver.launch(handle, Grid((1, 1, 1), 32), BUMP.pack([rig.memory[1], 1]), rig.a)


def test_threads_share_a_machine(make_rig):
    rig = make_rig(races="error")
    streams = [rig.driver.stream_create(0, 0) for _ in range(4)]

    def count(index):
        where = rig.memory[0] + 64 * index
        rig.put(where, [0.0], streams[index])
        for _ in range(200):
            rig.launch(BUMP, [where, 1], streams[index])
        found.append(rig.get(where, 1, streams[index]).item())

    found = []
    threads = [threading.Thread(target=count, args=(index,)) for index in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [200.0] * 4


# kernels that fail
def test_a_failing_kernel_fails_its_device_for_good(make_rig):
    rig = make_rig(count=2)
    rig.launch(BROKEN, [rig.memory[0], 4], rig.a)
    with pytest.raises(AcceleratorError, match=r"broken: failed on device 0.*IndexRangeError: index 9") as caught:
        rig.driver.stream_synchronize(rig.a)
    assert caught.value.sticky and caught.value.error_code == 710
    assert isinstance(caught.value.__cause__, IndexError)
    for call in (
        lambda: rig.fill(rig.memory[0], 0, 4, rig.b),
        lambda: rig.driver.stream_query(rig.b),
        lambda: rig.driver.mem_alloc(0, 64),
        lambda: rig.driver.device_synchronize(0),
    ):
        with pytest.raises(AcceleratorError, match="broken: failed") as again:
            call()
        assert again.value.sticky and isinstance(again.value.__cause__, IndexError)
    rig.driver.device_synchronize(1)
    assert rig.driver.mem_alloc(1, 64)


@pytest.mark.parametrize("failure", [ZeroDivisionError, ValueError, IndexError, OverflowError])
def test_a_reference_that_fails_as_no_gpu_would_does_not_lose_the_device(rig, failure):
    def divide(out, n):
        raise failure("boom")

    kernel = Kernel("divide", "", [Pointer("out", float32, "w", ("n",)), Scalar("n", "int64")], divide)
    rig.launch(kernel, [rig.memory[0], 1], rig.a)
    with pytest.raises(InternalError, match=rf"divide: .*device 0.*{failure.__name__}: boom") as caught:
        rig.driver.device_synchronize(0)
    assert isinstance(caught.value.__cause__, failure)
    rig.put(rig.memory[0], [3.0], rig.a)
    rig.launch(BUMP, [rig.memory[0], 1], rig.a)
    rig.driver.device_synchronize(0)
    assert list(rig.get(rig.memory[0], 1, rig.a)) == [4.0]


def test_work_that_follows_a_failed_device_reports_the_failure(make_rig):
    rig = make_rig(count=2)
    other, event = rig.driver.stream_create(1, 0), rig.driver.event_create(0, False, False, False)
    rig.launch(BROKEN, [rig.memory[0], 4], rig.a)
    rig.driver.event_record(event, rig.a)
    rig.driver.stream_wait_event(other, event)
    rig.driver.fill(rig.memory[1], 0, 4, other)
    for _ in range(2):
        with pytest.raises(AcceleratorError, match="broken"):
            rig.driver.stream_synchronize(other)


def test_an_array_that_is_only_read_cannot_be_written(rig):
    def wrong(out, source, n):
        source[:] = 0

    kernel = Kernel("wrong", "", ADD_ONE.params, wrong)
    rig.launch(kernel, [rig.memory[0], rig.memory[0] + 64, 1], rig.a)
    with pytest.raises(InternalError, match=r"wrong: .*read-only"):
        rig.driver.device_synchronize(0)


def test_a_stream_may_be_destroyed_while_its_device_is_waited_for(rig, monkeypatch):
    """The collector destroys it during the wait, so its queue is removed before the wait would remove it."""
    engine = rig.driver._engine
    wait, address = engine.wait_for_queue, rig.take(0, 32, rig.b)
    rig.fill(address, 1, 32, rig.b)

    def waiting(queue):
        wait(queue)
        if queue.handle == rig.b:
            rig.driver.stream_destroy(rig.b)

    monkeypatch.setattr(engine, "wait_for_queue", waiting)
    rig.driver.device_synchronize(0)
    assert rig.b not in [each.handle for each in engine.runner.queues]
    rig.driver.device_synchronize(0)
