"""Resampling: values that PyTorch gives, NumPy's for separable cases, sums of weights, gradients and options."""

import numpy as np
import pytest

import flambeau as torch
from flambeau import nn
from flambeau.nn import functional as F
from flambeau.ops.interpolation import KINDS, taps_of
from flambeau.testing import gradcheck, gradgradcheck

RANDOM = np.random.default_rng(9)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size, results", [(5, 9), (9, 4), (7, 7), (3, 1), (1, 4)])
def test_weights_are_shares_of_elements_of_the_input(kind, size, results):
    indexes, weights = taps_of(kind, size, results, size / results, False, np.float64)
    assert indexes.min() >= 0 and indexes.max() < size
    np.testing.assert_allclose(weights.sum(1), 1)


@pytest.mark.parametrize(
    "mode, expected",
    [
        ("nearest", [0, 0, 1, 1, 2, 2, 3, 3]),
        ("linear", [0, 0.25, 0.75, 1.25, 1.75, 2.25, 2.75, 3]),
        ("area", [0, 0, 1, 1, 2, 2, 3, 3]),
    ],
)
def test_a_line_twice_as_long(mode, expected):
    x = torch.arange(4, dtype=torch.float32).view(1, 1, 4)
    assert F.interpolate(x, scale_factor=2, mode=mode).flatten().tolist() == expected


def test_a_line_of_two_thirds():
    x = torch.arange(6, dtype=torch.float32).view(1, 1, 6)
    assert F.interpolate(x, size=4).flatten().tolist() == [0, 1, 3, 4]
    assert F.interpolate(x, size=4, mode="nearest-exact").flatten().tolist() == [0, 2, 3, 5]
    assert F.interpolate(x, size=4, mode="area").flatten().tolist() == [0.5, 1.5, 3.5, 4.5]
    assert F.interpolate(x, size=3, mode="linear", align_corners=True).flatten().tolist() == [0, 2.5, 5]


def test_cubic_and_antialias():
    """Recorded from PyTorch."""
    x = torch.tensor([1.0, 5.0, 2.0, 8.0]).view(1, 1, 1, 4).expand(1, 1, 2, 4)
    found = F.interpolate(x, size=(2, 6), mode="bicubic")[0, 0, 0].tolist()
    assert found == pytest.approx([0.6527779, 3.28125, 4.8124995, 1.9791665, 4.71875, 8.5208330], rel=1e-5)
    found = F.interpolate(x, size=(2, 2), mode="bilinear", antialias=True)[0, 0, 0].tolist()
    assert found == pytest.approx([3 / 7 * 1 + 3 / 7 * 5 + 1 / 7 * 2, 1 / 7 * 5 + 3 / 7 * 2 + 3 / 7 * 8])


def test_a_factor_is_used_unless_it_is_recomputed():
    x = torch.arange(5, dtype=torch.float64).view(1, 1, 5)
    scaled = F.interpolate(x, scale_factor=1.5, mode="linear")
    again = F.interpolate(x, scale_factor=1.5, mode="linear", recompute_scale_factor=True)
    assert scaled.shape == again.shape == (1, 1, 7) and not scaled.equal(again)
    assert again.equal(F.interpolate(x, size=7, mode="linear"))


def test_bytes_are_rounded():
    x = torch.tensor([[[[0, 255]]]], dtype=torch.uint8)
    assert F.interpolate(x, size=(1, 4), mode="bilinear").flatten().tolist() == [0, 64, 191, 255]
    assert F.interpolate(x, scale_factor=2).dtype is torch.uint8


@pytest.mark.parametrize("factor", [2, 0.5, (1.0, 2.0)])
@pytest.mark.parametrize(
    "shape, mode",
    [((2, 3, 4, 6), each) for each in ("nearest", "nearest-exact", "bilinear", "bicubic", "area")]
    + [((2, 3, 4, 2, 6), each) for each in ("nearest", "nearest-exact", "trilinear", "area")],
)
def test_memory_formats(device, shape, mode, factor):
    """The format of the result is PyTorch's: that of the input, gaps allowed, except for "area" of volumes."""
    count = len(shape) - 2
    factor = (*factor, 1.0)[:count] if isinstance(factor, tuple) else factor
    format = torch.channels_last if count == 2 else torch.channels_last_3d
    x = torch.tensor(RANDOM.standard_normal(shape), device=device)
    last = x.contiguous(memory_format=format)
    for images, same in ((last, x), (last[:, 1:], x[:, 1:].contiguous()), (last[..., 2:], x[..., 2:].contiguous())):
        found = F.interpolate(images, scale_factor=factor, mode=mode)
        assert found.is_contiguous(memory_format=format) == (mode != "area" or count == 2)
        torch.testing.assert_close(found.contiguous(), F.interpolate(same, scale_factor=factor, mode=mode))
    last, x = last.requires_grad_(), x.requires_grad_()
    results = [F.interpolate(images, scale_factor=factor, mode=mode) for images in (last, x)]
    flow = torch.tensor(RANDOM.standard_normal(results[0].shape), device=device)
    of_last, of_dense = (torch.autograd.grad(result, images, flow)[0] for result, images in zip(results, (last, x)))
    torch.testing.assert_close(of_last.contiguous(), of_dense)


@pytest.mark.parametrize(
    "mode, shape",
    [("nearest", (1, 2, 5)), ("linear", (1, 2, 5)), ("bilinear", (1, 1, 3, 4)), ("bicubic", (1, 1, 3, 4)),
     ("area", (1, 1, 3, 4)), ("trilinear", (1, 1, 2, 3, 2))]
)  # fmt: skip
@pytest.mark.parametrize("factor", [0.7, 1.8])
def test_derivatives(mode, shape, factor):
    x = torch.tensor(RANDOM.standard_normal(shape), requires_grad=True)
    assert gradcheck(lambda x: F.interpolate(x, scale_factor=factor, mode=mode), [x])
    assert gradgradcheck(lambda x: F.interpolate(x, scale_factor=factor, mode=mode).square(), [x])


def test_former_names_and_layers():
    x = torch.ones(1, 1, 2, 3)
    for former in (F.upsample, F.upsample_nearest, F.upsample_bilinear):
        with pytest.warns(UserWarning, match="interpolate"):
            assert former(x, scale_factor=2).shape == (1, 1, 4, 6)
    assert repr(nn.Upsample(scale_factor=2)) == "Upsample(scale_factor=2.0, mode='nearest')"
    assert repr(nn.UpsamplingBilinear2d(3)) == "UpsamplingBilinear2d(size=3, mode='bilinear')"
    assert nn.UpsamplingNearest2d(scale_factor=2)(x).shape == (1, 1, 4, 6)
