"""Random numbers: the distributions, permutations and dropout.

The numbers equal PyTorch's.  On the CPU they come from the Mersenne Twister (host_random.py), on CUDA devices from
Philox as PyTorch's kernels spread it over threads (cuda_random.py).  Inside `random.portable` they come from Philox by
the index of an element (philox.py), which is the same on every device.

An operator draws in the order of its result's elements in memory, like PyTorch: the values of a transposed tensor are
those of the tensor before it was transposed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from math import prod
from typing import Any, NamedTuple

from .. import dtypes
from .. import strides as st
from ..dtypes import FLOATING_TYPES, HELD, bool_, dtype, float32, float64, int64, integer_range
from ..errors import ArgumentError, DtypeError, ShapeError, ValueRangeError
from ..host import np
from ..kernel import Grid, Kernel, Param, Pointer, Strided
from . import cuda_random, host_random, philox
from .indexing_kernels import scalars, strided_layout
from .operator import REGISTRY, Array, Call, ErrorSample, Operand, Sample, Value, composite, operator
from .philox import CHANCE_HINT, KEY_SPAN, fill_random, is_portable, per_counter
from .pointwise import FULL_DEVICE_BLOCKS, PRELUDE, THREADS, floating_only, numpy_type, pointwise
from .samples import NUMERIC_TYPES
from .sorting import sort_rows_of

# where values are drawn


class Memory(NamedTuple):
    """The memory into which an operator draws, and the result that gets the values.

    drawn: contiguous memory, in the order of the result's elements in memory.  result: the result.
    view: a view of the result in the order of `drawn`, to which `drawn` is copied; None if both are the same memory.
    order: the result's dimensions in that order: all, or those with a size above 1.
    is_plain: whether the result is contiguous.
    """

    drawn: Any
    result: Any
    view: Any
    order: tuple[int, ...]
    is_plain: bool

    def of(self, call: Call, operand: Any, dtype: dtype) -> Any:
        """Return an operand of the result's shape as contiguous memory of a type, in the order of the draw."""
        steps = st.expand(operand.shape, operand.strides, self.result.shape)
        seen = call.part(operand, self.drawn.shape, [steps[dim] for dim in self.order], 0)
        return call.contiguous(seen, dtype)

    def done(self, call: Call) -> Any:
        """Return the result, after the draw."""
        if self.view is not None:
            call.assign(self.view, self.drawn)
        return self.result


def memory_of(call: Call, input: Any, keeps_order: bool = True) -> Memory:
    """Return the memory for a tensor like `input`: that of the tensor that is written, or new memory.

    keeps_order: whether a new one has the order of the input's dimensions in memory; else it is contiguous.
    """
    shape, dtype = tuple(input.shape), input.dtype
    given = call.given
    target = given if given is not None and given.dtype is dtype and tuple(given.shape) == shape else None
    strides = st.preserved(shape, input.strides) if target is None else target.strides
    dims = [dim for dim, size in enumerate(shape) if size != 1]
    order = sorted(dims, key=lambda dim: -strides[dim])
    if order == dims or (target is None and not keeps_order):
        result = call.output(shape, dtype)
        return Memory(result, result, None, tuple(range(len(shape))), target is None or result is target)
    sizes = [shape[dim] for dim in order]
    dense = list(st.contiguous(sizes))
    if target is None:
        own = [1] * len(shape)
        for dim, step in zip(order, dense):
            own[dim] = step
        target, steps = call.output(shape, dtype, own), dense
    else:
        steps = [strides[dim] for dim in order]
    if steps == dense:
        return Memory(call.part(target, sizes, dense, 0), target, None, tuple(order), False)
    return Memory(call.scratch(sizes, dtype), target, call.part(target, sizes, steps, 0), tuple(order), False)


def draws_on_host(call: Call) -> bool:
    """Return whether a call draws from the Mersenne Twister."""
    return call.is_on_host and not is_portable.value


def draw(call: Call, memory: Memory, generator: Any, function: Callable[..., None], *values: Any) -> Any:
    """Draw the result by a function of host_random.py, called with the type after the array.  Returns the result."""
    if memory.drawn.numel():
        call.draw_on_host(function, generator, [memory.drawn], memory.result.dtype, *values)
    return memory.done(call)


# operators


def _fill_samples() -> Iterator[Sample]:
    yield Sample((Array((3, 7)),))
    yield Sample((Array((4, 3), layout="transposed"),))
    yield Sample((Array((0, 3)),))
    yield Sample((Array(()),))


def _integers() -> Iterator[ErrorSample]:
    yield ErrorSample((Array((3,), dtype="int64"),), DtypeError, "expected a floating point tensor, got int64")


def _crossed_bounds() -> Iterator[ErrorSample]:
    yield from _integers()
    yield ErrorSample((Array((3,)), 2.0, 1.0), ValueRangeError, "expected low to be at most high, got 2.0 and 1.0")


def _negative_deviation() -> Iterator[ErrorSample]:
    yield from _integers()
    yield ErrorSample((Array((3,)), 0.0, -1.0), ValueRangeError, "expected std to be at least 0, got -1.0")


def check_floating(name: str, input: Any) -> None:
    """Raise DtypeError unless the tensor is floating point."""
    if not input.dtype.is_floating_point:
        raise DtypeError(
            f"expected a floating point tensor, got {input.dtype.name}",
            hint="convert with .float(), or draw integers with random_ or randint",
            operator=name,
        )


def _filling(samples: Any, kinds: Sequence[dtype], errors: Any = None) -> Any:
    """Make an operator that exists as the method `name_` only.  Factories call it by its name."""
    return operator(
        samples=samples, dtypes=kinds, errors=errors, inplace=True, method=False, function=False, setting=is_portable,
        other_names={"from": "low", "to": "high"}
    )  # fmt: skip


@_filling(_fill_samples, dtypes.FLOATING_TYPES, _crossed_bounds)
def uniform(call: Call, input: Operand, low: float = 0.0, high: float = 1.0, generator: Any = None) -> Any:
    """Overwrite this tensor with values from the uniform distribution over [low, high), and return it.

    Shapes: same as the input.
    Host:   returns at once.
    Raises: DtypeError for integers; ValueRangeError if low is above high, or if low, high or high - low does not fit
            the type.
    Example:
        >>> x = torch.empty(1000).uniform_(-1, 1)
        >>> x.min() >= -1, x.max() < 1
        (tensor(True), tensor(True))
    """
    check_floating("uniform", input)
    if not low <= high:
        raise ValueRangeError(
            f"expected low to be at most high, got {low} and {high}",
            hint=f"exchange them: ({high}, {low})",
            operator="uniform",
        )
    largest = HELD[input.dtype][1]
    if low < -largest or high > largest or high - low > largest:
        raise ValueRangeError(
            f"expected low, high and high - low to be at most {largest}, the largest {input.dtype.name},"
            f" got {low} and {high}",
            hint="narrow the bounds, or take a wider type",
            operator="uniform",
        )
    return _fill(call, input, generator, "uniform", (float(low), float(high)))


@_filling(_fill_samples, dtypes.FLOATING_TYPES, _negative_deviation)
def normal(call: Call, input: Operand, mean: float = 0.0, std: float = 1.0, generator: Any = None) -> Any:
    """Overwrite this tensor with values from the normal distribution with the given mean and std; return it.

    Shapes: same as the input.
    Host:   returns at once.
    Raises: DtypeError for integers; ValueRangeError for a negative std.
    Example:
        >>> x = torch.empty(10000).normal_(mean=10, std=2)
        >>> round(x.mean().item()), round(x.std().item())
        (10, 2)
    """
    check_floating("normal", input)
    if not std >= 0:
        raise ValueRangeError(
            f"expected std to be at least 0, got {std}",
            hint="pass 0 or more: std is a standard deviation, and mean comes before it",
            operator="normal",
        )
    return _fill(call, input, generator, "normal", (float(mean), float(std)))


def _fill(call: Call, input: Any, generator: Any, name: str, values: tuple[float, float]) -> Any:
    """Draw a tensor like `input` by the functions or the kernels that are named after `uniform` or `normal`."""
    memory, dtype = memory_of(call, input), input.dtype
    if draws_on_host(call):
        own = (memory.is_plain,) if name == "normal" else ()
        return draw(call, memory, generator, getattr(host_random, name), *values, *own)
    if is_portable.value:
        kernel = getattr(philox, f"{name}_kernel")(dtype)
        fill_random(call, memory.drawn, kernel, per_counter(dtype), values, generator)
    else:
        kernel = getattr(cuda_random, f"{name}_kernel")(dtype)
        cuda_random.fill(call, memory.drawn, kernel, per_counter(dtype), values, generator)
    return memory.done(call)


def _wrong_ranges() -> Iterator[ErrorSample]:
    yield ErrorSample((Array((3,)), 5, 5), ValueRangeError, "expected low to be less than high, got 5 and 5")
    yield ErrorSample((Array((3,), dtype="uint8"), 0, 300), ValueRangeError, "0 to 299 do not fit in uint8")


@_filling(_fill_samples, dtypes.ALL, _wrong_ranges)
def random(call: Call, input: Operand, low: int | None = None, high: int | None = None, generator: Any = None) -> Any:
    """Overwrite this tensor with integers from the uniform distribution over low to high - 1, and return it.

    With one argument n, they are 0 to n - 1.  Without bounds, they are 0 to the largest value of an integer type,
    or to the largest integer up to which a floating point type represents all integers.
    Shapes: same as the input.
    Host:   returns at once.
    Raises: ValueRangeError if the range is empty, or does not fit the type.
    Example:
        >>> x = torch.empty(1000, dtype=torch.int64).random_(10)
        >>> x.min(), x.max()
        (tensor(0), tensor(9))
    """
    start, end = _random_range(input.dtype, low, high)
    memory, dtype, is_whole = memory_of(call, input), input.dtype, low is None and high is None
    if not is_portable.value and not is_whole:
        start, end = _represented(dtype, start, end)
    bounds = start, (end - start) % (1 << 64)
    if draws_on_host(call):
        if is_whole:
            return draw(call, memory, generator, host_random.all_integers)
        return draw(call, memory, generator, host_random.integers, *bounds)
    if is_portable.value:
        is_narrow = end - start <= 1 << 32
        fill_random(
            call, memory.drawn, philox.integer_kernel(dtype, is_narrow), 4 if is_narrow else 2, bounds, generator
        )
    else:
        is_narrow = dtype.itemsize < 8 if is_whole else end - start < host_random.WORD_SPAN
        kernel = cuda_random.integer_kernel(dtype, is_narrow)
        cuda_random.fill(call, memory.drawn, kernel, 4 if is_narrow else 2, bounds, generator)
    return memory.done(call)


def _random_range(dtype: dtype, low: int | None, high: int | None) -> tuple[int, int]:
    if low is None:
        return 0, host_random.count_of(dtype) if high is None else int(high)
    start, end = (0, int(low)) if high is None else (int(low), int(high))
    if start >= end:
        raise ValueRangeError(
            f"expected low to be less than high, got {start} and {end}",
            hint="pass a high of low + 1 or more: high itself is never drawn",
            operator="random",
        )
    least, largest = integer_range(int64 if dtype.is_floating_point else dtype)
    if dtype.is_floating_point and HELD[dtype][1] < largest:
        least, largest = int(HELD[dtype][0]), int(HELD[dtype][1])
    if start < least or end - 1 > largest:
        raise ValueRangeError(
            f"values from {start} to {end - 1} do not fit in {dtype.name}",
            hint=f"narrow the bounds to {least} to {largest}, or use a wider type",
            operator="random",
        )
    return start, end


def _represented(dtype: dtype, start: int, end: int) -> tuple[int, int]:
    """Return the bounds, moved inwards where a floating point type would round them out of the range, as in PyTorch."""
    if not dtype.is_floating_point:
        return start, end
    digits, number = host_random.EXACT_BITS[dtype.name], dtype.numpy.type
    rounded = int(number(start + 1))
    if rounded < start:
        start = rounded + (1 << abs(start + 1).bit_length() - digits)
    rounded = int(number(end - 1))
    if rounded >= end:
        end = rounded - (1 << (end - 1).bit_length() - digits)
    return start, end


def _wrong_rates() -> Iterator[ErrorSample]:
    yield from _integers()
    yield ErrorSample((Array((3,)), 0.0), ValueRangeError, "expected lambd to be greater than 0, got 0.0")


def _wrong_widths() -> Iterator[ErrorSample]:
    yield from _integers()
    yield ErrorSample((Array((3,)), 0.0, -1.0), ValueRangeError, "expected sigma to be greater than 0, got -1.0")


def _wrong_deviations() -> Iterator[ErrorSample]:
    yield from _integers()
    yield ErrorSample((Array((3,)), 0.0, 0.0), ValueRangeError, "expected std to be greater than 0, got 0.0")


def _wrong_chances() -> Iterator[ErrorSample]:
    yield ErrorSample((Array((3,)), 1.0), ValueRangeError, "expected p to be between 0 and 1, both excluded, got 1.0")


def _check_positive(name: str, what: str, value: float) -> None:
    if not value > 0:
        raise ValueRangeError(
            f"expected {what} to be greater than 0, got {value}", hint=f"pass a positive {what}", operator=name
        )


def _applied(call: Call, name: str, *operands: Any) -> Any:
    """Lower another operator into a call.  Returns its result in new memory."""
    before = call.given, call.name
    call.given, call.name = None, name
    try:
        return REGISTRY[name].lower(call, *operands)
    finally:
        call.given, call.name = before


def _fractions(call: Call, memory: Memory, generator: Any) -> Any:
    """Draw fractions of [0, 1) from the portable stream, for the elements of `memory` in their compute type."""
    wide = memory.drawn.dtype.wide if memory.drawn.dtype.is_floating_point else float32
    drawn = call.scratch(memory.drawn.shape, wide)
    fill_random(call, drawn, philox.uniform_kernel(wide), per_counter(wide), (0.0, 1.0), generator)
    return drawn


def _fill_on_cuda(call: Call, memory: Memory, generator: Any, kernel: Any, values: tuple[float, ...]) -> Any:
    cuda_random.fill(call, memory.drawn, kernel, cuda_random.per_counter(memory.drawn.dtype), values, generator)
    return memory.done(call)


@_filling(_fill_samples, dtypes.FLOATING_TYPES, _wrong_rates)
def exponential(call: Call, input: Operand, lambd: float = 1.0, *, generator: Any = None) -> Any:
    """Overwrite this tensor with values from the exponential distribution, and return it.

    lambd: the rate; the density is lambd * exp(-lambd * x) for x >= 0.
    Shapes: same as the input.
    Host:   returns at once.
    Raises: DtypeError for integers; ValueRangeError unless lambd is positive.
    Example:
        >>> round(torch.empty(10000).exponential_(0.5).mean().item())
        2
    """
    check_floating("exponential", input)
    _check_positive("exponential", "lambd", lambd)
    memory = memory_of(call, input)
    if draws_on_host(call):
        return draw(call, memory, generator, host_random.exponential, float(lambd))
    if not is_portable.value:
        return _fill_on_cuda(call, memory, generator, cuda_random.exponential_kernel(input.dtype), (float(lambd),))
    if memory.drawn.numel():
        below = _applied(call, "neg", _fractions(call, memory, generator))
        call.assign(memory.drawn, _applied(call, "mul", _applied(call, "log1p", below), -1 / lambd))
    return memory.done(call)


@_filling(_fill_samples, dtypes.FLOATING_TYPES, _wrong_widths)
def cauchy(call: Call, input: Operand, median: float = 0.0, sigma: float = 1.0, *, generator: Any = None) -> Any:
    """Overwrite this tensor with values from the Cauchy distribution, and return it.

    median: the center of the distribution.  sigma: the half width at half maximum.
    Shapes: same as the input.
    Host:   returns at once.
    Raises: DtypeError for integers; ValueRangeError unless sigma is positive.
    Example:
        >>> round(torch.empty(10001).cauchy_(5.0, 0.1).sort().values[5000].item())
        5
    """
    check_floating("cauchy", input)
    _check_positive("cauchy", "sigma", sigma)
    memory = memory_of(call, input)
    if draws_on_host(call):
        return draw(call, memory, generator, host_random.cauchy, float(median), float(sigma))
    if not is_portable.value:
        return _fill_on_cuda(
            call, memory, generator, cuda_random.cauchy_kernel(input.dtype), (float(median), float(sigma))
        )
    if memory.drawn.numel():
        angle = _applied(call, "mul", _applied(call, "sub", _fractions(call, memory, generator), 0.5), math.pi)
        tangent = _applied(call, "div", _applied(call, "sin", angle), _applied(call, "cos", angle))
        call.assign(memory.drawn, _applied(call, "add", _applied(call, "mul", tangent, float(sigma)), float(median)))
    return memory.done(call)


@_filling(_fill_samples, dtypes.FLOATING_TYPES, _wrong_deviations)
def log_normal(call: Call, input: Operand, mean: float = 1.0, std: float = 2.0, *, generator: Any = None) -> Any:
    """Overwrite this tensor with values from the log-normal distribution, and return it.

    mean, std: the mean and the standard deviation of the logarithms of the values.
    Shapes: same as the input.
    Host:   returns at once.
    Raises: DtypeError for integers; ValueRangeError unless std is positive.
    Example:
        >>> round(torch.empty(10001).log_normal_(2.0, 0.1).log().mean().item())
        2
    """
    check_floating("log_normal", input)
    _check_positive("log_normal", "std", std)
    memory = memory_of(call, input)
    if draws_on_host(call):
        return draw(call, memory, generator, host_random.log_normal, float(mean), float(std))
    if not is_portable.value:
        return _fill_on_cuda(
            call, memory, generator, cuda_random.log_normal_kernel(input.dtype), (float(mean), float(std))
        )
    if memory.drawn.numel():
        wide = memory.drawn.dtype.wide
        drawn = call.scratch(memory.drawn.shape, wide)
        fill_random(call, drawn, philox.normal_kernel(wide), per_counter(wide), (float(mean), float(std)), generator)
        call.assign(memory.drawn, _applied(call, "exp", drawn))
    return memory.done(call)


@_filling(lambda: [Sample((*sample.args, 0.3)) for sample in _fill_samples()], NUMERIC_TYPES, _wrong_chances)
def geometric(call: Call, input: Operand, p: float, *, generator: Any = None) -> Any:
    """Overwrite this tensor with values from the geometric distribution, and return it.

    A value is the number of trials, each of success probability p, up to the first success.
    Shapes: same as the input.
    Host:   returns at once.
    Raises: ValueRangeError unless 0 < p < 1.
    Example:
        >>> x = torch.empty(10000).geometric_(0.5)
        >>> x.min(), round(x.mean().item())
        (tensor(1.), 2)
    """
    if not 0 < p < 1:
        raise ValueRangeError(
            f"expected p to be between 0 and 1, both excluded, got {p}",
            hint="pass the probability of success of each trial as p",
            operator="geometric",
        )
    memory = memory_of(call, input)
    if draws_on_host(call):
        return draw(call, memory, generator, host_random.geometric, float(p))
    if not is_portable.value:
        return _fill_on_cuda(call, memory, generator, cuda_random.geometric_kernel(input.dtype), (float(p),))
    if memory.drawn.numel():
        logs = _applied(call, "log1p", _applied(call, "neg", _fractions(call, memory, generator)))
        trials = _applied(call, "ceil", _applied(call, "mul", logs, 1 / math.log1p(-p)))
        call.assign(memory.drawn, _applied(call, "maximum", trials, 1.0))
    return memory.done(call)


def _bernoulli_samples() -> Iterator[Sample]:
    for (array,) in (sample.args for sample in _fill_samples()):
        yield Sample((array, 0.3))
    yield Sample((Array((3, 4)), Array((4,), 0, 1, dtype="float32", grad=False)))


def _bernoulli_errors() -> Iterator[ErrorSample]:
    yield ErrorSample((Array((3,)), 1.5), ValueRangeError, "p must lie between 0 and 1, got 1.5")
    yield ErrorSample((Array((3,)), Array((2, 3))), ShapeError, r"p of shape \[2, 3\] does not broadcast to \[3\]")
    yield ErrorSample((Array((3,), dtype="int64"),), DtypeError, "expected a floating point tensor, got int64")


@operator(samples=_bernoulli_samples, errors=_bernoulli_errors, dtypes=dtypes.ALL, inplace=True, setting=is_portable)
def bernoulli(call: Call, input: Operand, p: Value | None = None, generator: Any = None) -> Any:
    """Return a tensor like `input` in which each element is 1 with probability p, else 0.

    p: a number, or a tensor that broadcasts to the input.  Without p, the values of the input are the probabilities;
    the in-place form `bernoulli_` has p=0.5 by default.
    Shapes: same as the input.
    Host:   returns at once.
    Raises: ValueRangeError if p is not in [0, 1] (on a GPU, a tensor's values fail a device assertion), ShapeError if p
            does not broadcast to the input, DtypeError for integers without p.
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
        memory = memory_of(call, input, keeps_order=False)
        if draws_on_host(call):
            chances = memory.of(call, chance, float64 if chance.dtype is float64 else float32)
            if memory.drawn.numel():
                call.draw_on_host(host_random.bernoulli_each, generator, [memory.drawn], chances)
            return memory.done(call)
        if is_portable.value:
            kernel = philox.bernoulli_each_kernel(input.dtype)
            fill_random(call, memory.drawn, kernel, 4, (memory.of(call, chance, float32),), generator)
        elif numel := memory.drawn.numel():
            wide = float64 if chance.dtype is float64 else float32
            chances = memory.of(call, chance, wide)
            drawn = call.random(cuda_random.CHANCE_COUNTERS, generator)
            kernel, grid = cuda_random.chances_kernel(input.dtype, wide), cuda_random.plain_grid(-(-numel // 4))
            call.launch(kernel, grid, memory.drawn, chances, *drawn, numel)
        return memory.done(call)
    if not 0 <= chance <= 1:
        raise ValueRangeError(f"p must lie between 0 and 1, got {chance}", hint=CHANCE_HINT, operator="bernoulli")
    memory = memory_of(call, input, keeps_order=False)
    if draws_on_host(call):
        return draw(call, memory, generator, host_random.bernoulli, float(chance))
    if is_portable.value:
        fill_random(call, memory.drawn, philox.bernoulli_kernel(input.dtype), 4, (float(chance),), generator)
        return memory.done(call)
    return _fill_on_cuda(call, memory, generator, cuda_random.bernoulli_kernel(input.dtype), (float(chance),))


@bernoulli.derivative
def _(grad: Any) -> Any:
    return None, None


def _permutation_samples() -> Iterator[Sample]:
    yield Sample((Array((9,)),))
    yield Sample((Array((0,)),))


def _too_many() -> Iterator[ErrorSample]:
    yield ErrorSample((Array((300,), dtype="uint8"),), ValueRangeError, "0 to 299 do not fit in uint8")


@operator(
    samples=_permutation_samples, errors=_too_many, dtypes=NUMERIC_TYPES, method=False, function=False,
    differentiable=False, setting=is_portable,
)  # fmt: skip
def randperm(call: Call, input: Operand, generator: Any = None) -> Any:
    """Return a tensor like `input`, of n elements, with 0 to n - 1 in random order.

    Host:   returns at once.
    Memory: on a GPU 16 bytes of scratch per element, twice that for more than 1024.
    Raises: ValueRangeError if the type cannot hold n - 1.
    """
    numel, dtype = prod(input.shape), input.dtype
    largest = 1 << host_random.EXACT_BITS[dtype.name] if dtype.is_floating_point else integer_range(dtype)[1]
    if numel - 1 > largest:
        raise ValueRangeError(
            f"values from 0 to {numel - 1} do not fit in {dtype.name}",
            hint="pass dtype=torch.int64",
            operator="randperm",
        )
    out = call.output(input.shape, dtype)
    if draws_on_host(call):
        if numel:
            call.draw_on_host(host_random.permutation, generator, [out], dtype)
        return out
    if not numel:
        return out
    keys, ordered = call.scratch((1, numel), int64), call.scratch((1, numel), int64)
    order = out if dtype is int64 else call.scratch(input.shape, int64)
    if is_portable.value:
        fill_random(call, keys, philox.integer_kernel(int64, False), 2, (0, KEY_SPAN), generator)
        sort_rows_of(call, keys, ordered, order, (1, numel), False)
    else:
        cuda_random.fill(call, keys, cuda_random.key_kernel(), 2, _key_range(numel), generator)
        sort_rows_of(call, keys, ordered, order, (1, numel), False)
        drawn = call.random(-(-numel // 4), generator)
        call.launch(cuda_random.shuffle_kernel(), cuda_random.plain_grid(numel), order, ordered, *drawn, numel)
    if order is not out:
        call.assign(out, order)
    return out


def _key_range(numel: int) -> tuple[int, int, int]:
    """Return the least value, the number of values and the mask of the keys that PyTorch sorts."""
    bits = cuda_random.key_bits(numel)
    width = 32 if bits <= 32 else 64
    return -1 << width - 1, (1 << width) - 1, (1 << (64 if bits == width else bits)) - 1


for _each in (uniform, normal, random, exponential, cauchy, log_normal, geometric):
    _each.derivative(lambda grad: None)


# choices


@operator(samples=tuple, dtypes=dtypes.FLOATING_TYPES, method=False, function=False, setting=is_portable)
def choose(call: Call, chances: Operand, sums: Operand, num_samples: int, *, generator: Any = None) -> Any:
    """Draw categories of each row with replacement.  sums: the running sums of the chances, which add to 1."""
    rows, size = chances.shape
    out = call.output((rows, num_samples), int64)
    if not out.numel():
        return out
    if draws_on_host(call):
        call.draw_on_host(host_random.multinomial, generator, [out], call.contiguous(chances))
        return out
    wide = chances.dtype.wide
    lanes = -(-num_samples // cuda_random.CHOICE_THREADS) * cuda_random.CHOICE_THREADS
    span = min(rows, cuda_random.CHOICE_ROWS)
    drawn = call.random((rows - 1) // span + 1, generator)
    operands = call.contiguous(sums, wide), call.contiguous(chances, wide)
    numel = rows * num_samples
    grid = cuda_random.plain_grid(numel)
    call.launch(
        cuda_random.choice_kernel(wide), grid, out, *operands, rows, size, num_samples, lanes, span, *drawn, numel
    )
    return out


CHECK_WEIGHTS = """
for (long long row = blockIdx.x; row < rows; row += gridDim.x) {
    bool are_valid = true, has_some = false;
    for (long long i = threadIdx.x; i < size; i += blockDim.x) {
        const C weight = load<C>(input[offset(layout, 0, row * size + i)]);
        are_valid = are_valid && weight >= 0 && weight < INFINITY;
        has_some = has_some || weight > 0;
    }
    are_valid = __syncthreads_and(are_valid);
    has_some = __syncthreads_or(has_some);
    if (threadIdx.x == 0) fine[2 * row] = are_valid, fine[2 * row + 1] = has_some;
}
"""
ROWS_READ = 64  # the most rows whose checks are read one by one; those of more rows are joined on the device


@cache
def _weights_kernel(dtype: dtype) -> Kernel:
    entry = f"check_weights_{dtype.name}"
    arguments = f"bool* fine, const {dtype.cuda}* input, Layout<1> layout, long long rows, long long size"
    head = f'extern "C" __global__ void __launch_bounds__({THREADS}) {entry}({arguments})'
    params: list[Param] = [
        Pointer("fine", bool_, "w", ("rows", 2)), Pointer("input", dtype, "r", "layout"), Strided("layout", ("input",)),
        *scalars("rows", "size"),
    ]  # fmt: skip

    def reference(fine: Any, input: Any, rows: int, size: int) -> None:
        weights = input.reshape(rows, size).astype(dtype.wide.numpy, copy=False)
        fine[:, 0] = ((weights >= 0) & (weights < math.inf)).all(-1)
        fine[:, 1] = (weights > 0).any(-1)

    code = f"{PRELUDE}\n{head} {{ typedef {dtype.wide.cuda} C; {CHECK_WEIGHTS} }}\n"
    return Kernel(entry, code, params, reference, 4.0)


def _weight_rows() -> Iterator[Sample]:
    yield Sample((Array((3, 7), -1, 4),))
    yield Sample((Array((4, 3), 0.1, 1, layout="transposed"),))


@operator(samples=_weight_rows, dtypes=dtypes.FLOATING_TYPES, method=False, function=False, differentiable=False)
def check_weight_rows(call: Call, input: Operand) -> Any:
    """Return, for each row, whether its weights are finite and not negative, and whether one is above 0.

    Shapes: [*, n] gives [rows, 2].
    Host:   returns at once.
    """
    size = input.shape[-1]
    rows = input.numel() // size
    fine = call.output((rows, 2), bool_)
    grid = Grid((min(rows, FULL_DEVICE_BLOCKS), 1, 1), THREADS)
    layout = strided_layout(input.shape, input.strides)
    call.launch(_weights_kernel(input.dtype), grid, fine, input, layout, rows, size)
    return fine


def _weights_are_fine(input: Any) -> tuple[bool, bool]:
    """Return (whether all weights are finite and not negative, whether each row has a positive one).  Host: waits."""
    rows: Any = check_weight_rows(input.detach())
    if rows.shape[0] > ROWS_READ:
        rows = rows.all(0, keepdim=True)
    are_valid, have_some = zip(*rows.tolist())
    return all(are_valid), all(have_some)


def _weights() -> Iterator[Sample]:
    weights = Array((3, 7), 0.1, 1, grad=False)
    yield Sample((weights, 4))
    yield Sample((weights, 20, True))
    yield Sample((Array((5,), 0.1, 1, grad=False), 1))
    yield Sample((Array((4, 3), 0.1, 1, layout="transposed", grad=False), 2))


def _wrong_weights() -> Iterator[ErrorSample]:
    weights = Array((3,), 0.1, 1)
    yield ErrorSample((weights, 4), ValueRangeError, "cannot sample 4 of 3 categories without replacement")
    yield ErrorSample((weights, 0), ValueRangeError, "cannot sample n_sample <= 0 samples, got 0")
    yield ErrorSample((Array((2, 2, 2)), 1), ShapeError, r"must be 1 or 2 dim, got shape \[2, 2, 2\]")
    yield ErrorSample((Array((3,), dtype="int64"), 1), DtypeError, "only supports floating-point dtypes .*int64")
    yield ErrorSample((Array((3,), -1, -1), 1), ValueRangeError, "either `inf`, `nan` or element < 0")


@composite(
    samples=_weights, errors=_wrong_weights, dtypes=dtypes.FLOATING_TYPES, host="waits", differentiable=False,
    setting=is_portable,
)  # fmt: skip
def multinomial(input: Operand, num_samples: int, replacement: bool = False, *, generator: Any = None) -> Any:
    """Return indexes of categories, drawn with probabilities in proportion to the weights in each row of the input.

    replacement: whether one row of the result may contain an index more than once.

    Shapes: [*, n] gives [*, num_samples], with at most one leading dimension.
    Host:   waits for the values of the weights.
    Raises: ValueRangeError for weights that are negative, not finite or all 0, or too many samples without replacement,
            ShapeError for another number of dimensions, DtypeError for integers.
    Example:
        >>> torch.multinomial(torch.tensor([0.0, 3.0, 1.0]), 2).sort().values
        tensor([1, 2])
    """
    _check_weights(input, num_samples, replacement)
    source: Any = input
    weights = source.detach()
    if replacement and num_samples > 1:
        rows = weights.reshape((-1, weights.shape[-1]))
        is_on_host = weights.device_index < 0 and not is_portable.value
        chances = rows if is_on_host else rows / rows.sum(-1, keepdim=True)
        sums = rows if is_on_host else chances.cumsum(-1)
        return choose(chances, sums, num_samples, generator=generator).reshape((*weights.shape[:-1], num_samples))
    waits = weights / exponential(weights, 1.0, generator=generator)
    if num_samples == 1:
        return waits.argmax(-1, keepdim=True)
    return waits.topk(num_samples)[1]


def _check_weights(input: Any, num_samples: int, replacement: bool) -> None:
    """Raise an error for arguments of `multinomial` from which no sample can be drawn."""
    name = "multinomial"
    if not input.dtype.is_floating_point:
        raise DtypeError(
            f"only supports floating-point dtypes for input, got {input.dtype.name}",
            hint="convert with .float()",
            operator=name,
        )
    if len(input.shape) not in (1, 2) or not input.shape[-1]:
        raise ShapeError(
            f"input must be 1 or 2 dim, got shape {list(input.shape)}",
            hint="pass a row of weights for each distribution, with at least one category",
            operator=name,
        )
    if num_samples <= 0:
        raise ValueRangeError(
            f"cannot sample n_sample <= 0 samples, got {num_samples}", hint="pass 1 or more", operator=name
        )
    if not replacement and num_samples > input.shape[-1]:
        raise ValueRangeError(
            f"cannot sample {num_samples} of {input.shape[-1]} categories without replacement",
            hint="pass replacement=True",
            operator=name,
        )
    if not input.numel():
        return
    are_valid, have_some = _weights_are_fine(input)
    if not are_valid:
        raise ValueRangeError(
            "input contains either `inf`, `nan` or element < 0",
            hint="pass weights that are finite and not negative",
            operator=name,
        )
    if not have_some:
        raise ValueRangeError(
            "sum of weights <= 0 in a row", hint="pass at least one weight above 0 in each row", operator=name
        )


def _rates() -> Iterator[Sample]:
    yield Sample((Array((3, 7), 0.5, 30, grad=False),))
    yield Sample((Array((4, 3), 0, 9, layout="transposed", grad=False),))
    yield Sample((Array((0, 3), grad=False),))


def _wrong_poisson() -> Iterator[ErrorSample]:
    yield from _integers()
    yield ErrorSample((Array((3,), -1, -1),), ArgumentError, "rates must not be negative or NaN")


@composite(
    samples=_rates, errors=_wrong_poisson, dtypes=dtypes.FLOATING_TYPES, host="waits", method=False,
    setting=is_portable,
)  # fmt: skip
def poisson(input: Operand, generator: Any = None) -> Any:
    """Draw a number from the Poisson distribution for each element of `input`, which is its rate; the gradient is 0.

    Shapes: same as the input.
    Host:   waits for the rates; the values for a GPU tensor are drawn on the host, from the GPU's generator.
    Raises: DtypeError for integers, ValueRangeError for rates that are negative or NaN.
    Example:
        >>> torch.poisson(torch.tensor([0.0, 0.0]))
        tensor([0., 0.])
    """
    check_floating("poisson", input)
    if input.numel() and not bool((input >= 0).all()):
        raise ValueRangeError(
            "rates must not be negative or NaN",
            hint="pass rates of 0 or more: each is the mean of a count",
            operator="poisson",
        )
    return _drawn_singly(input, None, generator)


def _trials() -> Iterator[Sample]:
    yield Sample((Array((3, 7), 5, 50, grad=False), Array((7,), 0.1, 0.9, grad=False)))
    yield Sample((Array((0, 3), grad=False), Array((0, 3), grad=False)))


def _wrong_trials() -> Iterator[ErrorSample]:
    yield ErrorSample((Array((3,), dtype="int64"), Array((3,))), DtypeError, "expected a floating point tensor")


@composite(
    samples=_trials, errors=_wrong_trials, dtypes=dtypes.FLOATING_TYPES, host="waits", method=False,
    differentiable=False, setting=is_portable,
)  # fmt: skip
def binomial(count: Operand, prob: Operand, generator: Any = None) -> Any:
    """Draw from the binomial distribution: numbers of successes in `count` trials with success probability `prob`.

    Shapes: count and prob broadcast together.
    Host:   waits for the operands; the values for a GPU tensor are drawn on the host, from the GPU's generator.
    Raises: DtypeError if count or prob has an integer type.
    Example:
        >>> torch.binomial(torch.tensor([5.0, 5.0]), torch.tensor([0.0, 1.0]))
        tensor([0., 5.])
    """
    check_floating("binomial", count)
    check_floating("binomial", prob)
    trials: Any = count
    chances: Any = prob
    trials, chances = trials.detach(), chances.detach()
    shape = st.broadcast([trials.shape, chances.shape], "binomial")
    return _drawn_singly(trials.expand(shape), chances.expand(shape).to(trials.dtype), generator)


FRACTIONS = 64  # fractions for each value that is not drawn from the Mersenne Twister


@operator(samples=tuple, dtypes=dtypes.FLOATING_TYPES, method=False, function=False)
def draw_singly(
    call: Call, input: Operand, prob: Operand | None, fractions: Operand | None, generator: Any = None
) -> Any:
    """Draw Poisson values of rates on the CPU or, with prob, binomial ones of counts.

    fractions: a row of FRACTIONS for each value, instead of a generator.
    """
    out = call.output(input.shape, input.dtype)
    if out.numel():
        operands = [call.contiguous(operand) for operand in (fractions, input, prob) if operand is not None]
        function = host_random.poisson if prob is None else host_random.binomial
        own = function if fractions is None else host_random.of_rows
        call.draw_on_host(own, generator, [out], input.dtype, *operands)
    return out


@draw_singly.derivative
def _(grad: Any) -> Any:
    return None, None, None


def _drawn_singly(input: Any, prob: Any, generator: Any) -> Any:
    """Draw on the CPU; from fractions of the operands' device if the numbers are not the Mersenne Twister's."""
    operands, device = (input, prob), input.device
    if device.type == "cpu" and not is_portable.value:
        return draw_singly(*operands, None, generator)
    rows = uniform(input.new_empty((input.numel(), FRACTIONS), dtype=float64), 0.0, 1.0, generator).cpu()
    drawn = draw_singly(*[None if operand is None else operand.cpu() for operand in operands], rows)
    return drawn.to(device)


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
    """Compute `scale * input` where the mask is true, else 0."""
    return np.where(mask, input * scale, numpy_type(input).type(0))


@masked_scale.derivative
def _(grad: Any, mask: Any, scale: Any) -> Any:
    return masked_scale(grad, mask, scale), None


@operator(samples=tuple, dtypes=dtypes.FLOATING_TYPES, method=False, function=False, setting=is_portable)
def fused_dropout(call: Call, input: Operand, p: float) -> Any:
    """Return (mask of the kept elements, the input with these scaled by 1 / (1 - p) and the others set to 0)."""
    memory = memory_of(call, input)
    mask, drawn = _mask_like(call, memory)
    source, numel = memory.of(call, input, input.dtype), memory.drawn.numel()
    scale = _scale(p, input.dtype, draws_on_host(call))
    if is_portable.value:
        kernel = philox.dropout_kernel(input.dtype)
        fill_random(call, memory.drawn, kernel, 4, (drawn, source, float(p), scale), None)
    elif call.is_on_host and numel:
        call.draw_on_host(host_random.dropout, None, [drawn, memory.drawn], source, float(p), scale)
    elif numel:
        blocks = cuda_random.blocks_of(call.device, numel)
        state, seed, first = call.random(cuda_random.counters_of(numel, blocks, 4), None)
        vector = cuda_random.vector_of(numel, input.dtype.itemsize, source.is_aligned())
        kernel = cuda_random.dropout_kernel(input.dtype, vector)
        grid = Grid((blocks, 1, 1), cuda_random.THREADS)
        call.launch(kernel, grid, memory.drawn, drawn, source, 1 - p, scale, blocks, state, seed, first, numel)
    return mask, memory.done(call)


def _mask_like(call: Call, memory: Memory) -> tuple[Any, Any]:
    """Return a mask laid out as the result, and the same memory in the order of the draw."""
    mask = call.output(memory.result.shape, bool_, memory.result.strides)
    drawn = mask if memory.drawn is memory.result else call.part(mask, memory.drawn.shape, memory.drawn.strides, 0)
    return mask, drawn


@fused_dropout.derivative
def _(grads: Any, out: Any, p: Any) -> Any:
    grad = grads[1]
    on_host = grad.device_index < 0 and not is_portable.value
    return masked_scale(grad, out, _scale(p, grad.dtype, on_host))


def _scale(p: float, dtype: dtype, on_host: bool) -> float:
    """Return the factor 1 / (1 - p) of the kept elements.  On the CPU, PyTorch rounds it to the tensor's type."""
    kept = float(dtype.wide.numpy.type(1 - p))
    return float(dtype.numpy.type(dtype.wide.numpy.type(1 / kept))) if on_host else 1 / kept


def _dropouts() -> Iterator[Sample]:
    for training in (True, False):
        yield Sample((Array((5, 4)), 0.5, training))
    yield Sample((Array((4, 3), layout="transposed"), 0.5, True))
    yield Sample((Array((0, 3)), 0.5, True))
    yield Sample((Array((3,)), 1.0, True))


def _no_dropout() -> Iterator[ErrorSample]:
    yield ErrorSample((Array((3,)), -0.5, True), ArgumentError, "probability has to be between 0 and 1, but got -0.5")
    yield ErrorSample((Array((3,), dtype="int64"), 0.5, True), DtypeError, "a floating point tensor, got int64")


@composite(
    samples=_dropouts, errors=_no_dropout, dtypes=dtypes.FLOATING_TYPES, method=False, other_names={"train": "training"}
)
def dropout(input: Operand, p: float, training: bool) -> Any:
    """Return the input with each element set to 0 with probability p, and the others multiplied by 1 / (1 - p).

    training: if False, the input is returned unchanged.
    Shapes: same as the input.
    Host:   returns at once.
    Raises: ValueRangeError if p is not in [0, 1], DtypeError for integers in training.
    Example:
        >>> x = torch.dropout(torch.ones(1000), p=0.5, training=True)
        >>> sorted(set(x.tolist()))
        [0.0, 2.0]
    """
    if not 0 <= p <= 1:
        raise ValueRangeError(
            f"probability has to be between 0 and 1, but got {p}",
            hint="pass the fraction of the elements that become 0, for example 0.5",
            operator="dropout",
        )
    if not training or p == 0 or not input.numel():
        return input
    check_floating("dropout", input)
    if p == 1:
        return input * 0
    return fused_dropout(input, p)[1]


SATURATED = 1.7580993408473766  # the negative of the value to which SELU falls
NAMES = {"train": "training"}


def _samples() -> Iterator[Sample]:
    for training in (True, False):
        yield Sample((Array((5, 4, 3)), 0.5, training))
    yield Sample((Array((4, 3), layout="transposed"), 0.25, True))
    yield Sample((Array((3, 2)), 1.0, True))
    yield Sample((Array((0, 3)), 0.5, True))


def _errors() -> Iterator[ErrorSample]:
    yield ErrorSample((Array((3, 2)), -0.5, True), ArgumentError, "has to be between 0 and 1, but got -0.5")


def _feature_errors() -> Iterator[ErrorSample]:
    yield from _errors()
    yield ErrorSample((Array((3,)), 0.5, True), ShapeError, r"at least 2 dimensions, got \[3\]")


def _dropped(name: str, input: Any, p: float, training: bool, by_feature: bool, is_alpha: bool) -> Any:
    if not 0 <= p <= 1:
        raise ValueRangeError(
            f"dropout probability has to be between 0 and 1, but got {p}",
            hint="pass the fraction of the elements or channels that become 0, for example 0.5",
            operator=name,
        )
    if not training or p == 0 or not input.numel():
        return input
    if p == 1:
        return input * 0
    if by_feature and len(input.shape) < 2:
        raise ShapeError(
            f"feature dropout needs at least 2 dimensions, got {list(input.shape)}",
            hint="the features are dimension 1: [n, c, *]",
            operator=name,
        )
    if by_feature:
        kept: Any = input.new_empty((*input.shape[:2], *[1] * (len(input.shape) - 2)))
    else:  # drawn in the order of the input's memory
        kept = input.new_empty_strided(input.shape, st.preserved(input.shape, input.strides))
    kept.bernoulli_(1 - p)
    if not is_alpha:
        return input * (kept / (1 - p))
    scale = 1 / math.sqrt((SATURATED * SATURATED * p + 1) * (1 - p))
    return input * (kept * scale) + ((kept - 1) * (SATURATED * scale) + SATURATED * scale * p)


@composite(samples=_samples, errors=_errors, dtypes=FLOATING_TYPES, method=False, other_names=NAMES)
def alpha_dropout(input: Operand, p: float, training: bool) -> Any:
    """Set each element, with probability p, to about -1.758, the limit of SELU for large negative inputs.

    All elements are then scaled and shifted, which keeps a mean of 0 and a variance of 1.  Without training, the input
    is returned unchanged.
    Shapes: same as the input.
    Host:   returns at once.
    Raises: ArgumentError if p is not in [0, 1].
    Example:
        >>> torch.alpha_dropout(torch.ones(3), p=0.5, train=False)
        tensor([1., 1., 1.])
    """
    return _dropped("alpha_dropout", input, p, training, False, True)


@composite(samples=_samples, errors=_feature_errors, dtypes=FLOATING_TYPES, method=False, other_names=NAMES)
def feature_dropout(input: Operand, p: float, training: bool) -> Any:
    """Set each channel of each instance to 0 with probability p, and scale the others by 1 / (1 - p).

    Without training, the input is returned unchanged.
    Shapes: [n, c, *]; the result has the input's shape.
    Host:   returns at once.
    Raises: ArgumentError if p is not in [0, 1], ShapeError for fewer than 2 dimensions.
    Example:
        >>> x = torch.feature_dropout(torch.ones(50, 4, 3), p=0.5, train=True)
        >>> sorted(set(x.sum(2).flatten().tolist()))
        [0.0, 6.0]
    """
    return _dropped("feature_dropout", input, p, training, True, False)


@composite(samples=_samples, errors=_feature_errors, dtypes=FLOATING_TYPES, method=False, other_names=NAMES)
def feature_alpha_dropout(input: Operand, p: float, training: bool) -> Any:
    """Apply `alpha_dropout` to whole channels: each channel is dropped, with probability p, or kept as a whole.

    Shapes: [n, c, *]; the result has the input's shape.
    Host:   returns at once.
    Raises: ArgumentError if p is not in [0, 1], ShapeError for fewer than 2 dimensions.
    Example:
        >>> torch.feature_alpha_dropout(torch.ones(1, 2), p=0.5, train=False)
        tensor([[1., 1.]])
    """
    return _dropped("feature_alpha_dropout", input, p, training, True, True)
