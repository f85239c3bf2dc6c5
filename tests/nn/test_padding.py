"""Padding layers: values, text and what they refuse."""

import pytest

import flambeau as torch
from flambeau import nn


@pytest.mark.parametrize("kind", ["Constant", "Zero", "Reflection", "Replication", "Circular"])
@pytest.mark.parametrize("dims", [1, 2, 3])
def test_every_layer_pads_its_dimensions(kind, dims):
    layer = getattr(nn, f"{kind}Pad{dims}d")
    net = layer(1, 2.0) if kind == "Constant" else layer(1)
    assert net(torch.ones(2, 3, *[4] * dims)).shape == (2, 3, *[6] * dims)
    assert net.padding == (1, 1) * dims


def test_texts():
    assert repr(nn.ConstantPad1d((1, 2), 3.5)) == "ConstantPad1d(padding=(1, 2), value=3.5)"
    assert repr(nn.ZeroPad2d(2)) == "ZeroPad2d((2, 2, 2, 2))"
    assert repr(nn.ReflectionPad1d(1)) == "ReflectionPad1d((1, 1))"


def test_a_padding_of_other_dimensions_is_refused():
    with pytest.raises(TypeError, match=r"ZeroPad2d: .* 4 ints, got \(1, 2\)"):
        nn.ZeroPad2d((1, 2))
