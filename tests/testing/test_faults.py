"""Failures on demand: the error is clear, the state unchanged, and nothing leaks."""

import pytest

import flambeau as torch
from flambeau.errors import ArgumentError
from flambeau.testing import faults, machine


@pytest.mark.parametrize("cached", [False, True])
def test_the_nth_allocation_fails_and_the_device_goes_on(cached):
    with machine():
        x = torch.ones(4, device="cuda")
        if cached:
            torch.ones(4, device="cuda")
        before = torch.cuda.memory_allocated()
        with faults(oom=2):
            y = x + 1
            with pytest.raises(torch.OutOfMemoryError, match="16 bytes on virtual device 0 fail on demand"):
                x + 2
            assert (x + 3).tolist() == [4.0] * 4
        assert y.tolist() == [2.0] * 4
        del y
        assert torch.cuda.memory_allocated() == before


def test_a_launch_fails_for_good():
    with machine():
        x = torch.ones(4, device="cuda")
        with faults(launch=1):
            y = x + 1
        with pytest.raises(torch.AcceleratorError, match="failed on device 0") as caught:
            y.tolist()
    assert caught.value.sticky and caught.value.error_code == 719


def test_a_refused_launch_changes_nothing():
    with machine():
        x = torch.ones(4, device="cuda")
        before = torch.cuda.memory_allocated()
        with faults(refused=1), pytest.raises(torch.AcceleratorError, match="refused on device 0 on demand") as caught:
            x.add_(1)
        assert not caught.value.sticky and caught.value.error_code == 701
        assert x.tolist() == [1.0] * 4 and torch.cuda.memory_allocated() == before


def test_a_lost_link_is_there_again_after_the_block():
    with machine(devices=2):
        x = torch.ones(4, device="cuda:0")
        with faults(lost_link=(0, 1)), pytest.raises(torch.AcceleratorError, match="no link from device 0 to device 1"):
            x.to("cuda:1")
        assert x.to("cuda:1").tolist() == [1.0] * 4


def test_faults_that_were_not_met_end_with_the_block():
    with machine():
        with faults(oom=9), faults(launch=9):
            x = torch.ones(4, device="cuda")
        for _ in range(12):
            x = x + 1
        assert x.tolist() == [13.0] * 4


def test_a_negative_number_is_an_error():
    with pytest.raises(ArgumentError, match="faults: oom is -1"), faults(oom=-1):
        pass


def test_a_link_of_an_unknown_device_is_an_error():
    with machine(devices=2), pytest.raises(ArgumentError, match=r"lost_link is \(0, 2\)"), faults(lost_link=(0, 2)):
        pass
