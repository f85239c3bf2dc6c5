"""`python -m benchmarks [--json FILE]`: measure, and print one table, furthest from its target first.

`python -m benchmarks report FILE` prints the table of a kept run again; `python -m benchmarks chart FILE OUT.svg`
draws it.  Without an NVIDIA GPU only the counts are made.  Exit status 1 if a row failed.
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import flambeau

from . import (
    counts,
    device_rows,
    graph_rows,
    host_rows,
    image_rows,
    product_rows,
    recurrent_rows,
    sharing_rows,
    startup,
    times,
)
from .chart import drawn
from .report import conditions, machine, table
from .times import ROUNDS


def main(argv: list[str] | None = None) -> int:
    options = _parser().parse_args(argv)
    if options.command == "report":
        print(table(_read(options.file)))
        return 0
    if options.command == "chart":
        options.out.write_text(drawn(_read(options.file)))
        return 0
    found = run(options)
    print(table(found))
    return int(any("error" in row for row in found["rows"]))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="benchmarks", description=__doc__)
    parser.add_argument("--json", type=Path, help="keep every figure, with machine and versions, in this file")
    parser.add_argument("--only", default="", help="measure only what has this text in its name")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="rounds per measurement (default %(default)s)")
    parser.add_argument("--no-times", action="store_true", help="counts alone")
    commands = parser.add_subparsers(dest="command")
    report = commands.add_parser("report", help="print the table of a kept run")
    report.add_argument("file", type=Path)
    chart = commands.add_parser("chart", help="draw a kept run")
    chart.add_argument("file", type=Path)
    chart.add_argument("out", type=Path)
    return parser


def _read(file: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(file.read_text())
    return found


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Measure; the file is written after every row, so that a run which is cut short leaves what it had."""
    if not flambeau.cuda.is_available():
        flambeau.virtual(1)
    found: dict[str, Any] = {"machine": machine(), "counts": counts.measure(options.only), "rows": []}
    for row in () if options.no_times else rows(options.only, options.rounds):
        found["rows"].append(row)
        found["machine"] |= conditions()
        print(f"{row['seconds']:6.1f} s  {row['what']}  {row.get('error', '')}", file=sys.stderr, flush=True)
        _keep(found, options.json)
    _keep(found, options.json)
    return found


def _keep(found: dict[str, Any], file: Path | None) -> None:
    if file is not None:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(found, indent=1) + "\n")


def rows(only: str, rounds: int) -> Iterator[dict[str, Any]]:
    """The measurements; none on virtual GPUs, whose time says nothing."""
    if not times.is_real():
        return iter(())
    kinds = host_rows, graph_rows, sharing_rows, device_rows, image_rows, product_rows, recurrent_rows
    every = [row for kind in kinds for row in kind.ROWS]
    return itertools.chain(times.measure(every, only, rounds), startup.measure(only))


if __name__ == "__main__":
    sys.exit(main())
