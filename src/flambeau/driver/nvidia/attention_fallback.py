"""Attention kernels without cuDNN: where it is missing, and for float32, float64 and odd strides.

It needs no more memory than cuDNN does, is correct for every stride and size of up to MAX_HEAD_DIM, and is many times
slower.  The gradients are two launches, one for the queries and one for the keys and values, so nothing is added up
in an order that changes from run to run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from math import prod
from typing import Any

from ...dtypes import FLOATING, dtype
from ...errors import NotSupportedError
from ...host import numpy
from ...kernel import Grid, Kernel, Param, Pointer, Scalar, Strided
from ...library_operation import Attention, AttentionBackward, attend, attend_backward
from .gemm import Launch, device_text
from .handles import Stream

THREADS = 256
ROWS_PER_BLOCK = 16  # WARPS * ROWS of attention.cu
MAX_HEAD_DIM = 256  # LANES * CHUNKS of attention.cu

Load = Callable[[Kernel], Launch]
Layout = tuple[Sequence[int], list[Sequence[int]]]


class AttentionFallback:
    """Attention on the kernels of this file.  load: see plans.py."""

    workspace_nbytes = 0
    native = None

    def __init__(self, problem: Attention, load: Load) -> None:
        _check(problem)
        self._problem = problem
        self._kernel = attention_kernel(problem.dtype)
        self._grid = grid_of(problem.query_shape)
        self._launch = load(self._kernel)

    def run(self, addresses: tuple[int, ...], workspace: int, stream: Stream) -> None:
        if self._grid is not None:
            self._launch(self._grid, self._kernel.pack(values_of(self._problem, addresses)), stream)


class AttentionBackwardFallback:
    """Attention's gradients on the kernels of this file: the workspace holds one sum per query."""

    native = None

    def __init__(self, problem: AttentionBackward, load: Load) -> None:
        _check(problem.forward)
        of = problem.forward
        self._problem = problem
        self.workspace_nbytes = prod(of.query_shape[:3]) * of.dtype.wide.itemsize
        queries, keys = grid_of(of.query_shape), grid_of(of.key_shape)
        kernels = (
            (along_kernel(of.dtype), queries, along_values),
            (query_grad_kernel(of.dtype), queries, query_grad_values),
            (key_grad_kernel(of.dtype), keys, key_grad_values),
        )
        self._steps = [(load(kernel), kernel, grid, values) for kernel, grid, values in kernels if grid is not None]

    def run(self, addresses: tuple[int, ...], workspace: int, stream: Stream) -> None:
        for launch, kernel, grid, values in self._steps:
            launch(grid, kernel.pack(values(self._problem, addresses, workspace)), stream)


def _check(problem: Attention) -> None:
    if problem.dtype.category != FLOATING or max(problem.head_dim, problem.value_dim) > MAX_HEAD_DIM:
        raise NotSupportedError(
            f"{problem.dtype!r} heads of {problem.head_dim} and {problem.value_dim} dimensions; the kernel "
            f"takes floating point and up to {MAX_HEAD_DIM}",
            operator="attention",
        )


def grid_of(rows: Sequence[int]) -> Grid | None:
    """How [batch, heads, rows, dims] is spread over the device; None if it has no row."""
    batch, heads, count, _ = rows
    blocks = batch * heads * -(-count // ROWS_PER_BLOCK)
    return Grid((blocks, 1, 1), THREADS) if blocks else None


# kernels

_SAVED = {"logsumexp": "r", "along": "r"}


@cache
def attention_kernel(of: dtype) -> Kernel:
    """(out, logsumexp, query, key, value, their layouts, scale, is_causal)."""
    strided = {"out": "w", "query": "r", "key": "r", "value": "r"}
    return _kernel("attention", "attention", of, strided, {"logsumexp": "w"}, "out logsumexp query key value", attend)


@cache
def along_kernel(of: dtype) -> Kernel:
    """(along, grad, out, their layouts): the product of each row of grad with that of out."""

    def reference(along: Any, grad: Any, out: Any, scale: float, is_causal: int) -> None:
        along[...] = (grad.astype(along.dtype) * out.astype(along.dtype)).sum(axis=-1)

    strided = {"grad": "r", "out": "r"}
    return _kernel("attention_along", "attention_along", of, strided, {"along": "w"}, "along grad out", reference)


@cache
def query_grad_kernel(of: dtype) -> Kernel:
    """(query_grad, grad, logsumexp, along, query, key, value, their layouts, scale, is_causal)."""

    def reference(
        query_grad: Any, grad: Any, logsumexp: Any, along: Any, query: Any, key: Any, value: Any, *attributes: Any
    ) -> None:
        others = numpy().empty(key.shape), numpy().empty(value.shape)
        attend_backward(query_grad, *others, grad, logsumexp, along, query, key, value, *attributes)

    strided = {"query_grad": "w", "grad": "r", "query": "r", "key": "r", "value": "r"}
    call = f"attention_backward<false, {of.cuda}, {of.wide.cuda}>"
    order = "query_grad grad logsumexp along query key value"
    return _kernel("attention_query_grad", call, of, strided, _SAVED, order, reference)


@cache
def key_grad_kernel(of: dtype) -> Kernel:
    """(key_grad, value_grad, grad, logsumexp, along, query, key, value, their layouts, scale, is_causal)."""

    def reference(
        key_grad: Any, value_grad: Any, grad: Any, logsumexp: Any, along: Any, query: Any, key: Any, value: Any,
        *attributes: Any,
    ) -> None:  # fmt: skip
        of_query = numpy().empty(query.shape)
        attend_backward(of_query, key_grad, value_grad, grad, logsumexp, along, query, key, value, *attributes)

    strided = {"key_grad": "w", "value_grad": "w", "grad": "r", "query": "r", "key": "r", "value": "r"}
    call = f"attention_backward<true, {of.cuda}, {of.wide.cuda}>"
    order = "key_grad value_grad grad logsumexp along query key value"
    return _kernel("attention_key_grad", call, of, strided, _SAVED, order, reference)


def kernels_of(of: dtype) -> tuple[Kernel, ...]:
    """Every kernel of one data type."""
    return attention_kernel(of), along_kernel(of), query_grad_kernel(of), key_grad_kernel(of)


def _kernel(
    entry: str, call: str, of: dtype, strided: dict[str, str], rows: dict[str, str], order: str,
    reference: Callable[..., None],
) -> Kernel:  # fmt: skip
    """A kernel of attention.cu.  strided: arrays with a layout;  rows: arrays of one number per query, in ACC."""
    names = order.split()
    params: list[Param] = [
        Pointer(name, of, strided[name], f"{name}_layout")
        if name in strided
        else Pointer(name, of.wide, rows[name], ("batch", "heads", "queries"))
        for name in names
    ]
    params += [Strided(f"{name}_layout", (name,)) for name in names if name in strided]
    params += [Scalar(name, "int64") for name in ("batch", "heads", "queries")]
    params += [Scalar("scale", "float64"), Scalar("is_causal", "int64")]

    def meaning(*values: Any) -> None:
        *arrays, _, _, _, scale, is_causal = values
        reference(*arrays, scale, bool(is_causal))

    name = f"{entry}_{of.name}"
    return Kernel(name, _source(name, call, of, strided, rows, names), params, meaning, 64.0)


def _source(entry: str, call: str, of: dtype, strided: dict[str, str], rows: dict[str, str], names: list[str]) -> str:
    acc, modes = of.wide.cuda, {**strided, **rows}
    types = {name: f"{'const ' if modes[name] == 'r' else ''}{of.cuda if name in strided else acc}*" for name in names}
    layouts = [f"{name}_layout" for name in names if name in strided]
    parameters = [f"{types[name]} {name}" for name in names]
    parameters += [f"const __grid_constant__ Layout<1> {layout}" for layout in layouts]
    parameters += ["long long batch", "long long heads", "long long queries", "double scale", "long long is_causal"]
    if "query_grad" in names:  # there is no second gradient
        names, layouts = [names[0], f"({of.cuda}*)nullptr", *names[1:]], [layouts[0], *layouts]
    numbers = [] if "along" in names and modes["along"] == "w" else [f"({acc})scale", "is_causal != 0"]
    body = f"{call}({', '.join([*names, *layouts, *numbers])});"
    head = f'extern "C" __global__ void __launch_bounds__({THREADS})\n{entry}({", ".join(parameters)})'
    files = device_text("ops/kernels/prelude.cu"), device_text("driver/nvidia/attention.cu")
    return "\n".join((*files, f"{head} {{\n    {body}\n}}\n"))


# what the kernels' `pack` takes


def values_of(problem: Attention, addresses: tuple[int, ...]) -> tuple[Any, ...]:
    out, logsumexp, query, key, value = addresses
    layouts = _layouts(problem)
    return out, logsumexp, query, key, value, (problem.out_shape, [problem.out_strides]), *layouts, *_numbers(problem)


def along_values(problem: AttentionBackward, addresses: tuple[int, ...], along: int) -> tuple[Any, ...]:
    grad, out = addresses[3:5]
    of = problem.forward
    layouts = (of.out_shape, [problem.grad_strides]), (of.out_shape, [of.out_strides])
    return along, grad, out, *layouts, *_numbers(of)


def query_grad_values(problem: AttentionBackward, addresses: tuple[int, ...], along: int) -> tuple[Any, ...]:
    query_grad, _, _, grad, _, logsumexp, query, key, value = addresses
    of = problem.forward
    layouts = (of.query_shape, [problem.query_grad_strides]), (of.out_shape, [problem.grad_strides]), *_layouts(of)
    return query_grad, grad, logsumexp, along, query, key, value, *layouts, *_numbers(of)


def key_grad_values(problem: AttentionBackward, addresses: tuple[int, ...], along: int) -> tuple[Any, ...]:
    _, key_grad, value_grad, grad, _, logsumexp, query, key, value = addresses
    of = problem.forward
    layouts = (
        (of.key_shape, [problem.key_grad_strides]),
        (of.value_shape, [problem.value_grad_strides]),
        (of.out_shape, [problem.grad_strides]),
        *_layouts(of),
    )
    return key_grad, value_grad, grad, logsumexp, along, query, key, value, *layouts, *_numbers(of)


def _layouts(of: Attention) -> tuple[Layout, ...]:
    return (
        (of.query_shape, [of.query_strides]),
        (of.key_shape, [of.key_strides]),
        (of.value_shape, [of.value_strides]),
    )


def _numbers(of: Attention) -> tuple[Any, ...]:
    return *of.query_shape[:3], of.scale, int(of.is_causal)
