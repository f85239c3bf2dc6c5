"""How calls that take their arguments in several forms are read: sizes one by one or together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def sizes(values: Sequence[Any]) -> tuple[int, ...]:
    """`f(2, 3)`, `f((2, 3))` and `f(torch.Size([2, 3]))` alike."""
    if len(values) == 1 and isinstance(values[0], (tuple, list)):
        values = values[0]
    for each in values:
        if type(each) is not int:
            return tuple([int(each) for each in values])
    return values if type(values) is tuple else tuple(values)
