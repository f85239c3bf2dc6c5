"""Environment variables that a program reads when it starts, checked before a command runs it.

A wrong one is one line on stderr and a usage error, as a wrong option is: the command makes no report.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import click

from .. import config
from ..driver.virtual import faults
from ..errors import ArgumentError, ConfigError
from ..memory import settings


class Problem(NamedTuple):
    """A variable that cannot be read.  what: why, with its name and value.  hint: what to write."""

    what: str
    hint: str

    @property
    def text(self) -> str:
        return f"{self.what}; hint: {self.hint}"


class WrongEnvironment(click.ClickException):
    """A usage error that is one line, without the help of the command."""

    exit_code = click.UsageError.exit_code

    def __init__(self, command: str, problem: Problem) -> None:
        super().__init__(f"flambeau {command}: {problem.text}")

    def show(self, file: Any = None) -> None:
        click.echo(self.message, file=file, err=True)


def check(command: str, overridden: frozenset[str]) -> None:
    """Raise WrongEnvironment for the first variable that cannot be read.

    overridden: the variables that the command sets for the program.
    """
    for problem in problems(overridden):
        raise WrongEnvironment(command, problem)


def problems(overridden: frozenset[str] = frozenset()) -> Iterator[Problem]:
    """Yield what is wrong with the variables that are set."""
    for name, read in READERS.items():
        if not os.environ.get(name) or name in overridden:
            continue
        value = os.environ[name]
        try:
            read(value)
        except (ArgumentError, ConfigError) as failure:
            what, named = failure.what, f"{name}={value!r}"
            if not what.startswith(named):
                what = f"{named}: {what.removeprefix(f'{name}: ')}"
            yield Problem(what, failure.hint or "unset it")


def _read_gpus(text: str) -> None:
    chosen = config.parse_gpus(text)
    if chosen.preset != config.Gpus.preset:
        from ..driver.virtual.card import card  # programs without this option do without it until they use a GPU

        card(chosen.preset)
    if chosen.memory:
        from ..driver.virtual.memory import check_size

        check_size(chosen.memory)


def _read_links(text: str) -> None:
    from ..parallel.links import parsed  # programs of one process do without it

    parsed(text)


def _read_check(_text: str) -> None:
    from ..tools import checked_processes  # programs that are not checked do without it

    if not checked_processes.has_ended():
        checked_processes.settings()


def _read_allocator(name: str) -> Callable[[str], object]:
    def read(text: str) -> None:
        if name == settings.variable():
            settings.parse(text, name)

    return read


READERS: dict[str, Callable[[str], object]] = {
    "FLAMBEAU_GPUS": _read_gpus,
    "FLAMBEAU_STRICT": lambda _: config.strict(),
    "FLAMBEAU_COMPILE_AHEAD": lambda _: config.compile_ahead(),
    "FLAMBEAU_FAULTS": faults.parse,
    "FLAMBEAU_SLOWDOWN": lambda _: config.slowdown(),
    "FLAMBEAU_LINKS": _read_links,
    config.CHECK_FOLDER: _read_check,
    "TORCH_CUDA_CHECK_STRAY_CONTEXT": lambda _: config.stray_contexts(),
    **{name: _read_allocator(name) for name in settings.NAMES},
}
