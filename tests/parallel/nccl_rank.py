"""A rank on an NVIDIA GPU of its own: python -m tests.parallel.nccl_rank NAME [ARGUMENT]; prints what it found as JSON.

RANK and WORLD_SIZE are in the environment; MEETING is a file that does not exist yet.
"""

import faulthandler
import json
import os
import sys
from datetime import timedelta

import flambeau as torch
from flambeau import distributed as dist
from tests.parallel import coalesced_calls, nccl_calls


def results(rank):
    """What every collective gives by NCCL, and what it gives through the host."""
    found = nccl_calls.results(rank, 2)
    world = dist.group.WORLD
    world.backend, world.runs_steps = "gloo", False
    return found, nccl_calls.results(rank, 2)


def large(rank):
    """Sums of a large tensor, with streams and reuse of memory between calls."""
    totals = []
    for number in range(20):
        x = torch.full((1 << 22,), rank + number, device="cuda")
        with torch.cuda.stream(torch.cuda.Stream()):
            torch.cuda.current_stream().wait_stream(torch.cuda.default_stream())
            work = dist.all_reduce(x, async_op=True)
            y = torch.ones(1 << 22, device="cuda") * 2
            work.wait()
            y += x
            del x
            totals.append((y.min().item(), y.max().item()))
    return totals


def overlapped(rank):
    """Messages of both directions that are not batched, and a batch, of sizes that NCCL does not buffer."""
    sent, got = torch.full((1 << 22,), rank + 1.0, device="cuda"), torch.zeros(1 << 22, device="cuda")
    works = [dist.isend(sent, 1 - rank), dist.irecv(got, 1 - rank)]
    for work in works:
        work.wait()
    found = [got.mean().item()]
    works = dist.batch_isend_irecv([dist.P2POp(dist.isend, got, 1 - rank), dist.P2POp(dist.irecv, sent, 1 - rank)])
    for work in works:
        work.wait()
    return [*found, sent.mean().item()]


def late(rank):
    """Rank 1 does not come before the timeout is over."""
    x = torch.ones(2, device="cuda")
    dist.all_reduce(x)
    torch.cuda.synchronize()
    dist.group.WORLD.set_timeout(timedelta(seconds=10))  # after the first call, which starts NCCL
    if rank == 1:
        dist.group.WORLD.client.report()
        dist.group.WORLD.client.await_failure(60)
    return nccl_calls.reduced(x)


def coalesced(rank):
    """Calls that run as one operation."""
    dist.all_reduce(torch.ones(1, device="cuda"))  # of all ranks, before any messages
    return coalesced_calls.values(rank, 2)


FUNCTIONS = {
    "coalesced": coalesced,
    "results": results,
    "large": large,
    "overlapped": overlapped,
    "late": late,
    "trained": nccl_calls.trained,
}


def main():
    faulthandler.enable()
    name, rank = sys.argv[1], int(os.environ["RANK"])
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", f"file://{os.environ['MEETING']}", timedelta(seconds=60))
    try:
        answer = nccl_calls.after_a_first(sys.argv[2], rank) if name == "planted" else FUNCTIONS[name](rank)
    except Exception as error:  # noqa: BLE001  (the test looks at it)
        answer = type(error).__name__, str(error)
    dist.destroy_process_group()
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
