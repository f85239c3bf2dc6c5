"""`flambeau memory`: explains a memory snapshot, or records the memory of a program and explains that."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

from ..config import parse_bytes
from ..errors import ConfigError, FileFormatError
from ..memory.settings import parse
from .output import begin_report, checked_places

MAX_EVENTS = 2_000_000  # of a program: the latest are kept
PICKLE = b"\x80"  # the first byte of a pickle of protocol 2 or later


def is_snapshot(name: str) -> bool:
    """Return whether a file is a memory snapshot rather than a program to run."""
    try:
        with open(name, "rb") as file:
            return file.read(1) == PICKLE or not name.endswith(".py")
    except OSError:
        return False


def check_options(settings: list[str], capacity: str | None, html: str | None, save: str | None) -> None:
    """Exit with a message if a replay with these options is not possible, or a file cannot be written."""
    checked_places("memory", {"--html": html, "--save": save})
    try:
        for text in settings:
            parse(text, "--replay")
        if capacity is not None and parse_bytes(capacity) == 0:
            raise ConfigError(f"--capacity {capacity}: a device has at least 1 byte", hint="write 24GiB")
    except ConfigError as failure:
        raise SystemExit(f"flambeau memory: {failure}") from None


def explain_file(name: str, settings: list[str], capacity: str | None, html: str | None) -> None:
    """Print the explanation of a snapshot.  Exits with a message if it cannot be read."""
    from ..tools import memory_snapshot

    try:
        snapshot = memory_snapshot.read(name)
    except FileFormatError as failure:
        raise SystemExit(f"flambeau {failure}") from None
    except OSError as failure:
        raise SystemExit(f"flambeau memory: {failure.strerror}: {name!r}") from None
    begin_report()
    _show(snapshot, os.path.basename(name), settings, capacity, html)


def record_program(
    run: Callable[[], int], name: str, save: str | None, settings: list[str], capacity: str | None, html: str | None
) -> None:
    """Run a program with its memory history, print the explanation, and exit with the program's status."""
    from ..core import thread
    from ..memory import history
    from ..runtime import cuda_memory
    from ..tools import memory_snapshot
    from ..tools.checked_processes import before_exit

    kept, process = history.History(max_entries=MAX_EVENTS), os.getpid()
    history.record(kept)

    def finish(status: int) -> int:
        begin_report()
        if os.getpid() != process:  # a fork of the program
            return status
        if not thread.has_machine() or not thread.machine().is_started:
            print("\nflambeau memory: the program did not use a GPU")
            return status
        snapshot = cuda_memory.snapshot()
        if kept.is_full:
            print(f"flambeau memory: only the latest {MAX_EVENTS} events were kept", file=sys.stderr)
        if save is not None:
            try:
                cuda_memory.dump_snapshot(save)
            except OSError as failure:
                raise SystemExit(f"flambeau memory: {failure.strerror}: {save!r}") from None
        history.record(None)
        print()
        _show(memory_snapshot.parse(snapshot), name, settings, capacity, html)
        return status

    def finish_at_once(status: int) -> int:
        try:
            status = finish(status)
        except SystemExit as end:
            print(end.code, file=sys.stderr)
            status = status or 1
        sys.stdout.flush()
        return status

    with before_exit(finish_at_once):
        status = run()
    sys.exit(finish(status))


def _show(snapshot: Any, title: str, settings: list[str], capacity: str | None, html: str | None) -> None:
    from ..tools import memory_snapshot

    print(memory_snapshot.explain(snapshot, title))
    if settings or capacity:
        nbytes = None if capacity is None else parse_bytes(capacity)
        print(f"\n{memory_snapshot.compare(snapshot, settings or [''], nbytes)}")
    if html is not None:
        try:
            memory_snapshot.write_page(snapshot, title, html)
        except OSError as failure:
            raise SystemExit(f"flambeau memory: {failure.strerror}: {html!r}") from None
        print(f"flambeau memory: wrote {html}", file=sys.stderr)
