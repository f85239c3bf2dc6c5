"""Diagonals of new matrices, and the indices of triangles."""

import numpy as np
import pytest

import flambeau as torch
from flambeau.errors import IndexRangeError, ShapeError

DEVICES = pytest.mark.parametrize("device", ["cpu", "cuda"])


@DEVICES
def test_rows_become_diagonals_of_two_dimensions(device, gpus):
    x = torch.arange(1, 7, device=device).reshape(2, 3)
    for offset in (-2, 0, 1):
        found = torch.diag_embed(x, offset, 0, -1)
        wanted = np.stack([np.diag(row, offset) for row in x.tolist()], 1)
        assert found.tolist() == wanted.tolist()


@DEVICES
def test_vectors_and_matrices(device, gpus):
    x = torch.arange(6, device=device).reshape(2, 3)
    for offset in (-1, 0, 2, 5):
        assert x.diag(offset).tolist() == np.diag(np.arange(6).reshape(2, 3), offset).tolist()
        assert x[1].diag(offset).tolist() == np.diag([3, 4, 5], offset).tolist()
        assert x.diagflat(offset).tolist() == np.diagflat(np.arange(6), offset).tolist()
    assert x.diag().data_ptr() != x.data_ptr(), "it is a copy"


@DEVICES
def test_blocks(device, gpus):
    parts = torch.ones(2, 1, device=device), torch.tensor(5.0, device=device), torch.tensor([2.0, 3.0], device=device)
    found = torch.block_diag(*parts)
    assert found.tolist() == [[1, 0, 0, 0], [1, 0, 0, 0], [0, 5, 0, 0], [0, 0, 2, 3]]
    assert torch.block_diag().shape == (1, 0)
    mixed = torch.block_diag(torch.tensor(1.0, dtype=torch.float64), torch.ones(2, dtype=torch.bfloat16))
    assert mixed.dtype == torch.bfloat16 and mixed.tolist() == [[1, 0, 0], [0, 1, 1]]
    assert torch.block_diag(torch.tensor(1.0), torch.ones(2, dtype=torch.int8)).dtype == torch.float32
    with pytest.raises(ShapeError, match="block_diag: .*input 1 has 3"):
        torch.block_diag(parts[0], torch.zeros(1, 1, 1))


def test_a_matrix_has_two_dimensions():
    with pytest.raises(IndexRangeError, match="diag_embed: .*got 3"):
        torch.diag_embed(torch.ones(2), 0, 0, 3)
