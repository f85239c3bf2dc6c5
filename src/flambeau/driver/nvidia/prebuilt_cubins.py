"""Prebuilt cubins shipped with the package: one zip file per architecture, written by `scripts/build`.

- A kernel is found by its source text, the options and the architecture, independent of the compiler's version.  No
  compiler is needed; but a driver does not load code of a compiler with a newer major version of CUDA.
- The file is trusted like the package's code, which has the same write permissions.  It may be damaged, so each entry
  has a digest; a kernel with a wrong digest is compiled instead.
- A zip file holds names and bytes; reading it runs nothing.
"""

from __future__ import annotations

import hashlib
import struct
import warnings
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from .cache import sealed, unsealed

DIRECTORY = Path(__file__).parent / "cubins"
OPTIONS = ("--std=c++17", "-default-device")
COMMENT = "nvrtc "
LEVEL = 9
EPOCH = (1980, 1, 1, 0, 0, 0)  # the time of each entry: equal inputs give equal files
DAMAGE = (OSError, EOFError, RuntimeError, ValueError, struct.error, zlib.error, zipfile.BadZipFile)

Version = tuple[int, int]


def cache_key(source: str, arch: str, version: Version | None, options: Sequence[str] = ()) -> str:
    """Return the key of compiled code, a hex digest.  version: of NVRTC; None for any.  options: besides OPTIONS."""
    digest = hashlib.sha256()
    made_by = f"{version[0]}.{version[1]}" if version else "any"
    for part in (source, arch, made_by, *OPTIONS, *options):
        encoded = part.encode()
        digest.update(len(encoded).to_bytes(8, "little"))
        digest.update(encoded)
    return digest.hexdigest()


class Archive:
    """The prebuilt kernels of one architecture; empty if the file is missing or damaged."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.version: Version = (0, 0)  # of the NVRTC that made it
        self._zip: zipfile.ZipFile | None = None
        self._names: frozenset[str] = frozenset()
        try:
            self._open()
        except FileNotFoundError:  # nothing was built ahead for this architecture
            return
        except DAMAGE as failure:
            self._warn(failure)

    def __len__(self) -> int:
        return len(self._names)

    def read(self, key: str) -> bytes | None:
        """Return a kernel's machine code; None if it is absent or damaged."""
        if self._zip is None or _name(key) not in self._names:
            return None
        try:
            content = unsealed(self._zip.read(_name(key)), key)
        except DAMAGE as failure:
            content = None
            self._warn(failure)
        else:
            if content is None:
                self._warn(ValueError(f"{key} does not have its digest"))
        return content

    def _open(self) -> None:
        opened = zipfile.ZipFile(self.path)
        major, minor = opened.comment.decode().removeprefix(COMMENT).split(".")
        self.version = int(major), int(minor)
        self._zip, self._names = opened, frozenset(opened.namelist())

    def _warn(self, failure: BaseException) -> None:
        warnings.warn(
            f"{self.path} is damaged, so kernels are compiled instead: {failure}; install flambeau again",
            RuntimeWarning,
            stacklevel=3,
        )


@cache
def archive(arch: str) -> Archive:
    """Return the prebuilt kernels for an architecture such as "sm_90"."""
    return Archive(DIRECTORY / f"{arch}.zip")


def architectures() -> dict[str, int]:
    """Return the number of shipped kernels per architecture."""
    return {path.stem: len(archive(path.stem)) for path in sorted(DIRECTORY.glob("sm_*.zip"))}


def write_archive(path: Path, cubins: Mapping[str, bytes], version: Version) -> int:
    """Write an archive of {key: machine code}; return its size in bytes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_suffix(".new")
    with zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED, compresslevel=LEVEL) as file:
        file.comment = f"{COMMENT}{version[0]}.{version[1]}".encode()
        for key in sorted(cubins):
            info = zipfile.ZipInfo(_name(key), EPOCH)
            info.compress_type = zipfile.ZIP_DEFLATED
            file.writestr(info, sealed(cubins[key], key), compresslevel=LEVEL)
    temporary.replace(path)
    return path.stat().st_size


def _name(key: str) -> str:
    return f"{key}.cubin"
