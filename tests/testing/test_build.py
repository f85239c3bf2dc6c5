"""Kernels compiled ahead: which ones, their followers, and the limits."""

from __future__ import annotations

import functools

import pytest

from flambeau import dtypes
from flambeau.driver.nvidia import compile, prebuilt_cubins
from flambeau.driver.nvidia import compile as compiling
from flambeau.driver.nvidia.compile import Source, following
from flambeau.kernel import Kernel
from flambeau.ops.operator import REGISTRY
from flambeau.testing import build, machine
from flambeau.testing.build import CALLS, STEPS, Run

FLOAT, HALF = dtypes.float32, dtypes.bfloat16


def kernel(name):
    return Kernel(name, f"source of {name}", (), lambda: None)


def run(names, leading=None, **options):
    return Run([kernel(name) for name in names], len(names) if leading is None else leading, **options)


RUNS = [
    run("ab"),
    run("cd", 1, data_type=HALF, is_first=True),
    run("ef", 1, data_type=FLOAT, is_first=True),
    run("ag", 1, data_type=FLOAT),
    run("h", 1, data_type=HALF),
]


def test_programs_come_first_then_the_main_types():
    assert "".join(each.entry for each in build.chosen(RUNS)) == "abefcdg"


def test_no_more_than_the_limit_is_chosen(monkeypatch):
    monkeypatch.setattr(build, "MAX_ENTRIES", 3)
    assert build.chosen(RUNS) == [Source(name, f"source of {name}") for name in "abe"]


def test_what_follows_an_operators_kernel_is_its_gradient_then_what_programs_do():
    assert build.followers(RUNS) == {"a": ["g", "b"], "c": ["d"], "e": ["f"]}


def test_no_more_than_some_are_expected(monkeypatch):
    names = "abcdefghijklmnop"
    assert build.followers([run(names)])["a"] == list(names[1 : 1 + build.FOLLOWERS])
    many = [run(["a", *(f"{name}{number}" for name in names)]) for number in range(9)]
    assert len(build.followers(many)["a"]) == build.MAX_FOLLOWERS


def _name(program) -> str:
    """`training-AdamW-float32`: the same in every process, as an address in it would not be."""
    if not isinstance(program, functools.partial):
        return getattr(program, "__name__", str(program))
    return "-".join(map(_name, (program.func, *program.args)))


@pytest.mark.parametrize("program", (*STEPS, *CALLS), ids=_name)
def test_the_programs_run(program):
    with machine(devices=1) as virtual:
        program()
        assert len(virtual.devices[0].kernels) > 10


def test_a_sample_gives_its_gradients_kernels(monkeypatch):
    operator = REGISTRY["relu"]
    sample = next(iter(operator.samples()))
    monkeypatch.setattr(build, "cases", lambda: [("", operator, FLOAT, 0, sample)])
    (found,) = build.sample_runs()
    entries = [each.entry for each in found.kernels]
    assert (found.leading, found.data_type, found.is_first) == (1, FLOAT, True)
    assert entries[0].startswith("relu_float32") and entries[1].startswith("relu_backward_float32")


def test_a_sample_that_writes_its_operands_gives_its_kernels(monkeypatch):
    operator = REGISTRY["adam_step"]
    sample = next(iter(operator.samples()))
    monkeypatch.setattr(build, "cases", lambda: [("", operator, FLOAT, 0, sample)])
    (found,) = build.sample_runs()
    assert [each.entry[:9] for each in found.kernels] == ["adam_step"]


@pytest.fixture
def few(tmp_path, monkeypatch):
    monkeypatch.setenv("FLAMBEAU_CACHE", str(tmp_path))
    monkeypatch.setattr(prebuilt_cubins, "DIRECTORY", tmp_path / "cubins")
    monkeypatch.setattr(build, "program_runs", lambda: RUNS[:1])
    monkeypatch.setattr(build, "sample_runs", lambda: RUNS[1:])
    for module in (compiling, build):
        monkeypatch.setattr(module, "nvrtc_version", lambda: (13, 5))
    monkeypatch.setattr(compiling, "compiled", lambda source, arch: f"{source.entry} {arch}".encode())
    monkeypatch.setattr(compiling, "remember", lambda files, version: None)
    monkeypatch.setattr(compiling, "remembered", lambda files: None)  # it asks for the version of the bindings
    prebuilt_cubins.archive.cache_clear()
    yield tmp_path / "cubins"
    prebuilt_cubins.archive.cache_clear()


def test_it_makes_an_archive_per_architecture_and_the_list(few):
    lines = []
    assert build.main(["--arch", "sm_80", "--arch", "sm_90"], lines.append) == 0
    assert sorted(path.name for path in few.iterdir()) == [compile.FOLLOWING_FILE, "sm_80.zip", "sm_90.zip"]
    assert lines[1].startswith("sm_80: 7 kernels, ")
    found = prebuilt_cubins.Archive(few / "sm_90.zip")
    assert found.read(prebuilt_cubins.cache_key("source of e", "sm_90", None)) == b"e sm_90"
    assert following(few / compile.FOLLOWING_FILE).of(Source("e", "source of e")) == [Source("f", "source of f")]


def test_a_pure_package_has_no_machine_code(few, monkeypatch):
    build.main(["--arch", "sm_80"], lambda line: None)
    monkeypatch.setattr(compiling, "nvrtc_version", lambda: pytest.fail("the compiler was loaded"))
    assert build.main(["--pure"], lambda line: None) == 0
    assert [path.name for path in few.iterdir()] == [compile.FOLLOWING_FILE]


def test_more_bytes_than_the_limit_fail(few, monkeypatch):
    monkeypatch.setattr(build, "MAX_BYTES", 100)
    lines = []
    assert build.main(["--arch", "sm_90"], lines.append) == 1
    assert lines[-1] == "sm_90: more than 400 kernels or 100 bytes may not be shipped"


def test_a_kernel_that_does_not_compile_fails(few, monkeypatch):
    def fails(source, arch):
        raise build.FlambeauError(f"{source.entry}: no")

    monkeypatch.setattr(compiling, "compiled", fails)
    lines = []
    assert build.main(["--arch", "sm_90"], lines.append) == 1
    assert lines[-1] == "a: no"
