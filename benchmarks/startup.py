"""Start-up times of a new process: the import, and the first result from the device.

- Milliseconds of wall time of a whole process, or inside it where a program prints them; PyTorch beside flambeau.
- The import is what it takes above `python -c pass`, which is measured in the same round.
- The first result is timed from before the import, in a process whose kernels an earlier one has compiled: it must not
  load the compiler.  Its value is checked.
"""

from __future__ import annotations

import functools
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import flambeau

from .goals import Goal, at_most
from .times import attempted, is_real, libraries, spread

ROUNDS = {"flambeau": 5, "torch": 2}  # PyTorch's processes take seconds
NOTHING = "pass"
IMPORT = "import {library}"
RESULT = """
import time
start = time.perf_counter()
import {library} as torch
x = torch.ones(64, 64, device="cuda") + 1
total = x.sum().item()
taken = time.perf_counter() - start
assert total == 64 * 64 * 2, total
print(taken * 1000)
"""
WARM = """
import sys
assert "cuda.bindings.nvrtc" not in sys.modules, "the compiler was loaded"
"""


def measure(only: str = "") -> Iterator[dict[str, Any]]:
    """Every start-up time whose name has `only` in it."""
    for name, (take, goal) in ROWS.items():
        if only in name:
            yield attempted(name, functools.partial(_measured, take), (goal,), "ms")


def _measured(take: Callable[[str], float]) -> dict[str, Any]:
    sides = [side for side in ROUNDS if side in libraries()]
    _output(RESULT.format(library="flambeau"))  # compiles, and reads every file; PyTorch's were read by this process
    figures: dict[str, list[float]] = {side: [] for side in sides}
    for number in range(max(ROUNDS.values())):
        for side in sides:
            if number < ROUNDS[side]:
                figures[side].append(take(side))
    return {side: spread(each) for side, each in figures.items()}


def _import_ms(library: str) -> float:
    return _wall_ms(IMPORT.format(library=library)) - _wall_ms(NOTHING)


def _result_ms(library: str) -> float:
    return float(_output(RESULT.format(library=library) + (WARM if library == "flambeau" else "")))


def _wall_ms(program: str) -> float:
    start = time.perf_counter()
    _output(program)
    return (time.perf_counter() - start) * 1000


def _output(program: str) -> str:
    sources = str(Path(flambeau.__file__).parents[1])
    path = os.pathsep.join(filter(None, (sources, os.environ.get("PYTHONPATH"))))
    environment = {**os.environ, "PYTHONPATH": path, "FLAMBEAU_GPUS": "nvidia" if is_real() else "virtual:1"}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # installed packages have their bytecode
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


ROWS: dict[str, tuple[Callable[[str], float], Goal]] = {
    "import": (_import_ms, at_most(120, "")),
    "first cuda result": (_result_ms, at_most(600, "")),
}
