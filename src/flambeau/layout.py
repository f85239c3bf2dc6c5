"""How a tensor lies in its storage, as one object that stands for type, shape and strides together.

Equal layouts are the same object, so that what was decided for one is found by identity.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from .dtypes import dtype
from .errors import ValueRangeError
from .strides import Shape, Size, contiguous, is_compact, is_contiguous

MAX_COUNT = 2**63 - 1  # bytes
MAX_KNOWN = 1 << 16  # layouts that are kept; after that many, all are forgotten


class Layout:
    """dtype, shape and strides (in elements) of a tensor, and what follows from them.

    aligned: whether the first element lies at a multiple of 16 bytes, the widest access of a GPU.
    dense: whether the elements lie in row-major order without gaps;  compact: without gaps, in any order of dimensions.
    """

    __slots__ = (
        "aligned", "compact", "dense", "dtype", "is_floating", "itemsize", "nbytes", "numel", "shape", "strides",
    )  # fmt: skip

    def __init__(self, dtype: dtype, shape: Size, strides: Shape, aligned: bool) -> None:
        self.dtype = dtype
        self.shape = shape
        self.strides = strides
        self.aligned = aligned
        self.itemsize = dtype.itemsize
        self.is_floating = dtype.is_floating_point
        self.numel = checked_numel(dtype, shape)
        self.nbytes = self.numel * self.itemsize
        self.dense = is_contiguous(shape, strides)
        self.compact = self.dense or is_compact(shape, strides)

    def __repr__(self) -> str:
        return f"Layout({self.dtype.name}{list(self.shape)}, strides {list(self.strides)})"


def checked_numel(dtype: dtype, shape: Sequence[int]) -> int:
    """How many elements a shape has.  Raises ValueRangeError if their bytes cannot be counted in 64 bits."""
    numel = prod(shape)
    if numel * dtype.itemsize > MAX_COUNT:
        raise ValueRangeError(
            f"size: {dtype.name}{list(shape)} has {numel} elements: integer multiplication overflow",
            hint="no memory holds that: look for a size that was computed wrongly",
        )
    return numel


_known: dict[tuple[dtype, Size, Shape, bool], Layout] = {}
_dense: dict[tuple[dtype, tuple[int, ...]], Layout] = {}


def layout_of(dtype: dtype, shape: Size, strides: Shape, aligned: bool = True) -> Layout:
    """The layout with these properties."""
    key = (dtype, shape, strides, aligned)
    found = _known.get(key)
    if found is None:
        if len(_known) >= MAX_KNOWN:
            _known.clear()
            _dense.clear()
        found = _known[key] = Layout(dtype, shape, strides, aligned)
    return found


def known_dense(dtype: dtype, shape: Sequence[int]) -> Layout | None:
    """The layout that `dense_layout` gives for these sizes, if it was asked before."""
    return _dense.get((dtype, shape)) if isinstance(shape, tuple) else None


def dense_layout(dtype: dtype, shape: Size) -> Layout:
    """The layout of a new tensor: row-major, without gaps, aligned."""
    key = (dtype, shape)
    found = _dense.get(key)
    if found is None:
        found = layout_of(dtype, shape, contiguous(shape))  # first: it may clear both tables
        _dense[key] = found
    return found
