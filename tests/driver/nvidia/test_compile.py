"""Compiling to machine code without a GPU, and which cached files are trusted."""

from __future__ import annotations

import os

import pytest

from flambeau import dtypes, errors
from flambeau.driver.nvidia import compile as compiling
from flambeau.driver.nvidia.compile import CubinFiles, cache_key, compile_cubin
from flambeau.kernel import Kernel, Pointer

SOURCE = 'extern "C" __global__ void fill(float* out) { out[threadIdx.x] = 1.0f; }'
ELF = b"\x7fELF"


def kernel(source=SOURCE):
    return Kernel("fill", source, (Pointer("out", dtypes.float32, "w", (32,)),), lambda out: None)


@pytest.fixture
def files(tmp_path):
    made = CubinFiles(tmp_path / "cubin")
    made.write("key", b"content")
    return made


@pytest.fixture
def path(files):
    return files.directory / "key.cubin"


@pytest.mark.parametrize("arch", ["sm_80", "sm_90", "sm_100"])
def test_a_cubin_is_machine_code(nvrtc, arch):
    assert compile_cubin(kernel(), arch).startswith(ELF)


def test_the_second_time_nothing_is_compiled(nvrtc, monkeypatch):
    first = compile_cubin(kernel(), "sm_90")
    monkeypatch.setattr(compiling, "_compile", lambda *arguments: pytest.fail("compiled again"))
    assert compile_cubin(kernel(), "sm_90") == first


def test_a_damaged_file_is_made_again(nvrtc, tmp_path):
    first = compile_cubin(kernel(), "sm_90")
    (path,) = (tmp_path / "cubin").iterdir()
    path.write_bytes(path.read_bytes()[:-1] + b"?")
    assert compile_cubin(kernel(), "sm_90") == first
    assert path.read_bytes().endswith(first)


def test_an_error_has_the_log_and_the_kernel(nvrtc, tmp_path):
    with pytest.raises(errors.AcceleratorError) as raised:
        compile_cubin(kernel("this is not CUDA"), "sm_90")
    assert "nvrtcCompileProgram of fill for sm_90: NVRTC_ERROR_COMPILATION (6)" in str(raised.value)
    assert "fill.cu(1): error:" in str(raised.value)
    assert not (tmp_path / "cubin").exists()


def test_an_architecture_that_the_compiler_does_not_know(nvrtc):
    with pytest.raises(errors.AcceleratorError, match="fill for sm_1: NVRTC_ERROR_INVALID_OPTION"):
        compile_cubin(kernel(), "sm_1")


def test_everything_that_decides_the_content_is_in_the_key():
    keys = {
        cache_key("a", "sm_90", (13, 0)),
        cache_key("b", "sm_90", (13, 0)),
        cache_key("a", "sm_80", (13, 0)),
        cache_key("a", "sm_90", (13, 5)),
        cache_key("as", "m_90", (13, 0)),
    }
    assert len(keys) == 5


def test_options_are_in_the_key(monkeypatch):
    before = cache_key("a", "sm_90", (13, 0))
    monkeypatch.setattr(compiling, "OPTIONS", (*compiling.OPTIONS, "-lineinfo"))
    assert cache_key("a", "sm_90", (13, 0)) != before


def test_what_is_written_is_read(files):
    assert files.read("key") == b"content"
    assert files.read("other") is None


def test_directory_and_files_are_private_and_nothing_else_is_left(files, path):
    assert files.directory.stat().st_mode & 0o777 == 0o700
    assert path.stat().st_mode & 0o777 == 0o600
    assert list(files.directory.iterdir()) == [path]


@pytest.mark.parametrize(
    "damage",
    [
        lambda sealed: b"",
        lambda sealed: sealed[:10],
        lambda sealed: sealed[:-1],
        lambda sealed: sealed + b"more",
        lambda sealed: b"X" + sealed[1:],
        lambda sealed: sealed.replace(b"content", b"contend"),
    ],
)
def test_damaged_files_are_not_trusted(files, path, damage):
    path.write_bytes(damage(path.read_bytes()))
    assert files.read("key") is None


@pytest.mark.parametrize("mode", [0o620, 0o602])
def test_files_that_others_may_write_are_not_trusted(files, path, mode):
    path.chmod(mode)
    assert files.read("key") is None


def test_a_link_is_not_followed(files, path):
    (files.directory / "linked.cubin").symlink_to(path)
    assert files.read("linked") is None


def test_files_of_another_user_are_not_trusted(files, monkeypatch):
    other = os.geteuid() + 1
    monkeypatch.setattr(os, "geteuid", lambda: other)
    assert files.read("key") is None


def test_a_directory_that_others_may_write_is_not_trusted_and_becomes_private(files):
    files.directory.chmod(0o777)
    assert files.read("key") is None
    files.write("key", b"content")
    assert files.directory.stat().st_mode & 0o777 == 0o700
    assert files.read("key") == b"content"


def test_a_directory_that_cannot_be_used_costs_a_warning(tmp_path):
    (tmp_path / "cubin").write_text("a file")
    files = CubinFiles(tmp_path / "cubin")
    with pytest.warns(RuntimeWarning, match="every process compiles them again: .*FLAMBEAU_CACHE"):
        files.write("key", b"content")
    assert files.read("key") is None


def test_another_users_directory_costs_a_warning(files, monkeypatch):
    other = os.geteuid() + 1
    monkeypatch.setattr(os, "geteuid", lambda: other)
    with pytest.warns(RuntimeWarning, match="is not a directory of this user"):
        files.write("key", b"content")


def test_a_compiler_that_is_missing_says_what_to_install(monkeypatch):
    class Missing:
        @staticmethod
        def nvrtcVersion():
            raise RuntimeError("libnvrtc.so cannot be found")

    monkeypatch.setattr(compiling.library, "nvrtc_bindings", lambda: Missing)
    compiling.nvrtc_version.cache_clear()
    with pytest.raises(errors.AcceleratorError, match=r"libnvrtc.so(.|\n)*hint: pip install nvidia-cuda-nvrtc"):
        compiling.nvrtc_version()
