"""Memory formats, such as channels_last, and torch.layout."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from . import strides as st
from .errors import ArgumentTypeError, NotSupportedError, ShapeError, ValueRangeError, shown


class memory_format:  # noqa: N801  (PyTorch's name for it)
    """The order of a tensor's dimensions in memory.

    order: for a channels-last format, the dimensions from the smallest stride to the largest; otherwise ().
    Example:
        >>> x = torch.zeros(2, 3, 4, 5).contiguous(memory_format=torch.channels_last)
        >>> x.stride(), x.is_contiguous(memory_format=torch.channels_last)
        ((60, 1, 15, 3), True)
    """

    __slots__ = ("name", "order")

    def __init__(self, name: str, order: tuple[int, ...] = ()) -> None:
        self.name = name
        self.order = order

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def __reduce__(self) -> str:
        return self.name


contiguous_format = memory_format("contiguous_format")
preserve_format = memory_format("preserve_format")
channels_last = memory_format("channels_last", st.CHANNELS_LAST)
channels_last_3d = memory_format("channels_last_3d", st.CHANNELS_LAST_3D)
HINT = "use torch.contiguous_format, torch.preserve_format, torch.channels_last or torch.channels_last_3d"


def check(name: str, wanted: Any) -> None:
    """Raise ArgumentTypeError unless `wanted` is a memory format."""
    if not isinstance(wanted, memory_format):
        raise ArgumentTypeError(
            f"memory_format must be a torch.memory_format, got {shown(wanted)}", hint=HINT, operator=name
        )


def strides_in(
    name: str, wanted: memory_format, shape: Sequence[int], strides: Sequence[int] | None = None
) -> st.Shape:
    """Return the strides of a new tensor of `shape`.  strides: those that preserve_format follows, or None.

    Raises: ShapeError for a wrong number of dimensions, ValueRangeError if there is nothing to preserve.
    """
    if wanted is preserve_format:
        if strides is None:
            raise ValueRangeError(
                f"unsupported memory format {wanted}",
                hint="use torch.contiguous_format or torch.channels_last; empty_like() preserves strides",
                operator=name,
            )
        return st.preserved(shape, strides)
    if wanted is contiguous_format:
        return st.contiguous(shape)
    if len(shape) != len(wanted.order):
        raise ShapeError(
            f"required rank {len(wanted.order)} tensor to use {wanted.name} format, got shape {list(shape)}",
            hint="unsqueeze(0) adds a dimension",
            operator=name,
        )
    return st.compact(shape, wanted.order)


def lies_in(wanted: memory_format, shape: Sequence[int], strides: Sequence[int]) -> bool:
    """Return whether a tensor is in a format without gaps; preserve_format means contiguous_format."""
    if not wanted.order:
        return st.is_contiguous(shape, strides)
    return st.is_channels_last(shape, strides, wanted.order)


def suggested(shape: Sequence[int], strides: Sequence[int]) -> memory_format:
    """Return the channels-last format that the strides of a tensor follow, gaps allowed; else contiguous_format."""
    for format in (channels_last, channels_last_3d):
        if len(shape) == len(format.order) and _looks_like(format.order, shape, strides):
            return format
    return contiguous_format


def channels_to_end(shape: Sequence[int], strides: Sequence[int]) -> tuple[st.Shape, st.Shape] | None:
    """Return the permutation of a channels-last tensor that moves its channels to the end, and its inverse, or None."""
    order = suggested(shape, strides).order
    return (order[::-1], (0, len(order) - 1, *range(1, len(order) - 1))) if order else None


def _looks_like(order: Sequence[int], shape: Sequence[int], strides: Sequence[int]) -> bool:
    """Return whether strides increase in the given order; False if sizes of 1 make the order ambiguous."""
    least = 0
    if strides[1] == 0:
        return False
    for dim in order:
        if shape[dim] == 0 or strides[dim] < least or (dim == 0 and least == strides[1]):
            return False
        least = strides[dim] * max(shape[dim], 1)
    return True


class layout:  # noqa: N801  (PyTorch's name for it)
    """Type of `torch.strided`, the layout of all tensors: dense memory that is indexed by strides.

    Example:
        >>> isinstance(torch.strided, torch.layout)
        True
    """

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def __reduce__(self) -> str:
        return self.name


strided = layout("strided")
# PyTorch's other layouts, which flambeau's tensors cannot have
sparse_coo, sparse_csr, sparse_csc = layout("sparse_coo"), layout("sparse_csr"), layout("sparse_csc")
sparse_bsr, sparse_bsc, jagged = layout("sparse_bsr"), layout("sparse_bsc"), layout("jagged")
LAYOUTS = {
    repr(value): value for value in (strided, sparse_coo, sparse_csr, sparse_csc, sparse_bsr, sparse_bsc, jagged)
}


def check_layout(name: str, wanted: Any) -> None:
    """Raise ArgumentTypeError unless the value is a torch.layout or None, NotSupportedError if it is not strided."""
    if wanted is not None and not isinstance(wanted, layout):
        raise ArgumentTypeError(
            f"layout must be a torch.layout, got {shown(wanted)}",
            hint="use torch.strided, or leave it out",
            operator=name,
        )
    if wanted is not None and wanted is not strided:
        raise NotSupportedError(
            f"the layout {wanted} is not supported", hint="use torch.strided, or leave it out", operator=name
        )
