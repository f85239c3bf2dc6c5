"""`python -m flambeau.testing.build`: compile ahead what the package ships.  Needs NVRTC and no GPU.

It writes two things beside the nvidia driver (see prebuilt_cubins.py and background_compilation.py):

- one archive of machine code per architecture, for the kernels that ordinary programs use first;
- the file of which kernels follow which, with their sources.  It needs no compiler, and is all that `--pure` makes.

Kernels come from running ordinary programs and every operator's samples, with their gradients, on a virtual GPU.
Which are compiled ahead, in this order, to the limit: those of the programs; then, for each of MAIN_TYPES in turn, of
every operator's first sample; then of the other samples in the first of them.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

from ..autograd.functional import backward
from ..driver.nvidia import background_compilation, gemm, prebuilt_cubins
from ..driver.nvidia.background_compilation import Source
from ..driver.nvidia.compile import Compiler
from ..driver.nvidia.nvrtc import nvrtc_version
from ..dtypes import ALL, bfloat16, bool_, dtype, float16, float32, int64
from ..errors import FlambeauError
from ..kernel import Kernel
from ..ops.operator import Array, Operator, Sample
from ..tensor.factories import tensor
from .machine import machine
from .programs import CALLS, STEPS
from .samples import cases, made

ARCHITECTURES = ("sm_80", "sm_90", "sm_100")
MAIN_TYPES = (float32, bfloat16, int64, bool_, float16)
MAX_ENTRIES = 400  # per architecture
MAX_BYTES = 8_000_000  # per architecture, compressed
FOLLOWERS = 8  # kernels that are expected after one in a run
MAX_FOLLOWERS = 16  # in all runs
THREADS = 2


class Run(NamedTuple):
    """The kernels of one program or sample, in the order of first launch."""

    kernels: list[Kernel]
    leading: int  # how many of them, from the first, tell what comes next: those of a call, not of its gradient
    kind: dtype | None = None  # None for a program
    is_first: bool = False  # the operator's first sample


def program_runs() -> Iterator[Run]:
    """The ordinary programs, and the products that are not left to cuBLAS."""
    for program in (*STEPS, *CALLS):
        with machine(devices=1) as virtual:
            program()
            kernels = list(virtual.devices[0].kernels)
        yield Run(kernels, len(kernels) if program in STEPS else 0)
    own = (gemm.small_kernel, gemm.gemm_kernel)
    yield Run([kernel(each) for kernel in own for each in (float32, bfloat16, float16)], 0)


def sample_runs(types: Iterable[dtype] = ALL) -> Iterator[Run]:
    """Every operator's samples."""
    for _, operator, kind, number, sample in cases():
        if kind in types:
            with machine(devices=1) as virtual:
                outputs = _called(operator, kind, sample)
                leading = len(virtual.devices[0].kernels)
                differentiable = [each for each in outputs if each.requires_grad]
                if differentiable:
                    backward(differentiable, [each.detach() for each in differentiable])
                kernels = list(virtual.devices[0].kernels)
            yield Run(kernels, leading, kind, number == 0)


def _called(operator: Operator, kind: dtype, sample: Sample) -> list[Any]:
    def on_gpu(dense: Any, array: Array) -> Any:
        uploaded = tensor(dense, device="cuda")
        wants_grad = array.grad and uploaded.dtype.is_floating_point and not operator.mutates
        return uploaded.requires_grad_() if wants_grad else uploaded

    args = made(sample.args, kind, on_gpu)
    found = operator(*args, **{key: made(value, kind, on_gpu) for key, value in sample.kwargs.items()})
    outputs = list(found) if isinstance(found, (tuple, list)) else [found]
    return [each for each in outputs if hasattr(each, "requires_grad")]


def chosen(runs: list[Run]) -> list[Source]:
    """The kernels to ship: the first MAX_ENTRIES in the order given above."""
    steps: list[Callable[[Run], bool]] = [lambda run: run.kind is None]
    # ignored: a lambda with a default
    steps += [lambda run, kind=kind: run.kind is kind and run.is_first for kind in MAIN_TYPES]  # type: ignore[misc]
    steps.append(lambda run: run.kind is MAIN_TYPES[0])
    found = {each.entry: _source(each) for wanted in steps for run in runs if wanted(run) for each in run.kernels}
    return list(found.values())[:MAX_ENTRIES]


def followers(runs: list[Run]) -> dict[str, list[str]]:
    """{entry: the entries that are expected after it, the nearest first}."""
    after: dict[str, dict[str, None]] = {}
    for run in sorted(runs, key=lambda run: run.kind is None):
        entries = [each.entry for each in run.kernels]
        for index, entry in enumerate(entries[: run.leading]):
            after.setdefault(entry, {}).update(dict.fromkeys(entries[index + 1 : index + 1 + FOLLOWERS]))
    return {entry: list(found)[:MAX_FOLLOWERS] for entry, found in after.items() if found}


def _source(kernel: Kernel) -> Source:
    return Source(kernel.entry, kernel.source)


def build_archive(sources: list[Source], arch: str) -> tuple[int, int]:
    """Compile and write one architecture's archive: (kernels, bytes)."""
    compiler = Compiler(use_shipped=False)
    with ThreadPoolExecutor(THREADS) as pool:
        cubins = pool.map(lambda each: compiler.cubin(Kernel(each.entry, each.text, (), _nothing), arch), sources)
        named = {prebuilt_cubins.cache_key(each.text, arch, None): cubin for each, cubin in zip(sources, cubins)}
    return len(named), prebuilt_cubins.write_archive(prebuilt_cubins.DIRECTORY / f"{arch}.zip", named, nvrtc_version())


def _nothing(*_: Any) -> None:
    """The reference of a kernel that is only compiled."""


def main(argv: list[str] | None = None, out: Callable[[str], Any] = print) -> int:
    """Build and report; 1 if a limit is exceeded or a kernel does not compile."""
    parser = argparse.ArgumentParser(prog="scripts/build", description=__doc__.partition("\n")[0])
    parser.add_argument("--arch", action="append", help=f"default {' '.join(ARCHITECTURES)}; may be given again")
    parser.add_argument("--pure", action="store_true", help="no machine code: compiled when needed")
    options = parser.parse_args(argv)
    for path in prebuilt_cubins.DIRECTORY.glob("sm_*.zip"):
        path.unlink()
    start = time.perf_counter()
    runs = [*program_runs(), *sample_runs()]
    sources = {each.entry: each.source for run in runs for each in run.kernels}
    path = prebuilt_cubins.DIRECTORY / background_compilation.NAME
    nbytes = background_compilation.write_following(sources, followers(runs), path)
    out(f"{len(sources)} sources, {nbytes:,} bytes, {time.perf_counter() - start:.0f} s")
    architectures = () if options.pure else options.arch or ARCHITECTURES
    try:
        return max([_build(chosen(runs), arch, out) for arch in architectures], default=0)
    except FlambeauError as failure:
        out(str(failure))
        return 1


def _build(sources: list[Source], arch: str, out: Callable[[str], Any]) -> int:
    start = time.perf_counter()
    count, nbytes = build_archive(sources, arch)
    out(f"{arch}: {count} kernels, {nbytes:,} bytes, {time.perf_counter() - start:.0f} s")
    if nbytes > MAX_BYTES or count > MAX_ENTRIES:
        out(f"{arch}: more than {MAX_ENTRIES} kernels or {MAX_BYTES:,} bytes may not be shipped")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
