"""The pytest plugin, in processes of its own."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

SOURCES = str(Path(__file__).parents[2] / "src")
LOAD = ("-p", "flambeau.testing.pytest_plugin", "-p", "no:cacheprovider", "--strict-markers")


ALONE = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}  # no plugin but the one that is loaded by its name


@pytest.fixture
def run(tmp_path):
    def run(text, *options, gpus="virtual:1"):
        (tmp_path / "test_it.py").write_text("import pytest\nimport flambeau as torch\n" + text)
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("FLAMBEAU", "PYTEST"))}
        environment = {**kept, "PYTHONPATH": SOURCES, "FLAMBEAU_PURE": "1", **ALONE}
        if gpus:
            environment["FLAMBEAU_GPUS"] = gpus
        command = [sys.executable, "-m", "pytest", *LOAD, "-rA", "-p", "no:flambeau", *options]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120, env=environment)
        outcomes = re.findall(r"^(PASSED|FAILED|SKIPPED|ERROR).*::(\w+)", done.stdout, re.MULTILINE)
        return {name: outcome for outcome, name in outcomes}, done.stdout + done.stderr

    return run


FRESH = """
def test_one():
    torch.cuda.Stream()
    table = torch.zeros(3, device="cuda")
    with pytest.raises(torch.AcceleratorError):
        table[torch.tensor([7], device="cuda")].tolist()
    torch.cuda.set_sync_debug_mode("error")

def test_two():
    assert torch.zeros(3, device="cuda").tolist() == [0.0] * 3
    assert torch.cuda.memory_stats()["allocation.all.allocated"] == 1
    assert torch.cuda.get_sync_debug_mode() == 0

@pytest.fixture
def made():
    return torch.ones(2, device="cuda")

def test_fixtures(made):
    assert (made + made).tolist() == [2.0, 2.0]

@pytest.fixture(scope="module")
def kept():
    from flambeau.testing import machine
    with machine(devices=3):
        yield torch.ones(2, device="cuda:2")

def test_wide_one(kept):
    assert kept.add_(1).tolist() == [2.0, 2.0]

def test_wide_two(kept):
    assert kept.add_(1).tolist() == [3.0, 3.0]
"""


def test_every_test_has_a_machine_of_its_own(run):
    found, text = run(FRESH)
    assert set(found.values()) == {"PASSED"} and len(found) == 5, text


MARKED = """
@pytest.mark.gpus(2, memory="64MiB", preset="h200")
def test_count():
    assert torch.cuda.device_count() == 2
    assert torch.cuda.get_device_properties(1).total_memory == 64 << 20

def racy():
    x, side = torch.ones(2, device="cuda"), torch.cuda.Stream()
    with torch.cuda.stream(side):
        return x + 1

@pytest.mark.gpus(1, races="error")
def test_error():
    racy()

@pytest.mark.gpus(1)
def test_poison():
    racy()

@pytest.mark.no_sync
@pytest.mark.gpus(1)
def test_waits():
    torch.ones(2, device="cuda").sum().item()

@pytest.mark.no_sync
@pytest.mark.gpus(1)
def test_goes_on():
    torch.ones(2, device="cuda").sum()

@pytest.mark.gpus(1)
def test_after():
    torch.ones(2, device="cuda").sum().item()
"""


@pytest.mark.parametrize("gpus", ["", pytest.param("virtual:1", marks=pytest.mark.full)])
def test_marks(run, gpus):
    found, text = run(MARKED, gpus=gpus)
    failed = {name for name, outcome in found.items() if outcome == "FAILED"}
    assert failed == {"test_error", "test_waits"} and len(found) == 6, text
    assert "RaceError" in text and "SynchronizationError" in text
    assert "src/flambeau" not in text  # tracebacks end at the test's lines


def test_checked_tests_fail_with_the_report(run):
    found, text = run(MARKED, "--flambeau-check", "-k", "poison or after")
    assert found == {"test_poison": "FAILED", "test_after": "PASSED"}
    assert "1 pair of lines with races" in text and "side.wait_stream(torch.cuda.default_stream())" in text


RACING = """
import unittest

def race():
    x, side = torch.ones(4, device="cuda"), torch.cuda.Stream()
    with torch.cuda.stream(side):
        x * 2

@pytest.fixture
def racing():
    race()

@pytest.fixture
def broken():
    race()
    raise ValueError("broken")

@pytest.mark.gpus(1)
def test_fixture(racing):
    pass

@pytest.mark.gpus(1)
def test_broken(broken):
    pass

class TestOfUnittest(unittest.TestCase):
    @pytest.mark.gpus(1)
    def test_method(self):
        race()

    @pytest.mark.gpus(1)
    @pytest.mark.no_sync
    def test_wait(self):
        torch.ones(2, device="cuda").sum().item()

@pytest.mark.gpus(1)
def test_last():
    torch.ones(2, device="cuda").sum().item()
"""


def test_fixtures_and_tests_of_unittest_are_checked(run):
    found, text = run(RACING, "--flambeau-check")
    assert found["test_fixture"] == "FAILED" and found["test_broken"] == "ERROR" and found["test_last"] == "PASSED"
    assert found["test_method"] == found["test_wait"] == "FAILED"
    assert "SynchronizationError" in text and text.count("1 pair of lines with races") >= 2


def test_gpus_that_are_not_there_are_a_wrong_use(run):
    _, text = run("def test_it(): pass\n", gpus="plaid:2")
    assert "'plaid:2' is not a kind of GPU" in text and "hint:" in text and "INTERNALERROR" not in text


def test_a_wrong_mark_is_an_error(run):
    marks = (
        "gpus(1, colour=2)", "gpus(1, 2)", "gpus(0)", "gpus(1, races='maybe')", "gpus('x')", "gpus(1, memory=1.5)",
        "gpus(1, schedule=3)", "gpus(1, preset=3)",
    )  # fmt: skip
    tests = [f"@pytest.mark.{mark}\ndef test_{at}():\n    assert True\n" for at, mark in enumerate(marks)]
    found, text = run("\n".join(tests))
    for at in range(len(marks)):
        assert found[f"test_{at}"] == "ERROR" and f"test_it.py::test_{at}: " in text
    assert "at teardown" not in text


SCHEDULES = """
counts = []

@pytest.mark.every_schedule
@pytest.mark.parametrize("ordered", [False, True])
def test_order(ordered):
    counts.append(ordered)
    value, side = torch.zeros(1, device="cuda"), torch.cuda.Stream()
    torch.cuda.synchronize()
    value.fill_(7)
    if ordered:
        side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        seen = value.clone()
        side.synchronize()
        assert seen.item() == 7

def test_counts():
    assert counts.count(True) >= 1 and counts.count(False) >= 1
"""


def test_every_schedule(run):
    _, text = run(SCHEDULES)
    assert re.search(r"FAILED.*test_order\[False\]", text) and re.search(r"PASSED.*test_order\[True\]", text), text
    assert re.search(r"PASSED.*test_counts", text) and "under the schedule " in text


def test_the_wheel_names_the_plugin():
    project = tomllib.loads((Path(SOURCES).parent / "pyproject.toml").read_text())["project"]
    assert project["entry-points"]["pytest11"] == {"flambeau": LOAD[1]}
