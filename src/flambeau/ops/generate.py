"""Values from nothing: sequences and random numbers.  philox.py says which random words an element takes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from math import prod
from typing import Any

from .. import dtypes
from .. import strides as st
from ..dtypes import bool_, dtype, float32, float64, int64
from ..errors import ArgumentError, DtypeError, ShapeError
from ..host import np, rounded
from ..kernel import Kernel, Pointer, Scalar
from ..scalars import converted, integer_range
from .operator import Array, Call, ErrorSample, Operand, Sample, Value, operator
from .philox import (
    FRACTION_BITS,
    fill_random,
    fractions_of,
    narrow_fractions,
    paired_words,
    random_kernel,
    single_words,
    standard_normals,
)
from .pointwise import PRELUDE, THREADS, grid_over
from .sort import sort_rows_of

EXACT_BITS = {dtypes.float16: 11, dtypes.bfloat16: 8, float32: 24, float64: 53}  # all smaller integers are represented
KEY_SPAN = 1 << 63
CHANCE_HINT = "p is the chance of a 1; torch.sigmoid makes chances of numbers"


# kernels


def _per_counter(kind: dtype) -> int:
    return 2 if kind is float64 else 4


@cache
def _uniform_kernel(kind: dtype) -> Kernel:
    c, number = kind.wide.cuda, kind.wide.numpy.type

    def make(seed: int, first: int, numel: int, low: float, high: float) -> Any:
        fractions = fractions_of(kind, seed, first, numel, FRACTION_BITS.get(kind, 24))[:numel]
        drawn = (fractions * (number(high) - number(low)) + number(low)).astype(kind.numpy)
        is_end = drawn.astype(kind.wide.numpy) >= number(high)  # rounded up to what is excluded
        return np.where(is_end, np.asarray(number(low)).astype(kind.numpy), drawn)

    maker = f"Uniform<{kind.cuda}, {c}>{{({c})low, ({c})high}}"
    return random_kernel("uniform", kind, maker, [Scalar("low", "float64"), Scalar("high", "float64")], make)


@cache
def _normal_kernel(kind: dtype) -> Kernel:
    c, number = kind.wide.cuda, kind.wide.numpy.type

    def make(seed: int, first: int, numel: int, mean: float, std: float) -> Any:
        standard = standard_normals(kind, seed, first, numel)
        is_plain = number(mean) == 0 and number(std) == 1
        return standard if is_plain else standard * number(std) + number(mean)

    maker = f"Normal<{kind.cuda}, {c}>{{({c})mean, ({c})std}}"
    return random_kernel("normal", kind, maker, [Scalar("mean", "float64"), Scalar("std", "float64")], make)


@cache
def _integer_kernel(kind: dtype, is_narrow: bool) -> Kernel:
    def make(seed: int, first: int, numel: int, low: int, span: int) -> Any:
        if is_narrow:
            drawn = single_words(seed, first, numel)[:numel] * np.uint64(span) >> np.uint64(32)
        else:
            drawn = paired_words(seed, first, numel)[:numel]
            drawn = drawn % np.uint64(span) if span else drawn
        return (drawn + np.uint64(low % (1 << 64))).astype(np.int64).astype(kind.wide.numpy)

    maker = f"Integer<{kind.cuda}, {'true' if is_narrow else 'false'}>{{low, span}}"
    name = "random_narrow" if is_narrow else "random_wide"
    return random_kernel(name, kind, maker, [Scalar("low", "int64"), Scalar("span", "uint64")], make)


@cache
def _bernoulli_kernel(kind: dtype) -> Kernel:
    def make(seed: int, first: int, numel: int, p: float) -> Any:
        return narrow_fractions(single_words(seed, first, numel)[:numel]) < np.float32(p)

    return random_kernel("bernoulli", kind, f"Bernoulli<{kind.cuda}>{{(float)p}}", [Scalar("p", "float64")], make)


@cache
def _bernoulli_each_kernel(kind: dtype) -> Kernel:
    def make(seed: int, first: int, numel: int, p: Any) -> Any:
        wrong = ~((p >= 0) & (p <= 1))
        if wrong.any():
            raise ArgumentError(
                f"probabilities must lie between 0 and 1, got {p[wrong][0]}", hint=CHANCE_HINT, operator="bernoulli"
            )
        return narrow_fractions(single_words(seed, first, numel)[:numel]) < p

    fields = [Pointer("p", float32, "r", ("numel",))]
    return random_kernel("bernoulli_each", kind, f"BernoulliEach<{kind.cuda}>{{p}}", fields, make)


@cache
def _arange_kernel(kind: dtype) -> Kernel:
    is_floating = kind.is_floating_point
    number = "float64" if is_floating else "int64"
    term = "__dadd_rn(start, __dmul_rn(step, (double)i))" if is_floating else "start + step * i"
    c = "double" if is_floating else "long long"
    source = f"""{PRELUDE}
extern "C" __global__ void __launch_bounds__({THREADS}) arange_{kind.name}(
    {kind.cuda}* out, {c} start, {c} step, long long numel) {{
  const long long threads = (long long)gridDim.x * blockDim.x;
  for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < numel; i += threads)
    out[i] = store<{kind.cuda}>({term});
}}
"""

    def reference(out: Any, start: Any, step: Any, numel: int) -> None:
        values = start + step * np.arange(numel, dtype=np.float64 if is_floating else np.int64)
        out[...] = rounded(values, kind) if is_floating else values

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


def check_floating(name: str, input: Any) -> None:
    """Raise DtypeError unless the tensor is floating point."""
    if not input.dtype.is_floating_point:
        raise DtypeError(
            f"expected a floating point tensor, got {input.dtype.name}",
            hint="convert with .float(), or draw integers with random_ or randint",
            operator=name,
        )


def _filler(samples: Any, kinds: Sequence[dtype], errors: Any = None) -> Any:
    """The decorator of operators that are called as `name_` on a tensor, or by a factory."""
    return operator(
        samples=samples, dtypes=kinds, errors=errors, inplace=True, method=False, function=False,
        other_names={"from": "low", "to": "high"},
    )  # fmt: skip


@_filler(_targets, dtypes.FLOATING_TYPES, _crossed_bounds)
def uniform(call: Call, input: Operand, low: float = 0.0, high: float = 1.0, generator: Any = None) -> Any:
    """A tensor like `input` with values drawn evenly from [low, high).

    Host:   returns at once.
    Raises: DtypeError for integers; ArgumentError if low is above high.
    Example:
        >>> x = torch.empty(1000).uniform_(-1, 1)
        >>> x.min() >= -1, x.max() < 1
        (tensor(True), tensor(True))
    """
    check_floating("uniform", input)
    if not low <= high:
        raise ArgumentError(
            f"expected low to be at most high, got {low} and {high}",
            hint=f"exchange them: ({high}, {low})",
            operator="uniform",
        )
    out = call.output(input.shape, input.dtype)
    fill_random(call, out, _uniform_kernel(out.dtype), _per_counter(out.dtype), (float(low), float(high)), generator)
    return out


@_filler(_targets, dtypes.FLOATING_TYPES, _negative_deviation)
def normal(call: Call, input: Operand, mean: float = 0.0, std: float = 1.0, generator: Any = None) -> Any:
    """A tensor like `input` with values drawn from the normal distribution of this mean and standard deviation.

    Host:   returns at once.
    Raises: DtypeError for integers; ArgumentError for a negative std.
    Example:
        >>> x = torch.empty(10000).normal_(mean=10, std=2)
        >>> round(x.mean().item()), round(x.std().item())
        (10, 2)
    """
    check_floating("normal", input)
    if not std >= 0:
        raise ArgumentError(
            f"expected std to be at least 0, got {std}",
            hint="std is a standard deviation; mean comes before it",
            operator="normal",
        )
    out = call.output(input.shape, input.dtype)
    fill_random(call, out, _normal_kernel(out.dtype), _per_counter(out.dtype), (float(mean), float(std)), generator)
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
    Example:
        >>> x = torch.empty(1000, dtype=torch.int64).random_(10)
        >>> x.min(), x.max()
        (tensor(0), tensor(9))
    """
    start, end = _random_range(input.dtype, low, high)
    is_narrow = end - start <= 1 << 32
    out = call.output(input.shape, input.dtype)
    kernel = _integer_kernel(out.dtype, is_narrow)
    fill_random(call, out, kernel, 4 if is_narrow else 2, (start, (end - start) % (1 << 64)), generator)
    return out


def _random_range(kind: dtype, low: int | None, high: int | None) -> tuple[int, int]:
    largest = 1 << EXACT_BITS[kind] if kind.is_floating_point else integer_range(kind)[1]
    if low is None:
        return 0, (largest if high is None else int(high) - 1) + 1
    start, end = (0, int(low)) if high is None else (int(low), int(high))
    if start >= end:
        raise ArgumentError(
            f"expected low to be less than high, got {start} and {end}",
            hint="high is not drawn: it must be low + 1 or more",
            operator="random",
        )
    least, largest = integer_range(int64 if kind.is_floating_point else kind)
    if start < least or end - 1 > largest:
        raise ArgumentError(
            f"values from {start} to {end - 1} do not fit {kind.name}",
            hint=f"it holds {least} to {largest}: narrow the bounds, or take a wider type",
            operator="random",
        )
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
    Example:
        >>> torch.bernoulli(torch.tensor([0.0, 1.0]))
        tensor([0., 1.])
    """
    is_inplace = getattr(call, "given", None) is input
    if p is None and not is_inplace:
        check_floating("bernoulli", input)
        p = input
    chance: Any = 0.5 if p is None else p
    if hasattr(chance, "shape"):
        if st.broadcast([input.shape, chance.shape], "bernoulli") != tuple(input.shape):
            raise ShapeError(
                f"p of shape {list(chance.shape)} does not broadcast to {list(input.shape)}",
                hint="each of its sizes must be that of the tensor or 1, counted from the last dimension",
                operator="bernoulli",
            )
        each = call.scratch(input.shape, float32)
        call.assign(each, chance)
        out = call.output(input.shape, input.dtype)
        fill_random(call, out, _bernoulli_each_kernel(out.dtype), 4, (each,), generator)
        return out
    if not 0 <= chance <= 1:
        raise ArgumentError(f"p must lie between 0 and 1, got {chance}", hint=CHANCE_HINT, operator="bernoulli")
    out = call.output(input.shape, input.dtype)
    fill_random(call, out, _bernoulli_kernel(out.dtype), 4, (float(chance),), generator)
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
        wide = float64 if input.dtype.is_floating_point else int64
        first, apart = (converted(call.name, wide, each) for each in (start, step))
        call.launch(_arange_kernel(input.dtype), grid_over(numel), out, first, apart, numel)
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
        raise ArgumentError(
            f"values from 0 to {numel - 1} do not fit {kind.name}", hint="pass dtype=torch.int64", operator="randperm"
        )
    out = call.output(input.shape, kind)
    keys, ordered = call.scratch((1, numel), int64), call.scratch((1, numel), int64)
    fill_random(call, keys, _integer_kernel(int64, False), 2, (0, KEY_SPAN), generator)
    places = out if kind is int64 else call.scratch(input.shape, int64)
    sort_rows_of(call, keys, ordered, places, (1, numel), False)
    if places is not out:
        call.assign(out, places)  # type: ignore[attr-defined]
    return out


for _each in (uniform, normal, random, arange, randperm):
    _each.derivative(lambda grad: None)
