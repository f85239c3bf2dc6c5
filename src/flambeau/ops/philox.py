"""Philox4x32-10: which random words an element takes, their host side, and the kernels that fill tensors by them.

The device's side is kernels/philox.cu.  A call reserves counters; from the first of them, f,

- element i takes word i % 4 of counter f + i // 4: `uniform` and `normal` in types of up to 32 bits, `random` from at
  most 2^32 values, `bernoulli` and dropout in every type.  A normal pair takes words (0, 1), the next words (2, 3);
- element i takes words 2 (i % 2) and 2 (i % 2) + 1, low half first, of counter f + i // 2: `uniform` and `normal` in
  float64, `random` from more than 2^32 values, the keys of `randperm`.  A normal pair takes all four words.

A fraction in [0, 1) is the leading bits of a word: 24, but 11 in float16 and 8 in bfloat16; 53 of a pair in float64.
Functions of a fraction are made of additions, multiplications, divisions and roots alone, each rounded, in the order
that philox.cu has.  So the bits depend neither on the device nor on how work is spread over it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from .. import dtypes
from ..dtypes import dtype, float64
from ..host import np
from ..kernel import Kernel, Param, Pointer, Scalar
from .pointwise import PRELUDE, THREADS, grid_over, source_text

PHILOX = PRELUDE + source_text("philox.cu")
ROUNDS = 10
WORD = (1 << 32) - 1
MULTIPLIERS = 0xD2511F53, 0xCD9E8D57
KEY_STEPS = 0x9E3779B9, 0xBB67AE85
FRACTION_BITS = {dtypes.float16: 11, dtypes.bfloat16: 8}
_C_TYPES = {"float64": "double", "int64": "long long", "uint64": "unsigned long long"}


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


def _logarithm(x: Any) -> Any:
    number = x.dtype.type
    terms = 11 if x.dtype == np.float64 else 4
    m, exponent = np.frexp(x)
    low = m < number(0.7071067811865476)
    m, exponent = np.where(low, m * 2, m), np.where(low, exponent - 1, exponent)
    f = m - number(1)
    s = f / (f + number(2))
    z = s * s
    total = number(1) / number(2 * terms + 1)
    for k in range(terms - 1, -1, -1):
        total = total * z + number(1) / number(2 * k + 1)
    return exponent.astype(x.dtype) * number(0.6931471805599453) + (s + s) * total


def _circle(turn: Any) -> tuple[Any, Any]:
    """Cosine and sine of 2 pi turn."""
    number = turn.dtype.type
    terms = 9 if turn.dtype == np.float64 else 5
    quarters = turn * 4
    quarter = (quarters + number(0.5)).astype(np.int32)
    angle = (quarters - quarter.astype(turn.dtype)) * number(1.5707963267948966)
    square = angle * angle
    s = c = number(1)
    for k in range(terms, 0, -1):
        s = number(1) - square * (number(1) / number(2 * k * (2 * k + 1))) * s
        c = number(1) - square * (number(1) / number(2 * k * (2 * k - 1))) * c
    s = angle * s
    at = quarter % 4
    return np.choose(at, (c, 0 - s, 0 - c, s)), np.choose(at, (s, c, 0 - s, 0 - c))


def standard_normals(kind: dtype, seed: int, first: int, numel: int) -> Any:
    """`numel` values of mean 0 and standard deviation 1, in the type that `kind` computes in."""
    fractions = fractions_of(kind, seed, first, numel)
    u = fractions[::2] + fractions.dtype.type(2.0**-53 if kind is float64 else 2.0**-24)
    radius = np.sqrt(_logarithm(u) * fractions.dtype.type(-2))
    cosine, sine = _circle(fractions[1::2])
    return np.stack([radius * cosine, radius * sine], 1).reshape(-1)[:numel]


# kernels


def random_kernel(name: str, kind: dtype, maker: str, fields: Sequence[Param], make: Callable[..., Any]) -> Kernel:
    """A kernel that fills `out` by a maker of philox.cu; `make`(seed, first, numel, *fields) does so on the host."""
    entry = f"{name}_{kind.name}"
    arguments = "".join(f", {_declared(each)}" for each in fields)
    source = f"""{PHILOX}
extern "C" __global__ void __launch_bounds__({THREADS}) {entry}(
    {kind.cuda}* out{arguments}, unsigned long long seed, unsigned long long first, long long numel) {{
  fill_random(out, seed, first, numel, {maker});
}}
"""

    def reference(out: Any, *values: Any) -> None:
        *given, seed, first, numel = values
        out[...] = make(seed, first, numel, *given)

    params = [Pointer("out", kind, "w", ("numel",)), *fields]
    params += [Scalar("seed", "uint64"), Scalar("first", "uint64"), Scalar("numel", "int64")]
    return Kernel(entry, source, params, reference, 20.0)


def _declared(param: Param) -> str:
    if isinstance(param, Pointer):
        return f"{'const ' if param.access == 'r' else ''}{param.dtype.cuda}* {param.name}"
    assert isinstance(param, Scalar)
    return f"{_C_TYPES[param.ctype]} {param.name}"


def fill_random(call: Any, out: Any, kernel: Kernel, per_counter: int, values: Sequence[Any], generator: Any) -> None:
    """Launch a random kernel that takes an element count; a generator gives as many counters as that needs."""
    numel = prod(out.shape)
    if numel:
        seed, first = call.random(-(-numel // per_counter), generator)
        call.launch(kernel, grid_over(numel), out, *values, seed, first, numel)
