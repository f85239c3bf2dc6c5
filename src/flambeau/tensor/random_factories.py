"""Making tensors of random numbers.  An element has the same bits on every kind of device (ops/random.py)."""

from __future__ import annotations

from typing import Any

from ..dtypes import dtype, int64
from ..errors import ArgumentTypeError, ValueRangeError, shown
from . import checks
from .factories import as_leaf, into, run_into, unset


def rand(
    *sizes: Any,
    size: Any = None,
    generator: Any = None,
    out: Any = None,
    dtype: dtype | None = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Any:
    """Random numbers, uniform in [0, 1).

    Host: returns at once.
    Example:
        >>> x = torch.rand(1000)
        >>> x.min() >= 0, x.max() < 1
        (tensor(True), tensor(True))
    """
    if out is not None or layout is not None:
        options = (dtype, device, requires_grad, pin_memory)
        return into(rand, out, layout, options, *sizes, size=size, generator=generator)
    if size is not None:
        sizes = checks.named("rand", sizes, size)
    made = run_into("uniform", "rand", unset("rand", sizes, dtype, device, pin_memory), 0.0, 1.0, generator=generator)
    return made if requires_grad is False else as_leaf("rand", made, requires_grad)


def randn(
    *sizes: Any,
    size: Any = None,
    generator: Any = None,
    out: Any = None,
    dtype: dtype | None = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Any:
    """Random numbers of the standard normal distribution.

    Host: returns at once.
    Example:
        >>> x = torch.randn(10000)
        >>> round(x.mean().item(), 1) == 0, round(x.std().item(), 1)
        (True, 1.0)
    """
    if out is not None or layout is not None:
        options = (dtype, device, requires_grad, pin_memory)
        return into(randn, out, layout, options, *sizes, size=size, generator=generator)
    if size is not None:
        sizes = checks.named("randn", sizes, size)
    made = run_into("normal", "randn", unset("randn", sizes, dtype, device, pin_memory), 0.0, 1.0, generator=generator)
    return made if requires_grad is False else as_leaf("randn", made, requires_grad)


def randint(
    *bounds_and_size: Any,
    low: Any = None,
    high: Any = None,
    size: Any = None,
    generator: Any = None,
    out: Any = None,
    dtype: dtype | None = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Any:
    """Random integers: randint(high, size) in [0, high), randint(low, high, size) in [low, high); int64 by default.

    Host:   returns at once.
    Raises: ValueRangeError if there is no such integer, ArgumentTypeError.
    Example:
        >>> x = torch.randint(1, 7, (1000,))
        >>> x.min(), x.max()
        (tensor(1), tensor(6))
    """
    if out is not None or layout is not None:
        options = (dtype, device, requires_grad, pin_memory)
        return into(randint, out, layout, options, *bounds_and_size, low=low, high=high, size=size, generator=generator)
    if low is not None and (high is None or bounds_and_size):
        given = ", ".join([*map(shown, bounds_and_size), f"low={shown(low)}", f"high={shown(high)}"])
        raise ArgumentTypeError(f"low comes with high: {given}", hint="name both, or neither", operator="randint")
    bounds_and_size += tuple([each for each in (low, high, size) if each is not None])
    if len(bounds_and_size) not in (2, 3):
        raise ArgumentTypeError(
            f"takes (high, size) or (low, high, size), got {len(bounds_and_size)} arguments: "
            f"{', '.join(map(shown, bounds_and_size))}",
            hint="as in randint(10, (2, 3))",
            operator="randint",
        )
    *bounds, size = bounds_and_size
    low, high = bounds if len(bounds) == 2 else (0, bounds[0])
    if type(low) is not int or type(high) is not int:
        checks.integer("randint", "low", low)
        checks.integer("randint", "high", high)
    if low >= high:
        raise ValueRangeError(
            f"expects low to be less than high, got low={low} >= high={high}",
            hint="high itself is never drawn",
            operator="randint",
        )
    if type(size) is int:
        checks.sizes("randint", size)
    made = unset("randint", (size,), dtype or int64, device, pin_memory)
    made = run_into("random", "randint", made, low, high, generator=generator)
    return made if requires_grad is False else as_leaf("randint", made, requires_grad)


def randperm(
    n: int,
    *,
    generator: Any = None,
    out: Any = None,
    dtype: dtype | None = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Any:
    """The integers from 0 to n - 1 in a random order, int64 by default.

    Host:   returns at once.
    Raises: ArgumentTypeError or ValueRangeError for an n that is no number of integers, ArgumentError if the type does
            not hold n - 1.
    Example:
        >>> torch.randperm(5).sort().values
        tensor([0, 1, 2, 3, 4])
    """
    if out is not None or layout is not None:
        options = (dtype, device, requires_grad, pin_memory)
        return into(randperm, out, layout, options, n, generator=generator)
    if type(n) is not int or n < 0:
        checks.count("randperm", "n", n)
    made = unset("randperm", (n,), dtype or int64, device, pin_memory)
    made = run_into("randperm", "randperm", made, generator=generator)
    return made if requires_grad is False else as_leaf("randperm", made, requires_grad)
