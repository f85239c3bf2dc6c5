"""`python -m benchmarks.scaling [--only TEXT] [--rounds N] [--json FILE] [--small]`: weak scaling on two GPUs.

A step is forward, backward and the optimizer's step.  The scaling is the time of a step on one GPU divided by the time
on two GPUs with as many rows on each: 1 is linear.  flambeau and PyTorch, if it is installed, are measured in one run.

- DataParallel: in this process.  The module returns its loss, and the losses of the GPUs are averaged.
- DistributedDataParallel: a process per GPU, and NCCL.  The libraries follow one another, in processes of their own.
  Rank 0 also times the step without the wrapper, while the other rank waits.
- Every GPU gets the same rows, so the losses of the first steps must be those of one GPU.  These steps warm up.
- Times are host time of a burst of steps and the wait for all GPUs.  Rounds alternate between one and two GPUs.
- Exit status 1 if a row failed.
"""

from __future__ import annotations

import argparse
import functools
import gc
import importlib
import itertools
import json
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import flambeau

from .goals import Goal, at_least
from .models import Library, Training, gpt, models, residual_net
from .networks import FLOAT_TOLERANCE, HALF_TOLERANCE, STEPS, keep, set_precision
from .perceptron import BATCH, WIDTHS
from .report import aligned, cell, conditions, machine, ordered, summary
from .times import attempted, libraries, spread

ROUNDS = 5
GPUS = 2
RANKS_SECONDS = 90  # until the ranks of one library are stopped
DISTRIBUTED_GOAL = at_least(0.97, "")
NAMES = {"flambeau": "flambeau", "torch": "PyTorch"}
HEADINGS = ("what", *(f"{name}, {count}" for name in NAMES.values() for count in ("1 GPU, ms", "2 GPUs, ms")))
HEADINGS = (*HEADINGS, *(f"{name}, scaling" for name in NAMES.values()), "goal", "")

Found = dict[str, Any]


class Network(NamedTuple):
    """A network and its training.

    arrays: the batch of one GPU.  make: a module of a library that returns the loss.  goal: of DataParallel.
    half: autocast to bfloat16.  steps: of a burst.
    """

    arrays: Callable[[], list[Any]]
    make: Callable[[Library], Any]
    optimizer: Callable[[Library, Any], Any]
    goal: Goal
    half: bool
    steps: int


def with_loss(library: Library, net: Any) -> Any:
    """A module that calls `net` and returns the cross entropy of its scores."""
    nn = library.nn

    class WithLoss(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.net = net

        def forward(self, x: Any, classes: Any) -> Any:
            return nn.functional.cross_entropy(self.net(x), classes)

    return WithLoss()


def autocasting(library: Library, net: Any, kind: str) -> Any:
    """A module that calls `net` in bfloat16.

    PyTorch's DataParallel enables autocast in its threads, but with the default type, so autocast is in the forward.
    """
    nn = library.nn

    class Autocasting(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.net = net

        def forward(self, *inputs: Any) -> Any:
            with library.autocast(kind, dtype=library.bfloat16):
                return self.net(*inputs)

    return Autocasting()


def _tokens(name: str, small: bool, batch: int, goal: float, steps: int) -> Network:
    """A GPT of benchmarks.networks, with a batch of its own."""
    model = models(small)[name]
    shape = {key: value for key, value in model.sizes.items() if key not in ("batch", "half")}
    return Network(
        lambda: model.arrays(np.random.default_rng(0), batch=2 if small else batch, **shape),
        lambda library: gpt(library, **shape),
        lambda library, parameters: library.optim.AdamW(parameters, lr=6e-4, betas=(0.9, 0.95), weight_decay=0.1),
        at_least(goal, ""), model.sizes["half"], steps,
    )  # fmt: skip


def _images(small: bool, goal: float, steps: int) -> Network:
    model = models(small)["ResNet-50"]
    shape = {key: model.sizes[key] for key in ("blocks", "bottleneck", "width", "classes")}
    return Network(
        lambda: model.arrays(np.random.default_rng(0), **model.sizes),
        lambda library: with_loss(library, residual_net(library, **shape)).to(memory_format=library.channels_last),
        lambda library, parameters: library.optim.SGD(parameters, lr=0.01, momentum=0.9, weight_decay=1e-4),
        at_least(goal, ""), True, steps,
    )  # fmt: skip


def _perceptron(goal: float, steps: int) -> Network:
    def arrays() -> list[Any]:
        random = np.random.default_rng(0)
        return [random.standard_normal((BATCH, WIDTHS[0]), np.float32), random.integers(0, WIDTHS[-1], BATCH)]

    def make(library: Library) -> Any:
        nn = library.nn
        first, second, last = (nn.Linear(*pair) for pair in itertools.pairwise(WIDTHS))
        return with_loss(library, nn.Sequential(first, nn.ReLU(), second, nn.ReLU(), last))

    return Network(
        arrays, make, lambda library, parameters: library.optim.AdamW(parameters, lr=1e-3),
        at_least(goal, ""), False, steps,
    )  # fmt: skip


def networks(small: bool = False) -> dict[str, Network]:
    """Each network by name; `small` ones train on virtual GPUs within a second."""
    return {
        "GPT-2 124M, batch 8": _tokens("GPT-2 124M", small, 8, 0.93, 6),
        "GPT-2 124M, batch 16": _tokens("GPT-2 124M", small, 16, 0.96, 4),
        "ResNet-50, batch 128": _images(small, 0.95, 6),
        "small GPT, batch 32": _tokens("small GPT", small, 32, 0.85, 15),
        "MLP, batch 64": _perceptron(0.714, 50),  # two GPUs take at most 1.4 times the time of one
    }


def training(
    library: Library, network: Network, device: str, copies: int = 1, wrap: Callable[[Any], Any] = lambda net: net
) -> Training:
    """A training on `device`, of a batch with `copies` times the rows of one GPU, by a wrapped module."""
    batch = [library.from_numpy(np.concatenate([each] * copies)).to(device) for each in network.arrays()]
    batch = [each.to(memory_format=library.channels_last) if each.dim() == 4 else each for each in batch]
    library.manual_seed(0)
    with library.device(device):
        net = network.make(library)
    net = autocasting(library, net, device.partition(":")[0]) if network.half else net
    module = wrap(net)
    optimizer = network.optimizer(library, net.parameters())

    def step() -> Any:
        optimizer.zero_grad()
        loss = module(*batch).mean()
        loss.backward()
        optimizer.step()
        return loss

    return Training(net, step)


def wait_for_all(library: Library) -> None:
    for index in range(library.cuda.device_count()):
        library.cuda.synchronize(index)


def step_ms(one: Training, count: int, wait: Callable[[], None]) -> float:
    """Milliseconds of a step in a burst of `count`, with the work on the GPUs."""
    wait()
    start = time.perf_counter()
    for _ in range(count):
        one.step()
    wait()
    return 1e3 * (time.perf_counter() - start) / count


def release(library: Library) -> None:
    """Return unused memory of a library to the GPUs."""
    gc.collect()
    wait_for_all(library)
    library.cuda.empty_cache()


def data_parallel(library: Library, network: Network, rounds: int) -> Found:
    """Times and first losses of one GPU, and of DataParallel on two."""
    release(library)
    wait = functools.partial(wait_for_all, library)
    trainings = {
        "one": training(library, network, "cuda:0"),
        "two": training(
            library, network, "cuda:0", GPUS, lambda net: library.nn.DataParallel(net, device_ids=list(range(GPUS)))
        ),
    }
    losses = {count: first_losses(each) for count, each in trainings.items()}
    times: dict[str, list[float]] = {count: [] for count in trainings}
    for _ in range(rounds):
        for count, each in trainings.items():
            times[count].append(step_ms(each, network.steps, wait))
    return {"ms": times, "losses": losses}


def first_losses(one: Training) -> list[float]:
    return [float(one.step().item()) for _ in range(STEPS)]


def distributed(library: Library, network: Network, rounds: int, rank: int, device: str) -> Found:
    """Times and first losses of rank 0 alone without a wrapper, and of DistributedDataParallel on all ranks."""
    wait = library.cuda.synchronize if device.startswith("cuda") else lambda: None
    gc.collect()
    library.cuda.empty_cache()
    options = {"device_ids": [rank]} if device.startswith("cuda") else {}
    shared = training(
        library, network, device, wrap=lambda net: library.nn.parallel.DistributedDataParallel(net, **options)
    )
    trainings = {"one": training(library, network, device), "two": shared} if rank == 0 else {"two": shared}
    losses = {count: first_losses(each) for count, each in trainings.items()}
    times: dict[str, list[float]] = {"one": [], "two": []}
    for _ in range(rounds):
        for count in times:
            wait()
            library.distributed.barrier()
            if count in trainings:
                times[count].append(step_ms(trainings[count], network.steps, wait))
    return {"ms": times, "losses": losses}


def tried(measure: Callable[[], Found]) -> Found:
    """The figures, or the error, which must not stop the other library or network."""
    try:
        return measure()
    except Exception as failure:  # noqa: BLE001
        traceback.print_exc()
        return {"error": f"{type(failure).__name__}: {failure}"}


def run_rank(side: str, rank: int, count: int, folder: Path, options: argparse.Namespace) -> None:
    """Measure one library as one of its ranks; rank 0 writes the figures after every network."""
    library = importlib.import_module(side)
    on_gpu = library.cuda.is_available()
    device = f"cuda:{rank}" if on_gpu else "cpu"
    if on_gpu:
        library.cuda.set_device(rank)
    set_precision(library)
    group = library.distributed
    group.init_process_group(
        "nccl" if on_gpu else "gloo", init_method=f"file://{folder}/{side}", rank=rank, world_size=count
    )
    found = {}
    for name, network in networks(options.small).items():
        if options.only in f"{name}, DistributedDataParallel":
            found[name] = tried(functools.partial(distributed, library, network, options.rounds, rank, device))
            if rank == 0:
                keep(found, folder / f"{side}.json")
    group.barrier()
    group.destroy_process_group()


def run_ranks(side: str, options: argparse.Namespace) -> Found:
    """Start the ranks of a library; return the figures of each network that rank 0 found."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "benchmarks.scaling", "--side", side, "--folder", folder]
        command += ["--only", options.only, "--rounds", str(options.rounds), *["--small"] * options.small]
        started = [subprocess.Popen([*command, "--rank", str(rank)]) for rank in range(GPUS)]
        end = time.monotonic() + RANKS_SECONDS
        try:
            for rank in started:
                rank.wait(max(0.0, end - time.monotonic()))
        except subprocess.TimeoutExpired:
            print(f"the ranks of {side} took more than {RANKS_SECONDS} s", file=sys.stderr)
        finally:
            for rank in started:
                rank.kill()  # one that has failed leaves the other waiting
                rank.wait()
        file = Path(folder, f"{side}.json")
        found: Found = json.loads(file.read_text()) if file.exists() else {}
        return found


def joined(found: Found, tolerance: float) -> Found:
    """The figures of a row, from those of each library.  Raises RuntimeError if flambeau's are missing or wrong."""
    row: Found = {"ms": {}, "losses": {}}
    for side, figures in found.items():
        problem = figures.get("error")
        if problem is None and not np.allclose(figures["losses"]["two"], figures["losses"]["one"], rtol=tolerance):
            problem = f"losses of one and two GPUs differ by more than {tolerance:g}: {figures['losses']}"
        if problem is not None:
            if side == "flambeau":
                raise RuntimeError(problem)
            row[f"{side} error"] = problem
            continue
        one, two = figures["ms"]["one"], figures["ms"]["two"]
        row["ms"][side] = {"one": spread(one), "two": spread(two)}
        row["losses"][side] = figures["losses"]
        row[side] = spread([alone / both for alone, both in zip(one, two, strict=True)])
    return row


def tolerance_of(network: Network) -> float:
    return HALF_TOLERANCE if network.half else 10 * FLOAT_TOLERANCE


def rows(options: argparse.Namespace) -> Iterator[Found]:
    """Each row as it is done; a failure is a row."""
    chosen = networks(options.small)

    def in_one_process(network: Network) -> Found:
        found = {}
        for side, library in libraries().items():
            found[side] = tried(functools.partial(data_parallel, library, network, options.rounds))
            release(library)
        return joined(found, tolerance_of(network))

    for name, network in chosen.items():
        what = f"{name}, DataParallel"
        if options.only in what:
            yield attempted(what, functools.partial(in_one_process, network), (network.goal,), "")
    named = {name: what for name in chosen if options.only in (what := f"{name}, DistributedDataParallel")}
    found = {side: run_ranks(side, options) for side in libraries()} if named else {}
    for name, what in named.items():
        figures = {side: each.get(name, {"error": "the ranks did not finish"}) for side, each in found.items()}
        take = functools.partial(joined, figures, tolerance_of(chosen[name]))
        yield attempted(what, take, (DISTRIBUTED_GOAL,), "")


def table(found: Found) -> str:
    """The rows, furthest from their goals first."""
    where = found["machine"]
    versions = ", ".join(f"{name} {version}" for name, version in where["versions"].items() if version)
    lines = [f"{', '.join(where['gpus'])} · {where['cpu']}", f"{where['date']} · Python {where['python']} · {versions}"]
    lines += ["", "median (10th to 90th percentile), furthest from its goal first", ""]
    lines += aligned([HEADINGS, *map(_cells, ordered(found["rows"]))])
    lines += [f"{row['what']}, PyTorch: {row['torch error']}" for row in found["rows"] if "torch error" in row]
    return "\n".join([*lines, "", summary(found["rows"])])


def _cells(row: Found) -> tuple[str, ...]:
    if "error" in row:
        return row["what"], f"error: {' '.join(row['error'].split())}"
    times = [cell(row["ms"].get(side, {}).get(count)) for side in NAMES for count in ("one", "two")]
    return row["what"], *times, *(cell(row.get(side)) for side in NAMES), row["target"].strip(), row["verdict"]


def run(options: argparse.Namespace) -> Found:
    """Measure; the file is written after every row, so that a run which is cut short leaves what it had."""
    for library in libraries().values():
        set_precision(library)
    found: Found = {"machine": machine(), "rows": []}
    for row in rows(options):
        found["rows"].append(row)
        found["machine"] |= conditions()
        figures = ", ".join(f"{side} {cell(row[side])}" for side in NAMES if side in row)
        print(f"{row['seconds']:6.1f} s  {row['what']}  {figures} {row.get('error', '')}", file=sys.stderr, flush=True)
        keep(found, options.json)
    return found


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.scaling", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--json", type=Path, help="keep every figure, with machine and versions, in this file")
    parser.add_argument("--only", default="", help="only rows with this text in their name")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="rounds per measurement (default %(default)s)")
    parser.add_argument("--small", action="store_true", help="tiny networks, for a trial on virtual GPUs")
    for name in ("--side", "--folder", "--rank"):  # of a rank
        parser.add_argument(name, type={"--rank": int, "--folder": Path}.get(name, str), help=argparse.SUPPRESS)
    options = parser.parse_args(argv)
    warnings.filterwarnings("ignore", message=".*scalar.*")  # gather makes a vector of the losses
    if options.rank is not None:
        run_rank(options.side, options.rank, GPUS, options.folder, options)
        return 0
    if flambeau.cuda.device_count() < GPUS:
        parser.error(f"needs {GPUS} GPUs; there are {flambeau.cuda.device_count()}")
    found = run(options)
    print(table(found))
    return int(any("error" in row for row in found["rows"]))


if __name__ == "__main__":
    sys.exit(main())
