"""The contents of a profile: every span with its stream, times and source line, from the model and from events."""

from __future__ import annotations

import gzip
import json
import threading
from pathlib import Path

import pytest

import flambeau as torch
from flambeau import errors
from flambeau.core import thread
from flambeau.core.hooks import NAMES, subscribe, unsubscribe
from flambeau.core.queue import hooks
from flambeau.profiler import ProfilerAction, ProfilerActivity, profile, record_function, schedule
from flambeau.profiler import tensorboard_trace_handler as handler
from flambeau.testing import machine
from flambeau.tools.profiler import Profile
from tests.tools.refusals import refuse_a_launch

MIB = 1 << 20
ADD = "add_float32_float32_float32"


@pytest.fixture(autouse=True)
def nobody_stays_subscribed():
    before = {name: getattr(hooks, name) for name in NAMES}
    yield
    assert [name for name in NAMES if getattr(hooks, name) is not before[name]] == []


@pytest.fixture
def by_events(monkeypatch):
    """Profiles of virtual GPUs taken as those of hardware are, by events."""
    monkeypatch.setattr("flambeau.tools.recorder.is_modelled", lambda machine: False)


def lines(*spans):
    return [int(each.site.rpartition(":")[2]) for each in spans]


def work():
    """A kernel, a copy on another stream, a product, and a copy to the other device."""
    x, host = torch.ones(MIB, device="cuda"), torch.ones(MIB).pin_memory()
    side = torch.cuda.Stream()
    torch.cuda.synchronize()
    with torch.profile() as found:
        y = x + x
        with torch.cuda.stream(side):
            z = host.to("cuda", non_blocking=True)
        y.to("cuda:1")
        y[:4096].view(64, 64) @ y[:4096].view(64, 64)
    return found, side, z


def test_every_stream_s_work_is_there_with_its_size_and_line():
    with machine(devices=2):
        found, side, _ = work()
    first = work.__code__.co_firstlineno
    assert [(each.device, each.stream, each.name, each.nbytes) for each in found.spans] == [
        (0, 0, ADD, 12 * MIB),
        (0, side.cuda_stream, "copy h2d", 4 * MIB),
        (0, 0, "copy peer", 4 * MIB),
        (0, 0, "gemm", 3 * 16384),
    ]
    assert [each - first for each in lines(*found.spans)] == [6, 8, 9, 10]
    assert all(each.site.startswith(__file__) for each in found.spans)


def test_times_are_the_model_s_and_the_same_every_time():
    def times():
        with machine(devices=2) as made:
            found, _, _ = work()
            return made.driver.card, [(each.start_ns, each.end_ns) for each in found.spans]

    card, first = times()
    assert first == times()[1]
    assert first[0][0] == card.host.launch  # the profile begins, the host submits, the stream is idle
    assert first[0][1] - first[0][0] == card.kernel_ns(8 * MIB, MIB)  # one array is both operands


def test_collecting_takes_no_modelled_time():
    def spent(watch):
        with machine() as made:
            x = torch.ones(MIB, device="cuda")
            if watch:
                with torch.profile():
                    x + x
            else:
                x + x
                torch.cuda.synchronize()
            return made.driver.clock.now()

    assert spent(True) == spent(False)


def test_only_what_is_inside_counts():
    with machine():
        x = torch.ones(4, device="cuda")
        with torch.profile() as found:
            pass
        x + x
        assert found.spans == [] and found.modelled


def test_fills_and_the_parts_of_a_graph():
    with machine():
        x, graph = torch.zeros(4, device="cuda"), torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            y = x + 1
            y.mul_(2)
        with torch.profile() as found:
            graph.replay()
            graph.replay()
    names = [each.name.split("_")[0] for each in found.spans]
    first, second, *_ = lines(*found.spans)
    assert names == ["add", "mul", "add", "mul"] and second == first + 1


def test_events_give_the_same_spans(by_events):
    with machine(devices=2):
        found, side, _ = work()
        kept = {each.mark for each in thread.machine().streams.values()} - {None}
        assert set(thread.machine().driver._events) == kept
    assert [(each.device, each.stream, each.name, each.nbytes) for each in found.spans] == [
        (0, 0, ADD, 12 * MIB),
        (0, side.cuda_stream, "copy h2d", 4 * MIB),
        (0, 0, "copy peer", 4 * MIB),
        (0, 0, "gemm", 3 * 16384),
    ]
    assert all(0 < each.start_ns < each.end_ns for each in found.spans)
    assert lines(*found.spans) == sorted(lines(*found.spans))


def test_events_measure_a_busy_stream(by_events):
    with machine() as made:
        torch.cuda._sleep(1)
        torch.cuda.synchronize()
        with torch.profile() as found:
            for _ in range(3):
                torch.cuda._sleep(1_000_000)
        durations = [each.end_ns - each.start_ns for each in found.spans]
        modelled = made.driver.card.kernel_ns(8, 1_000_000 * 30_000)
        assert durations[1:] == [modelled] * 2 and modelled <= durations[0] < modelled + 20_000
        assert [b.start_ns - a.end_ns for a, b in zip(found.spans, found.spans[1:])] == [0, 0]


def test_events_of_two_devices_lie_on_one_clock(by_events):
    with machine(devices=2):
        for index in (0, 1):
            torch.ones(4, device=f"cuda:{index}")
        with torch.profile() as found:
            for index in (0, 1, 0, 1):
                torch.ones(4, device=f"cuda:{index}")
    starts = [each.start_ns for each in found.spans]
    assert [each.device for each in found.spans] == [0, 1, 0, 1] and starts == sorted(starts)


@pytest.mark.devices(1)
def test_on_the_gpus_that_there_are(gpus):
    """With FLAMBEAU_GPUS=nvidia, measurements of hardware by CUPTI or events."""
    x, host = torch.ones(MIB, device="cuda"), torch.ones(MIB).pin_memory()
    side = torch.cuda.Stream()
    (x + x)[:4096].view(64, 64) @ x[:4096].view(64, 64)
    torch.cuda.synchronize()
    with torch.profile() as found:
        for _ in range(3):
            y = x + x
        with torch.cuda.stream(side):
            z = host.to("cuda", non_blocking=True)
        y[:4096].view(64, 64) @ y[:4096].view(64, 64)
        y.zero_()
    work = [(each.launch and each.launch.operation or each.name, each) for each in found.spans]
    kept = sorted((each.stream, name, each.nbytes) for name, each in work)
    assert kept[:3] == [(0, ADD, 12 * MIB)] * 3 and (0, "gemm", 3 * 16384) in kept
    assert kept[-1] == (side.cuda_stream, "copy h2d", 4 * MIB) and z.numel() == MIB
    assert sum(name != "gemm" for _, name, _ in kept) == 5  # a product may be several kernels
    assert all(0 < each.start_ns < each.end_ns for each in found.spans)
    ends = [each.end_ns for each in found.spans if each.name == ADD]
    assert ends == sorted(ends)
    assert found.modelled is (gpus.choice.kind == "virtual")


def test_events_see_a_graph_as_one(by_events):
    with machine():
        x, graph = torch.zeros(4, device="cuda"), torch.cuda.CUDAGraph()
        with torch.profile() as found:
            with torch.cuda.graph(graph):
                y = x + 1
                y.mul_(2)
            graph.replay()
    assert [each.name for each in found.spans] == ["graph"]


def test_a_call_that_fails_leaves_no_span(by_events):
    with machine() as made:
        x = torch.ones(4, device="cuda")
        with torch.profile() as found:
            refuse_a_launch(made.driver)
            with pytest.raises(errors.AcceleratorError, match="refused"):
                x + x
            x * 2
        assert [each.name.split("_")[0] for each in found.spans] == ["mul"]


def test_threads_are_kept_apart(by_events):
    def add(stream, x):
        with torch.cuda.stream(stream):
            for _ in range(20):
                x + x

    with machine():
        streams, x = [torch.cuda.Stream() for _ in range(2)], torch.ones(4, device="cuda")
        torch.cuda.synchronize()
        with torch.profile() as found:
            threads = [threading.Thread(target=add, args=(stream, x)) for stream in streams]
            for each in threads:
                each.start()
            for each in threads:
                each.join()
    counts = [sum(each.stream == stream.cuda_stream for each in found.spans) for stream in streams]
    assert counts == [20, 20]


def test_ranges_of_the_host_are_there():
    with machine():
        x = torch.ones(4, device="cuda")
        torch.cuda.nvtx.range_push("early")
        with torch.profile() as found:
            with torch.cuda.nvtx.range("step {}", 1):
                x + x
            torch.cuda.nvtx.mark("here")
            torch.cuda.nvtx.range_pop()
    step, here, early = found.ranges
    assert (step.text, here.text, early.text) == ("step 1", "here", "early")
    assert step.start_ns <= found.spans[0].start_ns and step.end_ns == here.start_ns == here.end_ns
    assert (early.start_ns, early.thread) == (0, threading.get_ident())


def test_profiles_and_other_tools_hear_the_same(by_events):
    heard = []
    mine = lambda *facts: heard.append(facts)  # noqa: E731
    subscribe(on_launch=mine)
    with machine(), torch.profile() as outer:
        with torch.profile() as inner:
            torch.ones(4, device="cuda")
        torch.zeros(4, device="cuda")
    unsubscribe(on_launch=mine)
    assert (len(outer.spans), len(inner.spans), len(heard)) == (2, 1, 2)


def test_what_the_block_raises_comes_out_and_the_spans_stay():
    with machine():
        found = torch.profile()
        with pytest.raises(KeyError), found:
            torch.ones(4, device="cuda")
            raise KeyError("no")
    assert [each.name for each in found.spans] == ["fill_float32"]


def test_a_device_that_failed_is_not_waited_for():
    with machine() as made:
        x = torch.ones(4, device="cuda")
        torch.cuda.synchronize()
        made.driver.faults.fail_launch_at(1)
        found = torch.profile()
        with pytest.raises(errors.AcceleratorError, match="failed on device 0"), found:
            (x + x).tolist()
    assert [each.name for each in found.spans] == [ADD, "copy d2h"]  # as they were submitted


def test_without_a_gpu_there_is_nothing_to_profile():
    from flambeau.config import Gpus
    from flambeau.runtime.machine import Machine

    former = thread.swap_machine(Machine(Gpus("none")))
    try:
        with pytest.raises(errors.NoDeviceError):
            torch.profile().__enter__()
    finally:
        thread.swap_machine(former)


def test_without_a_gpu_the_profiler_of_a_program_warns_and_stays_empty(tmp_path):
    from flambeau.config import Gpus
    from flambeau.runtime.machine import Machine

    seen, first = [], torch.profiler.schedule(wait=0, warmup=1, active=1, repeat=1)
    profile = torch.profiler.profile(profile_memory=True, schedule=first, on_trace_ready=seen.append)
    former = thread.swap_machine(Machine(Gpus("none")))
    try:
        with pytest.warns(UserWarning, match="profile: .*there is no GPU"), profile:
            for _ in range(3):
                with torch.profiler.record_function("step"):
                    torch.ones(2) + 1
                profile.step()
    finally:
        thread.swap_machine(former)
    assert seen == [profile] and len(profile.events()) == 0 and len(profile.key_averages()) == 0
    assert "CPU" in profile.key_averages().table(sort_by="cpu_time_total", row_limit=10)
    profile.export_chrome_trace(str(tmp_path / "trace.json"))
    assert "traceEvents" in (tmp_path / "trace.json").read_text()


def test_the_table_sums_by_name_and_says_whose_times_they_are():
    with machine() as made:
        x = torch.ones(MIB, device="cuda")
        with torch.profile() as found:
            for _ in range(3):
                x + x
            torch.ones(4, device="cuda")
    one = found.spans[0].end_ns - found.spans[0].start_ns
    head, first, second = found.table().splitlines()
    assert head.split() == ["name", "(modelled", "times)", "calls", "total", "us", "mean", "us", "bytes"]
    assert first.split() == [ADD, "3", f"{3 * one / 1000:.3f}", f"{one / 1000:.3f}", str(36 * MIB)]
    least = f"{made.driver.card.kernel_ns(16, 0) / 1000:.3f}"
    assert second.split() == ["fill_float32", "1", least, least, "16"]


def test_an_empty_table_is_its_head():
    assert Profile().table().startswith("name (measured times)") and "\n" not in Profile().table()


def test_the_trace_file_is_chrome_s(tmp_path):
    with machine(devices=2):
        torch.cuda.nvtx.mark("outside")
        x = torch.ones(MIB, device="cuda")
        side = torch.cuda.Stream()
        with torch.profile() as found:
            with torch.cuda.nvtx.range("step"):
                x + x
                with torch.cuda.stream(side):
                    x * 2
            torch.cuda.nvtx.mark("here")
            x.to("cuda:1")
            torch.ones(4, device="cuda:1")
        found.export_chrome_trace(tmp_path / "trace.json")
    document = json.loads((tmp_path / "trace.json").read_text())
    assert document["otherData"] == {"times": "modelled"}
    events = document["traceEvents"]
    for each in events:
        assert each["ph"] in ("M", "X", "i", "s", "f", "C") and {"name", "pid", "tid"} <= each.keys()
        assert each["ph"] == "M" or isinstance(each["ts"], float)
        assert all(0 <= each[key] < 1 << 31 for key in ("pid", "tid"))
    names = {(each["name"], each["pid"], each["tid"]): each["args"]["name"] for each in events if each["ph"] == "M"}
    assert names == {
        ("process_name", 0, 0): "host",
        ("thread_name", 0, 0): "MainThread",
        ("process_name", 1, 0): "cuda:0",
        ("process_name", 2, 0): "cuda:1",
        ("thread_name", 1, 0): "the default stream",
        ("thread_name", 1, 1): f"stream {side.cuda_stream}",
        ("thread_name", 2, 0): "the default stream",
    }
    spans = [each for each in events if each["ph"] == "X" and each["pid"]]
    assert [each["cat"] for each in spans] == ["kernel", "kernel", "copy", "kernel"]
    for each, span in zip(spans, found.spans):
        assert (each["ts"] * 1000, each["dur"] * 1000) == pytest.approx((span.start_ns, span.end_ns - span.start_ns))
        assert each["args"] == {"bytes": span.nbytes, "line": span.site}
    host = [(each["ph"], each["name"], each["cat"]) for each in events if each["ph"] in "Xi" and not each["pid"]]
    ranges, calls = [("X", "step", "range"), ("i", "here", "range")], ["add", "mul", "copy peer", "fill_float32"]
    assert host == [*ranges, *(("X", name, "call") for name in calls)]
    flows = [each for each in events if each["ph"] in "sf"]
    assert {each["name"] for each in flows} == {"launch", "wait"}
    assert len({each["id"] for each in flows}) == len(flows) / 2
    counters = [each["args"] for each in events if each["ph"] == "C" and each["pid"] == 1]
    assert counters[0]["allocated"] == 8 * MIB and all(each["cached"] >= 0 for each in counters)


NONE, WARMUP, RECORD, SAVE = ProfilerAction
CPU, CUDA = ProfilerActivity


@pytest.fixture(autouse=True)
def gpu():
    with machine() as made:
        yield made


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"wait": 0, "warmup": 0, "active": 1}, [SAVE] * 4),
        (
            {"wait": 1, "warmup": 1, "active": 2, "repeat": 2, "skip_first": 1},
            [NONE, NONE, WARMUP, RECORD, SAVE, NONE, WARMUP, RECORD, SAVE, NONE, NONE],
        ),
        (
            {"wait": 2, "warmup": 1, "active": 2, "skip_first": 2, "skip_first_wait": 1},
            [NONE, NONE, WARMUP, RECORD, SAVE, NONE, NONE, WARMUP, RECORD, SAVE, NONE],
        ),
    ],
)
def test_a_schedule_says_what_is_done_with_each_step(options, expected):
    assert [schedule(**options)(step) for step in range(len(expected))] == expected


@pytest.mark.parametrize("bad", [{"wait": -1}, {"warmup": -1}, {"active": 0}, {"repeat": -1}, {"skip_first": -1}])
def test_a_schedule_that_makes_no_sense(bad):
    with pytest.raises(errors.ArgumentError, match=next(iter(bad))):
        schedule(**{"wait": 1, "warmup": 1, "active": 1} | bad)


def steps(profiled, count):
    x = torch.ones(1 << 20, device="cuda")
    for _ in range(count):
        with record_function("forward"):
            x = x * 2
        profiled.step()


def calls(events):
    return {each.key.split("_")[0]: each.count for each in events}


def test_the_cycles_of_a_schedule_are_handed_over_one_by_one():
    found = []
    with profile(
        schedule=schedule(wait=1, warmup=1, active=2, repeat=2),
        on_trace_ready=lambda p: found.append((p.step_num, calls(p.key_averages()))),
    ) as profiled:
        steps(profiled, 10)
    of_two = {"ProfilerStep*": 2, "forward": 2, "mul": 2}
    assert found == [(4, of_two), (8, of_two)]


def test_without_a_schedule_the_whole_block_is_recorded():
    found = []
    with profile(on_trace_ready=found.append) as profiled:
        steps(profiled, 3)
    assert found == [profiled] and calls(profiled.key_averages()) == {"forward": 3, "mul": 3, "fill": 1}


def test_a_block_that_ends_within_a_cycle_hands_it_over():
    found = []
    with profile(schedule=schedule(wait=0, warmup=0, active=5), on_trace_ready=found.append) as profiled:
        steps(profiled, 2)
    assert found == [profiled] and calls(profiled.key_averages())["forward"] == 2


def test_cycles_without_a_pause_are_apart():
    found = []
    with profile(
        schedule=schedule(wait=0, warmup=0, active=1), on_trace_ready=lambda p: found.append(calls(p.events()))
    ) as profiled:
        steps(profiled, 2)
    assert [each.get("forward") for each in found] == [1, 1, None]


def test_times_are_those_of_the_spans_in_microseconds(gpu):
    x = torch.ones(1 << 20, device="cuda")
    with profile(activities=[CUDA]) as profiled, record_function("unseen"):
        for _ in range(3):
            x = x * 2
    (total,) = profiled.key_averages()
    each = gpu.driver.card.kernel_ns(8 << 20, 1 << 20) / 1000
    assert total.count == 3 and total.device_time_total == pytest.approx(3 * each)
    assert total.device_time == pytest.approx(each) and (total.cpu_time_total, total.device_index) == (0, 0)
    assert [event.device_type for event in profiled.events()] == [CUDA] * 3


def test_ranges_are_the_host_s():
    with profile(activities=[CPU]) as profiled:
        for _ in range(2):
            with record_function("wait", "now"):
                torch.ones(1, device="cuda").item()
    (total,) = profiled.key_averages()
    assert (total.key, total.count, total.device_index) == ("wait(now)", 2, -1) and total.cpu_time > 0


def test_braces_in_a_name_are_kept_and_a_function_may_be_decorated():
    @record_function("{braces}")
    def call():
        return 5

    with profile() as profiled:
        assert call() == 5
    assert [each.name for each in profiled.events()] == ["{braces}"]


def test_a_table_is_sorted_and_cut():
    with profile() as profiled:
        x = torch.ones(1 << 20, device="cuda")
        x.add_(1)
        x.mul_(2)
        x.mul_(2)
    lines = profiled.key_averages().table(sort_by="cuda_time_total", row_limit=1).splitlines()
    assert len(lines) == 2 and lines[0].split()[:2] == ["Name", "Calls"] and lines[1].startswith("mul")
    with pytest.raises(errors.ArgumentError, match="sort_by='beauty' is unknown"):
        profiled.key_averages().table(sort_by="beauty")


def test_everything_as_one():
    with profile(activities=[CUDA]) as profiled:
        torch.ones(4, device="cuda").add_(1)
    events = profiled.events()
    total = events.total_average()
    assert total.count == 2 and total.device_time_total == sum(each.device_time_total for each in events)


def test_traces_are_written_into_a_directory(tmp_path):
    with profile(
        schedule=schedule(wait=0, warmup=0, active=1, repeat=2), on_trace_ready=handler(str(tmp_path / "traces"), "me")
    ) as profiled:
        steps(profiled, 3)
    files = sorted((tmp_path / "traces").iterdir())
    assert len(files) == 2 and all(each.name.startswith("me.") for each in files)
    names = {event["name"] for event in json.loads(files[1].read_text())["traceEvents"]}
    assert "ProfilerStep#1" in names and "ProfilerStep#0" not in names


def test_before_something_was_recorded():
    profiled = profile(schedule=schedule(wait=5, warmup=0, active=1))
    with profiled:
        steps(profiled, 1)
    with pytest.raises(errors.ModeError, match="key_averages: nothing has been recorded"):
        profiled.key_averages()


def test_what_the_block_raises_comes_out_and_the_next_profile_works():
    with pytest.raises(KeyError), profile():
        raise KeyError
    with profile() as profiled:
        torch.ones(1, device="cuda")
    assert len(profiled.events()) == 1


def test_a_name_that_ends_in_gz_makes_a_compressed_trace(tmp_path):
    with profile() as profiled:
        torch.ones(4, device="cuda")
    for path in (tmp_path / "t.json.gz", str(tmp_path / "u.json.gz")):
        profiled.export_chrome_trace(path)
        assert json.loads(gzip.decompress(Path(path).read_bytes()))["traceEvents"]
    handler(str(tmp_path / "traces"), "me", use_gzip=True)(profiled)
    (written,) = (tmp_path / "traces").iterdir()
    assert written.name.endswith(".pt.trace.json.gz") and gzip.decompress(written.read_bytes())[:1] == b"{"
    with torch.profile() as plain:
        torch.ones(4, device="cuda")
    plain.export_chrome_trace(tmp_path / "v.json.gz")
    assert json.loads(gzip.decompress((tmp_path / "v.json.gz").read_bytes()))["traceEvents"]


def test_stacks_hold_the_line_that_put_the_work_there():
    def double(x):
        return x * 2

    x = torch.ones(4, device="cuda")
    with profile(with_stack=True) as profiled:
        double(x)
        x = x * 2
        double(x)
    code = double.__code__.co_firstlineno
    stacks = [each.stack for each in profiled.events()]
    lines = [int(stack[0].split(" in ")[0].rpartition(":")[2]) - code for stack in stacks]
    assert stacks[0][1].startswith(f"{__file__}:{code + 5} in test_stacks_hold") and stacks[0][0].endswith(" in double")
    assert lines == [1, 6, 1] and all(__file__ in stack[0] for stack in stacks)
    assert [each.count for each in profiled.key_averages(group_by_stack_n=1)] == [2, 1]
    assert [each.count for each in profiled.key_averages()] == [3]
    with profile() as profiled:
        double(x)
    assert profiled.events()[0].stack == ()


def test_events_of_all_cycles_are_kept_if_asked():
    options = {"schedule": schedule(wait=0, warmup=0, active=1, repeat=3)}
    for keeps, count in ((True, 3), (False, 1)):
        with profile(**options, acc_events=keeps) as profiled:
            steps(profiled, 4)
        assert calls(profiled.key_averages())["forward"] == count


@pytest.mark.parametrize("option", ["with_flops", "with_modules"])
def test_what_is_not_recorded_is_a_warning(option):
    with (
        pytest.warns(UserWarning, match=f"profile: {option}=True has no effect"),
        profile(**{option: True}) as profiled,
    ):
        torch.ones(1, device="cuda")
    assert len(profiled.events()) == 1


def test_options_that_mean_nothing_here(tmp_path):
    with profile(
        experimental_config=None, custom_trace_id_callback=lambda: "id", post_processing_timeout_s=1.0
    ) as profiled:
        torch.ones(1, device="cuda")
    profiled.export_chrome_trace(str(tmp_path / "t.json"), use_python_export=True)
    with pytest.raises(errors.NotSupportedError, match="profile: execution_trace_observer"):
        profile(execution_trace_observer=object())


def test_the_former_switch_for_cuda():
    for wanted, devices in ((True, {CUDA, CPU}), (False, {CPU})):
        with pytest.warns(UserWarning, match="profile: use_cuda is deprecated"):
            assert profile(activities=[CPU, CUDA], use_cuda=wanted).activities == devices


def test_shapes_are_recorded_and_grouped_by():
    with profile(record_shapes=True) as profiled:
        for rows in (3, 3, 5):
            torch.ones(rows, 2, device="cuda") @ torch.ones(2, 4, device="cuda")
    products = [each for each in profiled.key_averages(group_by_input_shape=True) if each.key == "gemm"]
    assert [(each.count, sorted(each.input_shapes)) for each in products] == [
        (2, [(1, 2, 4), (1, 3, 2), (1, 3, 4)]),
        (1, [(1, 2, 4), (1, 5, 2), (1, 5, 4)]),
    ]
    assert "[1, 5, 2]" in profiled.key_averages(group_by_input_shape=True).table()
    with profile() as profiled:
        torch.ones(3, device="cuda")
    assert profiled.events()[0].input_shapes == ()


def test_events_have_the_shapes_too(by_events):
    with profile(record_shapes=True) as profiled:
        torch.ones(3, 2, device="cuda")
    assert profiled.events()[0].input_shapes == ((6,),)


def test_memory_of_ranges_and_kernels():
    with profile(profile_memory=True) as profiled:
        with record_function("grow"):
            x = torch.ones(MIB, device="cuda")
        y = x * 2
        with record_function("stay"):
            y.mul_(2)
    usage = {each.key.split("_")[0]: each.device_memory_usage for each in profiled.key_averages()}
    assert usage["grow"] == 4 * MIB and usage["stay"] == 0
    assert usage["fill"] == 4 * MIB and "Device Mem" in profiled.key_averages().table()
    with profile() as plain:
        torch.ones(MIB, device="cuda")
    assert plain.events()[0].device_memory_usage == 0


def test_memory_held_before_the_profile_does_not_count_and_every_allocation_does():
    kept = torch.ones(MIB, device="cuda")
    with profile(profile_memory=True) as profiled:
        with record_function("grow"):
            x = torch.ones(1000, device="cuda")
            y = torch.ones(2000, device="cuda")
        z = torch.empty(MIB, device="cuda")
        with record_function("empty"):
            more = torch.empty(1000, device="cuda")
        with record_function("return"):
            del z, x
        with record_function("both"):
            x, _ = torch.ones(1000, device="cuda"), torch.ones(MIB, device="cuda").sum()
            del x
    found = {each.key.split("_")[0]: each.device_memory_usage for each in profiled.key_averages()}
    assert (found["grow"], found["empty"]) == (4096 + 8192, 4096)
    assert (found["return"], found["both"]) == (-4 * MIB - 4096, 512)
    assert kept.numel() + y.numel() + more.numel() == MIB + 3000


def test_memory_freed_before_the_profile_does_not_count():
    x = torch.ones(4000, device="cuda")
    del x  # the allocator takes the block back at its next call
    with profile(profile_memory=True) as profiled:
        torch.ones(1000, device="cuda")
    assert profiled.events()[0].device_memory_usage == 4096


def test_stacks_are_exported_for_flame_graphs(tmp_path):
    with profile(with_stack=True) as profiled:
        torch.ones(MIB, device="cuda")
    profiled.export_stacks(tmp_path / "stacks.txt")
    stack, _, microseconds = (tmp_path / "stacks.txt").read_text().strip().rpartition(" ")
    assert int(microseconds) == round(profiled.events()[0].device_time_total)
    assert " in test_stacks_are_exported_for_flame_graphs" in stack.split(";")[-1]
    with pytest.raises(errors.ArgumentError, match="export_stacks: metric='beauty'"):
        profiled.export_stacks(tmp_path / "stacks.txt", "beauty")
    with profile() as plain:
        torch.ones(4, device="cuda")
    with pytest.raises(errors.ArgumentError, match="with_stack=False"):
        plain.export_stacks(tmp_path / "stacks.txt")


def test_the_former_profiler_records_a_whole_block():
    from flambeau.autograd import profiler as former

    with machine(devices=1):
        with former.profile(use_device="cuda") as profile, former.record_function("double"):
            torch.ones(2, device="cuda") * 2
        names = [event.name for event in profile.key_averages()]
        assert names[0] == "double" and len(names) == 3 and profile.total_average().count == 3
        assert "double" in profile.table(sort_by="cpu_time_total")
        with former.profile(enabled=False) as profile, former.emit_nvtx():
            torch.ones(2)
        with pytest.raises(torch.errors.ModeError):
            profile.key_averages()
    assert torch.profiler.kineto_available()
