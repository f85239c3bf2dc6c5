"""The portable stream of random numbers: Philox4x32-10, whose bits depend only on seed, counter and element index.

Operators draw from it inside `random.portable`.  The device code is kernels/philox.cu.  A call reserves
counters.  If f is the first of them:

- Element i reads word i % 4 of counter f + i // 4 in these cases: `uniform` and `normal` in types of up to 32 bits,
  `random` from at most 2^32 values, `bernoulli` and dropout in every type.  A pair of normal values reads words (0, 1),
  the next pair words (2, 3).
- Element i reads words 2 (i % 2) and 2 (i % 2) + 1, low half first, of counter f + i // 2 in the others: `uniform` and
  `normal` in float64, `random` from more than 2^32 values, the keys of `randperm`.  A pair of normal values reads all
  four words.

A fraction in [0, 1) is the leading bits of a word: 24, but 11 in float16 and 8 in bfloat16.  In float64 it is 53 bits
of a pair of words.  Results are computed from fractions by additions, multiplications, divisions and square roots, each
rounded, in the order of philox.cu.  So the bits depend neither on the device nor on the grid.

Normal values in float32 also use fused multiply-adds.  The host computes those in float64, where the product is exact,
and rounds twice.  That equals one rounding unless the inexact float64 sum is half way between two float32 numbers.
None of the 2^24 counts and 2^22 angles leads to such a sum.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from math import prod
from typing import Any

from .. import dtypes
from ..dtypes import bool_, dtype, float32, float64, int64
from ..errors import ValueRangeError
from ..host import np
from ..kernel import Kernel, Param, Pointer, Scalar
from .operator import Setting
from .pointwise import PRELUDE, THREADS, grid_over, source_text

is_portable = Setting(False)  # whether operators draw from this stream
ROUNDS = 10
WORD = (1 << 32) - 1
MULTIPLIERS = 0xD2511F53, 0xCD9E8D57
KEY_STEPS = 0x9E3779B9, 0xBB67AE85
FRACTION_BITS = {dtypes.float16: 11, dtypes.bfloat16: 8}
ROOT_HALF = 0x3F3504F3  # the bits of the square root of 1/2
# Best approximations in float32: of -2 log(1 + x) / x, of sin(pi r / 2) / r and cos(pi r / 2) for x = r^2, |r| <= 1/2.
LOG_SERIES = (
    -2.0, 0.99999976, -0.6666665, 0.500032, -0.40004, 0.33217525, -0.28362438, 0.26489377, -0.25816998, 0.15245724,
)  # fmt: skip
SINE_SERIES = 1.5707964, -0.6459666, 0.07971178, -0.004683873
COSINE_SERIES = 1.0, -1.2336977, 0.2536025, -0.020415157
LOG_TERMS, SINE_TERMS = 11, 9  # terms of the series in float64
LOG_STEP = -1.6525917e-07  # -2 log 2, for powers of two that count by 2^23
_C_TYPES = {"float64": "double", "int64": "long long", "uint64": "unsigned long long"}


def _constants() -> str:
    """Return the definitions of the constants of philox.cu, with the values of this module."""
    lines = [f"constexpr int ROOT_HALF = {ROOT_HALF};", f"constexpr float LOG_STEP = {LOG_STEP!r}f;"]
    for name, terms in (("LOG", LOG_SERIES), ("SINE", SINE_SERIES), ("COSINE", COSINE_SERIES)):
        lines.append(f"constexpr float {name}_SERIES[] = {{{', '.join(f'{term!r}f' for term in terms)}}};")
    return "\n".join([*lines, ""])


PHILOX = PRELUDE + _constants() + source_text("philox.cu")


# the host's implementation of philox.cu


def philox4x32(words: Sequence[Any], keys: Sequence[int]) -> list[Any]:
    """Return four arrays of random words for four arrays of counter words (32 bits in uint64) and two key words."""
    w0, w1, w2, w3 = words
    key0, key1 = keys
    mask, half = np.uint64(WORD), np.uint64(32)
    for _ in range(ROUNDS):
        a, b = w0 * np.uint64(MULTIPLIERS[0]), w2 * np.uint64(MULTIPLIERS[1])
        w0, w1, w2, w3 = (b >> half) ^ w1 ^ np.uint64(key0), b & mask, (a >> half) ^ w3 ^ np.uint64(key1), a & mask
        key0, key1 = (key0 + KEY_STEPS[0]) & WORD, (key1 + KEY_STEPS[1]) & WORD
    return [w0, w1, w2, w3]


def random_words(seed: int, first: int, count: int) -> Any:
    """Return the words of `count` counters from `first` on: uint64[count, 4] with 32 bits each."""
    counter = np.arange(count, dtype=np.uint64) + np.uint64(first)
    none = np.zeros_like(counter)
    words = philox4x32([counter & np.uint64(WORD), counter >> np.uint64(32), none, none], [seed & WORD, seed >> 32])
    return np.stack(words, 1)


def single_words(seed: int, first: int, numel: int) -> Any:
    """Return one 32-bit word per element; up to three more than `numel`, as counters are used whole."""
    return random_words(seed, first, -(-numel // 4)).reshape(-1)


def paired_words(seed: int, first: int, numel: int) -> Any:
    """Return 64 bits per element; up to one element more than `numel`, as counters are used whole."""
    words = random_words(seed, first, -(-numel // 2))
    return (words[:, ::2] | words[:, 1::2] << np.uint64(32)).reshape(-1)


def narrow_fractions(words: Any, bits: int = 24) -> Any:
    """Convert the leading `bits` of 32-bit words to float32 fractions."""
    return (words >> np.uint64(32 - bits)).astype(np.float32) * np.float32(2.0**-bits)


def fractions_of(dtype: dtype, seed: int, first: int, numel: int, bits: int = 24) -> Any:
    """Return fractions in the compute type of `dtype`; up to three more than `numel`, as counters are used whole."""
    if dtype is float64:
        return (paired_words(seed, first, numel) >> np.uint64(11)).astype(np.float64) * 2.0**-53
    return narrow_fractions(single_words(seed, first, numel), bits)


def _fused(a: Any, b: Any, c: Any) -> Any:
    """Compute a * b + c of float32 numbers with one rounding (see the module)."""
    return (np.multiply(a, b, dtype=np.float64) + np.asarray(c, np.float32)).astype(np.float32)


def _series(terms: Sequence[float], x: Any) -> Any:
    total: Any = np.full_like(x, terms[-1])
    for term in reversed(terms[:-1]):
        total = _fused(total, x, term)
    return total


def twice_negative_log(count: Any) -> Any:
    """Compute -2 log(count / 2^24) in float32, for whole numbers from 1 to 2^24."""
    bits = count.astype(np.float32).view(np.int32) - np.int32(ROOT_HALF + (24 << 23))
    power = bits & np.int32(-1 << 23)
    f = (bits - power + np.int32(ROOT_HALF)).view(np.float32) - np.float32(1)
    return np.abs(_fused(power.astype(np.float32), np.float32(LOG_STEP), f * _series(LOG_SERIES, f)))  # never -0


def unit_circle(turn: Any) -> tuple[Any, Any]:
    """Compute cosine and sine in float32; the leading 24 bits of a word are the angle as a fraction of a turn."""
    near = (turn + np.uint64(1 << 29)).astype(np.uint32)  # its leading two bits are the nearest quarter turn
    rest = (near >> np.uint32(8) & np.uint32(0x3FFFFF)).astype(np.float32) * np.float32(2.0**-22) - np.float32(0.5)
    square = rest * rest
    sine, cosine = rest * _series(SINE_SERIES, square), _series(COSINE_SERIES, square)
    odd, sign = near & np.uint32(1 << 30) != 0, np.uint32(1 << 31)
    first, second = np.where(odd, sine, cosine), np.where(odd, cosine, sine)
    below = (near + np.uint32(1 << 30)) & sign != 0
    return np.where(below, -first, first), np.where(near & sign != 0, -second, second)


def _logarithm(x: Any) -> Any:
    """Return the logarithm in float64, for 0 < x <= 1."""
    m, exponent = np.frexp(x)
    low = m < 0.7071067811865476
    m, exponent = np.where(low, m * 2, m), np.where(low, exponent - 1, exponent)
    f = m - 1
    s = f / (f + 2)
    z = s * s
    total = 1 / (2 * LOG_TERMS + 1)
    for k in range(LOG_TERMS - 1, -1, -1):
        total = total * z + 1 / (2 * k + 1)
    return exponent * 0.6931471805599453 + (s + s) * total


def _circle(turn: Any) -> tuple[Any, Any]:
    """Compute the cosine and sine of 2 * pi * turn in float64."""
    quarters = turn * 4
    quarter = (quarters + 0.5).astype(np.int32)
    angle = (quarters - quarter) * 1.5707963267948966
    square = angle * angle
    s: Any = 1.0
    c: Any = 1.0
    for k in range(SINE_TERMS, 0, -1):
        s = 1 - square * (1 / (2 * k * (2 * k + 1))) * s
        c = 1 - square * (1 / (2 * k * (2 * k - 1))) * c
    s = angle * s
    at = quarter % 4
    return np.choose(at, (c, 0 - s, 0 - c, s)), np.choose(at, (s, c, 0 - s, 0 - c))


def standard_normals(dtype: dtype, seed: int, first: int, numel: int) -> Any:
    """Return `numel` values of mean 0 and standard deviation 1, in the type that `dtype` computes in."""
    if dtype is float64:
        fractions = fractions_of(dtype, seed, first, numel)
        radius = np.sqrt(_logarithm(fractions[::2] + 2.0**-53) * -2)
        cosine, sine = _circle(fractions[1::2])
    else:
        words = single_words(seed, first, numel)
        radius = np.sqrt(twice_negative_log((words[::2] >> np.uint64(8)) + np.uint64(1)))
        cosine, sine = unit_circle(words[1::2])
    return np.stack([radius * cosine, radius * sine], 1).reshape(-1)[:numel]


# random kernels


# The last parameters of every random kernel.  A graph has a state in device memory: the seed, and a counter that is
# added to `first`.
DRAWN = (
    Pointer("state", int64, "r", (2,)), Scalar("seed", "uint64"), Scalar("first", "uint64"), Scalar("numel", "int64")
)  # fmt: skip
COUNTED_FROM = "if (state) { seed = state[0]; first += state[1]; }"


def counted_from(state: Any, seed: int, first: int) -> tuple[int, int]:
    """Return (seed, first counter), computed as COUNTED_FROM does on the device."""
    return (seed, first) if state is None else (int(state[0]) % (1 << 64), first + int(state[1]))


def random_kernel(name: str, dtype: dtype, maker: str, fields: Sequence[Param], make: Callable[..., Any]) -> Kernel:
    """Make a kernel that fills `out` by a function object of philox.cu.

    make: called with (seed, first, numel, *fields), returns the same values on the host.
    """
    entry = f"{name}_{dtype.name}"
    arguments = "".join(f", {declared(param)}" for param in fields)
    source = f"""{PHILOX}
extern "C" __global__ void __launch_bounds__({THREADS}) {entry}(
    {dtype.cuda}* out{arguments}, const long long* state, unsigned long long seed, unsigned long long first,
    long long numel) {{
  {COUNTED_FROM}
  fill_random(out, seed, first, numel, {maker});
}}
"""

    def reference(out: Any, *values: Any) -> None:
        *given, state, seed, first, numel = values
        out[...] = make(*counted_from(state, seed, first), numel, *given)

    params = [Pointer("out", dtype, "w", ("numel",)), *fields]
    return Kernel(entry, source, [*params, *DRAWN], reference, 20.0)


def declared(param: Param) -> str:
    if isinstance(param, Pointer):
        return f"{'const ' if param.access == 'r' else ''}{param.dtype.cuda}* {param.name}"
    assert isinstance(param, Scalar)
    return f"{_C_TYPES[param.ctype]} {param.name}"


def fill_random(call: Any, out: Any, kernel: Kernel, per_counter: int, values: Sequence[Any], generator: Any) -> None:
    """Reserve the counters that `out` needs and launch a kernel whose last parameters are DRAWN."""
    assert kernel.params[-len(DRAWN) :] == DRAWN, f"{kernel.entry}: the last parameters of a random kernel are DRAWN"
    numel = prod(out.shape)
    if numel:
        state, seed, first = call.random(-(-numel // per_counter), generator)
        call.launch(kernel, grid_over(numel), out, *values, state, seed, first, numel)


KEY_SPAN = 1 << 63
CHANCE_HINT = "p is the probability of a 1; torch.sigmoid maps any number into that range"


# kernels of the operators


def per_counter(dtype: dtype) -> int:
    return 2 if dtype is float64 else 4


@cache
def uniform_kernel(dtype: dtype) -> Kernel:
    c, number = dtype.wide.cuda, dtype.wide.numpy.type

    def make(seed: int, first: int, numel: int, low: float, high: float) -> Any:
        fractions = fractions_of(dtype, seed, first, numel, FRACTION_BITS.get(dtype, 24))[:numel]
        drawn = (fractions * (number(high) - number(low)) + number(low)).astype(dtype.numpy)
        is_end = drawn.astype(dtype.wide.numpy) >= number(high)  # rounded up to the excluded bound
        return np.where(is_end, np.asarray(number(low)).astype(dtype.numpy), drawn)

    maker = f"Uniform<{dtype.cuda}, {c}>{{({c})low, ({c})high}}"
    return random_kernel("uniform", dtype, maker, [Scalar("low", "float64"), Scalar("high", "float64")], make)


@cache
def normal_kernel(dtype: dtype) -> Kernel:
    c, number = dtype.wide.cuda, dtype.wide.numpy.type

    def make(seed: int, first: int, numel: int, mean: float, std: float) -> Any:
        standard = standard_normals(dtype, seed, first, numel)
        is_plain = number(mean) == 0 and number(std) == 1
        return standard if is_plain else standard * number(std) + number(mean)

    maker = f"Normal<{dtype.cuda}, {c}>{{({c})mean, ({c})std}}"
    return random_kernel("normal", dtype, maker, [Scalar("mean", "float64"), Scalar("std", "float64")], make)


@cache
def integer_kernel(dtype: dtype, is_narrow: bool) -> Kernel:
    def make(seed: int, first: int, numel: int, low: int, span: int) -> Any:
        if is_narrow:
            drawn = single_words(seed, first, numel)[:numel] * np.uint64(span) >> np.uint64(32)
        else:
            drawn = paired_words(seed, first, numel)[:numel]
            drawn = drawn % np.uint64(span) if span else drawn
        return (drawn + np.uint64(low % (1 << 64))).astype(np.int64).astype(dtype.wide.numpy)

    maker = f"Integer<{dtype.cuda}, {'true' if is_narrow else 'false'}>{{low, span}}"
    name = "random_narrow" if is_narrow else "random_wide"
    return random_kernel(name, dtype, maker, [Scalar("low", "int64"), Scalar("span", "uint64")], make)


def check_chances(p: Any) -> None:
    """Raise ValueRangeError unless each probability of an array lies between 0 and 1."""
    wrong = ~((p >= 0) & (p <= 1))
    if wrong.any():
        raise ValueRangeError(
            f"probabilities must lie between 0 and 1, got {p[wrong].flat[0]}", hint=CHANCE_HINT, operator="bernoulli"
        )


@cache
def bernoulli_kernel(dtype: dtype) -> Kernel:
    def make(seed: int, first: int, numel: int, p: float) -> Any:
        return narrow_fractions(single_words(seed, first, numel)[:numel]) < np.float32(p)

    return random_kernel("bernoulli", dtype, f"Bernoulli<{dtype.cuda}>{{(float)p}}", [Scalar("p", "float64")], make)


@cache
def bernoulli_each_kernel(dtype: dtype) -> Kernel:
    def make(seed: int, first: int, numel: int, p: Any) -> Any:
        check_chances(p)
        return narrow_fractions(single_words(seed, first, numel)[:numel]) < p

    fields = [Pointer("p", float32, "r", ("numel",))]
    return random_kernel("bernoulli_each", dtype, f"BernoulliEach<{dtype.cuda}>{{p}}", fields, make)


@cache
def dropout_kernel(dtype: dtype) -> Kernel:
    c, number = dtype.wide.cuda, dtype.wide.numpy.type

    def make(seed: int, first: int, numel: int, mask: Any, input: Any, p: float, scale: float) -> Any:
        mask[...] = narrow_fractions(single_words(seed, first, numel)[:numel]) >= np.float32(p)
        return np.where(mask, input.astype(dtype.wide.numpy) * number(scale), number(0))

    fields = [
        Pointer("mask", bool_, "w", ("numel",)), Pointer("input", dtype, "r", ("numel",)),
        Scalar("p", "float64"), Scalar("scale", "float64"),
    ]  # fmt: skip
    maker = f"Dropout<{dtype.cuda}, {c}>{{mask, input, (float)p, ({c})scale}}"
    return random_kernel("dropout", dtype, maker, fields, make)
