"""Devices are counted without starting CUDA where NVML can tell, and by the driver where it cannot."""

from __future__ import annotations

from enum import IntEnum
from types import SimpleNamespace

import pytest

from flambeau import driver
from flambeau.config import Gpus
from flambeau.core import thread
from flambeau.driver.nvidia import count, library
from flambeau.errors import NoDeviceError
from flambeau.runtime.machine import Machine


class Result(IntEnum):
    CUDA_SUCCESS = 0
    CUDA_ERROR_NO_DEVICE = 100


@pytest.fixture(autouse=True)
def bindings(cuda, monkeypatch):
    """The driver's bindings; what they are asked stands in `cuda.calls`."""
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
    assert count.device_count() == expected
    assert count.is_there() and cuda.calls == []


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
    assert count.device_count() == 2 and count.is_there()
    assert cuda.named("cuInit") and library.first_initialized() is not None


def test_parts_of_devices_are_counted_by_the_driver(watched, cuda, monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "MIG-11111111-2222-3333-4444-555555555555")
    assert count.device_count() == 2 and cuda.named("cuInit")


def test_a_divided_device_is_counted_by_the_driver(watched, cuda):
    watched.fails.clear()
    watched.divided = 1
    assert count.device_count() == 2 and cuda.named("cuInit")


def test_an_nvml_that_does_not_start_is_as_none(watched, cuda):
    watched.fails["nvmlDeviceGetCount_v2"] = 999
    assert count.device_count() == 2 and cuda.named("cuInit")


def test_without_bindings_no_device_can_be_used(watched, monkeypatch):
    def missing():
        raise NoDeviceError("cuda.bindings.driver cannot be imported")

    monkeypatch.setattr(library, "driver_bindings", missing)
    assert count.device_count() == 0 and not count.is_there()


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
    assert count.device_count() == 0 and not count.is_there()


def test_the_package_asks_here(monkeypatch):
    monkeypatch.setattr(count, "device_count", lambda: 3)
    monkeypatch.setattr(count, "is_there", lambda: True)
    assert driver.nvidia_device_count() == 3 and driver.nvidia_is_there()
