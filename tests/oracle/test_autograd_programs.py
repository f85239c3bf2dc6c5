"""Random autograd programs, compared with PyTorch where it is installed."""

import importlib.util
import subprocess
import sys

import pytest

from tests.oracle import autograd_programs


@pytest.mark.full
@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="PyTorch is not installed")
@pytest.mark.parametrize("first", range(0, 200, 50))
def test_programs_agree_with_pytorch(first):
    # in a process of its own: the rest of the suite must run without PyTorch in it
    command = [sys.executable, "-m", "tests.oracle.autograd_programs", str(first), "50"]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert printed.endswith(f"50 programs from seed {first}: 0 disagreements\n"), printed


def test_a_disagreement_is_found_and_shown():
    ours, theirs = [[[1.0], []], [[2.0], []]], [[[1.0], []], [[2.5], []]]
    assert autograd_programs.difference(ours, ours, ["first", "second"]) == ""
    found = autograd_programs.difference(ours, theirs, ["first", "second"])
    assert found.startswith("second") and "2.0 | 2.5" in found
    assert "error: view" in autograd_programs.difference(["error: view"], [[[1.0], []]], ["first"])
    assert autograd_programs.program(3) == autograd_programs.program(3) != autograd_programs.program(4)
