"""Divergences, likelihoods and margins: values that PyTorch gives, edges, and second derivatives."""

import math

import numpy as np
import pytest

import flambeau as torch
from benchmarks import counts
from flambeau import nn
from flambeau.nn import functional as F
from flambeau.testing import gradgradcheck

RANDOM = np.random.default_rng(7)


def leaf(*shape):
    return torch.tensor(RANDOM.standard_normal(shape), requires_grad=True)


def test_kl_div_of_a_target_of_zero_is_zero():
    x = torch.tensor([[0.5, 0.25, 0.25]]).log()
    target = torch.tensor([[1.0, 0.0, 0.0]])
    assert F.kl_div(x, target, reduction="none").tolist() == [[pytest.approx(math.log(2)), 0, 0]]
    with pytest.warns(UserWarning, match="batchmean"):
        assert F.kl_div(x, target).item() == pytest.approx(math.log(2) / 3)
    assert F.kl_div(x, x.exp().log(), log_target=True, reduction="sum").item() == pytest.approx(0, abs=1e-6)
    assert nn.KLDivLoss(reduction="batchmean")(x, target).item() == pytest.approx(math.log(2))


@pytest.mark.parametrize("delta", [0.5, 2.0])
def test_huber_loss(delta):
    x, y = RANDOM.standard_normal((2, 50)) * 2
    distance = np.abs(x - y)
    expected = np.where(distance <= delta, distance**2 / 2, delta * (distance - delta / 2))
    found = F.huber_loss(torch.tensor(x), torch.tensor(y), "none", delta)
    np.testing.assert_allclose(found.numpy(), expected)
    weighted = F.huber_loss(torch.tensor(x), torch.tensor(y), delta=delta, weight=torch.full((50,), 3.0).double())
    assert weighted.item() == pytest.approx(3 * expected.mean())
    assert nn.HuberLoss(delta=delta)(torch.tensor(x), torch.tensor(y)).item() == pytest.approx(expected.mean())


def test_poisson_nll_loss():
    rate, count = torch.tensor([1.0, 2.0]), torch.tensor([1.0, 3.0])
    assert nn.PoissonNLLLoss(False, eps=0.0, reduction="none")(rate, count).tolist() == pytest.approx(
        [1.0, 2 - 3 * math.log(2)]
    )
    stirling = 3 * math.log(3) - 3 + 0.5 * math.log(2 * math.pi * 3)
    found = F.poisson_nll_loss(rate, count, full=True, reduction="none").tolist()
    assert found == pytest.approx([math.e - 1, math.exp(2) - 6 + stirling])


def test_gaussian_nll_loss_keeps_variances_above_eps():
    x, var = torch.zeros(2), torch.tensor([0.0, 2.0], requires_grad=True)
    loss = F.gaussian_nll_loss(x, torch.ones(2), var, eps=0.5, reduction="none")
    assert loss.tolist() == pytest.approx([0.5 * (math.log(0.5) + 2), 0.5 * (math.log(2) + 0.5)])
    loss.sum().backward()
    assert var.grad.tolist() == pytest.approx([0.5 * (2 - 4), 0.5 * (0.5 - 0.25)])
    rows = F.gaussian_nll_loss(torch.zeros(2, 3), torch.ones(2, 3), torch.ones(2), full=True)
    assert rows.item() == pytest.approx(0.5 + 0.5 * math.log(2 * math.pi))
    assert nn.GaussianNLLLoss()(x, x, 1.0).item() == 0


def test_hinge_and_ranking():
    x, sign = torch.tensor([0.3, 0.3, 2.0]), torch.tensor([1.0, -1.0, -1.0])
    assert nn.HingeEmbeddingLoss(reduction="none")(x, sign).tolist() == pytest.approx([0.3, 0.7, 0.0])
    found = nn.MarginRankingLoss(0.5, reduction="none")(x, torch.ones(3), sign)
    assert found.tolist() == pytest.approx([1.2, 0.0, 1.5])
    assert nn.SoftMarginLoss(reduction="none")(x, sign).tolist() == pytest.approx(
        np.log1p(np.exp(-sign.numpy() * x.numpy())).tolist()
    )


def test_cosine_embedding_loss():
    one, other = torch.tensor([[1.0, 0.0], [1.0, 0.0]]), torch.tensor([[0.6, 0.8], [0.6, 0.8]])
    net = nn.CosineEmbeddingLoss(0.2, reduction="none")
    assert net(one, other, torch.tensor([1, -1])).tolist() == pytest.approx([0.4, 0.4])
    assert net(one[0], other[0], torch.tensor(-1)).item() == pytest.approx(0.4)


def test_triplets():
    anchor, near, far = torch.zeros(1, 2), torch.tensor([[0.0, 1.0]]), torch.tensor([[0.0, 1.5]])
    assert nn.TripletMarginLoss()(anchor, near, far).item() == pytest.approx(0.5)
    assert nn.TripletMarginLoss(swap=True)(anchor, near, far).item() == pytest.approx(1.5)
    net = nn.TripletMarginWithDistanceLoss(distance_function=lambda a, b: (a - b).abs().sum(-1), margin=2.0)
    assert net(anchor, near, far).item() == pytest.approx(1.5)
    with pytest.raises(ValueError, match="TripletMarginLoss: margin must be greater than 0, got 0"):
        nn.TripletMarginLoss(0)


def test_multi_margin_loss():
    x, target = torch.tensor([[0.1, 0.2, 0.4, 0.8], [1.0, 0.0, 0.0, 0.0]]), torch.tensor([3, 1])
    assert F.multi_margin_loss(x, target, reduction="none").tolist() == pytest.approx([0.325, 1.0])
    assert nn.MultiMarginLoss(2, 0.5, torch.tensor([1.0, 2.0, 3.0, 4.0]), reduction="sum")(x, target).item() == (
        pytest.approx(0.01 + 2 * (2.25 + 0.25 + 0.25) / 4)
    )
    assert F.multi_margin_loss(x[0], torch.tensor(3), reduction="none").shape == ()
    assert F.multi_margin_loss(x[0], torch.tensor([3]), reduction="none").shape == (1,)


def test_margins_of_classes_are_one_launch_and_one_more_for_the_gradient(gpus):
    x = torch.randn(3, 4, device="cuda", requires_grad=True)
    target, sets = torch.tensor([3, 1, 0], device="cuda"), torch.tensor([[1, -1, 0, 0]] * 3, device="cuda")
    for loss in (lambda: F.multi_margin_loss(x, target, p=2), lambda: F.multilabel_margin_loss(x, sets)):
        assert counts.of(loss)["launch"] == 1
        kept = loss()
        assert counts.of(lambda kept=kept: torch.autograd.grad(kept, x, retain_graph=True))["launch"] == 2  # fills 1


def test_margins_of_many_rows_are_summed_by_blocks(gpus):
    x, target = torch.randn(200, 300), torch.arange(200)
    for reduction in ("mean", "sum"):
        for loss in (F.multi_margin_loss, lambda x, t, **options: F.multilabel_margin_loss(x, t, **options)):
            labels = target if loss is F.multi_margin_loss else target[:, None].expand(200, 300).clone()
            each = loss(x, labels, reduction="none").double()
            found = loss(x.cuda(), labels.cuda(), reduction=reduction)
            assert found.item() == pytest.approx(getattr(each, reduction)().item(), rel=1e-5)


def test_a_margin_that_is_no_number_counts_nothing():
    x = torch.tensor([[math.nan, 1.0, 2.0, 3.0]])
    assert F.multi_margin_loss(x, torch.tensor([1])).item() == 1.25
    assert F.multi_margin_loss(x, torch.tensor([0])).item() == 0
    assert F.multilabel_margin_loss(x, torch.tensor([[1, -1, 0, 0]])).item() == 1.25


def test_margins_refuse_labels_outside_the_classes_and_gradients_of_weights():
    x, weight = torch.ones(2, 3), torch.ones(3, requires_grad=True)
    with pytest.raises(IndexError, match="multi_margin_loss: Target 3 is out of bounds"):
        F.multi_margin_loss(x, torch.tensor([0, 3]))
    with pytest.raises(IndexError, match="multilabel_margin_loss: Target 5 is out of bounds"):
        F.multilabel_margin_loss(x, torch.tensor([[0, 1, 2], [-1, 5, 0]]))
    with pytest.raises(RuntimeError, match="not differentiable with respect to argument 'weight'"):
        F.multi_margin_loss(x.requires_grad_(), torch.tensor([0, 1]), weight=weight).backward()


def test_multilabel_losses():
    x, target = torch.tensor([[0.1, 0.2, 0.4, 0.8]]), torch.tensor([[3, 0, -1, 1]])
    assert nn.MultiLabelMarginLoss(reduction="none")(x, target).tolist() == pytest.approx([0.85])
    assert F.multilabel_margin_loss(x, torch.full((1, 4), -1)).item() == 0
    loss = nn.MultiLabelSoftMarginLoss(torch.tensor([1.0, 2.0]), reduction="none")
    assert loss(torch.zeros(1, 2), torch.tensor([[1.0, 0.0]])).tolist() == pytest.approx([1.5 * math.log(2)])


def test_binary_and_smooth_modules():
    x = torch.tensor([0.25, 0.5])
    assert nn.BCELoss(reduction="sum")(x, torch.ones(2)).item() == pytest.approx(math.log(8))
    assert nn.SmoothL1Loss(beta=0.5, reduction="none")(x, torch.zeros(2)).tolist() == pytest.approx([0.0625, 0.25])
    with pytest.warns(FutureWarning, match="NLLLoss2d: deprecated"):
        former = nn.NLLLoss2d()
    assert former(torch.full((1, 2, 1, 1), -3.0), torch.zeros(1, 1, 1).long()).item() == 3


@pytest.mark.parametrize(
    "body",
    [
        lambda x, y: F.huber_loss(x, y, delta=0.7),
        lambda x, y: F.kl_div(x, y.square() + 0.1, reduction="sum"),
        lambda x, y: F.poisson_nll_loss(x, torch.ones(2, 3)) + y.sum(),
        lambda x, y: F.gaussian_nll_loss(x, y, x.square() + 0.5),
        lambda x, y: F.multilabel_soft_margin_loss(x, y.sigmoid()),
        lambda x, y: F.triplet_margin_loss(x, y, x * y, margin=5.0),
        lambda x, y: F.soft_margin_loss(x, y),
        lambda x, y: F.multi_margin_loss(x * y, torch.tensor([2, 0]), p=2, reduction="none"),
        lambda x, y: F.multi_margin_loss(x * y, torch.tensor([2, 0]), weight=torch.arange(1.0, 4.0).double()),
        lambda x, y: F.multilabel_margin_loss(x * y, torch.tensor([[2, 0, -1], [1, -1, 0]]), reduction="sum"),
    ],
)
def test_second_derivatives(body):
    assert gradgradcheck(body, [leaf(2, 3), leaf(2, 3)])


@pytest.mark.parametrize(
    "name, extra",
    [("kl_div", 1), ("huber_loss", 1), ("poisson_nll_loss", 1), ("hinge_embedding_loss", 1), ("soft_margin_loss", 1),
     ("multilabel_soft_margin_loss", 1), ("gaussian_nll_loss", 2), ("margin_ranking_loss", 2)]
)  # fmt: skip
def test_a_bad_reduction_is_refused(name, extra):
    with pytest.raises(ValueError, match=f"^{name}: 'average'"):
        getattr(F, name)(torch.ones(2), *[torch.ones(2)] * extra, reduction="average")


def test_a_term_of_several_operators_is_one_launch(gpus):
    x, y = torch.ones(4, 6, device="cuda"), torch.ones(4, 6, device="cuda")
    assert counts.of(lambda: F.soft_margin_loss(x, y))["launch"] == 2
    assert counts.of(lambda: F.glu(x))["launch"] == 1
    assert counts.of(lambda: F.pairwise_distance(x, y))["launch"] == 2
