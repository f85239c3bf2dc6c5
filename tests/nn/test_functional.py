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


def test_a_weight_of_one_dimension_gives_a_number_for_each_row():
    x = torch.arange(6.0).view(2, 3)
    assert F.linear(x, torch.ones(3)).tolist() == [3, 12] and F.linear(x[0], torch.ones(3)).item() == 3
    with pytest.raises(RuntimeError, match="linear: weight must have 2 dimensions"):
        F.linear(x, torch.ones(3), torch.ones(1))


def test_a_row_of_classes_takes_a_target_of_one_element():
    x = torch.tensor([0.0, 1.0, 2.0], requires_grad=True)
    for reduction in ("mean", "none", "sum"):
        assert F.nll_loss(x, torch.tensor([1]), reduction=reduction).item() == -1
        F.cross_entropy(x, torch.tensor([1]), reduction=reduction).backward()
    assert x.grad[1].item() < 0
    with pytest.raises(ValueError, match=r"nll_loss: .*\[3\].*\[2\]"):
        F.nll_loss(x, torch.tensor([1, 2]))


def test_a_mean_over_no_probabilities_is_nan():
    nothing = torch.ones(0, 3)
    assert F.cross_entropy(nothing, nothing).isnan() and F.cross_entropy(nothing, nothing, reduction="sum").item() == 0
