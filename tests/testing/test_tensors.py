"""assert_close and make_tensor."""

import numpy as np
import pytest

import flambeau as torch
from flambeau import dtypes
from flambeau.errors import ArgumentError
from flambeau.testing import assert_close, make_tensor

NAN, INF = float("nan"), float("inf")


def failure(*args, **options) -> str:
    with pytest.raises(AssertionError) as caught:
        assert_close(*args, **options)
    return str(caught.value)


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_the_greatest_differences_have_their_index(device, gpus):
    actual = torch.tensor([[1.0, 1.0], [3.0, 1.0]], device=device)
    text = failure(actual, torch.tensor([[1.0, 2.0], [8.0, 1.0]], device=device))
    assert "Mismatched elements: 2 / 4 (50.0%)" in text
    assert "absolute difference: 5.0 at index (1, 0) (up to 1e-05 allowed)" in text
    assert "relative difference: 0.625 at index (1, 0) (up to 1.3e-06 allowed)" in text
    assert "nan at index (0,)" in failure(torch.tensor([NAN, 1.0]), torch.tensor([1.0, 5.0]))


def test_tolerances_follow_the_type():
    for dtype, close, far in (
        (torch.float16, 1e-3, 5e-3), (torch.bfloat16, 1e-2, 1e-1), (torch.float32, 1e-6, 1e-4),
        (torch.float64, 1e-8, 1e-6),
    ):  # fmt: skip
        x = torch.ones(3, dtype=dtype)
        assert_close(x, (x.double() * (1 + close)).to(dtype))
        assert "3 / 3" in failure(x, (x.double() * (1 + far)).to(dtype))
    assert_close(torch.ones(2), torch.full((2,), 1.4), rtol=0, atol=0.5)
    assert "1 / 2" in failure(torch.tensor([2**62, 1]), torch.tensor([2**62 + 1, 1])), "integers are exact"
    with pytest.raises(ArgumentError, match="assert_close: .*rtol=1.*atol=None"):
        assert_close(1, 1, rtol=1)


def test_special_values():
    assert_close(torch.tensor([INF, -INF]), torch.tensor([INF, -INF]))
    assert_close(torch.tensor([NAN]), torch.tensor([NAN]), equal_nan=True)
    assert_close(torch.zeros(0), torch.zeros(0))
    assert "nan" in failure(torch.tensor(NAN), torch.tensor(NAN)) and "inf" in failure(1.0, 0.0)
    assert "True is not False" in failure(True, False) and "Expected 2 but got 1" in failure(1, 2)


def test_attributes_are_compared(gpus):
    x = torch.ones(2, 3)
    assert "'shape'" in failure(x, x[0]) and "float32 != torch.float64" in failure(x, x.double())
    assert "'device'" in failure(x, x.cuda()) and "'stride()'" in failure(x.t(), x.t().contiguous(), check_stride=True)
    assert_close(x, x.double().cuda(), check_dtype=False, check_device=False)
    assert_close(x.t(), x.t().contiguous())
    assert "types do not match" in failure(1, 1.0)


def test_containers_are_compared_entry_by_entry():
    x = torch.ones(1)
    assert_close({"a": [x, 1.0], "b": None}, {"a": (x, 1.0), "b": None})
    assert failure([x, {"k": x}], [x, {"k": x + 1}]).endswith("item [1]['k']")
    assert "Missing keys in the actual mapping: ['b']" in failure({"a": x}, {"a": x, "b": x})
    assert "1 != 2" in failure([x], [x, x]) and "None" in failure(None, x)
    assert_close(np.ones(2), np.ones(2))
    for wrong in ((x, 1.0), (x, np.ones(1)), ("a", "a")):
        with pytest.raises(TypeError, match="assert_close: .*class"):
            assert_close(*wrong)
    weight = torch.nn.Parameter(x)
    assert_close(weight, x)
    with pytest.raises(TypeError, match="Parameter"):
        assert_close(weight, x, allow_subclasses=False)


def test_the_text_is_chosen():
    assert failure(1, 2, msg="other") == "other"
    assert failure(1, 2, msg=lambda text: f"A: {text}").startswith("A: Scalars are not equal")


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
