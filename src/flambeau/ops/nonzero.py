"""Finding what is not zero.  The result's shape depends on values, so the host waits for a count."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from math import prod
from typing import Any

from .. import dtypes
from ..dtypes import bool_, int64
from ..host import np
from ..kernel import Grid, Kernel, Param, Pointer, Scalar, Strided
from .operator import Array, Call, Operand, Sample, composite, operator
from .parts import select, unbind
from .scatter import indexing_kernel, scalars
from .views import reshape

CHUNK = 1024  # elements that one block counts
SCAN_THREADS = 1024


@cache
def _count_kernel() -> Kernel:
    params: list[Param] = [
        Pointer("counts", int64, "w", ("chunks",)),
        Pointer("mask", bool_, "r", ("numel",)),
        *scalars("chunks", "numel"),
    ]

    def reference(counts: Any, mask: Any, chunks: int, numel: int) -> None:
        counts[...] = np.add.reduceat(mask.astype(np.int64), np.arange(0, numel, CHUNK))

    arguments = "long long* counts, const bool* mask, long long chunks, long long numel"
    return indexing_kernel("count_chunks", arguments, f"count_chunks(counts, mask, numel, {CHUNK})", params, reference)


@cache
def _sum_kernel() -> Kernel:
    params: list[Param] = [
        Pointer("starts", int64, "w", ("ends",)), Pointer("counts", int64, "r", ("chunks",)),
        *scalars("ends", "chunks"),
    ]  # fmt: skip

    def reference(starts: Any, counts: Any, ends: int, chunks: int) -> None:
        starts[0] = 0
        np.cumsum(counts, out=starts[1:])

    arguments = "long long* starts, const long long* counts, long long ends, long long chunks"
    return indexing_kernel(
        "sum_counts", arguments, "sum_counts(starts, counts, chunks)", params, reference, threads=SCAN_THREADS
    )


@cache
def _places_kernel() -> Kernel:
    params: list[Param] = [
        Pointer("out", int64, "w", ("found", "ndim")), Pointer("starts", int64, "r", ("ends",)),
        Pointer("mask", bool_, "r", "layout"), Strided("layout", ("mask",)), *scalars("found", "ends", "numel"),
        Scalar("ndim", "int64"),
    ]  # fmt: skip

    def reference(out: Any, starts: Any, mask: Any, found: int, ends: int, numel: int, ndim: int) -> None:
        out[...] = np.argwhere(mask)

    arguments = (
        "long long* out, const long long* starts, const bool* mask, Layout<1> layout, long long found, long long ends, "
        "long long numel, long long ndim"
    )
    body = f"write_places(out, starts, mask, layout, numel, {CHUNK})"
    return indexing_kernel("write_places", arguments, body, params, reference)


def _nonzero_samples() -> Iterator[Sample]:
    yield Sample((Array((3, 4), low=0, high=2),))
    yield Sample((Array((4, 3), low=0, high=2, layout="transposed"),))
    yield Sample((Array((5,), low=0, high=1),), {"as_tuple": True})
    yield Sample((Array((0, 3)),))
    yield Sample((Array(()),))
    yield Sample((Array((), low=1, high=2),), {"as_tuple": True})


def _masks() -> Iterator[Sample]:
    yield Sample((Array((3, 4), low=0, high=2),))
    yield Sample((Array((4, 3), low=0, high=2, layout="transposed"),))


@operator(samples=_masks, dtypes=dtypes.ALL, differentiable=False, method=False, function=False)
def count_nonzero_before(call: Call, input: Operand) -> Any:
    """How many elements that are not zero come before each chunk of CHUNK elements, and at last how many there are.

    Shapes: [chunks + 1], int64.
    Host:   returns at once.
    """
    numel = prod(input.shape)
    chunks = -(-numel // CHUNK)
    starts = call.output((chunks + 1,), int64)
    if numel:
        mask = call.contiguous(input, bool_)
        counts = call.scratch((chunks,), int64)
        call.launch(_count_kernel(), Grid((chunks, 1, 1), 256), counts, mask, chunks, numel)
        call.launch(_sum_kernel(), Grid((1, 1, 1), SCAN_THREADS), starts, counts, chunks + 1, chunks)
    return starts


def _found_masks() -> Iterator[Sample]:
    zeros = Array((2,), low=0, high=1, dtype="int64")  # of one chunk only the first start is read
    yield Sample((Array((3, 4), low=1, high=2), zeros, 12))


@operator(samples=_found_masks, dtypes=dtypes.ALL, differentiable=False, method=False, function=False)
def places_of_nonzero(call: Call, input: Operand, starts: Operand, found: int) -> Any:
    """The indexes of the `found` elements that are not zero; `starts` is what count_nonzero_before gave.

    Shapes: [found, input dimensions], int64.
    Host:   returns at once.
    """
    ndim, numel = len(input.shape), prod(input.shape)
    out = call.output((found, ndim), int64)
    if found and ndim:
        mask = call.contiguous(input, bool_)
        values = (out, starts, mask, (input.shape, [mask.strides]), found, starts.shape[0], numel, ndim)
        call.launch(_places_kernel(), Grid((starts.shape[0] - 1, 1, 1), 256), *values)
    return out


@composite(samples=_nonzero_samples, dtypes=dtypes.ALL, host="waits", differentiable=False)
def nonzero(input: Operand, as_tuple: bool = False) -> Any:
    """The indexes of all elements that are not zero, in row-major order.

    Shapes: [found, input dimensions], int64; with as_tuple, one vector per dimension.
    Host:   waits for how many there are.
    Example:
        >>> x = torch.tensor([[0, 3], [4, 0]])
        >>> torch.nonzero(x)
        tensor([[0, 1],
                [1, 0]])
        >>> torch.nonzero(x, as_tuple=True)
        (tensor([0, 1]), tensor([1, 0]))
    """
    if as_tuple and not input.shape:
        return nonzero(reshape(input, (1,)), True)
    starts: Any = count_nonzero_before(input)
    out = places_of_nonzero(input, starts, select(starts, 0, -1).item() if prod(input.shape) else 0)
    return unbind(out, 1) if as_tuple else out
