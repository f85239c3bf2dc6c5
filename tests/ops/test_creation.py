"""Triangles and evenly spaced numbers, against NumPy."""

import numpy as np
import pytest

import flambeau as torch

pytestmark = pytest.mark.devices(1)


@pytest.fixture(params=["cpu", "cuda"])
def device(request, gpus):
    return request.param


@pytest.mark.parametrize("diagonal", [-9, -1, 0, 2, 9])
def test_triangles_are_numpys(device, diagonal):
    x = torch.arange(1, 25, device=device).reshape(2, 3, 4)
    assert np.array_equal(x.tril(diagonal).cpu().numpy(), np.tril(x.cpu().numpy(), diagonal))
    assert np.array_equal(x.mT.triu(diagonal).cpu().numpy(), np.triu(x.cpu().numpy().transpose(0, 2, 1), diagonal))


def test_linspace_ends_exactly(device):
    for count in (2, 3, 10, 1001):
        found = torch.linspace(-0.1, 0.3, count, dtype=torch.float64, device=device)
        assert (found[0].item(), found[-1].item()) == (-0.1, 0.3)
        np.testing.assert_allclose(found.cpu().numpy(), np.linspace(-0.1, 0.3, count), rtol=0, atol=1e-16)


def test_linspace_of_one_is_the_start(device):
    assert torch.linspace(3, 10, 1, device=device).tolist() == [3]
    assert torch.linspace(3, 10, 0, device=device).tolist() == []


@pytest.mark.parametrize(("dtype", "expected"), [
    ("float32", [0x3F800000, 0x3F471C72, 0x3F0E38E4, 0x3EAAAAAA, 0x3DE38E38]),
    ("float16", [0x3C00, 0x3A39, 0x3872, 0x3556, 0x2F20]),
    ("bfloat16", [0x3F80, 0x3F47, 0x3F0E, 0x3EAA, 0x3DE0]),
])  # fmt: skip
def test_linspace_rounds_as_pytorch_does(device, dtype, expected):
    found = torch.linspace(1, -1, 10, dtype=getattr(torch, dtype), device=device).cpu()
    bits = torch.int32 if dtype == "float32" else torch.int16
    assert found[:5].view(bits).tolist() == expected
    assert (-found[5:]).flip(0).view(bits).tolist() == expected
