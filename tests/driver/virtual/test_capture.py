"""Captures of virtual GPUs: what breaks one, and what is not allowed in it."""

from threading import Thread

import pytest

from flambeau.driver.api import CaptureMode, CaptureStatus
from flambeau.errors import AcceleratorError


def test_a_broken_capture_says_who_broke_it(rig):
    event = rig.driver.event_create(0, False, False, False)
    rig.driver.event_record(event, rig.b)
    rig.driver.capture_begin(rig.a, CaptureMode.GLOBAL)

    def poll():
        with pytest.raises(AcceleratorError) as caught:
            rig.driver.event_query(event)
        assert caught.value.error_code == 900

    thread = Thread(target=poll, name="watchdog")
    thread.start()
    thread.join()
    assert rig.driver.capture_status(rig.a) is CaptureStatus.INVALIDATED
    with pytest.raises(AcceleratorError) as caught:
        rig.driver.capture_end(rig.a)
    text = str(caught.value)
    assert caught.value.error_code == 901
    assert "event_query" in text and "test_capture.py" in text and "'watchdog'" in text and f"stream {rig.a}" in text


@pytest.mark.parametrize("mode", list(CaptureMode))
def test_no_mode_allows_waiting_for_what_is_captured(rig, mode):
    event = rig.driver.event_create(0, False, False, False)
    for call in (
        lambda: rig.driver.stream_synchronize(rig.a),
        lambda: rig.driver.device_synchronize(0),
        lambda: rig.driver.event_query(event),
    ):
        rig.driver.capture_begin(rig.a, mode)
        rig.driver.event_record(event, rig.a)
        with pytest.raises(AcceleratorError):
            call()
        with pytest.raises(AcceleratorError, match="was broken"):
            rig.driver.capture_end(rig.a)


def test_a_capture_begins_once(rig):
    rig.driver.capture_begin(rig.a, CaptureMode.GLOBAL)
    with pytest.raises(AcceleratorError, match=f"stream {rig.a} takes part in the capture on stream {rig.a}"):
        rig.driver.capture_begin(rig.a, CaptureMode.GLOBAL)
    rig.driver.capture_end(rig.a)
