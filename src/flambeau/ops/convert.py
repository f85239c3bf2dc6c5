"""Changing type and layout, and filling: what every copy and factory is made of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache, partial
from math import prod
from typing import Any

from .. import dtypes
from .. import strides as st
from ..dtypes import dtype
from ..errors import ArgumentTypeError
from ..kernel import Grid, Kernel, Pointer, Scalar
from ..memory_formats import contiguous_format, preserve_format, strides_in
from ..scalars import converted
from .operator import Array, Call, ErrorSample, Number, Operand, Sample, Value, operator, passed_as
from .pointwise import THREADS, WALKING, Pointwise
from .pointwise_source import ACCESS_BYTES, MAX_BLOCKS, Walk, grid_of, pack_of, walked
from .transpose import crossed, tiles, transposing


class Convert(Pointwise):
    """Pointwise identity from one type, and any layout, to another."""

    casts = True

    def lower(self, call: Any, input: Any, wanted: dtype | None = None, memory_format: Any = None) -> Any:
        if call.given is None:
            strides = strides_in(call.called, memory_format or preserve_format, input.shape, input.strides)
            call.given = call.output(input.shape, input.dtype if wanted is None else wanted, strides)
        return super().lower(call, input)

    def spread(self, kernel: Kernel, walk: Walk, pack: int) -> tuple[Kernel, Grid, Walk]:
        """As every pointwise operator's, but through tiles where the fastest dimensions of the two sides differ."""
        layout = crossed(walk)
        if layout is None:
            return super().spread(kernel, walk, pack)
        out, input = kernel.params[:2]
        return transposing(out.dtype, input.dtype, kernel.reference), tiles(layout), layout  # type: ignore[union-attr]


def _as_it_is(name: str, types: Sequence[dtype], common: dtype) -> tuple[Sequence[dtype], dtype]:
    return types, common


def _convert_samples() -> Iterator[Sample]:
    for wanted in (dtypes.float32, dtypes.float16, dtypes.int64, dtypes.uint8, dtypes.bool_):
        yield Sample((Array((3, 5), low=0, high=4), wanted))
    yield Sample((Array((4, 3), layout="transposed"), dtypes.float32))
    yield Sample((Array((40, 33), layout="transposed"),))
    yield Sample((Array((33, 40), layout="transposed"), dtypes.float32))
    yield Sample((Array((33, 40), layout="transposed"), None, contiguous_format))
    yield Sample((Array((0, 3)), dtypes.float32))
    yield Sample((Array(()), dtypes.bfloat16))


def _identity(input: Operand, dtype: Any = None, memory_format: Any = None) -> Any:
    """A copy of `input` without gaps, as another type if `dtype` says so.

    memory_format: None preserves the order in which dimensions lie.
    Shapes: the result has the input's shape.
    Host:   returns at once.
    """
    return input


def _only_input(input: Any) -> Any:
    return input


convert = Convert(
    _identity, _as_it_is, "input", 0.0,
    samples=_convert_samples, dtypes=dtypes.ALL, method=False, function=False, name="convert",
)  # fmt: skip
convert.body = _only_input


@convert.derivative
def _(grad: Any) -> Any:
    return grad  # autograd.node.fit brings it to the input's type


@cache
def fill_kernel(kind: dtype) -> Kernel:
    number = "float64" if kind.is_floating_point else "int64"
    source = f"""{WALKING}
extern "C" __global__ void __launch_bounds__({THREADS})
fill_{kind.name}({kind.cuda}* out, {_C[number]} value, long long numel) {{
  constexpr int pack = {ACCESS_BYTES // kind.itemsize};
  const {kind.cuda} stored = store<{kind.cuda}>(({kind.wide.cuda})value);
  Pack<{kind.cuda}, pack> filled;
  for (int lane = 0; lane < pack; ++lane) filled.at[lane] = stored;
  const long long step = (long long)gridDim.x * blockDim.x, first = blockIdx.x * (long long)blockDim.x + threadIdx.x;
  const long long packs = is_aligned<pack>(out) ? numel / pack : 0;
  for (long long i = first; i < packs; i += step) reinterpret_cast<Pack<{kind.cuda}, pack>*>(out)[i] = filled;
  for (long long i = packs * pack + first; i < numel; i += step) out[i] = stored;
}}
"""

    def reference(out: Any, value: Any, numel: int) -> None:
        out[...] = kind.wide.numpy.type(value)

    params = [Pointer("out", kind, "w", ("numel",)), Scalar("value", number), Scalar("numel", "int64")]
    return Kernel(f"fill_{kind.name}", source, params, reference, 0.0)


_C = {"float64": "double", "int64": "long long"}


def _one_number(value: Value) -> Any:
    """Fill a tensor that leaves gaps with a number."""
    return value


strided_fill = Pointwise(
    _one_number, _as_it_is, "value", 0.0, samples=tuple, method=False, function=False, name="strided_fill"
)


def _fill_samples() -> Iterator[Sample]:
    for shape in ((3, 4), (), (0, 2)):
        yield Sample((Array(shape), 1))


def _no_number() -> Iterator[ErrorSample]:
    yield ErrorSample(
        (Array((3,)), "text"),
        ArgumentTypeError,
        "value' must be a number, not str: 'text'|value must be a number or a tensor",
    )


@operator(samples=_fill_samples, errors=_no_number, dtypes=dtypes.ALL, inplace=True, method=False, function=False)
def fill(call: Call, input: Operand, value: Number) -> Any:
    """A tensor like `input` with every element set to the number `value`.

    Shapes: the result has the input's shape.
    Host:   returns at once.
    """
    out = call.given  # type: ignore[attr-defined]
    if out is None or out.shape != input.shape or out.dtype is not input.dtype:
        out = call.output(input.shape, input.dtype, st.preserved(input.shape, input.strides))
    # an element that is repeated, by a stride of 0, is written once: kernels write neighbours in one access
    sizes = [size if step or not size else 1 for size, step in zip(out.shape, out.strides)]
    numel = prod(sizes)
    stored = passed_as(value, partial(converted, call.called, input.dtype))
    if numel and st.is_compact(sizes, out.strides):
        blocks = -(-numel * input.dtype.itemsize // (ACCESS_BYTES * THREADS))
        call.launch(fill_kernel(input.dtype), Grid((min(blocks, MAX_BLOCKS), 1, 1), THREADS), out, stored, numel)
    elif numel:
        pack = pack_of(out.dtype, [])
        walk = walked(sizes, [out.strides], pack)
        call.launch(strided_fill.kernel(out.dtype, [None], (out.dtype,)), grid_of(walk, pack), out, stored, walk)
    return out


fill.writes_one_value = True


@fill.derivative
def _(grad: Any) -> Any:
    return None
