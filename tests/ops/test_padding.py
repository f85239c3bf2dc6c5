"""Padding: values by NumPy, cutting, formats, and second derivatives."""

import numpy as np
import pytest

import flambeau as torch
from flambeau.nn import functional as F
from flambeau.ops import padding
from flambeau.testing import gradcheck, gradgradcheck

RANDOM = np.random.default_rng(8)
OF_NUMPY = {"constant": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}


@pytest.mark.parametrize("mode", OF_NUMPY)
@pytest.mark.parametrize("shape, pads", [((2, 3, 4), (2, 1)), ((2, 4, 5), (1, 3, 0, 2)), ((1, 2, 4, 3, 3), (2,) * 6)])
def test_values(mode, shape, pads, device):
    x = RANDOM.standard_normal(shape)
    pairs = list(zip(pads[::2], pads[1::2]))[::-1]
    expected = np.pad(x, [(0, 0)] * (x.ndim - len(pairs)) + pairs, OF_NUMPY[mode])
    np.testing.assert_array_equal(F.pad(torch.tensor(x, device=device), pads, mode).cpu().numpy(), expected)


@pytest.mark.parametrize("is_far", [False, True])
@pytest.mark.parametrize("mode", OF_NUMPY)
def test_every_plane_in_either_format(mode, is_far, device, monkeypatch):
    """With indexes of 32 and of 64 bits, and elements of each size.  A plan is kept for each shape."""
    if is_far:
        monkeypatch.setattr(padding, "MAX_INDEX", 0)
    for planes, dtype in ((1, "uint8"), (3, "int16"), (5, "int32"), (9, "int64")):
        x = np.arange(planes * 2 * 30).reshape(planes, 2, 5 + is_far, -1).astype(dtype)
        expected = np.pad(x, ((0, 0), (0, 0), (1, 3), (2, 0)), OF_NUMPY[mode])
        for format in (torch.contiguous_format, torch.channels_last):
            image = torch.tensor(x, device=device).contiguous(memory_format=format)
            np.testing.assert_array_equal(F.pad(image, (2, 0, 1, 3), mode).cpu().numpy(), expected)


def test_dimensions_that_keep_their_elements_are_walked_as_one():
    kept, padded = (0, 0), (1, 2)
    reflected = padding._merged((2, 3, 4, 5), (60, 20, 5, 1), (kept, kept, padded, kept), "reflect")
    assert reflected == [(6, 20, 0, 0), (4, 5, 1, 2), (5, 1, 0, 0)]
    constant = padding._merged((2, 3, 4, 5), (60, 20, 5, 1), (kept, kept, padded, kept), "constant")
    assert constant == [(6, 20, 0, 0), (20, 1, 5, 10)]
    assert padding._merged((2, 3), (9, 1), (kept, kept), "constant") == [(2, 9, 0, 0), (3, 1, 0, 0)]
    assert padding._merged((1, 1), (7, 7), (kept, kept), "constant") == [(1, 1, 0, 0)]


def test_numbers_below_zero_cut():
    x = torch.arange(10).view(2, 5)
    assert F.pad(x, (-1, -2)).tolist() == [[1, 2], [6, 7]]
    assert F.pad(x, (-4, 1, -1, 0), value=-3).tolist() == [[9, -3]]
    assert F.pad(x, (-1, 2), "reflect").tolist() == [[1, 2, 3, 4, 3, 2], [6, 7, 8, 9, 8, 7]]
    assert F.pad(x, (-1, 2), "circular").tolist() == [[1, 2, 3, 4, 1, 2], [6, 7, 8, 9, 6, 7]]


def test_the_constant_has_the_type_of_the_input():
    assert F.pad(torch.tensor([1, 2]), (0, 1), value=2.7).tolist() == [1, 2, 2]
    assert F.pad(torch.tensor([True]), (1, 0)).tolist() == [False, True]
    assert F.pad(torch.tensor([1.0]).half(), (1, 0), value=-0.5).tolist() == [-0.5, 1.0]
    assert F.pad(torch.tensor([1], dtype=torch.int64), (0, 1), value=2**60 + 1).tolist() == [1, 2**60 + 1]


@pytest.mark.parametrize("shape, name", [((2, 3, 4, 5), "channels_last"), ((2, 3, 4, 3, 5), "channels_last_3d")])
@pytest.mark.parametrize("mode", OF_NUMPY)
def test_memory_formats(device, mode, shape, name):
    """The format of the result is PyTorch's: that of the input, gaps allowed, except for mode "circular"."""
    format, pads = getattr(torch, name), (2, 1) * (len(shape) - 2)
    x = torch.tensor(RANDOM.standard_normal(shape), device=device)
    last = x.contiguous(memory_format=format)
    for images, same in ((last, x), (last[:, 1:], x[:, 1:].contiguous()), (last[..., 1:], x[..., 1:].contiguous())):
        found = F.pad(images, pads, mode)
        assert found.is_contiguous(memory_format=format) == (mode != "circular")
        assert found.equal(F.pad(same, pads, mode))
    last, x = last.requires_grad_(), x.requires_grad_()
    flow = torch.tensor(RANDOM.standard_normal(F.pad(x, pads, mode).shape), device=device)
    grads = [torch.autograd.grad(F.pad(images, pads, mode), images, flow)[0] for images in (last, x)]
    assert grads[0].equal(grads[1])


def test_every_dimension_of_a_channels_last_tensor_is_padded(device):
    x = torch.arange(12.0, device=device).reshape(1, 3, 2, 2).contiguous(memory_format=torch.channels_last)
    found = F.pad(x, (0, -1, 0, 0, 1, 0, 0, 1), value=9.0)
    assert found.is_contiguous(memory_format=torch.channels_last)
    assert found[..., 0].tolist() == [[[9, 9], [0, 2], [4, 6], [8, 10]], [[9, 9]] * 4]


@pytest.mark.parametrize("mode", OF_NUMPY)
def test_derivatives(mode):
    x = torch.tensor(RANDOM.standard_normal((2, 4, 3)), requires_grad=True)
    for pads in ((2, 1, 0, 3), (-1, 1, 2, -1)):
        assert gradcheck(lambda x, pads=pads: F.pad(x, pads, mode), [x])
        assert gradgradcheck(lambda x, pads=pads: F.pad(x, pads, mode).square(), [x])


@pytest.mark.parametrize(
    "pads, mode, error, values",
    [((1, 1, 1), "constant", RuntimeError, r"\[1, 1, 1\]"), ((5, 0), "reflect", RuntimeError, "5 .* dimension 2.* 5"),
     ((6, 0), "circular", RuntimeError, "6 .* dimension 2.* 5"), ((1, 1), "edge", NotImplementedError, "edge"),
     ((1,) * 6, "replicate", NotImplementedError, r"6 .*\[2, 3, 5\]")]
)  # fmt: skip
def test_wrong_pads(pads, mode, error, values):
    with pytest.raises(error, match=f"^pad: .*{values}"):
        F.pad(torch.ones(2, 3, 5), pads, mode)
