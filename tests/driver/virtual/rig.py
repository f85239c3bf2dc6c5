from collections.abc import Sequence
from typing import Any

import numpy as np

from flambeau import host
from flambeau.config import virtual_gpus
from flambeau.driver.api import CopyKind
from flambeau.driver.virtual.driver import VirtualDriver
from flambeau.driver.virtual.schedule import Schedule
from flambeau.dtypes import float32, int64
from flambeau.errors import IndexRangeError
from flambeau.kernel import Grid, Kernel, Pointer, Scalar, Strided

ONE_BLOCK = Grid((1, 1, 1), 32)
SEGMENT = 2 << 20


def _add_one(out: Any, source: Any, n: int) -> None:
    np.add(source, 1, out=out)


def _bump(out: Any, n: int) -> None:
    out += 1


def _strided_fill(out: Any, value: float) -> None:
    out[...] = value


def _broken(out: Any, n: int) -> None:
    raise IndexRangeError("index 9 is out of bounds")


ADD_ONE = Kernel(
    "add_one",
    "",
    [Pointer("out", float32, "w", ("n",)), Pointer("in", float32, "r", ("n",)), Scalar("n", "int64")],
    _add_one,
)
BUMP = Kernel("bump", "", [Pointer("out", float32, "rw", ("n",)), Scalar("n", "int64")], _bump)
SLOW = Kernel("slow", "", BUMP.params, _bump, operations=1e11)
SLOW_NS = 10_000_000  # modelled time of SLOW on 8 elements, at least
BROKEN = Kernel("broken", "", [Pointer("out", int64, "w", ("n",)), Scalar("n", "int64")], _broken)
STRIDED_FILL = Kernel(
    "strided_fill",
    "",
    [Pointer("out", float32, "w", "layout"), Strided("layout", ("out",)), Scalar("value", "float32")],
    _strided_fill,
)


class Rig:
    """A virtual machine with one segment per device, and short forms of the calls."""

    def __init__(
        self, races: str = "poison", schedule: Schedule | None = None, count: int = 1, memory: int = 0
    ) -> None:
        self.driver = VirtualDriver(virtual_gpus(count, races=races, memory=memory), schedule)
        self.memory = [self.driver.mem_alloc(device, SEGMENT) for device in range(count)]
        self.a, self.b, self.c = (self.driver.stream_create(0, 0) for _ in range(3))

    def take(self, offset: int, nbytes: int, stream: int | None = None) -> int:
        address = self.memory[0] + offset
        self.driver.block_taken(0, address, nbytes, stream or self.a)
        return address

    def give(self, address: int, nbytes: int) -> None:
        self.driver.block_given(0, address, nbytes)

    def launch(self, kernel: Kernel, values: Sequence[Any], stream: int) -> None:
        self.driver.launch(self.driver.kernel_load(0, kernel), ONE_BLOCK, kernel.pack(values), stream)

    def fill(self, address: int, value: int, nbytes: int, stream: int) -> None:
        self.driver.fill(address, value, nbytes, stream)

    def copy(self, dst: int, src: int, nbytes: int, stream: int) -> None:
        self.driver.copy(dst, src, nbytes, CopyKind.DEVICE_TO_DEVICE, stream)

    def put(self, address: int, values: Any, stream: int) -> None:
        values = np.asarray(values, "float32")
        self.driver.copy(address, host.address_of(values), values.nbytes, CopyKind.HOST_TO_DEVICE, stream)

    def get(self, address: int, count: int, stream: int | None = None) -> Any:
        """float32 values, after everything on the stream."""
        values = np.empty(count, "float32")
        self.driver.copy(host.address_of(values), address, values.nbytes, CopyKind.DEVICE_TO_HOST, stream or self.a)
        return values

    def get_bytes(self, address: int, nbytes: int, stream: int | None = None) -> list[int]:
        values = np.empty(nbytes, "uint8")
        self.driver.copy(host.address_of(values), address, nbytes, CopyKind.DEVICE_TO_HOST, stream or self.a)
        return values.tolist()

    def wait(self, waiter: int, stream: int) -> None:
        """wait_stream: later work on `waiter` follows the work on `stream` so far."""
        event = self.driver.event_create(0, False, False, False)
        self.driver.event_record(event, stream)
        self.driver.stream_wait_event(waiter, event)
        self.driver.event_destroy(event)

    def pinned(self, nbytes: int) -> tuple[int, Any]:
        address = self.driver.host_alloc(nbytes)
        return address, host.bytes_at(address, nbytes)

    def ran(self) -> list[str]:
        return [name for _, _, name in self.driver.log]
