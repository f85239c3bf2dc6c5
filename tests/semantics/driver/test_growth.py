"""The cost of an operation, in exact counts, does not grow with earlier work."""

import pytest

from flambeau import byte_ranges
from flambeau.byte_ranges import ByteRange
from flambeau.dtypes import float32
from flambeau.kernel import Access
from flambeau.testing import machine
from tests.driver.virtual.rig import ADD_ONE, STRIDED_FILL

SMALL, LARGE = 20, 2000


def compared(rig, call):
    """The number of groups and uses that a call is compared with."""
    before = rig.driver._engine.races.looked_at
    call()
    return rig.driver._engine.races.looked_at - before


def clock_steps(rig, call):
    before = rig.driver._engine.clocks.steps
    call()
    return rig.driver._engine.clocks.steps - before


def read_by(rig, count):
    """Streams that each read the same bytes, after the write on `a`."""
    rig.fill(rig.memory[0], 1, 64, rig.a)
    streams = [rig.driver.stream_create(0, 0) for _ in range(count)]
    for index, stream in enumerate(streams):
        rig.wait(stream, rig.a)
        rig.launch(ADD_ONE, [rig.memory[0] + 4096 + 64 * index, rig.memory[0], 16], stream)
    return streams


def test_a_read_is_not_compared_with_earlier_readers(make_rig):
    def cost(count):
        rig = make_rig()
        read_by(rig, count)
        rig.wait(rig.b, rig.a)
        return compared(rig, lambda: rig.copy(rig.memory[0] + 2048, rig.memory[0], 64, rig.b))

    assert cost(SMALL) == cost(LARGE) <= 4


@pytest.mark.slow
def test_a_write_is_compared_with_each_reader_once(make_rig):
    rig = make_rig()
    for stream in read_by(rig, LARGE):
        rig.wait(rig.a, stream)
    write = lambda: rig.fill(rig.memory[0], 2, 64, rig.a)  # noqa: E731
    assert LARGE <= compared(rig, write) <= LARGE + 4
    assert max(compared(rig, write) for _ in range(3)) <= 4


def test_a_covered_reader_still_sees_poison_in_a_race(make_rig):
    """The write replaced the readers in the history; a write that races with it races with them."""
    rig = make_rig()
    readers = read_by(rig, SMALL)
    for stream in readers:
        rig.wait(rig.a, stream)
    for _ in range(2):
        rig.fill(rig.memory[0], 2, 64, rig.a)
    rig.fill(rig.memory[0], 3, 32, rig.b)
    for index, stream in enumerate(readers):
        found = rig.get_bytes(rig.memory[0] + 4096 + 64 * index, 64, stream)
        assert found[:32] != found[32:] and rig.get(rig.memory[0] + 4096 + 64 * index, 8, stream).tolist() != [1.0] * 8


@pytest.mark.slow
@pytest.mark.parametrize("races", ["poison", "error"])
def test_a_range_is_compared_with_those_that_it_overlaps(make_rig, races):
    def cost(count):
        rig = make_rig(races=races)
        streams = [rig.driver.stream_create(0, 0) for _ in range(10)]  # more than are looked at one by one
        for index in range(count):
            rig.fill(rig.memory[0] + 16 * index, 1, 8, streams[index % 10])
        index = count // 2
        return compared(rig, lambda: rig.fill(rig.memory[0] + 16 * index, 1, 8, streams[index % 10]))

    assert cost(200) == cost(5_000) <= 4


@pytest.mark.slow
def test_what_the_clocks_compare_does_not_grow_with_the_streams(make_rig):
    def cost(count):
        rig = make_rig()
        streams = [rig.driver.stream_create(0, 0) for _ in range(count)]
        total = 0
        for _ in range(3):  # fork and join, again and again
            for index, stream in enumerate(streams):
                total += clock_steps(rig, lambda: rig.wait(stream, rig.a))
                rig.fill(rig.memory[0] + 64 * index, 1, 64, stream)
            for stream in streams:
                total += clock_steps(rig, lambda: rig.wait(rig.a, stream))
            rig.fill(rig.memory[0] + (1 << 20), 1, 64, rig.a)
        for stream in streams:
            total += clock_steps(rig, lambda: rig.driver.stream_synchronize(stream))
        return total / count

    assert cost(LARGE) <= 6 * cost(SMALL)  # less than the square root of the number of streams


@pytest.mark.slow
def test_a_wait_looks_at_a_stream_once_for_each_command_that_holds_it_up(make_rig):
    """Ready streams are found from the commands that ran, without a pass over all streams for every command."""
    rig = make_rig()
    streams = [rig.driver.stream_create(0, 0) for _ in range(LARGE)]
    for index, stream in enumerate(streams):
        rig.fill(rig.memory[0] + 64 * index, 1, 64, stream)
        rig.wait(rig.a, stream)
    rig.fill(rig.memory[0], 2, 64, rig.a)
    runner = rig.driver._engine.runner
    looked, look_at = [], runner._look_at
    runner._look_at = lambda queue, *rest: looked.append(queue) or look_at(queue, *rest)
    rig.driver.stream_synchronize(rig.a)
    assert len(rig.driver.log) == LARGE + 1 and len(looked) <= 4 * LARGE


# strided ranges
@pytest.mark.parametrize("count", [1 << 10, 1 << 24])
@pytest.mark.parametrize(("steps", "shares"), [((2, 2), False), ((3, 5), True), ((6, 10), False), ((4, 6), False)])
def test_strided_ranges_are_compared_by_their_strides(monkeypatch, count, steps, shares):
    nodes, reached = [], byte_ranges._is_reached
    monkeypatch.setattr(byte_ranges, "_is_reached", lambda *terms: nodes.append(1) or reached(*terms))
    one, two = (ByteRange(4 * at, (count,), (step,), 4) for at, step in enumerate(steps))
    assert one.overlaps(two) is shares
    assert len(nodes) == 1


def test_tiles_of_two_widths_are_compared_by_their_strides(monkeypatch):
    nodes, reached = [], byte_ranges._is_reached
    monkeypatch.setattr(byte_ranges, "_is_reached", lambda *terms: nodes.append(1) or reached(*terms))
    rows = ByteRange(0, (4096, 512), (4096, 2), 4)
    others = ByteRange(4, (4096, 512), (4096, 2), 4)
    assert not rows.overlaps(others)
    assert rows.overlaps(ByteRange(4, (4096, 511), (4096, 3), 4))
    assert len(nodes) <= 16


def test_interleaved_launches_on_two_streams_draw_no_elements(make_rig, monkeypatch):
    monkeypatch.setattr(ByteRange, "mask", lambda *arguments: pytest.fail("elements were drawn"))
    rig = make_rig(races="error", memory=1 << 28)
    memory = rig.driver.mem_alloc(0, 1 << 27)
    for at, stream in ((0, rig.a), (4, rig.b), (0, rig.a), (4, rig.b)):
        rig.launch(STRIDED_FILL, [memory + at, ((1 << 24,), [(2,)]), 1.0], stream)
    assert Access(memory, float32, "w", (1 << 24,), (2,)).nbytes == (1 << 27) - 4


# memory
@pytest.mark.slow
def test_taking_and_freeing_a_block_looks_at_its_own_segment(monkeypatch):
    """The count of look-ups by address does not depend on the number of other live blocks."""
    from flambeau.driver.virtual.space import Blocks

    def cost(count):
        with machine() as made:
            allocator, stream = made.devices[0].allocator, made.devices[0].default_stream.handle
            kept = [allocator.allocate(512, stream) for _ in range(count)]
            seen, overlapping = [], Blocks.overlapping
            with monkeypatch.context() as patch:
                patch.setattr(Blocks, "overlapping", lambda *args: seen.extend(found := overlapping(*args)) or found)
                more = [allocator.allocate(512, stream) for _ in range(100)]
            return len(seen), len(kept + more)

    assert cost(100)[0] == cost(3000)[0]


@pytest.mark.slow
def test_emptying_the_cache_hands_back_each_segment_once(monkeypatch):
    def cost(segments):
        with machine() as made:
            allocator, stream = made.devices[0].allocator, made.devices[0].default_stream.handle
            blocks = [allocator.allocate(12 << 20, stream) for _ in range(segments)]
            for each in blocks:
                allocator.free(each)
            before = made.driver._engine.clocks.steps
            allocator.empty_cache()
            return made.driver._engine.clocks.steps - before, allocator.statistics()["num_device_free"]

    (few, freed), (many, all_freed) = cost(10), cost(1000)
    assert (freed, all_freed) == (10, 1000) and many <= 100 * few
