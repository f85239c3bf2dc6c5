"""Relative errors of device results against float64: norm(result - exact) / norm(exact); NaN counts as infinite.

Large results are sampled: evenly, from a random start, in odd steps, so that every lane of a vector is met.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from typing import Any

import numpy as np

SAMPLES = 1 << 20  # elements of a large result that are compared
LINES = 64  # rows, or columns, that are compared

Array = Any


def error(found: Array, exact: Array) -> float:
    distance = float(np.linalg.norm(found - exact) / np.linalg.norm(exact))
    return math.inf if math.isnan(distance) else distance


def host(tensor: Any) -> Array:
    return tensor.detach().cpu().float().numpy().astype(np.float64)


def places(count: int, wanted: int) -> slice:
    """About `wanted` of `count` places."""
    step = max(1, count // wanted) | 1
    return slice(random.randrange(min(step, count)), None, step)


def lines(tensor: Any, where: slice, dim: int = 0) -> Array:
    """The rows, or with dim=1 the columns, at `where`."""
    return host((tensor[where] if dim == 0 else tensor[:, where]).contiguous())


def pointwise(meaning: Callable[..., Array], out: Any, *inputs: Any) -> float:
    """The error of out[i] = meaning(inputs[i]...)."""
    where = places(out.numel(), SAMPLES)
    flat = (host(each.reshape(-1)[where].contiguous()) for each in (out, *inputs))
    found, *given = flat
    return error(found, meaning(*given))


def by_row(meaning: Callable[[Array], Array], out: Any, source: Any) -> float:
    """The error of out[i] = meaning(source[i])."""
    where = places(len(source), LINES)
    return error(lines(out, where), meaning(lines(source, where)))


def product(found: Any, a: Any, b: Any) -> float:
    """The error of found = a @ b, over one matrix or the last of a batch."""
    if len(found.shape) == 3:
        found, a, b = found[-1], a[-1], b[-1]
    rows, columns = places(found.shape[0], LINES), places(found.shape[1], LINES)
    exact = lines(a, rows) @ lines(b, columns, 1)
    return error(host(found[rows][:, columns].contiguous()), exact)


def normal(tensor: Any) -> float:
    """How far mean and deviation of a sample are from 0 and 1."""
    sample = host(tensor.reshape(-1)[places(tensor.numel(), SAMPLES)].contiguous())
    found = max(abs(float(sample.mean())), abs(float(sample.std()) - 1))
    return math.inf if math.isnan(found) else found


def same(one: Any, other: Any) -> float:
    """0.0 if the values are equal, else infinity."""
    return 0.0 if np.array_equal(one.cpu().numpy(), other.cpu().numpy()) else math.inf


def softmax(values: Array) -> Array:
    powers = np.exp(values - values.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def normalized(values: Array, eps: float = 1e-5) -> Array:
    deviation = np.sqrt(values.var(-1, keepdims=True) + eps)
    return (values - values.mean(-1, keepdims=True)) / deviation


def attention(query: Array, key: Array, value: Array) -> tuple[Array, Array]:
    """(output, weights) of one head, causal."""
    scores = query @ key.T / math.sqrt(query.shape[-1])
    weights = softmax(np.where(np.tri(*scores.shape) > 0, scores, -np.inf))
    return weights @ value, weights


def attention_gradients(query: Array, key: Array, value: Array, grad: Array) -> tuple[Array, Array, Array]:
    """Of the query, key and value of one head, causal."""
    output, weights = attention(query, key, value)
    of_scores = weights * (grad @ value.T - (grad * output).sum(-1, keepdims=True)) / math.sqrt(query.shape[-1])
    return of_scores @ key, of_scores.T @ query, weights.T @ grad


def mean_entropy(logits: Array, classes: Array) -> float:
    """Cross entropy, averaged over the rows, and over several vectors of classes for them."""
    top = logits.max(-1)
    sums = np.log(np.exp(logits - top[:, None]).sum(-1)) + top
    return float((sums - logits[np.arange(len(logits)), classes]).mean())
