"""Calls and programs against PyTorch: recorded ones everywhere, fresh ones where PyTorch is installed."""

import importlib.util
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import flambeau as torch
from flambeau.testing import machine
from tests.oracle import fuzz
from tests.oracle.fuzz_draw import Case, Tensor

ROOT = Path(__file__).parents[2]
PARTS = 20  # of the recorded cases, one test each
FRESH_SEED, FRESH_COUNT = 77, 600
RECORD = "run scripts/oracle fuzz --record with PyTorch installed"


def recorded():
    """Every recorded case with its number, and its outcomes in PyTorch: on the CPU, and as on its GPU."""
    found = json.loads(fuzz.RECORDED.read_text())
    assert len(found) == fuzz.RECORDED_COUNT, RECORD
    for number, (text, on_cpu, *on_gpu) in enumerate(found):
        case = fuzz.case_of(fuzz.RECORDED_SEED, number)
        assert case.text == text, RECORD
        yield number, case, fuzz.Outcome(*on_cpu), fuzz.Outcome(*(on_gpu or [on_cpu])[0])


CASES = list(recorded())


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_recorded_cases_agree_with_pytorch(part, device, sample):
    for number, case, on_cpu, on_gpu in sample(CASES[part::PARTS], 10):
        theirs, place = (on_cpu, "cpu") if device == "cpu" else (on_gpu, fuzz.gpu_of(number))
        with machine(devices=2):
            ours = fuzz.run(torch, case, place)
        assert not fuzz.foreign(theirs, ours), (case, theirs, ours)
        assert fuzz.agree(case, theirs, ours) or fuzz.meant(case, theirs, ours), (case, theirs, ours)


def test_most_cases_give_a_value():
    assert sum(on_cpu.kind == "value" for _, _, on_cpu, _ in CASES) > 0.75 * len(CASES)


def test_every_family_is_among_the_recorded_cases():
    seen = [fuzz.family_of(fuzz.RECORDED_SEED, number) for number in range(fuzz.RECORDED_COUNT)]
    assert all(seen.count(family) >= 5 for family, _ in fuzz.FAMILIES)


@pytest.mark.parametrize("case", [case for _, case, _, _ in CASES[:5]])
def test_a_case_of_a_seed_is_always_the_same(case):
    assert case in [fuzz.case_of(fuzz.RECORDED_SEED, number) for number in range(5)]


def test_every_difference_that_is_meant_is_explained():
    table = (ROOT / "docs" / "differences.md").read_text().partition("## Differences that the fuzzer meets")[2]
    explained = re.findall(r"(?m)^\| (.+?) \|", table)[2:]
    assert sorted(set(explained)) == sorted({rule.why for rule in fuzz.MEANT})


ADDITION = Case("a + 1", {"a": Tensor((2,), (1,), 0, "float32", [1.0, 2.0])})


def test_a_difference_is_found():
    ours = fuzz.run(torch, ADDITION, "cpu")
    result, operands = ours.found
    assert result["values"] == [2, 3]
    for wrong in (
        [{**result, "values": [2.0, 3.001]}, operands],
        [{**result, "dtype": "float64"}, operands],
        [{**result, "lies": [[2], 0]}, operands],
        [{**result, "wants": True}, operands],
        [result, [[1.0, 3.0]]],
    ):
        theirs = fuzz.Outcome("value", wrong)
        assert not fuzz.agree(ADDITION, theirs, ours) and not fuzz.meant(ADDITION, theirs, ours)
    refused = fuzz.Outcome("error", [["RuntimeError"], "a + 1"])
    assert not fuzz.agree(ADDITION, refused, ours) and not fuzz.meant(ADDITION, refused, ours)


def test_derivatives_that_are_not_finite_may_differ():
    derivative = {"dtype": "float64", "shape": [2], "lies": None, "wants": False}
    case = ADDITION._replace(gradients=1)
    theirs, ours, wrong = (
        fuzz.Outcome("value", [{"dtype": "float64"}, [], [{**derivative, "values": values}]])
        for values in (["inf", 1.0], ["nan", 1.0], ["nan", 2.0])
    )
    assert not fuzz.agree(case, theirs, ours)
    assert fuzz.meant(case, theirs, ours) == "a derivative that is not finite"
    assert fuzz.meant(case, theirs, wrong) == fuzz.meant(ADDITION, theirs, ours) == ""


def error(*classes, text=""):
    return fuzz.Outcome("error", [[*classes, "Exception"], text])


def test_errors_of_another_class_and_mistakes_are_found():
    assert not fuzz.agree(ADDITION, error("IndexError"), error("TypeError", "FlambeauError"))
    assert fuzz.agree(ADDITION, error("IndexError"), error("IndexRangeError", "FlambeauError", "IndexError"))
    lost = error("AcceleratorError", "FlambeauError", "RuntimeError")
    assert fuzz.agree(ADDITION, error("IndexError", text="index 3 is out of range"), lost)
    assert not fuzz.agree(ADDITION, error("IndexError", text="too many dimensions"), lost)
    assert fuzz.foreign(error("RuntimeError"), error("InternalError", "FlambeauError", "RuntimeError"))
    assert fuzz.foreign(error("RuntimeError"), error("ValueError"))
    assert not fuzz.foreign(error("TypeError"), error("TypeError"))
    assert not fuzz.foreign(error("RuntimeError"), error("ShapeError", "FlambeauError", "RuntimeError"))


def test_a_lost_device_is_found():
    machines = fuzz.Machines()
    with machines.stack:
        machines.renew()
        assert machines.lost() == ""
        with pytest.raises(RuntimeError, match="out of bounds"):
            torch.ones(2, device="cuda:1")[torch.tensor([5], device="cuda:1")].tolist()
        assert machines.lost().startswith("cuda:1 is lost")


def test_a_case_that_differs_is_made_smaller():
    tensor = Tensor((2, 2), (1, 3), 1, "float32", [0.5, -1.0, 2.0, 0.25, 4.0, 1.0])
    case = Case("b = a + 1\nc = a * 2\nb.sort()\nc", {"a": tensor})
    failing = lambda each: "fails" if "* 2" in each.text else ""  # noqa: E731
    smaller = fuzz.with_plain_tensors(fuzz.with_fewer_lines(case, failing), failing)
    assert smaller.text == "c = a * 2"
    assert smaller.tensors["a"] == Tensor((2, 2), (2, 1), 0, "float32", [1.0] * 4)


@pytest.mark.full
@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="needs PyTorch")
def test_fresh_cases_agree_with_pytorch():
    # in a process of its own: the rest of the suite must run without PyTorch in it
    command = [sys.executable, "-m", "tests.oracle.fuzz", "--seed", str(FRESH_SEED), "--count", str(FRESH_COUNT)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
