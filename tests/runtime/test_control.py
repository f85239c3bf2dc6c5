"""Functions that describe devices and the package, errors without a device, and monitoring of virtual GPUs.

tests/driver/nvidia/test_nvml.py has the monitoring of NVIDIA GPUs.
"""

import os

import numpy as np
import pytest

import flambeau as torch
from flambeau import errors
from flambeau.config import Gpus, virtual_gpus
from flambeau.core import thread
from flambeau.driver.nvidia import compile as compiling
from flambeau.driver.nvidia import prebuilt_cubins
from flambeau.runtime.machine import Machine
from flambeau.testing import machine


def test_the_architectures_of_virtual_gpus():
    with machine():
        assert torch.cuda.get_arch_list() == ["sm_90"]
        assert torch.cuda.get_gencode_flags() == "-gencode compute=compute_90,code=sm_90"


@pytest.fixture
def chosen():
    """Return a machine that has not started, for a choice of GPUs."""
    former = []

    def choose(kind):
        former.append(thread.swap_machine(Machine(Gpus(kind))))

    yield choose
    thread.swap_machine(former[0])


def test_without_gpus_there_are_no_architectures(chosen):
    chosen("none")
    assert (torch.cuda.get_arch_list(), torch.cuda.get_gencode_flags()) == ([], "")


def test_on_nvidia_what_is_shipped_and_what_can_be_compiled(chosen, monkeypatch):
    chosen("nvidia")
    monkeypatch.setattr(prebuilt_cubins, "architectures", lambda: {"sm_90": 3, "sm_80": 3})
    monkeypatch.setattr(compiling, "supported", lambda: ["sm_90", "sm_100"])
    assert torch.cuda.get_arch_list() == ["sm_80", "sm_90", "sm_100"]
    assert not thread.machine().is_started


def test_a_code_of_the_runtime():
    torch.cuda.check_error(0)
    with pytest.raises(torch.cuda.CudaError, match=r"CUDA error: out of memory \(2\)\nhint: ") as raised:
        torch.cuda.check_error(2)
    with pytest.raises(
        errors.ArgumentTypeError, match="^check_error: the error code must be an int, got 'two'\nhint: "
    ):
        torch.cuda.check_error("two")
    assert raised.value.error_code == 2 and isinstance(raised.value, errors.AcceleratorError)


def test_statistics_as_nested_dictionaries():
    with machine():
        x = torch.ones(4, device="cuda")
        nested, flat = torch.cuda.memory_stats_as_nested_dict(), torch.cuda.memory_stats()
        assert nested["allocated_bytes"]["all"]["current"] == flat["allocated_bytes.all.current"] == 512
        assert nested["num_ooms"] == 0 and x.numel() == 4
        assert torch.cuda.memory.host_memory_stats_as_nested_dict().keys() == {
            key.partition(".")[0] for key in torch.cuda.host_memory_stats()
        }


def test_an_idle_device_is_idle_and_empty():
    with machine(devices=2):
        assert [torch.cuda.utilization(), torch.cuda.memory_usage("cuda:1"), torch.cuda.device_memory_used()] == [0] * 3
        assert torch.cuda.list_gpu_processes(1) == "GPU:1\nno processes are running"
        assert torch.cuda.clock_rate() == 1980


def test_a_device_may_be_given_in_every_form():
    with machine(devices=2):
        torch.ones(3 << 20, device="cuda:1")
        forms = [1, np.int64(1), "cuda:1", torch.device("cuda:1"), torch.cuda.device(1), torch.cuda.Stream(1)]
        assert [torch.cuda.device_memory_used(each) for each in forms] == [12 << 20] * 6
        with pytest.raises(errors.ArgumentError, match="Expected a cuda device, but got: cpu"):
            torch.cuda.utilization("cpu")


def test_memory_used_is_what_is_reserved():
    with machine(devices=2):
        torch.ones(3 << 20, device="cuda:1")
        assert torch.cuda.device_memory_used(0) == 0
        assert torch.cuda.device_memory_used(1) == torch.cuda.memory_reserved(1) == 12 << 20
        assert torch.cuda.list_gpu_processes("cuda:1") == (
            f"GPU:1\nprocess {os.getpid():>10d} uses       12.000 MB GPU memory"
        )


def test_utilization_follows_the_modelled_clock():
    with machine(devices=2) as made:
        torch.cuda._sleep(400_000_000)
        torch.cuda.synchronize()
        assert torch.cuda.utilization() >= 99 and torch.cuda.utilization(1) == 0
        made.driver.clock.spend(1_000_000_000)
        assert torch.cuda.utilization() == 0


def test_copies_use_memory_and_not_the_multiprocessors():
    with machine():
        host, there = torch.ones(1 << 20).pin_memory(), torch.empty(1 << 20, device="cuda")
        there.copy_(host, non_blocking=True)
        torch.cuda.synchronize()
        assert torch.cuda.memory_usage() > 0 == torch.cuda.utilization()


def test_figures_are_the_same_every_time():
    def figures():
        with machine():
            x = torch.ones(1 << 20, device="cuda")
            for _ in range(10):
                x = x + x
            torch.cuda.synchronize()
            return torch.cuda.utilization(), torch.cuda.memory_usage(), torch.cuda.device_memory_used()

    assert figures() == figures()


@pytest.mark.parametrize("name", ["temperature", "power_draw"])
def test_a_model_has_no_heat(name):
    with machine(), pytest.raises(errors.NotSupportedError, match=rf"{name}: virtual GPUs(.|\n)*\nhint: "):
        getattr(torch.cuda, name)()


def test_the_current_device_is_asked_if_none_is_named():
    with machine(devices=2):
        torch.ones(1, device="cuda:1")
        with torch.cuda.device(1):
            assert torch.cuda.device_memory_used() == 2 << 20
            assert torch.cuda.list_gpu_processes().startswith("GPU:1\n")
        assert torch.cuda.device_memory_used(torch.cuda.device(1)) == 2 << 20


def test_what_cannot_be_asked():
    with machine():
        with pytest.raises(RuntimeError, match=r"cuda:1 is not visible: this process sees 1 devices\nhint: "):
            torch.cuda.utilization(1)
        with pytest.raises(ValueError, match="Expected a cuda device, but got: cpu"):
            torch.cuda.utilization("cpu")


def test_asking_starts_nothing():
    made = Machine(virtual_gpus(1))
    former = thread.swap_machine(made)
    try:
        found = torch.cuda.utilization(), torch.cuda.memory_usage(), torch.cuda.device_memory_used()
        assert found == (0, 0, 0) and torch.cuda.clock_rate() == 1980
        assert torch.cuda.list_gpu_processes() == "GPU:0\nno processes are running"
        assert not made.is_started
    finally:
        thread.swap_machine(former)
