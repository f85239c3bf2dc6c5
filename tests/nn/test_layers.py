"""Layers: linear maps, reshaping, activations, normalization, dropout and embedding."""

import math

import pytest

import flambeau as torch
from flambeau import nn
from flambeau.errors import ArgumentError, ShapeError


def filled(net, *values):
    with torch.no_grad():
        for param, value in zip(net.parameters(), values):
            param.copy_(torch.tensor(value))
    return net


def test_linear_multiplies_and_shifts():
    net = filled(nn.Linear(2, 3), [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], [0.5, 1.0, 1.5])
    x = torch.tensor([[1.0, 1.0], [0.0, 2.0]])
    assert net(x).tolist() == [[3.5, 8.0, 12.5], [4.5, 9.0, 13.5]]
    assert net(x.view(2, 1, 2)).shape == (2, 1, 3)
    net(x).sum().backward()
    assert net.weight.grad.tolist() == [[1.0, 3.0]] * 3
    assert net.bias.grad.tolist() == [2.0] * 3


def test_linear_without_bias():
    net = filled(nn.Linear(2, 1, bias=False), [[1.0, 2.0]])
    assert net.bias is None
    assert net(torch.ones(1, 2)).tolist() == [[3.0]]
    assert repr(net) == "Linear(in_features=2, out_features=1, bias=False)"


def test_linear_starts_within_its_bound():
    torch.manual_seed(3)
    net = nn.Linear(16, 200, dtype=torch.float64)
    bound = 1 / math.sqrt(16)
    for each in (net.weight, net.bias):
        assert each.dtype is torch.float64
        assert -bound <= each.min().item() < -0.9 * bound
        assert 0.9 * bound < each.max().item() <= bound


def test_the_seed_decides_the_start():
    def start():
        torch.manual_seed(5)
        return nn.Linear(3, 2).weight.tolist()

    first = start()
    assert start() == first
    assert nn.Linear(3, 2).weight.tolist() != first


@pytest.mark.devices(2)
def test_a_module_is_made_where_it_is_wanted(gpus):
    assert {str(each.device) for each in nn.Linear(2, 2, device="cuda:1").parameters()} == {"cuda:1"}
    with torch.device("cuda"):
        assert str(nn.Linear(2, 2).weight.device) == "cuda:0"


def test_shapes_flatten_and_unflatten():
    x = torch.zeros(2, 3, 4)
    assert nn.Flatten()(x).shape == (2, 12)
    assert nn.Flatten(0, 1)(x).shape == (6, 4)
    assert nn.Unflatten(1, (3, 1))(x).shape == (2, 3, 1, 4)
    assert nn.Identity(1, any=2)(x) is x
    assert repr(nn.Unflatten(1, (3, 1))) == "Unflatten(dim=1, unflattened_size=(3, 1))"


POINTS = (-2.0, -0.5, 0.0, 0.5, 2.0)
ROOT = math.sqrt(2 / math.pi)
FORMULAS = {
    "ReLU": (nn.ReLU(), lambda x: max(x, 0.0)),
    "Tanh": (nn.Tanh(), math.tanh),
    "Sigmoid": (nn.Sigmoid(), lambda x: 1 / (1 + math.exp(-x))),
    "SiLU": (nn.SiLU(), lambda x: x / (1 + math.exp(-x))),
    "GELU": (nn.GELU(), lambda x: x * (1 + math.erf(x / math.sqrt(2))) / 2),
    "GELU of tanh": (nn.GELU("tanh"), lambda x: x * (1 + math.tanh(ROOT * (x + 0.044715 * x**3))) / 2),
}


@pytest.mark.parametrize("name", FORMULAS)
def test_values(name):
    net, formula = FORMULAS[name]
    found = net(torch.tensor(POINTS, dtype=torch.float64)).tolist()
    assert found == pytest.approx([formula(x) for x in POINTS], rel=1e-12)


@pytest.mark.parametrize("make", [nn.ReLU, nn.SiLU])
def test_activations_in_place(make):
    x = torch.tensor(POINTS)
    assert make(inplace=True)(x) is x
    assert x.tolist() == make()(torch.tensor(POINTS)).tolist()
    assert "inplace=True" in repr(make(inplace=True))


def test_softmax_sums_to_1():
    x = torch.tensor([[0.0, math.log(3.0)], [5.0, 5.0]], dtype=torch.float64)
    assert nn.Softmax(dim=1)(x).tolist() == [pytest.approx([0.25, 0.75]), pytest.approx([0.5, 0.5])]
    logs = nn.LogSoftmax(dim=1)(x)
    assert logs.exp().sum(1).tolist() == pytest.approx([1.0, 1.0])
    with pytest.warns(UserWarning, match="no dim was given, 1 is used"):
        assert nn.Softmax()(x).sum(1).tolist() == pytest.approx([1.0, 1.0])


def test_rows_get_mean_0_and_variance_1():
    out = nn.LayerNorm(4)(torch.tensor([[1.0, 2.0, 3.0, 4.0]]))
    scale = (1.25 + 1e-5) ** -0.5
    assert out.tolist()[0] == pytest.approx([-1.5 * scale, -0.5 * scale, 0.5 * scale, 1.5 * scale], rel=1e-6)


def test_weight_and_bias_follow():
    net = nn.LayerNorm((2, 2), eps=0.0)
    with torch.no_grad():
        net.weight.fill_(2.0)
        net.bias.fill_(1.0)
    out = net(torch.tensor([[1.0, 1.0], [3.0, 3.0]]))
    assert out.tolist() == [[-1.0, -1.0], [3.0, 3.0]]
    out.sum().backward()
    assert net.bias.grad.tolist() == [[1.0, 1.0], [1.0, 1.0]]
    assert net.weight.grad.tolist() == [[-1.0, -1.0], [1.0, 1.0]]


def test_parts_may_be_left_out():
    assert [name for name, _ in nn.LayerNorm(3, bias=False).named_parameters()] == ["weight"]
    assert list(nn.LayerNorm(3, elementwise_affine=False).parameters()) == []
    assert repr(nn.LayerNorm(3)) == "LayerNorm((3,), eps=1e-05, elementwise_affine=True, bias=True)"


def test_values_are_dropped_or_scaled_in_training_only():
    torch.manual_seed(0)
    net, x = nn.Dropout(0.25), torch.ones(4000)
    values = net(x).tolist()
    assert sorted(set(values)) == pytest.approx([0.0, 4 / 3])
    assert 900 < values.count(0.0) < 1100
    assert net.eval()(x).tolist() == x.tolist()


def test_the_gradient_takes_the_same_mask():
    torch.manual_seed(0)
    x = torch.ones(50, requires_grad=True)
    out = nn.Dropout(0.5)(x)
    out.sum().backward()
    assert x.grad.tolist() == out.tolist()


def test_dropout_in_place():
    torch.manual_seed(0)
    x = torch.ones(50)
    assert nn.Dropout(0.5, inplace=True)(x) is x
    assert set(x.tolist()) == {0.0, 2.0}


def test_bad_probability():
    with pytest.raises(ArgumentError, match=r"between 0 and 1, but got 1\.5"):
        nn.Dropout(1.5)
    assert repr(nn.Dropout(0.1)) == "Dropout(p=0.1, inplace=False)"


def test_rows_are_looked_up_and_their_gradients_added():
    net = nn.Embedding.from_pretrained(torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), freeze=False)
    out = net(torch.tensor([[2, 0], [2, 2]]))
    assert out.tolist() == [[[5.0, 6.0], [1.0, 2.0]], [[5.0, 6.0], [5.0, 6.0]]]
    out.sum().backward()
    assert net.weight.grad.tolist() == [[1.0, 1.0], [0.0, 0.0], [3.0, 3.0]]


def test_the_padding_row_starts_at_zero_and_stays():
    net = nn.Embedding(3, 2, padding_idx=-1)
    assert net.padding_idx == 2
    assert net.weight[2].tolist() == [0.0, 0.0]
    assert net.weight[0].tolist() != [0.0, 0.0]
    net(torch.tensor([2, 0])).sum().backward()
    assert net.weight.grad.tolist() == [[1.0, 1.0], [0.0, 0.0], [0.0, 0.0]]
    assert repr(net) == "Embedding(3, 2, padding_idx=2)"


def test_bad_arguments():
    with pytest.raises(ArgumentError, match="padding_idx 3 must be within num_embeddings 3"):
        nn.Embedding(3, 2, padding_idx=3)
    with pytest.raises(ShapeError, match=r"must have 2 dimensions, this is float32\[3\]"):
        nn.Embedding.from_pretrained(torch.ones(3))
    assert not nn.Embedding.from_pretrained(torch.ones(3, 1)).weight.requires_grad


def test_bilinear():
    net = nn.Bilinear(2, 3, 4)
    x, y = torch.randn(5, 2), torch.randn(5, 3)
    expected = [[(x[n] @ net.weight[k] @ y[n] + net.bias[k]).item() for k in range(4)] for n in range(5)]
    assert torch.allclose(net(x, y), torch.tensor(expected), atol=1e-5)
    assert net(x[0], y[0]).shape == (4,) and repr(net) == (
        "Bilinear(in1_features=2, in2_features=3, out_features=4, bias=True)"
    )
    with pytest.raises(RuntimeError, match=r"bilinear: .*\[5, 3\] and \[5, 3\].*\[4, 2, 3\]"):
        net(y, y)


def test_modules_are_the_functions():
    x = torch.arange(2 * 8 * 2 * 2.0).reshape(2, 8, 2, 2)
    net = nn.PixelShuffle(2)
    assert net(x).equal(nn.functional.pixel_shuffle(x, 2)) and nn.PixelUnshuffle(2)(net(x)).equal(x)
    assert nn.ChannelShuffle(4)(x).equal(torch.channel_shuffle(x, 4))
    assert [repr(each) for each in (net, nn.PixelUnshuffle(3), nn.ChannelShuffle(groups=2))] == [
        "PixelShuffle(upscale_factor=2)", "PixelUnshuffle(downscale_factor=3)", "ChannelShuffle(groups=2)",
    ]  # fmt: skip


def test_inputs_that_are_no_tensors_are_named():
    for layer, args in (
        (nn.Flatten(), (3,)), (nn.Unflatten(0, (1, 1)), ([1.0],)),
        (nn.AdaptiveLogSoftmaxWithLoss(8, 4, [2]), (torch.ones(1, 8), 1)),
        (nn.AdaptiveLogSoftmaxWithLoss(8, 4, [2]), (None, torch.tensor([1]))),
    ):  # fmt: skip
        with pytest.raises(TypeError, match=f"{type(layer).__name__}: (input|target) must be a Tensor"):
            layer(*args)
    with pytest.raises(TypeError, match="Softmax2d: input must be a Tensor"):
        nn.Softmax2d()(3)


def test_wrong_settings_of_layers_are_named():
    for make, words in (
        (
            lambda: nn.AdaptiveLogSoftmaxWithLoss(8, 4, [1, "a"]),
            r"AdaptiveLogSoftmaxWithLoss: cutoffs\[1\] must be a num",
        ),
        (lambda: nn.LinearCrossEntropyLoss(2, 3, weight=[1.0]), "LinearCrossEntropyLoss: weight must be a Tensor"),
        (
            lambda: nn.LinearCrossEntropyLoss(2, 3, out_features=3),
            "LinearCrossEntropyLoss: out_features must be a list",
        ),
        (
            lambda: nn.LinearCrossEntropyLoss(2, 3, label_smoothing="a"),
            "LinearCrossEntropyLoss: label_smoothing must be",
        ),
    ):
        with pytest.raises(TypeError, match=words):
            make()
    with pytest.raises(ValueError, match="RNNBase: unrecognized mode {}"):
        nn.RNNBase({}, 2, 3)
    with pytest.raises(ValueError, match="calculate_gain: Unsupported nonlinearity"):
        nn.init.calculate_gain([1])
