"""`to`, `cuda` and `cpu`: where a tensor lives, and as what type."""

from __future__ import annotations

from typing import Any

from .. import transfer
from ..core import TensorCore
from ..dtypes import dtype
from ..errors import ArgumentTypeError, FlambeauError, shown, tell_as
from ..runtime import device as devices
from . import checks

FLAGS = ("non_blocking", "copy")
OF_TYPE = (dtype, type, TensorCore)  # first arguments that say which type


def to(self: Any, *args: Any, **kwargs: Any) -> Any:
    """This tensor on a device, as a type, or like another tensor; itself if nothing changes.

    Forms: to(dtype), to(device), to(device, dtype), to(other), with non_blocking= and copy=.
    Host: waits, except non_blocking from pinned memory, to pinned memory, or between devices.
    """
    device, wanted, non_blocking, copy = to_arguments(args, kwargs)
    try:
        index = self.storage.device if device is None else devices.resolve(device)
    except FlambeauError as error:
        tell_as(error, "to")
        raise
    return transfer.to(self, index, self.dtype if wanted is None else wanted, non_blocking, copy)


def cuda(self: Any, device: Any = None, non_blocking: bool = False) -> Any:
    """This tensor on a CUDA device, the current one if none is named; itself if it is there."""
    try:
        index = devices.cuda_index(device)
    except FlambeauError as error:
        tell_as(error, "cuda")
        raise
    if non_blocking is not False and non_blocking is not True:
        raise _no_flag("cuda", "non_blocking", non_blocking)
    return transfer.to(self, index, self.dtype, non_blocking)


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
            if value is not True and value is not False:
                raise _no_flag("to", name, value)
            flags[name == "copy"] = value
        else:
            raise ArgumentTypeError(
                f"to: got an unexpected keyword argument {name!r}", hint="use device=, dtype=, non_blocking= and copy="
            )
    given = 0
    for place, each in enumerate(args):
        if isinstance(each, bool) and place > 0 and given < 2:
            if FLAGS[given] in kwargs:
                raise _twice(FLAGS[given], args, kwargs)
            flags[given] = each
            given += 1
        elif place == 0 and isinstance(each, TensorCore):
            if device is not None or wanted is not None:
                raise _twice("device" if wanted is None else "dtype", args, kwargs)
            device, wanted = each.device, each.dtype
        elif place == 0 and isinstance(each, (dtype, type)):
            if wanted is not None:
                raise _twice("dtype", args, kwargs)
            wanted = each
        elif place == 0 and not isinstance(each, bool):
            if device is not None:
                raise _twice("device", args, kwargs)
            device = each
        elif place == 1 and (each is None or isinstance(each, (dtype, type))) and not isinstance(args[0], OF_TYPE):
            if wanted is not None:
                raise _twice("dtype", args, kwargs)
            wanted = each
        else:
            raise _no_form(args)
    if wanted is not None and not isinstance(wanted, dtype):
        wanted = checks.kind("to", wanted)
    return device, wanted, flags[0], flags[1]


def _no_flag(name: str, what: str, value: Any) -> ArgumentTypeError:
    return ArgumentTypeError(f"{name}: {what} must be a bool, got {shown(value)}", hint="give True or False")


def _twice(what: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> ArgumentTypeError:
    """What is raised where a position and a keyword say the same thing."""
    received = ", ".join([shown(each) for each in args] + [f"{name}={shown(kwargs[name])}" for name in kwargs])
    return ArgumentTypeError(f"to: received ({received}), which says {what} twice", hint="leave out one of them")


def _no_form(args: tuple[Any, ...]) -> ArgumentTypeError:
    received = ", ".join([shown(each) for each in args])
    return ArgumentTypeError(
        f"to: received ({received}), which is none of its forms",
        hint="use to(device, dtype), to(dtype) or to(other), and non_blocking= and copy= by name",
    )
