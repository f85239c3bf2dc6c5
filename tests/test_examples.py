"""The example learns, and learns the same on every machine."""

import importlib.util
from pathlib import Path

import pytest

from flambeau.testing import machine

PATH = Path(__file__).parents[1] / "examples" / "digits.py"


@pytest.fixture(scope="module")
def digits():
    spec = importlib.util.spec_from_file_location("digits", PATH)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


FEW = ["--epochs", "2", "--batch-size", "128"]


@pytest.fixture(scope="module")
def on_cpu(digits):
    return digits.main([*FEW, "--disable-cuda"])


def test_it_learns_on_the_cpu(on_cpu):
    accuracy, losses = on_cpu
    assert len(losses) == 2 * 12
    assert losses[0] > 2.0 and losses[-1] < 1.0
    assert accuracy > 0.8


@pytest.mark.parametrize("devices", [1, 2])
def test_virtual_gpus_give_the_losses_of_the_cpu(digits, on_cpu, devices, capsys):
    with machine(devices=devices):
        accuracy, losses = digits.main(FEW)
    assert losses == pytest.approx(on_cpu[1], rel=1e-4)
    assert accuracy == pytest.approx(on_cpu[0], abs=0.01)
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1] == f"test accuracy {accuracy:.3f}"
    assert any("Allocated memory" in line for line in lines)


STREAMS = 4  # two default streams, the prefetcher's and the test set's
SCHEDULES = ["submission", *(f"delay:{made}" for made in range(STREAMS)), *(f"seeded:{seed}" for seed in range(10))]


def test_no_schedule_changes_a_bit(digits):
    losses, logs = [], []
    for schedule in SCHEDULES:
        with machine(devices=2, races="real", schedule=schedule) as made:
            losses.append(digits.main(["--epochs", "1", "--batch-size", "288"])[1])
            first = min(made.streams)
            logs.append([(stream - first, number, name) for stream, number, name in made.driver.log])
            assert len(made.streams) == STREAMS
    assert all(each == losses[0] for each in losses)
    assert len({tuple(each) for each in logs}) == len(SCHEDULES)


def test_nothing_races(digits):
    with machine(devices=2, races="error"):
        digits.main(["--epochs", "1", "--batch-size", "256"])
