import numpy as np
import pytest

from flambeau.driver.api import CopyKind
from flambeau.driver.virtual.access import FEW_GROUPS
from flambeau.driver.virtual.schedule import Delay, Submission
from flambeau.dtypes import float32
from flambeau.errors import AcceleratorError, RaceError
from flambeau.kernel import Kernel, Pointer

from .rig import ADD_ONE, BUMP, SEGMENT, STRIDED_FILL

POISON = [255] * 4


def _write(rig, stream, value=1):
    rig.fill(rig.memory[0], value, 4, stream)


def _read(rig, stream):
    rig.copy(rig.memory[0] + 64, rig.memory[0], 4, stream)


def _update(rig, stream):
    rig.launch(BUMP, [rig.memory[0], 1], stream)


PAIRS = {"write-read": (_write, _read), "read-write": (_read, _write), "write-write": (_write, _write)}
PAIRS |= {"update-read": (_update, _read), "read-update": (_read, _update), "update-update": (_update, _update)}


@pytest.mark.parametrize("pair", PAIRS)
def test_every_kind_of_unordered_pair_is_an_error(make_rig, pair):
    first, second = PAIRS[pair]
    rig = make_rig(races="error")
    first(rig, rig.a)
    with pytest.raises(RaceError):
        second(rig, rig.b)


@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize("how", ["one stream", "event", "chain", "host waits for the stream", "host polls"])
def test_every_kind_of_ordered_pair_is_silent(make_rig, pair, how):
    first, second = PAIRS[pair]
    rig = make_rig(races="error")
    first(rig, rig.a)
    if how == "event":
        rig.wait(rig.b, rig.a)
    elif how == "chain":
        rig.wait(rig.c, rig.a)
        rig.wait(rig.b, rig.c)
    elif how == "host waits for the stream":
        rig.driver.stream_synchronize(rig.a)
    elif how == "host polls":
        assert any(rig.driver.stream_query(rig.a) for _ in range(100))
    second(rig, rig.a if how == "one stream" else rig.b)
    rig.driver.device_synchronize(0)


def test_two_readers_do_not_race(make_rig):
    rig = make_rig(races="error")
    for stream, target in ((rig.a, 64), (rig.b, 128)):
        rig.copy(rig.memory[0] + target, rig.memory[0], 4, stream)


def test_neighbours_do_not_race(make_rig):
    rig = make_rig(races="error")
    rig.fill(rig.memory[0], 1, 64, rig.a)
    rig.fill(rig.memory[0] + 64, 1, 64, rig.b)
    with pytest.raises(RaceError, match=f"{rig.memory[0] + 63:#x}, {rig.memory[0] + 64:#x}"):
        rig.fill(rig.memory[0] + 63, 1, 1, rig.b)


def test_an_event_orders_only_what_came_before_its_record(make_rig):
    rig = make_rig(races="error")
    event = rig.driver.event_create(0, False, False, False)
    rig.driver.event_record(event, rig.a)
    _write(rig, rig.a)
    rig.driver.stream_wait_event(rig.b, event)
    with pytest.raises(RaceError):
        _read(rig, rig.b)


def test_a_wait_orders_only_what_comes_after_it(make_rig):
    rig = make_rig(races="error")
    _read(rig, rig.b)
    rig.wait(rig.a, rig.b)
    _write(rig, rig.a)
    with pytest.raises(RaceError):
        _write(rig, rig.b)


def test_waiting_for_one_stream_says_nothing_about_another(make_rig):
    rig = make_rig(races="error")
    _write(rig, rig.a)
    rig.driver.stream_synchronize(rig.c)
    with pytest.raises(RaceError):
        _read(rig, rig.b)


def test_the_default_stream_races_with_created_ones(make_rig):
    rig = make_rig(races="error")
    _write(rig, rig.driver.stream_adopt(0, 0))
    with pytest.raises(RaceError):
        _read(rig, rig.a)


def test_default_streams_of_two_devices_are_two_lanes(make_rig):
    rig = make_rig(races="error", count=2)
    zero, one = (rig.driver.stream_adopt(device, 0) for device in range(2))
    _write(rig, zero)
    with pytest.raises(RaceError):
        rig.driver.copy(rig.memory[1], rig.memory[0], 4, CopyKind.PEER, one)


def test_a_race_names_everything(make_rig):
    rig = make_rig(races="error")
    rig.launch(ADD_ONE, [rig.memory[0], rig.memory[0] + 64, 4], rig.a)
    with pytest.raises(RaceError) as caught:
        rig.launch(BUMP, [rig.memory[0] + 8, 8], rig.b)
    text = str(caught.value)
    low, high = rig.memory[0] + 8, rig.memory[0] + 16
    assert text.startswith(f"bump: reads and writes bytes [{low:#x}, {high:#x}) of device 0 on stream {rig.b} at ")
    assert f"add_one, which writes them on stream {rig.a} at " in text
    assert text.count(__file__.rsplit("/", 1)[1].replace("test_races", "rig")) == 2
    assert f"hint: before that, stream {rig.b} must wait for stream {rig.a}: use wait_stream" in text


def test_a_race_changes_nothing(make_rig):
    rig = make_rig(races="error")
    _write(rig, rig.a, 7)
    before = rig.driver.clock.now()
    for _ in range(3):
        with pytest.raises(RaceError):
            _read(rig, rig.b)
    assert rig.driver.clock.now() == before
    rig.driver.device_synchronize(0)
    assert rig.ran() == ["fill"]
    rig.copy(rig.memory[0] + 64, rig.memory[0], 4, rig.b)
    assert rig.get_bytes(rig.memory[0] + 64, 4, rig.b) == [7] * 4
    assert [number for stream, number, _ in rig.driver.log if stream == rig.b] == [1, 2]


def test_pinned_memory_races_too(make_rig):
    rig = make_rig(races="error")
    address, _ = rig.pinned(64)
    rig.driver.copy(address, rig.memory[0], 4, CopyKind.DEVICE_TO_HOST, rig.a)
    with pytest.raises(RaceError, match="pinned host memory"):
        rig.driver.copy(rig.memory[0] + 64, address, 4, CopyKind.HOST_TO_DEVICE, rig.b)


# blocks
def test_a_block_freed_under_a_copy_on_another_stream(make_rig):
    """The block goes back to its own stream, and to its next owner, while a copy still reads it."""
    rig = make_rig(races="error")
    block = rig.take(0, 64)
    rig.fill(block, 5, 64, rig.a)
    rig.wait(rig.b, rig.a)
    copied = rig.take(1024, 64, rig.b)
    rig.copy(copied, block, 64, rig.b)
    rig.give(block, 64)
    with pytest.raises(
        RaceError, match=r"^allocation: takes .*copy d2d, which reads.*\nhint: the memory that .* freed too early: call"
    ):
        rig.take(0, 32)
    rig.wait(rig.a, rig.b)
    rig.take(0, 32)


def test_a_block_freed_under_a_copy_gives_the_copy_poison(rig):
    block, copied = rig.take(0, 64), rig.take(1024, 64, rig.b)
    rig.fill(block, 5, 64, rig.a)
    rig.wait(rig.b, rig.a)
    rig.copy(copied, block, 64, rig.b)
    rig.give(block, 64)
    rig.take(0, 32)
    assert rig.get_bytes(copied, 64, rig.b) == [255] * 32 + [5] * 32


def test_a_failed_take_leaves_the_block_free(make_rig):
    rig = make_rig(races="error")
    block = rig.take(0, 64)
    rig.wait(rig.b, rig.a)
    rig.fill(block, 5, 64, rig.b)
    rig.give(block, 64)
    with pytest.raises(RaceError):
        rig.take(0, 64)
    with pytest.raises(AcceleratorError):
        rig.give(block, 64)
    rig.wait(rig.a, rig.b)
    rig.take(0, 64)


def test_use_on_another_stream_needs_a_wait_even_for_a_new_block(make_rig):
    rig = make_rig(races="error")
    block = rig.take(0, 64)
    with pytest.raises(RaceError, match=r"^fill: writes .*after allocation, which takes them"):
        rig.fill(block, 0, 64, rig.b)
    rig.wait(rig.b, rig.a)
    rig.fill(block, 0, 64, rig.b)


@pytest.mark.parametrize(("used", "other"), [(0, 64), (64, 0)])
def test_a_block_inherits_the_unfinished_uses_of_its_bytes(make_rig, used, other):
    """A new owner of one half of a freed block; the half that is in use is checked when it is taken."""
    rig = make_rig(races="error")
    block = rig.take(0, 128)
    rig.wait(rig.b, rig.a)
    rig.fill(block + used, 1, 64, rig.b)
    rig.give(block, 128)
    rig.take(other, 64)
    with pytest.raises(RaceError):
        rig.take(used, 64)


def test_a_reader_of_a_freed_block_sees_poison_if_the_next_owner_is_in_a_race(rig):
    """The new block covers all accesses to the old one, except those that have still to read."""
    block, copied = rig.take(0, 64), rig.take(1024, 64)
    rig.fill(block, 5, 64, rig.a)
    rig.driver.stream_synchronize(rig.a)
    rig.copy(copied, block, 64, rig.a)
    rig.give(block, 64)
    rig.take(0, 64)
    rig.fill(block, 7, 64, rig.b)
    assert rig.get_bytes(copied, 64) == [255] * 64


def test_a_block_reused_on_its_own_stream_is_ordered(make_rig):
    rig = make_rig(races="error")
    for step in range(3 * FEW_GROUPS):
        block = rig.take(0, 64 + 8 * step)
        rig.fill(block, 1, 64, rig.a)
        rig.give(block, 64 + 8 * step)


# poison
def test_an_unordered_reader_sees_poison_and_the_memory_keeps_its_value(rig):
    _write(rig, rig.a)
    _read(rig, rig.b)
    assert rig.get_bytes(rig.memory[0] + 64, 4, rig.b) == POISON
    assert rig.get_bytes(rig.memory[0], 4, rig.a) == [1] * 4


def test_a_reader_that_an_unordered_write_follows_sees_poison(rig):
    _write(rig, rig.a, 3)
    _read(rig, rig.a)
    rig.wait(rig.c, rig.a)
    _write(rig, rig.b)
    assert rig.get_bytes(rig.memory[0] + 64, 4, rig.c) == POISON


def test_a_reader_that_ran_before_is_not_changed(rig):
    _write(rig, rig.a, 3)
    _read(rig, rig.a)
    rig.driver.stream_synchronize(rig.a)
    _write(rig, rig.b)
    assert rig.get_bytes(rig.memory[0] + 64, 4) == [3] * 4


@pytest.mark.parametrize("schedule", [Submission(), Delay(0)])
def test_two_unordered_writers_leave_poison_whichever_is_last(make_rig, schedule):
    rig = make_rig(schedule=schedule)
    _write(rig, rig.a)
    rig.fill(rig.memory[0] + 2, 2, 4, rig.b)
    rig.driver.device_synchronize(0)
    assert rig.get_bytes(rig.memory[0], 6) == [1, 1, 255, 255, 2, 2]


def test_an_ordered_write_after_both_heals_the_bytes(rig):
    _write(rig, rig.a)
    _write(rig, rig.b)
    rig.wait(rig.a, rig.b)
    _write(rig, rig.a, 4)
    assert rig.get_bytes(rig.memory[0], 4) == [4] * 4


def test_every_unfinished_reader_sees_poison_not_only_the_latest(rig):
    rig.put(rig.memory[0], [1.0], rig.a)
    rig.driver.stream_synchronize(rig.a)
    for index in range(3):
        rig.copy(rig.memory[0] + 64 + 4 * index, rig.memory[0], 4, rig.a)
    _write(rig, rig.b)
    assert np.isnan(rig.get(rig.memory[0] + 64, 3)).all()


def test_a_strided_pair_poisons_the_bytes_in_common_alone(rig):
    rig.put(rig.memory[0], [0.0] * 6, rig.a)
    rig.driver.stream_synchronize(rig.a)
    rig.launch(STRIDED_FILL, [rig.memory[0], ((3,), [(2,)]), 1.0], rig.a)
    rig.copy(rig.memory[0] + 64, rig.memory[0], 16, rig.b)
    found = rig.get(rig.memory[0] + 64, 4, rig.b)
    assert np.isnan(found[[0, 2]]).all() and found[[1, 3]].tolist() == [0.0, 0.0]


def test_an_update_in_a_race_reads_poison(rig):
    rig.put(rig.memory[0], [1.0, 1.0], rig.a)
    rig.driver.stream_synchronize(rig.a)
    rig.launch(BUMP, [rig.memory[0], 2], rig.a)
    rig.launch(BUMP, [rig.memory[0], 1], rig.b)
    rig.driver.device_synchronize(0)
    found = rig.get(rig.memory[0], 2)
    assert np.isnan(found[0]) and found[1] == 2.0


def test_an_update_in_a_race_passes_poison_on(rig):
    def add_and_tell(total, seen, n):
        total += 1
        seen[:] = total

    kernel = Kernel(
        "tell", "", [Pointer("total", float32, "rw", ("n",)), *ADD_ONE.params[:1], ADD_ONE.params[2]], add_and_tell
    )
    rig.put(rig.memory[0], [1.0], rig.a)
    rig.driver.stream_synchronize(rig.a)
    rig.launch(kernel, [rig.memory[0], rig.memory[0] + 64, 1], rig.a)
    rig.launch(BUMP, [rig.memory[0], 1], rig.b)
    assert np.isnan(rig.get(rig.memory[0] + 64, 1)).all()


def test_racing_pinned_memory_holds_poison(rig):
    address, found = rig.pinned(8)
    for stream, value in ((rig.a, 1), (rig.b, 2)):
        at = 64 * value
        rig.fill(rig.memory[0] + at, value, 8, stream)
        rig.driver.copy(address, rig.memory[0] + at, 8, CopyKind.DEVICE_TO_HOST, stream)
    rig.driver.device_synchronize(0)
    assert found.tolist() == [255] * 8


def test_a_write_that_races_with_a_reader_that_ran_leaves_poison(make_rig):
    """The library ran the reader without ordering the program; the reader can no longer see poison."""
    rig = make_rig()
    _write(rig, rig.a, 3)
    _read(rig, rig.a)
    event = rig.driver.event_create(0, False, False, False)
    rig.driver.event_record(event, rig.a)
    assert any(rig.driver.event_query(event, False) for _ in range(100))
    _write(rig, rig.b, 5)
    rig.driver.device_synchronize(0)
    assert rig.get_bytes(rig.memory[0] + 64, 4) == [3] * 4
    assert rig.get_bytes(rig.memory[0], 4) == POISON


# what the library asks for its own sake
@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize("how", ["query", "synchronize"])
def test_an_answer_to_the_library_orders_nothing(make_rig, pair, how):
    first, second = PAIRS[pair]
    rig = make_rig(races="error")
    first(rig, rig.a)
    event = rig.driver.event_create(0, False, False, False)
    rig.driver.event_record(event, rig.a)
    if how == "query":
        assert any(rig.driver.event_query(event, False) for _ in range(100))
    else:
        rig.driver.event_synchronize(event, False)
    assert rig.ran()
    with pytest.raises(RaceError):
        second(rig, rig.b)
    assert rig.driver.event_query(event)  # the program asks, and is told
    second(rig, rig.b)


def test_freeing_a_segment_orders_nothing_else(make_rig):
    rig = make_rig(races="error")
    other = rig.driver.mem_alloc(0, 4096)
    _write(rig, rig.a)
    rig.fill(other, 1, 64, rig.a)
    rig.driver.mem_free(0, other)
    with pytest.raises(RaceError):
        _read(rig, rig.b)


@pytest.mark.parametrize("races", ["poison", "error"])
def test_a_finished_block_may_be_taken_and_a_use_that_nobody_recorded_may_not(make_rig, races):
    """The allocator waited for the event of one stream on behalf of the block; another stream uses it, too."""
    rig = make_rig(races=races)
    block, copies = (
        rig.take(0, 64),
        [rig.take(1024 * each, 64, each_stream) for each, each_stream in ((1, rig.b), (2, rig.c))],
    )
    rig.fill(block, 5, 64, rig.a)
    event = rig.driver.event_create(0, False, False, False)
    for stream, copy in zip((rig.b, rig.c), copies):
        rig.wait(stream, rig.a)
        rig.copy(copy, block, 64, stream)
    rig.driver.event_record(event, rig.b)
    rig.give(block, 64)
    assert any(rig.driver.event_query(event, False) for _ in range(100))
    rig.driver.block_finished(block, event)
    if races == "error":
        with pytest.raises(RaceError) as caught:
            rig.take(0, 64)
        assert [each.awaited for each in caught.value.missing] == [f"stream {rig.c}"]
        rig.wait(rig.a, rig.c)
        rig.take(0, 64)
    else:
        rig.take(0, 64)
        assert rig.get_bytes(copies[0], 64, rig.b) == [5] * 64
        assert rig.get_bytes(copies[1], 64, rig.c) == [255] * 64


def test_pinned_memory_that_is_used_again_under_a_raw_copy(make_rig):
    rig = make_rig(races="error")
    address, _ = rig.pinned(64)
    rig.driver.copy(rig.memory[0], address, 64, CopyKind.HOST_TO_DEVICE, rig.a)
    with pytest.raises(RaceError) as caught:
        rig.driver.host_taken(address, 64)
    assert caught.value.accesses[0].stream == "the host" and caught.value.accesses[1].operator == "copy h2d"
    rig.driver.stream_synchronize(rig.a)
    rig.driver.host_taken(address, 64)


def test_a_raw_copy_of_pinned_memory_that_is_used_again_copies_poison(rig):
    address, found = rig.pinned(8)
    found[:] = 7
    rig.driver.copy(rig.memory[0], address, 8, CopyKind.HOST_TO_DEVICE, rig.a)
    rig.driver.host_taken(address, 8)
    found[:] = 9
    assert rig.get_bytes(rig.memory[0], 8) == [255] * 8


# the taking of a block
@pytest.mark.parametrize("races", ["poison", "error"])
@pytest.mark.parametrize("nbytes", [64, 32])
def test_after_a_synchronize_a_block_may_be_used_on_any_stream(make_rig, races, nbytes):
    """Holds for the same block, a part of it, and fresh memory."""
    rig = make_rig(races=races)
    block = rig.take(0, 64)
    rig.fill(block, 1, 64, rig.a)
    rig.give(block, 64)
    rig.driver.device_synchronize(0)
    taken = rig.take(0, nbytes), rig.take(4096, 64)
    for each in taken:
        rig.fill(each, 3, nbytes, rig.b)
        assert rig.get_bytes(each, nbytes, rig.b) == [3] * nbytes


@pytest.mark.parametrize("again", [False, True])
def test_without_a_wait_a_block_may_not_be_used_on_another_stream(make_rig, again):
    rig = make_rig(races="error")
    block = rig.take(0, 64)
    rig.fill(block, 1, 64, rig.a)
    if again:
        rig.give(block, 64)
        rig.take(0, 64)
        rig.driver.stream_synchronize(rig.c)
    with pytest.raises(RaceError) as caught:
        rig.fill(block, 0, 64, rig.b)
    assert ("hardware would allow" in str(caught.value)) is False


def test_the_error_says_where_hardware_would_allow_it(make_rig):
    rig = make_rig(races="error")
    block = rig.take(0, 64)
    with pytest.raises(RaceError, match="fresh from the driver: hardware would allow this"):
        rig.fill(block, 0, 64, rig.b)


# what the error tells
def test_every_missing_wait_is_named_at_once(make_rig):
    rig = make_rig(races="error")
    for at, stream in enumerate((rig.a, rig.b, rig.c)):
        rig.fill(rig.memory[0] + 8 * at, 1, 8, stream)
    last = rig.driver.stream_create(0, 0)
    with pytest.raises(RaceError) as caught:
        rig.copy(rig.memory[0] + 64, rig.memory[0], 24, last)
    error = caught.value
    assert {each.awaited for each in error.missing} == {f"stream {each}" for each in (rig.a, rig.b, rig.c)}
    assert {each.waiter for each in error.missing} == {f"stream {last}"}
    newer, *older = error.accesses
    assert (newer.operator, newer.verb, newer.device) == ("copy d2d", "reads", 0)
    assert (newer.low, newer.high) == (rig.memory[0], rig.memory[0] + 24)
    assert sorted((each.low, each.high) for each in older) == [
        (rig.memory[0] + 8 * at, rig.memory[0] + 8 * at + 8) for at in range(3)
    ]
    assert all(each.operator == "fill" and each.verb == "writes" and each.site for each in older)


def test_a_wait_that_another_one_makes_needless_is_not_named(make_rig):
    rig = make_rig(races="error")
    rig.fill(rig.memory[0], 1, 8, rig.a)
    rig.wait(rig.b, rig.a)
    rig.fill(rig.memory[0] + 8, 1, 8, rig.b)
    with pytest.raises(RaceError) as caught:
        rig.copy(rig.memory[0] + 64, rig.memory[0], 16, rig.c)
    assert [each.awaited for each in caught.value.missing] == [f"stream {rig.b}"]


def test_a_wait_before_an_allocation_without_a_command_makes_others_needless(make_rig):
    rig = make_rig(races="error")
    scratch = rig.memory[0] + 4096
    rig.fill(scratch, 1, 8, rig.a)
    rig.wait(rig.b, rig.a)
    rig.fill(scratch, 1, 8, rig.b)
    done = rig.driver.event_create(0, False, False, False)
    rig.driver.event_record(done, rig.b)
    assert any(rig.driver.event_query(done, False) for _ in range(100))  # the fills have run; the host learns nothing
    first = rig.take(SEGMENT // 2, 512, rig.a)
    rig.wait(rig.b, rig.a)
    second = rig.take(SEGMENT // 2 + 512, 512, rig.b)
    with pytest.raises(RaceError) as caught:
        rig.copy(first, second, 8, rig.c)
    assert [each.awaited for each in caught.value.missing] == [f"stream {rig.b}"]


def test_an_event_that_was_recorded_again_is_named(make_rig):
    rig = make_rig(races="error")
    event = rig.driver.event_create(0, False, False, False)
    rig.driver.event_record(event, rig.a)
    rig.driver.stream_wait_event(rig.b, event)
    _write(rig, rig.a)
    rig.driver.event_record(event, rig.a)
    with pytest.raises(RaceError, match="recorded again at .*not waited for again"):
        _read(rig, rig.b)


def test_a_record_that_another_one_replaced_is_named(make_rig):
    rig = make_rig(races="error")
    event = rig.driver.event_create(0, False, False, False)
    _write(rig, rig.a)
    rig.driver.event_record(event, rig.a)
    rig.driver.event_record(event, rig.c)
    rig.driver.stream_wait_event(rig.b, event)
    with pytest.raises(RaceError, match="had replaced that of"):
        _read(rig, rig.b)


@pytest.mark.parametrize("queries", [False, True])
def test_a_replaced_record_is_named_where_the_host_waited(make_rig, queries):
    rig = make_rig(races="error")
    event = rig.driver.event_create(0, False, False, False)
    _write(rig, rig.a)
    rig.driver.event_record(event, rig.a)
    rig.driver.event_record(event, rig.c)
    if queries:
        assert any(rig.driver.event_query(event) for _ in range(100))
    else:
        rig.driver.event_synchronize(event)
    with pytest.raises(RaceError, match="the host waited at .* for an event in its record of .*, which had replaced"):
        _read(rig, rig.b)


def test_a_record_after_the_wait_of_the_host_is_named(make_rig):
    rig = make_rig(races="error")
    event = rig.driver.event_create(0, False, False, False)
    rig.driver.event_record(event, rig.a)
    rig.driver.event_synchronize(event)
    _write(rig, rig.a)
    rig.driver.event_record(event, rig.a)
    with pytest.raises(RaceError, match="the host waited at .*recorded again at .*not waited for again"):
        _read(rig, rig.b)


def test_the_wait_of_the_stream_itself_is_named_before_one_of_the_host(make_rig):
    rig = make_rig(races="error")
    event = rig.driver.event_create(0, False, False, False)
    _write(rig, rig.a)
    rig.driver.event_record(event, rig.a)
    rig.driver.event_record(event, rig.c)
    rig.driver.stream_wait_event(rig.b, event)
    rig.driver.event_synchronize(event)
    with pytest.raises(RaceError, match=f"stream {rig.b} waited at ") as caught:
        _read(rig, rig.b)
    assert "the host waited" not in str(caught.value)


def test_calls_on_one_line_are_told_from_those_of_wait_stream(make_rig):
    rig = make_rig(races="error")
    event = rig.driver.event_create(0, False, False, False)
    _write(rig, rig.a)
    record, wait = rig.driver.event_record, rig.driver.stream_wait_event
    _ = record(event, rig.c), wait(rig.b, event), record(event, rig.a)
    with pytest.raises(RaceError, match="recorded again at .*not waited for again"):
        _read(rig, rig.b)


def test_an_event_that_was_recorded_once_is_not_named(make_rig):
    rig = make_rig(races="error")
    rig.wait(rig.b, rig.a)
    _write(rig, rig.a)
    with pytest.raises(RaceError) as caught:
        _read(rig, rig.b)
    assert "recorded again" not in str(caught.value) and "replaced" not in str(caught.value)


def test_streams_are_told_by_name_and_by_the_line_that_made_them(make_rig):
    rig = make_rig(races="error")
    rig.driver.stream_named(rig.a, "copies", "train.py:7")
    _write(rig, rig.a)
    with pytest.raises(RaceError) as caught:
        _read(rig, rig.b)
    assert "on stream 'copies' at" in str(caught.value) and "stream 'copies' was made at train.py:7" in str(
        caught.value
    )
    assert caught.value.missing == ((f"stream {rig.b}", "stream 'copies'"),)


# real
def test_real_races_are_what_the_schedule_makes_them(make_rig):
    rig = make_rig(races="real")
    _write(rig, rig.a, 1)
    _write(rig, rig.b, 2)
    rig.driver.device_synchronize(0)
    assert rig.get_bytes(rig.memory[0], 4) == [2] * 4
