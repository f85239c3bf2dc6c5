"""`to`, `cuda` and `cpu`: where a tensor lives, and as what type."""

from __future__ import annotations

from typing import Any

from .. import transfer
from ..core import TensorCore
from ..dtypes import dtype
from ..errors import ArgumentTypeError
from ..runtime import device as devices


def to(self: Any, *args: Any, **kwargs: Any) -> Any:
    """This tensor on a device, as a type, or like another tensor; itself if nothing changes.

    Forms: to(dtype), to(device), to(device, dtype), to(other), with non_blocking= and copy=.
    Host: waits, except non_blocking from pinned memory, to pinned memory, or between devices.
    """
    device, wanted, non_blocking, copy = to_arguments(args, kwargs)
    index = self.storage.device if device is None else devices.resolve(device)
    return transfer.to(self, index, self.dtype if wanted is None else wanted, non_blocking, copy)


def cuda(self: Any, device: Any = None, non_blocking: bool = False) -> Any:
    """This tensor on a CUDA device, the current one if none is named; itself if it is there."""
    return transfer.to(self, devices.cuda_index(device), self.dtype, non_blocking)


def cpu(self: Any) -> Any:
    """This tensor on the CPU.  Host: waits if it is on a GPU."""
    return transfer.to(self, devices.CPU_INDEX, self.dtype)


def to_arguments(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any, bool, bool]:
    """What `to(*args, **kwargs)` asks for: (device, dtype, non_blocking, copy), None for what it does not name.

    Raises: ArgumentTypeError for an unknown keyword, a dtype that is none, or positions that are no form of `to`.
    """
    device: Any = None
    wanted: Any = None
    flags: list[Any] = [False, False]  # non_blocking, copy
    for name, value in kwargs.items():
        if name == "device":
            device = value
        elif name == "dtype":
            wanted = value
        elif name == "non_blocking" or name == "copy":
            flags[name == "copy"] = value
        else:
            raise ArgumentTypeError(f"to() got an unexpected keyword argument '{name}'")
    given = 0
    for place, each in enumerate(args):
        if isinstance(each, bool) and place > 0 and given < 2:
            flags[given] = each
            given += 1
        elif place == 0 and isinstance(each, TensorCore):
            device, wanted = each.device, each.dtype
        elif place == 0 and isinstance(each, dtype):
            wanted = each
        elif place == 0 and not isinstance(each, bool):
            device = each if each is not None else device
        elif place == 1 and (each is None or isinstance(each, dtype)) and not isinstance(args[0], (dtype, TensorCore)):
            wanted = each if each is not None else wanted
        else:
            raise _no_form(args)
    if wanted is not None and not isinstance(wanted, dtype):
        raise ArgumentTypeError(f"to(): dtype must be a torch.dtype, not {wanted!r}")
    return device, wanted, flags[0], flags[1]


def _no_form(args: tuple[Any, ...]) -> ArgumentTypeError:
    received = ", ".join([each.describe() if isinstance(each, TensorCore) else repr(each) for each in args])
    return ArgumentTypeError(
        f"to(): received ({received}), which is none of its forms",
        hint="use to(device, dtype), to(dtype) or to(other), and non_blocking= and copy= by name",
    )
