"""What the tests of the contract take, and give back; and the kernels that they launch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import host
from ..driver.api import Address, CopyKind, Driver, EventHandle, StreamHandle
from ..dtypes import bfloat16, dtype, float32, int64
from ..errors import NotSupportedError
from ..kernel import Grid, Kernel, Param, Pointer, Scalar, Strided

DEVICE = 0
SEGMENT = 4 << 20  # bytes
COUNT = 1000  # elements
MAX_POLLS = 10_000_000
LONG_COPY = 1 << 20  # bytes

TO_DEVICE, TO_HOST, WITHIN = CopyKind.HOST_TO_DEVICE, CopyKind.DEVICE_TO_HOST, CopyKind.DEVICE_TO_DEVICE

_SOURCE = """
typedef long long I;
struct Layout { I ndim; I size[8]; I stride[3][8]; };
extern "C" __global__ void contract_scale(float* out, const float* in, float factor, I n) {
    I i = blockIdx.x * (I)blockDim.x + threadIdx.x;
    if (i < n) out[i] = in[i] * factor;
}
extern "C" __global__ void contract_negate(unsigned short* out, const unsigned short* in, I n) {
    I i = blockIdx.x * (I)blockDim.x + threadIdx.x;
    if (i < n) out[i] = in[i] ^ 0x8000;
}
extern "C" __global__ void contract_add(I* out, const I* a, const I* b, Layout layout, I n) {
    I i = blockIdx.x * (I)blockDim.x + threadIdx.x;
    if (i >= n) return;
    I at[3] = {0, 0, 0};
    for (I dim = layout.ndim - 1; dim >= 0; --dim) {
        I index = i % layout.size[dim];
        i /= layout.size[dim];
        for (int operand = 0; operand < 3; ++operand) at[operand] += index * layout.stride[operand][dim];
    }
    out[at[0]] = a[at[1]] + b[at[2]];
}
"""
N = Scalar("n", "int64")


def _pair(kind: dtype) -> list[Param]:
    return [Pointer("out", kind, "w", ("n",)), Pointer("in", kind, "r", ("n",))]


def _numpy(name: str) -> Callable[..., None]:
    """The reference that calls a NumPy function on all arguments but the first, which it writes, and the last."""
    return lambda out, *inputs: getattr(host.numpy(), name)(*inputs[:-1], out=out)


SCALE = Kernel("contract_scale", _SOURCE, [*_pair(float32), Scalar("factor", "float32"), N], _numpy("multiply"))
NEGATE = Kernel("contract_negate", _SOURCE, [*_pair(bfloat16), N], _numpy("negative"))
_OPERANDS = [Pointer(name, int64, "w" if name == "out" else "r", "layout") for name in ("out", "a", "b")]
ADD = Kernel("contract_add", _SOURCE, [*_OPERANDS, Strided("layout", ("out", "a", "b")), N], _numpy("add"))


def raised(expected: type[Exception], call: Callable[[], object]) -> Exception:
    """The exception that `call` raises, which must be an `expected`."""
    error = None
    try:
        call()
    except expected as caught:
        error = caught
    assert error is not None, f"{expected.__name__} was not raised"
    return error


class Contract:
    """One test at a time.  `driver` is a started driver with at least one device."""

    driver: Driver

    def make_driver(self) -> Driver:
        """A started driver."""
        raise NotSupportedError("a subclass says how to get a driver", operator="Contract")

    def setup_method(self) -> None:
        self.driver = self.make_driver()
        self._undo: list[Callable[[], None]] = []
        self.stream = self.new_stream()

    def teardown_method(self) -> None:
        self.driver.device_synchronize(DEVICE)
        for undo in reversed(self._undo):
            undo()

    # what the tests take, and give back
    def new_stream(self, priority: int = 0) -> StreamHandle:
        stream = self.driver.stream_create(DEVICE, priority)
        self._undo.append(lambda: self.driver.stream_destroy(stream))
        return stream

    def new_event(self, timing: bool = False) -> EventHandle:
        event = self.driver.event_create(DEVICE, timing, False, False)
        self._undo.append(lambda: self.driver.event_destroy(event))
        return event

    def new_memory(self, nbytes: int = SEGMENT) -> Address:
        address = self.driver.mem_alloc(DEVICE, nbytes)
        self._undo.append(lambda: self.driver.mem_free(DEVICE, address))
        return address

    def new_pinned(self, nbytes: int) -> tuple[Address, Any]:
        """Pinned memory, and a uint8 array over it."""
        address = self.driver.host_alloc(nbytes)
        self._undo.append(lambda: self.driver.host_free(address))
        return address, host.bytes_at(address, nbytes)

    def upload(self, values: Any) -> Address:
        """A NumPy array in new device memory."""
        values = host.numpy().ascontiguousarray(values)
        address = self.new_memory(max(values.nbytes, 1))
        self.driver.copy(address, Address(host.address_of(values)), values.nbytes, TO_DEVICE, self.stream)
        self.driver.stream_synchronize(self.stream)
        return address

    def download(self, address: Address, shape: tuple[int, ...], kind: dtype) -> Any:
        """Device memory as a NumPy array, after everything that is on `self.stream`."""
        values = host.numpy().empty(shape, kind.numpy)
        self.driver.copy(Address(host.address_of(values)), address, values.nbytes, TO_HOST, self.stream)
        return values

    def launch(self, kernel: Kernel, values: list[Any], stream: StreamHandle | None = None) -> None:
        """Launch over COUNT elements, on `self.stream` if none is named."""
        handle = self.driver.kernel_load(DEVICE, kernel)
        grid = Grid(((COUNT + 255) // 256, 1, 1), 256)
        self.driver.launch(handle, grid, kernel.pack(values), stream or self.stream)
