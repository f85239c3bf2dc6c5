"""Traces of several ranks on one page."""

import json
import os

import pytest

from flambeau.tools import trace_writers
from flambeau.tools.trace import (
    NONE,
    Arrow,
    Call,
    HostWait,
    MemoryPoint,
    Span,
    Trace,
    join_ranks,
    read_json,
    write_json,
)
from tests.forks import ROOT, SOURCES, Wanted


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
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(SOURCES), str(ROOT)])}
    options = ["--gpus", "virtual:2", "--nproc", "2", "--straggler", "1:2", "--chrome", "t.json"]
    done = programs.run(Wanted(["-m", "flambeau", "trace", *options, "-c", PROGRAM], str(tmp_path), environment))
    assert done.returncode == 3, done.stderr
    assert "rank 0 cuda:0" in done.stdout and "rank 1 cuda:1" in done.stdout
    assert "rank 1: the program ended with exit status 3" in (tmp_path / "trace.html").read_text()
    events = json.loads((tmp_path / "t.json").read_text())["traceEvents"]
    ends = {
        each["ts"] + each["dur"]
        for each in events
        if each.get("name") == "all_reduce" and each.get("cat") == "kernel"
    }
    assert len(ends) == 1  # the same for both ranks
