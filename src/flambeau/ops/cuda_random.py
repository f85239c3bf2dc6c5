"""Random numbers on CUDA devices, equal to PyTorch's: Philox4x32-10, spread over the threads of a grid.

The device code is kernels/grid_random.cu.  The number of threads T depends on the GPU: blocks of 256, at most as many
as its multiprocessors hold, one thread per element if that is less.  Thread t reads sequence t of Philox, which is the
high half of the counter.  A draw takes the counters from `first` on, as many as a thread reads:

- Elements of 32-bit draws: element i has word (i // T) % 4 of counter first + i // (4 T) of sequence i % T.
- Elements of 64-bit draws (float64, integers of many values): two words of counter first + i // (2 T), likewise.
- Probabilities in a tensor: element i has word i % 4 of counter `first` of sequence i // 4.
- Dropout: as 32-bit draws, but neighbours that are loaded at once, 16 bytes or a smaller power of two that divides the
  number of elements, take neighbouring words of one sequence.

References compute logarithms, sines and tangents in NumPy, so values of a virtual GPU differ from hardware's in the
last bits.  Integers, masks and uniform values are equal.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from ..dtypes import bool_, dtype, float32, float64, int64
from ..host import np
from ..kernel import Grid, Kernel, Param, Pointer, Scalar
from .host_random import fused
from .philox import COUNTED_FROM, DRAWN, PHILOX, WORD, check_chances, counted_from, declared, philox4x32
from .pointwise import MAX_GRID_BLOCKS, source_text

THREADS = 256  # per block
VECTOR_BYTES = 16  # the most bytes that dropout loads at once
CHANCE_COUNTERS = 3  # counters used by a draw with a tensor of probabilities
CHOICE_THREADS, CHOICE_ROWS = 128, 65535  # threads per block and rows per grid in multinomial
SOURCE = PHILOX + source_text("grid_random.cu")
BLOCKS = Scalar("blocks", "int64")
Words = list[Any]  # the four words of a counter, of every thread


def blocks_of(device: Any, numel: int) -> int:
    """Return the number of blocks with which PyTorch draws `numel` elements on a device."""
    properties = device.machine.properties(device.index)
    resident: int = properties.multi_processor_count * (properties.max_threads_per_multi_processor // THREADS)
    return min(resident, -(-numel // THREADS))


def counters_of(numel: int, blocks: int, per_step: int) -> int:
    """Return the number of counters that each thread reads."""
    return (numel - 1) // (THREADS * blocks * per_step) + 1


# the host's implementation of grid_random.cu


def words_of(seed: int, counter: Any, sequence: Any) -> Words:
    """Return the four words of counters and sequences, uint64 arrays or numbers that broadcast."""
    counter, sequence = np.broadcast_arrays(np.asarray(counter, np.uint64), np.asarray(sequence, np.uint64))
    low, half = np.uint64(WORD), np.uint64(32)
    counters = [counter & low, counter >> half, sequence & low, sequence >> half]
    return philox4x32(counters, [seed & WORD, seed >> 32])


def spread(seed: int, first: int, numel: int, blocks: int, per: int, values_of: Callable[[Words], list[Any]]) -> Any:
    """Return one value per element in the order of fill_grid.

    values_of: returns `per` arrays with a value of each thread.
    """
    threads = THREADS * blocks
    parts: list[Any] = []
    for step in range(counters_of(numel, blocks, per)):
        left = numel - step * threads * per
        values = values_of(words_of(seed, first + step, np.arange(min(left, threads))))
        parts += values[: -(-left // threads)]
    return (parts[0] if len(parts) == 1 else np.concatenate(parts))[:numel]


def open_fractions(words: Any) -> Any:
    """Convert words to float32 fractions of (0, 1]."""
    return words.astype(np.float32) * np.float32(2.0**-32) + np.float32(2.0**-33)


def _wide_fractions(low: Any, high: Any) -> Any:
    return (low ^ high << np.uint64(21)).astype(np.float64) * 2.0**-53 + 2.0**-54


def fractions(wide: dtype, words: Words) -> list[Any]:
    """Return the fractions of a counter: four in float32, two in float64."""
    if wide is float64:
        return [_wide_fractions(words[0], words[1]), _wide_fractions(words[2], words[3])]
    return [open_fractions(word) for word in words]


def normals(wide: dtype, words: Words) -> list[Any]:
    """Return the normal values of a counter: four in float32, two in float64."""
    if wide is float64:
        radius = np.sqrt(-2.0 * np.log(_wide_fractions(words[0], words[1])))
        angle = math.pi * (2 * _wide_fractions(words[2], words[3]))
        return [np.sin(angle) * radius, np.cos(angle) * radius]
    values: list[Any] = []
    step = np.float32(1.46291807926716e-09)
    for length, turn in ((words[0], words[1]), (words[2], words[3])):
        radius = np.sqrt(np.float32(-2) * np.log(open_fractions(length)))
        angle = fused(turn.astype(np.float32), step, step / np.float32(2))
        values += [np.sin(angle) * radius, np.cos(angle) * radius]
    return values


def pairs(words: Words) -> list[Any]:
    """Return the two 64-bit integers of a counter."""
    return [words[0] << np.uint64(32) | words[1], words[2] << np.uint64(32) | words[3]]


# kernels


def grid_kernel(
    name: str, dtype: dtype, maker: str, per: int, values_of: Callable[[Words], list[Any]],
    fields: Sequence[Param], finish: Callable[..., Any],
) -> Kernel:  # fmt: skip
    """Make a kernel that fills `out` by a function object of grid_random.cu.

    values_of: as in `spread`.  finish: called with the values and the fields, returns the elements.
    """
    entry = f"grid_{name}_{dtype.name}"
    arguments = "".join(f", {declared(param)}" for param in (*fields, BLOCKS))
    source = f"""{SOURCE}
extern "C" __global__ void __launch_bounds__({THREADS}) {entry}(
    {dtype.cuda}* out{arguments}, const long long* state, unsigned long long seed, unsigned long long first,
    long long numel) {{
  {COUNTED_FROM}
  fill_grid(out, seed, first, numel, {maker});
}}
"""

    def reference(out: Any, *values: Any) -> None:
        *given, blocks, state, seed, first, numel = values
        seed, first = counted_from(state, seed, first)
        out[...] = finish(spread(seed, first, numel, blocks, per, values_of), *given)

    params = [Pointer("out", dtype, "w", ("numel",)), *fields, BLOCKS]
    return Kernel(entry, source, [*params, *DRAWN], reference, 20.0)


def fill(call: Any, out: Any, kernel: Kernel, per: int, values: Sequence[Any], generator: Any) -> None:
    """Reserve as many counters as PyTorch uses for `out`, and launch a kernel of `grid_kernel`."""
    numel = out.numel()
    if numel:
        blocks = blocks_of(call.device, numel)
        state, seed, first = call.random(counters_of(numel, blocks, per), generator)
        call.launch(kernel, Grid((blocks, 1, 1), THREADS), out, *values, blocks, state, seed, first, numel)


def per_counter(wide: dtype) -> int:
    return 2 if wide is float64 else 4


def compute_type(dtype: dtype) -> dtype:
    """Return the type of the fractions from which elements of a type are computed."""
    return float64 if dtype is float64 else float32


def _scalars(*names: str) -> list[Param]:
    return [Scalar(name, "float64") for name in names]


def _of_fractions(name: str, dtype: dtype, functor: str, fields: Sequence[str], finish: Callable[..., Any]) -> Kernel:
    wide = compute_type(dtype)
    arguments = ", ".join(f"({wide.cuda}){field}" for field in fields)
    maker = f"OfFractions<{dtype.cuda}, {wide.cuda}, {functor}<{dtype.cuda}, {wide.cuda}>>{{{{{arguments}}}}}"
    return grid_kernel(
        name, dtype, maker, per_counter(wide), lambda words: fractions(wide, words), _scalars(*fields), finish
    )


@cache
def uniform_kernel(dtype: dtype) -> Kernel:
    t, c, number, own = dtype.cuda, dtype.wide.cuda, dtype.wide.numpy.type, dtype.numpy.type

    def finish(x: Any, low: float, high: float) -> Any:
        start, end = own(low), own(high)
        values = fused(x, number(end - start), number(start)).astype(dtype.numpy)
        values[values == end] = start
        return values

    start, end = f"store<{t}>(({c})low)", f"store<{t}>(({c})high)"
    span = f"load<{c}>(store<{t}>(load<{c}>({end}) - load<{c}>({start})))"
    maker = f"OfFractions<{t}, {c}, Between<{t}, {c}>>{{{{{start}, {end}, {span}}}}}"
    wide, fields = dtype.wide, _scalars("low", "high")
    return grid_kernel("uniform", dtype, maker, per_counter(wide), lambda words: fractions(wide, words), fields, finish)


def _of_normals(name: str, dtype: dtype, functor: str, finish: Callable[..., Any]) -> Kernel:
    c, wide = dtype.wide.cuda, dtype.wide
    maker = f"OfNormals<{dtype.cuda}, {c}, {functor}<{dtype.cuda}, {c}>>{{{{({c})mean, ({c})deviation}}}}"
    fields = _scalars("mean", "deviation")
    return grid_kernel(name, dtype, maker, per_counter(wide), lambda words: normals(wide, words), fields, finish)


@cache
def normal_kernel(dtype: dtype) -> Kernel:
    number = dtype.wide.numpy.type
    return _of_normals("normal", dtype, "Scaled", lambda z, mean, std: fused(z, number(std), number(mean)))


@cache
def log_normal_kernel(dtype: dtype) -> Kernel:
    number = dtype.wide.numpy.type
    return _of_normals(
        "log_normal", dtype, "ExponentialOf", lambda z, mean, std: np.exp(fused(z, number(std), number(mean)))
    )


@cache
def exponential_kernel(dtype: dtype) -> Kernel:
    number = compute_type(dtype).numpy.type

    def finish(x: Any, rate: float) -> Any:
        least = np.finfo(number).eps / 2
        return number(-1) / number(rate) * np.where(x >= number(1) - least, -least, np.log(x))

    return _of_fractions("exponential", dtype, "Waiting", ["rate"], finish)


@cache
def cauchy_kernel(dtype: dtype) -> Kernel:
    number = compute_type(dtype).numpy.type

    def finish(x: Any, median: float, sigma: float) -> Any:
        if number is np.float32:
            step = np.finfo(number).eps
            x = np.clip(x, step, number(1) - step)
        return fused(np.tan(number(math.pi) * (x - number(0.5))), number(sigma), number(median))

    return _of_fractions("cauchy", dtype, "Cauchy", ["median", "sigma"], finish)


@cache
def geometric_kernel(dtype: dtype) -> Kernel:
    number = compute_type(dtype).numpy.type

    def finish(x: Any, p: float) -> Any:
        failure = number(math.log1p(-p)) if number is np.float64 else np.log(number(1) - number(p))
        trials = np.ceil(np.log(x) / failure)
        return trials if dtype.is_floating_point else trials.astype(np.int64)

    return _of_fractions("geometric", dtype, "Trials", ["p"], finish)


@cache
def bernoulli_kernel(dtype: dtype) -> Kernel:
    number = compute_type(dtype).numpy.type
    return _of_fractions("bernoulli", dtype, "IsBelow", ["p"], lambda x, p: x < number(p))


@cache
def integer_kernel(dtype: dtype, is_narrow: bool) -> Kernel:
    t = dtype.cuda

    def finish(drawn: Any, low: int, span: int) -> Any:
        drawn = drawn % np.uint64(span) if span else drawn
        return (drawn + np.uint64(low % (1 << 64))).astype(np.int64).astype(dtype.wide.numpy)

    fields = [Scalar("low", "int64"), Scalar("span", "uint64")]
    if is_narrow:
        maker = f"OfWords<{t}, Offset<{t}>>{{{{low, span}}}}"
        return grid_kernel("random_narrow", dtype, maker, 4, lambda words: words, fields, finish)
    return grid_kernel("random_wide", dtype, f"OfPairs<{t}, Offset<{t}>>{{{{low, span}}}}", 2, pairs, fields, finish)


@cache
def key_kernel() -> Kernel:
    """Return the kernel that draws the keys of a permutation: integers of [low, low + span), masked with `mask`."""

    def finish(drawn: Any, low: int, span: int, mask: int) -> Any:
        return ((drawn % np.uint64(span) + np.uint64(low % (1 << 64))) & np.uint64(mask)).astype(np.int64)

    fields = [Scalar("low", "int64"), Scalar("span", "uint64"), Scalar("mask", "uint64")]
    return grid_kernel("keys", int64, "OfPairs<long long, Masked>{{low, span, mask}}", 2, pairs, fields, finish)


def key_bits(count: int) -> int:
    """Return the number of bits in PyTorch's keys of `count` elements: all differ with a probability of 0.9."""
    return min(64, math.ceil(math.log2(count - (6.0 * count * count + 1) / (12 * math.log(0.9)))))


def _plain_kernel(
    entry: str, outputs: Sequence[Param], fields: Sequence[Param], body: str, reference: Callable[..., None]
) -> Kernel:
    """Make a kernel with its own mapping of threads to elements; its last parameters are DRAWN."""
    arguments = ", ".join(declared(param) for param in (*outputs, *fields))
    source = f"""{SOURCE}
extern "C" __global__ void __launch_bounds__({THREADS}) {entry}(
    {arguments}, const long long* state, unsigned long long seed, unsigned long long first, long long numel) {{
  {COUNTED_FROM}
  {body};
}}
"""

    def seeded(*values: Any) -> None:
        *given, state, seed, first, numel = values
        reference(*given, *counted_from(state, seed, first), numel)

    return Kernel(entry, source, [*outputs, *fields, *DRAWN], seeded, 20.0)


@cache
def chances_kernel(dtype: dtype, wide: dtype) -> Kernel:
    """Return the kernel that draws 1 with the probabilities of an array of type `wide`, float32 or float64, else 0."""

    def reference(out: Any, p: Any, seed: int, first: int, numel: int) -> None:
        check_chances(p)
        words = np.stack(words_of(seed, first, np.arange(-(-numel // 4))), 1).reshape(-1)[:numel]
        out[...] = open_fractions(words) <= p

    out, p = Pointer("out", dtype, "w", ("numel",)), Pointer("p", wide, "r", ("numel",))
    body = "fill_by_chances(out, p, seed, first, numel)"
    return _plain_kernel(f"chances_{dtype.name}_{wide.name}", [out], [p], body, reference)


def vector_of(numel: int, itemsize: int, is_aligned: bool) -> int:
    """Return the number of elements that PyTorch's dropout loads at once."""
    vector = VECTOR_BYTES // itemsize if is_aligned else 1
    while numel % vector:
        vector //= 2
    return vector


@cache
def dropout_kernel(dtype: dtype, vector: int) -> Kernel:
    """Return the kernel of dropout.  kept: the probability that an element is kept;  scale: its factor."""
    c, wide, number = dtype.wide.cuda, dtype.wide, dtype.wide.numpy.type

    def fractions_of(seed: int, first: int, numel: int, blocks: int) -> Any:
        if vector == 1:
            return spread(seed, first, numel, blocks, 4, lambda words: [open_fractions(word) for word in words])
        element, threads = np.arange(numel), THREADS * blocks
        counters = -(-vector // 4)
        step = element // (vector * threads) * counters + element % vector // 4
        words = words_of(seed, first + step, element // vector % threads)
        return open_fractions(np.choose(element % vector % 4, words))

    def reference(
        out: Any, mask: Any, input: Any, kept: float, scale: float, blocks: int, seed: int, first: int, numel: int
    ) -> None:
        mask[...] = fractions_of(seed, first, numel, blocks) < number(kept)
        out[...] = input.astype(wide.numpy) * mask * number(scale)

    outputs = [Pointer("out", dtype, "w", ("numel",)), Pointer("mask", bool_, "w", ("numel",))]
    fields = [Pointer("input", dtype, "r", ("numel",)), *_scalars("kept", "scale"), BLOCKS]
    body = f"drop_out<{dtype.cuda}, {c}, {vector}>(out, mask, input, ({c})kept, ({c})scale, seed, first, numel)"
    return _plain_kernel(f"grid_dropout{vector}_{dtype.name}", outputs, fields, body, reference)


@cache
def shuffle_kernel() -> Kernel:
    """Return the kernel that shuffles the values of equal keys, which are neighbours."""

    def reference(order: Any, keys: Any, seed: int, first: int, numel: int) -> None:
        equal = keys[1:] == keys[:-1]
        begins = np.flatnonzero(equal & ~np.concatenate([[False], equal[:-1]]))
        for at in begins.tolist():
            count = 2
            while at + count < numel and keys[at + count] == keys[at]:
                count += 1
            words = np.stack(words_of(seed, first + np.arange(-(-count // 4)), at), 1).reshape(-1).tolist()
            for drawn, left in enumerate(range(count - 1, 0, -1)):
                other = at + words[drawn] % (left + 1)
                order[at + left], order[other] = order[other], order[at + left]

    order, keys = Pointer("order", int64, "rw", ("numel",)), Pointer("keys", int64, "r", ("numel",))
    body = "shuffle_equal(order, keys, seed, first, numel)"
    return _plain_kernel("shuffle_equal_keys", [order], [keys], body, reference)


def plain_grid(numel: int) -> Grid:
    """Return a grid for a kernel whose mapping does not depend on the grid."""
    return Grid((min(-(-numel // THREADS), MAX_GRID_BLOCKS), 1, 1), THREADS)


@cache
def choice_kernel(wide: dtype) -> Kernel:
    """Return the kernel that draws rows * samples categories by running sums of their chances."""

    def reference(
        out: Any, sums: Any, chances: Any, rows: int, size: int, samples: int, lanes: int, span: int,
        seed: int, first: int, numel: int,
    ) -> None:  # fmt: skip
        row, sample = np.divmod(np.arange(numel), samples)
        words = words_of(seed, first + row // span, row % span * lanes + sample)
        drawn = open_fractions(words[0]).reshape(rows, samples).astype(wide.numpy)
        for at in range(rows):
            index = np.minimum(np.searchsorted(sums[at], drawn[at]), size - 1)
            is_chosen = np.where(chances[at] != 0, np.arange(size), 0)
            out[at] = np.maximum.accumulate(is_chosen)[index]

    names = ("rows", "size", "samples", "lanes", "span")
    inputs = [Pointer(name, wide, "r", ("rows", "size")) for name in ("sums", "chances")]
    fields = [*inputs, *(Scalar(name, "int64") for name in names)]
    body = f"choose<{wide.cuda}>(out, sums, chances, rows, size, samples, lanes, span, seed, first)"
    out = Pointer("out", int64, "w", ("rows", "samples"))
    return _plain_kernel(f"choose_{wide.name}", [out], fields, body, reference)
