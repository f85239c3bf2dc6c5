"""torch.autograd.forward_ad: forward-mode derivatives are not there, so that no tensor has a tangent."""

from __future__ import annotations

from typing import Any, NamedTuple, NoReturn

from ..errors import NotSupportedError
from ..errors import no_attribute as _no_attribute


class UnpackedDualTensor(NamedTuple):
    """A tensor and its tangent, which is None."""

    primal: Any
    tangent: Any


def unpack_dual(tensor: Any, *, level: Any = None) -> UnpackedDualTensor:
    """Return a tensor and None, as of every tensor without a tangent.

    Example:
        >>> torch.autograd.forward_ad.unpack_dual(torch.ones(1)).tangent is None
        True
    """
    return UnpackedDualTensor(tensor, None)


def make_dual(tensor: Any, tangent: Any, *, level: Any = None) -> NoReturn:
    """Raise NotSupportedError: there are no tangents."""
    raise NotSupportedError(
        "forward-mode derivatives are not there yet",
        hint="torch.func.jvp computes the same by reverse mode",
        operator="make_dual",
    )


__all__ = ["UnpackedDualTensor", "make_dual", "unpack_dual"]


def __getattr__(name: str) -> object:
    raise _no_attribute(__name__, name)
