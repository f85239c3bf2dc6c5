"""The `flambeau` command: what it takes, in words.  Data goes to stdout, talk to stderr."""

from __future__ import annotations

import sys
from collections.abc import Callable

import click

from .. import __version__, config
from ..errors import ConfigError
from . import doctor, run

Job = Callable[[], None]
PLAIN_SCRIPT = {"ignore_unknown_options": True, "allow_interspersed_args": False}


def checked_gpus(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    """`nvidia`, `none` or `virtual:N`, with options, as it was written."""
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
    return lambda: run.program(run.Program(script, args, is_module=module), gpus, as_torch)


@commands.command("doctor")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def doctor_command(as_json: bool) -> Job:
    """Say what this machine has, and what to install.

    GPUs, driver, compiler, cuBLAS, the cache of compiled kernels, and the extras.  It works without a GPU.
    """
    return lambda: doctor.print_report(as_json)


def main(argv: list[str] | None = None) -> None:
    """Read the command line, then do what it says outside of click, which would catch a program's exceptions."""
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
