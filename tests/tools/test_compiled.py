"""The warning if no module is compiled although a C compiler is installed, and the report of `flambeau doctor`."""

import os
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

import flambeau
from flambeau.cli import doctor
from flambeau.tools import compiled

IMPORT = [sys.executable, "-c", "import flambeau; print('imported')"]


@pytest.fixture
def uncompiled(monkeypatch, tmp_path):
    """A core that is not compiled, and a C compiler."""
    (tmp_path / "cc").touch(mode=0o755)
    monkeypatch.setattr(compiled, "is_compiled", lambda: False)
    monkeypatch.setenv("CC", f"{tmp_path}/cc -O2")
    monkeypatch.delenv("FLAMBEAU_PURE")
    return tmp_path / "cc"


def test_it_names_the_compiler_and_the_ways_out(uncompiled):
    with pytest.warns(RuntimeWarning) as caught:
        compiled.warn_if_uncompiled()
    text = str(caught[0].message)
    assert str(uncompiled) in text and "pip install -e ." in text and "FLAMBEAU_PURE=1" in text


@pytest.mark.filterwarnings("error")
def test_nothing_is_said_where_nothing_is_wrong(uncompiled, monkeypatch):
    with monkeypatch.context() as patched:
        patched.setenv("CC", f"{uncompiled}-that-is-not-there")
        assert compiled.c_compiler() is None and compiled.problem() == ""
    with monkeypatch.context() as patched:
        patched.setenv("FLAMBEAU_PURE", "1")
        assert compiled.problem() == ""
    with monkeypatch.context() as patched:
        patched.setattr(compiled, "is_compiled", lambda: True)
        assert compiled.problem() == ""
        compiled.warn_if_uncompiled()


def test_an_import_warns_at_the_program_s_own_line(uncompiled):
    if "core.plan" in compiled.compiled_modules():
        pytest.skip("the core is compiled here")
    done = subprocess.run(IMPORT, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and done.stdout == "imported\n"
    assert done.stderr.startswith("<string>:1: RuntimeWarning: flambeau: ") and done.stderr.count("Warning") == 1


def test_processes_that_a_program_starts_do_not_repeat_it(uncompiled, monkeypatch):
    from multiprocessing import process

    monkeypatch.setattr(process, "parent_process", lambda: object())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        compiled.warn_if_uncompiled()
    assert compiled.problem() != ""


def test_an_import_that_has_nothing_to_say_looks_for_no_compiler():
    text = "import sys, flambeau; print('sysconfig' in sys.modules or 'shutil' in sys.modules)"
    command = [sys.executable, "-S", "-c", text]
    environment = {**os.environ, "FLAMBEAU_PURE": "1", "PYTHONPATH": str(Path(flambeau.__file__).parents[1])}
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, env=environment, check=True)
    assert done.stdout == "False\n"


def test_doctor_says_it_loudly(uncompiled, monkeypatch):
    monkeypatch.setattr(compiled, "compiled_modules", list)
    found = doctor.report()
    assert str(uncompiled) in found["uncompiled"] and found["c compiler"] == str(uncompiled)
    assert str(uncompiled) in dict(doctor.rows(found))["compiled modules"]
    assert "FLAMBEAU_PURE=1" in doctor.advice(found)[0]
    monkeypatch.setenv("FLAMBEAU_PURE", "1")
    found = doctor.report()
    assert found["uncompiled"] == "" and "FLAMBEAU_PURE" in dict(doctor.rows(found))["compiled modules"]
