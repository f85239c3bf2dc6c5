"""Memory and events of other processes against stand-in bindings: the calls, their bytes, and their checks."""

from __future__ import annotations

import ctypes

import pytest

from flambeau import errors
from flambeau.driver.nvidia import driver
from flambeau.driver.nvidia.driver import NvidiaDriver

RAW = bytes(range(64))


class Handle:
    """As the bindings' CUipcMemHandle: 64 bytes that only `getPtr` reaches."""

    def __init__(self, raw=bytes(64)):
        self.raw = (ctypes.c_uint8 * 64).from_buffer_copy(raw)

    def getPtr(self):  # noqa: N802
        return ctypes.addressof(self.raw)


@pytest.fixture
def cuda(cuda, monkeypatch):
    from .conftest import RESULTS

    monkeypatch.setitem(RESULTS, "cuIpcGetMemHandle", lambda address: (Handle(RAW),))
    monkeypatch.setitem(RESULTS, "cuIpcGetEventHandle", lambda event: (Handle(RAW),))
    monkeypatch.setitem(RESULTS, "cuIpcOpenMemHandle", lambda handle, flags: (0xABC000,))
    monkeypatch.setitem(RESULTS, "cuIpcOpenEventHandle", lambda handle: (0xE0,))
    cuda.CUipcMemHandle = cuda.CUipcEventHandle = Handle
    return cuda


@pytest.fixture
def as_another_process(monkeypatch):
    return lambda: monkeypatch.setattr(driver, "_PROCESS", b"another!")


def test_memory_goes_there_and_is_closed(driver: NvidiaDriver, cuda, as_another_process):
    handle = driver.ipc_export(1, 0xABC000)
    assert cuda.named("cuIpcGetMemHandle") == [(0xABC000,)]
    as_another_process()
    assert driver.ipc_open(1, handle) == 0xABC000
    ((given, flags),) = cuda.named("cuIpcOpenMemHandle")
    assert bytes(given.raw) == RAW and flags == 1
    driver.ipc_close(1, 0xABC000)
    assert cuda.named("cuIpcCloseMemHandle") == [(0xABC000,)]


def test_an_event_goes_there_and_is_destroyed(driver: NvidiaDriver, cuda, as_another_process):
    event = driver.event_create(1, False, False, True)
    assert cuda.named("cuEventCreate") == [(2 | 4,)]
    handle = driver.event_ipc_export(event)
    as_another_process()
    opened = driver.event_ipc_open(1, handle)
    assert bytes(cuda.named("cuIpcOpenEventHandle")[0][0].raw) == RAW
    driver.stream_wait_event(driver.stream_adopt(1, 0), opened)
    driver.event_destroy(opened)
    assert cuda.named("cuEventDestroy") == [(0xE0,)]


def test_a_plain_event_is_not_exported(driver: NvidiaDriver, cuda):
    with pytest.raises(errors.AcceleratorError, match="interprocess=True"):
        driver.event_ipc_export(driver.event_create(0, False, False, False))
    assert cuda.named("cuIpcGetEventHandle") == []


def test_the_driver_never_sees_a_handle_that_is_not_its_own_kind(driver: NvidiaDriver, cuda):
    handle = driver.ipc_export(0, 0xABC000)
    for bad in (b"", handle[:-1], bytes(len(handle)), handle):
        with pytest.raises(errors.ArgumentError):
            driver.ipc_open(0, bad)
        with pytest.raises(errors.ArgumentError):
            driver.event_ipc_open(0, bad)
    assert cuda.named("cuIpcOpenMemHandle") == cuda.named("cuIpcOpenEventHandle") == []


def test_the_device_must_be_the_same(driver: NvidiaDriver, as_another_process, monkeypatch):
    handle = driver.ipc_export(0, 0xABC000)
    as_another_process()
    monkeypatch.setattr(driver._devices, "uuid", lambda device: "GPU-other")
    with pytest.raises(errors.ArgumentError, match="GPU-00010203.* was opened on device 0, GPU-other"):
        driver.ipc_open(0, handle)


def test_a_flush_waits_for_the_stream(driver: NvidiaDriver, cuda):
    driver.ipc_flush(driver.stream_adopt(0, 0))
    assert len(cuda.named("cuStreamSynchronize")) == 1
