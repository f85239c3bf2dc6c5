"""The gate of NVIDIA's profilers, as virtual GPUs write it down; the calls on hardware are in the driver's tests."""

import pytest

import flambeau as torch
from flambeau.testing import machine


def test_the_gate_is_open_inside_the_block():
    with machine() as made:
        assert not made.driver.is_profiled
        with torch.cuda.profiler.profile():
            assert made.driver.is_profiled
        assert not made.driver.is_profiled


def test_the_gate_closes_when_the_block_raises():
    with machine() as made:
        with pytest.raises(KeyError), torch.cuda.profiler.profile():
            raise KeyError("no")
        assert not made.driver.is_profiled


def test_start_and_stop_may_be_called_again():
    with machine() as made:
        torch.cuda.profiler.start()
        torch.cuda.profiler.start()
        assert made.driver.is_profiled
        torch.cuda.profiler.stop()
        torch.cuda.profiler.stop()
        assert not made.driver.is_profiled
