"""Conversion of numbers to data types, as in PyTorch 2.13: exact, cut, wrapped, and refused."""

import math

import numpy as np
import pytest

import flambeau as torch
from flambeau import dtypes
from flambeau.dtypes import converted, integer_range
from flambeau.errors import ArgumentTypeError, ValueRangeError
from flambeau.nn import functional as F

NAN, INF = math.nan, math.inf
HELD = (
    ("bool", 0.5, True), ("bool", -1, True), ("bool", 0.0, False), ("bool", NAN, True), ("bool", 1 << 70, True),
    ("uint8", True, 1), ("uint8", 0.5, 0), ("uint8", -1, 255), ("uint8", 255, 255), ("uint8", -255, 1),
    ("int8", -2.7, -2), ("int8", -128, -128), ("int32", 2.7, 2), ("int64", 2**63 - 1, 2**63 - 1),
    ("int64", -(2.0**63), -(2**63)), ("float16", 65504, 65504.0), ("float16", INF, INF), ("bfloat16", 70000, 70000.0),
    ("float32", -INF, -INF), ("float32", 3.4028234663852886e38, 3.4028234663852886e38), ("float64", 1e300, 1e300),
)  # fmt: skip
REFUSED = (
    ("uint8", 256), ("uint8", -256), ("uint8", -0.5), ("uint8", 255.5), ("uint8", NAN), ("int8", 200), ("int8", -129),
    ("int8", INF), ("int32", 2**31), ("int64", 2**63), ("int64", 2.0**63), ("float16", 65519.0), ("bfloat16", 3.5e38),
    ("float32", 1e300), ("float64", 10**400),
)  # fmt: skip


@pytest.mark.parametrize(("name", "value", "wanted"), HELD)
def test_a_number_that_the_type_holds(name, value, wanted):
    found = converted("fill", dtypes.BY_NAME[name], value)
    assert found == wanted and type(found) is type(wanted)


@pytest.mark.parametrize(("name", "value"), REFUSED)
def test_a_number_that_the_type_does_not_hold(name, value):
    with pytest.raises(ValueRangeError, match="without overflow") as caught:
        converted("fill", dtypes.BY_NAME[name], value)
    assert caught.value.fact.startswith("fill: ") and name in caught.value.fact and name in caught.value.hint


def test_nan_stays_in_floating_point():
    assert all(math.isnan(converted("fill", kind, NAN)) for kind in dtypes.FLOATING_TYPES)


def test_numbers_of_numpy_are_numbers():
    assert torch.zeros(1).fill_(np.float32(INF)).item() == INF
    assert torch.zeros(1, dtype=torch.uint8).fill_(np.int64(-1)).item() == 255
    with pytest.raises(ValueRangeError, match="int8 without overflow"):
        torch.zeros(1, dtype=torch.int8).fill_(np.float64(NAN))


def test_ranges_of_integers():
    assert [integer_range(kind) for kind in (dtypes.bool_, dtypes.uint8, dtypes.int16)] == [
        (0, 1), (0, 255), (-32768, 32767),
    ]  # fmt: skip


# every way to write a number into a tensor of two elements: its value in both


def _set(x, index, value):
    x[index] = value
    return x


WRITERS = {
    "fill_": lambda x, value: x.fill_(value),
    "full": lambda x, value: torch.full((2,), value, dtype=x.dtype, device=x.device),
    "full_like": lambda x, value: torch.full_like(x, value),
    "new_full": lambda x, value: x.new_full((2,), value),
    "a strided fill_": lambda x, value: torch.stack([x, x], 1)[:, 0].fill_(value),
    "setitem of a view": lambda x, value: _set(x, slice(None), value),
    "setitem by a mask": lambda x, value: _set(x, torch.ones(2, dtype=torch.bool, device=x.device), value),
    "setitem by an index": lambda x, value: _set(x, torch.tensor([1, 0], device=x.device), value),
    "masked_fill": lambda x, value: x.masked_fill(torch.ones(2, dtype=torch.bool, device=x.device), value),
    "index_fill": lambda x, value: x.index_fill(0, torch.tensor([0, 1], device=x.device), value),
    "scatter": lambda x, value: x.scatter(0, torch.tensor([0, 1], device=x.device), value),
    "scatter that adds": lambda x, value: torch.zeros_like(x).scatter(
        0, torch.tensor([0, 1], device=x.device), value, reduce="add"
    ),
    "index_add": lambda x, value: x.index_add(
        0, torch.tensor([0, 1], device=x.device), torch.ones_like(x), alpha=value
    ),
    "linspace": lambda x, value: torch.linspace(value, value, 2, dtype=x.dtype, device=x.device),
}
BY_INTERPOLATION = ("linspace",)  # in float64, and never bool


def is_taken(writer, name, value):
    """Whether a writer takes a number that the type holds."""
    lost = writer in BY_INTERPOLATION and (name == "bool" or value > 2**62 or abs(value) == INF)
    return value != 1 << 70 and not lost


@pytest.mark.parametrize("writer", WRITERS)
def test_every_writer_converts_alike(device, writer):
    for name, value, wanted in (case for case in HELD if is_taken(writer, *case[:2])):
        kind = getattr(torch, name)
        found = WRITERS[writer](torch.zeros(2, dtype=kind, device=device), value)
        expected = torch.tensor([wanted] * 2, dtype=kind)
        assert found.dtype is kind
        assert found.tolist() == expected.tolist(), (kind, value)


@pytest.mark.parametrize("writer", WRITERS)
def test_every_writer_refuses_alike_and_changes_nothing(device, writer):
    for name, value in REFUSED:
        x = torch.ones(2, dtype=getattr(torch, name), device=device)
        with pytest.raises(RuntimeError, match="without overflow"):
            WRITERS[writer](x, value)
        assert x.tolist() == [1, 1], (name, value)
        assert torch.ones(2, device=device).tolist() == [1, 1]  # the device is not lost


# numbers that are arguments of arithmetic: checked


@pytest.mark.parametrize(
    "call",
    [
        lambda x, value: torch.add(x, x, alpha=value),
        lambda x, value: torch.sub(x, x, alpha=value),
        lambda x, value: x.clamp(min=value),
        lambda x, value: x.clamp(value, 3),
        lambda x, value: torch.where(x > 0, value, x),
        lambda x, value: torch.addcmul(x, x, x, value=value),
    ],
)
def test_arguments_of_arithmetic_must_fit(device, call):
    for kind, value in ((torch.uint8, 300), (torch.int32, 2**31), (torch.float32, 1e300)):
        with pytest.raises(RuntimeError, match="without overflow"):
            call(torch.ones(2, dtype=kind, device=device), value)


def test_operands_of_arithmetic_wrap(device):
    x = torch.ones(2, dtype=torch.uint8, device=device)
    assert [(x + 300)[0].item(), (x * -1)[0].item(), (x + 256)[0].item()] == [45, 255, 1]
    assert (torch.ones(2, device=device) + 1e300).tolist() == [INF, INF]
    assert (x == -255).tolist() == [True, True]


def test_a_factor_takes_no_part_in_promotion(device):
    x = torch.full((2,), 3, dtype=torch.int32, device=device)
    found = torch.addcmul(x, x, x, value=0.5)
    assert found.dtype is torch.int32 and found.tolist() == [3, 3]
    half = torch.ones(2, dtype=torch.float16, device=device)
    assert torch.lerp(half, half, 0.5).dtype is torch.float16


def test_bounds_and_choices_take_part_in_promotion(device):
    x = torch.ones(2, dtype=torch.int32, device=device)
    assert x.clamp(min=1.5).tolist() == [1.5, 1.5]
    assert torch.where(x > 0, 0.5, x).tolist() == [0.5, 0.5]


# sequences


def test_arange_wraps_in_narrow_integers_as_pytorch_does(device):
    assert torch.arange(300, 302, dtype=torch.uint8, device=device).tolist() == [44, 45]
    assert torch.arange(2.7, 5.7, dtype=torch.int32, device=device).tolist() == [2, 3, 4]
    with pytest.raises(RuntimeError, match="arange: .*without overflow"):
        torch.arange(1e300, 3e300, 1e300, dtype=torch.int32, device=device)


def test_linspace_is_computed_with_fused_products(device):
    assert torch.linspace(3, -7, 7, dtype=torch.int32, device=device).tolist() == [3, 1, 0, -1, -3, -5, -7]
    found = torch.linspace(3, -7, 7, dtype=torch.float64, device=device)
    assert found[3].item() == -1.9999999999999998
    assert torch.linspace(-50, 16, 10, dtype=torch.int64, device=device)[6].item() == -5
    assert torch.linspace(-30, 36, 28, dtype=torch.int16, device=device).tolist()[9] == -7


def test_a_tensor_of_one_element_is_taken_as_a_number(gpus):
    two = torch.tensor(2.0)
    x = torch.ones(2, requires_grad=True)
    total = torch.add(x, x, alpha=two)
    total.sum().backward()
    assert total.tolist() == [3.0, 3.0] and x.grad.tolist() == [3.0, 3.0]
    assert torch.ones(1, device="cuda").add_(torch.ones(1, device="cuda"), alpha=two.cuda()).tolist() == [3.0]
    assert torch.empty(3).uniform_(two, two).tolist() == [2.0, 2.0, 2.0]
    assert torch.empty(2).normal_(mean=two, std=torch.tensor(0.0)).tolist() == [2.0, 2.0]
    assert torch.nn.functional.dropout(torch.ones(2), two - 1).tolist() == [0.0, 0.0]
    assert torch.empty(2).random_(torch.tensor(3), torch.tensor(4)).tolist() == [3.0, 3.0]
    for value in (3.0, 5.0):  # the value is read in every call
        assert torch.add(two, two, alpha=torch.tensor(value)).item() == 2 + 2 * value
    with pytest.raises(ArgumentTypeError, match="add: .*2 elements.*float32.2."):
        torch.add(x, x, alpha=torch.ones(2))


def test_tensors_in_lists_are_taken_as_numbers(device):
    x, one = torch.arange(6.0, device=device).reshape(2, 3), torch.tensor(1)
    assert x.sum(one).tolist() == x.sum([one]).tolist() == x.sum(dim=(torch.tensor(-1),)).tolist() == [3, 12]
    assert torch.linalg.vector_norm(x, 1, dim=[one]).tolist() == [3, 12]
    assert F.pad(x, (1, 0), value=torch.tensor(7.0, device=device)).tolist() == [[7, 0, 1, 2], [7, 3, 4, 5]]
    assert F.unfold(x[None, None], (one, one)).shape == (1, 1, 6)


def test_a_tensor_that_requires_a_gradient_is_no_number(device):
    x, one = torch.ones(2, 2, device=device), torch.tensor(1.0, device=device, requires_grad=True)
    calls = {
        "softplus: argument 'beta'": lambda: F.softplus(x, beta=one),
        "elu: argument 'alpha'": lambda: F.elu(x, one),
        "pad: argument 'value'": lambda: F.pad(x, (1, 1), value=one),
        "layer_norm: argument 'eps'": lambda: F.layer_norm(x, (2,), eps=one),
        "add: argument 'alpha'": lambda: torch.add(x, x, alpha=one),
    }
    for what, call in calls.items():
        with pytest.raises(ArgumentTypeError, match=f"^{what} must be a number, .* requires grad: float32") as caught:
            call()
        assert caught.value.hint.startswith("pass ")
    assert F.softplus(x, beta=one.detach()).equal(F.softplus(x, beta=1.0))
