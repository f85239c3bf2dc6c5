"""Generators: seeds, states and offsets, per device.  Rows 1.19.*"""

import copy
import pickle

import numpy as np
import pytest

import flambeau as torch
from flambeau import errors
from flambeau.config import Gpus
from flambeau.core import thread
from flambeau.runtime.generator import DEFAULT_SEED, Generator
from flambeau.runtime.machine import Machine
from flambeau.testing import machine

pytestmark = pytest.mark.usefixtures("gpus")


def test_a_seed_repeats_and_a_counter_moves_on():
    torch.manual_seed(3)
    first, second = torch.rand(5, device="cuda").tolist(), torch.rand(5, device="cuda").tolist()
    torch.manual_seed(3)
    assert torch.rand(5, device="cuda").tolist() == first != second


def test_the_bits_of_an_element_do_not_depend_on_the_device_in_the_portable_stream():
    torch.manual_seed(11)
    with torch.random.portable():
        assert torch.randint(0, 1 << 20, (50,)).tolist() == torch.randint(0, 1 << 20, (50,), device="cuda").tolist()


def test_reserving_counters_is_what_moves_the_offset():
    made = Generator("cpu").manual_seed(5)
    assert made.reserve(3) == (0, 5, 0) and made.reserve(1) == (0, 5, 3) and made.get_offset() == 16
    made.set_offset(4)
    assert made.reserve(1) == (0, 5, 1)
    with pytest.raises(errors.ArgumentError, match="set_offset: .* multiple of 4 .*got 6"):
        made.set_offset(6)


def test_state_round_trip_and_bad_states():
    made = Generator("cpu").manual_seed(-1)
    made.reserve(7)
    other = Generator("cpu")
    assert other.initial_seed() == DEFAULT_SEED
    other.set_state_bytes(made.state_bytes())
    assert (other.initial_seed(), other.get_offset()) == ((1 << 64) - 1, 28)
    for device, nbytes in (("cpu", 5056), ("cuda", 16)):
        with pytest.raises(errors.ArgumentError, match=f"has {nbytes} bytes, got 5"):
            Generator(device).set_state_bytes(b"short")
    with pytest.raises(errors.ArgumentError, match="0 words left"):
        other.set_state_bytes(bytes(5056))
    with pytest.raises(errors.ArgumentError, match="does not fit in 64 bits"):
        other.manual_seed(1 << 64)
    with pytest.raises(errors.ArgumentTypeError, match="^set_state_bytes: the state must be bytes, got 3"):
        other.set_state_bytes(3)
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


def test_default_generators_are_those_that_calls_without_one_use():
    own, cuda = torch.default_generator, torch.cuda.default_generators[1]
    assert own is torch.random.default_generator and own is torch.manual_seed(4)
    found = [torch.rand(3).tolist(), torch.rand(3, device="cuda:1").tolist()]
    torch.manual_seed(4)
    assert [torch.rand(3, device=each.device, generator=each).tolist() for each in (own, cuda)] == found


@pytest.fixture
def not_started():
    previous = thread.swap_machine(Machine(Gpus("virtual", 2)))
    yield thread.machine()
    thread.swap_machine(previous)


def test_a_seed_given_before_the_start_holds_at_the_start(not_started):
    torch.cuda.manual_seed_all(21)
    assert not not_started.is_started
    assert torch.rand(2, device="cuda:1").tolist() == torch.rand(2, device="cuda:0").tolist()
    assert torch.cuda.initial_seed() == 21
    with machine(devices=1):
        assert torch.cuda.initial_seed() != 21


SEEDERS = {
    "manual_seed": lambda seed: torch.manual_seed(seed).initial_seed(),
    "Generator.manual_seed": lambda seed: Generator().manual_seed(seed).initial_seed(),
    "cuda.manual_seed": lambda seed: (torch.cuda.manual_seed(seed), torch.cuda.initial_seed())[1],
    "cuda.manual_seed_all": lambda seed: (torch.cuda.manual_seed_all(seed), torch.cuda.initial_seed())[1],
}


@pytest.mark.parametrize("name", SEEDERS)
def test_a_seed_is_whatever_converts_to_an_integer(name):
    for given in (np.int64(5), np.uint64(5), np.int8(5), 5.5, np.float32(5.5), torch.tensor(5), torch.tensor([5]), "5"):
        seeded = SEEDERS[name](given)
        assert (seeded, type(seeded)) == (5, int)
    assert SEEDERS[name](np.int64(-1)) == (1 << 64) - 1
    assert torch.rand(2).tolist() and torch.rand(2, device="cuda").tolist()


@pytest.mark.parametrize("name", SEEDERS)
@pytest.mark.parametrize("given", ["a", None, [1], float("nan"), float("inf"), 1 << 64, -(1 << 63) - 1])
def test_what_is_no_seed_is_an_error_of_the_call_and_nothing_is_seeded(name, given):
    torch.manual_seed(3)
    expected = errors.ArgumentTypeError if given is None or given == [1] else errors.ArgumentError
    with pytest.raises(expected) as caught:
        SEEDERS[name](given)
    assert caught.value.fact.startswith(f"{name.split('.')[-1]}: ") and repr(given) in caught.value.fact
    assert torch.initial_seed() == torch.cuda.initial_seed() == 3


def test_a_tensor_of_several_elements_is_no_seed():
    with pytest.raises(errors.ArgumentError, match=r"^manual_seed: tensor\(\[1, 2\]\) is not a seed"):
        torch.manual_seed(torch.tensor([1, 2]))


@pytest.mark.parametrize("seeder", [torch.cuda.manual_seed, torch.cuda.manual_seed_all, torch.manual_seed])
def test_what_is_no_seed_is_an_error_before_the_start_too(not_started, seeder):
    with pytest.raises(errors.ArgumentError, match="manual_seed.*: 'x' is not a seed"):
        seeder("x")
    assert not not_started.is_started
    not_started.start()


def test_seeding_all_in_a_capture_of_one_seeds_none():
    torch.cuda.manual_seed_all(1)
    torch.cuda.set_device(1)
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        torch.zeros(1, device="cuda")
        torch.cuda.manual_seed_all(1)
        with pytest.raises(errors.AcceleratorError, match="cannot be read or set during a capture"):
            torch.cuda.manual_seed_all(2)
    torch.cuda.set_device(0)
    assert torch.cuda.initial_seed() == 1


@pytest.mark.parametrize("offset", [-4, 6, 1 << 64, 1 << 70])
def test_an_offset_has_64_bits_and_is_a_multiple_of_four(offset):
    made = Generator()
    made.set_offset(8)
    with pytest.raises(errors.ArgumentError, match=f"set_offset: .* multiple of 4 from 0 to .*got {offset}"):
        made.set_offset(offset)
    assert made.get_offset() == 8


@pytest.mark.parametrize("offset", [4.0, "a", None])
def test_an_offset_is_an_integer(offset):
    with pytest.raises(errors.ArgumentTypeError, match=f"set_offset: the offset must be an int, got {offset!r}"):
        Generator().set_offset(offset)


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_an_offset_goes_round(device):
    made = Generator(device)
    made.set_offset(np.uint64((1 << 64) - 4))
    assert made.get_offset() == (1 << 64) - 4 and type(made.get_offset()) is int
    with torch.random.portable():
        last = torch.rand(9, device=device, generator=made).tolist()
        assert made.get_offset() == 8
        made.set_state(made.get_state())
        made.set_offset(0)
        assert torch.rand(4, device=device, generator=made).tolist() != last[:4]


def test_a_state_that_is_no_tensor_of_bytes_is_refused():
    made = Generator().manual_seed(4)
    for given in (None, [1], torch.zeros(16), torch.zeros(16, dtype=torch.int64), torch.zeros(16, dtype=torch.bool)):
        with pytest.raises(errors.ArgumentTypeError, match="^set_state: a state is a tensor of uint8, got ") as caught:
            made.set_state(given)
        assert str(given.dtype if isinstance(given, torch.Tensor) else given) in caught.value.fact
    made.set_state(made.get_state().reshape(2, 2528))
    assert made.initial_seed() == 4


def test_what_is_no_generator_is_refused():
    made, graph = Generator(), torch.cuda.CUDAGraph()
    with pytest.raises(errors.ArgumentTypeError, match="^graphsafe_set_state: None is not a Generator"):
        made.graphsafe_set_state(None)
    with pytest.raises(errors.ArgumentTypeError, match="^register_generator_state: 5 is not a Generator"):
        graph.register_generator_state(5)
    for call in (torch.rand, torch.randn, torch.randperm):
        with pytest.raises(errors.ArgumentTypeError, match=r"^\w+: 5 is not a Generator"):
            call(5, generator=5)
    with pytest.raises(errors.ArgumentTypeError, match=r"^rand: float32\[.*\] on \S+ is not a Generator"):
        torch.rand(5, generator=torch.zeros(2))


def test_a_generator_is_made_for_a_device_in_any_form():
    cuda = torch.device("cuda", 1)
    for given in (1, "cuda:1", cuda):
        made = Generator(given)
        assert (made.device, made.initial_seed()) == (cuda, DEFAULT_SEED)
        for other in (made.clone_state(), made.graphsafe_get_state()):
            assert (other.device, other.initial_seed()) == (cuda, DEFAULT_SEED)
    with torch.device("cuda"):
        assert Generator().device == Generator(None).device == torch.device("cpu")


@pytest.mark.parametrize(
    ("given", "error"),
    [
        (7, errors.DeviceIndexError),
        ("cuda:2", errors.DeviceIndexError),
        (-1, errors.DeviceNameError),
        ("gpu", errors.DeviceNameError),
        (True, errors.ArgumentTypeError),
        (1.0, errors.ArgumentTypeError),
    ],
)
def test_a_generator_of_no_device_is_refused(given, error):
    with pytest.raises(error, match=str(given).lstrip("-")):
        Generator(given)


def test_a_state_of_another_size_is_a_runtime_error():
    with pytest.raises(errors.ValueRangeError, match="set_state: .* 5056 bytes, got 3"):
        Generator().set_state(torch.zeros(3, dtype=torch.uint8))


@pytest.mark.parametrize("device", ["cpu", "cuda:1"])
@pytest.mark.parametrize("copied", [copy.deepcopy, copy.copy, lambda generator: pickle.loads(pickle.dumps(generator))])
def test_a_copy_continues_from_the_state_of_its_generator(device, copied):
    generator = Generator(device).manual_seed(3)
    torch.randn(3, device=device, generator=generator)
    other = copied(generator)
    assert (other.device, other.initial_seed()) == (torch.device(device), 3)
    wanted = [torch.randn(5, device=device, generator=generator).tolist() for _ in range(2)]
    assert [torch.randn(5, device=device, generator=other).tolist() for _ in range(2)] == wanted
    assert copied(torch.default_generator) is not torch.default_generator
