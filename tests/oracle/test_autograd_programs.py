"""Random autograd programs, compared with PyTorch where it is installed."""

import pytest

from tests.oracle import autograd_programs


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 200, 50))
def test_programs_agree_with_pytorch(first):
    pytest.importorskip("torch")
    wrong = [found for found in map(autograd_programs.disagreement, range(first, first + 50)) if found]
    assert not wrong, "\n\n".join(wrong)


def test_a_disagreement_is_found_and_shown():
    ours, theirs = [[[1.0], []], [[2.0], []]], [[[1.0], []], [[2.5], []]]
    assert autograd_programs.difference(ours, ours, ["first", "second"]) == ""
    found = autograd_programs.difference(ours, theirs, ["first", "second"])
    assert found.startswith("second") and "2.0 | 2.5" in found
    assert "error: view" in autograd_programs.difference(["error: view"], [[[1.0], []]], ["first"])
    assert autograd_programs.program(3) == autograd_programs.program(3) != autograd_programs.program(4)
