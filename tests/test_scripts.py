"""The programs that scripts/sanitize runs and leaves out, with a stand-in for compute-sanitizer."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from flambeau.testing.kernels import gathered
from flambeau.tools.compiled import is_compiled

ROOT = Path(__file__).parents[1]


@pytest.fixture
def begin(tmp_path):
    """Begins a process that shares a file's tests with the others."""
    (tmp_path / "claims").mkdir()
    command = [sys.executable, "-m", "pytest", "-vv", "-p", "no:cacheprovider", "-p", "tests.share"]

    def run(*options):
        given = [*command, "--share", str(tmp_path / "claims"), *options, "tests/core/test_pool.py"]
        return subprocess.Popen(given, cwd=ROOT, stdout=subprocess.PIPE, text=True)

    return run


@pytest.mark.full
def test_each_test_is_run_by_one_of_the_processes(begin):
    shares = [process.communicate(timeout=120)[0] for process in [begin(), begin(), begin()]]
    names = [re.findall(r"^(\S+) PASSED", text, re.MULTILINE) for text in shares]
    told = [re.search(r"^share: (\d+) of (\d+) tests$", text, re.MULTILINE) for text in shares]
    together = sorted(each for share in names for each in share)
    assert len(together) == len(set(together)) > 10
    assert [int(each[1]) for each in told] == [len(share) for share in names]
    assert {int(each[2]) for each in told} == {len(together)}


@pytest.mark.full
def test_when_the_time_is_up_no_test_begins_and_the_last_line_says_how_many_did(begin):
    text = begin("--seconds", "0").communicate(timeout=120)[0]
    assert re.search(r"^share: 0 of [1-9]\d+ tests$", text, re.MULTILINE) and "PASSED" not in text


@pytest.mark.full
def test_no_kernel_of_ours_is_left_out_with_those_of_libraries():
    (listed,) = re.findall(r"^libraries=\((.*)\)$", (ROOT / "scripts/sanitize").read_text(), re.MULTILINE)
    entries = [kernel.entry for kernel in gathered()]
    assert [entry for entry in entries if any(name in entry for name in listed.split())] == [] and len(entries) > 100


@pytest.mark.parametrize("meant", ["", "1"])
def test_a_run_on_hardware_ends_with_a_line_if_the_core_is_not_compiled(tmp_path, meant):
    text = ". scripts/hardware.sh; say_if_uncompiled; echo status $failed"
    environment = {**os.environ, "FLAMBEAU_PURE": meant, "PYTHON": sys.executable, "OUT": str(tmp_path)}
    done = subprocess.run(["bash", "-c", text], cwd=ROOT, capture_output=True, text=True, timeout=60, env=environment)
    is_silent = meant or is_compiled()
    assert ("NOT COMPILED" in done.stdout) == (not is_silent)
    assert done.stdout.splitlines()[-1] == ("status 0" if is_silent else "status 1")


STAND_IN = """#!/usr/bin/env bash
# runs no program: writes what one may leave
while [ "$1" != --log-file ]; do shift; done
echo "========= COMPUTE-SANITIZER" >"$2"
{found}
echo "{passed} passed in 1s"
echo "share: {passed} of 14 tests"
"""
ERROR = "========= Invalid __global__ read of size 4 bytes\n=========     at add_float32+0x120\n"


@pytest.mark.parametrize(
    ("found", "passed", "row", "status"),
    [
        ("echo '========= ERROR SUMMARY: 0 errors' >>$2", 7, "memcheck 14 0 0 0 0", 0),
        (f"printf '{ERROR}========= ERROR SUMMARY: 3 errors' >>$2", 7, "memcheck 14 0 0 6 0", 1),
        ("echo '========= RACECHECK SUMMARY: 2 hazards displayed' >>$2", 7, "memcheck 14 0 0 4 0", 1),
        ("echo '========= ERROR SUMMARY: 0 errors' >>$2", 5, "memcheck 10 0 4 0 0", 1),
        ("true", 7, "memcheck 14 0 0 0 2", 1),
    ],
    ids=["fine", "errors", "hazards", "not reached", "no summary"],
)
def test_the_table_tells_what_was_found_and_what_not_reached(tmp_path, found, passed, row, status):
    stand_in, python = tmp_path / "sanitizer", tmp_path / "python"
    stand_in.write_text(STAND_IN.format(found=found, passed=passed))
    python.write_text("#!/bin/sh\necho $0\n")  # compiles no kernel
    for each in (stand_in, python):
        each.chmod(0o755)
    given = {"SANITIZER": stand_in, "PYTHON": python, "OUT": tmp_path / "out", "TOOLS": "memcheck", "PARTS": 2}
    environment = {**os.environ, "FLAMBEAU_PURE": "1", **{name: str(value) for name, value in given.items()}}
    done = subprocess.run([ROOT / "scripts/sanitize"], env=environment, capture_output=True, text=True, timeout=120)
    last = done.stdout.splitlines()[-1]
    assert " ".join(last.split()).startswith(row) and ("read of size 4 bytes at add_float32" in last) == (
        ERROR in found
    )
    assert done.returncode == status
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["kernels.log", "memcheck.log"]
