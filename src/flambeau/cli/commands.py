"""The `flambeau` command: `run` and `doctor`.  Data goes to stdout, messages to stderr."""

from __future__ import annotations

import os
import runpy
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import NamedTuple

import click

from .. import __version__, config, driver
from ..errors import LACKING, ConfigError
from . import as_torch, doctor

FALLBACK = "virtual:2"


class Program(NamedTuple):
    """A script, or a module's name, and its arguments."""

    name: str
    arguments: tuple[str, ...]
    is_module: bool


def program(chosen: Program, gpus: str | None, wants_torch: bool) -> None:
    """Run a program as `__main__`.

    Raises: the program's exceptions, SystemExit too; they are printed without the frames of this command.
    """
    sys.path.insert(0, os.getcwd() if chosen.is_module else str(Path(chosen.name).resolve().parent))
    _check(chosen)
    os.environ["FLAMBEAU_GPUS"] = gpus or pick_gpus()
    if wants_torch:
        as_torch.install()
    sys.argv = [chosen.name, *chosen.arguments]
    sys.excepthook = _show
    if chosen.is_module:
        runpy.run_module(chosen.name, run_name="__main__", alter_sys=True)
    else:
        runpy.run_path(chosen.name, run_name="__main__")


def _check(chosen: Program) -> None:
    """Raise SystemExit if there is no such program."""
    if not chosen.is_module:
        if not os.path.exists(chosen.name):
            raise SystemExit(f"flambeau run: there is no file {chosen.name!r} in {os.getcwd()}")
    elif not _is_there(chosen.name):
        raise SystemExit(f"flambeau run: there is no module {chosen.name!r} in {os.getcwd()} or on Python's path")


def _is_there(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # of a package above it
        return False


def _show(kind: type[BaseException], error: BaseException, traceback: TracebackType | None) -> None:
    """Print an exception as Python does, from the program's first frame on."""
    shown = _from_program(traceback)
    if isinstance(error, ImportError) and str(error.name).partition(".")[0] in (as_torch.NAME, as_torch.OURS):
        error.add_note(f"hint: {LACKING}")
    sys.__excepthook__(kind, error.with_traceback(shown), shown)


def _from_program(traceback: TracebackType | None) -> TracebackType | None:
    """The traceback's part after this file and runpy; the whole traceback if they are not in it."""
    machinery = (__file__, runpy.run_path.__code__.co_filename)
    rest, is_inside = traceback, False
    while rest is not None:
        file = rest.tb_frame.f_code.co_filename
        is_inside = is_inside or file == __file__
        if is_inside and file not in machinery:
            return rest
        rest = rest.tb_next
    return None if is_inside else traceback


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


Job = Callable[[], None]
PLAIN_SCRIPT = {"ignore_unknown_options": True, "allow_interspersed_args": False}


def checked_gpus(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    """Check the syntax of --gpus and return its text."""
    try:
        if value is not None:
            config.parse_gpus(value)
    except ConfigError as failure:
        raise click.BadParameter(str(failure), ctx, param) from failure
    return value


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, message="flambeau %(version)s")
def commands() -> None:
    """Run programs on NVIDIA GPUs, or on virtual GPUs that need no hardware."""


@commands.command("run", context_settings=PLAIN_SCRIPT)
@click.option(
    "--gpus",
    callback=checked_gpus,
    metavar="GPUS",
    help="nvidia, none, or virtual:N[,memory=2GiB][,races=poison|error|real][,schedule=seeded:7].  "
    "Without it: what FLAMBEAU_GPUS says, else the NVIDIA GPUs there are, else virtual:2.",
)
@click.option("--as-torch", is_flag=True, help="Let `import torch` and its submodules find flambeau.")
@click.option("-m", "--module", is_flag=True, help="SCRIPT is the name of a module, as for `python -m`.")
@click.argument("script")
@click.argument("args", nargs=-1, type=click.UNPROCESSED)
def run_command(gpus: str | None, as_torch: bool, module: bool, script: str, args: tuple[str, ...]) -> Job:
    """Run a Python program on GPUs, real or virtual.

    Everything after SCRIPT belongs to the program.  Its exit code and its exceptions are this command's.

    \b
      flambeau run train.py --epochs 3
      flambeau run --gpus virtual:4,races=error train.py
      flambeau run --gpus virtual:2 --as-torch -m package.train
    """
    return lambda: program(Program(script, args, is_module=module), gpus, as_torch)


@commands.command("doctor")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def doctor_command(as_json: bool) -> Job:
    """Report the installation on this machine, and missing packages.

    GPUs, driver, compiler, cuBLAS, the cache of compiled kernels, and the extras.  It works without a GPU.
    """
    return lambda: doctor.print_report(as_json)


def main(argv: list[str] | None = None) -> None:
    """Parse the command line, then run the command outside of click, which would catch a program's exceptions."""
    try:
        job = commands.main(argv, prog_name="flambeau", standalone_mode=False)
    except click.ClickException as failure:
        failure.show()
        sys.exit(failure.exit_code)
    except click.Abort:
        sys.exit(1)
    if callable(job):
        job()
    elif job:  # the exit code of --help and --version, or of no command at all
        sys.exit(job)
