"""Ranks in one process: threads that call collectives with each other, each with a GPU of its own or on the CPU.

A collective runs on a side stream, as one of NCCL does, so that a missing `wait` is a race.
"""

import threading
from concurrent.futures import ThreadPoolExecutor

import flambeau as torch
from flambeau import distributed as dist
from flambeau.parallel import process_group
from flambeau.parallel.futures import future_of

TIMEOUT = 20  # seconds that a rank waits for the others: longer is a hang


class Work:
    def __init__(self, outputs, stream):
        self.outputs, self.stream = outputs, stream

    def wait(self, timeout=None):
        if self.stream is not None:
            torch.cuda.current_stream(self.stream.device).wait_stream(self.stream)
        return True

    def is_completed(self):
        return True

    def get_future(self):
        return future_of(self, self.outputs)


class Ranks:
    """The collectives of `size` threads.  calls: of rank 0, as (name, elements)."""

    def __init__(self, size):
        self.size, self.local, self.calls = size, threading.local(), []
        self.barrier = threading.Barrier(size, timeout=TIMEOUT)
        self.given = [None] * size
        self.streams = {}

    def rank(self, group=None):
        return getattr(self.local, "rank", 0)

    def exchange(self, value):
        """The values of all ranks."""
        self.given[self.rank()] = value
        self.barrier.wait()
        found = list(self.given)
        self.barrier.wait()
        return found

    def collective(self, name, tensor, compute, async_op):
        """Write compute(the ranks' tensors) into `tensor`, on a side stream after what is submitted."""
        if self.rank() == 0:
            self.calls.append((name, tensor.numel()))
        stream = None
        if tensor.is_cuda:
            stream = self.streams.setdefault(tensor.device, torch.cuda.Stream(tensor.device))
            stream.wait_stream(torch.cuda.current_stream(tensor.device))
            tensor.record_stream(stream)
        with torch.cuda.stream(stream), torch.no_grad():
            facts = self.exchange((name, tensor.detach(), stream))
            assert len({(fact[0], fact[1].shape, fact[1].dtype) for fact in facts}) == 1, facts
            for fact in facts:
                if stream is not None:
                    stream.wait_stream(fact[2])
            result = compute([fact[1].to(tensor.device) for fact in facts])
            for other in self.exchange(stream):  # all have read
                if stream is not None:
                    stream.wait_stream(other)
            if result is not None:
                tensor.detach().copy_(result)
            self.barrier.wait()
        work = Work([tensor], stream)
        if async_op:
            return work
        work.wait()
        return None

    def all_reduce(self, tensor, op=dist.ReduceOp.SUM, group=None, async_op=False):
        def compute(tensors):
            stacked = torch.stack(tensors)
            return stacked.amax(0) if op == dist.ReduceOp.MAX else stacked.sum(0).to(tensor.dtype)

        return self.collective("all_reduce", tensor, compute, async_op)

    def broadcast(self, tensor, src=None, group=None, async_op=False, group_src=None):
        source = src if group_src is None else group_src
        return self.collective("broadcast", tensor, lambda tensors: tensors[source], async_op)

    def all_gather(self, tensor_list, tensor, group=None, async_op=False):
        def compute(tensors):
            for out, found in zip(tensor_list, tensors):
                out.copy_(found)

        return self.collective("all_gather", tensor, compute, async_op)


def run(function, size, monkeypatch, device="cuda"):
    """The results of function(rank, device of the rank), called in `size` threads; and the collectives' calls."""
    ranks = Ranks(size)
    for name in ("all_reduce", "broadcast", "all_gather"):
        monkeypatch.setattr(process_group, name, getattr(ranks, name))
    monkeypatch.setattr(process_group, "get_rank", ranks.rank)
    monkeypatch.setattr(process_group, "get_world_size", lambda group=None: size)

    def one(rank):
        ranks.local.rank = rank
        place = torch.device(f"cuda:{rank}" if device == "cuda" else device)
        try:
            if place.type == "cuda":
                torch.cuda.set_device(place)
            return function(rank, place)
        except threading.BrokenBarrierError:
            raise
        except BaseException:
            ranks.barrier.abort()
            raise

    dist.init_process_group("gloo", rank=0, world_size=1)
    try:
        with ThreadPoolExecutor(size) as pool:
            found = [pool.submit(one, rank) for rank in range(size)]
        failed = [each.exception() for each in found if each.exception() is not None]
        failed.sort(key=lambda error: isinstance(error, threading.BrokenBarrierError))
        if failed:
            raise failed[0]
        return [each.result() for each in found], ranks.calls
    finally:
        dist.destroy_process_group()
