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
from ..memory_formats import contiguous_format
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


def fill(input: Any, value: Any) -> Any:
    """A tensor like the input, filled with a number or with the value of a 0-dim tensor.

    Host: returns at once.
    Example:
        >>> torch.fill(torch.zeros(2), 3)
        tensor([3., 3.])
    """
    checks.tensor("fill", "input", input)
    return input.clone().fill_(value)


def detach_copy(input: Any) -> Any:
    """A copy outside any graph, without gaps.

    Host: returns at once.
    Example:
        >>> torch.detach_copy(torch.ones(2, requires_grad=True))
        tensor([1., 1.])
    """
    checks.tensor("detach_copy", "input", input)
    return input.detach().clone(memory_format=contiguous_format)


def as_strided_(input: Any, size: Any, stride: Any, storage_offset: int | None = None) -> Any:
    """The method `Tensor.as_strided_`.

    Example:
        >>> torch.as_strided_(torch.arange(4), (2,), (2,))
        tensor([0, 2])
    """
    checks.tensor("as_strided_", "input", input)
    return input.as_strided_(size, stride, storage_offset)


def resize_as_(input: Any, the_template: Any, *, memory_format: Any = None) -> Any:
    """The method `Tensor.resize_as_`.

    Example:
        >>> torch.resize_as_(torch.arange(4), torch.zeros(1, 2))
        tensor([[0, 1]])
    """
    checks.tensor("resize_as_", "input", input)
    return input.resize_as_(the_template, memory_format=memory_format)


def norm(input: Any, p: Any = "fro", dim: Any = None, keepdim: bool = False, out: Any = None, dtype: Any = None) -> Any:
    """The method `Tensor.norm`, with out=.

    Host: returns at once.
    Example:
        >>> torch.norm(torch.tensor([3.0, 4.0]))
        tensor(5.)
    """
    return REGISTRY["norm"](input, p, dim, keepdim, dtype, out=out)


__all__ = ["as_strided_", "detach_copy", "fill", "resize_as_", *_FUNCTIONS]
