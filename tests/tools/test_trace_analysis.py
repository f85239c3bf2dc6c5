"""Analysis of a trace: figures of a device, gaps and their causes, and the ranking."""

from __future__ import annotations

import pytest

import flambeau as torch
from flambeau.testing import machine
from flambeau.tools.trace import (
    Call,
    HostWait,
    MemoryPoint,
    Trace,
)
from flambeau.tools.trace_analysis import Analysis, common, duration, percent, union
from tests.tools.traces import made

MIB = 1 << 20


@pytest.fixture
def two():
    with machine(devices=2) as made:
        yield made


def test_figures_of_a_device():
    (each,) = Analysis(made()).figures
    assert (each.busy_ns, each.kernel_ns, each.copy_ns, each.overlapped_ns) == (290, 190, 100, 0)


def test_a_gap_is_split_at_what_was_waited_for():
    gaps = Analysis(made(waits=[HostWait(1, "item", 50, 150, "a.py:5", True, "why", "do so", span=0)])).gaps
    assert [(each.start_ns, each.end_ns, each.cause, each.site) for each in gaps] == [
        (0, 10, "host busy", "a.py:1"),
        (100, 200, "host blocked", "a.py:5"),
        (200, 300, "copy", "a.py:2"),
    ]
    assert "launched at a.py:1" in gaps[1].text


def test_the_ranking_has_the_largest_gain_first():
    found = made(waits=[HostWait(1, "item", 50, 150, "a.py:5", True, "why", "do so")])
    ranking = Analysis(found).ranking
    assert [(each.site, each.gain_ns) for each in ranking] == [("a.py:2", 100), ("a.py:5", 100), ("a.py:1", 10)]
    assert ranking[1].advice == "do so"
    (hidden,) = Analysis(found).hidden
    assert (hidden.site, hidden.times, hidden.blocked_ns, hidden.reason) == ("a.py:5", 1, 100, "why")


def test_a_line_that_leaves_two_devices_idle_gains_the_longer_time():
    found = made()
    found.spans += [each._replace(device=1) for each in found.spans[::2]]
    found.spans.sort()
    found.arrows.clear()
    sums = {each.site: (each.gain_ns, each.times) for each in Analysis(found).ranking}
    assert sums["a.py:1"] == (10, 2) and sums["a.py:3"] == (200, 2)


def test_other_causes_of_gaps():
    found = made()
    found.spans[1] = found.spans[1]._replace(name="sum")
    assert [(each.start_ns, each.end_ns, each.cause) for each in Analysis(found).gaps] == [
        (0, 10, "host busy"),
        (100, 200, "host busy"),
    ]
    other = made(memory=[MemoryPoint(0, 0, 1, 1), MemoryPoint(0, 150, 2, 2)])
    assert "allocation" in {each.cause for each in Analysis(other).gaps}
    device = made()
    device.spans[1] = device.spans[1]._replace(device=1, stream=0, name="sum")
    gaps = Analysis(device).gaps
    assert ("other stream", "a.py:2", 100) in {(each.cause, each.site, each.length_ns) for each in gaps}
    assert any("of cuda:1" in each.text for each in gaps)


def test_the_summary_has_five_lines():
    text = Analysis(made()).summary().splitlines()
    assert [each.split("  ")[0] for each in text] == ["busy", "idle", "blocked", "overlapped", "worst line"]
    assert "cuda:0 72 % of 400 ns (modelled)" in text[0] and "0 % of 100 ns" in text[3] and "a.py:2" in text[4]
    assert "nothing ran" in Analysis(Trace()).summary()
    found = made(waits=[HostWait(1, "item", 50, 150, "a.py:5", True, "why", "do so")])
    assert Analysis(found).summary().splitlines()[2].endswith("hidden in other calls; longest: item at a.py:5")
    found.calls.append(Call(1, "exit", 100_000, 100_001, "a.py:9"))
    assert "main cause of time without a kernel: nothing more was submitted" in Analysis(found).summary()


def test_copies_beside_kernels_overlap(two):
    host, side = torch.ones(MIB // 4).pin_memory(), torch.cuda.Stream()
    torch.cuda._sleep(1)
    torch.cuda.synchronize()
    with torch.profile() as found:
        torch.cuda._sleep(100_000_000)
        with torch.cuda.stream(side):
            y = host.to("cuda", non_blocking=True)
    (each,) = Analysis(found.trace).figures
    assert each.copy_ns == each.overlapped_ns > 0 and y.numel() == MIB // 4
    assert "100 % of" in found.summary()


def test_intervals():
    assert union([(5, 7), (0, 2), (2, 3), (6, 9), (4, 4)]) == [(0, 3), (5, 9)]
    assert common([(0, 10), (20, 30)], [(5, 25)]) == 10
    assert [duration(each) for each in (0, 5, 1500, 2_000_000, 3_250_000_000)] == [
        "0 ns", "5 ns", "1.5 µs", "2 ms", "3.25 s",
    ]  # fmt: skip
    assert percent(1, 3) == "33 %" and percent(1, 0) == "0 %"
