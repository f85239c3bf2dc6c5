"""Pipes between a process and its workers: any object both ways, with the bytes of its CPU tensors copied once.

- A message is one packet of a local socket.  If it exceeds INLINE_BYTES, the bytes are in an unnamed file whose
  descriptor comes with the packet.  The kernel frees the file after its last use, even if either process is killed.
- Views of one storage that overlap still overlap after the transfer.  Other views bring only their own part of the
  storage.  Tensors on a GPU, and in memory that is shared already, are sent by handle (reductions.py).
- A large batch that a worker stacks is placed in its own file from the start (`SharedStack`), and that file is sent.
- The receiver reads a file of at most COPIED_BYTES into its own memory, and maps a larger one.
- Closing one end ends `receive` at the other, also if forked children have inherited copies of the socket.
"""

from __future__ import annotations

import ctypes
import functools
import io
import mmap
import multiprocessing
import os
import pickle
import select
import socket
import struct
import sys
import threading
import traceback
import weakref
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from math import prod
from multiprocessing import reduction
from typing import Any, NamedTuple

from .. import host
from ..channel import process_descriptor
from ..core import host_storage
from ..core.queue import hooks
from ..core.storage import Storage
from ..core.tensor import tensor_over
from ..dtypes import BY_NAME, uint8
from ..errors import AcceleratorError, FlambeauError
from ..kernel import Access
from ..strides import contiguous, extent
from ..tensor.tensor import Tensor
from . import reductions

INLINE_BYTES = 4096
COPIED_BYTES = 1 << 18
ALIGNMENT = 64  # bytes, of each block of a message
PARENT_LOOK_MS = 5000  # ms between checks that the parent is alive, where a pidfd cannot be opened
MAX_BUFFERS = 512  # per call of writev
MAX_FILES = 32  # sent with a message besides its own; the kernel allows 253 in all (SCM_MAX_FD)
_HEAD = struct.Struct("<QQ")  # bytes of the table and of the pickled object; the blocks follow
_LENGTH = struct.Struct("<Q")  # bytes of the file


class TooManyFilesError(FlambeauError, RuntimeError):
    """A message arrived without its file: this process cannot open more files."""


class _Pickler(reduction.ForkingPickler):
    """A pickler that replaces CPU tensors by indexes.  spans: the storage and bytes [start, end) of each."""

    def __init__(self, file: io.BytesIO) -> None:
        super().__init__(file, pickle.HIGHEST_PROTOCOL)
        self.spans: list[tuple[Storage, int, int]] = []

    def reducer_override(self, value: Any) -> Any:
        if type(value) is not Tensor or value.is_cuda or value.is_shared():
            return NotImplemented
        reductions.check_leaf(value)
        dtype, shape, strides = value.dtype, tuple(value.shape), tuple(value.strides)
        if hooks.on_host_read is not None:
            hooks.on_host_read(Access(value.address(), dtype, "r", shape, strides))
        start = value._offset * dtype.itemsize
        nbytes = extent(shape, strides) * dtype.itemsize if value.numel() else 0
        self.spans.append((value._storage, start, start + nbytes))
        return _tensor, (len(self.spans) - 1, dtype.name, shape, strides, value.requires_grad, value.grad)


class _Message(NamedTuple):
    """A message to send.  files: storages whose files come with it."""

    buffers: list[Any]
    files: list[Storage]


def _packed(value: Any) -> _Message:
    """Pickle an object.  The buffers are head, table, the pickled object, and blocks, each of them padded."""
    file = io.BytesIO()
    pickler = _Pickler(file)
    pickler.dump(value)
    blocks, files, places = _blocks(pickler.spans)
    sizes = [len(block) for block in blocks] + [-storage.nbytes for storage in files]
    described = pickle.dumps((sizes, places), pickle.HIGHEST_PROTOCOL)
    data = file.getbuffer()
    buffers: list[Any] = [_HEAD.pack(len(described), len(data)), described, data]
    end = _HEAD.size + len(described) + len(data)
    for block in blocks:
        padding = -end % ALIGNMENT
        buffers += [bytes(padding), block]
        end += padding + len(block)
    return _Message(buffers, files)


def _blocks(spans: list[tuple[Storage, int, int]]) -> tuple[list[Any], list[Storage], list[tuple[int, int]]]:
    """Return (blocks of bytes, storages sent by their files, each span's block and offset).

    The storages count as blocks after the others.  Overlapping spans share a block.
    """
    files: list[Storage] = []
    if _stacks:
        for of, _, _ in spans:
            if len(files) < MAX_FILES and _file_of(of) is not None and not any(storage is of for storage in files):
                files.append(of)
    order = sorted(range(len(spans)), key=lambda index: (id(spans[index][0]), spans[index][1]))
    places: list[tuple[int, int]] = [(0, 0)] * len(spans)
    ranges: list[list[Any]] = []  # storage, start, end
    for index in order:
        of, start, end = spans[index]
        if any(storage is of for storage in files):
            continue
        if not ranges or ranges[-1][0] is not of or start >= ranges[-1][2]:
            ranges.append([of, start - start % ALIGNMENT, end])  # so that every type's elements stay aligned
        ranges[-1][2] = max(ranges[-1][2], end)
        places[index] = len(ranges) - 1, start - ranges[-1][1]
    for number, storage in enumerate(files, len(ranges)):
        for index, (of, start, _) in enumerate(spans):
            if of is storage:
                places[index] = number, start
    return [memoryview(of.array()[start:end]) for of, start, end in ranges], files, places


# Stacks of this worker: the array over each storage's memory, and its file.
_stacks: weakref.WeakKeyDictionary[Storage, tuple[Any, int]] = weakref.WeakKeyDictionary()
_is_worker = False


def shares_batches() -> bool:
    """Return whether this process sends its batches through a pipe."""
    return _is_worker


class SharedStack:
    """Arrays of one type and shape, stacked in a file that a message can take along."""

    def __init__(self) -> None:
        self._file = os.memfd_create("flambeau-batch", os.MFD_CLOEXEC)
        self._close = weakref.finalize(self, os.close, self._file)

    def add(self, arrays: Sequence[Any]) -> None:
        _write_all(self._file, [host.np.ascontiguousarray(array).reshape(-1).view(host.np.uint8) for array in arrays])

    def array(self, dtype: Any, shape: tuple[int, ...]) -> Any:
        """Return an array over the first elements."""
        return _mapped(self._file, prod(shape) * dtype.itemsize).view(dtype).reshape(shape)

    def tensor(self, dtype: Any, shape: tuple[int, ...]) -> Any:
        """Return a tensor over all elements, which owns the file from now on."""
        array = _mapped(self._file, prod(shape) * dtype.itemsize)
        of = host_storage.from_array(array)
        _stacks[of] = array, self._file
        self._close.detach()
        weakref.finalize(of, os.close, self._file)
        return tensor_over(of, BY_NAME[dtype.name], shape, contiguous(shape))


def _file_of(of: Storage) -> int | None:
    """Return the file of a stack; None if its storage has been given other memory since."""
    array, file = _stacks.get(of, (None, -1))
    return file if array is not None and of.array() is array else None


class _Opening(threading.local):
    """The message that this thread unpickles."""

    storages: list[Storage] = []
    places: list[tuple[int, int]] = []


_opening = _Opening()


def _tensor(
    number: int, dtype_name: str, shape: tuple[int, ...], strides: tuple[int, ...], requires_grad: bool, grad: Any
) -> Any:
    block, start = _opening.places[number]
    tensor: Any = tensor_over(
        _opening.storages[block], BY_NAME[dtype_name], shape, strides, start // BY_NAME[dtype_name].itemsize
    )
    if requires_grad:
        tensor.requires_grad_(True)
    tensor.grad = grad
    return tensor


def _opened(message: Any, files: list[int]) -> Any:
    """Unpickle the object of a message, a writable uint8 array whose memory its tensors share.

    files: those of stacks, which are mapped.
    """
    stacks = iter(files)
    described, pickled = _HEAD.unpack_from(message)
    at = _HEAD.size + described
    sizes, places = pickle.loads(message[_HEAD.size : at])
    data = message[at : at + pickled]
    at += pickled
    storages = []
    for nbytes in sizes:
        if nbytes < 0:
            storages.append(host_storage.from_array(_mapped(next(stacks), -nbytes)))
            continue
        at += -at % ALIGNMENT
        storages.append(host_storage.from_array(message[at : at + nbytes]))
        at += nbytes
    former = _opening.storages, _opening.places
    _opening.storages, _opening.places = storages, places
    try:
        return pickle.loads(data)
    finally:
        _opening.storages, _opening.places = former


class WorkerPipe:
    """One end of a pipe between a process and its worker."""

    def __init__(self, end: socket.socket) -> None:
        end.setblocking(False)
        self._socket = end
        self._unsent: deque[_Message] = deque()

    def fileno(self) -> int:
        return self._socket.fileno()

    def post(self, value: Any) -> None:
        """Send an object now or, if the pipe is full, at the next `post` or `flush`.  Host: returns at once."""
        self._unsent.append(_packed(value))
        self.flush()

    def flush(self) -> None:
        """Send posted messages while there is space; does nothing if the other end is closed."""
        while self._unsent:
            message = self._unsent.popleft()
            try:
                self._transmit(message)
            except BlockingIOError:
                self._unsent.appendleft(message)
                return
            except ConnectionError:  # noticed by the side that waits for an answer
                self._unsent.clear()

    @property
    def is_full(self) -> bool:
        """Whether a posted message is still unsent."""
        return bool(self._unsent)

    def _transmit(self, message: _Message) -> None:
        total = sum(map(len, message.buffers))
        files = [file for storage in message.files if (file := _file_of(storage)) is not None]
        if total <= INLINE_BYTES:
            packet = b"".join(message.buffers)
            if files:
                socket.send_fds(self._socket, [packet], files)
            else:
                self._socket.send(packet)
            return
        file = os.memfd_create("flambeau-message", os.MFD_CLOEXEC)
        try:
            _write_all(file, message.buffers)
            socket.send_fds(self._socket, [_LENGTH.pack(total)], [file, *files])
        finally:
            os.close(file)

    def receive(self) -> Any:
        """Return the next object.  Host: returns at once.

        Raises: BlockingIOError if no message has arrived, EOFError after the last; TooManyFilesError if this process
                cannot open the message's files.
        """
        try:
            packet, files, flags, _ = socket.recv_fds(
                self._socket, INLINE_BYTES, 1 + MAX_FILES, socket.MSG_CMSG_CLOEXEC
            )  # fmt: skip
        except ConnectionError as error:
            raise EOFError from error
        if not packet:
            raise EOFError
        try:
            if flags & socket.MSG_CTRUNC:
                raise TooManyFilesError(
                    "a batch arrived without its shared memory: Too many open files",
                    hint="raise the limit with `ulimit -n`",
                    operator="DataLoader",
                )
            if len(packet) == _LENGTH.size:
                return _opened(_file_bytes(files[0], _LENGTH.unpack(packet)[0]), files[1:])
            return _opened(_copied(packet), files)
        finally:
            for file in files:
                os.close(file)

    def close(self) -> None:
        """Close this end; messages sent before can still be received."""
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._unsent.clear()

    def forget(self) -> None:
        """Close this process's copy of another process's end."""
        self._socket.close()

    def __del__(self) -> None:
        self._socket.close()

    def __reduce__(self) -> tuple[Any, ...]:
        return _end_of, (reduction.DupFd(self._socket.fileno()),)


def _end_of(descriptor: Any) -> WorkerPipe:
    return WorkerPipe(socket.socket(fileno=descriptor.detach()))


def pair() -> tuple[WorkerPipe, WorkerPipe]:
    """Return both ends of a new pipe."""
    one, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    return WorkerPipe(one), WorkerPipe(other)


def _write_all(file: int, buffers: list[Any]) -> None:
    left = deque(memoryview(buffer).cast("B") for buffer in buffers if len(buffer))
    while left:
        written = os.writev(file, [left[index] for index in range(min(len(left), MAX_BUFFERS))])
        while left and written >= len(left[0]):
            written -= len(left.popleft())
        if written:
            left[0] = left[0][written:]


def _copied(packet: bytes) -> Any:
    array = host_storage.on_host(len(packet)).array()
    array[:] = host.np.frombuffer(packet, host.np.uint8)
    return array


def _file_bytes(file: int, nbytes: int) -> Any:
    """Return the bytes of a file as an array."""
    if nbytes > COPIED_BYTES:
        return _mapped(file, nbytes)
    array = host_storage.on_host(nbytes).array()
    done = 0
    while done < nbytes:
        done += os.preadv(file, [memoryview(array)[done:]], done)
    return array


class _Mapping:
    """A file's bytes in this process's memory.  Unlike mmap.mmap it keeps no file open, so any number may be alive."""

    __slots__ = ("__weakref__", "address")

    def __init__(self, file: int, nbytes: int) -> None:
        library = _memory_calls()
        self.address = library.mmap(None, nbytes, mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_SHARED, file, 0)
        if self.address == _FAILED:
            error = ctypes.get_errno()
            raise OSError(error, f"{nbytes} bytes of a batch cannot be mapped: {os.strerror(error)}")
        weakref.finalize(self, library.munmap, self.address, nbytes).atexit = False


@functools.cache
def _memory_calls() -> Any:
    """Return the C library, with the types of `mmap` and `munmap`."""
    library = ctypes.CDLL(None, use_errno=True)
    library.mmap.restype = ctypes.c_void_p
    library.mmap.argtypes = [
        ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long,
    ]  # fmt: skip
    library.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    return library


_FAILED = ctypes.c_void_p(-1).value


def _mapped(file: int, nbytes: int) -> Any:
    """Return the bytes of a file as an array that shares its memory."""
    mapping = _Mapping(file, nbytes)
    return host.array_at(mapping.address, uint8, (nbytes,), None, mapping)


class WorkerEnd:
    """The worker's end of a pipe.  It waits for messages until its parent ends.

    Messages are read ahead, so that the parent never waits for space.
    """

    def __init__(self, pipe: WorkerPipe) -> None:
        global _is_worker
        _is_worker = True
        self._pipe = pipe
        self._inbox: deque[Any] = deque()
        self._is_closed = False
        parent = multiprocessing.parent_process()
        assert parent is not None and parent.pid is not None
        self._parent: int = parent.pid
        self._parent_file = process_descriptor(parent.pid)

    def receive(self) -> Any:
        """Return the next object.  Host: waits.  Raises EOFError at the end."""
        self._read()
        while not self._inbox and not self._is_closed:
            self._wait(select.POLLIN)
            self._read()
        if self._is_closed:  # even with tasks left, as their results are no longer needed
            raise EOFError
        return self._inbox.popleft()

    def send(self, value: Any) -> None:
        """Send an object.  Host: waits for space.  Raises EOFError if the other end is closed, or pickle's error."""
        self._pipe.post(value)
        while self._pipe.is_full and not self._is_closed:
            self._wait(select.POLLIN | select.POLLOUT)
            self._read()
            self._pipe.flush()
        if self._is_closed:
            raise EOFError

    def _read(self) -> None:
        while not self._is_closed:
            try:
                self._inbox.append(self._pipe.receive())
            except BlockingIOError:
                return
            except EOFError:
                self._is_closed = True

    def _wait(self, events: int) -> None:
        """Wait until the pipe is ready; count it as closed if the parent has ended."""
        poll = select.poll()
        poll.register(self._pipe, events)
        if self._parent_file is not None:
            poll.register(self._parent_file, select.POLLIN)
        ready = poll.poll(None if self._parent_file is not None else PARENT_LOOK_MS)
        if self._parent_file is None:
            self._is_closed |= not ready and not host.is_process_alive(self._parent)
        else:
            self._is_closed |= any(file == self._parent_file for file, _ in ready)


class WorkerException:
    """An exception as its type and its text with the traceback.

    It refers to no frame, so it keeps no tensor of its thread alive.  Unpickled, it has its type or, if that cannot be
    imported by name, the nearest base class that can.
    where: where it was caught, such as "in replica 1 on device cuda:1".
    """

    def __init__(self, error: BaseException, where: str) -> None:
        self.type = type(error)
        self.text = f"Caught {self.type.__name__} {where}.\nOriginal {''.join(traceback.format_exception(error))}"
        self.facts = (error.error_code, error.sticky) if isinstance(error, AcceleratorError) else None

    def __reduce__(self) -> tuple[Any, ...]:
        known = next(base for base in self.type.__mro__ if _is_importable(base))
        return _restored, (known, self.text, self.facts)

    def again(self) -> BaseException:
        """Make an exception of the same type with the whole text; a RuntimeError if the type does not accept a text.

        A type with an attribute `message` gets the text by that name.
        """
        text = _KeyText(self.text) if issubclass(self.type, KeyError) else self.text
        by_name = isinstance(getattr(self.type, "message", None), str)
        make: Any = self.type
        try:
            error: BaseException = make(message=text) if by_name else make(text)
        except Exception:  # noqa: BLE001  (a user's class may raise anything)
            return RuntimeError(self.text)
        if self.facts is not None and isinstance(error, AcceleratorError):
            error.error_code, error.sticky = self.facts
        return error


class _KeyText(str):
    """Text of a KeyError, whose str is the repr of its argument: this repr is the text itself."""

    __slots__ = ()
    __repr__ = str.__str__


def _is_importable(cls: type) -> bool:
    return getattr(sys.modules.get(cls.__module__), cls.__qualname__, None) is cls


def _restored(cls: type[BaseException], text: str, facts: Any) -> WorkerException:
    exception = object.__new__(WorkerException)
    exception.type, exception.text, exception.facts = cls, text, facts
    return exception
