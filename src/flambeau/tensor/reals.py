"""Answers to what programs for complex numbers, other layouts and devices ask: all tensors are real and dense."""

from __future__ import annotations

from typing import Any

from ..core.tensor import TensorBase
from ..dtypes import bool_
from ..errors import DtypeError, ValueRangeError
from . import checks


def real(input: Any) -> Any:
    """The tensor itself, which is real.

    Example:
        >>> torch.real(torch.tensor([1.0, 2.0]))
        tensor([1., 2.])
    """
    checks.tensor("real", "input", input)
    return input


def imag(input: Any) -> Any:
    """Raise DtypeError: only complex tensors have imaginary parts, and there are none.

    Example:
        >>> try:
        ...     torch.imag(torch.tensor([1.0]))
        ... except RuntimeError:
        ...     print("real")
        real
    """
    checks.tensor("imag", "input", input)
    raise DtypeError(
        f"imag is not implemented for tensors with non-complex dtypes, this is {input.describe()}",
        hint="use torch.zeros_like(...)",
        operator="imag",
    )


def conj(input: Any) -> Any:
    """The tensor itself: a real number is its own conjugate.

    Example:
        >>> torch.conj(torch.tensor([1.0, 2.0]))
        tensor([1., 2.])
    """
    checks.tensor("conj", "input", input)
    return input


def conj_physical(input: Any, *, out: Any = None) -> Any:
    """The tensor itself, or `out` with its values: a real number is its own conjugate.

    Example:
        >>> torch.conj_physical(torch.tensor([1.0, 2.0]))
        tensor([1., 2.])
    """
    checks.tensor("conj_physical", "input", input)
    return input if out is None else out.copy_(input)


def conj_physical_(input: Any) -> Any:
    """The tensor itself, unchanged: a real number is its own conjugate.

    Example:
        >>> torch.tensor([1.0, 2.0]).conj_physical_()
        tensor([1., 2.])
    """
    checks.tensor("conj_physical_", "input", input)
    return input


def resolve_conj(input: Any) -> Any:
    """The tensor itself, which is no lazy conjugate.

    Example:
        >>> torch.resolve_conj(torch.tensor([1.0, 2.0]))
        tensor([1., 2.])
    """
    checks.tensor("resolve_conj", "input", input)
    return input


def resolve_neg(input: Any) -> Any:
    """The tensor itself, which is no lazy negative.

    Example:
        >>> torch.resolve_neg(torch.tensor([1.0, 2.0]))
        tensor([1., 2.])
    """
    checks.tensor("resolve_neg", "input", input)
    return input


def positive(input: Any) -> Any:
    """The tensor itself, `+input`.  Raises DtypeError for bool.

    Example:
        >>> torch.positive(torch.tensor([-1.0, 2.0]))
        tensor([-1.,  2.])
    """
    checks.tensor("positive", "input", input)
    if input.dtype is bool_:
        raise DtypeError("bool operands are not supported", hint="convert with .to(torch.uint8)", operator="positive")
    return input


def is_complex(input: Any) -> bool:
    """Return whether a tensor's type is complex, which none is.

    Example:
        >>> torch.is_complex(torch.tensor([1.0]))
        False
    """
    checks.tensor("is_complex", "input", input)
    return False


def is_conj(input: Any) -> bool:
    """Return whether a tensor is a lazy conjugate, which none is.

    Example:
        >>> torch.is_conj(torch.tensor([1.0]))
        False
    """
    checks.tensor("is_conj", "input", input)
    return False


def is_neg(input: Any) -> bool:
    """Return whether a tensor is a lazy negative, which none is.

    Example:
        >>> torch.is_neg(-torch.tensor([1.0]))
        False
    """
    checks.tensor("is_neg", "input", input)
    return False


def is_distributed(input: Any) -> bool:
    """Return whether a tensor is spread over processes, which none is.

    Example:
        >>> torch.is_distributed(torch.tensor([1.0]))
        False
    """
    checks.tensor("is_distributed", "input", input)
    return False


def is_signed(input: Any) -> bool:
    """Return whether a tensor's type has negative numbers.

    Example:
        >>> torch.is_signed(torch.tensor([1.0])), torch.is_signed(torch.tensor([1], dtype=torch.uint8))
        (True, False)
    """
    checks.tensor("is_signed", "input", input)
    found: bool = input.dtype.is_signed
    return found


def is_nonzero(input: Any) -> bool:
    """Return whether the only element of a tensor is not 0.

    Host:   waits if it is on a GPU.
    Raises: ValueRangeError unless there is one element.
    Example:
        >>> torch.is_nonzero(torch.tensor([0.0])), torch.is_nonzero(torch.tensor(True))
        (False, True)
    """
    checks.tensor("is_nonzero", "input", input)
    if input.numel() != 1:
        raise ValueRangeError(
            f"Boolean value of Tensor with {'no' if input.numel() == 0 else 'more than one'} value is ambiguous: "
            f"this is {input.describe()}",
            hint="use any() or all()",
            operator="is_nonzero",
        )
    return bool(input)


def is_same_size(input: Any, other: Any) -> bool:
    """Return whether two tensors have the same shape.

    Example:
        >>> torch.is_same_size(torch.zeros(2, 3), torch.ones(2, 3))
        True
    """
    checks.tensor("is_same_size", "input", input)
    checks.tensor("is_same_size", "other", other)
    return bool(input.shape == other.shape)


def is_set_to(self: Any, tensor: Any) -> bool:
    """Return whether two tensors are the same memory with the same shape and strides.

    Example:
        >>> x = torch.zeros(2, 3)
        >>> x.is_set_to(x.view(2, 3)), x.is_set_to(x.t())
        (True, False)
    """
    checks.tensor("is_set_to", "tensor", tensor)
    is_same_memory = self._storage is tensor._storage and self._offset == tensor._offset
    return bool(is_same_memory and self.shape == tensor.shape and self.strides == tensor.strides)


METHODS = (
    conj, conj_physical, conj_physical_, is_complex, is_conj, is_distributed, is_neg, is_nonzero, is_same_size,
    is_set_to, is_signed, positive, resolve_conj, resolve_neg,
)  # fmt: skip
NEVER = (
    "is_ipu", "is_maia", "is_meta", "is_mkldnn", "is_mps", "is_mtia", "is_nested", "is_quantized", "is_sparse",
    "is_sparse_csr", "is_vulkan", "is_xla", "is_xpu",
)  # fmt: skip


def _is_on_cpu(self: TensorBase) -> bool:
    """Whether this tensor is on the CPU."""
    return self.device_index < 0


def _never(self: TensorBase) -> bool:
    """False: there are no tensors of this kind."""
    return False


PROPERTIES = {"is_cpu": property(_is_on_cpu), "real": property(real), "imag": property(imag)} | {
    name: property(_never) for name in NEVER
}
