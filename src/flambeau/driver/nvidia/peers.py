"""What one device has of another.  Addresses say by themselves on which device they lie, so copies need nothing."""

from __future__ import annotations

from typing import Any

from .devices import Devices
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
