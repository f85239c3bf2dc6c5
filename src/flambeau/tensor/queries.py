"""Queries of tensors whose result is a Python value, and the wait for a tensor's bytes."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from .. import memory_formats as formats
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


def is_complex(input: TensorBase) -> bool:
    """Return False, as no tensor is complex.

    Example:
        >>> torch.is_complex(torch.ones(1))
        False
    """
    checks.tensor("is_complex", "input", input)
    return input.dtype.is_complex


def is_signed(input: TensorBase) -> bool:
    """Return whether a tensor's type holds negative numbers.

    Example:
        >>> torch.is_signed(torch.tensor([1])), torch.is_signed(torch.tensor([True]))
        (True, False)
    """
    checks.tensor("is_signed", "input", input)
    return input.dtype.is_signed


def is_conj(input: TensorBase) -> bool:
    """Return False: no tensor has a conjugation that is still to be made.

    Example:
        >>> torch.is_conj(torch.ones(1))
        False
    """
    checks.tensor("is_conj", "input", input)
    return False


def is_neg(input: TensorBase) -> bool:
    """Return False: no tensor has a negation that is still to be made.

    Example:
        >>> torch.is_neg(torch.ones(1))
        False
    """
    checks.tensor("is_neg", "input", input)
    return False


def is_distributed(input: TensorBase) -> bool:
    """Return False: a tensor lies on one device.

    Example:
        >>> torch.is_distributed(torch.ones(1))
        False
    """
    checks.tensor("is_distributed", "input", input)
    return False


def is_nonzero(input: Any) -> bool:
    """Return whether the value of a tensor of one element is not 0.

    Host:   waits if it is on a GPU.
    Raises: ValueRangeError for a wrong number of elements.
    Example:
        >>> torch.is_nonzero(torch.tensor([0.5])), torch.is_nonzero(torch.tensor(0))
        (True, False)
    """
    checks.tensor("is_nonzero", "input", input)
    return bool(input)


def is_same_size(input: TensorBase, other: TensorBase) -> bool:
    """Return whether two tensors have the same shape.

    Example:
        >>> torch.is_same_size(torch.ones(2), torch.zeros(2))
        True
    """
    _check_both("is_same_size", input, other)
    return input.shape == other.shape


def is_set_to(self: Any, tensor: Any) -> bool:
    """Return whether this tensor has the storage, offset, shape and strides of another one.

    Example:
        >>> x = torch.ones(2)
        >>> x.is_set_to(x.detach()), x.is_set_to(x[:1])
        (True, False)
    """
    _check_both("is_set_to", self, tensor)
    here, there = [(each.storage_offset(), each.shape, each.stride()) for each in (self, tensor)]
    return self.untyped_storage() == tensor.untyped_storage() and here == there


def get_device(input: Any) -> int:
    """Return the index of a tensor's CUDA device, -1 on the CPU.

    Example:
        >>> torch.get_device(torch.ones(1))
        -1
    """
    checks.tensor("get_device", "input", input)
    index: int = input.get_device()
    return index


def dim_order(self: Any, *, ambiguity_check: Any = False) -> tuple[int, ...]:
    """Return the dimensions in the order of memory, slowest first.

    ambiguity_check: True, or a list of memory formats, raises ValueRangeError if another order would be as right.
    Example:
        >>> torch.zeros(2, 3, 4, 5).contiguous(memory_format=torch.channels_last).dim_order()
        (0, 2, 3, 1)
    """
    shape, strides = self.shape, self.strides
    allowed = tuple(ambiguity_check) if isinstance(ambiguity_check, (list, tuple)) else ()
    if not allowed:
        checks.flag("dim_order", "ambiguity_check", ambiguity_check)
    has_several = 1 in shape or any(a == b for a, b in pairwise(strides)) or 0 in strides
    fitting = [each for each in allowed if self.is_contiguous(memory_format=each)]
    if ambiguity_check and has_several and len(fitting) != 1:
        raise ValueRangeError(
            f"the tensor does not have unique dim order: {self.describe()} with strides {list(self.strides)}",
            hint="leave out ambiguity_check",
            operator="dim_order",
        )
    for format in (formats.contiguous_format, formats.channels_last, formats.channels_last_3d):
        if formats.lies_in(format, shape, strides):
            return tuple(reversed(format.order)) or tuple(range(len(shape)))
    return tuple(reversed(st.walk_order(shape, [strides])))


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
    """Return whether all elements of two tensors are close: see `isclose`.

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


METHODS = (
    equal, isclose, allclose, wait, is_complex, is_signed, is_conj, is_neg, is_distributed, is_nonzero, is_same_size,
    is_set_to, dim_order,
)  # fmt: skip
KINDS = (  # of tensors that do not exist: the flag `x.is_<kind>` is False
    "ipu", "maia", "meta", "mkldnn", "mps", "mtia", "nested", "quantized", "sparse", "sparse_csr", "vulkan", "xla",
    "xpu",
)  # fmt: skip
