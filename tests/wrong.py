"""Checks of errors: the right builtin class, the name of the called operation, and a hint."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from flambeau.errors import FlambeauError


def refused(call: Callable[[], Any], error: type[Exception], begins: str) -> None:
    """`call` raises `error`; its text begins so, names the operation first, and has a hint that is not empty."""
    with pytest.raises(error) as caught:
        call()
    text = str(caught.value)
    assert text.startswith(begins), text
    assert begins.partition(":")[1], "a test names the operation too"
    assert text.partition("\nhint: ")[2].strip(), f"no hint: {text}"
    assert isinstance(caught.value, (FlambeauError, AttributeError)), "an error of the library, not one from inside"


Case = tuple[Callable[[], Any], type[Exception], str]


def cases(*rows: Case) -> Any:
    """The table of a test: (call, error, how the text begins)."""
    return pytest.mark.parametrize(
        ("call", "error", "begins"), rows, ids=[f"{n}-{row[2][:40]}" for n, row in enumerate(rows)]
    )
