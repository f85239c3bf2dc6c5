"""make_tensor: tensors of random values for tests."""

from __future__ import annotations

from math import ceil, floor, isnan
from typing import Any

from .. import dtypes
from ..core.factories import sizes
from ..dtypes import dtype
from ..errors import ArgumentError
from ..tensor import checks
from ..tensor.factories import as_leaf
from ..tensor.random import rand, randint
from ..tensor.types import finfo, iinfo


def make_tensor(
    *shape: Any,
    dtype: dtype,
    device: Any,
    low: float | None = None,
    high: float | None = None,
    requires_grad: bool = False,
    noncontiguous: bool = False,
    exclude_zero: bool = False,
    memory_format: Any = None,
) -> Any:
    """A tensor of random values from low to high, which is excluded, in tests of any type.

    low, high: None is -9 to 9, 0 to 9 for uint8, and both values of bool; they are limited to what the type holds.
    noncontiguous: whether the elements lie apart.  exclude_zero: whether zeros are replaced by small values.
    Raises: ArgumentError unless low is less than high, and for a gradient of integers.
    Example:
        >>> x = torch.testing.make_tensor(2, 3, dtype=torch.float32, device="cpu", low=0, high=1)
        >>> x.shape, bool((x >= 0).all() and (x < 1).all())
        (torch.Size([2, 3]), True)
    """
    element_type = checks.as_dtype("make_tensor", dtype)
    assert element_type is not None
    if noncontiguous and memory_format is not None:
        raise ArgumentError(
            f"noncontiguous=True and memory_format={memory_format} exclude each other",
            hint="pass one of them",
            operator="make_tensor",
        )
    if requires_grad and not element_type.is_floating_point:
        raise ArgumentError(
            f"requires_grad=True is not supported for boolean and integral dtypes, but got {element_type}",
            hint="use torch.float32",
            operator="make_tensor",
        )
    first, last = _bounds(element_type, low, high)
    wanted = sizes(shape, "make_tensor")
    if element_type.is_floating_point:
        wide = dtypes.float64 if element_type is dtypes.float64 else dtypes.float32
        result = rand(wanted, dtype=wide, device=device)
        result = (result * (last - first) + first).clamp(first, last).to(element_type)
    else:
        result = randint(first, last, wanted, dtype=element_type, device=device)
    if exclude_zero:
        least = finfo(element_type).tiny if element_type.is_floating_point else 1
        result[result == 0] = least
    if noncontiguous and result.numel() > 1:
        result = result.repeat_interleave(2, -1)[..., ::2]
    elif memory_format is not None:
        result = result.clone(memory_format=memory_format)
    return result if requires_grad is False else as_leaf("make_tensor", result, requires_grad)


def _bounds(element_type: dtype, low: float | None, high: float | None) -> tuple[Any, Any]:
    """Return the bounds that a type holds; of integers, both are ints, and the upper one is excluded."""
    usual: tuple[Any, Any]
    least: Any
    most: Any
    if element_type is dtypes.bool_:
        usual, least, most = (0, 2), 0, 2
    elif element_type.is_floating_point:
        usual, least, most = (-9, 9), finfo(element_type).min, finfo(element_type).max
    else:
        limits = iinfo(element_type)
        usual, least, most = (-9 if element_type.is_signed else 0, 10), limits.min, limits.max + 1
    first, last = usual[0] if low is None else low, usual[1] if high is None else high
    if isnan(first) or isnan(last):
        raise ArgumentError(
            f"low and high cannot be NaN, but got low={low} and high={high}",
            hint="pass numbers",
            operator="make_tensor",
        )
    if first > last or first == last and not element_type.is_floating_point:
        raise ArgumentError(
            f"low must be less than high, but got {first} >= {last}", hint="exchange them", operator="make_tensor"
        )
    first, last = min(max(first, least), most), min(max(last, least), most)
    if element_type.is_floating_point:
        return first, last
    return ceil(first), min(max(ceil(last), floor(first) + 1), 2**63 - 1)
