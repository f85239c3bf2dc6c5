"""Tests that several processes share, for some seconds: `pytest -p tests.share --share DIR --seconds 120` in each.

With --shared-memory, tests of one operator are left out where none of its kernels uses shared memory.
With --without-cudnn, cuDNN is not found.

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
    parser.addoption("--shared-memory", action="store_true", help="leave out operators without shared memory")
    parser.addoption("--without-cudnn", action="store_true", help="run as where cuDNN is not found")


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Share(config.getoption("--share"), config.getoption("--seconds")))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--without-cudnn"):
        from flambeau.driver.nvidia import dnn

        dnn.load = lambda: (None, "cuDNN was left out")
        config.addinivalue_line("filterwarnings", "ignore:cuDNN was left out:RuntimeWarning")
    if config.getoption("--shared-memory"):
        from flambeau.ops.operator import REGISTRY  # not above: pytest rewrites assertions of flambeau.testing first

        left_out = REGISTRY.keys() - operators_with_shared_memory()
        items[:] = [item for item in items if _name(item) not in left_out]


def operators_with_shared_memory() -> set[str]:
    """Return the names of the operators of which a kernel uses shared memory."""
    from flambeau.testing import kernels, machine

    found = set()
    with machine(devices=1) as virtual:
        launched = virtual.devices[0].kernels
        for operator, data_type, sample in kernels.chosen():
            launched.clear()
            kernels.call(operator, data_type, sample)
            if any("__shared__" in kernel.source for kernel in launched):
                found.add(operator.name)
    return found


def _name(item: pytest.Item) -> Any:
    """Return the parameter `name` of a test, which is an operator's in tests of all operators, or None."""
    return item.callspec.params.get("name") if hasattr(item, "callspec") else None


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
