"""The full texts of errors lie in one file per area, errors.txt beside the tests; tests/wrong.py compares them.

    pytest tests/semantics/nn --update-errors    writes the texts of these tests anew

- An entry is the test's name, the number of the call in it from the second one on, and the text, indented.
- Entries are in the order of the tests, which tests/test_error_texts.py checks; it finds those of tests that are gone.
- The texts are those of virtual GPUs.  On hardware, where some name the devices of the machine, none is compared.
- Only one process writes the file: of several, each would know a part of the texts.
"""

from __future__ import annotations

import difflib
import functools
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

FILE = "errors.txt"
HEAD = "# What errors say, by the tests that ask: tests/error_texts.py.  Written by pytest --update-errors.\n"
INDENT = "    "
ON_HARDWARE = os.environ.get("FLAMBEAU_GPUS") == "nvidia"

Entries = dict[str, list[str]]  # the texts of each test, in the order of its calls


class Running:
    """The test that runs, and what was found in this process."""

    file = Path()
    name = ""
    texts: list[str] | None = None  # of the test's calls until now
    is_updating = False
    found: dict[Path, Entries] = {}  # for --update-errors


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-errors", action="store_true", help=f"write the texts of errors in {FILE} anew")


def pytest_configure(config: pytest.Config) -> None:
    Running.is_updating = config.getoption("--update-errors")
    if Running.is_updating and config.getoption("dist", "no") != "no":
        raise pytest.UsageError("--update-errors runs in one process: add -n 0")
    if Running.is_updating and ON_HARDWARE:
        raise pytest.UsageError("--update-errors runs on virtual GPUs: unset FLAMBEAU_GPUS")


@functools.cache
def read(file: Path) -> Entries:
    """The entries of a file; none if there is no such file."""
    entries: Entries = {}
    text = file.read_text(encoding="utf-8") if file.exists() else ""
    for block in re.split(r"^(?=[^\s#])", text, flags=re.MULTILINE)[1:]:
        title, _, indented = block.partition("\n")
        name = re.sub(r" #\d+$", "", title)
        entries.setdefault(name, []).append(re.sub(f"^{INDENT}", "", indented.strip("\n"), flags=re.MULTILINE))
    return entries


def written(entries: Entries) -> str:
    """The text of the file that has these entries."""
    blocks = [HEAD]
    for name, texts in entries.items():
        for number, text in enumerate(texts, 1):
            title = name if number == 1 else f"{name} #{number}"
            blocks.append("\n".join([title, *(INDENT + line if line else "" for line in text.split("\n")), ""]))
    return "\n".join(blocks)


def in_order(session: pytest.Session, file: Path, entries: Entries) -> Entries:
    """Those of the entries whose tests exist, in the order of the tests."""
    names = sorted({name.partition("::")[0] for name in entries})
    there = [path for path in map(file.with_name, names) if path.exists()]
    tests = [name for path in there for name in _tests(pytest.Module.from_parent(session, path=path))]
    return {name: entries[name] for name in tests if name in entries}


def _tests(collector: pytest.Collector) -> Iterator[str]:
    for node in collector.collect():
        if isinstance(node, pytest.Collector):
            yield from _tests(node)
        else:
            yield _name(node)


def _name(item: Any) -> str:
    return f"{item.path.name}::{item.nodeid.partition('::')[2]}"


def compare(text: str) -> None:
    """Compare the text of an error with the one that the running test's next call is to have."""
    assert Running.texts is not None, "texts of errors are those of tests, not of fixtures"
    Running.texts.append(text)
    if ON_HARDWARE or Running.is_updating:
        return
    number, expected = len(Running.texts), read(Running.file).get(Running.name, [])
    if number > len(expected):
        _fail(f"has no text for call {number} of {Running.name}, which is", text)
    if text != expected[number - 1]:
        lines = difflib.ndiff(expected[number - 1].split("\n"), text.split("\n"))
        _fail(f"has another text for call {number} of {Running.name}", "\n".join(line.rstrip("\n") for line in lines))


def _fail(fact: str, text: str) -> None:
    area = os.path.relpath(Running.file.parent)
    pytest.fail(
        f"{area}/{FILE} {fact}:\n{text}\n"
        f"If that is meant: pytest {area}/{Running.name.partition('::')[0]} --update-errors",
        pytrace=False,
    )


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    file, name = item.path.with_name(FILE), _name(item)
    Running.file, Running.name, Running.texts = file, name, []
    try:
        result = yield
        texts = Running.texts
    finally:
        Running.texts = None
    expected = read(file).get(name, [])
    if Running.is_updating:
        if texts or read(file):
            Running.found.setdefault(file, {})[name] = texts
    elif len(texts) < len(expected) and not ON_HARDWARE:
        _fail(
            f"has {len(expected)} texts for {name}, which made {len(texts)} calls; the next one is",
            expected[len(texts)],
        )
    return result


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Write what was found.  Tests that did not run, or failed, keep their entries."""
    for file, found in Running.found.items():
        entries = in_order(session, file, {**read(file), **found})
        if any(entries.values()):
            file.write_text(written(entries), encoding="utf-8")
        else:
            file.unlink(missing_ok=True)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    for file in Running.found:
        terminalreporter.write_line(f"written: {os.path.relpath(file)}")
