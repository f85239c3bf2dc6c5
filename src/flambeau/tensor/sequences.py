"""Factories of sequences and triangles: logspace, range, tril_indices; scalar_tensor; empty_permuted."""

from __future__ import annotations

from typing import Any

from .. import callers, dtypes
from ..core.call import run_into
from ..core.factories import unset
from ..core.tensor import alias_of
from ..dtypes import converted, dtype
from ..errors import ArgumentTypeError, NotSupportedError, ShapeError, ValueRangeError, naming
from ..memory_formats import check_layout
from ..ops.diagonals import INDEX_TYPES, count_in_triangle
from ..strides import compact
from . import checks
from .factories import as_leaf, full, into, linspace


def logspace(
    start: float,
    end: float,
    steps: int,
    base: float = 10.0,
    *,
    out: Any = None,
    dtype: dtype | None = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Any:
    """Return powers of `base`, by default 10, whose exponents are evenly spaced from start to end, both included.

    Shapes: a vector of `steps` elements.
    Host:   returns at once.
    Raises: ValueRangeError for a negative number of steps, ArgumentTypeError for anything but numbers.
    Example:
        >>> torch.logspace(0, 3, steps=4)
        tensor([   1.,   10.,  100., 1000.])
    """
    if out is not None or layout is not None:
        options = (dtype, device, requires_grad, pin_memory)
        return into(logspace, out, layout, options, start, end, steps, base)
    checks.number("logspace", "base", base)
    wanted = checks.as_dtype("logspace", dtype) or dtypes.default.floating
    with naming("logspace"):
        exponents = linspace(start, end, steps, dtype=dtypes.float64, device=device)
    powers = full((), float(base), dtype=dtypes.float64, device=exponents.device) ** exponents
    result = powers.to(wanted)
    if pin_memory:
        result = result.pin_memory()
    return result if requires_grad is False else as_leaf("logspace", result, requires_grad)


def range_(
    start: Any = 0,
    end: Any = None,
    step: Any = 1,
    *,
    out: Any = None,
    dtype: dtype | None = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Any:
    """Return the numbers from start to end, both included, in steps of `step`.  Deprecated: `arange` excludes the end.

    dtype: None is the default type.
    Shapes: a vector.
    Host:   returns at once.
    Raises: ArgumentTypeError without `end`, ValueRangeError for a step of 0 or of the wrong sign, and for bounds that
            are not finite.
    Example:
        >>> import warnings
        >>> with warnings.catch_warnings():
        ...     warnings.simplefilter("ignore")
        ...     torch.range(1, 3)
        tensor([1., 2., 3.])
    """
    if end is None:
        raise ArgumentTypeError("missing the argument: end", hint="torch.arange(end) takes one", operator="range")
    callers.warn(
        "range: is deprecated and will be removed in a future release because its behavior is inconsistent with "
        "Python's range builtin; use torch.arange, which leaves the end out"
    )
    if out is not None or layout is not None:
        options = (dtype, device, requires_grad, pin_memory)
        return into(range_, out, layout, options, start, end, step)
    wanted = checks.as_dtype("range", dtype) or dtypes.default.floating
    checks.not_bool("range", wanted)
    whole = dtypes.float64 if wanted.is_floating_point else dtypes.int64
    with naming("range"):
        first, last, step = [converted("range", whole, value) for value in checks.plain_steps(start, end, step)]
        checks.steps(first, last, step)
    count = int((last - first) / step + 1) if wanted.is_floating_point else (last - first) // step + 1
    result = run_into("arange", "range", unset("range", (count,), wanted, device, pin_memory), first, step)
    return result if requires_grad is False else as_leaf("range", result, requires_grad)


def scalar_tensor(
    s: Any,
    *,
    dtype: dtype | None = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Any:
    """Return a tensor without dimensions that holds a number, in the default dtype unless another is given.

    Shapes: a tensor without dimensions.
    Host:   returns at once.
    Raises: ArgumentTypeError unless `s` is a number or a tensor of one element, ValueRangeError if the type cannot hold
            it.
    Example:
        >>> torch.scalar_tensor(3)
        tensor(3.)
    """
    wanted = checks.as_dtype("scalar_tensor", dtype) or dtypes.default.floating
    options = {"layout": layout, "device": device, "requires_grad": requires_grad, "pin_memory": pin_memory}
    with naming("scalar_tensor"):
        return full((), s, dtype=wanted, **options)


def empty_permuted(
    size: Any,
    physical_layout: Any,
    *,
    dtype: dtype | None = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Any:
    """Return an uninitialized tensor of shape `size`, without gaps, with the given order of dimensions in memory.

    physical_layout: the dimensions from that with the largest stride to that with the smallest.
    Host:   returns at once.
    Raises: ShapeError unless the order names each dimension once.
    Example:
        >>> torch.empty_permuted((2, 3, 5, 7), (0, 2, 3, 1)).stride()
        (105, 1, 21, 3)
    """
    check_layout("empty_permuted", layout)
    size = checks.listed("empty_permuted", "size", "ints", size)
    checks.sizes("empty_permuted", (size,))
    order = checks.listed("empty_permuted", "physical_layout", "ints", physical_layout)
    for each in order:
        checks.integer("empty_permuted", "each dimension", each)
    if sorted(order) != list(range(len(size))):
        raise ShapeError(
            f"the order {list(order)} does not name each of {len(size)} dimensions once",
            hint="as in (0, 2, 3, 1) for channels last",
            operator="empty_permuted",
        )
    flat = unset("empty_permuted", (size,), dtype, device, pin_memory)
    result = alias_of(flat, size, compact(size, order[::-1]), 0)
    return result if requires_grad is False else as_leaf("empty_permuted", result, requires_grad)


MAX_SIZE = 2**63 - 1


def _triangle(name: str, sizes: tuple[Any, Any, Any], wanted: Any, device: Any, pin_memory: bool) -> Any:
    row, col, offset = sizes
    for what, value in (("row", row), ("col", col)):
        checks.integer(name, what, value)
        if value < 0:
            raise ValueRangeError(f"{what} must be non-negative, got {value}", hint="pass 0 or more", operator=name)
    checks.integer(name, "offset", offset)
    if max(row, col, abs(offset)) > MAX_SIZE:
        raise ValueRangeError(
            f"row={row}, col={col} and offset={offset} do not fit in 64 bits",
            hint="pass smaller numbers",
            operator=name,
        )
    element_type = checks.as_dtype(name, wanted)
    if element_type not in INDEX_TYPES:
        raise NotSupportedError(f"not implemented for {element_type}", hint="use torch.int64", operator=name)
    count = count_in_triangle(row, col, offset, name == "tril_indices")
    result = unset(name, (2, count), element_type, device, pin_memory)
    return run_into("triangle_indices", name, result, row, col, offset, name == "tril_indices")


def tril_indices(
    row: int,
    col: int,
    offset: int = 0,
    *,
    dtype: dtype = dtypes.int64,
    device: Any = None,
    layout: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Any:
    """Return the indices of the elements on and below a diagonal of a matrix with `row` rows and `col` columns.

    The first row of the result lists the elements' rows, the second their columns, in row-major order.
    offset: 0 is the main diagonal; positive numbers are above it.
    Shapes: [2, n] for n elements.
    Host:   returns at once.
    Raises: ValueRangeError for a negative size, NotSupportedError unless the type is int32 or int64.
    Example:
        >>> torch.tril_indices(3, 2)
        tensor([[0, 1, 1, 2, 2],
                [0, 0, 1, 0, 1]])
    """
    check_layout("tril_indices", layout)
    return _triangle("tril_indices", (row, col, offset), dtype, device, pin_memory)


def triu_indices(
    row: int,
    col: int,
    offset: int = 0,
    *,
    dtype: dtype = dtypes.int64,
    device: Any = None,
    layout: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Any:
    """Return the indices of the elements on and above a diagonal of a matrix with `row` rows and `col` columns.

    The first row of the result lists the elements' rows, the second their columns, in row-major order.
    offset: 0 is the main diagonal; positive numbers are above it.
    Shapes: [2, n] for n elements.
    Host:   returns at once.
    Raises: ValueRangeError for a negative size, NotSupportedError unless the type is int32 or int64.
    Example:
        >>> torch.triu_indices(2, 3)
        tensor([[0, 0, 0, 1, 1],
                [0, 1, 2, 1, 2]])
    """
    check_layout("triu_indices", layout)
    return _triangle("triu_indices", (row, col, offset), dtype, device, pin_memory)


range_.__name__ = "range"
