"""`python -m benchmarks.examples [--only TEXT] [--rounds N]`: training examples on the CPU, beside PyTorch's.

Needs PyTorch and no GPU.  Each program of `examples/` that trains runs with its default options, in a new process,
under flambeau and under PyTorch in turn; PyTorch runs a copy whose imports are its own.  Figures are seconds of a
whole run (data, training, and the test or sample at its end), on the clock and of the processor, medians of the
rounds.  A run of one step before it loads what either library imports late.  Both sides have one thread: on a shared
machine, threads that wait for each other would measure the other programs.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

FOLDER = Path(__file__).parents[1] / "examples"
PROGRAMS = "digits", "digits_cnn", "digits_gan", "digits_vae", "digits_vit", "char_gpt", "word_lstm"
GOAL = 3.0  # × PyTorch's seconds
LIMIT = 120.0  # seconds of a whole process of flambeau's

STEPS = {"digits": "--epochs"}  # the option that says how long a program trains, where it is not --steps

# of a process: arguments are a folder of examples, a program's name, its option of steps, and its options
CHILD = """
import importlib, sys, time
folder, name, steps, *options = sys.argv[1:]
sys.path.insert(0, folder)
program = importlib.import_module(name)
program.main([*options, steps, "1"])
start, start_of_processor = time.perf_counter(), time.process_time()
program.main(options)
print(time.perf_counter() - start, time.process_time() - start_of_processor)
"""
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


class Run(NamedTuple):
    """Seconds of one run, of the processor in it, and of its whole process, with imports and the first step."""

    seconds: float
    processor: float
    process: float


def for_torch(text: str) -> str:
    """A program of flambeau's with PyTorch's imports."""
    text = re.sub(r"^import flambeau as torch$", "import torch", text, flags=re.MULTILINE)
    return re.sub(r"^from flambeau\b", "from torch", text, flags=re.MULTILINE)


def copied(folder: Path) -> dict[str, Path]:
    """Write the programs of each library into a folder of its own."""
    folders = {name: folder / name for name in ("flambeau", "torch")}
    for name, made in folders.items():
        made.mkdir()
        for program in (*PROGRAMS, "training"):
            source = FOLDER / f"{program}.py"
            if name == "flambeau":
                shutil.copy(source, made)
            else:
                (made / source.name).write_text(for_torch(source.read_text()))
    return folders


def run(folder: Path, program: str, options: Sequence[str] = ()) -> Run:
    """Run a program of a folder on the CPU, in a new process."""
    start = time.perf_counter()
    steps = STEPS.get(program, "--steps")
    command = [sys.executable, "-c", CHILD, str(folder), program, steps, "--device", "cpu", *options]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **ONE_THREAD})
    process = time.perf_counter() - start
    if done.returncode:
        raise RuntimeError(f"{program} in {folder} ended with status {done.returncode}:\n{done.stderr}")
    seconds, processor = map(float, done.stdout.splitlines()[-1].split())
    return Run(seconds, processor, process)


def measured(folders: dict[str, Path], program: str, rounds: int, options: Sequence[str] = ()) -> dict[str, Run]:
    """The medians of each library, of runs that alternate."""
    runs: dict[str, list[Run]] = {name: [] for name in folders}
    for _ in range(rounds):
        for name, folder in folders.items():
            runs[name].append(run(folder, program, options))
    return {name: Run(*map(statistics.median, zip(*each, strict=True))) for name, each in runs.items()}


def line(program: str, found: dict[str, Run]) -> str:
    """A row of the table."""
    ours, theirs = found["flambeau"], found["torch"]
    pairs = (ours.seconds, theirs.seconds), (ours.processor, theirs.processor)
    numbers = "".join(f"{own:10.2f}{other:10.2f}{own / other:8.2f}" for own, other in pairs)
    verdict = "met" if ours.seconds <= GOAL * theirs.seconds and ours.process < LIMIT else "missed"
    return f"{program:12}{numbers}{ours.process:10.2f}  {verdict}"


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default="")
    options = parser.parse_args(argv)
    columns = f"{'flambeau':>10}{'torch':>10}{'ratio':>8}"
    print(f"{'':12}{'seconds':>10}{'':18}{'processor':>10}{'':18}{'process':>10}")
    print(f"{'':12}{columns}{columns}{'flambeau':>10}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        folders = copied(Path(folder))
        for program in PROGRAMS:
            if options.only in program:
                print(line(program, measured(folders, program, options.rounds)), flush=True)


if __name__ == "__main__":
    main()
