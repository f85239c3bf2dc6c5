"""One suite, three runtimes: virtual GPUs, NVIDIA's (FLAMBEAU_GPUS=nvidia), and PyTorch's (--runtime torch).

How tests/semantics is written and run, and how its answers are counted; the fixtures are in its conftest.py.

The folders in tests/semantics are no part of the suite: their tests ask flambeau about behaviour across its modules.
A test cites its row of docs/semantics.md and the first PyTorch version that has the rule:

    @pytest.mark.rule("1.4.3", since="1.0")
    def test_...(torch): ...

- `torch` is flambeau or PyTorch; a test uses only names that both have.  Without --runtime nothing imports PyTorch.
- `@pytest.mark.devices(n)`: how many GPUs the test needs, one by default; fewer are a skip that says so.
- A runtime older than `since` does not have the rule: the test is not applicable, which is counted and never a pass.
- `differs="..."` says in a few words how PyTorch's answer differs; docs/differences.md has the row.  There the test
  must fail, or the row is out of date.
- `lacks="..."` says what flambeau does not do yet; on flambeau the test must fail, or the mark is out of date.
  `lacks_on_nvidia="..."` is what the nvidia driver does not do yet.
- `@pytest.mark.virtual("why")`: only virtual GPUs can show it, as where a schedule is chosen or a launch fails.
"""

from __future__ import annotations

import importlib
import os
import re
from collections import Counter
from importlib import metadata
from typing import Any

import pytest

NOT_APPLICABLE = "not applicable: "
VIRTUAL_ONLY = "virtual GPUs only: "
KINDS = ("agree", "disagree", "differ as listed", "lacking", "not applicable", "virtual GPUs only", "not run")


class Runtime:
    """Whom the suite asks."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.on_hardware = name == "torch" or os.environ.get("FLAMBEAU_GPUS") == "nvidia"
        self.is_virtual = not self.on_hardware

    @property
    def version(self) -> str:
        return metadata.version(self.name)

    def has(self, since: str) -> bool:
        """Whether a rule that PyTorch has since that version is to be expected.  flambeau has them all."""
        return self.name != "torch" or _numbers(self.version) >= _numbers(since)

    @property
    def expected_failures(self) -> tuple[str, ...]:
        """The keywords of a rule that say why this runtime fails its test."""
        if self.name == "torch":
            return ("differs",)
        return ("lacks",) if self.is_virtual else ("lacks", "lacks_on_nvidia")

    def module(self) -> Any:
        return importlib.import_module(self.name)

    def __str__(self) -> str:
        if self.name == "torch":
            return f"torch {self.version}"
        return f"flambeau on {'virtual' if self.is_virtual else 'NVIDIA'} GPUs"


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(each) for each in re.findall(r"\d+", version)[:2])


def runtime_of(config: pytest.Config) -> Runtime:
    return Runtime(config.getoption("--runtime"))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--runtime",
        choices=("flambeau", "torch"),
        default="flambeau",
        help="whom tests/semantics asks: flambeau, or an installed PyTorch",
    )


def pytest_configure(config: pytest.Config) -> None:
    for line in (
        "rule(row, since, differs=None, lacks=None, lacks_on_nvidia=None): what a test holds the runtime to",
        "virtual(why): needs a virtual GPU",
    ):
        config.addinivalue_line("markers", line)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        for mark in list(item.iter_markers("rule")):
            for key in runtime_of(config).expected_failures:
                if key in mark.kwargs:
                    item.add_marker(pytest.mark.xfail(reason=f"{key}: {mark.kwargs[key]}", strict=True))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    runtime = runtime_of(item.config)
    for mark in item.iter_markers("rule"):
        item.user_properties.append(("rule", mark.args[0]))
        if not runtime.has(mark.kwargs["since"]):
            pytest.skip(f"{NOT_APPLICABLE}{runtime} is older than {mark.kwargs['since']}")
    mark = item.get_closest_marker("virtual")
    if mark is not None and not runtime.is_virtual:
        pytest.skip(f"{VIRTUAL_ONLY}{mark.args[0]}")


# what the summary says


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    found: dict[str, list[tuple[str, str, str]]] = {kind: [] for kind in KINDS}
    for outcome, reports in terminalreporter.stats.items():
        for report in reports if outcome else ():
            rows = [value for name, value in getattr(report, "user_properties", ()) if name == "rule"]
            if rows:
                reason = _reason(report)
                found[_kind(outcome, reason)].append((rows[0], report.nodeid.partition("::")[2], reason))
    total = sum(map(len, found.values()))
    if not total:
        return
    counts = ", ".join(f"{len(found[kind])} {kind}" for kind in KINDS)
    terminalreporter.write_line(f"rules, asked of {runtime_of(config)}: {total} tests: {counts}")
    for row, name, reason in sorted(found["differ as listed"] + found["lacking"] + found["not applicable"]):
        terminalreporter.write_line(f"  {row} {name}: {reason}")
    for reason, count in sorted(Counter(reason for _, _, reason in found["not run"]).items()):
        terminalreporter.write_line(f"  not run: {count} tests: {reason}")


def _reason(report: Any) -> str:
    if getattr(report, "wasxfail", ""):
        return str(report.wasxfail).removeprefix("reason: ")
    longrepr = report.longrepr
    return longrepr[2].removeprefix("Skipped: ") if report.skipped and isinstance(longrepr, tuple) else ""


def _kind(outcome: str, reason: str) -> str:
    if outcome == "skipped":
        return next((kind for kind in KINDS if reason.startswith(f"{kind}: ")), "not run")
    if outcome == "xfailed":
        return "lacking" if reason.startswith("lacks") else "differ as listed"
    return "agree" if outcome == "passed" else "disagree"
