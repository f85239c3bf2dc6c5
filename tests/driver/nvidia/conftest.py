"""A stand-in for the module cuda.bindings.driver that records every call, and a driver on top of it."""

from __future__ import annotations

import ctypes
import subprocess
from collections.abc import Callable, Iterator
from enum import IntEnum
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pynvml
import pytest

from flambeau.driver.nvidia import library, nvml, prebuilt_cubins
from flambeau.driver.nvidia.compile import nvrtc_version
from flambeau.driver.nvidia.driver import NvidiaDriver
from flambeau.errors import AcceleratorError, NoDeviceError


class Code(IntEnum):
    CUDA_SUCCESS = 0
    CUDA_ERROR_INVALID_VALUE = 1
    CUDA_ERROR_OUT_OF_MEMORY = 2
    CUDA_ERROR_NO_DEVICE = 100
    CUDA_ERROR_NOT_READY = 600
    CUDA_ERROR_ILLEGAL_ADDRESS = 700
    CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED = 704
    CUDA_ERROR_LAUNCH_FAILED = 719
    CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED = 900
    CUDA_ERROR_STREAM_CAPTURE_INVALIDATED = 901


class Names:
    """An enum of the bindings: every member is its own name."""

    def __getattr__(self, name: str) -> str:
        return name


ATTRIBUTES = {"CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR": 9, "CU_DEVICE_ATTRIBUTE_WARP_SIZE": 32}
RESULTS: dict[str, Callable[..., tuple[Any, ...]]] = {
    "cuDriverGetVersion": lambda: (13020,),
    "cuDeviceGetCount": lambda: (2,),
    "cuDeviceGet": lambda ordinal: (ordinal,),
    "cuDevicePrimaryCtxRetain": lambda device: (0xC0 + device,),
    "cuDeviceGetName": lambda length, device: (b"Fake GPU\0\0\0",),
    "cuDeviceGetUuid": lambda device: (SimpleNamespace(bytes=bytes(range(16))),),
    "cuDeviceTotalMem": lambda device: (1 << 30,),
    "cuDeviceGetAttribute": lambda name, device: (ATTRIBUTES.get(name, 0),),
    "cuMemGetInfo": lambda: (3, 7),
    "cuDeviceGetDefaultMemPool": lambda device: (0x9000 + device,),
    "cuMemPoolGetAttribute": lambda pool, name: (77,),
    "cuMemAddressReserve": lambda nbytes, alignment, address, flags: (0x7000_0000_0000,),
    "cuCtxGetStreamPriorityRange": lambda: (0, -5),
    "cuEventElapsedTime": lambda start, end: (1.25,),
    "cuDeviceCanAccessPeer": lambda device, peer: (1,),
    "cuPointerGetAttribute": lambda name, address: (address >> 40,),
    "cuStreamEndCapture": lambda stream: (0x6AF,),
    "cuStreamIsCapturing": lambda stream: (1,),
    "cuThreadExchangeStreamCaptureMode": lambda mode: (2,),
    "cuGraphGetNodes": lambda graph: ([], 5),
    "cuDevicePrimaryCtxGetState": lambda device: (0, int(device == 1)),
    "cuDeviceGetDevResource": lambda device, kind: ((device, kind),),
    "cuDevSmResourceSplitByCount": lambda count, every, flags, least: (
        [SimpleNamespace(sm=SimpleNamespace(smCount=8))] if least <= 8 else [],
        int(least <= 8),
        None,
    ),
    "cuDevResourceGenerateDesc": lambda parts, count: (0xDE5,),
    "cuGraphInstantiate": lambda graph, flags: (0xE8EC,),
}


class FakeCuda:
    """Two devices.

    `fails` maps a call's name to the code that it returns; `launched` holds the launch buffers; `used` maps a call's
    name to the context that was current when it was last made.
    """

    CUdevice_attribute = CUfunction_attribute = CUpointer_attribute = CUstreamCaptureMode = CUdevResourceType = Names()
    CUstream = int
    CUresult = Code

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []
        self.fails: dict[str, Code] = {}
        self.launched: list[bytes] = []
        self.current = 0
        self.used: dict[str, int] = {}
        self._next = 0x100

    def __getattr__(self, name: str) -> Callable[..., tuple[Any, ...]]:
        if not name.startswith("cu"):
            raise AttributeError(name)

        def call(*arguments: Any) -> tuple[Any, ...]:
            self.calls.append((name, *arguments))
            self.used[name] = self.current
            code = self.fails.get(name, Code.CUDA_SUCCESS)
            return (code, *self._results(name, arguments)) if code == Code.CUDA_SUCCESS else (code, None)

        return call

    def named(self, name: str) -> list[tuple[Any, ...]]:
        """The arguments of each call of `name` so far."""
        return [call[1:] for call in self.calls if call[0] == name]

    def _results(self, name: str, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
        if name == "cuCtxSetCurrent":
            self.current = arguments[0]
        if name == "cuLaunchKernel":
            self.launched.append(read_extra(arguments[-1]))
        if name in RESULTS:
            return RESULTS[name](*arguments)
        if name == "cuCtxGetCurrent":
            return (self.current,)
        return (self._made(),) if any(word in name for word in ("Create", "Alloc", "Load", "GetFunction")) else ()

    def _made(self) -> int:
        self._next += 0x100
        return self._next


def read_extra(address: int) -> bytes:
    """Return the launch buffer that `extra` of cuLaunchKernel refers to."""
    key, data, size_key, size, end = (ctypes.c_size_t * 5).from_address(address)
    assert (key, size_key, end) == (1, 2, 0)
    return ctypes.string_at(data, ctypes.c_size_t.from_address(size).value)


@pytest.fixture
def cuda() -> FakeCuda:
    return FakeCuda()


@pytest.fixture
def driver(cuda: FakeCuda) -> NvidiaDriver:
    made = NvidiaDriver(cuda)
    made.start()
    return made


@pytest.fixture
def stub(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """Compile the C source STUB of a test module, load it, and wrap it in the module's class Stub."""
    module, source, built = request.module, tmp_path / "stub.c", tmp_path / "stub.so"
    source.write_text(module.STUB)
    subprocess.run([module.COMPILER, "-shared", "-fPIC", "-w", "-o", built, source], check=True)
    return module.Stub(built)


@pytest.fixture
def nvrtc(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The module cuda.bindings.nvrtc, with an empty cache of compiled kernels and none shipped."""
    try:
        nvrtc_version()
    except (AcceleratorError, NoDeviceError) as missing:
        pytest.skip(str(missing))
    monkeypatch.setenv("FLAMBEAU_CACHE", str(tmp_path))
    monkeypatch.setattr(prebuilt_cubins, "DIRECTORY", tmp_path / "shipped")
    prebuilt_cubins.archive.cache_clear()
    yield library.nvrtc_bindings()
    prebuilt_cubins.archive.cache_clear()


NVML_NOT_SUPPORTED, NVML_INSUFFICIENT_SIZE, NVML_NOT_FOUND = 3, 7, 6
UUIDS = ("GPU-aaaa0000-0000-0000-0000-000000000000", "GPU-aaab0000-0000-0000-0000-000000000000")


class FakeNvml:
    """libnvidia-ml as nvidia-ml-py calls it, with two devices.  `fails` maps the name of a call to its code."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.fails: dict[str, int] = {"nvmlDeviceGetMigMode": NVML_NOT_SUPPORTED}
        self.uuids = list(UUIDS)
        self.processes: list[tuple[int, int]] = []
        self.divided = 0

    def __getattr__(self, name: str) -> Callable[..., int]:
        answer = globals().get(f"_{name}")
        if answer is None:
            raise AttributeError(name)

        def call(*arguments: Any) -> int:
            self.calls.append(name)
            return self.fails.get(name) or answer(self, *(getattr(each, "_obj", each) for each in arguments)) or 0

        return call


def _nvmlInitWithFlags(fake: FakeNvml, flags: int) -> None:
    """Do nothing."""


def _nvmlDeviceGetCount_v2(fake: FakeNvml, count: Any) -> None:
    count.value = len(fake.uuids)


def _nvmlDeviceGetHandleByIndex_v2(fake: FakeNvml, index: Any, handle: Any) -> None:
    handle.value = index.value + 1


def _nvmlDeviceGetHandleByUUID(fake: FakeNvml, uuid: Any, handle: Any) -> int:
    if uuid.value.decode() not in fake.uuids:
        return NVML_NOT_FOUND
    handle.value = fake.uuids.index(uuid.value.decode()) + 1
    return 0


def _nvmlDeviceGetUUID(fake: FakeNvml, handle: Any, text: Any, nbytes: int) -> None:
    text.value = fake.uuids[handle.value - 1].encode()


def _nvmlDeviceGetMigMode(fake: FakeNvml, handle: Any, now: Any, later: Any) -> None:
    now.value = fake.divided


def _nvmlDeviceGetUtilizationRates(fake: FakeNvml, handle: Any, found: Any) -> None:
    found.gpu, found.memory = 10 * handle.value, 20 * handle.value


def _nvmlDeviceGetMemoryInfo(fake: FakeNvml, handle: Any, found: Any) -> None:
    found.total, found.used = 1 << 37, (1 << 36) + handle.value


def _nvmlDeviceGetTemperature(fake: FakeNvml, handle: Any, sensor: Any, found: Any) -> None:
    found.value = 40 + handle.value + sensor.value


def _nvmlDeviceGetPowerUsage(fake: FakeNvml, handle: Any, found: Any) -> None:
    found.value = 100_000 + handle.value


def _nvmlDeviceGetClockInfo(fake: FakeNvml, handle: Any, kind: Any, found: Any) -> None:
    found.value = 1000 * kind.value + handle.value


def _nvmlDeviceGetComputeRunningProcesses_v3(fake: FakeNvml, handle: Any, count: Any, found: Any) -> int:
    if count.value < len(fake.processes):
        count.value = len(fake.processes)
        return NVML_INSUFFICIENT_SIZE
    count.value = len(fake.processes)
    for place, (pid, nbytes) in zip(found or (), fake.processes):
        place.pid, place.usedGpuMemory = pid, nbytes
    return 0


def install_nvml(monkeypatch: pytest.MonkeyPatch, found: Any) -> None:
    """Let nvidia-ml-py call `found`, if there is one, and this process start NVML anew."""
    monkeypatch.setattr(pynvml, "nvmlLib", found)
    monkeypatch.setattr(pynvml, "_nvmlGetFunctionPointer_cache", {})
    nvml._of_process.cache_clear()


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeNvml]:
    """NVML with two devices, in place of an installed one."""
    fake = FakeNvml()
    install_nvml(monkeypatch, fake)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    yield fake
    nvml._of_process.cache_clear()


@pytest.fixture
def unwatched(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No NVML."""

    def missing(name: str) -> Any:
        raise OSError(f"{name}: cannot open shared object file")

    install_nvml(monkeypatch, None)
    monkeypatch.setattr(pynvml, "CDLL", missing)
    yield
    nvml._of_process.cache_clear()
