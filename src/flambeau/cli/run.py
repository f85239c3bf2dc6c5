"""Running a user's program on the chosen GPUs."""

from __future__ import annotations

import os
import runpy
import sys
from pathlib import Path
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
    """Run a program as `__main__`; what it raises, SystemExit too, comes out."""
    if not chosen.is_module and not os.path.exists(chosen.name):
        raise SystemExit(f"flambeau run: there is no file {chosen.name!r} in {os.getcwd()}")
    os.environ["FLAMBEAU_GPUS"] = gpus or pick_gpus()
    if wants_torch:
        as_torch.install()
    sys.argv = [chosen.name, *chosen.arguments]
    if chosen.is_module:
        sys.path.insert(0, os.getcwd())
        runpy.run_module(chosen.name, run_name="__main__", alter_sys=True)
    else:
        sys.path.insert(0, str(Path(chosen.name).resolve().parent))
        runpy.run_path(chosen.name, run_name="__main__")


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
