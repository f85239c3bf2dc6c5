"""Finding, splitting and merging blocks (rows 1.8.2 to 1.8.6)."""

import pytest

from flambeau.core.pool import LARGE_REMAINDER, Counters, Pool, Segment, keep_block, take_block
from flambeau.memory.segments import add_segment, idle_segments, largest, remove_segment, segment_size
from flambeau.memory.statistics import current

MIB = 1 << 20
KIB = 1 << 10


def make(is_small=True):
    return Pool(is_small, Counters())


def add(pool, address, nbytes, stream=1, take=None):
    return add_segment(pool, Segment(address, nbytes, stream, pool.is_small, False), take or nbytes)


def idle(pool, stream=1):
    return [(address, nbytes) for nbytes, address, _ in pool.idle.get(stream, [])]


@pytest.mark.parametrize(
    "nbytes, segment",
    [
        (512, 2 * MIB), (MIB, 2 * MIB), (MIB + 512, 20 * MIB), (10 * MIB - 512, 20 * MIB), (10 * MIB, 10 * MIB),
        (10 * MIB + 512, 12 * MIB), (12 * MIB, 12 * MIB),
    ],
)  # fmt: skip
def test_segment_sizes(nbytes, segment):
    assert segment_size(nbytes, 20 * MIB) == segment


def test_the_large_segment_size_can_be_set():
    assert segment_size(2 * MIB, 32 * MIB) == 32 * MIB


def test_best_fit_is_the_smallest_then_the_lowest():
    pool = make()
    sizes = {1 << 30: 4 * KIB, 3 << 20: 2 * KIB, 1 << 20: 2 * KIB}
    blocks = [add(pool, address, nbytes) for address, nbytes in sizes.items()]
    for block in blocks:
        pool.put(block)
    assert [take_block(pool, KIB + 512, 1).address for _ in range(3)] == [1 << 20, 3 << 20, 1 << 30]
    assert take_block(pool, 512, 1).address == (1 << 20) + KIB + 512


def kept_pair(is_small, unit):
    """Make a pool whose segment begins with two freed blocks, followed by two idle units."""
    pool = make(is_small)
    first = add(pool, 0, 4 * unit, take=unit)
    second = take_block(pool, unit, 1)
    for block in (first, second):
        block.served = unit
        keep_block(pool, block)
    return pool


def test_small_blocks_that_were_given_back_are_not_merged_while_others_fit():
    pool = kept_pair(True, KIB)
    assert take_block(pool, 2 * KIB, 1).address == 2 * KIB
    assert [take_block(pool, KIB, 1).address for _ in range(2)] == [KIB, 0]


def test_small_blocks_that_were_given_back_are_merged_before_nothing_fits():
    pool = kept_pair(True, KIB)
    take_block(pool, 2 * KIB, 1)
    assert take_block(pool, 2 * KIB, 1).address == 0
    assert take_block(pool, 512, 1) is None


def test_coalescing_visits_each_filled_free_list_once():
    pool = kept_pair(True, KIB)
    assert len(pool.filled) == 1 and pool.filled[0].is_filled
    first = take_block(pool, KIB, 1)
    keep_block(pool, first)
    assert len(pool.filled) == 1
    pool.coalesce()
    assert pool.filled == [] and idle(pool) == [(0, 4 * KIB)]
    again = take_block(pool, KIB, 1)
    again.served = KIB
    keep_block(pool, again)
    assert [each.top for each in pool.filled] == [again]


def test_large_blocks_that_were_given_back_are_merged_for_another_size():
    pool = kept_pair(False, 4 * MIB)
    assert take_block(pool, 12 * MIB, 1).address == 0


def test_another_stream_finds_nothing():
    pool = make()
    pool.put(add(pool, 0, 2 * MIB, stream=1))
    assert take_block(pool, 512, 2) is None
    assert take_block(pool, 512, 1) is not None


def test_the_small_pool_splits_off_512_bytes():
    pool = make()
    assert add(pool, 0, 2 * MIB, take=2 * MIB - 512).nbytes == 2 * MIB - 512
    assert idle(pool) == [(2 * MIB - 512, 512)]


def test_the_large_pool_splits_off_more_than_a_mebibyte():
    pool = make(is_small=False)
    assert add(pool, 0, 20 * MIB, take=19 * MIB).nbytes == 20 * MIB
    assert add(pool, 1 << 30, 20 * MIB, take=20 * MIB - LARGE_REMAINDER).nbytes == 19 * MIB - 512
    assert idle(pool) == [((1 << 30) + 19 * MIB - 512, MIB + 512)]


def test_merging_with_both_neighbours_keeps_the_lowest_block():
    pool = make()
    first = add(pool, 0, 3 * KIB, take=KIB)
    second = take_block(pool, KIB, 1)
    third = take_block(pool, KIB, 1)
    pool.put(first)
    pool.put(third)
    assert idle(pool) == [(0, KIB), (2 * KIB, KIB)]
    pool.put(second)
    assert idle(pool) == [(0, 3 * KIB)]
    assert first.segment.first is first and first.next is None
    assert second.prev is second.next is third.prev is third.next is None


def test_a_neighbour_that_waits_for_events_is_not_merged():
    pool = make()
    first = add(pool, 0, 2 * KIB, take=KIB)
    second = take_block(pool, KIB, 1)
    first.pending = 1
    pool.put(second)
    assert idle(pool) == [(KIB, KIB)]


def test_max_split_size_keeps_big_blocks_for_big_requests():
    pool = make(is_small=False)
    pool.max_split = 30 * MIB
    pool.put(add(pool, 0, 40 * MIB))
    assert take_block(pool, 29 * MIB, 1) is None
    assert take_block(pool, 20 * MIB - 512, 1) is None
    assert take_block(pool, 30 * MIB, 1).nbytes == 40 * MIB


@pytest.mark.parametrize("asked, found", [(32 * MIB, False), (32 * MIB + 512, True)])
def test_an_oversize_block_may_be_20_mebibytes_too_big(asked, found):
    pool = make(is_small=False)
    pool.max_split = 30 * MIB
    pool.put(add(pool, 0, 52 * MIB))
    assert (take_block(pool, asked, 1) is not None) is found


def test_inactive_split_counts_the_idle_parts():
    pool = make()
    parts, nbytes = pool.counters.inactive_split, pool.counters.inactive_split_bytes
    seen = []

    def look():
        seen.append((current(parts), current(nbytes)))

    first = add(pool, 0, 4 * KIB, take=KIB)
    look()
    second = take_block(pool, KIB, 1)
    look()
    pool.put(first)
    look()
    third = take_block(pool, 2 * KIB, 1)
    look()
    for block in (third, second):
        pool.put(block)
        look()
    assert seen == [(1, 3 * KIB), (1, 2 * KIB), (2, 3 * KIB), (1, KIB), (2, 3 * KIB), (0, 0)]
    assert (parts.peak, nbytes.peak) == (2, 3 * KIB)


def test_removing_the_last_idle_block_of_a_stream_forgets_the_stream():
    pool = make()
    block = add(pool, 0, 2 * MIB)
    pool.put(block)
    assert list(idle_segments(pool)) == [block.segment] and largest(pool) == largest(pool, 1) == 2 * MIB
    remove_segment(pool, block.segment)
    assert pool.idle == {} and largest(pool) == largest(pool, 1) == 0
    assert current(pool.counters.reserved_bytes) == 0


def test_a_split_segment_is_not_idle():
    pool = make()
    block = add(pool, 0, 2 * MIB, take=512)
    assert list(idle_segments(pool)) == []
    pool.put(block)
    assert [segment.nbytes for segment in idle_segments(pool)] == [2 * MIB]
