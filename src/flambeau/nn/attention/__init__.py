"""torch.nn.attention: the choice of a kernel for scaled_dot_product_attention, which is recorded and has no effect."""

from __future__ import annotations

import importlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum
from typing import Any

from ...errors import ArgumentTypeError, shown
from ...errors import no_attribute as _no_attribute
from ...importer import listing as _listing


class SDPBackend(IntEnum):
    """Names of kernels of `nn.functional.scaled_dot_product_attention`, which programs pass to `sdpa_kernel`.

    The members are those of PyTorch.  They have no effect: flambeau chooses the kernel by the operands.

    Example:
        >>> torch.nn.attention.SDPBackend.FLASH_ATTENTION.name
        'FLASH_ATTENTION'
    """

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4


ALL = (
    SDPBackend.FLASH_ATTENTION,
    SDPBackend.EFFICIENT_ATTENTION,
    SDPBackend.MATH,
    SDPBackend.CUDNN_ATTENTION,
)


class _Chosen(threading.local):
    """The backends that this thread has chosen."""

    backends: tuple[SDPBackend, ...] = ALL


_chosen = _Chosen()


@contextmanager
def sdpa_kernel(backends: list[SDPBackend] | SDPBackend, set_priority: bool = False) -> Iterator[dict[Any, Any]]:
    """Accept a choice of attention kernels for a with block, for programs that are written for PyTorch.

    backends and set_priority have no effect: flambeau chooses the kernel by the operands.
    Raises: ArgumentTypeError for anything but an SDPBackend or a list of them.
    Example:
        >>> from flambeau.nn.attention import SDPBackend, sdpa_kernel
        >>> q = torch.ones(1, 2, 4)
        >>> with sdpa_kernel(SDPBackend.MATH):
        ...     torch.nn.functional.scaled_dot_product_attention(q, q, q).shape
        torch.Size([1, 2, 4])
    """
    listed = [backends] if isinstance(backends, SDPBackend) else backends
    if not isinstance(listed, list) or not all(isinstance(backend, SDPBackend) for backend in listed):
        raise ArgumentTypeError(
            f"Backend must be an instance of SDPBackend or a list of SDPBackend instances, got {shown(backends)}",
            hint="pass one such as SDPBackend.MATH",
            operator="sdpa_kernel",
        )
    before = _chosen.backends
    _chosen.backends = tuple(dict.fromkeys(listed))
    try:
        yield {}
    finally:
        _chosen.backends = before


def _cur_sdpa_kernel_backends(with_priority: bool = False) -> list[SDPBackend]:
    """Return the kernels that this thread has chosen with `sdpa_kernel`; all of them outside."""
    return list(_chosen.backends)


__all__ = ["SDPBackend", "sdpa_kernel"]
__dir__ = _listing(globals(), "flex_attention")


def __getattr__(name: str) -> object:
    if name == "flex_attention":
        return importlib.import_module(f"{__name__}.{name}")
    raise _no_attribute(__name__, name)
