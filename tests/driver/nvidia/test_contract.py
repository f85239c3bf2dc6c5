"""The contract of every driver, on hardware."""

from __future__ import annotations

from functools import cache

import pytest

from flambeau import config
from flambeau.driver.api import Driver
from flambeau.driver.nvidia.driver import NvidiaDriver
from flambeau.testing.contract import DriverContract, IpcContract


@cache
def started() -> Driver:
    driver = NvidiaDriver()
    driver.start()
    return driver


@pytest.fixture(scope="module", autouse=True)
def only_on_hardware() -> None:
    choice = config.gpus()
    if choice is None or choice.kind != "nvidia":
        pytest.skip("FLAMBEAU_GPUS is not nvidia")


@pytest.mark.gpu
class TestNvidia(DriverContract):
    def make_driver(self) -> Driver:
        return started()


@pytest.mark.gpu
class TestNvidiaIpc(IpcContract):
    gpus = "nvidia"

    def make_driver(self) -> Driver:
        return started()
