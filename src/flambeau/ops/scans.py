"""Cumulative sums along a dimension."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

from .. import dtypes
from .. import strides as st
from ..dtypes import bool_, dtype, int64
from ..errors import DtypeError
from ..host import np
from ..kernel import Grid, Kernel, Pointer, Scalar, Strided
from .operator import Array, Operand, Sample, composite, operator
from .pointwise import FULL_DEVICE_BLOCKS, THREADS
from .reduction_kernels import REDUCE_SOURCE, layout_along
from .samples import bad_dims


@cache
def running_sum_kernel(source: dtype, wide: dtype, out: dtype) -> Kernel:
    """The kernel of cumulative sums along the last dimension of a layout."""
    entry = f"running_sum_{source.name}_{out.name}"
    code = f"""{REDUCE_SOURCE}
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
    """The operator of `cumsum`.  reverse: sum from each element to the end."""
    dim = st.wrap_dim(dim, len(input.shape), call.name)
    result = dtype or (input.dtype if input.dtype.is_floating_point else int64)
    if result is bool_:
        raise DtypeError(
            "running sums of type bool are not supported", hint="use dtype=torch.int64", operator=call.name
        )
    out = call.output(input.shape, result)
    if out.numel():
        layout, rows, size, _ = layout_along(input.shape, [out.strides, input.strides], dim)
        kernel = running_sum_kernel(input.dtype, result.wide if result.is_floating_point else int64, result)
        call.launch(
            kernel, Grid((min(rows, FULL_DEVICE_BLOCKS), 1, 1), THREADS), out, input, layout, rows, size, int(reverse)
        )
    return out


@running_sum.derivative
def _(grad: Any, dim: int, reverse: bool) -> Any:
    return running_sum(grad, dim, None, not reverse)


@composite(samples=_sum_samples, errors=bad_dims, dtypes=dtypes.ALL)
def cumsum(input: Operand, dim: int, dtype: Any = None) -> Any:
    """Cumulative sum along `dim`: element i is the sum of elements 0 to i.

    dtype: of the result; None keeps floating types and gives int64 for the others.
    Shapes: the result has the input's shape.
    Host:   returns at once.
    Raises: IndexRangeError if dim is out of range.
    Example:
        >>> torch.cumsum(torch.tensor([[1, 2, 3], [4, 5, 6]]), dim=1)
        tensor([[ 1,  3,  6],
                [ 4,  9, 15]])
    """
    return running_sum(input, dim, dtype)
