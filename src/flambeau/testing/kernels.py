"""`python -m flambeau.testing.kernels`: check that every kernel compiles.  Needs NVRTC and no GPU.

Kernels are gathered by running the operators' samples on a virtual GPU.  By default each operator is compiled for one
data type, and one operator of each family for every type it takes; `--all` compiles the full matrix.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from typing import Any, NamedTuple

from ..driver.nvidia import compile, own_kernels, solver
from ..dtypes import ALL, BOOL, bfloat16, dtype, float16, float32
from ..errors import FlambeauError
from ..kernel import Kernel
from ..ops.copies import strided_fill
from ..ops.operator import REGISTRY, Operator, Sample
from ..runtime.graph import SET_STATE
from ..tensor.factories import tensor
from .machine import machine
from .samples import cases, made

ARCHITECTURE = "sm_90"
PROCESSES = 2
PER_TASK = 16  # kernels per task of a process


class Compiled(NamedTuple):
    """One kernel's machine code in bytes, or the compiler's error."""

    entry: str
    nbytes: int
    problem: str = ""


def chosen(everything: bool = False) -> Iterator[tuple[Operator, dtype, Sample]]:
    """Yield the operators, data types and samples to gather kernels from."""
    first_of_family: dict[tuple[str, str], str] = {}
    for _, operator, data_type, _, sample in cases():
        family = first_of_family.setdefault((operator.body.__module__, operator.kind), operator.name)
        main = float32 if float32 in operator.dtypes else operator.dtypes[0]
        if everything or data_type is main or operator.name == family:
            yield operator, data_type, sample


def gathered(everything: bool = False) -> list[Kernel]:
    """Return every kernel that the chosen samples launch, once, and the nvidia driver's own kernels."""
    with machine(devices=1) as virtual:
        for operator, data_type, sample in chosen(everything):
            call(operator, data_type, sample)
        kernels = list(virtual.devices[0].kernels)
    kernels += [SET_STATE, solver.addresses_kernel()]
    kernels += [strided_fill.kernel(data_type, [None], (data_type,)) for data_type in ALL]
    numbers = [data_type for data_type in ALL if data_type.category != BOOL]
    kernels += [
        kernel(data_type) for kernel in (own_kernels.gemm_kernel, own_kernels.small_kernel) for data_type in numbers
    ]
    kernels += [kernel for data_type in (float16, bfloat16) for kernel in own_kernels.attention_kernels(data_type)]
    kernels += [kernel for data_type in numbers for kernel in own_kernels.convolution_kernels(data_type)]
    return list({kernel.source + kernel.entry: kernel for kernel in kernels}.values())


def call(operator: Operator, data_type: dtype, sample: Sample) -> Any:
    """Call an operator with a sample on the virtual GPU."""
    args = made(sample.args, data_type, _on_gpu)
    return operator(*args, **{key: made(value, data_type, _on_gpu) for key, value in sample.kwargs.items()})


def _on_gpu(dense: Any, _: Any) -> Any:
    return tensor(dense, device="cuda")


def compiled(sources: Iterable[tuple[str, str]], architecture: str) -> list[Compiled]:
    """Compile (entry, source) pairs one after another."""
    results = []
    for entry, source in sources:
        try:
            cubin = compile.compile_cubin(Kernel(entry, source, (), _nothing), architecture)
        except FlambeauError as failure:
            results.append(Compiled(entry, 0, str(failure)))
        else:
            results.append(Compiled(entry, len(cubin)))
    return results


def _nothing(*_: Any) -> None:
    """The reference of a kernel that is only compiled."""


def compile_all(kernels: Iterable[Kernel], architecture: str, processes: int = PROCESSES) -> list[Compiled]:
    """Compile kernels in parallel."""
    pairs = [(kernel.entry, kernel.source) for kernel in kernels]
    tasks = [pairs[at : at + PER_TASK] for at in range(0, len(pairs), PER_TASK)]
    with ProcessPoolExecutor(processes, multiprocessing.get_context("spawn")) as pool:
        results = pool.map(compiled, tasks, [architecture] * len(tasks))
        return [kernel for result in results for kernel in result]


def main(argv: list[str] | None = None, out: Callable[[str], Any] = print) -> int:
    """Gather, compile and report; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m flambeau.testing.kernels", description=__doc__)
    parser.add_argument("--all", action="store_true", help="every operator for every data type")
    parser.add_argument("--arch", default=ARCHITECTURE, help="default %(default)s")
    parser.add_argument("--processes", type=int, default=PROCESSES, help="default %(default)s")
    options = parser.parse_args(argv)
    start = time.perf_counter()
    kernels = gathered(options.all)
    results = compile_all(kernels, options.arch, options.processes)
    for kernel in results:
        if kernel.problem:
            out(kernel.problem)
    failed = sum(bool(kernel.problem) for kernel in results)
    nbytes = sum(kernel.nbytes for kernel in results)
    seconds = time.perf_counter() - start
    out(
        f"{len(results) - failed} of {len(results)} kernels of {len(REGISTRY)} operators compile for {options.arch}: "
        f"{nbytes / 2**20:.1f} MiB, {seconds:.0f} s"
    )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
