"""One LSTM layer in one direction, step by step: a product and a kernel of gates for each step, queued in one call.

For few sequences, cuDNN's products of one step take longer than cuBLASLt's.  All sequences have the same length.
The product with the inputs, and the gradients of the weights, are one product over all steps.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

from ..dtypes import dtype, float32, float64
from ..host import np
from ..kernel import Grid, Kernel, Pointer, Scalar
from ..library_operation import Gemm
from .operator import Array, Call, Operand, Sample, operator
from .pointwise import PRELUDE, THREADS
from .recurrent import HIDDEN, allow_tf32

GATES_SOURCE = """
template <class C> inline C logistic(C x) { return C(1) / (C(1) + exp(-x)); }

template <class C, class T>
inline void lstm_gates(T* gates, T* results, T* cells, T* h, T* c, const T* projected, const T* product,
                       long long count, long long hidden) {
    const long long at = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (at >= count * hidden) return;
    const long long first = at / hidden * 4 * hidden + at % hidden;
    C sums[4];
    for (int gate = 0; gate < 4; ++gate) {
        const long long place = first + gate * hidden;
        sums[gate] = load<C>(projected[place]) + load<C>(product[place]);
    }
    const C enter = logistic(sums[0]), keep = logistic(sums[1]), fresh = tanh(sums[2]), leave = logistic(sums[3]);
    const C cell = keep * load<C>(c[at]) + enter * fresh, result = leave * tanh(cell);
    gates[first] = store<T>(enter);
    gates[first + hidden] = store<T>(keep);
    gates[first + 2 * hidden] = store<T>(fresh);
    gates[first + 3 * hidden] = store<T>(leave);
    cells[at] = c[at] = store<T>(cell);
    results[at] = h[at] = store<T>(result);
}

template <class C, class T>
inline void lstm_slopes(T* flow, T* cell_grad, const T* hidden_grad, const T* grad, const T* gates, const T* cells,
                        const T* before, long long count, long long hidden) {
    const long long at = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (at >= count * hidden) return;
    const long long first = at / hidden * 4 * hidden + at % hidden;
    const C enter = load<C>(gates[first]), keep = load<C>(gates[first + hidden]);
    const C fresh = load<C>(gates[first + 2 * hidden]), leave = load<C>(gates[first + 3 * hidden]);
    const C of_result = load<C>(grad[at]) + load<C>(hidden_grad[at]), bent = tanh(load<C>(cells[at]));
    const C of_cell = load<C>(cell_grad[at]) + of_result * leave * (C(1) - bent * bent);
    flow[first] = store<T>(of_cell * fresh * enter * (C(1) - enter));
    flow[first + hidden] = store<T>(of_cell * load<C>(before[at]) * keep * (C(1) - keep));
    flow[first + 2 * hidden] = store<T>(of_cell * enter * (C(1) - fresh * fresh));
    flow[first + 3 * hidden] = store<T>(of_result * bent * leave * (C(1) - leave));
    cell_grad[at] = store<T>(of_cell * keep);
}
"""
SIZES = [Scalar("count", "int64"), Scalar("hidden", "int64")]


@cache
def gates_kernel(kind: dtype) -> Kernel:
    """The kernel of the gates, the results and the states of one step."""
    entry, of = f"lstm_gates_{kind.name}", kind.cuda
    code = f"""{PRELUDE}{GATES_SOURCE}
extern "C" __global__ void __launch_bounds__({THREADS}) {entry}({of}* gates, {of}* results, {of}* cells, {of}* h,
    {of}* c, const {of}* projected, const {of}* product, long long count, long long hidden, long long width) {{
  lstm_gates<{kind.wide.cuda}>(gates, results, cells, h, c, projected, product, count, hidden);
}}
"""

    def reference(
        gates: Any, results: Any, cells: Any, h: Any, c: Any, projected: Any, product: Any, count: int, hidden: int,
        width: int,
    ) -> None:  # fmt: skip
        sums = (projected + product).reshape(count, 4, hidden)
        enter, keep, leave = (1 / (1 + np.exp(-sums[:, gate])) for gate in (0, 1, 3))
        fresh = np.tanh(sums[:, 2])
        gates[...] = np.concatenate([enter, keep, fresh, leave], 1)
        cells[...] = c[...] = keep * c + enter * fresh
        results[...] = h[...] = leave * np.tanh(c)

    wide, narrow = ("count", "width"), ("count", "hidden")
    params = [
        Pointer("gates", kind, "w", wide), Pointer("results", kind, "w", narrow), Pointer("cells", kind, "w", narrow),
        Pointer("h", kind, "w", narrow), Pointer("c", kind, "rw", narrow), Pointer("projected", kind, "r", wide),
        Pointer("product", kind, "r", wide), *SIZES, Scalar("width", "int64"),
    ]  # fmt: skip
    return Kernel(entry, code, params, reference)


@cache
def slopes_kernel(kind: dtype) -> Kernel:
    """The kernel of the gradients of one step's gates and of the cells before it."""
    entry, of = f"lstm_slopes_{kind.name}", kind.cuda
    code = f"""{PRELUDE}{GATES_SOURCE}
extern "C" __global__ void __launch_bounds__({THREADS}) {entry}({of}* flow, {of}* cell_grad,
    const {of}* hidden_grad, const {of}* grad, const {of}* gates, const {of}* cells, const {of}* before,
    long long count, long long hidden, long long width) {{
  lstm_slopes<{kind.wide.cuda}>(flow, cell_grad, hidden_grad, grad, gates, cells, before, count, hidden);
}}
"""

    def reference(
        flow: Any, cell_grad: Any, hidden_grad: Any, grad: Any, gates: Any, cells: Any, before: Any, count: int,
        hidden: int, width: int,
    ) -> None:  # fmt: skip
        enter, keep, fresh, leave = (gates[:, at * hidden : (at + 1) * hidden] for at in range(4))
        of_result, bent = grad + hidden_grad, np.tanh(cells)
        of_cell = cell_grad + of_result * leave * (1 - bent * bent)
        parts = (
            of_cell * fresh * enter * (1 - enter), of_cell * before * keep * (1 - keep),
            of_cell * enter * (1 - fresh * fresh), of_result * bent * leave * (1 - leave),
        )  # fmt: skip
        flow[...] = np.concatenate(parts, 1)
        cell_grad[...] = of_cell * keep

    wide, narrow = ("count", "width"), ("count", "hidden")
    params = [
        Pointer("flow", kind, "w", wide), Pointer("cell_grad", kind, "rw", narrow),
        Pointer("hidden_grad", kind, "r", narrow), Pointer("grad", kind, "r", narrow),
        Pointer("gates", kind, "r", wide), Pointer("cells", kind, "r", narrow), Pointer("before", kind, "r", narrow),
        *SIZES, Scalar("width", "int64"),
    ]  # fmt: skip
    return Kernel(entry, code, params, reference)


def _multiply(call: Call, out: Any, a: Any, b: Any, a_turned: bool, b_turned: bool, bias: Any = None) -> None:
    """Queue out = a @ b (+ bias) of contiguous matrices, of which each may be given turned."""
    (m, n), k = out.shape, a.shape[0] if a_turned else a.shape[1]
    a_steps = (0, 1, m) if a_turned else (0, k, 1)
    b_steps = (0, 1, k) if b_turned else (0, n, 1)
    is_rounded = allow_tf32.value and out.dtype is float32 and not call.is_on_host
    gemm = Gemm(out.dtype, 1, m, n, k, a_steps, b_steps, (m * n, n, 1), bias is not None, is_rounded)
    call.library(gemm, out, a, b, bias)


def _rows(call: Call, operand: Any, first: int, count: int) -> Any:
    width = operand.shape[1]
    return call.part(operand, (count, width), (width, 1), first * width)


def _filled(call: Call, like: Any) -> Any:
    made = call.output(like.shape, like.dtype)
    call.assign(made, like)
    return made


def _sample_operands() -> list[Array]:
    shapes = (6, 5), (16, 5), (16, 4), (16,), (2, 4), (2, 4)
    return [Array(shape, -1, 1, seed=seed, grad=False) for seed, shape in enumerate(shapes)]


def _samples() -> Iterator[Sample]:
    for is_reverse in (False, True):
        yield Sample((*_sample_operands(), is_reverse))


@operator(samples=_samples, dtypes=(float32, float64), **HIDDEN)
def lstm_layer(
    call: Call, data: Operand, weight_ih: Operand, weight_hh: Operand, bias: Operand | None, h_0: Operand,
    c_0: Operand, is_reverse: bool,
) -> Any:  # fmt: skip
    """(results, last state, last cell, gates, cells) of an LSTM layer.  bias: the sum of both.

    Shapes: data [steps * n, features], the steps one below the other; states [n, hidden]; gates [steps * n, 4 * hidden]
    Host:   returns at once.
    """
    (rows, _), (batch, hidden), kind = data.shape, h_0.shape, data.dtype
    results, cells = call.output((rows, hidden), kind), call.output((rows, hidden), kind)
    gates, h, c = call.output((rows, 4 * hidden), kind), _filled(call, h_0), _filled(call, c_0)
    projected, product = call.scratch((rows, 4 * hidden), kind), call.scratch((batch, 4 * hidden), kind)
    bias = None if bias is None else call.contiguous(bias)
    _multiply(call, projected, call.contiguous(data), call.contiguous(weight_ih), False, True, bias)
    weight, kernel = call.contiguous(weight_hh), gates_kernel(kind)
    grid = Grid((-(-batch * hidden // THREADS), 1, 1), THREADS)
    firsts = range(0, rows, batch)
    for first in reversed(firsts) if is_reverse else firsts:
        _multiply(call, product, h, weight, False, True)
        made = (_rows(call, each, first, batch) for each in (gates, results, cells))
        call.launch(kernel, grid, *made, h, c, _rows(call, projected, first, batch), product, batch, hidden, 4 * hidden)
    return results, h, c, gates, cells


def _backward_samples() -> Iterator[Sample]:
    data, of_x, of_h, _, h_0, c_0 = _sample_operands()
    rows, wide = Array((6, 4), -1, 1, seed=7, grad=False), Array((6, 16), 0, 1, seed=8, grad=False)
    for is_reverse in (False, True):
        yield Sample((rows, h_0, c_0, rows, wide, rows, data, of_x, of_h, h_0, c_0, is_reverse))


@operator(samples=_backward_samples, dtypes=(float32, float64), **HIDDEN)
def lstm_layer_backward(
    call: Call, grad: Operand, h_n_grad: Operand, c_n_grad: Operand, results: Operand, gates: Operand, cells: Operand,
    data: Operand, weight_ih: Operand, weight_hh: Operand, h_0: Operand, c_0: Operand, is_reverse: bool,
) -> Any:  # fmt: skip
    """The gradients of data, weight_ih, weight_hh, the gates' sums, h_0 and c_0 of `lstm_layer`.

    Host:   returns at once.
    """
    (rows, features), (batch, hidden), kind = data.shape, h_0.shape, data.dtype
    flow, of_h, of_c = call.output((rows, 4 * hidden), kind), _filled(call, h_n_grad), _filled(call, c_n_grad)
    grad, results, gates, cells = (call.contiguous(each) for each in (grad, results, gates, cells))
    data, of_x, weight, h_0, c_0 = (call.contiguous(each) for each in (data, weight_ih, weight_hh, h_0, c_0))
    kernel, grid = slopes_kernel(kind), Grid((-(-batch * hidden // THREADS), 1, 1), THREADS)
    states = call.scratch((rows, hidden), kind)  # the state before each step
    step = -batch if is_reverse else batch
    last = range(0, rows, batch) if is_reverse else range(rows - batch, -1, -batch)
    for first in last:
        is_first = not 0 <= first - step < rows
        before = c_0 if is_first else _rows(call, cells, first - step, batch)
        read = (_rows(call, each, first, batch) for each in (grad, gates, cells))
        here = _rows(call, flow, first, batch)
        call.launch(kernel, grid, here, of_c, of_h, *read, before, batch, hidden, 4 * hidden)
        _multiply(call, of_h, here, weight, False, False)
    kept, start = rows - batch, 0 if is_reverse else batch
    if kept:
        call.assign(_rows(call, states, start, kept), _rows(call, results, batch - start, kept))
    call.assign(_rows(call, states, kept if is_reverse else 0, batch), h_0)
    of_data, of_weight = call.output((rows, features), kind), call.output(weight_ih.shape, kind)
    of_hidden = call.output(weight_hh.shape, kind)
    _multiply(call, of_data, flow, of_x, False, False)
    _multiply(call, of_weight, flow, data, True, False)
    _multiply(call, of_hidden, flow, states, True, False)
    return of_data, of_weight, of_hidden, flow, of_h, of_c
