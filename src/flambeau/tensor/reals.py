"""Functions and methods of complex numbers, such as `conj` and `is_complex`, for tensors, which are all real."""

from __future__ import annotations

from typing import Any

from ..dtypes import bool_
from ..errors import DtypeError
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
    """The tensor itself: no tensor has a conjugation that is still to be made.

    Example:
        >>> torch.resolve_conj(torch.tensor([1.0, 2.0]))
        tensor([1., 2.])
    """
    checks.tensor("resolve_conj", "input", input)
    return input


def resolve_neg(input: Any) -> Any:
    """The tensor itself: no tensor has a negation that is still to be made.

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


METHODS = conj, conj_physical_, positive, resolve_conj, resolve_neg
PROPERTIES = {"real": property(real), "imag": property(imag)}
