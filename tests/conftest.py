"""The machine that tests run on: fresh virtual GPUs, or, with FLAMBEAU_GPUS=nvidia, the GPUs there are."""

import gc
import itertools
import os
import signal
import sys
from collections.abc import Callable, Iterator
from multiprocessing.util import _finalizer_registry
from pathlib import Path
from typing import Any

import pytest

os.environ.setdefault("FLAMBEAU_PURE", "1")  # importing flambeau uncompiled is meant, and no reason to warn
# before NumPy is imported: threads of its BLAS wait busily, and take more of the processors than the tests' matrices do
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

HERE = Path(__file__).parent
HELPERS = [f"tests.{path.stem}" for path in HERE.iterdir() if path.stem not in ("__pycache__", "conftest")]
HELPERS += ["tests.serialization.reading"]
pytest.register_assert_rewrite("flambeau.testing", *HELPERS)  # their assertions count; before they are imported

import numpy as np  # noqa: E402

import flambeau  # noqa: E402
from flambeau.core import native  # noqa: E402
from flambeau.driver.nvidia.compile import nvrtc_version  # noqa: E402
from flambeau.errors import AcceleratorError  # noqa: E402
from flambeau.runtime import generator  # noqa: E402
from flambeau.testing import machine  # noqa: E402
from tests.forks import Programs  # noqa: E402
from tests.latch import Latch, Latches  # noqa: E402
from tests.tiers import is_full  # noqa: E402

pytest_plugins = ["tests.assertions", "tests.error_texts", "tests.tiers", "tests.rules"]
if "EMULATION" in os.environ and (HERE / "emulation").is_dir():  # scripts/emulated; copies of this file are alone
    pytest_plugins.append("tests.emulation.skips")
ON_HARDWARE = os.environ.get("FLAMBEAU_GPUS") == "nvidia"


def pytest_configure() -> None:
    """Take SIGINT, which shells ignore for programs that run in the background: tests send it."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Collect tests without the collector, which takes a third of the time and finds nothing."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Slow ones first, so that processes which share the tests end together."""
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown() -> Iterator[None]:
    """Refuse tests that leave a critical section open: signals and the garbage collector would wait for ever."""
    yield
    if native.is_critical(sys._getframe()):
        native._in_child()  # closes all
        pytest.fail("the test has left a lock held, or a critical section open")


@pytest.fixture(scope="session")
def programs(pytestconfig: pytest.Config) -> Iterator[Programs]:
    """Runs programs in processes of their own: in the full tier new ones, else forked copies of one."""
    found = Programs(fresh=is_full(pytestconfig))
    yield found
    found.end()


@pytest.fixture(scope="module", autouse=True)
def _young_heap() -> None:
    """Keep the collector from what lasts: every capture of a graph begins with a collection, of a fifth of a second."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def _no_semaphores_in_cycles() -> Iterator[None]:
    """Free the semaphores that a caught error's frames keep.

    A collection while multiprocessing's resource tracker runs would free them there, which the tracker warns of.
    """
    before = len(_finalizer_registry)
    yield
    if len(_finalizer_registry) > before:
        gc.collect()


@pytest.fixture(autouse=True)
def _seeded(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Give every test the same random numbers in every run, whichever tests its process has run before."""
    seeds = itertools.count(1 << 40)
    monkeypatch.setattr(generator, "_drawn_seed", lambda: next(seeds))  # of the GPUs that a test makes
    for name, value in list(vars(request.module).items()):
        if isinstance(value, np.random.Generator):
            monkeypatch.setattr(request.module, name, np.random.default_rng(0))
    flambeau.default_generator.manual_seed(0)
    if ON_HARDWARE and flambeau.cuda.is_initialized():
        flambeau.cuda.manual_seed_all(0)


def _free_tensors(devices: int) -> None:
    """Free what earlier tests have left in cycles, so that a test on hardware starts from nothing allocated."""
    if any(map(flambeau.cuda.memory_allocated, range(devices))):
        gc.collect()


def _wanted(request: pytest.FixtureRequest) -> int:
    mark = request.node.get_closest_marker("devices")
    return mark.args[0] if mark else 2


@pytest.fixture
def gpus(request: pytest.FixtureRequest) -> Iterator[object]:
    """As many GPUs as the test's `devices(n)` mark says, two by default.

    A test that needs more than there are is skipped.
    """
    wanted = _wanted(request)
    if not ON_HARDWARE:
        with machine(devices=wanted) as made:
            yield made
        return
    if flambeau.cuda.device_count() < wanted:
        pytest.skip(f"needs {wanted} GPUs, there are {flambeau.cuda.device_count()}")
    flambeau.cuda.init()
    shared = flambeau.core.thread.machine()
    settings = shared.settings
    _free_tensors(wanted)
    yield shared
    flambeau.cuda.synchronize()
    if shared.settings is not settings:
        flambeau.cuda.memory._set_allocator_settings("")


@pytest.fixture
def latches(gpus: Any, request: pytest.FixtureRequest) -> Iterator[Latches]:
    """Makes latches for streams of the GPUs of `gpus`; some tests override `gpus` with virtual ones."""
    with Latches(flambeau, gpus.choice.kind == "nvidia", _wanted(request)) as made:
        yield made


@pytest.fixture
def latch(latches: Latches) -> Callable[..., Latch]:
    """Holds a stream, the current one by default, until the latch that it returns is opened."""
    return latches.latch


@pytest.fixture
def busy(latches: Latches) -> Callable[..., Latch]:
    """Holds a stream, the current one by default, for some time, so that what comes too early shows."""
    return latches.busy


@pytest.fixture(params=["cpu", "cuda"])
def device(request: pytest.FixtureRequest) -> Iterator[str]:
    """The CPU, and a GPU: a virtual one, or with FLAMBEAU_GPUS=nvidia the one there is."""
    if request.param == "cpu" or ON_HARDWARE:
        yield request.param
        return
    with machine(devices=1):
        yield "cuda"


@pytest.fixture
def new_gpus(request: pytest.FixtureRequest) -> object:
    """`gpus` of a machine in which nothing has run.  On hardware, where all tests share one, the test is skipped."""
    if ON_HARDWARE:
        pytest.skip("needs GPUs on which nothing has run")
    return request.getfixturevalue("gpus")


@pytest.fixture
def nvrtc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[int, int]:
    """NVRTC's version, with an empty cache of kernels.  A test without NVRTC is skipped."""
    monkeypatch.setenv("FLAMBEAU_CACHE", str(tmp_path))
    try:
        return nvrtc_version()
    except (AcceleratorError, RuntimeError) as failure:
        pytest.skip(f"NVRTC is not installed: {failure}")
