"""nonzero finds every place in order, across chunks."""

import numpy as np
import pytest

import flambeau as torch
from flambeau.ops.indexing import NONZERO_CHUNK

pytestmark = pytest.mark.devices(1)


@pytest.fixture(params=["cpu", "cuda"])
def device(request, gpus):
    return request.param


@pytest.mark.parametrize(
    "shape", [(5,), (NONZERO_CHUNK,), (NONZERO_CHUNK + 1,), (3, NONZERO_CHUNK), (7, 11, 13), (0, 4), (2, 0)]
)
@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_places_are_numpys_argwhere(device, shape, share):
    mask = np.random.default_rng(1).random(shape) < share
    x = torch.tensor(mask, device=device)
    assert np.array_equal(x.nonzero().cpu().numpy(), np.argwhere(mask))
    columns = x.nonzero(as_tuple=True)
    assert all(np.array_equal(a.cpu().numpy(), b) for a, b in zip(columns, np.nonzero(mask), strict=True))


def test_negative_zero_is_zero_and_nan_is_not(device):
    x = torch.tensor([0.0, -0.0, float("nan"), 1.0], device=device)
    assert x.nonzero().tolist() == [[2], [3]]
    assert x.half().nonzero().tolist() == [[2], [3]]


def test_a_number_has_no_index(device):
    assert torch.tensor(3, device=device).nonzero().shape == (1, 0)
    assert torch.tensor(0, device=device).nonzero().shape == (0, 0)


def test_masked_select_broadcasts(device):
    x = torch.arange(6, device=device).reshape(2, 3)
    assert x.masked_select(torch.tensor([True, False, True], device=device)).tolist() == [0, 2, 3, 5]
