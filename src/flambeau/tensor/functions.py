"""Operators as functions of the package: flambeau.add, flambeau.softmax and so on.

Most are the operators themselves.  This file defines those that PyTorch also has in `nn.functional`, with other
arguments.
"""

from __future__ import annotations

from typing import Any

from .. import (
    ops,  # noqa: F401  (registers the operators)
)
from ..autograd.mode import GradMode
from ..errors import ArgumentError, shown
from ..ops.losses import REDUCTIONS
from ..ops.operator import REGISTRY
from ..ops.rectifiers import random_slope
from . import checks
from .operators import ALIASES, inplace_function
from .tensor import Tensor

# PyTorch's functions that write their first argument: of these, the methods of tensors, or operators that are none
IN_PLACE = """
abs_ acos_ acosh_ addmv_ arccos_ arccosh_ arcsin_ arcsinh_ arctan_ arctanh_ as_strided_ asin_ asinh_ atan_ atanh_ ceil_
celu_ clamp_ clamp_max_ clamp_min_ clip_ conj_physical_ cos_ cosh_ deg2rad_ erf_ erfc_ exp2_ exp_ expm1_
fix_ floor_ frac_ gcd_ i0_ index_put_ lcm_ ldexp_ log10_ log1p_ log2_ log_ logit_ nan_to_num_ neg_ negative_ rad2deg_
reciprocal_ relu_ resize_as_ round_ rsqrt_ selu_ sigmoid_ sin_ sinc_ sinh_ sqrt_ square_ tan_ tanh_ threshold_
trunc_ xlogy_
"""


def _writing(name: str) -> Any:
    """The function `name`, which writes its first argument; None if there is none."""
    operator = REGISTRY.get(name[:-1])
    if operator is not None and not operator.method:
        return inplace_function(operator.in_place())
    return getattr(Tensor, name, None)


_FUNCTIONS: dict[str, Any] = {name: operator for name, operator in REGISTRY.items() if operator.function}
_FUNCTIONS |= {alias: REGISTRY[name].called_as(alias) for alias, name in ALIASES.items()}
_FUNCTIONS |= {name: function for name in IN_PLACE.split() if (function := _writing(name)) is not None}
_leaky_relu_ = inplace_function(REGISTRY["leaky_relu"].called_as("rrelu").in_place())
globals().update(_FUNCTIONS)


def clone(input: Any, *, memory_format: Any = None) -> Any:
    """The method `Tensor.clone`.

    Host: returns at once.
    Example:
        >>> torch.clone(torch.tensor([1.0, 2.0]))
        tensor([1., 2.])
    """
    checks.tensor("clone", "input", input)
    return input.clone() if memory_format is None else input.clone(memory_format=memory_format)


def detach(input: Any) -> Any:
    """The method `Tensor.detach`.

    Host: returns at once.
    Example:
        >>> torch.detach(torch.tensor([1.0, 2.0], requires_grad=True))
        tensor([1., 2.])
    """
    checks.tensor("detach", "input", input)
    return input.detach()


def detach_(input: Any) -> Any:
    """The method `Tensor.detach_`.

    Host: returns at once.
    Example:
        >>> torch.detach_(torch.tensor([1.0], requires_grad=True) * 2)
        tensor([2.])
    """
    checks.tensor("detach_", "input", input)
    return input.detach_()


def fill_(input: Any, value: Any) -> Any:
    """The method `Tensor.fill_`.

    Host: returns at once.
    Example:
        >>> torch.fill_(torch.zeros(2), 3.0)
        tensor([3., 3.])
    """
    checks.tensor("fill_", "input", input)
    return input.fill_(value)


def zero_(input: Any) -> Any:
    """The method `Tensor.zero_`.

    Host: returns at once.
    Example:
        >>> torch.zero_(torch.ones(2))
        tensor([0., 0.])
    """
    checks.tensor("zero_", "input", input)
    return input.zero_()


def embedding(
    weight: Any, indices: Any, padding_idx: int = -1, scale_grad_by_freq: bool = False, sparse: bool = False
) -> Any:
    """The rows of `weight` selected by `indices`; a negative padding_idx means none.

    Host: returns at once.
    Example:
        >>> torch.embedding(torch.tensor([[0.0, 0.0], [1.0, 1.0]]), torch.tensor([1, 0]))
        tensor([[1., 1.],
                [0., 0.]])
    """
    checks.absent("embedding", "scale_grad_by_freq", scale_grad_by_freq)
    checks.absent("embedding", "sparse", sparse)
    return REGISTRY["embedding"](indices, weight, padding_idx if padding_idx >= 0 else None)


def binary_cross_entropy_with_logits(
    input: Any, target: Any, weight: Any = None, pos_weight: Any = None, reduction: int = 0
) -> Any:
    """As in `nn.functional`, but without reduction by default.  reduction: 0 is "none", 1 "mean", 2 "sum".

    Host: returns at once.
    Example:
        >>> torch.binary_cross_entropy_with_logits(torch.tensor([0.0]), torch.tensor([1.0]))
        tensor([0.6931])
    """
    if type(reduction) is not int or not 0 <= reduction < len(REDUCTIONS):
        raise ArgumentError(
            f"reduction must be 0, 1 or 2, got {shown(reduction)}",
            hint="nn.functional.binary_cross_entropy_with_logits takes 'none', 'mean' and 'sum'",
            operator="binary_cross_entropy_with_logits",
        )
    called = REGISTRY["binary_cross_entropy_with_logits"]
    return called(input, target, weight, reduction=REDUCTIONS[reduction], pos_weight=pos_weight)


def layer_norm(
    input: Any, normalized_shape: Any, weight: Any = None, bias: Any = None, eps: float = 1e-05,
    cudnn_enable: bool = True,
) -> Any:  # fmt: skip
    """As in `nn.functional`.  cudnn_enable has no effect.

    Host: returns at once.
    Example:
        >>> torch.layer_norm(torch.tensor([[1.0, 2.0, 3.0]]), (3,))
        tensor([[-1.2247,  0.0000,  1.2247]])
    """
    return REGISTRY["layer_norm"](input, normalized_shape, weight, bias, eps)


def rrelu_(
    input: Any, lower: float = 1 / 8, upper: float = 1 / 3, training: bool = False, generator: Any = None
) -> Any:
    """`rrelu`, written into its input.

    Host:   returns at once.
    Raises: ValueRangeError if lower exceeds upper.
    Example:
        >>> torch.rrelu_(torch.tensor([-1.0, 2.0]), 0.25, 0.75)
        tensor([-0.5000,  2.0000])
    """
    checks.tensor("rrelu_", "input", input)
    with GradMode(False):
        slope = random_slope(input, lower, upper, training, generator)
    return _leaky_relu_(input, slope)


def polygamma(n: int, input: Any, *, out: Any = None) -> Any:
    """The n-th derivative of digamma.

    Host:   returns at once.
    Raises: ValueRangeError for a negative n.
    Example:
        >>> torch.polygamma(1, torch.tensor([1.0, 0.5]))
        tensor([1.6449, 4.9348])
    """
    return REGISTRY["polygamma"](input, n, out=out)


def norm(input: Any, p: Any = "fro", dim: Any = None, keepdim: bool = False, out: Any = None, dtype: Any = None) -> Any:
    """The method `Tensor.norm`, with out=.

    Host: returns at once.
    Example:
        >>> torch.norm(torch.tensor([3.0, 4.0]))
        tensor(5.)
    """
    return REGISTRY["norm"](input, p, dim, keepdim, dtype, out=out)


__all__ = ["clone", "detach", "detach_", "fill_", "polygamma", "rrelu_", "zero_", *_FUNCTIONS]
