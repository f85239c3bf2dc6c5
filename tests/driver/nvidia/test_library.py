"""Codes become errors, and nothing of NVIDIA's is touched before it is needed."""

from __future__ import annotations

import subprocess
import sys
from enum import IntEnum
from types import SimpleNamespace

import pytest

from flambeau import callers, errors
from flambeau.driver.nvidia import library


class Result(IntEnum):
    CUDA_SUCCESS = 0
    CUDA_ERROR_INVALID_VALUE = 1
    CUDA_ERROR_OUT_OF_MEMORY = 2
    CUDA_ERROR_INSUFFICIENT_DRIVER = 35
    CUDA_ERROR_NO_DEVICE = 100
    CUDA_ERROR_NOT_READY = 600


class NvrtcResult(IntEnum):
    NVRTC_SUCCESS = 0
    NVRTC_ERROR_OUT_OF_MEMORY = 1
    NVRTC_ERROR_COMPILATION = 6


def test_success_gives_what_the_call_returned():
    assert library.check((Result(0),), "cuInit") is None
    assert library.check((Result(0), 5), "cuDeviceGet") == 5
    assert library.check((Result(0), 5, 6), "cuMemGetInfo") == (5, 6)


def test_a_code_becomes_an_error_that_names_the_call_the_code_and_the_values():
    with pytest.raises(errors.AcceleratorError) as raised:
        library.check((Result(1),), "cuMemFree", address="0x10", device=3)
    assert (
        str(raised.value)
        == "cuMemFree: CUDA error: invalid argument: CUDA_ERROR_INVALID_VALUE (1); address is 0x10, device is 3"
    )
    assert raised.value.error_code == 1
    assert not raised.value.sticky


def test_out_of_memory_has_its_own_error():
    with pytest.raises(
        errors.OutOfMemoryError,
        match=r"cuMemAlloc: CUDA error: out of memory: CUDA_ERROR_OUT_OF_MEMORY \(2\); nbytes is 8",
    ):
        library.check((Result(2), None), "cuMemAlloc", nbytes=8)


@pytest.mark.parametrize("code", [214, 220, 226, 700, 702, 709, 710, 714, 715, 716, 717, 718, 719])
def test_codes_after_which_a_device_is_lost_are_sticky(code):
    failure = library.error_of(code, "cuStreamSynchronize", {})
    assert isinstance(failure, errors.AcceleratorError)
    assert failure.sticky
    assert failure.error_code == code
    assert "CUDA_LAUNCH_BLOCKING=1" in failure.hint and "FLAMBEAU_STRICT=1" in failure.hint
    assert "this process cannot use the device any more" in failure.hint
    assert f"; met by a call at {__file__}:" in failure.fact


@pytest.mark.parametrize("code", [1, 2, 100, 400, 600, 704, 712, 720, 900, 999])
def test_other_codes_leave_the_device_usable(code):
    failure = library.error_of(code, "cuStreamSynchronize", {})
    assert not getattr(failure, "sticky", False) and "any more" not in str(failure)


def test_a_lost_device_names_what_was_launched_before_where_that_is_known(monkeypatch):
    monkeypatch.setattr(callers, "suspects", lambda: ["gather at train.py:7 on s", "add at train.py:5 on s"])
    failure = library.error_of(719, "cuStreamSynchronize", {})
    assert "launched before, the latest first: gather at train.py:7 on s, add at train.py:5 on s" in failure.fact
    assert "FLAMBEAU_STRICT" not in failure.hint and "CUDA_LAUNCH_BLOCKING=1" in failure.hint
    monkeypatch.setattr(callers, "suspects", lambda: [])
    assert "FLAMBEAU_STRICT=1" in library.error_of(719, "cuStreamSynchronize", {}).hint


@pytest.mark.parametrize("code", [Result.CUDA_ERROR_NO_DEVICE, Result.CUDA_ERROR_INSUFFICIENT_DRIVER])
def test_no_device_says_how_to_get_virtual_ones(code):
    with pytest.raises(errors.NoDeviceError, match=r"hint: .*FLAMBEAU_GPUS=virtual:2"):
        library.check((code,), "cuInit")


def test_a_compiler_code_is_not_taken_for_a_driver_code():
    failure = library.error_of(NvrtcResult.NVRTC_ERROR_OUT_OF_MEMORY, "nvrtcCompileProgram", {})
    assert type(failure) is errors.AcceleratorError
    assert failure.error_code == library.INVALID_SOURCE


def test_a_code_that_the_bindings_do_not_know_is_an_error_too():
    failure = library.error_of(9999, "cuInit", {})
    assert isinstance(failure, errors.AcceleratorError)
    assert failure.error_code == 9999


def test_a_query_is_false_only_where_work_is_not_done():
    assert library.check_ready((Result(0),), "cuEventQuery")
    assert not library.check_ready((Result.CUDA_ERROR_NOT_READY,), "cuEventQuery")
    with pytest.raises(errors.AcceleratorError):
        library.check_ready((Result(1),), "cuEventQuery")


@pytest.mark.parametrize(
    ("status", "error", "values"),
    [
        (3, errors.NotSupportedError, ("the device does not tell", "newer NVIDIA driver")),
        (9, errors.NoDeviceError, ("driver is not loaded", "FLAMBEAU_GPUS=virtual:2")),
        (999, errors.AcceleratorError, ("unknown code",)),
    ],
)
def test_nvml_statuses(status, error, values):
    found = library.nvml_error(status, "nvmlX")
    assert type(found) is error
    assert all(value in str(found) for value in ("nvmlX", f"NVML status {status}", *values))


def test_blas_statuses():
    library.check_blas(0, "cublasLtCreate")
    with pytest.raises(errors.OutOfMemoryError):
        library.check_blas(3, "cublasLtCreate")
    with pytest.raises(errors.AcceleratorError, match="cublasLtMatmul: cuBLAS status 7; device is 1"):
        library.check_blas(7, "cublasLtMatmul", device=1)


def no_library(flags):
    raise RuntimeError("libcuda.so.1 cannot be found")


def test_starting_without_a_driver_says_how_to_get_virtual_gpus():
    with pytest.raises(errors.NoDeviceError, match=r"cannot be loaded: libcuda(.|\n)*hint: .*FLAMBEAU_GPUS=virtual:2"):
        library.initialize(SimpleNamespace(cuInit=no_library))


def test_bindings_that_are_not_installed_are_no_device(monkeypatch):
    monkeypatch.setitem(sys.modules, "cuda.bindings.driver", None)
    with pytest.raises(errors.NoDeviceError, match='hint: pip install "cuda-bindings"'):
        library.driver_bindings()


def test_importing_the_driver_loads_neither_bindings_nor_numpy():
    program = (
        "import sys, flambeau.driver, flambeau.driver.nvidia.driver as d; d.NvidiaDriver();"
        "print([name for name in sys.modules if name.startswith('cuda') or name == 'numpy'])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_wheels_are_searched(monkeypatch, tmp_path):
    name = "libnvtx3interop.so.1"
    place = tmp_path / "cu13" / "lib"
    place.mkdir(parents=True)
    (place / name).touch()
    found = SimpleNamespace(submodule_search_locations=[str(tmp_path)])
    monkeypatch.setattr(library.importlib.util, "find_spec", lambda package: found)
    assert library.in_wheels(name) == [str(place / name)]
    monkeypatch.setattr(library.importlib.util, "find_spec", lambda package: None)
    assert library.in_wheels(name) == []


def test_the_first_library_that_opens_is_taken(monkeypatch):
    asked = []

    def find(path):
        asked.append(path)
        if path == "missing":
            raise OSError(path)
        return f"opened {path}"

    monkeypatch.setattr(library.ctypes, "CDLL", find)
    assert library.open_first("missing", "second", "third") == "opened second"
    assert library.open_first("missing") is None
    assert asked == ["missing", "second", "missing"]
