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
from ..ops.einsum import LETTERS
from ..ops.linalg import check_ndim
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


def einsum(*args: Any) -> Any:
    """Sum of products of tensors, by Einstein's convention.

    Forms: einsum(equation, *operands), and einsum(operand, labels, operand, labels, ..., [labels of the result]) with
    labels in lists of numbers from 0 to 51.  A list of operands may take the place of the operands.
    An equation names the dimensions of each operand by letters, with commas between operands and those of the result
    after "->".  It sums over letters that the result lacks.  A letter that an operand repeats takes a diagonal;
    "..." stands for any dimensions, which broadcast.  Without "->", the result has the letters that appear once.
    The order of contractions is that of the package opt_einsum if it is installed, else from left to right.

    Host:   returns at once.
    Raises: ArgumentError for a malformed equation, ShapeError if sizes do not fit, DtypeError if types differ.
    Example:
        >>> a, b = torch.tensor([[1, 2], [3, 4]]), torch.tensor([[1, 0], [1, 1]])
        >>> torch.einsum("ij,jk->ik", a, b)
        tensor([[3, 2],
                [7, 4]])
        >>> torch.einsum("ii", a)
        tensor(5)
        >>> torch.einsum(a, [0, 1], b, [0, 1], [0])
        tensor([1, 7])
    """
    if len(args) < 2:
        raise ArgumentError(
            f"must specify the equation string and at least one operand, got {len(args)} arguments",
            hint='as in einsum("ij,jk->ik", a, b)',
            operator="einsum",
        )
    equation, operands = args[0], list(args[1:])
    if not isinstance(equation, str):
        equation, operands = _equation_of_labels(args)
    if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
        return einsum(equation, *operands[0])
    return REGISTRY["einsum_of"](equation, operands)


def _equation_of_labels(args: tuple[Any, ...]) -> tuple[str, list[Any]]:
    """Return the equation and the operands of einsum(operand, labels, ..., [labels of the result])."""
    terms = [_term(labels) for labels in args[1::2]]
    result = f"->{_term(args[-1])}" if len(args) % 2 else ""
    return f"{','.join(terms)}{result}", list(args[: len(args) - len(args) % 2 : 2])


def _term(labels: Any) -> str:
    letters = ""
    for label in labels:
        if label is not Ellipsis and not (isinstance(label, int) and 0 <= label < len(LETTERS)):
            raise ArgumentError(
                f"label {shown(label)} is not within the valid range [0, {len(LETTERS)})",
                hint="labels are numbers, or ... for an ellipsis",
                operator="einsum",
            )
        letters += "..." if label is Ellipsis else LETTERS[label]
    return letters


def tensordot(a: Any, b: Any, dims: Any = 2, out: Any = None) -> Any:
    """Sum of products over some dimensions of two tensors.

    dims: a number n, for the last n dimensions of a and the first n of b; or two lists of dimensions, in pairs.
    Shapes: the dimensions of a, then those of b, without the ones summed over.
    Host:   returns at once.
    Raises: ShapeError if sizes differ, DtypeError if the types differ or are bool, ArgumentError for bad dims.
    Example:
        >>> torch.tensordot(torch.ones(2, 3, 4), torch.ones(4, 3, 5), dims=([1, 2], [1, 0])).shape
        torch.Size([2, 5])
        >>> torch.tensordot(torch.tensor([1, 2]), torch.tensor([3, 4]), dims=1)
        tensor(11)
    """
    return REGISTRY["tensordot"](a, b, dims, out=out)


def chain_matmul(*matrices: Any, out: Any = None) -> Any:
    """Product of several matrices: `linalg.multi_dot` with the matrices as arguments.

    Host:   returns at once.
    Example:
        >>> torch.chain_matmul(torch.ones(2, 3), torch.ones(3, 4), torch.ones(4, 1))
        tensor([[12.],
                [12.]])
    """
    check_ndim("chain_matmul", **{f"matrix {at}": (matrix, 2) for at, matrix in enumerate(matrices)})
    if len(matrices) == 1:
        return matrices[0]
    return REGISTRY["linalg_multi_dot"].called_as("chain_matmul")(matrices, out=out)


def norm(input: Any, p: Any = "fro", dim: Any = None, keepdim: bool = False, out: Any = None, dtype: Any = None) -> Any:
    """The method `Tensor.norm`, with out=.

    Host: returns at once.
    Example:
        >>> torch.norm(torch.tensor([3.0, 4.0]))
        tensor(5.)
    """
    return REGISTRY["norm"](input, p, dim, keepdim, dtype, out=out)


__all__ = [*_FUNCTIONS, "chain_matmul", "einsum", "tensordot"]
