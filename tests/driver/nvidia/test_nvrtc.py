"""The compiler's version, remembered beside its library."""

from __future__ import annotations

import sys

import pytest

from flambeau import errors
from flambeau.driver.nvidia import compile as compiling
from flambeau.driver.nvidia import library
from flambeau.driver.nvidia.cache import PrivateFiles


@pytest.fixture
def files(tmp_path, monkeypatch):
    (tmp_path / "libnvrtc.so").write_bytes(b"library")
    monkeypatch.setattr(compiling, "_library_path", lambda: str(tmp_path / "libnvrtc.so"))
    monkeypatch.setattr(library, "bindings_version", lambda: "13.5.0")
    made = PrivateFiles(tmp_path / "cubin")
    compiling.remember(made, (13, 5))
    return made


def test_the_architectures_that_it_compiles_for(monkeypatch):
    class Bindings:
        @staticmethod
        def nvrtcGetSupportedArchs():
            return 0, [75, 90, 121]

    monkeypatch.setattr(library, "nvrtc_bindings", lambda: Bindings)
    assert compiling.supported() == ["sm_75", "sm_90", "sm_121"]


def test_a_compiler_that_is_not_there_compiles_for_none(monkeypatch):
    monkeypatch.setitem(sys.modules, "cuda.bindings.nvrtc", None)
    assert compiling.supported() == []


def test_what_was_remembered(files):
    assert compiling.remembered(files) == (13, 5)


def test_a_changed_library_is_another(files, tmp_path):
    (tmp_path / "libnvrtc.so").write_bytes(b"newer library")
    assert compiling.remembered(files) is None
    compiling.remember(files, (13, 9))
    assert compiling.remembered(files) == (13, 9)


def test_a_library_that_is_gone_is_not_remembered(files, tmp_path):
    (tmp_path / "libnvrtc.so").unlink()
    assert compiling.remembered(files) is None


@pytest.mark.parametrize("name", compiling.SEARCHED)
def test_a_process_that_looks_elsewhere_remembers_nothing(files, monkeypatch, name):
    monkeypatch.setenv(name, "/elsewhere")
    assert compiling.remembered(files) is None


def test_other_bindings_remember_nothing(files, monkeypatch):
    monkeypatch.setattr(library, "bindings_version", lambda: "12.9.0")
    assert compiling.remembered(files) is None


def test_bindings_that_do_not_say_where_the_library_is(files, monkeypatch, tmp_path):
    monkeypatch.setattr(compiling, "_library_path", lambda: None)
    other = PrivateFiles(tmp_path / "other")
    compiling.remember(other, (13, 5))
    assert compiling.remembered(other) is None
    assert not other.directory.exists()


def test_a_compiler_that_is_missing_says_what_to_install(monkeypatch):
    class Missing:
        @staticmethod
        def nvrtcVersion():
            raise RuntimeError("libnvrtc.so cannot be found")

    monkeypatch.setattr(library, "nvrtc_bindings", lambda: Missing)
    compiling.nvrtc_version.cache_clear()
    with pytest.raises(errors.AcceleratorError, match=r"libnvrtc.so(.|\n)*hint: pip install nvidia-cuda-nvrtc"):
        compiling.nvrtc_version()


def test_the_bindings_say_where_the_library_is(request):
    request.getfixturevalue("nvrtc")
    path = compiling._library_path()
    assert path is None or "nvrtc" in path
