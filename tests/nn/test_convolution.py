"""Convolution layers: parameters, starting values, text, padding modes, sizes of transposed forms, wrong arguments."""

import numpy as np
import pytest

import flambeau as torch
from flambeau import nn
from flambeau.errors import ArgumentError, ArgumentTypeError
from flambeau.nn import functional as F


@pytest.mark.parametrize(
    ("layer", "weight", "bias", "text"),
    [
        (nn.Conv1d(4, 6, 3), (6, 4, 3), (6,), "Conv1d(4, 6, kernel_size=(3,), stride=(1,))"),
        (
            nn.Conv2d(4, 8, (3, 2), padding="same", groups=2, bias=False, padding_mode="circular", dilation=2),
            (8, 2, 3, 2),
            None,
            "Conv2d(4, 8, kernel_size=(3, 2), stride=(1, 1), padding=same, dilation=(2, 2), groups=2, bias=False, "
            "padding_mode=circular)",
        ),
        (nn.Conv3d(1, 2, 2, stride=2), (2, 1, 2, 2, 2), (2,), "Conv3d(1, 2, kernel_size=(2, 2, 2), stride=(2, 2, 2))"),
        (
            nn.ConvTranspose2d(4, 8, 3, 2, 1, 1, groups=2),
            (4, 4, 3, 3),
            (8,),
            "ConvTranspose2d(4, 8, kernel_size=(3, 3), stride=(2, 2), padding=(1, 1), output_padding=(1, 1), groups=2)",
        ),
    ],
    ids=lambda each: type(each).__name__,
)
def test_parameters_and_text(layer, weight, bias, text):
    assert layer.weight.shape == weight and repr(layer) == text
    assert list(layer.state_dict()) == (["weight"] if bias is None else ["weight", "bias"])
    assert layer.bias is None if bias is None else layer.bias.shape == bias


def test_starting_values_are_drawn_as_of_linear_layers():
    torch.manual_seed(3)
    layer = nn.Conv2d(4, 6, (3, 5), groups=2)
    torch.manual_seed(3)
    bound = (2 * 3 * 5) ** -0.5
    weight = torch.empty(6, 2, 3, 5).uniform_(-bound, bound)
    bias = torch.empty(6).uniform_(-bound, bound)
    np.testing.assert_allclose(layer.weight.detach().numpy(), weight.numpy(), rtol=1e-6)
    np.testing.assert_allclose(layer.bias.detach().numpy(), bias.numpy(), rtol=1e-6)
    assert nn.Conv1d(1, 1, 1, dtype=torch.float64).weight.dtype is torch.float64


@pytest.mark.parametrize("spatial", [1, 2, 3])
def test_forward_is_the_function(spatial):
    x = torch.rand(2, 4, *(7, 6, 5)[:spatial])
    layer = getattr(nn, f"Conv{spatial}d")(4, 6, 3, stride=2, padding=1, groups=2)
    wanted = getattr(F, f"conv{spatial}d")(x, layer.weight, layer.bias, 2, 1, 1, 2)
    assert layer(x).equal(wanted)
    np.testing.assert_allclose(layer(x[0]).detach().numpy(), wanted[0].detach().numpy(), rtol=1e-4, atol=1e-6)
    layer = getattr(nn, f"ConvTranspose{spatial}d")(4, 6, 3, stride=2, padding=1, output_padding=1)
    wanted = getattr(F, f"conv_transpose{spatial}d")(x, layer.weight, layer.bias, 2, 1, 1)
    assert layer(x).equal(wanted)


@pytest.mark.parametrize("mode", ["reflect", "replicate", "circular"])
def test_padding_modes(mode, monkeypatch):
    """The input is padded by F.pad, the last dimension first."""
    asked = []

    def pad(x, sides, mode):
        asked.append(list(sides))
        pairs = [(0, 0), (0, 0), *zip(sides[::2], sides[1::2])][:2] + list(zip(sides[::2], sides[1::2]))[::-1]
        how = {"reflect": "reflect", "replicate": "edge", "circular": "wrap"}[mode]
        return torch.tensor(np.pad(x.numpy(), pairs, how))

    monkeypatch.setattr(F, "pad", pad, raising=False)
    x = torch.rand(1, 2, 4, 5)
    layer = nn.Conv2d(2, 3, (2, 3), padding=(1, 2), padding_mode=mode, stride=2)
    wanted = F.conv2d(pad(x, [2, 2, 1, 1], mode), layer.weight, layer.bias, 2)
    assert layer(x).equal(wanted)
    same = nn.Conv2d(2, 3, (2, 3), padding="same", padding_mode=mode)
    assert same(x).shape == (1, 3, 4, 5) and asked == [[2, 2, 1, 1], [2, 2, 1, 1], [1, 1, 0, 1]]
    assert nn.Conv2d(2, 3, (2, 3), padding="valid", padding_mode=mode)(x).shape == (1, 3, 3, 3)


def test_sizes_of_transposed_convolutions():
    layer, x = nn.ConvTranspose2d(1, 1, 3, 2), torch.ones(1, 1, 4, 4)
    assert layer(x).shape == (1, 1, 9, 9)
    assert layer(x, output_size=(10, 9)).shape == layer(x, output_size=[1, 1, 10, 9]).shape == (1, 1, 10, 9)
    assert layer(x[0], output_size=(10, 9)).shape == (1, 10, 9)
    with pytest.raises(ArgumentError, match=r"\[20, 20\].*\[9, 9\] to \[10, 10\].*\[4, 4\]"):
        layer(x, output_size=(20, 20))
    with pytest.raises(ArgumentError, match=r"must have 2 or 4 elements \(got 1\)"):
        layer(x, output_size=(20,))


@pytest.mark.parametrize(
    ("make", "error", "match"),
    [
        (lambda: nn.Conv2d(3, 4, 3, groups=2), ArgumentError, "Conv2d: in_channels .*=3 and groups=2"),
        (lambda: nn.Conv2d(4, 3, 3, groups=2), ArgumentError, "Conv2d: out_channels .*=3 and groups=2"),
        (lambda: nn.Conv2d(4, 4, 3, groups=0), ArgumentError, "Conv2d: groups .* got 0"),
        (lambda: nn.Conv1d(4, 4, 3, padding="full"), ArgumentError, "Conv1d: .*'full'"),
        (lambda: nn.Conv1d(4, 4, 3, 2, "same"), ArgumentError, r"Conv1d: padding='same' .*stride=\(2,\)"),
        (lambda: nn.Conv1d(4, 4, 3, padding_mode="zero"), ArgumentError, "Conv1d: .*padding_mode='zero'"),
        (lambda: nn.Conv1d(4, 4, 1.5), ArgumentTypeError, "Conv1d: .*kernel_size.*1.5"),
        (lambda: nn.Conv1d(-1, 4, 1), ArgumentError, "Conv1d: in_channels.*-1"),
        (lambda: nn.ConvTranspose1d(4, 4, 3, padding_mode="reflect"), ArgumentError, "ConvTranspose1d: .*'reflect'"),
        (lambda: nn.ConvTranspose1d(4, 4, 3, padding="same"), ArgumentTypeError, "ConvTranspose1d: .*'same'"),
    ],
)
def test_wrong_arguments(make, error, match):
    with pytest.raises(error, match=match):
        make()


def test_a_small_network_learns():
    torch.manual_seed(0)
    net = nn.Sequential(
        nn.Conv2d(1, 4, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(4, 8, 3), nn.ReLU(),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 2),
    )  # fmt: skip
    x, y = torch.rand(16, 1, 8, 8), torch.arange(16) % 2
    x[y == 1, :, :, :4] += 1
    optimizer = torch.optim.SGD(net.parameters(), lr=0.5)
    losses = []
    for _ in range(60):
        loss = F.cross_entropy(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.5 * losses[0]


def test_a_network_in_channels_last_memory():
    last = torch.channels_last
    net = nn.Sequential(
        nn.Conv2d(2, 4, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(4, 3, 2), nn.Flatten(), nn.Linear(12, 2)
    )
    x = torch.rand(3, 2, 8, 8)
    wanted = net(x)
    assert net.to(memory_format=last) is net and net[0].weight.is_contiguous(memory_format=last)
    assert net[0](x).is_contiguous(memory_format=last) and net[5].weight.is_contiguous()
    np.testing.assert_allclose(net(x).detach().numpy(), wanted.detach().numpy(), rtol=1e-5, atol=1e-6)
    net(x).sum().backward()
    assert net[0].weight.grad.is_contiguous(memory_format=last)
    with pytest.raises(ArgumentTypeError, match="to: memory_format must be .*'last'"):
        net.to(memory_format="last")


def test_one_number_of_a_list_prints_no_defaults():
    assert repr(nn.Conv2d(2, 4, 3, stride=(1,))) == "Conv2d(2, 4, kernel_size=(3, 3), stride=(1,))"
