"""Compares modelled times with measured ones, and the peak memory of `flambeau fit` with the GPU's.

    python -m benchmarks.modelled [--json FILE] [--card h200] [--preset-host] [--only TEXT] [--limit 85]

Each program runs in a process of its own on virtual GPUs that compute no values and, where there is an NVIDIA GPU, in
another one there.  A time is that of one step of a loop without a wait, from an idle device to an idle device: the
median of some loops.  A training step's modelled time and peak are those that `flambeau fit` prints.  A time should be
within 25 % of the measured one, a peak within 5 %.  --card also takes the path of a card's file.

Where there is a GPU, the host's times are not those of the preset h200 but of this host, as `calibrate --host` measures
them first; --preset-host keeps the preset's.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import flambeau as torch
from flambeau import nn, optim
from flambeau.core import thread
from flambeau.driver.virtual.card import DEFAULT, card
from flambeau.driver.virtual.driver import VirtualDriver
from flambeau.nn import functional as F

from . import times
from .perceptron import Perceptron

TIME_WITHIN, PEAK_WITHIN = 0.25, 0.05
LOOPS, LOOP_NS, LONGEST = 7, 30e6, 200
FIT_STEPS = 6
HOST_PROCESSES = 3  # that measure the times of this host
PROCESS_SECONDS = 45.0
KERNELS_KEPT = 40
MIB = 1 << 20
Step = Callable[[], Any]


# simple programs: each function returns one step
def large_pointwise() -> Step:
    x, y = (torch.randn(64 * MIB, device="cuda") for _ in range(2))
    return lambda: ((x * 2 + y).relu() - y).exp().mul_(0.5)


def small_pointwise() -> Step:
    x, y = (torch.randn(64, 64, device="cuda") for _ in range(2))

    def step() -> Any:
        z = x
        for _ in range(10):
            z = (z * 0.5 + y).tanh()
        return z

    return step


def products() -> Step:
    x = torch.randn(4096, 2048, device="cuda").bfloat16()
    a, b = (torch.randn(*shape, device="cuda").bfloat16() for shape in ((2048, 8192), (8192, 2048)))

    def step() -> Any:
        z = x
        for _ in range(4):
            z = z @ a @ b
        return z

    return step


def norms() -> Step:
    x = torch.randn(8192, 2048, device="cuda")
    return lambda: F.layer_norm(x.softmax(-1), (2048,))


def reductions() -> Step:
    x = torch.randn(8192, 4096, device="cuda")
    return lambda: (x.sum(), x.mean(0), x.amax(1), x.var(1))


def copies() -> Step:
    """Batches from pinned memory on a stream of their own, while products of the one before run."""
    host = torch.ones(16 * MIB).pin_memory()
    x = torch.randn(8192, 4096, device="cuda").bfloat16()
    a = torch.randn(4096, 4096, device="cuda").bfloat16()
    buffers = [torch.empty(16 * MIB, device="cuda") for _ in range(2)]
    side = torch.cuda.Stream()

    def step() -> Any:
        for buffer in buffers:
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                buffer.copy_(host, non_blocking=True)
            for _ in range(2):
                z = x @ a
            torch.cuda.current_stream().wait_stream(side)
            buffer.mul_(2)
        return z

    return step


def convolutions() -> Step:
    x = torch.randn(64, 64, 56, 56, device="cuda").bfloat16().to(memory_format=torch.channels_last)
    layers = [nn.Conv2d(64, 128, 3, padding=1), nn.Conv2d(128, 128, 3, padding=1), nn.Conv2d(128, 256, 3, padding=1)]
    net = nn.Sequential(*[part for layer in layers for part in (layer, nn.ReLU())])
    net = net.cuda().bfloat16().to(memory_format=torch.channels_last).requires_grad_(False)
    return lambda: net(x)


def attention() -> Step:
    x = torch.randn(8, 1024, 1024, device="cuda").bfloat16()
    qkv, out = (nn.Linear(1024, wide).cuda().bfloat16().requires_grad_(False) for wide in (3072, 1024))

    def step() -> Any:
        query, key, value = qkv(x).view(8, 1024, 3, 16, 64).permute(2, 0, 3, 1, 4).unbind(0)
        mixed = F.scaled_dot_product_attention(query, key, value, is_causal=True)
        return x + out(mixed.transpose(1, 2).reshape(8, 1024, 1024))

    return step


# training steps: each function returns the optimizer and one step
class Block(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.project = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x: Any) -> Any:
        batch, length, width = x.shape
        parts = self.qkv(self.first(x)).view(batch, length, 3, self.heads, width // self.heads)
        query, key, value = parts.permute(2, 0, 3, 1, 4).unbind(0)
        mixed = F.scaled_dot_product_attention(query, key, value, is_causal=True)
        x = x + self.project(mixed.transpose(1, 2).reshape(batch, length, width))
        return x + self.mlp(self.second(x))


class GPT(nn.Module):
    def __init__(self, words: int, length: int, width: int, heads: int, layers: int) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(length, width)
        self.blocks = nn.Sequential(*[Block(width, heads) for _ in range(layers)])
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, words, bias=False)

    def forward(self, tokens: Any) -> Any:
        places = torch.arange(tokens.shape[1], device=tokens.device)
        return self.head(self.norm(self.blocks(self.words(tokens) + self.places(places))))


def trained(net: nn.Module, x: Any, y: Any) -> Step:
    optimizer = optim.AdamW(net.parameters(), lr=1e-4)

    def step() -> None:
        optimizer.zero_grad()
        F.cross_entropy(net(x).flatten(0, -2), y.flatten()).backward()
        optimizer.step()

    return step


def perceptron() -> Step:
    return Perceptron(torch).step


def _gpt(words: int, length: int, width: int, heads: int, layers: int, batch: int) -> Step:
    net = GPT(words, length, width, heads, layers).cuda().bfloat16()
    tokens = torch.randint(words, (batch, length + 1), device="cuda")
    return trained(net, tokens[:, :-1].contiguous(), tokens[:, 1:].contiguous())


def small_gpt() -> Step:
    return _gpt(256, 256, 256, 8, 6, 8)


def gpt2() -> Step:
    return _gpt(50257, 1024, 768, 12, 12, 8)


def digits_cnn() -> Step:
    net = nn.Sequential(
        nn.Conv2d(1, 32, 3), nn.ReLU(), nn.Conv2d(32, 64, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Dropout(0.25),
        nn.Flatten(), nn.Linear(9216, 128), nn.ReLU(), nn.Dropout(0.5), nn.Linear(128, 10),
    ).cuda()  # fmt: skip
    x, y = torch.randn(256, 1, 28, 28, device="cuda"), torch.randint(10, (256,), device="cuda")
    return trained(net, x, y)


PROGRAMS: dict[str, tuple[str, Callable[[], Step]]] = {
    "large_pointwise": ("pointwise chain, 256 MiB each", large_pointwise),
    "small_pointwise": ("pointwise chain, 16 KiB each", small_pointwise),
    "products": ("products, bfloat16", products),
    "norms": ("softmax and layer norm", norms),
    "reductions": ("reductions", reductions),
    "copies": ("pinned copies beside products", copies),
    "convolutions": ("convolutions, bfloat16, channels last", convolutions),
    "attention": ("attention block, bfloat16", attention),
}
TRAININGS: dict[str, tuple[str, Callable[[], Step]]] = {
    "perceptron": ("training: perceptron", perceptron),
    "small_gpt": ("training: GPT of 5 million, bfloat16", small_gpt),
    "digits_cnn": ("training: MNIST CNN, 256 images", digits_cnn),
    "gpt2": ("training: GPT-2 124M, bfloat16, 8 x 1024", gpt2),
}
ALL = {**PROGRAMS, **TRAININGS}


def clock() -> Callable[[], int]:
    """Return a function that returns the time, in nanoseconds, at which all submitted work is done."""
    driver = thread.machine().driver
    if isinstance(driver, VirtualDriver):
        return driver.end_ns

    def now() -> int:
        torch.cuda.synchronize()
        return time.perf_counter_ns()

    return now


def step_ns(step: Step) -> float:
    """The time of one step in a loop, the median of some loops."""
    torch.cuda.synchronize()
    now = clock()

    def once(count: int) -> float:
        torch.cuda.synchronize()
        start = now()
        for _ in range(count):
            step()
        return (now() - start) / count

    once(3)
    count = max(3, min(LONGEST, int(LOOP_NS / max(once(2), 1.0))))
    if isinstance(thread.machine().driver, VirtualDriver):  # every loop is the same
        return float(once(10))
    return statistics.median(once(count) for _ in range(LOOPS))


def run_one(name: str) -> dict[str, Any]:
    """The time and the peak of one program on the GPUs of this process, and what it consists of."""
    step = ALL[name][1]()
    taken = step_ns(step)
    peaks = {"peak": torch.cuda.max_memory_reserved(), "peak_allocated": torch.cuda.max_memory_allocated()}
    found = {"ns": taken} | peaks
    try:
        return found | {"submit_ns": submit_ns(step), "kernels": kernels_of(step)}
    except Exception as failure:  # noqa: BLE001 (the time is what was asked for)
        return found | {"unexplained": f"{type(failure).__name__}: {failure}"}


def submit_ns(step: Step) -> float:
    """The host's time to submit one step to an idle device."""
    now = thread.machine().driver.host_ns
    taken = []
    for _ in range(LOOPS):
        torch.cuda.synchronize()
        start = now()
        step()
        taken.append(now() - start)
    return statistics.median(taken)


def kernels_of(step: Step) -> list[tuple[str, int, float]]:
    """Name, number and microseconds of a step's work on the device, the longest first."""
    with torch.profile() as profile:
        step()
        torch.cuda.synchronize()
    sums: dict[str, list[float]] = {}
    for span in profile.spans:
        row = sums.setdefault(span.name, [0, 0.0])
        row[0] += 1
        row[1] += (span.end_ns - span.start_ns) / 1e3
    rows = [(name, int(count), round(taken, 2)) for name, (count, taken) in sums.items()]
    return sorted(rows, key=lambda row: -row[2])[:KERNELS_KEPT]


def run_for_fit(name: str) -> None:
    """The steps of a training, which `flambeau fit` ends."""
    step = ALL[name][1]()
    for _ in range(FIT_STEPS + 1):
        step()


def _answer(arguments: Sequence[str], gpus: str, seconds: float) -> dict[str, Any]:
    """Run a module in a new process.  Return the JSON object that it prints, or {"error": why there is none}."""
    command = [sys.executable, "-m", *arguments]
    environment = os.environ | {"FLAMBEAU_GPUS": gpus}
    try:
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=max(1.0, seconds))
    except subprocess.TimeoutExpired:
        return {"error": f"no answer in {seconds:.0f} s"}
    try:
        return dict(json.loads(done.stdout))
    except ValueError:
        said = (done.stderr or done.stdout).strip().splitlines()
        return {"error": f"exit status {done.returncode}: {' | '.join(said[-3:])[-300:]}"}


def modelled(name: str, chosen: str, seconds: float) -> dict[str, Any]:
    """The modelled time and peak of a program on a card."""
    if name in PROGRAMS:
        return _answer(["benchmarks.modelled", "--run", name], f"virtual:1,preset={chosen},values=no", seconds)
    arguments = ["flambeau", "fit", "--card", chosen, "--json", "--steps", str(FIT_STEPS)]
    found = _answer([*arguments, "-m", "benchmarks.modelled", "--fit", name], "virtual:1", seconds)
    if "error" in found:
        return found
    (answer,) = found["cards"]
    if answer["step_ms"] is None:
        return {"error": answer["error"] or "no step time"}
    parts = _answer(["benchmarks.modelled", "--run", name], f"virtual:1,preset={chosen},values=no", seconds)
    return parts | {"ns": 1e6 * answer["step_ms"], "peak": answer["peak"]}


def with_this_host(folder: str) -> str:
    """Write the card of the preset h200 with the times of this host; return its path.  Raises RuntimeError.

    A process may run on a slow core throughout, so several measure, and the card with the median launch time is kept.
    """
    found = []
    for number in range(HOST_PROCESSES):
        path = str(Path(folder) / f"{DEFAULT}-this-host-{number}.toml")
        command = [sys.executable, "-m", "benchmarks.calibrate", "--host", "--out", path]
        environment = os.environ | {"FLAMBEAU_GPUS": "nvidia"}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=PROCESS_SECONDS)
        if done.returncode:
            fact = f"{' '.join(command)}: exit status {done.returncode}"
            raise RuntimeError(f"{fact}: {(done.stderr or done.stdout)[-300:]}")
        found.append((card(path).host.launch, path))
    return sorted(found)[HOST_PROCESSES // 2][1]


def compared(name: str, of_model: dict[str, Any], of_gpu: dict[str, Any] | None) -> dict[str, Any]:
    """The row of a program."""
    row: dict[str, Any] = {"name": name, "what": ALL[name][0], "modelled": of_model, "measured": of_gpu}
    if of_gpu is None or "error" in of_model or "error" in of_gpu:
        return row
    row["ratio"] = of_model["ns"] / of_gpu["ns"]
    row["time_holds"] = abs(row["ratio"] - 1) <= TIME_WITHIN
    if name in TRAININGS:
        row["peak_ratio"] = of_model["peak"] / of_gpu["peak"]
        row["peak_holds"] = abs(row["peak_ratio"] - 1) <= PEAK_WITHIN
    return row


def text_of(row: dict[str, Any]) -> str:
    def us(found: dict[str, Any] | None) -> str:
        return "" if found is None or "error" in found else f"{found['ns'] / 1e3:,.1f}"

    def mib(found: dict[str, Any] | None) -> str:
        return "" if found is None or "error" in found or row["name"] in PROGRAMS else f"{found['peak'] / MIB:,.0f}"

    def ratio(key: str, holds: str) -> str:
        return f"{row[key]:.2f} {'' if row[holds] else '!'}" if key in row else ""

    cells = [us(row["modelled"]), us(row["measured"]), ratio("ratio", "time_holds")]
    cells += [mib(row["modelled"]), mib(row["measured"]), ratio("peak_ratio", "peak_holds")]
    errors = [
        f"\n    {side}: {found['error']}"
        for side in ("modelled", "measured")
        if (found := row[side]) and "error" in found
    ]
    return f"{row['what']:<42}" + "".join(f"{cell:>12}" for cell in cells) + "".join(errors)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", type=Path, help="a file for the rows")
    parser.add_argument("--card", default=DEFAULT, help="the preset, or a card's file")
    parser.add_argument("--preset-host", action="store_true", help="take the host's times from the preset")
    parser.add_argument("--only", default="", help="programs with this in their name")
    parser.add_argument("--limit", type=float, default=85.0, help="seconds for all programs")
    parser.add_argument("--run", choices=ALL, help=argparse.SUPPRESS)
    parser.add_argument("--fit", choices=ALL, help=argparse.SUPPRESS)
    asked = parser.parse_args(argv)
    if asked.run:
        print(json.dumps(run_one(asked.run)))
        return 0
    if asked.fit:
        run_for_fit(asked.fit)
        return 0
    start = time.perf_counter()
    names = [name for name in ALL if asked.only in name]

    def left() -> float:
        return min(PROCESS_SECONDS, asked.limit - (time.perf_counter() - start))

    rows: list[dict[str, Any]] = []
    is_of_this_host = times.is_real() and asked.card == DEFAULT and not asked.preset_host
    with tempfile.TemporaryDirectory() as folder:
        chosen = with_this_host(folder) if is_of_this_host else asked.card
        with ThreadPoolExecutor(max(1, (os.cpu_count() or 2) // 2)) as pool:
            models = list(pool.map(lambda name: modelled(name, chosen, left()), names))
    for name, of_model in zip(names, models):  # the measured ones run alone
        of_gpu = _answer(["benchmarks.modelled", "--run", name], "nvidia", left()) if times.is_real() else None
        rows.append(compared(name, of_model, of_gpu))
        if asked.json is not None:
            asked.json.write_text(json.dumps({"card": asked.card, "rows": rows}, indent=1))
    heads = "modelled us", "measured us", "ratio", "peak MiB", "measured", "ratio"
    title = f"{asked.card}, times of this host" if is_of_this_host else asked.card
    print(f"{title:<42}" + "".join(f"{head:>12}" for head in heads))
    for row in rows:
        print(text_of(row))
    failed = sum(1 for row in rows if any("error" in (row[side] or {}) for side in ("modelled", "measured")))
    print(f"{failed} failed; ! is beyond {TIME_WITHIN:.0%} for times, {PEAK_WITHIN:.0%} for peaks; ", end="")
    print(f"{time.perf_counter() - start:.0f} s")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
