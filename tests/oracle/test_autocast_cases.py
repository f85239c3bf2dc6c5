"""Autocast on the CPU against PyTorch's record: the types of every operator's results, and the values it changes."""

import warnings
from collections import defaultdict

import pytest

import flambeau

from . import autocast_cases


def by_function() -> dict[str, list[str]]:
    found = defaultdict(list)
    for case in autocast_cases.recorded():
        path = case.split("-")[0]
        if path not in autocast_cases.EXPLAINED:
            found[path].append(case)
    return found


CASES = by_function()


@pytest.mark.parametrize("path", sorted(CASES))
def test_results_under_autocast_are_pytorchs(path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wrong = [
            text
            for case in CASES[path]
            if (text := autocast_cases.difference(case, autocast_cases.run(flambeau, case), recorded(case)))
        ]
    assert not wrong


def recorded(case: str) -> list:
    return autocast_cases.recorded()[case]
