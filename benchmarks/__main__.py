"""`python -m benchmarks`: measure, print one short table, and keep everything with --json FILE."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import flambeau

from . import counts, startup, times
from .report import machine, table


def main() -> None:
    parser = argparse.ArgumentParser(prog="benchmarks", description=__doc__)
    parser.add_argument("--json", type=Path, help="write every figure, with machine and versions, to this file")
    parser.add_argument("--only", default="", help="measure only what has this text in its name")
    parser.add_argument("--rounds", type=int, default=times.ROUNDS, help="rounds per measurement (default %(default)s)")
    parser.add_argument("--no-times", action="store_true", help="counts alone")
    options = parser.parse_args()
    if not flambeau.cuda.is_available():
        flambeau.virtual(1)
    found: dict[str, Any] = {"machine": machine(), "counts": counts.measure(options.only), "times": []}
    if not options.no_times:
        found["times"] = times.measure(options.only, options.rounds) + startup.measure(options.only, options.rounds)
    if options.json:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps(found, indent=1) + "\n")
    print(table(found))


if __name__ == "__main__":
    main()
