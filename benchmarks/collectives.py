"""Collectives of several processes: flambeau, NCCL called directly, and PyTorch where it is installed, in one run.

    python -m benchmarks.collectives [--nproc N] [--bytes 1073741824] [--rounds 7] [--json FILE]

- N ranks, as many as there are GPUs by default, each with a GPU of its own.  With one rank nothing crosses a link: the
  figures are what a collective costs on one GPU.
- Bandwidth: a burst of calls on `--bytes`, and the wait for it.  It is the bus bandwidth of nccl-tests: bytes per
  second times 2(n-1)/n for all_reduce and (n-1)/n for the others.  With one rank it is bytes per second.
- Latency: a burst of calls on 8 bytes, and the wait for it ("queued"); or a wait after every call ("awaited").
- Rounds alternate between the sides; the ranks meet before each.  Median of rank 0, with the 10th and 90th percentile.
- NCCL directly is the same library through the same ctypes binding, on a communicator and a stream of its own.
- Results are checked before they are timed.
"""

from __future__ import annotations

import argparse
import atexit
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import flambeau
from flambeau import distributed as dist
from flambeau.core import thread
from flambeau.driver import nccl_version
from flambeau.driver.nvidia import nccl
from flambeau.parallel import several
from flambeau.parallel.collectives import ProcessGroup
from flambeau.parallel.exchange import Client
from flambeau.parallel.flight_recorder import FlightRecorder
from flambeau.parallel.group import TIMEOUT, GroupMember
from flambeau.parallel.hub import Hub

LARGE_CALLS, SMALL_CALLS = 5, 200  # of a burst
WARM_BURSTS = 2
FLOAT = 4  # bytes
SECRET = "FLAMBEAU_JOB_SECRET"
GROUP_OF_ONE = "flambeau's group of one rank copies in place of a collective: this one goes through NCCL"


class Side(NamedTuple):
    """One library.  make: a call of an operation, on a tensor and one rank's part of it;  wait: for the GPU."""

    name: str
    ones: Callable[[int], Any]
    make: Callable[[str, Any, Any], Callable[[], Any]]
    wait: Callable[[], None]


class Row(NamedTuple):
    """A measurement.  nbytes: None for --bytes.  calls: between waits."""

    what: str
    operation: str
    nbytes: int | None
    calls: int
    bursts: int


def rows_of(calls: int) -> list[Row]:
    """The measurements.  calls: of a burst on 8 bytes."""
    return [
        *(Row(f"{name}, large", name, None, LARGE_CALLS, 1) for name in ("all_reduce", "all_gather", "reduce_scatter")),
        Row("all_reduce of 8 bytes, queued", "all_reduce", 8, calls, 1),
        Row("all_reduce of 8 bytes, awaited", "all_reduce", 8, 1, calls),
    ]


def bus_bytes(operation: str, nbytes: int, count: int) -> float:
    """The bytes of a collective that cross each link, as nccl-tests counts them; all of them for one rank."""
    if count == 1:
        return nbytes
    return nbytes * (count - 1) / count * (2 if operation == "all_reduce" else 1)


def of_flambeau(group: ProcessGroup) -> Side:
    def make(operation: str, whole: Any, part: Any) -> Callable[[], Any]:
        return {
            "all_reduce": lambda: several.all_reduce(group, whole, dist.ReduceOp.SUM, whole).wait(),
            "all_gather": lambda: several.all_gather_into_tensor(group, "all_gather_into_tensor", whole, part).wait(),
            "reduce_scatter": lambda: several.reduce_scatter(
                group, "reduce_scatter_tensor", part, [whole], dist.ReduceOp.SUM
            ).wait(),
        }[operation]

    return Side("flambeau", lambda count: flambeau.ones(count, device="cuda"), make, flambeau.cuda.synchronize)


def of_nccl(rank: int, count: int, device: int) -> Side:
    """NCCL without flambeau's work for a call."""
    library, stream = nccl.load(), flambeau.cuda.Stream()
    made = [bytes(nccl.new_id(library)) if rank == 0 else b""]
    if count > 1:
        dist.broadcast_object_list(made, 0)
    driver: Any = thread.machine().driver
    with driver._devices.use(device):
        communicator = nccl.Communicator(library, made[0], count, rank, driver._streams[stream.handle])
    raw, at = communicator._raw, stream.driver.stream_raw(stream.handle)
    kind = nccl.DATA_TYPES[flambeau.float32]

    def make(operation: str, whole: Any, part: Any) -> Callable[[], Any]:
        one, other, parts = whole.address(), part.address(), part.numel()
        return {
            "all_reduce": lambda: library.ncclAllReduce(one, one, whole.numel(), kind, nccl.SUM, raw, at),
            "all_gather": lambda: library.ncclAllGather(other, one, parts, kind, raw, at),
            "reduce_scatter": lambda: library.ncclReduceScatter(one, other, parts, kind, nccl.SUM, raw, at),
        }[operation]

    return Side("NCCL", lambda count: flambeau.ones(count, device="cuda"), make, flambeau.cuda.synchronize)


def of_pytorch(rank: int, count: int, device: int, folder: str) -> Side | None:
    try:
        import torch
        import torch.distributed as theirs
    except ImportError:
        return None
    if not torch.cuda.is_available():
        return None
    torch.cuda.set_device(device)
    theirs.init_process_group("nccl", init_method=f"file://{folder}/pytorch", rank=rank, world_size=count)

    def make(operation: str, whole: Any, part: Any) -> Callable[[], Any]:
        return {
            "all_reduce": lambda: theirs.all_reduce(whole),
            "all_gather": lambda: theirs.all_gather_into_tensor(whole, part),
            "reduce_scatter": lambda: theirs.reduce_scatter_tensor(part, whole),
        }[operation]

    atexit.register(theirs.destroy_process_group)
    return Side("PyTorch", lambda count: torch.ones(count, device="cuda"), make, torch.cuda.synchronize)


def checked(side: Side, row: Row, nbytes: int, count: int) -> Callable[[], Any]:
    """A call, once it has given the right values."""
    whole = side.ones(nbytes // FLOAT)
    part = side.ones(max(nbytes // FLOAT // count, 1))
    call = side.make(row.operation, whole, part)
    if row.operation == "all_gather":
        whole.zero_()
    side.wait()
    call()
    side.wait()
    changed, expected = (part if row.operation == "reduce_scatter" else whole), float(count)
    expected = 1.0 if row.operation == "all_gather" else expected
    found = [float(changed.min()), float(changed.max())]
    if found != [expected] * 2:
        raise AssertionError(f"{row.what} of {side.name} gives {found} in place of {expected}")
    whole.zero_()  # sums of zeros stay finite, however often they are added
    part.zero_()
    return call


def timed(side: Side, row: Row, call: Callable[[], Any]) -> float:
    """Seconds per call."""
    side.wait()
    start = time.perf_counter()
    for _ in range(row.bursts):
        for _ in range(row.calls):
            call()
        side.wait()
    return (time.perf_counter() - start) / row.bursts / row.calls


def measured(sides: list[Side], group: ProcessGroup, row: Row, nbytes: int, rounds: int) -> dict[str, list[float]]:
    """Seconds per call of each side, in each round."""
    count = group.size()
    calls = [checked(side, row, nbytes, count) for side in sides]
    found: dict[str, list[float]] = {side.name: [] for side in sides}
    for number in range(WARM_BURSTS + rounds):
        for side, call in zip(sides, calls):
            several.barrier(group).wait()
            seconds = timed(side, row, call)
            if number >= WARM_BURSTS:
                found[side.name].append(seconds)
    return found


def joined(rank: int, count: int, folder: str) -> tuple[ProcessGroup, Hub | None]:
    """The group of all ranks; and its hub, if it is the group of one."""
    if count > 1:
        dist.init_process_group("nccl", f"file://{folder}/flambeau", None, count, rank)
        assert GroupMember.WORLD is not None
        return GroupMember.WORLD, None
    hub = Hub("127.0.0.1", 0, 1, os.environ[SECRET])
    client = Client(*hub.address, os.environ[SECRET], 30, 0, 1)
    return ProcessGroup("nccl", "0", (0,), 0, client, TIMEOUT), hub


def run_rank(rank: int, count: int, nbytes: int, rounds: int, calls: int, folder: str) -> None:
    """Measure, as one of the ranks; rank 0 writes what it found to the folder."""
    device = int(os.environ.get("LOCAL_RANK", rank)) % flambeau.cuda.device_count()
    flambeau.cuda.set_device(device)
    group, hub = joined(rank, count, folder)
    version = nccl_version()
    on_hardware = thread.machine().choice.kind == "nvidia"
    sides = [of_flambeau(group)]
    if on_hardware and version is not None:
        sides.append(of_nccl(rank, count, device))
        theirs = of_pytorch(rank, count, device, folder)
        sides += [theirs] if theirs is not None else []
    rows = []
    for row in rows_of(calls):
        size = row.nbytes or nbytes
        found = measured(sides, group, row, size, rounds)
        rows.append({"row": row.what, "operation": row.operation, "nbytes": size, "seconds": found})
    recorder, notes = FlightRecorder(rank), 100_000
    start = time.perf_counter()
    for _ in range(notes):
        recorder.queued("0:0", "all_reduce", "all_reduce()", 8)
    recorder_ns = (time.perf_counter() - start) / notes * 1e9
    if rank == 0:
        facts = {
            "ranks": count,
            "device": flambeau.cuda.get_device_name(),
            "nccl": version,
            "recorder_ns": recorder_ns,
            "rows": rows,
        }
        Path(folder, "found.json").write_text(json.dumps(facts))
    several.barrier(group).wait()
    if hub is None:
        dist.destroy_process_group()
    else:
        assert group.client is not None
        group.client.leave()
        hub.stop()


def table(facts: dict[str, Any]) -> list[str]:
    """The figures as lines of text."""
    count = facts["ranks"]
    lines = [f"{count} ranks, {facts['device']}, NCCL {'.'.join(map(str, facts['nccl'] or ['is not there']))}"]
    lines += [GROUP_OF_ONE] * (count == 1)
    for row in facts["rows"]:
        is_large = row["nbytes"] > 8
        moved = bus_bytes(row["operation"], row["nbytes"], count)
        lines.append(f"{row['row']} ({row['nbytes']} bytes), {'GB/s' if is_large else 'us per call'}:")
        medians = {}
        for name, seconds in row["seconds"].items():
            values = sorted(moved / each / 1e9 if is_large else each * 1e6 for each in seconds)
            low, high = values[len(values) // 10], values[-1 - len(values) // 10]
            medians[name] = statistics.median(values)
            ratio = medians["flambeau"] / medians[name]
            beside = f"   flambeau's is {ratio:.3f} of it" if name != "flambeau" else ""
            lines.append(f"    {name:10}{medians[name]:10.2f}   [{low:.2f} .. {high:.2f}]{beside}")
    lines.append(f"flight recorder: {facts['recorder_ns']:.0f} ns per collective")
    return lines


def run(count: int, nbytes: int, rounds: int, calls: int) -> dict[str, Any]:
    """Start the ranks; return what rank 0 found.  Raises RuntimeError if one fails."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {SECRET: os.urandom(16).hex(), **os.environ}
        command = [sys.executable, "-m", "benchmarks.collectives", "--bytes", str(nbytes), "--rounds", str(rounds)]
        command += ["--calls", str(calls)]
        started = [
            subprocess.Popen(
                [*command, "--nproc", str(count), "--folder", folder, "--rank", str(rank)], env=environment
            )
            for rank in range(count)
        ]
        failed = [rank for rank, each in enumerate(started) if each.wait()]
        if failed:
            raise RuntimeError(f"ranks {failed} failed")
        found: dict[str, Any] = json.loads(Path(folder, "found.json").read_text())
        return found


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--nproc", type=int, default=0, help="ranks; as many as there are GPUs if it is left out")
    parser.add_argument("--bytes", type=int, default=1 << 30)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--calls", type=int, default=SMALL_CALLS, help="of a burst on 8 bytes")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--rank", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--folder", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.rank is not None:
        run_rank(given.rank, given.nproc, given.bytes, given.rounds, given.calls, given.folder)
        return
    facts = run(given.nproc or flambeau.cuda.device_count(), given.bytes, given.rounds, given.calls)
    print("\n".join(table(facts)))
    if given.json is not None:
        given.json.write_text(json.dumps(facts, indent=1))


if __name__ == "__main__":
    main()
