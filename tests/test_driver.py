"""Choosing a driver."""

from __future__ import annotations

import pytest

from flambeau import driver, errors
from flambeau.config import Gpus
from flambeau.driver.nvidia.driver import NvidiaDriver


@pytest.mark.parametrize("choice", [None, Gpus("nvidia")])
def test_nvidia_is_what_there_is_without_a_choice(choice):
    assert isinstance(driver.make(choice), NvidiaDriver)


def test_choosing_none_is_an_error_on_use():
    with pytest.raises(errors.NoDeviceError, match="FLAMBEAU_GPUS=none"):
        driver.make(Gpus("none"))


def test_hardware_follows_no_schedule():
    with pytest.raises(errors.ArgumentError, match="a schedule needs virtual GPUs"):
        driver.make(None, schedule=object())
