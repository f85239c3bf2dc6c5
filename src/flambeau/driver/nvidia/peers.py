"""What one device has of another: whether it can reach it, and copies between them."""

from __future__ import annotations

from typing import Any

from .devices import Devices
from .handles import Stream
from .library import PEER_ACCESS_ALREADY_ENABLED, check


def can_reach(cu: Any, devices: Devices, device: int, peer: int) -> bool:
    """Whether kernels and copies of `device` can use the memory of `peer` directly; never its own."""
    here, there = devices.handle(device), devices.handle(peer)
    if device == peer:
        return False
    return bool(check(cu.cuDeviceCanAccessPeer(here, there), "cuDeviceCanAccessPeer", device=device, peer=peer))


def enable(cu: Any, devices: Devices, device: int, peer: int) -> None:
    """Let `device` use the memory of `peer`."""
    other = devices.context(peer)
    devices.use(device)
    result = cu.cuCtxEnablePeerAccess(other.cu, 0)
    if result[0] != PEER_ACCESS_ALREADY_ENABLED:
        check(result, "cuCtxEnablePeerAccess", device=device, peer=peer)


def copy(cu: Any, devices: Devices, dst: int, src: int, nbytes: int, stream: Stream) -> None:
    """Queue a copy from one device to another on a stream whose device is current."""
    if nbytes == 0:
        return
    there, here = devices.context(_device_of(cu, dst)), devices.context(_device_of(cu, src))
    result = cu.cuMemcpyPeerAsync(dst, there.cu, src, here.cu, nbytes, stream.cu)
    check(result, "cuMemcpyPeerAsync", dst=hex(dst), src=hex(src), nbytes=nbytes, device=stream.device)


def _device_of(cu: Any, address: int) -> int:
    attribute = cu.CUpointer_attribute.CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
    return int(check(cu.cuPointerGetAttribute(attribute, address), "cuPointerGetAttribute", address=hex(address)))
