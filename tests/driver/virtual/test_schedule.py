from __future__ import annotations

import pytest

from flambeau.driver.api import CopyKind
from flambeau.driver.virtual.schedule import Delay, Replay, Seeded, Submission, from_text
from flambeau.errors import AcceleratorError, ArgumentError, ConfigError, OutOfMemoryError
from flambeau.testing.schedules import every_schedule, outcomes

from .rig import BUMP, Rig


def message(schedule, ordered):
    """One stream writes 7.0 over 0.0, another reads it."""
    rig = Rig(races="real", schedule=schedule)
    rig.put(rig.memory[0], [0.0], rig.a)
    rig.put(rig.memory[0] + 64, [7.0], rig.a)
    rig.driver.stream_synchronize(rig.a)
    rig.copy(rig.memory[0], rig.memory[0] + 64, 4, rig.a)
    if ordered:
        rig.wait(rig.b, rig.a)
    return rig.get(rig.memory[0], 1, rig.b).item()


def test_without_an_event_the_reader_may_see_the_old_value():
    assert outcomes(lambda schedule: message(schedule, ordered=False)) == {0.0, 7.0}


def test_an_event_leaves_one_outcome():
    assert outcomes(lambda schedule: message(schedule, ordered=True)) == {7.0}


def test_every_schedule_is_every_interleaving():
    """Two streams of two commands each: six orders."""

    def program(schedule):
        rig = Rig(races="real", schedule=schedule)
        for stream in (rig.a, rig.a, rig.b, rig.b):
            rig.fill(rig.memory[0], 0, 4, stream)
        rig.driver.device_synchronize(0)
        return tuple(stream - rig.a for stream, _, _ in rig.driver.log)

    assert len(outcomes(program)) == 6
    seen = []
    for schedule in every_schedule():
        seen.append(program(schedule))
    assert len(seen) == len(set(seen)) == 6


def _orders(schedule):
    rig = Rig(races="real", schedule=schedule)
    for stream in (rig.a, rig.b, rig.c):
        rig.fill(rig.memory[0], stream % 7, 4, stream)
    rig.driver.device_synchronize(0)
    return tuple(stream - rig.a for stream, _, _ in rig.driver.log)


def test_more_schedules_than_the_limit_are_an_error():
    assert len(outcomes(_orders, limit=6)) == 6
    with pytest.raises(ArgumentError, match="more than 5 interleavings"):
        outcomes(_orders, limit=5)


def test_a_replay_does_again_what_was_taken():
    for schedule in every_schedule():
        order = _orders(schedule)
        assert _orders(Replay(schedule.taken)) == order


def test_a_replay_that_does_not_fit_is_an_error():
    with pytest.raises(ArgumentError, match="choice 3 at step 0, but 3 streams are ready"):
        _orders(Replay([3]))


def test_submission_order_is_the_order_of_the_calls():
    assert _orders(Submission()) == (0, 1, 2)


def test_seeds_give_different_orders_and_the_same_again():
    assert {_orders(Seeded(seed)) for seed in range(40)} == outcomes(_orders)
    assert _orders(Seeded(3)) == _orders(Seeded(3))


@pytest.mark.parametrize(("ordinal", "order"), [(0, (1, 2, 0)), (1, (0, 2, 1)), (2, (0, 1, 2)), (9, (0, 1, 2))])
def test_a_delayed_stream_goes_last(ordinal, order):
    assert _orders(Delay(ordinal)) == order
    assert _orders(from_text(f"delay:{ordinal}")) == order


def test_a_stream_can_be_delayed_by_its_handle(make_rig):
    schedule = Delay()
    rig = make_rig(races="real", schedule=schedule)
    schedule = Delay(handle=rig.a)
    assert schedule.choose([rig.a, rig.b]) == 1
    assert schedule.choose([rig.b, rig.a]) == 0


def test_default_streams_count_when_they_are_adopted(make_rig):
    schedule = Delay(3)
    rig = make_rig(races="real", schedule=schedule)
    default = rig.driver.stream_adopt(0, 0)
    assert schedule.choose([default, rig.a]) == 1


def test_seeded_runs_more_than_ancestors_and_submission_does_not(make_rig):
    def ran(schedule):
        rig = make_rig(races="real", schedule=schedule)
        for _ in range(8):
            rig.fill(rig.memory[0], 0, 4, rig.a)
            rig.fill(rig.memory[0], 0, 4, rig.b)
        rig.driver.stream_synchronize(rig.a)
        return len(rig.driver.log)

    assert ran(Submission()) == 8
    assert ran(Seeded(1)) > 8


def test_nothing_but_ancestors_runs_where_races_are_poison(make_rig):
    rig = make_rig(schedule=Seeded(1))
    for _ in range(8):
        rig.fill(rig.memory[0], 0, 4, rig.a)
        rig.fill(rig.memory[0] + 64, 0, 4, rig.b)
    rig.driver.stream_synchronize(rig.a)
    assert len(rig.driver.log) == 8


def test_a_mutual_exclusion_that_events_build_has_one_outcome():
    """Two streams update one counter in turn."""

    def program(schedule):
        rig = Rig(races="real", schedule=schedule)
        rig.put(rig.memory[0], [0.0], rig.a)
        for turn in range(4):
            rig.launch(BUMP, [rig.memory[0], 1], (rig.a, rig.b)[turn % 2])
            rig.wait((rig.b, rig.a)[turn % 2], (rig.a, rig.b)[turn % 2])
        return rig.get(rig.memory[0], 1).item()

    assert outcomes(program) == {4.0}


def test_an_unknown_schedule_is_an_error():
    for text in ("random", "seeded", "seeded:x", "delay:"):
        with pytest.raises(ConfigError, match="is unknown"):
            from_text(text)
    assert isinstance(from_text("seeded:4"), Seeded) and isinstance(from_text("submission"), Submission)


def test_the_driver_says_that_it_has_faults(rig):
    assert rig.driver.capabilities.faults and rig.driver.capabilities.modelled_time


def test_one_allocation_fails(rig):
    rig.driver.faults.out_of_memory_at(2)
    free = rig.driver.mem_info(0)[0]
    first = rig.driver.mem_alloc(0, 64)
    with pytest.raises(OutOfMemoryError, match="64 bytes"):
        rig.driver.mem_alloc(0, 64)
    second = rig.driver.mem_alloc(0, 64)
    for address in (first, second):
        rig.driver.mem_free(0, address)
    assert rig.driver.mem_info(0)[0] == free


def test_one_launch_fails_when_it_runs(rig):
    rig.driver.faults.fail_launch_at(2)
    rig.put(rig.memory[0], [0.0], rig.a)
    for _ in range(3):
        rig.launch(BUMP, [rig.memory[0], 1], rig.a)
    with pytest.raises(AcceleratorError, match="bump: failed on device 0") as caught:
        rig.driver.stream_synchronize(rig.a)
    assert caught.value.sticky and caught.value.error_code == 719
    assert rig.ran() == ["copy h2d", "bump", "bump"]
    with pytest.raises(AcceleratorError):
        rig.launch(BUMP, [rig.memory[0], 1], rig.a)


def test_a_dropped_link_stops_copies_between_two_devices(make_rig):
    rig = make_rig(count=3)
    rig.driver.faults.drop_peer(1, 0)
    assert [rig.driver.peer_can(a, b) for a, b in ((0, 1), (1, 0), (0, 2), (0, 0))] == [False, False, True, False]
    with pytest.raises(AcceleratorError, match="cannot reach"):
        rig.driver.peer_enable(0, 1)
    with pytest.raises(AcceleratorError, match="no link from device 0 to device 1") as caught:
        rig.driver.copy(rig.memory[1], rig.memory[0], 4, CopyKind.PEER, rig.a)
    assert caught.value.error_code == 217 and not caught.value.sticky
    rig.fill(rig.memory[0], 3, 4, rig.a)
    rig.driver.copy(rig.memory[2], rig.memory[0], 4, CopyKind.PEER, rig.a)
    rig.driver.device_synchronize(0)
