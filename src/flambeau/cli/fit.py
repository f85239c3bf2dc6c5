"""`flambeau fit`: says whether a program fits a card, and prints its memory by kind and the time of a step."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from ..config import is_whole_number
from .output import begin_report

if TYPE_CHECKING:
    from ..tools.fit import Fit

LITTLE = 512 << 20  # bytes; a CUDA context takes about as many
NAMES = {"optimizer_state": "optimizer state"}


class Asked(NamedTuple):
    """The options of the command.

    batch_option: the program's option for its batch size, or None.  nproc: the ranks of its job, or None.
    """

    cards: Sequence[str]
    steps: int
    values: bool
    batch_option: str | None
    as_json: bool
    nproc: int | None = None


def checked_cards(names: Sequence[str]) -> list[str]:
    """The cards that `--card` names, each once.  Raises click.UsageError."""
    from ..driver.virtual.card import NAMES, SUFFIX, card
    from ..errors import ConfigError

    every = ", ".join(NAMES)
    if not names:
        raise click.UsageError(f"a card is needed: --card rtx4090, or all\nhint: cards are {every}")
    wanted: list[str] = []
    for name in names:
        if name != "all" and name not in NAMES and not name.endswith(SUFFIX):
            hint = f"use all, one of {every}, or the path of a card's file, which ends in {SUFFIX}"
            raise click.UsageError(f"--card {name}: there is no such card\nhint: {hint}")
        wanted += NAMES if name == "all" else (name,)
    for name in wanted:
        try:
            card(name)
        except ConfigError as error:
            raise click.UsageError(f"--card {name}: {error}") from error
    return list(dict.fromkeys(wanted))


def with_batch(arguments: Sequence[str], option: str, batch: int) -> tuple[str, ...]:
    """A program's arguments with another batch size: in place of the value of its option, or added."""
    changed = list(arguments)
    for at, argument in enumerate(arguments):
        if argument == option and at + 1 < len(arguments):
            changed[at + 1] = str(batch)
            return tuple(changed)
        if argument.startswith(f"{option}="):
            changed[at] = f"{option}={batch}"
            return tuple(changed)
    return (*arguments, option, str(batch))


def without_batch(arguments: Sequence[str], option: str) -> tuple[str, ...]:
    """A program's arguments without the option for its batch size."""
    for at, argument in enumerate(arguments):
        if argument == option or argument.startswith(f"{option}="):
            return (*arguments[:at], *arguments[at + 1 + (argument == option) :])
    return tuple(arguments)


def batch_in(arguments: Sequence[str], option: str) -> int:
    """The batch size among a program's arguments; 1 if there is none."""
    for at, argument in enumerate(arguments):
        text = arguments[at + 1] if argument == option and at + 1 < len(arguments) else argument
        text = text.removeprefix(f"{option}=")
        if (argument == option or argument.startswith(f"{option}=")) and is_whole_number(text):
            return max(1, int(text))
    return 1


def fit(run: Callable[[tuple[str, ...]], int], name: str, arguments: tuple[str, ...], asked: Asked) -> None:
    """Measure a program on the cards, print the report, and exit with the status that `flambeau fit --help` explains.

    run: runs the program with arguments; returns its exit status, or raises OutOfMemoryError.
    """
    from ..tools.fit import Question

    stdout = sys.stdout
    if asked.as_json:
        stdout = os.fdopen(os.dup(1), "w", encoding="utf-8")
        sys.stdout.flush()
        os.dup2(2, 1)
    option = asked.batch_option

    def run_with(batch: int | None) -> int:
        if option is None:
            return run(arguments)
        return run(without_batch(arguments, option) if batch is None else with_batch(arguments, option, batch))

    question = Question(run_with, asked.steps, asked.values, option or "")
    answers: list[Fit] = []
    number = 0  # of the signal that ends the measurements

    def measured(card: str) -> Fit:
        if option is None:
            return question.on(card, bool(answers))

        def tell(batch: int, outcome: str) -> None:
            click.echo(f"flambeau fit: {card}: {option} {batch} {outcome}", err=True)

        return question.largest_batch(card, bool(answers), batch_in(arguments, option), tell)

    try:
        for card in asked.cards:
            answers.append(measured(card))
            number = answers[-1].signal
            if number or (option is not None and answers[-1].fits is None):
                break
    except KeyboardInterrupt:  # between two runs
        number = signal.SIGINT
        if not answers:
            click.echo("flambeau fit: interrupted between two runs", err=True)
            sys.exit(128 + number)
    if asked.as_json:
        print(json.dumps(to_json(name, answers, asked), indent=2), file=stdout, flush=True)
    else:
        begin_report()
        print(f"\nflambeau fit: {text_of(name, answers, asked)}", flush=True)
    failed = next((answer.run.status for answer in answers if answer.fits is None), 0)
    if failed < 0:
        failed = 128 - failed
    sys.exit(128 + number if number else failed or int(not all(answer.fits for answer in answers)))


def to_json(name: str, answers: Sequence[Fit], asked: Asked) -> dict[str, Any]:
    """The report as plain data."""
    cards = [answer.to_json() for answer in answers]
    return {"program": name, "steps": asked.steps, "values": asked.values, "nproc": asked.nproc, "cards": cards}


def text_of(name: str, answers: Sequence[Fit], asked: Asked) -> str:
    """The report as text."""
    how = "values computed" if asked.values else "values not computed"
    steps = max(answer.run.steps for answer in answers)
    ran = f"{steps} optimizer step{'s' * (steps != 1)}" if steps else "no optimizer step"
    if not steps and answers[0].fits is not None:
        ran += ": the whole program"
    of = f", rank 0 of {asked.nproc} that do the same" if asked.nproc else ""
    lines = [f"{name}: {ran}, {how}{of}"]
    shown: dict[str, int] | None = None
    for answer in answers:
        peak = answer.run.peak
        is_shown = peak is not None and peak.kinds == shown  # of the card before
        lines += [*([] if is_shown else [""]), *(f"  {line}" for line in _of_card(answer, asked, not is_shown))]
        shown = None if peak is None else peak.kinds
    return "\n".join(lines)


def _of_card(answer: Fit, asked: Asked, shows_kinds: bool) -> list[str]:
    from ..tools.fit import size

    run, peak, capacity = answer.run, answer.run.peak, answer.capacity
    if answer.fits is None:
        text = f"{answer.card}: unknown: {answer.problem or run.error}"
        if answer.signal and peak is not None:
            text += f"\nthe peak until then: {size(peak.reserved)} of {size(capacity)}"
        return text.replace("\n", "\n  ").split("\n")
    if peak is None:
        return [f"{answer.card}: the program used no GPU"]
    verdict = "fits" if answer.fits else "does not fit"
    lines = []
    if asked.batch_option is not None:
        lines = _of_batch(answer, asked.batch_option)
    else:
        lines.append(f"{answer.card}: {verdict}: {size(peak.reserved)} of {size(capacity)}")
    if answer.shortage:
        lines.append(f"  out of memory at {answer.shortage}")
    if answer.shortage and answer.signal:
        lines.append(f"  {run.error} before its need was known")
    if len(run.peaks) > 1:
        parts = ", ".join(f"cuda:{entry.device} {size(entry.reserved)}" for entry in run.peaks)
        lines.append(f"  the GPU with the highest peak; by GPU: {parts}")
    for kind, nbytes in peak.kinds.items() if shows_kinds else ():
        lines.append(f"    {NAMES.get(kind, kind):<16} {size(nbytes):>12}  {_percent(nbytes, peak.reserved):>5}")
    lines.append(f"  step time {_time(answer)}")
    if answer.fits and capacity - peak.reserved < LITTLE:
        lines.append(f"  only {size(capacity - peak.reserved)} are left, of which the CUDA context takes a part")
    return lines


def _of_batch(answer: Fit, option: str) -> list[str]:
    from ..tools.fit import size

    peak = answer.run.peak
    assert peak is not None
    of = f"{size(peak.reserved)} of {size(answer.capacity)}"
    problem = [f"  {line}" for line in answer.problem.splitlines()]
    if answer.signal:
        known = [f"  {option} {answer.next_batch} does not: {answer.why}"] if answer.next_batch else []
        return [f"{answer.card}: fits with {option} {answer.batch} at least: {of}", *problem, *known]
    if answer.batch is None:
        return [f"{answer.card}: does not fit, even with {option} 1: {of}", *problem]
    if answer.next_batch is None:
        return [f"{answer.card}: fits with {option} {answer.batch}, and larger ones were not tried: {of}", *problem]
    return [
        f"{answer.card}: fits with {option} {answer.batch} at most: {of}",
        f"  {option} {answer.next_batch} does not: {answer.why}",
    ]


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f}%"


def _time(answer: Fit) -> str:
    from ..driver.virtual.card import card

    if answer.run.step_ns is None:
        return "unknown: it takes two optimizer steps to see one"
    mark = "modelled" if card(answer.card).is_calibrated else "modelled, not calibrated"
    return f"{answer.run.step_ns / 1e6:,.2f} ms ({mark})"
