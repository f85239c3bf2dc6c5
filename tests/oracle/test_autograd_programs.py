"""Random autograd programs, which fuzz.py compares with PyTorch's: that they would show a disagreement."""

from tests.oracle import autograd_programs


def test_a_disagreement_is_found_and_shown():
    ours, theirs = [[[1.0], []], [[2.0], []]], [[[1.0], []], [[2.5], []]]
    assert autograd_programs.difference(ours, ours, ["first", "second"]) == ""
    found = autograd_programs.difference(ours, theirs, ["first", "second"])
    assert found.startswith("second") and "2.0 | 2.5" in found
    assert "error: view" in autograd_programs.difference(["error: view"], [[[1.0], []]], ["first"])
    assert autograd_programs.program(3) == autograd_programs.program(3) != autograd_programs.program(4)
