"""How calls that take their arguments in several forms are read: sizes one by one or together."""

from __future__ import annotations

from collections.abc import Sequence
from operator import index
from typing import Any

from ..errors import ArgumentTypeError, shown


def sizes(values: Sequence[Any], name: str) -> tuple[int, ...]:
    """`f(2, 3)`, `f((2, 3))` and `f(torch.Size([2, 3]))` alike.  Raises ArgumentTypeError for what is no integer."""
    if len(values) == 1 and isinstance(values[0], (tuple, list)):
        values = values[0]
    for each in values:
        if type(each) is not int:
            return _converted(values, name)
    return values if type(values) is tuple else tuple(values)


def _converted(values: Sequence[Any], name: str) -> tuple[int, ...]:
    try:
        return tuple([index(each) for each in values])
    except TypeError as error:
        given = ", ".join([shown(each) for each in values])
        raise ArgumentTypeError(f"expected ints, got ({given})", hint="as in (2, 3)", operator=name) from error
