"""The machine and versions that a result records, and its printed table."""

from __future__ import annotations

import os
import platform
import subprocess
from collections import Counter
from datetime import UTC, datetime
from importlib import metadata
from typing import Any

import flambeau
import flambeau.core

from . import raw

HEADINGS = ("what", "unit", "flambeau", "PyTorch", "ratio", "target", "")
MAX_ERROR = 300  # characters
PACKAGES = ("torch", "numpy", "cuda-bindings", "nvidia-cuda-nvrtc", "nvidia-cublas", "nvidia-cudnn-cu13")


def machine() -> dict[str, Any]:
    """The machine and the versions that a result was made with."""
    count = flambeau.cuda.device_count()
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "python": platform.python_version(),
        "platform": platform.platform(),
        "cpu": _cpu(),
        "cores": os.cpu_count(),
        "gpus": [flambeau.cuda.get_device_name(index) for index in range(count)],
        "nvidia_driver": _nvidia_driver(),
        "FLAMBEAU_GPUS": os.environ.get("FLAMBEAU_GPUS", ""),
        "versions": {"flambeau": flambeau.__version__, **{name: _version(name) for name in PACKAGES}},
    }


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _cpu() -> str:
    try:
        with open("/proc/cpuinfo") as file:
            names = [line.partition(":")[2].strip() for line in file if line.startswith("model name")]
    except OSError:  # not Linux
        names = []
    return names[0] if names else platform.processor()


def _nvidia_driver() -> str | None:
    command = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()[0]
    except (OSError, subprocess.CalledProcessError):  # no NVIDIA driver here
        return None


def conditions() -> dict[str, Any]:
    """Facts known after a run: the libraries that both sides loaded, and how raw launches were made."""
    is_compiled = not str(flambeau.core.plan.__file__).endswith(".py")
    return {"loaded": loaded(), "raw launches": raw.method(), "hot path": "compiled" if is_compiled else "uncompiled"}


def loaded() -> list[str]:
    """The files of NVIDIA's libraries in this process.  One file of a name means that both sides use it."""
    try:
        with open("/proc/self/maps") as maps:
            paths = {line.split(maxsplit=5)[-1].strip() for line in maps}
    except OSError:  # not Linux
        return []
    found = [path for path in paths if any(name in path for name in ("libcublasLt.so", "libcudnn.so"))]
    return sorted(path.rpartition("site-packages/")[2] for path in found)


def ordered(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Failures first, then the furthest from its target first; what has no verdict comes last."""
    return sorted(rows, key=lambda row: (not ("error" in row or "missing" in row), -row.get("distance", 0.0)))


def table(found: dict[str, Any]) -> str:
    """Format the counts and the rows, furthest from their targets first."""
    where = found["machine"]
    versions = ", ".join(f"{name} {version}" for name, version in where["versions"].items() if version)
    lines = [f"{', '.join(where['gpus']) or 'no GPU'} · {where['cpu']} · driver {where['nvidia_driver'] or 'none'}"]
    lines += [f"{where['date']} · Python {where['python']} · {versions}"]
    if found["counts"]:
        lines += ["", "counts per warm call", *map(_counted, found["counts"])]
    if found["rows"]:
        lines += ["", "median (10th to 90th percentile), furthest from its target first", ""]
        lines += aligned([HEADINGS, *map(_cells, ordered(found["rows"]))])
        lines += ["", *_raw(found), "", summary(found["rows"])]
    return "\n".join(lines)


def summary(rows: list[dict[str, Any]]) -> str:
    verdicts = Counter(_verdict(row) for row in rows)
    seconds = sum(row["seconds"] for row in rows)
    return ", ".join(f"{count} {name or 'without target'}" for name, count in verdicts.items()) + f"; {seconds:.0f} s"


def _verdict(row: dict[str, Any]) -> str:
    return next((name for name in ("error", "missing") if name in row), row.get("verdict", ""))


def _counted(each: dict[str, Any]) -> str:
    listed = ", ".join(f"{count} {name}" for name, count in each["counts"].items()) or "nothing"
    return f"  {each['name']:<24}{listed}"


def aligned(lines: list[tuple[str, ...]]) -> list[str]:
    """Columns as wide as their widest cell; a line of two cells is as long as it is."""
    widths = [max(len(cells[at]) for cells in lines if len(cells) > 2 or at == 0) for at in range(len(lines[0]))]
    return ["  ".join(f"{cell:<{width}}" for cell, width in zip(cells, widths)).rstrip() for cells in lines]


def _cells(row: dict[str, Any]) -> tuple[str, ...]:
    for failed in ("error", "missing"):
        if failed in row:
            return row["what"], f"{failed}: {' '.join(row[failed].split())[:MAX_ERROR]}"
    ratio = f"{row['ratio']:.3g}" if "ratio" in row else "-"
    figures = cell(row["flambeau"]), cell(row.get("torch"))
    return row["what"], row["unit"], *figures, ratio, row["target"], _verdict(row)


def _raw(found: dict[str, Any]) -> list[str]:
    """The raw driver's own figures, and what both sides loaded."""
    where = found["machine"]
    lines = [
        f"raw driver beside {row['what']}: {cell(row['raw'])} {row['unit']}" for row in found["rows"] if "raw" in row
    ]
    if "hot path" in where:
        lines += [f"raw launches: {where['raw launches']}; flambeau: {where['hot path']}"]
    return lines + [f"loaded: {path}" for path in where.get("loaded", ())]


def cell(figures: dict[str, Any] | None) -> str:
    """`median (p10–p90)`."""
    if figures is None:
        return "-"
    return f"{figures['median']:.4g} ({figures['p10']:.4g}–{figures['p90']:.4g})"
