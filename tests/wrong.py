"""Checks of errors: the right builtin class, the name of the called operation, the values, and a hint.

A test tells the values that it is about; the whole text is in the file of its area (tests/error_texts.py).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from flambeau.errors import FlambeauError
from tests.error_texts import compare


def refused(call: Callable[[], Any], error: type[Exception], name: str, *values: str) -> None:
    """`call` raises `error`; its text begins with the operation's name, has each of the values, and a hint.

    A value is not a part of a longer word or number.  The whole text is compared with the area's errors.txt.
    """
    with pytest.raises(error) as caught:
        call()
    text = str(caught.value)
    assert text.startswith(f"{name}: "), text
    for value in values:
        assert re.search(rf"(?<!\w){re.escape(value)}(?!\w)", text), f"no {value}: {text}"
    assert text.partition("\nhint: ")[2].strip(), f"no hint: {text}"
    assert isinstance(caught.value, (FlambeauError, AttributeError)), "an error of the library, not one from inside"
    compare(text)


def cases(*rows: tuple) -> Any:
    """The table of a test, whose parameter is `case`: (call, error, name, *values), the arguments of `refused`.

    Their ids count the calls of each operation, so that a new row leaves most of them, and their texts, in place.
    """
    count: Counter[str] = Counter()
    ids = []
    for _, _, name, *_ in rows:
        count[name] += 1
        ids.append(f"{name}-{count[name]}")
    return pytest.mark.parametrize("case", rows, ids=ids)
