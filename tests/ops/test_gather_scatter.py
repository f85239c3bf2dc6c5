"""Reductions by index, flat indexes, masks and parts: values, order and gradients."""

import numpy as np
import pytest

import flambeau as torch
from benchmarks import counts
from flambeau.core import thread
from flambeau.errors import IndexRangeError, ShapeError
from flambeau.ops import indexing_kernels
from flambeau.testing import gradcheck

JOINS = {"sum": np.add, "prod": np.multiply, "amax": np.maximum, "amin": np.minimum}


@pytest.mark.parametrize("reduce", [*JOINS, "mean"])
@pytest.mark.parametrize("include_self", [True, False])
def test_scatter_reduce_joins_in_order(device, reduce, include_self):
    rng = np.random.default_rng(0)
    values, source, index = rng.normal(size=(6, 3)), rng.normal(size=(9, 3)), rng.integers(0, 5, (8, 3))
    expected = values.copy()
    for (row, column), target in np.ndenumerate(index):
        is_first = (index[:row, column] == target).sum() == 0
        if is_first and not include_self:
            expected[target, column] = source[row, column]
        else:
            join = JOINS.get(reduce, np.add)
            expected[target, column] = join(expected[target, column], source[row, column])
    if reduce == "mean":
        counts = (index[None] == np.arange(6)[:, None, None]).sum(1)
        expected /= np.where(counts, counts + include_self, 1)
    x = torch.tensor(values, device=device)
    places, given = torch.tensor(index, device=device), torch.tensor(source, device=device)
    found = x.scatter_reduce(0, places, given, reduce, include_self=include_self)
    np.testing.assert_allclose(found.cpu().numpy(), expected, rtol=1e-12)
    assert x.scatter_reduce_(0, places, given, reduce, include_self=include_self) is x and torch.equal(x, found)


def test_means_of_integers_are_rounded_down(device):
    x, index = torch.tensor([0, -4], device=device), torch.tensor([0, 0, 1], device=device)
    assert x.scatter_reduce(0, index, torch.tensor([1, 1, -1], device=device), "mean").tolist() == [0, -3]


@pytest.mark.parametrize("include_self", [True, False])
def test_gradients_of_products_with_zeros(include_self):
    x = torch.tensor([2.0, 0.0, 3.0], dtype=torch.float64, requires_grad=True)
    source = torch.tensor([0.0, 5.0, 0.0, 0.0, 4.0], dtype=torch.float64, requires_grad=True)
    index = torch.tensor([0, 0, 1, 1, 2])
    x.scatter_reduce(0, index, source, "prod", include_self=include_self).sum().backward()
    assert source.grad.tolist() == [(10.0 if include_self else 5.0), 0.0, 0.0, 0.0, (3.0 if include_self else 1.0)]


def test_ties_share_the_gradient():
    x = torch.tensor([5.0, 1.0], requires_grad=True)
    source = torch.tensor([5.0, 5.0, 2.0], requires_grad=True)
    x.scatter_reduce(0, torch.tensor([0, 0, 1]), source, "amax").sum().backward()
    third = pytest.approx(1 / 3)
    assert (x.grad.tolist(), source.grad.tolist()) == ([third, 0.0], [third, third, 1.0])


def test_index_reduce(device):
    x, index = torch.ones(3, 2, device=device), torch.tensor([2, 0, 2], device=device)
    source = torch.tensor([[2.0, 3.0], [4.0, 5.0], [6.0, 7.0]], device=device)
    assert x.index_reduce(0, index, source, "prod").tolist() == [[4, 5], [1, 1], [12, 21]]
    assert x.index_reduce(0, index, source, "mean", include_self=False).tolist() == [[4, 5], [1, 1], [4, 5]]
    assert x.index_reduce_(0, index, source, "amax") is x and x.tolist() == [[4, 5], [1, 1], [6, 7]]


def test_segments(device):
    x, nan, inf = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], device=device), float("nan"), float("inf")
    lengths = torch.tensor([1, 0, 2], device=device)
    expected = {"sum": [1, 0, 8], "prod": [1, 1, 15], "max": [1, -inf, 5], "min": [1, inf, 3], "mean": [1, nan, 4]}
    for reduce, values in expected.items():
        found = torch.segment_reduce(x, reduce, lengths=lengths)[:, 0]
        assert found.tolist() == pytest.approx(values, nan_ok=True)
    assert torch.segment_reduce(x, "mean", lengths=lengths, initial=2.0)[:, 1].tolist() == [4.0, 2.0, 6.0]
    offsets = torch.tensor([[0, 2], [0, 2], [0, 2]], device=device)
    assert torch.segment_reduce(x, "sum", offsets=offsets, axis=1).tolist() == [[3], [7], [11]]


def test_flat_indexes(device):
    x = torch.arange(6, device=device).reshape(2, 3)
    index = torch.tensor([[0, -1], [4, 0]], device=device)
    assert x.t().take(index).tolist() == [[0, 5], [2, 0]]
    assert x.put(index, torch.tensor([7, 8, 9, 6], device=device)).tolist() == [[6, 1, 2], [3, 9, 8]]
    y = torch.zeros(2, 3, dtype=torch.int64, device=device).t()
    assert y.put_(index, torch.tensor([[1, 2], [3, 4]], device=device), True) is y
    assert y.tolist() == [[5, 0], [0, 0], [3, 2]]
    if device == "cpu":
        with pytest.raises(IndexRangeError, match="take: index 6 is out of bounds"):
            x.take(torch.tensor(6))


def test_masked_scatter_reads_the_source_in_order(device):
    x = torch.zeros(2, 3, device=device, requires_grad=True)
    mask = torch.tensor([True, False, True], device=device)
    source = torch.arange(1.0, 6.0, device=device).requires_grad_()
    found = x.masked_scatter(mask, source)
    assert found.tolist() == [[1, 0, 2], [3, 0, 4]]
    found.sum().backward()
    assert x.grad.tolist() == [[0, 1, 0], [0, 1, 0]] and source.grad.tolist() == [1, 1, 1, 1, 0]
    y = torch.zeros(3, device=device)
    assert y.masked_scatter_(mask, source.detach()) is y and y.tolist() == [1, 0, 2]
    empty = torch.empty(0, device=device, requires_grad=True)
    nothing = torch.zeros(2, dtype=torch.bool, device=device)
    unchanged = torch.tensor([-0.0, 1.0], device=device).masked_scatter(nothing, empty)
    unchanged.sum().backward()
    assert unchanged.tolist() == [0, 1] and unchanged[0].signbit() and empty.grad.shape == (0,)


def test_nonzero_elements_of_a_given_number(device):
    x = torch.tensor([[0, 3], [4, 5]], device=device)
    assert x.argwhere().tolist() == [[0, 1], [1, 0], [1, 1]]
    assert torch.nonzero_static(x, size=2).tolist() == [[0, 1], [1, 0]]
    assert torch.nonzero_static(x, size=4, fill_value=9).tolist() == [[0, 1], [1, 0], [1, 1], [9, 9]]
    assert torch.nonzero_static(x, size=0).shape == (0, 2)
    assert torch.nonzero_static(x * 0, size=2).tolist() == [[-1, -1]] * 2
    deep = torch.nonzero_static(x.t().reshape((1,) * 8 + (2, 2)), size=2)
    assert deep.tolist() == [[0] * 9 + [1], [0] * 8 + [1, 0]]


def test_nonzero_elements_of_a_given_number_are_three_launches(gpus):
    x = torch.ones(3, 4, device="cuda")
    assert counts.of(lambda: torch.nonzero_static(x, size=5))["launch"] == 3  # bool, running sums, places


def test_indexes_of_each_dimension(device):
    found = torch.unravel_index(torch.tensor([[1, 5], [23, 0]], device=device), (2, 3, 4))
    expected = np.unravel_index([[1, 5], [23, 0]], (2, 3, 4))
    assert [each.tolist() for each in found] == [each.tolist() for each in expected]
    small = torch.unravel_index(torch.tensor([200], dtype=torch.uint8, device=device), (2, 300))
    assert [(part.dtype, part.tolist()) for part in small] == [(torch.int64, [0]), (torch.int64, [200])]


def test_copies_with_a_part_written(device):
    x = torch.zeros(3, 4, device=device)
    assert torch.select_scatter(x, torch.ones(3, device=device), 1, -1).sum(0).tolist() == [0, 0, 0, 3]
    assert torch.slice_scatter(x, torch.ones(3, 2, device=device), 1, 0, None, 3).sum(0).tolist() == [3, 0, 0, 3]
    found = torch.diagonal_scatter(x.t(), torch.ones(3, device=device), -1)
    assert found.diagonal(-1).tolist() == [1, 1, 1] and found.sum().item() == 3 and x.sum().item() == 0
    with pytest.raises(ShapeError, match=r"slice_scatter: .* \[2, 4\], the part of the input \[3, 4\]"):
        torch.slice_scatter(x, torch.ones(2, 4, device=device))
    leaf = torch.zeros(3, 4, dtype=torch.float64, requires_grad=True)
    part = torch.ones(2, 4, dtype=torch.float64, requires_grad=True)
    assert gradcheck(lambda one, other: torch.slice_scatter(one, other, 0, 1) ** 2, [leaf, part])


def few_or_many(device):
    """Results of operators that write at indexes, which repeat and lie in strided tensors."""
    x, index = torch.arange(12.0, device=device).view(3, 4), torch.tensor([[2, 0, 2], [0, 0, 1]], device=device).t()
    y = (torch.arange(40.0, device=device).view(5, 8) + 1)[::2, ::2]
    yield x.scatter(0, index, y)
    yield x.scatter(1, index, 7)
    yield x.scatter(0, index, y, reduce="multiply")
    yield x.scatter_add(1, index, y)
    for reduce in ("sum", "prod", "mean", "amax", "amin"):
        for include_self in (True, False):
            yield x.scatter_reduce(0, index, y, reduce, include_self=include_self)
    at = index[:, 0]
    yield x.index_add(0, at, y, alpha=2)
    yield x.t().index_copy(1, at, y.t())
    yield x.index_fill(1, at - 3, 5)
    yield x.index_reduce(0, at, y, "prod")
    yield x.put(index - 2, y[:, :2])
    yield x.put(index, y[:, :2], accumulate=True)
    for accumulate in (True, False):
        yield x.clone().index_put_((at, at - 2), y[0, :3], accumulate)
    yield x.long().scatter_(0, index, 3)


def test_few_entries_are_written_and_joined_as_many_are(gpus, monkeypatch):
    few = [each.tolist() for each in few_or_many("cuda")]
    monkeypatch.setattr(indexing_kernels, "FEW", 0)
    thread.machine().plans.entries.clear()
    assert few == [each.tolist() for each in few_or_many("cuda")] == [each.tolist() for each in few_or_many("cpu")]


def test_an_index_that_is_written_is_read_before(gpus):
    for device in ("cpu", "cuda"):
        x = torch.tensor([2, 0, 1, 1], device=device)
        assert x.clone().scatter_(0, x, x).tolist() == (y := x.clone()).scatter_(0, y, y).tolist() == [0, 1, 2, 1]


def test_few_entries_take_one_launch_beside_the_copy(gpus):
    x, index = torch.ones(4, 4, device="cuda"), torch.tensor([3, 1, 1], device="cuda")
    y = torch.ones(3, 4, device="cuda")
    for call in (
        lambda: x.index_add(0, index, y), lambda: x.index_copy(0, index, y), lambda: x.index_fill(0, index, 2),
        lambda: x.put(index, y[:, 0]), lambda: x.scatter_add(0, index[:, None].expand(3, 4), y),
    ):  # fmt: skip
        assert counts.of(call)["launch"] == 2


def test_as_many_dimensions_as_indexes_to_take_along():
    with pytest.raises(ShapeError, match=r"take_along_dim: .*\[2, 3\] and \[1\]"):
        torch.take_along_dim(torch.ones(2, 3), torch.tensor([0]), 0)
    with pytest.raises(ShapeError, match=r"take_along_dim: .*\[2\] and \[\]"):
        torch.take_along_dim(torch.ones(2), torch.tensor(0), 0)


def test_wrong_counts_of_indexes_are_index_errors():
    x, index = torch.ones(3), torch.tensor([0, 1])
    for call in (lambda: x.put(index, x), lambda: x.index_copy(0, index, x)):
        with pytest.raises(IndexError, match="put|index_copy"):
            call()


@pytest.mark.parametrize("shapes", [((), ()), ((), (1,)), ((1,), ()), ((3,), ()), ((3,), (1,))])
@pytest.mark.parametrize("source", [(), (1,), (2,)])
def test_a_tensor_without_dimensions_counts_as_a_vector(device, shapes, source):
    of_input, of_index = shapes
    index = torch.zeros(of_index, dtype=torch.int64, device=device)
    x = torch.full(of_input, 2.0, device=device, requires_grad=True)
    src = torch.full(source, 3.0, device=device, requires_grad=True)
    rest = [0] * (len(source) and source[0] - 1), [1] * (of_input == (3,) and 2)
    joined = {"prod": (6, 3, 2), "sum": (5, 1, 1), "mean": (2.5, 0.5, 0.5), "amax": (3, 0, 1), "amin": (2, 1, 0)}
    calls = {how: (lambda how=how: x.scatter_reduce(0, index, src, how), joined[how]) for how in joined}
    calls["scatter"] = lambda: x.scatter(0, index, src), (3, 0, 1)
    calls["scatter_add"] = lambda: x.scatter_add(0, index, src), (5, 1, 1)
    for call, (value, of_x, of_src) in calls.values():
        x.grad = src.grad = None
        result = call()
        result.sum().backward()
        assert result.shape == of_input and result.reshape(-1)[0].item() == value
        assert x.grad.shape == of_input and x.grad.reshape(-1).tolist() == [of_x, *rest[1]]
        assert src.grad.shape == source and src.grad.reshape(-1).tolist() == [of_src, *rest[0]]
    x.grad = None
    read = x.gather(0, index)
    read.sum().backward()
    assert read.shape == of_index and x.grad.reshape(-1).tolist() == [1, *[0] * (of_input == (3,) and 2)]


CASES = {
    "select": (1, 2), "slice": (1, 0, 3, 2), "diagonal": (1,), "as_strided": ((2, 2), (4, 1), 1),
}  # fmt: skip


@pytest.mark.parametrize("device", ["cpu", "cuda"])
@pytest.mark.parametrize("name", sorted(CASES))
def test_a_part_is_replaced(name, device, gpus):
    x = torch.arange(12.0, device=device).reshape(3, 4)
    wanted, arguments = x.clone(), CASES[name]
    view = wanted[:, 0:3:2] if name == "slice" else getattr(wanted, name)(*arguments)
    view.mul_(-1)
    found = getattr(torch, f"{name}_scatter")(x, view.clone(), *arguments)
    assert found.equal(wanted) and x[0].tolist() == [0, 1, 2, 3]
    assert getattr(x, f"{name}_scatter")(view.double(), *arguments).dtype is torch.float32
    assert getattr(x.t().contiguous().t(), f"{name}_scatter")(view, *arguments).equal(wanted)
    with pytest.raises(ShapeError, match=f"{name}_scatter: "):
        getattr(torch, f"{name}_scatter")(x, torch.zeros(7, device=device), *arguments)
