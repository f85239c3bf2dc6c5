"""torch.profiler: which steps are recorded, what an event holds, and what is handed over when."""

import gzip
import json
from pathlib import Path

import pytest

import flambeau as torch
from flambeau import errors
from flambeau.profiler import ProfilerAction, ProfilerActivity, profile, record_function, schedule
from flambeau.profiler import tensorboard_trace_handler as handler
from flambeau.testing import machine

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
    each = gpu.driver._engine.preset.kernel_ns(8 << 20, 1 << 20) / 1000
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
    lines = [int(stack[0].rpartition(":")[2]) - code for stack in stacks]
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


@pytest.mark.parametrize("option", ["record_shapes", "profile_memory", "with_flops", "with_modules"])
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
