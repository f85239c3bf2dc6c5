"""Functions of torch.cuda.memory: statistics, limits, settings and raw allocations; history and snapshots."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from ..core import thread
from ..errors import AcceleratorError, ArgumentError, ArgumentTypeError, ConfigError, naming, shown
from ..memory import history
from ..memory.allocator import CachingAllocator
from ..memory.history import History, described
from ..memory.private import PoolId
from ..memory.settings import EXACT, SIZE_CLASSES, UNLIMITED, Settings, from_environment, parse
from . import control
from . import device as devices
from .machine import Machine
from .stream import Stream

SUMMARY_ROWS = (
    ("Allocated memory", "allocated_bytes", True),
    ("Active memory", "active_bytes", True),
    ("Requested memory", "requested_bytes", True),
    ("GPU reserved memory", "reserved_bytes", True),
    ("Non-releasable memory", "inactive_split_bytes", True),
    ("Allocations", "allocation", False),
    ("Active allocs", "active", False),
    ("GPU reserved segments", "segment", False),
    ("Non-releasable allocs", "inactive_split", False),
)
LEVELS = (("", "all"), ("from large pool", "large_pool"), ("from small pool", "small_pool"))
COLUMNS = (("Cur Usage", "current"), ("Peak Usage", "peak"), ("Tot Alloc", "allocated"), ("Tot Freed", "freed"))
UNITS = ("B", "KiB", "MiB", "GiB", "TiB")


def _allocator(device: Any) -> CachingAllocator:
    index = devices.cuda_index(device)
    return thread.machine().devices[index].allocator


def memory_stats(device: Any = None) -> dict[str, int]:
    """Return every counter of a device's caching allocator by name; empty before CUDA is initialized.

    A key is `metric.pool.column`.  Metrics that end in `_bytes` count bytes; the others count blocks or segments.
    Pools are "all", "small_pool" and "large_pool".  Columns are "current", "peak", and the totals "allocated" and
    "freed".
    `max_split_size` is in bytes, and -1 without a limit; keys that begin with `num_` count events.
    device: an index or a device, which is checked once CUDA is initialized; None is the current device.
    Raises: DeviceIndexError if there is no such device, ArgumentError if it is not a CUDA device.
    Example:
        >>> x = torch.ones(1000, device="cuda")
        >>> torch.cuda.memory_stats()["allocation.all.current"]
        1
    """
    return _allocator(device).statistics() if control.is_initialized() else {}


def memory_stats_as_nested_dict(device: Any = None) -> dict[str, Any]:
    """Return `memory_stats` as nested dictionaries, one level for each part of a key.

    Raises: the errors of `memory_stats`.
    Example:
        >>> x = torch.ones(1000, device="cuda")
        >>> torch.cuda.memory_stats_as_nested_dict()["allocated_bytes"]["all"]["current"]
        4096
    """
    return _nested(memory_stats(device))


def host_memory_stats_as_nested_dict() -> dict[str, Any]:
    """Return `host_memory_stats` as nested dictionaries, one level for each part of a key.

    Example:
        >>> x = torch.ones(1000, pin_memory=True)
        >>> sorted(torch.cuda.host_memory_stats_as_nested_dict())[:2]
        ['active_bytes', 'active_requests']
    """
    return _nested(host_memory_stats())


def _nested(flat: dict[str, int]) -> dict[str, Any]:
    nested: dict[str, Any] = {}
    for key, value in flat.items():
        *parts, last = key.split(".")
        inner = nested
        for part in parts:
            inner = inner.setdefault(part, {})
        inner[last] = value
    return nested


def get_allocator_backend() -> str:
    """Return the kind of allocator: "native", "cudaMallocAsync" or "pluggable".  Does not start CUDA.

    Example:
        >>> torch.cuda.get_allocator_backend()
        'native'
    """
    machine = thread.machine()
    if machine.allocator_functions is not None:
        return machine.allocator_functions.backend
    return (machine.settings if machine.is_started else from_environment()).backend or "native"


def memory_allocated(device: Any = None) -> int:
    """Return the bytes that tensors occupy on a device; blocks are multiples of 512 bytes.

    device: an index or a device; None is the current device.  The result is 0 before CUDA is initialized.
    Raises: DeviceIndexError if there is no such device, ArgumentError if it is not a CUDA device.
    Example:
        >>> x = torch.ones(1000, device="cuda")
        >>> torch.cuda.memory_allocated()
        4096
        >>> del x
        >>> torch.cuda.memory_allocated()
        0
    """
    return memory_stats(device).get("allocated_bytes.all.current", 0)


def max_memory_allocated(device: Any = None) -> int:
    """Return the peak of `memory_allocated` since the start or the last reset, in bytes.

    device: an index or a device; None is the current device.
    Raises: the errors of `memory_allocated`.
    Example:
        >>> x = torch.ones(1000, device="cuda")
        >>> del x
        >>> torch.cuda.memory_allocated(), torch.cuda.max_memory_allocated()
        (0, 4096)
    """
    return memory_stats(device).get("allocated_bytes.all.peak", 0)


def memory_reserved(device: Any = None) -> int:
    """Return the bytes that the caching allocator holds on a device: blocks of tensors, and idle memory.

    device: an index or a device; None is the current device.  The result is 0 before CUDA is initialized.
    Raises: DeviceIndexError if there is no such device, ArgumentError if it is not a CUDA device.
    Example:
        >>> x = torch.ones(1000, device="cuda")
        >>> torch.cuda.memory_reserved()
        2097152
    """
    return memory_stats(device).get("reserved_bytes.all.current", 0)


def max_memory_reserved(device: Any = None) -> int:
    """Return the peak of `memory_reserved` since the start or the last reset, in bytes.

    device: an index or a device; None is the current device.
    Raises: the errors of `memory_reserved`.
    Example:
        >>> x = torch.ones(1000, device="cuda")
        >>> del x
        >>> torch.cuda.empty_cache()
        >>> torch.cuda.memory_reserved(), torch.cuda.max_memory_reserved()
        (0, 2097152)
    """
    return memory_stats(device).get("reserved_bytes.all.peak", 0)


memory_cached = memory_reserved
max_memory_cached = max_memory_reserved


def reset_peak_memory_stats(device: Any = None) -> None:
    """Set the peaks of a device's memory statistics to the current values.

    device: an index or a device; None is the current device.
    Raises: DeviceIndexError if there is no such device, ArgumentError if it is not a CUDA device.
    Example:
        >>> x = torch.ones(1000, device="cuda")
        >>> del x
        >>> torch.cuda.reset_peak_memory_stats()
        >>> torch.cuda.max_memory_allocated()
        0
    """
    _allocator(device).reset_peak_statistics()


reset_max_memory_allocated = reset_peak_memory_stats
reset_max_memory_cached = reset_peak_memory_stats


def reset_accumulated_memory_stats(device: Any = None) -> None:
    """Set the totals "allocated" and "freed" of a device's memory statistics, and the counts of events, to 0.

    device: an index or a device; None is the current device.
    Raises: DeviceIndexError if there is no such device, ArgumentError if it is not a CUDA device.
    Example:
        >>> x = torch.ones(1000, device="cuda")
        >>> torch.cuda.reset_accumulated_memory_stats()
        >>> torch.cuda.memory_stats()["allocation.all.allocated"]
        0
    """
    _allocator(device).reset_accumulated_statistics()


def memory_snapshot(mempool_id: PoolId | None = None, include_traces: bool = True) -> list[dict[str, Any]]:
    """Return every segment of every device, with its blocks, as dictionaries.  include_traces has no effect.

    mempool_id: return the segments of this pool only.
    Sizes and addresses are in bytes.
    Raises: ArgumentTypeError if `mempool_id` is not the id of a pool.
    Example:
        >>> x = torch.ones(1000, device="cuda")
        >>> segment = torch.cuda.memory_snapshot()[0]
        >>> segment["total_size"], [block["state"] for block in segment["blocks"]]
        (2097152, ['active_allocated', 'inactive'])
    """
    if mempool_id is not None and not (isinstance(mempool_id, (tuple, list)) and len(mempool_id) == 2):
        raise ArgumentTypeError(
            f"{shown(mempool_id)} is not the id of a pool", hint="pass pool.id", operator="memory_snapshot"
        )
    return segments(mempool_id)


def mem_get_info(device: Any = None) -> tuple[int, int]:
    """Return the free and the total memory of a device, in bytes, as its driver reports them: (free, total).

    device: an index or a device; None is the current device.
    Raises: DeviceIndexError if there is no such device, ArgumentError if it is not a CUDA device.
    Example:
        >>> free, total = torch.cuda.mem_get_info()
        >>> 0 < free <= total
        True
    """
    index = devices.cuda_index(device)
    return thread.machine().driver.mem_info(index)


def empty_cache() -> None:
    """Return idle memory of every device to the driver; does nothing before CUDA is initialized.

    Host:   waits for work that may still use the memory.
    Raises: AcceleratorError if work that the call waits for failed.
    Example:
        >>> x = torch.ones(1000, device="cuda")
        >>> del x
        >>> torch.cuda.empty_cache()
        >>> torch.cuda.memory_reserved()
        0
    """
    for accelerator in thread.machine().devices:
        accelerator.allocator.empty_cache()


def allocated_bytes() -> int:
    """Return the bytes of allocated blocks on all devices."""
    return sum(accelerator.allocator.allocated_bytes for accelerator in thread.machine().devices)


def set_per_process_memory_fraction(fraction: float, device: Any = None) -> None:
    """Limit the memory that this process reserves on a device to a fraction of the device's memory.

    fraction: a float from 0.0 to 1.0.  device: an index or a device; None is the current device.
    Raises: ArgumentTypeError if the fraction is not a float, ArgumentError if it is outside 0.0 to 1.0;
            DeviceIndexError if there is no such device.
    Example:
        >>> torch.cuda.set_per_process_memory_fraction(0.5)
        >>> torch.cuda.get_per_process_memory_fraction()
        0.5
        >>> torch.cuda.set_per_process_memory_fraction(1.0)
    """
    with naming("set_per_process_memory_fraction"):
        _allocator(device).set_fraction(fraction)


def get_per_process_memory_fraction(device: Any = None) -> float:
    """Return the fraction of a device's memory that this process may reserve, from 0.0 to 1.0.

    device: an index or a device; None is the current device.
    Raises: DeviceIndexError if there is no such device, ArgumentError if it is not a CUDA device.
    Example:
        >>> torch.cuda.get_per_process_memory_fraction()
        1.0
    """
    return _allocator(device).fraction


def set_allocator_settings(env: str) -> None:
    """Change the settings of every device's allocator from now on; the text has the syntax of PYTORCH_ALLOC_CONF.

    Settings that the text omits return to their defaults, except this process's memory limit.  Live blocks are
    unaffected.
    This call does not start CUDA; settings that are made before CUDA starts take effect at its start.
    Raises: ConfigError for an unknown key or a wrong value, ArgumentTypeError if `env` is not a str.  Nothing is
            changed then.
    Example:
        >>> torch.cuda.memory._set_allocator_settings("max_split_size_mb:64")
        >>> torch.cuda.memory_stats()["max_split_size"]
        67108864
        >>> torch.cuda.memory._set_allocator_settings("")
    """
    if not isinstance(env, str):
        raise ArgumentTypeError(
            f"expected a str, got {env!r}", hint='as in "max_split_size_mb:64"', operator="_set_allocator_settings"
        )
    settings = parse(env, "_set_allocator_settings")
    if settings.backend and settings.backend != get_allocator_backend():
        raise ConfigError(
            f"_set_allocator_settings: the backend is {get_allocator_backend()}, and cannot become {settings.backend}",
            hint="set PYTORCH_ALLOC_CONF=backend:... before the program starts",
        )
    machine = thread.machine()
    machine.at_start(lambda: _configure(machine, settings))


def _configure(machine: Machine, settings: Settings) -> None:
    if machine.settings.exact:
        settings = replace(settings, roundup_divisions=EXACT)
    settings = replace(settings, backend=machine.settings.backend)
    for accelerator in machine.devices:
        accelerator.allocator.configure(settings)
    machine.pinned.max_cached = settings.pinned_max_cached
    machine.pinned.registers = settings.pinned_registers
    machine.settings = settings


def caching_allocator_alloc(size: int, device: Any = None, stream: Stream | int | None = None) -> int:
    """Allocate `size` bytes of device memory for use on `stream` (None: the current one); return the address.

    device: None for the current one.  `caching_allocator_delete` frees the memory.
    Raises: OutOfMemoryError if there is no room; ArgumentTypeError if `size` is not an int, or `stream` is neither a
            Stream nor the number of a CUstream; ArgumentError if `size` is negative; DeviceIndexError if there is no
            such device.
    Example:
        >>> address = torch.cuda.caching_allocator_alloc(1024)
        >>> torch.cuda.memory_allocated()
        1024
        >>> torch.cuda.caching_allocator_delete(address)
    """
    if isinstance(stream, bool) or not isinstance(stream, (Stream, int, type(None))):
        raise ArgumentTypeError(
            f"expected a Stream or a number, got {stream!r}",
            hint="pass a torch.cuda.Stream, or its cuda_stream",
            operator="caching_allocator_alloc",
        )
    if isinstance(size, bool) or not isinstance(size, int):
        raise ArgumentTypeError(
            f"size must be an int, got {size!r}", hint="pass a number of bytes", operator="caching_allocator_alloc"
        )
    if size < 0:
        raise ArgumentError(
            f"size must not be negative, got {size}",
            hint="pass a number of bytes of 0 or more",
            operator="caching_allocator_alloc",
        )
    index = devices.cuda_index(device)  # starts CUDA
    devices.expose()
    chosen = control.current_stream(index) if stream is None else stream
    machine = thread.machine()
    handle = chosen.handle if isinstance(chosen, Stream) else machine.driver.stream_adopt(index, chosen)
    return machine.devices[index].raw_blocks.allocate(size, handle)


def caching_allocator_delete(mem_ptr: int) -> None:
    """Free memory from `caching_allocator_alloc`.

    Raises: AcceleratorError if the address is not from `caching_allocator_alloc`, or was freed already;
            ArgumentTypeError if it is not an int.
    Example:
        >>> address = torch.cuda.caching_allocator_alloc(1024)
        >>> torch.cuda.caching_allocator_delete(address)
        >>> torch.cuda.memory_allocated()
        0
    """
    if isinstance(mem_ptr, bool) or not isinstance(mem_ptr, int):
        raise ArgumentTypeError(
            f"the address must be an int, got {shown(mem_ptr)}",
            hint="pass the address that caching_allocator_alloc returned",
            operator="caching_allocator_delete",
        )
    machine = thread.machine()
    machine.start()
    owner = next((accelerator for accelerator in machine.devices if accelerator.allocator.owns(mem_ptr)), None)
    try:
        (owner or machine.devices[0]).raw_blocks.free(mem_ptr)
    except AcceleratorError as failure:
        raise AcceleratorError(
            failure.what,
            hint="pass an address that caching_allocator_alloc returned, and delete it only once",
            error_code=failure.error_code,
            operator="caching_allocator_delete",
        ) from None


def host_memory_stats() -> dict[str, int]:
    """Return every counter of the pinned memory cache by name; empty before CUDA is initialized.

    Keys have the form "metric.value", such as "active_bytes.peak".
    active_bytes, active_requests: bytes and blocks in use by tensors.  allocated_bytes, allocations: bytes and blocks
    that the driver has pinned, those kept for reuse included.  Values of these four: current, peak, and the totals
    allocated and freed since the start.
    host_alloc_time, host_free_time: the driver's time to pin and to unpin memory, in microseconds: total, count, min,
    max and avg.
    num_host_alloc, num_host_free: the numbers of these driver calls; these keys are without ".value".
    Example:
        >>> x = torch.ones(1000, pin_memory=True)  # 4000 bytes, in a block of 4096
        >>> torch.cuda.host_memory_stats()["active_bytes.current"]
        4096
    """
    return thread.machine().pinned.statistics() if control.is_initialized() else {}


def reset_peak_host_memory_stats() -> None:
    """Set the peaks of the pinned memory cache's statistics to the current values.

    Does nothing before CUDA is initialized.
    Example:
        >>> torch.cuda.reset_peak_host_memory_stats()
    """
    if control.is_initialized():
        thread.machine().pinned.reset_peak_statistics()


def reset_accumulated_host_memory_stats() -> None:
    """Set the totals of the pinned memory cache's statistics to 0; does nothing before CUDA is initialized.

    Example:
        >>> torch.cuda.reset_accumulated_host_memory_stats()
    """
    if control.is_initialized():
        thread.machine().pinned.reset_accumulated_statistics()


def empty_host_cache() -> None:
    """Return idle pinned memory to the driver; does nothing before CUDA is initialized.

    Example:
        >>> torch.cuda.empty_host_cache()
    """
    if control.is_initialized():
        thread.machine().pinned.empty_cache()


def memory_summary(device: Any = None, abbreviated: bool = False) -> str:
    """Return a readable table of a device's memory statistics, in units from B to TiB.

    device: an index or a device; None is the current device.  abbreviated: leave out the rows of the two pools.
    Raises: DeviceIndexError if there is no such device, ArgumentError if it is not a CUDA device.
    Example:
        >>> x = torch.ones(1000, device="cuda")
        >>> "Allocated memory" in torch.cuda.memory_summary()
        True
    """
    index = devices.cuda_index(device)
    stats = memory_stats(index)
    title = f"flambeau CUDA memory summary, device ID {index}"
    counts = f"CUDA OOMs: {stats['num_ooms']}   cudaMalloc retries: {stats['num_alloc_retries']}"
    lines = [title, counts, "".join([f"{'Metric':<24}", *(f"{name:>12}" for name, _ in COLUMNS)])]
    for name, key, is_bytes in SUMMARY_ROWS:
        for level, pool in LEVELS[: 1 if abbreviated else len(LEVELS)]:
            cells = [stats.get(f"{key}.{pool}.{column}", 0) for _, column in COLUMNS]
            shown = [in_units(cell) if is_bytes else str(cell) for cell in cells]
            lines.append("".join([f"{name if not level else '  ' + level:<24}", *(f"{text:>12}" for text in shown)]))
    width = max(map(len, lines))
    return "\n".join(["=" * width, *lines[:2], "-" * width, *lines[2:], "=" * width])


def in_units(nbytes: int) -> str:
    """Format a number of bytes with at most four digits: 1048576 is `1024 KiB`."""
    size, unit = float(nbytes), 0
    while size >= 10_000 and unit < len(UNITS) - 1:
        size, unit = size / 1024, unit + 1
    return f"{size:.0f} {UNITS[unit]}"


CONTEXTS = (None, "state", "alloc", "all")
STACKS = ("python", "line", "all")


def record_memory_history(
    enabled: str | bool | None = "all",
    context: str | None = "all",
    stacks: str = "python",
    max_entries: int = sys.maxsize,
    device: Any = None,
    clear_history: bool = False,
    compile_context: bool = False,
    global_record_annotations: bool = False,
    skip_actions: Iterable[str] | None = None,
) -> None:
    """Record every allocation and free on all devices from now on, for `_snapshot`; with None, stop.

    enabled: "state" keeps the stacks of live blocks only, "all" also the events.
    context: which stacks are kept: "state" those of live blocks, "alloc" also of allocations, "all" also of frees, None
    no stacks.
    stacks: "python" or "all" for all Python frames, "line" for the program's innermost line alone, which costs least.
    max_entries: the number of latest events that are kept.  clear_history: discard the events recorded before.
    skip_actions: actions that are not recorded.  The other arguments have no effect.
    Host:   an event costs about 1 us with "line", and 0.15 us more for each frame of the stack with "python".
    Memory: about 140 bytes an event, and each distinct stack once.
    Raises: ArgumentError for any other value of `enabled`, `context`, `stacks` or an action, or if `max_entries` is not
            a positive int; ArgumentTypeError if `skip_actions` is not a list; NotSupportedError with an allocator that
            has no segments.
    Example:
        >>> torch.cuda.memory._record_memory_history(stacks="line")
        >>> x = torch.ones(1000, device="cuda")
        >>> [entry["action"] for entry in torch.cuda.memory._snapshot()["device_traces"][0]]
        ['segment_alloc', 'alloc', 'snapshot']
        >>> torch.cuda.memory._record_memory_history(enabled=None)
    """
    kept = ("all" if enabled else None) if isinstance(enabled, bool) else enabled
    _check("enabled", kept, (None, "state", "all"))
    _check("context", context, CONTEXTS)
    _check("stacks", stacks, STACKS)
    if isinstance(skip_actions, str) or not isinstance(skip_actions, (Iterable, type(None))):
        raise ArgumentTypeError(
            f"skip_actions must be a list of str, got {shown(skip_actions)}",
            hint="for example ['alloc']",
            operator="_record_memory_history",
        )
    skipped = tuple(skip_actions or ())
    for action in skipped:
        _check("skip_actions", action, history.SKIPPABLE)
    if isinstance(max_entries, bool) or not isinstance(max_entries, int) or max_entries < 1:
        raise ArgumentError(
            f"max_entries must be a positive whole number, got {max_entries!r}",
            hint="leave it out to keep every event",
            operator="_record_memory_history",
        )
    if kept is None:
        history.record(None)
        return
    if thread.has_machine() and thread.machine().is_started:
        for accelerator in thread.machine().devices:
            accelerator.allocator.require_segments("_record_memory_history")
    recorder = History(kept == "all", context, "line" if stacks == "line" else "python", max_entries, skipped)
    former = history.recorder
    if former is not None:
        recorder.metadata = former.metadata
        if not clear_history:
            recorder.take_over(former)
    history.record(recorder)


def _check(name: str, value: Any, allowed: tuple[Any, ...]) -> None:
    if value not in allowed:
        raise ArgumentError(
            f"expected {name} to be one of {', '.join(map(repr, allowed))}, got {value!r}",
            hint="use one of these",
            operator="_record_memory_history",
        )


def snapshot(device: Any = None, augment_with_fx_traces: bool = False) -> dict[str, Any]:
    """Return the memory of every device in PyTorch's layout: segments, blocks, and the recorded events.

    Keys: "segments", each with its "blocks"; "device_traces", one list of events per device; "allocator_settings";
    "external_annotations", which is empty.  `device` and `augment_with_fx_traces` have no effect.

    Example:
        >>> x = torch.ones(1000, device="cuda")
        >>> segment = torch.cuda.memory._snapshot()["segments"][0]
        >>> segment["total_size"], segment["allocated_size"], [block["state"] for block in segment["blocks"]]
        (2097152, 4096, ['active_allocated', 'inactive'])
    """
    machine = thread.machine()
    kept = history.recorder
    all_segments = segments()
    if kept is not None:
        for index in range(len(machine.devices)):
            kept.note("snapshot", index)
    return {
        "segments": all_segments,
        "device_traces": _traces(kept),
        "allocator_settings": _settings(),
        "external_annotations": [],
    }


def dump_snapshot(filename: Any = "dump_snapshot.pickle", augment_with_fx_traces: bool = False) -> None:
    """Write `_snapshot()` to a file as a pickle, which `flambeau memory` and PyTorch's viewer read.

    The file is replaced atomically: after a failure, the former file remains.
    Raises: OSError if the file cannot be written.
    Example:
        >>> import tempfile, os
        >>> path = os.path.join(tempfile.mkdtemp(), "snapshot.pickle")
        >>> torch.cuda.memory._dump_snapshot(path)
        >>> os.path.getsize(path) > 0
        True
    """
    import pickle  # imported late: it would add 2 % to the time of importing flambeau

    buffer = io.BytesIO()
    pickle.dump(snapshot(), buffer, protocol=4)
    partial = f"{os.fspath(filename)}.{os.getpid()}.partial"
    try:
        with open(partial, "wb") as file:
            file.write(buffer.getbuffer())
        os.replace(partial, filename)
    except BaseException:
        if os.path.exists(partial):
            os.unlink(partial)
        raise


def segments(pool: PoolId | None = None) -> list[dict[str, Any]]:
    """Return the segments of all devices or of one pool, with stacks and each stream's CUstream number."""
    kept = history.recorder
    machine = thread.machine()
    result: list[dict[str, Any]] = []
    for accelerator in machine.devices:
        for segment in accelerator.allocator.snapshot():
            if pool is not None and segment["segment_pool_id"] != tuple(pool):
                continue
            address: Any = segment["address"]
            blocks: Any = segment.pop("blocks")
            segment["stream"] = _raw(segment["stream"])
            segment["frames"] = [] if kept is None else described(kept.segment_stack(address))
            for block in blocks:
                block["frames"] = []
                if kept is not None and block["state"] != "inactive":
                    block["frames"] = described(kept.stack_of(block["address"]))
            segment["blocks"] = blocks
            result.append(segment)
    return result


def _raw(stream: Any) -> int:
    """Return a stream's CUstream number, 0 for a default stream; the handle if the stream or its device is gone."""
    machine = thread.machine()
    queue = machine.streams.get(stream)
    if queue is None:
        return int(stream)
    if queue is machine.devices[queue.device_index].default_stream:
        return 0
    try:
        raw = machine.driver.stream_raw(stream)
    except AcceleratorError:
        return int(stream)
    return raw


def _traces(kept: History | None) -> list[list[dict[str, Any]]]:
    machine = thread.machine()
    traces: list[list[dict[str, Any]]] = [[] for _ in machine.devices]
    raws: dict[int, int] = {}
    for entry in kept.entries() if kept is not None else ():
        device, stream = entry.pop("device"), entry["stream"]
        if device < 0:
            queue = machine.streams.get(stream)
            device = 0 if queue is None else queue.device_index
        if stream not in raws:
            raws[stream] = _raw(stream)
        entry["stream"] = raws[stream]
        if device < len(traces):
            traces[device].append(entry)
    return traces


def _settings() -> dict[str, Any]:
    machine = thread.machine()
    chosen = machine.devices[0].allocator.settings if machine.devices else None
    divisions = chosen.roundup_divisions if chosen is not None and not chosen.exact else ()
    limit = UNLIMITED if chosen is None else chosen.max_split_size
    return {
        "PYTORCH_CUDA_ALLOC_CONF": "" if chosen is None else chosen.text,
        "max_split_size": -1 if limit == UNLIMITED else limit,
        "garbage_collection_threshold": 0.0 if chosen is None else chosen.garbage_collection_threshold,
        "expandable_segments": chosen is not None and chosen.expandable_segments,
        "pinned_num_register_threads": 1,
        "release_lock_on_cudamalloc": False,
        "pinned_use_cuda_host_register": chosen is not None and chosen.pinned_registers,
        "roundup_power2_divisions": {
            str(1 << index): divisions[index] if divisions else 0 for index in range(SIZE_CLASSES)
        },
        "graph_capture_record_stream_reuse": False,
        "allocator": "flambeau",  # tells `flambeau memory --replay` that freed blocks are coalesced late
    }


def allocation_traceback(data_ptr: int) -> list[dict[str, Any]] | None:
    """Return the stack that allocated the live block at an address, innermost frame first; None if it was not recorded.

    Example:
        >>> torch.cuda.memory._record_memory_history()
        >>> x = torch.ones(1000, device="cuda")
        >>> sorted(torch.cuda.memory._allocation_traceback(x.data_ptr())[0])
        ['filename', 'line', 'name']
        >>> torch.cuda.memory._record_memory_history(None)
    """
    kept = history.recorder
    return described(kept.stack_of(data_ptr)) if kept is not None and kept.is_known(data_ptr) else None


def set_memory_metadata(metadata: str) -> None:
    """Attach a text to the events that are recorded from now on, as their `user_metadata`; "" for none.

    It has no effect unless `_record_memory_history` is recording.
    Example:
        >>> torch.cuda.memory._record_memory_history()
        >>> torch.cuda.memory._set_memory_metadata("epoch 3")
        >>> torch.cuda.memory._get_memory_metadata()
        'epoch 3'
        >>> torch.cuda.memory._record_memory_history(None)
    """
    if history.recorder is not None:
        history.recorder.metadata = str(metadata)


def get_memory_metadata() -> str:
    """Return the text that `_set_memory_metadata` set; "" if there is none.

    Example:
        >>> torch.cuda.memory._get_memory_metadata()
        ''
    """
    return history.recorder.metadata if history.recorder is not None else ""
