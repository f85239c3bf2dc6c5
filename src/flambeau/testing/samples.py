"""Operator samples as tensors, for the sweep, the kernel check and the benchmarks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ..dtypes import BY_NAME, dtype
from ..host import np
from ..ops import lstm, optimizer_steps  # noqa: F401  (these also register what only nn, optim and amp call)
from ..ops.operator import REGISTRY, Array, Operator, Sample

# spreads values by more than a step of gradcheck: where two values tie, a maximum has no derivative
_GOLDEN = 0.6180339887498949


def values(array: Array, data_type: dtype) -> Any:
    """The NumPy values of an Array, spread evenly over [low, high].  Its seed changes the order."""
    count = int(np.prod(array.shape))
    spread = (np.arange(1, count + 1) * _GOLDEN + array.seed * 0.37) % 1.0
    numbers = (array.low + (array.high - array.low) * spread).reshape(array.shape)
    if data_type.is_floating_point:
        return numbers.astype(data_type.numpy)
    return (np.floor(numbers) > 0) if data_type.name == "bool" else np.floor(numbers).astype(data_type.numpy)


def laid_out(plain: Any, layout: str) -> tuple[Any, Callable[[Any], Any]]:
    """Return dense values to upload, and a function that views them in a layout so that they equal `plain`."""
    if layout == "transposed" and plain.ndim >= 2:
        order = tuple(reversed(range(plain.ndim)))
        return np.ascontiguousarray(plain.transpose(order)), lambda tensor: tensor.permute(*order)
    if layout == "strided" and plain.ndim >= 1:
        wide = np.zeros((*plain.shape[:-1], plain.shape[-1] * 2), plain.dtype)
        wide[..., ::2] = plain
        return wide, lambda tensor: tensor[..., ::2]
    return plain, lambda tensor: tensor


def made(value: Any, data_type: dtype, make: Callable[[Any, Array], Any]) -> Any:
    """Return a sample's value with every Array replaced by make(dense NumPy values, array)."""
    if isinstance(value, Array):
        own = BY_NAME[value.dtype] if value.dtype else data_type
        dense, view = laid_out(values(value, own), value.layout)
        return view(make(dense, value))
    if isinstance(value, (list, tuple)):
        return type(value)(made(item, data_type, make) for item in value)
    return value


def cases() -> Iterator[tuple[str, Operator, dtype, int, Sample]]:
    """Yield (id, operator, dtype, sample number, sample) for every operator that has samples."""
    for name in sorted(REGISTRY):
        operator = REGISTRY[name]
        for number, sample in enumerate(operator.samples()):
            for data_type in operator.dtypes:
                yield f"{name}-{number}-{data_type.name}", operator, data_type, number, sample
