"""What scripts/sanitize runs and leaves out; compute-sanitizer is a stand-in."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from flambeau.testing.kernels import gathered

ROOT = Path(__file__).parents[1]


def run(*options):
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "tests.part", *options]
    done = subprocess.run(
        [*command, "tests/memory/test_pool.py"], cwd=ROOT, capture_output=True, text=True, timeout=120
    )
    return done.stdout.splitlines()


def collected(*options):
    return [line for line in run("--collect-only", *options) if "::" in line]


def test_the_parts_share_all_tests():
    parts = [collected("--part", f"{number}/3") for number in (1, 2, 3)]
    assert sorted(each for part in parts for each in part) == sorted(collected())
    assert max(map(len, parts)) - min(map(len, parts)) <= 1


def test_when_the_time_is_up_no_test_begins_and_the_last_line_says_how_many_did():
    assert f"part: 1 of {len(collected('--part', '1/2'))} tests" in run("--part", "1/2", "--seconds", "0")


def test_no_kernel_of_ours_is_left_out_with_those_of_libraries():
    (listed,) = re.findall(r"^libraries=\((.*)\)$", (ROOT / "scripts/sanitize").read_text(), re.MULTILINE)
    entries = [kernel.entry for kernel in gathered()]
    assert [entry for entry in entries if any(name in entry for name in listed.split())] == [] and len(entries) > 100


STAND_IN = """#!/usr/bin/env bash
# runs no program: writes what one may leave
while [ "$1" != --log-file ]; do shift; done
echo "========= COMPUTE-SANITIZER" >"$2"
{found}
echo "{passed} passed in 1s"
echo "part: {passed} of 7 tests"
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
