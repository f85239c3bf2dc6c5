"""Utilization of a virtual GPU: the union of busy spans in the last sample of modelled time."""

from flambeau.driver.virtual.engine import SAMPLE_NS, BusySpans


def busy(*spans):
    made = BusySpans()
    for start, end in spans:
        made.add(start, end, start)
    return made


def test_the_time_since_the_start_counts_while_it_is_shorter_than_a_sample():
    assert busy((0, 25)).percent(100) == 25
    assert busy().percent(0) == 0


def test_work_at_the_same_time_counts_once():
    assert busy((0, 50), (10, 40), (60, 80), (20, 70)).percent(100) == 80
    assert busy((0, 50)).percent(100, busy((40, 60)), busy((90, 100))) == 70


def test_what_is_still_to_come_does_not_count():
    assert busy((50, 1000)).percent(100) == 50


def test_what_a_sample_has_left_behind_is_forgotten():
    made = busy((0, SAMPLE_NS), (2 * SAMPLE_NS, 3 * SAMPLE_NS))
    assert made.percent(2 * SAMPLE_NS) == 0
    assert made.percent(3 * SAMPLE_NS) == 100
    assert made.percent(3 * SAMPLE_NS + SAMPLE_NS // 2) == 50
    made.add(6 * SAMPLE_NS, 6 * SAMPLE_NS + 1, 6 * SAMPLE_NS)
    assert len(made._spans) == 1
