"""What NVML tells of NVIDIA's devices, and which of them an index is."""

from __future__ import annotations

import ctypes
import os

import pytest

import flambeau as torch
from flambeau import errors
from flambeau.config import Gpus
from flambeau.core import thread
from flambeau.driver.nvidia import nvml
from flambeau.driver.nvidia.monitor import NvidiaMonitor
from flambeau.runtime.machine import Machine


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
    watched.processes = [(7, 3 << 20), (12345, nvml.NOT_AVAILABLE)]
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
    with pytest.raises(RuntimeError, match=r"cuda:1 is not visible(.|\n)*hint: CUDA_VISIBLE_DEVICES"):
        torch.cuda.utilization(1)
    with pytest.raises(errors.DeviceIndexError, match="this process sees 1 of 2 devices"):
        NvidiaMonitor(None).utilization(1)


def test_after_the_start_the_driver_says_which_device_it_is(watched, driver, monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    watched.uuids[1] = driver.properties(0).uuid
    assert NvidiaMonitor(driver).utilization(0) == 20


def test_without_nvml_an_error_says_what_to_install(unwatched, nvidia):
    with pytest.raises(RuntimeError, match=r"NVML(.|\n)*libnvidia-ml\.so\.1(.|\n)*hint: install NVIDIA's driver"):
        torch.cuda.utilization()
    assert torch.cuda.list_gpu_processes().startswith("NVML, which watches NVIDIA's devices, cannot be loaded")


def test_a_driver_that_is_not_loaded(watched, nvidia, monkeypatch):
    watched.fails["nvmlInit_v2"] = 9
    monkeypatch.undo()
    monkeypatch.setattr(ctypes, "CDLL", lambda name: watched)
    nvml._of_process.cache_clear()
    assert "NVIDIA's driver is not loaded (NVML status 9)" in torch.cuda.list_gpu_processes()
    with pytest.raises(errors.NoDeviceError, match="driver is not loaded"):
        torch.cuda.temperature()


def test_what_a_device_does_not_tell(watched, nvidia):
    watched.fails["nvmlDeviceGetPowerUsage"] = 3
    with pytest.raises(errors.NotSupportedError, match="nvmlDeviceGetPowerUsage: the device does not tell"):
        torch.cuda.power_draw()


def test_a_call_that_the_library_lacks():
    class Old:
        @staticmethod
        def nvmlInit_v2():
            return 0

    with pytest.raises(errors.NotSupportedError, match="hint: update NVIDIA's driver"):
        nvml.Nvml(Old()).device("GPU-")


def test_each_process_starts_it_once(watched, monkeypatch):
    monkeypatch.undo()
    monkeypatch.setattr(ctypes, "CDLL", lambda name: watched)
    nvml._of_process.cache_clear()
    before = watched.calls.count("nvmlInit_v2")
    assert nvml.load() is nvml.load()
    monkeypatch.setattr(os, "getpid", lambda: -1)
    nvml.load()
    assert watched.calls.count("nvmlInit_v2") - before == 2
    nvml._of_process.cache_clear()
