"""Programs in forked copies of one process that has imported flambeau, since an import takes longer than most programs.

The default tier runs the programs of tests so; the full tier starts Python anew for each (see `Programs`).
"""

from __future__ import annotations

import gc
import importlib
import multiprocessing.process
import os
import pickle
import runpy
import socket
import subprocess
import sys
import tempfile
import types
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
SOURCES = ROOT / "src"
FIRST_USED = (
    *("driver.virtual.driver", "runtime.machine", "nn", "optim", "data", "multiprocessing"),
    *("cli.commands", "cli.launch", "tools.checked_processes"),
)


class Done(NamedTuple):
    """What a program printed, and its exit status; negative: the signal that ended it."""

    returncode: int
    stdout: str
    stderr: str


class Wanted(NamedTuple):
    """A program.  arguments: those of `python`, which begin with a file's name, `-m` or `-c`."""

    arguments: list[str]
    folder: str
    environment: dict[str, str]
    stdin: str = ""


class Programs:
    """Runs programs, in forked copies of a process of its own or, if `fresh`, in new processes."""

    def __init__(self, fresh: bool) -> None:
        self._fresh = fresh
        self._socket: socket.socket | None = None
        self._server: subprocess.Popen[bytes] | None = None

    def run(self, wanted: Wanted, timeout: float = 120, fresh: bool = False) -> Done:
        """Run a program to its end.  fresh: in a new process.  Raises TimeoutError or subprocess.TimeoutExpired."""
        if self._fresh or fresh:
            return _run_anew(wanted, timeout)
        with tempfile.TemporaryFile() as stdin, tempfile.TemporaryFile() as stdout, tempfile.TemporaryFile() as stderr:
            stdin.write(wanted.stdin.encode())
            stdin.seek(0)
            status = self._ask(wanted, [each.fileno() for each in (stdin, stdout, stderr)], timeout)
            texts = []
            for each in (stdout, stderr):
                each.seek(0)
                texts.append(each.read().decode())
        return Done(os.waitstatus_to_exitcode(status), *texts)

    def _ask(self, wanted: Wanted, files: list[int], timeout: float) -> int:
        if self._socket is None:
            self._start()
        assert self._socket is not None
        self._socket.settimeout(timeout)
        data = pickle.dumps(wanted)
        socket.send_fds(self._socket, [len(data).to_bytes(8, "little")], files)
        self._socket.sendall(data)
        try:
            return int.from_bytes(_receive(self._socket, 8), "little")
        except TimeoutError:
            self.end()
            raise

    def _start(self) -> None:
        self._socket, theirs = socket.socketpair()
        kept = {name: value for name, value in os.environ.items() if not name.startswith("FLAMBEAU")}
        kept |= {"PYTHONPATH": os.pathsep.join([str(ROOT), str(SOURCES)]), "FLAMBEAU_PURE": "1"}
        command = [sys.executable, "-m", "tests.forks", str(theirs.fileno())]
        self._server = subprocess.Popen(command, cwd=ROOT, env=kept, pass_fds=[theirs.fileno()], start_new_session=True)
        theirs.close()

    def end(self) -> None:
        """End the process; the next program starts another."""
        if self._server is not None and self._socket is not None:
            self._socket.close()
            self._server.kill()
            self._server.wait()
        self._server = self._socket = None


def _run_anew(wanted: Wanted, timeout: float) -> Done:
    with tempfile.TemporaryFile() as stdin:
        stdin.write(wanted.stdin.encode())
        stdin.seek(0)
        done = subprocess.run(
            [sys.executable, *wanted.arguments],
            stdin=stdin, capture_output=True, text=True, timeout=timeout, cwd=wanted.folder, env=wanted.environment,
        )  # fmt: skip
    return Done(done.returncode, done.stdout, done.stderr)


def _receive(connection: socket.socket, count: int) -> bytes:
    data = b""
    while len(data) < count:
        more = connection.recv(count - len(data))
        if not more:
            raise EOFError("the process that runs the tests' programs has ended")
        data += more
    return data


def serve(connection: socket.socket) -> Callable[[], None]:
    """Fork for each program asked for.  Returns in the children alone: the function that runs the program."""
    importlib.import_module("flambeau")
    for name in FIRST_USED:
        importlib.import_module(f"flambeau.{name}")
    gc.collect()
    gc.freeze()
    while True:
        length, files, _, _ = socket.recv_fds(connection, 8, 3)
        if not length:
            os._exit(0)
        wanted: Wanted = pickle.loads(_receive(connection, int.from_bytes(length, "little")))
        child = os.fork()
        if child == 0:
            connection.close()
            for number, file in enumerate(files):
                os.dup2(file, number)
                os.close(file)
            return lambda: _run(wanted)
        for file in files:
            os.close(file)
        connection.sendall(os.waitpid(child, 0)[1].to_bytes(8, "little"))


def _run(wanted: Wanted) -> None:
    """Run a program as Python does where it starts with it."""
    os.chdir(wanted.folder)
    multiprocessing.process.ORIGINAL_DIR = wanted.folder  # where spawned processes look for the program
    os.environ.clear()
    os.environ.update(wanted.environment)
    paths = filter(None, wanted.environment.get("PYTHONPATH", "").split(os.pathsep))
    kept = [each for each in sys.path[1:] if each not in (str(ROOT), str(SOURCES))]
    kind, *rest = wanted.arguments
    if kind == "-c":
        sys.path[:] = ["", *paths, *kept]
        sys.argv = ["-c", *rest[1:]]
        main = sys.modules["__main__"] = types.ModuleType("__main__")
        exec(compile(rest[0], "<string>", "exec"), vars(main))
    elif kind == "-m":
        sys.path[:] = [wanted.folder, *paths, *kept]
        sys.argv = rest
        runpy.run_module(rest[0], run_name="__main__", alter_sys=True)
    else:
        sys.path[:] = [str(Path(kind).resolve().parent), *paths, *kept]
        sys.argv = wanted.arguments
        runpy.run_path(kind, run_name="__main__")


if __name__ == "__main__":
    serve(socket.socket(fileno=int(sys.argv[1])))()
