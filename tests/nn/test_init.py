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


def test_modes_may_be_written_in_capitals():
    for fill in (init.kaiming_normal_, init.kaiming_uniform_):
        torch.manual_seed(0)
        expected = fill(torch.empty(3, 4), mode="fan_out")
        torch.manual_seed(0)
        assert fill(torch.empty(3, 4), mode="FAN_OUT").equal(expected)


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


RECORDED = {  # with seed 5 in PyTorch: the values, and the next random number
    "trunc": ([-0.486781, -0.083812, 0.631213, 0.667524, -0.197415, 0.690719], 0.532176),
    "rejected": ([2.524111, 2.218603, 2.111045, 2.315133, 2.266117, 2.371704], 0.651188),
    "wide": ([-1.018876, -1.263853, -1.168146, -0.02593, -1.346082, 1.478984], 0.072412),
    "tall": ([-1.270272, -0.960627, -1.456372, 0.22237, -0.515162, 1.740042], 0.072412),
    "sparse": ([-0.004868, 0.0, 0.0, 0.0, -0.001974, 0.019428], 0.579328),
}


@pytest.mark.parametrize(
    ("name", "shape", "fill"),
    [
        ("trunc", (2, 3), lambda w: init.trunc_normal_(w, 0.0, 1.0, -0.5, 0.9)),
        ("rejected", (2, 3), lambda w: init.trunc_normal_(w, 0.0, 1.0, 2.0, 3.0)),
        ("wide", (2, 3), lambda w: init.orthogonal_(w, 2.0)),
        ("tall", (3, 2), lambda w: init.orthogonal_(w, 2.0)),
        ("sparse", (2, 3), lambda w: init.sparse_(w, 0.5)),
    ],
)
def test_values_are_those_of_pytorch(name, shape, fill):
    w = weight(*shape)
    torch.manual_seed(5)
    assert fill(w) is w and w.requires_grad and w.is_leaf
    assert w.flatten().tolist() == pytest.approx(RECORDED[name][0], abs=1e-6)
    assert torch.rand(1).item() == pytest.approx(RECORDED[name][1], abs=1e-6)


def test_fills_of_a_gpu_that_choose(gpus):
    torch.manual_seed(5)
    w = nn.Parameter(torch.zeros(40, 30, device="cuda"))
    assert init.trunc_normal_(w, 0.0, 1.0, -0.5, 0.9) is w
    assert -0.5 <= w.min().item() < -0.45 and 0.85 < w.max().item() <= 0.9
    assert init.trunc_normal_(w, 0.0, 1.0, 2.0, 3.0).min().item() >= 2.0
    assert torch.allclose(init.orthogonal_(w, 2.0).T @ w, 4 * torch.eye(30, device="cuda"), atol=1e-4)
    assert (init.sparse_(w, 0.5) == 0).sum(0).tolist() == [20] * 30
    assert init.dirac_(nn.Parameter(torch.zeros(2, 2, 1, device="cuda"))).tolist() == [[[1.0], [0.0]], [[0.0], [1.0]]]


def test_identity_of_convolutions():
    w = init.dirac_(weight(4, 3, 2, 3), groups=2)
    assert w.nonzero().tolist() == [[0, 0, 1, 1], [1, 1, 1, 1], [2, 0, 1, 1], [3, 1, 1, 1]] and w.sum().item() == 4
    x = torch.rand(1, 3, 5, dtype=torch.float64)
    assert nn.functional.conv1d(x, init.dirac_(weight(3, 3, 3)), padding=1).equal(x)


FORMER = (
    "uniform normal constant eye dirac xavier_uniform xavier_normal kaiming_uniform kaiming_normal orthogonal sparse"
)


@pytest.mark.parametrize("name", FORMER.split())
def test_names_without_the_underscore_warn(name):
    more = {"constant": (2.0,), "sparse": (0.5,)}.get(name, ())
    shape = (3, 3, 3) if name == "dirac" else (3, 3)
    torch.manual_seed(3)
    wanted = getattr(init, f"{name}_")(weight(*shape), *more)
    torch.manual_seed(3)
    with pytest.warns(FutureWarning, match=f"nn.init.{name}.* deprecated in favor of .*nn.init.{name}_"):
        found = getattr(init, name)(weight(*shape), *more)
    assert found.equal(wanted)


def test_what_the_fills_with_structure_refuse():
    with pytest.raises(ArgumentError, match="3, 4, or 5 dimensions are supported, this has 2"):
        init.dirac_(weight())
    with pytest.raises(ArgumentError, match="divisible by groups, got size 3 and groups=2"):
        init.dirac_(weight(3, 1, 1), 2)
    with pytest.raises(ArgumentError, match="2 dimensions are supported, this has 1"):
        init.sparse_(weight(3), 0.5)
    with pytest.raises(ArgumentError, match="2 or more dimensions are supported, this has 1"):
        init.orthogonal_(weight(3))
    with pytest.warns(UserWarning, match="mean 5.0 is more than 2 std"):
        init.trunc_normal_(weight(3), 5.0)
