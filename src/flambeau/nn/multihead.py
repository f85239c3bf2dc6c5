"""Multi-head attention as a function: projections, masks, attention of every head, output projection."""

from __future__ import annotations

import math
from typing import Any

from .. import callers
from ..errors import DtypeError, ShapeError, ValueRangeError
from ..ops.operator import REGISTRY
from ..tensor import checks

NAME = "multi_head_attention_forward"


def _wrong(fact: str, hint: str) -> ShapeError:
    return ShapeError(fact, hint=hint, operator=NAME)


def additive_mask(name: str, what: str, mask: Any, dtype: Any, beside: Any = None) -> Any:
    """Return a mask as numbers to add, -inf where a bool mask is True; or None.  Raises DtypeError for integers.

    beside: another mask of the call, which should have the same type.
    """
    if mask is not None and beside is not None and mask.dtype is not beside.dtype:
        callers.warn(
            f"{name}: masks of two types are deprecated: {what} is {mask.dtype.name}, the other mask "
            f"{beside.dtype.name}; use the same type for both"
        )
    if mask is None or mask.dtype.is_floating_point:
        return mask
    if mask.dtype.name != "bool":
        raise DtypeError(
            f"only bool and floating types of {what} are supported, got {mask.dtype.name}",
            hint="pass bools, where True masks a position, or numbers, which are added to the scores",
            operator=name,
        )
    return mask.new_zeros(mask.shape, dtype=dtype).masked_fill(mask, -math.inf)


def _check_shapes(query: Any, key: Any, value: Any, key_padding_mask: Any, attn_mask: Any) -> bool:
    """Check the numbers of dimensions; return whether the inputs have a batch dimension.  Raises ShapeError."""
    ranks = [tensor.ndim for tensor in (query, key, value)]
    if ranks not in ([3, 3, 3], [2, 2, 2]):
        raise _wrong(
            f"query, key and value must all be 3D, or all 2D without a batch; they are {ranks[0]}D, {ranks[1]}D and "
            f"{ranks[2]}D",
            "their shapes are [length, batch, features]",
        )
    if key_padding_mask is not None and key_padding_mask.ndim != ranks[0] - 1:
        raise _wrong(
            f"key_padding_mask must be {ranks[0] - 1}D, got shape {list(key_padding_mask.shape)}",
            "its shape is [batch, source length], or [source length] without a batch",
        )
    if attn_mask is not None and attn_mask.ndim not in (2, 3):
        raise _wrong(
            f"attn_mask must be 2D or 3D, got shape {list(attn_mask.shape)}",
            "its shape is [target length, source length], or that for every head of every batch",
        )
    return bool(ranks[0] == 3)


def _packed(query: Any, key: Any, value: Any, weight: Any, bias: Any) -> tuple[Any, ...]:
    """Compute the three projections with one weight; equal inputs are projected together."""
    linear = REGISTRY["linear"]
    if key is value and query is key:
        return tuple(linear(query, weight, bias).chunk(3, -1))
    weights = weight.chunk(3)
    biases = (None,) * 3 if bias is None else bias.chunk(3)
    return tuple(linear(*operands) for operands in zip((query, key, value), weights, biases))


# PyTorch's names of these functions, which programs also import


def _in_projection_packed(q: Any, k: Any, v: Any, w: Any, b: Any = None) -> list[Any]:
    """Return queries, keys and values, projected by one weight."""
    return list(_packed(q, k, v, w, b))


def _in_projection(
    q: Any, k: Any, v: Any, w_q: Any, w_k: Any, w_v: Any, b_q: Any = None, b_k: Any = None, b_v: Any = None
) -> tuple[Any, ...]:
    """Return queries, keys and values, each projected by its weight."""
    linear = REGISTRY["linear"]
    return linear(q, w_q, b_q), linear(k, w_k, b_k), linear(v, w_v, b_v)


def _none_or_dtype(input: Any) -> Any:
    """Return the type of a tensor; None for None."""
    return None if input is None else input.dtype


def _canonical_mask(
    mask: Any, mask_name: str, other_type: Any, other_name: str, target_type: Any, check_other: bool = True
) -> Any:
    """Return a mask as numbers to add; see `additive_mask`."""
    return additive_mask(NAME, mask_name, mask, target_type)


def multi_head_attention_forward(
    query: Any, key: Any, value: Any, embed_dim_to_check: int, num_heads: int, in_proj_weight: Any, in_proj_bias: Any,
    bias_k: Any, bias_v: Any, add_zero_attn: bool, dropout_p: float, out_proj_weight: Any, out_proj_bias: Any,
    training: bool = True, key_padding_mask: Any = None, need_weights: bool = True, attn_mask: Any = None,
    use_separate_proj_weight: bool = False, q_proj_weight: Any = None, k_proj_weight: Any = None,
    v_proj_weight: Any = None, static_k: Any = None, static_v: Any = None, average_attn_weights: bool = True,
    is_causal: bool = False,
) -> tuple[Any, Any]:  # fmt: skip
    """Compute multi-head attention with given projection weights; return (result, attention weights or None).

    in_proj_weight, in_proj_bias: the projections of query, key and value, one below the other; or q_proj_weight,
    k_proj_weight and v_proj_weight with use_separate_proj_weight.
    out_proj_weight, out_proj_bias: the projection of the result.  dropout_p: the dropout of the weights, if training.
    bias_k, bias_v: one more key and value, appended to every sequence.  add_zero_attn: append a key and value of zeros.
    static_k, static_v: use these projected keys and values, [batch * heads, source length, head size].
    key_padding_mask: True for keys that no query attends to.  attn_mask: True where a query must not attend to a key.
    Either mask may have numbers instead, which are added to the scores.
    need_weights: also return the attention weights.  average_attn_weights: average them over the heads.
    is_causal: a hint that attn_mask is the causal mask, which must be given.
    Shapes: query [t, n, e], key and value [s, n, *], for lengths t and s and batch n, or without n; the result has the
            shape of query, the weights are [n, t, s].
    Raises: ShapeError for inputs and masks of shapes that do not fit, DtypeError for a mask of integers or inputs of
            another dtype than the weights, ValueRangeError for is_causal without attn_mask.
    Example:
        >>> x, weight = torch.ones(3, 1, 2), torch.ones(6, 2)
        >>> arguments = 2, 1, weight, None, None, None, False, 0.0, torch.ones(2, 2), None
        >>> out, weights = torch.nn.functional.multi_head_attention_forward(x, x, x, *arguments)
        >>> out.shape, weights.shape
        (torch.Size([3, 1, 2]), torch.Size([1, 3, 3]))
    """
    for called, tensor in (("query", query), ("key", key), ("value", value)):
        checks.tensor(NAME, called, tensor)
    is_batched = _check_shapes(query, key, value, key_padding_mask, attn_mask)
    if not is_batched:
        is_same = key is value, query is key
        query, key, value = (tensor.unsqueeze(1) for tensor in (query, key, value))
        value = key if is_same[0] else value
        query = key if is_same[1] else query
        key_padding_mask = None if key_padding_mask is None else key_padding_mask.unsqueeze(0)
    length, batch, width = query.shape
    if is_causal and attn_mask is None:
        raise ValueRangeError(
            "is_causal=True needs attn_mask, which is None",
            hint="pass attn_mask=Transformer.generate_square_subsequent_mask(length)",
            operator=NAME,
        )
    if width != embed_dim_to_check or width % num_heads:
        raise _wrong(
            f"expected {embed_dim_to_check} features, a multiple of {num_heads} heads, got {width}",
            "the last dimension of the query is embed_dim",
        )
    alike = (key.shape[:2], value.shape[:2]) if use_separate_proj_weight else (key.shape, value.shape)
    if alike[0] != alike[1] or key.shape[1] != batch:
        raise _wrong(
            f"key {list(key.shape)} and value {list(value.shape)} must have one length and the batch of query "
            f"{list(query.shape)}",
            "their shapes are [source length, batch, features]",
        )
    padding = additive_mask(NAME, "key_padding_mask", key_padding_mask, query.dtype, attn_mask)
    is_hint_enough = is_causal and padding is None and not need_weights
    mask = None if is_hint_enough else additive_mask(NAME, "attn_mask", attn_mask, query.dtype)

    if use_separate_proj_weight:
        biases = (None,) * 3 if in_proj_bias is None else in_proj_bias.chunk(3)
        weights = q_proj_weight, k_proj_weight, v_proj_weight
        q, k, v = (REGISTRY["linear"](*operands) for operands in zip((query, key, value), weights, biases))
    else:
        q, k, v = _packed(query, key, value, in_proj_weight, in_proj_bias)
    mask = None if mask is None else _by_head(mask, batch, num_heads, length, key.shape[0])
    added = 0
    if bias_k is not None and bias_v is not None:
        k, v = (REGISTRY["cat"]([own, more.repeat(1, batch, 1)]) for own, more in ((k, bias_k), (v, bias_v)))
        added += 1
    size = width // num_heads
    q = q.reshape(length, batch, num_heads, size).permute(1, 2, 0, 3)
    k = _heads(k, static_k, batch, num_heads, size)
    v = _heads(v, static_v, batch, num_heads, size)
    if add_zero_attn:
        k, v = (REGISTRY["pad"](tensor, (0, 0, 0, 1)) for tensor in (k, v))
        added += 1
    if added:
        mask = None if mask is None else REGISTRY["pad"](mask, (0, added))
        padding = None if padding is None else REGISTRY["pad"](padding, (0, added))
    if padding is not None:
        if tuple(padding.shape) != (batch, k.shape[2]):
            raise _wrong(
                f"key_padding_mask is {list(key_padding_mask.shape)}, expected {[batch, k.shape[2] - added]}",
                "its shape is [batch, source length]",
            )
        padding = padding.unsqueeze(1).unsqueeze(1)
        mask = padding if mask is None else mask + padding
    out, attention = _attend(q, k, v, mask, dropout_p if training else 0.0, need_weights, is_hint_enough)
    out = out.permute(2, 0, 1, 3).reshape(length, batch, width)
    out = REGISTRY["linear"](out, out_proj_weight, out_proj_bias)
    if attention is not None and average_attn_weights:
        attention = attention.mean(1)
    if not is_batched:
        return out.squeeze(1), None if attention is None else attention.squeeze(0)
    return out, attention


def _by_head(mask: Any, batch: int, heads: int, length: int, source: int) -> Any:
    """Return a 2D attn_mask unchanged, a 3D one as [batch, heads, target length, source length].  Raises ShapeError."""
    wanted = (length, source) if mask.ndim == 2 else (batch * heads, length, source)
    if tuple(mask.shape) != wanted:
        raise _wrong(
            f"attn_mask of {mask.ndim} dimensions is {list(mask.shape)}, expected {list(wanted)}",
            "pass [target length, source length], or [batch * heads, target length, source length]",
        )
    return mask if mask.ndim == 2 else mask.reshape(batch, heads, length, source)


def _heads(projected: Any, static: Any, batch: int, heads: int, size: int) -> Any:
    """Return keys or values as [batch, heads, length, head size]."""
    if static is None:
        return projected.reshape(projected.shape[0], batch, heads, size).permute(1, 2, 0, 3)
    if static.shape[0] != batch * heads or static.shape[-1] != size:
        raise _wrong(
            f"static keys and values must be {[batch * heads, '*', size]}, got {list(static.shape)}",
            "pass tensors of shape [batch * heads, length, head size]",
        )
    return static.reshape(batch, heads, static.shape[1], size)


def _attend(
    q: Any, k: Any, v: Any, mask: Any, dropout_p: float, need_weights: bool, is_causal: bool
) -> tuple[Any, Any]:
    """Return (result, weights or None) of attention in every head."""
    if not need_weights:
        return REGISTRY["scaled_dot_product_attention"](q, k, v, mask, dropout_p, is_causal), None
    scores = (q * math.sqrt(1.0 / q.shape[-1])) @ k.transpose(-2, -1)
    weights = REGISTRY["softmax"](scores if mask is None else scores + mask, -1)
    if dropout_p > 0:
        weights = REGISTRY["dropout"](weights, dropout_p, True)
    return weights @ v, weights
