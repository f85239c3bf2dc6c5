"""Tests that several processes share, for some seconds: `pytest -p tests.share --share DIR --seconds 120` in each.

A test is run by the process that is first to make a file of its number in DIR, so a slow test holds nobody else up.
The last line says how many this process ran.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--share", type=Path, required=True, metavar="DIR", help="where the processes claim tests")
    parser.addoption("--seconds", type=float, default=float("inf"), help="begin no test after so many seconds")


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Share(config.getoption("--share"), config.getoption("--seconds")))


class Share:
    """Chooses, stops when the time is up, and tells how far it came."""

    def __init__(self, claims: Path, seconds: float) -> None:
        self.claims = claims
        self.deadline = time.monotonic() + seconds
        self.chosen = self.reached = 0

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        if session.testsfailed:
            raise session.Interrupted(f"{session.testsfailed} errors while tests were collected")
        self.chosen = len(session.items)
        mine = self._claimed(session.items)
        item = next(mine, None)
        while item is not None and time.monotonic() < self.deadline:
            following = next(mine, None)  # known before, as it says which fixtures stay
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            self.reached += 1
            item = following
        return True

    def _claimed(self, items: list[pytest.Item]) -> Iterator[pytest.Item]:
        for number, item in enumerate(items):
            try:
                (self.claims / str(number)).touch(exist_ok=False)
            except FileExistsError:
                continue
            yield item

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        terminalreporter.write_line(f"share: {self.reached} of {self.chosen} tests")
