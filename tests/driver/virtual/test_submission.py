"""The code and records of a warm call; utilization, the union of busy spans in a sample of modelled time."""

import sys

import pytest

import flambeau as torch
from flambeau.driver.virtual import submission
from flambeau.driver.virtual.access import FEW_COMMANDS, History
from flambeau.driver.virtual.submission import SAMPLE_NS, BusySpans
from tests.conftest import ON_HARDWARE

from .rig import ADD_ONE, BUMP


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


@pytest.mark.skipif(ON_HARDWARE, reason="the virtual driver's modules are counted")
@pytest.mark.devices(1)
def test_a_warm_call_executes_one_module_of_the_driver(gpus):
    """A warm call runs no other module of the driver than submission.py; the others are for unusual cases."""
    a, b = torch.ones(4, device="cuda"), torch.ones(4, device="cuda")
    for _ in range(5):
        c = a + b
    seen = set()

    def look(frame, event, argument):
        seen.add(frame.f_globals.get("__name__", ""))

    sys.setprofile(look)
    c = a + b  # noqa: F841  (the former result is freed)
    sys.setprofile(None)
    allocator = ("flambeau.core.", "flambeau.memory.")
    others = {name for name in seen if name.startswith("flambeau.") and not name.startswith(allocator)}
    assert others == {"flambeau.driver.virtual.submission"}


def test_a_history_keeps_few_commands_that_are_done(rig):
    """A command that is done says no more about races than the latest of its stream."""
    for _ in range(100):
        for _ in range(10):
            rig.launch(BUMP, [rig.memory[0], 4], rig.a)
        rig.driver.stream_synchronize(rig.a)
    history = rig.driver._engine.memory.find(0, rig.memory[0], rig.memory[0] + 16, "test").history
    logged = [command for _, commands, _ in history.log for command in commands]
    used = [command for group in history.by_key.values() for use in group.uses() for command in use.commands]
    assert len(logged) + len(used) <= 2 * FEW_COMMANDS
    assert max(command.number for command in logged + used) == 1000


def test_uses_are_compared_alike_whether_they_are_logged_or_not(make_rig, monkeypatch):
    """A log has no room in the second driver: every use goes into its group at once."""

    def recorded():
        rig = make_rig()
        address = rig.take(0, 256)
        for offset in (0, 0, 64, 0, 128, 128, 64, 0):
            rig.launch(BUMP, [address + offset, 4], rig.a)
            rig.launch(ADD_ONE, [address + 192, address + offset, 4], rig.a)
        rig.give(address, 256)
        rig.take(0, 256)  # covers those that have still to read
        rig.launch(ADD_ONE, [address + 64, address, 4], rig.a)
        history = rig.driver._engine.memory.find(0, address, address + 256, "test").history
        uses = [use for group in history.groups() for use in group.uses()]
        assert all(use.stream == rig.a for use in uses)
        covered = uses[0].commands[-1].covered
        return [
            [(use.access.key, use.access.reads, use.number, len(use.commands), use.taken is None) for use in each]
            for each in (uses, covered)
        ]

    logged = recorded()
    assert len(logged[0]) == 3 and len(logged[1]) == 6
    monkeypatch.setattr(History, "_make_room", lambda history: None)
    monkeypatch.setattr(submission, "FEW_GROUPS", 0)
    assert recorded() == logged
