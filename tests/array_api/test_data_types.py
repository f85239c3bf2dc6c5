"""Promotion, conversion and kinds of the array API's data types."""

import numpy as np
import pytest

import flambeau as torch
from flambeau import array_api as xp
from flambeau.array_api.data_types import common_dtype
from flambeau.errors import ArgumentError, ArgumentTypeError, DtypeError

SIGNED = [torch.int8, torch.int16, torch.int32, torch.int64]
UNSIGNED = [torch.uint8, torch.uint16, torch.uint32, torch.uint64]


def test_integers_promote_by_their_size_and_their_sign():
    for kinds in (SIGNED, UNSIGNED):
        for a, first in enumerate(kinds):
            for b, second in enumerate(kinds):
                assert common_dtype(first, second) is kinds[max(a, b)], (first, second)
    for u, unsigned in enumerate(UNSIGNED[:3]):
        for s, signed in enumerate(SIGNED):
            wanted = SIGNED[max(s, u + 1)]
            assert common_dtype(unsigned, signed) is common_dtype(signed, unsigned) is wanted, (unsigned, signed)
    for signed in SIGNED:
        with pytest.raises(DtypeError, match=f"result_type: .*uint64.*{signed.name}"):
            common_dtype(torch.uint64, signed)


def test_result_type_takes_arrays_types_and_numbers():
    assert xp.result_type(torch.float32, torch.ones((), dtype=torch.float64)) is torch.float64
    assert xp.result_type(torch.uint16, torch.int8, 7, True) is torch.int32
    assert xp.result_type(torch.uint8, 1.5) is torch.float32 and xp.result_type(torch.bool, 2) is torch.int64
    for wrong in ((), (1, 2.0), (torch.int8, "int8")):
        with pytest.raises(ArgumentTypeError, match="result_type"):
            xp.result_type(*wrong)


def test_kinds():
    names = ["bool", "signed integer", "unsigned integer", "integral", "real floating", "complex floating", "numeric"]
    found = {dtype: [name for name in names if xp.isdtype(dtype, name)] for dtype in (
        torch.bool, torch.int8, torch.uint64, torch.float64, torch.bfloat16,
    )}  # fmt: skip
    assert list(found.values()) == [
        ["bool"], ["signed integer", "integral", "numeric"], ["unsigned integer", "integral", "numeric"],
        ["real floating", "numeric"], ["real floating", "numeric"],
    ]  # fmt: skip
    assert xp.isdtype(torch.int8, (torch.uint8, "bool", torch.int8)) and not xp.isdtype(torch.int8, torch.uint8)
    for call in (lambda: xp.isdtype(torch.int8, "integer"), lambda: xp.__array_namespace_info__().dtypes(kind="word")):
        with pytest.raises(ArgumentError, match="kind '(integer|word)' of data types is unknown"):
            call()
    for wrong in ("float32", np.dtype("int64"), torch.ones(1)):
        with pytest.raises(ArgumentTypeError, match=r"isdtype: expected a data type, got .*(32|64)"):
            xp.isdtype(wrong, "integral")
    with pytest.raises(ArgumentTypeError, match="can_cast: expected a data type, got 'float32'"):
        xp.can_cast("float32", torch.int8)


def test_conversions_and_limits():
    x = torch.tensor([1.0, 2.0])
    assert xp.astype(x, torch.float32, copy=False) is x and xp.astype(x, torch.float32) is not x
    assert xp.astype(x, torch.uint16).tolist() == [1, 2]
    assert xp.can_cast(torch.uint16, torch.int32) and not xp.can_cast(torch.uint16, torch.int16)
    assert not xp.can_cast(torch.uint64, torch.int64) and xp.can_cast(x, torch.float64)
    assert xp.finfo(x) == xp.finfo(torch.float32) and xp.finfo(x).dtype is torch.float32
    assert xp.finfo(torch.float64).bits == 64 and xp.finfo(x).smallest_normal == torch.finfo(torch.float32).tiny
    assert xp.iinfo(torch.uint32) == (32, 2**32 - 1, 0, torch.uint32)
