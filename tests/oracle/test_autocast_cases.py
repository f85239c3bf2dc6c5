"""Autocast on the CPU against PyTorch's record: the types of every operator's results, and the values it changes."""

import warnings
from collections import defaultdict

import pytest

import flambeau
from flambeau.testing import machine

from . import autocast_cases


def by_name() -> dict[str, list[str]]:
    """The recorded cases of each name, as a function, as a method and as what else it is."""
    found = defaultdict(list)
    for case in autocast_cases.recorded():
        path = case.split("-")[0]
        if path not in autocast_cases.EXPLAINED and path != "training":
            found[path.rpartition(".")[2]].append(case)
    return found


CASES = by_name()


@pytest.mark.parametrize("name", sorted(CASES))
def test_results_under_autocast_are_pytorchs(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wrong = [
            text
            for case in CASES[name]
            if (text := autocast_cases.difference(case, autocast_cases.run(flambeau, case), recorded(case)))
        ]
    assert not wrong


def recorded(case: str) -> list:
    return autocast_cases.recorded()[case]


@pytest.mark.slow
@pytest.mark.parametrize("device", ["cpu", "cuda"])
@pytest.mark.parametrize("lower", autocast_cases.LOWER)
def test_a_training_under_autocast_has_the_losses_of_pytorch(lower, device):
    expected = recorded(f"training-{lower}")
    with machine(devices=1):
        losses = autocast_cases.training(flambeau, lower, device)
    tolerance = {"bfloat16": 4e-3, "float16": 5e-4}[lower]
    assert losses == pytest.approx(expected, abs=tolerance) and expected[-1] < 0.6 * expected[0]
