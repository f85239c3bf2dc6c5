"""The trace's page in headless Chromium: it opens fast, draws, zooms, searches, and follows keys, theme and width."""

from __future__ import annotations

import shutil
import time

import pytest

from flambeau.tools import trace_writers
from flambeau.tools.trace import Arrow, Call, HostWait, MemoryPoint, Range, Span, Trace

FRAMES = """
const done = arguments[0], [a, b] = timeline.view, began = performance.now(), middle = (b - a) / 4;
let count = 0;
function step() {
  timeline.show(a + middle + count * middle / 60, b - middle + count * middle / 60);
  if (++count < 60) requestAnimationFrame(step); else done(60000 / (performance.now() - began));
}
requestAnimationFrame(step);
"""
COLORS = """
const [x, y, width, height] = arguments, canvas = document.getElementById("canvas"), ratio = devicePixelRatio;
const data = canvas.getContext("2d").getImageData(x * ratio, y * ratio, width * ratio, height * ratio).data, seen = {};
for (let i = 0; i < data.length; i += 4) seen[[data[i], data[i + 1], data[i + 2]].join()] = true;
return Object.keys(seen);
"""


@pytest.fixture(scope="module")
def browser():
    webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
    program, driver = shutil.which("chromium") or shutil.which("google-chrome"), shutil.which("chromedriver")
    if program is None or driver is None:
        pytest.skip("no Chromium was found")
    options = webdriver.ChromeOptions()
    options.binary_location = program
    for each in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(each)
    started = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
    yield started
    started.quit()


def made(count):
    """A trace of `count` calls and as many spans on two streams, with copies, arrows, waits, ranges and memory."""
    trace = Trace(modelled=True, source="Virtual H200", threads={1: "MainThread"}, streams={(0, 5): "stream 'side'"})
    for index in range(count):
        now, site = index * 4000, f"train.py:{index % 40 + 1}"
        trace.calls.append(Call(1, "add", now, now + 3000, site))
        name = f"kernel_{index % 30}" if index % 10 else "copy h2d"
        trace.spans.append(Span(0, index % 2 * 5, name, now + 3000, now + 3500 + index % 3000, 4096, site, index))
        trace.memory.append(MemoryPoint(0, now, index % 1000 * 4096, 1 << 23))
        if index and index % 10 == 0:
            trace.arrows.append(Arrow(index - 1, index, site))
            trace.waits.append(HostWait(1, "item", now + 100, now + 900, site, True, "why", "hint", span=index - 1))
    trace.ranges.append(Range("epoch", 1, 0, count * 4000))
    return trace


@pytest.fixture
def opened(browser, tmp_path):
    def open_page(count, width=1200, dark=False):
        trace_writers.write_page(made(count), tmp_path / "t.html")
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        theme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [theme]})
        browser.get_log("browser")
        browser.get(f"file://{tmp_path / 't.html'}")
        return browser

    return open_page


def run(browser, script, *arguments):
    """Run a script, draw, and return the script's result."""
    result = browser.execute_script(script, *arguments)
    browser.execute_script("timeline.draw()")
    return result


def press(browser, key):
    run(browser, "document.dispatchEvent(new KeyboardEvent('keydown', {key: arguments[0], bubbles: true}))", key)


def view(browser):
    return browser.execute_script("return timeline.view")


def test_it_draws_zooms_searches_and_follows_keys(opened):
    page = opened(400)
    assert page.get_log("browser") == []
    labels = run(page, "return timeline.lanes.map((lane) => lane.label)")
    assert labels == ["ranges", "calls", "blocked", "stream 0", "stream 'side'", "copies in"]
    places = run(page, "return timeline.lanes.map((lane) => lane.y)")
    kinds = ["216,165,59", "147,164,184", "214,69,61", "59,125,216", "59,125,216", "42,157,111"]
    assert [kind in run(page, COLORS, 300, y, 800, 15) for y, kind in zip(places, kinds)] == [True] * 6
    assert run(page, "return document.querySelectorAll('#memory canvas').length") == 1

    first = view(page)
    for key, expected in (("+", 0.7), ("-", 1.0), ("w", 0.7), ("0", 1.0)):
        press(page, key)
        low, high = view(page)
        assert (high - low) / (first[1] - first[0]) == pytest.approx(expected, rel=0.02)
    press(page, "+")
    before = view(page)
    press(page, "ArrowRight")
    assert view(page)[0] > before[0] and view(page)[1] - view(page)[0] == pytest.approx(before[1] - before[0])

    run(page, "const s = document.getElementById('search'); s.value = 'KERNEL_7'; s.dispatchEvent(new Event('input'))")
    assert run(page, "return document.getElementById('count').textContent") == "14 found"
    press(page, "n")
    text = run(page, "return document.getElementById('detail').textContent")
    assert text.startswith("kernel_7") and "train.py:8" in text and "submitted" in text and "modelled" in text
    press(page, "/")
    assert run(page, "return document.activeElement.id") == "search"

    run(page, "timeline.look('item'); document.activeElement.blur()")
    press(page, "n")
    text = run(page, "return document.getElementById('detail').textContent")
    assert "the host was blocked here by kernel_9, launched at train.py:10" in text and "hint: hint" in text
    press(page, "Escape")
    assert run(page, "return timeline.selected") is None

    run(page, "document.querySelector('tr[data-from]').click()")
    low, high = view(page)
    assert high - low < (first[1] - first[0]) / 50


def test_the_mouse_moves_zooms_and_chooses(opened):
    page = opened(400)
    wheel = "const c = document.getElementById('canvas'), r = c.getBoundingClientRect();"
    first = view(page)
    event = "{deltaY: -300, ctrlKey: true, clientX: r.left + 600, clientY: r.top + 60, bubbles: true, cancelable: true}"
    run(page, f"{wheel} c.dispatchEvent(new WheelEvent('wheel', {event}))")
    low, high = view(page)
    assert high - low < (first[1] - first[0]) * 0.8
    y = run(page, "return timeline.lanes[1].y + 8")
    click = f"{{clientX: r.left + 600, clientY: r.top + {y}, pointerId: 1, bubbles: true}}"
    script = f"{wheel} c.setPointerCapture = () => {{}}; for (const name of ['pointerdown', 'pointerup'])"
    run(page, f"{script} c.dispatchEvent(new PointerEvent(name, {click}))")
    assert run(page, "return document.getElementById('detail').textContent").startswith("add")


def test_dark_and_narrow(opened):
    back = "return getComputedStyle(document.body).backgroundColor"
    page = opened(50)
    light = run(page, back), set(run(page, COLORS, 300, 2, 800, 100))
    page = opened(50, width=390, dark=True)
    dark = run(page, back), set(run(page, COLORS, 100, 2, 200, 100))
    assert light[0] == "rgb(255, 255, 255)" and dark[0] == "rgb(21, 24, 29)"
    assert "21,24,29" in dark[1] and "21,24,29" not in light[1]
    assert run(page, "return document.documentElement.scrollWidth") <= 390


@pytest.mark.full
def test_100_000_spans_open_in_two_seconds_and_move_at_30_frames_a_second(opened):
    began = time.monotonic()
    page = opened(100_000)
    writing = time.monotonic() - began
    ready = page.execute_script("return performance.getEntriesByType('navigation')[0].loadEventEnd")
    assert 0 < ready < 2000, f"{ready} ms; {writing:.1f} s with writing"
    frames = page.execute_async_script(FRAMES)
    assert frames >= 30


def texts(page, script="", *arguments):
    """Run a script and draw; return what was written on the timeline: [text, x, y] of each."""
    record = """
    const context = CanvasRenderingContext2D.prototype, former = context.fillText, found = [];
    context.fillText = function (text, x, y) { if (this.canvas.id == "canvas") found.push([text, x, y]); };
    timeline.draw(); context.fillText = former; return found;
    """
    run(page, script, *arguments)
    return page.execute_script(record)


def test_times_of_a_narrow_view_differ(opened):
    page = opened(400)
    low = page.execute_script("return timeline.view[0]")
    ticks = [
        text
        for text, _, y in texts(page, "timeline.show(arguments[0] + 1500000, arguments[0] + 1500100)", low)
        if y == 10
    ]
    assert len(ticks) > 5 and len(set(ticks)) == len(ticks)
    run(page, "timeline.look('kernel_7'); document.activeElement.blur()")
    press(page, "n")
    press(page, "n")
    begin, end = page.execute_script(
        "return /from (.*) to (.*) \\(/.exec(document.getElementById('detail').textContent).slice(1)"
    )
    assert float(end.split()[0]) > float(begin.split()[0])


def several_devices(browser, tmp_path, count=6):
    trace = made(20)
    trace.spans = [each._replace(device=device) for device in range(count) for each in trace.spans]
    trace.memory = [each._replace(device=device) for device in range(count) for each in trace.memory]
    trace.arrows = []
    trace_writers.write_page(trace, tmp_path / "t.html")
    size = {"width": 1200, "height": 700, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    browser.get(f"file://{tmp_path / 't.html'}")


def test_the_details_and_the_times_are_in_sight_with_many_lanes(browser, tmp_path):
    several_devices(browser, tmp_path)
    script = """
    const box = document.getElementById("lanes"), top = box.getBoundingClientRect().top;
    box.scrollTop = 1000;
    return [box.scrollTop, document.getElementById("detail").getBoundingClientRect().bottom - top];
    """
    scrolled, below = run(browser, script)
    assert scrolled > 0 and below < 700
    assert ["0 ns", scrolled + 10] in [[text, y] for text, _, y in texts(browser)]


@pytest.mark.parametrize("count", [1, 6])
def test_memory_is_aligned_with_the_lanes(browser, tmp_path, count):
    several_devices(browser, tmp_path, count)
    for width in (1200, 390):
        size = {"width": width, "height": 700, "deviceScaleFactor": 1, "mobile": False}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        browser.execute_async_script("const done = arguments[0]; setTimeout(done, 200)")
        script = """
        const canvas = document.getElementById("canvas"), place = canvas.getBoundingClientRect();
        const plots = [...document.querySelectorAll(".u-over")].map((each) => each.getBoundingClientRect());
        return [canvas.width - place.width, ...plots.map((each) => each.left - place.left)];
        """
        wider, *left = browser.execute_script(script)
        (zero,) = [x - 3 for text, x, _ in texts(browser) if text == "0 ns"]
        assert wider == pytest.approx(-2) and left == pytest.approx([zero] * count, abs=2)


def test_rows_of_tables_are_low_on_a_narrow_page(opened):
    page = opened(400, width=390)
    heights = run(page, "return [...document.querySelectorAll('tbody tr')].map((each) => each.offsetHeight)")
    assert len(heights) > 20 and max(heights) < 90
