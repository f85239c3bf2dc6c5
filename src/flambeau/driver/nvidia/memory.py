"""Device memory mapped at reserved addresses, and the driver's own pool: virtual memory and stream-ordered allocation.

- The handle of physical memory is released as soon as it is mapped: the driver keeps the memory until it is unmapped.
- Mapped memory does not follow `cuCtxEnablePeerAccess`.  Access is set for the device itself and for every device that
  may access it as a peer, when the memory is mapped and when the peer is enabled.
- Unlike `cuMemFree`, `cuMemUnmap` waits for no work, so `mem_unmap` synchronizes the device first.
- The pool is the device's default one.  It keeps what was freed, and its memory follows the same rule for peers.
"""

from __future__ import annotations

from threading import Lock
from typing import Any

from ...core.nvidia import Stream
from ...errors import AcceleratorError, NotSupportedError
from ..api import Address, StreamHandle
from . import devices
from .devices import Devices, Table
from .library import check

INVALID_VALUE = 1  # CUresult
KEEP_ALL = 2**64 - 1  # bytes: the release threshold of a pool that keeps all freed memory


class MemoryCalls:
    """The Driver's calls for reserved addresses, its own pool, and peer access."""

    _cu: Any
    _devices: Devices
    _streams: Table[Stream]

    def __init__(self) -> None:
        super().__init__()
        self._reserved: dict[tuple[int, int], int] = {}  # bytes by device and address
        self._mapped: dict[tuple[int, int], int] = {}
        self._readers: dict[int, list[int]] = {}  # the peers that may access a device's memory
        self._pools: dict[int, Any] = {}  # the CUmemoryPool of a device, once it was used
        self._mapping_lock = Lock()

    def mem_reserve(self, device: int, nbytes: int) -> Address:
        if not self._devices.attribute(device, "VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED"):
            raise NotSupportedError(
                f"device {device} cannot map memory at reserved addresses",
                hint="leave expandable_segments out of PYTORCH_ALLOC_CONF",
                operator="mem_reserve",
            )
        with self._devices.use(device):
            result = self._cu.cuMemAddressReserve(nbytes, 0, 0, 0)
            address = int(check(result, "cuMemAddressReserve", device=device, nbytes=nbytes))
            self._reserved[device, address] = nbytes
            return Address(address)

    def mem_unreserve(self, device: int, address: Address) -> None:
        nbytes = self._known(self._reserved, device, address, "mem_unreserve")
        with self._devices.use(device):
            result = self._cu.cuMemAddressFree(address, nbytes)
            check(result, "cuMemAddressFree", device=device, address=hex(address), nbytes=nbytes)
            del self._reserved[device, address]

    def mem_map(self, device: int, address: Address, nbytes: int) -> None:
        cu, facts = self._cu, {"device": device, "address": hex(address), "nbytes": nbytes}
        wanted = cu.CUmemAllocationProp()
        wanted.type = cu.CUmemAllocationType.CU_MEM_ALLOCATION_TYPE_PINNED
        wanted.location.type = cu.CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE
        wanted.location.id = device
        with self._devices.use(device), self._mapping_lock:
            memory = check(cu.cuMemCreate(nbytes, wanted, 0), "cuMemCreate", **facts)
            try:
                check(cu.cuMemMap(address, nbytes, 0, memory, 0), "cuMemMap", **facts)
            finally:
                check(cu.cuMemRelease(memory), "cuMemRelease", **facts)
            try:
                self._allow(address, nbytes, [device, *self._readers.get(device, ())])
            except BaseException:
                cu.cuMemUnmap(address, nbytes)
                raise
            self._mapped[device, address] = nbytes

    def mem_unmap(self, device: int, address: Address, nbytes: int) -> None:
        if self._known(self._mapped, device, address, "mem_unmap") != nbytes:
            raise AcceleratorError(
                f"{self._mapped[device, address]} bytes are mapped at {address:#x} of device {device}, not {nbytes}",
                error_code=INVALID_VALUE,
                operator="mem_unmap",
            )
        with self._devices.use(device), self._mapping_lock:
            check(self._cu.cuCtxSynchronize(), "cuCtxSynchronize", device=device)
            result = self._cu.cuMemUnmap(address, nbytes)
            check(result, "cuMemUnmap", device=device, address=hex(address), nbytes=nbytes)
            del self._mapped[device, address]

    def pool_alloc(self, device: int, nbytes: int, stream: StreamHandle) -> Address:
        of = self._streams[stream]
        with self._devices.use(device):
            if device not in self._pools:
                self._open_pool(device)
            result = self._cu.cuMemAllocAsync(nbytes, of.cu)
            if result[0]:  # memory that the pool reserved before it failed would stay in it
                self._cu.cuMemPoolTrimTo(self._pools[device], 0)
            return Address(int(check(result, "cuMemAllocAsync", device=device, nbytes=nbytes, stream=stream)))

    def pool_free(self, device: int, address: Address, stream: StreamHandle) -> None:
        of = self._streams[stream]
        with self._devices.use(device):
            result = self._cu.cuMemFreeAsync(address, of.cu)
            check(result, "cuMemFreeAsync", device=device, address=hex(address), stream=stream)

    def pool_reserved(self, device: int) -> int:
        if device not in self._pools:
            return 0
        asked = self._cu.CUmemPool_attribute.CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT
        with self._devices.use(device):
            result = self._cu.cuMemPoolGetAttribute(self._pools[device], asked)
            return int(check(result, "cuMemPoolGetAttribute", device=device))

    def pool_trim(self, device: int) -> None:
        if device in self._pools:
            with self._devices.use(device):
                check(self._cu.cuCtxSynchronize(), "cuCtxSynchronize", device=device)
                check(self._cu.cuMemPoolTrimTo(self._pools[device], 0), "cuMemPoolTrimTo", device=device)

    def _open_pool(self, device: int) -> None:
        """Let a device's default pool keep what is freed, and its peers use it."""
        if not self._devices.attribute(device, "MEMORY_POOLS_SUPPORTED"):
            raise NotSupportedError(
                f"device {device} has no memory pools",
                hint="leave backend:cudaMallocAsync out of PYTORCH_ALLOC_CONF",
                operator="pool_alloc",
            )
        with self._mapping_lock:
            default = self._cu.cuDeviceGetDefaultMemPool(self._devices.handle(device))
            pool = check(default, "cuDeviceGetDefaultMemPool", device=device)
            threshold = self._cu.CUmemPool_attribute.CU_MEMPOOL_ATTR_RELEASE_THRESHOLD
            result = self._cu.cuMemPoolSetAttribute(pool, threshold, self._cu.cuuint64_t(KEEP_ALL))
            check(result, "cuMemPoolSetAttribute", device=device)
            self._open_to(pool, self._readers.get(device, []))
            self._pools[device] = pool

    def peer_can(self, device: int, peer: int) -> bool:
        return devices.can_access_peer(self._cu, self._devices, device, peer)

    def peer_enable(self, device: int, peer: int) -> None:
        devices.enable_peer(self._cu, self._devices, device, peer)
        with self._devices.use(peer), self._mapping_lock:
            readers = self._readers.setdefault(peer, [])
            if device not in readers:
                for (owner, address), nbytes in self._mapped.items():
                    if owner == peer:
                        self._allow(address, nbytes, [device])
                if peer in self._pools:
                    self._open_to(self._pools[peer], [device])
                readers.append(device)

    def _allow(self, address: int, nbytes: int, readers: list[int]) -> None:
        """Let devices read and write mapped memory."""
        result = self._cu.cuMemSetAccess(address, nbytes, self._access_of(readers), len(readers))
        check(result, "cuMemSetAccess", address=hex(address), nbytes=nbytes, devices=readers)

    def _open_to(self, pool: Any, readers: list[int]) -> None:
        """Let peers read and write the memory of a pool."""
        if readers:
            result = self._cu.cuMemPoolSetAccess(pool, self._access_of(readers), len(readers))
            check(result, "cuMemPoolSetAccess", devices=readers)

    def _access_of(self, readers: list[int]) -> list[Any]:
        cu, allowed = self._cu, []
        for device in readers:
            access = cu.CUmemAccessDesc()
            access.location.type = cu.CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE
            access.location.id = device
            access.flags = cu.CUmemAccess_flags.CU_MEM_ACCESS_FLAGS_PROT_READWRITE
            allowed.append(access)
        return allowed

    def _known(self, table: dict[tuple[int, int], int], device: int, address: int, name: str) -> int:
        nbytes = table.get((device, address))
        if nbytes is None:
            raise AcceleratorError(
                f"nothing of device {device} begins at {address:#x}", error_code=INVALID_VALUE, operator=name
            )
        return nbytes
