"""`flambeau check`, `trace` and `memory` on an NVIDIA GPU: a racy program, a right one and a training; and CUPTI."""

import itertools
import json
import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

from flambeau.driver.nvidia import cupti
from flambeau.tools import memory_snapshot

ROOT = Path(__file__).parents[3]
RACES = "examples/races"
ONE_GPU = sorted(path.stem for path in (ROOT / RACES).glob("*.py") if "cuda:1" not in path.read_text())
TRIES = 5
TRAINING = ("examples/digits.py", "--epochs", "1", "--batch-size", "256")
GPUS = os.environ.get("FLAMBEAU_GPUS", "virtual:1")  # these tests also pass where virtual GPUs are asked for
pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(os.environ.get("FLAMBEAU_GPUS") is None, reason="FLAMBEAU_GPUS is not set"),
]


def flambeau(verb, *arguments):
    """Run a program with a command of flambeau's on the GPUs; return the process."""
    return module("flambeau", verb, "--gpus", GPUS, *arguments)


def module(*arguments):
    """Run a module; return the process.  Retry if other tests have taken the GPU's memory meanwhile."""
    command = [sys.executable, "-m", *map(str, arguments)]
    for _ in range(TRIES):
        ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=120)
        if "out of memory" not in ran.stderr.lower():
            break
    return ran


def checked(*program):
    """The exit status and the report of `flambeau check --json`."""
    ran = flambeau("check", "--json", *program)
    assert ran.stdout, ran.stderr[-4000:]
    return ran.returncode, json.loads(ran.stdout)


@pytest.mark.parametrize("name", [name for name in ONE_GPU if name != "no_race"])
def test_a_race_is_reported_with_both_lines_and_an_edit(name):
    status, report = checked(f"{RACES}/{name}.py")
    assert status == 1 and report["status"] == 0 and report["notes"] == []
    assert report["verified"] and report["edits"]
    for race in report["races"]:
        assert f"{name}.py:" in race["older"]["site"] and f"{name}.py:" in race["newer"]["site"]
        assert race["low"] < race["high"]


@pytest.mark.parametrize("name", ONE_GPU)
def test_a_right_program_has_no_race(name):
    status, report = checked(f"{RACES}/{name}.py", "--fixed")
    assert (status, report["races"], report["mistakes"], report["notes"]) == (0, [], [], [])


def test_a_training_has_no_race():
    status, report = checked(*TRAINING)
    assert (status, report["races"], report["mistakes"], report["notes"]) == (0, [], [], [])
    assert report["replayed"] > 100


def test_a_graph_and_user_streams_have_no_race(tmp_path):
    program = tmp_path / "graph.py"
    program.write_text(
        "import flambeau as torch\n"
        "model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 8)).cuda()\n"
        "x, side = torch.ones(32, 64, device='cuda'), torch.cuda.Stream()\n"
        "side.wait_stream(torch.cuda.current_stream())\n"
        "with torch.cuda.stream(side):\n"
        "    model(x)\n"
        "torch.cuda.current_stream().wait_stream(side)\n"
        "graph = torch.cuda.CUDAGraph()\n"
        "with torch.cuda.graph(graph):\n"
        "    y = model(x)\n"
        "for step in range(3):\n"
        "    x.fill_(step)\n"
        "    graph.replay()\n"
        "print(y.sum().item())\n"
    )
    status, report = checked(program)
    assert (status, report["races"], report["notes"]) == (0, [], [])


def test_a_trace_has_measured_kernels_on_their_streams(tmp_path):
    program, page, events = tmp_path / "copies.py", tmp_path / "page.html", tmp_path / "events.json"
    program.write_text(
        "import flambeau as torch\n"
        "side = torch.cuda.Stream(name='side')\n"
        "x = torch.ones(1 << 20, device='cuda')\n"
        "side.wait_stream(torch.cuda.current_stream())\n"
        "with torch.cuda.stream(side):\n"
        "    y = x * 2\n"
        "    host = y.to('cpu', non_blocking=True)\n"
        "side.synchronize()\n"
        "print(host.sum().item())\n"
    )
    ran = flambeau("trace", "-o", page, "--chrome", events, program)
    assert ran.returncode == 0, ran.stderr[-4000:]
    assert "copies.py:" in page.read_text()
    found = json.loads(events.read_text())
    assert found["otherData"]["times"] == ("measured" if GPUS == "nvidia" else "modelled")
    names = {(each["pid"], each["tid"]): each["args"]["name"] for each in found["traceEvents"] if each["ph"] == "M"}
    spans = [each for each in found["traceEvents"] if each["ph"] == "X"]
    on_device = {(each["name"].partition("_")[0], names[each["pid"], each["tid"]]) for each in spans if each["pid"]}
    assert {("fill", "the default stream"), ("mul", "stream 'side'"), ("copy d2h", "stream 'side'")} <= on_device
    assert all(each["dur"] > 0 for each in spans if each["cat"] in ("kernel", "copy"))
    lines = {each["args"]["line"].rpartition(":")[2] for each in spans if each["cat"] in ("kernel", "copy")}
    assert lines >= {"3", "6", "7"}
    assert {"call", "blocked"} <= {each["cat"] for each in spans if each["pid"] == 0}


def test_the_trace_of_a_training_has_kernels_memory_and_waits(tmp_path):
    page, events = tmp_path / "page.html", tmp_path / "events.json"
    ran = flambeau("trace", "-o", page, "--chrome", events, *TRAINING)
    assert ran.returncode == 0, ran.stderr[-4000:]
    found = json.loads(events.read_text())["traceEvents"]
    assert sum(each["ph"] == "X" and each["cat"] == "kernel" for each in found) > 100
    assert any(each["ph"] == "C" and each["args"]["allocated"] > 0 for each in found)
    assert "busy" in ran.stdout and "worst line" in ran.stdout


def test_the_snapshot_of_a_training_is_explained(tmp_path):
    file, page = tmp_path / "snapshot.pickle", tmp_path / "memory.html"
    ran = flambeau("memory", "--save", file, "--html", page, *TRAINING)
    assert ran.returncode == 0, ran.stderr[-4000:]
    assert "GPU 0 at its peak" in ran.stdout and "digits.py:" in ran.stdout and page.stat().st_size > 1000
    segments = pickle.loads(file.read_bytes())["segments"]
    for segment in segments:
        sizes = dict.fromkeys(("active_allocated", "active_awaiting_free", "inactive"), 0)
        for block in segment["blocks"]:
            sizes[block["state"]] += block["size"]
        assert sum(sizes.values()) == segment["total_size"]
        assert sizes["active_allocated"] == segment["allocated_size"]
    found = memory_snapshot.read(str(file))
    device = found.devices[0]
    assert not memory_snapshot.before_events(device).blocks  # the history is whole: nothing was there before it
    replayed = memory_snapshot.state_at(device, len(device.events)).segments()
    places = [[(each.address, each.nbytes) for each in segments] for segments in (replayed, device.segments)]
    assert places[0] == places[1]
    again = module("flambeau", "memory", "--replay", "expandable_segments:True", file)
    assert again.returncode == 0 and "as recorded" in again.stdout


MEASURED = """
import json
import logging
import time

import flambeau as torch

lines = []


class Lines(logging.Handler):
    def emit(self, record):
        lines.append(record.getMessage())


logging.getLogger("flambeau").addHandler(Lines())
x, wide = torch.ones(1 << 20, device="cuda"), torch.rand(1024, 1024, device="cuda")
host, side, graph = torch.ones(1 << 20).pin_memory(), torch.cuda.Stream(), torch.cuda.CUDAGraph()
y, z = x + x, torch.empty_like(x)
wide @ wide
with torch.cuda.graph(graph):
    torch.add(x, 1, out=z)
    z.mul_(2)
graph.replay()
torch.cuda.synchronize()
begin = time.perf_counter_ns()
with torch.profile() as found:
    for _ in range(5):
        y = x + x
    with torch.cuda.stream(side):
        copied = host.to("cuda", non_blocking=True)
    wide @ wide
    graph.replay()
    graph.replay()
wall_ns = time.perf_counter_ns() - begin
with torch.profile() as again:
    graph.replay()
    graph.replay()
with torch.profile() as outer, torch.profile() as inner:
    x + x
print(json.dumps({
    "spans": [(*each[:6], each.call, each.launch and each.launch._asdict()) for each in found.spans],
    "side": side.cuda_stream, "wall": wall_ns, "by": found.trace.measured_by, "lost": found.trace.lost,
    "later": [each.trace.measured_by for each in (outer, inner)], "both": [len(each.spans) for each in (outer, inner)],
    "lines": lines, "again": [(each.name.partition("_")[0], each.call) for each in again.spans],
}))
"""


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """Measurements of a program: kernels, a concurrent copy, a product, two replays of a graph; and nested profiles."""
    program = tmp_path_factory.mktemp("measured") / "program.py"
    program.write_text(MEASURED)
    ran = flambeau("run", program)
    assert ran.returncode == 0, ran.stderr[-4000:]
    return json.loads(ran.stdout)


def test_measured_work_lies_in_the_profile_in_the_order_of_the_launches(measured):
    streams = {}
    for device, stream, name, start_ns, end_ns, _, call, _ in measured["spans"]:
        assert device == 0 and 0 <= start_ns < end_ns, name
        assert GPUS != "nvidia" or end_ns <= measured["wall"], name
        streams.setdefault(stream, []).append((start_ns, end_ns, call))
    assert set(streams) == {0, measured["side"]} and measured["lost"] == 0
    for spans in streams.values():
        assert [call for *_, call in spans] == sorted(call for *_, call in spans)
        assert all(first[1] <= second[0] for first, second in itertools.pairwise(spans))
        assert GPUS != "nvidia" or sum(end - start for start, end, _ in spans) <= measured["wall"]


def test_measured_work_has_its_names(measured):
    named = [(name, launch and launch["operation"]) for _, _, name, _, _, _, _, launch in measured["spans"]]
    names = [name.partition("_")[0] for name, operation in named if operation != "gemm" and name != "gemm"]
    replays = ["graph"] * 2 if measured["by"] == "events" else ["add", "mul"] * 2
    assert sorted(names) == sorted(["add"] * 5 + ["copy h2d"] + replays)
    assert any("gemm" in each for each in named)
    assert measured["by"] == "events" or measured["again"] == [["add", 0], ["mul", 0], ["add", 1], ["mul", 1]]


def test_cupti_measures_on_hardware(measured):
    if GPUS != "nvidia" or cupti.load() is None:
        assert not measured["by"].startswith("CUPTI")
        return
    assert measured["by"].startswith("CUPTI ") and measured["later"] == [measured["by"], "events"]
    assert measured["both"] == [1, 1] and "another profiler measures this process" in measured["lines"][0]
    replays = {}
    for _, _, name, _, _, _, call, launch in measured["spans"]:
        assert launch["context"] > 0 and launch["stream"] > 0, name
        if not name.startswith("copy"):
            assert min(launch["grid"]) > 0 and min(launch["block"]) > 0 and launch["registers"] > 0, name
        if launch["operation"] == "graph":
            assert launch["graph"] > 0
            replays.setdefault(call, []).append(name.partition("_")[0])
        else:
            assert launch["graph"] == 0 and call != -1, name
    assert list(replays.values()) == [["add", "mul"]] * 2
