"""Losses, against their formulas, and adaptive softmax."""

import math
import warnings

import pytest

import flambeau as torch
from flambeau import nn
from flambeau.errors import ModeError, ShapeError

SCORES = [[0.5, -1.0, 2.0], [0.0, 0.0, 0.0]]
LABELS = [2, 0]


def logs(row):
    total = math.log(sum(math.exp(each) for each in row))
    return [each - total for each in row]


def test_differences():
    a, b = torch.tensor([1.0, 2.0, 4.0]), torch.tensor([1.0, 0.0, 1.0])
    assert nn.MSELoss()(a, b).item() == pytest.approx(13 / 3)
    assert nn.MSELoss(reduction="sum")(a, b).item() == 13.0
    assert nn.L1Loss(reduction="none")(a, b).tolist() == [0.0, 2.0, 3.0]


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


# the former arguments size_average= and reduce=

FORMER = [
    ({}, "mean"), ({"size_average": True}, "mean"), ({"size_average": False}, "sum"), ({"reduce": True}, "mean"),
    ({"reduce": False}, "none"), ({"size_average": False, "reduce": True}, "sum"),
    ({"size_average": True, "reduce": False}, "none"), ({"size_average": False, "reduction": "none"}, "sum"),
]  # fmt: skip
X, Y = torch.tensor([[0.5, -1.0, 2.0], [0.0, 0.25, 0.75]]), torch.tensor([[0.0, 1.0, 1.0], [0.5, 0.5, 0.0]])
PAIRS = {
    "mse_loss": (nn.MSELoss, X, Y), "l1_loss": (nn.L1Loss, X, Y), "smooth_l1_loss": (None, X, Y),
    "nll_loss": (nn.NLLLoss, X.log_softmax(1), torch.tensor(LABELS)),
    "cross_entropy": (nn.CrossEntropyLoss, X, torch.tensor(LABELS)),
    "binary_cross_entropy": (None, X.sigmoid(), Y),
    "binary_cross_entropy_with_logits": (nn.BCEWithLogitsLoss, X, Y),
}  # fmt: skip


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize(("former", "reduction"), FORMER)
def test_former_arguments_choose_the_reduction(name, former, reduction):
    function, (module, input, target) = getattr(nn.functional, name), PAIRS[name]
    wanted = function(input, target, reduction=reduction)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = function(input, target, **former)
        of_module = wanted if module is None else module(**former)(input, target)
    assert found.tolist() == of_module.tolist() == wanted.tolist()
    texts = {str(each.message).partition(": ")[2] for each in caught}
    assert all(f"please use reduction='{reduction}' instead" in text for text in texts) and bool(former) == bool(texts)


def test_arguments_have_pytorchs_positions():
    scores, labels = torch.tensor(SCORES), torch.tensor([2, 1])
    weight = torch.tensor([3.0, 1.0, 1.0])
    wanted = nn.functional.cross_entropy(scores, labels, weight=weight, ignore_index=1, label_smoothing=0.25)
    for found in (
        nn.CrossEntropyLoss(weight, None, 1, None, "mean", 0.25)(scores, labels),
        nn.functional.cross_entropy(scores, labels, weight, None, 1, None, "mean", 0.25),
    ):
        assert found.item() == wanted.item()
    logs = scores.log_softmax(1)
    wanted = nn.functional.nll_loss(logs, labels, weight=weight, ignore_index=1, reduction="sum")
    assert nn.NLLLoss(weight, None, 1, None, "sum")(logs, labels).item() == wanted.item()
    assert nn.functional.nll_loss(logs, labels, weight, None, 1, None, "sum").item() == wanted.item()
    for module in (nn.MSELoss, nn.L1Loss):
        assert module(None, None, "sum").reduction == "sum"
    twice = torch.tensor(2.0)
    loss = nn.BCEWithLogitsLoss(None, None, None, "none", twice)
    assert loss(X, Y).equal(nn.functional.binary_cross_entropy_with_logits(X, Y, None, None, None, "none", twice))
    found = nn.functional.smooth_l1_loss(X, Y, None, None, "sum", 0.5)
    assert found.item() == nn.functional.smooth_l1_loss(X, Y, reduction="sum", beta=0.5).item()


@pytest.mark.parametrize("name", PAIRS)
def test_a_reduction_in_a_former_place_is_an_error(name):
    function, (module, input, target) = getattr(nn.functional, name), PAIRS[name]
    for call in (lambda: function(input, target, size_average="sum"), lambda: function(input, target, reduce="none")):
        with pytest.raises(TypeError, match=f"{name}: (size_average|reduce) must be a bool or None, got '(sum|none)'"):
            call()
    if module is not None:
        with pytest.raises(TypeError, match=f"{module.__name__}: size_average must be a bool or None, got 'sum'"):
            module(size_average="sum")


@pytest.mark.parametrize("name", ["mse_loss", "l1_loss"])
def test_terms_of_differences_can_be_weighted(name):
    function, weight = getattr(nn.functional, name), torch.tensor([[1.0, 2.0, 0.0], [4.0, 0.5, 0.5]])
    terms = function(X, Y, reduction="none") * weight
    assert function(X, Y, reduction="none", weight=weight).equal(terms)
    assert function(X, Y, None, None, "sum", weight).item() == pytest.approx(terms.sum().item())
    assert function(X, Y, weight=weight).item() == pytest.approx(terms.sum().item() / 8)
    with pytest.raises(ValueError, match=rf"{name}: .*weight is \[3\].*input is \[2, 3\]"):
        function(X, Y, weight=torch.ones(3))


@pytest.mark.parametrize("outputs", [(), (2, 3)])
def test_linear_cross_entropy_is_that_of_the_scores(outputs):
    torch.manual_seed(0)
    loss = nn.LinearCrossEntropyLoss(3, 5, out_features=outputs, bias=True, weight=torch.arange(1.0, 6.0))
    x, target = torch.randn(4, 3), torch.randint(5, (4, *outputs))
    scores = loss.linear(x).reshape(4, 5, *outputs)
    expected = nn.functional.cross_entropy(scores, target, loss.weight)
    assert loss(x, target).item() == pytest.approx(expected.item(), rel=1e-6)
    assert list(loss.state_dict()) == ["weight", "linear.weight", "linear.bias"]
    assert "num_classes=5" in repr(loss) and f"out_features={outputs}" in repr(loss)


def test_linear_cross_entropy_names_what_does_not_fit():
    x, weight = torch.ones(4, 3), torch.ones(5, 3)
    for operands, options in (
        ((x, torch.ones(5, 2), torch.zeros(4).long()), {}),
        ((x, torch.ones(3), torch.zeros(4).long()), {}),
        ((x, weight, torch.zeros(4).long()), {"linear_bias": torch.ones(4)}),
        ((x[0], torch.ones(5, 2, 3), torch.zeros(2).long()), {}),
    ):
        with pytest.raises(ShapeError, match=r"linear_cross_entropy: an input of \["):
            nn.functional.linear_cross_entropy(*operands, **options)
    with pytest.raises(ModeError, match="ignore_index=1 .*probabilities"):
        nn.functional.linear_cross_entropy(x, weight, torch.ones(4, 5) / 5, ignore_index=1)
    with pytest.raises(ShapeError, match=r"\[5\], got \[4\]"):
        nn.LinearCrossEntropyLoss(3, 5, weight=torch.ones(4))
    with pytest.raises(ModeError, match=r"label_smoothing .* got 1\.5"):
        nn.LinearCrossEntropyLoss(3, 5, label_smoothing=1.5)


def test_delta_must_be_a_number():
    with pytest.raises(TypeError, match="HuberLoss: delta must be a number, got 'x'"):
        nn.HuberLoss(delta="x")


# adaptive softmax


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
