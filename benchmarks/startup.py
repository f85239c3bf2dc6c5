"""What a new process waits for: the import, and the first result from the device.

- Milliseconds of wall time of a whole process, or inside it where a program prints them; PyTorch beside flambeau.
- The import is what it takes above `python -c pass`, which is measured in the same round.
- The first result is timed from before the import, in a process whose kernels an earlier one has compiled: it must not
  load the compiler.  Its value is checked.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import flambeau

from .times import is_real, libraries, spread

MAX_ROUNDS = 7  # processes take seconds
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


def measure(only: str = "", rounds: int = MAX_ROUNDS) -> list[dict[str, Any]]:
    """Every start-up time whose name has `only` in it."""
    named = {"import": _import_ms, "first cuda result": _result_ms}
    return [_measured(name, take, min(rounds, MAX_ROUNDS)) for name, take in named.items() if only in name]


def _measured(name: str, take: Any, rounds: int) -> dict[str, Any]:
    figures: dict[str, list[float]] = {side: [] for side in libraries()}
    for side in figures:
        _output(RESULT.format(library=side))  # compiles, and reads every file for the first time
    for _ in range(rounds):
        for side, found in figures.items():
            found.append(take(side))
    return {"name": name, "kind": "startup", "unit": "ms", **{side: spread(each) for side, each in figures.items()}}


def _import_ms(library: str) -> float:
    return _wall_ms(IMPORT.format(library=library)) - _wall_ms(NOTHING)


def _result_ms(library: str) -> float:
    return float(_output(RESULT.format(library=library) + WARM))


def _wall_ms(program: str) -> float:
    start = time.perf_counter()
    _output(program)
    return (time.perf_counter() - start) * 1000


def _output(program: str) -> str:
    sources = str(Path(flambeau.__file__).parents[1])
    path = os.pathsep.join(filter(None, (sources, os.environ.get("PYTHONPATH"))))
    environment = {**os.environ, "PYTHONPATH": path, "FLAMBEAU_GPUS": "nvidia" if is_real() else "virtual:1"}
    command = [sys.executable, "-c", program]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
