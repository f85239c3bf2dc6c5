"""Copies of contiguous bytes between storages: which stream, which wait, what is kept.

- Host to device: on the destination's current stream.  A non_blocking one from pinned memory returns at once, and
  the pinned block is kept until the copy is done; every other one waits.
- Device to host: on the source's current stream; waits unless non_blocking into pinned memory.
- On one device: on its current stream, at once.
- While the stream is capturing, host memory must be pinned and the copy non_blocking; the graph keeps the memory.
- Between devices: on the *source's* current stream, with a barrier both ways: the copy follows what the
  destination's current stream had, and that stream goes on after the copy.  `non_blocking` changes nothing.
"""

from __future__ import annotations

import ctypes

from .. import trace
from ..driver.api import CopyKind
from ..errors import AcceleratorError
from . import state, sync_debug
from .device import CPU_INDEX
from .generator import CAPTURE_UNSUPPORTED
from .storage import Storage
from .stream import Stream


def copy_bytes(dst: Storage, dst_offset: int, src: Storage, src_offset: int, nbytes: int, non_blocking: bool) -> None:
    """Copy `nbytes` from one storage to another; offsets in bytes.  Host: see the module."""
    if nbytes == 0:
        return
    to, start = dst.address() + dst_offset, src.address() + src_offset
    if src.device == dst.device == CPU_INDEX:
        ctypes.memmove(to, start, nbytes)
    elif src.device == CPU_INDEX:
        _host_to_device(to, start, nbytes, state.current_stream(dst.device), src, non_blocking)
    elif dst.device == CPU_INDEX:
        _device_to_host(to, start, nbytes, state.current_stream(src.device), dst, non_blocking)
    elif src.device == dst.device:
        state.current_stream(src.device).copy(to, start, nbytes, CopyKind.DEVICE_TO_DEVICE)
    else:
        _device_to_device(to, start, nbytes, src, dst)


def _host_to_device(to: int, start: int, nbytes: int, stream: Stream, src: Storage, non_blocking: bool) -> None:
    _check_captured(stream, src, non_blocking, "to")
    if not non_blocking:
        sync_debug.about_to_wait(stream.device_index)
    stream.copy(to, start, nbytes, CopyKind.HOST_TO_DEVICE)
    if src.is_pinned and non_blocking:
        src.record_stream(stream)
    elif src.is_pinned or not non_blocking:
        stream.synchronize()


def _device_to_host(to: int, start: int, nbytes: int, stream: Stream, dst: Storage, non_blocking: bool) -> None:
    _check_captured(stream, dst, non_blocking, "from")
    waits = not (dst.is_pinned and non_blocking)
    if waits:
        sync_debug.about_to_wait(stream.device_index)
    stream.copy(to, start, nbytes, CopyKind.DEVICE_TO_HOST)
    if not waits:
        dst.record_stream(stream)
    else:
        stream.synchronize()


def _check_captured(stream: Stream, memory: Storage, non_blocking: bool, direction: str) -> None:
    """Let the graph that is captured keep host memory.  Raises AcceleratorError if the copy cannot be captured."""
    capture = stream.machine.capture
    if capture is None or not stream.is_capturing():
        return
    if not memory.is_pinned or not non_blocking:
        raise AcceleratorError(
            f"copy {direction} the device: {stream!r} is capturing, and the copy would wait or take memory that is not "
            f"pinned; called by {trace.caller()}",
            hint="move it out of the capture, or copy pinned memory with non_blocking=True",
            error_code=CAPTURE_UNSUPPORTED,
        )
    capture.keep(memory)


def _device_to_device(to: int, start: int, nbytes: int, src: Storage, dst: Storage) -> None:
    machine = src.machine
    machine.devices[src.device].peer(dst.device)
    copier, other = state.current_stream(src.device), state.current_stream(dst.device)
    copier.wait_stream(other)
    copier.copy(to, start, nbytes, CopyKind.PEER)
    other.wait_stream(copier)
