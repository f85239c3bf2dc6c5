"""Convert gradients to the shape, type and device of their inputs."""

from __future__ import annotations

from typing import Any

from ..core import call_errors
from ..core.layout import Layout
from ..core.tensor import alias_of, empty_tensor
from ..memory_formats import contiguous_format


def zeros(layout: Layout) -> Any:
    """Return the gradient of an input for which the derivative returned None."""
    empty: Any = empty_tensor(layout.shape, layout.dtype, layout.device.index)
    return empty.zero_()


def copied(grad: Any, layout: Layout) -> Any:
    """Return a copy of a gradient, with the strides of a leaf's layout if that has no gaps, else contiguous."""
    if layout.dense or not layout.compact:
        return grad.detach().clone(memory_format=contiguous_format)
    fresh = empty_tensor(layout.shape, layout.dtype, layout.device.index)
    laid_out: Any = alias_of(fresh, layout.shape, layout.strides, 0)
    return laid_out.copy_(grad.detach())


def fit(grad: Any, layout: Layout) -> Any:
    """Convert a gradient to its input's shape, type and device; dimensions that were broadcast are summed.

    Raises: AutogradError if the input does not broadcast to the gradient.
    """
    if grad._layout is layout:
        return grad
    if grad.shape != layout.shape:
        call_errors.check_broadcast("backward: a derivative returned an invalid gradient", grad, layout.shape)
        grad = grad.sum_to_size(layout.shape)
    if grad.dtype is not layout.dtype:
        grad = grad.to(layout.dtype)
    device = layout.device.index
    return grad if grad._layout.device.index == device else grad.to("cpu" if device < 0 else device)
