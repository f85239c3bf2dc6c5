import threading
from itertools import pairwise

import pytest

from flambeau.driver.api import CopyKind
from flambeau.driver.virtual.card import card
from flambeau.driver.virtual.clock import HostClocks
from flambeau.driver.virtual.schedule import Delay, Replay, Seeded, Submission

from .rig import SLOW, SLOW_NS, Rig

MIB = 1 << 20
HOST = card("h200").host


def timed(rig):
    return rig.driver.event_create(0, True, False, False)


def test_calls_cost_their_thread_time(rig):
    before = rig.driver.clock.now()
    rig.fill(rig.memory[0], 0, 4, rig.a)
    assert rig.driver.clock.now() == before + HOST.copy
    rig.driver.mem_alloc(0, 64)
    assert rig.driver.clock.now() == before + HOST.copy + HOST.allocate


def test_blocks_cost_no_time(rig):
    before = rig.driver.clock.now()
    rig.give(rig.take(0, 64), 64)
    assert rig.driver.clock.now() == before


def test_a_wait_moves_the_clock_to_the_completion(rig):
    rig.launch(SLOW, [rig.memory[0], 8], rig.a)
    assert rig.driver.clock.now() < SLOW_NS
    rig.driver.stream_synchronize(rig.a)
    assert rig.driver.clock.now() > SLOW_NS


def test_a_query_is_true_once_its_work_lies_behind_the_clock(rig):
    rig.launch(SLOW, [rig.memory[0], 8], rig.a)
    assert not rig.driver.stream_query(rig.a)
    assert rig.ran() == []
    polls = 0
    while not rig.driver.stream_query(rig.a):
        polls += 1
    assert SLOW_NS // HOST.call < polls < 2 * SLOW_NS // HOST.call
    assert rig.ran() == ["slow"]


def test_polling_an_event_ends_and_runs_ancestors_only(rig):
    event = timed(rig)
    rig.launch(SLOW, [rig.memory[0], 8], rig.a)
    rig.driver.event_record(event, rig.a)
    rig.fill(rig.memory[0], 0, 4, rig.a)
    assert not rig.driver.event_query(event)
    while not rig.driver.event_query(event):
        pass
    assert rig.ran() == ["slow"]


def test_streams_run_side_by_side_and_events_join_them(rig):
    one, two = timed(rig), timed(rig)
    rig.launch(SLOW, [rig.memory[0], 8], rig.a)
    rig.launch(SLOW, [rig.memory[0] + 64, 8], rig.b)
    rig.driver.event_record(one, rig.b)
    rig.wait(rig.b, rig.a)
    rig.launch(SLOW, [rig.memory[0] + 128, 8], rig.b)
    rig.driver.event_record(two, rig.b)
    rig.driver.device_synchronize(0)
    assert rig.driver.event_elapsed(one, two) == pytest.approx(SLOW_NS / 1e6, rel=0.5)
    assert rig.driver.clock.now() < 3 * SLOW_NS + 4 * SLOW_NS


def test_one_copy_engine_serves_one_direction(rig):
    size = 16 * MIB
    memory, (host, _) = rig.driver.mem_alloc(0, 3 * size), rig.pinned(3 * size)
    into, out_of = CopyKind.HOST_TO_DEVICE, CopyKind.DEVICE_TO_HOST
    spans = []
    for index, (stream, kind) in enumerate(((rig.a, into), (rig.b, into), (rig.c, out_of))):
        device_side, host_side = memory + index * size, host + index * size
        dst, src = (device_side, host_side) if kind is into else (host_side, device_side)
        spans.append((timed(rig), timed(rig)))
        rig.driver.event_record(spans[-1][0], stream)
        rig.driver.copy(dst, src, size, kind, stream)
        rig.driver.event_record(spans[-1][1], stream)
    rig.driver.device_synchronize(0)
    first, second, other_way = (rig.driver.event_elapsed(start, end) for start, end in spans)
    assert first == pytest.approx(size / 55.4e6, rel=0.05)
    assert second == pytest.approx(2 * first, rel=0.05)
    assert other_way == pytest.approx(first, rel=0.05)


def test_times_do_not_depend_on_the_schedule():
    def times(schedule, races):
        rig = Rig(races=races, schedule=schedule)
        for turn in range(12):
            rig.fill(rig.memory[0], 0, 4096 * (turn + 1), (rig.a, rig.b, rig.c)[turn % 3])
            if turn % 4 == 3:
                rig.wait(rig.b, rig.c)
        rig.driver.stream_synchronize(rig.b)
        rig.driver.device_synchronize(0)
        return rig.driver.clock.now()

    schedules = [Submission(), Seeded(1), Seeded(2), Delay(0), Replay([1, 1, 0, 1])]
    assert len({times(schedule, "real") for schedule in schedules}) == 1
    assert times(Submission(), "poison") == times(Seeded(1), "real")


def test_elapsed_times_are_whole_steps_of_one_clock(rig):
    events = [timed(rig) for _ in range(20)]
    for event in events:
        rig.driver.event_record(event, rig.a)
        rig.fill(rig.memory[0], 0, MIB, rig.a)
    rig.driver.device_synchronize(0)
    steps = [rig.driver.event_elapsed(a, b) for a, b in pairwise(events)]
    assert min(steps) > 0
    assert sum(steps) == pytest.approx(rig.driver.event_elapsed(events[0], events[-1]))


def test_a_new_thread_starts_at_the_latest_time():
    clocks = HostClocks()
    clocks.spend(500)
    seen = []

    def other():
        seen.append(clocks.now())
        clocks.spend(100)

    for _ in range(2):
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
    assert seen == [500, 600]
    assert clocks.now() == 500
    clocks.reach(450)
    assert clocks.now() == 500
