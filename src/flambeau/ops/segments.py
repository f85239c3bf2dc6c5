"""Reductions of neighbouring segments: segment_reduce (kernels/segments.cu)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from math import inf, prod
from typing import Any

from .. import strides as st
from ..dtypes import FLOATING_TYPES, dtype, int64
from ..errors import ArgumentError, DtypeError, ModeError, ShapeError, ValueRangeError
from ..host import np
from ..kernel import Kernel, Pointer, Scalar
from .gather_scatter import check_join, join_gradients
from .operator import REGISTRY, Array, Call, ErrorSample, Operand, Sample, Value, composite, operator
from .pointwise import THREADS, grid_over, pointwise, source_text, to_bool
from .reduction_kernels import REDUCE_SOURCE, WARP
from .scans import running_sum
from .searching import search_rows
from .views import expand, reshape

SEGMENTS = {"sum": ("sum", 0), "mean": ("sum", 0), "prod": ("prod", 1), "max": ("amax", -inf), "min": ("amin", inf)}
KINDS = ("sum", "mean", "prod", "max", "min")  # in the order of kernels/segments.cu
WARP_SEGMENT, BLOCK_SEGMENT = 64, 8192  # average elements per segment from which a warp or a block reduces it
JOINED = {"prod": "multiply", "max": "maximum", "min": "minimum"}  # NumPy's functions; the others use add


@cache
def _segments_kernel(dtype: dtype) -> Kernel:
    entry, t, c = f"reduce_segments_{dtype.name}", dtype.cuda, dtype.wide.cuda
    names = ("kind", "has_initial", "outer", "segments", "size", "inner", "lanes")
    source = f"""{REDUCE_SOURCE}{source_text("segments.cu")}
extern "C" __global__ void __launch_bounds__({THREADS}) {entry}({t}* out, const {t}* data, const long long* ends,
    double initial, {", ".join(f"long long {name}" for name in names)}) {{
  reduce_segments(out, data, ends, SegmentJoin<{c}>{{(Segments)kind}}, ({c})initial, has_initial != 0, outer, segments,
                  size, inner, (int)lanes);
}}
"""

    def reference(
        out: Any, data: Any, ends: Any, initial: float, kind: int, has_initial: int, outer: int, segments: int,
        size: int, inner: int, lanes: int,
    ) -> None:  # fmt: skip
        number = dtype.wide.numpy.type
        join = getattr(np, JOINED.get(KINDS[kind], "add"))
        for row in range(outer):
            start = 0
            for segment, end in enumerate(ends[row]):
                start = min(max(start, 0), size)
                stop = min(max(int(end), start), size)
                values = data[row, start:stop].astype(dtype.wide.numpy, copy=False) if size else np.empty((0, inner))
                total = join.reduce(values, axis=0, initial=number(initial))
                if KINDS[kind] == "mean":
                    total = total / number(1 if has_initial and stop == start else stop - start)
                out[row, segment] = total
                start = int(end)

    params = [
        Pointer("out", dtype, "w", ("outer", "segments", "inner")),
        Pointer("data", dtype, "r", ("outer", "size", "inner")),
        Pointer("ends", int64, "r", ("outer", "segments")),
        Scalar("initial", "float64"),
        *[Scalar(name, "int64") for name in names],
    ]
    return Kernel(entry, source, params, reference, 1.0)


def _reduced_samples() -> Iterator[Sample]:
    ends = Array((1,), low=6, high=6, dtype="int64", grad=False)
    for reduce in KINDS:
        yield Sample((Array((6, 2), low=0.5, high=2), ends, reduce, None))
    yield Sample((Array((6,), layout="strided"), ends, "mean", 2.0))
    yield Sample((Array((2, 500, 3), grad=False), Array((2, 2), low=500, high=500, dtype="int64"), "max", None))
    yield Sample((Array((0, 2)), Array((2,), low=0, high=0, dtype="int64", grad=False), "sum", 1.0))


@operator(samples=_reduced_samples, dtypes=FLOATING_TYPES, method=False, function=False)
def reduce_segments(call: Call, data: Operand, ends: Operand, reduce: str, initial: float | None) -> Any:
    """Compute `segment_reduce`, of segments that end at `ends`, along the last dimension of `ends`.

    Host: returns at once.
    """
    shape, at = tuple(data.shape), len(ends.shape) - 1
    out = call.output((*ends.shape, *shape[at + 1 :]), data.dtype)
    if out.numel():
        outer, segments, size, inner = prod(shape[:at]), ends.shape[at], shape[at], prod(shape[at + 1 :])
        length = size // segments
        lanes = 1 if length < WARP_SEGMENT else WARP if length < BLOCK_SEGMENT else THREADS
        start = float(SEGMENTS[reduce][1] if initial is None else initial)
        numbers = KINDS.index(reduce), int(initial is not None), outer, segments, size, inner, lanes
        operands = call.contiguous(data) if data.numel() else None, call.contiguous(ends)
        call.launch(_segments_kernel(data.dtype), grid_over(out.numel() * lanes, 1), out, *operands, start, *numbers)
    return out


@reduce_segments.derivative
def _(grad: Any, out: Any, data: Any, ends: Any, reduce: str, initial: float | None) -> Any:
    shape, at = tuple(data.shape), len(ends.shape) - 1
    rest = shape[at + 1 :]
    places = REGISTRY["arange"](ends.new_empty((shape[at],))).expand(shape[: at + 1]).contiguous()
    index = search_rows(ends.contiguous(), places, None, True)
    index = expand(reshape(index, (*shape[: at + 1], *(1 for _ in rest))), shape)
    how, identity = SEGMENTS[reduce]
    if reduce == "mean":
        counts = REGISTRY["diff"](ends, 1, at, ends.new_zeros((*ends.shape[:at], 1)))
        counts = reshape(counts, (*counts.shape, *(1 for _ in rest)))
        grad = grad / (counts if initial is None else counts.clamp(min=1)).to(data.dtype)
    start = data.new_full((*ends.shape, *rest), identity if initial is None else initial)
    return join_gradients(grad, out, start, at, index, data, how, True)[1], None


def _fitting() -> Iterator[Sample]:
    yield Sample((Array((), dtype="int64"), Array((3,), low=3, high=5, dtype="int64"), 4))


@pointwise(
    dtype=to_bool, cuda="least >= 0 && total == size", samples=_fitting, dtypes=(int64,), inplace=False, method=False,
    function=False, differentiable=False,
)  # fmt: skip
def segments_fit(least: Value, total: Value, size: Value) -> Any:
    """Test whether segments with this least and total length divide `size` elements."""
    return np.logical_and(np.greater_equal(least, 0), np.equal(total, size))


def _segment_samples() -> Iterator[Sample]:
    lengths = Array((3,), low=2, high=2, dtype="int64", grad=False)
    for reduce in SEGMENTS:
        yield Sample((Array((6, 2), low=0.5, high=2), reduce), {"lengths": lengths})
    yield Sample((Array((6, 2)), "mean"), {"lengths": lengths, "initial": 2.0, "unsafe": True})


def _segment_errors() -> Iterator[ErrorSample]:
    yield ErrorSample((Array((3,)), "sum"), ArgumentError, "either lengths or offsets")
    lengths = {"lengths": Array((3,), low=2, high=2, dtype="int64")}
    yield ErrorSample((Array((5, 2)), "sum"), ValueRangeError, "sum to 5 along dimension 0, .* a sum of 6", lengths)
    yield ErrorSample((Array((6, 2)), "any"), ModeError, "one of sum, mean, prod, max, min, got 'any'", lengths)
    wrong = {**lengths, "axis": 1}
    yield ErrorSample((Array((6, 2)), "sum"), ShapeError, r"axis 1 .* lengths of shape \[3\]", wrong)


@composite(
    samples=_segment_samples, errors=_segment_errors, dtypes=FLOATING_TYPES, host="waits", method=False, takes_out=False
)
def segment_reduce(
    data: Operand, reduce: str, *, lengths: Operand | None = None, indices: Operand | None = None,
    offsets: Operand | None = None, axis: int = 0, unsafe: bool = False, initial: float | None = None,
) -> Any:  # fmt: skip
    """Split a dimension into consecutive segments, and reduce each to its "sum", "mean", "prod", "max" or "min".

    lengths: the sizes of the segments; or offsets: their first indexes, then the end of the last.
    indices: must be None.
    axis: the dimension to split, which must be the last dimension of lengths or offsets.
    initial: a value that every segment includes; without it, an empty segment has sum 0, product 1 and mean NaN.
    unsafe: True skips the check of the lengths.
    Shapes: those of the data, with the number of segments along `axis`.
    Host:   waits for the lengths unless unsafe.
    Raises: ValueRangeError unless either lengths or offsets are given, and for lengths that do not fit, ModeError for
            any other reduce, ShapeError unless `axis` is the last dimension of the lengths, DtypeError for integers.
    Example:
        >>> torch.segment_reduce(torch.tensor([1.0, 2.0, 3.0]), "sum", lengths=torch.tensor([1, 2]))
        tensor([1., 5.])
    """
    if (lengths is None) == (offsets is None) or indices is not None:
        raise ValueRangeError(
            "expected either lengths or offsets, and no indices", hint="pass one of them", operator="segment_reduce"
        )
    check_join("segment_reduce", reduce, tuple(SEGMENTS))
    bounds: Any = lengths if offsets is None else offsets
    at = st.wrap_dim(axis, len(data.shape), "segment_reduce")
    if len(bounds.shape) - 1 != at or tuple(bounds.shape[:at]) != tuple(data.shape[:at]):
        raise ShapeError(
            f"axis {at} of data of shape {list(data.shape)} is not the last dimension of lengths of shape "
            f"{list(bounds.shape)}",
            hint="give lengths for each row of the dimensions before the axis",
            operator="segment_reduce",
        )
    if not data.dtype.is_floating_point:
        raise DtypeError(
            f"data must be floating point, got {data.dtype.name}",
            hint="convert with .float()",
            operator="segment_reduce",
        )
    ends = running_sum(bounds, at) if offsets is None else bounds.narrow(at, 1, bounds.shape[at] - 1).to(int64)
    if not unsafe:
        _check_segments(bounds if offsets is None else REGISTRY["diff"](bounds), data.shape[at], at)
    return reduce_segments(data, ends, reduce, initial)


def _check_segments(counts: Any, size: int, dim: int) -> None:
    """Raise ValueRangeError for negative lengths, or lengths whose sum is not `size`."""
    if not counts.numel():
        return
    least, total = counts.amin(), counts.sum(dim)
    are_fit: Any = segments_fit(least, total, size)
    if not bool(are_fit if not are_fit.shape else are_fit.all()):
        wrong = total.reshape(-1)[total.reshape(-1) != size].tolist()
        raise ValueRangeError(
            f"lengths must be at least 0 and sum to {size} along dimension {dim}, got a least length of {least.item()} "
            f"and a sum of {wrong[0] if wrong else size}",
            hint="pass lengths that cover the whole dimension",
            operator="segment_reduce",
        )
