"""Convolutions: values and gradients recorded from PyTorch 2.13, memory formats, types, and the GPU against the CPU."""

import os
from collections.abc import Iterator

import numpy as np
import pytest

import flambeau as torch
from flambeau.errors import OutOfMemoryError
from flambeau.nn import functional as F
from flambeau.testing import gradgradcheck, machine

# operator, shapes of input, weight and bias, options, shape of the result, and the digests of the result, of the
# gradients of sum(y * y * values), and of the gradients of a sum of those gradients.  All are exact in float64.
RECORDED = [
    ("conv1d", (2, 2, 7), (4, 1, 3), (4,), {"stride": 2, "padding": 1, "dilation": 2, "groups": 2}, [2, 4, 3],
      [[6.125, -2.109375], [-2.4453125, -6.345703125], [-0.328125, 3.6875], [14.1875, -1.53125],
      [9.671875, 14.34765625], [-14.125, 6.599609375]]),
    ("conv1d", (1, 3, 6), (2, 3, 4), None, {"padding": "same", "dilation": 1}, [1, 2, 6],
      [[-1.1875, -2.609375], [9.9375, 31.28515625], [-5.6796875, 17.45703125], [24.6875, -13.814453125],
      [-10.8671875, 13.748046875]]),
    ("conv2d", (2, 3, 5, 6), (4, 3, 3, 2), (4,), {"stride": (2, 1), "padding": (1, 0)}, [2, 4, 3, 5],
      [[-0.625, 11.9375], [-119.8671875, 54.49609375], [43.7109375, 57.05078125], [48.78125, 48.6875],
      [-117.078125, -139.169921875], [-73.6796875, 144.84375]]),
    ("conv2d", (3, 5, 4), (2, 3, 2, 2), None, {"padding": "same"}, [2, 5, 4],
      [[5.1875, 16.84375], [-58.140625, -20.509765625], [-26.8828125, -77.84375], [-96.734375, -169.38671875],
      [-52.0859375, -68.060546875]]),
    ("conv2d", (1, 4, 6, 6), (4, 1, 3, 3), (4,), {"groups": 4, "dilation": 2, "padding": 2}, [1, 4, 6, 6],
      [[8.75, 20.953125], [-36.09375, -79.419921875], [4.6953125, 135.91015625], [-2.90625, -21.7421875],
      [-10.0078125, 58.822265625], [129.9296875, 17.5078125]]),
    ("conv3d", (1, 2, 3, 4, 4), (3, 2, 2, 3, 2), (3,), {"stride": (1, 2, 2), "padding": 1}, [1, 3, 4, 2, 3],
      [[11.0625, 24.4375], [14.3359375, 37.880859375], [-108.796875, -17.16796875], [-49.28125, -8.5703125],
      [-19.2578125, 35.654296875], [3.4921875, -75.31640625]]),
    ("conv_transpose1d", (2, 2, 4), (2, 3, 3), (3,), {"stride": 3, "padding": 1, "output_padding": 2}, [2, 3, 12],
      [[3.875, 2.0625], [16.234375, -8.41015625], [-5.046875, -29.193359375], [-11.625, 3.5546875],
      [-49.6484375, -25.85546875], [4.921875, -63.396484375]]),
    ("conv_transpose2d", (1, 4, 3, 2), (4, 2, 3, 2), (4,), {"stride": (2, 1), "padding": (1, 0), "groups": 2,
      "output_padding": (1, 0)}, [1, 4, 6, 3],
      [[7.5625, -1.875], [-7.71875, -5.08203125], [3.890625, -19.443359375], [-5.125, -14.703125],
      [3.7265625, -66.37890625], [82.9296875, -13.091796875]]),
    ("conv_transpose2d", (4, 3, 3), (4, 2, 2, 2), None, {"dilation": (2, 1), "stride": 2}, [2, 7, 6],
      [[1.75, 1.4375], [-16.3515625, 17.291015625], [-1.0, -36.001953125], [-19.9609375, 3.994140625],
      [2.65625, 23.318359375]]),
    ("conv_transpose3d", (1, 2, 2, 3, 2), (2, 2, 2, 2, 3), (2,), {"stride": 2, "padding": (0, 1, 1)}, [1, 2, 4, 4, 3],
      [[-26.1875, 8.546875], [-10.140625, 1.55859375], [-4.3671875, 21.19921875], [-20.53125, 10.5703125],
      [-12.484375, 49.7578125], [-54.6328125, -0.091796875]]),
]  # fmt: skip


def values(shape, seed):
    """Multiples of 1/4 between -5/4 and 5/4."""
    count = int(np.prod(shape))
    return torch.tensor(((np.arange(count) * 7 + seed * 3) % 11 - 5) / 4).reshape(tuple(shape))


def digest(tensor):
    found = tensor.detach().flatten()
    return [found.sum().item(), (found * values(tensor.shape, 5).flatten()).sum().item()]


@pytest.mark.parametrize("case", RECORDED, ids=lambda case: f"{case[0]}-{case[4]}")
def test_values_and_gradients_are_those_of_pytorch(case):
    name, *shapes, options, shape, wanted = case
    operands = [None if each is None else values(each, seed).requires_grad_() for seed, each in enumerate(shapes)]
    y = getattr(torch, name)(*operands, **options)
    assert list(y.shape) == shape and y.dtype is torch.float64
    given = [each for each in operands if each is not None]
    first = torch.autograd.grad((y * y * values(y.shape, 3)).sum(), given, create_graph=True)
    weighted = sum((each * values(each.shape, 4)).sum() for each in first)
    second = torch.autograd.grad(weighted, given[:2])
    assert [digest(each) for each in (y, *first, *second)] == wanted


@pytest.mark.parametrize("name", ["conv2d", "conv_transpose2d"])
def test_second_derivatives(name):
    x = values((1, 2, 3, 3), 0).requires_grad_()
    w, bias = values((2, 2, 2, 2), 1).requires_grad_(), values((2,), 2).requires_grad_()
    assert gradgradcheck(lambda *each: getattr(torch, name)(*each, stride=2, padding=1), [x, w, bias])


@pytest.mark.parametrize("dtype", [torch.int8, torch.uint8, torch.int64])
def test_integers_are_exact(dtype):
    x = torch.arange(18).reshape(1, 2, 3, 3).to(dtype)
    found = torch.conv2d(x, torch.ones(1, 2, 2, 2, dtype=dtype) * 3)
    wanted = torch.conv2d(x.double(), torch.full((1, 2, 2, 2), 3.0, dtype=torch.float64)).to(torch.int64).to(dtype)
    assert found.dtype is dtype and found.equal(wanted)
    big = torch.tensor([[[2**53 + 1, 1]]])
    assert torch.conv1d(big, torch.tensor([[[1, 1]]])).item() == 2**53 + 2


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_types_are_summed_in_float32(dtype):
    x = torch.ones(1, 4096, 1, dtype=dtype)
    w = torch.ones(1, 4096, 1, dtype=dtype)
    assert torch.conv1d(x, w).item() == 4096
    assert torch.conv_transpose1d(x, w.reshape(4096, 1, 1)).item() == 4096


@pytest.mark.parametrize("which", ["input", "weight", "both"])
def test_a_channels_last_operand_makes_the_result_channels_last(which):
    x, w = values((2, 3, 5, 4), 0), values((4, 3, 2, 2), 1)
    plain = torch.conv2d(x, w)
    assert plain.is_contiguous()
    last = torch.channels_last
    x = x if which == "weight" else x.contiguous(memory_format=last)
    w = w if which == "input" else w.contiguous(memory_format=last)
    x.requires_grad_(), w.requires_grad_()
    found = torch.conv2d(x, w)
    assert found.is_contiguous(memory_format=last) and found.equal(plain)
    of_x, of_w = torch.autograd.grad(found, [x, w], found.detach())
    assert of_x.is_contiguous(memory_format=last) and of_w.is_contiguous(memory_format=last)
    found = torch.conv_transpose2d(x.detach(), values((3, 2, 2, 2), 1))
    assert found.is_contiguous(memory_format=last) == (which != "weight")


def test_operands_of_any_strides():
    x, w = values((2, 3, 6, 5), 0), values((4, 3, 2, 2), 1)
    wanted = torch.conv2d(x, w)
    turned = x.permute(3, 0, 1, 2).contiguous().permute(1, 2, 3, 0)
    wide = torch.zeros(4, 3, 2, 4, dtype=torch.float64)
    wide[..., ::2] = w
    assert torch.conv2d(turned, wide[..., ::2]).equal(wanted)
    row = values((1, 3, 6, 5), 0)
    assert torch.conv2d(row.expand(2, 3, 6, 5), w).equal(torch.conv2d(torch.cat([row, row]), w))


def test_the_result_may_be_written_into_a_tensor():
    x, w = values((2, 3, 5, 4), 0), values((3, 3, 1, 1), 1)
    wanted, out = torch.conv2d(x, w), torch.empty(2, 3, 5, 4, dtype=torch.float64)
    assert torch.conv2d(x, w, out=out) is out and out.equal(wanted)
    torch.conv2d(x, w, out=x)
    assert x.equal(wanted)


def test_no_terms_leave_the_bias():
    x, w = torch.ones(2, 0, 3, 3), torch.ones(1, 0, 2, 2)
    assert torch.conv2d(x, w, torch.tensor([2.0])).equal(torch.full((2, 1, 2, 2), 2.0))


def test_the_operator_with_all_arguments():
    x, w = values((1, 2, 4, 4), 0), values((2, 2, 2, 2), 1)
    found = torch.convolution(x, w, None, (2, 2), (1, 1), (1, 1), False, (0, 0), 1)
    assert found.equal(torch.conv2d(x, w, stride=2, padding=1))
    found = torch.convolution(x, w, None, [2, 2], [1, 1], [1, 1], True, [1, 1], 1)
    assert found.equal(torch.conv_transpose2d(x, w, stride=2, padding=1, output_padding=1))


def test_the_node_is_named_as_pytorchs():
    x = torch.ones(1, 1, 3, 3, requires_grad=True)
    for name in ("conv2d", "conv_transpose2d"):
        assert type(getattr(torch, name)(x, torch.ones(1, 1, 2, 2)).grad_fn).__name__ == "ConvolutionBackward0"


# the GPU

CONFIGURATIONS = [  # operator, shapes of input and weight, options
    ("conv2d", (4, 16, 19, 18), (24, 16, 3, 3), {"padding": 1}),
    ("conv2d", (4, 16, 19, 18), (24, 16, 3, 3), {"stride": 2, "padding": (1, 0)}),
    ("conv2d", (4, 16, 19, 18), (24, 8, 3, 2), {"groups": 2, "dilation": 2}),
    ("conv2d", (4, 16, 19, 18), (16, 1, 3, 3), {"groups": 16, "padding": 1}),
    ("conv2d", (3, 5, 9, 8), (7, 5, 2, 4), {"padding": "same"}),
    ("conv2d", (4, 16, 8, 8), (32, 16, 1, 1), {}),
    ("conv1d", (4, 8, 33), (16, 8, 5), {"stride": 3, "padding": 2}),
    ("conv3d", (2, 8, 6, 7, 8), (8, 8, 3, 2, 3), {"stride": (1, 2, 1), "padding": 1}),
    ("conv_transpose1d", (4, 8, 15), (8, 16, 4), {"stride": 2, "padding": 1}),
    ("conv_transpose2d", (4, 16, 9, 8), (16, 8, 3, 3), {"stride": 2, "padding": 1, "output_padding": 1}),
    ("conv_transpose2d", (4, 16, 9, 8), (16, 8, 3, 3), {"groups": 2, "dilation": 2}),
    ("conv_transpose3d", (2, 8, 4, 5, 4), (8, 4, 2, 3, 2), {"stride": 2}),
]
TOLERANCE = {torch.float64: 1e-11, torch.float32: 2e-5, torch.float16: 4e-3, torch.bfloat16: 3e-2}


IN_FORMATS = [(case, False) for case in CONFIGURATIONS] + [(case, True) for case in CONFIGURATIONS if "2d" in case[0]]
ON_HARDWARE = os.environ.get("FLAMBEAU_GPUS") == "nvidia"
IN_DEFAULT = [torch.float64, torch.float32, *((torch.float16, torch.bfloat16) if ON_HARDWARE else ())]
IN_TYPES = [pytest.param(kind, marks=[] if kind in IN_DEFAULT else pytest.mark.full) for kind in TOLERANCE]


@pytest.fixture
def gpu() -> Iterator[None]:
    if ON_HARDWARE:
        yield
        return
    with machine(devices=1):
        yield


def results(case, device, dtype, is_last):
    """(result, gradients of input, weight and bias, gradient of a gradient) in float64, on the CPU."""
    name, shape, kernel, options = case
    random = np.random.default_rng(3)
    outputs = kernel[1] * options.get("groups", 1) if "transpose" in name else kernel[0]
    arrays = [random.uniform(-1, 1, each) for each in (shape, kernel, (outputs,))]
    scale = int(np.prod(kernel[1:])) ** -0.5
    operands = [torch.tensor(array * each).to(dtype).to(device) for array, each in zip(arrays, (1, scale, 1))]
    if is_last:
        operands[0] = operands[0].contiguous(memory_format=torch.channels_last)
    for each in operands:
        each.requires_grad_()
    y = getattr(torch, name)(*operands, **options)
    assert not is_last or y.is_contiguous(memory_format=torch.channels_last)
    grad = torch.tensor(random.uniform(-1, 1, tuple(y.shape))).to(dtype).to(device).requires_grad_()
    first = torch.autograd.grad(y, operands, grad, create_graph=True)
    second = torch.autograd.grad(first[0], [grad, operands[1]], operands[0].detach())
    return [each.detach().cpu().to(torch.float64) for each in (y, *first, *second)]


@pytest.mark.gpu
@pytest.mark.filterwarnings("ignore:cuDNN")  # where it has no engine, the own kernel is tested
@pytest.mark.parametrize("dtype", IN_TYPES, ids=str)
@pytest.mark.parametrize(("case", "is_last"), IN_FORMATS, ids=str)
def test_the_gpu_agrees_with_the_cpu(gpu, case, dtype, is_last):
    """Without TF32; float32 and half types are compared with sums in float64 of the same rounded operands."""
    with torch.backends.cudnn.flags(enabled=True, allow_tf32=False):
        found, again = results(case, "cuda", dtype, is_last), results(case, "cuda", dtype, is_last)
        wanted = results(case, "cpu", dtype, is_last)
    for one, other, want in zip(found, again, wanted):
        assert one.equal(other)  # every run gives the same bits
        scale = max(1.0, want.abs().max().item())
        np.testing.assert_allclose(one.numpy(), want.numpy(), rtol=0, atol=TOLERANCE[dtype] * scale)


@pytest.mark.gpu
@pytest.mark.filterwarnings("ignore:cuDNN")
def test_tf32_rounds_inputs(gpu):
    case = CONFIGURATIONS[0]
    with torch.backends.cudnn.flags(enabled=True, allow_tf32=True):
        found = results(case, "cuda", torch.float32, False)
    for one, want in zip(found, results(case, "cpu", torch.float32, False)):
        scale = max(1.0, want.abs().max().item())
        np.testing.assert_allclose(one.numpy(), want.numpy(), rtol=0, atol=4e-3 * scale)


@pytest.mark.parametrize("allow_tf32", [False, True])
def test_the_setting_of_tf32_reaches_the_library_call(gpus, allow_tf32, monkeypatch):
    from flambeau.core import thread

    asked, driver = [], type(thread.machine().driver)
    plan = driver.library_plan
    monkeypatch.setattr(driver, "library_plan", lambda self, device, of: asked.append(of) or plan(self, device, of))
    with torch.backends.cudnn.flags(allow_tf32=allow_tf32):
        torch.conv1d(torch.ones(1, 1, 4, device="cuda"), torch.ones(1, 1, 2, device="cuda"))
    assert [(each.kind, each.allow_tf32) for each in asked] == [("convolution", allow_tf32)]


def test_an_error_for_lack_of_memory_names_the_workspace(monkeypatch):
    monkeypatch.delenv("PYTORCH_NO_CUDA_MEMORY_CACHING", raising=False)  # which makes the blocks smaller
    with machine(devices=1, memory="40MiB"):
        x, w = torch.randn(64, 8, 64, 64, device="cuda"), torch.randn(8, 8, 3, 3, device="cuda")
        before = torch.cuda.memory_allocated()
        with pytest.raises(OutOfMemoryError) as caught:
            F.conv2d(x, w, padding=1)
        assert "Tried to allocate 20.00 MiB" in caught.value.what
        assert caught.value.what.endswith("The memory was for the workspace of a convolution.")
        del caught
        assert torch.cuda.memory_allocated() == before
        with torch.backends.cudnn.flags(allow_tf32=False):  # whose kernels copy nothing
            assert F.conv2d(x, w, padding=1).shape == x.shape
        assert torch.cuda.max_memory_allocated() == before + x.nbytes
        del x, w
