"""NVML's figures of NVIDIA devices, and the device that an index refers to."""

from __future__ import annotations

import os
import sys
from enum import IntEnum
from types import SimpleNamespace

import pynvml
import pytest

import flambeau as torch
from flambeau import driver, errors
from flambeau.config import Gpus
from flambeau.core import thread
from flambeau.driver.nvidia import library, nvml
from flambeau.driver.nvidia.nvml import NvidiaMonitor
from flambeau.errors import NoDeviceError
from flambeau.runtime.machine import Machine

from .conftest import install_nvml


@pytest.fixture
def nvidia(monkeypatch, cuda):
    """A machine of NVIDIA GPUs that has not started."""
    monkeypatch.setattr("flambeau.driver.nvidia.library.driver_bindings", lambda: cuda)
    made = Machine(Gpus("nvidia"))
    former = thread.swap_machine(made)
    yield made
    assert not made.is_started and cuda.calls == []
    thread.swap_machine(former)


def test_every_figure(watched, nvidia):
    names = "utilization", "memory_usage", "temperature", "power_draw", "clock_rate", "device_memory_used"
    assert [getattr(torch.cuda, name)(1) for name in names] == [20, 40, 42, 100_002, 1002, (1 << 36) + 2]
    assert [getattr(torch.cuda, name)() for name in names] == [10, 20, 41, 100_001, 1001, (1 << 36) + 1]


def test_processes(watched, nvidia):
    assert torch.cuda.list_gpu_processes() == "GPU:0\nno processes are running"
    watched.processes = [(7, 3 << 20), (12345, pynvml.NVML_VALUE_NOT_AVAILABLE_ulonglong.value)]
    assert torch.cuda.list_gpu_processes(1).splitlines() == [
        "GPU:1",
        "process          7 uses        3.000 MB GPU memory",
        "process      12345 uses      unknown MB GPU memory",
    ]


@pytest.mark.parametrize("visible", ["1,0", "GPU-aaab,GPU-aaaa", "1gpu,0"])
def test_an_index_is_a_place_in_the_list_of_visible_devices(watched, nvidia, monkeypatch, visible):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    assert [torch.cuda.utilization(index) for index in (0, 1)] == [20, 10]


def test_a_device_that_is_not_visible(watched, nvidia, monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1")
    assert torch.cuda.utilization(0) == 20
    with pytest.raises(RuntimeError, match=r"cuda:1 is not visible(.|\n)*hint: .*CUDA_VISIBLE_DEVICES"):
        torch.cuda.utilization(1)
    with pytest.raises(errors.DeviceIndexError, match="this process sees 1 of 2 devices"):
        NvidiaMonitor(None).utilization(1)


def test_after_the_start_the_driver_says_which_device_it_is(watched, driver, monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    watched.uuids[1] = driver.properties(0).uuid
    assert NvidiaMonitor(driver).utilization(0) == 20


def test_without_nvml_an_error_says_what_to_install(unwatched, nvidia):
    with pytest.raises(RuntimeError, match=r"libnvidia-ml\.so\.1(.|\n)*hint: install NVIDIA's driver(.|\n)*virtual:2"):
        torch.cuda.utilization()
    assert "libnvidia-ml.so.1 cannot be loaded (NVML status 12)" in torch.cuda.list_gpu_processes()


def test_without_the_bindings_an_error_says_what_to_install(unwatched, nvidia, monkeypatch):
    monkeypatch.setitem(sys.modules, "pynvml", None)
    with pytest.raises(errors.NoDeviceError, match=r"pynvml(.|\n)*hint: pip install \"nvidia-ml-py\""):
        torch.cuda.utilization()
    assert nvml.whole_devices() is None


def test_a_driver_that_is_not_loaded(watched, nvidia):
    watched.fails["nvmlInitWithFlags"] = 9
    assert "NVIDIA's driver is not loaded (NVML status 9)" in torch.cuda.list_gpu_processes()
    with pytest.raises(errors.NoDeviceError, match="driver is not loaded"):
        torch.cuda.temperature()


def test_what_a_device_does_not_tell(watched, nvidia):
    watched.fails["nvmlDeviceGetPowerUsage"] = 3
    with pytest.raises(errors.NotSupportedError, match="nvmlDeviceGetPowerUsage: the device does not tell"):
        torch.cuda.power_draw()


def test_a_call_that_the_library_lacks(monkeypatch):
    install_nvml(monkeypatch, SimpleNamespace(nvmlInitWithFlags=lambda flags: 0))
    with pytest.raises(errors.NotSupportedError, match=r"nvmlDeviceGetHandleByUUID(.|\n)*hint: install a newer"):
        nvml.load().device("GPU-")
    nvml._of_process.cache_clear()


def test_each_process_starts_it_once(watched, monkeypatch):
    assert nvml.load() is nvml.load() and watched.calls == ["nvmlInitWithFlags"]
    monkeypatch.setattr(os, "getpid", lambda: -1)
    nvml.load()
    assert watched.calls == ["nvmlInitWithFlags"] * 2


class Result(IntEnum):
    CUDA_SUCCESS = 0
    CUDA_ERROR_NO_DEVICE = 100


@pytest.fixture(autouse=True)
def bindings(cuda, monkeypatch):
    """The driver's bindings, which record their calls in `cuda.calls`."""
    monkeypatch.setattr(library, "driver_bindings", lambda: cuda)
    monkeypatch.setattr(library, "_first", [])
    return cuda


@pytest.mark.parametrize(
    ("visible", "expected"),
    [
        (None, 2), ("", 0), ("1", 1), ("1,0", 2), ("0,0", 0), ("1gpu2,0ampere", 2), ("0,-1,1", 1), ("0,2", 1),
        ("GPU-aaab", 1), ("GPU-aaa", 0), ("GPU-aaab,GPU-aaaa", 2), ("GPU-aaaa,GPU-aaaa0", 0), ("GPU-ffff", 0),
    ],
)  # fmt: skip
def test_the_list_of_visible_devices_is_read_here(watched, cuda, monkeypatch, visible, expected):
    if visible is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    assert nvml.device_count() == expected
    assert nvml.has_device() and cuda.calls == []


def test_the_count_follows_the_environment_until_the_start(watched, cuda, monkeypatch):
    made = Machine(Gpus("nvidia"))
    for visible, expected in (("", 0), ("0", 1), ("0,1", 2)):
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
        assert made.device_count() == expected
    assert cuda.calls == [] and library.first_initialized() is None


def test_a_hidden_device_is_there_all_the_same(watched, monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    monkeypatch.delenv("FLAMBEAU_GPUS", raising=False)
    made = Machine.from_environment()
    assert (made.choice.kind, made.device_count()) == ("nvidia", 0)
    with pytest.raises(NoDeviceError, match="no NVIDIA GPU"):
        made.start()
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1")
    assert made.device_count() == 1


def test_naming_the_accelerator_starts_nothing(watched, cuda, monkeypatch):
    import flambeau as torch

    former = thread.swap_machine(Machine(Gpus("nvidia")))
    try:
        assert str(torch.accelerator.current_accelerator()) == "cuda" and torch.cuda.is_available()
    finally:
        thread.swap_machine(former)
    assert cuda.calls == []


def test_without_nvml_the_driver_is_asked(unwatched, cuda):
    assert nvml.device_count() == 2 and nvml.has_device()
    assert cuda.named("cuInit") and library.first_initialized() is not None


def test_parts_of_devices_are_counted_by_the_driver(watched, cuda, monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "MIG-11111111-2222-3333-4444-555555555555")
    assert nvml.device_count() == 2 and cuda.named("cuInit")


def test_a_divided_device_is_counted_by_the_driver(watched, cuda):
    watched.fails.clear()
    watched.divided = 1
    assert nvml.device_count() == 2 and cuda.named("cuInit")


def test_an_nvml_that_does_not_start_is_as_none(watched, cuda):
    watched.fails["nvmlDeviceGetCount_v2"] = 999
    assert nvml.device_count() == 2 and cuda.named("cuInit")


def test_without_bindings_no_device_can_be_used(watched, monkeypatch):
    def missing():
        raise NoDeviceError("cuda.bindings.driver cannot be imported")

    monkeypatch.setattr(library, "driver_bindings", missing)
    assert nvml.device_count() == 0 and not nvml.has_device()


def no_library(flags):
    raise RuntimeError("libcuda.so.1 cannot be found")


@pytest.mark.parametrize(
    "broken",
    [
        SimpleNamespace(cuInit=no_library),
        SimpleNamespace(cuInit=lambda flags: (Result.CUDA_ERROR_NO_DEVICE,)),
        SimpleNamespace(cuInit=lambda flags: (Result(0),), cuDeviceGetCount=lambda: (Result(0), 0)),
        SimpleNamespace(),
    ],
    ids=["no library", "no device", "none visible", "not the bindings"],
)
def test_the_count_is_zero_whatever_is_missing(unwatched, broken, monkeypatch):
    monkeypatch.setattr(library, "driver_bindings", lambda: broken)
    assert nvml.device_count() == 0 and not nvml.has_device()


def test_the_package_asks_here(monkeypatch):
    monkeypatch.setattr(nvml, "device_count", lambda: 3)
    monkeypatch.setattr(nvml, "has_device", lambda: True)
    assert driver.nvidia_device_count() == 3 and driver.nvidia_is_there()
