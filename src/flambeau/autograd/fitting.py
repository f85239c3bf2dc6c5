"""Gradients that a derivative returned in another shape, type or device than those of its input."""

from __future__ import annotations

from typing import Any

from ..core import call_errors
from ..core.layout import Layout
from ..core.tensor import empty_tensor


def zeros(layout: Layout, device: int) -> Any:
    """Return the gradient of an input for which the derivative returned None."""
    empty: Any = empty_tensor(layout.shape, layout.dtype, device)
    return empty.zero_()


def fit(grad: Any, layout: Layout, device: int) -> Any:
    """Convert a gradient to its input's shape, type and device; dimensions that were broadcast are summed.

    Raises: AutogradError if the input does not broadcast to the gradient.
    """
    if grad._layout is layout and grad._layout.device.index == device:
        return grad
    if grad.shape != layout.shape:
        call_errors.check_broadcast("backward: a derivative returned an invalid gradient", grad, layout.shape)
        grad = grad.sum_to_size(layout.shape)
    if grad.dtype is not layout.dtype:
        grad = grad.to(layout.dtype)
    return grad if grad._layout.device.index == device else grad.to("cpu" if device < 0 else device)
