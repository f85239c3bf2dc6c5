"""Random states as tensors, and contexts that restore them."""

import warnings

import pytest

import flambeau as torch
from flambeau import errors
from flambeau.testing import machine

pytestmark = pytest.mark.usefixtures("gpus")


def states():
    return [each.tolist() for each in (torch.get_rng_state(), *torch.cuda.get_rng_state_all())]


def test_states_of_more_devices_than_there_are_set_none():
    before = states()
    with pytest.raises(errors.DeviceIndexError, match="cuda:2: there is no such device"):
        torch.cuda.set_rng_state_all([torch.zeros(16, dtype=torch.uint8)] * 3)
    assert states() == before


@pytest.mark.parametrize(
    ("bad", "error"),
    [
        (torch.zeros(15, dtype=torch.uint8), errors.ArgumentError),
        (torch.ones(16, dtype=torch.uint8), errors.ArgumentError),
        (torch.zeros(16), errors.ArgumentTypeError),
        (None, errors.ArgumentTypeError),
    ],
)
def test_a_bad_state_among_several_sets_none(bad, error):
    before = states()
    with pytest.raises(error, match="^set_rng_state_all: "):
        torch.cuda.set_rng_state_all([torch.zeros(16, dtype=torch.uint8), bad])
    assert states() == before
    for call in (torch.set_rng_state, torch.cuda.set_rng_state):
        with pytest.raises(error, match="^set_rng_state: "):
            call(bad)
    assert states() == before


def test_states_that_cannot_be_set_in_a_capture_set_none():
    torch.cuda.manual_seed_all(1)
    zero = torch.zeros(16, dtype=torch.uint8)
    torch.cuda.set_device(1)
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        torch.zeros(1, device="cuda")
        with pytest.raises(errors.AcceleratorError, match="set_rng_state_all: .* cannot be read or set"):
            torch.cuda.set_rng_state_all([zero, zero])
    torch.cuda.set_device(0)
    assert torch.cuda.initial_seed() == 1


def test_states_may_be_of_fewer_devices():
    torch.cuda.manual_seed_all(7)
    torch.cuda.set_rng_state_all(torch.zeros(16, dtype=torch.uint8) for _ in range(1))
    with torch.cuda.device(1):
        assert torch.cuda.initial_seed() == 7
    assert torch.cuda.initial_seed() == 0


def test_a_block_that_names_no_device_warns_once():
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        for _ in range(3):
            with torch.random.fork_rng():
                pass
    assert [str(each.message).startswith("fork_rng: CUDA reports that there are 2") for each in said] == [True]
    assert said[0].filename == __file__


def test_a_machine_of_one_device_is_no_reason_to_warn():
    with machine(devices=1), torch.random.fork_rng():
        pass


@pytest.mark.parametrize("given", ["xpu", "bogus", 3])
def test_a_block_for_devices_of_another_type_is_refused(given):
    with (
        pytest.raises(errors.DeviceNameError, match=f"fork_rng: there are no devices of type {given!r}"),
        torch.random.fork_rng(device_type=given),
    ):
        pass
