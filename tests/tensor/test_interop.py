"""Exchange by DLPack and the CUDA array interface."""

import numpy as np
import pytest

import flambeau as torch
from flambeau.errors import AutogradError, NotSupportedError


def test_dlpack_shares_host_memory_both_ways():
    x = torch.arange(3.0)
    array = np.from_dlpack(x)
    x[0] = 9
    assert array.tolist() == [9, 1, 2]
    theirs = np.arange(3.0)
    ours = torch.from_dlpack(theirs)
    ours[0] = 5
    assert theirs[0] == 5


def test_dlpack_refuses_what_it_cannot_share(gpus):
    with pytest.raises(NotSupportedError, match=r"only CPU tensors can be exported, this is float32\[1\] on cuda:0"):
        np.from_dlpack(torch.ones(1, device="cuda"))
    with pytest.raises(AutogradError, match="require gradient"):
        np.from_dlpack(torch.ones(1, requires_grad=True))
    assert torch.ones(1, device="cuda:1").__dlpack_device__() == (2, 1)


def test_the_cuda_array_interface_describes_the_tensor(gpus):
    x = torch.zeros(2, 3, dtype=torch.float64, device="cuda").t()
    found = x.__cuda_array_interface__
    assert found["shape"] == (3, 2) and found["strides"] == (8, 24) and found["typestr"] == "<f8"
    assert found["data"] == (x.data_ptr(), False) and found["version"] == 3
    assert found["stream"] == 1
    assert torch.zeros(2, device="cuda").__cuda_array_interface__["strides"] is None
    assert not hasattr(torch.ones(1), "__cuda_array_interface__")


def test_conversions_by_name():
    x = torch.ones(2)
    assert x.float() is x
    names = ["half", "bfloat16", "double", "byte", "char", "short", "int", "long", "bool"]
    kinds = [getattr(x, name)().dtype.name for name in names]
    assert kinds == ["float16", "bfloat16", "float64", "uint8", "int8", "int16", "int32", "int64", "bool"]
