"""Resampling and grid_sample: values of PyTorch and NumPy, sums of weights, points outside, gradients and options."""

import math

import numpy as np
import pytest

import flambeau as torch
from benchmarks import counts
from flambeau import nn
from flambeau.errors import ValueRangeError
from flambeau.nn import functional as F
from flambeau.ops.interpolation import KINDS, _composed, taps_of
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


@pytest.mark.parametrize("antialias", [False, True])
def test_dimensions_that_keep_their_size_are_copied_by_linear_modes(device, antialias):
    x = torch.arange(18.0, device=device).view(1, 2, 3, 3)
    assert F.interpolate(x, scale_factor=1.3, mode="bilinear", antialias=antialias).equal(x)
    found = F.interpolate(x, scale_factor=(1.3, 2), mode="bilinear", antialias=antialias)
    assert found.equal(F.interpolate(x, size=(3, 6), mode="bilinear", antialias=antialias))
    assert F.interpolate(x, scale_factor=1.3, mode="bicubic", antialias=antialias).equal(x) is antialias


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


# grid_sample

DRAWN = np.random.default_rng(11)


def points(*rows):
    return torch.tensor([[list(rows)]], dtype=torch.float64)


@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
@pytest.mark.parametrize("align", [True, False])
def test_the_identity_gives_the_image(mode, align):
    x = torch.tensor(DRAWN.standard_normal((2, 3, 4, 5)))
    identity = torch.tensor([[[1.0, 0, 0], [0, 1, 0]]] * 2, dtype=torch.float64)
    grid = F.affine_grid(identity, x.shape, align_corners=align)
    assert torch.allclose(F.grid_sample(x, grid, mode, align_corners=align), x)
    identity[:, 0, 0] = -1
    grid = F.affine_grid(identity, x.shape, align_corners=align)
    assert torch.allclose(F.grid_sample(x, grid, mode, align_corners=align), x.flip(3))


def test_places_have_the_roundings_of_linspace():
    for count in (1, 2, 7, 8, 24, 28):
        for dtype in (torch.float32, torch.float64):
            x = torch.linspace(-1, 1, count, dtype=dtype) if count > 1 else torch.zeros(1, dtype=dtype)
            identity = torch.eye(2, 3, dtype=dtype)[None]
            for align, expected in ((True, x), (False, x * (count - 1) / count)):
                grid = F.affine_grid(identity, (1, 1, count, count), align_corners=align)
                assert torch.equal(grid[0, 0, :, 0], expected) and torch.equal(grid[0, :, 0, 1], expected), count


def test_volumes():
    x = torch.tensor(DRAWN.standard_normal((1, 2, 2, 3, 4)))
    identity = torch.eye(3, 4).double()[None]
    for mode in ("bilinear", "nearest"):
        found = F.grid_sample(x, F.affine_grid(identity, x.shape, align_corners=False), mode, align_corners=False)
        assert torch.allclose(found, x)
    with pytest.raises(NotImplementedError, match=r"grid_sample: .*\[1, 2, 2, 3, 4\]"):
        F.grid_sample(x, torch.zeros(1, 1, 1, 1, 3).double(), "bicubic", align_corners=False)


@pytest.mark.parametrize(
    "padding, expected", [("zeros", [0.5, 0, 0]), ("border", [1, 4, 1]), ("reflection", [1, 1, 2.5])]
)
def test_points_outside(padding, expected):
    """Half a pixel, almost one image and half an image outside."""
    x = torch.tensor([[[[1.0, 2.0, 3.0, 4.0]]]]).double()
    found = F.grid_sample(x, points([-1.0, 0], [2.75, 0], [-2.0, 0]), padding_mode=padding, align_corners=False)
    assert found.flatten().tolist() == pytest.approx(expected)


@pytest.mark.parametrize("mode", ["bilinear", pytest.param("bicubic", marks=pytest.mark.full)])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
def test_derivatives_of_samples(mode, padding):
    x = torch.tensor(DRAWN.standard_normal((1, 2, 3, 3)), requires_grad=True)
    grid = torch.tensor(DRAWN.uniform(-1.3, 1.3, (1, 1, 2, 2)), requires_grad=True)
    assert gradcheck(lambda x, g: F.grid_sample(x, g, mode, padding, False), [x, grid])
    assert gradgradcheck(lambda x, g: F.grid_sample(x, g, mode, padding, False), [x, grid])


def test_corners_are_chosen_with_a_warning():
    with pytest.warns(UserWarning, match="affine_grid: .*align_corners"):
        F.affine_grid(torch.ones(1, 2, 3), (1, 1, 2, 2))
    with pytest.warns(UserWarning, match="grid_sample: .*align_corners"):
        F.grid_sample(torch.ones(1, 1, 2, 2), torch.ones(1, 1, 1, 2))


def test_kernels_sample_as_the_composed_operators_do(device):
    """Values and gradients; create_graph takes the gradients of the composed operators."""
    spaces = [((2, 3, 4, 5), (2, 6, 7, 2), mode) for mode in ("bilinear", "nearest", "bicubic")]
    spaces += [((2, 2, 3, 4, 1), (2, 3, 2, 4, 3), mode) for mode in ("bilinear", "nearest")]
    spaces += [((1, 2, 3, 4), (1, 30, 20, 2), "bilinear")]
    for shape, of_grid, mode in spaces:
        x = torch.tensor(DRAWN.standard_normal(shape), device=device, requires_grad=True)
        places = DRAWN.uniform(-3, 3, of_grid)
        places[0, 0, 0], places[0, 0, 1], places[0, 1, 1] = 1, -1, -3  # borders, where slopes change
        grid = torch.tensor(places, device=device, requires_grad=mode != "nearest")
        operands = [x, grid] if mode != "nearest" else [x]
        for padding in ("zeros", "border", "reflection"):
            for align in (True, False):
                found = F.grid_sample(x, grid, mode, padding, align)
                composed = _composed(x, grid, mode, padding, align)
                weights = torch.tensor(DRAWN.standard_normal(tuple(found.shape)), device=device)
                pairs = [(found.detach(), composed.detach())]
                pairs += zip(
                    torch.autograd.grad(found, operands, weights, retain_graph=True),
                    torch.autograd.grad(found, operands, weights, create_graph=True),
                )
                for kernels, operators in pairs:
                    case = f"{mode} {padding} {align}"
                    np.testing.assert_allclose(
                        kernels.cpu().numpy(), operators.detach().cpu().numpy(), 1e-12, 1e-12, err_msg=case
                    )


def test_points_that_are_nan(device):
    x, grid = torch.ones(1, 1, 2, 2, device=device), torch.full((1, 1, 1, 2), float("nan"), device=device)
    for mode in ("bilinear", "nearest", "bicubic"):
        for padding in ("zeros", "border", "reflection"):
            found = F.grid_sample(x, grid, mode, padding, False)
            np.testing.assert_array_equal(
                found.cpu(), _composed(x, grid, mode, padding, False).cpu(), f"{mode} {padding}"
            )


def test_gradients_at_a_border_are_zero():
    """As PyTorch's: a coordinate that is on the border already moves no more."""
    x = torch.tensor([[[[1.0, 2.0, 3.0]]]])
    for create_graph in (False, True):
        grid = torch.tensor([[[[1.0, 0.0], [-1.0, 0.0], [0.0, 0.0]]]], requires_grad=True)
        found = F.grid_sample(x, grid, padding_mode="border", align_corners=True)
        (slopes,) = torch.autograd.grad(found.sum(), grid, create_graph=create_graph)
        assert slopes[0, 0, :, 0].tolist() == [0, 0, 1]


def test_second_derivatives_of_a_grid_made_from_the_image():
    x = torch.tensor(DRAWN.standard_normal((1, 2, 2, 2)), requires_grad=True)
    mix = torch.tensor(DRAWN.uniform(-0.3, 0.3, (1, 2, 2, 2)))
    assert gradgradcheck(lambda x: F.grid_sample(x, x.sin() * mix, align_corners=False), [x])


def test_gradients_of_empty_images_and_grids(device):
    for shape, of_grid in (((1, 0, 2, 2), (1, 2, 2, 2)), ((0, 1, 2, 2), (0, 2, 2, 2)), ((1, 1, 2, 2), (1, 0, 2, 2))):
        x = torch.ones(shape, device=device, requires_grad=True)
        grid = torch.zeros(of_grid, device=device, requires_grad=True)
        F.grid_sample(x, grid, align_corners=False).sum().backward()
        assert not x.grad.cpu().any() and not grid.grad.cpu().any()
        assert (x.grad.shape, grid.grad.shape) == (shape, of_grid)


def test_gradients_repeat(gpus):
    x = torch.randn(1, 3, 4, 4, device="cuda", requires_grad=True)
    grid = torch.rand(1, 40, 40, 2, device="cuda") * 2 - 1

    def gradient():
        return torch.autograd.grad(F.grid_sample(x, grid, align_corners=False).sum(), x)[0]

    assert torch.equal(gradient(), gradient())


def test_training_is_few_launches(gpus):
    x = torch.ones(1, 2, 3, 3, device="cuda", requires_grad=True)
    grid = torch.zeros(1, 2, 2, 2, device="cuda", requires_grad=True)
    grad = torch.ones(1, 2, 2, 2, device="cuda")
    step = lambda: torch.autograd.grad(F.grid_sample(x, grid, align_corners=False), [x, grid], grad)  # noqa: E731
    assert counts.of(step)["launch"] == 6  # sample; the grid's slopes; zeros, reads, their order, sums


def test_sampling_without_a_gradient_is_one_launch(gpus):
    x, grid = torch.ones(1, 2, 3, 3, device="cuda"), torch.zeros(1, 2, 2, 2, device="cuda")
    assert counts.of(lambda: F.grid_sample(x, grid, align_corners=False))["launch"] == 1


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
@pytest.mark.parametrize("mode", ["bilinear", "nearest"])
@pytest.mark.parametrize("padding", ["border", "reflection"])
def test_nan_is_the_first_border(device, padding, mode, dtype):
    image = torch.arange(6.0, device=device).reshape(1, 1, 2, 3).to(dtype)
    points = torch.tensor([[[[math.nan, 1.0], [1.0, math.nan], [math.nan, math.nan]]]], device=device, dtype=dtype)
    sampled = F.grid_sample(image, points, mode, padding, align_corners=True)
    assert sampled.flatten().tolist() == [3, 2, 0]
    points = torch.full((1, 1, 1, 1, 3), math.nan, device=device, dtype=dtype)
    assert F.grid_sample(image[:, :, None], points, mode, padding, align_corners=True).item() == 0


@pytest.mark.parametrize("mode", ["bilinear", "nearest"])
def test_infinite_points(device, mode):
    image = torch.arange(6.0, device=device).reshape(1, 1, 2, 3)
    points = torch.tensor([[[[math.inf, -math.inf], [-math.inf, math.inf]]]], device=device)
    assert F.grid_sample(image, points, mode, "border", align_corners=False).flatten().tolist() == [2, 3]
    assert F.grid_sample(image, points, mode, "reflection", align_corners=False).flatten().tolist() == [0, 0]


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_areas_of_no_size(device, gpus):
    for rank in (1, 2, 3):
        image = torch.ones(1, 1, *[4] * rank, device=device, requires_grad=True)
        found = F.interpolate(image, scale_factor=0.1, mode="area")
        assert found.shape == (1, 1, *[0] * rank)
        found.sum().backward()
        assert not image.grad.any()
    assert F.interpolate(torch.ones(1, 1, 4, 4), size=(0, 2), mode="area").shape == (1, 1, 0, 2)
    for shape, size, mode in (((4, 4), (-1, 2), "area"), ((0, 4), (0, 2), "area"), ((4, 4), 0, "nearest")):
        with pytest.raises(ValueRangeError, match="interpolate: .*greater than 0"):
            F.interpolate(torch.ones(1, 1, *shape), size=size, mode=mode)
