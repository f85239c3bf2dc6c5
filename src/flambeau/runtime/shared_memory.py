"""Host memory shared between processes, through file descriptors or files.

- A shared storage lies in an unnamed file whose descriptor is sent to receivers (strategy "file_descriptor"), or in a
  named file in a private directory, which needs no open descriptor (strategy "file_system").  The file is made when the
  storage is first shared; the storage moves there, with every tensor that uses it.
- The size of an unnamed file is sealed.  A named file is deleted by the process that made it, when its storage is freed
  or the process ends.  Files of killed processes are deleted when another process makes its first named file.
- A message is a fixed struct: the address of the sender and the number of a handle.  The sender keeps the storage until
  it is received.
- A receiver checks owner, type and size of a file.  It reuses a storage that it has received before.
- Accesses of different processes are not ordered.
"""

from __future__ import annotations

import atexit
import ctypes
import errno
import fcntl
import mmap
import os
import re
import stat
import struct
import tempfile
import threading
import weakref
from functools import cache
from pathlib import Path
from typing import Any

from .. import channel, host
from ..channel import NAME_BYTES, SERVICE_BYTES, Answer, Peer
from ..config import is_whole_number
from ..core import host_storage
from ..core.locks import whole
from ..core.queue import hooks
from ..core.storage import Storage
from ..dtypes import uint8
from ..errors import ArgumentError, ConfigError, FlambeauError
from ..kernel import Access
from .ipc import Exports, Handle, ask

STRATEGIES = ("file_descriptor", "file_system")
MAGIC = b"flmb-hst"
SEALS = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW
_MESSAGE = struct.Struct(f"<8s{NAME_BYTES}s{SERVICE_BYTES}sQ")
_REQUEST = struct.Struct("<cQ")
_ANSWER = struct.Struct("<Q40s")  # size in bytes; name of the file, empty if a descriptor is sent instead
_TAKE, _DONE = b"t", b"d"
_PRIVATE = 0o700


class SharedFile:
    """A file that holds a storage.  descriptor: -1 for a named file."""

    __slots__ = ("_maker", "array", "descriptor", "identity", "name", "nbytes")

    def __init__(self, nbytes: int, descriptor: int, name: str = "", is_maker: bool = False) -> None:
        self.nbytes = nbytes
        self.name = name
        self.descriptor = descriptor
        self._maker = os.getpid() if is_maker else 0
        status = os.fstat(descriptor)
        self.identity = status.st_dev, status.st_ino
        self.array = host.np.frombuffer(_mapped(descriptor, max(nbytes, 1)), "uint8", nbytes)
        if name:
            os.close(descriptor)
            self.descriptor = -1

    def __del__(self) -> None:
        if self.descriptor >= 0:
            os.close(self.descriptor)
        if self._maker == os.getpid():
            (_directory() / self.name).unlink(missing_ok=True)


class SharingError(FlambeauError, OSError, RuntimeError):
    """The system refuses to share memory.  `errno` is its number."""


@cache
def _libc() -> ctypes.CDLL:
    libc = ctypes.CDLL(None, use_errno=True)
    size = ctypes.c_size_t
    libc.mmap.argtypes = ctypes.c_void_p, size, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_ssize_t
    libc.mmap.restype = ctypes.c_void_p
    libc.munmap.argtypes = ctypes.c_void_p, size
    return libc


def _mapped(descriptor: int, nbytes: int) -> Any:
    """Map a file until the buffer is freed.  Unlike Python's mmap, the mapping keeps no duplicate of the descriptor."""
    address = _libc().mmap(None, nbytes, mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_SHARED, descriptor, 0)
    if address == ctypes.c_void_p(-1).value:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    buffer = (ctypes.c_uint8 * nbytes).from_address(address)
    weakref.finalize(buffer, _libc().munmap, address, nbytes).atexit = False
    return buffer


class Host:
    """Shared host memory of this process."""

    def __init__(self) -> None:
        self.strategy = STRATEGIES[0]
        self.exports = Exports()
        self.files: weakref.WeakKeyDictionary[Storage, SharedFile] = weakref.WeakKeyDictionary()
        self._known: weakref.WeakValueDictionary[tuple[int, int], Storage] = weakref.WeakValueDictionary()
        self._lock = threading.RLock()
        self._service = b""

    def share(self, storage: Storage) -> SharedFile:
        """Move a storage into a file, unless it is already in one."""
        with self._lock:
            file = self.files.get(storage)
            if file is None:
                if hooks.on_host_read is not None:
                    hooks.on_host_read(Access(storage.address(), uint8, "r", (storage.nbytes,), None))
                array = storage.array()
                file = _new_file(storage.nbytes, self.strategy)
                file.array[:] = array
                self._adopt(storage, file)
            return file

    def _adopt(self, storage: Storage, file: SharedFile) -> None:
        _move(storage, file.array)
        self.files[storage] = file
        self._known[file.identity] = storage

    def send(self, storage: Storage, site: str, route: object = None) -> bytes:
        """Return the message by which a process receives the storage; see ipc.Exchange.send."""
        file = self.share(storage)
        endpoint = channel.endpoint()
        if self._service not in endpoint.services:
            self._service = endpoint.serve(self)
        answer = _ANSWER.pack(file.nbytes, file.name.encode())
        number = self.exports.issue(Handle(storage, None, answer, 0, route, site))
        return _MESSAGE.pack(MAGIC, endpoint.name, self._service, number)

    def asked(self, peer: Peer, request: bytes) -> Answer:
        if len(request) != _REQUEST.size:
            raise ArgumentError(f"a request of {len(request)} bytes", operator="multiprocessing")
        action, number = _REQUEST.unpack(request)
        if action == _DONE:
            self.exports.done(number, peer)
            return b"", ()
        handle = self.exports.take(number, peer)
        assert handle.storage is not None
        file = self.files[handle.storage]
        try:
            return handle.answer, () if file.name else (os.dup(file.descriptor),)
        except OSError:  # too many open files
            self.exports.put_back(handle)
            raise

    def lost(self, peer: Peer) -> None:
        self.exports.lost(peer)

    def receive(self, message: bytes) -> Storage:
        """Receive the storage of a message.  Each message can be received once.

        Raises: ProcessGoneError if the sender has ended, or the tensor was received already or withdrawn;
                ArgumentError for a malformed message, or a file with the wrong owner, size or seals.
        """
        if not isinstance(message, bytes) or len(message) != _MESSAGE.size or not message.startswith(MAGIC):
            raise ArgumentError(
                f"this is not a message of a CPU tensor: {message[:16]!r}, {len(message)} bytes", operator="receive"
            )
        _, name, service, number = _MESSAGE.unpack(message)
        name = name.rstrip(b"\0")
        if name == channel.endpoint().name:
            handle = self.exports.take(number, None)
            storage = handle.storage
            assert storage is not None
            self.exports.done(number, None)
            return storage
        sender = channel.endpoint().connect(name)
        done = _REQUEST.pack(_DONE, number)
        answer, files = ask(sender, service, _REQUEST.pack(_TAKE, number), done)
        try:
            return self._opened(answer, files)
        finally:
            sender.tell(service, done)

    def _opened(self, answer: bytes, files: list[int]) -> Storage:
        if len(answer) != _ANSWER.size:
            raise ArgumentError(f"an answer of {len(answer)} bytes", operator="receive")
        nbytes, raw = _ANSWER.unpack(answer)
        name = raw.rstrip(b"\0").decode("ascii", "replace")
        descriptor = files[0] if files else _open_named(name)
        try:
            _check(descriptor, nbytes, sealed=not name)
        except BaseException:
            os.close(descriptor)
            raise
        file = SharedFile(nbytes, descriptor, name)
        with self._lock:
            storage = self._known.get(file.identity)
            if storage is None:
                storage = host_storage.from_array(file.array)
                self._adopt(storage, file)
            return storage

    def after_fork(self) -> None:
        """Reset the tables in a forked child: files stay shared, and tensors in flight belong to the parent."""
        self.exports, self._lock, self._service = Exports(), threading.RLock(), b""


_host = Host()
os.register_at_fork(after_in_child=_host.after_fork)


def host_side() -> Host:
    """Return the shared host memory of this process."""
    return _host


def set_strategy(new_strategy: str) -> None:
    """Set the strategy for storages that are shared from now on: "file_descriptor" or "file_system".

    "file_descriptor" passes a descriptor of anonymous memory; "file_system" passes the name of a file.
    Raises: ConfigError for any other name.
    Example:
        >>> torch.multiprocessing.set_sharing_strategy("file_system")
        >>> torch.multiprocessing.get_sharing_strategy()
        'file_system'
        >>> torch.multiprocessing.set_sharing_strategy("file_descriptor")
    """
    if new_strategy not in STRATEGIES:
        raise ConfigError(f"sharing strategy {new_strategy!r} is unknown", hint=f"use one of {', '.join(STRATEGIES)}")
    _host.strategy = new_strategy


HINTS = {
    errno.EMFILE: "each shared storage has an open file: raise the limit with `ulimit -n`, "
    "or use torch.multiprocessing.set_sharing_strategy('file_system')",
    errno.ENOSPC: "the file system of shared memory is full: make it larger (docker run --shm-size=8g), "
    "or use torch.multiprocessing.set_sharing_strategy('file_descriptor')",
}


def _new_file(nbytes: int, strategy: str) -> SharedFile:
    try:
        return _new_named_file(nbytes) if strategy == "file_system" else _new_unnamed_file(nbytes)
    except OSError as error:
        refusal = SharingError(
            f"cannot allocate {nbytes} bytes of shared memory: {error.strerror}",
            hint=HINTS.get(error.errno or 0, ""),
            operator="share_memory_",
        )
        refusal.errno = error.errno
        raise refusal from error


def _new_unnamed_file(nbytes: int) -> SharedFile:
    descriptor = os.memfd_create("flambeau-shared", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    try:
        os.ftruncate(descriptor, max(nbytes, 1))
        fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, SEALS)
    except OSError:
        os.close(descriptor)
        raise
    return SharedFile(nbytes, descriptor)


def _new_named_file(nbytes: int) -> SharedFile:
    directory = _directory()
    _sweep(directory)
    name = f"{os.getpid()}-{os.urandom(12).hex()}"
    descriptor = os.open(directory / name, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        os.posix_fallocate(descriptor, 0, max(nbytes, 1))  # a write into a full file system would be a SIGBUS
    except OSError:
        os.close(descriptor)
        (directory / name).unlink()
        raise
    return SharedFile(nbytes, descriptor, name, is_maker=True)


def _open_named(name: str) -> int:
    if not re.fullmatch(r"\d+-[0-9a-f]{24}", name):
        raise ArgumentError(f"{name!r} is not the name of a shared file", operator="receive")
    return os.open(_directory() / name, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)


def _check(descriptor: int, nbytes: int, sealed: bool) -> None:
    """Raise ArgumentError unless a regular file of this user has at least that size.  sealed: it must be sealed too."""
    status = os.fstat(descriptor)
    seals = fcntl.fcntl(descriptor, fcntl.F_GET_SEALS) if sealed else SEALS
    if (
        status.st_uid != os.geteuid()
        or not stat.S_ISREG(status.st_mode)
        or status.st_size < nbytes
        or seals & SEALS != SEALS
    ):
        raise ArgumentError(
            f"the file has mode {status.st_mode:o}, owner {status.st_uid}, {status.st_size} bytes and seals "
            f"{seals}; expected {nbytes} bytes of user {os.geteuid()}, sealed",
            operator="receive",
        )


def _directory() -> Path:
    """Return this user's private directory for shared files.  Raises ConfigError if another user owns it."""
    parent = Path("/dev/shm") if os.path.isdir("/dev/shm") else Path(tempfile.gettempdir())
    directory = parent / f"flambeau-{os.geteuid()}"
    directory.mkdir(_PRIVATE, exist_ok=True)
    status = directory.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid() or stat.S_IMODE(status.st_mode) != _PRIVATE:
        raise ConfigError(
            f"{directory}: mode {status.st_mode:o}, owner {status.st_uid}; "
            f"a directory of user {os.geteuid()} with mode {_PRIVATE:o} is needed",
            hint="remove it, or use set_sharing_strategy('file_descriptor')",
        )
    return directory


def _sweep(directory: Path) -> None:
    """Delete the files of ended processes, once per process; at exit, this process's files."""
    global _swept_by
    if _swept_by == os.getpid():
        return
    _swept_by = os.getpid()
    atexit.register(_delete_own, directory, os.getpid())
    for path in directory.iterdir():
        pid = path.name.partition("-")[0]
        if is_whole_number(pid) and not host.is_process_alive(int(pid)):
            path.unlink(missing_ok=True)


def _delete_own(directory: Path, pid: int) -> None:
    if pid == os.getpid():
        for path in directory.glob(f"{pid}-*"):
            path.unlink(missing_ok=True)


_swept_by = 0


@whole
def _move(storage: Storage, array: Any) -> None:
    """Move a storage to the memory of a uint8 NumPy array, which already holds its bytes."""
    if storage._owner is not None:
        storage._owner.free(storage.block)
    storage.block = storage._owner = None
    storage._address = host.address_of(array)
    storage._has_address = True
    storage._array = array
    storage.whole = storage.whole_layout = None
