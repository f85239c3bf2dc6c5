"""Recording of traces, of one rank and of several, and their page."""

from __future__ import annotations

import gzip
import json
import os
import re
import threading
from pathlib import Path

import pytest

import flambeau as torch
from flambeau import errors, testing
from flambeau.testing import machine
from flambeau.tools import trace_writers
from flambeau.tools.recorder import Recorder
from flambeau.tools.trace import (
    NONE,
    Arrow,
    Call,
    HostWait,
    MemoryPoint,
    Range,
    Span,
    Trace,
    join_ranks,
    read_json,
    write_json,
)
from tests.forks import ROOT, Wanted
from tests.tools.traces import made

SOURCES = str(Path(__file__).parents[2] / "src")
MIB = 1 << 20


@pytest.fixture
def two():
    with machine(devices=2) as made:
        yield made


def line(site):
    return int(site.rpartition(":")[2])


# what is recorded


def test_a_hidden_wait_names_its_call_and_the_work_that_it_waited_for(two):
    x = torch.ones(16 * MIB, device="cuda")
    torch.cuda.synchronize()
    with torch.profile() as found:
        y = x * 2
        y[0].item()
        x * 2
        torch.cuda.synchronize()
    hidden, explicit = found.trace.waits
    spans = found.spans
    assert (hidden.name, hidden.is_hidden, line(hidden.site)) == ("Tensor.item", True, line(spans[0].site) + 1)
    assert "reads the values" in hidden.reason and "non_blocking=True" in hidden.hint
    assert spans[hidden.span].name == "copy d2h" and hidden.end_ns == spans[hidden.span].end_ns
    assert not explicit.is_hidden and explicit.name == "synchronize" and spans[explicit.span].name == spans[0].name
    assert explicit.blocked_ns > 0


def test_measured_waits_and_work(two, monkeypatch):
    """Measure by events, as on hardware."""
    monkeypatch.setattr("flambeau.tools.recorder.is_modelled", lambda machine: False)
    x = torch.ones(16 * MIB, device="cuda")
    torch.cuda.synchronize()
    with torch.profile() as found:
        (x * 2)[0].item()
    (hidden,) = found.trace.waits
    copy = found.spans[-1]
    assert hidden.name == "Tensor.item" and hidden.blocked_ns >= copy.end_ns - copy.start_ns
    assert not found.trace.modelled and "(measured)" in found.summary() and hidden.is_hidden
    assert [each.name[:3] for each in found.spans] == ["mul", "cop"]


def test_streams_waiting_for_each_other_are_arrows(two):
    side = torch.cuda.Stream(name="side")
    x = torch.ones(MIB, device="cuda")
    with torch.profile() as found:
        y = x * 2
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            z = y + 1
        y.to("cuda:1")
    (arrow, *_) = found.trace.arrows
    source, target = found.spans[arrow.source], found.spans[arrow.target]
    assert (source.name[:3], target.name[:3], line(arrow.site)) == ("mul", "add", line(source.site) + 1)
    assert target.start_ns >= source.end_ns and z.numel() == MIB
    peer = found.spans[-1]
    assert (peer.lane, peer.peer) == ("link with cuda:1", 1)
    assert found.trace.streams[0, side.cuda_stream] == "stream 'side'"


def test_memory_follows_allocations(two):
    with torch.profile() as found:
        x = torch.ones(MIB, device="cuda")
        y = x * 2
        del x
        z = y * 2
    assert [each.allocated // MIB for each in found.trace.memory] == [4, 8, 4, 8]
    assert all(each.reserved >= each.allocated for each in found.trace.memory) and z.numel() == MIB


def test_work_of_a_graph_belongs_to_its_launch(two):
    x, graph = torch.zeros(4, device="cuda"), torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        x.add_(1)
        x.mul_(2)
    with torch.profile() as found:
        graph.replay()
    assert len(found.trace.calls) == 1 and [each.call for each in found.spans] == [0, 0]
    assert line(found.trace.calls[0].site) > line(found.spans[1].site)


def test_threads_that_follow_each_other_are_kept_apart(two):
    with torch.profile() as found:
        for name in ("first", "second", "first"):
            thread = threading.Thread(target=lambda: torch.ones(4, device="cuda"), name=name)
            thread.start()
            thread.join()
    assert [found.trace.threads[each.thread] for each in found.trace.calls] == ["first", "second", "first"]
    assert sorted(found.trace.threads.values()) == ["first", "second"]


def test_work_of_the_library_s_threads_has_the_line_that_made_it(two):
    net = torch.nn.Linear(4, 4).cuda()
    net.register_forward_hook(lambda *_: None)  # so that each replica has a thread
    model, x = torch.nn.DataParallel(net), torch.ones(8, 4, device="cuda")
    with torch.profile() as found:
        model(x)
    assert {each.thread for each in found.trace.calls} > {threading.get_ident()}
    assert {each.site.rpartition(":")[0] for each in found.spans} == {__file__}
    assert {each.site for each in found.trace.calls} == {each.site for each in found.spans}


def test_machines_follow_each_other_on_one_clock():
    recorder = Recorder()
    recorder.begin()
    for _ in range(2):
        with machine():
            torch.ones(4, device="cuda").tolist()
    recorder.end()
    found = recorder.trace()
    assert [each.name for each in found.spans] == ["fill_float32", "copy d2h"] * 2
    starts = [each.start_ns for each in found.spans]
    assert starts == sorted(starts) and starts[2] >= found.spans[1].end_ns


def test_spans_over_the_limit_are_counted(two):
    recorder = Recorder(limit=3)
    recorder.begin()
    for _ in range(5):
        torch.ones(4, device="cuda")
    recorder.end()
    found = recorder.trace()
    assert (len(found.spans), found.left_out) == (3, 2)
    assert "3 of 5" in found.cap and "3 of 5" in trace_writers.page(found)


def test_a_failed_device_leaves_its_spans(two):
    x = torch.ones(4, device="cuda")
    torch.cuda.synchronize()
    two.driver.faults.fail_launch_at(1)
    found = torch.profile()
    with pytest.raises(errors.AcceleratorError), found:
        (x + x).tolist()
    assert [each.name[:3] for each in found.spans] == ["add", "cop"]


# the page


def data_of(text):
    return json.loads(re.search(r'id="data">(.*?)</script>', text, re.DOTALL)[1])


def test_the_page_holds_everything_and_loads_nothing():
    hostile = made(ranges=[Range("</script><b>&", 1, 0, 50), Range("inner", 1, 10, 20)], note="it was killed")
    text = trace_writers.page(hostile)
    data = data_of(text)
    assert "</script><b>&" in data["names"] and "<b>&" not in text.replace("\\u003cb>&", "")
    assert [each["label"] for each in data["lanes"]] == [
        "ranges", "ranges, depth 1", "calls", "stream 0", "stream 7", "copies in",
    ]  # fmt: skip
    assert data["lanes"][3]["start"] == [10, 290] and data["lanes"][3]["length"] == [90, 100]
    assert data["arrows"] == [[[4, 0], [3, 1], data["arrows"][0][2]]]
    assert not re.search(r'(src|href)="', text) and "default-src 'none'" in text
    assert "it was killed" in text
    assert "Virtual H200; all times are modelled: estimates" in trace_writers.page(made(source="Virtual H200"))


def test_times_of_a_card_that_is_not_calibrated_are_marked():
    for preset, mark in (("h200", "modelled"), ("l4", "modelled, not calibrated")):
        with machine(preset=preset), torch.profile() as found:
            torch.ones(8, device="cuda")
        assert found.trace.times == mark and f"({mark})" in found.summary() and f"({mark} times)" in found.table()
        assert f"all times are {mark}: estimates" in trace_writers.page(found.trace)


def test_a_notebook_shows_the_page_in_a_frame(two):
    with torch.profile() as found:
        torch.ones(4, device="cuda")
    text = found._repr_html_()
    assert text.startswith("<iframe") and 'sandbox="allow-scripts"' in text and "&lt;!doctype html" in text


def test_a_page_that_cannot_be_written_leaves_nothing(tmp_path):
    with pytest.raises(OSError, match="No such file"):
        trace_writers.write_page(made(), tmp_path / "none" / "x.html")
    (tmp_path / "dir").mkdir()
    with pytest.raises(OSError, match="directory"):
        trace_writers.write_page(made(), tmp_path / "dir")
    assert [each.name for each in tmp_path.iterdir()] == ["dir"]


def test_trace_writes_even_if_the_block_raises(two, tmp_path):
    for name in ("t.html", "t.json.gz"):
        with pytest.raises(KeyError), testing.trace(tmp_path / name) as found:
            torch.ones(4, device="cuda")
            raise KeyError
        assert len(found.spans) == 1
    assert "fill_float32" in (tmp_path / "t.html").read_text()
    assert json.loads(gzip.decompress((tmp_path / "t.json.gz").read_bytes()))["otherData"] == {"times": "modelled"}


def test_chrome_events_say_what_was_left_out(tmp_path):
    trace_writers.write_chrome_trace(made(limit=3, left_out=4, note="killed"), tmp_path / "t.json")
    about = json.loads((tmp_path / "t.json").read_text())["otherData"]
    assert about["note"] == "killed" and "3 of 7" in about["cap"]


# several ranks


def of_rank(begin_ns, note=""):
    group = "stream 'collectives of group 0'"
    return Trace(
        spans=[Span(0, 0, "fill", 10, 20, 8, "a.py:1", 0), Span(0, 7, "all_reduce", 20, 50, 64, "a.py:2", 1)],
        calls=[Call(123, "ones", 5, 8, "a.py:1"), Call(123, "all_reduce", 9, 12, "a.py:2")],
        waits=[HostWait(123, "item", 30, 50, "a.py:3", True, "why", "how", 0, 0, 1)],
        arrows=[Arrow(0, 1, "a.py:2")],
        memory=[MemoryPoint(0, 5, 8, 512)],
        threads={123: "MainThread"},
        streams={(0, 0): "the default stream", (0, 7): group},
        modelled=True,
        source="Virtual H200",
        note=note,
        begin_ns=begin_ns,
    )


def test_a_trace_is_read_as_it_was_written(tmp_path):
    trace = of_rank(3, "killed")
    write_json(trace, tmp_path / "0.json")
    assert read_json(tmp_path / "0.json") == trace


def test_ranks_are_joined_on_one_clock(tmp_path):
    found = join_ranks({0: of_rank(100), 1: of_rank(105, "killed"), 2: Trace()})
    assert [(found.device_name(each.device), each.start_ns) for each in found.spans] == [
        ("rank 0 cuda:0", 10), ("rank 1 cuda:0", 15), ("rank 0 cuda:0", 20), ("rank 1 cuda:0", 25),
    ]  # fmt: skip
    assert [found.calls[each.call].start_ns for each in found.spans] == [5, 10, 9, 14]
    assert [each.thread for each in found.calls] == [0, 0, 1, 1]
    assert found.threads == {0: "of rank 0: MainThread", 1: "of rank 1: MainThread"}
    assert [(each.span, each.end_ns) for each in found.waits] == [(2, 50), (3, 55)]
    assert [(each.source, each.target) for each in found.arrows] == [(0, 2), (1, 3)]
    assert found.note == "rank 1: killed" and found.memory[1].time_ns == 10
    text = trace_writers.page(found)
    assert "rank 1 cuda:0" in text and "collectives of group 0" in text
    trace_writers.write_chrome_trace(found, tmp_path / "t.json")
    events = json.loads((tmp_path / "t.json").read_text())["traceEvents"]
    assert sum(each.get("name") == "all_reduce" and each["args"].get("bytes") == 64 for each in events) == 2


def test_no_ranks_make_an_empty_trace():
    found = join_ranks({})
    assert found.spans == [] and found.devices == [] and found.end_ns == 0
    assert Span(0, 0, "fill", 0, 1, 0, "").call == NONE


PROGRAM = """
import os
import flambeau as torch
from flambeau import distributed as dist
dist.init_process_group()
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
x = torch.ones(1000, device="cuda")
dist.all_reduce(x)
assert x[0].item() == 2
if dist.get_rank() == 1:
    raise SystemExit(3)
"""


@pytest.mark.full
def test_the_command_shows_all_ranks(programs, tmp_path):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([SOURCES, str(ROOT)])}
    options = ["--gpus", "virtual:2", "--nproc", "2", "--straggler", "1:2", "--chrome", "t.json"]
    done = programs.run(Wanted(["-m", "flambeau", "trace", *options, "-c", PROGRAM], str(tmp_path), environment))
    assert done.returncode == 3, done.stderr
    assert "rank 0 cuda:0" in done.stdout and "rank 1 cuda:1" in done.stdout
    assert "rank 1: the program ended with exit status 3" in (tmp_path / "trace.html").read_text()
    events = json.loads((tmp_path / "t.json").read_text())["traceEvents"]
    ends = {
        each["ts"] + each["dur"] for each in events if each.get("name") == "all_reduce" and each.get("cat") == "kernel"
    }
    assert len(ends) == 1  # the same for both ranks
