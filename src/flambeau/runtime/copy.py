"""Copies of contiguous bytes between storages: which stream, which wait, what is kept.  route.py says which way.

- Host to device: on the destination's current stream.  The pinned block of an asynchronous one is kept until it is
  done.
- Device to host: on the source's current stream.  What an asynchronous one writes can be waited for: pending_copies.py.
- On one device: on its current stream, at once.
- While the stream is capturing, host memory must be pinned and the copy non_blocking; the graph keeps the memory.
- Between devices: on the *source's* current stream, with a barrier both ways: the copy follows what the
  destination's current stream had, and that stream goes on after the copy.  `non_blocking` changes nothing.
"""

from __future__ import annotations

import ctypes

from .. import callers
from ..core import thread
from ..core.queue import hooks
from ..core.storage import Storage, former_machine
from ..core.thread import CPU
from ..driver.api import CopyKind
from ..errors import AcceleratorError
from . import pending_copies, sync_debug
from .generator import CAPTURE_UNSUPPORTED
from .pending_copies import HostUse
from .route import BETWEEN_DEVICES, ON_DEVICE, ON_HOST, Route, route_of
from .stream import Stream

HOST_TO_DEVICE, DEVICE_TO_HOST = CopyKind.HOST_TO_DEVICE, CopyKind.DEVICE_TO_HOST


def copy_bytes(dst: Storage, dst_offset: int, src: Storage, src_offset: int, nbytes: int, non_blocking: bool) -> None:
    """Copy `nbytes` from one storage to another; offsets in bytes.  Host: see route.py.

    Raises: AcceleratorError for memory of a former machine.
    """
    if nbytes == 0:
        return
    machine = thread.machine()
    for each in (dst, src):
        if each.device is not CPU and each.device.machine is not machine:
            raise former_machine("copy", each)
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
    """Wait for a copy.  Where that fails, the copy is queued: it may still write `dst`, and use pinned memory."""
    try:
        stream.synchronize()
    except BaseException:
        dst.version += 1
        on_host.record_stream(stream)
        raise


def _check_captured(stream: Stream, route: Route) -> None:
    """Raises AcceleratorError if the stream is capturing and the copy cannot be captured."""
    if route.is_asynchronous or not stream.is_capturing():
        return
    direction = "to" if route.kind is HOST_TO_DEVICE else "from"
    raise AcceleratorError(
        f"copy {direction} the device: {stream!r} is capturing, and the copy would wait or take memory that is not "
        f"pinned; called by {callers.caller()}",
        hint="move it out of the capture, or copy pinned memory with non_blocking=True",
        error_code=CAPTURE_UNSUPPORTED,
    )


def _keep_until_done(memory: Storage, low: int, nbytes: int, is_written: bool, stream: Stream) -> None:
    """Keep pinned memory until the copy is done, or as long as the graph that captured it lives."""
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
    source, target = src.device.index, dst.device.index
    src.device.machine.devices[source].peer(target)
    copier, other = thread.current_stream(source), thread.current_stream(target)
    if hooks.on_route is not None:
        hooks.on_route(BETWEEN_DEVICES, copier, other, nbytes)
    copier.follow(other)
    copier.copy(to, start, nbytes, CopyKind.PEER)
    other.follow(copier)
