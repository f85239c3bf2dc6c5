"""Attention and its gradients as cuDNN's operation graphs.

- cuDNN recognizes these graphs as a whole and runs its fused kernels: no matrix of scores is ever in memory.  What it
  recognizes is this decomposition and order; the same mathematics written otherwise is refused, or is slow.
- Keys go in transposed, and for the gradients values too.
- The gradients accumulate the query's in float32, and need one float32 sum per query: both lie in the workspace.
"""

from __future__ import annotations

from math import inf
from typing import NamedTuple

from ...dtypes import bool_, float32, int32
from ...problem import Attention, AttentionBackward
from .dnn_graph import (
    ADD,
    DIV,
    EXP,
    GREATER_EQUAL,
    IDENTITY,
    INDEX,
    LOG,
    MAX,
    MUL,
    SELECT,
    SUB,
    SUM,
    Backend,
    Graph,
    Sizes,
    Tensor,
    packed,
)

ONE = (1, 1, 1, 1)
# numbers of the tensors
OUT, LOGSUMEXP, QUERY, KEY, VALUE, GRAD, QUERY_GRAD, KEY_GRAD, VALUE_GRAD = range(1, 10)
SCALE, NOTHING, UNIT, ALONG, SUM_OF_QUERY = range(10, 15)


class Program(NamedTuple):
    """A graph and what a run of it names.

    operands: the tensors' numbers, in the order of the problem's operands.  scalars: values of the tensors that are
    one number.  scratch: bytes that other tensors need.
    """

    graph: Graph
    operands: tuple[int, ...]
    scalars: dict[int, float]
    scratch: dict[int, int]


def attention(backend: Backend, problem: Attention) -> Program:
    """The graph of (out, logsumexp, query, key, value)."""
    graph, kind = Graph(backend), problem.dtype
    rows = (*problem.out_shape[:3], 1)
    query = graph.tensor(QUERY, problem.query_shape, kind, problem.query_strides)
    key = _transposed(graph, KEY, problem.key_shape, problem.key_strides, problem)
    value = graph.tensor(VALUE, problem.value_shape, kind, problem.value_strides)
    scale = graph.tensor(SCALE, ONE, float32, by_value=True)
    scores = graph.matmul(query, key, graph.value(_square(problem)))
    scores = graph.pointwise(MUL, scores, scale)
    scores = _causal(graph, scores) if problem.is_causal else scores
    top = graph.reduce(MAX, scores, graph.value(rows))
    powers = graph.pointwise(EXP, graph.pointwise(SUB, scores, top))
    total = graph.reduce(SUM, powers, graph.value(rows))
    graph.pointwise(ADD, top, graph.pointwise(LOG, total), out=graph.tensor(LOGSUMEXP, rows, float32))
    weights = graph.pointwise(DIV, powers, total, type=kind)
    graph.matmul(weights, value, graph.tensor(OUT, problem.out_shape, kind, problem.out_strides))
    return Program(graph, (OUT, LOGSUMEXP, QUERY, KEY, VALUE), _scalars(problem), {})


def attention_backward(backend: Backend, problem: AttentionBackward) -> Program:
    """The graph of (query_grad, key_grad, value_grad, grad, out, logsumexp, query, key, value)."""
    graph, of = Graph(backend), problem.forward
    kind, rows, square = of.dtype, (*of.out_shape[:3], 1), _square(of)
    query = graph.tensor(QUERY, of.query_shape, kind, of.query_strides)
    key = _transposed(graph, KEY, of.key_shape, of.key_strides, of)
    value = _transposed(graph, VALUE, of.value_shape, of.value_strides, of)
    scale, unit = (graph.tensor(uid, ONE, float32, by_value=True) for uid in (SCALE, UNIT))
    grad = graph.tensor(GRAD, of.out_shape, kind, problem.grad_strides)
    out = graph.tensor(OUT, of.out_shape, kind, of.out_strides)
    along = graph.reduce(SUM, graph.pointwise(MUL, grad, out), graph.value(rows))
    along = graph.pointwise(MUL, along, unit, out=graph.tensor(ALONG, rows, float32))

    scores = graph.pointwise(MUL, graph.matmul(query, key, graph.value(square)), scale)
    scores = graph.pointwise(SUB, scores, graph.tensor(LOGSUMEXP, rows, float32))
    weights = graph.pointwise(EXP, _causal(graph, scores) if of.is_causal else scores)
    value_grad = graph.tensor(VALUE_GRAD, of.value_shape, kind, problem.value_grad_strides)
    _sum_over_queries(graph, weights, grad, value_grad, of)

    slopes = graph.pointwise(SUB, graph.matmul(grad, value, graph.value(square)), along)
    slopes = graph.pointwise(MUL, graph.pointwise(MUL, slopes, weights), scale)
    key_grad = graph.tensor(KEY_GRAD, of.key_shape, kind, problem.key_grad_strides)
    _sum_over_queries(graph, slopes, query, key_grad, of)

    rows_of_key = graph.reshape(key, graph.value(of.key_shape, kind, of.key_strides))
    summed = graph.matmul(slopes, rows_of_key, graph.tensor(SUM_OF_QUERY, of.query_shape, float32))
    graph.pointwise(IDENTITY, summed, out=graph.tensor(QUERY_GRAD, of.query_shape, kind, problem.query_grad_strides))
    operands = QUERY_GRAD, KEY_GRAD, VALUE_GRAD, GRAD, OUT, LOGSUMEXP, QUERY, KEY, VALUE
    queries = of.batch * of.heads * of.queries
    scratch = {ALONG: queries * float32.itemsize, SUM_OF_QUERY: queries * of.head_dim * float32.itemsize}
    return Program(graph, operands, {**_scalars(of), UNIT: 1.0}, scratch)


def _scalars(problem: Attention) -> dict[int, float]:
    return {SCALE: problem.scale, NOTHING: -inf} if problem.is_causal else {SCALE: problem.scale}


def _square(problem: Attention) -> Sizes:
    return problem.batch, problem.heads, problem.queries, problem.keys


def _transposed(graph: Graph, uid: int, sizes: Sizes, strides: Sizes, problem: Attention) -> Tensor:
    batch, heads, rows, columns = sizes
    swapped = (*strides[:2], strides[3], strides[2])
    return graph.tensor(uid, (batch, heads, columns, rows), problem.dtype, swapped)


def _causal(graph: Graph, scores: Tensor) -> Tensor:
    """Minus infinity where the key comes after the query."""
    row = graph.pointwise(INDEX, scores, type=int32, axis=2)
    column = graph.pointwise(INDEX, scores, type=int32, axis=3)
    seen = graph.pointwise(GREATER_EQUAL, row, column, type=bool_, precision=bool_)
    return graph.pointwise(SELECT, scores, graph.tensor(NOTHING, ONE, float32, by_value=True), where=seen)


def _sum_over_queries(graph: Graph, matrix: Tensor, other: Tensor, out: Tensor, problem: Attention) -> None:
    """out = matrix^T @ other, summed over the heads of a group."""
    batch, heads, queries, keys = matrix.sizes
    swapped = batch, heads, keys, queries
    steps = packed(matrix.sizes)
    turned = graph.reshape(matrix, graph.value(swapped, problem.dtype, (*steps[:2], steps[3], steps[2])))
    if problem.heads == problem.kv_heads:
        graph.matmul(turned, other, out)
        return
    per_head = graph.value((batch, heads, keys, out.sizes[3]), problem.dtype)
    graph.reduce(SUM, graph.matmul(turned, other, per_head), out)
