"""Values from nothing: sequences, random numbers, dropout.

Random values come from Philox4x32-10 (ops/kernels/philox.cu).  A call reserves counters; from the first of them, f,

- element i takes word i % 4 of counter f + i // 4: `uniform` and `normal` in types of up to 32 bits, `random` from at
  most 2^32 values, `bernoulli` and dropout in every type.  A normal pair takes words (0, 1), the next words (2, 3);
- element i takes words 2 (i % 2) and 2 (i % 2) + 1, low half first, of counter f + i // 2: `uniform` and `normal` in
  float64, `random` from more than 2^32 values, the keys of `randperm`.  A normal pair takes all four words.

A fraction in [0, 1) is the leading bits of a word: 24, but 11 in float16 and 8 in bfloat16; 53 of a pair in float64.
Functions of a fraction are made of additions, multiplications, divisions and roots alone, each rounded, in the order
that philox.cu has.  So the bits depend neither on the device nor on how work is spread over it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from math import prod
from typing import Any

from .. import dtypes
from .. import strides as st
from ..dtypes import bool_, dtype, float32, float64, int64
from ..errors import ArgumentError, DtypeError, ShapeError
from ..host import np
from ..kernel import Kernel, Param, Pointer, Scalar
from .compare import integer_range
from .operator import Array, Call, ErrorSample, Operand, Sample, Value, composite, operator
from .pointwise import PRELUDE, THREADS, floating_only, grid_over, pointwise, source_text
from .sort import sort_rows_of

PHILOX = PRELUDE + source_text("philox.cu")
ROUNDS = 10
WORD = (1 << 32) - 1
MULTIPLIERS = 0xD2511F53, 0xCD9E8D57
KEY_STEPS = 0x9E3779B9, 0xBB67AE85
FRACTION_BITS = {dtypes.float16: 11, dtypes.bfloat16: 8}
EXACT_BITS = {dtypes.float16: 11, dtypes.bfloat16: 8, float32: 24, float64: 53}  # all smaller integers are represented
KEY_SPAN = 1 << 63
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


def _single(seed: int, first: int, numel: int) -> Any:
    return random_words(seed, first, -(-numel // 4)).reshape(-1)


def _paired(seed: int, first: int, numel: int) -> Any:
    words = random_words(seed, first, -(-numel // 2))
    return (words[:, ::2] | words[:, 1::2] << np.uint64(32)).reshape(-1)


def _narrow_fractions(words: Any, bits: int = 24) -> Any:
    return (words >> np.uint64(32 - bits)).astype(np.float32) * np.float32(2.0**-bits)


def _fractions(kind: dtype, seed: int, first: int, numel: int, bits: int = 24) -> Any:
    """Fractions for whole counters, so up to three more than `numel`, in the type that `kind` computes in."""
    if kind is float64:
        return (_paired(seed, first, numel) >> np.uint64(11)).astype(np.float64) * 2.0**-53
    return _narrow_fractions(_single(seed, first, numel), bits)


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


def _standard_normals(kind: dtype, seed: int, first: int, numel: int) -> Any:
    fractions = _fractions(kind, seed, first, numel)
    u = fractions[::2] + fractions.dtype.type(2.0**-53 if kind is float64 else 2.0**-24)
    radius = np.sqrt(_logarithm(u) * fractions.dtype.type(-2))
    cosine, sine = _circle(fractions[1::2])
    return np.stack([radius * cosine, radius * sine], 1).reshape(-1)[:numel]


# kernels


def _random_kernel(name: str, kind: dtype, maker: str, fields: Sequence[Param], make: Callable[..., Any]) -> Kernel:
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


def _fill(call: Any, out: Any, kernel: Kernel, per_counter: int, values: Sequence[Any], generator: Any) -> None:
    """Launch a random kernel that takes an element count; a generator gives as many counters as that needs."""
    numel = prod(out.shape)
    if numel:
        seed, first = call.random(-(-numel // per_counter), generator)
        call.launch(kernel, grid_over(numel), out, *values, seed, first, numel)


def _per_counter(kind: dtype) -> int:
    return 2 if kind is float64 else 4


@cache
def _uniform_kernel(kind: dtype) -> Kernel:
    c, number = kind.wide.cuda, kind.wide.numpy.type

    def make(seed: int, first: int, numel: int, low: float, high: float) -> Any:
        fractions = _fractions(kind, seed, first, numel, FRACTION_BITS.get(kind, 24))[:numel]
        drawn = (fractions * (number(high) - number(low)) + number(low)).astype(kind.numpy)
        is_end = drawn.astype(kind.wide.numpy) >= number(high)  # rounded up to what is excluded
        return np.where(is_end, np.asarray(number(low)).astype(kind.numpy), drawn)

    maker = f"Uniform<{kind.cuda}, {c}>{{({c})low, ({c})high}}"
    return _random_kernel("uniform", kind, maker, [Scalar("low", "float64"), Scalar("high", "float64")], make)


@cache
def _normal_kernel(kind: dtype) -> Kernel:
    c, number = kind.wide.cuda, kind.wide.numpy.type

    def make(seed: int, first: int, numel: int, mean: float, std: float) -> Any:
        return _standard_normals(kind, seed, first, numel) * number(std) + number(mean)

    maker = f"Normal<{kind.cuda}, {c}>{{({c})mean, ({c})std}}"
    return _random_kernel("normal", kind, maker, [Scalar("mean", "float64"), Scalar("std", "float64")], make)


@cache
def _integer_kernel(kind: dtype, is_narrow: bool) -> Kernel:
    def make(seed: int, first: int, numel: int, low: int, span: int) -> Any:
        if is_narrow:
            drawn = _single(seed, first, numel)[:numel] * np.uint64(span) >> np.uint64(32)
        else:
            drawn = _paired(seed, first, numel)[:numel]
            drawn = drawn % np.uint64(span) if span else drawn
        return (drawn + np.uint64(low % (1 << 64))).astype(np.int64).astype(kind.wide.numpy)

    maker = f"Integer<{kind.cuda}, {'true' if is_narrow else 'false'}>{{low, span}}"
    name = "random_narrow" if is_narrow else "random_wide"
    return _random_kernel(name, kind, maker, [Scalar("low", "int64"), Scalar("span", "uint64")], make)


@cache
def _bernoulli_kernel(kind: dtype) -> Kernel:
    def make(seed: int, first: int, numel: int, p: float) -> Any:
        return _narrow_fractions(_single(seed, first, numel)[:numel]) < np.float32(p)

    return _random_kernel("bernoulli", kind, f"Bernoulli<{kind.cuda}>{{(float)p}}", [Scalar("p", "float64")], make)


@cache
def _bernoulli_each_kernel(kind: dtype) -> Kernel:
    def make(seed: int, first: int, numel: int, p: Any) -> Any:
        wrong = ~((p >= 0) & (p <= 1))
        if wrong.any():
            raise ArgumentError(f"bernoulli: probabilities must lie between 0 and 1, got {p[wrong][0]}")
        return _narrow_fractions(_single(seed, first, numel)[:numel]) < p

    fields = [Pointer("p", float32, "r", ("numel",))]
    return _random_kernel("bernoulli_each", kind, f"BernoulliEach<{kind.cuda}>{{p}}", fields, make)


@cache
def _dropout_kernel(kind: dtype) -> Kernel:
    c, number = kind.wide.cuda, kind.wide.numpy.type

    def make(seed: int, first: int, numel: int, mask: Any, input: Any, p: float, scale: float) -> Any:
        mask[...] = _narrow_fractions(_single(seed, first, numel)[:numel]) >= np.float32(p)
        return np.where(mask, input.astype(kind.wide.numpy) * number(scale), number(0))

    fields = [
        Pointer("mask", bool_, "w", ("numel",)), Pointer("input", kind, "r", ("numel",)),
        Scalar("p", "float64"), Scalar("scale", "float64"),
    ]  # fmt: skip
    maker = f"Dropout<{kind.cuda}, {c}>{{mask, input, (float)p, ({c})scale}}"
    return _random_kernel("dropout", kind, maker, fields, make)


@cache
def _arange_kernel(kind: dtype) -> Kernel:
    is_floating = kind.is_floating_point
    number = "float64" if is_floating else "int64"
    term = "__dadd_rn(start, __dmul_rn(step, (double)i))" if is_floating else "start + step * i"
    c = _C_TYPES[number]
    source = f"""{PRELUDE}
extern "C" __global__ void __launch_bounds__({THREADS}) arange_{kind.name}(
    {kind.cuda}* out, {c} start, {c} step, long long numel) {{
  const long long threads = (long long)gridDim.x * blockDim.x;
  for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < numel; i += threads)
    out[i] = store<{kind.cuda}>({term});
}}
"""

    def reference(out: Any, start: Any, step: Any, numel: int) -> None:
        out[...] = start + step * np.arange(numel, dtype=np.float64 if is_floating else np.int64)

    scalars = Scalar("start", number), Scalar("step", number), Scalar("numel", "int64")
    return Kernel(f"arange_{kind.name}", source, [Pointer("out", kind, "w", ("numel",)), *scalars], reference)


# operators


def _targets() -> Iterator[Sample]:
    yield Sample((Array((3, 7)),))
    yield Sample((Array((4, 3), layout="transposed"),))
    yield Sample((Array((0, 3)),))
    yield Sample((Array(()),))


def _integers() -> Iterator[ErrorSample]:
    yield ErrorSample((Array((3,), dtype="int64"),), DtypeError, "expected a floating point tensor, got int64")


def _crossed_bounds() -> Iterator[ErrorSample]:
    yield from _integers()
    yield ErrorSample((Array((3,)), 2.0, 1.0), ArgumentError, "expected low to be at most high, got 2.0 and 1.0")


def _negative_deviation() -> Iterator[ErrorSample]:
    yield from _integers()
    yield ErrorSample((Array((3,)), 0.0, -1.0), ArgumentError, "expected std to be at least 0, got -1.0")


def _check_floating(name: str, input: Any) -> None:
    if not input.dtype.is_floating_point:
        raise DtypeError(f"{name}: expected a floating point tensor, got {input.dtype.name}")


def _filler(samples: Any, kinds: Sequence[dtype], errors: Any = None) -> Any:
    """The decorator of operators that are called as `name_` on a tensor, or by a factory."""
    return operator(samples=samples, dtypes=kinds, errors=errors, inplace=True, method=False, function=False)


@_filler(_targets, dtypes.FLOATING_TYPES, _crossed_bounds)
def uniform(call: Call, input: Operand, low: float = 0.0, high: float = 1.0, generator: Any = None) -> Any:
    """A tensor like `input` with values drawn evenly from [low, high).

    Host:   returns at once.
    Raises: DtypeError for integers; ArgumentError if low is above high.
    """
    _check_floating("uniform", input)
    if not low <= high:
        raise ArgumentError(f"uniform: expected low to be at most high, got {low} and {high}")
    out = call.output(input.shape, input.dtype)
    _fill(call, out, _uniform_kernel(out.dtype), _per_counter(out.dtype), (float(low), float(high)), generator)
    return out


@_filler(_targets, dtypes.FLOATING_TYPES, _negative_deviation)
def normal(call: Call, input: Operand, mean: float = 0.0, std: float = 1.0, generator: Any = None) -> Any:
    """A tensor like `input` with values drawn from the normal distribution of this mean and standard deviation.

    Host:   returns at once.
    Raises: DtypeError for integers; ArgumentError for a negative std.
    """
    _check_floating("normal", input)
    if not std >= 0:
        raise ArgumentError(f"normal: expected std to be at least 0, got {std}")
    out = call.output(input.shape, input.dtype)
    _fill(call, out, _normal_kernel(out.dtype), _per_counter(out.dtype), (float(mean), float(std)), generator)
    return out


def _wrong_ranges() -> Iterator[ErrorSample]:
    yield ErrorSample((Array((3,)), 5, 5), ArgumentError, "expected low to be less than high, got 5 and 5")
    yield ErrorSample((Array((3,), dtype="uint8"), 0, 300), ArgumentError, "0 to 299 do not fit uint8")


@_filler(_targets, dtypes.ALL, _wrong_ranges)
def random(call: Call, input: Operand, low: int | None = None, high: int | None = None, generator: Any = None) -> Any:
    """A tensor like `input` with integers drawn evenly from low to high - 1, or from 0 to low - 1 if only one is given.

    Without both: all values of an integer type from 0 on, or those that a floating point type counts through exactly.
    Likelihoods differ by less than one part in 2^32 / (high - low); beyond 2^32 values, 2^64 / (high - low).
    Host:   returns at once.
    Raises: ArgumentError if the range is empty, or beyond the type.
    """
    start, end = _random_range(input.dtype, low, high)
    is_narrow = end - start <= 1 << 32
    out = call.output(input.shape, input.dtype)
    kernel = _integer_kernel(out.dtype, is_narrow)
    _fill(call, out, kernel, 4 if is_narrow else 2, (start, (end - start) % (1 << 64)), generator)
    return out


def _random_range(kind: dtype, low: int | None, high: int | None) -> tuple[int, int]:
    largest = 1 << EXACT_BITS[kind] if kind.is_floating_point else integer_range(kind)[1]
    if low is None:
        return 0, (largest if high is None else int(high) - 1) + 1
    start, end = (0, int(low)) if high is None else (int(low), int(high))
    if start >= end:
        raise ArgumentError(f"random: expected low to be less than high, got {start} and {end}")
    least, largest = integer_range(int64 if kind.is_floating_point else kind)
    if start < least or end - 1 > largest:
        raise ArgumentError(f"random: values from {start} to {end - 1} do not fit {kind.name}")
    return start, end


def _chances() -> Iterator[Sample]:
    for (each,) in (sample.args for sample in _targets()):
        yield Sample((each, 0.3))
    yield Sample((Array((3, 4)), Array((4,), 0, 1, dtype="float32", grad=False)))


def _no_chance() -> Iterator[ErrorSample]:
    yield ErrorSample((Array((3,)), 1.5), ArgumentError, "p must lie between 0 and 1, got 1.5")
    yield ErrorSample((Array((3,)), Array((2, 3))), ShapeError, r"p of shape \[2, 3\] does not broadcast to \[3\]")
    yield ErrorSample((Array((3,), dtype="int64"),), DtypeError, "expected a floating point tensor, got int64")


@operator(samples=_chances, errors=_no_chance, dtypes=dtypes.ALL, inplace=True)
def bernoulli(call: Call, input: Operand, p: Value = None, generator: Any = None) -> Any:  # type: ignore[assignment]
    """A tensor like `input` of ones, each with probability p (a number, or a tensor that broadcasts to it), and zeros.

    Without p the input's own values are the probabilities; written in place, p is then 0.5.
    Host:   returns at once.
    Raises: ArgumentError if p is no probability (for values of a tensor on the CPU only: a GPU traps); ShapeError.
    """
    is_inplace = getattr(call, "given", None) is input
    if p is None and not is_inplace:
        _check_floating("bernoulli", input)
        p = input
    chance: Any = 0.5 if p is None else p
    if hasattr(chance, "shape"):
        if st.broadcast([input.shape, chance.shape], "bernoulli") != tuple(input.shape):
            raise ShapeError(f"bernoulli: p of shape {list(chance.shape)} does not broadcast to {list(input.shape)}")
        each = call.scratch(input.shape, float32)
        call.assign(each, chance)
        out = call.output(input.shape, input.dtype)
        _fill(call, out, _bernoulli_each_kernel(out.dtype), 4, (each,), generator)
        return out
    if not 0 <= chance <= 1:
        raise ArgumentError(f"bernoulli: p must lie between 0 and 1, got {chance}")
    out = call.output(input.shape, input.dtype)
    _fill(call, out, _bernoulli_kernel(out.dtype), 4, (float(chance),), generator)
    return out


@bernoulli.derivative
def _(grad: Any) -> Any:
    return None, None


def _sequences() -> Iterator[Sample]:
    yield Sample((Array((7,)), 2, 3))
    yield Sample((Array((4, 3), layout="transposed"), 1, 2))
    yield Sample((Array((0,)), 0, 1))


@_filler(_sequences, tuple(each for each in dtypes.ALL if each is not bool_))
def arange(call: Call, input: Operand, start: float = 0, step: float = 1) -> Any:
    """A tensor like `input` with start, start + step, start + 2 step and so on, in row-major order.

    Floating point values are computed in float64 and rounded once.
    Host:   returns at once.
    """
    out = call.output(input.shape, input.dtype)
    numel = prod(input.shape)
    if numel:
        number = float if input.dtype.is_floating_point else int
        call.launch(_arange_kernel(input.dtype), grid_over(numel), out, number(start), number(step), numel)
    return out


def _orders() -> Iterator[Sample]:
    yield Sample((Array((9,)),))
    yield Sample((Array((0,)),))


def _too_many() -> Iterator[ErrorSample]:
    yield ErrorSample((Array((300,), dtype="uint8"),), ArgumentError, "0 to 299 do not fit uint8")


@_filler(_orders, tuple(each for each in dtypes.ALL if each is not bool_), _too_many)
def randperm(call: Call, input: Operand, generator: Any = None) -> Any:
    """A tensor like `input`, of n elements, with 0 to n - 1 in random order: the places that sort n random 63-bit keys.

    Host:   returns at once.
    Memory: 16 bytes of scratch per element, twice that for more than 1024.
    Raises: ArgumentError if the type does not hold n - 1.
    """
    numel, kind = prod(input.shape), input.dtype
    largest = 1 << EXACT_BITS[kind] if kind.is_floating_point else integer_range(kind)[1]
    if numel - 1 > largest:
        raise ArgumentError(f"randperm: values from 0 to {numel - 1} do not fit {kind.name}")
    out = call.output(input.shape, kind)
    keys, ordered = call.scratch((1, numel), int64), call.scratch((1, numel), int64)
    _fill(call, keys, _integer_kernel(int64, False), 2, (0, KEY_SPAN), generator)
    places = out if kind is int64 else call.scratch(input.shape, int64)
    sort_rows_of(call, keys, ordered, places, (1, numel), False)
    if places is not out:
        call.assign(out, places)  # type: ignore[attr-defined]
    return out


for _each in (uniform, normal, random, arange, randperm):
    _each.derivative(lambda grad: None)


# dropout


def _masks() -> Iterator[Sample]:
    yield Sample((Array((3, 4)), Array((3, 4), 0, 2, dtype="bool", seed=1), 2.0))
    yield Sample((Array((4, 3), layout="transposed"), Array((4, 3), 0, 2, dtype="bool", seed=1), 1.5))
    yield Sample((Array((0, 3)), Array((3,), 0, 2, dtype="bool"), 2.0))


def _masked(name: str, types: Sequence[dtype], common: dtype) -> tuple[Sequence[dtype], dtype]:
    floating_only(name, types[:1], types[0])
    return [types[0], bool_, types[0]], types[0]


@pointwise(
    dtype=_masked, cuda="mask ? input * scale : 0", samples=_masks, dtypes=dtypes.FLOATING_TYPES, inplace=False,
    method=False, function=False,
)  # fmt: skip
def masked_scale(input: Operand, mask: Operand, scale: float) -> Any:
    """`scale * input` where the mask holds, else 0."""
    return np.where(mask, input * scale, input.dtype.type(0))  # type: ignore[attr-defined,call-overload,operator]


@masked_scale.derivative
def _(grad: Any, mask: Any, scale: Any) -> Any:
    return masked_scale(grad, mask, scale), None


@operator(samples=tuple, dtypes=dtypes.FLOATING_TYPES, method=False, function=False)
def fused_dropout(call: Call, input: Operand, p: float) -> Any:
    """(which elements are kept, the input with the others set to 0 and these scaled by 1 / (1 - p)).

    The mask comes first because a derivative's `out` is the first result: nothing else is saved.
    """
    mask, result = call.output(input.shape, bool_), call.output(input.shape, input.dtype)
    source = call.contiguous(input)
    _fill(call, result, _dropout_kernel(input.dtype), 4, (mask, source, float(p), _scale(p)), None)
    return mask, result


@fused_dropout.derivative
def _(grads: Any, out: Any, p: Any) -> Any:
    return masked_scale(grads[1], out, _scale(p))


def _scale(p: float) -> float:
    return 1 / (1 - p) if p < 1 else 0.0


def _dropouts() -> Iterator[Sample]:
    for training in (True, False):
        yield Sample((Array((5, 4)), 0.5, training))
    yield Sample((Array((4, 3), layout="transposed"), 0.5, True))
    yield Sample((Array((0, 3)), 0.5, True))
    yield Sample((Array((3,)), 1.0, True))


def _no_dropout() -> Iterator[ErrorSample]:
    yield ErrorSample((Array((3,)), -0.5), ArgumentError, "probability has to be between 0 and 1, but got -0.5")
    yield ErrorSample((Array((3,), dtype="int64"),), DtypeError, "expected a floating point tensor, got int64")


@composite(samples=_dropouts, errors=_no_dropout, dtypes=dtypes.FLOATING_TYPES, method=False)
def dropout(input: Operand, p: float = 0.5, training: bool = True) -> Any:
    """Values set to 0 with probability p and scaled by 1 / (1 - p) otherwise; the input itself if not training.

    Shapes: as the input's.
    Host:   returns at once.
    Raises: ArgumentError if p is no probability; DtypeError for integers in training.
    """
    if not 0 <= p <= 1:
        raise ArgumentError(f"dropout: probability has to be between 0 and 1, but got {p}")
    if not training or p == 0:
        return input
    _check_floating("dropout", input)
    return fused_dropout(input, p)[1]
