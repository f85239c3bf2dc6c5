"""Kernels to machine code, and the files that keep it.

- NVRTC makes cubins, never PTX: an older driver cannot read a newer compiler's PTX.  No GPU is needed.
- A file is named by everything that decides its content: source, options, architecture, NVRTC's version.
- The directory is private.  A file or directory that is another user's, or that others may write, is not trusted;
  neither is a file whose content does not have the digest in its header.  What is not trusted is made again.
- Files appear whole or not at all.  A cache that cannot be used costs time, never a result.
"""

from __future__ import annotations

import hashlib
import os
import stat
import tempfile
import warnings
from functools import cache
from pathlib import Path
from typing import Any

from ... import config
from ...errors import AcceleratorError
from ...kernel import Kernel
from . import library

OPTIONS = ("--std=c++17", "-default-device")
MAGIC = b"flambeau cubin 1\n"
DIGEST_BYTES = 32
OTHERS_MAY_WRITE = stat.S_IWGRP | stat.S_IWOTH


def compile_cubin(kernel: Kernel, arch: str) -> bytes:
    """The machine code of a kernel for an architecture such as "sm_90", from the disk cache or compiled now.

    Raises: AcceleratorError with the compiler's log if the source does not compile, or there is no NVRTC.
    """
    key = cache_key(kernel.source, arch, nvrtc_version())
    files = CubinFiles(config.cache_directory() / "cubin")
    cubin = files.read(key)
    if cubin is None:
        cubin = _compile(library.nvrtc_bindings(), kernel, arch)
        files.write(key, cubin)
    return cubin


def cache_key(source: str, arch: str, version: tuple[int, int]) -> str:
    """A name for the result of compiling `source`: a hex digest."""
    digest = hashlib.sha256()
    for part in (source, arch, f"{version[0]}.{version[1]}", *OPTIONS):
        encoded = part.encode()
        digest.update(len(encoded).to_bytes(8, "little"))
        digest.update(encoded)
    return digest.hexdigest()


@cache
def nvrtc_version() -> tuple[int, int]:
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


def _compile(nvrtc: Any, kernel: Kernel, arch: str) -> bytes:
    name = f"{kernel.entry}.cu"
    created = nvrtc.nvrtcCreateProgram(kernel.source.encode(), name.encode(), 0, [], [])
    program = library.check(created, "nvrtcCreateProgram", kernel=kernel.entry)
    try:
        options = [f"--gpu-architecture={arch}".encode(), *(option.encode() for option in OPTIONS)]
        result = nvrtc.nvrtcCompileProgram(program, len(options), options)
        if result[0]:
            log = _read(nvrtc.nvrtcGetProgramLogSize, nvrtc.nvrtcGetProgramLog, program).rstrip(b"\0").decode()
            what = f"nvrtcCompileProgram of {kernel.entry} for {arch}"
            library.check(result, what, log=f"\n{log.strip()}\n")
        return _read(nvrtc.nvrtcGetCUBINSize, nvrtc.nvrtcGetCUBIN, program)
    finally:
        library.check(nvrtc.nvrtcDestroyProgram(program), "nvrtcDestroyProgram")


def _read(size_of: Any, read: Any, program: Any) -> bytes:
    buffer = bytearray(library.check(size_of(program), size_of.__name__))  # never bytes: the call writes into it
    library.check(read(program, buffer), read.__name__)
    return bytes(buffer)


class CubinFiles:
    """Compiled kernels in a private directory."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def read(self, key: str) -> bytes | None:
        """The content stored under `key`, or None if there is none that can be trusted."""
        try:
            if not _is_private(os.lstat(self.directory)):
                return None
            descriptor = os.open(self._path(key), os.O_RDONLY | os.O_NOFOLLOW)
        except OSError:  # there is none, or it cannot be read: the caller compiles
            return None
        with os.fdopen(descriptor, "rb") as file:
            if not _is_private(os.fstat(descriptor)):
                return None
            return _unseal(file.read())

    def write(self, key: str, content: bytes) -> None:
        """Store `content` under `key`, or warn why it cannot be kept."""
        try:
            self._make_private()
            self._replace(key, _seal(content))
        except OSError as failure:
            warnings.warn(
                f"compiled kernels are not kept, so every process compiles them again: {failure}; "
                "FLAMBEAU_CACHE names another directory",
                RuntimeWarning,
                stacklevel=2,
            )

    def _make_private(self) -> None:
        self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = os.lstat(self.directory)
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
            raise PermissionError(f"{self.directory} is not a directory of this user")
        if found.st_mode & OTHERS_MAY_WRITE:
            self.directory.chmod(0o700)

    def _replace(self, key: str, sealed: bytes) -> None:
        descriptor, temporary = tempfile.mkstemp(dir=self.directory, prefix=".new-")
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(sealed)
            os.replace(temporary, self._path(key))
        except OSError:
            os.unlink(temporary)
            raise

    def _path(self, key: str) -> Path:
        return self.directory / f"{key}.cubin"


def _is_private(found: os.stat_result) -> bool:
    return found.st_uid == os.geteuid() and not found.st_mode & OTHERS_MAY_WRITE


def _seal(content: bytes) -> bytes:
    return MAGIC + hashlib.sha256(content).digest() + content


def _unseal(sealed: bytes) -> bytes | None:
    """The content, or None if it is damaged."""
    start = len(MAGIC) + DIGEST_BYTES
    content = sealed[start:]
    return content if sealed[:start] == MAGIC + hashlib.sha256(content).digest() else None
