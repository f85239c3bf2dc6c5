"""Reductions: values, types, gradients and errors of sums, norms, minima and maxima."""

import numpy as np
import pytest

import flambeau as torch
from flambeau import dtypes
from flambeau.errors import ArgumentTypeError, DtypeError, IndexRangeError, ShapeError, ValueRangeError
from flambeau.ops import reductions, scans
from flambeau.tensor.factories import tensor
from flambeau.testing import gradcheck, gradgradcheck


def leaf(values):
    return tensor(values, dtype=dtypes.float64, requires_grad=True)


def gradient(function, values):
    x = leaf(values)
    function(x).sum().backward()
    return x.grad.tolist()


@pytest.mark.parametrize("kind", [dtypes.float16, dtypes.bfloat16])
def test_half_types_accumulate_in_float32(kind):
    assert reductions.sum_(tensor(np.ones(4096), dtype=kind)).item() == 4096
    assert reductions.sum_(tensor(np.ones(4097), dtype=kind), dtype=dtypes.float32).item() == 4097
    assert reductions.mean(tensor(np.full(60_000, 3.0), dtype=kind)).item() == 3


def test_result_types():
    for kind in (dtypes.bool_, dtypes.uint8, dtypes.int32):
        x = tensor([1, 1, 1], dtype=kind)
        assert reductions.sum_(x).dtype is dtypes.int64
        assert reductions.prod_(x).dtype is dtypes.int64
        assert scans.cumsum(x, 0).dtype is dtypes.int64
        assert reductions.amax(x).dtype is kind
        assert reductions.sum_(x, dtype=dtypes.float32).tolist() == 3.0
    assert reductions.all_(tensor([1, 0], dtype=dtypes.uint8)).dtype is dtypes.uint8
    assert reductions.all_(tensor([1, 0], dtype=dtypes.int8)).dtype is dtypes.bool_
    assert reductions.sum_(tensor([1, -1]), dtype=dtypes.bool_).item() is True
    assert reductions.sum_(tensor([200, 100], dtype=dtypes.uint8)).item() == 300


def test_nan_is_true():
    assert reductions.any_(tensor([float("nan")])).item() is True


@pytest.mark.parametrize(
    ("values", "expected"),
    [([2.0, 3.0, 4.0], [12, 8, 6]), ([2.0, 0.0, 4.0], [0, 8, 0]), ([0.0, 0.0, 4.0], [0, 0, 0])],
)
def test_product_with_zeros_has_a_gradient(values, expected):
    assert gradient(reductions.prod_, values) == expected


def test_the_gradient_of_a_deviation_of_zero_is_zero():
    assert gradient(reductions.std, [1.0, 1.0]) == [0, 0]


def test_the_variance_of_no_values_is_nan():
    for x in (torch.tensor([]), torch.empty(3, 0, dtype=torch.float64)):
        assert x.var(-1).isnan().all() and x.std(-1, correction=0).isnan().all()


def test_variance_forms():
    x = tensor([[1.0, 2.0], [4.0, 9.0]])
    assert reductions.var(x, False).item() == reductions.var(x, correction=0).item() == 9.5
    assert reductions.var(x, 0, unbiased=False).tolist() == [2.25, 12.25]
    assert np.isnan(reductions.var(tensor([1.0])).item())
    far = tensor(np.array([1e8, 1e8 + 2]))
    assert reductions.var(far).item() == 2


@pytest.mark.parametrize(
    "function", [reductions.sum_, reductions.mean, reductions.var, reductions.std, reductions.prod_, reductions.norm]
)
def test_second_derivatives(function):
    """The gradient's own derivative agrees with differences of the gradient."""
    values = np.array([[0.5, -1.25, 2.0], [1.5, 0.75, -0.5]])

    def slope(at):
        x = leaf(at)
        return x, (lambda y: y * y)(function(x)).sum()

    def first(at):
        x, out = slope(at)
        out.backward(create_graph=True)
        return x

    x = first(values)
    wanted = np.cos(np.arange(6.0)).reshape(2, 3)
    found, x.grad = x.grad, None
    (found * tensor(wanted)).sum().backward()
    step = 1e-6
    for index in np.ndindex(2, 3):
        moved = [values.copy(), values.copy()]
        moved[0][index] += step
        moved[1][index] -= step
        ends = [(first(at).grad.detach().numpy() * wanted).sum() for at in moved]
        assert x.grad.numpy()[index] == pytest.approx((ends[0] - ends[1]) / (2 * step), abs=1e-5)


def test_errors_name_every_value():
    x = tensor(np.zeros((2, 3), np.float32))
    with pytest.raises(IndexRangeError, match=r"sum: Dimension out of range .*\[-2, 1\], but got 5"):
        reductions.sum_(x, 5)
    with pytest.raises(ShapeError, match=r"mean: dim 1 appears multiple times in the list of dims \(1, -1\)"):
        reductions.mean(x, (1, -1))
    with pytest.raises(DtypeError, match="mean: input must be floating point, got int64"):
        reductions.mean(tensor([1]))


# norms

INF = float("inf")


def test_norms():
    x = tensor([[3.0, -4.0], [0.0, 12.0]])
    found = [reductions.norm(x, p).item() for p in ("fro", 1, INF, -INF, 0)]
    assert found == [13, 19, 12, 0, 3]
    assert reductions.norm(x, dim=1).tolist() == [5, 12]


@pytest.mark.parametrize("p", [2, 3, 0.5, -1, 1])
def test_the_norm_of_one_element_is_its_absolute_value(device, p):
    x = torch.tensor([[1e30], [-1e-30]], device=device, requires_grad=True)
    found = reductions.norm(x, p, dim=1, keepdim=True)
    assert found.equal(x.detach().abs()) and reductions.norm(x, p, 1).shape == (2,)
    assert reductions.norm(torch.tensor(-1e30, device=device), p).item() == np.float32(1e30)
    found.sum().backward()
    assert x.grad.tolist() == [[1], [-1]]
    of_one = torch.ones(4, 3, 1, device=device).permute(2, 1, 0)
    assert reductions.norm(of_one, p, 0).is_contiguous() and reductions.norm(of_one, p, 0, True).is_contiguous()


def test_gradients_at_zero_are_zero():
    for p in (1, 2, 3, 0.5):
        assert gradient(lambda x, p=p: reductions.norm(x, p), [0.0, 0.0]) == [0, 0]
    assert gradient(lambda x: reductions.norm(x, 1), [0.0, 2.0]) == [0, 1]
    assert gradient(lambda x: reductions.norm(x, INF), [2.0, 2.0]) == [0.5, 0.5]


@pytest.mark.parametrize("p", [None, "fro", 2, 0, 1, INF, -INF])
def test_every_norm_refuses_integers_and_none_is_two(p):
    with pytest.raises(DtypeError, match="norm: .*int64"):
        reductions.norm(tensor([3, 4]), p)
    assert reductions.norm(tensor([3.0, 4.0]), None).item() == 5


# largest and smallest values

NAN = float("nan")


def test_nan_is_found_first():
    x = tensor([[1.0, NAN, 5.0, NAN], [4.0, 7.0, 7.0, 1.0]])
    assert reductions.argmax(x, 1).tolist() == [1, 1]
    assert reductions.argmin(x, 1).tolist() == [1, 3]
    assert np.isnan(reductions.amax(x).item())
    assert np.isnan(reductions.amin(x, 1).tolist()[0])


def test_max_names_its_results():
    found = reductions.max_(tensor([[1.0, 3.0]]), dim=1, keepdim=True)
    assert found.values.tolist() == [[3.0]]
    assert found.indices.tolist() == [[1]]
    assert repr(found).startswith("torch.return_types.max(\nvalues=")
    values, indices = reductions.min_(tensor(2.0), 0)
    assert (values.item(), indices.item()) == (2.0, 0)


def test_ties_share_the_gradient_without_an_index_and_the_first_takes_it_with_one():
    ties = [[1.0, 3.0, 3.0], [3.0, 2.0, 2.0]]
    third = 1 / 3
    assert gradient(reductions.max_, ties) == [[0, third, third], [third, 0, 0]]
    assert gradient(lambda x: reductions.amax(x, 1), ties) == [[0, 0.5, 0.5], [1, 0, 0]]
    assert gradient(lambda x: reductions.max_(x, 1).values, ties) == [[0, 1, 0], [1, 0, 0]]


def test_errors_of_choices_name_every_value():
    with pytest.raises(
        IndexRangeError, match=r"max: expected reduction dim to be specified for an input of .*\[0, 3\]"
    ):
        reductions.max_(tensor(np.zeros((0, 3))))
    with pytest.raises(IndexRangeError, match="amax: expected reduction dim 0 to have non-zero size"):
        reductions.amax(tensor(np.zeros((0, 3))), 0)


def test_logarithms_of_sums_of_exponentials(device):
    inf = float("inf")
    x = torch.tensor([[1000.0, 1000.0], [-inf, -inf], [inf, 0.0], [-inf, 2.0]], device=device, requires_grad=True)
    found = x.logsumexp(1)
    assert found.tolist() == pytest.approx([1000.6931, -inf, inf, 2.0])
    found[3].backward()
    assert x.grad[3].tolist() == [0.0, 1.0]
    assert torch.logsumexp(torch.tensor([1.0, float("nan")], device=device), 0).isnan().item()
    assert torch.logsumexp(torch.zeros(0, 2, device=device), 0).tolist() == [-inf, -inf]
    long = torch.zeros(3, 100_000, device=device, dtype=torch.float64)
    assert long.logsumexp(1).tolist() == pytest.approx([np.log(100_000)] * 3)
    assert torch.logsumexp(torch.tensor([0, 0], device=device), 0).dtype is torch.float32


def test_sums_and_means_without_nan(device):
    x = torch.tensor([[1.0, float("nan")], [float("nan"), float("nan")]], device=device, requires_grad=True)
    assert x.nansum(1).tolist() == [1.0, 0.0]
    assert torch.nanmean(x, 1)[0].item() == 1.0 and torch.nanmean(x, 1)[1].isnan().item()
    x.nansum().backward()
    assert x.grad.tolist() == [[1.0, 0.0], [0.0, 0.0]]
    values = torch.tensor([[1.5, float("nan"), 1.5], [-1.5, 300.0, float("nan")]], device=device)
    whole = values.nansum(1, dtype=torch.int64)  # each element is converted, as in sum
    assert whole.dtype is torch.int64 and whole.tolist() == [2, 299]
    assert values.nansum(dtype=torch.int32).item() == 301
    assert values.nansum(1, dtype=torch.bool).tolist() == [True, True]


def test_pairs_of_results(device):
    x = torch.tensor([[1.0, 3.0], [5.0, 9.0]], device=device)
    assert [each.tolist() for each in torch.var_mean(x, 1, correction=0)] == [[1.0, 4.0], [2.0, 7.0]]
    assert [each.item() for each in torch.std_mean(x, False)] == pytest.approx([8.75**0.5, 4.5])
    found = x.aminmax(dim=0)
    assert (found.min.tolist(), found.max.tolist()) == ([1.0, 3.0], [5.0, 9.0])
    assert repr(torch.aminmax(torch.tensor(1))) == "torch.return_types.aminmax(\nmin=tensor(1),\nmax=tensor(1))"


def test_distances_and_scaled_parts(device):
    x = torch.tensor([[3.0, 4.0], [0.3, 0.4]], device=device)
    assert torch.dist(x, torch.zeros(2, device=device), float("inf")).item() == 4.0
    assert x.renorm(2, 0, 1.0).tolist() == [pytest.approx([0.6, 0.8]), pytest.approx([0.3, 0.4])]
    assert x.renorm_(1, 0, 3.5) is x and x[0].tolist() == pytest.approx([1.5, 2.0])
    assert torch.count_nonzero(torch.tensor([[0, 2], [3, 4]], device=device), 1).tolist() == [1, 2]


def test_products_have_two_derivatives_at_zeros():
    x = leaf([[2.0, 0.0, 3.0], [0.0, 0.0, 4.0], [1.0, 2.0, 3.0]])
    for dim in (0, 1, None, (0, 1)):
        assert gradcheck(lambda each, dim=dim: each.prod(dim), [x])
        assert gradgradcheck(lambda each, dim=dim: each.prod(dim), [x])
    assert "LogsumexpBackward0" in repr(x.logsumexp(0))


@pytest.mark.parametrize("name", ["logsumexp", "logcumsumexp"])
def test_slopes_of_logarithms_of_sums_beside_infinity(name):
    x = torch.tensor([float("inf"), 1.0], dtype=torch.float64, requires_grad=True)
    getattr(torch, name)(x, 0).sum().backward()
    assert x.grad[0].isnan() and x.grad[1].item() == 0


def test_the_mean_of_no_values_beside_their_variance(gpus):
    for device in ("cpu", "cuda"):
        x = torch.zeros(0, 3, device=device)
        for call in (torch.var_mean, torch.std_mean):
            assert call(x, 0)[1].isnan().tolist() == [True] * 3 and call(x)[1].isnan().item()


def test_keepdim_without_a_dimension_is_refused():
    for name in ("max", "min", "median", "nanmedian"):
        with pytest.raises(ArgumentTypeError, match=f"{name}: keepdim"):
            getattr(torch, name)(torch.ones(2, 2), keepdim=True)


@pytest.mark.parametrize("name", ["median", "nanmedian"])
def test_a_median_of_nothing_has_a_gradient(name):
    for shape in ((0,), (2, 0)):
        x = torch.empty(shape, requires_grad=True)
        found = getattr(torch, name)(x)
        assert found.isnan() and found.requires_grad
        found.backward()
        assert x.grad.shape == shape


def test_a_mean_without_nan_is_no_integer():
    with pytest.raises(DtypeError, match="nanmean: .*int32"):
        torch.nanmean(torch.ones(2), dtype=torch.int32)


def test_wrong_quantiles_are_runtime_errors():
    with pytest.raises(ValueRangeError, match=r"quantile: .*\[1, 1\]"):
        torch.quantile(torch.ones(2), torch.ones(1, 1))
