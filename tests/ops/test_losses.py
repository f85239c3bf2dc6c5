"""Losses: values recorded from PyTorch 2.13, reductions, weights, gradients, targets out of range."""

import math

import numpy as np
import pytest

import flambeau as torch
from flambeau import dtypes
from flambeau.errors import (
    AcceleratorError,
    ArgumentError,
    AutogradError,
    DtypeError,
    IndexRangeError,
    ShapeError,
    ValueRangeError,
)
from flambeau.ops.loss_kernels import TERMS_PER_PIECE, nll_backward
from flambeau.ops.losses import (
    binary_cross_entropy,
    binary_cross_entropy_with_logits,
    cross_entropy,
    l1_loss,
    mse_loss,
    nll_loss,
    smooth_l1_loss,
)
from flambeau.tensor.factories import tensor
from flambeau.testing import gradcheck, machine

RANDOM = np.random.default_rng(5)


def leaf(*shape):
    return tensor(RANDOM.standard_normal(shape), requires_grad=True)


def double(values):
    return tensor(values, dtype=dtypes.float64)


def test_losses_of_numbers():
    a, b = double([0.0, 0.5, 2.0, -3.0]), double([0.0] * 4)
    assert mse_loss(a, b).item() == 3.3125
    assert mse_loss(a, b, reduction="sum").item() == 13.25
    assert l1_loss(a, b).item() == 1.375
    assert smooth_l1_loss(a, b, None, None, "none", 1.5).tolist() == pytest.approx([0, 1 / 12, 1.25, 2.25])
    assert smooth_l1_loss(a, b, beta=0).item() == 1.375
    with pytest.raises(ShapeError, match="smooth_l1_loss: beta must not be negative, got -1"):
        smooth_l1_loss(a, b, beta=-1)


@pytest.mark.parametrize("function", [mse_loss, l1_loss, smooth_l1_loss])
def test_gradients_of_numbers(function):
    assert gradcheck(function, [leaf(3, 4), leaf(3, 4)])


def test_different_sizes_broadcast_with_a_warning():
    with pytest.warns(UserWarning, match=r"target of shape \[2\] differs from input of shape \[2, 2\]"):
        assert mse_loss(double([[1.0, 2.0], [3.0, 4.0]]), double([1.0, 2.0])).item() == 2


# negative log-likelihood
LOGITS = [[1.0, 2.0, 0.5], [0.0, -1.0, 3.0], [2.0, 2.0, 2.0]]
TARGET = [1, 0, 2]
WEIGHT = [1.0, 2.0, 0.5]


def test_many_targets_are_summed_in_pieces():
    count = 3 * TERMS_PER_PIECE
    logs, target = RANDOM.standard_normal((count, 4)), RANDOM.integers(0, 4, count)
    found = nll_loss(tensor(logs), tensor(target)).item()
    assert found == pytest.approx(-logs[range(count), target].mean())


def test_half_types_are_summed_in_float32():
    logs = tensor(np.full((4096, 2), -1.0), dtype=dtypes.bfloat16)
    assert nll_loss(logs, tensor(np.zeros(4096, np.int64)), reduction="sum").item() == 4096


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_gradients_of_classes(reduction):
    target, weight = tensor([[1, 0], [2, 1]]), double(WEIGHT)
    x = leaf(2, 3, 2)
    assert gradcheck(lambda each: nll_loss(each, target, weight, None, 2, None, reduction), [x])
    assert gradcheck(lambda each: cross_entropy(each, target, weight, None, 2, None, reduction, 0.3), [x])
    grad = leaf(*((2, 2) if reduction == "none" else ()))
    total = None if reduction != "mean" else double(4.0)
    assert gradcheck(lambda g: nll_backward(g, target, weight, total, (2, 3, 2), 2, reduction == "none"), [grad])


def test_squared_differences_of_bools_are_refused(device):
    x = torch.tensor([True, False], device=device)
    for reduction in ("none", "mean"):
        with pytest.raises(DtypeError, match="mse_loss: bool operands are not supported"):
            torch.nn.functional.mse_loss(x, x, reduction=reduction)


def test_classes_may_be_bytes():
    x, target = double(LOGITS), tensor(TARGET)
    for loss in (nll_loss, cross_entropy):
        assert loss(x, target.to(dtypes.uint8)).item() == loss(x, target).item()


def test_class_errors_name_every_value():
    x = double(LOGITS)
    with pytest.raises(RuntimeError, match=r"input is \[3, 3\], target is \[3, 3\]"):
        nll_loss(x, tensor(np.zeros((3, 3), np.int64)))
    with pytest.raises(ArgumentError, match=r"input is \[3, 3\], target is \[2\]"):
        nll_loss(x, tensor([0, 1]))
    with pytest.raises(DtypeError, match="expected target dtype to be int64, got int32"):
        nll_loss(x, tensor([0, 1, 2], dtype=dtypes.int32))
    with pytest.raises(ShapeError, match=r"weight must be float64\[3\], one for each class, got float64\[2\]"):
        nll_loss(x, tensor(TARGET), double([1.0, 2.0]))
    with pytest.raises(ArgumentError, match="'average' is not a valid value for reduction"):
        cross_entropy(x, tensor(TARGET), reduction="average")
    with pytest.raises(ArgumentError, match=r"label_smoothing must be between 0\.0 and 1\.0, got 1\.5"):
        cross_entropy(x, tensor(TARGET), label_smoothing=1.5)
    with pytest.raises(ArgumentError, match=r"input is \[3, 3\], target is \[3, 2\]"):
        cross_entropy(x, double([[0.5, 0.5]] * 3))


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("smoothing", [None, 0.0, 0.2])
def test_the_weight_of_a_class_has_no_gradient(reduction, smoothing):
    x, weight = leaf(3, 3), tensor([1.0, 2.0, 0.5], dtype=dtypes.float64, requires_grad=True)
    options = {"weight": weight, "reduction": reduction}
    loss = nll_loss if smoothing is None else cross_entropy
    options |= {} if smoothing is None else {"label_smoothing": smoothing}
    with pytest.raises(AutogradError, match=r"(nll_loss|cross_entropy): .*argument 'weight'"):
        loss(x, tensor(TARGET), **options).sum().backward()


# cross entropy
DEVICE_ASSERT = 710


def log_softmax(x):
    x = x - x.max(1, keepdims=True)
    return x - np.log(np.exp(x).sum(1, keepdims=True))


def picked(weight=None, ignored=None):
    """Each target's loss and weight, computed plainly."""
    logs = log_softmax(np.array(LOGITS))
    scale = np.array([0.0 if t == ignored else 1.0 if weight is None else weight[t] for t in TARGET])
    return -scale * logs[range(3), TARGET], scale


@pytest.mark.parametrize("weight", [None, WEIGHT])
@pytest.mark.parametrize("ignored", [None, 1])
def test_cross_entropy_of_classes(weight, ignored):
    terms, scale = picked(weight, ignored)
    options = {} if ignored is None else {"ignore_index": ignored}
    weights = None if weight is None else double(weight)

    def found(reduction):
        return cross_entropy(double(LOGITS), tensor(TARGET), weights, reduction=reduction, **options).tolist()

    assert found("none") == pytest.approx(terms.tolist())
    assert found("sum") == pytest.approx(terms.sum())
    assert found("mean") == pytest.approx(terms.sum() / scale.sum())


# what PyTorch 2.13 gives for LOGITS and TARGET with label_smoothing=0.2, in float64
@pytest.mark.parametrize(
    ("weight", "ignored", "mean", "none"),
    [
        (None, -100, 1.5540661032889393, [0.6310354507746117, 2.932550570424096, 1.0986122886681098]),
        (None, 1, 2.015581429546103, [0.0, 2.932550570424096, 1.0986122886681098]),
        (WEIGHT, -100, 1.390060167877251, [0.9680094375312325, 3.20141336721601, 0.6957877828231362]),
        (WEIGHT, 1, 2.5981341000260976, [0.0, 3.20141336721601, 0.6957877828231362]),
    ],
)
def test_label_smoothing(weight, ignored, mean, none):
    weights = None if weight is None else double(weight)

    def found(reduction):
        return cross_entropy(double(LOGITS), tensor(TARGET), weights, None, ignored, None, reduction, 0.2).tolist()

    assert found("mean") == pytest.approx(mean)
    assert found("none") == pytest.approx(none)
    assert found("sum") == pytest.approx(sum(none))


# the same with probabilities and label_smoothing=0.1
@pytest.mark.parametrize(
    ("weight", "mean", "none"),
    [
        (None, 1.8335105477333835, [1.4027021174412784, 2.9992172370907624, 1.09861228866811]),
        (WEIGHT, 1.6742613344956145, [1.0688381924612682, 3.1336486354867197, 0.8202971755388554]),
    ],
)
def test_probabilities_as_target(weight, mean, none):
    target = double([[0.2, 0.3, 0.5], [1, 0, 0], [0.1, 0.1, 0.8]])
    weights = None if weight is None else double(weight)

    def found(reduction):
        return cross_entropy(double(LOGITS), target, weights, reduction=reduction, label_smoothing=0.1).tolist()

    assert found("mean") == pytest.approx(mean)
    assert found("none") == pytest.approx(none)


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("shape", [(0, 3), (0, 3, 2), (2, 3, 0)])
def test_probabilities_of_no_sample(device, smoothing, shape):
    for weight in (None, torch.ones(3, device=device)):
        for reduction, expected in (("mean", math.nan), ("sum", 0.0)):
            logits = torch.zeros(shape, device=device, requires_grad=True)
            target = torch.zeros(shape, device=device)
            loss = cross_entropy(logits, target, weight, reduction=reduction, label_smoothing=smoothing)
            assert loss.shape == () and loss.item() == pytest.approx(expected, nan_ok=True), reduction
            loss.backward()
            assert logits.grad.shape == shape
        none = cross_entropy(logits, target, weight, reduction="none", label_smoothing=smoothing)
        assert none.shape == (shape[0], *shape[2:])


def test_classes_of_images_and_of_one_sample():
    logits, target = RANDOM.standard_normal((2, 3, 4, 5)), RANDOM.integers(0, 3, (2, 4, 5))
    found = cross_entropy(tensor(logits), tensor(target), reduction="none").numpy()
    for n, row, column in np.ndindex(2, 4, 5):
        expected = log_softmax(logits[n, :, row, column][None])[0, target[n, row, column]]
        assert found[n, row, column] == pytest.approx(-expected)
    assert cross_entropy(tensor([0.0, 0.0]), tensor(1)).item() == pytest.approx(math.log(2))


def test_only_ignored_targets_give_nan():
    assert math.isnan(cross_entropy(double(LOGITS), tensor([7, 7, 7]), ignore_index=7).item())
    assert cross_entropy(double(LOGITS), tensor([7, 7, 7]), ignore_index=7, reduction="sum").item() == 0


@pytest.mark.parametrize("bad", [3, -1])
def test_a_target_outside_the_classes(bad):
    with pytest.raises(IndexRangeError, match=rf"target {bad} at position \[1\] is out of range for 3 classes"):
        cross_entropy(double(LOGITS), tensor([0, bad, 1]))
    with machine(devices=1):
        x, target = tensor(LOGITS, device="cuda"), tensor([0, bad, 1], device="cuda")
        found = cross_entropy(x, target)  # returns at once
        with pytest.raises(AcceleratorError) as caught:
            found.item()
        assert caught.value.error_code == DEVICE_ASSERT
        assert caught.value.sticky


# values and gradients that PyTorch 2.13 gives
def test_binary_cross_entropy():
    x = tensor(np.array([0.0, 0.25, 1.0, 0.9]), requires_grad=True)
    found = binary_cross_entropy(x, double([0.0, 1.0, 0.0, 0.5]), reduction="none")
    found.sum().backward()
    assert found.tolist() == pytest.approx([0.0, 1.3862943611198906, 100.0, 1.2039728043259361])
    assert x.grad.tolist() == pytest.approx([0.0, -4.0, 1e12, 4.4444444444444455])


def test_the_function_of_the_package_does_not_reduce_by_default():
    """Unlike that of nn.functional, as in PyTorch 2.13."""
    logits, target = double([0.0, 3.0]), double([1.0, 1.0])
    each = [0.6931471805599453, 0.04858735157374206]
    assert torch.binary_cross_entropy_with_logits(logits, target).tolist() == pytest.approx(each)
    assert torch.binary_cross_entropy_with_logits(logits, target, None, None).tolist() == pytest.approx(each)
    for reduction, value in enumerate((each, sum(each) / 2, sum(each))):
        found = torch.binary_cross_entropy_with_logits(logits, target, reduction=reduction)
        assert found.tolist() == pytest.approx(value)


@pytest.mark.parametrize(
    "name",
    ["kl_div", "hinge_embedding_loss", "margin_ranking_loss", "cosine_embedding_loss", "triplet_margin_loss"],
)
def test_no_function_of_the_package_reduces_by_default(name):
    """Unlike those of nn.functional, as in PyTorch 2.13."""
    x, y, z = double([[0.1, 0.9], [0.4, 0.6]]), double([[0.3, 0.7], [0.5, 0.5]]), double([[1.0, -1.0], [-1.0, 1.0]])
    operands = {"kl_div": (x.log(), y), "hinge_embedding_loss": (x, z), "cosine_embedding_loss": (x, y, z[0])}
    given = operands.get(name, (x, y, z))
    whole = getattr(torch.nn.functional, name)
    each = whole(*given, reduction="none")
    assert getattr(torch, name)(*given).equal(each) and each.dim() > 0
    assert getattr(torch, name)(*given, reduction=2).equal(whole(*given, reduction="sum"))


def test_binary_cross_entropy_with_logits():
    x = tensor(np.array([-800.0, -1.0, 0.0, 800.0]), requires_grad=True)
    target, weight = double([0.0, 1.0, 0.0, 0.5]), double(3.0)
    found = binary_cross_entropy_with_logits(x, target, reduction="none", pos_weight=weight)
    found.sum().backward()
    assert found.tolist() == pytest.approx([0.0, 3.9397850625546686, 0.6931471805599453, 400.0])
    assert x.grad.tolist() == pytest.approx([0.0, -2.193175735890015, 0.5, 0.5])


def test_binary_losses_check_their_input():
    with pytest.raises(ArgumentError, match=r"all elements of input should be between 0 and 1, got 1\.5"):
        binary_cross_entropy(double([0.5, 1.5]), double([1.0, 1.0]))
    with pytest.raises(ArgumentError, match=r"target size \[1\] must be the same as input size \[2\]"):
        binary_cross_entropy_with_logits(double([0.5, 1.5]), double([1.0]))
    with machine(devices=1):
        found = binary_cross_entropy(tensor([1.5], device="cuda"), tensor([1.0], device="cuda"))
        with pytest.raises(AcceleratorError) as caught:
            found.item()
        assert caught.value.error_code == DEVICE_ASSERT


@pytest.mark.parametrize("kind", ["float32", "bfloat16", "float64"])
@pytest.mark.parametrize("classes", [2, 5, 1000, 1024, 20000])
def test_logits_of_any_size(classes, kind, device):
    """The loss and its gradient, which are made without the probabilities in between."""
    count, ignored = 7, 1
    x = tensor(RANDOM.standard_normal((count, classes)) * 2, dtype=getattr(dtypes, kind), device=device)
    labels = RANDOM.integers(0, classes, count)
    labels[:2] = ignored, 0
    weights = tensor(RANDOM.random(classes) + 0.5, dtype=x.dtype, device=device)
    found = cross_entropy(x.requires_grad_(), tensor(labels, device=device), weights, ignore_index=ignored)
    found.backward()
    wide, scale = x.detach().cpu().double().numpy(), weights.cpu().double().numpy()[labels]
    logs, scale = log_softmax(wide), np.where(labels == ignored, 0, scale)
    near = {"float32": 1e-6, "bfloat16": 1e-2, "float64": 1e-13}[kind]
    assert found.item() == pytest.approx(-(scale * logs[range(count), labels]).sum() / scale.sum(), rel=near)
    slope = np.exp(logs)
    slope[range(count), labels] -= 1
    np.testing.assert_allclose(x.grad.cpu().double().numpy(), slope * scale[:, None] / scale.sum(), rtol=0, atol=near)


def test_logits_far_from_zero(device):
    """Row norms are kept apart, so that the gradient does not lose what their sum would round away."""
    x = tensor(np.array([[10000.0, 10001.0, 9999.0]], np.float32), device=device).requires_grad_()
    cross_entropy(x, tensor([1], device=device)).backward()
    expected = np.exp(log_softmax(np.array([[0.0, 1.0, -1.0]]))) - [[0, 1, 0]]
    np.testing.assert_allclose(x.grad.cpu().numpy(), expected, atol=1e-6)


def test_many_rows_of_logits(device):
    count = 70000
    logits = RANDOM.standard_normal((count, 3)).astype(np.float32)
    labels = RANDOM.integers(0, 3, count)
    found = cross_entropy(tensor(logits, device=device), tensor(labels, device=device)).item()
    assert found == pytest.approx(-log_softmax(logits.astype(np.float64))[range(count), labels].mean(), rel=1e-5)


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_second_derivative_of_classes(reduction):
    target, weight = tensor([1, 2, 0]), double(WEIGHT)
    x = tensor(RANDOM.standard_normal((3, 3)), requires_grad=True)

    def gradient(x):
        loss = cross_entropy(x, target, weight, None, 2, None, reduction)
        return torch.autograd.grad((loss * loss).sum(), x, create_graph=True)[0]

    assert gradcheck(gradient, [x])


def test_the_target_of_binary_cross_entropy_is_checked_too():
    for wrong in (-0.5, 1.5, float("nan")):
        with pytest.raises(ValueError, match=f"binary_cross_entropy: .*target.*between 0 and 1, got {wrong}"):
            binary_cross_entropy(tensor([0.5]), tensor([wrong]))


def test_the_gradient_of_a_target_is_the_negative_logit_also_if_that_is_infinite():
    target = tensor([0.25, 0.5], requires_grad=True)
    logits = tensor([-math.inf, 3.0])
    binary_cross_entropy_with_logits(logits, target, reduction="sum").backward()
    assert target.grad.tolist() == [math.inf, -3.0]


def test_probabilities_are_not_ignored():
    target = torch.tensor([[0.5, 0.5]])
    with pytest.raises(RuntimeError, match="cross_entropy: ignore_index=1 .* probabilities"):
        cross_entropy(torch.ones(1, 2), target, ignore_index=1)
    assert cross_entropy(torch.ones(1, 2), target, ignore_index=-1).item() == pytest.approx(math.log(2))


def test_class_probabilities_have_the_shape_of_the_input():
    with pytest.raises(ValueRangeError, match=r"cross_entropy: .*\[2, 3\], target is \[2\]"):
        torch.nn.functional.cross_entropy(torch.ones(2, 3), torch.tensor([0.0, 1.0]))


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_cross_entropy_of_no_classes(smoothing):
    loss = torch.nn.functional.cross_entropy
    assert loss(torch.ones(0, 0), torch.zeros(0, dtype=torch.int64), label_smoothing=smoothing).isnan()
    assert loss(torch.ones(0, 0), torch.zeros(0, 0), label_smoothing=smoothing).isnan()
    with pytest.raises(IndexError, match="Target 0 is out of bounds"):
        loss(torch.ones(2, 0), torch.zeros(2, dtype=torch.int64), label_smoothing=smoothing)


def test_the_classes_of_a_soft_margin_loss_are_those_of_the_input():
    loss = torch.nn.functional.multilabel_soft_margin_loss
    input, target = torch.tensor([1.0, 2.0]), torch.tensor([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    rows = torch.stack([loss(input[:1].expand(3), target[:, 0]), loss(input[1:].expand(3), target[:, 1])])
    assert loss(input, target, reduction="none").allclose(rows * 3 / 2)
