"""Generators: a seed and a counter, per device; the same bits everywhere.  Rows 1.19.*"""

import pytest

import flambeau as torch
from flambeau import errors
from flambeau.runtime.generator import DEFAULT_SEED, Generator
from flambeau.testing import machine

pytestmark = pytest.mark.usefixtures("gpus")


def test_a_seed_repeats_and_a_counter_moves_on():
    torch.manual_seed(3)
    first, second = torch.rand(5, device="cuda").tolist(), torch.rand(5, device="cuda").tolist()
    torch.manual_seed(3)
    assert torch.rand(5, device="cuda").tolist() == first != second


def test_the_bits_of_an_element_do_not_depend_on_the_device():
    torch.manual_seed(11)
    assert torch.randint(0, 1 << 20, (50,)).tolist() == torch.randint(0, 1 << 20, (50,), device="cuda").tolist()


def test_reserving_counters_is_what_moves_the_offset():
    made = Generator("cpu").manual_seed(5)
    assert made.reserve(3) == (0, 5, 0) and made.reserve(1) == (0, 5, 3) and made.get_offset() == 16
    made.set_offset(4)
    assert made.reserve(1) == (0, 5, 1)
    with pytest.raises(errors.ArgumentError, match="set_offset: 6 is not a multiple of 4"):
        made.set_offset(6)


def test_state_round_trip_and_bad_states():
    made = Generator("cpu").manual_seed(-1)
    made.reserve(7)
    other = Generator("cpu")
    assert other.initial_seed() == DEFAULT_SEED
    other.set_state_bytes(made.state_bytes())
    assert (other.initial_seed(), other.get_offset()) == ((1 << 64) - 1, 28)
    with pytest.raises(errors.ArgumentError, match="a state has 16 bytes, got 5"):
        other.set_state_bytes(b"short")
    with pytest.raises(errors.ArgumentError, match="does not fit in 64 bits"):
        other.manual_seed(1 << 64)
    assert other.get_offset() == 28


def test_the_state_of_a_device_is_a_tensor_that_restores_it():
    torch.cuda.manual_seed(9)
    torch.rand(3, device="cuda")
    kept = torch.cuda.get_rng_state()
    expected = torch.rand(3, device="cuda").tolist()
    torch.cuda.set_rng_state(kept)
    assert torch.rand(3, device="cuda").tolist() == expected
    assert kept.dtype is torch.uint8 and kept.device.type == "cpu"


def test_a_generator_of_another_device_is_refused():
    with pytest.raises(errors.DeviceMismatchError, match="expected a generator of cuda:0, got one of cpu"):
        torch.empty(3, device="cuda").uniform_(generator=torch.Generator())


def test_a_seed_given_before_the_start_holds_at_the_start(monkeypatch):
    from flambeau.config import Gpus
    from flambeau.runtime import state
    from flambeau.runtime.machine import Machine

    previous = state.swap_machine(Machine(Gpus("virtual", 2)))
    try:
        torch.cuda.manual_seed_all(21)
        assert not state.machine().is_started
        assert torch.rand(2, device="cuda:1").tolist() == torch.rand(2, device="cuda:0").tolist()
        assert torch.cuda.initial_seed() == 21
    finally:
        state.swap_machine(previous)
    with machine(devices=1):
        assert torch.cuda.initial_seed() != 21
