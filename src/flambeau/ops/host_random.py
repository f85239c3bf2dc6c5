"""Random numbers on the CPU, equal to PyTorch's: distributions of the Mersenne Twister's words.

Every function gets the state of a generator (runtime/generator.py) and writes arrays.  A draw takes words in the
order of the elements in memory:

- One word gives 24 bits of a float32 fraction, two give 53 bits of a float64 fraction or a 64-bit integer.
- `uniform` in float32 and half types, and `bernoulli` by a tensor of such probabilities, take float32 fractions.
  Every other distribution takes float64 fractions in every type.
- Normal values in contiguous memory of 16 or more elements are made in blocks of 16 from fractions of their own type;
  if their number is not a multiple of 16, the last 16 are drawn again.  All others come in pairs from float64
  fractions, and the state keeps the second of a pair for the next draw.
- Integers from less than 2^28 values are the remainder of one word, others that of two.

Sums of a product have one rounding, as in PyTorch's kernels.  Logarithms and tangents in float64 are those of the C
library: NumPy's differ in the last bit on some processors.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from itertools import cycle
from typing import Any

from ..dtypes import integer_range
from ..host import np, rounded, special
from .philox import check_chances

BLOCK = 16  # elements of normal values that are made together
CHUNK = 1 << 15  # elements at a time, so that intermediate arrays stay in the processor's cache
MANY = 4096  # the number of values from which importing SciPy for logarithms pays off
FEW, PARTS = 1 << 14, 32  # elements of a permutation that are exchanged one by one; number of parts of the others
WORD_SPAN = 1 << 28  # spans from this size on take two words per integer
_LOW24, _LOW53 = (1 << 24) - 1, (1 << 53) - 1
_SPLIT = 134217729.0  # 2^27 + 1: splits a float64 number into halves of 26 bits


def fractions(state: Any, count: int, is_wide: bool) -> Any:
    """Draw `count` fractions in [0, 1): float64 if is_wide, else float32."""
    if is_wide:
        wide = (state.pairs(count) & _LOW53).astype(np.float64)
        wide *= 2.0**-53
        return wide
    words = state.words(count)
    words &= _LOW24
    narrow = (words if words.itemsize == 8 else words.view(np.int32)).astype(np.float32)
    narrow *= 2.0**-24
    return narrow


def fused(a: Any, b: Any, c: Any) -> Any:
    """Compute a * b + c of arrays and numbers of one type, float32 or float64, with one rounding."""
    if a.dtype == np.float32:
        return (np.multiply(a, b, dtype=np.float64) + np.float64(c)).astype(np.float32)
    with np.errstate(over="ignore", invalid="ignore"):
        result = _fused(a, b, c)
        if np.isfinite(result).all():
            return result
        # `_high` overflows above 2**996: compute with smaller numbers.  Infinities and NaN need no second term.
        scale, is_larger = 2.0**64, np.abs(a) > np.abs(b)
        lowered = _fused(np.where(is_larger, a / scale, a), np.where(is_larger, b, b / scale), c / scale) * scale
        return np.where(np.isfinite(result), result, np.where(np.isfinite(lowered), lowered, a * b + c))


def _fused(a: Any, b: Any, c: Any) -> Any:
    product = a * b
    a_high, b_high = _high(a), _high(b)
    a_low, b_low = a - a_high, b - b_high
    error = ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low
    total = product + c
    back = total - product
    return total + (error + ((product - (total - back)) + (c - back)))


def _high(x: Any) -> Any:
    scaled = x * _SPLIT
    return scaled - (scaled - x)


def by_c(function: Callable[[float], float], x: Any) -> Any:
    """Return a function of the C library on every element of a float64 array."""
    return np.fromiter(map(function, x.reshape(-1).tolist()), np.float64, x.size).reshape(x.shape)


def logarithm(x: Any) -> Any:
    """Return the C library's logarithm of positive float64 numbers."""
    return special.xlogy(1.0, x) if x.size >= MANY else by_c(math.log, x)


def _parts(out: Any) -> list[Any]:
    """Return the elements of a contiguous array in parts of at most CHUNK elements."""
    flat = out.reshape(-1)
    if flat.size <= CHUNK:
        return [flat]
    return [flat[start : start + CHUNK] for start in range(0, flat.size, CHUNK)]


# uniform and normal


def uniform(state: Any, out: Any, dtype: Any, low: float, high: float) -> None:
    """Fill an array with values of [low, high).  A value that is rounded up to `high` becomes `low`."""
    is_wide = dtype.itemsize == 8
    if low == 0 and high == 1 and dtype.itemsize > 2:
        for part in _parts(out):
            part[...] = fractions(state, part.size, is_wide)
        return
    number = dtype.wide.numpy.type
    start, end = dtype.numpy.type(low), dtype.numpy.type(high)
    first, span = number(low), number(number(high) - number(low))
    for part in _parts(out):
        part[...] = fused(fractions(state, part.size, is_wide), span, first)
        part[part == end] = start


def standard_normals(state: Any, count: int) -> Any:
    """Draw `count` float64 normal values in pairs; the second of the last pair waits for the next draw."""
    kept = state.next_normal
    if kept is not None and count:
        state.next_normal = None
        return np.concatenate([[kept], standard_normals(state, count - 1)]) if count > 1 else np.array([kept])
    pairs = fractions(state, count + count % 2, True)
    radius = np.sqrt(-2 * by_c(math.log1p, -pairs[1::2]))
    angle = 2 * math.pi * pairs[::2]
    values = np.empty(len(pairs))
    values[::2], values[1::2] = radius * np.cos(angle), radius * np.sin(angle)
    if count % 2:
        state.next_normal = float(values[-1])
    return values[:count]


def _put_block_normals(out: Any, fractions: Any, mean: Any, std: Any) -> None:
    """Write normal values of fractions whose number is a multiple of 16: Box and Muller's transform."""
    rows = fractions.reshape(-1, BLOCK)
    half = BLOCK // 2
    radius = 1 - rows[:, :half]
    radius = np.log(radius, out=radius) if rows.itemsize == 4 else logarithm(radius)
    radius *= -2
    np.sqrt(radius, out=radius)
    angle = rows[:, half:] * (2 * math.pi)
    np.multiply(radius, np.cos(angle), out=rows[:, :half])
    np.multiply(radius, np.sin(angle), out=rows[:, half:])
    out[...] = fractions if mean == 0 and std == 1 else fused(fractions, std, mean)


def normal(state: Any, out: Any, dtype: Any, mean: float, std: float, in_blocks: bool) -> None:
    """Fill an array with normal values.

    in_blocks: whether the tensor is contiguous, and so filled in blocks if it has at least 16 elements.
    """
    flat = out.reshape(-1)
    if not in_blocks or flat.size < BLOCK:
        values = standard_normals(state, flat.size)
        is_plain = mean == 0 and std == 1
        flat[...] = rounded(values if is_plain else fused(values, np.float64(std), np.float64(mean)), dtype)
        return
    number = dtype.wide.numpy.type
    is_wide, tail = number is np.float64, flat.size % BLOCK
    center, scale = number(mean), number(std)
    for part in _parts(flat[: flat.size - tail]):
        _put_block_normals(part, fractions(state, part.size, is_wide), center, scale)
    if tail:
        if dtype.itemsize > 2:
            fractions(state, tail, is_wide)  # PyTorch draws for the tail twice, in half types once
        _put_block_normals(flat[-BLOCK:], fractions(state, BLOCK, is_wide), center, scale)


def log_normal(state: Any, out: Any, dtype: Any, mean: float, std: float) -> None:
    for part in _parts(out):
        values = fused(standard_normals(state, part.size), np.float64(std), np.float64(mean))
        part[...] = rounded(by_c(_exp, values), dtype)


def _exp(x: float) -> float:
    try:
        return math.exp(x)
    except OverflowError:
        return math.inf


# integers


def integers(state: Any, out: Any, dtype: Any, low: int, span: int) -> None:
    """Fill an array with integers of [low, low + span); span 0 stands for 2^64."""
    base = np.uint64(low % (1 << 64))
    for part in _parts(out):
        if 0 < span < WORD_SPAN:
            drawn = (state.words(part.size) % span).astype(np.int64)
            part[...] = _as_elements(drawn + low, dtype)
        else:
            pairs = state.pairs(part.size)
            part[...] = _as_elements(((pairs % np.uint64(span) if span else pairs) + base).view(np.int64), dtype)


def all_integers(state: Any, out: Any, dtype: Any) -> None:
    """Fill an array with integers from 0 to the type's largest.

    For a floating point type, the largest is 2 to the number of its mantissa's bits.
    """
    span = count_of(dtype)
    for part in _parts(out):
        drawn = state.pairs(part.size) if dtype.itemsize == 8 else state.words(part.size)
        drawn %= drawn.dtype.type(span)
        part[...] = _as_elements(drawn.astype(np.int64), dtype)


EXACT_BITS = {"float16": 11, "bfloat16": 8, "float32": 24, "float64": 53}  # all smaller integers are represented


def count_of(dtype: Any) -> int:
    """Return the number of integers that `random_` without bounds draws from."""
    if dtype.is_floating_point:
        return (1 << EXACT_BITS[dtype.name]) + 1
    return int(integer_range(dtype)[1]) + 1


def _as_elements(integers: Any, dtype: Any) -> Any:
    return integers.astype(dtype.wide.numpy) if dtype.is_floating_point else integers.astype(dtype.numpy)


def permutation(state: Any, out: Any, dtype: Any) -> None:
    """Fill an array with 0 to n - 1, shuffled by Durstenfeld's method: element i is swapped with one from i on."""
    count = out.size
    others = np.arange(count)
    others[:-1] += (state.words(count - 1) % np.arange(count, 1, -1, dtype=np.uint32)).astype(np.int64)
    order = np.arange(count)
    start = _exchanged_at_once(order, others)
    order[start:] = _exchanged(order[start:].tolist(), range(count - start), (others[start:] - start).tolist())
    out[...] = _as_elements(order, dtype)


def _exchanged(values: list[int], places: Iterable[int], others: Iterable[int]) -> list[int]:
    """Exchange pairs of values, one after another."""
    for index, other in zip(places, others):
        values[index], values[other] = values[other], values[index]
    return values


def _exchanged_at_once(order: Any, others: Any) -> int:
    """Exchange order[i] with order[others[i]] for i from 0 on, except the last FEW.  Returns the number of exchanges.

    Exchanges of the next part of i that share no element with others of this part are made together, and then the rest
    one after another: in a part of 1 / 32 of the elements, that is about a tenth.
    """
    start, count = 0, len(order)
    owners = np.empty_like(order)
    while count - start > FEW:
        end = start + (count - start) // PARTS
        places, targets = np.arange(start, end), others[start:end]
        owners[targets] = places
        is_alone = owners[targets] == places
        owners[targets[::-1]] = places[::-1]
        is_alone &= owners[targets] == places
        is_inside = targets < end
        is_alone &= ~is_inside
        is_alone[targets[is_inside] - start] = False
        one, other = places[is_alone], targets[is_alone]
        order[one], order[other] = order[other], order[one]
        one, other = places[~is_alone], targets[~is_alone]
        shared, at = np.unique(np.concatenate([one, other]), return_inverse=True)
        order[shared] = _exchanged(order[shared].tolist(), at[: len(one)].tolist(), at[len(one) :].tolist())
        start = end
    return start


# distributions of float64 fractions


def bernoulli(state: Any, out: Any, dtype: Any, p: float) -> None:
    for part in _parts(out):
        part[...] = fractions(state, part.size, True) < p


def bernoulli_each(state: Any, out: Any, p: Any) -> None:
    """Draw ones and zeros; `p` has each element's probability of a one, in float64 or float32."""
    check_chances(p)
    for part, chances in zip(_parts(out), _parts(p)):
        part[...] = fractions(state, part.size, p.dtype == np.float64) < chances


def exponential(state: Any, out: Any, dtype: Any, rate: float) -> None:
    for part in _parts(out):
        drawn = fractions(state, part.size, True)
        if dtype.itemsize == 8 or part.size < MANY:
            part[...] = rounded(-1.0 / rate * by_c(math.log1p, -drawn), dtype)
            continue
        values = -1.0 / rate * logarithm(1 - drawn)  # 1 - drawn is exact; the result may differ in the last bits
        part[...] = rounded(values, dtype)
        unsure = rounded(values * (1 - 1e-15), dtype) != rounded(values * (1 + 1e-15), dtype)
        if unsure.any():
            part[unsure] = rounded(-1.0 / rate * by_c(math.log1p, -drawn[unsure]), dtype)


def cauchy(state: Any, out: Any, dtype: Any, median: float, sigma: float) -> None:
    for part in _parts(out):
        turns = by_c(math.tan, math.pi * (fractions(state, part.size, True) - 0.5))
        part[...] = rounded(fused(turns, np.float64(sigma), np.float64(median)), dtype)


def geometric(state: Any, out: Any, dtype: Any, p: float) -> None:
    for part in _parts(out):
        drawn = fractions(state, part.size, True)
        with np.errstate(divide="ignore"):
            tries = np.ceil(logarithm(np.maximum(drawn, 5e-324)) / math.log1p(-p))
        part[...] = rounded(tries, dtype) if dtype.is_floating_point else tries.astype(np.int64).astype(dtype.numpy)


def dropout(state: Any, mask: Any, out: Any, input: Any, p: float, scale: float) -> None:
    """Keep each element with probability 1 - p, scaled; set the others to 0."""
    for kept, part, given in zip(_parts(mask), _parts(out), _parts(input)):
        kept[...] = fractions(state, part.size, True) < 1 - p
        part[...] = np.multiply(given, np.where(kept, given.dtype.type(scale), given.dtype.type(0)))


# distributions that use a number of fractions which depends on their values


def multinomial(state: Any, out: Any, weights: Any) -> None:
    """Draw categories of each row of weights with replacement: the first whose running sum reaches a fraction."""
    rows, samples = out.shape
    sums = np.cumsum(weights if weights.itemsize > 2 else weights.astype(np.float32), 1)
    sums = (sums / sums[:, -1:]).astype(np.float64)
    drawn = fractions(state, rows * samples, True).reshape(rows, samples)
    for row in range(rows):
        out[row] = np.minimum(np.searchsorted(sums[row], drawn[row]), weights.shape[1] - 1)


class Fractions:
    """float64 fractions one by one, for algorithms that use a varying number; `done` returns unused ones."""

    def __init__(self, state: Any, expected: int) -> None:
        self.state = state
        self.mark = state.mark()
        self.batch = max(expected, 64)
        self.taken = 0
        self.ready: list[float] = []

    def next(self) -> float:
        if not self.ready:
            self.ready = fractions(self.state, self.batch, True).tolist()[::-1]
        self.taken += 1
        return self.ready.pop()

    def done(self) -> None:
        if self.taken:
            self.state.rewind(self.mark, 2 * self.taken)


def poisson(state: Any, out: Any, dtype: Any, rates: Any) -> None:
    source = Fractions(state, 2 * out.size)
    drawn = [poisson_of(rate, source.next) for rate in rates.reshape(-1).tolist()]
    source.done()
    out[...] = np.array(drawn, np.float64).astype(dtype.numpy).reshape(out.shape)


EXACT = 2.0**106  # counts of this mean deviate from it by less than a float64 does from the next one


def poisson_of(rate: float, fraction: Callable[[], float]) -> float:
    """Draw from the Poisson distribution: by products of fractions, or by PTRS (W. Hoermann, 1993) from rate 10 on."""
    if rate == 0 or rate > EXACT:
        return rate
    if rate < 10:
        least, product, count = math.exp(-rate), fraction(), 0
        while product > least:
            product *= fraction()
            count += 1
        return float(count)
    root = math.sqrt(rate)
    b = 0.931 + 2.53 * root
    a = -0.059 + 0.02483 * b
    inverse_alpha = 1.1239 + 1.1328 / (b - 3.4)
    accepted = 0.9277 - 3.6224 / (b - 2)
    while True:
        u, v = fraction() - 0.5, fraction()
        us = 0.5 - abs(u)
        k = math.floor((2 * a / us + b) * u + rate + 0.43) if us > 0 else -1
        if us >= 0.07 and v <= accepted:
            return float(k)
        if k < 0 or (us < 0.013 and v > us):
            continue
        ratio = _log(v) + math.log(inverse_alpha) - math.log(a / (us * us) + b)
        if ratio <= -rate + k * math.log(rate) - math.lgamma(k + 1):
            return float(k)


def _log(x: float) -> float:
    return math.log(x) if x > 0 else -math.inf


def binomial(state: Any, out: Any, dtype: Any, counts: Any, chances: Any) -> None:
    source = Fractions(state, 2 * out.size)
    pairs = zip(counts.reshape(-1).tolist(), chances.reshape(-1).tolist())
    drawn = [binomial_of(count, p, source.next) for count, p in pairs]
    source.done()
    out[...] = np.array(drawn, np.float64).astype(dtype.numpy).reshape(out.shape)


def binomial_of(count: float, p: float, fraction: Callable[[], float]) -> float:
    """Draw from the binomial distribution.

    The algorithm uses waiting times, or BTRS (W. Hoermann, 1993) if count * p is 10 or more.
    """
    if count <= 0 or p <= 0:
        return 0.0
    if p >= 1:
        return count
    if not (p < 1 and count < math.inf):
        return math.nan
    if count * p > EXACT:
        return count * p
    if p > 0.5:
        return count - binomial_of(count, 1 - p, fraction)
    if count * p < 10:
        waited, successes, log_failure = 0.0, 0, math.log1p(-p)
        while True:
            waited += math.ceil(_log(fraction()) / log_failure) if log_failure else math.inf
            if waited > count:
                return float(successes)
            successes += 1
    deviation = math.sqrt(count * p * (1 - p))
    b = 1.15 + 2.53 * deviation
    a = -0.0873 + 0.0248 * b + 0.01 * p
    accepted, odds, alpha = 0.92 - 4.2 / b, p / (1 - p), (2.83 + 5.1 / b) * deviation
    mode = math.floor((count + 1) * p)
    top = math.lgamma(mode + 1) + math.lgamma(count - mode + 1)
    while True:
        u, v = fraction() - 0.5, fraction()
        us = 0.5 - abs(u)
        k = math.floor((2 * a / us + b) * u + count * p + 0.5) if us > 0 else -1
        if k < 0 or k > count:
            continue
        if us >= 0.07 and v <= accepted:
            return float(k)
        ratio = _log(v * alpha / (a / (us * us) + b))
        if ratio <= top - math.lgamma(k + 1) - math.lgamma(count - k + 1) + (k - mode) * math.log(odds):
            return float(k)


def of_rows(state: Any, out: Any, dtype: Any, rows: Any, *operands: Any) -> None:
    """Draw Poisson or binomial values of the given parameters; each reads its own row of fractions cyclically."""
    make: Callable[..., float] = poisson_of if len(operands) == 1 else binomial_of
    numbers = zip(*[operand.reshape(-1).tolist() for operand in operands])
    drawn = [make(*given, cycle(row).__next__) for given, row in zip(numbers, rows.tolist())]
    out[...] = np.array(drawn, np.float64).astype(dtype.numpy).reshape(out.shape)
