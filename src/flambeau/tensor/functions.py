"""Operators as functions of the package: flambeau.add, flambeau.softmax and so on.

Most are the operators themselves.  This file defines those that PyTorch also has in `nn.functional`, with other
arguments.
"""

from __future__ import annotations

from typing import Any

from .. import (
    ops,  # noqa: F401  (registers the operators)
)
from ..errors import ArgumentError, shown
from ..ops.losses import REDUCTIONS
from ..ops.operator import REGISTRY
from . import checks
from .operators import ALIASES

_FUNCTIONS: dict[str, Any] = {name: operator for name, operator in REGISTRY.items() if operator.function}
_FUNCTIONS |= {alias: REGISTRY[name].called_as(alias) for alias, name in ALIASES.items()}
globals().update(_FUNCTIONS)


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


def convolution(
    input: Any, weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any, transposed: bool,
    output_padding: Any, groups: int,
) -> Any:  # fmt: skip
    """`conv1d`, `conv2d` or `conv3d`, or their transposed forms, as the weight's dimensions say.

    Host: returns at once.
    Example:
        >>> x, w = torch.ones(1, 1, 2, 2), torch.ones(1, 1, 2, 2)
        >>> torch.convolution(x, w, None, (1, 1), (0, 0), (1, 1), False, (0, 0), 1)
        tensor([[[[4.]]]])
    """
    numbers = stride, padding, dilation, transposed, output_padding, groups
    return REGISTRY["general_convolution"](input, weight, bias, *numbers)


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


def norm(input: Any, p: Any = "fro", dim: Any = None, keepdim: bool = False, out: Any = None, dtype: Any = None) -> Any:
    """The method `Tensor.norm`, with out=.

    Host: returns at once.
    Example:
        >>> torch.norm(torch.tensor([3.0, 4.0]))
        tensor(5.)
    """
    return REGISTRY["norm"](input, p, dim, keepdim, dtype, out=out)


__all__ = [*_FUNCTIONS, "convolution"]
