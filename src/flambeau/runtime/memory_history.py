"""Memory history and snapshots: torch.cuda.memory._record_memory_history, _snapshot and _dump_snapshot."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterable
from typing import Any

from ..core import thread
from ..errors import AcceleratorError, ArgumentError
from ..memory import history
from ..memory.history import History, described
from ..memory.private import PoolId
from ..memory.settings import SIZE_CLASSES, UNLIMITED

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
    """Record every allocation and free on all devices from now on, for `snapshot`; with None, stop.

    enabled: "state" for the stacks of live blocks only, "all" for the events too.  context: which stacks are kept,
    "state" of live blocks, "alloc" of allocations too, "all" of frees too, None for none.  stacks: "python" or "all"
    for the Python frames, "line" for the program's innermost line alone, which costs least.  max_entries: of the
    latest events.  skip_actions: actions that are not recorded.  `device`, `compile_context` and
    `global_record_annotations` have no effect.

    Host:   an event costs about 1 us with "line", and 0.15 us more for each frame of the stack with "python".
    Memory: about 90 bytes an event, and each distinct stack once.
    Raises: ArgumentError for any other value.

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
    made = History(kept == "all", context, "line" if stacks == "line" else "python", max_entries, skipped)
    former = history.recorder
    if former is not None:
        made.metadata = former.metadata
        if not clear_history:
            made.take_over(former)
    history.record(made)


def _check(name: str, value: Any, allowed: tuple[Any, ...]) -> None:
    if value not in allowed:
        raise ArgumentError(
            f"expected {name} to be one of {', '.join(map(repr, allowed))}, got {value!r}",
            hint="use one of these",
            operator="_record_memory_history",
        )


def snapshot(device: Any = None, augment_with_fx_traces: bool = False) -> dict[str, Any]:
    """The memory of every device in PyTorch's layout: segments, blocks, and the recorded events.

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
    found = segments()
    if kept is not None:
        for index in range(len(machine.devices)):
            kept.note("snapshot", index)
    return {
        "segments": found,
        "device_traces": _traces(kept),
        "allocator_settings": _settings(),
        "external_annotations": [],
    }


def dump_snapshot(filename: Any = "dump_snapshot.pickle", augment_with_fx_traces: bool = False) -> None:
    """Write `snapshot()` to a file as a pickle, which `flambeau memory` and PyTorch's viewer read.

    The file is replaced in one step: a failure leaves the former one.

    Example:
        >>> import tempfile, os
        >>> path = os.path.join(tempfile.mkdtemp(), "snapshot.pickle")
        >>> torch.cuda.memory._dump_snapshot(path)
        >>> os.path.getsize(path) > 0
        True
    """
    import pickle  # here, since it would be a fiftieth of the import of flambeau

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
    """Every segment of every device, or of one pool, with stacks and the numbers of the streams for other libraries."""
    kept = history.recorder
    machine = thread.machine()
    found: list[dict[str, Any]] = []
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
            found.append(segment)
    return found


def _raw(stream: Any) -> int:
    """The number of a stream's CUstream, 0 for a default stream; the handle if the stream or its device is gone."""
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
        "allocator": "flambeau",  # how `flambeau memory --replay` knows that freed blocks were merged late
    }


def allocation_traceback(data_ptr: int) -> list[dict[str, Any]] | None:
    """The stack that allocated the live block at an address, innermost frame first; None if it was not recorded.

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
    """The text that `set_memory_metadata` set.

    Example:
        >>> torch.cuda.memory._get_memory_metadata()
        ''
    """
    return history.recorder.metadata if history.recorder is not None else ""

