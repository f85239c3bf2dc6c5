"""make_tensor: types, bounds, layouts."""

import pytest

import flambeau as torch
from flambeau import dtypes
from flambeau.errors import ArgumentError
from flambeau.testing import make_tensor


@pytest.mark.parametrize("device", ["cpu", "cuda"])
@pytest.mark.parametrize("dtype", dtypes.ALL, ids=str)
def test_values_lie_between_the_bounds(dtype, device, gpus):
    x = make_tensor(40, 50, dtype=dtype, device=device)
    assert x.shape == (40, 50) and (x.dtype, x.device.type) == (dtype, device)
    least, most = x.double().min().item(), x.double().max().item()
    if dtype.is_floating_point:
        assert -9 <= least < -8.5 and 8.5 < most <= 9
    else:
        assert (least, most) == {torch.bool: (0, 1), torch.uint8: (0, 9)}.get(dtype, (-9, 9))
    near = make_tensor((1000,), dtype=dtype, device=device, low=0, high=2, exclude_zero=True)
    assert near.double().min() > 0 and near.double().max() <= 2


def test_layouts_and_gradients():
    x = make_tensor((2, 3), dtype=torch.float32, device="cpu", noncontiguous=True, requires_grad=True)
    assert x.stride() == (6, 2) and x.requires_grad and x.is_leaf
    last = make_tensor((2, 3, 4, 5), dtype=torch.float32, device="cpu", memory_format=torch.channels_last)
    assert last.stride() == (60, 1, 15, 3)
    assert make_tensor((), dtype=torch.int8, device="cpu", low=-1000, high=-500).item() == -128


@pytest.mark.parametrize(
    "options", [{"low": 1, "high": 0}, {"low": float("nan")}, {"requires_grad": True}, {"low": 3, "high": 3}]
)
def test_wrong_options(options):
    with pytest.raises(ArgumentError, match="make_tensor: "):
        make_tensor(2, dtype=torch.int64, device="cpu", **options)
