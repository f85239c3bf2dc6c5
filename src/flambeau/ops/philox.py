"""Philox4x32-10: which random words an element takes, their host side, and the kernels that fill tensors by them.

The device's side is kernels/philox.cu.  A call reserves counters; from the first of them, f,

- element i takes word i % 4 of counter f + i // 4: `uniform` and `normal` in types of up to 32 bits, `random` from at
  most 2^32 values, `bernoulli` and dropout in every type.  A normal pair takes words (0, 1), the next words (2, 3);
- element i takes words 2 (i % 2) and 2 (i % 2) + 1, low half first, of counter f + i // 2: `uniform` and `normal` in
  float64, `random` from more than 2^32 values, the keys of `randperm`.  A normal pair takes all four words.

A fraction in [0, 1) is the leading bits of a word: 24, but 11 in float16 and 8 in bfloat16; 53 of a pair in float64.
What is made of them are additions, multiplications, divisions and roots alone, each rounded, in the order that
philox.cu has.  So the bits depend neither on the device nor on how work is spread over it.

Normal values in float32 are made with fused multiplications and additions too.  The host does those in float64, where
the product is exact, and rounds twice.  That gives the bits of one rounding unless the sum in float64 lies, inexactly,
half way between two float32 numbers: it does so for none of the 2^24 counts and 2^22 turns there are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from .. import dtypes
from ..dtypes import dtype, float64, int64
from ..host import np
from ..kernel import Kernel, Param, Pointer, Scalar
from .pointwise import PRELUDE, THREADS, grid_over, source_text

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
LOG_TERMS, SINE_TERMS = 11, 9  # of the series in float64
LOG_STEP = -1.6525917e-07  # -2 log 2, for powers of two that count by 2^23
_C_TYPES = {"float64": "double", "int64": "long long", "uint64": "unsigned long long"}


def _constants() -> str:
    """The constants of philox.cu, the same as the host's."""
    lines = [f"constexpr int ROOT_HALF = {ROOT_HALF};", f"constexpr float LOG_STEP = {LOG_STEP!r}f;"]
    for name, terms in (("LOG", LOG_SERIES), ("SINE", SINE_SERIES), ("COSINE", COSINE_SERIES)):
        lines.append(f"constexpr float {name}_SERIES[] = {{{', '.join(f'{each!r}f' for each in terms)}}};")
    return "\n".join([*lines, ""])


PHILOX = PRELUDE + _constants() + source_text("philox.cu")


# the host's side of philox.cu


def philox4x32(words: Sequence[Any], keys: Sequence[int]) -> list[Any]:
    """Four arrays of random words for four arrays of counter words (32 bits in uint64) and two key words."""
    w0, w1, w2, w3 = words
    key0, key1 = keys
    mask, half = np.uint64(WORD), np.uint64(32)
    for _ in range(ROUNDS):
        a, b = w0 * np.uint64(MULTIPLIERS[0]), w2 * np.uint64(MULTIPLIERS[1])
        w0, w1, w2, w3 = (b >> half) ^ w1 ^ np.uint64(key0), b & mask, (a >> half) ^ w3 ^ np.uint64(key1), a & mask
        key0, key1 = (key0 + KEY_STEPS[0]) & WORD, (key1 + KEY_STEPS[1]) & WORD
    return [w0, w1, w2, w3]


def random_words(seed: int, first: int, count: int) -> Any:
    """[count, 4] words, uint64 that hold 32 bits each, of the counters from `first` on."""
    counter = np.arange(count, dtype=np.uint64) + np.uint64(first)
    none = np.zeros_like(counter)
    words = philox4x32([counter & np.uint64(WORD), counter >> np.uint64(32), none, none], [seed & WORD, seed >> 32])
    return np.stack(words, 1)


def single_words(seed: int, first: int, numel: int) -> Any:
    """One word of 32 bits for each element, for whole counters: up to three more than `numel`."""
    return random_words(seed, first, -(-numel // 4)).reshape(-1)


def paired_words(seed: int, first: int, numel: int) -> Any:
    """64 bits for each element, for whole counters: up to one more than `numel`."""
    words = random_words(seed, first, -(-numel // 2))
    return (words[:, ::2] | words[:, 1::2] << np.uint64(32)).reshape(-1)


def narrow_fractions(words: Any, bits: int = 24) -> Any:
    """Fractions in float32 from the leading `bits` of words of 32 bits."""
    return (words >> np.uint64(32 - bits)).astype(np.float32) * np.float32(2.0**-bits)


def fractions_of(kind: dtype, seed: int, first: int, numel: int, bits: int = 24) -> Any:
    """Fractions for whole counters, so up to three more than `numel`, in the type that `kind` computes in."""
    if kind is float64:
        return (paired_words(seed, first, numel) >> np.uint64(11)).astype(np.float64) * 2.0**-53
    return narrow_fractions(single_words(seed, first, numel), bits)


def _fused(a: Any, b: Any, c: Any) -> Any:
    """a * b + c of float32, in float32, rounded once (see above)."""
    return (np.multiply(a, b, dtype=np.float64) + np.asarray(c, np.float32)).astype(np.float32)


def _series(terms: Sequence[float], x: Any) -> Any:
    total: Any = np.full_like(x, terms[-1])
    for term in reversed(terms[:-1]):
        total = _fused(total, x, term)
    return total


def twice_negative_log(count: Any) -> Any:
    """-2 log(count / 2^24) in float32, for whole numbers from 1 to 2^24."""
    bits = count.astype(np.float32).view(np.int32) - np.int32(ROOT_HALF + (24 << 23))
    power = bits & np.int32(-1 << 23)
    f = (bits - power + np.int32(ROOT_HALF)).view(np.float32) - np.float32(1)
    return np.abs(_fused(power.astype(np.float32), np.float32(LOG_STEP), f * _series(LOG_SERIES, f)))  # never -0


def unit_circle(turn: Any) -> tuple[Any, Any]:
    """Cosine and sine in float32 of the turn that the leading 24 bits of words say."""
    near = (turn + np.uint64(1 << 29)).astype(np.uint32)  # its leading two bits are the nearest quarter turn
    rest = (near >> np.uint32(8) & np.uint32(0x3FFFFF)).astype(np.float32) * np.float32(2.0**-22) - np.float32(0.5)
    square = rest * rest
    sine, cosine = rest * _series(SINE_SERIES, square), _series(COSINE_SERIES, square)
    odd, sign = near & np.uint32(1 << 30) != 0, np.uint32(1 << 31)
    first, second = np.where(odd, sine, cosine), np.where(odd, cosine, sine)
    below = (near + np.uint32(1 << 30)) & sign != 0
    return np.where(below, -first, first), np.where(near & sign != 0, -second, second)


def _logarithm(x: Any) -> Any:
    """The logarithm in float64, for 0 < x <= 1."""
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
    """Cosine and sine of 2 pi turn in float64."""
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


def standard_normals(kind: dtype, seed: int, first: int, numel: int) -> Any:
    """`numel` values of mean 0 and standard deviation 1, in the type that `kind` computes in."""
    if kind is float64:
        fractions = fractions_of(kind, seed, first, numel)
        radius = np.sqrt(_logarithm(fractions[::2] + 2.0**-53) * -2)
        cosine, sine = _circle(fractions[1::2])
    else:
        words = single_words(seed, first, numel)
        radius = np.sqrt(twice_negative_log((words[::2] >> np.uint64(8)) + np.uint64(1)))
        cosine, sine = unit_circle(words[1::2])
    return np.stack([radius * cosine, radius * sine], 1).reshape(-1)[:numel]


# kernels


# The last parameters of every random kernel.  Where there is a state, as in graphs, it has the seed, and a counter from
# which `first` counts.
DRAWN = (
    Pointer("state", int64, "r", (2,)), Scalar("seed", "uint64"), Scalar("first", "uint64"), Scalar("numel", "int64")
)  # fmt: skip
COUNTED_FROM = "if (state) { seed = state[0]; first += state[1]; }"


def counted_from(state: Any, seed: int, first: int) -> tuple[int, int]:
    """The seed and the first counter, as COUNTED_FROM finds them."""
    return (seed, first) if state is None else (int(state[0]) % (1 << 64), first + int(state[1]))


def random_kernel(name: str, kind: dtype, maker: str, fields: Sequence[Param], make: Callable[..., Any]) -> Kernel:
    """A kernel that fills `out` by a maker of philox.cu; `make`(seed, first, numel, *fields) does so on the host."""
    entry = f"{name}_{kind.name}"
    arguments = "".join(f", {_declared(each)}" for each in fields)
    source = f"""{PHILOX}
extern "C" __global__ void __launch_bounds__({THREADS}) {entry}(
    {kind.cuda}* out{arguments}, const long long* state, unsigned long long seed, unsigned long long first,
    long long numel) {{
  {COUNTED_FROM}
  fill_random(out, seed, first, numel, {maker});
}}
"""

    def reference(out: Any, *values: Any) -> None:
        *given, state, seed, first, numel = values
        out[...] = make(*counted_from(state, seed, first), numel, *given)

    params = [Pointer("out", kind, "w", ("numel",)), *fields]
    return Kernel(entry, source, [*params, *DRAWN], reference, 20.0)


def _declared(param: Param) -> str:
    if isinstance(param, Pointer):
        return f"{'const ' if param.access == 'r' else ''}{param.dtype.cuda}* {param.name}"
    assert isinstance(param, Scalar)
    return f"{_C_TYPES[param.ctype]} {param.name}"


def fill_random(call: Any, out: Any, kernel: Kernel, per_counter: int, values: Sequence[Any], generator: Any) -> None:
    """Launch a kernel whose last parameters are DRAWN; a generator gives as many counters as its elements need."""
    assert kernel.params[-len(DRAWN) :] == DRAWN, f"{kernel.entry}: the last parameters of a random kernel are DRAWN"
    numel = prod(out.shape)
    if numel:
        state, seed, first = call.random(-(-numel // per_counter), generator)
        call.launch(kernel, grid_over(numel), out, *values, state, seed, first, numel)
