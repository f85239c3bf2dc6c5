"""Functions that describe the package, and errors, without a device."""

import pytest

import flambeau as torch
from flambeau import errors
from flambeau.config import Gpus
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
    """A machine with a choice of GPUs, which has not started."""
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
