"""Collectives of several processes by NCCL, through ctypes.

- Each stream has its own communicator, which all members create in the stream's first exchange.  For messages between
  two processes, the communicators of both directions are created together: each process may begin with either one.
- Communicators are blocking: a call returns when its work is on the stream.  NCCL has no timeouts; a thread of the
  process aborts communicators (`abort_exchanges`) once it is known that other processes will not take part.
- Collectives that only move values send bytes.  NCCL knows no bitwise reductions and no 16-bit integers; bool is uint8,
  of which the largest is the logical or.
- NCCL reads its own variables (`NCCL_...`) from the environment.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from ctypes import POINTER, byref, c_char_p, c_int, c_size_t, c_ubyte, c_void_p
from functools import cache
from threading import Lock
from typing import TYPE_CHECKING, Any

from ...core.nvidia import Stream
from ...dtypes import (
    bfloat16,
    bool_,
    dtype,
    float16,
    float32,
    float64,
    int8,
    int32,
    int64,
    uint8,
    uint32,
    uint64,
)
from ...errors import AcceleratorError, NotSupportedError
from ...kernel import Access
from ..api import Address, Exchange, Step, StreamHandle
from .devices import Devices, Table
from .library import SUCCESS, check_nccl, declare, in_wheels, open_first, packaged

SONAME = "libnccl.so.2"
UNIQUE_ID_BYTES = 128  # NCCL_UNIQUE_ID_BYTES
# Seconds that an abort waits for a call of another thread to return.  An abort during a call may crash; a first message
# between two members, which connects them, can take more than 5 s where many processes share the GPUs.
ABORT_WAIT = 30.0
IN_PROGRESS = 7  # ncclInProgress

# nccl.h: ncclDataType_t, ncclRedOp_t
BYTES = 0
DATA_TYPES: dict[dtype, int] = {
    int8: 0, uint8: 1, int32: 2, uint32: 3, int64: 4, uint64: 5, float16: 6, float32: 7, float64: 8, bfloat16: 9,
}  # fmt: skip
SUM, PRODUCT, MAX, MIN, AVG = range(5)
REDUCTIONS = {"SUM": SUM, "PRODUCT": PRODUCT, "MAX": MAX, "MIN": MIN, "AVG": AVG}
BOOL_REDUCTIONS = {"SUM": MAX, "PRODUCT": MIN, "MAX": MAX, "MIN": MIN}
REDUCING = ("all_reduce", "reduce", "reduce_scatter")


class UniqueId(ctypes.Structure):
    """ncclUniqueId, which NCCL takes by value."""

    _fields_ = (("internal", c_ubyte * UNIQUE_ID_BYTES),)


SIGNATURES: dict[str, tuple[Any, ...]] = {
    "ncclGetVersion": (POINTER(c_int),),
    "ncclGetUniqueId": (POINTER(UniqueId),),
    "ncclCommInitRank": (POINTER(c_void_p), c_int, UniqueId, c_int),
    "ncclCommDestroy": (c_void_p,),
    "ncclCommAbort": (c_void_p,),
    "ncclCommGetAsyncError": (c_void_p, POINTER(c_int)),
    "ncclGroupStart": (),
    "ncclGroupEnd": (),
    # input, output, elements, type, then reduction and root, communicator, stream
    "ncclAllReduce": (c_void_p, c_void_p, c_size_t, c_int, c_int, c_void_p, c_void_p),
    "ncclReduce": (c_void_p, c_void_p, c_size_t, c_int, c_int, c_int, c_void_p, c_void_p),
    "ncclReduceScatter": (c_void_p, c_void_p, c_size_t, c_int, c_int, c_void_p, c_void_p),
    "ncclBroadcast": (c_void_p, c_void_p, c_size_t, c_int, c_int, c_void_p, c_void_p),
    "ncclAllGather": (c_void_p, c_void_p, c_size_t, c_int, c_void_p, c_void_p),
    # memory, elements, type, the other process, communicator, stream
    "ncclSend": (c_void_p, c_size_t, c_int, c_int, c_void_p, c_void_p),
    "ncclRecv": (c_void_p, c_size_t, c_int, c_int, c_void_p, c_void_p),
}


@cache
def load() -> Any | None:
    """Return the library with its signatures declared, or None if it is not installed."""
    library = open_first(*packaged("nccl"), *in_wheels(SONAME), SONAME)
    if library is not None:
        declare(library, SIGNATURES)
        declare(library, {"ncclGetErrorString": (c_int,), "ncclGetLastError": (c_void_p,)}, c_char_p)
    return library


def version() -> tuple[int, int, int] | None:
    """Return the library's version; None if it is not installed."""
    library = load()
    if library is None:
        return None
    number = c_int()
    check_nccl(library.ncclGetVersion(byref(number)), "ncclGetVersion", "")
    major, rest = divmod(number.value, 10_000)
    return major, *divmod(rest, 100)


class Communicator:
    """An ncclComm_t.  Its device must be current when a method other than `failure` is called."""

    def __init__(self, library: Any, unique_id: bytes, size: int, rank: int, stream: Stream) -> None:
        """Create the communicator, together with the other members.  Raises AcceleratorError."""
        self._library = library
        self._lock = Lock()
        self._stream = stream
        handle = c_void_p()
        status = library.ncclCommInitRank(byref(handle), size, UniqueId.from_buffer_copy(unique_id), rank)
        self._raw = handle.value
        self._check(status, "ncclCommInitRank", size=size, rank=rank, device=stream.device)

    def run(self, steps: Sequence[Step]) -> None:
        """Put steps on the stream, as one operation.  Raises AcceleratorError."""
        with self._lock:
            if self._raw is None:
                raise AcceleratorError("the communicator has been aborted", operator="exchange")
            if len(steps) == 1:
                self._call(steps[0])
                return
            self._check(self._library.ncclGroupStart(), "ncclGroupStart")
            try:
                for step in steps:
                    self._call(step)
            finally:
                ended = self._library.ncclGroupEnd()
            self._check(ended, "ncclGroupEnd")

    def _call(self, step: Step) -> None:
        library, raw, stream = self._library, self._raw, self._stream.raw
        kind, source, target, reduction, peer = step
        if kind in REDUCING:
            assert source is not None
            at = None if target is None else target.address
            nbytes = target.nbytes if kind == "reduce_scatter" and target is not None else source.nbytes
            how = nbytes // source.dtype.itemsize, _type_of(source.dtype), _reduction_of(reduction, source.dtype)
            if kind == "all_reduce":
                status = library.ncclAllReduce(source.address, at, *how, raw, stream)
            elif kind == "reduce":
                status = library.ncclReduce(source.address, at, *how, peer, raw, stream)
            else:
                status = library.ncclReduceScatter(source.address, at, *how, raw, stream)
        elif kind == "broadcast":
            memory = _only(source or target)
            status = library.ncclBroadcast(memory.address, memory.address, memory.nbytes, BYTES, peer, raw, stream)
        elif kind == "all_gather":
            memory = _only(source)
            status = library.ncclAllGather(memory.address, _only(target).address, memory.nbytes, BYTES, raw, stream)
        else:
            memory, call = _only(source or target), library.ncclSend if kind == "send" else library.ncclRecv
            status = call(memory.address, memory.nbytes, BYTES, peer, raw, stream)
        if status:
            self._check(status, kind, nbytes=_only(source or target).nbytes, peer=peer, device=self._stream.device)

    def failure(self) -> str:
        """Return the text of NCCL's asynchronous error; "" if there is none, or during a call of another thread."""
        if not self._lock.acquire(blocking=False):
            return ""
        try:
            status = c_int()
            if self._raw is None or self._library.ncclCommGetAsyncError(self._raw, byref(status)):
                return ""
            return "" if status.value in (SUCCESS, IN_PROGRESS) else self._text(status.value)
        finally:
            self._lock.release()

    def abort(self) -> None:
        """Abort the communicator.

        Waits at most ABORT_WAIT for a call of another thread to return, then aborts anyway: that may end the call.
        """
        is_held = self._lock.acquire(timeout=ABORT_WAIT)
        try:
            raw, self._raw = self._raw, None
            if raw is not None:
                self._library.ncclCommAbort(raw)
        finally:
            if is_held:  # only now: the process may end once `destroy` returns in another thread
                self._lock.release()

    def destroy(self) -> None:
        """Destroy the communicator, whose work is done."""
        with self._lock:
            raw, self._raw = self._raw, None
            if raw is not None:
                self._check(self._library.ncclCommDestroy(raw), "ncclCommDestroy", device=self._stream.device)

    def _check(self, status: int, what: str, **values: Any) -> None:
        if status:
            check_nccl(status, what, self._text(status), **values)

    def _text(self, status: int) -> str:
        texts = self._library.ncclGetErrorString(status), self._library.ncclGetLastError(self._raw)
        return ": ".join(text.decode(errors="replace").strip() for text in texts if text)


def _only(access: Access | None) -> Access:
    assert access is not None
    return access


def _type_of(of: dtype) -> int:
    return DATA_TYPES[uint8 if of is bool_ else of]


def _reduction_of(name: str, of: dtype) -> int:
    return (BOOL_REDUCTIONS if of is bool_ else REDUCTIONS)[name]


def can_run(step: Step) -> bool:
    """Return whether NCCL has a step's type and reduction."""
    if step.kind not in REDUCING:
        return True
    of = _only(step.source).dtype
    return step.reduction in BOOL_REDUCTIONS if of is bool_ else step.reduction in REDUCTIONS and of in DATA_TYPES


class ExchangeCalls:
    """The exchange calls of the Driver."""

    _devices: Devices
    _streams: Table[Stream]
    if TYPE_CHECKING:

        def mem_alloc(self, device: int, nbytes: int) -> Address: ...
        def mem_free(self, device: int, address: Address) -> None: ...
        def stream_synchronize(self, stream: StreamHandle) -> None: ...

    def __init__(self) -> None:
        super().__init__()
        self._communicators: dict[StreamHandle, Communicator] = {}

    def runs_steps(self, steps: Sequence[Step]) -> bool:
        return load() is not None and all(map(can_run, steps))

    def exchange(
        self, exchange: Exchange, inputs: Sequence[Access], outputs: Sequence[Access], stream: StreamHandle
    ) -> None:
        of, steps = self._streams[stream], exchange.steps
        if steps is None:
            raise NotSupportedError(
                f"{exchange.name}: streams of NVIDIA GPUs run steps only",
                hint="its values pass through the host: backend='gloo'",
                operator="exchange",
            )
        with self._devices.use(of.device):
            if stream not in self._communicators:
                self._join(exchange, of.device)
            if steps:
                self._communicators[stream].run(steps)

    def _join(self, exchange: Exchange, device: int) -> None:
        """Create the communicators, together with the other members.  Blocks the host until all have joined."""
        library, streams = load(), exchange.streams
        ids = exchange.join(lambda: b"".join(new_id(library) for _ in streams), self._devices.uuid(device))
        for index, stream in enumerate(streams):
            unique_id = ids[index * UNIQUE_ID_BYTES : (index + 1) * UNIQUE_ID_BYTES]
            communicator = Communicator(library, unique_id, exchange.size, exchange.rank, self._streams[stream])
            self._communicators[stream] = communicator
        if len(streams) > 1:  # the communicators of both directions of messages
            for stream in streams:
                self._connect(self._communicators[stream], stream, device, 1 - exchange.rank)

    def _connect(self, communicator: Communicator, stream: StreamHandle, device: int, peer: int) -> None:
        """Exchange a byte with the other member.  Blocks the host.

        The first message of a communicator waits on the host for the other member's call.  If that were a message of
        the program, two members that send to each other before they receive would wait forever.
        """
        sent = self.mem_alloc(device, 2)
        received = Address(sent + 1)
        try:
            send = Step("send", Access(sent, uint8, "r", (1,), None), None, peer=peer)
            communicator.run([send, Step("receive", None, Access(received, uint8, "w", (1,), None), peer=peer)])
            self.stream_synchronize(stream)
        finally:
            self.mem_free(device, sent)

    def serve_exchanges(self) -> None:
        """Do nothing: the devices run exchanges."""

    def exchange_failure(self) -> str:
        return next(filter(None, (communicator.failure() for communicator in list(self._communicators.values()))), "")

    def abort_exchanges(self, streams: Sequence[StreamHandle] | None = None) -> None:
        for stream, communicator in list(self._communicators.items()):
            if streams is not None and stream not in streams:
                continue
            with self._devices.enter(self._streams[stream].device):  # not `use`: deferred calls may be blocked
                communicator.abort()

    def await_exchanges(self) -> None:
        for stream in list(self._communicators):
            self.stream_synchronize(stream)

    def finish_exchanges(self, streams: Sequence[StreamHandle] | None = None) -> None:
        for stream in list(self._communicators) if streams is None else streams:
            communicator = self._communicators.get(stream)
            if communicator is not None:
                self.stream_synchronize(stream)  # before it is forgotten: another thread may have to abort it
                with self._devices.use(self._streams[stream].device):
                    communicator.destroy()
                del self._communicators[stream]


def new_id(library: Any) -> bytes:
    """Return the id of a new communicator.  Raises AcceleratorError."""
    unique_id = UniqueId()
    check_nccl(library.ncclGetUniqueId(byref(unique_id)), "ncclGetUniqueId", "")
    return bytes(unique_id.internal)
