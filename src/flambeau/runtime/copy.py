"""Copies of contiguous bytes between storages: the route, the stream, the wait, and the memory kept alive.

| from | to | non_blocking | the host |
| --- | --- | --- | --- |
| pinned memory | device | yes | continues |
| pageable memory | device | yes | waits until the driver has read the bytes |
| host memory | device | no | waits for the stream |
| device | pinned memory | yes | continues |
| device | pinned memory | no | waits for the stream |
| device | pageable memory | either | waits for the stream |
| device | device | either | continues |

- Host to device: on the destination's current stream.  The pinned block of an asynchronous copy is kept until the copy
  is done.
- Device to host: on the source's current stream.  The result of an asynchronous copy can be waited for
  (pending_copies.py).
- On one device: on its current stream.
- While the stream is capturing, host memory must be pinned and the copy non_blocking; the graph keeps the memory.
- Between devices: on the *source's* current stream.  The copy follows the work submitted so far to the destination's
  current stream, and later work of that stream follows the copy.  `non_blocking` changes nothing.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import NamedTuple

from .. import callers
from ..core import thread
from ..core.call_errors import former_machine
from ..core.queue import hooks
from ..core.storage import Storage
from ..core.thread import CPU
from ..driver.api import CopyKind
from ..errors import AcceleratorError
from . import pending_copies, sync_debug
from .generator import CAPTURE_UNSUPPORTED
from .pending_copies import HostUse
from .stream import Stream


class Route(NamedTuple):
    """The path of a copy.  kind: the driver's copy kind, None where the host moves the bytes itself.

    waits: the host waits for the copy's stream;  is_staged: the driver copies pageable memory through its own buffer.
    reason: why the copy is or is not asynchronous;  hint: how to make it asynchronous.
    """

    name: str
    kind: CopyKind | None
    waits: bool
    is_staged: bool
    reason: str
    hint: str = ""

    @property
    def is_asynchronous(self) -> bool:
        """Whether the host continues at once."""
        return not (self.waits or self.is_staged or self.kind is None)


ON_HOST = Route("within host memory", None, False, False, "the host moves the bytes itself")
ON_DEVICE = Route(
    "within one device", CopyKind.DEVICE_TO_DEVICE, False, False, "it is work of the device's current stream"
)
BETWEEN_DEVICES = Route(
    "between devices", CopyKind.PEER, False, False, "streams wait for each other, the host does not; non_blocking "
    "changes nothing",
)  # fmt: skip

# by (whether the host's memory is pinned, non_blocking)
_FROM_HOST = {
    (True, True): Route(
        "from pinned memory directly to a device", CopyKind.HOST_TO_DEVICE, False, False,
        "the source is pinned and the copy non_blocking; the source must stay as it is until the copy is done",
    ),
    (True, False): Route(
        "from pinned memory directly to a device", CopyKind.HOST_TO_DEVICE, True, False,
        "the copy was not asked to be non_blocking",
        "pass non_blocking=True",
    ),
    (False, True): Route(
        "from pageable memory, staged by the driver, to a device", CopyKind.HOST_TO_DEVICE, False, True,
        "the source is pageable: the driver reads it during the call, and may wait for earlier work of the stream",
        "pin the source: pin_memory(), or pin_memory=True where it is made",
    ),
    (False, False): Route(
        "from pageable memory, staged by the driver, to a device", CopyKind.HOST_TO_DEVICE, True, True,
        "the source is pageable, and the copy was not asked to be non_blocking",
        "pin the source, as by pin_memory(), and pass non_blocking=True",
    ),
}  # fmt: skip
_TO_HOST = {
    (True, True): Route(
        "from a device directly to pinned memory", CopyKind.DEVICE_TO_HOST, False, False,
        "the target is pinned and the copy non_blocking; wait() on the result before its values are read",
    ),
    (True, False): Route(
        "from a device directly to pinned memory", CopyKind.DEVICE_TO_HOST, True, False,
        "the copy was not asked to be non_blocking",
        "pass non_blocking=True, and wait() on the result before its values are read",
    ),
    (False, True): Route(
        "from a device, staged by the driver, to pageable memory", CopyKind.DEVICE_TO_HOST, True, True,
        "the target is pageable",
        "copy into pinned memory: a target made with pin_memory=True, or to('cpu', non_blocking=True)",
    ),
    (False, False): Route(
        "from a device, staged by the driver, to pageable memory", CopyKind.DEVICE_TO_HOST, True, True,
        "the target is pageable, and the copy was not asked to be non_blocking",
        "to('cpu', non_blocking=True) gives pinned memory; wait() on the result before its values are read",
    ),
}  # fmt: skip


def route_of(target: Storage, source: Storage, non_blocking: bool) -> Route:
    """Return the route from one storage to another."""
    here, there = source.device, target.device
    if here is there:
        return ON_HOST if here is CPU else ON_DEVICE
    if here is CPU:
        return _FROM_HOST[source.is_pinned, bool(non_blocking)]
    return _TO_HOST[target.is_pinned, bool(non_blocking)] if there is CPU else BETWEEN_DEVICES


HOST_TO_DEVICE, DEVICE_TO_HOST = CopyKind.HOST_TO_DEVICE, CopyKind.DEVICE_TO_HOST


def copy_bytes(dst: Storage, dst_offset: int, src: Storage, src_offset: int, nbytes: int, non_blocking: bool) -> None:
    """Copy `nbytes` from one storage to another; offsets in bytes.  Host: see the module's table.

    Raises: AcceleratorError for memory of a former machine.
    """
    if nbytes == 0:
        return
    machine = thread.machine()
    for storage in (dst, src):
        if storage.device is not CPU and storage.device.machine is not machine:
            raise former_machine("copy", storage, machine)
    to, start = dst.address() + dst_offset, src.address() + src_offset
    route = route_of(dst, src, non_blocking)
    if route is ON_HOST:
        if hooks.on_route is not None:
            hooks.on_route(route, None, None, nbytes)
        ctypes.memmove(to, start, nbytes)
    elif route is BETWEEN_DEVICES:
        _between_devices(to, start, nbytes, src, dst)
    elif route is ON_DEVICE:
        stream = thread.current_stream(src.device.index)
        if hooks.on_route is not None:
            hooks.on_route(route, stream, None, nbytes)
        stream.copy(to, start, nbytes, CopyKind.DEVICE_TO_DEVICE)
    else:
        _with_host(route, to, start, nbytes, src, dst)


def _with_host(route: Route, to: int, start: int, nbytes: int, src: Storage, dst: Storage) -> None:
    """Copy between the host and a device, on the device's current stream."""
    is_from_host = src.device is CPU
    stream = thread.current_stream((dst if is_from_host else src).device.index)
    if hooks.on_route is not None:
        hooks.on_route(route, stream, None, nbytes)
    if stream.machine.capture is not None:
        _check_captured(stream, route)
    if route.waits:
        sync_debug.about_to_wait(stream.device_index)
    stream.copy(to, start, nbytes, HOST_TO_DEVICE if is_from_host else DEVICE_TO_HOST)
    if route.waits:
        _wait(stream, dst, src if is_from_host else dst)
    elif not is_from_host:
        _keep_until_done(dst, to, nbytes, True, stream)
    elif not route.is_staged:
        _keep_until_done(src, start, nbytes, False, stream)


def _wait(stream: Stream, dst: Storage, on_host: Storage) -> None:
    """Wait for a copy.  If the wait fails, the copy stays queued: it may still write `dst` and use pinned memory."""
    try:
        stream.synchronize()
    except BaseException:
        dst.version += 1
        on_host.record_stream(stream)
        raise


def _check_captured(stream: Stream, route: Route) -> None:
    """Raise AcceleratorError if the stream is capturing and the copy cannot be captured."""
    if route.is_asynchronous or not stream.is_capturing():
        return
    direction = "to" if route.kind is HOST_TO_DEVICE else "from"
    raise AcceleratorError(
        f"copy {direction} the device: {stream!r} is capturing, and the copy would wait or take memory that is not "
        f"pinned; called by {callers.caller()}",
        hint="move the copy out of the capture, or copy pinned memory with non_blocking=True",
        error_code=CAPTURE_UNSUPPORTED,
    )


def _keep_until_done(memory: Storage, low: int, nbytes: int, is_written: bool, stream: Stream) -> None:
    """Keep pinned memory alive until the copy is done, or as long as the graph that captured the copy."""
    capture = stream.machine.capture
    is_captured = capture is not None and stream.is_capturing()
    if is_captured or not is_written:  # else the pending copy keeps it
        memory.record_stream(stream)
    if is_captured:
        capture.keep(HostUse(memory, low, nbytes, is_written))
    elif stream.machine.strict is not None:
        pending_copies.expect((HostUse(memory, low, nbytes, is_written),), stream)
    elif is_written:
        pending_copies.add(memory, low, nbytes, stream, stream.record_event())


def _between_devices(to: int, start: int, nbytes: int, src: Storage, dst: Storage) -> None:
    """Copy between devices, ordered both ways with the destination's current stream."""
    copier, other = thread.current_stream(src.device.index), thread.current_stream(dst.device.index)
    copier.follow(other)
    queue_between(copier, other, to, start, nbytes)
    other.follow(copier)


def queue_between(copier: Stream, other: Stream, to: int, start: int, nbytes: int) -> None:
    """Queue a copy on `copier`, between its device and that of `other`.  The caller orders the streams."""
    copier.machine.devices[copier.device_index].peer(other.device_index)
    if hooks.on_route is not None:
        hooks.on_route(BETWEEN_DEVICES, copier, other, nbytes)
    copier.copy(to, start, nbytes, CopyKind.PEER)


def copy_between(moves: Sequence[tuple[Storage, int, Storage, int, int]]) -> None:
    """Make several copies between devices: (destination, its offset, source, its offset, bytes), offsets in bytes.

    The copies run on the current streams of their sources.  Streams wait once, not for every copy: before the first
    copy, each source's stream for the streams of its destinations; after the last, each destination's for its sources.
    """
    copies: list[tuple[tuple[Stream, Stream], int, int, int]] = []
    copiers: dict[int, Stream] = {}
    targets: dict[int, Stream] = {}
    pairs: dict[tuple[int, int], tuple[Stream, Stream]] = {}
    machine = thread.machine()
    for dst, dst_offset, src, src_offset, nbytes in moves:
        if src.device.machine is not machine:
            raise former_machine("copy", src, machine)
        if nbytes:
            source, target = src.device.index, dst.device.index
            pair = pairs.get((source, target))
            if pair is None:
                copiers[source], targets[target] = pair = thread.current_stream(source), thread.current_stream(target)
                pairs[source, target] = pair
                machine.devices[source].peer(target)
            copies.append((pair, dst.address() + dst_offset, src.address() + src_offset, nbytes))
    marks = {target: stream._marked() for target, stream in targets.items()}
    for (_, target), (copier, _) in pairs.items():
        copier.wait(marks[target])
    for (copier, other), to, start, nbytes in copies:
        if hooks.on_route is not None:
            hooks.on_route(BETWEEN_DEVICES, copier, other, nbytes)
        copier.copy(to, start, nbytes, CopyKind.PEER)
    marks = {source: stream._marked() for source, stream in copiers.items()}
    for (source, _), (_, other) in pairs.items():
        other.wait(marks[source])
