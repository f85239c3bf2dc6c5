"""Each wait of the examples, removed: what the oracle says is unordered is reported, with edits that order it."""

import ast
import re
import runpy
import sys
from pathlib import Path

import pytest

from flambeau import callers
from flambeau.core import native
from flambeau.driver.virtual import driver
from flambeau.errors import AcceleratorError
from flambeau.testing import check, machine
from tests.edits import edited

from .observed import Observed

EXAMPLES = Path(__file__).parents[2] / "examples"
WAITS = ("wait_stream", "record_stream", "synchronize", "wait_event", "wait", "record")
# program: its arguments
PROGRAMS = {f"races/{path.stem}": ["--fixed"] for path in sorted((EXAMPLES / "races").glob("*.py"))}
PROGRAMS["digits"] = ["--epochs", "1", "--batch-size", "288"]


def waits_of(program):
    """The lines of statements that call a wait."""
    found = []
    for node in ast.walk(ast.parse((EXAMPLES / f"{program}.py").read_text())):
        call = node.value if isinstance(node, ast.Expr) else None
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr in WAITS:
            found.append((node.lineno, node.end_lineno))
    return sorted(found)


MUTATIONS = [(program, *lines) for program in PROGRAMS for lines in waits_of(program)]


def without(program, first, last):
    """The text of a program with `pass` in place of some lines."""
    lines = (EXAMPLES / f"{program}.py").read_text().splitlines()
    indent = re.match(r"\s*", lines[first - 1])[0]
    lines[first - 1 : last] = [f"{indent}pass", *[""] * (last - first)]
    return "\n".join(lines) + "\n"


@pytest.fixture
def observed(monkeypatch, tmp_path, capsys):
    """The report of a text, the unordered pairs of the oracle, and whether the program failed."""
    monkeypatch.setattr(driver, "VirtualDriver", Observed)
    file = sys.modules[Observed.__module__].__file__  # lines of the program are sought outside of it, as of the package
    for module in (callers, native):
        monkeypatch.setattr(module, "PACKAGE", (module.PACKAGE, file))
    monkeypatch.setattr(callers, "_INNER", (*callers._INNER, file))
    monkeypatch.syspath_prepend(str(EXAMPLES))
    count = iter(range(99))

    def run(text, arguments):
        path = tmp_path / f"program{next(count)}.py"
        path.write_text(text)
        monkeypatch.setattr(sys, "argv", [str(path), *arguments])
        with machine(devices=2, races="real") as made, check() as found:
            has_failed = False
            try:
                runpy.run_path(str(path), run_name="__main__")
            except AcceleratorError:
                has_failed = True
        return found, made.driver.order.unordered, has_failed

    return run


NO_LINE = {("digits", 55)}  # the copies are made in a comprehension's loop: no line before or after orders them


def test_mutations_are_reported_where_the_oracle_says_and_their_edits_order_them(observed, sample):
    unordered = 0
    for program, *lines in sample(MUTATIONS, 6):
        text, arguments = without(program, *lines), PROGRAMS[program]
        found, pairs, has_failed = observed(text, arguments)
        note = f"{program} without line {lines[0]}: {pairs}\n{found}"
        assert bool(found.races) == bool(pairs), note
        if not pairs:
            assert not has_failed, note
            continue
        unordered += 1
        assert found.edits and found.verified, note
        again, left, fails_again = observed(edited(text, found.edits), arguments)
        assert bool(again.races) == bool(left) and not fails_again, f"{note}\n{again}"
        if (program, lines[0]) in NO_LINE:  # the first run did not get there: an index was wrong
            assert has_failed and not again.verified, f"{note}\n{again}"
        else:
            assert not left, f"{note}\n{again}"
    assert unordered > 2


SLOW = {"digits": [pytest.mark.full]}


@pytest.mark.parametrize("program", [pytest.param(each, marks=SLOW.get(each, [])) for each in PROGRAMS])
def test_programs_as_they_are_have_no_race(observed, program):
    found, pairs, has_failed = observed((EXAMPLES / f"{program}.py").read_text(), PROGRAMS[program])
    assert (found.races, pairs, has_failed) == ((), set(), False), str(found)
    assert found.replayed > 0


@pytest.mark.parametrize("program", [program for program in PROGRAMS if program not in ("races/no_race", "digits")])
def test_the_zoo_has_races_without_its_fixes(observed, program):
    found, pairs, _ = observed((EXAMPLES / f"{program}.py").read_text(), [])
    assert found.races and pairs
