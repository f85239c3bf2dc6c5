"""One LSTM layer in one direction, step by step, queued in one call (kernels/lstm.cu).

For few sequences, this is faster than cuDNN.  A small recurrent product of one step is computed by the kernel of the
gates; a larger one is computed by a library, and a kernel of the gates follows.  All sequences have the same length.
The product with the inputs, and the gradients of the weights, are one product each over all steps.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

from ..dtypes import dtype, float32, float64
from ..host import np
from ..kernel import Grid, Kernel, Pointer, Scalar
from ..library_operation import Gemm
from .operator import Array, Call, Operand, Sample, operator
from .pointwise import PRELUDE, THREADS, source_text
from .recurrent import HIDDEN, allow_tf32, dense

SOURCE = PRELUDE + source_text("lstm.cu")
SIZES = [Scalar("count", "int64"), Scalar("hidden", "int64")]
WIDE, NARROW, WIDTH = ("count", "width"), ("count", "hidden"), Scalar("width", "int64")

GROUPS, MOST = 4, 32  # in lstm.cu: groups of lanes per block; the most sequences per block
WARPS = 16  # per block
BLOCKS = 132  # hidden units are divided among this many blocks: the multiprocessors of an H200
LEAST_UNITS, MOST_UNITS = 4, 8  # hidden units per block in backward
MOST_PRODUCTS = 6e7  # multiplications of a step at which a library is as fast as the kernels here, on an H200


class Form(NamedTuple):
    """The template arguments of the kernels of a step.

    rows: sequences of a group of lanes.  vector: neighbouring elements of one access.  units: hidden units of a block.
    """

    rows: int
    vector: int
    units: int
    is_backward: bool = False

    def name(self, kind: dtype) -> str:
        """Return the entry of the kernel."""
        if self.is_backward:
            return f"lstm_step_slopes_{self.units}_{self.rows}_{self.vector}_{kind.name}"
        return f"lstm_step_{self.rows}_{self.vector}_{kind.name}"


def _finish(results: Any, cells: Any, gates: Any, sums: Any, before: Any) -> None:
    """Compute the gates and states of a step, in NumPy."""
    count, hidden = results.shape
    sums = sums.reshape(count, 4, hidden)
    enter, keep, leave = (1 / (1 + np.exp(-sums[:, gate])) for gate in (0, 1, 3))
    fresh = np.tanh(sums[:, 2])
    gates[...] = np.concatenate([enter, keep, fresh, leave], 1)
    cells[...] = keep * before + enter * fresh
    results[...] = leave * np.tanh(cells)


def _finish_slopes(flow: Any, cell_grad: Any, of_result: Any, gates: Any, cells: Any, before: Any) -> None:
    """Compute the gradients of the gates of a step, in NumPy."""
    hidden = cells.shape[1]
    enter, keep, fresh, leave = (gates[:, at * hidden : (at + 1) * hidden] for at in range(4))
    bent = np.tanh(cells)
    of_cell = cell_grad + of_result * leave * (1 - bent * bent)
    parts = (
        of_cell * fresh * enter * (1 - enter), of_cell * before * keep * (1 - keep),
        of_cell * enter * (1 - fresh * fresh), of_result * bent * leave * (1 - leave),
    )  # fmt: skip
    flow[...] = np.concatenate(parts, 1)
    cell_grad[...] = of_cell * keep


@cache
def gates_kernel(kind: dtype) -> Kernel:
    """Return the kernel of the gates and states of one step, whose product a library has computed."""
    entry, of = f"lstm_gates_{kind.name}", kind.cuda
    source = f"""{SOURCE}
extern "C" __global__ void __launch_bounds__({THREADS}) {entry}({of}* gates, {of}* results, {of}* cells,
    const {of}* before, const {of}* projected, const {of}* product, long long count, long long hidden,
    long long width) {{
  lstm_gates<{kind.wide.cuda}>(gates, results, cells, before, projected, product, count, hidden);
}}
"""

    def reference(
        gates: Any, results: Any, cells: Any, before: Any, projected: Any, product: Any, *_: int
    ) -> None:  # fmt: skip
        _finish(results, cells, gates, projected + product, before)

    params = [
        *_made(kind), Pointer("before", kind, "r", NARROW), Pointer("projected", kind, "r", WIDE),
        Pointer("product", kind, "r", WIDE), *SIZES, WIDTH,
    ]  # fmt: skip
    return Kernel(entry, source, params, reference)


@cache
def slopes_kernel(kind: dtype) -> Kernel:
    """Return the kernel of the gradients of one step's gates and of the cells before it."""
    entry, of = f"lstm_slopes_{kind.name}", kind.cuda
    source = f"""{SOURCE}
extern "C" __global__ void __launch_bounds__({THREADS}) {entry}({of}* flow, {of}* cell_grad,
    const {of}* hidden_grad, const {of}* grad, const {of}* gates, const {of}* cells, const {of}* before,
    long long count, long long hidden, long long width) {{
  lstm_slopes<{kind.wide.cuda}>(flow, cell_grad, hidden_grad, grad, gates, cells, before, count, hidden);
}}
"""

    def reference(
        flow: Any, cell_grad: Any, hidden_grad: Any, grad: Any, gates: Any, cells: Any, before: Any, *_: int
    ) -> None:  # fmt: skip
        _finish_slopes(flow, cell_grad, grad + hidden_grad, gates, cells, before)

    params = [*_sloped(kind), Pointer("hidden_grad", kind, "r", NARROW), *_known(kind), *SIZES, WIDTH]
    return Kernel(entry, source, params, reference)


@cache
def step_kernel(kind: dtype, form: Form) -> Kernel:
    """Return the kernel of one step: the recurrent product, the gates and the states."""
    entry, of = form.name(kind), kind.cuda
    source = f"""{SOURCE}
extern "C" __global__ void __launch_bounds__({32 * WARPS}) {entry}({of}* gates, {of}* results, {of}* cells,
    const {of}* hidden_before, const {of}* before, const {of}* projected, const {of}* weight, long long count,
    long long hidden, long long width, long long units) {{
  lstm_step<{WARPS}, {form.rows}, {form.vector}>(gates, results, cells, hidden_before, before, projected, weight, count,
      hidden, (int)units);
}}
"""

    def reference(
        gates: Any, results: Any, cells: Any, hidden_before: Any, before: Any, projected: Any, weight: Any, *_: int
    ) -> None:  # fmt: skip
        _finish(results, cells, gates, projected + hidden_before @ weight.T, before)

    params = [
        *_made(kind), Pointer("hidden_before", kind, "r", NARROW), Pointer("before", kind, "r", NARROW),
        Pointer("projected", kind, "r", WIDE), Pointer("weight", kind, "r", ("width", "hidden")), *SIZES, WIDTH,
        Scalar("units", "int64"),
    ]  # fmt: skip
    return Kernel(entry, source, params, reference, 2.0 * GROUPS * form.rows)


@cache
def step_slopes_kernel(kind: dtype, form: Form) -> Kernel:
    """Return the kernel of the gradients of a step's results, by a product, and of its gates."""
    entry, of = form.name(kind), kind.cuda
    source = f"""{SOURCE}
extern "C" __global__ void __launch_bounds__({32 * WARPS}) {entry}({of}* flow, {of}* cell_grad, const {of}* flow_after,
    const {of}* turned, const {of}* grad, const {of}* gates, const {of}* cells, const {of}* before, long long count,
    long long hidden, long long width) {{
  lstm_step_slopes<{WARPS}, {form.units}, {form.rows}, {form.vector}>(flow, cell_grad, flow_after, turned, grad, gates,
      cells, before, count, hidden);
}}
"""

    def reference(
        flow: Any, cell_grad: Any, flow_after: Any, turned: Any, grad: Any, gates: Any, cells: Any, before: Any, *_: int
    ) -> None:  # fmt: skip
        _finish_slopes(flow, cell_grad, grad + flow_after @ turned.T, gates, cells, before)

    params = [
        *_sloped(kind), Pointer("flow_after", kind, "r", WIDE), Pointer("turned", kind, "r", ("hidden", "width")),
        *_known(kind), *SIZES, WIDTH,
    ]  # fmt: skip
    return Kernel(entry, source, params, reference, 2.0 * GROUPS * form.rows)


def _made(dtype: dtype) -> list[Pointer]:
    """Return kernel parameters: the arrays that a forward step writes."""
    shapes = {"gates": WIDE, "results": NARROW, "cells": NARROW}
    return [Pointer(name, dtype, "w", shape) for name, shape in shapes.items()]


def _sloped(dtype: dtype) -> list[Pointer]:
    """Return kernel parameters: the arrays that a backward step writes."""
    return [Pointer("flow", dtype, "w", WIDE), Pointer("cell_grad", dtype, "rw", NARROW)]


def _known(dtype: dtype) -> list[Pointer]:
    """Return kernel parameters: the arrays that a backward step reads."""
    shapes = {"grad": NARROW, "gates": WIDE, "cells": NARROW, "before": NARROW}
    return [Pointer(name, dtype, "r", shape) for name, shape in shapes.items()]


def _form(batch: int, hidden: int, dtype: dtype, is_backward: bool) -> Form | None:
    """Return the form of the kernels that also compute the recurrent product, or None where a library is faster."""
    if 4 * batch * hidden * hidden > MOST_PRODUCTS or hidden < MOST_UNITS:
        return None
    columns = 4 * hidden if is_backward else hidden
    vectors = (width for width in (4, 2) if columns % width == 0 and width * dtype.itemsize <= 16)
    units = min(-(-hidden // BLOCKS), MOST_UNITS)
    units = max(units, LEAST_UNITS) if is_backward else units
    return Form(-(-min(batch, MOST) // GROUPS), next(vectors, 1), units, is_backward)


def _grid(form: Form, batch: int, hidden: int) -> Grid:
    warps = WARPS if form.is_backward else WARPS // form.units * form.units
    return Grid((-(-hidden // form.units), -(-batch // MOST), 1), 32 * warps)


def _multiply(call: Call, out: Any, a: Any, b: Any, a_turned: bool, b_turned: bool, bias: Any = None) -> None:
    """Queue out = a @ b (+ bias) of contiguous matrices; either may be given transposed."""
    (m, n), k = out.shape, a.shape[0] if a_turned else a.shape[1]
    a_steps = (0, 1, m) if a_turned else (0, k, 1)
    b_steps = (0, 1, k) if b_turned else (0, n, 1)
    is_rounded = allow_tf32.value and out.dtype is float32 and not call.is_on_host
    gemm = Gemm(out.dtype, 1, m, n, k, a_steps, b_steps, (m * n, n, 1), bias is not None, is_rounded)
    call.library(gemm, out, a, b, bias)


def _rows(call: Call, operand: Any, first: int, count: int) -> Any:
    width = operand.shape[1]
    return call.part(operand, (count, width), (width, 1), first * width)


def _each(count: int) -> Grid:
    """Return a grid with a thread for each element."""
    return Grid((-(-count // THREADS), 1, 1), THREADS)


def _filled(call: Call, like: Any) -> Any:
    copy = call.output(like.shape, like.dtype)
    call.assign(copy, like)
    return copy


# hidden units and sequences of samples: without and with the kernels that compute the product, with each vector size
SAMPLED = (4, 2), (12, 2), (10, 37), (9, 5), (11, 18)


def _sample_operands(hidden: int = 4, batch: int = 2) -> list[Array]:
    shapes = (3 * batch, 5), (4 * hidden, 5), (4 * hidden, hidden), (4 * hidden,), (batch, hidden), (batch, hidden)
    return [Array(shape, -1, 1, seed=seed, grad=False) for seed, shape in enumerate(shapes)]


def _samples() -> Iterator[Sample]:
    for is_reverse in (False, True):
        for sizes in SAMPLED:
            yield Sample((*_sample_operands(*sizes), is_reverse))


@operator(samples=_samples, dtypes=(float32, float64), **HIDDEN)
def lstm_layer(
    call: Call, data: Operand, weight_ih: Operand, weight_hh: Operand, bias: Operand | None, h_0: Operand,
    c_0: Operand, is_reverse: bool,
) -> Any:  # fmt: skip
    """Return (results, last state, last cell, gates, cells) of an LSTM layer.  bias: bias_ih + bias_hh.

    Shapes: data [steps * n, features], the steps one below the other; states [n, hidden]; gates [steps * n, 4 * hidden]
    Host:   returns at once.
    """
    (rows, _), (batch, hidden), dtype = data.shape, h_0.shape, data.dtype
    results, cells = call.output((rows, hidden), dtype), call.output((rows, hidden), dtype)
    h, c = call.output(h_0.shape, dtype), call.output(c_0.shape, dtype)
    gates, projected = call.output((rows, 4 * hidden), dtype), call.scratch((rows, 4 * hidden), dtype)
    bias = None if bias is None else call.contiguous(bias)
    _multiply(call, projected, call.contiguous(data), call.contiguous(weight_ih), False, True, bias)
    weight, states = dense(call, weight_hh), (dense(call, h_0), call.contiguous(c_0))
    form = _form(batch, hidden, dtype, False)
    product = None if form else call.scratch((batch, 4 * hidden), dtype)
    firsts = range(0, rows, batch)
    for first in reversed(firsts) if is_reverse else firsts:
        written = [_rows(call, operand, first, batch) for operand in (gates, results, cells)]
        given, sizes = _rows(call, projected, first, batch), (batch, hidden, 4 * hidden)
        if form:
            kernel, grid = step_kernel(dtype, form), _grid(form, batch, hidden)
            call.launch(kernel, grid, *written, *states, given, weight, *sizes, form.units)
        else:
            _multiply(call, product, states[0], weight, False, True)
            call.launch(gates_kernel(dtype), _each(batch * hidden), *written, states[1], given, product, *sizes)
        states = written[1], written[2]
    call.assign(h, states[0])
    call.assign(c, states[1])
    return results, h, c, gates, cells


def _backward_samples() -> Iterator[Sample]:
    for is_reverse in (False, True):
        for hidden, batch in SAMPLED:
            data, of_x, of_h, _, h_0, c_0 = _sample_operands(hidden, batch)
            rows = Array((3 * batch, hidden), -1, 1, seed=7, grad=False)
            wide = Array((3 * batch, 4 * hidden), 0, 1, seed=8, grad=False)
            yield Sample((rows, h_0, c_0, rows, wide, rows, data, of_x, of_h, h_0, c_0, is_reverse))


@operator(samples=_backward_samples, dtypes=(float32, float64), **HIDDEN)
def lstm_layer_backward(
    call: Call, grad: Operand, h_n_grad: Operand, c_n_grad: Operand, results: Operand, gates: Operand, cells: Operand,
    data: Operand, weight_ih: Operand, weight_hh: Operand, h_0: Operand, c_0: Operand, is_reverse: bool,
) -> Any:  # fmt: skip
    """Return the gradients of data, weight_ih, weight_hh, the gates' sums, h_0 and c_0 of `lstm_layer`.

    Host:   returns at once.
    """
    (rows, features), (batch, hidden), dtype = data.shape, h_0.shape, data.dtype
    flow, of_h, of_c = call.output((rows, 4 * hidden), dtype), _filled(call, h_n_grad), _filled(call, c_n_grad)
    grad, results, gates, cells = (call.contiguous(operand) for operand in (grad, results, gates, cells))
    data, of_x, weight, h_0, c_0 = (call.contiguous(operand) for operand in (data, weight_ih, weight_hh, h_0, c_0))
    form = _form(batch, hidden, dtype, True)
    turned = call.scratch((hidden, 4 * hidden), dtype) if form else None
    if form:
        call.assign(turned, call.part(weight, (hidden, 4 * hidden), (1, hidden), 0))
    states = call.scratch((rows, hidden), dtype)  # the state before each step
    step, sizes, after = -batch if is_reverse else batch, (batch, hidden, 4 * hidden), None
    last = range(0, rows, batch) if is_reverse else range(rows - batch, -1, -batch)
    for first in last:
        is_first = not 0 <= first - step < rows
        before = c_0 if is_first else _rows(call, cells, first - step, batch)
        read = (_rows(call, operand, first, batch) for operand in (grad, gates, cells))
        here = _rows(call, flow, first, batch)
        if form and after is not None:
            kernel, grid = step_slopes_kernel(dtype, form), _grid(form, batch, hidden)
            call.launch(kernel, grid, here, of_c, after, turned, *read, before, *sizes)
        else:
            call.launch(slopes_kernel(dtype), _each(batch * hidden), here, of_c, of_h, *read, before, *sizes)
        if is_first or not form:
            _multiply(call, of_h, here, weight, False, False)
        after = here
    kept, start = rows - batch, 0 if is_reverse else batch
    if kept:
        call.assign(_rows(call, states, start, kept), _rows(call, results, batch - start, kept))
    call.assign(_rows(call, states, kept if is_reverse else 0, batch), h_0)
    of_data, of_weight = call.output((rows, features), dtype), call.output(weight_ih.shape, dtype)
    of_hidden = call.output(weight_hh.shape, dtype)
    _multiply(call, of_data, flow, of_x, False, False)
    _multiply(call, of_weight, flow, data, True, False)
    _multiply(call, of_hidden, flow, states, True, False)
    return of_data, of_weight, of_hidden, flow, of_h, of_c
