"""Filling: whole packs, what is left over, and addresses that are not aligned."""

import numpy as np
import pytest

import flambeau as torch
from flambeau import dtypes

pytestmark = pytest.mark.devices(1)

KINDS = (dtypes.bool_, dtypes.uint8, dtypes.bfloat16, dtypes.int32, dtypes.float64)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
@pytest.mark.parametrize("start", [0, 1])
def test_fills_of_every_length_and_alignment(gpus, kind, start):
    for length in (1, 3, 15, 16, 17, 1024, 1031):
        x = torch.zeros(length + 3, dtype=kind, device="cuda")
        x[start : start + length].fill_(1)
        want = np.zeros(length + 3)
        want[start : start + length] = 1
        assert np.array_equal(x.cpu().to(dtypes.float64).numpy(), want)


def test_a_part_is_filled_alone(gpus):
    x = torch.zeros(9, 10, device="cuda")
    x[1:-1, 2:7].fill_(2)
    want = np.zeros((9, 10))
    want[1:-1, 2:7] = 2
    assert np.array_equal(x.cpu().numpy(), want)
