"""finfo, iinfo, the default type, promotion, and the types that are names only.  Values are PyTorch's."""

import pickle
from collections.abc import Iterator

import numpy as np
import pytest

import flambeau as torch
from flambeau import dtypes
from flambeau.errors import ArgumentTypeError, DtypeError, NotSupportedError
from flambeau.nn import Linear, Parameter

NAMED = [found for found in vars(dtypes).values() if isinstance(found, torch.dtype) and not found.exists]


@pytest.fixture
def default() -> Iterator[None]:
    yield
    torch.set_default_dtype(torch.float32)


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64])
def test_finfo_is_numpys(dtype):
    found, wanted = torch.finfo(dtype), np.finfo(dtype.numpy)
    for name in ("bits", "max", "min", "eps", "tiny", "smallest_normal", "resolution", "dtype"):
        assert getattr(found, name) == getattr(wanted, name), name


def test_finfo_of_other_types():
    assert torch.finfo(torch.bfloat16).eps == 0.0078125 and torch.finfo(torch.bfloat16).max == 3.3895313892515355e38
    assert torch.finfo(torch.complex128) == torch.finfo(float) != torch.finfo()
    assert repr(torch.finfo(torch.float8_e8m0fnu)) == (
        "finfo(resolution=1, min=5.87747e-39, max=1.70141e+38, eps=1, smallest_normal=5.87747e-39, tiny=5.87747e-39, "
        "dtype=float8_e8m0fnu)"
    )
    for wrong in (torch.int32, "float32"):
        with pytest.raises(ArgumentTypeError, match="finfo: "):
            torch.finfo(wrong)


def test_iinfo():
    for dtype in dtypes.INTEGER_TYPES:
        found, wanted = torch.iinfo(dtype), np.iinfo(dtype.numpy)
        assert (found.bits, found.min, found.max, found.dtype) == (wanted.bits, wanted.min, wanted.max, dtype.name)
    assert repr(torch.iinfo(type=torch.int32)) == "iinfo(min=-2.14748e+09, max=2.14748e+09, dtype=int32)"
    assert torch.iinfo(torch.uint64).max == 2**64 - 1 and torch.iinfo(torch.int8) == torch.iinfo(torch.int8)
    for wrong in (torch.float32, torch.bool):
        with pytest.raises(ArgumentTypeError, match="iinfo: "):
            torch.iinfo(wrong)


@pytest.mark.parametrize("device", ["cpu", "cuda"])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float16])
def test_every_factory_takes_the_default_type(dtype, device, gpus, default):
    whole = torch.tensor([1, 2], device=device)
    assert (whole / 3).dtype is torch.float32
    torch.set_default_dtype(dtype)
    assert torch.get_default_dtype() is dtype
    with torch.device(device):
        made = [
            torch.zeros(1), torch.ones(1), torch.empty(1), torch.full((1,), 0.5), torch.tensor([0.1]), torch.eye(2),
            torch.linspace(0, 1, 3), torch.arange(0, 1, 0.5), torch.rand(2), torch.randn(2), Linear(1, 1).weight,
            torch.as_tensor(0.1),
        ]  # fmt: skip
        made += [torch.full((1,), torch.tensor(0.5, dtype=of)) for of in (torch.float32, torch.float64, torch.bfloat16)]
    assert {(each.dtype, each.device.type) for each in made} == {(dtype, device)}
    assert {torch.full((1,), torch.tensor([3], dtype=of)).dtype for of in (torch.uint8, torch.int64)} == {torch.int64}
    assert torch.full((1,), torch.tensor(True)).dtype is torch.bool
    assert {each.dtype for each in (torch.Tensor(1), Parameter())} == {dtype}
    promoted = [whole / 3, whole + 0.5, whole.sqrt(), torch.where(whole > 1, 0.5, 2.0), whole * torch.tensor(0.5)]
    promoted += [whole.logsumexp(0), torch.special.logsumexp(whole > 1, 0), torch.logsumexp(whole.to(torch.uint8), 0)]
    promoted += [torch.cov(whole), whole.reshape(1, 2).corrcoef(), torch.cov(whole, fweights=whole)]
    assert {each.dtype for each in promoted} == {dtype}
    assert torch.tensor(0.1, dtype=dtype).item() == torch.tensor(0.1).item()
    assert torch.tensor([1]).dtype is torch.int64 and (whole.float() + 0.5).dtype is torch.float32
    assert "dtype" not in repr(torch.ones(1)) and "dtype=torch.float32" in repr(torch.ones(1, dtype=torch.float32))
    torch.set_default_dtype(torch.float32)
    assert (whole / 3).dtype is torch.float32


def test_the_default_type_by_a_legacy_class(gpus, default):
    torch.set_default_tensor_type(torch.DoubleTensor)
    assert torch.zeros(1).dtype is torch.float64
    torch.set_default_tensor_type("torch.cuda.HalfTensor")
    assert (torch.zeros(1).dtype, torch.zeros(1).device.type) == (torch.float16, "cuda")
    torch.set_default_tensor_type("torch.FloatTensor")
    assert (torch.zeros(1).dtype, torch.zeros(1).device.type) == (torch.float32, "cpu")
    for wrong in (torch.IntTensor, "FloatTensors", torch.float32):
        with pytest.raises(ArgumentTypeError, match="set_default_tensor_type: "):
            torch.set_default_tensor_type(wrong)
    for wrong in (torch.int64, torch.complex64, torch.float8_e5m2, "float32", None):
        with pytest.raises(ArgumentTypeError, match="set_default_dtype: .*floating-point"):
            torch.set_default_dtype(wrong)


def test_the_type_of_a_result():
    half, whole = torch.ones(1, dtype=torch.float16), torch.ones(1, dtype=torch.int64)
    assert torch.result_type(half, 1.0) is torch.float16 and torch.result_type(whole, 1.0) is torch.float32
    assert torch.result_type(half, torch.tensor(1.0, dtype=torch.float64)) is torch.float16
    assert torch.result_type(1, True) is torch.int64 and torch.result_type(whole, half) is torch.float16
    assert torch.result_type(scalar=1, tensor=half) is torch.float16
    with pytest.raises(ArgumentTypeError, match="result_type: .*float32"):
        torch.result_type(half, torch.float32)


def test_what_may_be_cast():
    allowed = {(a.name, b.name) for a in dtypes.ALL for b in dtypes.ALL if torch.can_cast(a, b)}
    assert ("int64", "uint8") in allowed and ("float64", "float16") in allowed and ("bool", "int8") in allowed
    assert ("float16", "int64") not in allowed and ("int8", "bool") not in allowed
    assert torch.can_cast(from_=float, to=torch.complex64) and not torch.can_cast(torch.complex64, float)


def test_complex_types_promote():
    assert torch.promote_types(torch.float64, torch.complex64) is torch.complex128
    assert torch.promote_types(torch.complex64, torch.int64) is torch.complex64
    assert torch.promote_types(torch.complex32, torch.float16) is torch.complex32
    assert torch.float64.to_complex() is torch.cdouble and torch.cfloat.to_real() is torch.float32
    for other in (torch.float8_e5m2, torch.float8_e4m3fn):
        with pytest.raises(DtypeError, match=f"promote_types: .*float32 and {other.name}"):
            torch.promote_types(torch.float32, other)


@pytest.mark.parametrize("dtype", NAMED, ids=str)
def test_a_type_that_is_a_name_has_no_tensors(dtype):
    x = torch.ones(8)
    calls = (
        lambda: torch.zeros(2, dtype=dtype), lambda: torch.tensor([1], dtype=dtype), lambda: x.to(dtype),
        lambda: x.type(dtype), lambda: x.view(dtype), lambda: x.sum(dtype=dtype), lambda: x.new_empty(2, dtype=dtype),
        lambda: torch.arange(2, dtype=dtype), lambda: torch.full((1,), 1, dtype=dtype),
    )  # fmt: skip
    for call in calls:
        with pytest.raises(NotSupportedError, match=f"tensors of {dtype.name} are not supported"):
            call()
    assert pickle.loads(pickle.dumps(dtype)) is dtype and getattr(torch, dtype.name) is dtype


def test_names_of_types():
    assert torch.typename(torch.ones(1).long()) == "torch.LongTensor" and torch.typename(3) == "int"
    assert torch.typename(Linear) == torch.typename(Linear(1, 1)) == f"{Linear.__module__}.Linear"
    assert torch.newaxis is None and torch.inf == float("inf") and torch.nan != torch.nan
    assert (torch.pi, torch.e) == (np.pi, np.e)


@pytest.mark.parametrize("name", ["int4", "uint1", "qint8"])
def test_names_of_small_integers_are_no_types_of_tensors(name):
    small = getattr(torch, name)
    with pytest.raises(NotImplementedError, match="only a name") as caught:
        torch.zeros(2, dtype=small)
    assert "use torch.int8" in caught.value.hint
    with pytest.raises(TypeError, match=f"requires an integer input type, got torch.{name}"):
        torch.iinfo(small)
