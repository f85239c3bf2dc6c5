"""One suite, three runtimes: virtual GPUs, NVIDIA's (FLAMBEAU_GPUS=nvidia), and PyTorch's (--runtime torch).

A test cites its row of docs/semantics.md and the first PyTorch version that has the rule:

    @pytest.mark.rule("1.4.3", since="1.0")
    def test_...(torch): ...

- `torch` is flambeau or PyTorch; a test uses only names that both have.  Without --runtime nothing imports PyTorch.
- `@pytest.mark.devices(n)`: how many GPUs the test needs, one by default; fewer are a skip that says so.
- A runtime older than `since` does not have the rule: the test is not applicable, which is counted and never a pass.
- `differs="..."` says in a few words how PyTorch's answer differs; docs/differences.md has the row.  There the test
  must fail, or the row is out of date.
- `lacks="..."` says what flambeau does not do yet; on flambeau the test must fail, or the mark is out of date.
  `lacks_on_nvidia="..."` is what the nvidia driver does not do yet.
- `@pytest.mark.virtual("why")`: only virtual GPUs can show it, as where a schedule is chosen or a launch fails.
"""

from __future__ import annotations

import functools
import gc
import importlib
import json
import os
import re
import subprocess
import sys
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
SOURCES = HERE.parents[1] / "src"
NOT_APPLICABLE = "not applicable: "
VIRTUAL_ONLY = "virtual GPUs only: "
KINDS = ("agree", "disagree", "differ as listed", "lacking", "not applicable", "virtual GPUs only", "not run")


class Runtime:
    """Whom the suite asks."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.on_hardware = name == "torch" or os.environ.get("FLAMBEAU_GPUS") == "nvidia"
        self.is_virtual = not self.on_hardware

    @property
    def version(self) -> str:
        return metadata.version(self.name)

    def has(self, since: str) -> bool:
        """Whether a rule that PyTorch has since that version is to be expected.  flambeau has them all."""
        return self.name != "torch" or _numbers(self.version) >= _numbers(since)

    @property
    def expected_failures(self) -> tuple[str, ...]:
        """The keywords of a rule that say why this runtime fails its test."""
        if self.name == "torch":
            return ("differs",)
        return ("lacks",) if self.is_virtual else ("lacks", "lacks_on_nvidia")

    def module(self) -> Any:
        return importlib.import_module(self.name)

    def __str__(self) -> str:
        if self.name == "torch":
            return f"torch {self.version}"
        return f"flambeau on {'virtual' if self.is_virtual else 'NVIDIA'} GPUs"


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(each) for each in re.findall(r"\d+", version)[:2])


def runtime_of(config: pytest.Config) -> Runtime:
    return Runtime(config.getoption("--runtime"))


def pytest_configure(config: pytest.Config) -> None:
    for line in (
        "rule(row, since, differs=None, lacks=None, lacks_on_nvidia=None): what a test holds the runtime to",
        "virtual(why): needs a virtual GPU",
    ):
        config.addinivalue_line("markers", line)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            for mark in list(item.iter_markers("rule")):
                for key in runtime_of(config).expected_failures:
                    if key in mark.kwargs:
                        item.add_marker(pytest.mark.xfail(reason=f"{key}: {mark.kwargs[key]}", strict=True))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    runtime = runtime_of(item.config)
    for mark in item.iter_markers("rule"):
        item.user_properties.append(("rule", mark.args[0]))
        if not runtime.has(mark.kwargs["since"]):
            pytest.skip(f"{NOT_APPLICABLE}{runtime} is older than {mark.kwargs['since']}")
    mark = item.get_closest_marker("virtual")
    if mark is not None and not runtime.is_virtual:
        pytest.skip(f"{VIRTUAL_ONLY}{mark.args[0]}")


@pytest.fixture(scope="session")
def runtime(pytestconfig: pytest.Config) -> Runtime:
    return runtime_of(pytestconfig)


@pytest.fixture
def wanted(request: pytest.FixtureRequest) -> int:
    """How many GPUs the test needs."""
    mark = request.node.get_closest_marker("devices")
    return mark.args[0] if mark else 1


@pytest.fixture
def torch(runtime: Runtime, wanted: int) -> Iterator[Any]:
    """flambeau, on as many fresh virtual GPUs as the test needs or on real ones; or PyTorch."""
    module = runtime.module()
    if runtime.is_virtual:
        with importlib.import_module("flambeau.testing").machine(devices=max(wanted, 1)):
            yield module
        return
    _need(module, wanted)
    for index in range(wanted):
        _warm(module, index)
    yield module
    if wanted:
        for index in range(module.cuda.device_count()):
            module.cuda.set_stream(module.cuda.default_stream(index))
            module.cuda.synchronize(index)
        module.cuda.set_device(0)
        module.cuda.empty_cache()


@functools.cache
def _warm(module: Any, index: int) -> None:
    """Load what tests put behind long work: loading, and memory of the driver's, may wait for the whole device."""
    with module.cuda.device(index):
        module.cuda._sleep(1)
        x, host = module.zeros(1000, device="cuda"), module.ones(1000).pin_memory()
        x.copy_(host, non_blocking=True)
        y = (x.fill_(1).add_(1) + 1) * 2
        y.copy_(x)
        for other in range(index):  # peer access is turned on at the first copy
            module.zeros(4, device=f"cuda:{other}").copy_(x[:4].to(f"cuda:{other}").to("cuda"))
        for each in (x.to("cpu", non_blocking=True), host.to("cuda", non_blocking=True), y.sum()):
            each.cpu()
        module.cuda.synchronize()


def _need(module: Any, wanted: int) -> None:
    there_are = module.cuda.device_count()
    if there_are < wanted:
        pytest.skip(f"needs {wanted} GPUs, there are {there_are}")


@pytest.fixture
def busy(torch: Any) -> Callable[..., None]:
    """Queues work on a stream that takes some milliseconds, so that what comes too early shows."""

    def queue(stream: Any = None, milliseconds: int = 20) -> None:
        with torch.cuda.stream(stream):
            torch.cuda._sleep(milliseconds * 2_000_000)

    return queue


@pytest.fixture
def take(torch: Any) -> Iterator[Callable[[int], Any]]:
    """Makes tensors of so many bytes on a side stream, whose pools are empty at first."""
    gc.collect()
    torch.cuda.synchronize()
    torch.cuda.empty_cache()
    with torch.cuda.stream(torch.cuda.Stream()):
        yield lambda nbytes: torch.empty(nbytes, dtype=torch.uint8, device="cuda")


@pytest.fixture
def growth(torch: Any) -> Callable[..., tuple[Any, list[int]]]:
    """What a call returned, and by how much it made each of the named figures grow."""

    def measure(call: Callable[[], Any], *figures: str) -> tuple[Any, list[int]]:
        before = torch.cuda.memory_stats()
        made = call()
        after = torch.cuda.memory_stats()
        return made, [after[each] - before[each] for each in figures]

    return measure


class Spares:
    """Processes that have imported the runtime, which takes PyTorch seconds, and wait for a program.

    ahead: how many are to wait while a program runs.
    """

    def __init__(self, name: str, ahead: int) -> None:
        self.name = name
        self.ahead = ahead
        self._waiting: defaultdict[tuple[tuple[str, str], ...], deque[subprocess.Popen[str]]] = defaultdict(deque)

    def take(self, environment: dict[str, str], often: bool) -> subprocess.Popen[str]:
        """A process for a program.  often: whether others will want one with the same environment."""
        waiting = self._waiting[tuple(sorted(environment.items()))]
        while len(waiting) <= (self.ahead if often else 0):
            waiting.append(self._start(environment))
        return waiting.popleft()

    def _start(self, environment: dict[str, str]) -> subprocess.Popen[str]:
        pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        return subprocess.Popen([sys.executable, "-c", PRELUDE.format(self.name)], text=True, env=environment, **pipes)

    def end(self) -> None:
        for waiting in self._waiting.values():
            for each in waiting:
                each.kill()
                each.communicate()


@pytest.fixture(scope="session")
def spares(runtime: Runtime) -> Iterator[Spares]:
    found = Spares(runtime.name, ahead=min(6, os.cpu_count() or 1) if runtime.name == "torch" else 0)
    yield found
    found.end()


@pytest.fixture
def program(runtime: Runtime, wanted: int, spares: Spares) -> Callable[..., Any]:
    """Runs a program in a process of its own, with `torch`, `attempt` and `answer`; what it answered.

    `answer(value)` gives the test a value; `attempt(call)` is what a call returned, or the name of the builtin class of
    its error.  Keywords are environment variables, None to unset one.
    """
    if runtime.on_hardware and wanted:
        _need(runtime.module(), wanted)

    def run(source: str, **environment: str | None) -> Any:
        process = spares.take(_environment(runtime, wanted, environment), often=not environment)
        try:
            output, complaints = process.communicate(source, timeout=300)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
        assert process.returncode == 0, complaints
        return [json.loads(line[1:]) for line in output.splitlines() if line.startswith("=")]

    return run


UNSET = (
    "CUBLASLT_WORKSPACE_SIZE",
    "CUBLAS_WORKSPACE_CONFIG",
    "CUDA_LAUNCH_BLOCKING",
    "PYTORCH_ALLOC_CONF",
    "PYTORCH_CUDA_ALLOC_CONF",
    "FLAMBEAU_CACHE",
    "PYTORCH_KERNEL_CACHE_PATH",
    "PYTORCH_NO_CUDA_MEMORY_CACHING",
    "PYTORCH_NVML_BASED_CUDA_CHECK",
    "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE",
    "TORCH_BLAS_PREFER_CUBLASLT",
    "TORCH_CUDA_CHECK_STRAY_CONTEXT",
    "TORCH_CUDA_SANITIZER",
    "TORCH_LINALG_PREFER_CUSOLVER",
    "USE_PYTORCH_KERNEL_CACHE",
)
PRELUDE = """
import builtins, json, os, sys
import {} as torch

def answer(value):
    print("=" + json.dumps(value), flush=True)

def attempt(call):
    try:
        return call()
    except Exception as error:
        known = [each.__name__ for each in type(error).__mro__ if each.__module__ == "builtins"]
        return known[0] + ": " + str(error).splitlines()[0]

exec(compile(sys.stdin.read(), "<program>", "exec"))
"""


def _environment(runtime: Runtime, wanted: int, changes: dict[str, str | None]) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name not in UNSET}
    kept["PYTHONPATH"] = os.pathsep.join([str(SOURCES), os.environ.get("PYTHONPATH", "")])
    if runtime.is_virtual:
        kept["FLAMBEAU_GPUS"] = f"virtual:{wanted}" if wanted else "none"
    if runtime.is_virtual or not wanted:
        kept["CUDA_VISIBLE_DEVICES"] = ",".join(map(str, range(wanted)))
    for name, value in changes.items():
        kept.pop(name, None)
        if value is not None:
            kept[name] = value
    return kept


# what the summary says


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    found: dict[str, list[tuple[str, str, str]]] = {kind: [] for kind in KINDS}
    for outcome, reports in terminalreporter.stats.items():
        for report in reports if outcome else ():
            rows = [value for name, value in getattr(report, "user_properties", ()) if name == "rule"]
            if rows:
                reason = _reason(report)
                found[_kind(outcome, reason)].append((rows[0], report.nodeid.partition("::")[2], reason))
    total = sum(map(len, found.values()))
    if not total:
        return
    counts = ", ".join(f"{len(found[kind])} {kind}" for kind in KINDS)
    terminalreporter.write_line(f"rules, asked of {runtime_of(config)}: {total} tests: {counts}")
    for row, name, reason in sorted(found["differ as listed"] + found["lacking"] + found["not applicable"]):
        terminalreporter.write_line(f"  {row} {name}: {reason}")
    for reason, count in sorted(Counter(reason for _, _, reason in found["not run"]).items()):
        terminalreporter.write_line(f"  not run: {count} tests: {reason}")


def _reason(report: Any) -> str:
    if getattr(report, "wasxfail", ""):
        return str(report.wasxfail).removeprefix("reason: ")
    longrepr = report.longrepr
    return longrepr[2].removeprefix("Skipped: ") if report.skipped and isinstance(longrepr, tuple) else ""


def _kind(outcome: str, reason: str) -> str:
    if outcome == "skipped":
        return next((kind for kind in KINDS if reason.startswith(f"{kind}: ")), "not run")
    if outcome == "xfailed":
        return "lacking" if reason.startswith("lacks") else "differ as listed"
    return "agree" if outcome == "passed" else "disagree"
