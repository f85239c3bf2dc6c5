"""Layouts: a tensor's dtype, device, shape and strides as one object.

Equal layouts are the same object, so the call cache finds them by identity.  A layout belongs to a device of one
machine, so a call that mixes devices or machines never matches another call's plan.
"""

from __future__ import annotations

from typing import Any

from ..dtypes import dtype, no_tensors_of
from ..strides import Shape, Size, contiguous, is_compact, is_contiguous
from . import call_errors
from .thread import Device

MAX_LAYOUTS = 1 << 16  # kept per device; at this number, all are dropped
WIDEST_ACCESS = 16  # bytes: the widest access of one GPU thread


class Layout:
    """dtype, device, shape and strides (in elements) of a tensor, and the properties that follow from them.

    aligned: whether the address of the first element is a multiple of WIDEST_ACCESS bytes.
    dense: whether the elements are in row-major order without gaps;  compact: without gaps, in any order of dimensions.
    plain: the numpy.dtype;  steps: the strides in bytes; both are None until `prepare` sets them for a CPU call.
    views: the geometry of views of such tensors (see views.KnownViews), None before the first.
    """

    __slots__ = (
        "aligned", "compact", "dense", "device", "dtype", "is_floating", "itemsize", "nbytes", "numel", "plain",
        "shape", "steps", "strides", "views",
    )  # fmt: skip

    def __init__(self, device: Device, dtype: dtype, shape: Size, strides: Shape, aligned: bool) -> None:
        if not dtype.exists:
            raise no_tensors_of(dtype)
        self.device = device
        self.dtype = dtype
        self.shape = shape
        self.strides = strides
        self.aligned = aligned
        self.itemsize = dtype.itemsize
        self.is_floating = dtype.is_floating_point
        self.numel = call_errors.checked_numel(dtype, shape)
        self.nbytes = self.numel * self.itemsize
        self.dense = is_contiguous(shape, strides)
        self.compact = self.dense or is_compact(shape, strides)
        self.plain: Any = None
        self.steps: Any = None
        self.views: dict[Any, Any] | None = None

    def prepare(self) -> None:
        """Set `plain` and `steps`."""
        self.steps = tuple([step * self.itemsize for step in self.strides])
        self.plain = self.dtype.numpy

    def __repr__(self) -> str:
        return f"Layout({self.dtype.name}{list(self.shape)} on {self.device}, strides {list(self.strides)})"


def layout_of(device: Device, dtype: dtype, shape: Size, strides: Shape, aligned: bool = True) -> Layout:
    """Return the layout with these properties; equal ones are the same object."""
    key = (dtype, shape, strides, aligned)
    layout = device.layouts.get(key)
    if layout is None:
        if len(device.layouts) >= MAX_LAYOUTS:
            device.layouts.clear()
            device.dense.clear()
        layout = device.layouts[key] = Layout(device, dtype, shape, strides, aligned)
    return layout


def dense_layout(device: Device, dtype: dtype, shape: Size) -> Layout:
    """Return the layout of a new tensor: row-major, without gaps, aligned."""
    key = (dtype, shape)
    layout = device.dense.get(key)
    if layout is None:
        layout = layout_of(device, dtype, shape, contiguous(shape))  # first, as it may clear both tables
        device.dense[key] = layout
    return layout
