"""Operators against PyTorch: recorded calls everywhere, fresh ones where PyTorch is installed."""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

import flambeau as torch
from flambeau.testing import machine
from tests.oracle import fuzz_operators as fuzz

PARTS = 20  # of the recorded cases, one test each
FRESH_SEED, FRESH_COUNT = 77, 400
RECORD = "run tests/oracle/fuzz_operators.py --record with PyTorch installed"


def recorded():
    """Every recorded case, with the outcome in PyTorch."""
    found = json.loads(fuzz.RECORDED.read_text())
    assert len(found) == fuzz.RECORDED_COUNT, RECORD
    for (_, case), (text, (kind, values)) in zip(fuzz.cases(fuzz.RECORDED_SEED, fuzz.RECORDED_COUNT), found):
        assert case.text == text, RECORD
        yield case, (kind, values)


CASES = list(recorded())


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_recorded_calls_agree_with_pytorch(part, device):
    for case, theirs in CASES[part::PARTS]:
        with machine(devices=1):
            ours = fuzz.run(torch, case, device)
        assert fuzz.agree(case, theirs, ours) or fuzz.meant(case, theirs, ours), (case, theirs, ours)


def test_most_calls_give_a_value():
    assert sum(kind == "value" for _, (kind, _) in CASES) > 0.75 * len(CASES)


@pytest.mark.parametrize("case", [case for case, _ in CASES[:5]])
def test_a_case_of_a_seed_is_always_the_same(case):
    assert case in [fuzz.case_of(fuzz.RECORDED_SEED, number) for number in range(5)]


def test_a_difference_is_found():
    case = fuzz.Case("a + 1", {"a": fuzz.Tensor((2,), (1,), 0, "float32", [1.0, 2.0])})
    ours = fuzz.run(torch, case, "cpu")
    assert ours[1][0]["values"] == [2, 3]
    for wrong in (
        ("value", [{**ours[1][0], "values": [2.0, 3.001]}, ours[1][1]]),
        ("value", [{**ours[1][0], "dtype": "float64"}, ours[1][1]]),
        ("value", [{**ours[1][0], "lies": [[2], 0]}, ours[1][1]]),
        ("value", [ours[1][0], [[1.0, 3.0]]]),
        ("error", [["RuntimeError"], "a + 1"]),
    ):
        assert not fuzz.agree(case, wrong, ours) and not fuzz.meant(case, wrong, ours)
    wrong_class = ("error", [["IndexError"], ""]), ("error", [["TypeError", "Exception"], ""])
    assert not fuzz.agree(case, *wrong_class)


@pytest.mark.full
@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="needs PyTorch")
def test_fresh_calls_agree_with_pytorch():
    command = [sys.executable, fuzz.__file__, "--seed", str(FRESH_SEED), "--count", str(FRESH_COUNT)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=Path(fuzz.__file__).parents[2])
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
