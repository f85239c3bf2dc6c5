"""Initialization of parameters: each function fills its tensor in place without autograd and returns it.

fan_in and fan_out: in * prod(kernel) and out * prod(kernel) of a layer's weight [out, in, *kernel].
"""

from __future__ import annotations

import math
from typing import Any

from .. import callers
from ..autograd.mode import GradMode
from ..errors import ArgumentError, ValueRangeError, naming, shown
from ..errors import no_attribute as _no_attribute
from ..tensor import checks

LINEAR = ("linear", "sigmoid", *(f"conv{kind}{dims}d" for kind in ("", "_transpose") for dims in (1, 2, 3)))
LEAKY_SLOPE = 0.01


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """The factor that preserves the variance through a nonlinearity; param: the slope of leaky_relu."""
    if nonlinearity in LINEAR:
        return 1.0
    if nonlinearity == "leaky_relu":
        if isinstance(param, bool) or not isinstance(param, (int, float, type(None))):
            raise ArgumentError(
                f"negative_slope {shown(param)} not a valid number",
                hint=f"such as {LEAKY_SLOPE}",
                operator="calculate_gain",
            )
        return math.sqrt(2.0 / (1 + (LEAKY_SLOPE if param is None else param) ** 2))
    gains = {"tanh": 5.0 / 3, "relu": math.sqrt(2.0), "selu": 3.0 / 4}
    if nonlinearity not in gains:
        known = ", ".join((*LINEAR[:2], "leaky_relu", *gains))
        raise ArgumentError(
            f"Unsupported nonlinearity {nonlinearity}",
            hint=f"use one of {known}, or a convolution",
            operator="calculate_gain",
        )
    return gains[nonlinearity]


def uniform_(tensor: Any, a: float = 0.0, b: float = 1.0, generator: Any = None) -> Any:
    """Fill with values of the uniform distribution over [a, b)."""
    checks.tensor("uniform_", "tensor", tensor)
    with GradMode(False), naming("uniform_"):
        return tensor.uniform_(a, b, generator=generator)


def normal_(tensor: Any, mean: float = 0.0, std: float = 1.0, generator: Any = None) -> Any:
    """Fill with values of the normal distribution."""
    checks.tensor("normal_", "tensor", tensor)
    with GradMode(False), naming("normal_"):
        return tensor.normal_(mean, std, generator=generator)


def constant_(tensor: Any, val: float) -> Any:
    """Fill with one value."""
    checks.tensor("constant_", "tensor", tensor)
    with GradMode(False), naming("constant_"):
        return tensor.fill_(val)


def zeros_(tensor: Any) -> Any:
    """Fill with 0."""
    checks.tensor("zeros_", "tensor", tensor)
    return constant_(tensor, 0.0)


def ones_(tensor: Any) -> Any:
    """Fill with 1."""
    checks.tensor("ones_", "tensor", tensor)
    return constant_(tensor, 1.0)


def eye_(tensor: Any) -> Any:
    """Fill a matrix with the identity."""
    checks.tensor("eye_", "tensor", tensor)
    if tensor.ndim != 2:
        raise ArgumentError(
            f"Only tensors with 2 dimensions are supported, this has {tensor.ndim}: {tensor.describe()}",
            hint="give a matrix",
            operator="eye_",
        )
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
    checks.tensor("fans", "tensor", tensor)
    if tensor.ndim < 2:
        raise ArgumentError(
            "fan in and fan out can not be computed for a tensor with fewer than 2 dimensions, this has "
            f"{tensor.ndim}: {tensor.describe()}",
            hint="uniform_, normal_ and zeros_ take vectors",
            operator="fans",
        )
    kernel = math.prod(tensor.shape[2:])
    return tensor.shape[1] * kernel, tensor.shape[0] * kernel


def _xavier_scale(name: str, tensor: Any, gain: float, factor: float) -> float:
    with naming(name):
        total = sum(fans(tensor))
    checks.number(name, "gain", gain)
    if not total:
        fact = f"{tensor.describe()} has no inputs and no outputs"
        raise ValueRangeError(fact, operator=name, hint="leave it out: there is nothing to fill")
    return gain * math.sqrt(factor / total)


def xavier_uniform_(tensor: Any, gain: float = 1.0, generator: Any = None) -> Any:
    """Fill uniformly from [-b, b], b = gain * sqrt(6 / (fan_in + fan_out)) (X. Glorot, Y. Bengio, 2010)."""
    bound = _xavier_scale("xavier_uniform_", tensor, gain, 6.0)
    with naming("xavier_uniform_"):
        return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor: Any, gain: float = 1.0, generator: Any = None) -> Any:
    """Fill from a normal distribution, std = gain * sqrt(2 / (fan_in + fan_out)) (X. Glorot, Y. Bengio, 2010)."""
    std = _xavier_scale("xavier_normal_", tensor, gain, 2.0)
    with naming("xavier_normal_"):
        return normal_(tensor, 0.0, std, generator)


def kaiming_uniform_(
    tensor: Any, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu", generator: Any = None
) -> Any:
    """Fill uniformly from [-b, b], b = gain * sqrt(3 / fan) (K. He et al., 2015); a: the slope of leaky_relu."""
    checks.tensor("kaiming_uniform_", "tensor", tensor)
    if 0 in tensor.shape:
        return _nothing_to_fill(tensor)
    with naming("kaiming_uniform_"):
        bound = math.sqrt(3.0) * _kaiming_std(tensor, a, mode, nonlinearity)
        return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(
    tensor: Any, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu", generator: Any = None
) -> Any:
    """Fill from a normal distribution, std = gain / sqrt(fan) (K. He et al., 2015); a: the slope of leaky_relu."""
    checks.tensor("kaiming_normal_", "tensor", tensor)
    if 0 in tensor.shape:
        return _nothing_to_fill(tensor)
    with naming("kaiming_normal_"):
        return normal_(tensor, 0.0, _kaiming_std(tensor, a, mode, nonlinearity), generator)


def _nothing_to_fill(tensor: Any) -> Any:
    callers.warn("Initializing zero-element tensors is a no-op")
    return tensor


def _kaiming_std(tensor: Any, a: float, mode: str, nonlinearity: str) -> float:
    if mode not in ("fan_in", "fan_out"):
        raise ArgumentError(f"Mode {mode} not supported", hint="use 'fan_in' or 'fan_out'", operator="kaiming")
    fan = fans(tensor)[mode == "fan_out"]
    return calculate_gain(nonlinearity, a) / math.sqrt(fan)


def __getattr__(name: str) -> object:
    raise _no_attribute(__name__, name)
