"""NVRTC, the compiler, and its version without loading it.

The version names cached files, so it is needed before one can be read.  It is remembered in the cache beside the
compiler's library as it was then: path, size and time of change.  A library that was changed, or a process that would
look for it elsewhere, remembers nothing, and the compiler is loaded and asked.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
from functools import cache
from typing import Any

from ...errors import AcceleratorError
from . import library
from .cache import PrivateFiles
from .prebuilt_cubins import OPTIONS, Version

SEARCHED = ("LD_LIBRARY_PATH", "CUDA_HOME", "CUDA_PATH", "CONDA_PREFIX")  # besides packages


@cache
def nvrtc_version() -> Version:
    """(major, minor) of the compiler.  Raises AcceleratorError if it cannot be loaded."""
    nvrtc = library.nvrtc_bindings()
    try:
        result = nvrtc.nvrtcVersion()
    except RuntimeError as failure:
        raise AcceleratorError(
            f"NVRTC, which compiles kernels, cannot be loaded: {failure}",
            hint="pip install nvidia-cuda-nvrtc (nvidia-cuda-nvrtc-cu12 for CUDA 12)",
        ) from failure
    major, minor = library.check(result, "nvrtcVersion")
    return int(major), int(minor)


def supported() -> list[str]:
    """The architectures that it compiles for, such as "sm_90"; none if it cannot be loaded."""
    try:
        numbers = library.check(library.nvrtc_bindings().nvrtcGetSupportedArchs(), "nvrtcGetSupportedArchs")
    except RuntimeError:  # no bindings, or no compiler: only what is shipped can run
        return []
    return [f"sm_{number}" for number in numbers]


def compiled(entry: str, source: str, arch: str) -> bytes:
    """The machine code of a source.  Raises AcceleratorError with the compiler's log."""
    nvrtc = library.nvrtc_bindings()
    created = nvrtc.nvrtcCreateProgram(source.encode(), f"{entry}.cu".encode(), 0, [], [])
    program = library.check(created, "nvrtcCreateProgram", kernel=entry)
    try:
        options = [f"--gpu-architecture={arch}".encode(), *(option.encode() for option in OPTIONS)]
        result = nvrtc.nvrtcCompileProgram(program, len(options), options)
        if result[0]:
            log = _read(nvrtc.nvrtcGetProgramLogSize, nvrtc.nvrtcGetProgramLog, program).rstrip(b"\0").decode()
            library.check(result, f"nvrtcCompileProgram of {entry} for {arch}", log=f"\n{log.strip()}\n")
        return _read(nvrtc.nvrtcGetCUBINSize, nvrtc.nvrtcGetCUBIN, program)
    finally:
        library.check(nvrtc.nvrtcDestroyProgram(program), "nvrtcDestroyProgram")


def _read(size_of: Any, read: Any, program: Any) -> bytes:
    buffer = bytearray(library.check(size_of(program), size_of.__name__))  # never bytes: the call writes into it
    library.check(read(program, buffer), read.__name__)
    return bytes(buffer)


def remembered(files: PrivateFiles) -> Version | None:
    """The version of the compiler that this process would load, or None if only loading it would tell."""
    content = files.read(_memory_name())
    if content is None:
        return None
    found = json.loads(content)
    major, minor = found["version"]
    return (major, minor) if found["library"] == _state_of(found["library"]["path"]) else None


def remember(files: PrivateFiles, version: Version) -> None:
    """Store the loaded compiler's version in the cache."""
    path = _library_path()
    if path is not None and remembered(files) != version:
        files.write(_memory_name(), json.dumps({"version": version, "library": _state_of(path)}).encode())


def _memory_name() -> str:
    """The file name for this process's search path of the compiler."""
    packages = importlib.util.find_spec("nvidia")
    places = [*((packages and packages.submodule_search_locations) or ())]
    places += [os.environ.get(name, "") for name in SEARCHED]
    return f"nvrtc-{hashlib.sha256(json.dumps([places, library.bindings_version()]).encode()).hexdigest()[:16]}"


def _library_path() -> str | None:
    """The path of the loaded compiler, or None if the bindings do not report it."""
    try:
        from cuda.pathfinder import load_nvidia_dynamic_lib
    except ImportError:  # the bindings of CUDA 12.8 and before
        return None
    path = load_nvidia_dynamic_lib("nvrtc").abs_path
    return str(path) if path else None


def _state_of(path: str) -> dict[str, Any]:
    try:
        found = os.stat(path)
    except OSError:  # it is gone: unlike anything that was remembered
        return {}
    return {"path": path, "nbytes": found.st_size, "changed_ns": found.st_mtime_ns}
