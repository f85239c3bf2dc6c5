"""Losses, against their formulas."""

import math

import pytest

import flambeau as torch
from flambeau import nn

SCORES = [[0.5, -1.0, 2.0], [0.0, 0.0, 0.0]]
LABELS = [2, 0]


def logs(row):
    total = math.log(sum(math.exp(each) for each in row))
    return [each - total for each in row]


def test_differences():
    a, b = torch.tensor([1.0, 2.0, 4.0]), torch.tensor([1.0, 0.0, 1.0])
    assert nn.MSELoss()(a, b).item() == pytest.approx(13 / 3)
    assert nn.MSELoss("sum")(a, b).item() == 13.0
    assert nn.L1Loss("none")(a, b).tolist() == [0.0, 2.0, 3.0]


def test_cross_entropy_is_the_negative_log_probability():
    scores, labels = torch.tensor(SCORES, dtype=torch.float64), torch.tensor(LABELS)
    each = [-logs(row)[label] for row, label in zip(SCORES, LABELS)]
    assert nn.CrossEntropyLoss(reduction="none")(scores, labels).tolist() == pytest.approx(each)
    assert nn.CrossEntropyLoss()(scores, labels).item() == pytest.approx(sum(each) / 2)
    assert nn.NLLLoss()(scores.log_softmax(1), labels).item() == pytest.approx(sum(each) / 2)
    assert nn.CrossEntropyLoss(ignore_index=0)(scores, labels).item() == pytest.approx(each[0])
    weight = torch.tensor([3.0, 1.0, 1.0], dtype=torch.float64)
    assert nn.CrossEntropyLoss(weight)(scores, labels).item() == pytest.approx((each[0] + 3 * each[1]) / 4)
    smooth = [0.7 * own - 0.1 * sum(logs(row)) for own, row in zip(each, SCORES)]
    assert nn.CrossEntropyLoss(label_smoothing=0.3)(scores, labels).item() == pytest.approx(sum(smooth) / 2)


def test_a_loss_s_weight_is_a_buffer():
    loss = nn.CrossEntropyLoss(torch.ones(3)).double()
    assert [name for name, _ in loss.named_buffers()] == ["weight"]
    assert loss.weight.dtype is torch.float64


def test_binary_cross_entropy_of_scores():
    def formula(score, target, positive=1.0):
        chance = 1 / (1 + math.exp(-score))
        return -(positive * target * math.log(chance) + (1 - target) * math.log(1 - chance))

    scores, targets = torch.tensor([0.5, -2.0], dtype=torch.float64), torch.tensor([1.0, 0.25], dtype=torch.float64)
    expected = [formula(0.5, 1.0), formula(-2.0, 0.25)]
    assert nn.BCEWithLogitsLoss(reduction="none")(scores, targets).tolist() == pytest.approx(expected)
    twice = nn.BCEWithLogitsLoss(pos_weight=torch.tensor(2.0, dtype=torch.float64))
    assert twice(scores, targets).item() == pytest.approx((formula(0.5, 1.0, 2.0) + formula(-2.0, 0.25, 2.0)) / 2)
