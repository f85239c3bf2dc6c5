"""A test that asserts nothing fails."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.assertions import listed

HERE = Path(__file__).parent
SUITE = """
import numpy as np
import pytest

def test_nothing(): str(3)
def test_listed(): str(3)
def test_no_case():
    for case in ():
        assert case
def test_assert(): assert 3
def test_raises():
    with pytest.raises(ValueError):
        int("x")
def test_warns():
    with pytest.warns(UserWarning):
        __import__("warnings").warn("x")
def test_numpy(): np.testing.assert_allclose(1.0, 1.0)
def test_values_are_not_formatted(): assert Silent()
def test_skipped(): pytest.skip("not here")

class Silent:
    def __repr__(self): raise KeyboardInterrupt
"""


def test_what_counts(tmp_path):
    (tmp_path / "tests").mkdir()
    shutil.copy(HERE / "assertions.py", tmp_path / "tests")
    (tmp_path / "tests" / "no_assertions.txt").write_text("# why\n\n*::test_listed  it has a reason\n")
    (tmp_path / "test_few.py").write_text(SUITE)
    (tmp_path / "pytest.ini").write_text("[pytest]\nenable_assertion_pass_hook = true\npythonpath = .\n")
    command = [sys.executable, "-m", "pytest", "-rA", "-p", "no:cacheprovider", "-p", "tests.assertions"]
    alone = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, env=alone)
    summary = done.stdout.rpartition("short test summary info")[2].splitlines()
    failed = [line.split("::")[1].split(" ")[0] for line in summary if line.startswith("FAILED")]
    passed = [line.split("::")[1] for line in summary if line.startswith("PASSED")]
    assert failed == ["test_nothing", "test_no_case"], done.stdout
    expected = ["listed", "assert", "raises", "warns", "numpy", "values_are_not_formatted"]
    assert passed == [f"test_{name}" for name in expected]


def test_every_listed_test_has_a_reason():
    assert listed() and all(pattern and reason for pattern, reason in listed())
    names = [pattern.split("::")[0] for pattern, _ in listed()]
    assert [name for name in names if not (list(HERE.parent.glob(name)) or list(HERE.rglob(name.strip("*/"))))] == []
