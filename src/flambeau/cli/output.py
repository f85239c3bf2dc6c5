"""Files that commands write, checked before a program runs, and the encoding of reports."""

from __future__ import annotations

import io
import sys
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TextIO

_first: list[TextIO] = []  # stdout before the program began


def keep_stdout() -> None:
    """Keep stdout for the report: the program may replace it."""
    _first[:] = [sys.stdout]


def begin_report() -> TextIO:
    """Make stdout that of the command's start, and return it.  Call this once the program has ended.

    It is stderr if the program has closed it.  Characters of the report that its encoding lacks are escaped.
    """
    with suppress(AttributeError, ValueError):  # the program removed it, closed it, or has an object without `flush`
        sys.stdout.flush()
    file = _first[0] if _first else sys.stdout
    if file.closed:
        file = sys.stderr
    if isinstance(file, io.TextIOWrapper):
        file.reconfigure(errors="backslashreplace")
    sys.stdout = file
    return file


def checked_place(command: str, option: str, name: str) -> Path:
    """The absolute path of a file that an option names.  Exits with a message if it cannot be written."""
    path = Path(name).absolute()
    why = "it is a directory" if path.is_dir() else ""
    if not why:
        try:
            with tempfile.TemporaryFile(dir=path.parent):
                pass
        except OSError as error:
            why = str(error.strerror)
    if why:
        raise SystemExit(f"flambeau {command}: cannot write {name!r}: {why}\nhint: choose another file with {option}")
    return path


def checked_places(command: str, names: Mapping[str, str | None]) -> list[Path]:
    """The absolute paths of the files that options name.  Exits with a message if one cannot be written.

    names: of the files, by option; None where the option is not given.
    """
    places: list[Path] = []
    for option, name in names.items():
        if name is None:
            continue
        path = checked_place(command, option, name)
        if path.resolve() in [other.resolve() for other in places]:
            hint = f"hint: choose another file with {option}"
            raise SystemExit(f"flambeau {command}: {name!r} is the file of another option too\n{hint}")
        places.append(path)
    return places
