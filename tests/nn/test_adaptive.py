"""Adaptive softmax: log-probabilities, their sum, predictions and what does not fit."""

import pytest

import flambeau as torch
from flambeau import nn


@pytest.fixture
def net():
    torch.manual_seed(0)
    return nn.AdaptiveLogSoftmaxWithLoss(8, 12, [4, 7], div_value=2.0, dtype=torch.float64)


def test_probabilities_of_all_classes(net):
    x, target = torch.randn(5, 8, dtype=torch.float64), torch.tensor([0, 3, 4, 11, 6])
    every = net.log_prob(x)
    assert every.shape == (5, 12) and torch.allclose(every.exp().sum(1), torch.ones(5).double())
    out, loss = net(x, target)
    assert torch.allclose(out, every.gather(1, target.unsqueeze(1)).squeeze(1)) and loss.item() == -out.mean().item()
    one = net(x[2], target[2])
    assert one.output.shape == () and one.output.item() == pytest.approx(out[2].item())


def test_predictions_and_gradients(net):
    x = torch.randn(50, 8, dtype=torch.float64) * 5
    found, every = net.predict(x), net.log_prob(x)
    frequent = net.head(x).argmax(1)
    expected = torch.where(frequent < 4, frequent, every.argmax(1))
    assert found.equal(expected)
    net(x, torch.arange(50) % 12).loss.backward()
    assert all(each.grad is not None for each in net.parameters())


def test_state_and_text(net):
    assert list(net.state_dict()) == ["head.weight", "tail.0.0.weight", "tail.0.1.weight", "tail.1.0.weight",
                                      "tail.1.1.weight"]  # fmt: skip
    assert [tuple(each.shape) for each in net.parameters()] == [(6, 8), (4, 8), (3, 4), (2, 8), (5, 2)]
    assert repr(net).startswith(
        "AdaptiveLogSoftmaxWithLoss(\n  (head): Linear(in_features=8, out_features=6, bias=False)"
    )


@pytest.mark.parametrize("cutoffs", [[], [0, 3], [5, 3], [3, 3], [12], [2.5]])
def test_wrong_cutoffs(cutoffs):
    with pytest.raises(ValueError, match="AdaptiveLogSoftmaxWithLoss: cutoffs .* 1 and 11"):
        nn.AdaptiveLogSoftmaxWithLoss(8, 12, cutoffs)


def test_wrong_inputs(net):
    with pytest.raises(RuntimeError, match=r"\[2, 8\] and target \[3\]"):
        net(torch.ones(2, 8).double(), torch.zeros(3).long())
    with pytest.raises(RuntimeError, match=r"\[0, 11\].*\[3, 12\]"):
        net(torch.ones(2, 8).double(), torch.tensor([3, 12]))
