"""Copies of contiguous bytes between storages: which stream, which wait, what is kept.

- Host to device: on the destination's current stream.  A non_blocking one from pinned memory returns at once, and
  the pinned block is kept until the copy is done; every other one waits.
- Device to host: on the source's current stream; waits unless non_blocking into pinned memory.
- On one device: on its current stream, at once.
- Between devices: on the *source's* current stream, with a barrier both ways: the copy follows what the
  destination's current stream had, and that stream goes on after the copy.  `non_blocking` changes nothing.
"""

from __future__ import annotations

import ctypes

from ..driver.api import CopyKind
from . import state, sync_debug
from .device import CPU_INDEX
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
    if not non_blocking:
        sync_debug.about_to_wait(stream.device_index)
    stream.copy(to, start, nbytes, CopyKind.HOST_TO_DEVICE)
    if src.is_pinned and non_blocking:
        src.record_stream(stream)
    elif src.is_pinned or not non_blocking:
        stream.synchronize()


def _device_to_host(to: int, start: int, nbytes: int, stream: Stream, dst: Storage, non_blocking: bool) -> None:
    waits = not (dst.is_pinned and non_blocking)
    if waits:
        sync_debug.about_to_wait(stream.device_index)
    stream.copy(to, start, nbytes, CopyKind.DEVICE_TO_HOST)
    if not waits:
        dst.record_stream(stream)
    else:
        stream.synchronize()


def _device_to_device(to: int, start: int, nbytes: int, src: Storage, dst: Storage) -> None:
    machine = src.machine
    machine.devices[src.device].peer(dst.device)
    copier, other = state.current_stream(src.device), state.current_stream(dst.device)
    copier.wait_stream(other)
    copier.copy(to, start, nbytes, CopyKind.PEER)
    other.wait_stream(copier)
