import threading
from itertools import pairwise

import pytest

from flambeau.driver.api import CopyKind
from flambeau.driver.virtual.clock import H200, PRESETS, HostClocks, preset
from flambeau.driver.virtual.schedule import Delay, Replay, Seeded, Submission
from flambeau.dtypes import bfloat16, float16, float32
from flambeau.errors import ConfigError
from flambeau.library_operation import Attention, AttentionBackward, Convolution, Gemm

from .rig import SLOW, SLOW_NS, Rig

MIB = 1 << 20


def timed(rig):
    return rig.driver.event_create(0, True, False, False)


def test_calls_cost_their_thread_time(rig):
    before = rig.driver.clock.now()
    rig.fill(rig.memory[0], 0, 4, rig.a)
    assert rig.driver.clock.now() == before + H200.launch_ns
    rig.driver.mem_alloc(0, 64)
    assert rig.driver.clock.now() == before + H200.launch_ns + H200.mem_alloc_ns


def test_blocks_cost_no_time(rig):
    before = rig.driver.clock.now()
    rig.give(rig.take(0, 64), 64)
    assert rig.driver.clock.now() == before


def test_a_wait_moves_the_clock_to_the_completion(rig):
    rig.launch(SLOW, [rig.memory[0], 8], rig.a)
    assert rig.driver.clock.now() < SLOW_NS
    rig.driver.stream_synchronize(rig.a)
    assert rig.driver.clock.now() > SLOW_NS


def test_a_query_is_true_once_its_work_lies_behind_the_clock(rig):
    rig.launch(SLOW, [rig.memory[0], 8], rig.a)
    assert not rig.driver.stream_query(rig.a)
    assert rig.ran() == []
    polls = 0
    while not rig.driver.stream_query(rig.a):
        polls += 1
    assert SLOW_NS // H200.call_ns < polls < 2 * SLOW_NS // H200.call_ns
    assert rig.ran() == ["slow"]


def test_polling_an_event_ends_and_runs_ancestors_only(rig):
    event = timed(rig)
    rig.launch(SLOW, [rig.memory[0], 8], rig.a)
    rig.driver.event_record(event, rig.a)
    rig.fill(rig.memory[0], 0, 4, rig.a)
    assert not rig.driver.event_query(event)
    while not rig.driver.event_query(event):
        pass
    assert rig.ran() == ["slow"]


def test_streams_run_side_by_side_and_events_join_them(rig):
    one, two = timed(rig), timed(rig)
    rig.launch(SLOW, [rig.memory[0], 8], rig.a)
    rig.launch(SLOW, [rig.memory[0] + 64, 8], rig.b)
    rig.driver.event_record(one, rig.b)
    rig.wait(rig.b, rig.a)
    rig.launch(SLOW, [rig.memory[0] + 128, 8], rig.b)
    rig.driver.event_record(two, rig.b)
    rig.driver.device_synchronize(0)
    assert rig.driver.event_elapsed(one, two) == pytest.approx(SLOW_NS / 1e6, rel=0.5)
    assert rig.driver.clock.now() < 3 * SLOW_NS + 4 * SLOW_NS


def test_one_copy_engine_serves_one_direction(rig):
    size = 16 * MIB
    memory, (host, _) = rig.driver.mem_alloc(0, 3 * size), rig.pinned(3 * size)
    into, out_of = CopyKind.HOST_TO_DEVICE, CopyKind.DEVICE_TO_HOST
    spans = []
    for index, (stream, kind) in enumerate(((rig.a, into), (rig.b, into), (rig.c, out_of))):
        device_side, host_side = memory + index * size, host + index * size
        dst, src = (device_side, host_side) if kind is into else (host_side, device_side)
        spans.append((timed(rig), timed(rig)))
        rig.driver.event_record(spans[-1][0], stream)
        rig.driver.copy(dst, src, size, kind, stream)
        rig.driver.event_record(spans[-1][1], stream)
    rig.driver.device_synchronize(0)
    first, second, other_way = (rig.driver.event_elapsed(start, end) for start, end in spans)
    assert first == pytest.approx(size / 55.4e6, rel=0.05)
    assert second == pytest.approx(2 * first, rel=0.05)
    assert other_way == pytest.approx(first, rel=0.05)


def test_times_do_not_depend_on_the_schedule():
    def times(schedule, races):
        rig = Rig(races=races, schedule=schedule)
        for turn in range(12):
            rig.fill(rig.memory[0], 0, 4096 * (turn + 1), (rig.a, rig.b, rig.c)[turn % 3])
            if turn % 4 == 3:
                rig.wait(rig.b, rig.c)
        rig.driver.stream_synchronize(rig.b)
        rig.driver.device_synchronize(0)
        return rig.driver.clock.now()

    schedules = [Submission(), Seeded(1), Seeded(2), Delay(0), Replay([1, 1, 0, 1])]
    assert len({times(schedule, "real") for schedule in schedules}) == 1
    assert times(Submission(), "poison") == times(Seeded(1), "real")


def test_elapsed_times_are_whole_steps_of_one_clock(rig):
    events = [timed(rig) for _ in range(20)]
    for event in events:
        rig.driver.event_record(event, rig.a)
        rig.fill(rig.memory[0], 0, MIB, rig.a)
    rig.driver.device_synchronize(0)
    steps = [rig.driver.event_elapsed(a, b) for a, b in pairwise(events)]
    assert min(steps) > 0
    assert sum(steps) == pytest.approx(rig.driver.event_elapsed(events[0], events[-1]))


def test_a_new_thread_starts_at_the_latest_time():
    clocks = HostClocks()
    clocks.spend(500)
    seen = []

    def other():
        seen.append(clocks.now())
        clocks.spend(100)

    for _ in range(2):
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
    assert seen == [500, 600]
    assert clocks.now() == 500
    clocks.reach(450)
    assert clocks.now() == 500


def test_products_take_the_time_of_their_type():
    def ns(dtype, allow_tf32=False):
        n = 8192
        return H200.gemm_ns(Gemm(dtype, 1, n, n, n, (0, n, 1), (0, n, 1), (0, n, 1), allow_tf32=allow_tf32), 0)

    assert ns(float32) == pytest.approx(2 * 8192**3 / 51e3, rel=1e-3)
    assert ns(bfloat16) < ns(float32, allow_tf32=True) < ns(float32)


def test_convolutions_take_the_time_of_their_products():
    def ns(dtype, allow_tf32=False, kind="convolution"):
        x, w, y = (32, 256, 56, 56), (256, 256, 3, 3), (32, 256, 56, 56)
        steps = (1, 1), (1, 1), (1, 1)
        return H200.library_ns(Convolution(kind, dtype, x, w, y, x, w, y, *steps, 1, allow_tf32), 0)

    assert ns(float32) == pytest.approx(2 * 32 * 256 * 56 * 56 * 256 * 9 / 51e3, rel=1e-3)
    assert ns(bfloat16) < ns(float32, allow_tf32=True) < ns(float32)
    assert ns(float32, kind="convolution_input") == ns(float32, kind="convolution_weight") == ns(float32)


def test_attention_takes_the_time_of_the_pairs_that_are_seen():
    rows = (64 * 4096 * 16, 64 * 4096, 64, 1)

    def problem(dtype, is_causal):
        return Attention(dtype, 8, 16, 16, 4096, 4096, 64, 64, 0.125, is_causal, rows, rows, rows, rows)

    def ns(dtype, is_causal):
        return H200.library_ns(problem(dtype, is_causal), 0)

    causal = problem(bfloat16, True)
    assert ns(bfloat16, True) == pytest.approx(4 * 8 * 16 * 4096**2 * 64 / 2 / 420e3, rel=1e-2)
    assert ns(bfloat16, False) == pytest.approx(2 * ns(bfloat16, True), rel=1e-2)
    backward = AttentionBackward(causal, rows, rows, rows, rows)
    assert H200.library_ns(backward, 0) == pytest.approx(2.5 * ns(bfloat16, True) * 420 / 372, rel=1e-2)
    assert ns(float32, True) > ns(bfloat16, True)


def test_kernels_are_bound_by_bytes_or_by_operations():
    assert H200.kernel_ns(426_000_000, 1) == H200.kernel_start_ns + 100_000
    assert H200.kernel_ns(4, 6e9) == H200.kernel_start_ns + 100_000


def test_every_preset_but_that_of_the_h200_is_marked_as_not_calibrated():
    marked = {name for name, card in PRESETS.items() if card.name.endswith("(not calibrated)")}
    assert marked == {name for name, card in PRESETS.items() if not card.is_calibrated} == {*PRESETS} - {"h200"}


def test_a_card_is_as_much_slower_as_its_data_sheet_says():
    def ns(name, dtype):
        n = 8192
        return PRESETS[name].gemm_ns(Gemm(dtype, 1, n, n, n, (0, n, 1), (0, n, 1), (0, n, 1)), 0)

    assert PRESETS["rtx4090"].total_memory == 24 << 30
    assert PRESETS["rtx4090"].kernel_ns(10**9, 0) == pytest.approx(10**9 / (0.89 * 1008), rel=1e-2)
    assert ns("t4", float16) == pytest.approx(2 * 8192**3 / (0.76 * 65e3), rel=1e-2)
    assert ns("t4", bfloat16) == ns("t4", float32) > ns("l4", float32) > ns("h100", float32)


def test_an_unknown_preset_lists_the_known_ones():
    with pytest.raises(ConfigError) as failure:
        preset("rtx9999")
    assert "'rtx9999'" in str(failure.value)
    assert all(name in str(failure.value) for name in PRESETS)
