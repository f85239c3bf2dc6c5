"""Medians, quantiles, modes and covariances: values of PyTorch and NumPy, ties and NaN."""

import math

import numpy as np
import pytest

import flambeau as torch
from benchmarks import counts
from flambeau.errors import DtypeError, IndexRangeError, ValueRangeError

NAN = float("nan")


def test_medians_of_even_rows_are_the_lower_ones(device):
    x = torch.tensor([[4.0, 1.0, 3.0, 2.0], [9.0, 9.0, 7.0, 8.0]], device=device)
    assert x.median().item() == 4.0
    values, indices = x.median(1)
    assert (values.tolist(), indices.tolist()) == ([2.0, 8.0], [3, 3])
    assert x.median(0, keepdim=True).values.tolist() == [[4.0, 1.0, 3.0, 2.0]]
    assert type(x.median(1)) is torch.return_types.median


def test_a_nan_is_the_median_at_its_first_place(device):
    x = torch.tensor([1.0, NAN, 0.0, NAN], device=device)
    values, indices = x.median(0)
    assert math.isnan(values.item()) and indices.item() == 1
    assert x.nanmedian().item() == 0.0 and x.nanmedian(0).indices.item() == 2
    assert math.isnan(torch.tensor([NAN, NAN], device=device).nanmedian().item())
    assert torch.tensor([]).median().isnan() and torch.tensor([], dtype=torch.int32).median() == -(2**31)


def test_modes_are_the_least_of_the_most_frequent_at_their_last_places(device):
    x = torch.tensor([[1.0, 2, 2, 1, 3], [5, 5, 4, 4, 4]], device=device)
    values, indices = x.mode()
    assert (values.tolist(), indices.tolist()) == ([1.0, 4.0], [3, 4])
    assert torch.tensor(3, device=device).mode().indices.item() == 0


def test_kthvalue_counts_from_one(device):
    x = torch.tensor([[1, 9, 2], [7, 3, 5]], device=device)
    assert [x.kthvalue(k, 1).values.tolist() for k in (1, 2, 3)] == [[1, 3], [2, 5], [9, 7]]
    for k in (0, 4):
        with pytest.raises(IndexRangeError, match=f"kthvalue: k {k} .* dimension 1 with size 3"):
            x.kthvalue(k)


@pytest.mark.parametrize("interpolation", ["linear", "lower", "higher", "midpoint", "nearest"])
def test_quantiles_are_numpys(device, interpolation):
    values = np.random.default_rng(0).normal(size=(5, 7))
    q = np.array([0.0, 0.3, 0.5, 0.77, 1.0])
    x = torch.tensor(values, device=device)
    expected = np.quantile(values, q, axis=1, method=interpolation)
    found = torch.quantile(x, torch.tensor(q, device=device), 1, interpolation=interpolation)
    np.testing.assert_allclose(found.cpu().numpy(), expected, rtol=1e-12)
    assert x.quantile(0.3, interpolation=interpolation).item() == pytest.approx(
        np.quantile(values, 0.3, method=interpolation)
    )
    assert x.quantile(torch.tensor(q, device=device), 0, True).shape == (5, 1, 7)


def test_quantiles_with_nan(device):
    x = torch.tensor([[1.0, NAN, 3.0], [4.0, 5.0, 6.0]], device=device)
    found = x.quantile(0.5, 1)
    assert math.isnan(found[0].item()) and found[1].item() == 5.0
    assert x.nanquantile(0.5, 1).tolist() == [2.0, 5.0]
    with pytest.raises(DtypeError, match="quantile: input must be float32 or float64, got int64"):
        torch.arange(3).quantile(0.5)


def test_covariances_are_numpys(device):
    values = np.random.default_rng(1).normal(size=(3, 6))
    counts, weights = np.array([1, 2, 1, 3, 1, 1]), np.array([0.5, 1, 2, 1, 1, 0.25])
    x = torch.tensor(values, device=device)
    given = {"fweights": torch.tensor(counts, device=device), "aweights": torch.tensor(weights, device=device)}
    np.testing.assert_allclose(torch.cov(x).cpu().numpy(), np.cov(values), rtol=1e-12)
    np.testing.assert_allclose(
        torch.cov(x, correction=0, **given).cpu().numpy(), np.cov(values, ddof=0, fweights=counts, aweights=weights)
    )
    np.testing.assert_allclose(torch.cov(x, **given).cpu().numpy(), np.cov(values, fweights=counts, aweights=weights))
    np.testing.assert_allclose(torch.corrcoef(x).cpu().numpy(), np.corrcoef(values), rtol=1e-12)


@pytest.mark.parametrize("kind", [torch.float32, torch.float16, torch.int64])
def test_ties_and_nan_are_chosen_alike_on_every_device(gpus, kind):
    rows = [[2.0, 1.0, 2.0, 2.0, 1.0], [3.0, 3.0, 3.0, 3.0, 3.0], [5.0, 1.0, 4.0, 2.0, 3.0], [4.0, 4.0, 1.0, 1.0, 1.0]]
    x = torch.tensor(rows).to(kind)
    if kind.is_floating_point:
        x[0, 3] = x[2, 1] = x[2, 4] = float("nan")
    for dim in (0, 1):
        for call in (torch.median, torch.nanmedian, lambda x, dim: torch.kthvalue(x, 2, dim)):
            here, there = call(x, dim), call(x.cuda(), dim)
            assert here.indices.tolist() == there.indices.tolist()
            assert here.values.nan_to_num(-1).tolist() == there.values.nan_to_num(-1).tolist()


def test_order_statistics_of_short_rows_are_one_launch(gpus):
    x = torch.randn(3, 40, device="cuda")
    calls = {
        "kthvalue": lambda: x.kthvalue(3),
        "median": lambda: x.median(0),
        "nanmedian": lambda: x.nanmedian(1, keepdim=True),
        "mode": lambda: x.t().mode(0),
        "topk": lambda: x.topk(4),
    }
    for name, call in calls.items():
        assert counts.of(call) == {"block": 2, "launch": 1}, name


def test_order_statistics_of_long_rows_are_those_of_short_ones(gpus):
    x = torch.randint(0, 9, (2, 1500)).float()
    x[1, 7] = x[1, 1400] = NAN
    for rows in (x, x[:, :1024], x[:1, :3]):
        for dim in (0, 1):
            found = [
                (each.kthvalue(1 + rows.shape[dim] // 2, dim), each.median(dim), each.nanmedian(dim), each.mode(dim))
                for each in (rows, rows.cuda())
            ]
            for one, other in zip(*found, strict=True):
                assert torch.equal(one.indices, other.indices.cpu()), (rows.shape, dim, type(one))
                assert str(one.values.tolist()) == str(other.values.tolist())


def test_gradients_of_order_statistics_go_to_the_chosen_elements(device):
    x = torch.tensor([[3.0, 1.0, 1.0], [7.0, 5.0, 6.0]], device=device, requires_grad=True)
    calls = (lambda: x.mode(1), [2, 1]), (lambda: x.kthvalue(3, 1), [0, 0]), (lambda: x.median(1), [2, 2])
    for call, places in calls:
        (grad,) = torch.autograd.grad(call().values.sum(), x)
        assert grad.tolist() == [[float(column == place) for column in range(3)] for place in places]


@pytest.mark.parametrize("wrong", [[-1, 2, 1], [0, 0, 0]])
def test_weights_of_observations_are_not_negative(wrong):
    for name, dtype in (("fweights", torch.int64), ("aweights", torch.float32)):
        with pytest.raises(ValueRangeError, match=f"cov: {name} must be at least 0, .* least is {min(wrong)}"):
            torch.cov(torch.ones(2, 3), **{name: torch.tensor(wrong, dtype=dtype)})
