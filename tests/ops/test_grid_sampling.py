"""Sampling at points: identity and flips, borders, values that PyTorch gives, and derivatives."""

import math

import numpy as np
import pytest

import flambeau as torch
from benchmarks import counts
from flambeau.nn import functional as F
from flambeau.ops.interpolation import _composed
from flambeau.testing import gradcheck, gradgradcheck

RANDOM = np.random.default_rng(11)


def points(*rows):
    return torch.tensor([[list(rows)]], dtype=torch.float64)


@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
@pytest.mark.parametrize("align", [True, False])
def test_the_identity_gives_the_image(mode, align):
    x = torch.tensor(RANDOM.standard_normal((2, 3, 4, 5)))
    identity = torch.tensor([[[1.0, 0, 0], [0, 1, 0]]] * 2, dtype=torch.float64)
    grid = F.affine_grid(identity, x.shape, align_corners=align)
    assert torch.allclose(F.grid_sample(x, grid, mode, align_corners=align), x)
    identity[:, 0, 0] = -1
    grid = F.affine_grid(identity, x.shape, align_corners=align)
    assert torch.allclose(F.grid_sample(x, grid, mode, align_corners=align), x.flip(3))


def test_volumes():
    x = torch.tensor(RANDOM.standard_normal((1, 2, 2, 3, 4)))
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
def test_derivatives(mode, padding):
    x = torch.tensor(RANDOM.standard_normal((1, 2, 3, 3)), requires_grad=True)
    grid = torch.tensor(RANDOM.uniform(-1.3, 1.3, (1, 1, 2, 2)), requires_grad=True)
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
        x = torch.tensor(RANDOM.standard_normal(shape), device=device, requires_grad=True)
        places = RANDOM.uniform(-3, 3, of_grid)
        places[0, 0, 0], places[0, 0, 1], places[0, 1, 1] = 1, -1, -3  # borders, where slopes change
        grid = torch.tensor(places, device=device, requires_grad=mode != "nearest")
        operands = [x, grid] if mode != "nearest" else [x]
        for padding in ("zeros", "border", "reflection"):
            for align in (True, False):
                found = F.grid_sample(x, grid, mode, padding, align)
                composed = _composed(x, grid, mode, padding, align)
                weights = torch.tensor(RANDOM.standard_normal(tuple(found.shape)), device=device)
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
    x = torch.tensor(RANDOM.standard_normal((1, 2, 2, 2)), requires_grad=True)
    mix = torch.tensor(RANDOM.uniform(-0.3, 0.3, (1, 2, 2, 2)))
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
