"""The `flambeau` command: `run`, `check`, `memory`, `trace`, `fit`, `doctor`.

Data goes to stdout, messages to stderr.
"""

from __future__ import annotations

import builtins
import errno
import io
import json
import linecache
import os
import pkgutil
import runpy
import signal
import sys
import threading
import types
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from functools import wraps
from importlib import import_module
from importlib.util import decode_source, find_spec
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, NoReturn

import click
from click.core import ParameterSource

from .. import __version__, callers, config, driver
from ..driver.virtual import faults
from ..errors import ArgumentError, ConfigError, InternalError, OutOfMemoryError, lacking
from . import as_torch, doctor, environment, memory
from .output import begin_report, keep_stdout

FALLBACK = "virtual:2"
MAX_RANKS = 1024


Job = Callable[[], None]


class Program(NamedTuple):
    """A script, a module's name, or the code itself (`name` is then -c or -), and its arguments."""

    name: str
    arguments: tuple[str, ...]
    is_module: bool
    code: str | None = None
    command: str = "run"


class MissingProgram(SystemExit):
    """There is no such program; the argument is the message."""


def program(chosen: Program, gpus: str | None, wants_torch: bool) -> None:
    """Run a program as `__main__`.

    Raises: the program's exceptions, SystemExit too; they are printed without the frames of this command.
    """
    here = chosen.is_module or chosen.code is not None
    sys.path.insert(0, os.getcwd() if here else str(Path(chosen.name).resolve().parent))
    _check(chosen)
    os.environ["FLAMBEAU_GPUS"] = gpus or pick_gpus()
    if wants_torch:
        as_torch.install()
    sys.argv = [chosen.name, *chosen.arguments]
    sys.excepthook = _show
    keep_stdout()
    if "FLAMBEAU_JOB_SECRET" in os.environ:  # a rank: others print to the same place
        for file in (sys.stdout, sys.stderr):
            if isinstance(file, io.TextIOWrapper):
                file.reconfigure(line_buffering=True, write_through=False)  # a line is written at once
    if chosen.code is not None:
        _run_text(chosen.code, "<string>" if chosen.name == "-c" else "<stdin>")
    elif chosen.is_module:
        _kept.append(runpy.run_module(chosen.name, run_name="__main__", alter_sys=True))
    elif _is_source(chosen.name):
        with io.open_code(chosen.name) as file:
            _run_code(file.read(), chosen.name, __file__=os.path.abspath(chosen.name), __cached__=None)
    else:
        _kept.append(runpy.run_path(chosen.name, run_name="__main__"))


_kept: list[Any] = []  # globals of the program: reports show what it holds at its end


def _is_source(name: str) -> bool:
    """Return whether a program is a Python file, rather than a folder, an archive or bytecode."""
    return pkgutil.get_importer(name) is None and not name.endswith(".pyc")


def _run_text(code: str, file: str) -> None:
    """Run a text as `__main__`.  Its lines are shown in tracebacks and reports."""
    linecache.cache[file] = len(code), None, code.splitlines(keepends=True), file
    _run_code(code, file)


def _run_code(code: str | bytes, file: str, **attributes: Any) -> None:
    """Run code as the module `__main__`, which stays until the process ends: reports and threads still use it."""
    main = types.ModuleType("__main__")
    vars(main).update(attributes, __builtins__=builtins)
    sys.modules["__main__"] = main
    exec(compile(code, file, "exec"), vars(main))


def _check(chosen: Program) -> None:
    """Raise MissingProgram if there is no such program."""
    if chosen.code is not None:
        return
    if not chosen.is_module:
        if not os.path.exists(chosen.name):
            raise MissingProgram(f"flambeau {chosen.command}: there is no file {chosen.name!r} in {os.getcwd()}")
        if not os.access(chosen.name, os.R_OK):
            raise MissingProgram(f"flambeau {chosen.command}: cannot read {chosen.name!r}: {os.strerror(errno.EACCES)}")
        if os.path.isdir(chosen.name) and not os.path.exists(os.path.join(chosen.name, "__main__.py")):
            raise MissingProgram(f"flambeau {chosen.command}: the folder {chosen.name!r} has no __main__.py")
    elif why := _why_missing(chosen.name):
        raise MissingProgram(f"flambeau {chosen.command}: {why}")


def _why_missing(module: str) -> str:
    """Return why a module cannot be run, "" if it is there."""
    if not all(module.split(".")):
        return f"{module!r} is no name of a module: write package.module"
    try:
        spec = find_spec(module)
        if spec is not None and spec.submodule_search_locations is not None and not find_spec(f"{module}.__main__"):
            return f"the package {module!r} has no __main__.py"
    except ModuleNotFoundError as failure:
        if f"{module}.__main__".startswith(f"{failure.name}."):  # a package above it
            spec = None
        else:
            raise
    return "" if spec is not None else f"there is no module {module!r} in {os.getcwd()} or on Python's path"


def _show(error_type: type[BaseException], error: BaseException, traceback: TracebackType | None) -> None:
    """Print an exception as Python does, from the program's first frame on and without frames of this package.

    An InternalError, which is a bug of this package, keeps them.
    """
    if not isinstance(error, InternalError):
        callers.fold_traceback(error, keep=__file__)
    shown = _from_program(error.__traceback__)
    if isinstance(error, ImportError) and str(error.name).partition(".")[0] in (as_torch.NAME, as_torch.OURS):
        error.add_note(f"hint: {lacking(str(error.name))}")
    sys.__excepthook__(error_type, error.with_traceback(shown), shown)


MACHINERY = (__file__, runpy.run_path.__code__.co_filename)


def _from_program(traceback: TracebackType | None) -> TracebackType | None:
    """The traceback's part after this file and runpy; the whole traceback if they are not in it."""
    rest, is_inside = traceback, False
    while rest is not None:
        file = rest.tb_frame.f_code.co_filename
        is_inside = is_inside or file == __file__
        if is_inside and file not in MACHINERY:
            return rest
        rest = rest.tb_next
    return None if is_inside else traceback


def launch_ranks(
    count: int,
    chosen: Program,
    gpus: str,
    wants_torch: bool,
    modelled: Any,
    command: Sequence[str] = ("run",),
    nodes: Any = None,
) -> int:
    """Run a program as the ranks of a job, and return its status.

    modelled: the cluster.  command: with options.  nodes: the machines, if there are several.
    """
    from .launch import launch  # `run` of one process does without it

    _check(chosen)
    options = ["--gpus", gpus, *["--as-torch"] * wants_torch, *["-m"] * chosen.is_module]
    what = [chosen.name] if chosen.code is None else ["-c", chosen.code]
    return launch(count, [*command, *options, *what, *chosen.arguments], modelled, nodes)


def modelled_cluster(nproc: int | None, **options: Any) -> Any:
    """The cluster that options of `run` and `trace` describe; None for one process, which has none."""
    from .launch import cluster  # `run` of one process does without it

    given = {name: value for name, value in options.items() if value}
    if nproc is None:
        if given:
            names = ", ".join(f"--{name.replace('_', '-')}" for name in given)
            raise click.UsageError(f"{names}: only for the ranks of a job, which --nproc N starts")
        return None
    return cluster(
        nproc, options["hosts"] or 1, options["network"], options["latency"], options["slow_link"], options["straggler"]
    )


def checked_nodes(
    nproc: int | None, count: int, rank: int | None, host: str | None, port: int | None, modelled: Any
) -> Any:
    """The machines that options of `run` describe; None for this one alone."""
    from .launch import PORT, nodes  # `run` of one process does without it

    if count == 1:
        given = {"--node-rank": rank or None, "--master-addr": host, "--master-port": port}
        if wrong := [name for name, value in given.items() if value is not None]:
            raise click.UsageError(f"{', '.join(wrong)}: only for a job on several machines, with --nnodes N")
        return None
    if nproc is None:
        raise click.UsageError(f"--nnodes {count} needs --nproc, the number of ranks on each machine")
    return nodes(count, rank, host, port or PORT, modelled)


def ranks(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of a job's ranks to a command."""
    options = [
        click.option(
            "--nproc",
            type=click.IntRange(1, MAX_RANKS),
            metavar="N",
            help="Run a job of N ranks, with the environment variables of torchrun.",
        ),
        click.option(
            "--hosts", type=click.IntRange(min=1), metavar="H", help="Model H hosts with equal numbers of ranks."
        ),
        click.option(
            "--network",
            type=click.FloatRange(min=0, min_open=True),
            metavar="GBS",
            help="GB/s of each rank's network interface between modelled hosts (50).",
        ),
        click.option(
            "--latency", type=click.FloatRange(min=0), metavar="US", help="Microseconds per step between hosts (2.7)."
        ),
        click.option(
            "--slow-link", multiple=True, metavar="A-B:X", help="Model an X times slower link between ranks A and B."
        ),
        click.option("--straggler", multiple=True, metavar="R:X", help="Make rank R's virtual GPUs X times slower."),
    ]
    for option in reversed(options):
        function = option(function)
    return function


def check(
    chosen: Program,
    gpus: str | None,
    wants_torch: bool,
    races: str,
    style: str,
    suppressions: str | None,
    limit: Limit | None = None,
) -> None:
    """Run a program, print every race of it, and exit with the program's status, or with 1 if it has races.

    With style "json" or "sarif", stdout has the report only: the program's output goes to stderr.
    limit: of a search for a schedule that gives another result, None for no search.
    """
    from ..tools import checked_processes, race_report  # `run` does without them

    text = gpus or os.environ.get("FLAMBEAU_GPUS") or FALLBACK
    if not text.startswith("virtual"):
        _check_real(text, races, limit)
    if limit is not None and races != "real":
        raise SystemExit(f"flambeau check: --prove runs the program with --races real, not {races}")
    stdout = sys.stdout
    if style != "text":
        stdout = os.fdopen(os.dup(1), "w", encoding="utf-8")
        sys.stdout.flush()
        os.dup2(2, 1)
    proof = None

    def run() -> int:
        status = _status_of(chosen, text, wants_torch)
        return _ended(_end_processes) or status

    def show(report: Any, status: int) -> int:
        print_report(report, proof, status, style, stdout)
        return status or int(not report.is_clean or (proof is not None and proof.schedule is not None))

    try:
        if limit is not None:
            proof = _prove(run, suppressions, limit)
            sys.exit(show(proof.report, proof.status))
        with ExitStack() as stack:
            report = stack.enter_context(race_report.check(races=races, suppress=suppressions))

            def finish(status: int) -> int:
                if "replay:" in text and unused_choices():
                    status = status or 1
                stack.close()
                return show(report, status)

            with checked_processes.before_exit(finish):
                status = run()
            sys.exit(finish(status))
    except ArgumentError as failure:
        raise SystemExit(f"flambeau {failure}") from None


def _check_real(gpus: str, races: str, limit: Limit | None) -> None:
    """Raise SystemExit for GPUs that `check` cannot follow, or options that real ones do not have."""
    if gpus != "nvidia":
        raise SystemExit(f"flambeau check: {gpus!r} are no GPUs on which races are found: --gpus virtual:2, or nvidia")
    for option, is_given in (("--prove", limit is not None), (f"--races {races}", races != "real")):
        if is_given:
            raise SystemExit(f"flambeau check: {option} is for virtual GPUs, not for {gpus!r}: --gpus virtual:2")


def _end_threads() -> None:
    """Wait for the program's threads as Python does at exit, which first lets those of executors end."""
    module: Any = threading  # its stub leaves out this function
    module._shutdown()


def _abandon_work() -> None:
    """Leave queued work undone at exit: an interrupted program ends at once."""
    from ..runtime.machine import abandon_work  # not before the program has begun

    abandon_work()


def _end_processes() -> None:
    """End the program's managers and daemons and wait for its other processes, as Python does at exit."""
    if "multiprocessing.process" in sys.modules:
        util: Any = import_module("multiprocessing.util")
        util._exit_function()


class Limit(NamedTuple):
    """Limits of a search for schedules: the number of schedules and the time."""

    schedules: int
    seconds: float


def _prove(program: Callable[[], int], suppressions: str | None, limit: Limit) -> Any:
    """Search schedules of a program.  The output of the first run is printed; progress goes to a terminal."""
    from ..tools import prove, race_report

    def began(first: Any) -> None:
        sys.stdout.flush()
        os.write(1, first.output)

    def progress(count: int) -> None:
        if sys.stderr.isatty():
            click.echo(f"\rflambeau check: {count} schedules", nl=False, err=True)

    places = race_report.read_suppressions(suppressions) if suppressions is not None else []
    try:
        proof = prove.prove(program, places, limit.schedules, limit.seconds, progress, began)
    except prove.Interrupted as end:
        click.echo("flambeau check: interrupted in the first run, which reported nothing", err=True)
        sys.exit(128 + end.args[0])
    if sys.stderr.isatty() and proof.schedules > 1:
        click.echo("", err=True)
    return proof


def print_report(report: Any, proof: Any, status: int, style: str, file: Any) -> None:
    if style == "json":
        fields = {"status": status, "found": bool(report.races), **report.to_json()}
        if proof is not None:
            fields["proof"] = proof.to_json()
        print(json.dumps(fields, indent=2), file=file)
    elif style == "sarif":
        print(json.dumps(report.to_sarif(), indent=2), file=file)
    else:
        file = begin_report()
        ended = f"; the program ended with exit status {status}" if status and not report.races else ""
        print(f"\nflambeau check: {report}{ended}", file=file)
        if proof is not None:
            print(f"flambeau check: {proof.text}", file=file)
    file.flush()


def _status_of(
    chosen: Program, gpus: str | None, wants_torch: bool, raised: tuple[type[BaseException], ...] = ()
) -> int:
    """Run a program and wait for its threads; print the exception that ends it, and return its exit status.

    SIGTERM ends it with 143.  raised: classes of exceptions to raise instead of printing them.
    """
    if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, _terminate)
    status = _ended(lambda: program(chosen, gpus, wants_torch), raised)
    return _ended(_end_threads) or status


def _ended(job: Job, raised: tuple[type[BaseException], ...] = ()) -> int:
    """Run a job and return the exit status with which Python would end after it; print its exception."""
    try:
        job()
    except MissingProgram:
        raise
    except raised:
        raise
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            return end.code or 0
        print(end.code, file=sys.stderr)
        return 1
    except KeyboardInterrupt as error:
        _abandon_work()
        _call_excepthook(error)
        return 130
    except BaseException as error:  # noqa: BLE001  (the report is printed all the same)
        _call_excepthook(error)
        return 1
    return 0


def _call_excepthook(error: BaseException) -> None:
    """Call the program's `sys.excepthook`; if it fails, print both exceptions, as Python does."""
    try:
        sys.excepthook(type(error), error, error.__traceback__)
    except Exception as failure:  # noqa: BLE001  (the program's)
        print("Error in sys.excepthook:", file=sys.stderr)
        failure.__context__ = None
        _show(type(failure), failure, failure.__traceback__)
        print("\nOriginal exception was:", file=sys.stderr)
        _show(type(error), error, error.__traceback__)


def unused_choices() -> str:
    """Run the program's queued work; return a message about unused choices of its schedule, or ""."""
    from ..core import thread
    from ..driver.virtual.driver import VirtualDriver

    driver = thread.machine().driver if thread.has_machine() and thread.machine().is_started else None
    if not isinstance(driver, VirtualDriver):
        return ""
    driver.drain()  # prints the text
    return driver.unused_choices


def run_here(chosen: Program, gpus: str | None, wants_torch: bool) -> None:
    """Run a program and exit with its status, or with 1 instead of 0 if choices of its schedule were not used."""
    try:
        program(chosen, gpus, wants_torch)
    except SystemExit as end:
        if end.code:
            raise
    if "replay:" in os.environ.get("FLAMBEAU_GPUS", "") and unused_choices():
        sys.exit(1)


def _terminate(number: int, _frame: object) -> None:
    """End the program, but not this process, which has a report to print."""
    _abandon_work()
    sys.exit(128 + number)


def pick_gpus() -> str:
    """The value of FLAMBEAU_GPUS; else NVIDIA GPUs, else virtual ones, with a message on stderr."""
    if config.gpus() is not None:
        return os.environ["FLAMBEAU_GPUS"]
    count = driver.nvidia_device_count()
    if count:
        click.echo(f"flambeau: running on {count} NVIDIA GPU{'s' * (count > 1)}", err=True)
        return "nvidia"
    click.echo("flambeau: no NVIDIA GPU was found; running on 2 virtual GPUs (--gpus chooses)", err=True)
    return FALLBACK


UNWRITABLE = (errno.EPIPE, errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


def reporting(job: Job) -> Job:
    """Make a job that prints a report end with status 1 if stdout is full, or its reader ends first (`| head`)."""

    def report() -> None:
        try:
            job()
            sys.stdout.flush()
        except OSError as failure:
            if failure.errno not in UNWRITABLE:
                raise
            _end_unwritten(failure)

    return report


def _end_unwritten(failure: OSError) -> NoReturn:
    """Exit with status 1, with a message unless the reader of stdout has ended."""
    if not isinstance(failure, BrokenPipeError):
        click.echo(f"flambeau: cannot write to stdout: {failure.strerror}", err=True)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # Python writes the rest of stdout at exit
    sys.exit(1)


PLAIN_SCRIPT = {"allow_interspersed_args": False}  # options after the script are its own


def checked_gpus(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    """Check the syntax of --gpus and return it unchanged."""
    try:
        if value is not None:
            config.parse_gpus(value)
    except ConfigError as failure:
        raise click.BadParameter(str(failure).removeprefix(f"FLAMBEAU_GPUS={value!r}: "), ctx, param) from failure
    return value


def checked_schedule(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    """Check the name of a schedule."""
    try:
        return value if value is None else config.check_schedule(value)
    except ConfigError as failure:
        raise click.BadParameter(str(failure), ctx, param) from failure


def checked_faults(ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> str:
    """Check the values of --fault and return them joined by commas."""
    text = ",".join(values)
    try:
        if values:
            faults.parse(text)
    except ArgumentError as failure:
        raise click.BadParameter(str(failure), ctx, param) from failure
    return text


def with_schedule(gpus: str | None, schedule: str | None) -> str | None:
    """The text of --gpus with the schedule of --schedule."""
    if schedule is None:
        return gpus
    text = f"{gpus or os.environ.get('FLAMBEAU_GPUS') or FALLBACK},schedule={schedule}"
    try:
        config.parse_gpus(text)
    except ConfigError as failure:
        raise click.UsageError(str(failure)) from failure
    return text


def parsed_limit(ctx: click.Context, param: click.Parameter, value: str) -> Limit:
    """Parse a number of schedules, or of seconds with an s."""
    number = value.removesuffix("s")
    if not (config.is_whole_number(number) and int(number)):
        raise click.BadParameter(f"{value!r} is neither a number of schedules nor of seconds, as in 30s", ctx, param)
    return Limit(sys.maxsize, int(number)) if value.endswith("s") else Limit(int(number), float("inf"))


CARDS_HELP = (
    "h200, h100, a100-40, a100-80, l4, t4, rtx3090, rtx4090, or all; or the path of a card's own file, which ends in "
    ".toml.  May be given several times."
)
SCHEDULE_HELP = "The order of streams on virtual GPUs: submission, seeded:N, delay:N or replay:N,N,N; see below."
RACES_HELP = """
  races=poison   unordered accesses read NaN, or -1 for integers (default)
  races=error    the later of two unordered accesses raises RaceError
  races=real     unordered accesses read what is there in the streams' order"""
VIRTUAL_HELP = """\b
Options of virtual GPUs, as in virtual:2,memory=2GiB,values=no:
  memory=SIZE    memory of each GPU; default: the preset's
  preset=CARD    the modelled card: h200 (default), h100, a100-40, a100-80, l4,
                 t4, rtx3090, rtx4090, or the path of a card's file (.toml)
  values=no      compute nothing, and give memory no bytes (default: yes)
  schedule=NAME  the order of the streams{races}

\b
Orders of the streams:
  submission     that of the calls (default)
  seeded:N       random, but the same for the same N
  delay:N        stream N last; streams count from 0 as they are made
  replay:N,N,N   that of an earlier run, as `flambeau check --prove` prints it
"""
STRICT_HELP = """\b
Environment:
  FLAMBEAU_STRICT=1   find silent mistakes: graph inputs that were not refilled,
                      early reads of non_blocking copies, threads that lack
                      their parent's device or stream
  PYTORCH_ALLOC_CONF  settings of the allocator, as in PyTorch
"""
RUN_EPILOG = f"{VIRTUAL_HELP.format(races=RACES_HELP)}\n{STRICT_HELP}"
CHECK_EPILOG = f"{VIRTUAL_HELP.format(races='')}\n{STRICT_HELP}"


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, message="flambeau %(version)s")
def commands() -> None:
    """Run programs on NVIDIA GPUs, or on virtual GPUs that need no hardware."""


MODULE_HELP = "SCRIPT is the name of a module, as for `python -m`."
CODE_HELP = "SCRIPT is the program itself, as for `python -c`."
AS_TORCH_HELP = "Let `import torch` and its submodules find flambeau."


def takes_program(command: str, metavar: str = "SCRIPT") -> Callable[[Callable[..., Job]], Callable[..., Job]]:
    """Add the options and arguments that choose a program, which the command gets as `chosen` and `as_torch`."""
    added = (
        click.option("--as-torch", is_flag=True, help=AS_TORCH_HELP),
        click.option("-m", "--module", is_flag=True, help=MODULE_HELP),
        click.option("-c", "--code", is_flag=True, help=CODE_HELP),
        click.argument("script", metavar=metavar),
        click.argument("args", nargs=-1, type=click.UNPROCESSED),
    )

    def decorate(function: Callable[..., Job]) -> Callable[..., Job]:
        @wraps(function)
        def call(script: str, args: tuple[str, ...], module: bool, code: bool, **options: Any) -> Job:
            if command != "memory" or module or code or not memory.is_snapshot(script):  # no program reads them
                environment.check(command, _overridden(command, options))
            job = function(chosen=_chosen(command, script, args, module, code), **options)
            return job if command == "run" else reporting(job)

        for decorator in reversed(added):
            decorator(call)
        return call

    return decorate


def _overridden(command: str, options: Mapping[str, Any]) -> frozenset[str]:
    """The environment variables that options of a command, or the command itself, set for the program."""
    names = {"FLAMBEAU_GPUS"} if options.get("gpus") is not None or command == "fit" else set()
    return frozenset(names | ({"FLAMBEAU_FAULTS"} if options.get("fault") else set()))


def _chosen(command: str, script: str, arguments: tuple[str, ...], module: bool, code: bool) -> Program:
    """The program that a command line names; `-` is the text on stdin."""
    if code:
        return Program("-c", arguments, False, script, command)
    if script == "-" and not module:
        return Program("-", arguments, False, _text_on_stdin(command), command)
    return Program(script, arguments, module, None, command)


def _text_on_stdin(command: str) -> str:
    """The program on stdin, in the encoding that it names, else UTF-8.  Exits with a message if it cannot be read."""
    try:
        return decode_source(sys.stdin.buffer.read()) if sys.stdin is not None else ""
    except (SyntaxError, UnicodeDecodeError) as failure:
        hint = "hint: a program that is not UTF-8 names its encoding in the first line, as in `# coding: latin-1`"
        raise SystemExit(f"flambeau {command}: cannot read the program on stdin: {failure}\n{hint}") from None


@commands.command("run", context_settings=PLAIN_SCRIPT, epilog=RUN_EPILOG)
@click.option(
    "--gpus",
    callback=checked_gpus,
    metavar="GPUS",
    help="nvidia, none, or virtual:N with the options below, as in virtual:2,memory=2GiB.  Default: FLAMBEAU_GPUS, "
    "else NVIDIA GPUs, else virtual:2.",
)
@click.option("--schedule", callback=checked_schedule, metavar="NAME", help=SCHEDULE_HELP)
@ranks
@click.option(
    "--nnodes",
    type=click.IntRange(1),
    default=1,
    metavar="N",
    help="Run the job on N machines: this command runs on each, with --nproc ranks, the same FLAMBEAU_JOB_SECRET, "
    "--master-addr, and its own --node-rank.",
)
@click.option("--node-rank", type=click.IntRange(0), metavar="R", help="Number of this machine, from 0.")
@click.option("--master-addr", metavar="HOST", help="Name or address of machine 0, where it listens.")
@click.option("--master-port", type=click.IntRange(1, 65535), metavar="PORT", help="Port of machine 0 (29500).")
@click.option(
    "--fault",
    callback=checked_faults,
    multiple=True,
    metavar="FAULT",
    help="Inject failures into virtual GPUs: oom:3 (the third allocation), oom:64MiB (all of that size or more), "
    "launch:5 (the kernel of the fifth launch), device_assert:5 (an assertion in it), refused:5 (the driver refuses "
    "the fifth launch), capture:2 (the second captured operation), lost_link:0:1 (between two GPUs), "
    "slow_link:0:1:10 (ten times slower), kill_worker:0:3 (data worker 0 at its third batch), "
    "kill_rank:1:5 (rank 1 at its fifth launch).  May be given several times.",
)
@takes_program("run")
def run_command(
    chosen: Program,
    as_torch: bool,
    gpus: str | None,
    schedule: str | None,
    nproc: int | None,
    nnodes: int,
    node_rank: int | None,
    master_addr: str | None,
    master_port: int | None,
    fault: str,
    **cluster: Any,
) -> Job:
    """Run a Python program on GPUs, real or virtual.

    Everything after SCRIPT belongs to the program, which is read from stdin if SCRIPT is -.  The command exits
    with the program's status.

    \b
      flambeau run train.py --epochs 3
      flambeau run --gpus virtual:4,races=error train.py
      flambeau run --gpus virtual:2 --as-torch -m package.train
      flambeau run --gpus virtual:4 --nproc 4 train.py
      flambeau run --gpus virtual:8 --nproc 32 --hosts 4 --straggler 3:2 train.py
      flambeau run --nproc 8 --nnodes 2 --node-rank 0 --master-addr 10.0.0.1 train.py
      flambeau run --gpus virtual:2 --fault oom:64MiB train.py
    """
    if fault:
        if (gpus or os.environ.get("FLAMBEAU_GPUS") or "virtual").startswith("nvidia"):
            raise click.UsageError("--fault needs virtual GPUs: --gpus virtual:2")
        os.environ["FLAMBEAU_FAULTS"] = fault
    wanted = with_schedule(gpus, schedule)
    modelled = modelled_cluster(nproc, **cluster)
    nodes = checked_nodes(nproc, nnodes, node_rank, master_addr, master_port, modelled)
    if nproc is not None:
        gpus = wanted or pick_gpus()
        return lambda: sys.exit(launch_ranks(nproc, chosen, gpus, as_torch, modelled, nodes=nodes))
    return lambda: run_here(chosen, wanted, as_torch)


@commands.command(
    "check",
    context_settings=PLAIN_SCRIPT,
    short_help="Report the races of a program's streams.",
    epilog=CHECK_EPILOG,
)
@click.option(
    "--gpus",
    callback=checked_gpus,
    metavar="GPUS",
    help="nvidia, or virtual:N with the options below, as in virtual:2,memory=2GiB.  Default: FLAMBEAU_GPUS, else "
    "virtual:2.",
)
@click.option(
    "--races",
    type=click.Choice(["real", "poison", "error"]),
    default="real",
    show_default=True,
    help="Effect of unordered accesses, in place of races= in --gpus.  real: they read ordinary values.  poison: they "
    "read NaN, or -1 for integers.  error: the later of two raises RaceError.",
)
@click.option("--json", "style", flag_value="json", help="Print one JSON object; the program's output goes to stderr.")
@click.option("--sarif", "style", flag_value="sarif", help="As --json, in the format SARIF 2.1.0.")
@click.option("--text", "style", flag_value="text", default=True, help="Print text (the default).")
@click.option("--prove", is_flag=True, help="Say whether the result depends on the order of the streams, or show how.")
@click.option(
    "--limit",
    callback=parsed_limit,
    default="1000",
    show_default=True,
    metavar="COUNT",
    help="With --prove: schedules to try, or seconds as in 30s.",
)
@click.option("--schedule", callback=checked_schedule, metavar="NAME", help=SCHEDULE_HELP)
@click.option("--suppress", metavar="FILE", help="Leave out the races of the lines in FILE: `a.py:3 b.py:7`.")
@takes_program("check")
def check_command(
    chosen: Program,
    as_torch: bool,
    gpus: str | None,
    races: str,
    style: str,
    prove: bool,
    limit: Limit,
    schedule: str | None,
    suppress: str | None,
) -> Job:
    """Run a program and report every race between its streams.

    It runs on virtual GPUs, or with --gpus nvidia on the hardware, where a model follows it.

    The report names both lines of each race, and the edits that order all of them.  It is printed on stdout when the
    program has ended, even if it failed.  The exit status is the program's if that is not 0, else 1 if there is a race.
    A comment `# flambeau: allow-race` suppresses the races of its line.

    With --prove, the program runs again under other schedules if it has races, until one gives a different
    result or all relevant schedules have been tried.  To repeat such a run, pass the schedule that it prints to
    --schedule.

    \b
      flambeau check --prove train.py
      flambeau check train.py --epochs 1
      flambeau check --gpus virtual:4 --json train.py > races.json
      flambeau check --as-torch -m package.train
    """
    if prove and schedule is not None:
        raise click.UsageError("--schedule: --prove chooses the schedules itself")
    wanted = with_schedule(gpus, schedule)
    if not prove and click.get_current_context().get_parameter_source("limit") is not ParameterSource.DEFAULT:
        raise click.UsageError("--limit: only for a search of schedules, with --prove")
    return lambda: check(chosen, wanted, as_torch, races, style, suppress, limit if prove else None)


@commands.command("memory", context_settings=PLAIN_SCRIPT, epilog=RUN_EPILOG)
@click.option(
    "--gpus",
    callback=checked_gpus,
    metavar="GPUS",
    help="For a program: nvidia, none, or virtual:N with the options below.  Default: as for `flambeau run`.",
)
@click.option(
    "--replay",
    "settings",
    multiple=True,
    metavar="SETTINGS",
    help="Show the peak under other settings, written as PYTORCH_ALLOC_CONF.  May be given several times.",
)
@click.option("--capacity", metavar="SIZE", help="Replay on a device of this size: 24GiB.")
@click.option("--html", metavar="FILE", help="Write a page with the memory over time, for a browser; it works offline.")
@click.option("--save", metavar="FILE", help="For a program: write its snapshot to FILE.")
@takes_program("memory", metavar="SNAPSHOT|SCRIPT")
def memory_command(
    chosen: Program,
    as_torch: bool,
    gpus: str | None,
    settings: tuple[str, ...],
    capacity: str | None,
    html: str | None,
    save: str | None,
) -> Job:
    """Explain the memory of a snapshot, or of a program.

    SNAPSHOT is a file that torch.cuda.memory._dump_snapshot wrote, in flambeau or in PyTorch; no code in it is run.
    SCRIPT is a Python program, which is run and recorded; the exit status is then the program's.  The explanation says
    how much memory is live, cached, waiting, private and fragmented, at the end and at the peak, and which lines hold
    it.  A replay makes the same allocations with other settings, without the program.

    \b
      flambeau memory snapshot.pickle
      flambeau memory --replay max_split_size_mb:64 --capacity 24GiB snapshot.pickle
      flambeau memory --gpus virtual:1,memory=8GiB --html memory.html train.py --epochs 1
    """
    memory.check_options(list(settings), capacity, html, save)
    if not chosen.is_module and chosen.code is None and memory.is_snapshot(chosen.name):
        given = {"--gpus": gpus, "--save": save, "--as-torch": as_torch, " ".join(chosen.arguments): chosen.arguments}
        if wrong := [name for name, value in given.items() if value]:
            raise click.UsageError(f"{', '.join(wrong)}: only for a program, and {chosen.name!r} is a snapshot")
        return lambda: memory.explain_file(chosen.name, list(settings), capacity, html)

    def run() -> int:
        return _status_of(chosen, gpus, as_torch)

    return lambda: memory.record_program(run, chosen.name, save, list(settings), capacity, html)


@commands.command(
    "trace",
    context_settings=PLAIN_SCRIPT,
    short_help="Write a page of the work of a program's GPUs.",
    epilog=RUN_EPILOG,
)
@click.option("-o", "--output", default="trace.html", show_default=True, metavar="FILE", help="The page to write.")
@click.option(
    "--chrome",
    metavar="FILE",
    help="Write the trace for Perfetto and chrome://tracing too; compressed if the name ends in .gz.",
)
@click.option(
    "--limit",
    type=click.IntRange(min=1),
    default=200_000,
    show_default=True,
    help="Keep at most this many kernels, copies and fills; the page says how many were left out.",
)
@click.option(
    "--gpus",
    callback=checked_gpus,
    metavar="GPUS",
    help="nvidia, none, or virtual:N with the options below.  Default: as for `flambeau run`.",
)
@ranks
@takes_program("trace")
def trace_command(
    chosen: Program,
    as_torch: bool,
    output: str,
    chrome: str | None,
    limit: int,
    gpus: str | None,
    nproc: int | None,
    **cluster: Any,
) -> Job:
    """Run a program and write one page that shows the work of its GPUs; the page works offline.

    The page has the host's threads, streams, copies and memory over time, the cause of each idle gap, the hidden
    synchronizations, and the lines to change first.  Five lines on stdout sum it up.  On virtual GPUs the times are
    modelled.  The page is written even if the program fails or is interrupted; the exit status is the program's.  With
    --nproc, one page shows all ranks.

    \b
      flambeau trace train.py --epochs 1
      flambeau trace -o step.html --chrome step.json.gz train.py
      flambeau trace --gpus virtual:4 --nproc 4 train.py
    """
    from . import trace

    modelled = modelled_cluster(nproc, **cluster)
    if nproc is not None:
        arguments = ["trace", "--limit", str(limit)]
        return lambda: trace.trace_ranks(
            lambda: launch_ranks(nproc, chosen, gpus or pick_gpus(), as_torch, modelled, arguments), output, chrome
        )
    return lambda: trace.trace(lambda: _status_of(chosen, gpus or pick_gpus(), as_torch), output, chrome, limit)


@commands.command("fit", context_settings=PLAIN_SCRIPT, epilog=STRICT_HELP)
@click.option("--card", "cards", multiple=True, metavar="CARD", help=CARDS_HELP)
@click.option(
    "--count",
    type=click.IntRange(1, config.MAX_VIRTUAL_DEVICES),
    default=1,
    show_default=True,
    metavar="N",
    help="Number of these cards.",
)
@click.option(
    "--steps",
    type=click.IntRange(min=1),
    default=3,
    show_default=True,
    metavar="N",
    help="Stop the program after each of its optimizers has made N steps.",
)
@click.option(
    "--batch-option",
    metavar="OPTION",
    help="Name of the program's option for its batch size: report the largest that fits.",
)
@click.option("--values", is_flag=True, help="Compute the values of tensors: slower, and needs their memory here.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object; the program's output goes to stderr.")
@ranks
@takes_program("fit")
def fit_command(
    chosen: Program,
    as_torch: bool,
    cards: tuple[str, ...],
    count: int,
    steps: int,
    batch_option: str | None,
    values: bool,
    as_json: bool,
    nproc: int | None,
    **cluster: Any,
) -> Job:
    """Say whether a training program fits a card, without the card.

    The program's first steps run on virtual GPUs that allocate as on the card, but compute no values: a large model
    takes seconds on a laptop.  The report has the peak of the reserved memory by kind, and the modelled time of a step.
    If the program reads a value (`.item()`), it gets 1 and a warning; a shape that depends on values raises an error.
    With --values all values are computed.  With --nproc N the program runs as rank 0 of N identical ranks: its
    collectives take the time of the links.  The exit status is 0 if the program fits on every card, 1 if not, and the
    program's if it fails.

    \b
      flambeau fit --card rtx4090 train.py
      flambeau fit --card rtx4090 --batch-option=--batch-size train.py --layers 12
      flambeau fit --card h100 --count 8 --nproc 64 --hosts 8 train.py
      flambeau fit --card all --json train.py > fit.json
    """
    from . import fit

    modelled = modelled_cluster(nproc, **cluster)
    if modelled is not None and modelled.stragglers:
        raise click.UsageError("--straggler: flambeau fit models ranks that are all alike\nhint: use flambeau trace")
    asked = fit.Asked(fit.checked_cards(cards), steps, values, batch_option, as_json, nproc)

    def run(arguments: tuple[str, ...]) -> int:
        if nproc is not None:
            from .launch import alike

            os.environ.update(alike(nproc, modelled))  # this process is a fork, which ends with the program
        return _status_of(chosen._replace(arguments=arguments), f"virtual:{count}", as_torch, (OutOfMemoryError,))

    def job() -> None:
        _check(chosen)
        fit.fit(run, chosen.name, chosen.arguments, asked)

    return job


@commands.command("doctor")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def doctor_command(as_json: bool) -> Job:
    """Report the installation on this machine, and missing packages.

    The report has the GPUs, driver, compiler, cuBLAS, the cache of compiled kernels, the extras, and the environment
    variables with values that cannot be used.  It works without a GPU.
    """
    return reporting(lambda: doctor.print_report(as_json))


def _open_closed_files() -> None:
    """Open /dev/null in place of stdout and stderr where the shell has closed them, as in `>&-`."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115  (until the process ends)


def main(argv: list[str] | None = None) -> None:
    """Parse the command line, then run the command outside of click, which would catch a program's exceptions."""
    _open_closed_files()
    try:
        job = commands.main(argv, prog_name="flambeau", standalone_mode=False)
    except click.ClickException as failure:
        failure.show()
        sys.exit(failure.exit_code)
    except click.Abort:
        sys.exit(1)
    except OSError as failure:  # of the help's text
        if failure.errno not in UNWRITABLE:
            raise
        _end_unwritten(failure)
    if callable(job):
        job()
    elif job:  # the exit code of --help and --version, or of no command at all
        sys.exit(job)
