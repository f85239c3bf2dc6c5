"""1.14 Random numbers: seeds, states, and whose numbers come next."""

import numpy as np
import pytest


@pytest.fixture(autouse=True)
def restored(torch):
    yield
    torch.manual_seed(0)


def draws(torch, device="cuda", count=6, **options):
    return torch.rand(count, device=device, **options).tolist()


@pytest.mark.rule("1.14.1", since="1.0")
@pytest.mark.devices(2)
def test_manual_seed_seeds_the_host_and_every_gpu(torch):
    def everywhere():
        return [draws(torch, each) for each in ("cpu", "cuda:0", "cuda:1")]

    torch.manual_seed(11)
    found = everywhere()
    assert everywhere() != found
    torch.manual_seed(11)
    assert everywhere() == found
    assert torch.initial_seed() == torch.cuda.initial_seed() == 11


@pytest.mark.rule("1.14.1", since="1.0")
@pytest.mark.devices(2)
def test_a_seed_of_cuda_is_that_of_the_current_device(torch):
    torch.cuda.manual_seed_all(1)
    with torch.cuda.device(1):
        torch.cuda.manual_seed(2)
        assert torch.cuda.initial_seed() == 2
    assert torch.cuda.initial_seed() == 1


@pytest.mark.rule("1.14.1", since="1.0")
def test_the_gpus_generators_have_a_module_of_their_own(torch):
    module = torch.cuda.random
    module.manual_seed(6)
    state, first = module.get_rng_state(), draws(torch)
    module.set_rng_state(state)
    assert draws(torch) == first and module.initial_seed() == torch.cuda.initial_seed() == 6


@pytest.mark.rule("1.14.1", since="1.0")
@pytest.mark.devices(2)
def test_a_random_seed_for_one_or_for_all(torch):
    torch.cuda.manual_seed_all(1)
    torch.cuda.seed()
    one = torch.cuda.initial_seed()
    with torch.cuda.device(1):
        assert torch.cuda.initial_seed() == 1 != one
    torch.cuda.seed_all()
    with torch.cuda.device(1):
        assert torch.cuda.initial_seed() not in (1, one)
        other = torch.cuda.initial_seed()
    assert torch.cuda.initial_seed() == other
    assert torch.seed() == torch.initial_seed()


@pytest.mark.rule("1.14.1", since="1.0")
def test_a_seed_before_the_start_is_kept_and_the_last_one_counts(program):
    found = program("""
torch.cuda.manual_seed_all(3)
torch.manual_seed(4)
answer(torch.cuda.is_initialized())
answer(torch.cuda.initial_seed())
first = torch.rand(4, device="cuda").tolist()
torch.cuda.manual_seed(4)
answer(torch.rand(4, device="cuda").tolist() == first)
""")
    assert found == [False, 4, True]


@pytest.mark.rule("1.14.1", since="1.0")
@pytest.mark.devices(0)
def test_seeding_needs_no_gpu(program):
    found = program("""
torch.manual_seed(1)
torch.cuda.manual_seed(2)
torch.cuda.manual_seed_all(3)
answer([torch.initial_seed(), torch.cuda.is_initialized()])
""")
    assert found == [[1, False]]


@pytest.mark.rule("1.14.1", since="1.0")
def test_a_seed_is_whatever_converts_to_an_integer(torch):
    for seed in (np.int64(5), 5.5, torch.tensor(5)):
        for reset in (torch.manual_seed, torch.cuda.manual_seed, torch.cuda.manual_seed_all):
            torch.manual_seed(0)
            reset(seed)
            assert torch.cuda.initial_seed() == 5
    for reset in (torch.manual_seed, torch.cuda.manual_seed, torch.cuda.manual_seed_all):
        with pytest.raises(ValueError):
            reset("x")
    assert torch.cuda.initial_seed() == 5


@pytest.mark.rule("1.14.1", since="1.0")
def test_what_is_no_seed_is_an_error_of_the_call_also_before_the_start(program):
    found = program("""
for seeding in (torch.manual_seed, torch.cuda.manual_seed, torch.cuda.manual_seed_all):
    answer(attempt(lambda: seeding("x")).split(":")[0])
answer(torch.cuda.is_initialized())
torch.zeros(1, device="cuda")
""")
    assert found == ["ValueError", "ValueError", "ValueError", False]


@pytest.mark.rule("1.14.1", since="2.0")
@pytest.mark.devices(2)
def test_a_generator_is_made_for_a_device_in_any_form(torch):
    for place in (1, "cuda:1", torch.device("cuda", 1)):
        made = torch.Generator(place)
        assert (str(made.device), made.initial_seed()) == ("cuda:1", 67280421310721)
    for place, error in ((True, TypeError), (-1, RuntimeError)):
        with pytest.raises(error):
            torch.Generator(place)


@pytest.mark.rule("1.14.1", since="1.0")
def test_what_is_no_generator_is_refused(torch):
    with pytest.raises(TypeError):
        torch.rand(5, generator=5)


@pytest.mark.rule("1.14.1", since="1.0")
def test_generators_of_a_new_process_differ_and_those_that_are_made_do_not(program):
    source = "answer([torch.initial_seed(), torch.cuda.initial_seed(), torch.Generator('cuda').initial_seed()])"
    ((host, device, made),), ((other_host, other_device, other_made),) = program(source), program(source)
    assert host != other_host and device != other_device and made == other_made


@pytest.mark.rule("1.14.1", since="1.0")
def test_calls_do_not_draw_the_same_numbers_twice(torch):
    torch.cuda.manual_seed(5)
    found = [tuple(draws(torch)) for _ in range(20)]
    assert len(set(found)) == 20


@pytest.mark.rule("1.14.2", since="1.0")
def test_a_state_is_restored(torch):
    state = torch.cuda.get_rng_state()
    assert (state.dtype, state.device.type, state.numel()) == (torch.uint8, "cpu", 16)
    found = draws(torch)
    torch.cuda.set_rng_state(state)
    assert draws(torch) == found != draws(torch)


@pytest.mark.rule("1.14.2", since="1.0")
@pytest.mark.devices(2)
def test_states_of_all_devices(torch):
    states = torch.cuda.get_rng_state_all()
    found = [draws(torch, each) for each in ("cuda:0", "cuda:1")]
    torch.cuda.set_rng_state_all(states)
    assert len(states) == 2 and [draws(torch, each) for each in ("cuda:0", "cuda:1")] == found
    torch.cuda.set_rng_state(states[1], "cuda:1")
    assert draws(torch, "cuda:1") == found[1]


@pytest.mark.rule("1.14.2", since="1.0")
def test_a_state_of_another_size_is_an_error_and_nothing_has_changed(torch):
    before = torch.cuda.get_rng_state().tolist()
    for size in (0, 7, 17):
        with pytest.raises((RuntimeError, ValueError)):
            torch.cuda.set_rng_state(torch.zeros(size, dtype=torch.uint8))
    assert torch.cuda.get_rng_state().tolist() == before


@pytest.mark.rule("1.14.2", since="1.0")
def test_a_state_that_is_no_tensor_of_bytes_is_an_error(torch):
    own = torch.Generator("cuda")
    before = own.get_state().tolist()
    for bad in (None, torch.zeros(16), torch.zeros(16, dtype=torch.int64), torch.zeros(16, dtype=torch.bool)):
        with pytest.raises(TypeError):
            own.set_state(bad)
    assert own.get_state().tolist() == before


@pytest.mark.rule("1.14.2", since="1.0")
def test_a_state_of_eight_bytes_is_a_seed_alone(torch):
    torch.cuda.manual_seed(5)
    found = draws(torch)
    torch.cuda.set_rng_state(torch.cuda.get_rng_state()[:8].clone())
    assert draws(torch) == found and torch.cuda.initial_seed() == 5


@pytest.mark.rule("1.14.2", since="1.0")
def test_a_state_set_before_the_start_is_a_copy(program):
    found = program("""
state = torch.zeros(16, dtype=torch.uint8)
state[0] = 9
torch.cuda.set_rng_state(state)
state.zero_()
answer(torch.cuda.initial_seed())
""")
    assert found == [9]


@pytest.mark.rule("1.14.2", since="2.5")
def test_an_offset_is_a_multiple_of_four_and_a_seed_sets_it_to_zero(torch):
    own = torch.Generator("cuda").manual_seed(3)
    assert own.get_offset() == 0
    first = draws(torch, generator=own)
    reached = own.get_offset()
    second = draws(torch, generator=own)
    assert reached > 0 and reached % 4 == 0
    own.set_offset(reached)
    assert draws(torch, generator=own) == second
    own.set_offset(0)
    assert draws(torch, generator=own) == first
    with pytest.raises((RuntimeError, ValueError), match="multiple of 4"):
        own.set_offset(6)
    own.manual_seed(3)
    assert own.get_offset() == 0


@pytest.mark.rule("1.14.2", since="1.0")
@pytest.mark.parametrize("place", ["cpu", "cuda"])
def test_the_state_of_a_generator(torch, place):
    own = torch.Generator(place).manual_seed(3)
    state = own.get_state()
    found = draws(torch, place, generator=own)
    own.set_state(state)
    assert draws(torch, place, generator=own) == found


@pytest.mark.rule("1.14.3", since="1.0")
@pytest.mark.devices(2)
def test_what_a_block_draws_counts_for_the_devices_that_it_does_not_name(torch):
    torch.manual_seed(1)
    expected = [draws(torch, each) for each in ("cpu", "cuda:0")]
    torch.manual_seed(1)
    with torch.random.fork_rng(devices=[0]):
        for each in ("cpu", "cuda:0", "cuda:1"):
            draws(torch, each)
    assert [draws(torch, each) for each in ("cpu", "cuda:0")] == expected
    there = draws(torch, "cuda:1")
    torch.manual_seed(1)
    assert draws(torch, "cuda:1") != there == draws(torch, "cuda:1")


@pytest.mark.rule("1.14.3", since="1.0")
def test_a_block_may_be_switched_off_and_restores_after_an_error(torch):
    torch.manual_seed(1)
    first, second = draws(torch), draws(torch)
    torch.manual_seed(1)
    with torch.random.fork_rng(devices=[0], enabled=False):
        draws(torch)
    assert draws(torch) == second
    torch.manual_seed(1)
    with pytest.raises(KeyError), torch.random.fork_rng(devices=[0]):
        draws(torch)
        raise KeyError
    assert draws(torch) == first


@pytest.mark.rule("1.14.3", since="1.0")
@pytest.mark.devices(2)
def test_every_device_is_meant_if_none_is_named_which_is_a_warning_of_several(program):
    found = program("""
import warnings
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    torch.manual_seed(1)
    with torch.random.fork_rng():
        there = torch.rand(3, device="cuda:1").tolist()
    with torch.random.fork_rng():
        pass
answer([len(said), torch.rand(3, device="cuda:1").tolist() == there])
""")
    assert found == [[1, True]]


@pytest.mark.rule("1.14.3", since="2.1")
def test_a_block_for_an_unknown_type_of_device_is_an_error(torch):
    with pytest.raises(RuntimeError), torch.random.fork_rng(device_type="bogus"):
        pass


@pytest.mark.rule("1.14.4", since="2.5")
def test_what_is_no_generator_has_no_state(torch):
    with pytest.raises(TypeError):
        torch.Generator("cuda").graphsafe_set_state(None)


@pytest.mark.rule("1.14.4", since="2.5")
def test_generators_may_share_a_state_or_have_a_copy_of_it(torch):
    own = torch.Generator("cuda").manual_seed(3)
    one, two, three = (draws(torch, generator=own) for _ in range(3))
    own.manual_seed(3)
    shared, copy = own.graphsafe_get_state(), own.clone_state()
    assert draws(torch, generator=own) == one and draws(torch, generator=shared) == two
    assert draws(torch, generator=copy) == one and draws(torch, generator=own) == three
    other = torch.Generator("cuda")
    other.graphsafe_set_state(copy)
    assert draws(torch, generator=other) == two and draws(torch, generator=copy) == three


@pytest.mark.rule("1.14.4", since="2.5")
def test_a_state_may_be_exchanged_between_replays(torch):
    own = torch.Generator("cuda").manual_seed(3)
    first = draws(torch, generator=own)
    own.manual_seed(3)
    graph = torch.cuda.CUDAGraph()
    graph.register_generator_state(own)
    with torch.cuda.graph(graph):
        x = torch.rand(6, device="cuda", generator=own)
    kept = own.clone_state()
    graph.replay()
    assert x.tolist() == first == draws(torch, generator=kept)
