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
from types import CodeType, TracebackType
from typing import Any

from .core import native

suspects: Callable[[], list[str]] | None = None  # returns the launches that may have failed, the latest first


class NoThread:
    """The state of a thread before the core is imported.

    operator: the operator that the program called in this thread, or None;  task: the running backward pass, or None.
    """

    operator: Any = None
    task: Any = None


def _none() -> None:
    return None


here: Callable[[], Any] = NoThread  # returns the state of the calling thread (core/thread.py)
before_warning: Callable[[], None] = _none  # called before a warning; raises in a lowering, whose plan cannot warn

_operators: dict[str, list[str]] = {}  # operators by the name of a kernel or library operation
PACKAGE = native.PACKAGE
_INNER = tuple(PACKAGE + path for path in ("driver" + os.sep, "callers.", "runtime" + os.sep + "strict."))


def uses(entry: str, operator: str) -> None:
    """Record that an operator was lowered to the kernel or library operation `entry`."""
    known = _operators.setdefault(entry, [])
    if operator not in known:
        known.append(operator)


def operator_of(entry: str, called: str = "") -> str:
    """Return the operators that launch `entry`, with its name; only the name if no operator does.

    called: the program's call, which is also named unless it is one of them.
    """
    known = _operators.get(entry, [])
    name = entry if known in ([], [entry]) else f"{' or '.join(known)} (kernel {entry})"
    return f"{name} of {called}" if called and called not in (entry, *known) else name


def fold_traceback(error: BaseException, keep: str = "") -> None:
    """Remove this package's frames from the tracebacks of an error, its causes and its contexts.

    keep: a file of this package whose frames stay.  The error's own traceback is unchanged if it has no other frames.
    """
    pending: list[BaseException | None] = [error]
    seen: set[int] = set()
    while pending:
        exception = pending.pop()
        if exception is None or id(exception) in seen:
            continue
        seen.add(id(exception))
        pending += [exception.__cause__, exception.__context__]
        steps: list[TracebackType] = []
        step = exception.__traceback__
        while step is not None:
            steps.append(step)
            step = step.tb_next
        if exception is error and all(_is_internal(step) for step in steps):
            continue
        kept: TracebackType | None = None
        for step in reversed(steps):
            if not _is_internal(step) or step.tb_frame.f_code.co_filename == keep:
                kept = TracebackType(kept, step.tb_frame, step.tb_lasti, step.tb_lineno)
        exception.__traceback__ = kept


def _is_internal(step: TracebackType) -> bool:
    package = __name__.partition(".")[0]
    name = str(step.tb_frame.f_globals.get("__name__", ""))  # compiled frames have no path of their own
    return name == package or name.startswith(f"{package}.")


def program_frame() -> Any:
    """Return the innermost frame outside this package, None if there is none."""
    frame: Any = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(PACKAGE):
        frame = frame.f_back
    return frame


def call_site() -> str:
    """Return `file:line` of the innermost frame outside this package, or "<unknown>"."""
    frame: Any = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(PACKAGE):
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}" if frame is not None else "<unknown>"


# The origin of a call of the program: its code object, or None if there is no frame outside this package; the
# instruction in it; the package's code that it called; and the public operator.  Or text: source line and operator.
Origin = tuple[CodeType | None, int, CodeType | None, Any] | tuple[str, str]


def origin() -> Origin:
    """Return the origin of the current call, from which `described` makes text; much cheaper than the text."""
    now = here()
    return native.origin_above(now.task, now.operator)


def described(origin: Origin) -> tuple[str, str]:
    """Return `file:line` of an origin, and the public operator or method called there, or "" if unknown."""
    if len(origin) == 2:
        return origin
    code, at, inner, operator = origin
    site = "<unknown>" if code is None else f"{code.co_filename}:{_line_at(code, at)}"
    name = "" if inner is None else str(inner.co_qualname)
    if name.startswith("Tensor.") or name.endswith(".step"):
        return site, name
    return site, "" if operator is None else operator.name


_lines: dict[tuple[int, int], tuple[CodeType, int | None]] = {}  # by id(code), which is kept alive, and offset
MAX_LINES = 1 << 14  # source lines that are cached


def _line_at(code: CodeType, at: int) -> int | None:
    """Return the line of the instruction at an offset into the code."""
    known = _lines.get((id(code), at))
    if known is None:
        if len(_lines) >= MAX_LINES:
            _lines.clear()
        line = next((line for start, end, line in code.co_lines() if start <= at < end), None)
        known = _lines[id(code), at] = code, line
    return known[1]


def call() -> tuple[str, str]:
    """Return what `call_site` does and the public operator or method called there, or "" if unknown."""
    return described(origin())


def shown_site(site: str) -> str:
    """Return a `file:line`, relative to the working directory if the file lies there."""
    here = os.getcwd() + os.sep
    return site.replace(here, "")


def source_at(site: str) -> str:
    """Return the source line at a `file:line`, which may be followed by other text; "" if there is none."""
    match = re.match(r"(.+?):(\d+)\b", site)
    return linecache.getline(match[1], int(match[2])).strip() if match else ""


def place() -> tuple[str, int]:
    """Return file and line of the innermost frame outside this package, as `warnings.warn_explicit` takes them."""
    file, _, line = call_site().rpartition(":")
    return (file, int(line)) if line.isdigit() else (file or line, 0)


class Settings:
    """Settings of warnings.  warns_always: whether a warning shows every time, not once per line."""

    warns_always = False


settings = Settings()


def warn(text: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the innermost line outside this package; by default, Python shows a warning once per line."""
    before_warning()
    frame: Any = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(PACKAGE):
        frame = frame.f_back
    module_globals = frame.f_globals
    registry = {} if settings.warns_always else module_globals.setdefault("__warningregistry__", {})
    warnings.warn_explicit(
        text,
        category,
        frame.f_code.co_filename,
        frame.f_lineno,
        module=module_globals.get("__name__", "<unknown>"),
        registry=registry,
    )


def caller() -> str:
    """Return the user's call, its line and its thread: `Tensor.item at train.py:12 on thread 'Main'`."""
    frame: Any = sys._getframe(1)
    inner: Any = None
    while frame is not None and frame.f_code.co_filename.startswith(PACKAGE):
        frame, inner = frame.f_back, frame
    what = _called(inner) if inner is not None else "<unknown>"
    where = f"{frame.f_code.co_filename}:{frame.f_lineno}" if frame is not None else "<unknown>"
    return f"{what} at {where} on thread {threading.current_thread().name!r}"


def _called(frame: Any) -> str:
    """Return the public operator that the thread is running, else the name of a frame's function."""
    operator = here().operator
    if operator is not None:
        return str(operator.called)
    if frame.f_code.co_filename.startswith(_INNER):  # its caller is compiled, and has no frame
        return "a call"
    return str(frame.f_code.co_qualname)


def program_stack() -> list[str]:
    """Return the frames outside this package, outermost first, as tracebacks show them."""
    frames = traceback.extract_stack(sys._getframe(1))
    return traceback.format_list([frame for frame in frames if not frame.filename.startswith(PACKAGE)])


def call_stack(limit: int) -> list[str]:
    """Return `file:line in function` of the innermost frames outside this package, at most `limit`, innermost first."""
    lines: list[str] = []
    frame: Any = sys._getframe(1)
    while frame is not None and len(lines) < limit:
        code = frame.f_code
        if not code.co_filename.startswith(PACKAGE):
            lines.append(f"{code.co_filename}:{frame.f_lineno} in {code.co_name}")
        frame = frame.f_back
    return lines
