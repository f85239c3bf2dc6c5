from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from flambeau.driver.virtual.space import Blocks, Ranges

BYTES = st.integers(0, 40)
STEPS = st.lists(st.tuples(st.booleans(), BYTES, st.integers(1, 12)), max_size=20)


@given(STEPS, BYTES, BYTES)
def test_ranges_are_a_set_of_bytes(steps: list[tuple[bool, int, int]], low: int, high: int) -> None:
    ranges, expected = Ranges(), set()
    for is_added, start, length in steps:
        (ranges.add if is_added else ranges.remove)(start, start + length)
        touched = set(range(start, start + length))
        expected = expected | touched if is_added else expected - touched
    found = ranges.within(low, high)
    assert [byte for start, end in found for byte in range(start, end)] == sorted(expected & set(range(low, high)))


@given(STEPS)
def test_ranges_that_touch_become_one(steps: list[tuple[bool, int, int]]) -> None:
    ranges = Ranges()
    for is_added, start, length in steps:
        (ranges.add if is_added else ranges.remove)(start, start + length)
    found = ranges.within(0, 100)
    assert all(end < start for (_, end), (start, _) in pairwise(found))
    assert ranges.largest() == max((end - start for start, end in found), default=0)


def test_first_fit_is_the_lowest_range_with_room() -> None:
    ranges = Ranges()
    for low, high in ((0, 4), (10, 20), (30, 90)):
        ranges.add(low, high)
    assert [ranges.first_fit(n) for n in (4, 5, 10, 11, 61)] == [0, 10, 10, 30, None]


def test_many_ranges_become_few_again() -> None:
    ranges = Ranges()
    for low in range(0, 40, 2):
        ranges.add(low, low + 1)
    assert ranges.within(9, 14) == [(10, 11), (12, 13)] and ranges.first_fit(1) == 0
    for low in range(0, 34, 2):
        ranges.remove(low, low + 1)
    ranges.add(35, 36)
    assert ranges.within(0, 50) == [(34, 37), (38, 39)] and ranges.first_fit(1) == 34


class Item:
    def __init__(self, low: int, high: int) -> None:
        self.low, self.high = low, high


def test_blocks_are_found_by_any_address() -> None:
    blocks: Blocks[Item] = Blocks()
    items = [Item(0, 4), Item(4, 8), Item(12, 16)]
    for item in reversed(items):
        blocks.add(item)
    assert [blocks.find(address) for address in (0, 3, 4, 8, 12, 16)] == [
        items[0],
        items[0],
        items[1],
        None,
        items[2],
        None,
    ]
    assert blocks.overlapping(3, 5) == items[:2]
    assert blocks.overlapping(8, 12) == []
    blocks.remove(items[1])
    assert blocks.overlapping(0, 99) == [items[0], items[2]]
