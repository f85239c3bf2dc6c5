"""Child processes of a checked program: each writes its report into a folder, and the first process merges them.

- The folder's name is in FLAMBEAU_CHECK, so new processes check themselves when they import flambeau; forked ones have
  the check already.
- A process writes a mark when its machine starts, and its report when it exits or calls `os._exit`.  A mark without a
  report belongs to a process that was killed or is still running.
"""

from __future__ import annotations

import atexit
import multiprocessing
import os
import pickle
import shutil
import stat
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

from ..config import CHECK_FOLDER
from ..errors import ConfigError

SETTINGS = "settings"  # file with the reaction to races and the suppressed places
PREFIX = "flambeau-check-"  # of the folder's name
MARK, REPORT = ".started", ".report"
PRIVATE = 0o700  # mode of the folder
EXIT_PRIORITY = 10  # priority of the finalizer in children of multiprocessing


class Folder:
    """The folder with the reports of a check's child processes."""

    def __init__(self, races: str, places: Sequence[tuple[str, ...]]) -> None:
        self._former = os.environ.get(CHECK_FOLDER)
        self._path = Path(tempfile.mkdtemp(prefix=PREFIX))
        (self._path / SETTINGS).write_bytes(pickle.dumps((races, list(places))))
        os.environ[CHECK_FOLDER] = str(self._path)

    def reports(self) -> list[tuple[str, Any]]:
        """Wait for child processes that have used a machine, except daemons, and collect their reports.

        Return the name of each process and its report, None if it wrote none.
        """
        for process in multiprocessing.active_children():
            if not process.daemon and (self._path / f"{process.pid}{MARK}").exists():
                process.join()
        reports = []
        for mark in sorted(self._path.glob(f"*{MARK}"), key=lambda path: path.stat().st_mtime_ns):
            report = mark.with_suffix(REPORT)
            # written by a process of the program, in a folder of this user alone
            reports.append((mark.read_text(), pickle.loads(report.read_bytes()) if report.exists() else None))
        return reports

    def close(self) -> None:
        shutil.rmtree(self._path, ignore_errors=True)
        if self._former is None:
            os.environ.pop(CHECK_FOLDER, None)
        else:
            os.environ[CHECK_FOLDER] = self._former


def settings() -> tuple[str, list[tuple[str, ...]]]:
    """Return the reaction to races and the suppressed places of the check that started this process.

    Raises: ConfigError if there is no such check, or if another user could have written them.
    """
    folder = Path(os.environ[CHECK_FOLDER])
    wrong = ConfigError(
        f"{CHECK_FOLDER}={str(folder)!r}: the folder was not made by a running `flambeau check`",
        hint="unset the variable: `flambeau check` sets it for the program that it runs",
    )
    try:
        status = folder.stat()
    except OSError:
        raise wrong from None
    if status.st_uid != os.geteuid() or stat.S_IMODE(status.st_mode) != PRIVATE:
        raise ConfigError(
            f"{CHECK_FOLDER}={str(folder)!r}: the folder has mode {status.st_mode:o} and owner {status.st_uid}",
            hint="unset the variable: `flambeau check` makes a folder that only this user can write",
        )
    try:
        stored: tuple[str, list[tuple[str, ...]]] = pickle.loads((folder / SETTINGS).read_bytes())
    except (OSError, pickle.UnpicklingError, EOFError):
        raise wrong from None
    return stored


def has_ended() -> bool:
    """Return whether the check that started this process, perhaps through others, has ended and removed its folder."""
    folder = Path(os.environ[CHECK_FOLDER])
    return folder.is_absolute() and folder.name.startswith(PREFIX) and not os.path.exists(folder)


@contextmanager
def before_exit(finish: Callable[[int], int]) -> Iterator[None]:
    """Call `finish` with the status if this process calls `os._exit` in the block.  It returns the status to end with.

    Forked processes end as they would without the block.
    """
    former = os._exit
    _replace_exit(finish)
    try:
        yield
    finally:
        os._exit = former


def _replace_exit(finish: Callable[[int], int]) -> None:
    former, pid, lock = os._exit, os.getpid(), threading.RLock()
    calls: list[Any] = []

    def end(status: Any) -> NoReturn:
        if os.getpid() != pid:  # forked, perhaps while another thread held the lock
            former(status)
        with lock:  # another thread may call it meanwhile
            calls.append(status)
            if len(calls) == 1 and isinstance(status, int):
                try:
                    status = finish(status)
                except BaseException:  # noqa: BLE001  (nothing is above it)
                    sys.excepthook(*sys.exc_info())
                    status = status or 1
            former(status)

    os._exit = end


def leave_report(report: Callable[[Sequence[tuple[str, ...]]], Any]) -> None:
    """Write this process's report when it exits.  report: makes the report, given the suppressed places."""
    from multiprocessing import util

    folder, pid = Path(os.environ[CHECK_FOLDER]), os.getpid()
    left: list[bool] = []

    def leave(status: int = 0) -> int:
        if os.getpid() == pid and not left and folder.exists():
            left.append(True)
            draft = folder / f"{pid}.draft"
            draft.write_bytes(pickle.dumps(report(settings()[1])))
            draft.rename(folder / f"{pid}{REPORT}")
        return status

    (folder / f"{pid}{MARK}").write_text(_name())
    _replace_exit(leave)
    atexit.register(leave)
    util.Finalize(None, leave, exitpriority=EXIT_PRIORITY)


def _name() -> str:
    """Return the name of this process in reports."""
    workers = sys.modules.get("flambeau.data.workers")
    if workers is not None and (info := workers.get_worker_info()) is not None:
        return f"data worker {info.id}"
    name = multiprocessing.current_process().name
    if name == "MainProcess":
        rank = os.environ.get("RANK")
        return f"process {os.getpid()}" if rank is None else f"rank {rank}"
    return f"process {name!r}"
