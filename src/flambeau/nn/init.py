"""Setting the values of parameters: every function writes its tensor in place, outside any graph, and returns it.

fan_in and fan_out: how many inputs and outputs each element of a layer's weight [out, in, *kernel] serves.
"""

from __future__ import annotations

import math
from typing import Any

from .. import trace
from ..autograd.mode import GradMode
from ..errors import ArgumentError

LINEAR = ("linear", "sigmoid", *(f"conv{kind}{dims}d" for kind in ("", "_transpose") for dims in (1, 2, 3)))
LEAKY_SLOPE = 0.01


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """The factor that keeps values at their size through a nonlinearity; param: the slope of leaky_relu."""
    if nonlinearity in LINEAR:
        return 1.0
    if nonlinearity == "leaky_relu":
        return math.sqrt(2.0 / (1 + (LEAKY_SLOPE if param is None else param) ** 2))
    gains = {"tanh": 5.0 / 3, "relu": math.sqrt(2.0), "selu": 3.0 / 4}
    if nonlinearity not in gains:
        raise ArgumentError(f"calculate_gain: Unsupported nonlinearity {nonlinearity}")
    return gains[nonlinearity]


def uniform_(tensor: Any, a: float = 0.0, b: float = 1.0, generator: Any = None) -> Any:
    """Fill with values from [a, b), evenly spread."""
    with GradMode(False):
        return tensor.uniform_(a, b, generator=generator)


def normal_(tensor: Any, mean: float = 0.0, std: float = 1.0, generator: Any = None) -> Any:
    """Fill with values of a normal distribution."""
    with GradMode(False):
        return tensor.normal_(mean, std, generator=generator)


def constant_(tensor: Any, val: float) -> Any:
    """Fill with one value."""
    with GradMode(False):
        return tensor.fill_(val)


def zeros_(tensor: Any) -> Any:
    """Fill with 0."""
    return constant_(tensor, 0.0)


def ones_(tensor: Any) -> Any:
    """Fill with 1."""
    return constant_(tensor, 1.0)


def eye_(tensor: Any) -> Any:
    """Fill a matrix with the identity."""
    if tensor.ndim != 2:
        raise ArgumentError(f"eye_: Only tensors with 2 dimensions are supported, this has {tensor.ndim}")
    rows, columns = tensor.shape
    count = min(rows, columns)
    step = tensor.stride(0) + tensor.stride(1)
    with GradMode(False):
        tensor.zero_()
        if count:
            tensor.as_strided((count,), (step,), tensor.storage_offset()).fill_(1)
    return tensor


def fans(tensor: Any) -> tuple[int, int]:
    """(fan_in, fan_out) of a weight.  Raises ArgumentError below two dimensions."""
    if tensor.ndim < 2:
        raise ArgumentError(
            f"fan in and fan out can not be computed for a tensor with fewer than 2 dimensions, this has {tensor.ndim}"
        )
    kernel = math.prod(tensor.shape[2:])
    return tensor.shape[1] * kernel, tensor.shape[0] * kernel


def xavier_uniform_(tensor: Any, gain: float = 1.0, generator: Any = None) -> Any:
    """Fill evenly from [-b, b], b = gain * sqrt(6 / (fan_in + fan_out)) (X. Glorot, Y. Bengio, 2010)."""
    bound = gain * math.sqrt(6.0 / sum(fans(tensor)))
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor: Any, gain: float = 1.0, generator: Any = None) -> Any:
    """Fill from a normal distribution, std = gain * sqrt(2 / (fan_in + fan_out)) (X. Glorot, Y. Bengio, 2010)."""
    return normal_(tensor, 0.0, gain * math.sqrt(2.0 / sum(fans(tensor))), generator)


def kaiming_uniform_(
    tensor: Any, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu", generator: Any = None
) -> Any:
    """Fill evenly from [-b, b], b = gain * sqrt(3 / fan) (K. He et al., 2015); a: the slope of leaky_relu."""
    if 0 in tensor.shape:
        return _nothing_to_fill(tensor)
    bound = math.sqrt(3.0) * _kaiming_std(tensor, a, mode, nonlinearity)
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(
    tensor: Any, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu", generator: Any = None
) -> Any:
    """Fill from a normal distribution, std = gain / sqrt(fan) (K. He et al., 2015); a: the slope of leaky_relu."""
    if 0 in tensor.shape:
        return _nothing_to_fill(tensor)
    return normal_(tensor, 0.0, _kaiming_std(tensor, a, mode, nonlinearity), generator)


def _nothing_to_fill(tensor: Any) -> Any:
    trace.warn("Initializing zero-element tensors is a no-op")
    return tensor


def _kaiming_std(tensor: Any, a: float, mode: str, nonlinearity: str) -> float:
    if mode not in ("fan_in", "fan_out"):
        raise ArgumentError(f"kaiming: Mode {mode} not supported, please use one of ['fan_in', 'fan_out']")
    fan = fans(tensor)[mode == "fan_out"]
    return calculate_gain(nonlinearity, a) / math.sqrt(fan)
