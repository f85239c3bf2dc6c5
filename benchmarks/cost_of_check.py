"""`python -m benchmarks.cost_of_check [--only TEXT] [--json FILE]`: what `flambeau check` adds to a program's time.

On virtual GPUs, each program runs whole under `flambeau run` and under `flambeau check`, in processor seconds without
those of an empty program.  The goal is at most 2 times.  With an NVIDIA GPU, a training of GPT-2's size is measured
there in place of them, per step, under `run` and `check`, and in PyTorch without and with its CUDA Stream Sanitizer;
the goal of `check` is at most 1.5 times, between the medians of three processes each.  `--idle` measures the host's
part of that without a GPU: the processor time of a step, on a driver that does nothing.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from .race_tools import ROOT, for_torch, has_torch, machine_text, nvidia_gpus, run

SECONDS = 90  # that a process may take
SANITIZED = {"TORCH_CUDA_SANITIZER": "1"}
PROCESSES = 3  # per side of a program on an NVIDIA GPU
VIRTUAL_GOAL, NVIDIA_GOAL = 2.0, 1.5
EMPTY = ("-c", "import flambeau; flambeau.ones(1, device='cuda').sum().item()")
SMALL_GPT = "--layers 2 --width 64 --heads 2 --context 32 --batch 2 --vocabulary 200"
TRAINED = "--steps 40 --device cuda"  # of the examples


class Program(NamedTuple):
    """A program to run on virtual GPUs: its name, the GPUs and the arguments of `flambeau run`."""

    name: str
    gpus: str
    arguments: tuple[str, ...]


PROGRAMS = (
    Program("digits, virtual:4", "virtual:4", ("examples/digits.py",)),
    *(
        Program(name, "virtual:1", (f"examples/{name}.py", *TRAINED.split()))
        for name in ("char_gpt", "word_lstm", "digits_cnn", "digits_gan", "digits_vae", "digits_vit")
    ),
    Program("small GPT", "virtual:1", ("benchmarks/gpt_steps.py", *SMALL_GPT.split(), "--out", "/dev/null")),
)
IDLE_MODELS = ("GPT-2 124M", "small GPT", "small GPT, bfloat16")
LARGE = ["--batch", "12", "--context", "1024"]
FORMS = {  # of GPT-2's steps: the type, and the batch's texts and their tokens
    "float32, 4 x 512": (),
    "bfloat16, 4 x 512": ("--bf16",),
    "bfloat16, 12 x 1024": ("--bf16", *LARGE),
}


class Row(NamedTuple):
    """A measurement: without, with, in `unit`; or why there is none."""

    name: str
    unit: str
    without: float
    with_it: float
    goal: float | None
    why: str = ""

    @property
    def text(self) -> str:
        if self.why:
            return f"| {self.name} | {self.why} | | | |"
        ratio = self.with_it / self.without
        goal = "" if self.goal is None else f"≤ {self.goal:g}: {'met' if ratio <= self.goal else 'missed'}"
        figures = f"{self.without:.1f} {self.unit} | {self.with_it:.1f} {self.unit} | {ratio:.2f}"
        return f"| {self.name} | {figures} | {goal} |"


def processor_seconds(command: Sequence[str]) -> float:
    """The processor seconds of a process and its own."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = run(command, {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}, SECONDS)
    if done.status:
        raise RuntimeError(f"{' '.join(command)}: {'longer than' if done.status is None else 'status'} {done.status}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def flambeau(verb: str, gpus: str, *arguments: str) -> list[str]:
    return [sys.executable, "-m", "flambeau", verb, "--gpus", gpus, *arguments]


def virtual_row(program: Program) -> Row:
    """A program's processor seconds without and with `check`, each less those of an empty program."""
    seconds = []
    for verb in ("run", "check"):
        empty = processor_seconds(flambeau(verb, program.gpus, *EMPTY))
        seconds.append(processor_seconds(flambeau(verb, program.gpus, *program.arguments)) - empty)
    return Row(program.name, "s", *seconds, VIRTUAL_GOAL)


def step_ms(command: Callable[[str], list[str]], environment: dict[str, str]) -> float:
    """The time of a step of benchmarks/gpt_steps.py, as it writes it.  command: from the file that it writes."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "steps.json"
        done = run(command(str(out)), environment, SECONDS)
        if not out.exists():
            raise RuntimeError(f"status {done.status}: {done.output.strip()[-200:]}")
        return float(json.loads(out.read_text())["step_ms"])


def medians(sides: Sequence[Callable[[], float]]) -> list[float]:
    """The median of each side's processes, which take turns: a process may have a core that other work slows."""
    return [median(times) for times in zip(*[[side() for side in sides] for _ in range(PROCESSES)])]


def nvidia_rows(folder: Path, gpus: str = "nvidia", options: Sequence[str] = ()) -> dict[str, Callable[[], Row]]:
    """Measurements of the GPT on the GPU by name, each to be made by a call."""
    program = ROOT / "benchmarks" / "gpt_steps.py"

    def ours(name: str, form: str) -> Row:
        def command(verb: str) -> Callable[[str], list[str]]:
            return lambda out: flambeau(verb, gpus, str(program), *options, *FORMS[form], "--out", out)

        pair = medians([partial(step_ms, command(verb), {}) for verb in ("run", "check")])
        return Row(name, "ms", pair[0], pair[1], NVIDIA_GOAL)

    def theirs(name: str, form: str) -> Row:
        copy = str(for_torch(program, folder))

        def command(out: str) -> list[str]:
            return [sys.executable, copy, *options, *FORMS[form], "--out", out]

        pair = medians([partial(step_ms, command, each) for each in ({}, SANITIZED)])
        return Row(name, "ms", pair[0], pair[1], None)

    sides = {"flambeau check": ours, **({"PyTorch's CUDA Stream Sanitizer": theirs} if has_torch() else {})}
    names = [(f"GPT-2, {form}: {side}", form, side) for form in FORMS for side in sides]
    return {name: partial(sides[side], name, form) for name, form, side in names}


IDLE_STEPS, WARM_STEPS = 30, 5
WAIT_EVERY = 5  # steps: how often the host waits for the GPU


def idle_row(name: str) -> Row:
    """The host's time of a step of benchmarks/models.py, without and with `check`: the second fastest."""
    import flambeau as torch
    from flambeau.runtime import machine as machines
    from flambeau.tools.race_report import Checker

    from .data_parallel import use_idle_gpus
    from .models import built, models

    found = []
    for is_checked in (False, True):
        checker = machines.watcher = Checker("real") if is_checked else None
        use_idle_gpus(1, is_checked)
        training, times = built(torch, "cuda", models()[name]), []
        for number in range(WARM_STEPS + IDLE_STEPS):
            begin = time.process_time()
            training.step()
            times.append(1e3 * (time.process_time() - begin))
            if number % WAIT_EVERY == 0:
                torch.cuda.synchronize()
        found.append(sorted(times[WARM_STEPS:])[1])
        if checker is not None:
            machines.watcher = None
            checker.stop()
            report = checker.report([])
            assert not report.races and not report.notes, str(report)
    return Row(f"{name}, idle GPU", "ms", found[0], found[1], None)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cost_of_check", description="What check costs.")
    parser.add_argument("--json", metavar="FILE", help="keep the rows")
    parser.add_argument("--only", metavar="TEXT", default="", help="rows with this text in their name")
    parser.add_argument("--virtual", action="store_true", help="measure virtual GPUs also beside an NVIDIA one")
    parser.add_argument("--idle", action="store_true", help="measure the host's time on a driver that does nothing")
    options = parser.parse_args(arguments)
    gpus = [] if options.virtual else nvidia_gpus()
    head = machine_text(", ".join(gpus)) + f" · {os.cpu_count()} cores"
    print(f"{head}\n\n| program | without | with | ratio | goal |\n| --- | --- | --- | --- | --- |", flush=True)
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as folder:
        jobs: dict[str, Callable[[], Row]]
        if options.idle:
            jobs = {each: partial(idle_row, each) for each in IDLE_MODELS}
        elif gpus:
            jobs = nvidia_rows(Path(folder))
        else:
            jobs = {each.name: partial(virtual_row, each) for each in PROGRAMS}
        for name, job in jobs.items():
            if options.only not in name:
                continue
            try:
                row = job()
            except Exception as failure:  # noqa: BLE001  (one failure must not lose the other rows)
                row = Row(name, "", 0, 0, None, f"{type(failure).__name__}: {failure}".replace("\n", " "))
            rows.append(row)
            print(row.text, flush=True)
            if options.json:
                kept: dict[str, Any] = {"head": head, "rows": [each._asdict() for each in rows]}
                Path(options.json).write_text(json.dumps(kept, indent=1))
    return int(any(row.why for row in rows))


if __name__ == "__main__":
    sys.exit(main())
