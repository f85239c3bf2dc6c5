"""Running a user's program on the chosen GPUs."""

from __future__ import annotations

import os
import runpy
import sys
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import NamedTuple

import click

from .. import config, driver
from . import as_torch

FALLBACK = "virtual:2"


class Program(NamedTuple):
    """A script, or a module's name, and its arguments."""

    name: str
    arguments: tuple[str, ...]
    is_module: bool


def program(chosen: Program, gpus: str | None, wants_torch: bool) -> None:
    """Run a program as `__main__`; what it raises, SystemExit too, comes out, and is shown without our frames."""
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
    """Raises SystemExit if there is no such program."""
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
    """As Python does, from the program's first frame on."""
    shown = _from_program(traceback)
    sys.__excepthook__(kind, error.with_traceback(shown), shown)


def _from_program(traceback: TracebackType | None) -> TracebackType | None:
    """What follows this file and runpy's; the whole if they are not in it."""
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
    """What FLAMBEAU_GPUS says, else the NVIDIA GPUs, else virtual ones; the last two are said on stderr."""
    if config.gpus() is not None:
        return os.environ["FLAMBEAU_GPUS"]
    count = driver.nvidia_device_count()
    if count:
        click.echo(f"flambeau: running on {count} NVIDIA GPU{'s' * (count > 1)}", err=True)
        return "nvidia"
    click.echo("flambeau: no NVIDIA GPU was found; running on 2 virtual GPUs (--gpus chooses)", err=True)
    return FALLBACK
