"""Queries of tensors whose result is a Python value, and the wait for a tensor's bytes."""

from __future__ import annotations

from typing import Any

from .. import strides as st
from ..core.tensor import TensorBase
from ..errors import DtypeError, ValueRangeError, naming
from ..runtime import pending_copies
from . import checks


def is_tensor(obj: Any) -> bool:
    """Return whether `obj` is a tensor.

    Example:
        >>> torch.is_tensor(torch.ones(1)), torch.is_tensor([1.0])
        (True, False)
    """
    return isinstance(obj, TensorBase)


def is_floating_point(input: TensorBase) -> bool:
    """Return whether a tensor's type is a floating point type.

    Example:
        >>> torch.is_floating_point(torch.tensor([1.0])), torch.is_floating_point(torch.tensor([1]))
        (True, False)
    """
    checks.tensor("is_floating_point", "input", input)
    return input.dtype.is_floating_point


def is_inference(input: Any) -> bool:
    """Return whether a tensor was made in inference mode, so that autograd cannot save it.

    Example:
        >>> with torch.inference_mode():
        ...     x = torch.ones(1)
        >>> torch.is_inference(x)
        True
    """
    checks.tensor("is_inference", "input", input)
    result: bool = input.is_inference()
    return result


def numel(input: TensorBase) -> int:
    """Return the number of elements of a tensor.

    Example:
        >>> torch.numel(torch.zeros(2, 3))
        6
    """
    checks.tensor("numel", "input", input)
    return input.numel()


def equal(input: Any, other: Any) -> bool:
    """Return whether two tensors have the same shape and the same values; NaN equals nothing.

    Host:   waits if they are on a GPU.
    Raises: DeviceMismatchError if they are on different devices.
    Example:
        >>> x = torch.tensor([1, 2])
        >>> torch.equal(x, torch.tensor([1, 2])), torch.equal(x, torch.tensor([1, 3]))
        (True, False)
    """
    _check_both("equal", input, other)
    with naming("equal"):
        return bool(input.shape == other.shape and (input == other).all().item())


def isclose(input: Any, other: Any, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> Any:
    """Return, per element, whether |input - other| <= atol + rtol * |other|; equal infinities are close.

    Shapes: the inputs broadcast together.
    Host:   returns at once.
    Raises: DtypeError if the types differ, ArgumentError for a negative tolerance.
    Example:
        >>> torch.isclose(torch.tensor([1.0, 2.0]), torch.tensor([1.0 + 1e-9, 2.1]))
        tensor([ True, False])
    """
    with naming("isclose"):
        return _isclose(input, other, rtol, atol, equal_nan)


def _check_both(name: str, input: Any, other: Any) -> None:
    checks.tensor(name, "input", input)
    checks.tensor(name, "other", other)


def _isclose(input: Any, other: Any, rtol: float, atol: float, equal_nan: bool) -> Any:
    _check_both("isclose", input, other)
    for what, tolerance in (("rtol", rtol), ("atol", atol)):
        checks.number("isclose", what, tolerance)
    if input.dtype is not other.dtype:
        raise DtypeError(
            f"{input.dtype.name} did not match {other.dtype.name}",
            hint=f"convert one, as in other.to({input.dtype})",
            operator="isclose",
        )
    if not (rtol >= 0 and atol >= 0):
        raise ValueRangeError(
            f"tolerances must not be negative, got rtol={rtol} and atol={atol}",
            hint="pass 0 or more",
            operator="isclose",
        )
    same = input == other
    if not input.dtype.is_floating_point:
        input, other = input.double(), other.double()
    room = other.abs() * rtol + atol
    difference = (input - other).abs()
    close = same | ((difference <= room) & difference.isfinite())
    return close | (input.isnan() & other.isnan()) if equal_nan else close


def allclose(input: Any, other: Any, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> bool:
    """Return whether all elements are close (see isclose).

    Host:   waits if they are on a GPU.
    Raises: as isclose.
    Example:
        >>> torch.allclose(torch.tensor([1.0]), torch.tensor([1.0 + 1e-9]))
        True
    """
    with naming("allclose"):
        return bool(_isclose(input, other, rtol, atol, equal_nan).all().item())


def wait(self: Any) -> Any:
    """Wait for the non_blocking copies into this tensor, and return it.  Does nothing for a tensor on a GPU.

    Host: waits for these copies only, not for later work on their streams.
    Example:
        >>> x = torch.tensor([1.0, 2.0], device="cuda")
        >>> x.to("cpu", non_blocking=True).wait()
        tensor([1., 2.])
    """
    if self.numel() and self.device_index < 0:
        nbytes = st.extent(self.shape, self.strides) * self.element_size()
        pending_copies.wait_for(self._storage, self.address(), nbytes)
    return self


METHODS = (equal, isclose, allclose, wait)
