"""The Driver Protocol: the one interface between flambeau and a machine with GPUs.

It has two implementations, `nvidia` and `virtual`; `flambeau.testing.contract` is the suite that both pass.
A call marked `# order` appends work to a stream and does not wait for it, except for some copies (`CopyKind`).
A call marked `# wait` blocks the host until queued work is done.  Other calls submit no work to a stream; on hardware,
memory calls such as `mem_alloc` may block.

Every handle is a positive int, unique in the process: default streams of different devices differ.
Failures raise `errors.AcceleratorError`; exhausted memory raises `errors.OutOfMemoryError`;
a feature that `capabilities` lacks raises `errors.NotSupportedError`.  Any thread may call.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from typing import TYPE_CHECKING, Any, NamedTuple, NewType, Protocol

from ..kernel import Access, Buffer, Grid, Kernel
from ..library_operation import LibraryOperation

if TYPE_CHECKING:
    from ..core.queue import HotCalls

Address = NewType("Address", int)
StreamHandle = NewType("StreamHandle", int)
EventHandle = NewType("EventHandle", int)
KernelHandle = NewType("KernelHandle", int)
PlanHandle = NewType("PlanHandle", int)
GraphHandle = NewType("GraphHandle", int)
GraphExecHandle = NewType("GraphExecHandle", int)
PartitionHandle = NewType("PartitionHandle", int)


class CopyKind(Enum):
    """The kind of a copy by source and destination.  Pinned memory is host memory from `host_alloc` or `host_register`.

    Copies from pageable host memory to a device return when the host memory may be reused; copies to pageable memory
    return when the bytes have arrived.  All others return at once.
    """

    HOST_TO_DEVICE = "h2d"
    DEVICE_TO_HOST = "d2h"
    DEVICE_TO_DEVICE = "d2d"
    PEER = "peer"


class CaptureMode(Enum):
    """The threads whose unsafe calls break a capture: any, the capturing one, or none."""

    GLOBAL = "global"
    THREAD_LOCAL = "thread_local"
    RELAXED = "relaxed"


class CaptureStatus(Enum):
    """The capture status of a stream."""

    NONE = "none"
    ACTIVE = "active"
    INVALIDATED = "invalidated"


class Capabilities(NamedTuple):
    """Optional features of a driver."""

    name: str
    graphs: bool = False
    ipc: bool = False
    faults: bool = False
    modelled_time: bool = False
    calibrated: bool = True  # modelled times follow measured ones, not the peaks of a data sheet
    watches_blocks: bool = False  # block_taken and block_given have an effect
    runs_references: bool = False  # a launch runs the kernel's reference, and `Kernel.bind` gets the whole buffer
    finds_races: bool = False  # block_finished, host_taken and `orders=False` have an effect
    exchanges: bool = False  # streams exchange values of collectives through `Exchange.give` and `finish`
    libraries: frozenset[str] = frozenset()
    computes: bool = True  # if False, kernels do not run, and copies to the host write nothing


class DeviceProperties(NamedTuple):
    """The properties of one device.  total_memory in bytes; uuid as `GPU-…` text."""

    name: str
    major: int
    minor: int
    total_memory: int
    multi_processor_count: int
    max_threads_per_multi_processor: int
    warp_size: int
    l2_cache_size: int
    uuid: str


class GpuProcess(NamedTuple):
    """A process on a device and its device memory in bytes; None if the driver does not report it."""

    pid: int
    nbytes: int | None


class Monitor(Protocol):
    """Monitoring of devices.  No call starts a driver, queues work or waits.

    Raises: DeviceIndexError for a device that the process does not see; NotSupportedError for a value that a device
            does not report; AcceleratorError.
    """

    def utilization(self, device: int) -> int:
        """Percent of the last sampling period in which kernels ran."""

    def memory_usage(self, device: int) -> int:
        """Percent of the last sampling period in which memory was read or written."""

    def memory_used(self, device: int) -> int:
        """Bytes in use."""

    def temperature(self, device: int) -> int:
        """Degrees Celsius."""

    def power_draw(self, device: int) -> int:
        """Milliwatts."""

    def clock_rate(self, device: int) -> int:
        """The clock rate of the multiprocessors, in megahertz."""

    def processes(self, device: int) -> list[GpuProcess]: ...


class Markers(Protocol):
    """NVTX-style markers for a profiler.  Each thread's pushed ranges nest."""

    def mark(self, text: str) -> None: ...
    def push(self, text: str) -> None: ...
    def pop(self) -> None: ...
    def begin(self, text: str) -> int:
        """Begin a range that any thread may end; return its id."""

    def end(self, begun: int) -> None: ...


class Activity(NamedTuple):
    """A kernel, copy or fill that a device ran, as the vendor's profiling library measured it.

    call: the number of the call that queued it (`Activities.begin_call`), 0 if another library did.
    name: of the kernel; `copy` with its direction; or `fill`.  start_ns, end_ns: on the clock of `Driver.host_ns`.
    nbytes: that a copy or a fill moves.  context, stream, graph, node: the profiling library's ids; graph 0 outside
    graphs.
    grid, block, registers, shared_nbytes: of a kernel; shared memory is per block, registers are per thread.
    """

    call: int
    device: int
    name: str
    start_ns: int
    end_ns: int
    context: int
    stream: int
    graph: int = 0
    node: int = 0
    nbytes: int = 0
    grid: tuple[int, ...] = ()
    block: tuple[int, ...] = ()
    registers: int = 0
    shared_nbytes: int = 0


class Activities(Protocol):
    """A running measurement of all work on the process's devices.

    name: of the profiling library and its version.
    """

    name: str

    def begin_call(self, number: int) -> None:
        """Attribute the work that the calling thread submits from now on to a call.  number: the call's, not 0."""

    def end_call(self) -> None:
        """End the thread's latest `begin_call`."""

    def stop(self, collect: bool) -> tuple[list[Activity], int]:
        """End the measurement; return the work that is done, and how many records were lost.

        collect: whether to collect the results; False after the device was lost, so that it is not queried.
        """


class Step(NamedTuple):
    """A part of a collective that runs as one call of a collective library such as NCCL.

    kind: "all_reduce", "reduce", "broadcast", "all_gather", "reduce_scatter", "send" or "receive".
    source, target: the memory that it reads and writes in this process; None if it does not.
    reduction: the name of a ReduceOp, "" for none.  peer: the rank of the root, or of the other process of a message.
    """

    kind: str
    source: Access | None
    target: Access | None
    reduction: str = ""
    peer: int = 0


class Exchange(Protocol):
    """A collective of several processes that runs on a stream.

    A driver either passes the values through `give` and `finish`, or runs `steps` directly between the GPUs.
    name: the operation;  nbytes: of its inputs;  duration_ns: modelled, without the wait for other processes.
    rank, size: this process's rank among the processes that take part, and their number.
    steps: of this process; those of one collective run together.  None if the values must pass through `give`.
    streams: the streams for which all members create their communicators together, in this order.
    """

    name: str
    nbytes: int
    duration_ns: int
    rank: int
    size: int
    steps: Sequence[Step] | None

    @property
    def streams(self) -> Sequence[StreamHandle]: ...

    def join(self, make_id: Callable[[], bytes], gpu: str) -> bytes:
        """Return bytes that the first process creates.  Blocks the host until all processes have called.

        gpu: the UUID of the GPU, which must differ between processes.  Raises: CollectiveError.
        """

    def give(self, inputs: Sequence[Any], start_ns: int) -> None:
        """Send the other processes the input arrays and the modelled start."""

    def is_ready(self) -> bool:
        """Return whether all processes have sent their arrays."""

    def has_failed(self) -> bool:
        """Return whether the exchange may never become ready; `finish` then raises."""

    def wait(self, others: Sequence[Any]) -> None:
        """Wait until this exchange or one of the others is ready or has failed.  The caller holds no lock."""

    def finish(self, outputs: Sequence[Any] | None) -> int:
        """Write the outputs of a ready exchange, if not None; return the modelled end.  Raises CollectiveError."""


class Driver(Protocol):
    """The driver interface: one process's view of its GPUs.

    hot: the most frequent calls, in a form that compiled code can call; set by `start`.
    """

    capabilities: Capabilities
    hot: HotCalls

    # devices
    def start(self) -> None:
        """Start the driver; called once, before any other call.  Raises NoDeviceError if there is no GPU."""

    def device_count(self) -> int: ...
    def properties(self, device: int) -> DeviceProperties: ...
    def device_synchronize(self, device: int) -> None: ...  # wait
    def mem_info(self, device: int) -> tuple[int, int]:
        """(free, total) bytes."""

    def has_context(self, device: int) -> bool:
        """Return whether this process has a context on the device, which takes device memory.  Creates none."""

    def partition(self, device: int, multiprocessors: int) -> tuple[PartitionHandle, int]:
        """Return a partition of a device and its number of multiprocessors, which is at least the requested number.

        Equal requests return the same partition.  Partitions may overlap.  Raises AcceleratorError if the device has
        fewer multiprocessors.
        """

    def partition_stream(self, partition: PartitionHandle) -> StreamHandle:
        """Create a stream whose kernels run on the partition's multiprocessors; otherwise as `stream_create`."""

    # memory
    def mem_alloc(self, device: int, nbytes: int) -> Address: ...
    def mem_free(self, device: int, address: Address) -> None:
        """Free memory.  The caller guarantees that no queued work uses it."""

    def mem_reserve(self, device: int, nbytes: int) -> Address:
        """Reserve a range of addresses, without memory.  Raises NotSupportedError if the device cannot.

        Sizes and offsets of ranges that are mapped in it are multiples of 2 MiB.
        """

    def mem_unreserve(self, device: int, address: Address) -> None:
        """Release a reserved range in which nothing is mapped."""

    def mem_map(self, device: int, address: Address, nbytes: int) -> None:
        """Map new memory at [address, address + nbytes) of a reserved range; enabled peers may access it."""

    def mem_unmap(self, device: int, address: Address, nbytes: int) -> None:
        """Free the memory that one `mem_map` mapped.  The caller guarantees that no queued work uses it."""

    def pool_alloc(self, device: int, nbytes: int, stream: StreamHandle) -> Address:
        """Allocate from the driver's own pool, for work submitted to `stream` from now on.  # order"""

    def pool_free(self, device: int, address: Address, stream: StreamHandle) -> None:
        """Free memory of `pool_alloc` after the work submitted to `stream` so far.  # order"""

    def pool_reserved(self, device: int) -> int:
        """Return the bytes that the driver's own pool holds."""

    def pool_trim(self, device: int) -> None:
        """Return the pool's unused memory to the device.  # wait"""

    def memory_device(self, address: int) -> int | None:
        """Return the device of the memory at an address, also of other libraries; None if it is not device memory."""

    def host_alloc(self, nbytes: int) -> Address:
        """Allocate pinned host memory; return its address in this process."""

    def host_free(self, address: Address) -> None: ...
    def host_register(self, address: Address, nbytes: int) -> None: ...
    def host_unregister(self, address: Address) -> None: ...
    def block_taken(self, device: int, address: Address, nbytes: int, stream: StreamHandle) -> None:
        """Note that the allocator gave [address, address + nbytes) to a new owner, first used on `stream`.  # order"""

    def block_given(self, device: int, address: Address, nbytes: int) -> None:
        """Note that the block was freed: work submitted from now on must not access it."""

    def block_finished(self, address: Address, event: EventHandle) -> None:
        """Note that the allocator saw `event` done: uses of the memory before the event's record are over.

        address: of a free block.
        """

    def host_taken(self, address: Address, nbytes: int) -> None:
        """Note that pinned memory has a new owner, which may use it at once."""

    def host_accessed(self, access: Access) -> None:
        """Note that the host is about to access host memory.  Raises RaceError if a copy is not ordered before it."""

    def expose(self) -> None:
        """Make each later call reach its GPU before it returns: another library is about to get an address or a handle.

        Until then a driver may defer calls, because no other library can queue work that has to follow them.
        """

    def drain(self) -> None:
        """Run all queued work before the process ends; report failures on stderr without raising."""

    def stream_named(self, stream: StreamHandle, name: str, site: str) -> None:
        """Set a stream's name ("" for none) and the source line of its creation, for reports."""

    # streams
    def stream_create(self, device: int, priority: int) -> StreamHandle:
        """Create a stream that does not synchronize with the default one.  Lower numbers are higher priorities."""

    def stream_adopt(self, device: int, raw: int) -> StreamHandle:
        """Return a handle for another library's CUstream, equal for equal `raw`; raw 0 is the default stream."""

    def stream_destroy(self, stream: StreamHandle) -> None: ...
    def stream_query(self, stream: StreamHandle) -> bool:
        """Return whether all work submitted so far is done."""

    def stream_synchronize(self, stream: StreamHandle) -> None: ...  # wait
    def stream_wait_event(self, stream: StreamHandle, event: EventHandle, external: bool = False) -> None:
        """Make later work on `stream` follow the event's latest record, if there is one.  # order

        external: on a capturing stream, each launch of the graph waits for the event's latest record at that time.
        """

    def stream_raw(self, stream: StreamHandle) -> int:
        """Return the CUstream, for other libraries; 0 for a default stream."""

    # events
    def event_create(self, device: int, timing: bool, blocking: bool, interprocess: bool) -> EventHandle: ...
    def event_destroy(self, event: EventHandle) -> None: ...
    def event_record(self, event: EventHandle, stream: StreamHandle, external: bool = False) -> None:
        """Mark the work submitted to `stream` so far.  # order

        external: on a capturing stream, each launch of the graph makes the record, and the capture itself does not.
        """

    def event_raw(self, event: EventHandle) -> int:
        """Return the CUevent, for other libraries."""

    def event_query(self, event: EventHandle, orders: bool = True) -> bool:
        """Return whether the latest record is done; True if there is none.

        orders: whether a True result orders later submissions of the program after the record.  Allocators pass False
        for their internal queries.
        """

    def event_synchronize(self, event: EventHandle, orders: bool = True) -> None:  # wait
        """Wait for the latest record.  orders: as in `event_query`."""

    def event_elapsed(self, start: EventHandle, end: EventHandle) -> float:
        """Return the milliseconds between two completed records of timing events on one device."""

    # work
    def copy(self, dst: Address, src: Address, nbytes: int, kind: CopyKind, stream: StreamHandle) -> None: ...  # order
    def fill(self, dst: Address, value: int, nbytes: int, stream: StreamHandle) -> None:
        """Set every byte to `value`, 0 to 255.  # order"""

    def peer_can(self, device: int, peer: int) -> bool: ...
    def peer_enable(self, device: int, peer: int) -> None:
        """Let `device` access the memory of `peer`.  Does nothing if it already can."""

    def kernel_load(self, device: int, kernel: Kernel) -> KernelHandle:
        """Compile (or find compiled) and load a kernel on a device.  The same kernel gives the same handle."""

    def launch(self, kernel: KernelHandle, grid: Grid, arguments: Buffer, stream: StreamHandle) -> None: ...  # order
    def library_plan(self, device: int, problem: LibraryOperation) -> tuple[PlanHandle, int]:
        """Prepare an operation of a kind in `capabilities.libraries`; return (handle, workspace bytes of a run)."""

    def library_run(
        self, plan: PlanHandle, addresses: tuple[int, ...], workspace: Address, stream: StreamHandle
    ) -> None: ...  # order

    def library_reserve(self, plan: PlanHandle) -> int:
        """Return the bytes that a forward operation keeps for its gradient operation; 0 for most."""

    def product_workspace(self, device: int) -> int:
        """Return the workspace size of matrix products in bytes, set by the environment or the default."""

    def blas_handle(self, stream: StreamHandle) -> int:
        """Return the thread's cublasHandle_t on a stream's device, for other libraries.  Its work goes to the stream.

        Each thread has one handle per device.  Threads do not share handles; those of an ended thread are reused.
        """

    # collectives of several processes
    def exchange(
        self, exchange: Exchange, inputs: Sequence[Access], outputs: Sequence[Access], stream: StreamHandle
    ) -> None:
        """Read the inputs, and write the outputs once all processes have sent their inputs.  # order

        The first exchange with steps on a stream blocks the host until the other processes make it too.
        """

    def runs_steps(self, steps: Sequence[Step]) -> bool:
        """Return whether streams can run these steps directly between the GPUs."""

    def serve_exchanges(self) -> None:
        """Send other processes the inputs of all exchanges that can be read now."""

    def exchange_failure(self) -> str:
        """Return the error of an exchange with steps that failed while it ran; "" if none has."""

    def abort_exchanges(self, streams: Sequence[StreamHandle] | None = None) -> None:
        """Abort all exchanges with steps; their outputs are undefined.  Streams continue with the work after them.

        streams: those of a group that is aborted; None for all.
        """

    def await_exchanges(self) -> None:
        """Wait for the exchanges of all streams.  Raises CollectiveError.  # wait"""

    def finish_exchanges(self, streams: Sequence[StreamHandle] | None = None) -> None:
        """Wait for exchanges, and release what they used.  Raises CollectiveError.  # wait

        streams: those of a group that is removed; None for all.
        """

    # time and profilers
    def host_ns(self) -> int:
        """Return the calling thread's clock in nanoseconds from an arbitrary start; modelled time on virtual GPUs."""

    def profiler_start(self) -> None:
        """Start collection by the vendor's profiler."""

    def profiler_stop(self) -> None: ...
    def measure(self) -> Activities | None:
        """Begin to measure all work with the vendor's profiling library; log the reason and return None if it fails.

        One measurement is open at a time.
        """

    # graphs
    def capture_begin(self, stream: StreamHandle, mode: CaptureMode) -> None:
        """Capture later order calls on `stream`.  Streams that wait for its events join the capture."""

    def capture_end(self, stream: StreamHandle) -> GraphHandle:
        """End a capture and return its graph.  Raises, and ends the capture, if it was invalidated."""

    def capture_status(self, stream: StreamHandle) -> CaptureStatus: ...
    def capture_mode_exchange(self, mode: CaptureMode) -> CaptureMode:
        """Set this thread's capture mode: its unsafe calls break all captures (GLOBAL, the default), its own, or none.

        Returns the previous mode.
        """

    def graph_node_count(self, graph: GraphHandle) -> int: ...
    def graph_write(self, graph: GraphHandle, path: str) -> None:
        """Write the graph's nodes and edges to a file in Graphviz's DOT language."""

    def graph_raw(self, graph: GraphHandle | GraphExecHandle) -> int:
        """Return the CUgraph or the CUgraphExec, for other libraries."""

    def graph_instantiate(self, graph: GraphHandle) -> GraphExecHandle: ...
    def graph_launch(self, graph: GraphExecHandle, stream: StreamHandle) -> None:
        """Launch a graph after the work on `stream` and after the graph's previous launch.  # order"""

    def graph_destroy(self, graph: GraphHandle | GraphExecHandle) -> None: ...

    # other processes
    def ipc_export(self, device: int, address: Address) -> bytes:
        """Return a handle by which other processes open the allocation at `address`; calls return equal handles."""

    def ipc_open(self, device: int, handle: bytes) -> Address:
        """Map another process's allocation; return its address.  Opening a handle again gives the same address.

        Raises: ArgumentError for a malformed handle or one of this process; ProcessGoneError if its process has ended.
        """

    def ipc_close(self, device: int, address: Address) -> None:
        """Undo one `ipc_open`; the last one unmaps.  The caller guarantees that no queued work uses the memory."""

    def block_shared(self, device: int, address: Address, nbytes: int, stream: StreamHandle) -> None:
        """Note that other processes will use [address, address + nbytes) after the stream's work so far.  # order"""

    def ipc_flush(self, stream: StreamHandle) -> None:
        """Wait until the work submitted to `stream` so far is done and visible to other processes.  # wait"""

    def event_ipc_export(self, event: EventHandle) -> bytes:
        """Return a handle by which other processes open an interprocess event."""

    def event_ipc_open(self, device: int, handle: bytes) -> EventHandle:
        """Open another process's event.  Raises as `ipc_open`."""
