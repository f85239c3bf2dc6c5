"""Running sums: both directions, and derivatives."""

from flambeau import dtypes
from flambeau.ops import scans
from flambeau.tensor.factories import tensor
from flambeau.testing import gradcheck


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
