"""Functions of torch.fft that compute no transform: sample frequencies, and shifts of their order."""

from __future__ import annotations

from math import inf
from typing import Any

from .. import dtypes
from .. import strides as st
from ..dtypes import dtype
from ..errors import ValueRangeError
from ..ops.operator import REGISTRY
from . import checks
from .factories import arange, as_leaf, into, tensor


def fftshift(input: Any, dim: Any = None) -> Any:
    """Return a copy with the zero frequency in the middle: the halves of each dimension are exchanged.

    dim: a dimension or several; None is all of them.  If a size is odd, the first half is the longer one.
    Shapes: same as the input.
    Host:   returns at once.
    Raises: IndexRangeError if a dimension is out of range, ShapeError if there is none.
    Example:
        >>> torch.fft.fftshift(torch.fft.fftfreq(5))
        tensor([-0.4000, -0.2000,  0.0000,  0.2000,  0.4000])
    """
    return _shifted("fftshift", input, dim, lambda size: size // 2)


def ifftshift(input: Any, dim: Any = None) -> Any:
    """Undo `fftshift`: return a copy with the zero frequency first in each dimension.

    dim: a dimension or several; None is all of them.
    Shapes: same as the input.
    Host:   returns at once.
    Raises: IndexRangeError if a dimension is out of range, ShapeError if there is none.
    Example:
        >>> torch.fft.ifftshift(torch.tensor([-2, -1, 0, 1, 2]))
        tensor([ 0,  1,  2, -2, -1])
    """
    return _shifted("ifftshift", input, dim, lambda size: (size + 1) // 2)


def _shifted(name: str, input: Any, dim: Any, shift: Any) -> Any:
    """Roll dimensions.  shift: returns the shift of a dimension, given its size."""
    checks.tensor(name, "input", input)
    roll = REGISTRY["roll"].called_as(name)
    dims = list(range(input.ndim)) if dim is None else _dimensions(name, input, dim)
    return roll(input, [shift(input.shape[at]) for at in dims], dims)


def _dimensions(name: str, input: Any, dim: Any) -> list[int]:
    """Return dimensions as a list.  Raises ArgumentTypeError or IndexRangeError if one is wrong."""
    dims = list(dim) if isinstance(dim, (list, tuple)) else [dim]
    for each in dims:
        checks.integer(name, "dim", each)
        checks.dimension(name, each, input)
    return [st.as_int(each) for each in dims]


def fftfreq(
    n: int,
    d: float = 1.0,
    *,
    out: Any = None,
    dtype: dtype | None = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Any:
    """Return the frequencies of a discrete Fourier transform of n samples: [0, 1, ..., -2, -1] / (n * d).

    d: the time, or distance, between two samples.
    Shapes: [n].
    Host:   returns at once.
    Raises: ValueRangeError for a negative n or a type that is not floating point.
    Example:
        >>> torch.fft.fftfreq(4, d=0.5)
        tensor([ 0.0000,  0.5000, -1.0000, -0.5000])
    """
    if out is not None or layout is not None:
        return into(fftfreq, out, layout, (dtype, device, requires_grad, pin_memory), n, d)
    element_type = _floating("fftfreq", n, d, dtype)
    checks.count("fftfreq", "n", n)
    result = arange(n, dtype=element_type, device=device, pin_memory=pin_memory)
    result[(n + 1) // 2 :] -= n
    result *= _factor(n, d, element_type)
    return result if requires_grad is False else as_leaf("fftfreq", result, requires_grad)


def rfftfreq(
    n: int,
    d: float = 1.0,
    *,
    out: Any = None,
    dtype: dtype | None = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Any:
    """Return the frequencies of a Fourier transform of n real samples: [0, 1, ..., n // 2] / (n * d).

    d: the time, or distance, between two samples.
    Shapes: [n // 2 + 1].
    Host:   returns at once.
    Raises: ValueRangeError for a negative n or a type that is not floating point.
    Example:
        >>> torch.fft.rfftfreq(4, d=0.5)
        tensor([0.0000, 0.5000, 1.0000])
    """
    if out is not None or layout is not None:
        return into(rfftfreq, out, layout, (dtype, device, requires_grad, pin_memory), n, d)
    element_type = _floating("rfftfreq", n, d, dtype)
    checks.count("rfftfreq", "n", n)
    result = arange(n // 2 + 1, dtype=element_type, device=device, pin_memory=pin_memory)
    result *= _factor(n, d, element_type)
    return result if requires_grad is False else as_leaf("rfftfreq", result, requires_grad)


def _floating(name: str, n: Any, d: Any, wanted: Any) -> dtype:
    """Check the arguments, and return the type of the result."""
    checks.number(name, "d", d)
    element_type = checks.as_dtype(name, wanted) or dtypes.default.floating
    if not element_type.is_floating_point:
        raise ValueRangeError(
            f"requires a floating point dtype, got {element_type}", hint="leave it out", operator=name
        )
    return element_type


def _factor(n: int, d: Any, of: dtype) -> float:
    """Return 1 / (n * d) as a number of a type, an infinity for 0: PyTorch's CPU rounds the factor to half types."""
    product = float(n) * float(d)
    value: float = tensor(1.0 / product if product else inf, dtype=of, device="cpu").item()
    return value
