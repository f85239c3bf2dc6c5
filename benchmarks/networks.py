"""`python -m benchmarks.networks [--only TEXT] [--rounds N] [--json FILE] [--profile]`: training steps of networks.

flambeau beside PyTorch, in one process and one run: time of a step on the device's clock and the host's, peak memory,
and flambeau's launches.  Both start from the same parameters and the same batch, and the losses of the first steps must
agree.  Without an NVIDIA GPU only the launches of small networks are counted.  Exit status 1 if a row failed.
"""

from __future__ import annotations

import argparse
import functools
import gc
import json
import sys
import time
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import flambeau

from .counts import counted
from .goals import Goal, at_most, judged
from .models import Model, Training, built, models, parameters, set_dropout
from .report import conditions, machine, table
from .times import alternated, is_real, libraries, spread

ROUNDS = 9
STEPS = 3  # whose losses are compared
BURST_SECONDS = 0.25  # of steps between two synchronisations
PROFILED = 12  # operators in a profile
MIB = 1 << 20

Row = dict[str, Any]


class Target(NamedTuple):
    """Goals of a network, and how far the losses may be from PyTorch's, relatively."""

    time: Goal
    tolerance: float
    memory: tuple[Goal, ...] = ()


HALF_TOLERANCE, FLOAT_TOLERANCE, TF32_TOLERANCE = 1e-2, 1e-4, 2e-3
TARGETS = {
    "MNIST CNN": Target(at_most(0.5), TF32_TOLERANCE),
    "ResNet-18": Target(at_most(1.0), HALF_TOLERANCE),
    "ResNet-50": Target(at_most(1.0), HALF_TOLERANCE),
    "LSTM language model": Target(at_most(1.0), TF32_TOLERANCE),
    "GPT-2 124M": Target(at_most(0.9), HALF_TOLERANCE, (at_most(1.0),)),
    "small GPT": Target(at_most(0.35), FLOAT_TOLERANCE),
    "small GPT, bfloat16": Target(at_most(0.5), HALF_TOLERANCE),
}


def measured(name: str, model: Model, rounds: int) -> list[Row]:
    """The rows of a network: time of a step, time on the host, and peak memory."""
    target, start = TARGETS[name], time.perf_counter()
    _release()
    trainings = _trainings(model)
    losses = {side: first_losses(libraries()[side], training) for side, training in trainings.items()}
    with counted() as counts:
        trainings["flambeau"].step()
    burst = max(1, min(100, int(BURST_SECONDS / _seconds("flambeau", trainings["flambeau"], 2))))
    whole = alternated(
        {side: functools.partial(_whole_ms, side, each, burst) for side, each in trainings.items()}, rounds
    )
    host = alternated({side: functools.partial(_host_ms, side, each) for side, each in trainings.items()}, rounds)
    first = _row(name, "ms", whole, (target.time,))
    first |= {"losses": losses, "counts": dict(sorted(counts.items())), "burst": burst}
    if (difference := disagreement(losses)) > target.tolerance:
        ratio = f", ratio {first['ratio']:.3g}" if "ratio" in first else ""
        first["error"] = f"losses differ by {difference:.1e}, more than {target.tolerance:.0e}: {losses}{ratio}"
    rows = [first, _row(f"{name}, host", "ms", host)]
    for kind in ("reserved", "allocated"):
        figures = {side: spread([_peak(side, kind)]) for side in trainings}
        rows.append(_row(f"{name}, {kind}", "MiB", figures, target.memory))
    first["seconds"] = round(time.perf_counter() - start, 2)
    return rows


def _release() -> None:
    """Give back what the network before has left, and forget its peak."""
    gc.collect()
    for library in libraries().values():
        library.cuda.synchronize()
        library.cuda.empty_cache()
        library.cuda.reset_peak_memory_stats()


def _trainings(model: Model) -> dict[str, Training]:
    """One of each library, with flambeau's initial parameters."""
    ours = built(flambeau, "cuda", model)
    state = parameters(ours)
    others = {side: built(each, "cuda", model, state) for side, each in libraries().items() if side != "flambeau"}
    return {"flambeau": ours, **others}


def first_losses(library: Any, training: Training) -> list[float]:
    """The losses of the first steps, without dropout."""
    set_dropout(library, training.net, False)
    found = [training.step().item() for _ in range(STEPS)]
    set_dropout(library, training.net, True)
    return found


def disagreement(losses: dict[str, list[float]]) -> float:
    """The largest relative difference from PyTorch's loss; infinite for NaN, 0 where PyTorch is missing."""
    pairs = zip(losses["flambeau"], losses.get("torch", losses["flambeau"]), strict=True)
    differences = [abs(ours - theirs) / abs(theirs) for ours, theirs in pairs]
    return max(each if each == each else float("inf") for each in differences)


def _row(what: str, unit: str, figures: dict[str, Any], goals: tuple[Goal, ...] = ()) -> Row:
    return {"what": what, "unit": unit, "seconds": 0.0, **figures, **judged(goals, figures, unit)}


def _seconds(side: str, training: Training, count: int) -> float:
    """Of a step, with its work on the device."""
    synchronize = libraries()[side].cuda.synchronize
    synchronize()
    start = time.perf_counter()
    for _ in range(count):
        training.step()
    synchronize()
    return (time.perf_counter() - start) / count


def _whole_ms(side: str, training: Training, count: int) -> float:
    return 1e3 * _seconds(side, training, count)


def _host_ms(side: str, training: Training) -> float:
    """Until the calls of one step return."""
    synchronize = libraries()[side].cuda.synchronize
    synchronize()
    start = time.perf_counter()
    training.step()
    taken = time.perf_counter() - start
    synchronize()
    return 1e3 * taken


def _peak(side: str, kind: str) -> float:
    return float(getattr(libraries()[side].cuda, f"max_memory_{kind}")()) / MIB


def profiles(name: str, model: Model) -> Row:
    """The kernels of a step that take most of the device's time: name, launches and microseconds."""
    _release()
    found: Row = {"what": name}
    for side, training in _trainings(model).items():
        library = libraries()[side]
        for _ in range(2):
            training.step()
        library.cuda.synchronize()
        with library.profiler.profile(activities=[library.profiler.ProfilerActivity.CUDA]) as profile:
            training.step()
            library.cuda.synchronize()
        events = sorted(profile.key_averages(), key=lambda event: -event.device_time_total)
        found[side] = [(event.key, event.count, round(event.device_time_total, 1)) for event in events[:PROFILED]]
        found[f"{side} total"] = round(sum(event.device_time_total for event in events), 1)
    return found


def profile_text(found: Row) -> str:
    """A profile as lines."""
    lines = []
    for side in libraries():
        lines.append(f"\n{found['what']}, {side}: {found[f'{side} total']:.0f} µs of kernels")
        lines += [f"  {taken:10.1f} µs {count:5} x {kernel[:100]}" for kernel, count, taken in found[side]]
    return "\n".join(lines)


def launches(name: str, model: Model) -> Row:
    """Counts of a warm step of flambeau's."""
    training = built(flambeau, "cuda", model)
    for _ in range(STEPS):
        training.step()
    with counted() as counts:
        training.step()
    return {"name": name, "counts": dict(sorted(counts.items()))}


def _failed(name: str) -> Row:
    """A row for the exception that is being handled."""
    traceback.print_exc()
    kind, failure, _ = sys.exc_info()
    assert kind is not None
    return {"what": name, "unit": "ms", "seconds": 0.0, "target": "", "error": f"{kind.__name__}: {failure}"}


def rows(options: argparse.Namespace) -> Iterator[Row]:
    """Each row as it is done; a failure is a row."""
    for name, model in models().items():
        if options.only in name:
            try:
                yield from measured(name, model, options.rounds)
            except Exception:  # noqa: BLE001 (whatever is wrong with one network, the others are measured)
                yield _failed(name)


def set_precision(library: Any) -> None:
    """Set PyTorch's defaults: TF32 in convolutions, float32 in products."""
    library.backends.cudnn.allow_tf32 = True
    library.backends.cuda.matmul.allow_tf32 = False
    library.backends.cudnn.benchmark = False


def run(options: argparse.Namespace) -> Row:
    """Measure; the file is written after every row, so that a run which is cut short leaves what it had."""
    for library in libraries().values():
        set_precision(library)
    found: Row = {"machine": machine(), "counts": [], "rows": [], "profiles": []}
    for row in rows(options):
        found["rows"].append(row)
        if "counts" in row:
            found["counts"].append({"name": row["what"], "counts": row["counts"]})
        found["machine"] |= conditions()
        print(f"{row['seconds']:6.1f} s  {row['what']}  {row.get('error', '')}", file=sys.stderr, flush=True)
        keep(found, options.json)
    for name, model in models().items() if options.profile else ():
        if options.only in name:
            try:
                found["profiles"].append(profiles(name, model))
                print(profile_text(found["profiles"][-1]), flush=True)
            except Exception:  # noqa: BLE001
                found["profiles"].append(_failed(name))
            keep(found, options.json)
    return found


def keep(found: Row, file: Path | None) -> None:
    if file is not None:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(found, indent=1) + "\n")


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.networks", description=__doc__)
    parser.add_argument("--json", type=Path, help="keep every figure, with machine and versions, in this file")
    parser.add_argument("--only", default="", help="only networks with this text in their name")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="rounds per measurement (default %(default)s)")
    parser.add_argument("--profile", action="store_true", help="also the kernels that take most time, after the rows")
    options = parser.parse_args(argv)
    if not flambeau.cuda.is_available():
        flambeau.virtual(1)
    if not is_real():
        counts = [launches(name, model) for name, model in models(small=True).items() if options.only in name]
        print(table({"machine": machine(), "counts": counts, "rows": []}))
        return 0
    found = run(options)
    print(table(found))
    return int(any("error" in row for row in found["rows"]))


if __name__ == "__main__":
    sys.exit(main())
