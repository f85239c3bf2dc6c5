"""Pooling, unfold and fold: values and gradients recorded from PyTorch 2.13, ties, NaN, memory formats, inverses."""

import numpy as np
import pytest

import flambeau as torch
from flambeau.errors import ArgumentError, DtypeError, ShapeError, ValueRangeError
from flambeau.nn import functional as F
from flambeau.ops import window_kernels
from flambeau.ops.window_kernels import Windows
from flambeau.testing import gradgradcheck

INF, NAN = float("inf"), float("nan")
# function, shape of the input, arguments, options, shape of the result, and the digests of the result, of the gradient
# of sum(y * y * values), and of the gradient of a sum of that gradient.
RECORDED = [
    ("max_pool1d", (2, 3, 9), (3,), {"stride": 2, "padding": 1}, [2, 3, 5],
      [[23.375, 0.03125], [-1.9375, 2.0625], [4.09375, -3.91015625]]),
    ("max_pool2d", (2, 2, 7, 6), ((3, 2),), {"stride": (2, 1), "padding": (1, 0), "ceil_mode": True}, [2, 2, 4, 5],
      [[82.125, -2.609375], [0.96875, 0.89453125], [2.6875, -2.15625]]),
    ("max_pool2d", (2, 9, 8), (2,), {"dilation": (2, 3), "padding": 1}, [2, 5, 4],
      [[20.625, -1.796875], [20.8125, 5.37890625], [1.375, -6.13671875]]),
    ("max_pool3d", (1, 2, 4, 5, 6), (2,), {"stride": (1, 2, 2)}, [1, 2, 3, 2, 3],
      [[40.5, 1.34375], [-2.0, -0.96875], [1.09375, -1.3125]]),
    ("avg_pool1d", (2, 3, 8), (4,), {"stride": 2, "padding": 2}, [2, 3, 5],
      [[-0.9375, -0.12890625], [1.5703125, -0.087646484375], [-0.640625, 0.009033203125]]),
    ("avg_pool2d", (2, 2, 7, 6), (4,), {"stride": (2, 3), "padding": 2, "ceil_mode": True, "count_include_pad": True},
      [2, 2, 5, 3],
      [[0.2135416666666664, -0.34733072916666663],
       [0.28591579861111116, -0.10898335774739583],
       [0.2626410590277777, -0.1180640326605903]]),
    ("avg_pool2d", (2, 7, 6), (2,), {"stride": 3, "padding": 1, "divisor_override": 8}, [2, 3, 3],
      [[0.25, 0.384765625], [0.03662109375, -0.0826416015625], [-0.1494140625, -0.01434326171875]]),
    ("avg_pool3d", (1, 2, 4, 6, 4), ((2, 4, 2),), {"padding": (1, 0, 0)}, [1, 2, 3, 1, 2],
      [[0.4140625, 0.0], [-0.6796875, 0.0330352783203125], [-0.626953125, 0.051177978515625]]),
    ("adaptive_avg_pool1d", (2, 3, 8), (4,), {}, [2, 3, 4],
      [[-0.9375, 1.6875], [-3.125, 3.26953125], [6.90625, -1.341796875]]),
    ("adaptive_avg_pool2d", (1, 2, 8, 6), ((None, 4),), {}, [1, 2, 8, 4],
      [[0.3125, -1.5625], [-4.671875, -2.0888671875], [4.3125, -4.537109375]]),
    ("adaptive_max_pool2d", (2, 2, 7, 5), ((3, 4),), {}, [2, 2, 3, 4],
      [[55.25, 1.296875], [-4.8125, -7.7734375], [-5.84375, -0.125]]),
    ("adaptive_max_pool3d", (1, 2, 5, 4, 6), (3,), {}, [1, 2, 3, 3, 3],
      [[65.625, 3.671875], [1.625, 3.2890625], [3.0, -0.3203125]]),
    ("lp_pool2d", (1, 2, 4, 6), (1, (2, 3)), {}, [1, 2, 2, 2],
      [[94.125, 30.21875], [-96.375, -54.28125], [12.1875, 2.88671875]]),
    ("unfold", (1, 2, 5, 4), ((3, 2),), {"padding": (1, 0), "stride": (2, 1), "dilation": (1, 2)}, [1, 12, 6],
      [[1.625, 0.296875], [15.40625, 3.1484375], [0.375, -4.890625]]),
    ("fold", (1, 12, 8), ((5, 3), (3, 2)), {"padding": (0, 1), "stride": (2, 1)}, [1, 2, 5, 3],
      [[-1.625, 3.75], [20.8125, -7.58984375], [-30.0, 1.7578125]]),
]  # fmt: skip


def values(shape, seed):
    """Multiples of 1/8 between -11/8 and 11/8."""
    count = int(np.prod(shape))
    return torch.tensor(((np.arange(count) * 7 + seed * 3) % 23 - 11) / 8).reshape(tuple(shape))


def digest(tensor):
    found = tensor.detach().flatten()
    return [found.sum().item(), (found * values(tensor.shape, 5).flatten()).sum().item()]


@pytest.mark.parametrize("case", RECORDED, ids=lambda case: f"{case[0]}-{case[3]}")
def test_values_and_gradients_are_those_of_pytorch(case, device):
    name, shape, arguments, options, result, wanted = case
    x = (values(shape, 0) + (2 if name == "lp_pool2d" else 0)).to(device).requires_grad_()
    y = getattr(F, name)(x, *arguments, **options)
    assert list(y.shape) == result
    (first,) = torch.autograd.grad((y * y * values(y.shape, 3).to(device)).sum(), [x], create_graph=True)
    (second,) = torch.autograd.grad((first * values(x.shape, 4).to(device)).sum(), [x])
    np.testing.assert_allclose([digest(each.cpu()) for each in (y, first, second)], wanted, rtol=1e-12, atol=1e-12)


def test_of_equal_maxima_the_first_counts_and_of_nans_the_last(device):
    x = torch.tensor([[[1.0, 1, 0, NAN, 2, NAN, -INF, -INF]]], device=device)
    maxima, places = F.max_pool1d(x, 2, return_indices=True)
    assert places.tolist() == [[[0, 3, 5, 6]]]
    np.testing.assert_array_equal(maxima.cpu().numpy(), [[[1, NAN, NAN, -INF]]])
    assert F.max_pool1d(x, 8, return_indices=True)[1].tolist() == [[[5]]]
    assert F.adaptive_max_pool1d(x[..., :7], 3, return_indices=True)[1].tolist() == [[[0, 3, 5]]]


def test_gradients_of_overlapping_windows_are_summed(device):
    x = torch.tensor([[[0.0, 5, 1, 4]]], device=device, requires_grad=True)
    F.max_pool1d(x, 2, 1).backward(torch.tensor([[[1.0, 10, 100]]], device=device))
    assert x.grad.tolist() == [[[0, 11, 0, 100]]]


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int16, torch.int32, torch.int64])
def test_maxima_of_integers(dtype, device):
    x = torch.tensor([[[3, 1, 2, 7]]], dtype=dtype, device=device)
    assert F.max_pool1d(x, 2).tolist() == [[[3, 7]]] and F.max_pool1d(x, 2).dtype is dtype
    if dtype is torch.int64:
        assert F.max_pool1d(x + (2**62), 4).item() == 2**62 + 7


LAST = [
    ("max_pool2d", (2, 3, 6, 4), True), ("max_pool3d", (2, 3, 4, 6, 4), True), ("avg_pool2d", (2, 3, 6, 4), True),
    ("avg_pool3d", (2, 3, 4, 6, 4), False), ("adaptive_avg_pool2d", (2, 3, 6, 4), True),
    ("adaptive_max_pool2d", (2, 3, 6, 4), True), ("adaptive_avg_pool3d", (2, 3, 4, 6, 4), False),
]  # fmt: skip


@pytest.mark.parametrize(("name", "shape", "is_last"), LAST)
def test_memory_formats(name, shape, is_last, device):
    x = values(shape, 0).to(device)
    format = torch.channels_last if len(shape) == 4 else torch.channels_last_3d
    found = getattr(F, name)(x.contiguous(memory_format=format), 2)
    assert found.is_contiguous(memory_format=format) == is_last and found.is_contiguous() != is_last
    assert found.equal(getattr(F, name)(x, 2))


@pytest.mark.parametrize("is_far", [False, True])
@pytest.mark.parametrize("channels", [1, 3, 9])
def test_every_plane_in_either_format(channels, is_far, device, monkeypatch):
    """With indexes of 32 and of 64 bits.  A plan is kept for each shape."""
    if is_far:
        monkeypatch.setattr(window_kernels, "MAX_INDEX", 0)
    x = values((2 + is_far, channels, 5, 7), 0)
    framed = np.pad(x.numpy(), ((0, 0), (0, 0), (1, 1), (1, 1)), constant_values=NAN)
    places = [np.s_[:, :, row : row + 5 : 2, column : column + 7 : 2] for row in range(3) for column in range(3)]
    elements = np.stack([framed[each] for each in places])
    flow = values(elements.shape[1:], 1)
    to_largest, to_mean, is_free = np.zeros_like(framed), np.zeros_like(framed), np.ones(flow.shape, bool)
    for each, element in zip(places, elements):
        chosen = is_free & (element == np.nanmax(elements, 0))
        to_largest[each] += chosen * flow.numpy()
        to_mean[each] += flow.numpy() / (~np.isnan(elements)).sum(0)
        is_free &= ~chosen
    for format in (torch.contiguous_format, torch.channels_last):
        image = x.to(device).contiguous(memory_format=format).requires_grad_()
        largest, mean = F.max_pool2d(image, 3, 2, 1), F.avg_pool2d(image, 3, 2, 1, count_include_pad=False)
        np.testing.assert_array_equal(largest.detach().cpu().numpy(), np.nanmax(elements, 0))
        np.testing.assert_allclose(mean.detach().cpu().numpy(), np.nanmean(elements, 0), atol=1e-14)
        for found, wanted in ((largest, to_largest), (mean, to_mean)):
            (grad,) = torch.autograd.grad(found, image, flow.to(device))
            np.testing.assert_allclose(grad.cpu().numpy(), wanted[:, :, 1:-1, 1:-1], atol=1e-14)


def test_indexes_that_need_64_bits():
    near = Windows((8, 1 << 15, 1 << 15), (8, 1 << 14, 1 << 14), (1, 2, 2), (1, 2, 2), (0, 0, 0), (1, 1, 1))
    small, large = [((8, 4), [(4, 1)])], [((8, 1 << 28), [(1 << 28, 1)])]
    assert not near.are_far(small) and near.are_far([*small, *large])
    assert near._replace(stride=(1, 1 << 31, 2)).are_far(small)
    assert near._replace(places=(8, 1 << 17, 2), is_adaptive=True).are_far(small)


def test_the_mean_of_whole_images(device):
    x = values((3, 2, 5, 6), 0).to(device)
    for format in (torch.contiguous_format, torch.channels_last):
        image = x.contiguous(memory_format=format)
        found = F.adaptive_avg_pool2d(image, 1)
        np.testing.assert_allclose(found.cpu().numpy(), x.cpu().numpy().mean((2, 3), keepdims=True), atol=1e-14)
        assert found.stride() == ((2, 1, 1, 1) if format is torch.contiguous_format else (2, 1, 2, 2))
        assert F.avg_pool2d(image, (5, 6), divisor_override=15).cpu().allclose(found.cpu() * 2)


def test_half_types_are_summed_in_float32(device):
    x = torch.full((1, 1, 4096), 1.0, dtype=torch.float16, device=device)
    assert F.avg_pool1d(x, 4096).item() == 1


def test_sizes_with_ceil_mode():
    x = torch.ones(1, 1, 5)
    assert F.max_pool1d(x, 2, ceil_mode=True).shape == (1, 1, 3)
    assert F.avg_pool1d(x, 2, ceil_mode=True).tolist() == [[[1, 1, 1]]]
    assert F.max_pool1d(torch.ones(1, 1, 4), 1, 3, ceil_mode=True).shape == (1, 1, 2)  # no window begins behind the end
    assert F.max_pool1d(torch.ones(1, 1, 3), 2, 4, 1, ceil_mode=True).shape == (1, 1, 1)


def test_a_stride_of_no_numbers_is_the_kernel():
    assert torch.max_pool2d(torch.ones(1, 4, 4), 2, ()).shape == (1, 2, 2)


def test_empty_results():
    assert F.adaptive_avg_pool2d(torch.ones(1, 2, 4, 4), 0).shape == (1, 2, 0, 0)
    assert F.adaptive_max_pool2d(torch.ones(1, 2, 4, 4), (0, 1)).shape == (1, 2, 0, 1)


def test_unpooling_places_maxima(device):
    x = values((2, 3, 5, 6), 0).to(device)
    maxima, places = F.max_pool2d(x, 2, return_indices=True)
    found = F.max_unpool2d(maxima, places, 2, output_size=(5, 6))
    wanted = torch.zeros_like(x).flatten(2).scatter(2, places.flatten(2), maxima.flatten(2)).reshape(x.shape)
    assert found.equal(wanted) and F.max_unpool2d(maxima, places, 2, output_size=x.shape).equal(wanted)
    assert F.max_unpool1d(torch.tensor([[2.0]]), torch.tensor([[1]]), 2, 3).tolist() == [[0, 2]]
    maxima = maxima.detach().requires_grad_()
    F.max_unpool2d(maxima, places, 2, output_size=(5, 6)).backward(x)
    assert maxima.grad.equal(F.max_pool2d(x, 2))
    with pytest.raises(ValueRangeError, match=r"max_unpool2d: invalid output_size \[9, 6\]"):
        F.max_unpool2d(maxima, places, 2, output_size=(9, 6))
    with pytest.raises(ShapeError, match=r"max_unpool2d: .*\[2, 3, 2, 3\].*\[2, 3, 2, 2\]"):
        F.max_unpool2d(maxima, places[..., :2], 2)


@pytest.mark.parametrize("shape", [(2, 3, 4, 6), (2, 3, 4, 2, 6)])
def test_memory_formats_of_unpooling(device, shape):
    """PyTorch preserves channels_last, not channels_last_3d.  The layout of the indices does not matter."""
    x = values(shape, 0).to(device)
    count = len(shape) - 2
    format = torch.channels_last if count == 2 else torch.channels_last_3d
    pool, unpool = getattr(F, f"max_pool{count}d"), getattr(F, f"max_unpool{count}d")
    maxima, places = pool(x, 2, return_indices=True)
    expected, flow = unpool(maxima, places, 2), values(shape, 1).to(device)
    for is_last in (False, True):
        order = {"memory_format": format if is_last else torch.contiguous_format}
        last = maxima.contiguous(memory_format=format).requires_grad_()
        found = unpool(last, places.contiguous(**order), 2)
        assert found.is_contiguous(memory_format=format) == (count == 2) and found.equal(expected)
        assert torch.autograd.grad(found, last, flow)[0].equal(
            flow.flatten(2).gather(2, places.flatten(2)).reshape_as(last)
        )
        assert unpool(maxima, places.contiguous(**order), 2).is_contiguous()


def test_fractional_windows_follow_from_the_samples(device):
    """Recorded from PyTorch."""
    x = values((1, 1, 5, 6), 0).to(device)
    samples = torch.tensor([[[0.1, 0.75]]], dtype=torch.float64, device=device)
    found, places = F.fractional_max_pool2d(x, 2, (3, 4), return_indices=True, _random_samples=samples)
    wanted = [[[[6, 2, 3, 5], [13, 13, 9, 16], [19, 26, 26, 29]]]]
    assert places.tolist() == wanted and found.flatten().equal(x.flatten()[places.flatten()])
    samples = torch.tensor([[[0.9, 0.3, 0.6]]], dtype=torch.float64, device=device)
    x = values((1, 1, 4, 5, 6), 1).to(device)
    places = F.fractional_max_pool3d(x, (1, 2, 2), (2, 3, 2), return_indices=True, _random_samples=samples)[1]
    assert places.flatten().tolist() == [6, 5, 6, 11, 19, 29, 91, 101, 97, 101, 114, 113]


def test_fractional_windows_are_random():
    torch.manual_seed(1)
    x = torch.rand(2, 3, 9, 9, requires_grad=True)
    found, places = F.fractional_max_pool2d(x, (2, 3), output_ratio=(0.5, 0.6), return_indices=True)
    assert found.shape == (2, 3, 4, 5) and not places.equal(
        F.fractional_max_pool2d(x, (2, 3), output_size=(4, 5), return_indices=True)[1]
    )
    found.sum().backward()
    assert x.grad.sum().item() == found.numel()
    with pytest.raises(ValueRangeError, match="fractional_max_pool2d: .*output_size=None and output_ratio=None"):
        F.fractional_max_pool2d(x, 2)


def test_unfold_of_bool(device):
    x = torch.tensor([[[True, False], [False, True]]], device=device)
    assert F.unfold(x, 2).tolist() == [[True], [False], [False], [True]]


@pytest.mark.parametrize(
    "function",
    [
        lambda x: F.max_pool2d(x, 2, 1),
        lambda x: F.avg_pool2d(x, 3, 2, 1, count_include_pad=False),
        lambda x: F.adaptive_avg_pool2d(x, (3, 2)),
        lambda x: F.lp_pool2d(x + 3, 2, 2),
        lambda x: F.unfold(x, 2, padding=1),
        lambda x: F.fold(x.reshape(1, 4, 5), (6, 2), 2),
    ],
)
def test_second_derivatives(function):
    x = values((1, 1, 4, 5), 0).requires_grad_()
    assert gradgradcheck(lambda x: function(x) ** 2, [x])


def test_the_flag_of_the_form_with_indices_has_no_effect():
    x = torch.arange(16.0).view(1, 4, 4)
    for arguments in ((2,), (2, 2, 0, 1, False), (2, 2, 0, 1, False, False)):
        values, places = torch.nn.functional.max_pool2d_with_indices(x, *arguments)
        assert values.tolist() == places.tolist() == [[[5, 7], [13, 15]]]
    assert len(torch.nn.functional.max_pool2d_with_indices(x, kernel_size=2, return_indices=False)) == 2


@pytest.mark.parametrize("norm_type", [2, 3.0, 1])
@pytest.mark.parametrize("spatial", [1, 2, 3])
def test_windows_of_zeros_have_no_gradient_in_lp_pooling(device, spatial, norm_type):
    x = torch.zeros((1, 1, *[4] * spatial), device=device)
    x[0, 0, 3] = 2.0
    x.requires_grad_()
    getattr(F, f"lp_pool{spatial}d")(x, norm_type, 2).sum().backward()
    assert x.grad.isfinite().all() and x.grad.reshape(-1)[0] == 0


@pytest.mark.parametrize("spatial", [1, 2, 3])
def test_lp_pooling_of_infinite_order_is_an_extreme(device, spatial):
    x = torch.tensor([3.0, -4.0, -5.0, 2.0], device=device).reshape((1, *[1] * spatial, 4)[-spatial - 1 :])
    pool = getattr(F, f"lp_pool{spatial}d")
    window = (*[1] * (spatial - 1), 2)
    assert pool(x, float("inf"), window).flatten().tolist() == [4, 5]
    assert pool(x, -float("inf"), window).flatten().tolist() == [3, 2]
    with pytest.raises(ArgumentError, match=f"lp_pool{spatial}d: norm_type"):
        pool(x, 0, window)


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_means_of_integers_are_rounded_toward_zero(device, gpus):
    x = (torch.arange(25, device=device) * 7 - 31).reshape(1, 1, 5, 5)
    padded = F.avg_pool2d(x, 3, 2, 1)
    assert padded.dtype is torch.int64 and padded.tolist() == [[[[-4, 0, 4], [28, 53, 42], [42, 70, 51]]]]
    inside = F.avg_pool2d(x, 3, 2, 1, count_include_pad=False)
    assert inside.tolist() == [[[[-10, 0, 11], [42, 53, 63], [95, 105, 116]]]]
    assert F.avg_pool2d(x, 3, 2, 1, divisor_override=-4)[0, 0, 0].tolist() == [10, 0, -11]
    assert F.avg_pool2d(x, 2, ceil_mode=True)[0, 0, 2].tolist() == [112, 126, 137]
    assert F.avg_pool1d(x[0, :, 0], 2).tolist() == [[-27, -13]]
    assert F.avg_pool2d(x + 2**55, 5).tolist() == [[[[2**55 + 53]]]]  # float64 would round it
    assert torch.equal(F.avg_pool3d(x.unsqueeze(2).expand(1, 1, 2, 5, 5), 2)[:, :, 0], F.avg_pool2d(x, 2))
    assert F.avg_pool2d(x.expand(0, 2, 5, 5), 2).shape == (0, 2, 2, 2)
    images = x.expand(2, 3, 5, 5).contiguous(memory_format=torch.channels_last)
    assert F.avg_pool2d(images, 2).is_contiguous(memory_format=torch.channels_last)
    for wrong in (torch.int32, torch.bool):
        with pytest.raises(DtypeError, match=f"avg_pool2d: .*{wrong}".replace("torch.", "")):
            F.avg_pool2d(x.to(wrong), 2)
