"""nn.functional: names of torch bound to operators."""

import pytest

import flambeau as torch
from flambeau.nn import functional as F


def test_functions_take_torch_s_arguments():
    x = torch.tensor([[-1.0, 2.0]], requires_grad=True)
    assert F.relu(x).tolist() == [[0.0, 2.0]]
    assert F.linear(x, torch.ones(1, 2), bias=torch.ones(1)).tolist() == [[2.0]]
    assert F.softmax(x, dim=-1).sum().item() == pytest.approx(1.0)
    assert F.log_softmax(x, dim=1, dtype=torch.float64).dtype is torch.float64
    assert F.layer_norm(x, (2,), None, None, 0.0).tolist() == [[-1.0, 1.0]]
    assert F.embedding(torch.tensor([1]), torch.eye(2)).tolist() == [[0.0, 1.0]]
    assert F.mse_loss(x, torch.zeros(1, 2), reduction="sum").item() == 5.0
    assert F.cross_entropy(torch.zeros(1, 4), torch.tensor([3])).item() == pytest.approx(1.3862944)
    assert F.dropout(x, 0.9, training=False).tolist() == x.tolist()


def test_in_place_forms_write_their_input():
    x = torch.tensor([-1.0, 2.0])
    assert F.relu_(x) is x
    assert x.tolist() == [0.0, 2.0]
