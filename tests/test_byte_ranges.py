"""Strided ranges of bytes against sets of bytes."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from flambeau.byte_ranges import ByteRange

DIMS = st.lists(st.tuples(st.integers(1, 5), st.sampled_from([0, 1, 2, 3, 4, 5, 7, 8, 10, 12, 20])), max_size=3)
ARRAYS = st.tuples(st.integers(0, 60), DIMS, st.sampled_from([1, 2, 4, 8]))


def made(array):
    """The range, and its bytes one by one."""
    low, dims, itemsize = array
    points = [low]
    for count, stride in dims:
        points = [at + index * stride * itemsize for at in points for index in range(count)]
    found = {at + byte for at in points for byte in range(itemsize)}
    return ByteRange(low, [count for count, _ in dims], [stride for _, stride in dims], itemsize), found


@settings(deadline=None)
@given(ARRAYS)
def test_a_range_begins_and_ends_with_its_bytes(array):
    each, found = made(array)
    assert (each.low, each.high) == (min(found), max(found) + 1)
    assert each.is_dense == (len(found) == each.high - each.low)
    assert (np.flatnonzero(each.mask(0, 2000))).tolist() == sorted(found)


@settings(deadline=None)
@given(ARRAYS, ARRAYS)
def test_ranges_overlap_where_they_share_a_byte(array, other):
    (one, bytes_of_one), (two, bytes_of_two) = made(array), made(other)
    both = bytes_of_one & bytes_of_two
    assert one.overlaps(two) == two.overlaps(one) == bool(both)
    common = one.common(two)
    assert (common is None) == (not both)
    assert common is None or (common[0] in both and common[1] - 1 in both)


def test_the_first_and_the_last_common_byte_are_found():
    one, two = ByteRange(0, (100, 3), (10, 1), 4), ByteRange(8, (1000,), (7,), 4)
    both = np.flatnonzero(one.mask(0, 4000) & two.mask(0, 4000))
    assert one.common(two) == (both[0], both[-1] + 1)
