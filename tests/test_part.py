"""The parts of the tests that the processes of scripts/sanitize run."""

import subprocess
import sys
from pathlib import Path

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
