"""Modules that move channels and pixels."""

import flambeau as torch
from flambeau import nn


def test_modules_are_the_functions():
    x = torch.arange(2 * 8 * 2 * 2.0).reshape(2, 8, 2, 2)
    net = nn.PixelShuffle(2)
    assert net(x).equal(nn.functional.pixel_shuffle(x, 2)) and nn.PixelUnshuffle(2)(net(x)).equal(x)
    assert nn.ChannelShuffle(4)(x).equal(torch.channel_shuffle(x, 4))
    assert [repr(each) for each in (net, nn.PixelUnshuffle(3), nn.ChannelShuffle(groups=2))] == [
        "PixelShuffle(upscale_factor=2)", "PixelUnshuffle(downscale_factor=3)", "ChannelShuffle(groups=2)",
    ]  # fmt: skip
