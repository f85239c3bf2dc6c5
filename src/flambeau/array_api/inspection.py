"""Inspection of the array API: capabilities, devices and data types of the namespace."""

from __future__ import annotations

from typing import Any

from .. import dtypes
from ..dtypes import dtype
from ..errors import ArgumentError
from ..runtime.control import device_count
from ..runtime.device import device, get_default_device
from .data_types import KINDS

MAX_DIMENSIONS = 64


class NamespaceInfo:
    """Describes the namespace: its capabilities, devices and data types.  `__array_namespace_info__()` returns one.

    Example:
        >>> torch.array_api.__array_namespace_info__().default_dtypes()["indexing"]
        torch.int64
    """

    def capabilities(self) -> dict[str, Any]:
        """Return optional features and limits: boolean indexing, data-dependent shapes, maximum number of dimensions.

        Example:
            >>> torch.array_api.__array_namespace_info__().capabilities()["max dimensions"]
            64
        """
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": MAX_DIMENSIONS}

    def default_device(self) -> device:
        """Return the device of arrays that are created without a `device`.

        Example:
            >>> torch.array_api.__array_namespace_info__().default_device()
            device(type='cpu')
        """
        return get_default_device()

    def default_dtypes(self, *, device: Any = None) -> dict[str, dtype]:
        """Return the default data types by kind.  They are the same on every device.

        Example:
            >>> torch.array_api.__array_namespace_info__().default_dtypes()["real floating"]
            torch.float32
        """
        return {"real floating": dtypes.default.floating, "integral": dtypes.int64, "indexing": dtypes.int64}

    def devices(self) -> list[device]:
        """Return the CPU and every GPU.

        Example:
            >>> torch.array_api.__array_namespace_info__().devices()
            [device(type='cpu'), device(type='cuda', index=0), device(type='cuda', index=1)]
        """
        return [device("cpu"), *(device("cuda", index) for index in range(device_count()))]

    def dtypes(self, *, device: Any = None, kind: Any = None) -> dict[str, dtype]:
        """Return the data types of one kind, or of a tuple of kinds, by name.  None: all kinds.

        Raises: ArgumentError for a kind that does not exist.
        Example:
            >>> torch.array_api.__array_namespace_info__().dtypes(kind="real floating")
            {'float32': torch.float32, 'float64': torch.float64}
        """
        kinds = ("bool", "numeric") if kind is None else kind if isinstance(kind, tuple) else (kind,)
        found: dict[str, dtype] = {}
        for each in kinds:
            if each not in KINDS:
                raise ArgumentError(
                    f"there is no kind {each!r} of data types", hint=f"one of {', '.join(KINDS)}", operator="dtypes"
                )
            found |= KINDS[each]
        return found


def __array_namespace_info__() -> NamespaceInfo:
    """Return an object that describes the namespace: capabilities, devices and data types.

    Example:
        >>> torch.array_api.__array_namespace_info__().capabilities()["boolean indexing"]
        True
    """
    return NamespaceInfo()
