"""Queues of virtual GPUs: what a wait runs, and when the host is held."""

from flambeau.driver.api import CopyKind
from flambeau.driver.virtual.submission import MAX_PENDING

from .rig import BROKEN, BUMP, SLOW, SLOW_NS


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
