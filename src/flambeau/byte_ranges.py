"""Strided ranges of bytes, and their exact overlap.

A range is a start, dimensions (stride and count, in bytes) and the width of the run of bytes at each point.  Two ranges
share a byte if some point of one and some point of the other are less than a run apart.  This is computed from
the strides, dimension by dimension, without iterating over elements.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import gcd
from typing import Any

from . import host
from .kernel import Access

Dim = tuple[int, int]  # stride in bytes and count


class ByteRange:
    """Runs of `width` bytes at `low` plus every sum of multiples of the strides.

    dims: the largest stride first; empty if the bytes have no gaps.  high: the end of the last run.
    """

    __slots__ = ("dims", "high", "low", "width")

    def __init__(self, low: int, shape: Sequence[int], strides: Sequence[int], itemsize: int) -> None:
        """Set shape and strides (in elements).  The array must not be empty."""
        dims = [(stride * itemsize, size) for stride, size in zip(strides, shape) if size > 1 and stride]
        self.low = low
        self.dims, self.width = _simplest(dims, itemsize)
        self.high = low + self.width + sum(stride * (count - 1) for stride, count in self.dims)

    @classmethod
    def dense(cls, low: int, nbytes: int) -> ByteRange:
        return cls(low, (), (), nbytes)

    def moved(self, low: int) -> ByteRange:
        """Return an equal range whose first byte is at `low`."""
        moved = ByteRange.__new__(ByteRange)
        moved.low, moved.high = low, low + self.high - self.low
        moved.dims, moved.width = self.dims, self.width
        return moved

    def mirrored(self) -> ByteRange:
        """Return the range with byte -x for every byte x."""
        mirror = ByteRange.dense(1 - self.high, self.width)
        mirror.dims, mirror.high = self.dims, 1 - self.low
        return mirror

    @property
    def is_dense(self) -> bool:
        return not self.dims

    def overlaps(self, other: ByteRange) -> bool:
        """Return whether the two ranges share a byte."""
        if self.low >= other.high or other.low >= self.high:
            return False
        if not self.dims and not other.dims:
            return True
        return _meet(self.dims, self.width, other, other.low - self.low)

    def common(self, other: ByteRange) -> tuple[int, int] | None:
        """Return the first shared byte and the end of the last one, or None.

        Exact if no two runs of one range overlap.
        """
        if not self.overlaps(other):
            return None
        return _first_common(self, other), 1 - _first_common(self.mirrored(), other.mirrored())

    def mask(self, low: int, high: int) -> Any:
        """Return a bool array over [low, high): whether each byte is in the range."""
        np = host.numpy()
        if not self.dims:
            mask = np.zeros(high - low, bool)
            mask[max(self.low - low, 0) : max(self.high - low, 0)] = True
            return mask
        whole = np.zeros(self.high - self.low, bool)
        shape = (*[count for _, count in self.dims], self.width)
        np.lib.stride_tricks.as_strided(whole, shape, (*[stride for stride, _ in self.dims], 1))[...] = True
        mask = np.zeros(high - low, bool)
        start, end = max(low, self.low), min(high, self.high)
        if start < end:
            mask[start - low : end - low] = whole[start - self.low : end - self.low]
        return mask


def byte_range(access: Access) -> ByteRange:
    """Return the bytes of an array that is not empty."""
    if access.strides is None:
        return ByteRange.dense(access.address, access.nbytes)
    return ByteRange(access.address, access.shape, access.strides, access.dtype.itemsize)


def _simplest(dims: list[Dim], width: int) -> tuple[tuple[Dim, ...], int]:
    """Return the same bytes in as few dimensions as possible: a dimension that continues a smaller one is merged."""
    joined: list[Dim] = []
    for stride, count in sorted(dims):
        if count == 1:
            continue
        if not joined and stride <= width:
            width += stride * (count - 1)
        elif joined and _is_multiple(stride, *joined[-1]):
            inner, many = joined[-1]
            joined[-1] = inner, many + stride // inner * (count - 1)
        else:
            joined.append((stride, count))
    return tuple(reversed(joined)), width


def _is_multiple(stride: int, inner: int, count: int) -> bool:
    """Return whether steps of `stride` between runs of `count` steps of `inner` are steps of `inner`, without gaps."""
    return stride % inner == 0 and stride // inner <= count


def _meet(dims: Sequence[Dim], width: int, other: ByteRange, distance: int) -> bool:
    """Return whether runs of `width` bytes along `dims` meet those of `other`, whose first run is `distance` away.

    The distance between two runs is a sum of multiples of all strides.  Those of `other` count from its last run, so
    that every term of the sum is positive.
    """
    length = sum(stride * (count - 1) for stride, count in other.dims)
    terms, _ = _simplest([*dims, *other.dims], 0)
    return _is_reached(terms, distance + length - width + 1, distance + length + other.width - 1)


def _is_reached(terms: Sequence[Dim], low: int, high: int) -> bool:
    """Return whether a sum of stride * n, with 0 <= n < count, can lie in [low, high]; the largest stride is first.

    Strides of arrays are nested, since a row is longer than its elements, so few multiples of the largest stride are
    possible.  The last two terms are decided together, whatever their strides.
    """
    total = sum(stride * (count - 1) for stride, count in terms)
    if high < 0 or low > total:
        return False
    if low <= 0 or high >= total:
        return True
    step = gcd(*[stride for stride, _ in terms])
    if high // step * step < low:
        return False
    if len(terms) == 1:
        return True
    stride, count = terms[0]
    rest = total - stride * (count - 1)
    first, last = max(0, -((rest - low) // stride)), min(count - 1, high // stride)
    if len(terms) == 2:
        return _is_reached_by_two(stride, first, last, terms[1], low, high)
    return any(_is_reached(terms[1:], low - stride * n, high - stride * n) for n in range(first, last + 1))


def _is_reached_by_two(stride: int, first: int, last: int, inner: Dim, low: int, high: int) -> bool:
    """Return whether stride * n + step * m can lie in [low, high].  n: `first` to `last`;  inner: (step, count)."""
    step, count = inner
    longest = step * (count - 1)
    for end in (0, longest):  # the first or the last m
        if max(first, -((end - low) // stride)) <= min(last, (high - end) // stride):
            return True
    # For any other n, [low - stride * n, high - stride * n] is between these two, and must contain a multiple of step.
    first, last = max(first, (high - longest) // stride + 1), min(last, (low - 1) // stride)
    if first > last:
        return False
    residue = _first_residue(-stride, high - stride * first, step, high - low)
    return residue is not None and residue <= last - first


def _first_residue(a: int, b: int, modulus: int, top: int) -> int | None:
    """Return the least n >= 0 with (a * n + b) % modulus <= top, or None."""
    low = -b % modulus
    if low + top >= modulus:
        return 0
    return _first_multiple(a % modulus, modulus, low, low + top)


def _first_multiple(a: int, modulus: int, low: int, high: int) -> int | None:
    """Return the least n >= 0 with low <= a * n % modulus <= high, or None, by Euclid's algorithm."""
    if low == 0:
        return 0
    if a == 0:
        return None
    if 2 * a > modulus:
        return _first_multiple(modulus - a, modulus, modulus - high, modulus - low)
    n = -(-low // a)
    if a * n <= high:
        return n
    wraps = _first_multiple(-modulus % a, a, low % a, high % a)
    return None if wraps is None else -(-(low + modulus * wraps) // a)


def _first_common(one: ByteRange, two: ByteRange) -> int:
    """Return the first shared byte of two overlapping ranges, by bisection over each dimension, then over the byte."""
    low, dims = one.low, list(one.dims)

    def meets_up_to(n: int) -> bool:
        return _meet([(dims[0][0], n + 1), *dims[1:]], one.width, two, two.low - low)

    while dims:
        low += dims[0][0] * _least(dims[0][1] - 1, meets_up_to)
        dims.pop(0)
    return low + _least(one.width - 1, lambda n: _meet((), n + 1, two, two.low - low))


def _least(most: int, holds: Callable[[int], bool]) -> int:
    """Return the least n for which a condition holds.  It must be monotonic in n and hold for `most`."""
    low, high = 0, most
    while low < high:
        middle = (low + high) // 2
        if holds(middle):
            high = middle
        else:
            low = middle + 1
    return low
