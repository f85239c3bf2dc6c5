"""How calls that take their arguments in several forms are read: sizes one by one or together, and `to`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..core import TensorCore
from ..dtypes import dtype
from ..errors import ArgumentTypeError


def sizes(values: Sequence[Any]) -> tuple[int, ...]:
    """`f(2, 3)`, `f((2, 3))` and `f(torch.Size([2, 3]))` alike."""
    if len(values) == 1 and isinstance(values[0], (tuple, list)):
        values = values[0]
    for each in values:
        if type(each) is not int:
            return tuple([int(each) for each in values])
    return values if type(values) is tuple else tuple(values)


def to_arguments(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any, bool, bool]:
    """What `to(*args, **kwargs)` asks for: (device, dtype, non_blocking, copy), None for what it does not name.

    Raises: ArgumentTypeError for an unknown keyword, or a dtype that is none.
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
    for each in args:
        if isinstance(each, bool):
            flags[given] = each
            given += 1
        elif isinstance(each, TensorCore):
            device, wanted = each.device, each.dtype
        elif isinstance(each, dtype):
            wanted = each
        elif each is not None:
            device = each
    if wanted is not None and not isinstance(wanted, dtype):
        raise ArgumentTypeError(f"to(): dtype must be a torch.dtype, not {wanted!r}")
    return device, wanted, flags[0], flags[1]
