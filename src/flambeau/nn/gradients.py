"""Gradients and parameters as a whole: limiting their size, and packing them into one vector."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..autograd.mode import GradMode
from ..core import TensorCore
from ..errors import AutogradError, ShapeError
from ..ops.operator import REGISTRY
from ..tensor import factories

SMALL = 1e-6  # added to the norm that is divided by


def _gradients(parameters: Any) -> list[Any]:
    whole = [parameters] if isinstance(parameters, TensorCore) else list(parameters)
    return [each.grad for each in whole if each.grad is not None]


def get_total_norm(tensors: Iterable[Any], norm_type: float = 2.0) -> Any:
    """The norm of all tensors taken as one vector, on the first one's device; `inf` is the largest absolute value."""
    found = list(tensors)
    if not found:
        return factories.tensor(0.0)
    with GradMode(False):
        norms = [_norm(each, float(norm_type)).to(found[0].device) for each in found]
        return _norm(REGISTRY["stack"](norms), float(norm_type))


def _norm(tensor: Any, order: float) -> Any:
    size = tensor.abs()
    if order == float("inf"):
        return size.amax()
    if order == 2.0:
        return (tensor * tensor).sum().sqrt()
    return size.sum() if order == 1.0 else (size**order).sum() ** (1.0 / order)


def clip_grad_norm_(parameters: Any, max_norm: float, norm_type: float = 2.0, error_if_nonfinite: bool = False) -> Any:
    """Scale all gradients so that their norm, taken as one vector, is at most `max_norm`; the norm before.

    Host:   returns at once; waits if error_if_nonfinite.
    Raises: AutogradError if error_if_nonfinite and the norm is not finite; the gradients are as they were.
    """
    grads = _gradients(parameters)
    total = get_total_norm(grads, norm_type)
    if error_if_nonfinite and not bool(total.isfinite()):
        raise AutogradError(
            f"clip_grad_norm_: the total norm of order {norm_type} of the gradients is non-finite: {total.item()}",
            hint="pass error_if_nonfinite=False to scale by it anyway",
        )
    with GradMode(False):
        factor = (max_norm / (total + SMALL)).clamp(max=1.0)
        for grad in grads:
            grad.mul_(factor.to(grad.device))
    return total


def clip_grad_value_(parameters: Any, clip_value: float) -> None:
    """Bring every element of every gradient into [-clip_value, clip_value].  Host: returns at once."""
    with GradMode(False):
        for grad in _gradients(parameters):
            grad.clamp_(-float(clip_value), float(clip_value))


def parameters_to_vector(parameters: Iterable[Any]) -> Any:
    """All parameters one after the other as one vector."""
    return REGISTRY["cat"]([each.reshape(-1) for each in parameters])


def vector_to_parameters(vec: Any, parameters: Iterable[Any]) -> None:
    """Write the parts of a vector into parameters, in their order.  Raises ShapeError if the vector is too short."""
    whole = list(parameters)
    needed = sum(each.numel() for each in whole)
    if vec.numel() < needed:
        raise ShapeError(f"vector_to_parameters: the vector has {vec.numel()} elements, the parameters have {needed}")
    start = 0
    for param in whole:
        param.data = vec[start : start + param.numel()].view_as(param).detach()
        start += param.numel()
