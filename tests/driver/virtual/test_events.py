"""Events of virtual GPUs: records that waiters keep, devices, and elapsed times."""

import pytest

from flambeau.driver.api import CopyKind
from flambeau.errors import AcceleratorError


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
