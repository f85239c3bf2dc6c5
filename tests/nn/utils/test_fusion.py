"""Batch normalization as a part of convolutions and linear layers."""

import pytest

import flambeau as torch
from flambeau import nn
from flambeau.nn import utils


@pytest.mark.parametrize("transpose", [False, True])
def test_batch_normalization_becomes_a_part_of_the_convolution(transpose):
    torch.manual_seed(0)
    conv = (nn.ConvTranspose2d if transpose else nn.Conv2d)(2, 3, 2, bias=not transpose).eval()
    norm = nn.BatchNorm2d(3).eval()
    norm.running_mean.normal_()
    norm.running_var.uniform_(1, 2)
    nn.init.normal_(norm.weight)
    x = torch.randn(2, 2, 4, 4)
    made = utils.fuse_conv_bn_eval(conv, norm, transpose)
    assert torch.allclose(made(x), norm(conv(x)), atol=1e-5) and isinstance(made.bias, nn.Parameter)
    assert made.weight.requires_grad and made.bias.requires_grad == (conv.bias is not None)
    with pytest.raises(AssertionError, match="training mode: BatchNorm2d"):
        utils.fuse_conv_bn_eval(conv, norm.train())


def test_batch_normalization_becomes_a_part_of_the_linear_layer():
    linear, norm, x = nn.Linear(2, 3).eval(), nn.BatchNorm1d(3).eval(), torch.ones(2, 2)
    norm.running_mean.fill_(2)
    assert torch.allclose(utils.fuse_linear_bn_eval(linear, norm)(x), norm(linear(x)), atol=1e-6)
    bare = nn.Linear(2, 3, bias=False).eval()
    fused = utils.fuse_linear_bn_eval(linear, norm), utils.fuse_linear_bn_eval(bare, norm)
    assert [each.bias.requires_grad for each in fused] == [True, False]
    with pytest.raises(AssertionError, match="3 outputs and a normalization of 4"):
        utils.fuse_linear_bn_eval(linear, nn.BatchNorm1d(4).eval())
