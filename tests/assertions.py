"""A test that passes and has asserted nothing fails, unless no_assertions.txt gives the reason.

What counts: an `assert` that holds, `pytest.raises` and `pytest.warns`, and a function of `numpy.testing`.

pytest tells of an assertion that holds through the hook `pytest_assertion_pass`, for which it formats every value; that
waits for GPUs and changes what is tested.  So the assertions are counted where pytest asks if the hook has a user.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from _pytest.assertion import rewrite

LISTED = Path(__file__).with_name("no_assertions.txt")


class Count:
    """Assertions since the process began."""

    passed = 0


def count_assert() -> bool:
    """Stands for the question whether `pytest_assertion_pass` has a user, which every `assert` that holds asks."""
    Count.passed += 1
    return False


def counting(check: Callable) -> Callable:
    """The same check, counted."""

    @functools.wraps(check)
    def counted(*args: Any, **kwargs: Any) -> Any:
        Count.passed += 1
        return check(*args, **kwargs)

    return counted


def pytest_configure(config: pytest.Config) -> None:
    assert rewrite._check_if_assertion_pass_impl.__name__ in ("_check_if_assertion_pass_impl", "count_assert")
    rewrite._check_if_assertion_pass_impl = count_assert
    for module, names in (
        (pytest, ("raises", "warns")),
        (np.testing, [name for name in dir(np.testing) if name.startswith("assert_")]),
    ):
        for name in names:
            setattr(module, name, counting(getattr(module, name)))


def listed() -> list[tuple[str, str]]:
    """Patterns of names of tests, and the reason why they assert nothing."""
    lines = [line for line in LISTED.read_text().splitlines() if line and not line.startswith("#")]
    return [(pattern, reason.strip()) for pattern, _, reason in (line.partition("  ") for line in lines)]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    before = Count.passed
    result = yield
    if Count.passed == before and not any(fnmatchcase(item.nodeid, pattern) for pattern, _ in listed()):
        pytest.fail(
            f"{item.nodeid} passed and asserted nothing.  Assert a value, or give the reason in {LISTED.name}; "
            "files compiled by an older run, in __pycache__, are not counted: delete them",
            pytrace=False,
        )
    return result
