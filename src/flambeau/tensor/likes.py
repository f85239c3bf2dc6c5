"""Factories that keep the device and type of a tensor: `zeros_like(x)`, and the methods `x.new_zeros(2, 3)`."""

from __future__ import annotations

from typing import Any

from ..core import TensorCore
from .factories import empty, full, ones, rand, randint, randn, tensor, zeros


def _like(make: Any, input: TensorCore, arguments: tuple[Any, ...], options: dict[str, Any]) -> Any:
    options.pop("memory_format", None)
    if options.get("device") is None:
        options["device"] = input.device
    if options.get("dtype") is None:
        options["dtype"] = input.dtype
    return make(*arguments, **options)


def empty_like(input: Any, **options: Any) -> Any:
    """As `empty`, with the shape, type and device of `input` unless others are named.  Host: returns at once."""
    return _like(empty, input, (input.shape,), options)


def zeros_like(input: Any, **options: Any) -> Any:
    """As `zeros`, with the shape, type and device of `input` unless others are named.  Host: returns at once."""
    return _like(zeros, input, (input.shape,), options)


def ones_like(input: Any, **options: Any) -> Any:
    """As `ones`, with the shape, type and device of `input` unless others are named.  Host: returns at once."""
    return _like(ones, input, (input.shape,), options)


def full_like(input: Any, fill_value: Any, **options: Any) -> Any:
    """As `full`, with the shape, type and device of `input` unless others are named.  Host: returns at once."""
    return _like(full, input, (input.shape, fill_value), options)


def rand_like(input: Any, **options: Any) -> Any:
    """As `rand`, with the shape, type and device of `input` unless others are named.  Host: returns at once."""
    return _like(rand, input, (input.shape,), options)


def randn_like(input: Any, **options: Any) -> Any:
    """As `randn`, with the shape, type and device of `input` unless others are named.  Host: returns at once."""
    return _like(randn, input, (input.shape,), options)


def randint_like(input: Any, *bounds: int, **options: Any) -> Any:
    """As `randint`, with the shape, type and device of `input` unless others are named.  Host: returns at once."""
    return _like(randint, input, (*bounds, input.shape), options)


def new_tensor(self: Any, data: Any, **options: Any) -> Any:
    """A copy of `data` with this tensor's type and device unless others are named.  Host: waits if that is a GPU."""
    return _like(tensor, self, (data,), options)


def new_empty(self: Any, *size: Any, **options: Any) -> Any:
    """As `empty`, with this tensor's type and device unless others are named.  Host: returns at once."""
    return _like(empty, self, size, options)


def new_zeros(self: Any, *size: Any, **options: Any) -> Any:
    """As `zeros`, with this tensor's type and device unless others are named.  Host: returns at once."""
    return _like(zeros, self, size, options)


def new_ones(self: Any, *size: Any, **options: Any) -> Any:
    """As `ones`, with this tensor's type and device unless others are named.  Host: returns at once."""
    return _like(ones, self, size, options)


def new_full(self: Any, size: Any, fill_value: Any, **options: Any) -> Any:
    """As `full`, with this tensor's type and device unless others are named.  Host: returns at once."""
    return _like(full, self, (size, fill_value), options)


NEW_METHODS = (new_tensor, new_empty, new_zeros, new_ones, new_full)
