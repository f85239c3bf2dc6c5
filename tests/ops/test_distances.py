"""Distances and directions of vectors: values against SciPy, lengths of 0, and gradients there."""

import math

import numpy as np
import pytest
from scipy.spatial import distance

import flambeau as torch
from benchmarks import counts
from flambeau.errors import DtypeError
from flambeau.nn import functional as F
from flambeau.testing import gradcheck, gradgradcheck

RANDOM = np.random.default_rng(6)
METRICS = {0.0: "hamming", 1.0: "cityblock", 2.0: "euclidean", float("inf"): "chebyshev"}


@pytest.mark.parametrize("p", [0.0, 1.0, 2.0, 3.0, float("inf")])
@pytest.mark.parametrize("rows", [4, 40])
def test_cdist_and_pdist(p, rows):
    x, y = RANDOM.standard_normal((rows, 3)), RANDOM.standard_normal((5, 3))
    metric = {"metric": METRICS[p]} if p in METRICS else {"metric": "minkowski", "p": p}
    factor = 3 if p == 0 else 1  # SciPy has the share of the columns that differ
    expected = distance.cdist(x, y, **metric) * factor
    np.testing.assert_allclose(torch.cdist(torch.tensor(x), torch.tensor(y), p).numpy(), expected, rtol=1e-7, atol=1e-9)
    expected = distance.pdist(x, **metric) * factor
    np.testing.assert_allclose(torch.pdist(torch.tensor(x), p).numpy(), expected)


def test_gradients_of_pairs(device):
    """Of 3 rows, the pairs are (0, 1), (0, 2) and (1, 2)."""
    x = torch.tensor(RANDOM.standard_normal((3, 2)), device=device, requires_grad=True)
    weights = torch.tensor([1.0, 10.0, 100.0], dtype=torch.float64, device=device)
    (torch.pdist(x, 1.0) * weights).sum().backward()
    rows = x.detach().cpu().numpy()
    signs = {(i, j): np.sign(rows[i] - rows[j]) for i, j in ((0, 1), (0, 2), (1, 2))}
    first, second = signs[0, 1] + 10 * signs[0, 2], -signs[0, 1] + 100 * signs[1, 2]
    np.testing.assert_array_equal(x.grad.cpu().numpy(), [first, second, -10 * signs[0, 2] - 100 * signs[1, 2]])
    assert gradgradcheck(lambda x: torch.pdist(x, 3.0), [x.detach().cpu().requires_grad_()])


def test_distances_of_rows_are_one_launch(gpus):
    x = torch.ones(20, 4, device="cuda")
    assert counts.of(lambda: torch.pdist(x)) == {"block": 1, "launch": 1}
    y = torch.ones(4, 20, device="cuda").t()
    assert counts.of(lambda: torch.cdist(x, y, p=1.0)) == {"block": 1, "launch": 1}


def test_distances_of_every_power_and_their_gradients(device):
    x, y = RANDOM.standard_normal((2, 1, 3, 20)), RANDOM.standard_normal((4, 2, 20))
    for p in (0, 0.5, 1, 2, 3, math.inf):
        a, b = (torch.tensor(each, device=device, requires_grad=True) for each in (x, y))
        found = torch.cdist(a, b, p, "donot_use_mm_for_euclid_dist")
        c, d = (torch.tensor(each, device=device, requires_grad=True) for each in (x, y))
        expected = (c.unsqueeze(-2) - d.unsqueeze(-3)).norm(p, -1)
        torch.testing.assert_close(found, expected)
        found.square().sum().backward()
        if p:
            expected.square().sum().backward()
            torch.testing.assert_close((a.grad, b.grad), (c.grad, d.grad))
        else:
            assert not a.grad.any() and not b.grad.any()
    nothing = torch.cdist(torch.ones(3, 0, device=device), torch.ones(2, 0, device=device), math.inf)
    assert nothing.tolist() == [[0, 0]] * 3


def test_equal_largest_differences_each_get_the_gradient_whole(device):
    x = torch.tensor([[0.0, 0, 0], [1, 1, 1], [2, 2, 0.5]], device=device, requires_grad=True)
    torch.pdist(x, math.inf).sum().backward()
    assert x.grad.tolist() == [[-2, -2, -1], [0, 0, 1], [2, 2, 0]]  # as PyTorch answers
    x.grad = None
    torch.cdist(x, x.detach() / 2, math.inf).sum().backward()
    assert x.grad.tolist() == [[-2, -2, -1], [2, 2, 3], [3, 3, 0]]


def test_cdist_broadcasts_its_batches():
    x, y = torch.ones(2, 1, 3, 4), torch.zeros(5, 2, 4)
    found = torch.cdist(x, y)
    assert found.shape == (2, 5, 3, 2) and found.eq(2).all()
    assert torch.cdist(torch.ones(0, 3), torch.ones(2, 3)).shape == (0, 2)


@pytest.mark.parametrize("mode", ["use_mm_for_euclid_dist", "donot_use_mm_for_euclid_dist"])
def test_the_distance_of_equal_points_has_a_gradient_of_zero(mode):
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    torch.cdist(x, x.detach(), compute_mode=mode).diagonal().sum().backward()
    assert x.grad.tolist() == [[0, 0], [0, 0]]


@pytest.mark.parametrize("mode", ["use_mm_for_euclid_dist", "donot_use_mm_for_euclid_dist"])
def test_derivatives(mode):
    x, y = (torch.tensor(RANDOM.standard_normal(shape), requires_grad=True) for shape in ((3, 4), (2, 4)))
    assert gradcheck(lambda x, y: torch.cdist(x, y, compute_mode=mode), [x, y])
    assert gradgradcheck(lambda x, y: torch.cdist(x, y, compute_mode=mode), [x, y])
    assert gradgradcheck(lambda x, y: F.cosine_similarity(x, y[:1]), [x, y])


def test_cosines():
    x, y = RANDOM.standard_normal((4, 3)), RANDOM.standard_normal((4, 3))
    expected = [1 - distance.cosine(*pair) for pair in zip(x, y)]
    np.testing.assert_allclose(F.cosine_similarity(torch.tensor(x), torch.tensor(y)).numpy(), expected)
    zero = torch.zeros(2, requires_grad=True)
    found = F.cosine_similarity(zero, torch.tensor([3.0, 4.0]), dim=0)
    found.backward()
    assert found.item() == 0 and zero.grad.isfinite().all()


def test_normalize():
    x = RANDOM.standard_normal((3, 4))
    np.testing.assert_allclose(F.normalize(torch.tensor(x)).numpy(), x / np.linalg.norm(x, axis=1, keepdims=True))
    assert F.normalize(torch.zeros(1, 3)).tolist() == [[0, 0, 0]]
    out = torch.empty(3, 4, dtype=torch.float64)
    assert F.normalize(torch.tensor(x), p=1.0, dim=0, out=out) is out
    np.testing.assert_allclose(out.numpy(), x / np.abs(x).sum(0))


def test_pairwise_distance_adds_eps():
    assert torch.pairwise_distance(torch.zeros(1, 4), torch.zeros(1, 4), eps=0.5).tolist() == [1.0]
    assert torch.nn.PairwiseDistance(1.0, 0.0, keepdim=True)(torch.ones(2, 3), torch.zeros(3)).tolist() == [[3], [3]]
    assert torch.nn.CosineSimilarity(dim=0)(torch.ones(3), torch.ones(3)).item() == pytest.approx(1)


def test_distances_of_integers_are_refused():
    with pytest.raises(DtypeError, match="pdist: .*int64"):
        torch.pdist(torch.ones(2, 2, dtype=torch.int64))
