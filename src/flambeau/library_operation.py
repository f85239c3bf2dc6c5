"""Library operations: descriptors of matrix products and attention, each with its NumPy reference.

A descriptor names no library.  `Driver.library_plan` returns a handle and a workspace size for it.
`Driver.library_run` runs the handle on addresses, one per operand.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from math import pi, sqrt
from typing import Any, Protocol

from . import host
from .dtypes import dtype
from .kernel import Access

Strides = tuple[int, int, int, int]
RELU, GELU = "relu", "gelu"
ACTIVATIONS = ("", RELU, GELU)  # numbered in this order by driver/nvidia/gemm.cu
ROOT_2_OVER_PI = sqrt(2 / pi)
GELU_CUBIC = 0.044715  # D. Hendrycks and K. Gimpel, "Gaussian error linear units", 2016


class LibraryOperation(Protocol):
    """The interface of every descriptor: the part of a library call that drivers read."""

    @property
    def kind(self) -> str: ...
    @property
    def operations(self) -> float: ...
    def accesses(self, addresses: tuple[int, ...]) -> list[Access | None]: ...
    def reference(self, *operands: Any) -> None: ...


def unpack_addresses(addresses: bytearray) -> tuple[int, ...]:
    """Decode a buffer of addresses, 8 bytes each, one per operand of a call."""
    return struct.unpack(f"@{len(addresses) // 8}Q", addresses)


def gelu_tanh_term(x: Any) -> Any:
    """The tanh term of gelu's tanh approximation, for an array."""
    number = x.dtype.type
    return host.np.tanh(number(ROOT_2_OVER_PI) * (x + number(GELU_CUBIC) * x * x * x))


def gelu_tanh_of(x: Any) -> Any:
    """Gelu's tanh approximation, for an array."""
    return x.dtype.type(0.5) * x * (1 + gelu_tanh_term(x))


@dataclass(frozen=True)
class Gemm:
    """out[b] = activation(a[b] @ b[b] (+ bias)), row-major, for `batch` independent products.

    a is [batch, m, k], b is [batch, k, n], out is [batch, m, n], bias is [n] or absent.
    Strides are (batch, row, column), in elements; the row or the column stride is 1.
    Operands: (out, a, b, bias).  The address of an absent bias is 0.
    allow_tf32: whether float32 products may round their inputs to 10 bits of mantissa.
    activation: one of ACTIVATIONS; "" is none.  GELU is the tanh approximation and needs a floating point type.
    """

    dtype: dtype
    batch: int
    m: int
    n: int
    k: int
    a_strides: tuple[int, int, int]
    b_strides: tuple[int, int, int]
    out_strides: tuple[int, int, int]
    has_bias: bool = False
    allow_tf32: bool = False
    activation: str = ""

    @property
    def kind(self) -> str:
        return "gemm"

    @property
    def operations(self) -> float:
        return 2.0 * self.batch * self.m * self.n * self.k

    def accesses(self, addresses: tuple[int, ...]) -> list[Access | None]:
        out, a, b, bias = addresses
        shapes = self.batch, self.m, self.n, self.k
        batch, m, n, k = shapes
        return [
            Access(out, self.dtype, "w", (batch, m, n), self.out_strides),
            Access(a, self.dtype, "r", (batch, m, k), self.a_strides),
            Access(b, self.dtype, "r", (batch, k, n), self.b_strides),
            Access(bias, self.dtype, "r", (n,), (1,)) if self.has_bias else None,
        ]

    def reference(self, out: Any, a: Any, b: Any, bias: Any) -> None:
        """Compute the product in NumPy.  Half types are multiplied in float32 and rounded once; integers are exact."""
        wide = host.numpy().float32 if self.dtype.compute == "float" else a.dtype
        product = host.numpy().matmul(a.astype(wide, copy=False), b.astype(wide, copy=False))
        if bias is not None:
            product = product + bias.astype(wide, copy=False)
        if self.activation == RELU:
            product = host.np.maximum(product, 0)
        out[...] = gelu_tanh_of(product) if self.activation == GELU else product


@dataclass(frozen=True)
class Attention:
    """out[b, h] = softmax(scale * query[b, h] @ key[b, g]^T) @ value[b, g], where g is the group of head h.

    query is [batch, heads, queries, head_dim], key and value are [batch, kv_heads, keys, head_dim or value_dim], out is
    [batch, heads, queries, value_dim].  Consecutive heads share a group.
    logsumexp is contiguous [batch, heads, queries], float32 (float64 for float64): the logarithm of each softmax's
    denominator.
    is_causal: query i attends to keys 0 to i.
    Strides are in elements.  Operands: (out, logsumexp, query, key, value).
    """

    dtype: dtype
    batch: int
    heads: int
    kv_heads: int
    queries: int
    keys: int
    head_dim: int
    value_dim: int
    scale: float
    is_causal: bool
    query_strides: Strides
    key_strides: Strides
    value_strides: Strides
    out_strides: Strides

    @property
    def kind(self) -> str:
        return "attention"

    @property
    def pairs(self) -> float:
        """The number of (query, key) pairs that are not masked."""
        count = self.queries * self.keys
        if self.is_causal:
            square = min(self.queries, self.keys)
            count = square * (square + 1) // 2 + (self.queries - square) * self.keys
        return float(self.batch * self.heads * count)

    @property
    def operations(self) -> float:
        return 2.0 * self.pairs * (self.head_dim + self.value_dim)

    @property
    def query_shape(self) -> tuple[int, ...]:
        return self.batch, self.heads, self.queries, self.head_dim

    @property
    def key_shape(self) -> tuple[int, ...]:
        return self.batch, self.kv_heads, self.keys, self.head_dim

    @property
    def value_shape(self) -> tuple[int, ...]:
        return self.batch, self.kv_heads, self.keys, self.value_dim

    @property
    def out_shape(self) -> tuple[int, ...]:
        return self.batch, self.heads, self.queries, self.value_dim

    def accesses(self, addresses: tuple[int, ...]) -> list[Access | None]:
        out, logsumexp, query, key, value = addresses
        return [
            Access(out, self.dtype, "w", self.out_shape, self.out_strides),
            Access(logsumexp, self.dtype.wide, "w", self.out_shape[:3], None),
            Access(query, self.dtype, "r", self.query_shape, self.query_strides),
            Access(key, self.dtype, "r", self.key_shape, self.key_strides),
            Access(value, self.dtype, "r", self.value_shape, self.value_strides),
        ]

    def reference(self, out: Any, logsumexp: Any, query: Any, key: Any, value: Any) -> None:
        attend(out, logsumexp, query, key, value, self.scale, self.is_causal)


@dataclass(frozen=True)
class AttentionBackward:
    """The gradients of the query, key and value of `forward`, from the gradient of its result.

    Operands: (query_grad, key_grad, value_grad, grad, out, logsumexp, query, key, value), with the shapes of `forward`.
    """

    forward: Attention
    grad_strides: Strides
    query_grad_strides: Strides
    key_grad_strides: Strides
    value_grad_strides: Strides

    @property
    def kind(self) -> str:
        return "attention_backward"

    @property
    def operations(self) -> float:
        return 2.0 * self.forward.pairs * (3 * self.forward.head_dim + 2 * self.forward.value_dim)

    def accesses(self, addresses: tuple[int, ...]) -> list[Access | None]:
        of_query, of_key, of_value, grad, out, logsumexp, *inputs = addresses
        forward = self.forward
        saved = forward.accesses((out, logsumexp, *inputs))
        return [
            Access(of_query, forward.dtype, "w", forward.query_shape, self.query_grad_strides),
            Access(of_key, forward.dtype, "w", forward.key_shape, self.key_grad_strides),
            Access(of_value, forward.dtype, "w", forward.value_shape, self.value_grad_strides),
            Access(grad, forward.dtype, "r", forward.out_shape, self.grad_strides),
            Access(out, forward.dtype, "r", forward.out_shape, forward.out_strides),
            Access(logsumexp, forward.dtype.wide, "r", forward.out_shape[:3], None),
            *saved[2:],
        ]

    def reference(
        self, of_query: Any, of_key: Any, of_value: Any, grad: Any, out: Any, logsumexp: Any,
        query: Any, key: Any, value: Any,
    ) -> None:  # fmt: skip
        wide = logsumexp.dtype
        along = (grad.astype(wide, copy=False) * out.astype(wide, copy=False)).sum(axis=-1)
        operands = of_query, of_key, of_value, grad, logsumexp, along, query, key, value
        attend_backward(*operands, self.forward.scale, self.forward.is_causal)


def attend(out: Any, logsumexp: Any, query: Any, key: Any, value: Any, scale: float, is_causal: bool) -> None:
    """Write the result of attention and its logsumexp.  Half types are computed in float32 and rounded once."""
    np = host.numpy()
    group = query.shape[1] // key.shape[1]
    for b, h in np.ndindex(*query.shape[:2]):
        scores = _scores(query[b, h], key[b, h // group], scale, is_causal, logsumexp.dtype)
        top = scores.max(axis=-1, keepdims=True)
        weights = np.exp(scores - top)
        total = weights.sum(axis=-1, keepdims=True)
        logsumexp[b, h] = (top + np.log(total))[:, 0]
        out[b, h] = weights @ value[b, h // group].astype(weights.dtype, copy=False) / total


def attend_backward(
    of_query: Any, of_key: Any, of_value: Any, grad: Any, logsumexp: Any, along: Any,
    query: Any, key: Any, value: Any, scale: float, is_causal: bool,
) -> None:  # fmt: skip
    """Write the gradients of attention.  Half types are computed in float32 and rounded once.

    along: [batch, heads, queries], the dot product of each row of grad with the same row of out.
    """
    np, wide = host.numpy(), logsumexp.dtype
    group = query.shape[1] // key.shape[1]
    for b, g in np.ndindex(*key.shape[:2]):
        k, v = key[b, g].astype(wide, copy=False), value[b, g].astype(wide, copy=False)
        sum_k, sum_v = np.zeros(k.shape, wide), np.zeros(v.shape, wide)
        for h in range(g * group, (g + 1) * group):
            q, slope = query[b, h].astype(wide, copy=False), grad[b, h].astype(wide, copy=False)
            weights = np.exp(_scores(q, k, scale, is_causal, wide) - logsumexp[b, h][:, None])
            of_scores = weights * (slope @ v.T - along[b, h][:, None]) * wide.type(scale)
            sum_k += of_scores.T @ q
            sum_v += weights.T @ slope
            of_query[b, h] = of_scores @ k
        of_key[b, g], of_value[b, g] = sum_k, sum_v


def _scores(query: Any, key: Any, scale: float, is_causal: bool, wide: Any) -> Any:
    """scale * query @ key^T of one head; minus infinity where a key is masked."""
    np = host.numpy()
    scores = query.astype(wide, copy=False) @ key.astype(wide, copy=False).T * wide.type(scale)
    return np.where(np.tri(*scores.shape, dtype=bool), scores, -np.inf).astype(wide) if is_causal else scores
