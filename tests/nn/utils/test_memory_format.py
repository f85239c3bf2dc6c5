"""Weights in another memory format."""

import flambeau as torch
from flambeau import nn
from flambeau.nn import utils


def test_weights_change_their_memory_format():
    net = nn.Sequential(nn.Conv2d(2, 3, 2), nn.Conv3d(2, 3, 2))
    utils.convert_conv2d_weight_memory_format(net, torch.channels_last)
    assert (net[0].weight.stride(), net[1].weight.stride()) == ((8, 1, 4, 2), (16, 8, 4, 2, 1))
    utils.convert_conv3d_weight_memory_format(net, torch.channels_last_3d)
    assert net[1].weight.stride() == (16, 1, 8, 4, 2)
