"""spawn: run one function in several processes, and raise the first failure in the parent."""

from __future__ import annotations

import fcntl
import multiprocessing.connection
import signal
import sys
import time
import traceback
from collections.abc import Callable
from typing import Any

from ..errors import ArgumentError, ArgumentTypeError, FlambeauError, naming, shown
from ..importer import listing
from ..tensor import checks
from .contexts import get_context


class ProcessException(FlambeauError, RuntimeError):
    """Base class of errors of processes that `spawn` started, with the attributes `error_index` and `error_pid`."""

    def __init__(self, msg: str, error_index: int, error_pid: int) -> None:
        super().__init__(msg)  # without a hint: the text comes from the child
        self.msg = msg
        self.error_index = error_index
        self.error_pid = self.pid = error_pid


class ProcessRaisedException(ProcessException):
    """The function of `spawn` raised an exception in a child process; the message includes its traceback."""


class ProcessExitedException(ProcessException):
    """A process that `spawn` started ended by a signal, `signal_name`, or with an `exit_code` other than 0."""

    def __init__(
        self, msg: str, error_index: int, error_pid: int, exit_code: int, signal_name: str | None = None
    ) -> None:
        super().__init__(msg, error_index, error_pid)
        self.exit_code = exit_code
        self.signal_name = signal_name


class ProcessContext:
    """Handle to the processes that `spawn` started; the attribute `processes` is a list of them.

    Raises: in `join`, ProcessRaisedException, ProcessExitedException.
    Example:
        >>> started = torch.multiprocessing.spawn(pow, args=(2,), nprocs=1, join=False, start_method="fork")
        >>> started.join(), len(started.processes)
        (True, 1)
    """

    def __init__(self, processes: list[Any], error_files: list[Any]) -> None:
        self.processes = processes
        self._errors = error_files
        self._running = {process.sentinel: index for index, process in enumerate(processes)}

    def pids(self) -> list[int]:
        """Return the ids of the processes, in the order of their indexes.

        Example:
            >>> started = torch.multiprocessing.start_processes(pow, (2,), nprocs=1, join=False, start_method="fork")
            >>> started.pids() == [process.pid for process in started.processes]
            True
            >>> started.join()
            True
        """
        return [process.pid for process in self.processes]

    def join(self, timeout: float | None = None, grace_period: float | None = None) -> bool:
        """Wait until all processes have ended, one has failed, or `timeout` seconds are over; return whether all ended.

        After a failure the others are terminated and, after `grace_period` seconds, killed.
        Host:   waits.
        Raises: ProcessRaisedException if a process raised, ProcessExitedException if one ended with another exit code
                or by a signal.  The error is that of the first process that fails.
        Example:
            >>> started = torch.multiprocessing.start_processes(pow, (2,), nprocs=1, join=False, start_method="fork")
            >>> started.join()
            True
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        while self._running:
            left = None if deadline is None else max(0.0, deadline - time.monotonic())
            ready = multiprocessing.connection.wait(list(self._running), left)
            if not ready:
                return False
            for sentinel in ready:
                index = self._running.pop(sentinel)
                self.processes[index].join()
                if self.processes[index].exitcode:
                    self._stop(grace_period)
                    raise self._failure(index)
        return True

    def _stop(self, grace_period: float | None) -> None:
        for process in self.processes:
            if process.is_alive():
                process.terminate()
        for process in self.processes:
            process.join(grace_period)
            if process.is_alive():
                process.kill()
                process.join()
        self._running.clear()

    def _failure(self, index: int) -> ProcessException:
        process, errors = self.processes[index], self._errors[index]
        code = process.exitcode
        if not errors.empty():
            return ProcessRaisedException(
                f"\n\n-- Process {index} terminated with the following error:\n{errors.get()}", index, process.pid
            )
        if code < 0:
            name = signal.Signals(-code).name
            return ProcessExitedException(
                f"process {index} terminated with signal {name}", index, process.pid, code, signal_name=name
            )
        return ProcessExitedException(f"process {index} terminated with exit code {code}", index, process.pid, code)


SpawnContext = ProcessContext  # PyTorch's older name


def spawn(
    fn: Callable[..., Any],
    args: tuple[Any, ...] = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> ProcessContext | None:
    """Run fn(i, *args) in `nprocs` processes, with i from 0 to nprocs - 1.

    fn must be importable in the new processes: a function of a module, not a lambda.
    join: wait until all have ended, and return None; else return a ProcessContext to join.
    daemon: whether the processes end with this one.  start_method: "spawn", "forkserver" or "fork".
    Host:   waits if join is True.
    Raises: ProcessRaisedException, ProcessExitedException for the first process that fails; the others are terminated.
            ArgumentTypeError for an fn that is not callable, args that are not a tuple or an nprocs that is not an int,
            ArgumentError for an unknown start_method.
    Example:
        >>> torch.multiprocessing.spawn(pow, args=(2,), nprocs=2, start_method="fork")
    """
    with naming("spawn"):
        _check(fn, args, nprocs)
    return start_processes(fn, args, nprocs, join, daemon, start_method)


def start_processes(
    fn: Callable[..., Any],
    args: tuple[Any, ...] = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> ProcessContext | None:
    """Run fn(i, *args) in `nprocs` processes, with i from 0 to nprocs - 1, by any start method.

    start_method: "spawn", "forkserver" or "fork".  The other arguments, the result and the errors are those of `spawn`.
    Raises: as `spawn`: ProcessRaisedException, ProcessExitedException, ArgumentTypeError, ArgumentError.
    Example:
        >>> torch.multiprocessing.start_processes(pow, (2,), nprocs=1, start_method="fork")
    """
    _check(fn, args, nprocs)
    with naming("start_processes"):
        context = get_context(start_method)
    errors = [context.SimpleQueue() for _ in range(nprocs)]
    processes = [
        context.Process(target=_run, args=(fn, index, args, errors[index]), daemon=daemon) for index in range(nprocs)
    ]
    for process in processes:
        process.start()
    started = ProcessContext(processes, errors)
    if not join:
        return started
    started.join()
    return None


def _check(fn: Any, args: Any, nprocs: Any) -> None:
    """Raise ArgumentTypeError or ArgumentError for arguments of the wrong type or value."""
    name = "start_processes"
    checks.function(name, "fn", fn)
    if not isinstance(args, (tuple, list)):
        raise ArgumentTypeError(f"args must be a tuple, got {shown(args)}", hint="as in args=(x,)", operator=name)
    checks.integer(name, "nprocs", nprocs)
    if nprocs < 0:
        raise ArgumentError(
            f"nprocs must not be negative, got {nprocs}", hint="give the number of processes", operator=name
        )


def _run(fn: Callable[..., Any], index: int, args: tuple[Any, ...], errors: Any) -> None:
    try:
        fn(index, *args)
    except KeyboardInterrupt:
        pass  # a terminal sends SIGINT to the parent too
    except Exception:  # noqa: BLE001  (sent to the parent, which raises)
        room = fcntl.fcntl(errors._writer.fileno(), fcntl.F_GETPIPE_SZ)
        errors.put(_shortened(traceback.format_exc(), room // 2))  # the parent reads it when this process has ended
        sys.exit(1)


def _shortened(text: str, nbytes: int) -> str:
    """Shorten a text to about `nbytes` bytes by leaving out its middle."""
    data = text.encode(errors="backslashreplace")
    if len(data) <= nbytes:
        return text
    half = nbytes // 2
    first, last = data[:half].decode(errors="ignore"), data[-half:].decode(errors="ignore")
    return f"{first}\n... {len(data) - 2 * half} bytes ...\n{last}"


__all__ = [
    "ProcessContext", "ProcessException", "ProcessExitedException", "ProcessRaisedException", "SpawnContext", "spawn",
    "start_processes",
]  # fmt: skip
__dir__ = listing(globals())
