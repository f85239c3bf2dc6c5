"""What a result needs beside its figures, and how it is shown."""

from __future__ import annotations

import os
import platform
import subprocess
from importlib import metadata
from typing import Any

import flambeau

PACKAGES = ("numpy", "torch", "cuda-bindings", "nvidia-cuda-nvrtc", "nvidia-cublas")


def machine() -> dict[str, Any]:
    """The machine and the versions that a result was made with."""
    count = flambeau.cuda.device_count()
    return {
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


def table(found: dict[str, Any]) -> str:
    """The counts and the times, in few columns."""
    where = found["machine"]
    versions = ", ".join(f"{name} {version}" for name, version in where["versions"].items() if version)
    lines = [f"{', '.join(where['gpus']) or 'no GPU'} · {where['cpu']} · Python {where['python']} · {versions}"]
    lines += ["", "counts per warm call"]
    for each in found["counts"]:
        listed = ", ".join(f"{count} {name}" for name, count in each["counts"].items()) or "nothing"
        lines.append(f"  {each['name']:<24}{listed}")
    for kind, title in (("host", "host time per call, µs"), ("device", "device"), ("startup", "a new process")):
        rows = [each for each in found["times"] if each["kind"] == kind]
        if rows:
            lines += ["", f"{title:<26}{'flambeau':>22}{'PyTorch':>22}"]
        for each in rows:
            cells = "".join(f"{_cell(each.get(side)):>22}" for side in ("flambeau", "torch"))
            lines.append(f"  {each['name']:<18}{each['unit']:>6}{cells}")
    return "\n".join(lines)


def _cell(figures: dict[str, Any] | None) -> str:
    """`median (p10 to p90)`."""
    if figures is None:
        return "-"
    return f"{figures['median']:.4g} ({figures['p10']:.4g}–{figures['p90']:.4g})"
