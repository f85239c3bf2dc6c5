"""The contract of drivers, for each driver: virtual ones, those that follow, and NVIDIA's on hardware."""

from functools import cache, partial

import pytest

from flambeau import config, host
from flambeau.config import virtual_gpus
from flambeau.driver.api import Address, CopyKind, Driver
from flambeau.driver.nvidia.driver import NvidiaDriver
from flambeau.driver.virtual.driver import VirtualDriver
from flambeau.driver.virtual.followed import FollowedDriver
from flambeau.driver.virtual.schedule import Delay, Seeded
from flambeau.errors import AcceleratorError
from flambeau.testing.contract import DEVICE, NBYTES, PAGE, DriverContract, IpcContract, raised


class TestVirtual(DriverContract):
    def make_driver(self) -> Driver:
        return VirtualDriver(virtual_gpus(2))

    def test_mapped_pages_are_no_longer_free(self) -> None:
        base = self.driver.mem_reserve(DEVICE, 2 * PAGE)
        free, _ = self.driver.mem_info(DEVICE)
        self.driver.mem_map(DEVICE, base, PAGE)
        assert self.driver.mem_info(DEVICE)[0] == free - PAGE
        self.driver.mem_unmap(DEVICE, base, PAGE)
        assert self.driver.mem_info(DEVICE)[0] == free
        self.driver.mem_unreserve(DEVICE, base)

    def test_pageable_memory_is_not_captured(self) -> None:
        """A CUDA driver captures the address of memory that the program may free before the replay."""
        address, values = self.new_memory(), self.ones()
        for kind, ends in ((CopyKind.HOST_TO_DEVICE, (address, values)), (CopyKind.DEVICE_TO_HOST, (values, address))):
            dst, src = (Address(each if isinstance(each, int) else host.address_of(each)) for each in ends)
            with self.broken():
                raised(AcceleratorError, partial(self.driver.copy, dst, src, NBYTES, kind, self.stream))


class TestVirtualWithRacesAsErrors(DriverContract):
    """The contract's own programs are ordered."""

    def make_driver(self) -> Driver:
        return VirtualDriver(virtual_gpus(2, races="error"))


class TestVirtualSeeded(DriverContract):
    def make_driver(self) -> Driver:
        return VirtualDriver(virtual_gpus(2, races="real"), Seeded(5))


class TestVirtualDelayed(DriverContract):
    def make_driver(self) -> Driver:
        return VirtualDriver(virtual_gpus(1, races="real"), Delay(0))


class TestFollowed(DriverContract):
    def make_driver(self) -> Driver:
        choice = virtual_gpus(2)
        return FollowedDriver(choice, VirtualDriver(choice))


@cache
def started() -> Driver:
    driver = NvidiaDriver()
    driver.start()
    return driver


@pytest.fixture(scope="module")
def only_on_hardware() -> None:
    choice = config.gpus()
    if choice is None or choice.kind != "nvidia":
        pytest.skip("FLAMBEAU_GPUS is not nvidia")


@pytest.mark.gpu
@pytest.mark.usefixtures("only_on_hardware")
class TestNvidia(DriverContract):
    def make_driver(self) -> Driver:
        return started()


@pytest.mark.gpu
@pytest.mark.usefixtures("only_on_hardware")
class TestNvidiaIpc(IpcContract):
    gpus = "nvidia"

    def make_driver(self) -> Driver:
        return started()
