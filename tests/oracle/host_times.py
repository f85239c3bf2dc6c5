"""The host's time of every operator, beside PyTorch's: `scripts/oracle host_times [--only NAME] [--json FILE]`.

Each public operator that both libraries have is called with its first float32 sample (or its first, of operators of
other types), as the tests call it.  Figures are microseconds a call until it returns, medians of rounds that
alternate between the libraries, each a burst of calls between two synchronisations.  Without an NVIDIA GPU, or with
--cpu, the CPU is measured.  The exit status is 1 if an operator takes more than GOAL times PyTorch's time.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import flambeau
from flambeau import config
from flambeau.dtypes import dtype
from flambeau.ops.operator import REGISTRY

from .sample_values import Case, all_cases, inputs, places, public

GOAL = 0.7
ROUNDS, CALLS = 7, 50
BURST_SECONDS = 0.01  # fewer calls of what takes long
MOST_SHOWN = 40


class Row(NamedTuple):
    """One operator: microseconds a call of either library."""

    name: str
    ours: float
    theirs: float

    @property
    def ratio(self) -> float:
        return self.ours / self.theirs


def first_cases() -> dict[str, Case]:
    """One case of every operator."""
    found: dict[str, Case] = {}
    for name, case in all_cases().items():
        kept = found.get(case.operator.name)
        if "-edges-" not in name and (kept is None or kept.data_type.name != "float32" == case.data_type.name):
            found[case.operator.name] = case
    return found


def call_of(library: Any, case: Case, path: str, device: str) -> Callable[[], Any]:
    """A call without gradients on a device."""

    def convert(value: Any) -> Any:
        return getattr(library, value.name) if isinstance(value, dtype) else value

    args, kwargs, _ = inputs(case, lambda dense: library.tensor(dense, device=device), convert)
    function = public(library, path)
    assert function is not None
    return lambda: function(*args, **kwargs)


def burst(library: Any, call: Callable[[], Any], calls: int, is_cuda: bool) -> float:
    """Seconds of one call."""
    start = time.perf_counter()
    for _ in range(calls):
        call()
    taken = time.perf_counter() - start
    if is_cuda:
        library.cuda.synchronize()
    return taken / calls


def measured(case: Case, libraries: list[Any], device: str) -> Row:
    """Raises: what a library raises for the case."""
    failures = []
    for path in places(REGISTRY[case.operator.name]):
        try:
            calls = [call_of(library, case, path, device) for library in libraries]
            for library, call in zip(libraries, calls, strict=True):
                burst(library, call, 3, device == "cuda")  # warm
            slowest = max(burst(*each, 2, device == "cuda") for each in zip(libraries, calls, strict=True))
            break
        except Exception as error:  # noqa: BLE001  (of a form that one library lacks)
            failures.append(error)
    else:
        raise failures[0]
    count = max(1, min(CALLS, int(BURST_SECONDS / slowest)))
    taken: list[list[float]] = [[], []]
    for _ in range(ROUNDS):
        for library, call, found in zip(libraries, calls, taken, strict=True):
            found.append(burst(library, call, count, device == "cuda"))
    return Row(case.operator.name, *(statistics.median(each) * 1e6 for each in taken))


def rows(libraries: list[Any], device: str, only: str, lacking: list[str]) -> Iterator[Row]:
    for name, case in sorted(first_cases().items()):
        if only not in name:
            continue
        try:
            with libraries[0].no_grad(), libraries[1].no_grad():
                yield measured(case, libraries, device)
        except Exception as error:  # noqa: BLE001  (listed)
            lacking.append(f"{name}: {type(error).__name__}: {str(error).splitlines()[0][:100]}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", metavar="NAME", help="operators with this text in their name")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there, too")
    parser.add_argument("--cpu", action="store_true", help="measure the CPU where there is a GPU")
    options = parser.parse_args()
    import torch

    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    choice = config.gpus()
    device = "cuda" if choice is not None and choice.kind == "nvidia" and not options.cpu else "cpu"
    lacking: list[str] = []
    found = sorted(rows([flambeau, torch], device, options.only, lacking), key=lambda row: -row.ratio)
    if options.json:
        options.json.write_text(json.dumps({"device": device, "rows": found, "lacking": lacking}, indent=0))
    for row in found[:MOST_SHOWN]:
        print(f"{row.name:34} {row.ours:9.2f} us   PyTorch {row.theirs:9.2f} us   {row.ratio:5.2f}")
    ratios = [row.ratio for row in found]
    missed = sum(ratio > GOAL for ratio in ratios)
    print(f"not measured: {lacking}")
    print(f"{len(found)} operators on {device}, {missed} above {GOAL} times PyTorch's time", end="")
    print(f", median {statistics.median(ratios):.2f}" if found else "")
    return int(missed > 0 or not found)


if __name__ == "__main__":
    sys.exit(main())
