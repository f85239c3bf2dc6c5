"""The host's Philox: known answers, which words a counter gives, and how exact the values made of them are."""

import math
import secrets

import numpy as np
import pytest

import flambeau as torch
from flambeau.ops import random
from flambeau.ops.random import philox4x32, random_words

WORD = 0xFFFFFFFF


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
    for terms in (random.SINE_SERIES, random.COSINE_SERIES):
        for part in in_parts(rest * rest):
            check_series(terms, part)
    low, high = np.array([0.5**0.5, 2**0.5], np.float32).view(np.int32)
    for part in in_parts(np.arange(low, high + 1, dtype=np.int32).view(np.float32) - np.float32(1)):
        check_series(random.LOG_SERIES, part)


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
    assert random.twice_negative_log(np.array([last])).tolist() == [0]
    for count in in_parts(np.arange(1, last - 4096, 7)), in_parts(np.arange(last - 4096, last)):
        for part in count:
            radius = np.sqrt(random.twice_negative_log(part)).astype(np.float64)
            assert ulps(radius, np.sqrt(-2 * np.log(part * 2.0**-24))).max() < 1.5
    for turn in in_parts(np.arange(1 << 21, dtype=np.uint64)):
        cosine, sine = (each.astype(np.float64) for each in random.unit_circle(turn << np.uint64(8)))
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
