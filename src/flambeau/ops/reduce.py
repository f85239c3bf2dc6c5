"""Reductions: any dimensions, any strides, one kernel template (kernels/reduce.cu).

- Half types are accumulated in float32 and integers in int64; each result is rounded once.
- The reduced dimensions are moved last and collapsed; nothing is copied.
- Few results of many elements are made in two launches: pieces first, then the join of the pieces.
- The order of accumulation depends on sizes and strides alone, so results repeat exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from math import inf, prod
from typing import Any, NamedTuple

from .. import dtypes
from .. import strides as st
from ..dtypes import FLOATING_TYPES, bool_, dtype, int64, uint8
from ..errors import DtypeError, IndexRangeError, ShapeError
from ..host import np
from ..kernel import MAX_DIMS, Grid, Kernel, Pointer, Scalar, Strided
from .operator import REGISTRY, Array, ErrorSample, Operand, Sample, composite, operator
from .pointwise import MAX_BLOCKS, PRELUDE, THREADS, source_text

TARGET_BLOCKS = 132 * 8  # blocks that keep a large device busy
STEPS_PER_PIECE = 16  # each lane of a piece joins at least so many values
MIN_PIECES = 4  # fewer are not worth a second launch
MAX_PIECES = 1024
WARP_COUNT = 1024  # up to so many values, a warp makes a result faster than a block does
SOURCE = PRELUDE + source_text("reduce.cu")

Dims = int | Sequence[int] | None


class Fold(NamedTuple):
    """One value per result: `finish(join over map(x, center), scale)`, in CUDA C++ and in NumPy."""

    name: str
    begin: str
    join: str
    ufunc: str
    map: str = "x"
    finish: str = "a"
    mapped: Callable[[Any, Any], Any] | None = None
    finished: Callable[[Any, Any], Any] | None = None


def _square(rows: Any, center: Any) -> Any:
    return np.square(rows - center[:, None])


def _divide(total: Any, scale: Any) -> Any:
    return total / total.dtype.type(scale)


def _root(total: Any, scale: Any) -> Any:
    return np.sqrt(_divide(total, scale))


SUM = Fold("sum", "0", "a + b", "add")
PROD = Fold("prod", "1", "a * b", "multiply")
MEAN = SUM._replace(name="mean", finish="a / (A)scale", finished=_divide)
LARGEST = Fold("amax", "lowest<A>()", "a > b || a != a ? a : b", "maximum")
SMALLEST = Fold("amin", "highest<A>()", "a < b || a != a ? a : b", "minimum")
ALL = Fold("all", "true", "a && b", "logical_and")
ANY = Fold("any", "false", "a || b", "logical_or")
VARIANCE = MEAN._replace(name="var", map="(x - center) * (x - center)", mapped=_square)
DEVIATION = VARIANCE._replace(name="std", finish="sqrt(a / (A)scale)", finished=_root)


class Spread(NamedTuple):
    """How results are spread over threads: `lanes` per result (see kernels/reduce.cu), and pieces per result."""

    lanes: int
    across: bool
    parts: int

    def grid(self, outputs: int) -> Grid:
        blocks = -(-outputs * self.lanes // THREADS) * self.parts
        return Grid((min(blocks, MAX_BLOCKS), 1, 1), THREADS)


class Walk(NamedTuple):
    """An input with the reduced dimensions last: (shape, [strides]); `kept` others lead; `length` values per result."""

    layout: tuple[Sequence[int], Sequence[Sequence[int]]]
    kept: int
    outputs: int
    length: int
    spread: Spread

    def numbers(self, parts: int) -> tuple[int, int, int, int]:
        return self.outputs, self.length, parts, self.kept


def walk_of(shape: Sequence[int], strides: Sequence[int], dims: Sequence[int], may_split: bool = True) -> Walk:
    """Plan the reduction of `dims` (counted from the front)."""
    rest = [dim for dim in range(len(shape)) if dim not in dims]
    kept, (kept_steps,) = st.collapse([shape[dim] for dim in rest], [[strides[dim] for dim in rest]])
    sizes, (steps,) = st.collapse([shape[dim] for dim in dims], [[strides[dim] for dim in dims]])
    outputs, count = prod(kept), prod(sizes)
    is_inner = not kept or min(steps, default=0) <= min(kept_steps)
    spread = spread_of(outputs, count, is_inner, may_split)
    return Walk(((*kept, *sizes), [(*kept_steps, *steps)]), len(kept), outputs, count, spread)


def spread_of(outputs: int, count: int, is_inner: bool, may_split: bool = True) -> Spread:
    """is_inner: whether the values of one result lie closer together than the results do."""
    lanes = THREADS if is_inner and count > WARP_COUNT else 32 if is_inner else 8
    if not is_inner and not may_split and outputs * lanes < TARGET_BLOCKS * THREADS and count > WARP_COUNT:
        lanes = 32
    if count <= 8 or (not is_inner and outputs >= TARGET_BLOCKS * THREADS):
        lanes = 1
    across = lanes == 1 or not is_inner
    blocks = -(-outputs * lanes // THREADS)
    parts = min(count // (lanes * STEPS_PER_PIECE), TARGET_BLOCKS // max(blocks, 1), MAX_PIECES)
    if not may_split or parts < MIN_PIECES:
        return Spread(lanes, across, 1)
    chunk = -(-count // parts)
    return Spread(lanes, across, -(-count // chunk))  # no piece is empty


_NUMBERS = [Scalar(name, "int64") for name in ("outputs", "count", "parts", "kept")]


@cache
def fold_kernel(fold: Fold, source: dtype, wide: dtype, out: dtype, lanes: int, across: bool) -> Kernel:
    """The kernel that reads `source`, accumulates in `wide` and writes `out`."""
    entry = f"{fold.name}_{source.name}_{wide.name}_{out.name}_{lanes}{'_across' if across else ''}"
    value = wide.cuda
    code = f"""{SOURCE}
struct Meaning {{
  typedef {value} A;
  static A begin() {{ return {fold.begin}; }}
  static A map(A x, A center) {{ return {fold.map}; }}
  static A join(A a, A b) {{ return {fold.join}; }}
  static A finish(A a, double scale) {{ return {fold.finish}; }}
}};
extern "C" __global__ void __launch_bounds__({THREADS}) {entry}({out.cuda}* out, const {source.cuda}* input,
    const {value}* center, const __grid_constant__ Layout<1> layout, long long outputs, long long count,
    long long parts, long long kept, double scale) {{
  const Fold<Meaning, {value}, {source.cuda}, {out.cuda}> fold{{out, input, center, layout, kept, scale}};
  reduce<{lanes}, {str(across).lower()}>(fold, outputs, count, parts);
}}
"""

    def reference(
        result: Any, input: Any, center: Any, outputs: int, count: int, parts: int, kept: int, scale: float
    ) -> None:
        rows = _rows(input, outputs, count, wide)
        mapped = rows if fold.mapped is None else fold.mapped(rows, center)
        join = getattr(np, fold.ufunc).reduce
        total = np.stack([join(piece, axis=1, dtype=wide.numpy) for piece in _pieces(mapped, parts)])
        result[...] = total if fold.finished is None else fold.finished(total, scale)

    params = [
        Pointer("out", out, "w", ("parts", "outputs")),
        Pointer("input", source, "r", "layout"),
        Pointer("center", wide, "r", ("outputs",)),
        Strided("layout", ("input",)),
        *_NUMBERS,
        Scalar("scale", "float64"),
    ]
    return Kernel(entry, code, params, reference)


@cache
def select_kernel(largest: bool, source: dtype, out: dtype, lanes: int, across: bool) -> Kernel:
    """The kernel that writes the largest or smallest of the values (unless absent), and its index."""
    entry = f"{'largest' if largest else 'smallest'}_{source.name}_{out.name}_{lanes}{'_across' if across else ''}"
    value = source.wide.cuda
    code = f"""{SOURCE}
extern "C" __global__ void __launch_bounds__({THREADS}) {entry}({out.cuda}* values, long long* indexes,
    const {source.cuda}* input, const long long* numbers, const __grid_constant__ Layout<1> layout, long long outputs,
    long long count, long long parts, long long kept) {{
  typedef Select<{str(largest).lower()}, {value}, {source.cuda}, {out.cuda}> Selecting;
  const Selecting select{{values, indexes, input, numbers, layout, kept, outputs}};
  reduce<{lanes}, {str(across).lower()}>(select, outputs, count, parts);
}}
"""

    def reference(
        values: Any, indexes: Any, input: Any, known: Any, outputs: int, count: int, parts: int, kept: int
    ) -> None:
        rows = _rows(input, outputs, count, source.wide)
        find = np.argmax if largest else np.argmin
        start, every = 0, np.arange(outputs)
        for part, piece in enumerate(_pieces(rows, parts)):
            at = start + find(piece, axis=1)
            indexes[part] = at if known is None else known[at, every]
            if values is not None:
                values[part] = rows[every, at]
            start += piece.shape[1]

    pair = ("parts", "outputs")
    params = [
        Pointer("values", out, "w", pair),
        Pointer("indexes", int64, "w", pair),
        Pointer("input", source, "r", "layout"),
        Pointer("numbers", int64, "r", ("count", "outputs")),
        Strided("layout", ("input",)),
        *_NUMBERS,
    ]
    return Kernel(entry, code, params, reference)


def _rows(input: Any, outputs: int, count: int, wide: dtype) -> Any:
    if input is None or count == 0:
        return np.empty((outputs, count), wide.numpy)
    return input.astype(wide.numpy, copy=False).reshape(outputs, count)


def _pieces(rows: Any, parts: int) -> Iterator[Any]:
    chunk = max(-(-rows.shape[1] // parts), 1)
    for part in range(parts):
        yield rows[:, part * chunk : (part + 1) * chunk]


def run_fold(
    call: Any,
    fold: Fold,
    input: Any,
    dims: Sequence[int],
    out: Any,
    wide: dtype,
    scale: float = 1.0,
    center: Any = None,
) -> None:
    """Queue the launches that fold `dims` of `input` into `out`, which is contiguous."""
    if not out.numel():
        return
    walk = _planned(call, input, dims)
    lanes, across, parts = walk.spread
    if parts == 1:
        kernel = fold_kernel(fold, input.dtype, wide, out.dtype, lanes, across)
        call.launch(kernel, walk.spread.grid(walk.outputs), out, input, center, walk.layout, *walk.numbers(1), scale)
        return
    pieces = call.scratch((parts, walk.outputs), wide)
    kernel = fold_kernel(fold._replace(finish="a", finished=None), input.dtype, wide, wide, lanes, across)
    call.launch(kernel, walk.spread.grid(walk.outputs), pieces, input, center, walk.layout, *walk.numbers(parts), scale)
    last = walk_of(pieces.shape, pieces.strides, (0,), may_split=False)
    kernel = fold_kernel(fold._replace(map="x", mapped=None), wide, wide, out.dtype, *last.spread[:2])
    call.launch(kernel, last.spread.grid(last.outputs), out, pieces, None, last.layout, *last.numbers(1), scale)


def run_select(call: Any, largest: bool, input: Any, dims: Sequence[int], values: Any, indexes: Any) -> None:
    """Queue the launches that find the largest or smallest along `dims`; `values` may be None."""
    if not indexes.numel():
        return
    walk = _planned(call, input, dims)
    lanes, across, parts = walk.spread
    if parts == 1:
        kernel = select_kernel(largest, input.dtype, input.dtype, lanes, across)
        call.launch(kernel, walk.spread.grid(walk.outputs), values, indexes, input, None, walk.layout, *walk.numbers(1))
        return
    pieces = call.scratch((parts, walk.outputs), input.dtype)
    places = call.scratch((parts, walk.outputs), int64)
    kernel = select_kernel(largest, input.dtype, input.dtype, lanes, across)
    call.launch(kernel, walk.spread.grid(walk.outputs), pieces, places, input, None, walk.layout, *walk.numbers(parts))
    last = walk_of(pieces.shape, pieces.strides, (0,), may_split=False)
    kernel = select_kernel(largest, input.dtype, input.dtype, *last.spread[:2])
    call.launch(kernel, last.spread.grid(last.outputs), values, indexes, pieces, places, last.layout, *last.numbers(1))


def _planned(call: Any, input: Any, dims: Sequence[int]) -> Walk:
    key = ("walk", input.shape, input.strides, tuple(dims))
    walk = call.plans.get(key)
    if walk is None:
        walk = walk_of(input.shape, input.strides, dims)
        if len(walk.layout[0]) > MAX_DIMS:
            raise ShapeError(
                f"{call.name}: {len(walk.layout[0])} dimensions do not collapse to {MAX_DIMS} or fewer: shape "
                f"{list(input.shape)}, strides {list(input.strides)}, reduced {list(dims)}",
                hint="make the operand contiguous, or reduce in two steps",
            )
        call.plans[key] = walk
    return walk  # type: ignore[no-any-return]


# dimensions and shapes


def lines_of(
    shape: Sequence[int], operands: Sequence[Sequence[int]], dim: int
) -> tuple[tuple[Any, Any], int, int, bool]:
    """(layout with `dim` last and the rest collapsed, rows, size of `dim`, whether rows are walked across)."""
    rest = [each for each in range(len(shape)) if each != dim]
    walked = [[strides[each] for each in rest] for strides in operands]
    sizes, steps = st.collapse([shape[each] for each in rest], walked)
    size, along = (shape[dim], [strides[dim] for strides in operands]) if shape else (1, [1] * len(operands))
    layout = (*sizes, size), [(*before, step) for before, step in zip(steps, along)]
    is_inner = not sizes or along[-1] <= min(steps[-1])
    return layout, prod(sizes), size, is_inner


def dims_of(name: str, dim: Dims, ndim: int) -> tuple[int, ...]:
    """The reduced dimensions, counted from the front and sorted.  None and () stand for all of them."""
    if dim is None or dim == () or dim == []:
        return tuple(range(ndim))
    found = [st.wrap_dim(each, ndim, name) for each in ([dim] if isinstance(dim, int) else dim)]
    for each in found:
        if found.count(each) > 1:
            raise ShapeError(f"{name}: dim {each} appears multiple times in the list of dims {dim}")
    return tuple(sorted(found)) if ndim else ()


def reduced_shape(shape: Sequence[int], dims: Sequence[int], keepdim: bool) -> list[int]:
    if keepdim:
        return [1 if dim in dims else size for dim, size in enumerate(shape)]
    return [size for dim, size in enumerate(shape) if dim not in dims]


def restored(value: Any, shape: Sequence[int], dim: Dims, keepdim: bool) -> Any:
    """A result with its reduced dimensions back, as size 1."""
    return value if keepdim else value.reshape(reduced_shape(shape, dims_of("reshape", dim, len(shape)), True))


def count_of(shape: Sequence[int], dims: Sequence[int]) -> int:
    """How many values make one result."""
    return prod(shape[dim] for dim in dims)


def require_values(name: str, shape: Sequence[int], dim: Dims) -> None:
    """Raise ShapeError or IndexRangeError if there is nothing to choose from."""
    if dim is None and prod(shape) == 0:
        raise ShapeError(
            f"{name}: expected reduction dim to be specified for an input of shape {list(shape)}, without elements",
            hint="specify the reduction dim with the 'dim' argument",
        )
    for each in dims_of(name, dim, len(shape)):
        if shape[each] == 0:
            raise IndexRangeError(
                f"{name}: expected reduction dim {each} to have non-zero size, the shape is {list(shape)}"
            )


# samples


def folds() -> Iterator[Sample]:
    """One operand and dimensions: all, one, several, kept, strided, empty, zero-dimensional."""
    yield Sample((Array((3, 4)),))
    yield Sample((Array((3, 4)), 0))
    yield Sample((Array((2, 3, 4)), (0, -1), True))
    yield Sample((Array((4, 3), layout="transposed"), 1))
    yield Sample((Array((2, 6), layout="strided"), -1))
    yield Sample((Array((3, 0)), 0))
    yield Sample((Array(()),))
    yield Sample((Array((2, 300)), 1))


def bad_dims() -> Iterator[ErrorSample]:
    yield ErrorSample((Array((2, 3)), 2), IndexRangeError, r"expected to be in \[-2, 1\], but got 2")


def bad_lists() -> Iterator[ErrorSample]:
    yield from bad_dims()
    yield ErrorSample((Array((2, 3)), (0, -2)), ShapeError, "dim 0 appears multiple times")


def bad_floats() -> Iterator[ErrorSample]:
    yield from bad_lists()
    yield ErrorSample((Array((2, 3), dtype="int64"),), DtypeError, "must be floating point, got int64")


def nothing_to_choose() -> Iterator[ErrorSample]:
    yield from bad_dims()
    yield ErrorSample((Array((0, 3)),), ShapeError, "expected reduction dim to be specified")
    yield ErrorSample((Array((0, 3)), 0), IndexRangeError, "expected reduction dim 0 to have non-zero size")


# sums and products


def _fold(
    call: Any, fold: Fold, input: Any, dim: Dims, keepdim: bool, out: dtype, wide: dtype, scale: float = 1.0
) -> Any:
    dims = dims_of(call.name, dim, len(input.shape))
    result = call.output(reduced_shape(input.shape, dims, keepdim), out)
    run_fold(call, fold, input, dims, result, wide, scale)
    return result


def _total(call: Any, fold: Fold, boolean: Fold, input: Any, dim: Dims, keepdim: bool, wanted: dtype | None) -> Any:
    out = wanted or (input.dtype if input.dtype.is_floating_point else int64)
    if out is bool_:
        return _fold(call, boolean, input, dim, keepdim, bool_, bool_)
    return _fold(call, fold, input, dim, keepdim, out, out.wide if out.is_floating_point else int64)


@operator(samples=folds, errors=bad_lists, dtypes=dtypes.ALL, name="sum")
def sum_(call: Any, input: Operand, dim: Dims = None, keepdim: bool = False, dtype: Any = None) -> Any:
    """Sum over some dimensions, or all of them.

    dtype: of the result; None keeps floating types and gives int64 for the others.
    Shapes: the input's without the summed dimensions, or with size 1 there if keepdim.
    Host:   returns at once.
    Raises: IndexRangeError if a dimension is out of range, ShapeError if one is given twice.
    """
    return _total(call, SUM, ANY, input, dim, keepdim, dtype)


@sum_.derivative
def _(grad: Any, input_shape: Any, dim: Any, keepdim: Any) -> Any:
    return restored(grad, input_shape, dim, keepdim).expand(input_shape)


@operator(samples=folds, errors=bad_lists, dtypes=dtypes.ALL, name="prod")
def prod_(call: Any, input: Operand, dim: Dims = None, keepdim: bool = False, dtype: Any = None) -> Any:
    """Product over some dimensions, or all of them.  Its second derivative is right where no factor is 0.

    dtype: of the result; None keeps floating types and gives int64 for the others.
    Shapes: the input's without the multiplied dimensions, or with size 1 there if keepdim.
    Host:   returns at once.
    Raises: IndexRangeError if a dimension is out of range, ShapeError if one is given twice.
    """
    return _total(call, PROD, ALL, input, dim, keepdim, dtype)


@prod_.derivative
def _(grad: Any, input: Any, dim: Any, keepdim: Any) -> Any:
    is_zero = input == 0
    others = input.masked_fill(is_zero, 1)
    zeros, product = is_zero.sum(dim, True), others.prod(dim, True)
    rest = REGISTRY["where"](is_zero, product * (zeros == 1), product / others * (zeros == 0))
    return restored(grad, input.shape, dim, keepdim) * rest


def _floating(name: str, input: Any, wanted: dtype | None = None) -> dtype:
    kind = wanted or input.dtype
    if not kind.is_floating_point:
        raise DtypeError(f"{name}: input must be floating point, got {kind.name}", hint="convert with .float()")
    return kind


@operator(samples=folds, errors=bad_floats, dtypes=FLOATING_TYPES)
def mean(call: Any, input: Operand, dim: Dims = None, keepdim: bool = False, dtype: Any = None) -> Any:
    """Mean over some dimensions, or all of them; NaN where there are no elements.

    Shapes: the input's without the averaged dimensions, or with size 1 there if keepdim.
    Host:   returns at once.
    Raises: DtypeError for integers unless dtype says a floating type; IndexRangeError, ShapeError for bad dimensions.
    """
    kind = _floating(call.name, input, dtype)
    count = count_of(input.shape, dims_of(call.name, dim, len(input.shape)))
    return _fold(call, MEAN, input, dim, keepdim, kind, kind.wide, count)


@mean.derivative
def _(grad: Any, input_shape: Any, dim: Any, keepdim: Any) -> Any:
    count = count_of(input_shape, dims_of("mean", dim, len(input_shape)))
    return restored(grad / count, input_shape, dim, keepdim).expand(input_shape)


def _spreads() -> Iterator[Sample]:
    yield from (sample for sample in folds() if sample.args[0].shape)


@operator(samples=_spreads, errors=bad_floats, dtypes=FLOATING_TYPES, method=False, function=False)
def variance(call: Any, input: Operand, dim: Dims = None, keepdim: bool = False, correction: float = 1) -> Any:
    """Mean squared distance from the mean, with count - correction for the count: what `var` calls."""
    return _spread_about_mean(call, VARIANCE, input, dim, keepdim, correction)


@operator(samples=_spreads, errors=bad_floats, dtypes=FLOATING_TYPES, method=False, function=False)
def deviation(call: Any, input: Operand, dim: Dims = None, keepdim: bool = False, correction: float = 1) -> Any:
    """Square root of `variance`: what `std` calls."""
    return _spread_about_mean(call, DEVIATION, input, dim, keepdim, correction)


def _spread_about_mean(call: Any, fold: Fold, input: Any, dim: Dims, keepdim: bool, correction: float) -> Any:
    kind = _floating(call.name, input)
    dims = dims_of(call.name, dim, len(input.shape))
    shape, count = reduced_shape(input.shape, dims, keepdim), count_of(input.shape, dims)
    center, out = call.scratch(shape, kind.wide), call.output(shape, kind)
    run_fold(call, MEAN, input, dims, center, kind.wide, count)
    run_fold(call, fold, input, dims, out, kind.wide, max(count - correction, 0), center)
    return out


def _variance_gradient(grad: Any, input: Any, dim: Any, keepdim: Any, correction: float) -> Any:
    dims = dims_of("var", dim, len(input.shape))
    freedom = count_of(input.shape, dims) - correction
    scale = 2 / freedom if freedom > 0 else float("inf")
    return restored(grad, input.shape, dim, keepdim) * scale * (input - input.mean(dims, True))


@variance.derivative
def _(grad: Any, input: Any, dim: Any, keepdim: Any, correction: Any) -> Any:
    return _variance_gradient(grad, input, dim, keepdim, correction)


@deviation.derivative
def _(grad: Any, out: Any, input: Any, dim: Any, keepdim: Any, correction: Any) -> Any:
    halved = (grad / (out * 2)).masked_fill(out == 0, 0)
    return _variance_gradient(halved, input, dim, keepdim, correction)


def _correction(dim: Any, unbiased: bool, correction: float | None) -> tuple[Any, float]:
    """`var(False)` is short for `var(unbiased=False)`."""
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    return dim, int(unbiased) if correction is None else correction


@composite(samples=_spreads, errors=bad_floats, dtypes=FLOATING_TYPES)
def var(input: Operand, dim: Any = None, unbiased: bool = True, keepdim: bool = False, correction: Any = None) -> Any:
    """Variance over some dimensions: squared distances from the mean, summed, over count - correction.

    unbiased: short for correction 1 (True) or 0.
    Shapes: the input's without the reduced dimensions, or with size 1 there if keepdim.
    Host:   returns at once.
    Raises: DtypeError for integers; IndexRangeError, ShapeError for bad dimensions.
    """
    dim, correction = _correction(dim, unbiased, correction)
    return variance(input, dim, keepdim, correction)


@composite(samples=_spreads, errors=bad_floats, dtypes=FLOATING_TYPES)
def std(input: Operand, dim: Any = None, unbiased: bool = True, keepdim: bool = False, correction: Any = None) -> Any:
    """Standard deviation over some dimensions: the square root of `var`.  Its gradient is 0 where it is 0.

    Shapes: the input's without the reduced dimensions, or with size 1 there if keepdim.
    Host:   returns at once.
    Raises: DtypeError for integers; IndexRangeError, ShapeError for bad dimensions.
    """
    dim, correction = _correction(dim, unbiased, correction)
    return deviation(input, dim, keepdim, correction)


# truth


def _truth(call: Any, fold: Fold, input: Any, dim: Dims, keepdim: bool) -> Any:
    return _fold(call, fold, input, dim, keepdim, uint8 if input.dtype is uint8 else bool_, bool_)


@operator(samples=folds, errors=bad_lists, dtypes=dtypes.ALL, name="all")
def all_(call: Any, input: Operand, dim: Dims = None, keepdim: bool = False) -> Any:
    """Whether every element is nonzero (NaN is); True where there are none.

    Shapes: the input's without the reduced dimensions, or with size 1 there if keepdim.  uint8 gives uint8, else bool.
    Host:   returns at once.
    Raises: IndexRangeError if a dimension is out of range, ShapeError if one is given twice.
    """
    return _truth(call, ALL, input, dim, keepdim)


@operator(samples=folds, errors=bad_lists, dtypes=dtypes.ALL, name="any")
def any_(call: Any, input: Operand, dim: Dims = None, keepdim: bool = False) -> Any:
    """Whether some element is nonzero (NaN is); False where there are none.

    Shapes: the input's without the reduced dimensions, or with size 1 there if keepdim.  uint8 gives uint8, else bool.
    Host:   returns at once.
    Raises: IndexRangeError if a dimension is out of range, ShapeError if one is given twice.
    """
    return _truth(call, ANY, input, dim, keepdim)


# largest and smallest


class MaxResult(NamedTuple):
    values: Any
    indices: Any

    def __repr__(self) -> str:
        return f"torch.return_types.max(\nvalues={self.values!r},\nindices={self.indices!r})"


class MinResult(NamedTuple):
    values: Any
    indices: Any

    def __repr__(self) -> str:
        return f"torch.return_types.min(\nvalues={self.values!r},\nindices={self.indices!r})"


def _extreme(call: Any, fold: Fold, input: Any, dim: Dims, keepdim: bool) -> Any:
    require_values(call.name, input.shape, None if dim == () else dim)
    return _fold(call, fold, input, dim, keepdim, input.dtype, input.dtype.wide)


def _shared(grad: Any, out: Any, input: Any, dim: Any, keepdim: Any) -> Any:
    """Equal shares of the gradient for all that equal the result."""
    hits = input == restored(out, input.shape, dim, keepdim)
    return hits * (restored(grad, input.shape, dim, keepdim) / hits.sum(dim, True))


def _extremes() -> Iterator[Sample]:
    yield from (sample for sample in folds() if 0 not in sample.args[0].shape)
    yield Sample((Array((0, 3)), 1))


def _extreme_errors() -> Iterator[ErrorSample]:
    yield from nothing_to_choose()
    yield from bad_lists()


@operator(samples=_extremes, errors=_extreme_errors, dtypes=dtypes.ALL)
def amax(call: Any, input: Operand, dim: Dims = (), keepdim: bool = False) -> Any:
    """Largest value over some dimensions, or all of them; NaN if there is one.  Equal values share the gradient.

    Shapes: the input's without the reduced dimensions, or with size 1 there if keepdim.
    Host:   returns at once.
    Raises: ShapeError or IndexRangeError if there is nothing to choose from, or for bad dimensions.
    """
    return _extreme(call, LARGEST, input, dim, keepdim)


@amax.derivative
def _(grad: Any, out: Any, input: Any, dim: Any, keepdim: Any) -> Any:
    return _shared(grad, out, input, dim, keepdim)


@operator(samples=_extremes, errors=_extreme_errors, dtypes=dtypes.ALL)
def amin(call: Any, input: Operand, dim: Dims = (), keepdim: bool = False) -> Any:
    """Smallest value over some dimensions, or all of them; NaN if there is one.  Equal values share the gradient.

    Shapes: the input's without the reduced dimensions, or with size 1 there if keepdim.
    Host:   returns at once.
    Raises: ShapeError or IndexRangeError if there is nothing to choose from, or for bad dimensions.
    """
    return _extreme(call, SMALLEST, input, dim, keepdim)


@amin.derivative
def _(grad: Any, out: Any, input: Any, dim: Any, keepdim: Any) -> Any:
    return _shared(grad, out, input, dim, keepdim)


def _chosen(call: Any, largest: bool, input: Any, dim: int | None, keepdim: bool, with_values: bool) -> tuple[Any, Any]:
    require_values(call.name, input.shape, dim)
    dims = dims_of(call.name, dim, len(input.shape))
    shape = reduced_shape(input.shape, dims, keepdim)
    indexes = call.output(shape, int64)
    values = call.output(shape, input.dtype) if with_values else None
    run_select(call, largest, input, dims, values, indexes)
    return values, indexes


def _placed(grad: Any, indices: Any, shape: Any, dim: int, keepdim: bool) -> Any:
    """The gradient of chosen values, put where they were chosen."""
    grad, indices = restored(grad, shape, dim, keepdim), restored(indices, shape, dim, keepdim)
    return grad.new_zeros(shape).scatter(dim, indices, grad)


def _choices_of_one() -> Iterator[Sample]:
    yield Sample((Array((3, 4)), 0))
    yield Sample((Array((4, 3), layout="transposed"), -1, True))
    yield Sample((Array((0, 3)), 1))
    yield Sample((Array(()), 0))


def _choice_errors() -> Iterator[ErrorSample]:
    yield from bad_dims()
    yield ErrorSample((Array((0, 3)), 0), IndexRangeError, "expected reduction dim 0 to have non-zero size")


@operator(samples=_choices_of_one, errors=_choice_errors, dtypes=dtypes.ALL, method=False, function=False)
def max_dim(call: Any, input: Operand, dim: int, keepdim: bool = False) -> Any:
    """(values, indices) of the largest along one dimension: what `max` with a dimension calls."""
    return MaxResult(*_chosen(call, True, input, dim, keepdim, True))


@max_dim.derivative
def _(grads: Any, outs: Any, input_shape: Any, dim: Any, keepdim: Any) -> Any:
    return _placed(grads[0], outs[1], input_shape, dim, keepdim)


@operator(samples=_choices_of_one, errors=_choice_errors, dtypes=dtypes.ALL, method=False, function=False)
def min_dim(call: Any, input: Operand, dim: int, keepdim: bool = False) -> Any:
    """(values, indices) of the smallest along one dimension: what `min` with a dimension calls."""
    return MinResult(*_chosen(call, False, input, dim, keepdim, True))


@min_dim.derivative
def _(grads: Any, outs: Any, input_shape: Any, dim: Any, keepdim: Any) -> Any:
    return _placed(grads[0], outs[1], input_shape, dim, keepdim)


def _one_or_all() -> Iterator[Sample]:
    yield from _choices_of_one()
    yield Sample((Array((3, 4)),))
    yield Sample((Array(()),))


@composite(samples=_one_or_all, errors=nothing_to_choose, dtypes=dtypes.ALL, name="max")
def max_(input: Operand, dim: Any = None, keepdim: bool = False) -> Any:
    """Largest value; along one dimension (values, indices); with a second tensor `maximum` of both.

    NaN counts as larger than any number; of equal values the first is chosen.
    Shapes: without dim (); with it the input's without that dimension, or with size 1 there if keepdim.
    Host:   returns at once.
    Raises: ShapeError or IndexRangeError if there is nothing to choose from.
    """
    if hasattr(dim, "dtype"):
        return REGISTRY["maximum"](input, dim)
    if dim is not None:
        return max_dim(input, dim, keepdim)
    require_values("max", input.shape, None)
    return amax(input)


@composite(samples=_one_or_all, errors=nothing_to_choose, dtypes=dtypes.ALL, name="min")
def min_(input: Operand, dim: Any = None, keepdim: bool = False) -> Any:
    """Smallest value; along one dimension (values, indices); with a second tensor `minimum` of both.

    NaN counts as smaller than any number; of equal values the first is chosen.
    Shapes: without dim (); with it the input's without that dimension, or with size 1 there if keepdim.
    Host:   returns at once.
    Raises: ShapeError or IndexRangeError if there is nothing to choose from.
    """
    if hasattr(dim, "dtype"):
        return REGISTRY["minimum"](input, dim)
    if dim is not None:
        return min_dim(input, dim, keepdim)
    require_values("min", input.shape, None)
    return amin(input)


@operator(samples=_one_or_all, errors=nothing_to_choose, dtypes=dtypes.ALL, differentiable=False)
def argmax(call: Any, input: Operand, dim: int | None = None, keepdim: bool = False) -> Any:
    """Index of the largest value along a dimension, or in the flattened input: NaN before numbers, first of equals.

    Shapes: as `max`.  The result is int64.
    Host:   returns at once.
    Raises: ShapeError or IndexRangeError if there is nothing to choose from.
    """
    return _chosen(call, True, input, dim, keepdim, False)[1]


@operator(samples=_one_or_all, errors=nothing_to_choose, dtypes=dtypes.ALL, differentiable=False)
def argmin(call: Any, input: Operand, dim: int | None = None, keepdim: bool = False) -> Any:
    """Index of the smallest value along a dimension, or in the flattened input: NaN before numbers, first of equals.

    Shapes: as `min`.  The result is int64.
    Host:   returns at once.
    Raises: ShapeError or IndexRangeError if there is nothing to choose from.
    """
    return _chosen(call, False, input, dim, keepdim, False)[1]


# norms


@cache
def norm_fold(p: float) -> Fold:
    """Sum of |x|^p, then its p-th root."""
    if p == 2:
        return SUM._replace(name="norm2", map="x * x", finish="sqrt(a)", mapped=_squares, finished=_square_root)
    name = f"norm{p:g}".replace(".", "_").replace("-", "minus").replace("+", "")

    def mapped(rows: Any, center: Any) -> Any:
        return np.abs(rows) ** rows.dtype.type(p)

    def finished(total: Any, scale: Any) -> Any:
        return total ** total.dtype.type(1 / p)

    return SUM._replace(
        name=name, map=f"pow(fabs(x), (A){p!r})", finish=f"pow(a, (A){1 / p!r})", mapped=mapped, finished=finished
    )


def _squares(rows: Any, center: Any) -> Any:
    return np.square(rows)


def _square_root(total: Any, scale: Any) -> Any:
    return np.sqrt(total)


@operator(samples=folds, errors=bad_floats, dtypes=FLOATING_TYPES, method=False, function=False)
def vector_norm(call: Any, input: Operand, dim: Dims = None, keepdim: bool = False, p: float = 2.0) -> Any:
    """p-norm for a finite p other than 0: what `norm` calls."""
    if not input.dtype.is_floating_point:
        raise DtypeError(f"norm: input must be floating point, got {input.dtype.name}", hint="convert with .float()")
    dims = dims_of(call.name, dim, len(input.shape))
    out = call.output(reduced_shape(input.shape, dims, keepdim), input.dtype)
    run_fold(call, norm_fold(float(p)), input, dims, out, input.dtype.wide)
    return out


@vector_norm.derivative
def _(grad: Any, out: Any, input: Any, dim: Any, keepdim: Any, p: Any) -> Any:
    scaled = (grad / (out if p == 2 else out ** (p - 1))).masked_fill(out == 0, 0)
    scaled = restored(scaled, input.shape, dim, keepdim)
    if p == 2:
        return input * scaled
    return (input.sign() * input.abs() ** (p - 1)).masked_fill(input == 0, 0) * scaled


def _norms() -> Iterator[Sample]:
    for p in (2, 1, 3, 0.5, 0, inf, -inf):
        yield Sample((Array((3, 4), grad=p != 0), p))
    yield Sample((Array((2, 3, 4)),), {"dim": (0, 2), "keepdim": True})
    yield Sample((Array((4, 3), layout="transposed"), 1.5, 0))
    yield Sample((Array((2, 0)), "fro", 1))


def _bad_norms() -> Iterator[ErrorSample]:
    for sample in bad_floats():
        yield ErrorSample(sample.args[:1], sample.error, sample.match, {"dim": (*sample.args, None)[1]})


@composite(samples=_norms, errors=_bad_norms, dtypes=FLOATING_TYPES)
def norm(input: Operand, p: Any = 2, dim: Dims = None, keepdim: bool = False, dtype: Any = None) -> Any:
    """p-norm of the elements over some dimensions, or all of them; p may be inf, -inf or 0 (counts nonzero).

    Its gradient is 0 where the norm is 0.
    Shapes: the input's without the reduced dimensions, or with size 1 there if keepdim.
    Host:   returns at once.
    Raises: DtypeError for integers; IndexRangeError, ShapeError for bad dimensions.
    """
    values: Any = input if dtype is None else input.to(dtype)  # type: ignore[attr-defined]
    p = 2.0 if p == "fro" else float(p)
    if abs(p) != inf and p != 0:
        return vector_norm(values, dim, keepdim, p)
    dims = dims_of("norm", dim, len(values.shape))
    if p == 0:
        return (values != 0).sum(dims, keepdim).to(values.dtype)
    return values.abs().amax(dims, keepdim) if p > 0 else values.abs().amin(dims, keepdim)


# running sums


@cache
def running_sum_kernel(source: dtype, wide: dtype, out: dtype) -> Kernel:
    """Sums of all values up to each one, along the last dimension of a layout."""
    entry = f"running_sum_{source.name}_{out.name}"
    code = f"""{SOURCE}
extern "C" __global__ void __launch_bounds__({THREADS}) {entry}({out.cuda}* out, const {source.cuda}* input,
    const __grid_constant__ Layout<2> layout, long long rows, long long size, long long reverse) {{
  running_sum<{wide.cuda}>(out, input, layout, rows, size, reverse != 0);
}}
"""

    def reference(out: Any, input: Any, rows: int, size: int, reverse: int) -> None:
        step = -1 if reverse else 1
        values = input.astype(wide.numpy, copy=False)[..., ::step]
        out[...] = np.cumsum(values, axis=-1, dtype=wide.numpy)[..., ::step]

    params = [
        Pointer("out", out, "w", "layout"),
        Pointer("input", source, "r", "layout"),
        Strided("layout", ("out", "input")),
    ]
    numbers = [Scalar(name, "int64") for name in ("rows", "size", "reverse")]
    return Kernel(entry, code, [*params, *numbers], reference)


def _sum_samples() -> Iterator[Sample]:
    yield Sample((Array((3, 5)), 0))
    yield Sample((Array((5, 3), layout="transposed"), -1))
    yield Sample((Array((2, 600)), 1))
    yield Sample((Array((0, 3)), 0))
    yield Sample((Array(()), 0))


@operator(samples=_sum_samples, errors=bad_dims, dtypes=dtypes.ALL, method=False, function=False)
def running_sum(call: Any, input: Operand, dim: int, dtype: Any = None, reverse: bool = False) -> Any:
    """Sum of the elements up to each one, or with `reverse` from each one on: what `cumsum` calls."""
    dim = st.wrap_dim(dim, len(input.shape), call.name)
    kind = dtype or (input.dtype if input.dtype.is_floating_point else int64)
    if kind is bool_:
        raise DtypeError(f"{call.name}: running sums of type bool are not supported", hint="use dtype=torch.int64")
    out = call.output(input.shape, kind)
    if out.numel():
        layout, rows, size, _ = lines_of(input.shape, [out.strides, input.strides], dim)
        kernel = running_sum_kernel(input.dtype, kind.wide if kind.is_floating_point else int64, kind)
        call.launch(kernel, Grid((min(rows, MAX_BLOCKS), 1, 1), THREADS), out, input, layout, rows, size, int(reverse))
    return out


@running_sum.derivative
def _(grad: Any, dim: int, reverse: bool) -> Any:
    return running_sum(grad, dim, None, not reverse)


@composite(samples=_sum_samples, errors=bad_dims, dtypes=dtypes.ALL)
def cumsum(input: Operand, dim: int, dtype: Any = None) -> Any:
    """Sum of the elements up to each one along `dim`.

    dtype: of the result; None keeps floating types and gives int64 for the others.
    Shapes: the result has the input's shape.
    Host:   returns at once.
    Raises: IndexRangeError if dim is out of range.
    """
    return running_sum(input, dim, dtype)
