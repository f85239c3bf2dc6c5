"""Cast of two tensors in one launch, such as the weight and bias of a layer under autocast."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

from ..dtypes import FLOATING_TYPES, bfloat16, dtype, float64, promote
from ..kernel import Grid, Kernel, Pointer, Scalar
from .operator import Array, Call, Operand, Sample, operator
from .pointwise import ACCESS_BYTES, FULL_DEVICE_BLOCKS, POINTWISE_SOURCE, THREADS


def _samples() -> Iterator[Sample]:
    for wanted in (float64, bfloat16):
        yield Sample((Array((3, 5), grad=wanted is float64), Array((5,), grad=wanted is float64), wanted, float64))
    yield Sample((Array((40, 33)), Array((4097,)), float64, float64))


@operator(samples=_samples, dtypes=FLOATING_TYPES, method=False, function=False)
def cast_two(call: Call, one: Operand, other: Operand, dtype: Any, of_gradients: Any) -> Any:
    """Copy two tensors of one type into dense memory, converted to `dtype`.

    of_gradients: the type of their gradients.
    Shapes: the results have the operands' shapes.
    Host:   returns at once.
    """
    results = call.output(one.shape, dtype), call.output(other.shape, dtype)
    inputs = call.contiguous(one), call.contiguous(other)
    pack = _pack(one.dtype, dtype)
    blocks = [-(-operand.numel() // (pack * THREADS)) for operand in inputs]
    first = min(blocks[0], FULL_DEVICE_BLOCKS)
    grid = Grid((first + min(blocks[1], FULL_DEVICE_BLOCKS), 1, 1), THREADS)
    if grid.blocks[0]:
        sizes = [operand.numel() for operand in inputs]
        call.launch(_cast_kernel(one.dtype, dtype), grid, *results, *inputs, *sizes, first)
    return results


@cast_two.derivative
def _(grads: Any, dtype: Any, of_gradients: Any) -> Any:
    one, other = grads
    if one is None or other is None or one.dtype is not dtype or other.dtype is not dtype:
        return one, other  # autograd.fitting.fit converts them to the inputs' types
    return cast_two(one, other, of_gradients, dtype)


def _pack(source: dtype, wanted: dtype) -> int:
    """Return the number of elements that a thread converts at once."""
    return ACCESS_BYTES // max(source.itemsize, wanted.itemsize)


@cache
def _cast_kernel(source: dtype, wanted: dtype) -> Kernel:
    """Return the kernel whose first `split` blocks convert the first tensor, and the others the second."""
    entry, pack = f"cast_two_{source.name}_{wanted.name}", _pack(source, wanted)
    s, t, c = source.cuda, wanted.cuda, promote(source, wanted).wide.cuda
    code = f"""{POINTWISE_SOURCE}
extern "C" __global__ void __launch_bounds__({THREADS}) {entry}({t}* one_out, {t}* other_out, const {s}* one,
    const {s}* other, long long one_size, long long other_size, long long split) {{
  const bool is_one = blockIdx.x < split;
  {t}* out = is_one ? one_out : other_out;
  const {s}* in = is_one ? one : other;
  const long long size = is_one ? one_size : other_size, blocks = is_one ? split : gridDim.x - split;
  const long long first = (blockIdx.x - (is_one ? 0 : split)) * blockDim.x + threadIdx.x, step = blocks * blockDim.x;
  const long long packs = is_aligned<{pack}>(in) && is_aligned<{pack}>(out) ? size / {pack} : 0;
  for (long long i = first; i < packs; i += step) {{
    const Pack<{s}, {pack}> given = reinterpret_cast<const Pack<{s}, {pack}>*>(in)[i];
    Pack<{t}, {pack}> stored;
    for (int lane = 0; lane < {pack}; ++lane) stored.at[lane] = store<{t}>(load<{c}>(given.at[lane]));
    reinterpret_cast<Pack<{t}, {pack}>*>(out)[i] = stored;
  }}
  for (long long i = packs * {pack} + first; i < size; i += step) out[i] = store<{t}>(load<{c}>(in[i]));
}}
"""

    def reference(one_out: Any, other_out: Any, one: Any, other: Any, *_: int) -> None:
        for out, values in ((one_out, one), (other_out, other)):
            if values is not None:
                out[...] = values

    params = [
        Pointer("one_out", wanted, "w", ("one_size",)),
        Pointer("other_out", wanted, "w", ("other_size",)),
        Pointer("one", source, "r", ("one_size",)),
        Pointer("other", source, "r", ("other_size",)),
        *[Scalar(name, "int64") for name in ("one_size", "other_size", "split")],
    ]
    return Kernel(entry, code, params, reference, 0.0)
