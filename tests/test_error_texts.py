"""The files with the full texts of errors: what they hold, and that each kind of difference fails."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from flambeau.errors import ArgumentError
from tests import error_texts
from tests.wrong import refused

HERE = Path(__file__).parent
SUITE = """
import pytest
from tests.error_texts import compare

def test_two(): compare("two: a\\n\\n\\tb\\nhint: c"); compare("two: d\\nhint: e"); assert True

@pytest.mark.parametrize("name", ["x", "a/b::c #2"])
def test_each(name): compare(f"{name}: f\\nhint: g"); assert True

def test_no_error(): assert True
def test_fails(): compare("fails: h\\nhint: i"); assert False

class TestInside:
    def test_first(self): compare("first: j\\nhint: k"); assert True
"""
WRITTEN = f"""{error_texts.HEAD}
test_few.py::test_two
    two: a

    \tb
    hint: c

test_few.py::test_two #2
    two: d
    hint: e

test_few.py::test_each[x]
    x: f
    hint: g

test_few.py::test_each[a/b::c #2]
    a/b::c #2: f
    hint: g

test_few.py::test_fails
    fails: kept
    hint: kept

test_few.py::TestInside::test_first
    first: j
    hint: k
"""
FAILS = "test_few.py::test_fails\n    fails: kept\n    hint: kept\n"


def test_the_entries_are_those_of_the_tests_in_their_order(request):
    files = sorted(HERE.rglob(error_texts.FILE))
    assert files
    for file in files:
        area = file.parent.relative_to(HERE.parent)
        entries = error_texts.read(file)
        there = error_texts.in_order(request.session, file, entries)
        assert sorted(entries.keys() - there.keys()) == [], f"no such tests; pytest {area} --update-errors"
        assert file.read_text(encoding="utf-8") == error_texts.written(there), f"order; pytest {area} --update-errors"


@pytest.fixture
def suite(tmp_path):
    """Runs SUITE, whose texts are in errors.txt: its output, the names of the tests that failed, and the file."""
    (tmp_path / "tests").mkdir()
    shutil.copy(HERE / "error_texts.py", tmp_path / "tests")
    (tmp_path / "test_few.py").write_text(SUITE)
    (tmp_path / "pytest.ini").write_text("[pytest]\npythonpath = .\n")
    file = tmp_path / error_texts.FILE

    def run(text, *options, **environment):
        file.write_text(text, encoding="utf-8")
        command = [sys.executable, "-m", "pytest", "-rf", "-p", "no:cacheprovider", "-p", "tests.error_texts", *options]
        env = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "FLAMBEAU_GPUS": "virtual", **environment}
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, env=env)
        failed = re.findall(r"^FAILED test_few\.py::(\S+)", done.stdout, re.MULTILINE)
        return done.stdout, failed, file.read_text(encoding="utf-8")

    return run


@pytest.mark.slow
def test_an_update_writes_what_passes_and_keeps_what_failed_or_did_not_run(suite):
    gone = "test_few.py::test_gone\n    gone: x\n    hint: y\n\ntest_none.py::test_gone\n    gone: x\n    hint: y\n\n"
    output, failed, text = suite(f"{error_texts.HEAD}\n{gone}{FAILS}", "--update-errors")
    assert (failed, text) == (["test_fails"], WRITTEN), output
    assert "written: errors.txt" in output
    changed = WRITTEN.replace("two: d", "two: other").replace("first: j", "first: other")
    assert suite(changed, "--update-errors", "-k", "test_two")[2] == WRITTEN.replace("first: j", "first: other")


@pytest.mark.slow
def test_texts_that_differ_lack_or_are_left_over_fail(suite):
    other = WRITTEN.replace("fails: kept\n    hint: kept", "fails: h\n    hint: i")
    other = other.replace("two: d", "two: other").replace("test_each[x]", "test_other")
    other = other.replace(
        "\ntest_few.py::test_fails", "\ntest_few.py::test_no_error\n    no: x\n\ntest_few.py::test_fails"
    )
    output, failed, _ = suite(other)
    assert failed == ["test_two", "test_each[x]", "test_no_error", "test_fails"], output
    for part in (
        "./errors.txt has another text for call 2 of test_few.py::test_two:\n- two: other\n",
        "./errors.txt has no text for call 1 of test_few.py::test_each[x], which is:\nx: f\nhint: g\n",
        "./errors.txt has 1 texts for test_few.py::test_no_error, which made 0 calls; the next one is:\nno: x\n",
        "If that is meant: pytest ./test_few.py --update-errors",
    ):
        assert part in output
    assert suite(other, FLAMBEAU_GPUS="nvidia")[1] == ["test_fails"], "nothing is compared on hardware"


@pytest.mark.parametrize(
    ("dist", "on_hardware", "begins"), [("load", False, "one process"), ("no", True, "virtual GPUs")]
)
def test_one_process_on_virtual_gpus_writes(monkeypatch, dist, on_hardware, begins):
    monkeypatch.setattr(error_texts, "ON_HARDWARE", on_hardware)
    monkeypatch.setattr(error_texts.Running, "is_updating", False)
    options = {"--update-errors": True, "dist": dist}
    with pytest.raises(pytest.UsageError, match=begins):
        error_texts.pytest_configure(SimpleNamespace(getoption=lambda name, default=None: options[name]))


def test_what_is_refused_has_its_class_its_name_its_values_and_a_hint():
    def call(error=ArgumentError, what="size is 31", hint="use 3", name="sized"):
        def run():
            raise (
                error(what, hint=hint, operator=name)
                if error is ArgumentError
                else error(f"{name}: {what}\nhint: {hint}")
            )

        return run

    for wrong, value in ((call(name="other"), "31"), (call(), "1"), (call(hint=""), "31"), (call(ValueError), "31")):
        with pytest.raises(AssertionError):
            refused(wrong, ValueError, "sized", value)
    with pytest.raises(ArgumentError):
        refused(call(), TypeError, "sized", "31")
