"""Library operations: descriptors of matrix products, attention and convolutions, each with its NumPy reference.

A descriptor names no library.  `Driver.library_plan` returns a handle and a workspace size for it.
`Driver.library_run` runs the handle on addresses, one per operand.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from functools import cache
from itertools import product
from math import pi, prod, sqrt
from typing import Any, NamedTuple, Protocol

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
    return _words(len(addresses) // 8).unpack(addresses)


@cache
def _words(count: int) -> struct.Struct:
    return struct.Struct(f"@{count}Q")


def gelu_tanh_term(x: Any) -> Any:
    """Return the tanh term of gelu's tanh approximation, for an array."""
    number = x.dtype.type
    return host.np.tanh(number(ROOT_2_OVER_PI) * (x + number(GELU_CUBIC) * x * x * x))


def gelu_tanh_of(x: Any) -> Any:
    """Compute the tanh approximation of gelu for an array."""
    return x.dtype.type(0.5) * x * (1 + gelu_tanh_term(x))


class Gemm(NamedTuple):
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
        np = host.np
        if len(out) == 1:
            out, a, b = out[0], a[0], b[0]
        product = out
        if self.dtype.itemsize == 2 and self.dtype.compute == "float":
            wide = np.float32
            product = np.empty(out.shape, wide)
            a, b, bias = (array if array is None else array.astype(wide) for array in (a, b, bias))
        np.matmul(a, b, out=product)
        if bias is not None:
            np.add(product, bias, out=product)
        if self.activation == RELU:
            np.maximum(product, 0, out=product)
        if self.activation == GELU:
            out[...] = gelu_tanh_of(product)
        elif product is not out:
            out[...] = product


class Attention(NamedTuple):
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


class AttentionBackward(NamedTuple):
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
    """Compute scale * query @ key^T of one head; minus infinity where a key is masked."""
    np = host.numpy()
    scores = query.astype(wide, copy=False) @ key.astype(wide, copy=False).T * wide.type(scale)
    return np.where(np.tri(*scores.shape, dtype=bool), scores, -np.inf).astype(wide) if is_causal else scores


OF_OUTPUT, OF_INPUT, OF_WEIGHT = "convolution", "convolution_input", "convolution_weight"
CONVOLUTIONS = (OF_OUTPUT, OF_INPUT, OF_WEIGHT)
COLUMN_BYTES = 1 << 21  # size of a block of columns, which then stays in a processor's cache
Sizes = tuple[int, ...]


class Convolution(NamedTuple):
    """One of the three sums of a convolution.

    y[n, o, p] is the sum over c and k of x[n, c, p * stride - padding + k * dilation] * w[o, c, k].
    kind: OF_OUTPUT computes y from x and w.  OF_INPUT computes x from y and w: each x is the sum of y * w over the
    terms in which it occurs.  OF_WEIGHT computes w from x and y in the same way.
    x is [batch, channels, *spatial], w is [out channels, channels / groups, *kernel] and y is [batch, out channels,
    *places], with two or three spatial dimensions.  Elements of x outside its sizes are 0.
    padding: elements before x; those after it follow from the sizes of y.
    Strides of memory are in elements.  Operands: (x, w, y).
    allow_tf32: whether float32 numbers may be rounded to 10 bits of mantissa before they are multiplied.
    """

    kind: str
    dtype: dtype
    x_shape: Sizes
    w_shape: Sizes
    y_shape: Sizes
    x_strides: Sizes
    w_strides: Sizes
    y_strides: Sizes
    stride: Sizes
    padding: Sizes
    dilation: Sizes
    groups: int
    allow_tf32: bool = False

    @property
    def operations(self) -> float:
        return 2.0 * prod(self.y_shape) * prod(self.w_shape[1:])

    def accesses(self, addresses: tuple[int, ...]) -> list[Access | None]:
        x, w, y = addresses
        of_x, of_w, of_y = ("w" if self.kind == result else "r" for result in CONVOLVED)
        return [
            Access(x, self.dtype, of_x, self.x_shape, self.x_strides),
            Access(w, self.dtype, of_w, self.w_shape, self.w_strides),
            Access(y, self.dtype, of_y, self.y_shape, self.y_strides),
        ]

    def reference(self, x: Any, w: Any, y: Any) -> None:
        """Compute the result in NumPy.  Half types are computed in float32 and rounded once; integers are exact."""
        REFERENCES[self.kind](x, w, y, self.stride, self.padding, self.dilation, self.groups)


CONVOLVED = (OF_INPUT, OF_WEIGHT, OF_OUTPUT)  # the kinds whose results are operands 0, 1 and 2


def convolve(x: Any, w: Any, y: Any, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int) -> None:
    """Write y: products of the weight and the columns of x, block by block."""
    wide = _wide(y)
    weight = w.astype(wide, copy=False).reshape(groups, w.shape[0] // groups, -1)
    windows = _windows(x.astype(wide, copy=False), w, y, stride, padding, dilation, groups)
    places = _grouped(y, groups)
    for block in _blocks(windows, y.ndim - 2):
        places[block.of_y] = _rows_first(block.shape, weight @ block.columns(windows))


def convolve_weight(x: Any, w: Any, y: Any, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int) -> None:
    """Write w: products of y and the columns of x, summed over blocks in order."""
    np, wide = host.numpy(), _wide(w)
    windows = _windows(x.astype(wide, copy=False), w, y, stride, padding, dilation, groups)
    places, total = _grouped(y, groups), np.zeros((groups, w.shape[0] // groups, prod(w.shape[1:])), wide)
    for block in _blocks(windows, y.ndim - 2):
        total += _rows_last(places[block.of_y], wide) @ block.columns(windows).swapaxes(1, 2)
    w[...] = total.reshape(w.shape)


def convolve_transposed(x: Any, w: Any, y: Any, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int) -> None:
    """Write x: columns are products of the weight and y, and are added where x is read, in kernel order."""
    np, wide = host.numpy(), _wide(x)
    weight = w.astype(wide, copy=False).reshape(groups, w.shape[0] // groups, -1).swapaxes(1, 2)
    padded = np.zeros((*x.shape[:2], *_padded_sizes(w.shape, y.shape, stride, dilation)), wide)
    windows, places = _view(padded, w, y, stride, dilation, groups), _grouped(y, groups)
    spatial = y.ndim - 2
    for block in _blocks(windows, spatial):
        columns = weight @ _rows_last(places[block.of_y], wide)
        columns = columns.reshape(groups, w.shape[1], *w.shape[2:], *block.shape)
        columns = columns.transpose(2 + spatial, 0, 1, *range(2, 2 + spatial), *range(3 + spatial, columns.ndim))
        target = windows[block.of_x]
        for at in product(*map(range, w.shape[2:])):
            target[:, :, :, *at] += columns[:, :, :, *at]
    inside = [slice(front, front + size) for front, size in zip(padding, x.shape[2:])]
    kept = padded[:, :, *inside]
    if kept.shape != x.shape:
        x[...] = 0
    x[:, :, *map(slice, kept.shape[2:])] = kept


REFERENCES = {OF_OUTPUT: convolve, OF_INPUT: convolve_transposed, OF_WEIGHT: convolve_weight}


class _Block:
    """Some images, and some rows of the first spatial dimension of y."""

    def __init__(self, images: slice, rows: slice, shape: Sizes, spatial: int) -> None:
        self.of_y = images, slice(None), slice(None), rows
        self.of_x = images, *(slice(None),) * (2 + spatial), rows
        self.shape = shape  # of the block's places: images, rows, and the other dimensions

    def columns(self, windows: Any) -> Any:
        """Return [groups, terms, places] of windows [batch, groups, channels, *kernel, *places]."""
        part = windows[self.of_x]
        kernel = (part.ndim - 3) // 2
        order = *range(1, 3 + kernel), 0, *range(3 + kernel, part.ndim)
        return part.transpose(order).reshape(part.shape[1], prod(part.shape[2 : 3 + kernel]), prod(self.shape))


def _blocks(windows: Any, spatial: int) -> Iterator[_Block]:
    """Return blocks whose columns have about COLUMN_BYTES."""
    images, places = windows.shape[0], windows.shape[-spatial:]
    row = windows.itemsize * prod(windows.shape[1:-spatial]) * prod(places[1:])
    rows = max(1, min(places[0], COLUMN_BYTES // max(row, 1)))
    count = max(1, COLUMN_BYTES // max(row * places[0], 1)) if rows == places[0] else 1
    for first in range(0, images, count):
        last = min(first + count, images)
        for top in range(0, places[0], rows):
            end = min(top + rows, places[0])
            yield _Block(slice(first, last), slice(top, end), (last - first, end - top, *places[1:]), spatial)


def _wide(array: Any) -> Any:
    """Return the NumPy type in which sums are kept."""
    np = host.numpy()
    return array.dtype if array.dtype.kind in "iu" or array.dtype.itemsize > 2 else np.dtype(np.float32)


def _grouped(y: Any, groups: int) -> Any:
    """Return y as [batch, groups, channels of a group, *places]: a view."""
    return _split_channels(y, y.shape[1], groups)


def _split_channels(array: Any, channels: int, groups: int) -> Any:
    np = host.numpy()
    shape = (array.shape[0], groups, channels // groups, *array.shape[2:])
    step = array.strides[1]
    strides = (array.strides[0], step * (channels // groups), step, *array.strides[2:])
    return np.lib.stride_tricks.as_strided(array, shape, strides)


def _rows_first(shape: Sizes, products: Any) -> Any:
    """Return [images, groups, channels, *places] of products [groups, channels, images * places]."""
    groups, channels, _ = products.shape
    return host.numpy().moveaxis(products.reshape(groups, channels, *shape), 2, 0)


def _rows_last(part: Any, wide: Any) -> Any:
    """Return [groups, channels, images * places] of a part of y."""
    moved = host.numpy().moveaxis(part.astype(wide, copy=False), 0, 2)
    return moved.reshape(*moved.shape[:2], prod(moved.shape[2:]))


def _padded_sizes(w: Sizes, y: Sizes, stride: Sizes, dilation: Sizes) -> Sizes:
    """Return the spatial sizes of x that windows read, padding included."""
    sizes = zip(y[2:], w[2:], stride, dilation)
    return tuple([(places - 1) * step + (kernel - 1) * spread + 1 for places, kernel, step, spread in sizes])


def _windows(x: Any, w: Any, y: Any, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int) -> Any:
    """Return the elements of x that each y reads, 0 in the padding: [batch, groups, channels, *kernel, *places]."""
    np = host.numpy()
    sizes = _padded_sizes(w.shape, y.shape, stride, dilation)
    if any(padding) or any(size > have for size, have in zip(sizes, x.shape[2:])):
        padded = np.zeros((*x.shape[:2], *sizes), x.dtype)
        ends = [min(front + have, size) for front, have, size in zip(padding, x.shape[2:], sizes)]
        target = padded[:, :, *map(slice, padding, ends)]
        target[...] = x[:, :, *map(slice, target.shape[2:])]
        x = padded
    return _view(x, w, y, stride, dilation, groups)


def _view(x: Any, w: Any, y: Any, stride: Sizes, dilation: Sizes, groups: int) -> Any:
    """Return the windows of an array that is already padded."""
    np = host.numpy()
    split = _split_channels(x, x.shape[1], groups)
    spatial = split.strides[3:]
    kernel = [step * spread for step, spread in zip(spatial, dilation)]
    places = [step * apart for step, apart in zip(spatial, stride)]
    shape = (*split.shape[:3], *w.shape[2:], *y.shape[2:])
    return np.lib.stride_tricks.as_strided(split, shape, (*split.strides[:3], *kernel, *places))
