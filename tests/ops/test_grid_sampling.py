"""Sampling at points: identity and flips, borders, values that PyTorch gives, and derivatives."""

import numpy as np
import pytest

import flambeau as torch
from benchmarks import counts
from flambeau.nn import functional as F
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


def test_one_launch_samples_as_the_recorded_operators_do(device):
    spaces = [((2, 3, 4, 5), (2, 6, 7, 2), mode) for mode in ("bilinear", "nearest", "bicubic")]
    spaces += [((2, 2, 3, 4, 1), (2, 3, 2, 4, 3), mode) for mode in ("bilinear", "nearest")]
    for shape, of_grid, mode in spaces:
        x = torch.tensor(RANDOM.standard_normal(shape), device=device)
        places = RANDOM.uniform(-3, 3, of_grid)
        places[0, 0, 0] = np.nan
        grid = torch.tensor(places, device=device)
        for padding in ("zeros", "border", "reflection"):
            for align in (True, False):
                found = F.grid_sample(x, grid, mode, padding, align)
                recorded = F.grid_sample(x.clone().requires_grad_(), grid, mode, padding, align).detach()
                case = f"{mode} {padding} {align}"
                np.testing.assert_allclose(found.cpu().numpy(), recorded.cpu().numpy(), 1e-12, 1e-12, err_msg=case)


def test_sampling_without_a_gradient_is_one_launch(gpus):
    x, grid = torch.ones(1, 2, 3, 3, device="cuda"), torch.zeros(1, 2, 2, 2, device="cuda")
    assert counts.of(lambda: F.grid_sample(x, grid, align_corners=False))["launch"] == 1
