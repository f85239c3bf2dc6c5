"""Reading, explaining and replaying memory snapshots of flambeau and of PyTorch; the page that shows them."""

import json
import lzma
import os
import pickle
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import flambeau as torch
from flambeau.errors import ConfigError, FileFormatError
from flambeau.memory import history
from flambeau.tools import memory_snapshot
from flambeau.tools.memory_snapshot import before_events, parse, peaks_of, read, state_at

MIB = 1 << 20
BASE = 1 << 40


@pytest.fixture(autouse=True)
def stopped():
    yield
    history.record(None)


def frames(line, name="forward"):
    return [
        {"name": "operator new", "filename": "??", "line": 0},
        {"name": "linear", "filename": "/opt/lib/python3/site-packages/torch/nn/functional.py", "line": 9},
        {"name": name, "filename": "train.py", "line": line},
        {"name": "<module>", "filename": "train.py", "line": 99},
    ]


def block(address, size, state="inactive", line=None, requested=None):
    asked = size if requested is None else requested
    return {
        "address": address, "size": size, "requested_size": asked if state != "inactive" else 0,
        "state": state, "frames": [] if line is None else frames(line),
    }  # fmt: skip


def event(action, address, size, line=1, stream=0, at=0):
    key = "device_free" if action == "oom" else "addr"
    return {
        "action": action, key: address, "size": size, "stream": stream, "time_us": at, "compile_context": "N/A",
        "user_metadata": "", "frames": frames(line), "pool_id": (0, 0),
    }  # fmt: skip


def segment(address, blocks, **fields):
    size = sum(each["size"] for each in blocks)
    return {
        "device": 0, "address": address, "total_size": size, "stream": 0, "segment_type": "large", "allocated_size": 0,
        "active_size": 0, "requested_size": 0, "segment_pool_id": (0, 0), "is_expandable": False, "frames": [],
        "blocks": blocks, **fields,
    }  # fmt: skip


def as_pytorch():
    """A snapshot with the fields that PyTorch 2.13 writes."""
    segments = [
        segment(BASE, [
            block(BASE, 12 * MIB, "active_allocated", 7, 12 * MIB - 100), block(BASE + 12 * MIB, 4 * MIB),
            block(BASE + 16 * MIB, 4 * MIB, "active_awaiting_free", 8),
        ]),
        segment(BASE + 64 * MIB, [block(BASE + 64 * MIB, 30 * MIB)]),
        segment(BASE + 128 * MIB, [
            block(BASE + 128 * MIB, 2 * MIB, "active_allocated", 9), block(BASE + 130 * MIB, 18 * MIB),
        ], segment_pool_id=(0, 1)),
    ]  # fmt: skip
    trace = [
        event("segment_alloc", BASE + 64 * MIB, 30 * MIB, 6, at=1_000_000),
        event("alloc", BASE + 64 * MIB, 30 * MIB, 6, at=1_000_000),
        event("alloc", BASE + 16 * MIB, 4 * MIB, 8, at=2_500_000),
        event("oom", 3 * MIB, 500 * MIB, 44, at=2_600_000),
        event("free_requested", BASE + 64 * MIB, 30 * MIB, 6, at=3_000_000),
        event("free_completed", BASE + 64 * MIB, 30 * MIB, 6, at=3_000_000),
        event("free_requested", BASE + 16 * MIB, 4 * MIB, 8, at=3_100_000),
        event("snapshot", 0, 0, at=3_200_000),
    ]
    options = {"PYTORCH_CUDA_ALLOC_CONF": "max_split_size_mb:64", "expandable_segments": False}
    return {"segments": segments, "device_traces": [trace], "allocator_settings": options, "external_annotations": []}


def written(path, data):
    path.write_bytes(data)
    return str(path)


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_a_snapshot_of_pytorch_is_read(tmp_path, protocol):
    found = read(written(tmp_path / "a.pickle", pickle.dumps(as_pytorch(), protocol)))
    (device,) = found.devices
    assert [each.nbytes // MIB for each in device.segments] == [20, 30, 20]
    assert [each.state for each in device.segments[0].blocks] == ["live", "free", "waiting"]
    assert found.settings == "max_split_size_mb:64"
    assert found.shown(device.segments[0].blocks[0].stack) == "train.py:7 in forward"
    assert [each.action for each in device.events][:2] == ["segment_alloc", "alloc"]


def test_bytes_are_summed_by_use():
    found = parse(as_pytorch())
    end = memory_snapshot.usage(found, found.devices[0].segments)
    assert (end.reserved, end.live, end.waiting, end.cached, end.fragmented, end.private) == (
        70 * MIB, 14 * MIB, 4 * MIB, 30 * MIB, 22 * MIB, 20 * MIB,
    )  # fmt: skip
    assert end.reserved == end.live + end.waiting + end.cached + end.fragmented
    assert (end.rounding, end.largest) == (100, 30 * MIB)
    assert end.lines == {"train.py:7 in forward": (12 * MIB, 1), "train.py:9 in forward": (2 * MIB, 1)}
    assert end.holders == {"train.py:9 in forward": (18 * MIB, 2 * MIB)}


def test_the_text_names_the_peak_and_the_failure():
    text = memory_snapshot.explain(parse(as_pytorch()), "a.pickle")
    for part in (
        "max_split_size_mb:64", "event 3 of 8, after 1.500 s", "48.00 MiB", "train.py:6 in forward",
        "ran out of memory: 500.00 MiB", "3.00 MiB", "train.py:44 in forward", "private",
    ):  # fmt: skip
        assert part in text


def test_the_text_repeats_no_table_and_has_a_line_for_an_unused_device():
    found = as_pytorch()
    found["segments"] = [segment(BASE, [block(BASE, 30 * MIB, "active_allocated", 6)])]
    found["device_traces"] = [
        [event("segment_alloc", BASE, 30 * MIB, 6, at=1), event("alloc", BASE, 30 * MIB, 6, at=2)],
        [event("snapshot", 0, 0, at=3)],
    ]
    text = memory_snapshot.explain(parse(found), "a.pickle")
    assert "GPU 0 at its peak, event 2 of 2, after 0.000 s: as at the end" in text and text.count("reserved ") == 1
    assert text.endswith("\n\nGPU 1: no memory was reserved")


def test_a_state_in_between_is_rebuilt():
    (device,) = parse(as_pytorch()).devices
    assert sorted(state.address for state in before_events(device).segments()) == [BASE, BASE + 128 * MIB]
    assert peaks_of(device) == (3, 48 * MIB, 70 * MIB)
    blocks = state_at(device, 3).blocks
    assert {address: each.state for address, each in blocks.items()} == dict.fromkeys(
        [BASE, BASE + 16 * MIB, BASE + 64 * MIB, BASE + 128 * MIB], "live"
    )


def test_mapped_parts_of_a_segment_come_and_go():
    snapshot = as_pytorch()
    snapshot["device_traces"] = [[
        event("segment_map", BASE + 70 * MIB, 24 * MIB), event("segment_unmap", BASE + 94 * MIB, 6 * MIB),
    ]]  # fmt: skip
    (device,) = parse(snapshot).devices
    spans = [[(each.address - BASE) // MIB, each.nbytes // MIB] for each in before_events(device).segments()]
    assert spans == [[0, 20], [64, 6], [94, 6], [128, 20]]


def test_adjoining_mapped_parts_are_one_segment():
    snapshot = as_pytorch()
    snapshot["segments"] = []
    snapshot["device_traces"] = [[
        event("segment_map", BASE, 20 * MIB), event("alloc", BASE, 15 * MIB),
        event("segment_map", BASE + 20 * MIB, 18 * MIB), event("segment_map", BASE + 38 * MIB, 2 * MIB),
        event("alloc", BASE + 15 * MIB, 15 * MIB), event("segment_map", BASE + 60 * MIB, 20 * MIB),
    ]]  # fmt: skip
    (device,) = parse(snapshot).devices
    first, second = state_at(device, 6).segments()
    assert [(each.address, each.nbytes // MIB, each.state) for each in first.blocks] == [
        (BASE, 15, "live"), (BASE + 15 * MIB, 15, "live"), (BASE + 30 * MIB, 10, "free")
    ]  # fmt: skip
    assert (second.address, second.nbytes) == (BASE + 60 * MIB, 20 * MIB)


def record(program):
    history.record(history.History())
    program()
    found = parse(torch.cuda.memory._snapshot())
    history.record(None)
    return found


def busy():
    kept = []
    for step in range(6):
        kept.append(torch.empty(1 << 20, device="cuda"))
        big = torch.empty((5 + step) << 20, device="cuda")
        small = torch.empty(100 + step, device="cuda")
        del big
    del kept[::2], small
    torch.cuda.empty_cache()
    kept.append(torch.empty(77, device="cuda"))


def test_undoing_every_event_of_a_whole_recording_leaves_nothing(new_gpus):
    device = record(busy).devices[0]
    state = before_events(device)
    assert (state.blocks, list(state.ranges)) == ({}, [])


def test_doing_every_event_gives_the_end(gpus):
    device = record(busy).devices[0]
    expected = [(each.address, each.nbytes, each.blocks) for each in device.segments]
    rebuilt = state_at(device, len(device.events)).segments()
    assert [(each.address, each.nbytes, each.blocks) for each in rebuilt] == expected


def test_a_replay_with_the_same_settings_needs_what_was_recorded(new_gpus):
    def program():
        kept = [torch.empty(1 << 20, device="cuda") for _ in range(9)]
        del kept[::2]
        kept.append(torch.empty(9 << 20, device="cuda"))

    device = record(program).devices[0]
    peaks = peaks_of(device)
    found = memory_snapshot.replay(device)
    assert (found.reserved, found.used, found.failed) == (peaks.reserved, peaks.used, None)
    assert peaks.reserved == torch.cuda.max_memory_reserved()
    assert peaks.used == torch.cuda.max_memory_allocated()


@pytest.fixture(scope="module")
def of_an_h200():
    """A snapshot that PyTorch 2.11 wrote on an H200, and its own peaks (tests/oracle/pytorch_snapshot.py)."""
    with lzma.open(Path(__file__).parents[1] / "oracle" / "pytorch_snapshot.pickle.xz") as file:
        found = pickle.load(file)
    return found, parse(found), found["counters"]


def test_peaks_of_a_snapshot_of_pytorch_are_its_counters(of_an_h200):
    _, snapshot, counters = of_an_h200
    peaks = peaks_of(snapshot.devices[0])
    assert (peaks.reserved, peaks.used) == (counters["reserved"], counters["allocated"])


def test_the_segments_of_a_snapshot_of_pytorch_follow_from_its_events(of_an_h200):
    found, snapshot, _ = of_an_h200
    (device,) = snapshot.devices
    start = before_events(device)
    assert not start.blocks and not start.ranges  # the history is whole
    rebuilt = {each.address: each for each in state_at(device, len(device.events)).segments()}
    assert len(rebuilt) == len(found["segments"])
    for segment in found["segments"]:
        ours = rebuilt[segment["address"]]
        assert (ours.nbytes, ours.stream, ours.pool) == (segment["total_size"], segment["stream"], (0, 0))
        assert ours.is_small == (segment["segment_type"] == "small") and not ours.is_expandable
        used = {each.address: (each.nbytes, each.requested) for each in ours.blocks if each.state == "live"}
        active = [each for each in segment["blocks"] if each["state"] == "active_allocated"]
        assert used == {each["address"]: (each["size"], each["requested_size"]) for each in active}
        assert sum(nbytes for nbytes, _ in used.values()) == segment["allocated_size"]


def test_a_snapshot_of_pytorch_is_explained_by_the_lines_of_the_program(of_an_h200):
    _, snapshot, _ = of_an_h200
    text = memory_snapshot.explain(snapshot, "a.pickle")
    for part in ("278.00 MiB", "251.15 MiB", "snap.py:17 in forward", "at::_ops::mm::redispatch (compiled)"):
        assert part in text
    assert "unwind" not in text and "??" not in text


def test_a_snapshot_of_pytorch_is_replayed(of_an_h200):
    _, snapshot, counters = of_an_h200
    found = memory_snapshot.replay(snapshot.devices[0])
    assert (found.failed, found.reserved, found.used) == (None, counters["reserved"], counters["allocated"])
    assert memory_snapshot.replay(snapshot.devices[0], "expandable_segments:True").reserved < found.reserved
    short = memory_snapshot.replay(snapshot.devices[0], "", 200 * MIB)
    assert short.failed is not None and short.reserved <= 200 * MIB


def test_a_replay_shows_the_effect_of_a_setting_and_of_a_smaller_device():
    snapshot = parse(as_pytorch())
    (device,) = snapshot.devices
    assert memory_snapshot.replay(device, "large_segment_size_mb:40").reserved > memory_snapshot.replay(device).reserved
    short = memory_snapshot.replay(device, "", 40 * MIB)
    assert short.failed.nbytes == 30 * MIB and short.failed_at == 2
    text = memory_snapshot.compare(snapshot, ["", "large_segment_size_mb:40"], 40 * MIB)
    for part in ("40.00 MiB", "as recorded", "default", "large_segment_size_mb:40", "event 2", "train.py:6"):
        assert part in text


def test_unknown_settings_of_a_replay_are_an_error():
    with pytest.raises(ConfigError) as caught:
        memory_snapshot.replay(parse(as_pytorch()).devices[0], "plaid:1")
    assert "plaid" in str(caught.value) and "--replay" in str(caught.value)


class Runs:
    def __reduce__(self):
        return os.mkdir, ("/nonexistent/hostile",)


HOSTILE = {
    "a call": (pickle.dumps({"segments": [Runs()]}), ("mkdir", "plain objects")),
    "a class": (pickle.dumps({"segments": Runs}), ("Runs", "plain objects")),
    "no pickle": (b"GIF89a...", ("byte 9",)),
    "nothing": (b"", ("byte 0",)),
    "cut short": (pickle.dumps(as_pytorch())[:-40], ("pickle",)),
    "a length beyond the file": (b"\x80\x04\x8d" + (1 << 60).to_bytes(8, "little"), (str(1 << 60),)),
    "no dict": (pickle.dumps(3), ("int", "dict")),
    "no segments": (pickle.dumps({}), ("segments", "NoneType")),
    "text for a size": (pickle.dumps({"segments": [segment(BASE, [], total_size="9")]}), ("total_size", "'9'")),
    "a negative size": (pickle.dumps({"segments": [segment(BASE, [], total_size=-1)]}), ("total_size", "-1")),
    "a huge number": (pickle.dumps({"segments": [segment(1 << 70, [])]}), ("address", str(1 << 70))),
    "a million devices": (pickle.dumps({"segments": [segment(BASE, [], device=1 << 20)]}), ("device 1048576",)),
    "blocks that do not fill": (pickle.dumps({"segments": [segment(BASE, [], total_size=512)]}), ("512", "0")),
    "a wrong state": (pickle.dumps({"segments": [segment(BASE, [block(BASE, 1, "gone")])]}), ("'gone'",)),
    "no frames": (pickle.dumps({"segments": [], "device_traces": [[{"action": "alloc", "frames": 3}]]}), ("frames",)),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files_are_refused(tmp_path, name):
    data, parts = HOSTILE[name]
    path = written(tmp_path / "hostile.pickle", data)
    with pytest.raises(FileFormatError) as caught:
        read(path)
    text = str(caught.value)
    assert all(part in text for part in ("hostile.pickle", "hint:", "_dump_snapshot", *parts)), text


def test_huge_files_are_refused_unread(tmp_path):
    path = tmp_path / "huge.pickle"
    with open(path, "wb") as file:
        file.truncate(memory_snapshot.MAX_NBYTES + 1)
    with pytest.raises(FileFormatError) as caught:
        read(str(path))
    assert str(memory_snapshot.MAX_NBYTES + 1) in str(caught.value) and "max_entries" in str(caught.value)


def test_frames_that_many_events_share_are_read_once(tmp_path):
    shared = frames(1) * 2000
    trace = [{"action": "alloc", "addr": at, "size": 1, "frames": shared} for at in range(20_000)]
    found = read(written(tmp_path / "a.pickle", pickle.dumps({"segments": [], "device_traces": [trace]})))
    assert len(found.stacks) == 2 and len(found.devices[0].events) == 20_000


PICKLED = pickle.dumps(as_pytorch())


@settings(max_examples=60, deadline=None)
@given(st.integers(0, len(PICKLED) - 1), st.integers(0, 255))
def test_a_changed_byte_is_read_or_refused(tmp_path_factory, at, value):
    path = tmp_path_factory.getbasetemp() / "changed.pickle"
    try:
        found = read(written(path, PICKLED[:at] + bytes([value]) + PICKLED[at + 1 :]))
    except FileFormatError:
        found = None
    assert found is None or isinstance(memory_snapshot.explain(found, "changed"), str)


def test_a_replay_with_expandable_segments_maps_what_it_needs(new_gpus):
    sizes = (30, 40, 50, 60)

    def growing():
        for mib in sizes:
            torch.empty(mib << 18, device="cuda")

    device = record(growing).devices[0]
    found = memory_snapshot.replay(device, "expandable_segments:True")
    assert found.reserved == 60 * MIB == found.used and found.failed is None
    assert memory_snapshot.replay(device).reserved == sum(sizes) * MIB
    assert memory_snapshot.replay(device, "expandable_segments:True", 50 * MIB).failed is not None


def test_the_pool_of_the_driver_cannot_be_replayed():
    (device,) = parse(as_pytorch()).devices
    with pytest.raises(ConfigError, match="cudaMallocAsync") as caught:
        memory_snapshot.replay(device, "backend:cudaMallocAsync")
    assert "backend" in caught.value.hint


# the page

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


def frame_of(line):
    return [{"name": "step", "filename": "train</script>.py", "line": line}]


def snapshot(count=40):
    """A segment in which `count` blocks of 1 MiB come and go in turn, one line each of five."""
    trace = [{"action": "segment_alloc", "addr": BASE, "size": 64 * MIB, "stream": 0, "time_us": 5, "frames": []}]
    for at in range(count):
        for action in ("alloc", "free_requested", "free_completed")[: 1 if at == count - 1 else 3]:
            place = BASE + at % 64 * MIB
            entry = {"action": action, "addr": place, "size": MIB, "stream": 0, "time_us": 5 + at}
            trace.append({**entry, "frames": frame_of(at % 5)})
    trace.append({"action": "oom", "device_free": 3 * MIB, "size": 500 * MIB, "stream": 0, "time_us": 99, "frames": []})
    last = (count - 1) % 64
    blocks = [{"size": last * MIB, "state": "inactive", "frames": []}] if last else []
    blocks += [
        {"size": MIB, "state": "active_allocated", "frames": frame_of((count - 1) % 5)},
        {"size": (63 - last) * MIB, "state": "inactive", "frames": []},
    ]
    segment = {"device": 0, "address": BASE, "total_size": 64 * MIB, "stream": 0, "blocks": blocks}
    return parse({"segments": [segment], "device_traces": [trace]})


def data_of(text):
    return json.loads(re.search(r'type="application/json">(.*?)</script>', text, re.S)[1])


def test_the_page_needs_nothing_else():
    text = memory_snapshot.page(snapshot(), "a <b> & c")
    assert not re.search(r"https?://|src=|@import|url\(", text)
    found = data_of(text)
    assert found["title"] == "a <b> & c"
    assert "train</script>.py:3 in step" in found["sites"]


def test_the_data_starts_before_the_first_event():
    (device,) = data_of(memory_snapshot.page(snapshot(2), "a"))["devices"]
    assert (device["segments"], device["blocks"], device["omitted"]) == ([], [], 0)
    assert [event[0] for event in device["events"]] == [3, 0, 1, 2, 0, 7]
    assert device["events"][1][1:5] == [0, MIB, device["events"][1][3], 0]
    assert device["events"][-1][1:3] == [3 * MIB, 500 * MIB]


def test_only_the_latest_events_are_drawn(monkeypatch):
    monkeypatch.setattr(memory_snapshot, "MAX_EVENTS", 3)
    (device,) = data_of(memory_snapshot.page(snapshot(2), "a"))["devices"]
    assert device["omitted"] == 3 and len(device["events"]) == 3
    assert [block[:3] for block in device["blocks"]] == [[0, MIB, 1]]
    assert [segment[1] for segment in device["segments"]] == [64 * MIB]


def test_a_page_that_cannot_be_written_leaves_nothing(tmp_path):
    path = tmp_path / "page"
    path.mkdir()
    with pytest.raises(OSError, match="page"):
        memory_snapshot.write_page(snapshot(), "a", str(path))
    assert list(tmp_path.iterdir()) == [path]


def browse(tmp_path, text, script, *options):
    """Open a page in the browser, run a script that returns an object at its end, and return that object."""
    path = tmp_path / "page.html"
    call = f"JSON.stringify((() => {{{script}}})())"
    element = f"Object.assign(document.createElement('output'), {{id: 'r', textContent: {call}}})"
    report = f"<script>document.body.append({element})</script>"
    path.write_text(text.replace("</body>", report + "</body>"))
    command = [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom", *options, path.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    found = re.search(r'<output id="r">(.*?)</output>', done.stdout, re.S)
    assert found, done.stdout[-500:] + done.stderr[-500:]
    return json.loads(found[1].replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&"))


USE = """
const $$ = id => document.getElementById(id), text = id => $$(id).textContent, width = () => view[1] - view[0];
const key = k => dispatchEvent(new KeyboardEvent("keydown", {key: k}));
const search = line => { $$("find").value = line; $$("find").dispatchEvent(new Event("input")); };
const rows = () => document.querySelectorAll("#lines tr").length;
const found = {ready: document.body.dataset.ready, first: text("moment"), rows: rows(), whole: width()};
key("+"); found.zoomed = width();
key("0"); found.again = width();
key("ArrowRight"); found.next = text("moment");
$$("end").click(); found.last = text("moment"); found.sums = text("sums");
search("py:3"); found.found = siteNames[selected];
search("nowhere"); found.none = rows();
paint();
const chart = $$("chart");
found.painted = chart.getContext("2d").getImageData(0, 0, chart.width, chart.height).data.some(v => v);
found.wide = document.documentElement.scrollWidth <= innerWidth;
found.segments = document.querySelectorAll(".segment").length;
return found;
"""


@pytest.mark.full
@pytest.mark.skipif(BROWSER is None, reason="no browser is installed")
@pytest.mark.parametrize("options", [(), ("--window-size=400,700",), ("--blink-settings=preferredColorScheme=0",)])
def test_the_page_works_in_a_browser(tmp_path, options):
    found = browse(tmp_path, memory_snapshot.page(snapshot(), "a"), USE, *options)
    assert found["ready"] == "yes" and found["painted"] and found["wide"]
    assert (found["rows"], found["segments"]) == (1, 1)
    assert found["first"].startswith("After event 2 of 120")
    assert found["next"].startswith("After event 3 of 120")
    assert found["last"].startswith("After event 120 of 120")
    assert found["zoomed"] < found["whole"] == found["again"] == 121
    assert "reserved 64.00 MiB = live 1.00 MiB" in found["sums"] and "fragmented 63.00 MiB" in found["sums"]
    assert found["found"] == "train</script>.py:3 in step" and found["none"] == 0


LOOK = """
const texts = [], context = CanvasRenderingContext2D.prototype, former = context.fillText;
context.fillText = function (text, x) {
  texts.push([text, x, x + this.measureText(text).width, this.canvas.clientWidth]);
};
zoom(0.1, 5); document.getElementById("end").click(); paint();
context.fillText = former;
const key = new KeyboardEvent("keydown", {key: "ArrowLeft", bubbles: true}), before = chosen;
document.getElementById("device").dispatchEvent(key);
return {seen: view[0] <= chosen && chosen < view[1], texts, moved: chosen != before};
"""


@pytest.mark.full
@pytest.mark.skipif(BROWSER is None, reason="no browser is installed")
def test_the_moment_and_texts_are_inside_of_the_chart(tmp_path):
    found = browse(tmp_path, memory_snapshot.page(snapshot(), "a"), LOOK, "--window-size=400,700")
    assert found["seen"] and not found["moved"]
    assert "out of memory" in [text for text, *_ in found["texts"]]
    assert all(left >= 0 and right <= width for _, left, right, width in found["texts"])


MEASURE = """
const began = performance.now(); open(0); paint(); const opened = performance.now() - began;
for (let i = 0; i < 20; i++) { pan(i * 1000, 30000); paint(); }
return {opened, frame: (performance.now() - began - opened) / 20, events: model.n, reach: model.top};
"""


@pytest.mark.full
@pytest.mark.skipif(BROWSER is None, reason="no browser is installed")
def test_a_page_of_many_events_opens(tmp_path):
    found = browse(tmp_path, memory_snapshot.page(snapshot(33_333), "a"), MEASURE)
    assert (found["events"], found["reach"]) == (99_999, 64 * MIB)
