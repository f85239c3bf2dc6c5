"""Gradients and parameters as a whole: limiting their size, and packing them into one vector."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from typing import Any

from ..autograd.mode import GradMode
from ..core import TensorCore
from ..dtypes import promote
from ..errors import AutogradError, ShapeError
from ..ops.operator import REGISTRY
from ..tensor import factories


def _gradients(parameters: Any) -> list[Any]:
    whole = [parameters] if isinstance(parameters, TensorCore) else list(parameters)
    return [each.grad for each in whole if each.grad is not None]


def _by_device(tensors: Iterable[Any]) -> dict[int, list[Any]]:
    found: dict[int, list[Any]] = {}
    for each in tensors:
        found.setdefault(each.device_index, []).append(each)
    return found


def get_total_norm(tensors: Iterable[Any], norm_type: float = 2.0) -> Any:
    """The norm of all tensors taken as one vector, on the first one's device; `inf` is the largest absolute value.

    Host:   returns at once.
    Raises: ArgumentError for order 0, DtypeError for tensors that are not floating point.
    """
    found = list(tensors)
    if not found:
        return factories.tensor(0.0)
    return _total(found, norm_type).to(reduce(promote, [each.dtype for each in found]))


def _total(tensors: list[Any], norm_type: float) -> Any:
    """The norm, in float32 at least: a sum of squares soon leaves what float16 can hold."""
    norm = REGISTRY["norm_of_many"]
    with GradMode(False):
        norms = [norm(each, float(norm_type)) for each in _by_device(tensors).values()]
        return norms[0] if len(norms) == 1 else norm([each.to(norms[0].device) for each in norms], float(norm_type))


def clip_grad_norm_(parameters: Any, max_norm: float, norm_type: float = 2.0, error_if_nonfinite: bool = False) -> Any:
    """Scale all gradients so that their norm, taken as one vector, is at most `max_norm`; the norm before.

    Host:   returns at once; waits if error_if_nonfinite.
    Raises: AutogradError if error_if_nonfinite and the norm is not finite; the gradients are as they were.
    """
    grads = _gradients(parameters)
    if not grads:
        return factories.tensor(0.0)
    total = _total(grads, norm_type)
    if error_if_nonfinite and not bool(total.isfinite()):
        raise AutogradError(
            f"clip_grad_norm_: the total norm of order {norm_type} of the gradients is non-finite: {total.item()}",
            hint="pass error_if_nonfinite=False to scale by it anyway",
        )
    with GradMode(False):
        for each in _by_device(grads).values():
            REGISTRY["limit_norm"](each, total.to(each[0].device), float(max_norm))
    return total.to(reduce(promote, [each.dtype for each in grads]))


def clip_grad_value_(parameters: Any, clip_value: float) -> None:
    """Bring every element of every gradient into [-clip_value, clip_value].  Host: returns at once."""
    with GradMode(False):
        for each in _by_device(_gradients(parameters)).values():
            REGISTRY["clamp_many"](each, -float(clip_value), float(clip_value))


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
