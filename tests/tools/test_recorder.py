"""Profiles of work that CUPTI measures, with a stand-in for its records; semantics/hardware has CUPTI itself."""

from __future__ import annotations

import json
import threading

import pytest

import flambeau as torch
from flambeau import errors
from flambeau.driver.api import Activity
from flambeau.driver.virtual.driver import VirtualDriver
from flambeau.testing import machine
from flambeau.tools import trace_writers
from flambeau.tools.recorder import Recorder, assigned
from flambeau.tools.trace import join_ranks, read_json, write_json
from tests.tools.refusals import refuse_a_launch

MIB = 1 << 20
ADD = "add_float32_float32_float32"
STEP_NS = 1000  # from one piece of work to the next
SHAPE = {"grid": (8, 1, 1), "block": (256, 1, 1), "registers": 32, "shared_nbytes": 1024}


class Scripted:
    """Records of the calls that a program makes, in their order.

    script: what each call put on its stream: names of kernels, `copy ...` and `fill`, or more fields of an Activity.
    """

    name = "CUPTI 130001"

    def __init__(self, driver, script, others=(), lost=0):
        self.script, self.others, self.lost = script, others, lost
        self.began_ns = driver.host_ns()
        self.numbers, self.open, self.stopped = [], [], []

    def begin_call(self, number):
        self.open.append(threading.get_ident())
        self.numbers.append(number)

    def end_call(self):
        assert self.open.pop() == threading.get_ident()

    def stop(self, collect):
        assert not (self.open and collect)
        self.stopped.append(collect)
        numbered = [(number, each) for number, made in zip(self.numbers, self.script) for each in made]
        numbered += [(0, each) for each in self.others]
        found = [self.activity(number, each, at) for at, (number, each) in enumerate(numbered, 1)]
        return (found[::-1], self.lost) if collect else ([], 0)  # CUPTI's records have no order

    def activity(self, number, made, at):
        fields = {"name": made} if isinstance(made, str) else dict(made)
        start_ns = self.began_ns + at * STEP_NS
        is_kernel = fields["name"].partition(" ")[0] not in ("copy", "fill")
        base = {"device": 0, "start_ns": start_ns, "end_ns": start_ns + STEP_NS // 2, "context": 1, "stream": 7}
        return Activity(**{"call": number, **base, **(SHAPE if is_kernel else {"nbytes": 4}), **fields})


@pytest.fixture
def scripted(monkeypatch):
    """Make virtual GPUs measured by a script; returns the list of measurements that were begun."""
    made = []
    monkeypatch.setattr("flambeau.tools.recorder.is_modelled", lambda machine: False)

    def use(script, **options):
        def measure(driver):
            made.append(Scripted(driver, script, **options))
            return made[-1]

        monkeypatch.setattr(VirtualDriver, "measure", measure)
        return made

    return use


def line(span):
    return int(span.site.rpartition(":")[2])


def test_each_call_has_the_pieces_that_it_put_on_its_stream(scripted):
    splits = [{"name": "fill", "nbytes": 64}, "nvjet_sss", "void splitKreduce<float>()"]
    scripted(
        [[ADD], [{"name": "copy h2d", "nbytes": 4 * MIB, "stream": 13}], splits, [{"name": "fill", "nbytes": 512}]]
    )
    with machine():
        x, host = torch.ones(MIB, device="cuda"), torch.ones(MIB).pin_memory()
        side = torch.cuda.Stream()
        torch.cuda.synchronize()
        with torch.profile() as found:
            y = x + x
            with torch.cuda.stream(side):
                z = host.to("cuda", non_blocking=True)
            y[:4096].view(64, 64) @ y[:4096].view(64, 64)
            torch.cuda.current_stream().fill(y.data_ptr(), 0, 512)
    first = line(found.spans[0])
    assert [(each.name, each.stream, each.nbytes, line(each) - first) for each in found.spans] == [
        (ADD, 0, 12 * MIB, 0),
        ("copy h2d", side.cuda_stream, 4 * MIB, 2),
        ("fill", 0, 64, 3),
        ("nvjet_sss", 0, 3 * 16384, 3),
        ("void splitKreduce<float>()", 0, 0, 3),
        ("fill", 0, 512, 4),
    ]
    assert [each.launch.operation for each in found.spans] == ["", "", "gemm", "gemm", "gemm", ""]
    assert [each.end_ns - each.start_ns for each in found.spans] == [STEP_NS // 2] * 6 and z.numel() == MIB
    assert [each.start_ns for each in found.spans] == [STEP_NS * at for at in range(1, 7)]
    add = found.spans[0].launch
    assert (add.grid, add.block, add.registers, add.shared_nbytes) == ((8, 1, 1), (256, 1, 1), 32, 1024)
    assert found.trace.measured_by == "CUPTI 130001" and not found.modelled and found.trace.times == "measured"
    assert [found.trace.calls[each.call].name for each in found.spans][2:5] == ["matmul"] * 3


def test_the_kernels_of_a_graph_belong_to_its_launches(scripted):
    graph = [{"name": name, "graph": 9} for name in (ADD, "mul_float32")]
    made = scripted([graph, graph])
    with machine():
        x, captured = torch.zeros(4, device="cuda"), torch.cuda.CUDAGraph()
        with torch.profile() as found:
            with torch.cuda.graph(captured):
                y = x + x
                y.mul_(2)
            captured.replay()
            captured.replay()
    assert [(each.name, each.launch.operation, each.launch.graph) for each in found.spans] == [
        (ADD, "graph", 9), ("mul_float32", "graph", 9),
    ] * 2  # fmt: skip
    assert [each.call for each in found.spans] == [0, 0, 1, 1]
    assert len(made[0].numbers) == len(set(made[0].numbers)) == 2  # what was captured has not run


def test_graphs_with_wrong_numbers_are_assigned_by_the_order_of_their_nodes():
    def ran(call, graph, node, start_ns=0):
        return Activity(call, 0, "k", start_ns, start_ns, 1, 7, graph, node)

    own = ran(1, 0, 0)
    right = [ran(5, 9, 1), own, ran(5, 9, 2), ran(6, 9, 1), ran(6, 9, 2)]
    assert assigned(right, [5, 6]) == right
    for call in (0, 1, 5):  # of no call, of another call, and all of the first launch
        wrong = [each._replace(call=call) if each.graph else each for each in right]
        assert assigned(wrong, [5, 6]) == right
        assert assigned(wrong, [5, 6, 7]) == wrong  # one of them ran nothing
    two = [ran(0, 9, 1), ran(0, 8, 1), ran(0, 9, 2), ran(0, 9, 1), ran(0, 9, 2)]  # two graphs, side by side
    assert [each.call for each in assigned(two, [5, 6, 7])] == [5, 6, 5, 7, 7]


def test_shapes_and_waits_between_streams_are_those_of_the_calls(scripted):
    scripted([["nvjet", "reduce"], [{"name": ADD, "stream": 13}]])
    with machine():
        x, side = torch.ones(64, 64, device="cuda"), torch.cuda.Stream()
        torch.cuda.synchronize()
        with torch.profiler.profile(record_shapes=True) as found:
            y = x @ x
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                y + y
        events = found.events()
        (arrow,) = found._found[-1].trace.arrows
        spans = found._found[-1].trace.spans
    shapes = [(each.name, each.input_shapes[-1]) for each in events]
    assert shapes == [("nvjet", (1, 64, 64)), ("reduce", (1, 64, 64)), (ADD, (4096,))]
    assert (spans[arrow.source].name, spans[arrow.target].name) == ("reduce", ADD)  # the call's last piece, then


def test_work_of_other_libraries_is_there_without_a_call(scripted):
    others = ["torch_kernel", {"name": "elsewhere", "stream": 20}, {"name": "too early", "start_ns": -5, "end_ns": 1}]
    others.append({"name": "of a call that was never closed", "call": 123456789})
    scripted([[ADD]], others=others)
    with machine():
        x = torch.ones(4, device="cuda")
        with torch.profile() as found:
            x + x
    assert [(each.name, each.stream, each.call) for each in found.spans] == [
        (ADD, 0, 0), ("torch_kernel", 0, -1), ("elsewhere", -20, -1), ("of a call that was never closed", 0, -1),
    ]  # fmt: skip
    assert found.trace.streams[0, -20] == "stream 20 of another library"
    assert "torch_kernel" in found.table() and "elsewhere" in trace_writers.page(found.trace)


def test_a_failed_call_ends_and_has_no_span(scripted):
    scripted([["refused"], [ADD]])
    with machine() as made:
        x = torch.ones(4, device="cuda")
        with torch.profile() as found:
            refuse_a_launch(made.driver)
            with pytest.raises(errors.AcceleratorError, match="refused"):
                x + x
            x + x
    assert [(each.name, each.call) for each in found.spans if each.name == ADD] == [(ADD, 0)]


def test_a_lost_device_ends_the_measurement_without_results(scripted):
    made = scripted([[ADD]])
    with machine() as gpus:
        x = torch.ones(4, device="cuda")
        torch.cuda.synchronize()
        gpus.driver.faults.fail_launch_at(1)
        found = torch.profile()
        with pytest.raises(errors.AcceleratorError, match="failed on device 0"), found:
            (x + x).tolist()
    assert made[0].stopped == [False] and found.spans == []


def test_the_limit_holds_for_pieces_and_lost_records_are_said(scripted):
    scripted([["nvjet", "reduce"], [ADD]], lost=3)
    with machine() as made:
        x = torch.ones(64, 64, device="cuda")
        recorder = Recorder(limit=2)
        recorder.begin(made)
        y = x @ x
        y + y
        recorder.end()
        trace = recorder.trace()
    assert [each.name for each in trace.spans] == ["nvjet", ADD] and (trace.left_out, trace.lost) == (1, 3)
    assert trace.cap.startswith("only the first 2 of 3 ") and "3 records were lost by CUPTI 130001" in trace.cap
    assert "3 records were lost" in trace_writers.page(trace)


def test_the_trace_and_the_page_say_what_was_measured(scripted, tmp_path):
    scripted([["nvjet"], [ADD]])
    with machine():
        x = torch.ones(64, 64, device="cuda")
        with torch.profile() as found:
            y = x @ x
            y + y
    found.export_chrome_trace(tmp_path / "trace.json")
    document = json.loads((tmp_path / "trace.json").read_text())
    assert document["otherData"] == {"times": "measured", "measured by": "CUPTI 130001"}
    product, add = (each["args"] for each in document["traceEvents"] if each.get("cat") == "kernel")
    assert product["operation"] == "gemm" and "operation" not in add and "graph" not in add
    assert (add["grid"], add["block"]) == ([8, 1, 1], [256, 1, 1])
    assert (add["registers per thread"], add["shared memory"], add["context"], add["CUPTI stream"]) == (32, 1024, 1, 7)
    page = trace_writers.page(found.trace)
    assert "all times are measured by CUPTI 130001" in page and "registers per thread 32" in page
    write_json(found.trace, tmp_path / "0.json")
    joined = join_ranks({0: read_json(tmp_path / "0.json")})
    assert joined.measured_by == "CUPTI 130001" and joined.spans[0].launch == found.spans[0].launch
    assert list(trace_writers.events_of(joined)) != []


def test_a_kernel_keeps_the_name_that_the_program_gave_it(scripted):
    scripted([["scale(float*, int)"]])
    with machine():
        x = torch.ones(4, device="cuda")
        with torch.profile() as found:
            x + x
    assert [(each.name, each.launch.operation) for each in found.spans] == [(ADD, "")]


def test_without_cupti_events_measure(monkeypatch):
    monkeypatch.setattr("flambeau.tools.recorder.is_modelled", lambda machine: False)
    with machine():
        x = torch.ones(4, device="cuda")
        with torch.profile() as found:
            x + x
    assert [each.name for each in found.spans] == [ADD] and found.spans[0].launch is None
    assert found.trace.measured_by == "events" and "all times are measured by events" in trace_writers.page(found.trace)
