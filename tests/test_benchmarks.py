"""Every row of the benchmarks works, and its check too: in small, on a virtual GPU, and against PyTorch's CPU if it is
there.  Nothing here depends on a time.
"""

import ctypes
import gc
import json
import math
import shutil
import subprocess
import sys
import weakref
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

import flambeau
from benchmarks import (
    __main__,
    chart,
    check,
    collectives,
    counts,
    cpu_rows,
    device_rows,
    examples,
    graph_rows,
    host_rows,
    image_rows,
    loading,
    models,
    networks,
    prefetch,
    product_rows,
    race_tools,
    raw,
    recurrent_rows,
    report,
    scaling,
    sharing_rows,
    simplicity,
    startup,
    times,
)
from benchmarks.goals import at_least, at_most, judged
from flambeau.driver.nvidia import compile as compiling
from flambeau.testing import machine

TINY = times.Sizes(
    elements=1 << 12, side=1 << 6, row=64, square=24, small_square=16, batch=2, batch_square=8, heads=(1, 2, 16, 8),
    classes=(8, 16), parameters=(2, 100), copied_bytes=1 << 10,
    sorted=1 << 10, chosen=8, images=(2, 4, 6, 8), recurrent=6,
)  # fmt: skip
KINDS = host_rows, graph_rows, sharing_rows, device_rows, image_rows, product_rows, recurrent_rows
ROWS = {f"{row.what}, {row.unit}": row for kind in KINDS for row in kind.ROWS}
LOOSE = {"randn, 1 Gi, TB/s": 0.2}  # of few samples
EVENTFUL = ("event.record", "with stream(s)", "current_stream", "wait_stream")


def spread(median):
    return {"p10": median * 0.9, "median": median, "p90": median * 1.1, "rounds": 3}


@pytest.fixture(scope="module", autouse=True)
def virtual():
    with machine(devices=2):
        yield


@pytest.mark.parametrize("name", ROWS)
def test_every_row_is_right_in_small(name):
    row = ROWS[name]
    try:
        work = row.make(flambeau, TINY)
    except times.Missing:
        pytest.skip("flambeau does not have it")
    times.checked(row._replace(tolerance=LOOSE.get(name, row.tolerance)), work)
    assert row.burst or work.amount > 0
    assert row.burst <= times.BURST
    work.close()


@pytest.mark.parametrize("name", ROWS)
def test_every_check_notices_a_wrong_result(name, monkeypatch):
    """Whatever is read back is spoilt by noise."""
    row = ROWS[name]
    if row.what in EVENTFUL or row.what.startswith("empty"):
        pytest.skip("computes nothing")
    try:
        work = row.make(flambeau, TINY)
    except times.Missing:
        pytest.skip("flambeau does not have it")
    work.call()
    genuine, noise = check.host, np.random.default_rng(1)

    def spoilt(tensor):
        values = genuine(tensor)
        return values + noise.standard_normal(values.shape)

    monkeypatch.setattr(check, "host", spoilt)
    monkeypatch.setattr(check, "same", lambda one, other: math.inf)
    assert work.error() > row.tolerance
    work.close()


def test_samples_meet_every_lane_and_stay_inside():
    for count in (1, 2, 63, 64, 1000, 1 << 12):
        for _ in range(20):
            chosen = range(count)[check.places(count, 16)]
            assert 1 <= len(chosen) <= max(count, 33)
    assert {at % 4 for at in range(1 << 12)[check.places(1 << 12, 64)]} == {0, 1, 2, 3}


def test_goals():
    figures = {"flambeau": spread(5.0), "torch": spread(10.0), "raw": spread(3.0)}
    assert at_most(0.7).distance(figures) == pytest.approx(5 / 7)
    assert at_most(1, "raw", plus=1.5).distance(figures) == pytest.approx(5 / 4.5)
    assert at_least(0.99).distance(figures) == pytest.approx(9.9 / 5)
    assert at_least(4.0, "").distance(figures) == pytest.approx(0.8)
    found = judged((at_most(0.7), at_most(1, "raw", plus=1.5)), figures, "µs")
    assert found["verdict"] == "missed" and found["ratio"] == 0.5 and found["ratio to"] == "PyTorch"
    assert found["target"] == "≤ 0.7 × PyTorch and ≤ raw driver + 1.5 µs"
    of_launches = at_most(2, "raw", plus=1)
    assert of_launches.distance(figures) == pytest.approx(5 / 7)
    assert of_launches.text("µs") == "≤ 2 × raw driver + 1 µs"
    alone = judged((at_most(0.7),), {"flambeau": spread(5.0)}, "µs")
    assert "verdict" not in alone and "ratio" not in alone


def test_the_launches_that_a_goal_allows_are_those_of_the_row():
    row = ROWS["(x*y).relu().sum() and backward, µs"]
    assert counts.of(row.make(flambeau, TINY).call)["launch"] == host_rows.BACKWARD_LAUNCHES <= 7
    assert row.goals[0] == at_most(host_rows.BACKWARD_LAUNCHES, "raw", plus=8) and row.raw is raw.launch


def test_a_failing_row_says_so_and_the_next_is_measured():
    def wrong(library, sizes):
        return times.Work(lambda: None, lambda: 1.0)

    def missing(library, sizes):
        raise times.Missing("no such thing")

    rows = [times.Row("wrong", "µs", wrong, burst=1), times.Row("missing", "µs", missing), ROWS["add, µs"]]
    failed, absent, fine = times.measure(rows, "", 2, TINY)
    assert failed["error"] == "AssertionError: flambeau is off by 1.00e+00, more than 0e+00"
    assert absent["missing"] == "no such thing"
    assert fine["flambeau"]["rounds"] == 2 and fine["flambeau error"] <= 1e-5


def test_a_device_row_is_timed_by_events():
    (found,) = times.measure([ROWS["add, 1 Gi, TB/s"]], "", 2, TINY)
    assert "error" not in found and found["flambeau"]["median"] > 0


def test_sides_alternate():
    order = []

    def take(name):
        return lambda: order.append(name) or float(len(order))

    found = times.alternated({"flambeau": take("flambeau"), "torch": take("torch")}, 2)
    assert order == ["flambeau", "torch"] * 3
    assert found["flambeau"]["p10"] == 3.0 and found["torch"]["p90"] == 6.0


@pytest.fixture
def run():
    first = {"what": "add", "unit": "µs", "seconds": 0.1, "target": "", "flambeau": spread(5), "torch": spread(10)}
    rows = [
        first | judged((at_most(0.7),), first, "µs"),
        {"what": "<slow>", "unit": "TB/s", "seconds": 0.1, "target": "", "flambeau": spread(1), "torch": spread(4)},
        {"what": "broken", "unit": "TB/s", "seconds": 0.1, "target": "", "error": "ValueError: it is"},
    ]
    rows[1] |= judged((at_least(0.99),), rows[1], "TB/s")
    return {"machine": report.machine() | {"gpus": ["Card"]}, "counts": [], "rows": rows}


def test_the_table_has_failures_first_and_then_the_furthest(run):
    text = report.table(run)
    assert text.index("error: ValueError: it is") < text.index("<slow>") < text.index("add ")
    assert "1 met, 1 missed, 1 error; 0 s" in text


def test_a_kept_run_is_shown_and_drawn_again(run, tmp_path, capsys):
    file, picture = tmp_path / "run.json", tmp_path / "run.svg"
    file.write_text(json.dumps(run))
    assert __main__.main(["report", str(file)]) == 0
    assert capsys.readouterr().out == report.table(run) + "\n"
    assert __main__.main(["chart", str(file), str(picture)]) == 0
    drawn = ElementTree.parse(picture)
    texts = [each.text for each in drawn.iter() if each.tag.endswith("text")]
    assert {"&lt;slow&gt;", "<slow>"} & set(texts) and "2.00" in texts and "0.25" in texts
    assert chart.speeds(run) == [("add, host time", 2.0), ("<slow>", 0.25)]
    run["rows"][0]["whole"] = True
    assert chart.speeds(run)[0] == ("add", 2.0)


def test_virtual_gpus_give_counts_alone(tmp_path, capsys):
    file = tmp_path / "deep" / "run.json"
    assert __main__.main(["--only", "a + b", "--json", str(file)]) == 0
    assert "1 launch" in capsys.readouterr().out
    kept = json.loads(file.read_text())
    assert kept["rows"] == [] and kept["counts"]


def test_the_loop_in_c_launches_as_often_as_it_is_told():
    made = raw.loop()
    if made is None:
        pytest.skip("no C compiler")
    loop = made.launches
    seen = []
    kind = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, *[ctypes.c_uint] * 7, *[ctypes.c_void_p] * 3)
    launch = kind(lambda *given: seen.append(given) or (700 if len(seen) == 5 else 0))
    assert loop(ctypes.cast(launch, ctypes.c_void_p), 64, None, 3) == 0
    assert seen == [(64, 1, 1, 1, 32, 1, 1, 0, None, None, None)] * 3
    assert loop(ctypes.cast(launch, ctypes.c_void_p), 64, None, 10) == 700 and len(seen) == 5


STUB = """
int launched = 0;
unsigned long copied = 0;
int cuModuleLoadData(void **module, const char *cubin) { *module = (void *)8; return cubin[0] != 'c'; }
int cuModuleGetFunction(void **kernel, void *module, const char *name) {
    *kernel = (void *)64;
    return module != (void *)8;
}
int cuLaunchKernel(void *kernel, unsigned x, unsigned y, unsigned z, unsigned a, unsigned b, unsigned c,
                   unsigned shared, void *stream, void **given, void **extra) {
    launched += x * y * z == 1;
    return kernel != (void *)64;
}
int replayed = 0, waited = 0;
int cuGraphLaunch(void *graph, void *stream) { replayed += graph == (void *)96 && !stream; return 0; }
int cuStreamSynchronize(void *stream) { waited += !stream && replayed; return stream != 0; }
int cuMemcpyHtoDAsync_v2(unsigned long to, void *from, unsigned long count, void *stream) { copied += count; return 0; }
int cuMemcpyDtoHAsync_v2(void *to, unsigned long from, unsigned long count, void *stream) { copied += count; return 0; }
"""


@pytest.fixture
def stub(tmp_path, monkeypatch):
    """A driver library that counts."""
    compiler = shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler")
    source, built = tmp_path / "stub.c", tmp_path / "stub.so"
    source.write_text(STUB)
    subprocess.run([compiler, "-shared", "-fPIC", "-o", built, source], check=True)
    library = ctypes.CDLL(str(built))
    monkeypatch.setattr(raw, "_driver", lambda: library)
    monkeypatch.setattr(compiling, "compiled", lambda source, arch: b"cubin")
    monkeypatch.setattr(raw, "_kernel", raw._kernel.__wrapped__)
    return library


def test_the_raw_driver_is_called_as_it_should_be(stub):
    assert raw.launch(TINY)() > 0
    assert ctypes.c_int.in_dll(stub, "launched").value == times.BURST
    for make in (raw.to_device, raw.to_host):
        before = ctypes.c_ulong.in_dll(stub, "copied").value
        make(TINY)
        copied = ctypes.c_ulong.in_dll(stub, "copied").value - before
        assert copied > 0 and copied % TINY.copied_bytes == 0


@pytest.mark.parametrize("has_compiler", [True, False])
def test_the_raw_driver_replays_a_graph_that_lives_as_long(stub, monkeypatch, has_compiler):
    graphs = []
    monkeypatch.setattr(raw, "launchable", lambda graph: graphs.append(weakref.ref(graph)) or 96)
    if not has_compiler:
        monkeypatch.setattr(raw, "loop", lambda: None)
    take = graph_rows._small_raw(TINY)
    gc.collect()
    assert take() > 0 and graphs[0]() is not None
    assert [ctypes.c_int.in_dll(stub, name).value for name in ("replayed", "waited")] == [graph_rows.REPLAYS, 1]


def test_whole_times_have_the_wait_and_host_times_do_not(monkeypatch):
    now = iter(range(0, 10**9, 1000))
    monkeypatch.setattr(times.time, "perf_counter_ns", lambda: next(now))
    assert times.host_us(flambeau, lambda: None, 1) == 1.0
    assert times.host_us(flambeau, lambda: None, 1, whole=True) == 2.0


def test_a_copy_to_another_gpu_needs_one():
    with machine(devices=1):
        (found,) = times.measure([ROWS["to another GPU, µs"]], "", 1, TINY)
    assert found["missing"] == "needs two GPUs"


def test_a_consumer_that_ends_is_noticed():
    other = sharing_rows.Consumer(flambeau)
    other._process.kill()
    with pytest.raises(EOFError):
        other.send(flambeau.ones(1))
    other.close()


@pytest.mark.full
@pytest.mark.slow
def test_startup_rows():
    found = {row["what"]: row for row in startup.measure()}
    assert set(found) == set(startup.ROWS)
    assert all(row["flambeau"]["median"] > 0 for row in found.values() if "error" not in row)


@pytest.mark.parametrize("row", [pytest.param(row, id=row.what) for row in cpu_rows.ROWS])
def test_calls_without_a_gpu_are_those_of_pytorch(row):
    torch = pytest.importorskip("torch")
    ours, theirs = (_sums_of_three_calls(row, library) for library in (flambeau, torch))
    assert [shape for shape, _ in ours] == [shape for shape, _ in theirs]
    assert [total for _, total in ours] == pytest.approx([total for _, total in theirs], rel=1e-4, abs=1e-4)
    if row.device != "cpu":
        assert row.make(flambeau, row.device)(0).is_cuda


def _sums_of_three_calls(row, library):
    """The shape and sum of every tensor that three calls on the CPU return."""
    library.manual_seed(0)
    call = row.make(library, "cpu")
    results = [call(number) for number in range(3)]
    parts = [part for result in results for part in (result if isinstance(result, (tuple, list)) else [result])]
    return [(tuple(part.shape), part.double().sum().item()) for part in parts if part is not None]


def test_rows_without_a_gpu_are_timed_for_each_library():
    found = cpu_rows.measured(cpu_rows.ROWS[0]._replace(burst=2), {"flambeau": flambeau}, 2)
    assert list(found) == ["flambeau"] and found["flambeau"] > 0


@pytest.mark.full
@pytest.mark.parametrize("name", [name for name, _ in loading.cases() if "shuffled" not in name])
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning", "ignore:.*8 worker processes:UserWarning")
def test_loaders_that_are_measured_give_pytorch_s_batches(name):
    torch = pytest.importorskip("torch")
    assert str(loading.batches_of(flambeau, name)) == str(loading.batches_of(torch, name))


def test_epochs_are_measured_in_turn():
    found = loading.measured(lambda library: library.utils.data.DataLoader([1, 2, 3]), {"flambeau": flambeau}, 2)
    assert list(found) == ["flambeau"] and found["flambeau"] > 0


def test_copies_that_a_loader_makes_ahead_lie_beside_kernels_but_for_the_first():
    network = prefetch.NETWORKS["digits"]
    with machine(1, preset="h200"):
        found = prefetch.measured(network._replace(images=(64, *network.images[1:])), 5)
    assert found.copies_ns > 0 and 0.75 <= found.beside <= 0.81


# examples


def test_an_example_differs_in_its_imports_alone_for_pytorch(tmp_path):
    folders = examples.copied(tmp_path)
    for program in (*examples.PROGRAMS, "training"):
        ours, theirs = ((folder / f"{program}.py").read_text().splitlines() for folder in folders.values())
        changed = [pair for pair in zip(ours, theirs, strict=True) if pair[0] != pair[1]]
        assert ("import flambeau as torch", "import torch") in changed
        assert all(own.replace("import flambeau as torch", "import torch").replace("flambeau", "torch") == other
                   for own, other in changed)  # fmt: skip
        assert not any("flambeau" in text for text in theirs if "import" in text)


def test_every_example_that_trains_is_measured():
    shared = [path.stem for path in examples.FOLDER.glob("*.py") if "from training import" in path.read_text()]
    assert sorted(shared) == sorted(examples.PROGRAMS)


@pytest.mark.slow
def test_an_example_is_run_and_its_failure_told(tmp_path):
    folder = examples.copied(tmp_path)["flambeau"]
    found = examples.measured({"flambeau": folder}, "digits_vae", 1, ["--steps", "2"])["flambeau"]
    assert 0 < found.seconds < found.process
    with pytest.raises(RuntimeError, match=r"digits_vae .* status 2:\n[\s\S]*--no-such-option"):
        examples.run(folder, "digits_vae", ["--no-such-option"])


@pytest.mark.full
def test_an_example_runs_with_pytorch(tmp_path):
    pytest.importorskip("torch")
    assert examples.run(examples.copied(tmp_path)["torch"], "digits_vae", ["--steps", "2"]).seconds > 0


def test_a_row_is_met_by_its_ratio_and_its_whole_time():
    row = {"flambeau": examples.Run(3.0, 2.0, 5.0), "torch": examples.Run(1.0, 4.0, 9.0)}
    text = " ".join(examples.line("digits", row).split())
    assert text == "digits 3.00 1.00 3.00 2.00 4.00 0.50 5.00 met"
    for slow in (examples.Run(3.1, 2.0, 5.0), examples.Run(3.0, 2.0, 121.0)):
        assert examples.line("digits", {**row, "flambeau": slow}).endswith("missed")


@pytest.fixture
def small_networks(monkeypatch):
    """Networks in small, with flambeau in PyTorch's place too."""
    small = models.models(small=True)
    monkeypatch.setattr(networks, "models", lambda: small)
    monkeypatch.setattr(networks, "libraries", lambda: {"flambeau": flambeau, "torch": flambeau})
    monkeypatch.setattr(networks, "BURST_SECONDS", 0.0)
    return small


def test_every_network_has_a_target():
    assert set(networks.TARGETS) == set(models.models()) == set(models.models(small=True))


def test_rows_of_a_network(small_networks):
    step, host, *memory = networks.measured("MNIST CNN", small_networks["MNIST CNN"], 1)
    assert "error" not in step and len(step["losses"]["torch"]) == 3 and step["counts"]["launch"] > 20
    assert step["losses"]["flambeau"] == step["losses"]["torch"]
    assert step["losses"]["flambeau"] == sorted(step["losses"]["flambeau"], reverse=True)
    assert step["target"] == "≤ 0.5 × PyTorch" and host["what"] == "MNIST CNN, host"
    assert [row["ratio"] for row in memory] == [1.0, 1.0] and [row["target"] for row in memory] == ["", ""]


def test_other_losses_than_pytorch_s_are_an_error(small_networks, monkeypatch):
    monkeypatch.setitem(networks.TARGETS, "MNIST CNN", networks.Target(at_most(0.5), -1.0))
    assert "losses differ by 0.0e+00" in networks.measured("MNIST CNN", small_networks["MNIST CNN"], 1)[0]["error"]
    losses = {"flambeau": [2.0, 1.0, 0.5], "torch": [2.0, 1.25, 0.5]}
    assert networks.disagreement(losses) == pytest.approx(0.2)
    assert networks.disagreement({"flambeau": [math.nan, 1.0], "torch": [1.0, 1.0]}) == math.inf
    assert networks.disagreement({"flambeau": [1.0]}) == 0.0


def test_a_network_that_fails_is_a_row_and_the_next_is_measured(small_networks, tmp_path, capsys, monkeypatch):
    def refused(*args, **sizes):
        raise ValueError("no such network")

    broken = small_networks["small GPT"]._replace(make=refused)
    both = {"small GPT": broken, "MNIST CNN": small_networks["MNIST CNN"]}
    monkeypatch.setattr(networks, "models", lambda: both)
    monkeypatch.setattr(networks, "is_real", lambda: True)
    file = tmp_path / "run.json"
    assert networks.main(["--rounds", "1", "--json", str(file), "--profile"]) == 1
    found = json.loads(file.read_text())
    assert [row["what"] for row in found["rows"]][:2] == list(both)
    assert found["rows"][0]["error"] == found["profiles"][0]["error"] == "ValueError: no such network"
    assert 0 < len(found["profiles"][1]["flambeau"]) <= networks.PROFILED
    assert "of kernels" in capsys.readouterr().out


def test_virtual_gpus_give_the_launches_of_small_networks(capsys):
    assert networks.main(["--only", "MNIST"]) == 0
    assert "MNIST CNN" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["GPT-2 124M, batch 8", "ResNet-50, batch 128", "MLP, batch 64"])
@pytest.mark.filterwarnings("ignore:gather")
def test_data_parallel_gives_the_losses_of_one_gpu(name):
    network = scaling.networks(small=True)[name]
    found = scaling.data_parallel(flambeau, network._replace(steps=1), 2)
    assert {count: len(each) for count, each in found["ms"].items()} == {"one": 2, "two": 2}
    assert found["losses"]["two"] == pytest.approx(found["losses"]["one"], rel=scaling.tolerance_of(network))
    assert found["losses"]["one"] == sorted(found["losses"]["one"], reverse=True)
    row = scaling.joined({"flambeau": found}, scaling.tolerance_of(network))
    alone, both = (found["ms"][count] for count in ("one", "two"))
    assert row["flambeau"]["p10"] == min(alone[0] / both[0], alone[1] / both[1]) and row["flambeau"]["rounds"] == 2
    assert row["ms"]["flambeau"]["two"]["p90"] == max(both)


def test_a_wrong_loss_of_two_gpus_fails_the_row_only_if_it_is_flambeau_s():
    right = {"ms": {"one": [9.0], "two": [10.0]}, "losses": {"one": [2.0, 1.0], "two": [2.0, 1.0]}}
    wrong = {**right, "losses": {"one": [2.0, 1.0], "two": [2.0, 1.1]}}
    row = scaling.joined({"flambeau": right, "torch": wrong}, 1e-2)
    assert row["flambeau"]["median"] == 0.9 and "torch" not in row and "differ by more than 0.01" in row["torch error"]
    with pytest.raises(RuntimeError, match="differ by more than 0.01"):
        scaling.joined({"flambeau": wrong, "torch": right}, 1e-2)
    with pytest.raises(RuntimeError, match="out of memory"):
        scaling.joined({"flambeau": {"error": "out of memory"}}, 1e-2)


def test_scaling_prints_what_it_measured_and_goes_on_after_a_failure(tmp_path, capsys, monkeypatch):
    def refused(library):
        raise ValueError("no such network")

    small = scaling.networks(small=True)
    broken = small["small GPT, batch 32"]._replace(make=refused)
    both = {"small GPT, batch 32": broken, "MLP, batch 64": small["MLP, batch 64"]._replace(steps=1)}
    monkeypatch.setattr(scaling, "networks", lambda small: both)
    file = tmp_path / "run.json"
    assert scaling.main(["--small", "--rounds", "1", "--only", ", DataParallel", "--json", str(file)]) == 1
    failed, row = json.loads(file.read_text())["rows"]
    assert failed["error"] == "RuntimeError: ValueError: no such network"
    assert row["what"] == "MLP, batch 64, DataParallel" and row["verdict"] in ("met", "missed")
    printed = capsys.readouterr().out
    assert "error: RuntimeError: ValueError: no such network" in printed and "≥ 0.714" in printed


@pytest.mark.full
@pytest.mark.parametrize("name", networks.TARGETS)
def test_networks_begin_with_pytorch_s_losses(name):
    torch = pytest.importorskip("torch")
    model = models.models(small=True)[name]
    ours = models.built(flambeau, "cuda", model)
    theirs = models.built(torch, "cpu", model, models.parameters(ours))
    losses = {
        "flambeau": networks.first_losses(flambeau, ours),
        "torch": networks.first_losses(torch, theirs),
    }
    assert networks.disagreement(losses) < networks.TARGETS[name].tolerance

RACY_OUTPUT = 'File "a/missing_wait.py", line 14, in <module>\n  at missing_wait.py:10 in other.py:3'


def test_a_table_of_race_tools_has_what_each_one_says():
    tool = race_tools.Result
    results = [
        tool("second", "missing_wait", False, True, why="needs 2 GPUs"),
        tool("first", "missing_wait", False, True, found=True, both_lines=True, edit=True),
        tool("first", "missing_wait", True, False, found=True),
        tool("first", "no_race", False, False),
    ]
    times = {"first": (race_tools.Run(0, 1.0, ""), race_tools.Run(None, 2.5, ""))}
    lines = race_tools.table(results, times, "head").splitlines()
    assert lines[4] == "| `missing_wait` | found, both lines, edit, FALSE ALARM | not run: needs 2 GPUs |"
    assert lines[5] == "| `no_race` | silent |  |"
    assert lines[6:10] == [
        "| races found | 1 of 1 | 0 of 0 |", "| both lines | 1 of 1 | 0 of 0 |", "| edit | 1 of 1 | 0 of 0 |",
        "| false alarms | 1 of 2 | 0 of 0 |",
    ]  # fmt: skip
    assert lines[10].endswith("| 1.0 s, 2.5 s | - |")


def test_a_program_of_the_zoo_is_one_of_pytorch_but_for_its_import(tmp_path):
    assert race_tools._lines(RACY_OUTPUT, "missing_wait") == {10, 14}
    for form in race_tools.forms():
        ours = (race_tools.RACES / f"{form.program}.py").read_text().splitlines()
        theirs = race_tools.for_torch(race_tools.RACES / f"{form.program}.py", tmp_path).read_text().splitlines()
        assert [(a, b) for a, b in zip(ours, theirs, strict=True) if a != b] == [(race_tools.IMPORT, "import torch")]


def test_a_run_of_a_tool_that_takes_too_long_ends():
    done = race_tools.run([sys.executable, "-c", "import time; print('begun', flush=True); time.sleep(60)"], {}, 0.2)
    assert done.status is None


# collectives


def test_bytes_that_cross_each_link_are_those_of_nccl_tests():
    assert collectives.bus_bytes("all_reduce", 800, 4) == 1200 and collectives.bus_bytes("all_gather", 800, 4) == 600
    assert collectives.bus_bytes("all_reduce", 800, 1) == 800


@pytest.mark.full
def test_ranks_measure_collectives(monkeypatch):
    monkeypatch.setenv("FLAMBEAU_GPUS", "virtual:2")
    facts = collectives.run(2, 64, 1, 2)
    assert facts["ranks"] == 2 and facts["recorder_ns"] > 0
    assert [row["row"] for row in facts["rows"]] == [row.what for row in collectives.rows_of(2)]
    assert all(len(row["seconds"]["flambeau"]) == 1 for row in facts["rows"])
    facts["rows"][0]["seconds"] = {"flambeau": [2.0], "NCCL": [1.0]}
    lines = collectives.table(facts)
    assert any("NCCL" in line and "flambeau's is 0.500 of it" in line for line in lines)


def test_a_wrong_result_of_a_collective_is_an_error(gpus):
    side = collectives.Side(
        "wrong",
        lambda count: flambeau.ones(count, device="cuda"),
        lambda operation, whole, part: lambda: whole.fill_(5),
        flambeau.cuda.synchronize,
    )
    with pytest.raises(AssertionError, match=r"all_reduce, large of wrong gives \[5.0, 5.0\] in place of 2.0"):
        collectives.checked(side, collectives.rows_of(2)[0], 64, 2)


@pytest.mark.parametrize(("where", "most"), [("the CPU", 6), ("a GPU, driver aside", 10), ("a virtual GPU", 10)])
def test_a_warm_call_runs_code_of_few_modules(where, most):
    modules = {module for module, _ in simplicity.warm_call(*simplicity.WARM_CALLS[where])}
    assert "flambeau.core.plan" in modules and len(modules) <= most, modules


def test_the_compiled_core_stays_small(monkeypatch):
    monkeypatch.setattr(simplicity, "WARM_CALLS", {})
    found = simplicity.counts(with_build=False)
    assert len(found["compiled modules"]) <= 16 and found["lines of compiled modules"] <= 4500
    assert {path.partition("/")[0] for path in found["compiled modules"]} == {"core"}
    assert found["import cycles"] == found["import cycles with imports in functions"] == []
    assert 0 < found["type: ignore"] <= 20
