"""Setting the values of parameters."""

import math

import pytest

import flambeau as torch
from flambeau import nn
from flambeau.errors import ArgumentError
from flambeau.nn import init


def weight(*shape):
    return nn.Parameter(torch.zeros(*(shape or (60, 40)), dtype=torch.float64))


def spread(tensor):
    return (tensor.detach() ** 2).mean().item() ** 0.5


@pytest.mark.parametrize(
    ("fill", "bound"),
    [
        (lambda w: init.uniform_(w, -2.0, 2.0), 2.0),
        (init.xavier_uniform_, math.sqrt(6 / 100)),
        (lambda w: init.xavier_uniform_(w, gain=3.0), 3 * math.sqrt(6 / 100)),
        (lambda w: init.kaiming_uniform_(w, nonlinearity="relu"), math.sqrt(6 / 40)),
        (lambda w: init.kaiming_uniform_(w, a=math.sqrt(5)), math.sqrt(1 / 40)),
        (lambda w: init.kaiming_uniform_(w, mode="fan_out", nonlinearity="relu"), math.sqrt(6 / 60)),
    ],
)
def test_even_fills_keep_their_bound(fill, bound):
    torch.manual_seed(1)
    w = weight()
    assert fill(w) is w
    assert w.is_leaf
    largest = w.abs().max().item()
    assert 0.97 * bound < largest <= bound
    assert spread(w) == pytest.approx(bound / math.sqrt(3), rel=0.05)


@pytest.mark.parametrize(
    ("fill", "std"),
    [
        (lambda w: init.normal_(w, 0.0, 0.5), 0.5),
        (init.xavier_normal_, math.sqrt(2 / 100)),
        (lambda w: init.kaiming_normal_(w, nonlinearity="relu"), math.sqrt(2 / 40)),
        (lambda w: init.kaiming_normal_(w, a=1.0, mode="fan_out"), math.sqrt(1 / 60)),
    ],
)
def test_normal_fills_keep_their_deviation(fill, std):
    torch.manual_seed(1)
    w = weight()
    assert fill(w) is w
    assert spread(w) == pytest.approx(std, rel=0.05)


def test_constants():
    assert init.constant_(weight(2), 3.0).tolist() == [3.0, 3.0]
    assert init.ones_(weight(2)).tolist() == [1.0, 1.0]
    assert init.zeros_(init.ones_(weight(2))).tolist() == [0.0, 0.0]
    assert init.eye_(init.ones_(weight(2, 3))).tolist() == [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]


def test_a_generator_decides_the_values():
    def values():
        return init.normal_(weight(3), generator=torch.Generator().manual_seed(7)).tolist()

    assert values() == values()


def test_gains():
    assert init.calculate_gain("linear") == init.calculate_gain("conv2d") == 1
    assert init.calculate_gain("tanh") == 5 / 3
    assert init.calculate_gain("relu") == math.sqrt(2)
    assert init.calculate_gain("leaky_relu", 1.0) == 1.0
    assert init.calculate_gain("leaky_relu") == pytest.approx(math.sqrt(2 / (1 + 1e-4)))
    assert init.fans(weight(5, 3, 2, 2)) == (12, 20)


def test_what_cannot_be_filled():
    with pytest.raises(ArgumentError, match="Unsupported nonlinearity swish"):
        init.calculate_gain("swish")
    with pytest.raises(ArgumentError, match="fewer than 2 dimensions, this has 1"):
        init.xavier_normal_(weight(3))
    with pytest.raises(ArgumentError, match="Mode both not supported"):
        init.kaiming_normal_(weight(), mode="both")
    with pytest.raises(ArgumentError, match="Only tensors with 2 dimensions are supported, this has 1"):
        init.eye_(weight(3))
    with pytest.warns(UserWarning, match="zero-element tensors is a no-op"):
        init.kaiming_uniform_(weight(0, 3))
