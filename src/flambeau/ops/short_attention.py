"""Kernels of attention between few float32 queries and keys (kernels/short_attention.cu).

Forward and backward are one launch each, and the scores are never stored.  For long sequences, matrix products of a
library are faster.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from math import prod
from typing import Any

from ..dtypes import float32
from ..kernel import Grid, Kernel, Param, Pointer, Scalar, Strided
from ..library_operation import Attention, AttentionBackward, attend, attend_backward
from .pointwise import PRELUDE, source_text

MAX_HEAD_DIM = 64
MAX_OPERATIONS = 3e8  # arithmetic operations of the forward call without a causal mask
TILE, THREADS = 32, 256  # TILE and SHORT_THREADS of short_attention.cu
SOURCE = PRELUDE + source_text("short_attention.cu")

INPUTS = "query key value"
FORWARD = f"out logsumexp {INPUTS}"
BACKWARD = f"query_grad key_grad value_grad grad out logsumexp {INPUTS}"


def serves(query: Any, key: Any, value: Any) -> bool:
    """Return whether the kernels support these operands."""
    dims = query.shape[-1], value.shape[-1]
    return query.dtype is float32 and min(dims) > 0 and max(dims) <= MAX_HEAD_DIM


def is_short(query: Any, key: Any, value: Any) -> bool:
    """Return whether the kernels are faster than matrix products and a softmax."""
    if not serves(query, key, value):
        return False
    operations: int = 2 * prod(query.shape[:-1]) * key.shape[-2] * (query.shape[-1] + value.shape[-1])
    return operations <= MAX_OPERATIONS


def attend_short(call: Any, of: Attention, *operands: Any) -> None:
    """Launch a call of attention.  operands: in the order of FORWARD."""
    layouts = [(of.out_shape, [of.out_strides]), *_inputs(of)]
    grid = Grid((_tiles(of.batch * of.heads, of.queries), 1, 1), THREADS)
    call.launch(_kernel(False, _dims(of)), grid, *operands, *layouts, *_numbers(of))


def attend_short_backward(call: Any, problem: AttentionBackward, *operands: Any) -> None:
    """Launch the gradients of a call of attention.  operands: in the order of BACKWARD."""
    of = problem.forward
    layouts = [
        (of.query_shape, [problem.query_grad_strides]),
        (of.key_shape, [problem.key_grad_strides]),
        (of.value_shape, [problem.value_grad_strides]),
        (of.out_shape, [problem.grad_strides]),
        (of.out_shape, [of.out_strides]),
        *_inputs(of),
    ]
    blocks = _tiles(of.batch * of.heads, of.queries) + _tiles(of.batch * of.kv_heads, of.keys)
    call.launch(_kernel(True, _dims(of)), Grid((blocks, 1, 1), THREADS), *operands, *layouts, *_numbers(of))


def _tiles(heads: int, rows: int) -> int:
    return heads * -(-rows // TILE)


def _dims(of: Attention) -> int:
    return 32 if max(of.head_dim, of.value_dim) <= 32 else MAX_HEAD_DIM


def _inputs(of: Attention) -> list[Any]:
    strides = of.query_strides, of.key_strides, of.value_strides
    return [(shape, [steps]) for shape, steps in zip((of.query_shape, of.key_shape, of.value_shape), strides)]


def _numbers(of: Attention) -> tuple[Any, ...]:
    return of.batch, of.heads, of.queries, of.scale, int(of.is_causal)


@cache
def _kernel(is_backward: bool, dims: int) -> Kernel:
    """Return the kernel of heads of up to `dims` dimensions: (operands, layouts of all but logsumexp, numbers)."""
    name, names, written = "short_attention", FORWARD.split(), 2
    meaning: Callable[..., None] = attend
    if is_backward:
        name, names, written, meaning = "short_attention_backward", BACKWARD.split(), 3, _backward
    strided = [operand for operand in names if operand != "logsumexp"]
    modes = {operand: "w" if index < written else "r" for index, operand in enumerate(names)}
    params: list[Param] = [
        Pointer(operand, float32, modes[operand], f"{operand}_layout")
        if operand in strided
        else Pointer(operand, float32, modes[operand], ("batch", "heads", "queries"))
        for operand in names
    ]
    params += [Strided(f"{operand}_layout", (operand,)) for operand in strided]
    params += [Scalar(number, "int64") for number in ("batch", "heads", "queries")]
    params += [Scalar("scale", "float64"), Scalar("is_causal", "int64")]

    def reference(*values: Any) -> None:
        *arrays, _, _, _, scale, is_causal = values
        meaning(*arrays, scale, bool(is_causal))

    entry = f"{name}_{dims}"
    pointers = [f"{'' if modes[operand] == 'w' else 'const '}float* {operand}" for operand in names]
    layouts = [f"const __grid_constant__ Layout<1> {operand}_layout" for operand in strided]
    numbers = ["long long batch", "long long heads", "long long query_count", "double scale", "long long is_causal"]
    passed = [*names, *(f"{operand}_layout" for operand in strided), "(float)scale", "is_causal != 0"]
    source = f"""{SOURCE}
extern "C" __global__ void __launch_bounds__(SHORT_THREADS)
{entry}({", ".join([*pointers, *layouts, *numbers])}) {{
    {name}<{dims}>({", ".join(passed)});
}}
"""
    return Kernel(entry, source, params, reference, 64.0)


def _backward(
    query_grad: Any, key_grad: Any, value_grad: Any, grad: Any, out: Any, logsumexp: Any, *rest: Any
) -> None:  # fmt: skip
    along = (grad * out).sum(axis=-1)
    attend_backward(query_grad, key_grad, value_grad, grad, logsumexp, along, *rest)
