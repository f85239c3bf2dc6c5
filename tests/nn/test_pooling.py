"""Pooling layers: their functions, attributes, text and wrong arguments."""

import pytest

import flambeau as torch
from flambeau import nn
from flambeau.errors import ArgumentError
from flambeau.nn import functional as F


@pytest.mark.parametrize(
    ("layer", "text"),
    [
        (nn.MaxPool1d(2), "MaxPool1d(kernel_size=2, stride=2, padding=0, dilation=1, ceil_mode=False)"),
        (
            nn.MaxPool2d((2, 3), 2, ceil_mode=True),
            "MaxPool2d(kernel_size=(2, 3), stride=2, padding=0, dilation=1, ceil_mode=True)",
        ),
        (nn.AvgPool1d(2), "AvgPool1d(kernel_size=(2,), stride=(2,), padding=(0,))"),
        (nn.AvgPool2d(2), "AvgPool2d(kernel_size=2, stride=2, padding=0)"),
        (nn.AvgPool3d(2, 1), "AvgPool3d(kernel_size=2, stride=1, padding=0)"),
        (nn.AdaptiveAvgPool2d((None, 3)), "AdaptiveAvgPool2d(output_size=(None, 3))"),
        (nn.AdaptiveMaxPool1d(3), "AdaptiveMaxPool1d(output_size=3)"),
        (nn.LPPool2d(2, 3), "LPPool2d(norm_type=2, kernel_size=3, stride=None, ceil_mode=False)"),
        (nn.FractionalMaxPool2d(3, output_size=2), "FractionalMaxPool2d()"),
        (nn.MaxUnpool1d(2, 1), "MaxUnpool1d(kernel_size=(2,), stride=(1,), padding=(0,))"),
        (nn.Unfold(2), "Unfold(kernel_size=2, dilation=1, padding=0, stride=1)"),
        (nn.Fold((4, 4), 2), "Fold(output_size=(4, 4), kernel_size=2, dilation=1, padding=0, stride=1)"),
    ],
)
def test_text(layer, text):
    assert repr(layer) == text


@pytest.mark.parametrize("spatial", [1, 2, 3])
def test_layers_are_their_functions(spatial):
    x = torch.rand(2, 3, *(7, 6, 8)[:spatial])

    def layer(name, *arguments, **options):
        return getattr(nn, f"{name}{spatial}d")(*arguments, **options)

    def function(name, *arguments):
        return getattr(F, f"{name}{spatial}d")(*arguments)

    assert layer("MaxPool", 3, 2, 1, ceil_mode=True)(x).equal(function("max_pool", x, 3, 2, 1, 1, True))
    maxima, places = layer("MaxPool", 2, return_indices=True)(x)
    for found, wanted in zip((maxima, places), function("max_pool", x, 2, None, 0, 1, False, True)):
        assert found.equal(wanted)
    assert layer("MaxUnpool", 2)(maxima, places, x.shape).equal(
        function("max_unpool", maxima, places, 2, None, 0, x.shape)
    )
    assert layer("AvgPool", 3, 2, 1, count_include_pad=False)(x).equal(function("avg_pool", x, 3, 2, 1, False, False))
    assert layer("AdaptiveAvgPool", 3)(x).equal(function("adaptive_avg_pool", x, 3))
    assert layer("AdaptiveMaxPool", 3)(x).equal(function("adaptive_max_pool", x, 3))
    assert layer("AdaptiveMaxPool", 3, True)(x)[1].equal(function("adaptive_max_pool", x, 3, True)[1])
    assert layer("LPPool", 2, 3, 2)(x).equal(function("lp_pool", x, 2.0, 3, 2))
    if spatial > 1:
        samples = torch.rand(2, 3, spatial)
        found = layer("FractionalMaxPool", 2, output_ratio=0.5, _random_samples=samples)(x)
        assert found.equal(function("fractional_max_pool", x, 2, None, 0.5, False, samples))


def test_unfold_and_fold():
    x = torch.rand(2, 3, 5, 6)
    columns = nn.Unfold((2, 3), padding=1, stride=2)(x)
    assert columns.equal(F.unfold(x, (2, 3), 1, 1, 2))
    assert nn.Fold((5, 6), (2, 3), padding=1, stride=2)(columns).equal(F.fold(columns, (5, 6), (2, 3), 1, 1, 2))


def test_the_samples_of_fractional_windows_are_a_buffer():
    layer = nn.FractionalMaxPool2d(2, output_size=3, _random_samples=torch.rand(1, 1, 2))
    assert list(layer.state_dict()) == ["_random_samples"]


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({}, "FractionalMaxPool2d: .*None and None"),
        ({"output_size": 2, "output_ratio": 0.5}, "FractionalMaxPool2d: .*2 and 0.5"),
        ({"output_ratio": 2.0}, "FractionalMaxPool2d: .*got 2.0"),
    ],
)
def test_wrong_arguments(options, match):
    with pytest.raises(ArgumentError, match=match):
        nn.FractionalMaxPool2d(2, **options)


@pytest.mark.parametrize("spatial", [1, 2, 3])
def test_functions_that_always_return_places(spatial):
    x = torch.rand(2, 3, *(6,) * spatial)
    for name, arguments in (("max_pool", (2,)), ("adaptive_max_pool", (3,)), ("fractional_max_pool", (2, 3))):
        if name == "fractional_max_pool" and spatial == 1:
            continue
        results = []
        for form, named in (("", {"return_indices": True}), ("_with_indices", {})):
            torch.manual_seed(1)
            results.append(getattr(torch.nn.functional, f"{name}{spatial}d{form}")(x, *arguments, **named))
        assert all(one.equal(other) for one, other in zip(*results, strict=True)) and len(results[1]) == 2
