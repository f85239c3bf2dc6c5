from collections.abc import Callable

import pytest

from flambeau import driver
from flambeau.config import virtual_gpus
from flambeau.driver.virtual.driver import VirtualDriver
from flambeau.driver.virtual.followed import FollowedDriver

from .rig import Rig


@pytest.fixture
def rig() -> Rig:
    return Rig()


@pytest.fixture
def make_rig() -> Callable[..., Rig]:
    return Rig


@pytest.fixture
def followed(monkeypatch: pytest.MonkeyPatch) -> list[FollowedDriver]:
    """Machines that start get a followed driver."""
    made: list[FollowedDriver] = []

    def make(choice, schedule=None):
        made.append(FollowedDriver(choice, VirtualDriver(virtual_gpus(choice.count, races="real"))))
        return made[-1]

    monkeypatch.setattr(driver, "make", make)
    return made
