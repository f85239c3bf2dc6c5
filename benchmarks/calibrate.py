"""Measures one NVIDIA GPU and writes its card: the file from which virtual GPUs take their times.

    python -m benchmarks.calibrate --out my_gpu.toml [--host] [--json points.json] [--limit 55]

Every point is the median of some rounds.  Device times come from events around a burst that is queued behind fills, so
the host is never what is slow; host times from bursts of calls between two synchronisations.  A measurement that fails
is named at the end; the card then takes that entry from the preset h200, and is written as not calibrated.  Without an
NVIDIA GPU there is nothing to measure: --small runs everything once, on small sizes, to test this script.  --host
measures the host alone, for the GPU of the preset in another machine.
"""

from __future__ import annotations

import argparse
import functools
import json
import statistics
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import flambeau as torch
from flambeau import nn, optim
from flambeau.core.hooks import subscribe, unsubscribe
from flambeau.driver.virtual.card import (
    COPIES,
    DEFAULT,
    HOST,
    LISTED,
    TABLES,
    TENSOR_CORES,
    TYPES,
    card,
    tiled_channels,
)
from flambeau.nn import functional as F

from . import times

MIB = 1 << 20
BYTES = (1 << 14, 1 << 18, MIB, 4 * MIB, 16 * MIB, 32 * MIB, 64 * MIB, 256 * MIB, 1 << 30, 4 << 30)
COPIED = (1 << 12, 1 << 16, MIB, 16 * MIB, 256 * MIB)
SQUARES = (64, 128, 256, 512, 1024, 2048, 4096, 8192)
SLOW_SQUARES = SQUARES[:-1]  # of types without tensor cores
CONVOLUTIONS = ((1, 16, 14), (8, 32, 28), (32, 64, 28), (64, 64, 56), (64, 128, 56), (64, 256, 56))
ATTENTIONS = ((1, 2, 64, 32), (4, 8, 128, 64), (8, 8, 256, 64), (8, 12, 1024, 64), (8, 16, 4096, 64))
ROW = 1024  # elements
SMALL = 1 << 18  # bytes, and below 1e7 operations

Point = tuple[float, float]
Call = Callable[[], Any]


class Effort:
    """How often calls are made: in a burst, which takes about so many milliseconds, and how many bursts.

    warm_ms: of bursts before those that are measured, without which the first figures are those of a slow clock.
    """

    burst, burst_ms, rounds, warm_ms = 200, 6.0, 3, 20.0


class Entry(NamedTuple):
    """One entry of a table of the card, and what measures its points in rising order."""

    table: str
    name: str
    points: Callable[[Any], Iterator[Point]]


def device_ns(call: Call) -> float:
    """The device's time for a call, among such calls."""
    call()
    count = max(1, min(Effort.burst // 4, int(Effort.burst_ms / max(times.device_ms(torch, call, 2) / 2, 1e-3))))
    return 1e6 / count * statistics.median(times.device_ms(torch, call, count) for _ in range(Effort.rounds))


def host_ns(call: Call, waits: bool = False) -> float:
    """The host's time for a call until the driver has it, which may be later than the call returns.

    waits: whether the call itself waits for the device.
    """

    def once(count: int) -> float:
        torch.cuda.synchronize()
        start = time.perf_counter_ns()
        for _ in range(count):
            call()
        torch.cuda.current_stream().query()  # it asks the driver, after all calls before it
        return (time.perf_counter_ns() - start) / count

    once(2)
    count = max(1, min(Effort.burst, int(Effort.burst_ms * 1e6 / once(2)))) if waits else Effort.burst
    end = time.perf_counter_ns() + 1e6 * Effort.warm_ms
    while time.perf_counter_ns() < end:
        once(count)
    return statistics.median(once(count) for _ in range(2 * Effort.rounds + 1))


# kernels, by the bytes that they access
def _sizes(small: bool) -> Sequence[int]:
    return [each for each in BYTES if not small or each <= SMALL]


def _kernel(make: Callable[[int], tuple[Call, float]], small: bool) -> Iterator[Point]:
    """make: from the wanted bytes, a call and the bytes that it accesses."""
    for nbytes in _sizes(small):
        torch.cuda.empty_cache()
        call, amount = make(nbytes)
        yield amount, device_ns(call)


def _pointwise(nbytes: int) -> tuple[Call, float]:
    x, y, out = (torch.randn(nbytes // 12, device="cuda") for _ in range(3))
    return lambda: torch.add(x, y, out=out), 12 * x.numel()


def _reduction(nbytes: int) -> tuple[Call, float]:
    x = torch.randn(nbytes // 4 // ROW, ROW, device="cuda")
    return lambda: x.sum(-1), 4 * x.numel()


def _rows(nbytes: int) -> tuple[Call, float]:
    x = torch.randn(max(1, nbytes // 8 // ROW), ROW, device="cuda")
    return lambda: x.softmax(-1), 8 * x.numel()


def _transpose(nbytes: int) -> tuple[Call, float]:
    x = torch.randn(max(1, nbytes // 8 // ROW), ROW, device="cuda")
    return lambda: x.t().contiguous(), 8 * x.numel()


def _gather(nbytes: int) -> tuple[Call, float]:
    x = torch.randn(max(1, nbytes // 8 // ROW), ROW, device="cuda")
    rows = torch.randperm(x.shape[0], device="cuda")
    return lambda: x.index_select(0, rows), 8 * x.numel()


def _random(nbytes: int) -> tuple[Call, float]:
    x = torch.empty(nbytes // 4, device="cuda")
    return lambda: x.normal_(), 4 * x.numel()


def _scan(nbytes: int) -> tuple[Call, float]:
    x = torch.randn(max(1, nbytes // 8 // ROW), ROW, device="cuda")
    return lambda: x.cumsum(-1), 8 * x.numel()


def _pooling(nbytes: int) -> tuple[Call, float]:
    x = torch.randn(max(1, nbytes // 5 // (64 * 1024)), 64, 32, 32, device="cuda")
    return lambda: F.avg_pool2d(x, 2), 5 * x.numel()


# libraries, by their operations
def _type(name: str) -> Any:
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = name == "tf32"
    return getattr(torch, "float32" if name == "tf32" else name)


def _products(name: str, small: bool, more: int) -> Iterator[Point]:
    """more: added to every size, so that rows are not aligned."""
    dtype = _type(name)
    for size in (64,) if small else SLOW_SQUARES if name in ("float32", "float64") else SQUARES:
        n = size + more
        x, y = (torch.randn(n, n, device="cuda").to(dtype) for _ in range(2))
        yield 2.0 * n**3, device_ns(functools.partial(torch.matmul, x, y))


def _convolutions(name: str, small: bool, backward: bool) -> Iterator[Point]:
    dtype = _type(name)
    for batch, channels, side in CONVOLUTIONS[:1] if small else CONVOLUTIONS:
        x = torch.randn(batch, channels, side, side, device="cuda").to(dtype)
        w = torch.randn(channels, channels, 3, 3, device="cuda").to(dtype)
        if name in TENSOR_CORES:  # others are copied, which the card counts by itself
            x, w = (each.to(memory_format=torch.channels_last) for each in (x, w))
        operations = 2.0 * 9 * batch * side**2 * tiled_channels(channels) ** 2
        if not backward:
            yield operations, device_ns(functools.partial(F.conv2d, x, w, padding=1))
            continue
        x, w = x.requires_grad_(), w.requires_grad_()
        out = F.conv2d(x, w, padding=1)
        grad = torch.randn_like(out)
        gradients = functools.partial(torch.autograd.grad, out, (x, w), grad, retain_graph=True)
        yield operations, device_ns(gradients) / 2


def _attention(small: bool, backward: bool) -> Iterator[Point]:
    for batch, heads, length, width in ATTENTIONS[:1] if small else ATTENTIONS:
        inputs = [
            torch.randn(batch, heads, length, width, device="cuda").to(torch.bfloat16).requires_grad_(backward)
            for _ in range(3)
        ]
        operations = 4.0 * batch * heads * length * (length + 1) / 2 * width
        attend = functools.partial(F.scaled_dot_product_attention, *inputs, is_causal=True)
        if not backward:
            yield operations, device_ns(attend)
            continue
        out = attend()
        grad = torch.randn_like(out)
        yield 2.5 * operations, device_ns(
            functools.partial(torch.autograd.grad, out, inputs, grad, retain_graph=True)
        )


# copies, by their bytes
def _copies(name: str, small: bool) -> Iterator[Point]:
    into, pinned = name.endswith("in"), name.startswith("pinned")
    for nbytes in COPIED[:2] if small else COPIED:
        host = torch.ones(nbytes // 4, pin_memory=pinned)
        device = torch.ones(nbytes // 4, device="cuda")
        target, source = (device, host) if into else (host, device)
        copy = functools.partial(target.copy_, source, non_blocking=pinned)
        yield nbytes, device_ns(copy) if pinned else host_ns(copy, waits=True)


def _between(small: bool) -> Iterator[Point]:
    for nbytes in COPIED[:2] if small else COPIED:
        source, target = (torch.ones(nbytes // 4, device=f"cuda:{index}") for index in range(2))
        yield nbytes, device_ns(functools.partial(target.copy_, source))


# the host
class Step:
    """Forward and backward of a small perceptron, and the launches of its parts."""

    def __init__(self, layers: int) -> None:
        parts = [part for _ in range(layers) for part in (nn.Linear(96, 96), nn.Tanh())]
        self.net = nn.Sequential(*parts, nn.Linear(96, 10)).cuda()
        self.x, self.y = torch.randn(32, 96, device="cuda"), torch.randint(0, 10, (32,), device="cuda")

    def forward(self) -> Any:
        return F.cross_entropy(self.net(self.x), self.y)

    def __call__(self) -> None:
        self.net.zero_grad()
        self.forward().backward()


def launches(call: Call) -> tuple[int, int]:
    """How many kernels and library calls a call launches."""
    kernels = libraries = 0

    def on_launch(stream: Any, handle: Any, arguments: Any) -> None:
        nonlocal kernels, libraries
        if isinstance(arguments, tuple):
            libraries += 1
        else:
            kernels += 1

    subscribe(on_launch=on_launch)
    try:
        call()
    finally:
        unsubscribe(on_launch=on_launch)
    return kernels, libraries


def measured_host() -> Iterator[tuple[str, float]]:
    """The host's costs, by field of `card.Host`."""
    small = torch.randn(16, 16, device="cuda")
    large = torch.randn(128, 128, device="cuda").to(torch.bfloat16)
    found = {"launch": host_ns(lambda: small + small), "product": host_ns(lambda: large @ large)}
    yield from found.items()
    few, many = ([torch.randn(16, 16, device="cuda").requires_grad_() for _ in range(n)] for n in (4, 44))
    steps = []
    for parameters in (few, many):
        for each in parameters:
            each.grad = torch.ones_like(each)
        steps.append(host_ns(optim.AdamW(parameters).step))
    operand = max(0.0, (steps[1] - steps[0]) / (4 * 40))
    yield "operand", operand
    yield "step", max(0.0, steps[0] - found["launch"] - operand * (4 * 4 - LISTED))
    (few_ns, few_launches), (many_ns, many_launches) = (_backward(Step(layers), found) for layers in (1, 8))
    backward = max(0.0, (many_ns - few_ns) / (many_launches - few_launches))
    yield "backward", backward
    yield "backward_pass", max(0.0, few_ns - few_launches * backward)
    yield "attention", _attention_ns(backward)
    yield "convolution", _convolution_ns(torch.bfloat16, torch.channels_last, backward)
    yield "wide_convolution", _convolution_ns(torch.float32, torch.contiguous_format, backward)
    pinned = torch.ones(16).pin_memory()
    target = torch.ones(16, device="cuda")
    copy = host_ns(lambda: target.copy_(pinned, non_blocking=True))
    yield "copy", copy
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        small.add_(1)
    yield "graph", host_ns(graph.replay)
    event, stream = torch.cuda.Event(), torch.cuda.Stream()
    yield "record", host_ns(event.record)
    yield "order", host_ns(lambda: stream.wait_event(event))
    torch.cuda.synchronize()
    call = host_ns(event.query)
    yield "call", call
    whole = host_ns(lambda: (small.add_(1), torch.cuda.synchronize()), waits=True)
    yield "wake", max(0.0, whole - found["launch"] - call)
    yield "allocate", _allocation_ns()


def _backward(step: Step, known: dict[str, float]) -> tuple[float, int]:
    """Return the host time of a step without that of its kernels and products, in ns, and the launches of its backward.

    known: the host time of a kernel launch and of a product, in ns.
    """
    step()
    kernels, products = launches(step)
    beyond = host_ns(step) - kernels * known["launch"] - products * known["product"]
    return beyond, kernels + products - sum(launches(step.forward))


def _attention_ns(backward: float) -> float:
    """The mean of attention and its gradient."""
    inputs = [torch.randn(1, 2, 64, 64, device="cuda").to(torch.bfloat16).requires_grad_() for _ in range(3)]
    attend = functools.partial(F.scaled_dot_product_attention, *inputs, is_causal=True)
    out = attend()
    grad = torch.randn_like(out)
    gradients = functools.partial(torch.autograd.grad, out, inputs, grad, retain_graph=True)
    return max(0.0, host_ns(attend) + host_ns(gradients) - backward) / 2


def _convolution_ns(dtype: Any, layout: Any, backward: float) -> float:
    """The mean of a convolution and its two gradients."""
    x = torch.randn(4, 32, 16, 16, device="cuda").to(dtype).to(memory_format=layout).requires_grad_()
    w = torch.randn(32, 32, 3, 3, device="cuda").to(dtype).to(memory_format=layout).requires_grad_()
    convolve = functools.partial(F.conv2d, x, w, padding=1)
    out = convolve()
    grad = torch.randn_like(out)
    gradients = functools.partial(torch.autograd.grad, out, (x, w), grad, retain_graph=True)
    return max(0.0, host_ns(convolve) + host_ns(gradients) - 2 * backward) / 3


def _allocation_ns() -> float:
    taken = []
    for size in range(8):
        torch.cuda.empty_cache()
        torch.cuda.synchronize()
        start = time.perf_counter_ns()
        block = torch.empty((64 + 2 * size) * MIB, dtype=torch.uint8, device="cuda")
        taken.append(time.perf_counter_ns() - start)
        del block
    return statistics.median(taken)


KERNELS: dict[str, Callable[[int], tuple[Call, float]]] = {
    "pointwise": _pointwise, "reduction": _reduction, "rows": _rows, "transpose": _transpose,
    "gather": _gather, "random": _random, "scan": _scan, "pooling": _pooling,
}  # fmt: skip


def entries() -> list[Entry]:
    """All entries, the most important ones first."""
    found = [Entry("kernels", name, functools.partial(_kernel, make)) for name, make in KERNELS.items()]
    for table, more in (("products", 0), ("unaligned_products", 1)):
        found += [Entry(table, name, functools.partial(_products, name, more=more)) for name in reversed(TYPES)]
    found += [Entry("copies", name, functools.partial(_copies, name)) for name in COPIES if name != "peer"]
    for name in ("attention", "attention_backward"):
        backward = name != "attention"
        found.append(Entry("attention", name, functools.partial(_attention, backward=backward)))
    for name in reversed(TYPES):
        for table, backward in (("convolutions", False), ("convolution_gradients", True)):
            found.append(Entry(table, name, functools.partial(_convolutions, name, backward=backward)))
    if torch.cuda.device_count() > 1:
        found.append(Entry("copies", "peer", _between))
    return found


def rising(points: Sequence[Point]) -> list[list[float]]:
    """Points without noise that would let more work take less time."""
    best: dict[int, int] = {}
    for amount, taken in sorted(points):
        best[round(amount)] = max(round(taken), 1, *best.values())
    return [[amount, taken] for amount, taken in best.items()]


def text_of(found: dict[str, dict[str, Any]], name: str, source: str, calibrated: bool) -> str:
    """The card as TOML.  Entries that were not measured are those of the preset."""
    model, device = card(DEFAULT), torch.cuda.get_device_properties(0)
    l2 = getattr(device, "L2_cache_size", model.l2_cache_size)
    threads = device.max_threads_per_multi_processor
    lines = [
        f"name = {json.dumps(name)}",
        f"source = {json.dumps(source)}",
        f"calibrated = {str(calibrated).lower()}",
        "",
        "[device]",
        f"capability = [{device.major}, {device.minor}]",
        f"memory = {device.total_memory}",
        f"multiprocessors = {device.multi_processor_count}",
        f"threads = {threads}",
        f"l2 = {l2}",
        f"clock = {model.clock_mhz}",
        "",
        "[peaks]  # of the data sheet of the preset h200: replace them",
    ]
    for peak, rate in model.peaks.items():
        lines.append(f"{peak} = {rate / 1e3 if peak in TYPES else rate:g}")
    lines += ["", "[host]"]
    lines += [f"{each} = {found['host'].get(each, getattr(model.host, each)):.0f}" for each in HOST]
    for table, names in TABLES.items():
        lines += ["", f"[{table}]"]
        for each in names:
            curve = model.times[table][each]
            points = found[table].get(each) or [list(pair) for pair in zip(curve.amounts, curve.times)]
            lines.append(f"{each} = {[[round(amount), round(taken)] for amount, taken in points]}")
    return "\n".join(lines) + "\n"


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, required=True, help="the card's file")
    parser.add_argument("--json", type=Path, help="a file for the points and what failed")
    parser.add_argument("--limit", type=float, default=55.0, help="seconds after which nothing more is measured")
    parser.add_argument("--host", action="store_true", help="measure the host only; the GPU's times are the preset's")
    parser.add_argument("--small", action="store_true", help="small sizes only, on any GPUs: a test of this script")
    asked = parser.parse_args(argv)
    if not asked.small and not times.is_real():
        print("calibrate: it needs an NVIDIA GPU: FLAMBEAU_GPUS=nvidia", file=sys.stderr)
        return 2
    if asked.small:
        Effort.burst, Effort.rounds, Effort.warm_ms = 4, 1, 0.0
    start = time.perf_counter()
    found: dict[str, dict[str, Any]] = {"host": {}, **{table: {} for table in TABLES}}
    failures: dict[str, str] = {}
    seconds: dict[str, float] = {}

    def attempt(what: str, take: Call) -> None:
        began = time.perf_counter()
        if began - start > asked.limit:
            failures[what] = f"not measured: {asked.limit:g} s were over"
            return
        try:
            take()
        except Exception as failure:  # noqa: BLE001 (whatever is wrong with one entry, the others are measured)
            failures[what] = f"{type(failure).__name__}: {failure}"
            traceback.print_exc()
        seconds[what] = round(time.perf_counter() - began, 2)

    attempt("host", lambda: found["host"].update(measured_host()))
    for entry in [] if asked.host else entries():

        def take(entry: Entry = entry) -> None:
            kept = found[entry.table].setdefault(entry.name, [])
            points: list[Point] = []
            for point in entry.points(asked.small):
                points.append(point)
                kept[:] = rising(points)
                if time.perf_counter() - start > asked.limit:
                    failures[f"{entry.table}.{entry.name}"] = f"{len(points)} points in {asked.limit:g} s"
                    break
            torch.cuda.empty_cache()

        attempt(f"{entry.table}.{entry.name}", take)
    name = torch.cuda.get_device_name(0).removeprefix("NVIDIA ")
    source = f"Measured by python -m benchmarks.calibrate on {time.strftime('%Y-%m-%d')}, flambeau {torch.__version__}"
    if asked.host:
        source += f": the host's times; the others are those of the preset {DEFAULT}"
    is_whole = not failures and times.is_real() and (not asked.host or name == card(DEFAULT).name)
    asked.out.write_text(text_of(found, name, source, is_whole))
    facts = {"seconds": seconds, "failures": failures, "found": found}
    if asked.json is not None:
        asked.json.write_text(json.dumps(facts, indent=1))
    attempt("reading the card", lambda: card(str(asked.out)))
    for table, values in found.items():
        for each, value in values.items():
            print(f"{table:<22} {each:<20} {_short(value)}")
    for what, failure in failures.items():
        print(f"FAILED {what}: {failure}")
    print(f"{time.perf_counter() - start:.0f} s; {len(failures)} entries failed; written: {asked.out}")
    return 1 if failures else 0


def _short(value: Any) -> str:
    if isinstance(value, (int, float)):
        return f"{value:.0f} ns"
    if not value:
        return "nothing"
    amount, taken = value[-1]
    return f"{len(value)} points, first {value[0][1]} ns, last {amount / taken:,.1f} per ns"


if __name__ == "__main__":
    sys.exit(main())
