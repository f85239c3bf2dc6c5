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
    device, wanted = kwargs.pop("device", None), kwargs.pop("dtype", None)
    non_blocking, copy = kwargs.pop("non_blocking", False), kwargs.pop("copy", False)
    if kwargs:
        raise ArgumentTypeError(f"to() got an unexpected keyword argument '{next(iter(kwargs))}'")
    flags = [each for each in args if isinstance(each, bool)]
    for each in args:
        if isinstance(each, bool) or each is None:
            continue
        if isinstance(each, TensorCore):
            device, wanted = each.device, each.dtype
        elif isinstance(each, dtype):
            wanted = each
        else:
            device = each
    if wanted is not None and not isinstance(wanted, dtype):
        raise ArgumentTypeError(f"to(): dtype must be a torch.dtype, not {wanted!r}")
    return device, wanted, (flags + [non_blocking])[0], (flags[1:] + [copy])[0]
