"""flambeau's own kernels for products, attention and convolutions, where NVIDIA's libraries are missing or slower.

- `small_kernel`: small products with few terms.  A launch takes 2 us less host time than a call of cuBLAS.  On an H200
  the kernel runs for 1.5 to 2.1 us, that of cuBLAS for 1.8 to 2.7 us, and for float32 for up to 4.7 us.
- `gemm_kernel`: other products without cuBLAS, and those of integers and unusual strides.  It is correct for every
  stride and size, and many times slower than cuBLAS.
- `AttentionFallback`: attention without cuDNN, and for float32, float64 and unusual strides.  It needs no more memory
  than cuDNN, is correct for every stride and head dimensions up to MAX_HEAD_DIM, and is many times slower.  Its
  gradients are two launches, one for queries and one for keys and values, so the order of summation is fixed.
- `OwnConvolution`: convolutions where cuDNN is missing or refuses one (convolution.cu).  They are correct for every
  type, size and stride, sum in a fixed order, and are many times slower than cuDNN.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import cache
from importlib import resources
from math import prod
from typing import Any

from ...core.nvidia import Stream
from ...dtypes import BOOL, FLOATING, dtype
from ...errors import NotSupportedError
from ...host import numpy
from ...kernel import Grid, Kernel, Param, Pointer, Scalar, Strided
from ...library_operation import (
    ACTIVATIONS,
    CONVOLUTIONS,
    CONVOLVED,
    OF_WEIGHT,
    REFERENCES,
    Attention,
    AttentionBackward,
    Convolution,
    Gemm,
    Sizes,
    attend,
    attend_backward,
)

TILE = 32  # as in gemm.cu
SMALL_TILE, SMALL_DEPTH = 16, 32  # as in gemm.cu
SMALL_SIDE = 64
THREADS = 256
MAX_GRID_Z = 65_535
PACKAGE = __package__.partition(".")[0]
OPERANDS = 4  # out, a, b, bias: the first parameters

Launch = Callable[[Grid, bytes, Stream], None]


def is_small(problem: Gemm) -> bool:
    """Return whether `small_kernel` computes a product."""
    return problem.batch == 1 and max(problem.m, problem.n) <= SMALL_SIDE and problem.k <= SMALL_DEPTH


def kernel_of(problem: Gemm) -> Kernel:
    """Return the kernel for a product.  Raises: NotSupportedError for bool."""
    return small_kernel(problem.dtype) if is_small(problem) else gemm_kernel(problem.dtype)


class OwnProduct:
    """A product on a kernel of this file, which needs no workspace.

    launch: puts the loaded `kernel_of(problem)` on a stream.  grid: None if there is nothing to launch.
    native: its compiled runner, or None.
    """

    workspace_nbytes = 0

    def __init__(self, problem: Gemm, launch: Launch) -> None:
        self._problem = problem
        self._kernel = kernel_of(problem)
        self._launch = launch
        self.grid = grid_of(problem)
        self.native: Any = None

    def packed(self, addresses: tuple[int, ...]) -> bytes:
        """Return the arguments of a launch."""
        return self._kernel.pack(values_of(self._problem, addresses))

    def run(self, addresses: tuple[int, ...], workspace: int, stream: Stream) -> None:
        if self.grid is not None:
            self._launch(self.grid, self.packed(addresses), stream)


@cache
def gemm_kernel(of: dtype) -> Kernel:
    """Return the kernel of one dtype: (out, a, b, bias, three layouts, n, index of the activation in ACTIVATIONS).

    Strides are in elements; bias is absent or [n].
    Raises: NotSupportedError for bool.
    """
    return _kernel("gemm", of)


@cache
def small_kernel(of: dtype) -> Kernel:
    """Like `gemm_kernel`, for a product that `is_small`."""
    return _kernel("small_gemm", of)


def _kernel(name: str, of: dtype) -> Kernel:
    if of.category == BOOL:
        raise NotSupportedError(f"matrix products of {of!r} elements are not supported", operator="gemm")

    def reference(out: Any, a: Any, b: Any, bias: Any, n: int, activation: int) -> None:
        meaning = Gemm(of, 1, 1, 1, 1, (1, 1, 1), (1, 1, 1), (1, 1, 1), activation=ACTIVATIONS[activation])
        meaning.reference(out, a, b, bias)

    params = (
        Pointer("out", of, "w", "out_layout"),
        Pointer("a", of, "r", "a_layout"),
        Pointer("b", of, "r", "b_layout"),
        Pointer("bias", of, "r", ("n",)),
        Strided("out_layout", ("out",)),
        Strided("a_layout", ("a",)),
        Strided("b_layout", ("b",)),
        Scalar("n", "int64"),
        Scalar("activation", "int32"),
    )
    return Kernel(f"{name}_{of.name}", _source(name, of), params, reference)


def values_of(problem: Gemm, addresses: tuple[int, ...]) -> tuple[Any, ...]:
    """Return the values that `kernel_of(problem).pack` takes for the operands (out, a, b, bias)."""
    out, a, b, bias = addresses
    batch, m, n, k = problem.batch, problem.m, problem.n, problem.k
    layouts = (
        ((batch, m, n), [problem.out_strides]),
        ((batch, m, k), [problem.a_strides]),
        ((batch, k, n), [problem.b_strides]),
    )
    return out, a, b, bias if problem.has_bias else 0, *layouts, n, ACTIVATIONS.index(problem.activation)


def grid_of(problem: Gemm) -> Grid | None:
    """Return the grid of a product; None if it has no element."""
    side = SMALL_TILE if is_small(problem) else TILE
    squares = -(-problem.m // side) * -(-problem.n // side)
    if squares * problem.batch == 0:
        return None
    return Grid((squares, 1, min(problem.batch, MAX_GRID_Z)), THREADS)


@cache
def warn_cublas_is_missing() -> None:
    """Warn once per process that cuBLAS is missing, with the package to install."""
    warnings.warn(
        "cuBLAS was not found, so matrix products run many times slower on flambeau's own kernel: "
        "pip install nvidia-cublas (nvidia-cublas-cu12 for CUDA 12)",
        RuntimeWarning,
        stacklevel=2,
    )


def _source(name: str, of: dtype) -> str:
    accumulator = of.compute if of.category == FLOATING else "unsigned long long"
    layouts = "Layout<1> out_layout, Layout<1> a_layout, Layout<1> b_layout"
    pointers = f"{of.cuda}* out, const {of.cuda}* a, const {of.cuda}* b, const {of.cuda}* bias"
    entry = (
        f'extern "C" __global__ void __launch_bounds__({THREADS})\n'
        f"{name}_{of.name}({pointers}, {layouts}, long long n, int activation) {{\n"
        f"    {name}<{of.cuda}, {accumulator}>(out, a, b, bias, activation, out_layout, a_layout, b_layout);\n}}\n"
    )
    parts = (device_text(f"{path}.cu") for path in ("ops/kernels/prelude", "ops/kernels/math", "driver/nvidia/gemm"))
    return "\n".join((*parts, entry))


@cache
def device_text(path: str) -> str:
    """Return a file of device code, by its path in this package."""
    return resources.files(PACKAGE).joinpath(path).read_text(encoding="utf-8")


ATTENTION_THREADS = 256
ROWS_PER_BLOCK = 16  # WARPS * ROWS of attention.cu
MAX_HEAD_DIM = 256  # LANES * CHUNKS of attention.cu

Load = Callable[[Kernel], Launch]
Layout = tuple[Sequence[int], list[Sequence[int]]]


class AttentionFallback:
    """Attention on the kernels of this file.  load: see plans.py."""

    workspace_nbytes = 0
    native = None

    def __init__(self, problem: Attention, load: Load) -> None:
        _check_attention(problem)
        self._problem = problem
        self._kernel = attention_kernel(problem.dtype)
        self._grid = attention_grid(problem.query_shape)
        self._launch = load(self._kernel)

    def run(self, addresses: tuple[int, ...], workspace: int, stream: Stream) -> None:
        if self._grid is not None:
            self._launch(self._grid, self._kernel.pack(attention_values(self._problem, addresses)), stream)


class AttentionBackwardFallback:
    """Gradients of attention on the kernels of this file; the workspace holds one sum per query."""

    native = None

    def __init__(self, problem: AttentionBackward, load: Load) -> None:
        _check_attention(problem.forward)
        of = problem.forward
        self._problem = problem
        self.workspace_nbytes = prod(of.query_shape[:3]) * of.dtype.wide.itemsize
        queries, keys = attention_grid(of.query_shape), attention_grid(of.key_shape)
        kernels = (
            (along_kernel(of.dtype), queries, along_values),
            (query_grad_kernel(of.dtype), queries, query_grad_values),
            (key_grad_kernel(of.dtype), keys, key_grad_values),
        )
        self._steps = [(load(kernel), kernel, grid, values) for kernel, grid, values in kernels if grid is not None]

    def run(self, addresses: tuple[int, ...], workspace: int, stream: Stream) -> None:
        for launch, kernel, grid, values in self._steps:
            launch(grid, kernel.pack(values(self._problem, addresses, workspace)), stream)


def _check_attention(problem: Attention) -> None:
    if problem.dtype.category != FLOATING or max(problem.head_dim, problem.value_dim) > MAX_HEAD_DIM:
        raise NotSupportedError(
            f"{problem.dtype!r} heads of {problem.head_dim} and {problem.value_dim} dimensions; the kernel "
            f"takes floating point and up to {MAX_HEAD_DIM}",
            operator="attention",
        )


def attention_grid(rows: Sequence[int]) -> Grid | None:
    """Return the grid for [batch, heads, rows, dims]; None if there is no row."""
    batch, heads, count, _ = rows
    blocks = batch * heads * -(-count // ROWS_PER_BLOCK)
    return Grid((blocks, 1, 1), ATTENTION_THREADS) if blocks else None


# kernels

_SAVED = {"logsumexp": "r", "along": "r"}


@cache
def attention_kernel(of: dtype) -> Kernel:
    """Return the forward kernel: (out, logsumexp, query, key, value, their layouts, scale, is_causal)."""
    strided = {"out": "w", "query": "r", "key": "r", "value": "r"}
    names = "out logsumexp query key value"
    return _attention_kernel("attention", "attention", of, strided, {"logsumexp": "w"}, names, attend)


@cache
def along_kernel(of: dtype) -> Kernel:
    """Return the kernel of the dot product of each row of grad with that of out: (along, grad, out, layouts)."""

    def reference(along: Any, grad: Any, out: Any, scale: float, is_causal: int) -> None:
        along[...] = (grad.astype(along.dtype) * out.astype(along.dtype)).sum(axis=-1)

    strided = {"grad": "r", "out": "r"}
    names = "along grad out"
    return _attention_kernel("attention_along", "attention_along", of, strided, {"along": "w"}, names, reference)


@cache
def query_grad_kernel(of: dtype) -> Kernel:
    """Return the kernel of the gradient of query.

    Its parameters: query_grad, grad, logsumexp, along, query, key, value, their layouts, scale, is_causal.
    """

    def reference(
        query_grad: Any, grad: Any, logsumexp: Any, along: Any, query: Any, key: Any, value: Any, *attributes: Any
    ) -> None:
        others = numpy().empty(key.shape), numpy().empty(value.shape)
        attend_backward(query_grad, *others, grad, logsumexp, along, query, key, value, *attributes)

    strided = {"query_grad": "w", "grad": "r", "query": "r", "key": "r", "value": "r"}
    call = f"attention_backward<false, {of.cuda}, {of.wide.cuda}>"
    order = "query_grad grad logsumexp along query key value"
    return _attention_kernel("attention_query_grad", call, of, strided, _SAVED, order, reference)


@cache
def key_grad_kernel(of: dtype) -> Kernel:
    """Return the kernel of the gradients of key and value.

    Its parameters: key_grad, value_grad, grad, logsumexp, along, query, key, value, their layouts, scale, is_causal.
    """

    def reference(
        key_grad: Any, value_grad: Any, grad: Any, logsumexp: Any, along: Any, query: Any, key: Any, value: Any,
        *attributes: Any,
    ) -> None:  # fmt: skip
        of_query = numpy().empty(query.shape)
        attend_backward(of_query, key_grad, value_grad, grad, logsumexp, along, query, key, value, *attributes)

    strided = {"key_grad": "w", "value_grad": "w", "grad": "r", "query": "r", "key": "r", "value": "r"}
    call = f"attention_backward<true, {of.cuda}, {of.wide.cuda}>"
    order = "key_grad value_grad grad logsumexp along query key value"
    return _attention_kernel("attention_key_grad", call, of, strided, _SAVED, order, reference)


def attention_kernels(of: dtype) -> tuple[Kernel, ...]:
    """Return every kernel of one data type."""
    return attention_kernel(of), along_kernel(of), query_grad_kernel(of), key_grad_kernel(of)


def _attention_kernel(
    entry: str, call: str, of: dtype, strided: dict[str, str], rows: dict[str, str], order: str,
    reference: Callable[..., None],
) -> Kernel:  # fmt: skip
    """Return a kernel of attention.cu.  strided: arrays with a layout;  rows: one number per query, in type ACC."""
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
    return Kernel(name, _attention_source(name, call, of, strided, rows, names), params, meaning, 64.0)


def _attention_source(
    entry: str, call: str, of: dtype, strided: dict[str, str], rows: dict[str, str], names: list[str]
) -> str:
    acc, modes = of.wide.cuda, {**strided, **rows}
    types = {name: f"{'const ' if modes[name] == 'r' else ''}{of.cuda if name in strided else acc}*" for name in names}
    layouts = [f"{name}_layout" for name in names if name in strided]
    parameters = [f"{types[name]} {name}" for name in names]
    parameters += [f"const __grid_constant__ Layout<1> {layout}" for layout in layouts]
    parameters += ["long long batch", "long long heads", "long long queries", "double scale", "long long is_causal"]
    if "query_grad" in names:  # nullptr takes the place of a second gradient
        names, layouts = [names[0], f"({of.cuda}*)nullptr", *names[1:]], [layouts[0], *layouts]
    numbers = [] if "along" in names and modes["along"] == "w" else [f"({acc})scale", "is_causal != 0"]
    body = f"{call}({', '.join([*names, *layouts, *numbers])});"
    head = f'extern "C" __global__ void __launch_bounds__({ATTENTION_THREADS})\n{entry}({", ".join(parameters)})'
    files = device_text("ops/kernels/prelude.cu"), device_text("driver/nvidia/attention.cu")
    return "\n".join((*files, f"{head} {{\n    {body}\n}}\n"))


# arguments of the kernels' `pack`


def attention_values(problem: Attention, addresses: tuple[int, ...]) -> tuple[Any, ...]:
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


CONVOLUTION_THREADS = 256  # as in convolution.cu
MAX_BLOCKS = 1 << 20
SPATIAL = 3
CONVOLUTION_OPERANDS = ("x", "w", "y")
NUMBERS = [f"{what}{dim}" for what in ("stride", "padding", "dilation") for dim in range(SPATIAL)]


class OwnConvolution:
    """A convolution on a kernel of this file.  load: loads a kernel and returns the function that launches it."""

    workspace_nbytes = 0
    native = None

    def __init__(self, problem: Convolution, load: Callable[[Kernel], Launch]) -> None:
        self._problem = problem
        self._kernel = convolution_kernel(problem.kind, problem.dtype)
        self._grid = convolution_grid(problem)
        self._launch = load(self._kernel)

    def run(self, addresses: tuple[int, ...], workspace: int, stream: Stream) -> None:
        if self._grid is not None:
            self._launch(self._grid, self._kernel.pack(convolution_values(self._problem, addresses)), stream)


@cache
def convolution_kernel(kind: str, of: dtype) -> Kernel:
    """The kernel of one kind and dtype: (x, w, y, three layouts, nine numbers, groups).  Raises NotSupportedError."""
    if of.category == BOOL:
        raise NotSupportedError(f"convolutions of {of!r} elements are not supported", operator="convolution")

    def reference(x: Any, w: Any, y: Any, *numbers: int) -> None:
        REFERENCES[kind](x, w, y, numbers[:3], numbers[3:6], numbers[6:9], numbers[9])

    modes = {name: "w" if result == kind else "r" for name, result in zip(CONVOLUTION_OPERANDS, CONVOLVED)}
    params: list[Param] = [Pointer(name, of, mode, f"{name}_layout") for name, mode in modes.items()]
    params += [Strided(f"{name}_layout", (name,)) for name in CONVOLUTION_OPERANDS]
    params += [Scalar(name, "int64") for name in (*NUMBERS, "groups")]
    return Kernel(f"{kind}_{of.name}", _convolution_source(kind, of, modes), params, reference, 2.0)


def convolution_kernels(of: dtype) -> tuple[Kernel, ...]:
    """Return every kernel of one data type."""
    return tuple(convolution_kernel(kind, of) for kind in CONVOLUTIONS)


def _convolution_source(kind: str, of: dtype, modes: dict[str, str]) -> str:
    accumulator = of.compute if of.category == FLOATING else "unsigned long long"
    pointers = [f"{'const ' if mode == 'r' else ''}{of.cuda}* {name}" for name, mode in modes.items()]
    layouts = [f"const __grid_constant__ Layout<1> {name}_layout" for name in CONVOLUTION_OPERANDS]
    numbers = [f"long long {name}" for name in (*NUMBERS, "groups")]
    listed = ", ".join("{" + ", ".join(NUMBERS[at : at + SPATIAL]) + "}" for at in range(0, len(NUMBERS), SPATIAL))
    call = f"{kind}<{of.cuda}, {accumulator}>(x, w, y, x_layout, w_layout, y_layout, steps, groups);"
    head = f'extern "C" __global__ void __launch_bounds__({CONVOLUTION_THREADS})\n{kind}_{of.name}'
    entry = f"{head}({', '.join([*pointers, *layouts, *numbers])}) {{\n"
    body = f"    const Steps steps = {{{listed}}};\n    {call}\n}}\n"
    return "\n".join((device_text("ops/kernels/prelude.cu"), device_text("driver/nvidia/convolution.cu"), entry + body))


def convolution_values(problem: Convolution, addresses: tuple[int, ...]) -> tuple[Any, ...]:
    """Return the values that the kernel's `pack` takes for the operands (x, w, y)."""
    shapes = problem.x_shape, problem.w_shape, problem.y_shape
    strides = problem.x_strides, problem.w_strides, problem.y_strides
    layouts = [(_with_three(shape, 1), [_with_three(steps, 0)]) for shape, steps in zip(shapes, strides)]
    lead = SPATIAL - len(problem.stride)
    numbers = (problem.stride, 1), (problem.padding, 0), (problem.dilation, 1)
    steps = [number for given, missing in numbers for number in ((missing,) * lead + given)]
    return *addresses, *layouts, *steps, problem.groups


def _with_three(sizes: Sizes, missing: int) -> Sizes:
    """Return sizes or strides with three spatial dimensions."""
    return (*sizes[:2], *(missing,) * (2 + SPATIAL - len(sizes)), *sizes[2:])


def convolution_grid(problem: Convolution) -> Grid | None:
    """Return the grid: one thread, or one block for a weight's gradient, per element; None without elements."""
    shapes = dict(zip(CONVOLVED, (problem.x_shape, problem.w_shape, problem.y_shape)))
    numel = prod(shapes[problem.kind])
    blocks = numel if problem.kind == OF_WEIGHT else -(-numel // CONVOLUTION_THREADS)
    return Grid((min(blocks, MAX_BLOCKS), 1, 1), CONVOLUTION_THREADS) if blocks else None
