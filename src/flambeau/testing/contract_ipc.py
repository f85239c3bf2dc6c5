"""The contract suite for drivers with `capabilities.ipc`, with a second process.

    class TestMine(IpcContract):
        gpus = "virtual:1"             # what FLAMBEAU_GPUS says in the other process

        def make_driver(self) -> Driver:
            return MyDriver()

Run as a program, this file is the other process.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

from .. import host
from ..config import parse_gpus
from ..driver import make
from ..driver.api import Address, CopyKind, Driver, EventHandle, StreamHandle
from ..errors import AcceleratorError, ArgumentError, FlambeauError, NotSupportedError
from .contract import DEVICE, SEGMENT, raised

COUNT = 1 << 20  # bytes
OFFSET = 512  # bytes
PARENT, CHILD = 7, 9
TIMEOUT = 120  # seconds


class IpcContract:
    """The suite.  `driver` is a started driver with at least one device."""

    driver: Driver
    gpus: str

    def make_driver(self) -> Driver:
        """A started driver."""
        raise NotSupportedError("a subclass says how to get a driver", operator="IpcContract")

    def setup_method(self) -> None:
        self.driver = self.make_driver()
        self.stream = self.driver.stream_create(DEVICE, 0)
        self.memory = self.driver.mem_alloc(DEVICE, SEGMENT)
        self.event = self.driver.event_create(DEVICE, False, False, True)

    def teardown_method(self) -> None:
        self.driver.device_synchronize(DEVICE)
        self.driver.event_destroy(self.event)
        self.driver.mem_free(DEVICE, self.memory)
        self.driver.stream_destroy(self.stream)

    def test_another_process_reads_after_the_event_and_writes_back(self) -> None:
        where = Address(self.memory + OFFSET)
        for value in range(PARENT + 1):
            self.driver.fill(where, value, COUNT, self.stream)
        self.driver.block_shared(DEVICE, where, COUNT, self.stream)
        self.driver.event_record(self.event, self.stream)
        handle, event = self.driver.ipc_export(DEVICE, self.memory), self.driver.event_ipc_export(self.event)
        assert handle == self.driver.ipc_export(DEVICE, self.memory)
        said = self._other("read", handle.hex(), event.hex())
        assert said == f"{PARENT} {PARENT} True"
        assert set(_read(self.driver, where, self.stream).tolist()) == {CHILD}

    def test_a_handle_of_freed_memory_opens_nothing(self) -> None:
        gone = self.driver.mem_alloc(DEVICE, SEGMENT)
        handle = self.driver.ipc_export(DEVICE, gone)
        self.driver.mem_free(DEVICE, gone)
        assert "Error" in self._other("open", handle.hex())

    def test_own_and_broken_handles_are_refused(self) -> None:
        memory, event = self.driver.ipc_export(DEVICE, self.memory), self.driver.event_ipc_export(self.event)
        for bad in (memory, event, b"", memory[:-1], memory + b"x", bytes(len(memory))):
            raised(ArgumentError, lambda: self.driver.ipc_open(DEVICE, bad))  # noqa: B023
            raised(ArgumentError, lambda: self.driver.event_ipc_open(DEVICE, bad))  # noqa: B023

    def test_what_was_not_opened_cannot_be_closed(self) -> None:
        raised(AcceleratorError, lambda: self.driver.ipc_close(DEVICE, self.memory))

    def test_only_interprocess_events_are_exported(self) -> None:
        plain = self.driver.event_create(DEVICE, False, False, False)
        raised(AcceleratorError, lambda: self.driver.event_ipc_export(plain))
        self.driver.event_destroy(plain)

    def _other(self, *arguments: str) -> str:
        command = [sys.executable, "-m", __name__, *arguments]
        environment = {**os.environ, "FLAMBEAU_GPUS": self.gpus}
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT, env=environment)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()


def _read(driver: Driver, address: Address, stream: StreamHandle) -> Any:
    values = host.numpy().zeros(COUNT, "uint8")
    driver.copy(Address(host.address_of(values)), address, COUNT, CopyKind.DEVICE_TO_HOST, stream)
    return values


def _read_and_answer(driver: Driver, handle: bytes, event: bytes) -> str:
    stream = driver.stream_create(DEVICE, 0)
    opened, again = driver.ipc_open(DEVICE, handle), driver.ipc_open(DEVICE, handle)
    awaited: EventHandle = driver.event_ipc_open(DEVICE, event)
    driver.stream_wait_event(stream, awaited)
    where = Address(opened + OFFSET)
    values = _read(driver, where, stream)
    driver.fill(where, CHILD, COUNT, stream)
    driver.event_record(awaited, stream)
    driver.ipc_flush(stream)
    driver.event_destroy(awaited)
    driver.ipc_close(DEVICE, opened)
    driver.ipc_close(DEVICE, again)
    return f"{values.min()} {values.max()} {opened == again}"


def _open(driver: Driver, handle: bytes) -> str:
    try:
        return str(driver.ipc_open(DEVICE, handle))
    except FlambeauError as error:
        return f"{type(error).__name__}: {error.fact}"


def main(what: str, *handles: str) -> None:
    """Main of the second process: "read" or "open", with handles in hexadecimal."""
    driver = make(parse_gpus(os.environ["FLAMBEAU_GPUS"]))
    driver.start()
    do: dict[str, Callable[..., Any]] = {"read": _read_and_answer, "open": _open}
    print(do[what](driver, *map(bytes.fromhex, handles)))


if __name__ == "__main__":
    main(*sys.argv[1:])
