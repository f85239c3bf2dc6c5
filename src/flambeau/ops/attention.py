"""Scaled dot product attention.

- Half types without a mask or dropout use one `library_operation.Attention`, which never stores the scores.
- Short float32 sequences without them use one kernel (short_attention.py).
- Other calls use matrix products and a softmax, in float32 for half types.
- The result is 0 for a query all of whose keys are masked, and so are its gradients.
- The result has the strides of the query, or contiguous ones where PyTorch computes products and a softmax on its CPU.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from math import inf, sqrt
from typing import Any

from .. import dtypes
from .. import strides as st
from ..dtypes import FLOATING_TYPES, bool_, float32
from ..errors import ArgumentError, AutogradError, DtypeError, ShapeError, ValueRangeError
from ..host import np
from ..kernel import Kernel, Param, Pointer, Scalar
from ..library_operation import Attention, AttentionBackward, Strides
from .compare import where
from .linalg import matmul
from .operator import Array, Call, ErrorSample, Number, Operand, Sample, composite, operator
from .pointwise import PRELUDE, THREADS, grid_over
from .random import dropout
from .short_attention import attend_short, attend_short_backward, is_short, serves
from .softmax import softmax

HALVES = (dtypes.float16, dtypes.bfloat16)
MAX_HEAD_DIM = 256
UNIT = 8  # elements of a half type in one load of 16 bytes
Sizes = Sequence[int]


# the fused operation


def _loadable(call: Any, operand: Any) -> Any:
    """Return the operand, or a copy if it is of a half type and not every row is aligned to 16 bytes."""
    if operand.dtype not in HALVES:
        return operand
    units = (step % UNIT == 0 and step > 0 for size, step in zip(operand.shape, operand.strides[:-1]) if size > 1)
    if operand.is_aligned() and operand.strides[-1] == 1 and all(units):
        return operand
    copied = call.scratch(operand.shape, operand.dtype)
    call.assign(copied, operand)
    return copied


def _steps(operand: Any) -> Strides:
    """Return the strides of four dimensions; a dimension of size 1 gets the stride of a contiguous array."""
    steps = zip(operand.shape, operand.strides, st.contiguous(operand.shape))
    batch, head, row, column = [dense if size == 1 else step for size, step, dense in steps]
    return batch, head, row, column


def _made(call: Any, shape: Sizes, like: Any) -> Any:
    """Allocate a result [batch, heads, rows, dims] of the type of `like`, in the order of its dimensions in memory."""
    _, heads, rows, dims = shape
    if heads > 1 and like.strides[1] < like.strides[2]:
        return call.output(shape, like.dtype, (heads * rows * dims, dims, heads * dims, 1))
    return call.output(shape, like.dtype)


def _follows_query(query: Any, key: Any, value: Any) -> bool:
    """Return whether a result has the strides of the query, as from PyTorch's fused kernels; also for grouped heads."""
    operands = query, key, value
    is_fused = query.shape[-1] == value.shape[-1] and bool(key.numel())
    return is_fused and all(operand.strides[-1] == 1 for operand in operands)


def _attention(query: Any, key: Any, value: Any, out: Any, is_causal: bool, scale: float) -> Attention:
    batch, heads, queries, head_dim = query.shape
    sizes = batch, heads, key.shape[1], queries, key.shape[2], head_dim, value.shape[3]
    strides = _steps(query), _steps(key), _steps(value), _steps(out)
    return Attention(query.dtype, *sizes, float(scale), bool(is_causal), *strides)


def _fused_samples() -> Iterator[Sample]:
    def sample(shape: Sizes, keys: Sizes, value: Sizes, *attributes: Any, layout: str = "dense") -> Sample:
        sizes = enumerate((shape, keys, value))
        arrays = (Array(tuple(size), -1, 1, seed=seed, layout=layout, grad=False) for seed, size in sizes)
        return Sample((*arrays, *attributes))

    yield sample((2, 2, 3, 8), (2, 2, 5, 8), (2, 2, 5, 8), False, 0.35)
    yield sample((1, 4, 5, 16), (1, 2, 4, 16), (1, 2, 4, 8), True, 0.25)
    yield sample((1, 2, 33, 8), (1, 2, 40, 8), (1, 2, 40, 8), True, 0.3, layout="strided")
    yield sample((1, 1, 1, 8), (1, 1, 1, 8), (1, 1, 1, 8), True, 1.0)


@operator(samples=_fused_samples, dtypes=FLOATING_TYPES, method=False, function=False)
def fused_attention(call: Any, query: Operand, key: Operand, value: Operand, is_causal: bool, scale: float) -> Any:
    """Return (softmax(scale * query @ key^T) @ value, logarithms of the softmax's denominators), in one library call.

    Only the first has a derivative.  Its strides are those of the query, or contiguous (see `_follows_query`).
    Shapes: [b, h, q, d] with [b, g, k, d] and [b, g, k, e] gives [b, h, q, e] and [b, h, q]; h is a multiple of g.
    Host:   returns at once.
    """
    follows = _follows_query(query, key, value)
    out = call.output(
        (*query.shape[:3], value.shape[3]), query.dtype, st.preserved(query.shape, query.strides) if follows else None
    )
    logsumexp = call.output(query.shape[:3], query.dtype.wide)
    query, key, value = (_loadable(call, operand) for operand in (query, key, value))
    if out.numel():
        attention = _attention(query, key, value, out, is_causal, scale)
        if serves(query, key, value):
            attend_short(call, attention, out, logsumexp, query, key, value)
        else:
            call.library(attention, out, logsumexp, query, key, value)
    return out, logsumexp


@fused_attention.derivative
def _(grads: Any, out: Any, out1: Any, query: Any, key: Any, value: Any, is_causal: bool, scale: float) -> Any:
    if grads[1] is not None:
        raise AutogradError(
            "the second result, the logarithms of the softmax denominators, has no derivative",
            hint="call detach() on the second result",
            operator="scaled_dot_product_attention",
        )
    # the derivative of `attention_backward` treats the result as a function of the query, key and value
    return attention_backward(grads[0], out.detach(), out1.detach(), query, key, value, is_causal, scale)


def _backward_samples() -> Iterator[Sample]:
    def fixed(shape: Sizes, seed: int, low: float = -1.0) -> Array:
        return Array(tuple(shape), low, 1, seed=seed, grad=False)

    queries, keys = (1, 2, 9, 8), (1, 2, 7, 8)
    inputs = fixed(queries, 3), fixed(keys, 4), fixed(keys, 5)
    statistics = Array((1, 2, 9), 1, 3, dtype="float32", grad=False)
    yield Sample((fixed(queries, 0), fixed(queries, 1), statistics, *inputs, True, 0.3))


@operator(samples=_backward_samples, dtypes=FLOATING_TYPES[:3], method=False, function=False)
def attention_backward(
    call: Any, grad_output: Operand, output: Operand, logsumexp: Operand, query: Operand, key: Operand, value: Operand,
    is_causal: bool, scale: float,
) -> Any:  # fmt: skip
    """Return the gradients of the query, key and value of `fused_attention`.

    Shapes: those of query, key and value, with their orders of heads and rows in memory.
    Host:   returns at once.
    """
    results = _made(call, query.shape, query), _made(call, key.shape, key), _made(call, value.shape, value)
    operands = _loadable(call, grad_output), _loadable(call, output)
    inputs = _loadable(call, query), _loadable(call, key), _loadable(call, value)
    statistics = call.contiguous(logsumexp)
    if output.numel():
        forward = _attention(*inputs, operands[1], is_causal, scale)
        backward = AttentionBackward(forward, _steps(operands[0]), *(_steps(result) for result in results))
        if serves(query, key, value):
            attend_short_backward(call, backward, *results, *operands, statistics, *inputs)
        else:
            call.library(backward, *results, *operands, statistics, *inputs)
    return results


@attention_backward.derivative
def _(
    grads: Any, grad_output: Any, query: Any, key: Any, value: Any, is_causal: Any, scale: Any
) -> Any:  # fmt: skip
    """Return the gradients of grad_output, query, key and value, from products of whole matrices of scores."""
    inputs, wide, per_group = (query, key, value), query.dtype.wide, query.shape[1] // key.shape[1]
    given = [like.new_zeros(like.shape) if grad is None else grad for grad, like in zip(grads, inputs)]
    grad, query, along_query = (tensor.to(wide) for tensor in (grad_output, query, given[0]))
    key, value, along_key, along_value = (_repeated(tensor, per_group).to(wide) for tensor in (key, value, *given[1:]))
    weights = softmax(_scores(query, key, None, is_causal, scale)[0], -1)

    def of_scores(of_weights: Any) -> Any:
        return weights * (of_weights - (weights * of_weights).sum(-1, True))

    of_weights = matmul(grad, value.transpose(-2, -1))
    change = scale * (matmul(along_query, key.transpose(-2, -1)) + matmul(query, along_key.transpose(-2, -1)))
    first, changed = of_scores(of_weights), of_scores(change)
    mean, mean_change = (weights * of_weights).sum(-1, True), (weights * change).sum(-1, True)
    second = of_scores(
        of_weights * (change - mean_change) - mean * change + matmul(grad, along_value.transpose(-2, -1))
    )
    of_grad = matmul(changed, value) + matmul(weights, along_value)
    of_query = scale * (matmul(first, along_key) + matmul(second, key))
    of_key = scale * (matmul(first.transpose(-2, -1), along_query) + matmul(second.transpose(-2, -1), query))
    of_value = matmul(changed.transpose(-2, -1), grad)
    of_key, of_value = (tensor.unflatten(1, (-1, per_group)).sum(2) for tensor in (of_key, of_value))
    dtype = grad_output.dtype
    return of_grad.to(dtype), None, None, of_query.to(dtype), of_key.to(dtype), of_value.to(dtype)


# all other operands


def _score_samples() -> Iterator[Sample]:
    yield Sample((Array((2, 3, 5)), 0.5, -1.0))
    yield Sample((Array((4, 3), layout="transposed"), -2.0, 0.0))


@operator(samples=_score_samples, dtypes=FLOATING_TYPES[2:], method=False, function=False)
def causal_scores(call: Call, input: Operand, factor: Number, outside: Number) -> Any:
    """Return the scores times `factor` where query i attends to keys 0 to i, and `outside` elsewhere.

    Shapes: [..., q, k], as the input.
    Host:   returns at once.
    """
    out, count = call.output(input.shape, input.dtype), input.numel()
    if count:
        numbers = count, *input.shape[-2:], factor, outside
        call.launch(_causal_kernel(input.dtype), grid_over(count), out, call.contiguous(input), *numbers)
    return out


@causal_scores.derivative
def _(grad: Any, factor: Any) -> Any:
    return causal_scores(grad, factor, 0.0)


@cache
def _causal_kernel(dtype: dtypes.dtype) -> Kernel:
    entry, c = f"causal_scores_{dtype.name}", dtype.cuda
    source = f"""{PRELUDE}
extern "C" __global__ void __launch_bounds__({THREADS}) {entry}({c}* out, const {c}* input, long long numel,
    long long rows, long long columns, double factor, double outside) {{
  for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < numel;
       i += (long long)gridDim.x * blockDim.x) {{
    long long column, row;
    divide(divide(i, columns, column), rows, row);
    out[i] = column <= row ? input[i] * ({c})factor : ({c})outside;
  }}
}}
"""

    def reference(out: Any, input: Any, numel: int, rows: int, columns: int, factor: float, outside: float) -> None:
        seen, number = np.tri(rows, columns, dtype=bool), dtype.numpy.type
        scores = input.reshape(-1, rows, columns)
        out.reshape(-1, rows, columns)[...] = np.where(seen, scores * number(factor), number(outside))

    params: list[Param] = [Pointer("out", dtype, "w", ("numel",)), Pointer("input", dtype, "r", ("numel",))]
    params += [Scalar(name, "int64") for name in ("numel", "rows", "columns")]
    params += [Scalar(name, "float64") for name in ("factor", "outside")]
    return Kernel(entry, source, params, reference, 1.0)


def _scores(query: Any, key: Any, mask: Any, is_causal: bool, scale: float) -> tuple[Any, Any]:
    """Return (input of the softmax, mask of the queries without a key); the mask is None if every query has one."""
    if is_causal:
        return causal_scores(matmul(query, key.transpose(-2, -1)), scale, -inf), None
    scores = matmul(query * scale, key.transpose(-2, -1))
    if mask is None or not scores.shape[-1]:
        return scores, None
    scores = where(mask, scores, -inf) if mask.dtype is bool_ else scores + mask
    is_blind = scores.amax(-1, True) == -inf
    return where(is_blind, 0.0, scores), is_blind  # so that no gradient is NaN


def _composed(query: Any, key: Any, value: Any, mask: Any, dropout_p: float, is_causal: bool, scale: float) -> Any:
    dtype = query.dtype
    wide = dtype.wide
    query, key, value = (operand if dtype is wide else operand.to(wide) for operand in (query, key, value))
    if mask is not None and mask.dtype is not bool_ and mask.dtype is not wide:
        mask = mask.to(wide)
    scores, is_blind = _scores(query, key, mask, is_causal, scale)
    weights: Any = softmax(scores, -1)
    weights = weights if is_blind is None else where(is_blind, 0.0, weights)
    out: Any = matmul(dropout(weights, dropout_p, True) if dropout_p else weights, value)
    return out if dtype is wide else out.to(dtype)


def _is_fused(query: Any, key: Any, value: Any) -> bool:
    """Return whether `fused_attention` takes these operands."""
    dims = query.shape[-1], value.shape[-1]
    is_loadable = query.dtype in HALVES and all(0 < dim <= MAX_HEAD_DIM and dim % UNIT == 0 for dim in dims)
    return (
        (is_loadable or is_short(query, key, value))
        and 3 <= len(query.shape) <= 4
        and len(key.shape) == len(value.shape) == len(query.shape)
        and query.numel() > 0
        and key.numel() > 0
    )


# the function


def _check(query: Any, key: Any, value: Any, mask: Any, is_causal: bool) -> None:
    name = "scaled_dot_product_attention"
    kinds = query.dtype, key.dtype, value.dtype
    dims = [len(operand.shape) for operand in (query, key, value)]
    if min(dims) < 2:
        raise ShapeError(
            f"Expected query, key, and value to all be at least 2 dimensional, but got query.dim: {dims[0]} "
            f"key.dim: {dims[1]} and value.dim: {dims[2]} instead",
            hint="shapes are (..., rows, width): add dimensions with unsqueeze(0)",
            operator=name,
        )
    if not kinds[0] is kinds[1] is kinds[2]:
        raise DtypeError(
            f"Expected query, key, and value to have the same dtype, but got query.dtype: {kinds[0].name} "
            f"key.dtype: {kinds[1].name} and value.dtype: {kinds[2].name} instead",
            hint=f"convert them, for example .to(torch.{kinds[0].name})",
            operator=name,
        )
    if not kinds[0].is_floating_point:
        raise DtypeError(
            f"query must be floating point, got {kinds[0].name}", hint="convert with .float()", operator=name
        )
    if query.shape[-1] != key.shape[-1] or key.shape[-2] != value.shape[-2]:
        raise ShapeError(
            f"query {list(query.shape)}, key {list(key.shape)} and value {list(value.shape)} do not fit",
            hint="query and key must have the same last size, key and value the same number of rows (the last but one)",
            operator=name,
        )
    if mask is None:
        return
    if is_causal:
        raise ValueRangeError(
            f"Explicit attn_mask should not be set when is_causal=True, and it has shape {list(mask.shape)}",
            hint="pass one of them; a causal mask is torch.ones(L, S, dtype=torch.bool).tril()",
            operator=name,
        )
    if mask.dtype not in (bool_, float32, kinds[0]):
        raise DtypeError(
            "Expected attn_mask dtype to be bool or float or to match query dtype, but got attn_mask.dtype: "
            f"{mask.dtype.name} and query.dtype: {kinds[0].name} instead",
            hint=f"convert it: .bool() for True at attended keys, .to(torch.{kinds[0].name}) to add it",
            operator=name,
        )


def _grouped(query: Any, key: Any, value: Any) -> tuple[Any, Any]:
    """Return the keys and values, repeated to as many heads as the query has."""
    heads, groups = query.shape[-3], (key.shape[-3], value.shape[-3])
    if 0 in groups or heads % groups[0] or heads % groups[1]:
        raise ShapeError(
            "Number of heads in key and value must divide the number of heads in query: "
            f"{groups[0]} and {groups[1]} do not divide {heads}",
            hint=f"heads are the third dimension from the end: query has {heads}",
            operator="scaled_dot_product_attention",
        )
    return tuple(_repeated(operand, heads // operand.shape[-3]) for operand in (key, value))


def _repeated(operand: Any, count: int) -> Any:
    *lead, heads, rows, dims = operand.shape
    return operand.unsqueeze(-3).expand((*lead, heads, count, rows, dims)).reshape((*lead, heads * count, rows, dims))


def _samples() -> Iterator[Sample]:
    def three(q: Sizes, k: Sizes, v: Sizes) -> tuple[Array, ...]:
        return tuple(Array(tuple(shape), -1, 1, seed=seed) for seed, shape in enumerate((q, k, v)))

    same = three((2, 2, 5, 8), (2, 2, 5, 8), (2, 2, 5, 8))
    yield Sample(same)
    yield Sample(same, {"is_causal": True})
    yield Sample(three((1, 4, 3, 8), (1, 2, 6, 8), (1, 2, 6, 16)), {"enable_gqa": True, "scale": 0.3})
    yield Sample(same, {"attn_mask": Array((5, 5), 0, 2, dtype="bool")})
    yield Sample(same, {"attn_mask": Array((2, 1, 5, 5), -1, 1, seed=3)})
    yield Sample(three((3, 4), (5, 4), (5, 2)))
    yield Sample(three((2, 3, 8), (2, 5, 8), (2, 5, 8)), {"is_causal": True})
    yield Sample(three((2, 1, 3, 8), (1, 2, 5, 8), (2, 2, 5, 8)))
    yield Sample(three((1, 2, 3, 8), (1, 2, 0, 8), (1, 2, 0, 8)))
    yield Sample(three((0, 2, 3, 8), (0, 2, 4, 8), (0, 2, 4, 8)))


def _errors() -> Iterator[ErrorSample]:
    one = Array((2, 3, 8))
    yield ErrorSample((Array((8,)), one, one), ShapeError, "at least 2 dimensional, but got query.dim: 1 key.dim: 3")
    yield ErrorSample((one, Array((2, 3, 4)), one), ShapeError, r"key \[2, 3, 4\] .* do not fit")
    yield ErrorSample((one, Array((2, 3, 8), dtype="float64"), one), DtypeError, "key.dtype: float64")
    integers = Array((2, 3, 8), dtype="int64")
    yield ErrorSample((integers, integers, integers), DtypeError, "must be floating point, got int64")
    yield ErrorSample((one, Array((3, 3, 8)), Array((3, 3, 8))), ShapeError, "broadcast")
    mask = Array((3, 3), 0, 2, dtype="bool")
    yield ErrorSample((one, one, one, mask, 0.0, True), ArgumentError, "should not be set when is_causal=True")
    yield ErrorSample(
        (one, one, one, Array((3, 3), dtype="int64")), DtypeError, "attn_mask.dtype: int64 and query.dtype: float32"
    )
    yield ErrorSample((one, one, one), ArgumentError, "has to be between 0 and 1, but got 1.5", {"dropout_p": 1.5})
    yield ErrorSample((Array((3, 3, 8)), one, one), ShapeError, "2 and 2 do not divide 3", {"enable_gqa": True})


@composite(samples=_samples, errors=_errors, dtypes=FLOATING_TYPES, method=False, function=False)
def scaled_dot_product_attention(
    query: Operand, key: Operand, value: Operand, attn_mask: Operand | None = None, dropout_p: float = 0.0,
    is_causal: bool = False, scale: float | None = None, enable_gqa: bool = False,
) -> Any:  # fmt: skip
    """Compute softmax(scale * query @ key^T + mask) @ value.

    attn_mask: bool, True where a query attends to a key; or numbers, which are added to the scores.
    dropout_p: the probability that a weight is set to 0; the others are scaled by 1 / (1 - dropout_p).  It does not
    depend on a training mode.
    is_causal: query i attends to keys 0 to i.  scale: 1 / sqrt(d) if None.
    enable_gqa: whether a head of key and value may serve several heads of the query.
    Shapes: [*, q, d] with [*, k, d] and [*, k, e] gives [*, q, e]; leading sizes broadcast.
            A mask broadcasts to [*, q, k].
    Host:   returns at once.
    Raises: ShapeError if shapes do not fit, DtypeError if types differ, ArgumentError for a causal call with a mask.
    Example:
        >>> query, key = torch.tensor([[[1.0, 0.0]]]), torch.tensor([[[1.0, 0.0], [0.0, 1.0]]])
        >>> torch.nn.functional.scaled_dot_product_attention(query, key, torch.tensor([[[10.0], [20.0]]]))
        tensor([[[13.3024]]])
    """
    _check(query, key, value, attn_mask, is_causal)
    factor = scale if scale is not None else 1 / sqrt(query.shape[-1]) if query.shape[-1] else 1.0
    is_plain = attn_mask is None and not dropout_p
    operands = query, key, value
    if enable_gqa and not (is_plain and _is_grouped(*operands)):
        operands = query, *_grouped(*operands)
    leads = [operand.shape[:-2] for operand in operands]
    is_ready = len(query.shape) == 4 and (enable_gqa or leads[0] == leads[1] == leads[2])
    if not is_plain or not _is_fused(*operands):
        out = _composed(*operands, attn_mask, dropout_p, is_causal, factor)
        is_free = dropout_p or not (attn_mask is None or len(attn_mask.shape) in (2, 4))
        return _like_query(out, query) if is_ready and not is_free and _follows_query(query, key, value) else out
    if is_ready and operands[1] is key:
        return fused_attention(query, key, value, is_causal, factor)[0]
    if not is_ready:
        lead = st.broadcast(leads, "scaled_dot_product_attention")
        operands = tuple([_in_four(operand, lead) for operand in operands])
    out = fused_attention(*operands, is_causal, factor)[0].contiguous()
    return out if len(query.shape) == 4 else out.squeeze(0)


def _like_query(out: Any, query: Any) -> Any:
    """Return the result, or a copy of it in memory in the order of the query's dimensions."""
    order = st.walk_order(query.shape, [query.strides])[::-1]
    return out.permute(order).contiguous().permute([order.index(dim) for dim in range(len(order))])


def _in_four(operand: Any, lead: Sizes) -> Any:
    """Return the operand in four dimensions, expanded to the leading sizes `lead`."""
    expanded = operand.expand((*lead, *operand.shape[-2:]))
    return expanded if len(lead) == 2 else expanded.unsqueeze(0)


def _is_grouped(query: Any, key: Any, value: Any) -> bool:
    """Return whether the fused operation can take these groups of heads."""
    shapes = [tuple(operand.shape) for operand in (query, key, value)]
    if not _is_fused(query, key, value) or len(shapes[0]) != 4:
        return False
    return shapes[1][:2] == shapes[2][:2] and shapes[0][0] == shapes[1][0] and shapes[0][1] % shapes[1][1] == 0
