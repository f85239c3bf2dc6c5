"""Random states as tensors, and contexts that restore them."""

import math
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


def test_wrong_bounds_take_no_words():
    generator = torch.Generator()
    before = generator.get_state().tolist()
    for wrong in (
        lambda: torch.empty(3, dtype=torch.float16).random_(0, 2**31, generator=generator),
        lambda: torch.empty(3, dtype=torch.float16).random_(-70000, 5, generator=generator),
        lambda: torch.randint(65506, (3,), dtype=torch.float16, generator=generator),
        lambda: torch.empty(3).uniform_(-math.inf, 1, generator=generator),
        lambda: torch.empty(3).uniform_(-3e38, 3e38, generator=generator),
        lambda: torch.empty(3, dtype=torch.float16).uniform_(0, 7e4, generator=generator),
        lambda: torch.normal(1.0, torch.tensor([math.nan]), generator=generator),
        lambda: torch.normal(torch.empty(0), -1.0, generator=generator),
    ):
        with pytest.raises(errors.ValueRangeError):
            wrong()
    assert generator.get_state().tolist() == before


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_an_out_that_does_not_fit_takes_no_words(device):
    generator = torch.Generator(device)
    before = generator.get_state().tolist()
    wide, narrow = (torch.empty(3, dtype=dtype, device=device) for dtype in (torch.float64, torch.float32))
    indexes, longer = torch.empty(3, dtype=torch.int64, device=device), torch.empty(4, device=device)
    for wrong in (
        lambda: torch.rand(3, out=narrow, dtype=torch.float64, generator=generator),
        lambda: torch.randn(3, out=wide, dtype=torch.float32, generator=generator),
        lambda: torch.randn(3, out=longer, generator=generator),
        lambda: torch.randint(5, (3,), out=indexes, dtype=torch.int32, generator=generator),
        lambda: torch.randperm(3, out=indexes, dtype=torch.int32, generator=generator),
        lambda: torch.randperm(3, out=longer, generator=generator),
        lambda: torch.normal(0.0, 1.0, (3,), out=longer, generator=generator),
        lambda: torch.normal(torch.zeros_like(wide), 1.0, out=longer, generator=generator),
    ):
        with pytest.raises((errors.DtypeError, errors.ShapeError)):
            wrong()
    assert generator.get_state().tolist() == before


def test_normal_draws_in_the_type_of_out():
    torch.manual_seed(0)
    out = torch.empty(3)
    assert torch.normal(torch.zeros(3, dtype=torch.float64), torch.ones(3), out=out) is out
    assert out.tolist() == [1.5409960746765137, -0.293428897857666, -2.1787893772125244]


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_values_may_be_infinite_or_nearly_so(device):
    for name, arguments, least, largest in (
        ("uniform_", (0, 1e308), 0, 1e308),
        ("uniform_", (-8e307, 8e307), -8e307, 8e307),
        ("uniform_", (0, 1e301), 0, 1e301),
        ("normal_", (0, 1e305), -1e306, 1e306),
        ("cauchy_", (1e305, 1e300), 0, 1e308),
    ):
        values = getattr(torch.empty(40, dtype=torch.float64, device=device), name)(*arguments).tolist()
        assert all(least < value < largest for value in values) and len(set(values)) > 30, (name, arguments)
    for name, arguments, wanted in (
        ("normal_", (0, math.inf), {math.inf, -math.inf}),
        ("normal_", (math.inf, 1), {math.inf}),
        ("cauchy_", (0, math.inf), {math.inf, -math.inf}),
        ("log_normal_", (0, math.inf), {math.inf, 0.0}),
    ):
        for dtype in (torch.float64, torch.float32, torch.float16):
            drawn = getattr(torch.empty(40, dtype=dtype, device=device), name)(*arguments)
            assert set(drawn.tolist()) == wanted, (name, arguments, dtype)
    torch.manual_seed(0)
    values = torch.empty(2, dtype=torch.float64).uniform_(-8e307, 8e307).tolist()
    assert values == [7.520848028904849e307, 3.325117830396607e307]


def test_dropout_draws_in_the_order_of_the_memory():
    torch.manual_seed(0)
    is_dropped = torch.alpha_dropout(torch.ones(4, 3).t(), 0.5, True).lt(0)
    assert is_dropped.tolist() == [[True, True, False, False], [True, True, False, False], [False, True, True, False]]
    empty = torch.ones(0)
    assert torch.dropout(empty, 0.5, True) is empty


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_poisson_values_have_a_gradient_of_zeros(device):
    rates = torch.tensor([0.5, 30.0], device=device, requires_grad=True)
    (torch.poisson(rates) + rates).sum().backward()
    assert rates.grad.tolist() == [1.0, 1.0]
    assert not torch.binomial(rates, rates / 100).requires_grad
