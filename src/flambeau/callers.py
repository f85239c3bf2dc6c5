"""The source line and operator of the current call in the user's program."""

from __future__ import annotations

import linecache
import os
import re
import sys
import threading
import traceback
import warnings
from collections.abc import Callable
from typing import Any

suspects: Callable[[], list[str]] | None = None  # what may have failed, the latest first; None where nothing is known


def _none() -> Any:
    return None


public_operator: Callable[[], Any] = _none  # the operator that the program called in this thread; None between calls
before_warning: Callable[[], None] = _none  # is called before a warning; lowerings raise: a plan would not repeat it

_operators: dict[str, list[str]] = {}  # by the name of a kernel or library problem
_PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep
_INNER = tuple(_PACKAGE + each for each in ("driver" + os.sep, "callers.", "runtime" + os.sep + "strict."))


def uses(entry: str, operator: str) -> None:
    """An operator was lowered to a kernel, or a library problem, of that name."""
    known = _operators.setdefault(entry, [])
    if operator not in known:
        known.append(operator)


def operator_of(entry: str, called: str = "") -> str:
    """The operators that launch what is called `entry`, with that name; the name alone if no operator does.

    called: what the program called, to be named where it is none of them.
    """
    known = _operators.get(entry, [])
    name = entry if known in ([], [entry]) else f"{' or '.join(known)} (kernel {entry})"
    return f"{name} of {called}" if called and called not in (entry, *known) else name


def call_site() -> str:
    """`file:line` of the innermost frame outside this package, or "<unknown>"."""
    frame: Any = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}" if frame is not None else "<unknown>"


def call() -> tuple[str, str]:
    """As `call_site`, and the public operator or method that was called there, "" if that cannot be said."""
    frame: Any = sys._getframe(1)
    inner: Any = None
    while frame is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame, inner = frame.f_back, frame
    site = f"{frame.f_code.co_filename}:{frame.f_lineno}" if frame is not None else "<unknown>"
    name = "" if inner is None else str(inner.f_code.co_qualname)
    if name.startswith("Tensor.") or name.endswith(".step"):
        return site, name
    operator = public_operator()
    return site, "" if operator is None else operator.name


def source_at(site: str) -> str:
    """The line of source at a `file:line`, which more may follow; "" where there is none."""
    match = re.match(r"(.+?):(\d+)\b", site)
    return linecache.getline(match[1], int(match[2])).strip() if match else ""


def place() -> tuple[str, int]:
    """File and line of the innermost frame outside this package, as `warnings.warn_explicit` takes them."""
    file, _, line = call_site().rpartition(":")
    return (file, int(line)) if line.isdigit() else (file or line, 0)


def warn(text: str, category: type[Warning] = UserWarning) -> None:
    """Warn of the innermost line outside this package; Python shows a warning once per line."""
    before_warning()
    frame: Any = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame = frame.f_back
    place = frame.f_globals
    warnings.warn_explicit(
        text,
        category,
        frame.f_code.co_filename,
        frame.f_lineno,
        module=place.get("__name__", "<unknown>"),
        registry=place.setdefault("__warningregistry__", {}),
    )


def caller() -> str:
    """The user's call, its line and its thread: `Tensor.item at train.py:12 on thread 'Main'`."""
    frame: Any = sys._getframe(1)
    inner: Any = None
    while frame is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame, inner = frame.f_back, frame
    what = _called(inner) if inner is not None else "<unknown>"
    where = f"{frame.f_code.co_filename}:{frame.f_lineno}" if frame is not None else "<unknown>"
    return f"{what} at {where} on thread {threading.current_thread().name!r}"


def _called(frame: Any) -> str:
    """The public operator that the thread is serving, else the name of a frame's function."""
    operator = public_operator()
    if operator is not None:
        return str(operator.called)
    if frame.f_code.co_filename.startswith(_INNER):  # what called it is compiled, and has no frame
        return "a call"
    return str(frame.f_code.co_qualname)


def program_stack() -> list[str]:
    """The frames outside this package, outermost first, as tracebacks show them."""
    frames = traceback.extract_stack(sys._getframe(1))
    return traceback.format_list([each for each in frames if not each.filename.startswith(_PACKAGE)])


def call_stack(limit: int) -> list[str]:
    """`file:line in function` of the innermost frames outside this package, at most `limit`, innermost first."""
    found: list[str] = []
    frame: Any = sys._getframe(1)
    while frame is not None and len(found) < limit:
        code = frame.f_code
        if not code.co_filename.startswith(_PACKAGE):
            found.append(f"{code.co_filename}:{frame.f_lineno} in {code.co_name}")
        frame = frame.f_back
    return found
