"""Routes of copies: the copy kind, and whether the host waits.  `route_of` chooses one for every copy.

| from | to | non_blocking | the host |
| --- | --- | --- | --- |
| pinned memory | device | yes | goes on |
| pageable memory | device | yes | waits until the driver has read the bytes |
| host memory | device | no | waits for the stream |
| device | pinned memory | yes | goes on |
| device | host memory | else | waits for the stream |
| device | device | either | goes on |
"""

from __future__ import annotations

from dataclasses import dataclass

from ..core.storage import Storage
from ..core.thread import CPU
from ..driver.api import CopyKind


@dataclass(frozen=True, slots=True)
class Route:
    """A route.  kind: the driver's copy kind, None where the host moves the bytes itself.

    waits: the host waits for the copy's stream;  is_staged: the driver reads the host's bytes during the call.
    reason: why it is asynchronous, or is not;  hint: how it becomes so.
    """

    name: str
    kind: CopyKind | None
    waits: bool
    is_staged: bool
    reason: str
    hint: str = ""

    @property
    def is_asynchronous(self) -> bool:
        """Whether the host goes on at once."""
        return not (self.waits or self.is_staged or self.kind is None)


ON_HOST = Route("within host memory", None, False, False, "the host moves the bytes itself")
ON_DEVICE = Route(
    "within one device", CopyKind.DEVICE_TO_DEVICE, False, False, "it is work of the device's current stream"
)
BETWEEN_DEVICES = Route(
    "between devices", CopyKind.PEER, False, False, "streams wait for each other, the host does not; non_blocking "
    "changes nothing",
)  # fmt: skip

# by (is the host's memory pinned, non_blocking)
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
    """The route from one storage to another."""
    here, there = source.device, target.device
    if here is there:
        return ON_HOST if here is CPU else ON_DEVICE
    if here is CPU:
        return _FROM_HOST[source.is_pinned, bool(non_blocking)]
    return _TO_HOST[target.is_pinned, bool(non_blocking)] if there is CPU else BETWEEN_DEVICES
