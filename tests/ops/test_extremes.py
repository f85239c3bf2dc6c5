"""The largest and the smallest over dimensions: NaN, names, ties, and nothing to choose from."""

import numpy as np
import pytest

from flambeau import dtypes
from flambeau.errors import IndexRangeError
from flambeau.ops import reductions
from flambeau.tensor.factories import tensor

NAN = float("nan")


def gradient(function, values):
    x = tensor(values, dtype=dtypes.float64, requires_grad=True)
    function(x).sum().backward()
    return x.grad.tolist()


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


def test_errors_name_every_value():
    with pytest.raises(
        IndexRangeError, match=r"max: expected reduction dim to be specified for an input of .*\[0, 3\]"
    ):
        reductions.max_(tensor(np.zeros((0, 3))))
    with pytest.raises(IndexRangeError, match="amax: expected reduction dim 0 to have non-zero size"):
        reductions.amax(tensor(np.zeros((0, 3))), 0)
