"""The fixtures of tests of rules; tests/rules.py says how such a test is written."""

from __future__ import annotations

import functools
import gc
import importlib
import json
import os
import subprocess
import sys
import warnings
from collections import defaultdict, deque
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.forks import Programs, Wanted
from tests.latch import Latches
from tests.rules import Runtime, runtime_of

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
SOURCES = ROOT / "src"
HARMLESS = "The AccumulateGrad node's stream", "Attempting to run cuBLAS, but there was no"  # warnings of PyTorch's


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Only the files here ask PyTorch: the folders have tests of flambeau's modules together."""
    is_of_flambeau = collection_path.parent == HERE and collection_path.is_dir()
    return True if is_of_flambeau and runtime_of(config).name != "flambeau" else None


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
    with warnings.catch_warnings():
        for message in HARMLESS:
            warnings.filterwarnings("ignore", message)
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
def latches(torch: Any, runtime: Runtime, wanted: int) -> Iterator[Latches]:
    """Makes latches for streams of the library that is tested."""
    with Latches(torch, runtime.on_hardware, wanted) as made:
        yield made


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
    """A function that calls another and returns its result, with the increase of each named memory statistic."""

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
        command = [sys.executable, "-c", PRELUDE.format(self.name, True)]
        return subprocess.Popen(command, text=True, env=environment, **pipes)

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
def program(runtime: Runtime, wanted: int, spares: Spares, programs: Programs) -> Callable[..., Any]:
    """Runs a program in a process of its own, with `torch`, `latch`, `busy`, `attempt` and `answer`; what it answered.

    `answer(value)` gives the test a value; `attempt(call)` is what a call returned, or the name of the builtin class of
    its error.  Keywords are environment variables, None to unset one.
    """
    if runtime.on_hardware and wanted:
        _need(runtime.module(), wanted)

    def run(source: str, **environment: str | None) -> Any:
        settings = _environment(runtime, wanted, environment)
        if runtime.is_virtual:
            code = PRELUDE.format(runtime.name, False)
            wants = Wanted(["-c", code], os.getcwd(), settings, source)
            anew = not READ_AT_IMPORT.isdisjoint(environment)
            status, output, complaints = programs.run(wants, timeout=300, fresh=anew)
        else:
            process = spares.take(settings, often=not environment)
            try:
                output, complaints = process.communicate(source, timeout=300)
            except subprocess.TimeoutExpired:
                process.kill()
                raise
            status = process.returncode
        assert status == 0, complaints
        return [json.loads(line[1:]) for line in output.splitlines() if line.startswith("=")]

    return run


UNSET = (
    "PYTEST_CURRENT_TEST",  # would make each test's environment another
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
READ_AT_IMPORT = {
    "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE",
    "TORCH_BLAS_PREFER_CUBLASLT",
    "TORCH_LINALG_PREFER_CUSOLVER",
}
PRELUDE = """
import builtins, json, os, sys
import {} as torch
from tests.latch import Latches

latches = Latches(torch, {}, devices=0)
latch, busy = latches.latch, latches.busy

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
    kept["PYTHONPATH"] = os.pathsep.join([str(ROOT), str(SOURCES), os.environ.get("PYTHONPATH", "")])
    if runtime.is_virtual:
        kept["FLAMBEAU_GPUS"] = f"virtual:{wanted}" if wanted else "none"
    if runtime.is_virtual or not wanted:
        kept["CUDA_VISIBLE_DEVICES"] = ",".join(map(str, range(wanted)))
    for name, value in changes.items():
        kept.pop(name, None)
        if value is not None:
            kept[name] = value
    return kept
