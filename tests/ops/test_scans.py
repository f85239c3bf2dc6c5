"""Scans: sums in both directions, long rows, NaN, and derivatives."""

import numpy as np
import pytest

import flambeau as torch
from flambeau import dtypes
from flambeau.errors import ShapeError
from flambeau.ops import scans
from flambeau.tensor.factories import tensor
from flambeau.testing import gradcheck, gradgradcheck


def leaf(values):
    return tensor(values, dtype=dtypes.float64, requires_grad=True)


def test_running_sums_from_both_ends():
    x = tensor([[1, 2, 3], [4, 5, 6]])
    assert scans.cumsum(x, 0).tolist() == [[1, 2, 3], [5, 7, 9]]
    assert scans.running_sum(x, 1, None, True).tolist() == [[6, 5, 3], [15, 11, 6]]
    ones = leaf([1.0, 1.0, 1.0])
    scans.cumsum(ones, 0).sum().backward()
    assert ones.grad.tolist() == [3, 2, 1]
    assert gradcheck(lambda each: scans.cumsum(each, -1), [leaf([[0.5, 1.0], [2.0, 3.0]])])


LENGTHS = (1, 7, 2048, 2 * 2048 + 5, scans.SHORT_ROW + 1, 5 * scans.SHORT_ROW + 3)


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("dim", [0, 1])
def test_scans_of_long_rows_are_numpys(device, length, dim):
    rng = np.random.default_rng(length)
    shape = (length, 3) if dim == 0 else (3, length)
    values = rng.integers(-9, 9, shape)
    x = torch.tensor(values, device=device)
    assert np.array_equal(x.cumsum(dim).cpu().numpy(), values.cumsum(dim))
    assert np.array_equal(x.cumprod(dim).cpu().numpy(), values.cumprod(dim))
    reverse = scans.running_sum(x, dim, None, True).cpu().numpy()
    assert np.array_equal(reverse, np.flip(np.flip(values, dim).cumsum(dim), dim))
    floats = rng.normal(size=shape).round(1)
    y = torch.tensor(floats, device=device)
    np.testing.assert_allclose(
        y.logcumsumexp(dim).cpu().numpy(), np.logaddexp.accumulate(floats, dim), rtol=1e-12, atol=1e-12
    )
    for scan, pick in ((torch.cummax, np.maximum), (torch.cummin, np.minimum)):
        best, places = scan(y, dim)
        expected = pick.accumulate(floats, dim)
        assert np.array_equal(best.cpu().numpy(), expected)
        rows = np.arange(length).reshape((-1, 1) if dim == 0 else (1, -1))
        last = np.maximum.accumulate(np.where(floats == expected, rows, 0), dim)
        assert np.array_equal(places.cpu().numpy(), last)


def test_scans_of_more_parts_than_a_block_has_threads(device):
    values = np.random.default_rng(0).integers(-9, 9, (2, 1_200_003))
    x = torch.tensor(values, device=device)
    assert np.array_equal(x.cumsum(1).cpu().numpy(), values.cumsum(1))
    best, places = x.cummax(1)
    expected = np.maximum.accumulate(values, 1)
    last = np.maximum.accumulate(np.where(values == expected, np.arange(values.shape[1]), 0), 1)
    assert np.array_equal(best.cpu().numpy(), expected) and np.array_equal(places.cpu().numpy(), last)


def test_extremes_so_far_keep_nan_at_its_last_place(device):
    x = torch.tensor([1.0, float("nan"), 5.0, float("nan"), 0.0], device=device)
    for scan in (torch.cummax, torch.cummin):
        values, places = scan(x, 0)
        assert values.isnan().tolist() == [False, True, True, True, True] and places.tolist() == [0, 1, 1, 3, 3]


def test_cumulative_products_have_derivatives_at_zeros():
    x = leaf([[2.0, 0.0, 3.0, 0.0, 4.0], [0.0, 1.0, 2.0, 3.0, 4.0], [1.0, 2.0, 3.0, 4.0, 0.0]])
    assert gradcheck(lambda each: torch.cumprod(each, 1), [x])


def test_in_place_scans_keep_the_type():
    x = torch.tensor([100, 100, 100], dtype=torch.int8)
    assert x.cumsum_(0) is x and x.tolist() == [100, -56, 44]
    assert torch.tensor([2, 3], dtype=torch.int32).cumprod_(0).tolist() == [2, 6]


def test_integrals_and_slopes_are_numpys():
    y, x = np.array([[1.0, 2.0, 4.0, 9.0], [0.0, 1.0, -1.0, 2.0]]), np.array([0.0, 1.0, 3.0, 4.0])
    values, points = torch.tensor(y), torch.tensor(x)
    assert torch.trapezoid(values, points).tolist() == [14.0, 1.0]
    assert torch.cumulative_trapezoid(values, dx=2).tolist() == [[3.0, 9.0, 22.0], [1.0, 1.0, 2.0]]
    small = torch.tensor([200, 200, 3], dtype=torch.uint8)
    assert torch.trapezoid(small).item() == 301.5 and torch.trapezoid(small, dx=2).item() == 603
    assert torch.cumulative_trapezoid(small, dx=2).tolist() == [144, 347]  # neighbours are added in their type
    for order in (1, 2):
        found = torch.gradient(values, spacing=[points], dim=1, edge_order=order)
        np.testing.assert_allclose(found[0].numpy(), np.gradient(y, x, axis=1, edge_order=order))
    assert torch.diff(points, 2, prepend=torch.tensor([-1.0], dtype=torch.float64)).tolist() == [0.0, 1.0, -1.0]


def test_logarithms_of_cumulative_sums_have_two_derivatives():
    x = leaf([[0.5, -1.0, 2.0], [3.0, 0.25, -2.0]])
    assert gradgradcheck(lambda each: torch.logcumsumexp(each, 1), [x])
    y = torch.tensor([-float("inf"), 1.0], dtype=torch.float64, requires_grad=True)
    y.logcumsumexp(0).sum().backward()
    assert y.grad.isnan().tolist() == [False, False]


@pytest.mark.parametrize("kind", [torch.float32, torch.bfloat16, torch.int32])
def test_running_extremes_of_many_columns_are_those_of_each(gpus, kind):
    x = (torch.arange(70 * 9).reshape(9, 70) * 7 % 5).to(kind)
    if kind.is_floating_point:
        x[3, 5] = x[6, 5] = float("nan")
    for function in (torch.cummax, torch.cummin):
        across, one_by_one = function(x, 0), function(x.T.contiguous(), 1)
        assert across.indices.tolist() == one_by_one.indices.T.tolist() == function(x.cuda(), 0).indices.tolist()
        assert across.values.nan_to_num(-1).tolist() == one_by_one.values.T.nan_to_num(-1).tolist()


ZEROS = [[2.0, 0.0, 3.0], [0.0, 0.0, 2.0], [0.0, 0.0, 0.0], [1.0, 2.0, 3.0]]


@pytest.mark.parametrize("dim", [0, 1])
@pytest.mark.parametrize("reverse", [False, True])
def test_second_and_third_derivatives_of_products_with_zeros(dim, reverse):
    x = torch.tensor(ZEROS, dtype=torch.float64, requires_grad=True)
    product = scans.running_product

    def slope(t):
        return torch.autograd.grad(product(t, dim, reverse).sin().sum(), t, create_graph=True)[0]

    assert torch.autograd.gradgradcheck(lambda t: product(t, dim, reverse), (x,))
    assert torch.autograd.gradgradcheck(slope, (x,))


def test_a_second_derivative_beside_two_zeros(device):
    x = torch.tensor([0.0, 0.0, 2.0], device=device, requires_grad=True)
    (first,) = torch.autograd.grad(x.cumprod(0).sum(), x, create_graph=True)
    assert first.tolist() == [1.0, 0.0, 0.0]
    (second,) = torch.autograd.grad(first[1], x)
    assert second.tolist() == [3.0, 0.0, 0.0]  # x0 * x1 + x0 * x1 * x2, by x0 and x1


def test_a_second_derivative_on_the_device_meta_has_a_shape():
    x = torch.ones(2, 3, device="meta", requires_grad=True)
    (first,) = torch.autograd.grad(x.cumprod(1).sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), x)
    assert first.shape == second.shape == (2, 3) and second.is_meta


def test_differences_of_order_zero_are_the_input():
    x = torch.arange(4.0)
    found = torch.diff(x, n=0, prepend=torch.zeros(1), append=torch.zeros(2))
    assert found.tolist() == [0.0, 1.0, 2.0, 3.0] and found.data_ptr() != x.data_ptr()


def test_a_spacing_of_none_is_one():
    assert torch.gradient(torch.tensor([1.0, 2.0, 4.0]), spacing=None)[0].tolist() == [1.0, 1.5, 2.0]


def test_a_gradient_along_a_dimension_twice_is_an_error():
    with pytest.raises(ShapeError, match=r"gradient: dim 1 appears multiple times in the list of dims \[1, -1\]"):
        torch.gradient(torch.ones(3, 3), dim=[1, -1])


@pytest.mark.parametrize("shape", [(200_000,), (4, 60_000), (20_000, 4)])
def test_long_scans_do_not_add_up_roundings(device, shape):
    at = max(range(len(shape)), key=shape.__getitem__)
    exact = float(np.float32(0.1)) * shape[at]
    x = torch.full(shape, 0.1, device=device)
    assert x.cumsum(at).select(at, -1).tolist() == pytest.approx([exact] * 4 if len(shape) > 1 else exact, rel=5e-6)
    assert x.logcumsumexp(at).select(at, -1).reshape(-1)[0].item() == pytest.approx(np.log(shape[at]) + 0.1, rel=5e-6)
