"""Norms: their kinds, and gradients where something is zero."""

from flambeau import dtypes
from flambeau.ops import reductions
from flambeau.tensor.factories import tensor

INF = float("inf")


def gradient(function, values):
    x = tensor(values, dtype=dtypes.float64, requires_grad=True)
    function(x).sum().backward()
    return x.grad.tolist()


def test_norms():
    x = tensor([[3.0, -4.0], [0.0, 12.0]])
    found = [reductions.norm(x, p).item() for p in ("fro", 1, INF, -INF, 0)]
    assert found == [13, 19, 12, 0, 3]
    assert reductions.norm(x, dim=1).tolist() == [5, 12]


def test_gradients_at_zero_are_zero():
    for p in (1, 2, 3, 0.5):
        assert gradient(lambda x, p=p: reductions.norm(x, p), [0.0, 0.0]) == [0, 0]
    assert gradient(lambda x: reductions.norm(x, 1), [0.0, 2.0]) == [0, 1]
    assert gradient(lambda x: reductions.norm(x, INF), [2.0, 2.0]) == [0.5, 0.5]
