"""Sorting is stable, on tiles, across merges and in every dimension."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

import flambeau as torch
from flambeau.errors import IndexRangeError
from flambeau.ops import sorting
from flambeau.ops.sorting import LONG_ROW, TILE
from flambeau.testing import machine

LENGTHS = (0, 1, 2, 1000, TILE, TILE + 1, 2 * TILE, 3 * TILE - 7, 5 * TILE + 3, LONG_ROW + 1, LONG_ROW + 5000)


def stable_order(keys, descending):
    """The indexes that sort each row of a NumPy array, along its last axis."""
    if not descending:
        return np.argsort(keys, axis=-1, kind="stable")
    backward = np.argsort(keys[..., ::-1], axis=-1, kind="stable")
    return keys.shape[-1] - 1 - backward[..., ::-1]


@settings(deadline=None, max_examples=25)
@given(
    some.sampled_from(LENGTHS),
    some.integers(1, 3),
    some.booleans(),
    some.sampled_from(["float32", "int64", "bfloat16"]),
)
def test_sort_is_numpys_stable_sort(length, rows, descending, kind):
    values = np.random.default_rng(length).integers(-20, 20, (rows, length)).astype("float32")
    expected = stable_order(values, descending)
    with machine(devices=1):
        for device in ("cpu", "cuda"):
            x = torch.tensor(values, device=device).to(getattr(torch, kind))
            found = x.sort(-1, descending)
            assert np.array_equal(found.indices.cpu().numpy(), expected)
            sorted_values = np.take_along_axis(values, expected, -1)
            assert np.array_equal(found.values.float().cpu().numpy(), sorted_values)


def test_nan_is_the_greatest():
    x = torch.tensor([1.0, float("nan"), -1.0, float("inf")])
    assert x.argsort().tolist() == [2, 0, 3, 1]
    assert x.argsort(descending=True).tolist() == [1, 3, 0, 2]


def test_other_dimensions_sort_too():
    x = torch.tensor([[3, 1], [2, 5], [1, 4]])
    assert x.sort(0).values.tolist() == [[1, 1], [2, 4], [3, 5]]


def test_gradients_go_back_to_where_values_came_from():
    x = torch.tensor([3.0, 1.0, 2.0], requires_grad=True)
    (x.sort().values * torch.tensor([10.0, 20.0, 30.0])).sum().backward()
    assert x.grad.tolist() == [30, 10, 20]


def test_topk_is_the_beginning_of_a_sort():
    values, indices = torch.tensor([3.0, 1.0, 2.0]).topk(2)
    assert (values.tolist(), indices.tolist()) == ([3, 2], [0, 2])
    with pytest.raises(IndexRangeError, match="k 4 is out of range for dimension 0 with size 3"):
        torch.ones(3).topk(4)


def test_results_print_under_the_call_s_name():
    x = torch.tensor([3, 1])
    text = "torch.return_types.{}(\nvalues=tensor({}),\nindices=tensor({}))"
    assert repr(x.sort()) == text.format("sort", [1, 3], [1, 0])
    assert repr(x.topk(1)) == text.format("topk", [3], [0])


def test_results_of_sort_lie_as_the_input_and_those_of_topk_are_contiguous():
    x = torch.arange(60.0).reshape(3, 4, 5)
    without_gaps = [x, x.permute(2, 0, 1), x.transpose(1, 2)]
    for each in [*without_gaps, x[:, ::2], x[:, :1].expand(3, 4, 5)]:
        strides = each.stride() if any(each is one for one in without_gaps) else torch.empty(each.shape).stride()
        for dim in range(3):
            for found in (*each.sort(dim), each.argsort(dim), each.sort(dim, descending=True).values):
                assert found.stride() == strides
            assert each.sort(dim).values.tolist() == np.sort(each.numpy(), dim).tolist()
            assert each.argsort(dim).tolist() == np.argsort(each.numpy(), dim, kind="stable").tolist()
            assert all(found.is_contiguous() for found in each.topk(2, dim))


def test_named_results_are_those_of_return_types_and_can_be_pickled():
    x, square = torch.tensor([3.0, 1.0, 2.0]), torch.tensor([[2.0, 0.0], [0.0, 4.0]])
    factors = torch.linalg.lu_factor(square)
    for name, found in {
        "sort": x.sort(), "topk": x.topk(2), "max": x.max(0), "median": x.median(0), "cummin": x.cummin(0),
        "aminmax": x.aminmax(), "histogram": x.histogram(2), "frexp": x.frexp(), "geqrf": square.geqrf(),
        "linalg_cholesky_ex": torch.linalg.cholesky_ex(square), "linalg_eigh": torch.linalg.eigh(square),
        "linalg_inv_ex": torch.linalg.inv_ex(square), "linalg_ldl_factor": torch.linalg.ldl_factor(square),
        "linalg_ldl_factor_ex": torch.linalg.ldl_factor_ex(square), "linalg_lu": torch.linalg.lu(square),
        "linalg_lstsq": torch.linalg.lstsq(square, square), "linalg_lu_factor": factors,
        "linalg_lu_factor_ex": torch.linalg.lu_factor_ex(square), "linalg_qr": torch.linalg.qr(square),
        "linalg_slogdet": torch.linalg.slogdet(square), "linalg_svd": torch.linalg.svd(square),
        "linalg_solve_ex": torch.linalg.solve_ex(square, square), "lu_unpack": torch.lu_unpack(*factors),
        "qr": square.qr(), "svd": square.svd(), "triangular_solve": square.triangular_solve(square),
    }.items():  # fmt: skip
        assert type(found) is getattr(torch.return_types, name) and repr(found).startswith(
            f"torch.return_types.{name}("
        )
        again = pickle.loads(pickle.dumps(found))
        assert type(again) is type(found) and all(one.equal(other) for one, other in zip(again, found))


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("dtype", [np.int64, np.int16, np.float32])
def test_long_rows_of_few_and_of_many_values(device, dtype, descending):
    n, rng = LONG_ROW + 4097, np.random.default_rng(1)
    rows = [np.full(n, 7), *(rng.integers(low, high, n) for low, high in ((-3, 3), (0, 200), (-16384, 16384)))]
    values = np.stack(rows).astype(dtype)
    order = np.argsort(-values.astype(np.int64) if descending else values, axis=1, kind="stable")
    found = torch.tensor(values, device=device).sort(1, descending)
    assert np.array_equal(found.indices.cpu().numpy(), order)
    assert np.array_equal(found.values.cpu().numpy(), np.take_along_axis(values, order, 1))
    alone = sorting.sort_values(torch.tensor(values, device=device), descending)
    assert np.array_equal(alone.cpu().numpy(), np.take_along_axis(values, order, 1))


def test_long_rows_of_either_zero_and_nan_are_stable():
    values = np.tile(np.array([0.0, -0.0, np.nan, -np.nan, 1.0], np.float32), LONG_ROW // 4)
    with machine(devices=1):
        for device in ("cpu", "cuda"):
            found = torch.tensor(values, device=device).sort()
            assert np.array_equal(found.indices.cpu().numpy(), np.argsort(values, kind="stable"))
            assert np.array_equal(
                np.signbit(found.values.cpu().numpy()), np.signbit(values)[found.indices.cpu().numpy()]
            )
