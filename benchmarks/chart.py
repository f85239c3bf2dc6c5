"""A kept run as a picture: how many times as fast as PyTorch, on a logarithmic scale.

A self-contained SVG.  A bar to the right of the line is faster; colours follow the reader's light or dark scheme.
"""

from __future__ import annotations

import math
from html import escape
from typing import Any

WIDTH, LABELS, VALUES = 800, 320, 60  # pixels: of all, of the names, and of the numbers beside the bars
LINE, TOP, FONT = 20, 48, 12  # pixels
TIMES = ("µs", "ms")  # units of which less is better
TICKS = (0.25, 0.5, 1, 2, 4, 8, 16, 32, 64)
STYLE = """
text { font: 12px system-ui, sans-serif; fill: #1f2328 }
.title { font-size: 15px; font-weight: 600 } .small { font-size: 11px; fill: #59636e }
.faster { fill: #0b7a4b } .slower { fill: #c2571a } .grid { stroke: #d1d9e0 } .one { stroke: #1f2328 }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3 } .small { fill: #9198a1 } .faster { fill: #3fb981 } .slower { fill: #f0883e }
.grid { stroke: #3d444d } .one { stroke: #e6edf3 } }
"""


def speeds(found: dict[str, Any]) -> list[tuple[str, float]]:
    """(what, how many times as fast as PyTorch), in the order of measurement."""
    rows = [row for row in found["rows"] if row.get("ratio to") == "PyTorch"]
    return [(_name(row), 1 / row["ratio"] if row["unit"] in TIMES else row["ratio"]) for row in rows]


def _name(row: dict[str, Any]) -> str:
    is_host_time = row["unit"] == "µs" and not row.get("whole")
    return f"{row['what']}, host time" if is_host_time else row["what"]


def drawn(found: dict[str, Any]) -> str:
    """The SVG text."""
    bars = speeds(found)
    low, high = _range([speed for _, speed in bars])
    bottom = TOP + LINE * len(bars)
    parts = [f'<text class="title" x="8" y="20">{_title()}</text>', *_grid(low, high, bottom)]
    for number, (name, speed) in enumerate(bars):
        parts += _bar(name, speed, TOP + LINE * number, low, high)
    caption = _caption(found["machine"])
    parts += [f'<text class="small" x="8" y="{bottom + 34 + 15 * at}">{escape(text)}</text>'
              for at, text in enumerate(caption)]  # fmt: skip
    height = bottom + 30 + 15 * len(caption)
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{_title()}">'
    return "\n".join([head, f"<style>{STYLE}</style>", *parts, "</svg>", ""])


def _title() -> str:
    return "flambeau: how many times as fast as PyTorch"


def _range(values: list[float]) -> tuple[float, float]:
    """Ticks around all values."""
    low = max((tick for tick in TICKS if tick <= min([0.9, *values])), default=TICKS[0])
    return low, min((tick for tick in TICKS if tick >= max([2, *values])), default=TICKS[-1])


def _x(speed: float, low: float, high: float) -> float:
    share = math.log(min(max(speed, low), high) / low) / math.log(high / low)
    return round(LABELS + share * (WIDTH - LABELS - VALUES), 1)


def _grid(low: float, high: float, bottom: int) -> list[str]:
    lines = []
    for tick in TICKS:
        if low <= tick <= high:
            x = _x(tick, low, high)
            kind = "one" if tick == 1 else "grid"
            lines.append(f'<line class="{kind}" x1="{x}" x2="{x}" y1="{TOP - 4}" y2="{bottom}"/>')
            lines.append(f'<text class="small" x="{x}" y="{TOP - 10}" text-anchor="middle">{tick:g}×</text>')
    return lines


def _bar(name: str, speed: float, y: int, low: float, high: float) -> list[str]:
    one, end = _x(1, low, high), _x(speed, low, high)
    kind = "faster" if speed >= 1 else "slower"
    text, width = y + LINE - 7, max(abs(end - one), 1)
    return [
        f'<text x="{LABELS - 8}" y="{text}" text-anchor="end">{escape(name)}</text>',
        f'<rect class="{kind}" x="{min(one, end)}" y="{y + 3}" width="{width:.1f}" height="{LINE - 7}"/>',
        f'<text x="{max(one, end) + 5}" y="{text}">{speed:.2f}</text>',
    ]


def _caption(where: dict[str, Any]) -> list[str]:
    versions = where["versions"]
    named = ", ".join(f"{name} {versions[name]}" for name in ("flambeau", "torch", "nvidia-cublas") if versions[name])
    machine = ", ".join(where["gpus"])
    return [
        f"{machine}, driver {where['nvidia_driver']}, Python {where['python']}, {named}; {where['date']}.",
        "Medians of alternating rounds in one run; longer is faster. Host time: per call on 16x16 float32, "
        "of attention on 1x2x16x64 bfloat16.",
    ]
