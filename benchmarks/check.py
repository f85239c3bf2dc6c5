"""Relative errors of device results against float64: norm(result - exact) / norm(exact); NaN counts as infinite."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

SAMPLES = 1 << 20  # elements of a large result that are compared, evenly spread, its last one included
ROWS = 8

exp = np.exp


def error(found: Any, exact: Any) -> float:
    distance = float(np.linalg.norm(found - exact) / np.linalg.norm(exact))
    return math.inf if math.isnan(distance) else distance


def host(tensor: Any) -> Any:
    return tensor.detach().cpu().float().numpy().astype(np.float64)


def sampled(tensor: Any) -> Any:
    step = max(1, tensor.numel() // SAMPLES)
    return np.append(host(tensor[::step]), host(tensor[-1:]))


def pointwise(meaning: Callable[..., Any], out: Any, *inputs: Any) -> float:
    return error(sampled(out), meaning(*(sampled(each) for each in inputs)))


def total(found: Any, tensor: Any) -> float:
    chunks = (tensor[at : at + (1 << 26)] for at in range(0, tensor.numel(), 1 << 26))
    exact = math.fsum(float(host(chunk).sum()) for chunk in chunks)
    return abs(found.item() - exact) / abs(exact)


def product(found: Any, a: Any, b: Any) -> float:
    rows = found.shape[0] // ROWS
    exact = host(a[::rows].contiguous()) @ host(b)
    return error(host(found[::rows].contiguous()), exact)


def same(one: Any, other: Any) -> float:
    """0.0 if the bytes are equal, else infinity."""
    return 0.0 if np.array_equal(one.cpu().numpy(), other.cpu().numpy()) else math.inf
