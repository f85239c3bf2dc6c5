"""`python -m flambeau.testing.build`: compile the kernels that the package ships.  Needs NVRTC and no GPU.

It writes two things beside the nvidia driver (see prebuilt_cubins.py and compile.py):

- one archive of machine code per architecture, for the kernels that ordinary programs use first;
- a file of kernel sources and of the kernels that usually follow each.  It needs no compiler; `--pure` makes only this.

Kernels come from running ordinary programs and every operator's samples, with their gradients, on a virtual GPU.
They are compiled in this order, up to the limit: those of the programs; those of every operator's first sample, for
each of MAIN_TYPES in turn; those of the other samples, for the first of MAIN_TYPES.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, NamedTuple

from .. import nn, optim
from ..autograd.gradients import backward
from ..autograd.mode import no_grad
from ..driver.nvidia import compile, own_kernels, prebuilt_cubins
from ..driver.nvidia.compile import Compiler, Source, nvrtc_version
from ..dtypes import ALL, FLOATING_TYPES, bfloat16, bool_, dtype, float16, float32, int64
from ..errors import FlambeauError
from ..kernel import Kernel
from ..ops.operator import REGISTRY, Array, Operator, Sample
from ..tensor import arange, full, ones, rand, randint, randn, randperm, zeros, zeros_like
from ..tensor.factories import tensor
from .machine import machine
from .samples import cases, made

WIDE = 64  # a multiple of every vector's width
BATCH = 32


def arithmetic(data_type: dtype) -> list[Any]:
    """Make tensors, combine them in aligned and in broken layouts, reduce them, read them."""
    a, b = (randn(WIDE, WIDE, device="cuda").to(data_type) for _ in range(2))
    results: list[Any] = []
    for x, y in ((a, b), (a, b.t()), (a[1:], b[:1]), (a.t(), b)):
        results += [x + y, x - y, x * y, x / y, x + 1, x * 2, 2 - x, -x, x > y, x == y, x > 0]
        results += [REGISTRY["where"](x > 0, x, y), x.exp(), x.abs(), x.sqrt(), x.tanh(), x.relu()]
        results += [x.clamp(min=0), x.float(), x.clone()]
    a += b
    a *= 0.5
    b[:, ::2] = 0
    for along in ({}, {"dim": 0}, {"dim": 1}):
        results += [a.sum(**along), a.mean(**along), a.max(**along), a.argmax(**along)]
    results += [a @ b, a.softmax(1), a.t().contiguous(), REGISTRY["cat"]([a, b]), str(a), a.sum().item(), a.zero_()]
    return results + [zeros(WIDE, device="cuda", dtype=data_type), full((WIDE,), 2, device="cuda")]


def indexing() -> list[Any]:
    """Count, compare, mask and gather with int64 and bool."""
    at = arange(WIDE, device="cuda")
    table = randn(WIDE, WIDE, device="cuda")
    mask = (at % 2 == 0) & (at > 1) | ~(at < WIDE - 1)
    results = [at + 1, at * 2, at // 2, at - at, at + at, at == 3, at.sum(), at.max(), at.float(), at.clone(), at[mask]]
    results += [mask.sum(), mask.any(), mask.all(), table[at], table[mask], table.gather(1, at[:, None])]
    table[mask] = 0
    results += [randint(0, WIDE, (WIDE,), device="cuda"), rand(WIDE, device="cuda")]
    return [*results, zeros_like(at), randperm(WIDE, device="cuda"), table[0].argsort(), table[0].topk(4)]


def training(make: Callable[[Any], Any], data_type: dtype) -> None:
    """Train a small classifier for two steps, then test it."""
    first = [nn.Linear(WIDE, WIDE), nn.ReLU(), nn.LayerNorm(WIDE)]
    second = [nn.Linear(WIDE, WIDE), nn.GELU(), nn.Dropout(0.1), nn.Linear(WIDE, 10)]
    net = nn.Sequential(*first, *second).to("cuda", data_type)
    x, y = randn(BATCH, WIDE, device="cuda").to(data_type), randint(0, 10, (BATCH,), device="cuda")
    optimizer = make(net.parameters())
    for _ in range(2):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(net(x), y)
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
    net.eval()
    with no_grad():
        (net(x).argmax(1) == y).float().mean().item()


def attention(data_type: dtype) -> None:
    """One block of a language model, forward and backward."""
    tokens = randint(0, WIDE, (2, BATCH), device="cuda")
    embed, norm = nn.Embedding(WIDE, WIDE).to("cuda", data_type), nn.LayerNorm(WIDE).to("cuda", data_type)
    project, up = nn.Linear(WIDE, 3 * WIDE).to("cuda", data_type), nn.Linear(WIDE, WIDE).to("cuda", data_type)
    x = embed(tokens)
    q, k, v = project(norm(x)).chunk(3, -1)
    above = ones(BATCH, BATCH, device="cuda").triu(1).bool()
    weights = (q @ k.transpose(1, 2) * WIDE**-0.5).masked_fill(above, float("-inf")).softmax(-1)
    x = x + weights @ v
    x = x + nn.functional.silu(up(norm(x)))
    nn.functional.cross_entropy(x.view(-1, WIDE), tokens.view(-1)).backward()


# programs whose order of kernels is typical
STEPS: tuple[Callable[[], object], ...] = (
    partial(training, partial(optim.Adam, lr=1e-3), float32),
    partial(training, partial(optim.AdamW, lr=1e-3), float32),
    partial(training, partial(optim.SGD, lr=1e-2), float32),
    partial(training, partial(optim.SGD, lr=1e-2, momentum=0.9), float32),
    partial(training, partial(optim.AdamW, lr=1e-3), bfloat16),
    partial(attention, float32),
    partial(attention, bfloat16),
)

# programs that use many kernels, in an arbitrary order
CALLS: tuple[Callable[[], object], ...] = (
    partial(arithmetic, float32),
    indexing,
    partial(arithmetic, bfloat16),
    partial(arithmetic, float16),
)


ARCHITECTURES = ("sm_80", "sm_90", "sm_100")
MAIN_TYPES = (float32, bfloat16, int64, bool_, float16)
MAX_ENTRIES = 400  # per architecture
MAX_BYTES = 8_000_000  # per architecture, compressed
FOLLOWERS = 8  # kernels expected after one of them, per run
MAX_FOLLOWERS = 16  # the same, over all runs
THREADS = 2


class Run(NamedTuple):
    """The kernels of one program or sample, in the order of their first launch."""

    kernels: list[Kernel]
    leading: int  # the number of first kernels that predict the next ones: those of the call, not of its gradient
    data_type: dtype | None = None  # None for a program
    is_first: bool = False  # the operator's first sample


def program_runs() -> Iterator[Run]:
    """Runs of the ordinary programs, and of the products that cuBLAS does not compute."""
    for program in (*STEPS, *CALLS):
        with machine(devices=1) as virtual:
            program()
            kernels = list(virtual.devices[0].kernels)
        yield Run(kernels, len(kernels) if program in STEPS else 0)
    own = (own_kernels.small_kernel, own_kernels.gemm_kernel)
    yield Run([kernel(data_type) for kernel in own for data_type in (float32, bfloat16, float16)], 0)
    yield Run([kernel for data_type in FLOATING_TYPES for kernel in own_kernels.convolution_kernels(data_type)], 0)


def sample_runs() -> Iterator[Run]:
    """Runs of every operator's samples."""
    for _, operator, data_type, number, sample in cases():
        if data_type in ALL:
            with machine(devices=1) as virtual:
                outputs = _called(operator, data_type, sample)
                leading = len(virtual.devices[0].kernels)
                differentiable = [output for output in outputs if output.requires_grad]
                if differentiable:
                    backward(differentiable, [output.detach() for output in differentiable])
                kernels = list(virtual.devices[0].kernels)
            yield Run(kernels, leading, data_type, number == 0)


def _called(operator: Operator, data_type: dtype, sample: Sample) -> list[Any]:
    def on_gpu(dense: Any, array: Array) -> Any:
        uploaded = tensor(dense, device="cuda")
        wants_grad = array.grad and uploaded.dtype.is_floating_point and not operator.mutates
        return uploaded.requires_grad_() if wants_grad else uploaded

    args = made(sample.args, data_type, on_gpu)
    result = operator(*args, **{key: made(value, data_type, on_gpu) for key, value in sample.kwargs.items()})
    outputs = list(result) if isinstance(result, (tuple, list)) else [result]
    return [output for output in outputs if hasattr(output, "requires_grad")]


def _is_first_of(data_type: dtype, run: Run) -> bool:
    """Whether a run is that of an operator's first sample in a data type."""
    return run.data_type is data_type and run.is_first


def chosen(runs: list[Run]) -> list[Source]:
    """The kernels to ship: the first MAX_ENTRIES in the order of the module's docstring."""
    steps: list[Callable[[Run], bool]] = [lambda run: run.data_type is None]
    steps += [partial(_is_first_of, data_type) for data_type in MAIN_TYPES]
    steps.append(lambda run: run.data_type is MAIN_TYPES[0])
    sources = {
        kernel.entry: _source(kernel) for wanted in steps for run in runs if wanted(run) for kernel in run.kernels
    }
    return list(sources.values())[:MAX_ENTRIES]


def followers(runs: list[Run]) -> dict[str, list[str]]:
    """Return, by entry, the entries that usually follow it, the nearest first."""
    after: dict[str, dict[str, None]] = {}
    for run in sorted(runs, key=lambda run: run.data_type is None):
        entries = [kernel.entry for kernel in run.kernels]
        for index, entry in enumerate(entries[: run.leading]):
            after.setdefault(entry, {}).update(dict.fromkeys(entries[index + 1 : index + 1 + FOLLOWERS]))
    return {entry: list(following)[:MAX_FOLLOWERS] for entry, following in after.items() if following}


def _source(kernel: Kernel) -> Source:
    return Source(kernel.entry, kernel.source)


def build_archive(sources: list[Source], arch: str) -> tuple[int, int]:
    """Compile and write one architecture's archive; return the numbers of kernels and bytes."""
    compiler = Compiler(use_shipped=False)
    with ThreadPoolExecutor(THREADS) as pool:
        cubins = pool.map(lambda source: compiler.cubin(Kernel(source.entry, source.text, (), _nothing), arch), sources)
        named = {prebuilt_cubins.cache_key(source.text, arch, None): cubin for source, cubin in zip(sources, cubins)}
    return len(named), prebuilt_cubins.write_archive(prebuilt_cubins.DIRECTORY / f"{arch}.zip", named, nvrtc_version())


def _nothing(*_: Any) -> None:
    """The reference of a kernel that is only compiled."""


def main(argv: list[str] | None = None, out: Callable[[str], Any] = print) -> int:
    """Build and report; return 1 if a limit is exceeded or a kernel does not compile."""
    parser = argparse.ArgumentParser(prog="scripts/build", description=__doc__.partition("\n")[0])
    parser.add_argument("--arch", action="append", help=f"default {' '.join(ARCHITECTURES)}; may be given again")
    parser.add_argument("--pure", action="store_true", help="no machine code: compiled when needed")
    options = parser.parse_args(argv)
    for path in prebuilt_cubins.DIRECTORY.glob("sm_*.zip"):
        path.unlink()
    start = time.perf_counter()
    runs = [*program_runs(), *sample_runs()]
    sources = {kernel.entry: kernel.source for run in runs for kernel in run.kernels}
    path = prebuilt_cubins.DIRECTORY / compile.FOLLOWING_FILE
    nbytes = compile.write_following(sources, followers(runs), path)
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
