from flambeau.config import virtual_gpus
from flambeau.driver.api import Driver
from flambeau.driver.virtual.driver import VirtualDriver
from flambeau.driver.virtual.schedule import Delay, Seeded
from flambeau.testing.contract import DriverContract


class TestVirtual(DriverContract):
    def make_driver(self) -> Driver:
        return VirtualDriver(virtual_gpus(2))


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
