"""The compiled hot path: what is compiled is what the package says, and is as new as its source."""

import json
import linecache
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import flambeau
from flambeau.tools.compiled import compiled_modules, is_compiled
from tests import both_ways

SETUP = """
import runpy, sys, setuptools
setuptools.setup = lambda **given: print(given["ext_modules"])
runpy.run_path(sys.argv[1])
"""
ROOT = Path(__file__).parents[1]
PACKAGE = Path(flambeau.__file__).parent
DECLARED = sorted({*PACKAGE.rglob("*.pxd"), *PACKAGE.rglob("*.pyx")})


def built_from(path: Path) -> list[Path]:
    return list(path.parent.glob(f"{path.stem}.*.so"))


def test_every_declaration_stands_beside_its_module():
    assert [each for each in DECLARED if not (each.suffix == ".pyx" or each.with_suffix(".py").exists())] == []


def test_all_of_the_hot_path_is_compiled_or_none_of_it():
    names = sorted({".".join(each.relative_to(PACKAGE).with_suffix("").parts) for each in DECLARED})
    assert compiled_modules() in ([], names)


@pytest.mark.skipif(not PACKAGE.is_relative_to(ROOT), reason="files of a wheel have the times of its archive")
def test_no_compiled_module_is_older_than_its_source():
    """If this fails: build again (pip install -e .), or delete the .so files to work without."""
    stale = [
        each.name
        for each in DECLARED
        for made in built_from(each)
        for source in (each, each.with_suffix(".py"))
        if source.exists() and made.stat().st_mtime < source.stat().st_mtime
    ]
    assert stale == []


@pytest.mark.parametrize(
    ("variable", "value"), [("CC", "no-such-compiler -O2"), ("FLAMBEAU_PURE", "1")], ids=["no compiler", "pure"]
)
def test_without_a_compiler_the_build_says_so_and_has_no_extensions(variable, value):
    pytest.importorskip("setuptools", minversion="77")
    environment = {**os.environ, "FLAMBEAU_PURE": "0", variable: value}
    command = [sys.executable, "-c", SETUP, str(ROOT / "setup.py")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, env=environment, check=True)
    assert done.stdout == "[]\n"
    assert done.stderr.startswith("setup.py: no module of flambeau is compiled: ")
    assert (variable if value == "1" else value) in done.stderr


@pytest.fixture(scope="module")
def records():
    """The events that tests/both_ways.py records, compiled and uncompiled."""
    if not is_compiled():
        pytest.skip("nothing is compiled here")
    found = []
    for options in ((), ("--uncompiled",)):
        command = [sys.executable, "-m", "tests.both_ways", *options]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr
        found.append(json.loads(done.stdout))
    assert [each.pop("compiled") for each in found] == [True, False]
    return found


@pytest.mark.parametrize("device", ["cpu", "cuda"])
@pytest.mark.parametrize("part", [each.__name__ for each in both_ways.PARTS])
def test_compiled_and_uncompiled_calls_are_the_same_to_a_user(records, part, device):
    compiled, uncompiled = (each[f"{part} {device}"] for each in records)
    assert len(compiled) > 10
    for number, (one, other) in enumerate(zip(compiled, uncompiled)):
        assert one == other, f"event {number}"
    assert len(compiled) == len(uncompiled)


@pytest.mark.parametrize("cls", [flambeau.Tensor, flambeau.cuda.Stream])
def test_methods_called_through_the_class_check_their_object(cls):
    """Compiled ones crash the process if they do not."""
    base = cls.__mro__[1]
    names = [name for name, value in vars(base).items() if callable(value) and not name.startswith("__")]
    assert len(names) >= 6
    for name in names:
        for wrong in (None, 1, object()):
            with pytest.raises((TypeError, AttributeError)):
                getattr(base, name)(wrong, *[None] * 4)
            with pytest.raises((TypeError, AttributeError)):
                getattr(base, name)(wrong)


FAILING = """
import flambeau as torch
x = torch.ones(4, device="cuda")
x[torch.tensor([9], device="cuda")]
torch.cuda.current_stream().synchronize()
"""


def test_tracebacks_show_the_lines_of_compiled_files(tmp_path):
    """Also those of a file that is called as one of the standard library, queue.py."""
    program = tmp_path / "program.py"
    program.write_text(FAILING)
    environment = {**os.environ, "FLAMBEAU_GPUS": "virtual:1", "PYTHONPATH": str(PACKAGE.parent)}
    command = [sys.executable, str(program)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, env=environment, cwd=tmp_path)
    shown = re.findall(r'File "(.+)", line (\d+), in .*\n    (.*)\n', done.stderr)
    assert any(path.endswith("core/queue.py") for path, _, _ in shown), done.stderr
    assert done.stderr.count('  File "') == len(shown)
    assert [text for path, line, text in shown if linecache.getline(path, int(line)).strip() != text] == []
