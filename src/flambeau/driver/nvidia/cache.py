"""Private cache files that processes of the same user share and trust.

- The directory is private.  A file or directory is not trusted if another user owns it or may write it.  Links are not
  trusted either, nor a file whose content and name do not match the digest in its header.
- A directory that others can write is made private at the first write.  Files that others put or moved there are not
  trusted: a file must belong to this user, and its digest covers its name.
- Files are written atomically.  A directory that cannot be used costs time, never a result.
- A claim is an exclusive lock on a file of its own, which the system releases when its process ends.  The holder
  removes the file; a process that has locked a removed file tries again.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import stat
import tempfile
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ... import config

MAGIC = b"flambeau cubin 2\n"
HEADER_BYTES = len(MAGIC) + hashlib.sha256().digest_size
OTHERS_MAY_WRITE = stat.S_IWGRP | stat.S_IWOTH
CLAIM_WAIT_S = 60.0  # a process that holds a claim for longer counts as stuck: others stop waiting
CLAIM_POLL_S = 0.005


class PrivateFiles:
    """Files by name in a private directory, which is created at the first write."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def read(self, name: str) -> bytes | None:
        """Return the content stored under `name`; None if there is none, or it cannot be trusted."""
        try:
            if not _is_private(os.lstat(self.directory)):
                return None
            descriptor = os.open(self.directory / name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        except OSError:  # it is missing or unreadable: the caller creates it
            return None
        with os.fdopen(descriptor, "rb") as file:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode) or not _is_private(status):
                return None
            return unsealed(file.read(), name)

    def write(self, name: str, content: bytes) -> None:
        """Store `content` under `name`; if that fails, warn with the reason."""
        try:
            self._make_private()
            self._replace(name, sealed(content, name))
        except OSError as failure:
            warnings.warn(
                f"compiled kernels are not kept, so every process compiles them again: {failure}; "
                "FLAMBEAU_CACHE names another directory",
                RuntimeWarning,
                stacklevel=2,
            )

    @contextmanager
    def claimed(self, name: str, wait_s: float = CLAIM_WAIT_S) -> Iterator[bool]:
        """Hold an exclusive claim of `name` inside a `with` block; other processes' claims wait.

        Yields False, without a claim, if files cannot be locked or another process holds the claim for `wait_s`.
        """
        path = self.directory / f"{name}.claim"
        descriptor = self._claim(path, time.monotonic() + wait_s)
        try:
            yield descriptor is not None
        finally:
            if descriptor is not None:
                _release(descriptor, path)

    def _claim(self, path: Path, deadline: float) -> int | None:
        try:
            self._make_private()
            while True:
                descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
                if _lock(descriptor, deadline) and _is_still_at(descriptor, path):
                    return descriptor
                os.close(descriptor)
                if time.monotonic() >= deadline:
                    return None
        except OSError:  # no such directory, or it does not support locks: `write` warns
            return None

    def _make_private(self) -> None:
        self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = os.lstat(self.directory)
        if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid():
            raise PermissionError(f"{self.directory} is not a directory of this user")
        if status.st_mode & OTHERS_MAY_WRITE:
            self.directory.chmod(0o700)

    def _replace(self, name: str, content: bytes) -> None:
        descriptor, temporary = tempfile.mkstemp(dir=self.directory, prefix=".new-")
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(content)
            os.replace(temporary, self.directory / name)
        except OSError:
            os.unlink(temporary)
            raise


class NoFiles(PrivateFiles):
    """A file store that stores nothing."""

    def read(self, name: str) -> bytes | None:
        return None

    def write(self, name: str, content: bytes) -> None:
        """Do nothing."""

    @contextmanager
    def claimed(self, name: str, wait_s: float = 0.0) -> Iterator[bool]:
        yield False


def files_of(part: str) -> PrivateFiles:
    """Return the files of one part of the disk cache, in the directory that the environment selects."""
    return (PrivateFiles if config.keeps_kernels() else NoFiles)(config.cache_directory() / part)


def sealed(content: bytes, name: str) -> bytes:
    """Return the content, preceded by a header with a digest of content and name."""
    return _header(content, name) + content


def unsealed(whole: bytes, name: str) -> bytes | None:
    """Return the sealed content of `name`, or None if it is damaged."""
    content = whole[HEADER_BYTES:]
    return content if whole[:HEADER_BYTES] == _header(content, name) else None


def _header(content: bytes, name: str) -> bytes:
    return MAGIC + hashlib.sha256(f"{name}\n".encode() + content).digest()


def _is_private(status: os.stat_result) -> bool:
    return status.st_uid == os.geteuid() and not status.st_mode & OTHERS_MAY_WRITE


def _lock(descriptor: int, deadline: float) -> bool:
    """Lock the file; return False if another process holds the lock until the deadline (time.monotonic)."""
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                return False
            time.sleep(CLAIM_POLL_S)
        except OSError:
            os.close(descriptor)
            raise
        else:
            return True


def _is_still_at(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), os.lstat(path))
    except FileNotFoundError:
        return False


def _release(descriptor: int, path: Path) -> None:
    path.unlink(missing_ok=True)
    fcntl.flock(descriptor, fcntl.LOCK_UN)  # closing alone keeps the lock if a forked child has the file open
    os.close(descriptor)
