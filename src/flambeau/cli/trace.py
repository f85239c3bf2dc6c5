"""`flambeau trace`: run a program and write a page of its work on GPUs.

The report is written however the program ends: it returned, raised, called `sys.exit` or `os._exit`, or got SIGINT or
SIGTERM.
A forked child writes nothing.  Of a job, each rank writes a part, and the launcher joins them.
"""

from __future__ import annotations

import os
import signal
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

from .output import begin_report, checked_places

INTERRUPTED = 130  # status of a program that KeyboardInterrupt has ended
PARTS = "FLAMBEAU_TRACE_PARTS"  # environment variable: the folder in which ranks write their traces


def trace(run: Callable[[], int], output: str, chrome: str | None, limit: int) -> None:
    """Run a program, write its trace, print five lines, and exit with the program's status.

    run: runs the program and its threads, prints its exception, and returns its exit status.
    """
    from ..tools.checked_processes import before_exit
    from ..tools.recorder import Recorder  # other commands do without it

    places = _places(output, chrome)
    report = _Report(Recorder(limit=limit), places)
    former = signal.signal(signal.SIGTERM, report.on_signal)
    report.recorder.begin()

    def finish(status: int) -> int:
        waits = status != INTERRUPTED or not report.recorder.found.modelled  # modelled times are known without waiting
        is_written = report.write(f"the program ended with exit status {status}" if status else "", waits)
        return status or int(not is_written)

    try:
        with before_exit(finish):
            status = run()
    except SystemExit:  # there is no such program
        report.recorder.end()
        raise
    finally:
        signal.signal(signal.SIGTERM, former)
    sys.exit(finish(status))


def trace_ranks(launch: Callable[[], int], output: str, chrome: str | None) -> None:
    """Launch the ranks of a job, join their traces, and exit with the job's status.

    launch: runs the ranks, whose environment has PARTS, and returns the status.
    """
    from ..tools.trace import join_ranks, read_json

    places = _places(output, chrome)
    with tempfile.TemporaryDirectory() as folder:
        os.environ[PARTS] = folder
        status = launch()
        del os.environ[PARTS]
        parts = {int(path.stem): read_json(path) for path in Path(folder).glob("*.json")}
    joined = join_ranks(parts)
    if status:
        joined.note = "; ".join(filter(None, (joined.note, f"the job ended with exit status {status}")))
    is_written = _write(joined, places)
    sys.exit(status or int(not is_written))


def _places(output: str, chrome: str | None) -> list[Path]:
    """The files to write.  Exits if one cannot be written."""
    return checked_places("trace", {"-o": output, "--chrome": chrome})


class _Report:
    """Writes the trace of a recorder, once, in the process that made it.  places: of the page and of the JSON file."""

    def __init__(self, recorder: Any, places: list[Path]) -> None:
        self.recorder = recorder
        self._places = places
        self._process = os.getpid()
        self._is_written = False

    def on_signal(self, number: int, frame: FrameType | None) -> None:
        """Write the report, then let the signal end the process."""
        name = signal.Signals(number).name
        self.write(f"{name} ended the program", waits=False)
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)

    def write(self, note: str, waits: bool = True) -> bool:
        """Write the files and print the summary; return whether all was written.  note: why the program ended early."""
        from ..errors import FlambeauError

        if self._is_written or os.getpid() != self._process:
            return True
        self._is_written = True
        self.recorder.end()
        try:
            recorded = self.recorder.trace(waits)
        except (FlambeauError, KeyboardInterrupt):  # the device has failed, or the user does not wait for it
            recorded = self.recorder.trace(waits=False)
        recorded.note = note
        folder = os.environ.get(PARTS)
        if folder is None:
            return _write(recorded, self._places)
        from ..tools.trace import write_json

        part = Path(folder, f"{os.environ.get('RANK', '0')}.json")
        write_json(recorded, part.with_suffix(".part"))
        part.with_suffix(".part").rename(part)
        return True


def _write(recorded: Any, places: list[Path]) -> bool:
    """Write the files of a trace and print the summary; return whether all was written."""
    from ..tools import trace_writers
    from ..tools.trace_analysis import Analysis

    begin_report()
    print(f"\n{Analysis(recorded).summary()}", flush=True)
    for text in (recorded.cap, recorded.note):
        if text:
            print(f"flambeau trace: {text}", file=sys.stderr)
    try:
        for path, writer in zip(places, (trace_writers.write_page, trace_writers.write_chrome_trace)):
            writer(recorded, path)
            print(f"flambeau trace: wrote {path}", file=sys.stderr)
    except OSError as error:
        print(f"flambeau trace: cannot write {str(path)!r}: {error.strerror}", file=sys.stderr)
        return False
    return True
