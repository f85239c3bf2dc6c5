"""A sample of the interrupt fuzzer in every area."""

import sys

import pytest

from tests.oracle import interrupts

POINTS = 12  # per area; `python -m tests.oracle.interrupts` takes as many as wanted
SIGNALS = 3


@pytest.fixture(autouse=True)
def _no_other_trace():
    if sys.gettrace() is not None:
        pytest.skip("the fuzzer needs sys.settrace for itself")


@pytest.mark.slow
@pytest.mark.parametrize("area", interrupts.AREAS, ids=lambda area: area.name)
def test_an_interrupt_leaves_nothing_broken(area):
    for _, result in interrupts.fuzz((area,), POINTS, seed=1):
        assert result.interrupted and not result.wrong and not result.modes, (result.where, result.wrong, result.modes)


@pytest.mark.slow
@pytest.mark.parametrize("area", interrupts.AREAS, ids=lambda area: area.name)
def test_a_real_signal_leaves_nothing_broken(area):
    for _, result in interrupts.fuzz_signals((area,), SIGNALS, seed=1):
        assert not result.wrong and not result.modes, (result.where, result.wrong, result.modes)


def test_the_fuzzer_sees_what_an_unguarded_interrupt_breaks(monkeypatch):
    monkeypatch.setattr("flambeau.signals.is_critical", lambda frame: False)
    monkeypatch.setattr(interrupts, "in_thread", lambda function: "")
    found = [result.wrong for _, result in interrupts.fuzz((interrupts.AREAS[0],), 60, seed=1)]
    assert any(found)
