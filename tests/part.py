"""A part of the chosen tests, for some seconds: `pytest -p tests.part --part 3/10 --seconds 120`.

Every tenth test from the third on, so that long files are shared.  The last line says how many of them were reached.
"""

from __future__ import annotations

import time
from typing import Any

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--part", type=_fraction, default=(1, 1), metavar="I/N", help="the I-th of N parts of the tests")
    parser.addoption("--seconds", type=float, default=float("inf"), help="begin no test after so many seconds")


def _fraction(text: str) -> tuple[int, int]:
    number, _, count = text.partition("/")
    return int(number), int(count)


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Part(config))


class Part:
    """Chooses, stops when the time is up, and tells how far it came."""

    def __init__(self, config: pytest.Config) -> None:
        self.number, self.count = config.getoption("part")
        self.deadline = time.monotonic() + config.getoption("seconds")
        self.chosen = self.reached = 0

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        mine = items[self.number - 1 :: self.count]
        config.hook.pytest_deselected(items=[each for each in items if each not in set(mine)])
        items[:] = mine
        self.chosen = len(mine)

    def pytest_runtest_logfinish(self) -> None:
        self.reached += 1

    def pytest_runtest_teardown(self, item: pytest.Item) -> None:
        if time.monotonic() > self.deadline:
            item.session.shouldstop = "the time is up"

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        terminalreporter.write_line(f"part: {self.reached} of {self.chosen} tests")
