"""Values from nothing: sequences and random numbers.

Random values come from Philox4x32-10 counters (ops/kernels/philox.cu).  Where a call's first counter is f, element i of

- uniform, bernoulli and normal in float16, bfloat16 and float32 uses word i % 4 of counter f + i // 4; a normal pair is made
  of words (0, 1) and one of (2, 3);
- the same in float64, and integers, use words 2 (i % 2) and 2 (i % 2) + 1 of counter f + i // 2; a normal pair takes all four.

So the bits do not depend on the device, nor on how work is spread over it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from math import prod
from typing import Any

from .. import dtypes
from ..dtypes import dtype, float64, int64
from ..errors import ArgumentError, DtypeError
from ..host import np
from ..kernel import Kernel, Param, Pointer, Scalar
from .operator import REGISTRY, Array, Call, ErrorSample, Operand, Sample, Value, composite, operator
from .pointwise import PRELUDE, THREADS, floating_only, grid_over, pointwise, source_text

PHILOX = PRELUDE + source_text("philox.cu")
ROUNDS = 10
WORD = 0xFFFFFFFF
MULTIPLIERS = 0xD2511F53, 0xCD9E8D57
KEY_STEPS = 0x9E3779B9, 0xBB67AE85
FRACTION_BITS = {"float16": 11, "bfloat16": 8, "float32": 24}
NO_ZERO = 2.0**-33  # half a step of a 32-bit fraction: the logarithm of 0 never occurs


def philox(seed: int, first: int, count: int) -> Any:
    """`count` rows of four random words, uint32, for the counters from `first` on."""
    counter = np.arange(count, dtype=np.uint64) + np.uint64(first)
    words = [counter & np.uint64(WORD), counter >> np.uint64(32), np.zeros_like(counter), np.zeros_like(counter)]
    keys = [seed & WORD, seed >> 32 & WORD]
    for _ in range(ROUNDS):
        a, b = words[0] * np.uint64(MULTIPLIERS[0]), words[2] * np.uint64(MULTIPLIERS[1])
        high_a, high_b = a >> np.uint64(32), b >> np.uint64(32)
        words = [
            high_b ^ words[1] ^ np.uint64(keys[0]), b & np.uint64(WORD),
            high_a ^ words[3] ^ np.uint64(keys[1]), a & np.uint64(WORD),
        ]  # fmt: skip
        keys = [(key + step) & WORD for key, step in zip(keys, KEY_STEPS)]
    return np.stack(words, 1).astype(np.uint32)


def _pairs(seed: int, first: int, numel: int) -> Any:
    words = philox(seed, first, -(-numel // 2)).astype(np.uint64)
    return (words[:, ::2] | words[:, 1::2] << np.uint64(32)).reshape(-1)


def _fractions(kind: dtype, seed: int, first: int, numel: int) -> Any:
    """`numel` values in [0, 1), in the type that `kind` computes in."""
    if kind is float64:
        return (_pairs(seed, first, numel)[:numel] >> np.uint64(11)) * 2.0**-53
    bits = FRACTION_BITS[kind.name]
    words = philox(seed, first, -(-numel // 4)).reshape(-1)[:numel]
    return (words >> np.uint32(32 - bits)).astype(np.float32) * np.float32(2.0**-bits)


def _normals(kind: dtype, seed: int, first: int, numel: int) -> Any:
    """`numel` standard normal values, in the type that `kind` computes in."""
    if kind is float64:
        uniform = ((_pairs(seed, first, numel + 1) >> np.uint64(11)) + 0.5) * 2.0**-53
    else:
        words = philox(seed, first, -(-numel // 4)).reshape(-1).astype(np.float32)
        uniform = (words * np.float32(2.0**-32) + np.float32(NO_ZERO)).astype(np.float64)
    a, b = uniform[: len(uniform) // 2 * 2 : 2], uniform[1::2]
    radius = np.sqrt(-2 * np.log(a))
    return np.stack([radius * np.cos(2 * np.pi * b), radius * np.sin(2 * np.pi * b)], 1).reshape(-1)[:numel].astype(kind.wide.numpy)


def _counters(kind: dtype, numel: int) -> int:
    return -(-numel // (4 if kind.name in FRACTION_BITS else 2))


def _random_kernel(name: str, kind: dtype, scalars: tuple[tuple[str, str], ...], body: str, make: Callable[..., Any]) -> Kernel:
    """A kernel with one thread per counter: `body` fills value[], of `per` elements, from `words`."""
    per = 4 if kind.name in FRACTION_BITS else 2
    c = {"float64": "double", "int64": "long long", "uint64": "unsigned long long"}
    arguments = "".join(f", {c[ctype]} {scalar}" for scalar, ctype in scalars)
    value = kind.wide.cuda
    source = f"""{PHILOX}
extern "C" __global__ void __launch_bounds__({THREADS}) {name}_{kind.name}(
    {kind.cuda}* out{arguments}, unsigned long long seed, unsigned long long first, long long numel) {{
  for (long long c = blockIdx.x * (long long)blockDim.x + threadIdx.x; c * {per} < numel; c += (long long)gridDim.x * blockDim.x) {{
    const Words words = philox(seed, first + c);
    {value} value[{per}];
    {body}
    for (int k = 0; k < {per}; ++k)
      if (c * {per} + k < numel) out[c * {per} + k] = store<{kind.cuda}>(value[k]);
  }}
}}
"""

    def reference(out: Any, *values: Any) -> None:
        *given, seed, first, numel = values
        out[...] = make(kind, seed, first, numel, *given)

    params: list[Param] = [Pointer("out", kind, "w", ("numel",)), *(Scalar(*each) for each in scalars)]
    params += [Scalar("seed", "uint64"), Scalar("first", "uint64"), Scalar("numel", "int64")]
    return Kernel(f"{name}_{kind.name}", source, params, reference, 20.0)


def _fill_random(call: Any, input: Any, kernel: Kernel, numbers: tuple[Any, ...], generator: Any) -> Any:
    out = call.output(input.shape, input.dtype)
    numel = prod(input.shape)
    if numel:
        seed, first = call.random(_counters(input.dtype, numel), generator)
        call.launch(kernel, grid_over(numel), out, *numbers, seed, first, numel)
    return out


def _fractions_of(kind: dtype) -> str:
    if kind is float64:
        return "for (int k = 0; k < 2; ++k) value[k] = fraction(pair_of(words, k))"
    return f"for (int k = 0; k < 4; ++k) value[k] = fraction<{FRACTION_BITS[kind.name]}>(words.at[k])"


@cache
def _uniform_kernel(kind: dtype) -> Kernel:
    c = kind.wide.cuda
    body = f"{_fractions_of(kind)}; for (auto& each : value) each = stretched(each, ({c})high - ({c})low, ({c})low);"

    def make(kind: dtype, seed: int, first: int, numel: int, low: float, high: float) -> Any:
        number = kind.wide.numpy.type
        return _fractions(kind, seed, first, numel) * (number(high) - number(low)) + number(low)

    return _random_kernel("uniform", kind, (("low", "float64"), ("high", "float64")), body, make)


@cache
def _normal_kernel(kind: dtype) -> Kernel:
    c = kind.wide.cuda
    draw = "normal_pair(pair_of(words, 0), pair_of(words, 1), z[0]);"
    if kind is not float64:
        draw = "normal_pair(words.at[0], words.at[1], z[0]); normal_pair(words.at[2], words.at[3], z[1]);"
    pairs = 1 if kind is float64 else 2
    body = f"{c} z[{pairs}][2]; {draw} for (int k = 0; k < {2 * pairs}; ++k) value[k] = stretched(z[k / 2][k % 2], ({c})std, ({c})mean);"

    def make(kind: dtype, seed: int, first: int, numel: int, mean: float, std: float) -> Any:
        number = kind.wide.numpy.type
        return _normals(kind, seed, first, numel) * number(std) + number(mean)

    return _random_kernel("normal", kind, (("mean", "float64"), ("std", "float64")), body, make)


@cache
def _integer_kernel(kind: dtype) -> Kernel:
    whole = "load<%s>((long long)(range ? pair_of(words, k) %% range + low : pair_of(words, k)))" % kind.wide.cuda
    body = f"for (int k = 0; k < (int)(sizeof(value) / sizeof(value[0])); ++k) value[k] = {whole};"

    def make(kind: dtype, seed: int, first: int, numel: int, low: int, span: int) -> Any:
        drawn = _pairs(seed, first, numel)[:numel]
        return (drawn % np.uint64(span) + np.uint64(low % (1 << 64))).astype(np.int64) if span else drawn.astype(np.int64)

    return _random_kernel("random", kind, (("low", "int64"), ("range", "uint64")), body, make)


@cache
def _bernoulli_kernel(kind: dtype) -> Kernel:
    body = "for (int k = 0; k < 2; ++k) value[k] = fraction(pair_of(words, k)) < p ? 1 : 0;"
    if kind.name in FRACTION_BITS:
        body = "for (int k = 0; k < 4; ++k) value[k] = fraction<24>(words.at[k]) < p ? 1 : 0;"

    def make(kind: dtype, seed: int, first: int, numel: int, p: float) -> Any:
        source = dtypes.float32 if kind.name in FRACTION_BITS else float64
        return _fractions(source, seed, first, numel).astype(np.float64) < p

    return _random_kernel("bernoulli", kind, (("p", "float64"),), body, make)


def _targets() -> Iterator[Sample]:
    yield Sample((Array((3, 7)),))
    yield Sample((Array((0, 3)),))
    yield Sample((Array(()),))


def _fills(operator_name: str, input: Any) -> None:
    if not input.dtype.is_floating_point:
        raise DtypeError(f"{operator_name}: expected a floating point tensor, got {input.dtype.name}")


def _integers() -> Iterator[ErrorSample]:
    yield ErrorSample((Array((3,), dtype="int64"),), DtypeError, "expected a floating point tensor, got int64")


def _in_place(samples: Any, kinds: Any, errors: Any = None) -> dict[str, Any]:
    return {
        "samples": samples, "dtypes": kinds, "errors": errors, "inplace": True, "method": False, "function": False,
        "differentiable": False,
    }  # fmt: skip


@operator(**_in_place(_targets, dtypes.FLOATING_TYPES, _integers))
def uniform(call: Call, input: Operand, low: float = 0.0, high: float = 1.0, generator: Any = None) -> Any:
    """A tensor like `input` with values drawn evenly from [low, high).

    Host:   returns at once.
    Raises: DtypeError for integers; ArgumentError if low is above high.
    """
    _fills("uniform", input)
    if low > high:
        raise ArgumentError(f"uniform: expected low to be at most high, got {low} and {high}")
    return _fill_random(call, input, _uniform_kernel(input.dtype), (float(low), float(high)), generator)


@operator(**_in_place(_targets, dtypes.FLOATING_TYPES, _integers))
def normal(call: Call, input: Operand, mean: float = 0.0, std: float = 1.0, generator: Any = None) -> Any:
    """A tensor like `input` with values drawn from a normal distribution.

    Host:   returns at once.
    Raises: DtypeError for integers; ArgumentError for a negative std.
    """
    _fills("normal", input)
    if std < 0:
        raise ArgumentError(f"normal: expected std to be at least 0, got {std}")
    return _fill_random(call, input, _normal_kernel(input.dtype), (float(mean), float(std)), generator)


def _empty_range() -> Iterator[ErrorSample]:
    yield ErrorSample((Array((3,)), 5, 5), ArgumentError, "expected low to be less than high, got 5 and 5")


@operator(**_in_place(_targets, dtypes.ALL, _empty_range))
def random(call: Call, input: Operand, low: int = 0, high: int | None = None, generator: Any = None) -> Any:
    """A tensor like `input` with integers drawn evenly from low to high - 1.

    With one number they are drawn from 0 to it; with none, from all values of the type (for floating point, those that it
    represents exactly).
    Host:   returns at once.
    Raises: ArgumentError if the range is empty.
    """
    start, span = _random_range(input.dtype, low, high)
    return _fill_random(call, input, _integer_kernel(input.dtype), (start, span), generator)


_MANTISSA_BITS = {"float16": 11, "bfloat16": 8, "float32": 24, "float64": 53}


def _random_range(kind: dtype, low: int, high: int | None) -> tuple[int, int]:
    if high is None and low == 0:
        bits = _MANTISSA_BITS.get(kind.name) or (1 if kind is dtypes.bool_ else 8 * kind.itemsize - kind.is_signed)
        return 0, (1 << bits) + (kind.is_floating_point)
    start, end = (0, low) if high is None else (low, high)
    if start >= end:
        raise ArgumentError(f"random: expected low to be less than high, got {start} and {end}")
    return start, end - start


def _chances() -> Iterator[Sample]:
    for (each,) in (sample.args for sample in _targets()):
        yield Sample((each, 0.3))


def _no_chance() -> Iterator[ErrorSample]:
    yield ErrorSample((Array((3,)), 1.5), ArgumentError, "p must lie between 0 and 1, got 1.5")


@operator(**_in_place(_chances, dtypes.ALL, _no_chance))
def bernoulli(call: Call, input: Operand, p: float = 0.5, generator: Any = None) -> Any:
    """A tensor like `input` of ones, with probability p, and zeros.

    Host:   returns at once.
    Raises: ArgumentError if p is no probability.
    """
    if not 0 <= p <= 1:
        raise ArgumentError(f"bernoulli: p must lie between 0 and 1, got {p}")
    return _fill_random(call, input, _bernoulli_kernel(input.dtype), (float(p),), generator)


@cache
def _arange_kernel(kind: dtype) -> Kernel:
    number, c = ("float64", "double") if kind.is_floating_point else ("int64", "long long")
    source = f"""{PRELUDE}
extern "C" __global__ void __launch_bounds__({THREADS}) arange_{kind.name}({kind.cuda}* out, {c} start, {c} step, long long numel) {{
  for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < numel; i += (long long)gridDim.x * blockDim.x)
    out[i] = store<{kind.cuda}>(start + step * i);
}}
"""

    def reference(out: Any, start: Any, step: Any, numel: int) -> None:
        out[...] = start + step * np.arange(numel)

    params = [Pointer("out", kind, "w", ("numel",)), Scalar("start", number), Scalar("step", number), Scalar("numel", "int64")]
    return Kernel(f"arange_{kind.name}", source, params, reference)


def _sequences() -> Iterator[Sample]:
    yield Sample((Array((7,)), 2, 3))
    yield Sample((Array((0,)), 0, 1))


@operator(**_in_place(_sequences, tuple(each for each in dtypes.ALL if each is not dtypes.bool_)))
def arange(call: Call, input: Operand, start: float = 0, step: float = 1) -> Any:
    """A tensor like `input` with start, start + step, start + 2 step, … in row-major order.

    Floating point values are computed in float64 and rounded once.
    Host:   returns at once.
    """
    out = call.output(input.shape, input.dtype)
    numel = prod(input.shape)
    if numel:
        number = float if input.dtype.is_floating_point else int
        call.launch(_arange_kernel(input.dtype), grid_over(numel), out, number(start), number(step), numel)
    return out


def _ranks() -> Iterator[Sample]:
    yield Sample((Array((9,), dtype="int64"),))
    yield Sample((Array((0,), dtype="int64"),))


@composite(samples=_ranks, dtypes=(int64,), method=False, function=False, differentiable=False, inplace=True)
def randperm(input: Operand, generator: Any = None) -> Any:
    """0 to n - 1 in random order, for an `input` of n elements: the ranks of n random keys of 62 bits.

    Host:   returns at once.
    """
    return REGISTRY["argsort"](random(REGISTRY["convert"](input, int64), 0, 1 << 62, generator=generator))


def _masks() -> Iterator[Sample]:
    yield Sample((Array((3, 4)), Array((3, 4), 0, 2, dtype="bool", seed=1), 2.0))
    yield Sample((Array((4, 3), layout="transposed"), Array((4, 3), 0, 2, dtype="bool", seed=1), 1.5))


@pointwise(
    dtype=lambda name, types, common: ([types[0], dtypes.bool_, types[0]], floating_only(name, types[:1], types[0])[1]),
    cuda="mask ? input * scale : 0", samples=_masks, dtypes=dtypes.FLOATING_TYPES, method=False, function=False, inplace=False,
)  # fmt: skip
def masked_scale(input: Operand, mask: Operand, scale: Value) -> Any:
    """`scale * input` where the mask holds, else 0."""
    return np.where(mask, input * scale, input.dtype.type(0))  # type: ignore[attr-defined,call-overload,operator]


@masked_scale.derivative
def _(grad: Any, mask: Any, scale: Any) -> Any:
    return masked_scale(grad, mask, scale), None, None


def _dropouts() -> Iterator[Sample]:
    for training in (True, False):
        yield Sample((Array((5, 4)), 0.5, training))
    yield Sample((Array((0, 3)), 0.5, True))
    yield Sample((Array((3,)), 1.0, True))


def _no_dropout() -> Iterator[ErrorSample]:
    yield ErrorSample((Array((3,)), -0.5), ArgumentError, "probability has to be between 0 and 1, but got -0.5")


@composite(samples=_dropouts, errors=_no_dropout, dtypes=dtypes.FLOATING_TYPES, method=False)
def dropout(input: Operand, p: float = 0.5, training: bool = True) -> Any:
    """Values set to 0 with probability p and scaled by 1 / (1 - p) otherwise; the input itself if not training.

    Shapes: as the input's.
    Host:   returns at once.
    Raises: ArgumentError if p is no probability.
    """
    if not 0 <= p <= 1:
        raise ArgumentError(f"dropout: probability has to be between 0 and 1, but got {p}")
    if not training or p == 0:
        return input
    kept = bernoulli(input, 1 - p) != 0
    return masked_scale(input, kept, 0.0 if p == 1 else 1 / (1 - p))


