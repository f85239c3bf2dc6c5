"""Files that commands write, checked before a program runs."""

from __future__ import annotations

import tempfile
from pathlib import Path


def checked_place(command: str, option: str, name: str) -> Path:
    """The absolute path of a file that an option names.  Exits with a message if it cannot be written."""
    place = Path(name).absolute()
    why = "it is a directory" if place.is_dir() else ""
    if not why:
        try:
            with tempfile.TemporaryFile(dir=place.parent):
                pass
        except OSError as error:
            why = str(error.strerror)
    if why:
        raise SystemExit(f"flambeau {command}: cannot write {name!r}: {why}\nhint: choose another file with {option}")
    return place
