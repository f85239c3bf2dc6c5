"""The page of a memory snapshot: its data, and its behaviour in a browser where one is installed."""

import json
import re
import shutil
import subprocess

import pytest

from flambeau.tools import memory_snapshot
from flambeau.tools.memory_snapshot import parse

MIB = 1 << 20
BASE = 1 << 40
BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


def frames(line):
    return [{"name": "step", "filename": "train</script>.py", "line": line}]


def snapshot(count=40):
    """A segment in which `count` blocks of 1 MiB come and go in turn, one line each of five."""
    trace = [{"action": "segment_alloc", "addr": BASE, "size": 64 * MIB, "stream": 0, "time_us": 5, "frames": []}]
    for at in range(count):
        for action in ("alloc", "free_requested", "free_completed")[: 1 if at == count - 1 else 3]:
            place = BASE + at % 64 * MIB
            entry = {"action": action, "addr": place, "size": MIB, "stream": 0, "time_us": 5 + at}
            trace.append({**entry, "frames": frames(at % 5)})
    trace.append({"action": "oom", "device_free": 3 * MIB, "size": 500 * MIB, "stream": 0, "time_us": 99, "frames": []})
    last = (count - 1) % 64
    blocks = [{"size": last * MIB, "state": "inactive", "frames": []}] if last else []
    blocks += [
        {"size": MIB, "state": "active_allocated", "frames": frames((count - 1) % 5)},
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
