"""torch.autograd.forward_ad: stand-ins; forward-mode derivatives are not supported, so no tensor has a tangent."""

from __future__ import annotations

from typing import Any, NamedTuple, NoReturn

from ..errors import NotSupportedError
from ..errors import no_attribute as _no_attribute
from ..importer import listing as _listing


class UnpackedDualTensor(NamedTuple):
    """The result of `unpack_dual`: a tensor and its tangent, which is always None.

    Example:
        >>> torch.autograd.forward_ad.UnpackedDualTensor(torch.ones(1), None).primal
        tensor([1.])
    """

    primal: Any
    tangent: Any


def unpack_dual(tensor: Any, *, level: Any = None) -> UnpackedDualTensor:
    """Return (primal, tangent): the tensor itself, and None, since forward mode is not supported.

    Example:
        >>> torch.autograd.forward_ad.unpack_dual(torch.ones(1)).tangent is None
        True
    """
    return UnpackedDualTensor(tensor, None)


def make_dual(tensor: Any, tangent: Any, *, level: Any = None) -> NoReturn:
    """Raise NotSupportedError: forward mode is not supported.  `torch.func.jvp` computes the same products.

    Example:
        >>> try:
        ...     torch.autograd.forward_ad.make_dual(torch.ones(1), torch.ones(1))
        ... except NotImplementedError as error:
        ...     print(error.hint)
        use torch.func.jvp, which computes the product by reverse mode
    """
    raise NotSupportedError(
        "forward-mode derivatives are not supported",
        hint="use torch.func.jvp, which computes the product by reverse mode",
        operator="make_dual",
    )


__all__ = ["UnpackedDualTensor", "make_dual", "unpack_dual"]
__dir__ = _listing(globals())


def __getattr__(name: str) -> object:
    raise _no_attribute(__name__, name)
