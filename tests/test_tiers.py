"""The tiers of the suite: which tests run in which, and what a sample is."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.tiers import drawn

HERE = Path(__file__).parent
SUITE = """
import pytest

@pytest.mark.full
def test_long(): assert True

@pytest.mark.slow
def test_slow(): assert True

@pytest.mark.gpu
def test_short(sample): assert len(sample(range(30), 4)) in (4, 30); print("cases", len(sample(range(30), 4)))
"""


@pytest.fixture
def passed(tmp_path):
    """The names of the tests that run with the given options, and how many cases the sample has."""
    (tmp_path / "tests").mkdir()
    shutil.copy(HERE / "tiers.py", tmp_path / "tests")
    (tmp_path / "test_few.py").write_text(SUITE)
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers =\n    slow\n    gpu\npythonpath = .\n")

    def run(*options):
        command = [sys.executable, "-m", "pytest", "-v", "-s", "-p", "no:cacheprovider", "-p", "tests.tiers", *options]
        alone = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, env=alone)
        assert done.returncode == 0, done.stdout + done.stderr
        return {name for name in ("long", "slow", "short", "cases 4", "cases 30") if f"{name} " in done.stdout
                or f"test_{name} " in done.stdout or f"{name}\n" in done.stdout}  # fmt: skip

    return run


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ((), {"slow", "short", "cases 4"}),
        (("-m", "full"), {"long", "slow", "short", "cases 30"}),
        pytest.param(("-m", "full and not slow"), {"long", "short", "cases 30"}, marks=pytest.mark.full),
        pytest.param(("-m", "gpu"), {"short", "cases 4"}, marks=pytest.mark.full),
        pytest.param(("-m", "not slow"), {"short", "cases 4"}, marks=pytest.mark.full),
    ],
)
def test_the_expression_chooses_the_tier(passed, options, expected):
    assert passed(*options) == expected


def test_a_sample_is_the_same_in_every_run():
    assert drawn(range(100), 5) == drawn(range(100), 5) == sorted(drawn(range(100), 5))
    assert len(set(drawn(range(100), 5))) == 5 and drawn("ab", 5) == ["a", "b"]
