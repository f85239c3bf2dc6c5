"""The portable stream: Philox against known answers, equal bits on every device, distributions, dropout."""

import math
import secrets

import numpy as np
import pytest

import flambeau as torch
from flambeau import dtypes
from flambeau.errors import ArgumentError, DeviceMismatchError
from flambeau.ops import philox
from flambeau.ops.philox import philox4x32, random_words
from flambeau.ops.random import masked_scale
from flambeau.testing import gradcheck

WORD = 0xFFFFFFFF


@pytest.fixture(autouse=True)
def portable():
    with torch.random.portable():
        yield


@pytest.mark.parametrize(
    ("counter", "key", "answer"),
    [
        ([0] * 4, [0] * 2, [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]),
        ([WORD] * 4, [WORD] * 2, [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]),
        (
            [0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344],
            [0xA4093822, 0x299F31D0],
            [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1],
        ),
    ],
)
def test_known_answers(counter, key, answer):
    found = philox4x32([np.array([each], np.uint64) for each in counter], key)
    assert [int(each[0]) for each in found] == answer


def test_a_counter_beyond_32_bits_uses_the_second_word():
    far = random_words(5, (1 << 32) + 3, 1)
    expected = philox4x32([np.array([each], np.uint64) for each in (3, 1, 0, 0)], [5, 0])
    assert far[0].tolist() == [int(each[0]) for each in expected]


def fused_step_is_exact(a, b, c):
    """Whether rounding a * b + c to float64 and then to float32 is rounding once, everywhere."""
    product, added = a.astype(np.float64) * b, np.float64(c)
    total = product + added
    back = total - product
    rest = (product - (total - back)) + (added - back)
    is_half_way = (total.view(np.int64) & ((1 << 29) - 1)) == 1 << 28
    return not (is_half_way & (rest != 0)).any()


def in_parts(values):
    """Parts that stay in the cache."""
    return np.array_split(values, 64)


def check_series(terms, x):
    total = np.full_like(x, terms[-1])
    for term in reversed(terms[:-1]):
        assert fused_step_is_exact(total, x, np.float32(term))
        total = (total.astype(np.float64) * x + np.float64(np.float32(term))).astype(np.float32)


def test_no_fused_step_of_a_normal_value_is_rounded_twice():
    rest = np.arange(-(1 << 21), 1 << 21).astype(np.float32) * np.float32(2.0**-22)
    for terms in (philox.SINE_SERIES, philox.COSINE_SERIES):
        for part in in_parts(rest * rest):
            check_series(terms, part)
    low, high = np.array([0.5**0.5, 2**0.5], np.float32).view(np.int32)
    for part in in_parts(np.arange(low, high + 1, dtype=np.int32).view(np.float32) - np.float32(1)):
        check_series(philox.LOG_SERIES, part)


def normals(seed, numel):
    """Box and Muller's transform in float64 of the bits that float32 normals are made of."""
    words = random_words(seed, 0, numel // 4).reshape(-1) >> np.uint64(8)
    u, turn = (words[::2] + np.uint64(1)).astype(np.float64) * 2.0**-24, words[1::2].astype(np.float64) * 2.0**-24
    radius, quarter = np.sqrt(-2 * np.log(u)), np.rint(turn * 4)
    angle = (turn * 4 - quarter) * (np.pi / 2)  # exact before it is multiplied, so that zeros of cosine are zeros
    sine, cosine = np.sin(angle), np.cos(angle)
    at = quarter.astype(int) % 4
    pair = np.choose(at, (cosine, -sine, -cosine, sine)), np.choose(at, (sine, cosine, -sine, -cosine))
    return np.stack([radius * pair[0], radius * pair[1]], 1).reshape(-1)


def ulps(found, exact):
    return np.abs(found - exact) / np.spacing(np.abs(exact).astype(np.float32)).astype(np.float64)


@pytest.mark.devices(1)
def test_normal_values_are_within_4_ulp_of_float64(gpus):
    seed, numel = secrets.randbits(63), 1 << 20
    exact = normals(seed, numel)
    for device in ("cpu", "cuda"):
        source = torch.Generator(device).manual_seed(seed)
        found = torch.empty(numel, device=device).normal_(generator=source).cpu().numpy()
        assert ulps(found.astype(np.float64), exact).max() <= 4, (seed, device)


def test_radius_and_circle_are_close_everywhere():
    """Over all 2^24 lengths and all turns within an eighth, each in steps, with both ends."""
    last = 1 << 24
    assert philox.twice_negative_log(np.array([last])).tolist() == [0]
    for count in in_parts(np.arange(1, last - 4096, 7)), in_parts(np.arange(last - 4096, last)):
        for part in count:
            radius = np.sqrt(philox.twice_negative_log(part)).astype(np.float64)
            assert ulps(radius, np.sqrt(-2 * np.log(part * 2.0**-24))).max() < 1.5
    for turn in in_parts(np.arange(1 << 21, dtype=np.uint64)):
        cosine, sine = (each.astype(np.float64) for each in philox.unit_circle(turn << np.uint64(8)))
        angle = turn.astype(np.float64) * (2 * np.pi / (1 << 24))
        assert ulps(cosine, np.cos(angle)).max() < 1.7
        assert ulps(sine[angle > 0], np.sin(angle[angle > 0])).max() < 1.7


def test_tails_hold_as_many_values_as_the_normal_distribution_says():
    numel = 1 << 22
    size = np.abs(torch.empty(numel).normal_(generator=torch.Generator().manual_seed(11)).numpy())
    for deviations in (1, 2, 3, 4, 5):
        expected = numel * math.erfc(deviations / math.sqrt(2))
        assert abs(np.count_nonzero(size > deviations) - expected) < 5 * math.sqrt(expected)
    assert size.max() < math.sqrt(48 * math.log(2)) + 1e-5


@pytest.mark.devices(1)
def test_the_greatest_fraction_gives_zero_and_no_nan(gpus):
    """Word 2 of this counter ends in 24 ones: u is 1, and its logarithm 0."""
    counter = 6647514
    assert random_words(7, counter, 1)[0, 2] >> np.uint64(8) == 0xFFFFFF
    found = []
    for device in ("cpu", "cuda"):
        source = torch.Generator(device).manual_seed(7)
        source.set_offset(4 * counter)
        found.append(torch.empty(4, device=device).normal_(generator=source).cpu().numpy())
    assert found[0].tolist()[2:] == [0, 0] and found[0].tobytes() == found[1].tobytes()


# operators

FLOATING = [each.name for each in dtypes.FLOATING_TYPES]
DRAWS = {
    "uniform": lambda x, source: x.uniform_(-1, 3, generator=source),
    "normal": lambda x, source: x.normal_(1, 2, generator=source),
    "narrow": lambda x, source: x.random_(-3, 100, generator=source),
    "wide": lambda x, source: x.random_(0, 1 << 50, generator=source),
    "bernoulli": lambda x, source: x.bernoulli_(0.3, generator=source),
}


def source(seed=7, device="cpu"):
    return torch.Generator(device).manual_seed(seed)


def order_of(n, device="cpu", generator=None, dtype=dtypes.int64):
    return torch.randperm(n, dtype=dtype, device=device, generator=generator or source(device=device))


def words(seed, counters):
    return random_words(seed, 0, counters).reshape(-1)


def test_float32_takes_24_bits_of_word_i():
    found = torch.empty(7).uniform_(generator=source()).numpy()
    np.testing.assert_array_equal(found, (words(7, 2)[:7] >> np.uint64(8)).astype(np.float64) * 2.0**-24)


def test_float64_takes_53_bits_of_two_words():
    found = torch.empty(5, dtype=torch.float64).uniform_(generator=source()).numpy()
    low, high = words(7, 3)[::2], words(7, 3)[1::2]
    whole = ((high << np.uint64(32) | low) >> np.uint64(11))[:5]
    np.testing.assert_array_equal(found, whole.astype(np.float64) * 2.0**-53)


def test_calls_take_counters_in_turn():
    generator = source()
    for numel, kind, counters in ((5, "float32", 2), (5, "float64", 3), (8, "float16", 2), (0, "float32", 0)):
        before = generator.get_offset()
        torch.empty(numel, dtype=getattr(dtypes, kind)).uniform_(generator=generator)
        assert generator.get_offset() - before == 4 * counters
    again = source()
    parts = [torch.empty(4).uniform_(generator=again).tolist() for _ in range(2)]
    assert parts[0] + parts[1] == torch.empty(8).uniform_(generator=source()).tolist()


@pytest.mark.parametrize("kind", FLOATING)
def test_uniform_stays_below_its_end(kind):
    x = torch.empty(200_000, dtype=getattr(dtypes, kind)).uniform_(generator=source())
    assert x.min().item() >= 0
    assert x.max().item() < 1
    shifted = torch.empty(200_000, dtype=getattr(dtypes, kind)).uniform_(3, 5, generator=source()).double()
    assert shifted.min().item() >= 3 and shifted.max().item() < 5
    assert shifted.mean().item() == pytest.approx(4, abs=0.03 if kind == "bfloat16" else 0.01)


@pytest.mark.parametrize("kind", ["float32", "float64"])
def test_normal_is_the_transform_of_pairs_of_fractions(kind):
    numel = 2000
    found = torch.empty(numel, dtype=getattr(dtypes, kind)).normal_(generator=source()).numpy()
    if kind == "float64":
        drawn = words(7, numel // 2)
        fractions = ((drawn[1::2] << np.uint64(32) | drawn[::2]) >> np.uint64(11)).astype(np.float64) * 2.0**-53
        step = 2.0**-53
    else:
        fractions, step = (words(7, numel // 4) >> np.uint64(8)).astype(np.float64) * 2.0**-24, 2.0**-24
    radius, turn = np.sqrt(-2 * np.log(fractions[::2] + step)), 2 * np.pi * fractions[1::2]
    expected = np.stack([radius * np.cos(turn), radius * np.sin(turn)], 1).reshape(-1)
    np.testing.assert_allclose(found, expected, rtol=0, atol=2e-6 if kind == "float32" else 4e-15)


def test_normal_values_have_the_moments_of_the_normal_distribution():
    x = torch.empty(400_000).normal_(1, 2, generator=source()).numpy().astype(np.float64)
    standard = (x - 1) / 2
    moments = [float(np.mean(standard**power)) for power in (1, 2, 3, 4)]
    assert moments == pytest.approx([0, 1, 0, 3], abs=0.03)
    assert float(np.mean(np.abs(standard) < 1)) == pytest.approx(math.erf(1 / math.sqrt(2)), abs=0.003)


def test_integers_from_few_values_scale_a_word():
    found = torch.empty(6, dtype=torch.int64).random_(-5, 12, generator=source()).tolist()
    assert found == [-5 + (int(each) * 17 >> 32) for each in words(7, 2)[:6]]


def test_integers_from_many_values_take_the_rest_of_two_words():
    span = 10**15
    found = torch.empty(3, dtype=torch.int64).random_(-5, span - 5, generator=source()).tolist()
    drawn = words(7, 2)
    assert found == [(int(drawn[2 * i]) | int(drawn[2 * i + 1]) << 32) % span - 5 for i in range(3)]


def test_integers_of_the_whole_64_bits():
    found = torch.empty(2, dtype=torch.int64).random_(-(1 << 63), 1 << 63, generator=source()).tolist()
    drawn = words(7, 1)
    pairs = [int(drawn[0]) | int(drawn[1]) << 32, int(drawn[2]) | int(drawn[3]) << 32]
    assert found == [(each + (1 << 63)) % (1 << 64) - (1 << 63) for each in [pair - (1 << 63) for pair in pairs]]


@pytest.mark.parametrize(
    ("kind", "largest"), [("bool", 1), ("uint8", 255), ("int8", 127), ("float16", 2048), ("bfloat16", 256)]
)
def test_random_without_bounds_reaches_what_the_type_counts_to(kind, largest):
    x = torch.empty(60_000, dtype=dtypes.BY_NAME[kind]).random_(generator=source()).double()
    assert (x.min().item(), x.max().item()) == (0, largest)


def test_random_with_one_number_counts_from_zero():
    assert sorted(set(torch.empty(100).random_(3, generator=source()).tolist())) == [0.0, 1.0, 2.0]


def test_bernoulli_by_number_by_tensor_and_by_its_own_values():
    assert torch.empty(100_000).bernoulli_(0.3, generator=source()).mean().item() == pytest.approx(0.3, abs=0.01)
    assert torch.empty(1000).bernoulli_(generator=source()).mean().item() == pytest.approx(0.5, abs=0.05)
    chances = torch.tensor([0.0, 1.0])
    assert torch.bernoulli(chances).tolist() == [0.0, 1.0]
    assert torch.empty(3, 2, dtype=torch.int64).bernoulli_(chances).tolist() == [[0, 1]] * 3
    assert torch.bernoulli(torch.zeros(4), 1.0).tolist() == [1.0] * 4
    with pytest.raises(ArgumentError, match="probabilities must lie between 0 and 1, got 1.5"):
        torch.bernoulli(torch.tensor([0.5, 1.5]))


@pytest.mark.parametrize("n", [0, 1, 2, 5, 1024, 1025, 5000])
def test_randperm_is_the_order_of_random_keys(n):
    found = order_of(n).tolist()
    assert sorted(found) == list(range(n))
    drawn = words(7, -(-n // 2)).reshape(-1, 2)
    keys = ((drawn[:, 0] | drawn[:, 1] << np.uint64(32)) % np.uint64(1 << 63))[:n]
    assert found == np.argsort(keys, kind="stable").tolist()


def test_every_permutation_is_about_as_likely():
    generator, counts = source(), dict[tuple[int, ...], int]()
    for _ in range(1200):
        order = tuple(order_of(3, generator=generator).tolist())
        counts[order] = counts.get(order, 0) + 1
    assert len(counts) == 6
    assert all(150 < count < 250 for count in counts.values())


def test_randperm_in_other_types():
    assert sorted(order_of(5, dtype=dtypes.float16).tolist()) == [0.0, 1.0, 2.0, 3.0, 4.0]
    with pytest.raises(ArgumentError, match="0 to 299 do not fit in uint8"):
        order_of(300, dtype=dtypes.uint8)


@pytest.mark.parametrize("draw", DRAWS)
def test_cpu_and_gpu_give_the_same_bits(draw, gpus):
    kinds = FLOATING if draw in ("uniform", "normal") else ["float32", "float64", "int64"]
    for kind in kinds:
        made = [
            DRAWS[draw](torch.empty(9, 3, dtype=getattr(dtypes, kind), device=device), source(device=device))
            for device in ("cpu", "cuda")
        ]
        assert made[0].numpy().tobytes() == made[1].cpu().numpy().tobytes()
    assert order_of(3000).tolist() == order_of(3000, "cuda").tolist()


def test_values_are_drawn_in_the_order_of_the_memory():
    plain = torch.empty(4, 3).uniform_(generator=source())
    turned = torch.empty(4, 3).t().uniform_(generator=source())
    assert turned.t().tolist() == plain.tolist()
    apart = torch.empty(4, 6)[:, ::2].uniform_(generator=source())
    assert apart.tolist() == plain.tolist()


def test_a_generator_of_another_device_is_refused(gpus):
    with pytest.raises(DeviceMismatchError, match="uniform"):
        torch.empty(3, device="cuda").uniform_(generator=source())


def test_wrong_arguments_take_no_counters():
    generator = source()
    for wrong in (
        lambda: torch.empty(3).uniform_(2, 1, generator=generator),
        lambda: torch.empty(3).normal_(0, -1, generator=generator),
        lambda: torch.empty(3).random_(5, 5, generator=generator),
        lambda: torch.empty(3).bernoulli_(2.0, generator=generator),
    ):
        with pytest.raises(ArgumentError):
            wrong()
    assert generator.get_offset() == 0


def test_drawing_into_a_graph_cuts_it():
    x = torch.ones(3, requires_grad=True)
    y = x * 2
    y.uniform_()
    (y + x).sum().backward()
    assert x.grad.tolist() == [1.0, 1.0, 1.0]


def test_arange_rounds_once():
    x = torch.arange(0, 1, 0.1, dtype=torch.float32)
    assert x.numpy().tolist() == (0.1 * np.arange(10)).astype(np.float32).tolist()
    assert torch.arange(5, 0, -2).tolist() == [5, 3, 1]
    assert torch.arange(2**53, 2**53 + 3).tolist() == [2**53, 2**53 + 1, 2**53 + 2]


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: torch.randint(3, 4, (2,), dtype=torch.bool), "randint: .*3 to 3.*bool"),
        (lambda: torch.empty(2).random_(5, 5), "random_: .*5 and 5"),
        (lambda: torch.empty(2).uniform_(2, 1), "uniform_: .*2.*1"),
        (lambda: torch.empty(2).normal_(0, -1), "normal_: .*-1"),
        (lambda: torch.empty(2).bernoulli_(1.5), "bernoulli_: .*1.5"),
        (lambda: torch.randperm(300, dtype=torch.uint8), "randperm: .*299.*uint8"),
    ],
)
def test_bounds_that_there_cannot_be_are_value_errors_and_runtime_errors(call, text):
    for kind in (ValueError, RuntimeError):
        with pytest.raises(kind, match=text):
            call()


# dropout


@pytest.mark.parametrize("kind", FLOATING)
def test_dropout_keeps_scales_and_gives_the_gradient_to_what_is_kept(kind):
    x = torch.ones(2000, dtype=getattr(dtypes, kind), requires_grad=True)
    y = torch.dropout(x, 0.25, True)
    kept = y.detach().double()
    assert sorted(set(kept.tolist())) == [0.0, float(torch.tensor(1 / 0.75, dtype=getattr(dtypes, kind)).item())]
    assert (kept != 0).double().mean().item() == pytest.approx(0.75, abs=0.05)
    y.backward(torch.ones_like(y))
    assert x.grad.tolist() == y.tolist()


def test_dropout_at_the_ends():
    x = torch.tensor([1.0, math.inf, math.nan])
    assert torch.dropout(x, 0.0, True) is x
    assert torch.dropout(x, 0.5, False) is x
    assert str(torch.dropout(x, 1.0, True).tolist()) == "[0.0, nan, nan]"
    assert torch.dropout(torch.tensor([1]), 0.5, False).tolist() == [1]


def test_dropout_may_be_written_in_place_and_differentiated_twice():
    x = torch.ones(50, requires_grad=True)
    y = torch.dropout(x, 0.5, True)
    mask = y.tolist()
    y.mul_(3).sum().backward()
    assert x.grad.tolist() == [each * 3 for each in mask]
    z = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
    mask = torch.tensor([True, False])
    assert gradcheck(lambda each: masked_scale(each, mask, 2.0), [z])
