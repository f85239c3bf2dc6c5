"""Consumers killed at any moment leave nothing behind; the long form is `python -m flambeau.testing.kills`."""

import pytest

from flambeau.runtime.ipc import Exports
from flambeau.testing import kills


@pytest.mark.parametrize("late", [False, True])
def test_rounds_leak_nothing(late, capfd, sample):
    kills.run(len(sample(range(25), 8)), seed=11, late=late)
    assert capfd.readouterr().err == ""


def test_a_leak_is_found(monkeypatch):
    monkeypatch.setattr(Exports, "lost", lambda self, peer: None)
    with pytest.raises(kills.LeakError, match=r"kills: round \d+ of seed 11 left(.|\n)*held by process"):
        kills.run(25, seed=11)


def test_the_command(capsys):
    assert kills.main(["--rounds", "1"]) == 0
    assert capsys.readouterr().out.startswith("1 rounds, nothing leaked")
