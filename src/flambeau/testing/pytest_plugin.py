"""The pytest plugin of flambeau.

- Each test has a machine of its own on virtual GPUs: no device, stream, memory or error is left over from another test.
- On NVIDIA GPUs (FLAMBEAU_GPUS=nvidia) the same tests run on the process's machine.
- A fixture of a wider scope that makes a machine keeps it for its tests.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest

from .. import callers, config
from ..config import gpus
from ..core import thread
from ..driver import nvidia_device_count
from ..errors import ConfigError, InternalError
from ..runtime import sync_debug
from ..runtime.machine import Machine
from ..tools.race_report import check
from .machine import machine
from .schedules import MAX_SCHEDULES, every_schedule

MARKS = (
    "gpus(count, memory=0, preset='h200', races='poison', schedule='submission'): the GPUs of the test, virtual unless "
    "FLAMBEAU_GPUS=nvidia",
    "every_schedule(limit=10000): run the test under every interleaving of its streams",
    "no_sync: the test fails if a call such as item() makes the host wait; explicit synchronization is allowed",
)
OPTIONS = ("memory", "preset", "races", "schedule")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.getgroup("flambeau").addoption(
        "--flambeau-check", action="store_true", help="fail each test in which accesses of virtual GPUs race"
    )


def pytest_configure(config: pytest.Config) -> None:
    for mark in MARKS:
        config.addinivalue_line("markers", mark)
    try:
        gpus()
    except ConfigError as failure:
        raise pytest.UsageError(str(failure)) from failure


def _chosen(item: pytest.Item) -> config.Gpus | None:
    """The virtual GPUs of a test; None if it runs on the process's machine, which is skipped if it is too small."""
    chosen = config.gpus()
    mark = item.get_closest_marker("gpus")
    if mark is None:
        return chosen if chosen is not None and chosen.kind == "virtual" else None
    count = mark.args[0] if mark.args else mark.kwargs.get("count", 1)
    options = {name: value for name, value in mark.kwargs.items() if name != "count"}
    unknown = [name for name in options if name not in OPTIONS]
    if unknown or len(mark.args) > 1:
        raise pytest.UsageError(f"{item.nodeid}: gpus takes a number and {', '.join(OPTIONS)}, got {mark}")
    if chosen is not None and chosen.kind == "nvidia":
        if nvidia_device_count() < count:
            pytest.skip(f"needs {count} GPUs, there are {nvidia_device_count()}")
        return None
    try:
        return config.virtual_gpus(count, **options)
    except ConfigError as failure:
        raise pytest.UsageError(f"{item.nodeid}: {failure}") from failure


class TestMachine(Machine):
    """The machine of one test."""


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, Any, Any]:
    """Give the test a machine; its fixtures use it too."""
    before: Machine | None = _current()
    if isinstance(before, TestMachine):  # left by a wider-scope fixture that started in an earlier test
        before = None
    try:
        chosen = None if before is not None and before.is_started else _chosen(item)
    except (pytest.UsageError, pytest.skip.Exception):
        chosen = None  # pytest_runtest_setup reports it
    if chosen is not None:
        thread.swap_machine(TestMachine(chosen))
    mode = sync_debug.setting.mode
    try:
        return (yield)
    finally:
        if (checking := item.stash.get(CHECKING, None)) is not None:
            checking.close()
        sync_debug.setting.mode = mode
        if isinstance(_current(), TestMachine):
            thread.swap_machine(before)


def _current() -> Machine | None:
    current = thread.machine() if thread.has_machine() else None
    return current if isinstance(current, Machine) else None


class Checking(ExitStack):
    """The check of a test and its fixtures, which ends when this is closed."""

    def __init__(self) -> None:
        super().__init__()
        self.report = self.enter_context(check())


CHECKING = pytest.StashKey[Checking]()


@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None, Any, Any]:
    """Set up a test's fixtures, whose accesses are checked too."""
    _chosen(item)
    if item.config.getoption("--flambeau-check") and item.get_closest_marker("every_schedule") is None:
        item.stash[CHECKING] = Checking()
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    """Run a test with its marks."""
    with ExitStack() as stack:
        if item.get_closest_marker("no_sync") is not None:
            stack.enter_context(_no_sync())
        result = yield
    checking = item.stash.get(CHECKING, None)
    if checking is not None:
        checking.close()
        if not checking.report.is_clean:
            pytest.fail(str(checking.report), pytrace=False)
    return result


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, Any, Any]:
    """Let the tracebacks of a test end at its own lines."""
    try:
        return (yield)
    except InternalError:
        raise
    except Exception as error:
        callers.fold_traceback(error)
        raise


@contextmanager
def _no_sync() -> Iterator[None]:
    before = sync_debug.setting.mode
    sync_debug.set_sync_debug_mode("error")
    try:
        yield
    finally:
        sync_debug.setting.mode = before


@pytest.hookimpl(tryfirst=True, specname="pytest_pyfunc_call")
def pytest_pyfunc_call_under_schedules(pyfuncitem: pytest.Function) -> bool | None:
    """Run a test marked `every_schedule` under every interleaving of its streams, each on a machine of its own."""
    mark = pyfuncitem.get_closest_marker("every_schedule")
    current = thread.machine()
    if mark is None or not isinstance(current, Machine):
        return None
    choice = _chosen(pyfuncitem) or current.choice
    if choice.kind == "nvidia":
        return None
    arguments = {name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}
    limit = mark.kwargs.get("limit", mark.args[0] if mark.args else MAX_SCHEDULES)
    for schedule in every_schedule(limit):
        try:
            with machine(
                max(choice.count, 1), preset=choice.preset, memory=choice.memory, races="real", schedule=schedule
            ):
                pyfuncitem.obj(**arguments)
        except BaseException as error:
            error.add_note(f"under the schedule {','.join(map(str, schedule.taken)) or 'of submission'}")
            raise
    return True
